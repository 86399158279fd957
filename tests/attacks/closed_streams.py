"""Attack: commands whose standard output or error is closed, full, or read by nobody.

``python -m tests.attacks.closed_streams`` runs each command with each pair of streams.  The exit
code and the message are those of ``docs/command-line.md``; the files of a fit are complete in every
case; there is never a traceback.  It ends with code 1 if there is a failure.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process that forks may have one thread only

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from credpart.cli.folder import FILES
from tests.attacks import forked

COMMANDS = {
    "fit": ("fit", "butterfly", "--clusters", "2", "--model", "EII", "--replicates", "20"),
    "predict": ("predict", "../model", "butterfly"),
    "predict to a file": ("predict", "../model", "butterfly", "--out", "table.csv", "--quiet"),
    "select": ("select", "butterfly", "--clusters", "1-2", "--model", "EII"),
    "datasets": ("datasets",),
    "a data set": ("datasets", "iris"),
    "help": ("--help",),
    "version": ("--version",),
    "wrong": ("fit", "butterfly", "--level", "2"),
}
MAKES_FILES = {"fit": "credpart-butterfly", "predict to a file": "table.csv"}
STREAMS = ("open", "closed", "full", "unread")
CODES = {"open": 0, "closed": 2, "full": 2, "unread": 141}  # of what is printed
COMPLETE = "is complete."


@contextmanager
def stream(kind: str, path: Path) -> Iterator[int | None]:
    """A descriptor of this kind; None is closed."""
    if kind == "closed":
        yield None
        return
    if kind == "unread":
        read, descriptor = os.pipe()
        os.close(read)
    else:
        flags = os.O_WRONLY | os.O_CREAT
        descriptor = os.open("/dev/full" if kind == "full" else path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def expected(command: str, out: str) -> int:
    """The exit code."""
    if command == "wrong":
        return 2
    return 0 if command in MAKES_FILES else CODES[out]


def attack(root: Path, command: str, out: str, err: str) -> str:
    """Run a command; return what is wrong, or nothing."""
    place = Path(tempfile.mkdtemp(dir=root))
    with (
        stream(out, root / f"{place.name}.out") as output,
        stream(err, root / f"{place.name}.err") as errors,
    ):
        code = forked.end(forked.start(COMMANDS[command], place, out=output, err=errors))
    said = (root / f"{place.name}.err").read_text() if err == "open" else ""
    if code != expected(command, out):
        return f"code {code}: {said}"
    if "Traceback" in said or "Exception ignored" in said:
        return said
    if command == "fit":
        found = {entry.name for entry in (place / MAKES_FILES[command]).iterdir()}
        if found != set(FILES):
            return f"wrote {found}"
        if err == "open" and (COMPLETE in said) != (out != "open"):
            return f"said {said!r}"
    if command == "wrong" and err == "open" and "--level must be" not in said:
        return f"said {said!r}"
    failed = expected(command, out) == 2 and command != "wrong"
    if err == "open" and failed and "Standard output cannot be written" not in said:
        return f"said {said!r}"
    names = {entry.name for entry in place.iterdir()}
    return "" if names <= set(MAKES_FILES.values()) else f"left {names}"


def run(commands: Sequence[str], pairs: Sequence[tuple[str, str]]) -> int:
    """Run all tries; print the table; return the number of failures."""
    forked.warm_up()
    n_failures = tries = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = forked.run((*COMMANDS["fit"], "--out", "model", "--quiet"), root)
        if made.code:
            raise RuntimeError(made.err)
        for command in commands:
            faults = []
            for out, err in pairs:
                fault = attack(root, command, out, err)
                tries += 1
                if fault:
                    faults.append(f"  output {out}, error {err}: {fault}")
            print(f"{command:<18} {len(faults)} / {len(pairs)}", *faults, sep="\n")
            n_failures += len(faults)
    print(f"{n_failures} failures in {tries} tries")
    return n_failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a few tries, for every change")
    if parser.parse_args().short:
        some = [("closed", "open"), ("open", "closed"), ("full", "full"), ("unread", "open")]
        sys.exit(1 if run(["fit", "predict", "wrong"], some) else 0)
    sys.exit(1 if run(list(COMMANDS), list(itertools.product(STREAMS, STREAMS))) else 0)
