"""Running a command: an error is one line and an exit code.

Little is imported here, so that a signal is handled from the first moment on.
"""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from credpart.cli import completion
from credpart.cli.signals import Interruption, raise_if_stopped, stopping_signals
from credpart.cli.streams import StandardOutputError, harmless, standard_streams
from credpart.cli.vocabulary import in_shell

DONE = 0
BROKEN = 1  # what we did
WRONG = 2  # what the user gave
INTERRUPTED = 130
NOT_READ = 141  # the reader of standard output has left, as the signal SIGPIPE says
USER_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that the arguments say (those of the process, if None), and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    completion.begin()
    with standard_streams(), stopping_signals(is_own_process=arguments is None):
        code = _exit_code(given, debug=debug)
    sys.exit(code)


def _exit_code(given: list[str], *, debug: bool) -> int:
    """Run a command; say what went wrong."""
    try:
        with _stages_as_lines(), _no_windows():
            try:
                return _run(given)
            except Exception:
                raise_if_stopped()  # a library may have made another error of it
                raise
    except (Interruption, KeyboardInterrupt) as stop:
        complete = completion.complete_results()
        told = f"Interrupted. {complete}" if complete else "Interrupted; nothing was written."
        print(told, file=sys.stderr)
        return stop.handled() if isinstance(stop, Interruption) else INTERRUPTED
    except StandardOutputError as error:
        return _output_failed(error)
    except Exception as error:
        if debug:
            raise
        return _print_error(error)


def _run(given: list[str]) -> int:
    import typer

    from credpart.cli.app import app

    try:
        command = typer.main.get_command(app)
        code = command.main(given, prog_name="credpart", standalone_mode=False)
    except typer.Abort as abort:
        raise abort.__cause__ or KeyboardInterrupt from None
    if code == INTERRUPTED:  # typer makes this of a KeyboardInterrupt, without a word
        raise KeyboardInterrupt
    sys.stdout.flush()
    return code if isinstance(code, int) else DONE


@contextmanager
def _no_windows() -> Iterator[None]:
    """Draw into files, whatever a notebook or a desktop has set for the programs it starts."""
    before = os.environ.get("MPLBACKEND")
    os.environ["MPLBACKEND"] = "agg"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("MPLBACKEND", None)
        else:
            os.environ["MPLBACKEND"] = before


@contextmanager
def _stages_as_lines() -> Iterator[None]:
    """Where no bars can be shown, as in a log file, each stage that ends is a line."""
    if sys.stderr.isatty():
        yield
        return
    logger, lines = logging.getLogger("credpart"), logging.StreamHandler(sys.stderr)
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(lines)


def _output_failed(error: StandardOutputError) -> int:
    """Standard output failed: a command whose files are complete has still done its work."""
    complete = completion.complete_results()
    if error.is_pipe and not complete:
        return NOT_READ  # such as `head` has read all that it wanted
    print(f"credpart: {error} {complete}".strip(), file=sys.stderr)
    return DONE if complete else WRONG


def _print_error(error: Exception) -> int:
    """Print in one line what is wrong; return the exit code."""
    usage: Any = getattr(error, "format_message", None)  # an error of the command line itself
    known = usage is not None or isinstance(error, USER_ERRORS)
    text = in_shell(usage() if usage else error) or type(error).__name__
    if isinstance(error, MemoryError):
        text = f"There is not enough memory for this ({text}). Give it fewer rows or columns."
    if not known:
        text = f"{type(error).__name__}: {text} (this is a bug; --debug shows where)"
    complete = completion.complete_results()
    print(harmless(f"credpart: {text} {complete}".strip()), file=sys.stderr)
    return WRONG if known else BROKEN
