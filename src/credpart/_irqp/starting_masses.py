"""Masses that Algorithm 2 starts from: functions of the intervals and the focal sets."""

from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import quadratic_assignment

from credpart._arrays import Array, BoolArray, IntArray
from credpart._irqp.descent import AllPairs

Initialisation = Callable[[AllPairs, BoolArray, np.random.Generator], Array]


def random_start(pairs: AllPairs, focal: BoolArray, rng: np.random.Generator) -> Array:
    """Return masses drawn uniformly, as in [D20]."""
    return rng.dirichlet(np.ones(len(focal)), size=len(pairs.weights))


def prototype_start(pairs: AllPairs, focal: BoolArray, rng: np.random.Generator) -> Array:
    """Return certain masses: each object in the cluster of its nearest prototype."""
    prototypes = successive_projections(pairs, focal.shape[1])
    near = np.array([_together(pairs, i) for i in prototypes])
    numbers = matching_numbers(near, focal)
    return certain_masses(numbers[near.argmax(axis=0)], focal)


INITIALISATIONS: Mapping[str, Initialisation] = {
    "prototypes": prototype_start,
    "random": random_start,
}


def from_posteriors(posteriors: Array, focal: BoolArray) -> Array:
    """Return posteriors (n, c) as masses: each cluster's on the smallest set that holds it.

    So cluster k of the partition is component k of the mixture: the intervals alone do not say
    which is which.  What posteriors lack to 1, the probability of noise, goes to the empty set.
    """
    sizes = np.where(focal.T, focal.sum(axis=1), np.inf)  # (c, f)
    smallest = sizes.argmin(axis=1)
    masses = np.zeros((len(posteriors), len(focal)))
    np.add.at(masses.T, smallest, posteriors.T)
    lacking = np.maximum(1.0 - posteriors.sum(axis=1, keepdims=True), 0.0)
    masses[:, ~focal.any(axis=1)] = lacking
    masses /= masses.sum(axis=1, keepdims=True)
    return masses


def certain_masses(labels: IntArray, focal: BoolArray) -> Array:
    """Return masses (n, f): all of an object's on the smallest focal set with its cluster.

    >>> certain_masses(np.array([1, 0]), np.array([[1, 0], [0, 1], [1, 1]], dtype=bool))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    return from_posteriors(np.eye(focal.shape[1])[labels], focal)


def successive_projections(pairs: AllPairs, c: int) -> IntArray:
    """Return c objects of which each is, most likely, in a cluster of its own.

    By Eq. (4) the rows of ``(P_ij)`` are mixtures of c rows, those of objects whose cluster is
    certain: these are extreme points, and the longest row is one of them.  Project it out,
    and the next longest is another.  P is taken at the middle of its interval, and an object of
    weight w is counted w times.
    """
    (same, apart), w = pairs.values, pairs.weights
    n, roots = len(w), np.sqrt(w)
    left = np.array([(w * np.square(_together(pairs, i))).sum() for i in range(n)])
    to_one = 1.0 - np.diagonal(same) + np.diagonal(apart)  # an object is with itself for certain
    basis = np.empty((0, n))
    chosen = np.empty(c, dtype=np.intp)
    for k in range(c):
        chosen[k] = left.argmax()
        row = roots * _together(pairs, chosen[k])
        axis = row - basis.T @ (basis @ row)
        axis /= np.linalg.norm(axis) or 1.0
        basis = np.vstack([basis, axis])
        axis = roots * axis
        projected = 0.5 * (same @ axis - apart @ axis + axis.sum() + to_one * axis)
        left -= projected**2
    return chosen


def _together(pairs: AllPairs, i: np.intp | int) -> Array:
    """Return the middle of the bounds on P_ij for all j, and 1 for i itself."""
    same, apart = pairs.values[:, i]
    row = 0.5 * (1.0 + same - apart)
    row[i] = 1.0
    return row


def matching_numbers(near: Array, focal: BoolArray) -> IntArray:
    """Return numbers for c clusters, such that those that overlap share focal sets.

    ``near`` (c, n) says how close each object is to each cluster.  Where the focal sets treat
    all clusters alike any numbers will do, but not if they hold chosen pairs only.  This is a
    quadratic assignment problem, solved approximately.
    """
    overlap, shared = near @ near.T, focal.T.astype(np.float64) @ focal
    np.fill_diagonal(overlap, 0.0)
    np.fill_diagonal(shared, 0.0)
    rng = np.random.default_rng(0)  # nothing is drawn from it, but without it SciPy may warn
    rough = quadratic_assignment(overlap, shared, options={"maximize": True, "rng": rng})
    guess = np.column_stack([np.arange(len(near)), rough.col_ind])
    better = quadratic_assignment(
        overlap,
        shared,
        method="2opt",
        options={"maximize": True, "rng": rng, "partial_guess": guess},
    )
    return better.col_ind
