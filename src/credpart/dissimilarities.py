"""Dissimilarities between objects, computed from attributes or given as a matrix.

An estimator's ``metric`` says which, as in scikit-learn: "euclidean" takes attributes (n, d),
"precomputed" a matrix (n, n).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

from credpart._arrays import Array, IntArray
from credpart._checks import check_data, check_spread, in_row
from credpart._messages import ColumnName, Message, Name, Setting
from credpart.errors import InputError

SYMMETRY = 1e-8  # how far from symmetric a matrix may be, relative to its largest value


class Dissimilarities(NamedTuple):
    """How to get the dissimilarities of n objects."""

    values: Array  # attributes (n, d), or the matrix itself
    between: Callable[[Array, IntArray, IntArray], Array]
    matrix: Callable[[Array], Array]
    index: Any  # a pandas index, or None

    def pairs(self, i: IntArray, j: IntArray) -> Array:
        """Return ``d_ij`` for arrays of objects that broadcast against each other."""
        return self.between(self.values, i, j)

    def all(self) -> Array:
        """Return the matrix (n, n), which is symmetric with a zero diagonal."""
        return self.matrix(self.values)


class Metric(NamedTuple):
    """One value of the parameter ``metric``."""

    check: Callable[[Any], Array]
    between: Callable[[Array, IntArray, IntArray], Array]
    matrix: Callable[[Array], Array]
    is_euclidean: bool  # surely so


def _euclidean_between(X: Array, i: IntArray, j: IntArray) -> Array:
    squares = sum((x[i] - x[j]) ** 2 for x in X.T)
    return np.asarray(np.sqrt(squares))


def _euclidean_matrix(X: Array) -> Array:
    return squareform(pdist(X), checks=False)


def check_dissimilarity_matrix(D: Array) -> Array:
    """Return D, made exactly symmetric; refuse what is no dissimilarity matrix.

    >>> check_dissimilarity_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    wanted = Message("be a dissimilarity matrix when ", Name("metric"), " is 'precomputed': ")
    if D.shape[0] != D.shape[1]:
        remedy = Message("Use ", Setting("metric", "euclidean", is_quoted=True), " for attributes.")
        raise InputError("X", Message(wanted, "square"), Message(f"shape {D.shape}"), remedy)
    if D.min() < 0.0:
        i, j = np.argwhere(D < 0.0)[0]
        # These are the words that scikit-learn's checks look for.
        got = _at(f"Negative values in data, {D[i, j]:g}", i, j)
        raise InputError("X", Message(wanted, "non-negative"), got)
    if np.diagonal(D).any():
        i = int(np.flatnonzero(np.diagonal(D))[0])
        got = in_row(f"{D[i, i]:g}", i)
        raise InputError("X", Message(wanted, "0 on the diagonal"), got)
    gaps = np.abs(D - D.T)
    if gaps.max() > SYMMETRY * D.max():
        i, j = map(int, np.unravel_index(gaps.argmax(), D.shape))
        raise InputError(
            "X",
            Message(wanted, "symmetric"),
            Message(_at(f"{D[i, j]:g}", i, j), " and ", _at(f"{D[j, i]:g}", j, i)),
            Message("Use the mean of ", Name("X"), " and its transpose."),
        )
    return (D + D.T) / 2.0


def _at(what: str, i: int, j: int) -> Message:
    return in_row(what, i, ", ", ColumnName(int(j)))


METRICS: Mapping[str, Metric] = {
    "euclidean": Metric(
        lambda X: X - X.mean(axis=0), _euclidean_between, _euclidean_matrix, is_euclidean=True
    ),
    "precomputed": Metric(
        check_dissimilarity_matrix,
        lambda D, i, j: D[i, j],
        lambda D: D,
        is_euclidean=False,
    ),
}


def dissimilarities(X: Any, metric: str, *, at_least: int = 2) -> Dissimilarities:
    """Return the dissimilarities that checked input gives under one of ``METRICS``.

    >>> given = dissimilarities([[0.0, 0.0], [3.0, 4.0]], "euclidean")
    >>> given.all()
    array([[0., 5.],
           [5., 0.]])
    """
    table = check_data(X, at_least=at_least)
    chosen = METRICS[metric]
    values = chosen.check(table.values)
    return Dissimilarities(values, chosen.between, chosen.matrix, table.index)


def check_distinct(rows: Array, c: int) -> None:
    """Refuse data with no more distinct objects than clusters, or next to no spread."""
    n, distinct = len(rows), len(np.unique(rows, axis=0))
    if distinct <= c:
        enough = f"have more distinct rows than clusters: at least {c + 1} for "
        raise InputError(
            "X",
            Message(enough, Setting("n_clusters", c)),
            Message(f"{distinct} distinct of {n}"),
            Message("Lower ", Name("n_clusters"), "."),
        )
    check_spread(np.ptp(rows, axis=0).max(keepdims=True))
