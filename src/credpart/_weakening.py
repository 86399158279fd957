"""How far masses must be weakened for [Bel, Pl] to hold what the intervals hold.

IRQP fits [Bel, Pl] to the intervals by least squares, to which an error of 0.0001 is nothing.  But
with many clusters most pairs have a probability as small as that, and are missed.  The replicates
tell by how much: an interval holds a certain share of the replicates of its P_ij, and so should
[Bel, Pl], on average over pairs.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.focal import disjoint_matrix, same_matrix
from credpart.intervals import PairwiseIntervals
from credpart.pairs import Chosen
from credpart.partition import EvidentialPartition
from credpart.partition.measures import weakened

PAIRS = 4096  # pairs by which the amount is chosen, at most
AMOUNTS = (0.0, *(2.0 ** (k / 4.0) for k in range(-120, 1)))  # from 1e-9 to 1
ROUNDING = 1e-9


class WeighedPairs(NamedTuple):
    """Pairs of objects by which the amount is chosen, and how often each counts."""

    i: IntArray  # places in the sample, i < j
    j: IntArray
    weights: Array


def choose_pairs(objects: Chosen, rng: np.random.Generator) -> WeighedPairs:
    """Some pairs of different objects, drawn by their weights; or all of them."""
    n, weights = len(objects.places), objects.weights
    if n * (n - 1) // 2 <= PAIRS:
        pairs = np.stack(np.triu_indices(n, 1))
        counts = weights[pairs].prod(axis=0)
    else:
        drawn = rng.choice(n, (2, PAIRS), p=weights / weights.sum())
        pairs = drawn[:, drawn[0] != drawn[1]]
        counts = np.ones(pairs.shape[1])
    i, j = np.sort(objects.places[pairs], axis=0)
    return WeighedPairs(i, j, counts)


def smallest_amount(
    partition: EvidentialPartition,
    intervals: PairwiseIntervals,
    pairs: WeighedPairs,
    posteriors_of: Callable[[IntArray], Array],
    allowed: BoolArray | None = None,
) -> float:
    """The smallest amount by which `weakened_masses` make [Bel, Pl] hold as much as the intervals.

    Counted are the P_ij of all replicates.  ``posteriors_of`` gives the posteriors (B, m, c) of
    some objects.  Those whose labels exclude a cluster are not weakened: if no amount is enough
    because of them, it is the smallest that holds the most.
    """
    focal, (i, j, counts) = partition.focal_sets, pairs
    if not len(i) or focal.shape[1] == 1:  # the set of all clusters is one cluster
        return 0.0
    objects, places = np.unique([i, j], return_inverse=True)
    first, second = places.reshape(2, -1)
    masses, inside = partition.masses[objects], None if allowed is None else allowed[objects]
    P = np.array([(R[first] * R[second]).sum(axis=1) for R in posteriors_of(objects)])

    def share(lower: Array, upper: Array) -> float:
        held = (lower - ROUNDING <= P) & (upper + ROUNDING >= P)
        return float(held.sum(axis=0) @ counts)

    def share_at(amount: float) -> float:
        M = weakened_masses(masses, focal, amount, inside)
        same, apart = M @ same_matrix(focal), M @ disjoint_matrix(focal)
        belief = (same[first] * M[second]).sum(axis=1)
        return share(belief, 1.0 - (apart[first] * M[second]).sum(axis=1))

    n = intervals.n_objects
    pair = i * n - i * (i + 1) // 2 + j - i - 1
    goal = min(share(intervals.lower[pair], intervals.upper[pair]), share_at(AMOUNTS[-1]))
    return AMOUNTS[bisect_left(AMOUNTS, goal, key=share_at)]


def weakened_masses(
    masses: Array, sets: BoolArray, amount: float, allowed: BoolArray | None = None
) -> Array:
    """Weakened masses (m, f); objects whose labels exclude a cluster keep those that they have.

    The set of all clusters is one of the sets.
    """
    if not amount:
        return masses
    weak = weakened(masses, sets, amount)[0]
    if allowed is None:
        return weak
    return np.where(allowed[:, sets.all(axis=1)], weak, masses)
