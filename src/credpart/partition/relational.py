"""The relational representation, Eq. (2)-(3): whether two objects are in the same cluster.

With masses M (n, f), Eq. (2) reads ``M S M'`` and ``M C M'``, so nothing loops over pairs.
Where the empty set has mass, ``m_ij(empty) = m_i(empty) + m_j(empty) - m_i(empty) m_j(empty)``
is set apart from the mass of "not in the same cluster", and belief and plausibility are
not normalised.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart.focal import disjoint_matrix, intersection_matrix

BLOCK_PAIRS = 2**18  # 2 MB a block; a constant, so that results keep their last bits


class Relational(NamedTuple):
    """The masses of Eq. (2), each (n, n); the empty set has what they lack to 1.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> EvidentialPartition.from_rough([[1, 0], [1, 1]]).relational().unknown.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    same: Array  # m_ij({s_ij})
    apart: Array  # m_ij({not s_ij})
    unknown: Array  # m_ij(Theta_ij)


def relational(masses: Array, focal: BoolArray) -> Relational:
    """Return the three masses of Eq. (2); the diagonals are 1, 0 and 0."""
    nonempty = focal.any(axis=1)
    M, F = masses[:, nonempty], focal[nonempty]
    single, C = _is_single(F), disjoint_matrix(F)
    return Relational(
        same=_all_pairs(M[:, single], M[:, single], diagonal=1.0),
        apart=_all_pairs(M @ C, M, diagonal=0.0),
        unknown=_all_pairs(M @ (1.0 - C - np.diag(single)), M, diagonal=0.0),
    )


def pairwise(masses: Array, focal: BoolArray) -> tuple[Array, Array]:
    """Return belief and plausibility of s_ij, Eq. (3), each (n, n) with diagonal 1."""
    single = masses[:, _is_single(focal)]
    belief = _all_pairs(single, single, diagonal=1.0)
    plausibility = _all_pairs(masses @ intersection_matrix(focal, focal), masses, diagonal=1.0)
    return belief, np.minimum(plausibility, 1.0, out=plausibility)


def pairwise_condensed(masses: Array, focal: BoolArray) -> tuple[Array, Array]:
    """Return belief and plausibility of s_ij for i < j, row-major."""
    n, filled = len(masses), 0
    bounds = np.empty((2, n * (n - 1) // 2))
    for belief, plausibility in upper_blocks(masses, focal):
        bounds[:, filled : filled + len(belief)] = belief, plausibility
        filled += len(belief)
    return bounds[0], bounds[1]


def upper_blocks(masses: Array, focal: BoolArray) -> Iterator[tuple[Array, Array]]:
    """`pairwise_condensed` piece by piece, in little memory."""
    single, meeting = masses[:, _is_single(focal)], masses @ intersection_matrix(focal, focal)
    pieces = zip(_blocks(single, single), _blocks(meeting, masses), strict=True)
    for (start, belief), (_, plausibility) in pieces:
        upper = np.arange(len(belief))[:, None] < np.arange(len(masses) - start)
        yield belief[upper], np.minimum(plausibility[upper], 1.0)


def _is_single(focal: BoolArray) -> BoolArray:
    """Return the diagonal of S, Eq. (11): taking these columns is multiplying by S."""
    return np.asarray(focal.sum(axis=1) == 1)


def _all_pairs(left: Array, right: Array, *, diagonal: float) -> Array:
    """``left_i' right_j`` for all i != j, for products that are symmetric but for rounding."""
    n = len(left)
    values = np.empty((n, n))
    for start, block in _blocks(left, right):
        rows = slice(start, start + len(block))
        square = block[:, : len(block)]
        square[:] = (square + square.T) / 2.0
        values[rows, start:] = block
        values[start:, rows] = block.T
    np.fill_diagonal(values, diagonal)
    return values


def _blocks(left: Array, right: Array) -> Iterator[tuple[int, Array]]:
    """Blocks of rows i, each with its first row and with the columns j from there on."""
    step = max(1, BLOCK_PAIRS // len(left))
    for start in range(0, len(left), step):
        yield start, left[start : start + step] @ right[start:].T
