"""What the masses of one object say of its cluster: belief, plausibility, nonspecificity."""

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.focal import inclusion_matrix, intersection_matrix

TIED = 1e-6  # difference of masses or plausibilities within the accuracy of fitted masses


def belief(masses: Array, focal: BoolArray, sets: BoolArray) -> Array:
    """Return ``Bel_i(A)`` of one set (c,) or several (s, c): shape (n,) or (n, s)."""
    return _total(masses, inclusion_matrix(focal, np.atleast_2d(sets)), sets)


def plausibility(masses: Array, focal: BoolArray, sets: BoolArray) -> Array:
    """Return ``Pl_i(A)``, of the same shapes as `belief`."""
    return _total(masses, intersection_matrix(focal, np.atleast_2d(sets)), sets)


def _total(masses: Array, counted: Array, sets: BoolArray) -> Array:
    # Rounding, and the tolerance on the sums of rows, must not lead above 1.
    return np.minimum(masses @ counted, 1.0).reshape(len(masses), *sets.shape[:-1])


def normalized(masses: Array, focal: BoolArray) -> tuple[Array, BoolArray]:
    """Return masses and focal sets without the empty set, by Dempster's normalisation.

    It is not defined for an object with all its mass on the empty set, to within the accuracy of
    fitted masses; nothing is then known of its cluster, and it gets the vacuous mass function.
    """
    nonempty = focal.any(axis=1)
    masses, focal = masses[:, nonempty], focal[nonempty]
    totals = masses.sum(axis=1, keepdims=True)
    lost = totals[:, 0] <= TIED
    if lost.any() and not focal.all(axis=1).any():
        focal = np.vstack([focal, np.ones((1, focal.shape[1]), dtype=bool)])
        masses = np.hstack([masses, np.zeros((len(masses), 1))])
    masses = np.where(lost[:, None], 0.0, masses) / np.where(lost[:, None], 1.0, totals)
    masses[np.ix_(lost, focal.all(axis=1))] = 1.0
    return masses, focal


def weakened(masses: Array, focal: BoolArray, amount: float) -> tuple[Array, BoolArray]:
    """Return masses of which each set gives up to ``amount`` to the set of all clusters."""
    is_omega = focal.all(axis=1)
    if not is_omega.any():
        is_omega = np.append(is_omega, True)
        focal = np.vstack([focal, np.ones((1, focal.shape[1]), dtype=bool)])
        masses = np.hstack([masses, np.zeros((len(masses), 1))])
    given = np.where(is_omega, 0.0, np.minimum(masses, amount))
    return masses - given + given.sum(axis=1, keepdims=True) * is_omega, focal


def pignistic(masses: Array, focal: BoolArray) -> Array:
    """Share each mass equally within its set; no set may be empty."""
    return np.asarray(masses @ (focal / focal.sum(axis=1, keepdims=True)))


def nonspecificity(masses: Array, focal: BoolArray) -> Array:
    """Return ``(sum_A m(A) log2|A| + m(empty) log2 c) / log2 c``; 0 if c = 1 [MD08]."""
    sizes, c = focal.sum(axis=1), focal.shape[1]
    bits = np.log2(np.where(sizes == 0, c, sizes)) / np.log2(max(c, 2))
    return np.asarray(masses @ bits)


def most_plausible(plausibility: Array) -> IntArray:
    """Return the first of the most plausible clusters: rounding must not choose among them."""
    is_highest = plausibility >= plausibility.max(axis=1, keepdims=True) - TIED
    return np.asarray(is_highest.argmax(axis=1))
