"""Dissimilarities between objects, computed from attributes or given as a matrix.

An estimator's ``metric`` says which, as in scikit-learn: "euclidean" takes attributes (n, d),
"precomputed" a matrix (n, n).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from credpart._checks import Array, check_data, check_spread

SYMMETRY = 1e-8  # how far from symmetric a matrix may be, relative to its largest value


class Dissimilarities(NamedTuple):
    """How to get the dissimilarities of n objects."""

    values: Array  # attributes (n, d), or the matrix itself
    between: Callable[[Array, NDArray[np.intp], NDArray[np.intp]], Array]
    matrix: Callable[[Array], Array]
    index: Any  # a pandas index, or None

    def pairs(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
        """Return ``d_ij`` for arrays of objects that broadcast against each other."""
        return self.between(self.values, i, j)

    def all(self) -> Array:
        """Return the matrix (n, n), which is symmetric with a zero diagonal."""
        return self.matrix(self.values)


class Metric(NamedTuple):
    """One value of the parameter ``metric``."""

    check: Callable[[Any], Array]
    between: Callable[[Array, NDArray[np.intp], NDArray[np.intp]], Array]
    matrix: Callable[[Array], Array]
    is_euclidean: bool  # surely so


def _euclidean_between(X: Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
    squares = sum((x[i] - x[j]) ** 2 for x in X.T)
    distances: Array = np.sqrt(squares)
    return distances


def _euclidean_matrix(X: Array) -> Array:
    matrix: Array = squareform(pdist(X), checks=False)
    return matrix


def check_dissimilarity_matrix(D: Array) -> Array:
    """Return D, made exactly symmetric; refuse what is no dissimilarity matrix.

    >>> check_dissimilarity_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    wanted = "`X` must be a dissimilarity matrix when `metric` is 'precomputed'"
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f"{wanted}: square, got shape {D.shape}. Use `metric='euclidean'` for attributes."
        )
    if D.min() < 0.0:
        i, j = np.argwhere(D < 0.0)[0]
        raise ValueError(
            f"{wanted}: non-negative. Negative values in data, {D[i, j]:g} in row {i}, column {j}."
        )
    if np.diagonal(D).any():
        i = int(np.flatnonzero(np.diagonal(D))[0])
        raise ValueError(f"{wanted}, 0 on the diagonal, got {D[i, i]:g} in row {i}.")
    gaps = np.abs(D - D.T)
    if gaps.max() > SYMMETRY * D.max():
        i, j = np.unravel_index(gaps.argmax(), D.shape)
        raise ValueError(
            f"{wanted}: symmetric, got {D[i, j]:g} in row {i}, column {j} and {D[j, i]:g} in row "
            f"{j}, column {i}. Use the mean of `X` and its transpose."
        )
    return (D + D.T) / 2.0


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
        raise ValueError(
            f"`X` must have more distinct rows than clusters: at least {c + 1} for n_clusters={c}, "
            f"got {distinct} distinct of {n}. Lower `n_clusters`."
        )
    check_spread(np.ptp(rows, axis=0).max(keepdims=True))
