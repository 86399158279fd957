"""BLAS with one thread: more would change the last bits, and fight the workers for cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_running: list[Any] = []  # one entry a caller inside; the first knows the limits before


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of concurrent callers leaves."""
    with _lock:
        _running.append(None if _running else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            last = _running.pop()
            if _running:
                _running[0] = _running[0] or last
            else:
                last.restore_original_limits()
