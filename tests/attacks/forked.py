"""Commands in forks of a process that has imported everything: a try takes milliseconds.

The process that forks must have one thread only.
"""

import contextlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import credpart.cli.app
import credpart.cli.commands
import credpart.cli.screen  # noqa: F401  (before the forks)
from credpart.cli import main


class Ended(NamedTuple):
    """How a command ended: its exit code, minus the signal if one has killed it."""

    code: int
    err: str


def start(
    arguments: Sequence[object],
    folder: Path,
    *,
    out: int | None = None,
    err: int | None = None,
    prepare: Callable[[], object] = lambda: None,
) -> int:
    """Start a command in a folder; return its process.

    ``out`` and ``err`` are descriptors that become its standard output and error; None is closed.
    """
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        _redirect(out, 1)
        _redirect(err, 2)
        sys.stdout = None if out is None else open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = None if err is None else open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        prepare()
        code = _code(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _redirect(source: int | None, target: int) -> None:
    if source is None:
        os.close(target)
    else:
        os.dup2(source, target)


def _code(arguments: Sequence[object]) -> int:
    """Run the command, and end as Python does."""
    sys.argv = ["credpart", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:
            return 120  # as Python says
        return int(end.code or 0)


def warm_up() -> None:
    """Run a command in this process, so that its forks have what is made once."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SystemExit):
        options = ("--clusters", "2", "--model", "EII", "--replicates", "20", "--quiet")
        main(["fit", "butterfly", *options, "--out", f"{folder}/out"])


def end(pid: int) -> int:
    """Wait for a process; return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(arguments: Sequence[object], folder: Path) -> Ended:
    """Run a command to its end."""
    log = folder.parent / f"{folder.name}.err"
    with log.open("w") as err, open(os.devnull, "w") as out:
        code = end(start(arguments, folder, out=out.fileno(), err=err.fileno()))
    return Ended(code, log.read_text())
