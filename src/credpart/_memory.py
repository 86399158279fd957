"""Whether all pairs of objects fit in memory: asked before anything is computed.

What this process may still take is the smallest of what several sources say: the memory of the
machine that is free, the limits of the control groups that the process is in (containers and batch
systems set them), and its own limit (``ulimit -v``).  A source that says nothing is left out.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from credpart._messages import Message, Name, Setting
from credpart.errors import InputError

PAIR_BYTES = 24  # an n x n array of these is what the stages hold at their peak
# Of each cluster a search has scatter, covariance and precision matrices, from three starts.
SEARCHED = 9
GIGA = 1e9


def check_pairs(n: int, n_replicates: int, n_clusters: int) -> None:
    """Refuse n objects whose pairs, with the posteriors of all replicates, need more memory.

    >>> check_pairs(1000, 1000, 3)
    """
    free = free_memory()
    a, b = float(PAIR_BYTES), 8.0 * n_replicates * n_clusters
    needed = a * n**2 + b * n
    if free is not None and needed > free:
        most = (sqrt(b**2 + 4.0 * a * free) - b) / (2.0 * a)
        rounded = float(f"{most:.2g}")
        raise InputError(
            "X",
            f"have at most about {rounded:.0f} rows for the intervals of all pairs to fit in the "
            f"{free / GIGA:.1f} GB of memory that are free",
            Message(f"{n} rows, which need {needed / GIGA:.0f} GB"),
            Message(
                "Compare each object with landmarks, ",
                Setting("pairs", "auto"),
                ", or fit a random sample of the rows and score the others with ",
                Name("predict_masses"),
                ".",
            ),
        )


def check_matrices(n_columns: int, n_clusters: int, n_mixtures: int = SEARCHED) -> None:
    """Refuse columns whose covariance matrices, one for each cluster of mixtures, need more memory.

    >>> check_matrices(50, 3)
    """
    free = free_memory()
    needed = 8.0 * n_mixtures * n_clusters * n_columns**2
    if free is not None and needed > free:
        most = float(f"{n_columns * sqrt(free / needed):.2g}")
        raise InputError(
            "X",
            f"have at most about {most:.0f} columns for the covariance matrices of {n_mixtures} "
            f"mixtures to fit in the {free / GIGA:.1f} GB of memory that are free",
            Message(f"{n_columns} columns, which need {needed / GIGA:.0f} GB"),
            "Cluster fewer columns, such as the first principal components of all.",
        )


def free_memory(root: Path = Path("/"), platform: str = sys.platform) -> float | None:
    """Bytes that this process may still take; None if that is not known.

    ``root`` is where the files of the system are, for tests.
    """
    machine = MACHINES.get(platform, _physical)(root)
    known = [machine, _own_limit(root), *_group_limits(root)]
    left = [max(0.0, one) for one in known if one is not None]
    return min(left) if left else None


# What the machine has left


def _linux(root: Path) -> float | None:
    """What Linux says is available without swapping."""
    available = _numbers(root / "proc/meminfo").get("MemAvailable:")
    return _physical(root) if available is None else 1024.0 * available


def _macos(root: Path) -> float | None:
    """Pages that macOS can give away at once."""
    try:
        command = ["/usr/bin/vm_stat"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return _physical(root)
    return macos_pages(text) or _physical(root)


def macos_pages(text: str) -> float | None:
    r"""Bytes of the free, inactive, speculative and purgeable pages that ``vm_stat`` counts.

    >>> macos_pages("... (page size of 4096 bytes)\nPages free:  10.\nPages inactive:  5.\n")
    61440.0
    """
    size = re.search(r"page size of (\d+) bytes", text)
    counts = re.findall(r"Pages (?:free|inactive|speculative|purgeable):\s+(\d+)\.", text)
    return float(size[1]) * sum(map(int, counts)) if size and counts else None


def _windows(root: Path) -> float | None:
    """What Windows says of its physical memory."""
    import ctypes

    class MemoryStatus(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("total_physical", ctypes.c_uint64),
            ("available_physical", ctypes.c_uint64),
            ("total_page_file", ctypes.c_uint64),
            ("available_page_file", ctypes.c_uint64),
            ("total_virtual", ctypes.c_uint64),
            ("available_virtual", ctypes.c_uint64),
            ("available_extended_virtual", ctypes.c_uint64),
        )

    status = MemoryStatus()
    status.length = ctypes.sizeof(status)
    try:
        known = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    except (AttributeError, OSError):
        return None
    return float(status.available_physical) if known else None


def _physical(root: Path) -> float | None:
    """All that is built in, where a system does not say what is left of it."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


MACHINES: Mapping[str, Callable[[Path], float | None]] = {
    "linux": _linux,
    "darwin": _macos,
    "win32": _windows,
}


def _own_limit(root: Path) -> float | None:
    """What ``ulimit -v`` leaves to this process."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int((root / "proc/self/statm").read_text().split()[0])
        used = float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return None if limit == resource.RLIM_INFINITY else float(limit) - used


# Control groups of Linux


class Version(NamedTuple):
    """The names that one version of the control groups has for the same things."""

    file_system: str
    limit: str
    used: str
    reclaimable: str  # in memory.stat: the cache of files, which is given up when memory is short

    def left(self, group: Path) -> float | None:
        """What one group leaves of its limit."""
        try:
            limit, used = (int((group / name).read_text()) for name in (self.limit, self.used))
        except (OSError, ValueError):  # no limit reads "max"
            return None
        return float(limit - used) + _numbers(group / "memory.stat").get(self.reclaimable, 0)


VERSION_1 = Version(
    "cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
)
VERSION_2 = Version("cgroup2", "memory.max", "memory.current", "inactive_file")


class Mount(NamedTuple):
    """Where a hierarchy of control groups can be read."""

    version: Version
    group: PurePosixPath  # the group that stands at its top
    place: PurePosixPath


def _group_limits(root: Path) -> Iterator[float | None]:
    """What each group leaves that the process is in: its own, and all those around it."""
    own = _own_groups(root)
    for mount in _mounts(root):
        group, top = own.get(mount.version), root / mount.place.relative_to("/")
        if group is None:
            continue
        # In a container, the hierarchy may begin below the group's name as the machine knows it.
        is_below = group.is_relative_to(mount.group)
        inner = group.relative_to(mount.group) if is_below else PurePosixPath(".")
        place = top / inner
        if ".." in inner.parts or not place.is_dir():
            place = top
        for one in (place, *place.parents):
            yield mount.version.left(one)
            if one == top:
                break


def _own_groups(root: Path) -> dict[Version, PurePosixPath]:
    """The group of this process in each hierarchy that limits memory."""
    groups = {}
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, name = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            groups[VERSION_2] = PurePosixPath(name or "/")
        elif "memory" in controllers.split(","):
            groups[VERSION_1] = PurePosixPath(name)
    return groups


def _mounts(root: Path) -> Iterator[Mount]:
    """The hierarchies that are mounted."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, end = before.split(), after.split()
        if len(fields) < 5 or len(end) < 3:
            continue
        group, place = (PurePosixPath(_unescaped(field)) for field in fields[3:5])
        for version in (VERSION_1, VERSION_2):
            has_memory = version is VERSION_2 or "memory" in end[2].split(",")
            if end[0] == version.file_system and has_memory:
                yield Mount(version, group, place)


def _unescaped(text: str) -> str:
    r"""A path as the kernel writes it: a blank is ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none if it cannot be read."""
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _numbers(path: Path) -> dict[str, int]:
    """Names and numbers, one pair in each line."""
    pairs = [line.split()[:2] for line in _lines(path)]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
