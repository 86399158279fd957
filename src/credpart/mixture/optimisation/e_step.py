"""The E-step: log-likelihoods and expected statistics, block by block.

Blocks of mixtures and rows are sized so that their joint densities stay in the cache.  Their sizes
depend only on the numbers of mixtures, components and rows, never on the machine, so that the same
sums are made in the same order everywhere.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credpart._arrays import Array, IntArray
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.optimisation.mixtures import Problem, Samples, take_params

BLOCK = 1 << 16  # values of the joint density in a block
ROWS = 256  # rows of a block, at the least


def normalise(joint: Array) -> Array:
    """Turn log joint densities (b, k, n) into posteriors, in place; return ``log p(x)`` (b, n)."""
    largest = joint.max(axis=1, keepdims=True)
    joint -= largest
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return np.asarray((np.log(total) + largest)[:, 0])


def row_blocks(n: int, width: int) -> list[slice]:
    """Slices of n rows with ``width`` values each."""
    size = max(ROWS, BLOCK // max(1, width))  # a batch may be empty
    return [slice(start, start + size) for start in range(0, n, size)]


def blocks(b: int, k: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Slices of mixtures and of rows.

    A block has at least `ROWS` rows, and as many mixtures as then fit.
    """
    for rows in row_blocks(n, b * k):
        size = max(1, BLOCK // (k * (min(rows.stop, n) - rows.start)))
        for start in range(0, b, size):
            yield slice(start, start + size), rows


def e_step(
    problem: Problem, params: Parameters, sample: IntArray, *, in_single: bool = False
) -> tuple[Array, Array]:
    """Log-likelihoods (b,) and expected statistics (b, k, s) at ``params``.

    ``sample`` (b,) says which sample of the data each mixture is fitted to.  With ``in_single``,
    posteriors are computed in single precision, in which exponentials take half the time; log
    joint densities and all sums over objects remain in double precision.  Log-likelihoods are then
    accurate to a relative 1e-8, posteriors to 1e-6.
    """
    family, data = problem.family, problem.data
    b, k = params[0].shape
    precision = np.float32 if in_single else np.float64
    # Absent components come last; a block is as wide as the widest of its mixtures.  A width is one
    # more than the place of the last component with a proportion.
    widths = k - (params[0] > 0.0)[:, ::-1].argmax(axis=1)
    loglik, statistics = np.zeros(b), np.zeros((b, k, 0))
    for batch, rows in blocks(b, k, data.features.shape[-2]):
        features, weights = _part(data, sample[batch], rows)
        width = int(widths[batch].max())
        those = take_params(params, (batch, slice(width)))
        joint = family.log_joint(features, those)
        largest = joint.max(axis=1, keepdims=True)
        joint -= largest
        ratios: NDArray[Any] = joint.astype(precision, copy=False)
        np.exp(ratios, out=ratios)
        total = ratios.sum(axis=1, keepdims=True)
        log_density = np.log(total).astype(float, copy=False) + largest
        loglik[batch] += np.vecdot(log_density[:, 0], weights)
        ratios *= weights[:, None].astype(precision, copy=False) / total
        found = family.statistics(features, ratios.astype(float, copy=False), those)
        if not statistics.size:
            statistics = np.zeros((b, k, found.shape[-1]))
        statistics[batch, :width] += found
    return loglik, statistics


def _part(data: Samples, sample: IntArray, rows: slice) -> tuple[Array, Array]:
    """Features and weights of some rows, for mixtures of these samples."""
    features, weights = data
    values = features[rows] if features.ndim == 2 else features[sample, rows]
    return values, weights[:, rows] if len(weights) == 1 else weights[sample, rows]


def total_log_certainty(problem: Problem, params: Parameters, sample: IntArray) -> Array:
    """Weighted sum over objects of the log of the largest posterior, shape (b,)."""
    b, k = params[0].shape
    total = np.zeros(b)
    for batch, rows in blocks(b, k, problem.data.features.shape[-2]):
        features, weights = _part(problem.data, sample[batch], rows)
        joint = problem.family.log_joint(features, take_params(params, batch))
        largest = joint.max(axis=1)
        total[batch] += np.vecdot(largest - normalise(joint), weights)
    return total


# A pass over all objects: what a kernel returns for blocks of objects (rows, d), their weights
# (rows,) and the number of the block, added up in the order of the blocks.
SumOverBlocks = Callable[[Callable[[Array, Array, int], tuple[Array, ...]]], tuple[Array, ...]]


class BlockwiseProblem(NamedTuple):
    """A family on objects that are passed over block by block, and need not be in memory."""

    family: Family
    sum_over_blocks: SumOverBlocks


def expected_statistics(
    problem: Problem | BlockwiseProblem,
    params: Parameters,
    sample: IntArray,
    *,
    in_single: bool = False,
) -> tuple[Array, Array]:
    """`e_step` of objects in memory, or of one sample of objects that are not."""
    if isinstance(problem, Problem):
        return e_step(problem, params, sample, in_single=in_single)
    kernel = partial(e_step_of_block, problem.family, params, in_single)
    loglik, statistics = problem.sum_over_blocks(kernel)
    return loglik, statistics


def e_step_of_block(
    family: Family, params: Parameters, in_single: bool, X: Array, weights: Array, block: int
) -> tuple[Array, Array]:
    """`e_step` of mixtures on the same weighted objects, or each on weights (b, n) of its own."""
    problem = Problem.of(family, X, np.atleast_2d(weights))
    sample = np.arange(len(params[0])) % len(problem.data.weights)
    with np.errstate(all="ignore"):  # here, since a worker may be a process of its own
        return e_step(problem, params, sample, in_single=in_single)
