"""Attack: runs that get in each other's way, storms of signals, and places that change meanwhile.

``python -m tests.attacks.rival_runs --tries 15`` tries each of these that many times and prints
how often something was wrong.  Some need the rights of root, to act as another user.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process that forks may have one thread only

import argparse
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from credpart._files import STOPPING
from credpart.cli.folder import FILES
from tests.attacks import forked

OPTIONS = ("--clusters", "2", "--model", "EII,VII", "--replicates", "100", "--quiet")
FIT = ("fit", "butterfly", *OPTIONS, "--out", "out")
NOBODY = 65534


def start(place: Path, command: tuple[str, ...], name: str = "run", **options) -> int:
    """Start a command; what it says stands beside the folder."""
    with said_by(place, name).open("w") as err, open(os.devnull, "w") as out:
        return forked.start(command, place, out=out.fileno(), err=err.fileno(), **options)


def said_by(place: Path, name: str = "run") -> Path:
    """Where a run says what is wrong."""
    return place.parent / f"{place.name}.{name}.err"


def is_complete(folder: Path) -> bool:
    """Whether a folder holds all files of a result."""
    return folder.is_dir() and {entry.name for entry in folder.iterdir()} >= set(FILES)


def names(place: Path) -> list[str]:
    """What stands in a folder."""
    return sorted(entry.name for entry in place.iterdir())


def two_runs(place: Path, share: float) -> str:
    """Two runs on one folder: one of them is refused, and no result is lost."""
    pids = []
    for name in ("first", "second"):
        pids.append(start(place, (*FIT, "--force"), name))
        time.sleep(0.1 * share)
    codes = sorted(map(forked.end, pids))
    if codes == [0, 2] and names(place) == ["out"] and is_complete(place / "out"):
        return ""
    return f"{codes} {names(place)}"


def storm(place: Path, share: float) -> str:
    """Fifty signals in a row end a run like one."""
    pid = start(place, FIT)
    time.sleep(0.05 + 0.2 * share)
    for number in range(50):
        os.kill(pid, STOPPING[number % len(STOPPING)])  # a process that has ended still has its id
        time.sleep(0.0005)
    code, said = forked.end(pid), said_by(place).read_text()
    if code == 0 and is_complete(place / "out"):
        return ""
    is_one_line = said.startswith("Interrupted") and "\n" not in said[:-1]
    is_right = is_one_line and code in [128 + number for number in STOPPING]
    return "" if is_right and names(place) in ([], ["out"]) else f"{code} {said} {names(place)}"


def stopped(place: Path, share: float) -> str:
    """A run that is stopped for a while is alive: another one does not remove what it makes."""
    pid = start(place, FIT)
    time.sleep(0.05 + 0.1 * share)
    os.kill(pid, signal.SIGSTOP)
    refused = forked.run((*FIT, "--force"), place)
    os.kill(pid, signal.SIGCONT)
    code = forked.end(pid)
    if {code, refused.code} == {0, 2} and is_complete(place / "out"):  # who claims it first wins
        return ""
    return f"{code} {refused} {names(place)}"


def no_hangup(place: Path, share: float) -> str:
    """A run under ``nohup`` goes on when the terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    pid = start(place, FIT)
    signal.signal(signal.SIGHUP, before)
    time.sleep(0.2 * share)
    os.kill(pid, signal.SIGHUP)
    code = forked.end(pid)
    return "" if code == 0 and is_complete(place / "out") else f"{code} {names(place)}"


def foreign_file(place: Path, share: float) -> str:
    """A file of one's own that appears in the folder stays, and so does the result."""
    pid = start(place, (*FIT, "--force"))
    time.sleep(0.2 * share)
    (place / "out").mkdir(exist_ok=True)
    (place / "out" / "mine.txt").write_text("mine")
    code, said = forked.end(pid), said_by(place).read_text()
    results = [name for name in names(place) if is_complete(place / name)]
    is_kept = (place / "out" / "mine.txt").read_text() == "mine"
    was_refused = code == 2 and "kept as" not in said  # before anything was computed
    return "" if is_kept and len(results) == 1 - was_refused else f"{code} {said} {names(place)}"


def closed_place(place: Path, share: float) -> str:
    """The folder around the result is closed while a user's run goes on: the result is kept."""
    os.chown(place, NOBODY, NOBODY)
    place.parent.chmod(0o755)

    def as_nobody() -> None:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        tempfile.tempdir = tempfile.mkdtemp(prefix="credpart-attack-")

    pid = start(place, FIT, prepare=as_nobody)
    time.sleep(0.2 * share)
    place.chmod(0o500)
    code, said = forked.end(pid), said_by(place).read_text()
    place.chmod(0o700)
    kept = [
        Path(text) for text in said.split("'") if text.startswith("/") and is_complete(Path(text))
    ]
    is_right = is_complete(place / "out") or len(kept) == 1 or "can be written, got" in said
    for folder in Path(tempfile.gettempdir()).glob("credpart-attack-*"):
        shutil.rmtree(folder)
    return "" if is_right else f"{code} {said}"


def left_pipe(place: Path, share: float) -> str:
    """A named pipe whose reader leaves stays a pipe, and the error is one line."""
    pipe = place / "pipe"
    os.mkfifo(pipe)
    pid = start(place, ("datasets", "gvhd", "--out", "pipe"))
    reader = os.open(pipe, os.O_RDONLY)
    os.read(reader, 10)
    os.close(reader)
    code, said = forked.end(pid), said_by(place).read_text()
    is_right = stat.S_ISFIFO(pipe.stat().st_mode) and "cannot be written (Broken pipe)" in said
    return "" if is_right and code == 2 else f"{code} {said}"


ATTACKS: Mapping[str, Callable[[Path, float], str]] = {
    "two runs on one folder": two_runs,
    "fifty signals": storm,
    "a stopped run": stopped,
    "nohup": no_hangup,
    "a file that appears": foreign_file,
    "a place that is closed": closed_place,
    "a pipe that is left": left_pipe,
}
NEED_ROOT = ("a place that is closed",)


def run(tries: int) -> int:
    """Run all tries; print the table; return the number of failures."""
    forked.warm_up()
    n_failures = 0
    for name, attack in ATTACKS.items():
        if name in NEED_ROOT and os.geteuid():
            print(f"{name:<24} needs root")
            continue
        faults = []
        for count in range(tries):
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder, "place")
                place.mkdir()
                faults.append(attack(place, count / tries))
        wrong = [fault for fault in faults if fault]
        print(f"{name:<24} {len(wrong)} / {tries}", *wrong, sep="\n  ", flush=True)
        n_failures += len(wrong)
    print(f"{n_failures} failures")
    return n_failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=15)
    sys.exit(1 if run(parser.parse_args().tries) else 0)
