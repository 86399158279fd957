"""Running a command: an error is one line and an exit code."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from credpart.cli.app import app
from credpart.cli.vocabulary import in_shell

INTERRUPTED = 130
WRONG = 2  # what the user gave
BROKEN = 1  # what we did
USER_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that the arguments say (those of the process, if None), and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    command = typer.main.get_command(app)
    try:
        with _stages_as_lines():
            code = command.main(given, prog_name="credpart", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if debug:
            raise
        code = _print_error(error)
    if code == INTERRUPTED:
        print("Interrupted; nothing was written.", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


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


def _print_error(error: Exception) -> int:
    """Print in one line what is wrong; return the exit code."""
    usage: Any = getattr(error, "format_message", None)  # an error of the command line itself
    known = usage is not None or isinstance(error, USER_ERRORS)
    text = in_shell(usage() if usage else error) or type(error).__name__
    if not known:
        text = f"{type(error).__name__}: {text} (this is a bug; --debug shows where)"
    print(f"credpart: {text}", file=sys.stderr)
    return WRONG if known else BROKEN
