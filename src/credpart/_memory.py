"""Whether all pairs of objects fit in memory: asked before anything is computed."""

import os
from math import sqrt
from pathlib import Path

from credpart._messages import Message, Name, Setting
from credpart.errors import InputError

PAIR_BYTES = 24  # an n x n array of these is what the stages hold at their peak
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


def free_memory() -> float | None:
    """Bytes that this process may still take; None if that is not known."""
    known = [bytes_left for read in (_available, _allowed) if (bytes_left := read()) is not None]
    return min(known) if known else None


def _available() -> float | None:
    """What the machine has left: Linux says; elsewhere all that is built in counts."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _allowed() -> float | None:
    """What a container leaves of its limit."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        cached = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return float(limit - used + int(cached.get("inactive_file", 0)))
    except (OSError, ValueError):  # no limit reads "max"
        return None
