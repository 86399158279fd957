"""BLAS has one thread wherever it is limited, and what it had before afterwards."""

from collections.abc import Iterator
from threading import Barrier, Thread, local

import pytest
from threadpoolctl import threadpool_limits

from credpart import _threads
from credpart._threads import one_blas_thread

N_BEFORE = 2


def numbers() -> list[int]:
    return [library.num_threads for library in _threads._libraries()]


def in_threads(tasks) -> None:
    threads = [Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = numbers()
    for library in _threads._libraries():
        _threads._set(library, N_BEFORE)
    yield
    for library, number in zip(_threads._libraries(), before, strict=True):
        _threads._set(library, number)


def test_threads_are_limited_though_another_one_was_before():
    # threadpoolctl 3.8 ignores all threads but the first that ever set a limit, while it lives.
    with one_blas_thread():
        pass
    seen, together = [], Barrier(2)

    def task():
        with one_blas_thread():
            together.wait()
            seen.append(numbers())
            together.wait()

    in_threads([task, task])
    assert seen == [[1] * len(numbers())] * 2
    assert set(numbers()) == {N_BEFORE}


def test_the_limit_holds_until_the_last_leaves():
    first_is_inside, both_are_inside, first_has_left = Barrier(2), Barrier(2), Barrier(2)
    seen = []

    def first():
        with one_blas_thread():
            first_is_inside.wait()
            both_are_inside.wait()
        first_has_left.wait()

    def last():
        first_is_inside.wait()
        with one_blas_thread():
            both_are_inside.wait()
            first_has_left.wait()
            seen.append(numbers())

    in_threads([first, last])
    assert set(seen[0]) == {1}
    assert set(numbers()) == {N_BEFORE}


def test_others_may_limit_threads_afterwards():
    with one_blas_thread():
        pass
    seen = []

    def other():
        with threadpool_limits(1, user_api="blas"):
            seen.append(numbers())

    in_threads([other])
    assert set(seen[0]) == {1}


class OfEachThread:
    """A library whose limit holds for the calling thread alone, as those with OpenMP."""

    threading_layer = "openmp"

    def __init__(self) -> None:
        self._of_thread = local()

    @property
    def num_threads(self) -> int:
        return getattr(self._of_thread, "number", N_BEFORE)

    def set_num_threads(self, number: int) -> None:
        self._of_thread.number = number


def test_limits_of_a_thread_are_set_and_restored_in_each(monkeypatch):
    library = OfEachThread()
    monkeypatch.setattr(_threads, "_libraries", lambda: [library])
    seen, together = [], Barrier(2)

    def task():
        with one_blas_thread():
            together.wait()
            seen.append(library.num_threads)
            with one_blas_thread():
                pass
            seen.append(library.num_threads)
            together.wait()
        seen.append(library.num_threads)

    in_threads([task, task])
    assert sorted(seen) == [1, 1, 1, 1, N_BEFORE, N_BEFORE]
