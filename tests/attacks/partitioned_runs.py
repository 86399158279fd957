"""Attack: what does a run on data in partitions make of files that change, and of lost bytes?

    python -m tests.attacks.partitioned_runs

Source files are cut short, removed, exchanged or made a circle of links, before the run or in the
middle of it; what an interrupted run has left behind is damaged before it goes on; the disk is
full.  Each time the run ends with one `CredpartError`, or an `OSError` of the full disk, and leaves
no result; or its result has the bytes of an undisturbed run.  A run after that, from the beginning,
has these bytes too.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from credpart import cluster_dataset
from credpart.datasets import make_mixture1
from credpart.errors import CredpartError
from credpart.out_of_core import resumable_run

N, FILES = 1500, 3
OPTIONS = {"model": "EII", "n_replicates": 20, "pairs": 6, "random_state": 0, "sample_rows": 300}


class Killed(BaseException):
    """The run is over, at once."""


def make_source(folder: Path) -> None:
    """A folder of Parquet files."""
    folder.mkdir()
    frame = pd.DataFrame(make_mixture1(N, random_state=1).X, columns=["x", "y"])
    for i, rows in enumerate(np.array_split(np.arange(N), FILES)):
        frame.iloc[rows].to_parquet(folder / f"{i}.parquet")


def run(place: Path, **options: Any) -> bytes:
    """Cluster the files; return all bytes of the result that do not depend on time."""
    with warnings.catch_warnings(action="ignore"):
        found = cluster_dataset(str(place / "in"), place / "out", 3, **OPTIONS, **options)
    summary = {name: part for name, part in found.summary.items() if name != "timings"}
    text = json.dumps(summary).replace(str(place), "").encode()
    return b"".join([text, *(path.read_bytes() for path in found.parts)])


# Disturbances: each is a context in which the run is tried


def before(change: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The files change before the run."""

    @contextmanager
    def disturb(place: Path) -> Iterator[None]:
        change(place)
        yield

    return disturb


def after(stage: str, change: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The files change when a stage of the run is over."""

    @contextmanager
    def disturb(place: Path) -> Iterator[None]:
        original = getattr(resumable_run, stage)

        def changed(*arguments: Any, **options: Any) -> Any:
            value = original(*arguments, **options)
            change(place)
            return value

        with mock.patch.object(resumable_run, stage, changed):
            yield

    return disturb


def killed_before(stage: str, change: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """What a killed run has left behind is changed; the run goes on."""

    @contextmanager
    def disturb(place: Path) -> Iterator[None]:
        with mock.patch.object(resumable_run, stage, side_effect=Killed), suppress(Killed):
            run(place, resume=True)
        (begun,) = (path for path in place.iterdir() if path.name.startswith(".out"))
        change(begun)
        yield

    return disturb


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 3, len(content), 50):
        content[place] ^= 255
    path.write_bytes(bytes(content))


def other_numbers(place: Path) -> None:
    """As many rows, and others."""
    path = place / "in" / "1.parquet"
    frame = pd.read_parquet(path)
    (frame[::-1] + 1.0).to_parquet(path)


@contextmanager
def full_disk(place: Path) -> Iterator[None]:
    """No file may be larger than 20 kB, which fails as a full disk does."""
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handled)


ATTACKS: dict[str, Callable[[Path], Any]] = {
    "a file is cut short": before(lambda p: cut_short(p / "in/1.parquet")),
    "a file is empty": before(lambda p: (p / "in/1.parquet").write_bytes(b"")),
    "a link to itself": before(lambda p: (p / "in/9.parquet").symlink_to("9.parquet")),
    "a folder within itself": before(lambda p: (p / "in/deep").symlink_to(".")),
    "a file is cut short after the scan": after("scan", lambda p: cut_short(p / "in/1.parquet")),
    "a file is removed after the fit": after("refine", lambda p: (p / "in/2.parquet").unlink()),
    "a file has other numbers after the fit": after("refine", other_numbers),
    "a file has other numbers at the end": after("find_result", other_numbers),
    "a stage that was kept is damaged": killed_before(
        "refine", lambda p: damage(p / resumable_run.STATE / "select.npz")
    ),
    "a stage that was kept is cut short": killed_before(
        "find_result", lambda p: cut_short(p / resumable_run.STATE / "bootstrap.npz")
    ),
    "a part of the masses is cut short": killed_before(
        "dump_model", lambda p: cut_short(p / "masses/part-00001.parquet")
    ),
    "what the run depends on is damaged": killed_before(
        "refine", lambda p: (p / resumable_run.STATE / "run.json").write_text("{")
    ),
    "the disk is full": full_disk,
}


def attempt(name: str, expected: bytes) -> str:
    """What happened: "refused", "same", or what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_source(place / "in")
        is_resumed = name not in ("the disk is full",)
        try:
            with ATTACKS[name](place):
                found = run(place, resume=is_resumed)
            outcome = "same" if found == expected else "WRONG: another result"
        except (CredpartError, OSError) as error:
            is_clear = bool(str(error).strip()) and (
                isinstance(error, CredpartError) or name == "the disk is full"
            )
            outcome = "refused" if is_clear else f"WRONG: {type(error).__name__}: {error}"
            if (place / "out").exists():
                outcome = "WRONG: an error, and a result"
        except Exception as error:
            outcome = f"WRONG: {type(error).__name__}: {error}"
        shutil.rmtree(place / "in")
        make_source(place / "in")
        if outcome[:5] != "WRONG" and run(place, overwrite=True) != expected:
            outcome = "WRONG: the next run is another"
        left = {path.name for path in place.iterdir()} - {"in", "out"}
        return f"WRONG: {left} is left" if left and outcome[:5] != "WRONG" else outcome


def main() -> int:
    """Attack and print a table; the exit code is 1 if there was a failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(ATTACKS), choices=list(ATTACKS))
    chosen = parser.parse_args().only
    with tempfile.TemporaryDirectory() as folder:
        make_source(Path(folder, "in"))
        expected = run(Path(folder))
    outcomes = {name: attempt(name, expected) for name in chosen}
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome}")
    failures = sum(outcome.startswith("WRONG") for outcome in outcomes.values())
    print(f"{failures} failures in {len(outcomes)} tries")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
