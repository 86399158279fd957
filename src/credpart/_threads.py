"""BLAS with one thread: more would change the last bits, and fight the workers for cores.

Most builds of BLAS have one number of threads for the whole process; with OpenMP, each calling
thread has its own.  So every caller sets it to one.  A number of the process is restored by the
last caller that leaves, that of a thread by each.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[list[int]] = []  # of each caller inside, the numbers that it found; the first's first


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of concurrent callers leaves."""
    libraries = _libraries()
    with _lock:
        found = [library.num_threads for library in libraries]
        _inside.append(found)
        for library in libraries:
            _set(library, 1)
    try:
        yield
    finally:
        with _lock:
            before = _inside[0]  # of the first that came, when there was no limit yet
            _inside.pop()
            for library, own, shared in zip(libraries, found, before, strict=True):
                if getattr(library, "threading_layer", None) == "openmp":
                    _set(library, own)
                elif not _inside:
                    _set(library, shared)


def _set(library: Any, number: int) -> None:
    """Set a number of threads, whichever thread set it before.

    From version 3.8 on, threadpoolctl lets one thread set the number of the process, and ignores
    all others until that one lets go of it.  Here the last thread to leave need not be the first.
    """
    let_go = getattr(library, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)
    library.set_num_threads(number)
    if let_go is not None:
        let_go(force=True)
