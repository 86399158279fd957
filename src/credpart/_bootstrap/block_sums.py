"""Sums over objects, block by block: the one way in which large data are passed over.

A kernel takes a block of objects and returns small arrays; those of all blocks are added in the
order of the blocks.  So the same code serves objects in memory and in partitions, and the number of
jobs changes no bit.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from credpart._arrays import Array
from credpart._parallel import run_tasks
from credpart._threads import one_blas_thread

BLOCK_ROWS = 1 << 14  # objects in a block: larger ones would not be faster

Sums = tuple[Array, ...]
# Objects (rows, d), their weights (rows,), and the number of the block, which seeds what is drawn.
Kernel = Callable[[Array, Array, int], Sums]


class BlockwiseObjects(Protocol):
    """Objects that are passed over block by block."""

    def sum_over_blocks(self, kernel: Kernel) -> Sums:
        """The sums over all blocks of what the kernel returns, added in their order."""


class RowsInMemory(NamedTuple):
    """Objects (n, d) and their weights (n,)."""

    X: Array
    weights: Array
    n_jobs: int | None = None

    def sum_over_blocks(self, kernel: Kernel) -> Sums:
        """The sums over all blocks of what the kernel returns, added in their order."""
        blocks = [slice(i, i + BLOCK_ROWS) for i in range(0, len(self.X), BLOCK_ROWS)]
        tasks = [(kernel, self.X[rows], self.weights[rows], i) for i, rows in enumerate(blocks)]
        return add_up(run_tasks(run_kernel, tasks, self.n_jobs))


def add_up(parts: Iterator[Sums]) -> Sums:
    """The sums of arrays, in order."""
    total = list(next(parts))
    for part in parts:
        total = [array + more for array, more in zip(total, part, strict=True)]
    return tuple(total)


def run_kernel(kernel: Kernel, X: Array, weights: Array, block: int) -> Sums:
    """The kernel on one block, with one thread for BLAS."""
    with one_blas_thread():  # here, since a worker may be a process of its own
        return kernel(X, weights, block)
