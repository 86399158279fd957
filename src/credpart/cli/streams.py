"""Standard output and standard error, which may be closed, full, or read by nobody."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# Characters that a terminal obeys instead of showing them: all control characters besides the tab
# and the end of a line, and those that reverse the direction of what follows.
OBEYED = {*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)} - {9, 10}
SHOWN = {code: repr(chr(code))[1:-1] for code in OBEYED}


def harmless(text: str) -> str:
    r"""The text as a terminal may have it: what a terminal would obey stands as in Python.

    >>> print(harmless("red\x1b[31m"))
    red\x1b[31m
    """
    return text.translate(SHOWN)


class StandardOutputError(Exception):
    """Standard output cannot be written; ``is_pipe`` if its reader has left.

    No ``OSError``: click would end the program at one, without a word.
    """

    def __init__(self, reason: str, *, is_pipe: bool = False) -> None:
        self.reason, self.is_pipe = reason, is_pipe
        super().__init__(f"Standard output cannot be written ({reason}).")


class _Stream:
    """A stream of text whose failures are handled in one place."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[str]:  # pandas takes what has it for a file
        return iter(self._stream)

    def write(self, text: str) -> int:
        """Write text."""
        try:
            self._stream.write(text)
        except (OSError, ValueError) as error:  # ValueError: a closed file, or no such character
            self.fail(error)
        return len(text)

    def flush(self) -> None:
        """Have the system hold what was written."""
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Say what a failure means."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Let what is still buffered go: Python would fail at it when it ends."""
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


class StandardOutput(_Stream):
    """Standard output: a failure is a `StandardOutputError`."""

    def fail(self, error: Exception) -> None:
        """Raise it."""
        if isinstance(error, OSError):
            self.abandon()
        reason = getattr(error, "strerror", None) or str(error)
        is_pipe = isinstance(error, BrokenPipeError)
        raise StandardOutputError(reason, is_pipe=is_pipe) from error


class StandardError(_Stream):
    """Standard error: what it cannot take is dropped, since a result matters more than a note."""

    def fail(self, error: Exception) -> None:
        """Go on."""
        self.abandon()


class _Closed:
    """A standard stream that the shell has closed, as by ``>&-``."""

    encoding, errors = "utf-8", "strict"

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(9, "it is closed")

    def flush(self) -> None:
        """Nothing was written."""

    def isatty(self) -> bool:
        """No terminal."""
        return False

    def fileno(self) -> int:
        """No descriptor."""
        raise OSError(9, "it is closed")


@contextmanager
def standard_streams() -> Iterator[None]:
    """Have standard output and standard error fail in ways that are handled."""
    _reserve_descriptors()
    before = sys.stdout, sys.stderr
    sys.stdout = StandardOutput(before[0] or _Closed())
    sys.stderr = StandardError(before[1] or _Closed())
    try:
        yield
    finally:
        with suppress(StandardOutputError):  # after an error, which matters more
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def check_output_is_open() -> None:
    """Refuse a standard output that is closed, before anything is computed for it."""
    sys.stdout.write("")


def _reserve_descriptors() -> None:
    """Keep files from being opened in the place of a standard stream that is closed.

    A library that writes to standard error would else write into a result.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
