"""How much memory is left, on systems that stand in folders of a test."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from credpart import CalibratedClustering, _memory, fit_mixture, select_mixture
from credpart._memory import check_pairs, free_memory
from credpart.datasets import load_iris
from credpart.errors import InputError

GB = 10**9
UNLIMITED = 9223372036854771712  # how version 1 says that there is no limit
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "36 25 0:31 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"


def made(root, **files):
    """A system: the machine has 64 GB left, and the files that are given."""
    everything = {"proc/meminfo": f"MemTotal: 99 kB\nMemAvailable: {64 * GB // 1024} kB\n"} | files
    for name, text in everything.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def group(place, limit, used, *, cached=0, version=2):
    """The files of one control group."""
    names = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.max", "memory.current", "inactive_file"),
    }[version]
    texts = (f"{limit}\n", f"{used}\n", f"anon 1\n{names[2]} {cached}\n")
    files = (*names[:2], "memory.stat")
    return {f"{place}/{name}": text for name, text in zip(files, texts, strict=True)}


def v2(own, *groups):
    files = {"proc/self/cgroup": f"0::{own}\n", "proc/self/mountinfo": V2}
    for one in groups:
        files |= one
    return files


def v1(own, *groups, root="/"):
    files = {
        "proc/self/cgroup": f"12:cpu:/\n5:memory:{own}\n1:name=systemd:/\n0::/\n",
        "proc/self/mountinfo": V1.format(root=root),
    }
    for one in groups:
        files |= one
    return files


TOP = "sys/fs/cgroup"
SYSTEMS = {
    "no groups": ({}, 64 * GB),
    "v2, the root of a container": (v2("/", group(TOP, 4 * GB, GB)), 3 * GB),
    "v2, cache counts as free": (v2("/", group(TOP, 4 * GB, GB, cached=GB)), 4 * GB),
    "v2, no limit": (v2("/", group(TOP, "max", GB)), 64 * GB),
    "v2, the group itself": (
        v2("/a/b", group(f"{TOP}/a", "max", GB), group(f"{TOP}/a/b", 2 * GB, GB)),
        GB,
    ),
    "v2, the group around it is smaller": (
        v2("/a/b", group(f"{TOP}/a", 3 * GB, 5 * GB // 2), group(f"{TOP}/a/b", 9 * GB, GB)),
        GB / 2,
    ),
    "v2, more used than allowed": (v2("/", group(TOP, GB, 2 * GB)), 0),
    "v2, the name of the group as the machine knows it": (
        v2("/docker/123", group(TOP, 5 * GB, GB)),
        4 * GB,
    ),
    "v2, a group outside the namespace": (v2("/../other", group(TOP, 5 * GB, GB)), 4 * GB),
    "v1": (v1("/a", group(f"{TOP}/memory/a", 6 * GB, GB, version=1)), 5 * GB),
    "v1, no limit": (v1("/a", group(f"{TOP}/memory/a", UNLIMITED, GB, version=1)), 64 * GB),
    "v1, nested": (
        v1(
            "/a/b",
            group(f"{TOP}/memory/a", 6 * GB, 4 * GB, cached=GB, version=1),
            group(f"{TOP}/memory/a/b", UNLIMITED, GB, version=1),
        ),
        3 * GB,
    ),
    "v1, in a container": (
        v1("/docker/123", group(f"{TOP}/memory", 2 * GB, GB, version=1), root="/docker/123"),
        GB,
    ),
    "v1, below the top of a container": (
        v1(
            "/docker/123/x",
            group(f"{TOP}/memory", 9 * GB, GB, version=1),
            group(f"{TOP}/memory/x", 2 * GB, GB, version=1),
            root="/docker/123",
        ),
        GB,
    ),
    "damaged files": (
        {"proc/self/cgroup": "\n::\nx", "proc/self/mountinfo": "1 2 3\n - cgroup2\n"},
        64 * GB,
    ),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_smallest_limit_counts(system, tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "_own_limit", lambda root: None)
    files, expected = SYSTEMS[system]
    assert free_memory(made(tmp_path, **files), "linux") == pytest.approx(expected, rel=1e-6)


VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               1000.
Pages active:                            90000.
Pages inactive:                           2000.
Pages speculative:                         300.
Pages throttled:                             0.
Pages wired down:                        50000.
Pages purgeable:                            40.
"File-backed pages":                     70000.
"""


def test_macos_counts_its_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "_own_limit", lambda root: None)
    done = subprocess.CompletedProcess([], 0, VM_STAT)
    monkeypatch.setattr(_memory.subprocess, "run", lambda *arguments, **options: done)
    assert free_memory(tmp_path, "darwin") == 16384 * 3340


def test_windows_is_asked_through_its_own_call(tmp_path, monkeypatch):
    import ctypes

    class Kernel:
        @staticmethod
        def GlobalMemoryStatusEx(status):
            status._obj.available_physical = 7 * GB
            return status._obj.length == 64

    windll = type("Windll", (), {"kernel32": Kernel})
    monkeypatch.setattr(ctypes, "windll", windll, raising=False)
    monkeypatch.setattr(_memory, "_own_limit", lambda root: None)
    assert free_memory(tmp_path, "win32") == 7 * GB


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
def test_a_system_that_says_nothing_is_not_an_error(platform, tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "_own_limit", lambda root: None)
    monkeypatch.delattr(_memory.os, "sysconf")
    assert free_memory(tmp_path, platform) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is read from /proc")
def test_the_limit_of_the_process_itself_counts():
    program = (
        "import resource\n"
        "from credpart._memory import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))\n"
        "print(free_memory())\n"
    )
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
    assert 1e8 < float(told.stdout) < 1e9


def test_more_pairs_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr(_memory, "free_memory", lambda: 1e9)
    check_pairs(5000, 1000, 9)
    with pytest.raises(InputError, match=r"at most about 5100 rows.*1.0 GB.*6000 rows, which need"):
        check_pairs(6000, 1000, 9)


def test_more_columns_than_memory_for_their_covariances_are_refused(monkeypatch):
    monkeypatch.setattr(_memory, "free_memory", lambda: 1e9)
    X = np.random.default_rng(0).normal(size=(30, 3000))
    refusal = r"`X` must have at most about 2600 columns for the covariance .* need 1 GB. Cluster"
    with pytest.raises(InputError, match=refusal):
        fit_mixture(X, 2, "EII")
    with pytest.raises(InputError, match=r"at most about 790 columns .* of 100 mixtures"):
        CalibratedClustering([2, 3], model="VVI", n_replicates=100).fit(X[:, :1000])
    # A table of categories has no such matrices.
    answers = pd.DataFrame(np.random.default_rng(0).integers(2, size=(30, 3000))).astype(str)
    monkeypatch.setattr(_memory, "free_memory", lambda: 1e7)
    assert select_mixture(answers, 2, "latent-class").best.n_clusters == 2


def test_the_largest_number_of_clusters_counts(monkeypatch):
    needed = []
    monkeypatch.setattr("credpart.clustering.check_pairs", lambda *sizes: needed.append(sizes))
    model = CalibratedClustering([2, 5, 3], model="EII", n_replicates=20, random_state=0)
    model.fit(load_iris().X)
    assert needed == [(150, 20, 5)]
