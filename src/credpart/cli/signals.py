"""Signals that ask the program to end: Ctrl-C, ``kill`` and a closed terminal are one thing.

A signal becomes an exception in the main thread, so that what is half made is removed on the way
out.  ``timeout`` and other programs send a signal twice, to the process and to its group; a second
one within a second is therefore the same request.  A later one ends the program at once.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from credpart._files import STOPPING

SAME_REQUEST = 1.0  # seconds


class Interruption(BaseException):
    """A signal asks the program to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)

    @property
    def exit_code(self) -> int:
        """What a shell reports of a program that a signal has ended."""
        return 128 + self.number


class _Request:
    """The signal that has come, if one has."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.time = 0.0

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.number is None:
            self.number, self.time = number, time.monotonic()
            raise Interruption(number)
        if time.monotonic() - self.time > SAME_REQUEST:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def repeat(self) -> None:
        """Send the signal again, a moment later."""
        number, self.number = self.number, None
        timer = threading.Timer(0.01, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()


_request = _Request()


@contextmanager
def stopping_signals() -> Iterator[None]:
    """Raise an `Interruption` where a signal asks the program to end.

    A signal that is ignored, as by ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python lets only the main thread handle signals
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    unraisable = sys.unraisablehook

    def lost(found: Any) -> None:
        """Python drops an exception in a destructor: the signal has to come again."""
        if isinstance(found.exc_value, Interruption):
            _request.repeat()
        else:
            unraisable(found)

    _request.number = None
    try:
        sys.unraisablehook = lost
        for number, handler in before.items():
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, _request.receive)
        yield
    finally:
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def raise_if_stopped() -> None:
    """Raise the `Interruption` of a signal that has come, in case a library has swallowed it."""
    if _request.number is not None:
        raise Interruption(_request.number)
