"""Where objects and centres live: points with attributes, or objects with dissimilarities.

n objects, c clusters, f non-empty focal sets.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np
from scipy.spatial.distance import cdist

from credpart._arrays import Array, IntArray

ROUNDING = 1e-12  # of squared distances, relative to the largest


class Space(Protocol):
    """Where objects and centres live.  Centres are (c, e), for an e of the space's own."""

    @property
    def constant(self) -> float:
        """What `spread` has added to the squared distances between objects."""

    def objects(self, rows: IntArray) -> Array:
        """Objects as centres."""

    def sums(self, weights: Array) -> Array:
        """``sum_i w_ik x_i`` for weights (n, c), shape (c, e)."""

    def squared_distances(self, centers: Array, shares: Array) -> Array:
        """``|x_i - sum_k a_k v_k|^2`` for each row a of ``shares`` (f, c), shape (n, f)."""

    def spread(self, centers: Array, shares: Array) -> Self:
        """The space with distances enlarged until none of these is the root of a negative."""


class Points(NamedTuple):
    """Objects with attributes."""

    X: Array  # (n, d)
    constant: float = 0.0

    def objects(self, rows: IntArray) -> Array:
        """See `Space`."""
        return self.X[rows]

    def sums(self, weights: Array) -> Array:
        """See `Space`."""
        return weights.T @ self.X

    def squared_distances(self, centers: Array, shares: Array) -> Array:
        """See `Space`."""
        return cdist(self.X, shares @ centers, "sqeuclidean")

    def spread(self, centers: Array, shares: Array) -> Self:
        """See `Space`: squares of distances are never negative."""
        return self


class Relations(NamedTuple):
    """Objects with squared dissimilarities; a centre is the n coefficients of a combination.

    If objects were points, ``v_k = sum_j L_kj x_j`` would have ``sum_j L_kj = 1``, and
    ``|x_i - v_k|^2 = (L D)_ki - (L D L')_kk / 2``: the coordinates are not needed [MD09].
    """

    squares: Array  # (n, n)
    constant: float = 0.0

    def objects(self, rows: IntArray) -> Array:
        """See `Space`."""
        return np.eye(len(self.squares))[rows]

    def sums(self, weights: Array) -> Array:
        """See `Space`."""
        return weights.T

    def squared_distances(self, centers: Array, shares: Array) -> Array:
        """See `Space`; negative where the dissimilarities are not Euclidean."""
        products = centers @ self.squares
        norms = ((shares @ (products @ centers.T)) * shares).sum(axis=1)
        d2: Array = (shares @ products).T - 0.5 * norms
        d2[np.abs(d2) <= ROUNDING * np.abs(d2).max()] = 0.0
        return d2

    def spread(self, centers: Array, shares: Array) -> Self:
        """See `Space`: add the least constant off the diagonal, as in [HB94].

        It adds half of it, times ``|e_i - sum_k a_k L_k|^2``, to a squared distance.
        """
        d2 = self.squared_distances(centers, shares)
        if d2.min() >= 0.0:
            return self
        points = shares @ centers
        gaps = 1.0 - 2.0 * points.T + (points**2).sum(axis=1)
        constant = float((-2.0 * d2 / gaps)[d2 < 0.0].max()) * (1.0 + ROUNDING)
        enlarged = self.squares + constant
        np.fill_diagonal(enlarged, 0.0)
        return self._replace(squares=enlarged, constant=self.constant + constant)
