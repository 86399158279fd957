"""Attack: runs on data in partitions, whose workers or which themselves are killed.

``python -m tests.attacks.killed_partitions --rows 1000000 --moments 20`` clusters ten Parquet files
without Dask, with it, with a worker killed in each stage, and with the run itself killed at so many
moments and resumed.  All must end with the same bytes.
"""

import argparse
import hashlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from credpart import cluster_dataset
from credpart.datasets import make_mixture1

N_FILES = 10
STAGES = ("scan", "sample", "select", "refine", "bootstrap", "partition", "masses")
OPTIONS = {"n_clusters": 3, "model": "EII", "random_state": 0}


def write_files(folder: Path, n: int) -> None:
    """Objects of Mixture 1 in ten Parquet files."""
    folder.mkdir()
    for i, rows in enumerate(np.array_split(make_mixture1(n, random_state=0).X, N_FILES)):
        pd.DataFrame(rows, columns=["x", "y"]).to_parquet(folder / f"{i}.parquet")


def digest(out: Path) -> str:
    """A digest of all files of a result but the summary, which has the timings."""
    found = hashlib.sha256()
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.name not in ("summary.json", "timings.json", "report.html"):
            found.update(path.relative_to(out).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def stage_of(place: Path) -> str | None:
    """The stage that an unfinished run beside ``out`` is in."""
    hidden = [path for path in place.iterdir() if path.name.startswith(".out.")]
    if not hidden:
        return None
    done = {path.stem for path in hidden[0].glob("*/*.npz")}
    return next((stage for stage in STAGES if stage not in done), None)


def run(cells: Path, out: Path, replicates: int, *, resume: bool = False) -> None:
    """One run in this process."""
    cluster_dataset(cells, out, n_replicates=replicates, resume=resume, **OPTIONS)


def with_dask(cells: Path, place: Path, replicates: int, stage: str | None) -> str:
    """The digest of a run on two worker processes, one of which is killed in a stage."""
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    done, killed = threading.Event(), []

    def kill_a_worker() -> None:
        while not done.wait(0.02):
            if stage_of(place) == stage:
                time.sleep(0.05)
                worker = next(iter(cluster.workers.values()))
                worker.process.process._process.kill()
                killed.append(stage)
                return

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        parallel_config(backend="dask"),
    ):
        watcher = threading.Thread(target=kill_a_worker)
        if stage is not None:
            watcher.start()
        run(cells, place / "out", replicates)
        done.set()
        if stage is not None:
            watcher.join()
    if stage is not None and not killed:
        return f"no worker was killed in {stage}"
    return digest(place / "out")


def killed_and_resumed(cells: Path, place: Path, replicates: int, after: float) -> str:
    """The digest of a run that is killed after some seconds and goes on."""
    command = [sys.executable, "-m", "tests.attacks.killed_partitions", "--run", str(cells)]
    process = subprocess.Popen(  # noqa: S603
        [*command, str(place / "out"), "--replicates", str(replicates)]
    )
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if (place / "out").exists():  # it was faster than expected
        return digest(place / "out")
    subprocess.run(  # noqa: S603
        [*command, str(place / "out"), "--replicates", str(replicates), "--resume"], check=True
    )
    return digest(place / "out")


def attack(rows: int, moments: int, replicates: int, *, dask: bool = True) -> list[str]:
    """All of them; what ended with other bytes."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        cells = root / "cells"
        write_files(cells, rows)

        def check(name: str, attempt) -> None:
            place = root / name.replace(" ", "-")
            place.mkdir()
            found = attempt(place)
            print(f"{name}: {'same bytes' if found == expected else found}", flush=True)
            if found != expected:
                failures.append(name)

        began = time.perf_counter()
        run(cells, root / "out", replicates)
        seconds, expected = time.perf_counter() - began, digest(root / "out")
        for stage in (None, *STAGES) if dask else ():
            name = "dask" if stage is None else f"worker killed in {stage}"
            check(name, lambda place, stage=stage: with_dask(cells, place, replicates, stage))
        for i in range(moments):
            after = seconds * (i + 0.5) / moments + 1.0  # a second to start
            check(
                f"killed after {after:.1f} s",
                lambda place, after=after: killed_and_resumed(cells, place, replicates, after),
            )
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--no-dask", action="store_true")
    parser.add_argument("--run", nargs=2, type=Path, metavar=("CELLS", "OUT"))
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.run:
        run(*options.run, options.replicates, resume=options.resume)
        return
    failures = attack(options.rows, options.moments, options.replicates, dask=not options.no_dask)
    print(f"{len(failures)} failed {failures}")


if __name__ == "__main__":
    main()
