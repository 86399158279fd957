"""Distinct objects: an object that is repeated, or has a weight, counts as often as it was seen.

Mixtures are fitted to the distinct objects with their total weights.  So neither the order of the
rows, nor whether repetition is given by rows or by weights, changes a bit of a fit: sums are made
over the same numbers in the same order.  Without this the last bits differ, and an optimisation
with several maxima may end at another one.
"""

from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, IntArray, sums_by
from credpart._checks import WeightedTable
from credpart._columns import sortable


class DistinctObjects(NamedTuple):
    """Distinct objects (m, d), in lexicographic order, with their total weights (m,)."""

    X: Array
    weights: Array
    place: IntArray  # (n,): which of them each row of the data is; -1 for a row without weight


def copies(X: Array) -> tuple[IntArray, IntArray]:
    """The first row of each distinct object, in lexicographic order, and which each row is.

    Examples
    --------
    >>> first, place = copies(np.array([[2.0], [1.0], [2.0]]))
    >>> first.tolist(), place.tolist()
    ([1, 0], [1, 0, 1])
    """
    _, first, place = np.unique(sortable(X), axis=0, return_index=True, return_inverse=True)
    return first, place.ravel()


def distinct(X: Array, weights: Array) -> DistinctObjects:
    """Gather equal rows, and leave out those without weight.

    Examples
    --------
    >>> objects = distinct(np.array([[2.0], [1.0], [2.0], [0.0]]), np.array([1.0, 1.0, 2.0, 0.0]))
    >>> objects.X.ravel().tolist(), objects.weights.tolist(), objects.place.tolist()
    ([1.0, 2.0], [1.0, 3.0], [1, 0, 1, -1])
    """
    present = weights > 0.0
    kept = X[present]
    first, back = copies(kept)
    place = np.full(len(X), -1, dtype=np.intp)
    place[present] = back
    return DistinctObjects(kept[first], sums_by(back, weights[present]), place)


def gathered(data: WeightedTable) -> tuple[WeightedTable, IntArray]:
    """Data with each distinct object once, and the place of each row among them."""
    X, weights, place = distinct(data.values, data.weights)
    return WeightedTable(data.table._replace(values=X, index=None), weights), place


def average(resp: Array, weights: Array, place: IntArray) -> Array:
    """Responsibilities (c, m) of distinct objects: means of ``resp`` (c, n) over their rows."""
    rows = np.flatnonzero(place >= 0)
    sums = np.zeros((place.max() + 1, len(resp)))
    np.add.at(sums, place[rows], (resp * weights).T[rows])
    return np.asarray(sums.T / np.bincount(place[rows], weights[rows]))
