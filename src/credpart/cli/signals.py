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

    def __del__(self) -> None:
        # Destructors, and some functions of NumPy that look for an attribute, drop exceptions.
        # One that has gone before it was handled comes again.
        _request.repeat_if_unheard(self.number)

    def handled(self) -> int:
        """Say that the program ends; return what a shell reports of one that a signal has ended."""
        _request.is_heard = True
        return 128 + self.number


class _Request:
    """The signal that has come, if one has."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """None has come."""
        self.number: int | None = None
        self.time = 0.0
        self.is_lost = False  # its exception was dropped
        self.is_heard = False
        self.is_over = False
        self.repeat: threading.Timer | None = None

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.is_over:
            return
        if self.number is None or self.is_lost:
            self.number, self.time, self.is_lost = number, time.monotonic(), False
            raise Interruption(number)
        if time.monotonic() - self.time > SAME_REQUEST:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def repeat_if_unheard(self, number: int) -> None:
        """Send a signal again, a moment later, if it is not over."""
        if self.number is not None and not (self.is_heard or self.is_over):
            self.is_lost = True
            self.repeat = threading.Timer(0.01, _send, (number,))
            self.repeat.daemon = True
            self.repeat.start()

    def end(self) -> None:
        """Handle no more signals, and send none."""
        self.is_over = True
        if self.repeat is not None:
            self.repeat.cancel()
            self.repeat.join()


def _send(number: int) -> None:
    """Send a signal to this process; `os.kill` also wakes its main thread."""
    if os.name == "nt":
        signal.raise_signal(number)
    else:
        os.kill(os.getpid(), number)


_request = _Request()


@contextmanager
def stopping_signals(*, is_own_process: bool) -> Iterator[None]:
    """Raise an `Interruption` where a signal asks the program to end.

    A signal that is ignored, as by ``nohup``, stays ignored.  A process of our own is about to end
    after the context, and ignores signals from then on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python lets only the main thread handle signals
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    unraisable = sys.unraisablehook

    def silent_if_ours(found: Any) -> None:
        if not isinstance(found.exc_value, Interruption):
            unraisable(found)

    _request.begin()
    try:
        sys.unraisablehook = silent_if_ours
        for number, handler in before.items():
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, _request.receive)
        yield
    finally:
        _request.end()
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, signal.SIG_IGN if is_own_process else handler)


def raise_if_stopped() -> None:
    """Raise the `Interruption` of a signal that has come.

    A library may have dropped it, or made another error of it.
    """
    if _request.number is not None:
        _request.is_lost = False
        raise Interruption(_request.number)
