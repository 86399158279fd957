"""Attack: runs that are interrupted or killed at random moments of each stage.

``python -m tests.attacks.interrupted_runs --moments 20`` starts ``credpart fit`` that many times
for each stage and each of SIGINT, SIGTERM, SIGHUP and SIGKILL, and sends the signal at a random
moment of the stage.  Half of the runs make a new folder, the others replace one.  Afterwards:

- the folder is absent, the old one or the new one, each of them complete;
- a run that was told to end says so in one line, with exit code 128 + signal, and leaves nothing
  half made; it may have been too late for that, and then its folder is complete;
- files beside the folder are as they were;
- the next run succeeds, and no hidden file is left after it.

It prints one row for each stage and signal, and ends with code 1 if there is a failure.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process that forks may have one thread only

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from credpart._files import recover_folder
from credpart.cli.folder import FILES
from credpart.storage import load_model
from tests.attacks import forked

OPTIONS = (
    "--clusters",
    "2",
    "--model",
    "EII,VII",
    "--replicates",
    "100",
    "--quiet",
    "--audit",
    "0",
)
STAGES = {  # where each stage begins: the module that calls it, and the function
    "read": ("credpart.cli.fitting", "read"),
    "select": ("credpart.pipeline", "choose_mixture"),
    "bootstrap": ("credpart.pipeline", "run_bootstrap"),
    "intervals": ("credpart.pipeline", "find_intervals"),
    "partition": ("credpart.pipeline", "find_partition"),
    "diagnosis": ("credpart.cli.fitting", "judged"),
    "write": ("credpart.cli.fitting", "describe"),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
COMPARED = ("masses.csv", "intervals.npz")  # the same bytes in every run with a seed


class Reference(NamedTuple):
    """What uninterrupted runs do."""

    old: Path
    new: Path
    seconds: dict[str, float]  # of each stage


def fit(seed: int, *options: str) -> tuple[str, ...]:
    """The command."""
    return ("fit", "butterfly", *OPTIONS, "--seed", str(seed), "--out", "out", *options)


def tell_stages(pipe: int) -> None:
    """In the child: write the number of a stage to a pipe when it begins."""
    for number, (module, name) in enumerate(STAGES.values()):
        original = getattr(sys.modules[module], name)

        def told(*arguments, number=number, original=original, **options):
            os.write(pipe, bytes([number]))
            return original(*arguments, **options)

        setattr(sys.modules[module], name, told)


def prepare(root: Path) -> Reference:
    """Make the folders to compare with, and measure how long each stage takes."""
    places, seconds = [], {}
    for seed in (1, 2):
        place = root / f"reference{seed}"
        place.mkdir()
        begun = [time.monotonic()]
        read, write = os.pipe()
        pid = started(place, fit(seed), write)
        os.close(write)
        while os.read(read, 1):
            begun.append(time.monotonic())
        os.close(read)
        if forked.end(pid):
            raise RuntimeError((root / f"{place.name}.err").read_text())
        begun.append(time.monotonic())
        seconds = dict(zip(STAGES, (b - a for a, b in pairwise(begun[1:])), strict=True))
        places.append(place / "out")
    return Reference(*places, seconds)


def started(place: Path, command: tuple[str, ...], pipe: int) -> int:
    """Start a command whose stages are told."""
    with (place.parent / f"{place.name}.err").open("w") as err, open(os.devnull, "w") as out:
        streams = {"out": out.fileno(), "err": err.fileno()}
        return forked.start(command, place, **streams, prepare=lambda: tell_stages(pipe))


def attack(
    place: Path, stage: str, number: int, rng: np.random.Generator, reference: Reference
) -> str:
    """Interrupt one run; return what is wrong, or nothing."""
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    is_replaced = bool(rng.integers(2))
    if is_replaced:
        shutil.copytree(reference.old, place / "out")
    read, write = os.pipe()
    pid = started(place, fit(2, *["--force"] * is_replaced), write)
    os.close(write)
    wanted = bytes([list(STAGES).index(stage)])
    while os.read(read, 1) not in (wanted, b""):
        pass
    time.sleep(rng.random() * reference.seconds[stage])
    os.kill(pid, number)
    code = forked.end(pid)
    os.close(read)
    said = (place.parent / f"{place.name}.err").read_text()
    return judge(
        place, code, said, number, reference, "old" if is_replaced else "absent"
    ) or judge_next(place, reference)


def judge(place: Path, code: int, said: str, number: int, reference: Reference, before: str) -> str:
    """What is wrong after an interrupted run."""
    names = sorted(entry.name for entry in place.iterdir())
    recover_folder(place / "out", FILES)  # what the next command does first
    found = state(place / "out", reference)
    if found not in (before, "new"):
        return f"the folder is {found}"
    if (place / "mine.txt").read_text() != "mine":
        return "a file beside the folder has changed"
    if number == signal.SIGKILL:
        return "" if code in (-9, 0) else f"code {code}"
    if set(names) - {"mine.txt", "out"}:
        return f"left {names}"
    if code == 0:
        return "" if found == "new" else "code 0, and nothing written"
    if code != 128 + number:
        return f"code {code}: {said}"
    expected = {"new": ". The result in 'out' is complete."}.get(found, "; nothing was written.")
    return "" if said == f"Interrupted{expected}\n" else f"said {said!r}, found {found}"


def judge_next(place: Path, reference: Reference) -> str:
    """What is wrong with the next run."""
    ended = forked.run(fit(2, "--force"), place)
    names = sorted(entry.name for entry in place.iterdir())
    if ended.code or state(place / "out", reference) != "new":
        return f"the next run fails: {ended}"
    return "" if names == ["mine.txt", "out"] else f"the next run leaves {names}"


def state(folder: Path, reference: Reference) -> str:
    """Absent, old, new, or broken."""
    if not folder.exists():
        return "absent"
    if {entry.name for entry in folder.iterdir()} != set(FILES):
        return "broken: not all files"
    try:
        load_model(folder / "model.npz")
        json.loads((folder / "summary.json").read_text())
        assert (folder / "report.html").read_text().rstrip().endswith("</html>")
    except Exception as error:
        return f"broken: {error!r}"
    content = [(folder / name).read_bytes() for name in COMPARED]
    for name, known in (("old", reference.old), ("new", reference.new)):
        if content == [(known / file).read_bytes() for file in COMPARED]:
            return name
    return "broken: other content"


def run(moments: int, stages: list[str], seed: int) -> int:
    """Run all tries; print the table; return the number of failures."""
    rng = np.random.default_rng(seed)
    failures: Counter[tuple[str, str]] = Counter()
    forked.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        reference = prepare(root)
        print("stage      " + "".join(f"{number.name:>10}" for number in SIGNALS))
        for stage in stages:
            cells = []
            for number in SIGNALS:
                for count in range(moments):
                    place = root / f"{stage}-{number.name}-{count}"
                    fault = attack(place, stage, number, rng, reference)
                    if fault:
                        failures[stage, number.name] += 1
                        print(f"  {stage}, {number.name}: {fault}", file=sys.stderr)
                    shutil.rmtree(place, ignore_errors=True)
                cells.append(f"{failures[stage, number.name]:>5} / {moments:<2}")
            print(f"{stage:<11}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
    tries = moments * len(stages) * len(SIGNALS)
    print(f"{failures.total()} failures in {tries} tries")
    return failures.total()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="two stages only, for every change")
    given = parser.parse_args()
    if given.short:
        given.stages = "bootstrap,write"
    sys.exit(1 if run(given.moments, given.stages.split(","), given.seed) else 0)
