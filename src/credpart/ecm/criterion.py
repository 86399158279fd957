"""The criterion of evidential c-means [MD08], minimised over masses and centres in turn.

``J = sum_i sum_A |A|^alpha m_iA^beta d_iA^2 + sum_i delta^2 m_i(empty)^beta``, where ``d_iA`` is
the distance of object i to the barycentre of the centres of the clusters in A.

n objects, c clusters, f non-empty focal sets.
"""

from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart.ecm.spaces import Space


class Criterion(NamedTuple):
    """What is minimised: the sets that carry mass, and how much each costs."""

    focal: BoolArray  # with the empty set first
    alpha: float
    beta: float
    delta: float

    @property
    def shares(self) -> Array:
        """Barycentres as means of centres: one row for each non-empty set, shape (f, c)."""
        sets = self.focal[1:]
        return np.asarray(sets / sets.sum(axis=1, keepdims=True))

    @property
    def prices(self) -> Array:
        """``|A|^alpha`` of the non-empty sets."""
        return np.asarray(self.focal[1:].sum(axis=1) ** self.alpha)


def mass_costs(criterion: Criterion, d2: Array, constant: float = 0.0) -> Array:
    """Return ``|A|^alpha d_iA^2``, after ``delta^2`` for the empty set: shape (n, 1 + f).

    A constant that was added to the squares of the dissimilarities adds about half of it to those
    of the distances to centres, and so it does to ``delta^2``.
    """
    nowhere = np.full((len(d2), 1), criterion.delta**2 + 0.5 * constant)
    return np.hstack([nowhere, criterion.prices * d2])


def best_masses(costs: Array, beta: float) -> Array:
    """Return the masses that minimise ``sum_A costs_iA m_iA^beta`` on the simplex [MD08].

    They are in proportion to ``costs^(-1 / (beta - 1))``.  An object at a barycentre, whose
    distance is 0, is certain of that set.
    """
    least = costs.min(axis=1, keepdims=True)
    ratios = np.divide(least, costs, out=np.ones_like(costs), where=costs > 0.0)
    ratios = ratios ** (1.0 / (beta - 1.0))
    return np.asarray(ratios / ratios.sum(axis=1, keepdims=True))


def best_centers(criterion: Criterion, space: Space, masses: Array, centers: Array) -> Array:
    """Return the centres that minimise the criterion, ``H V = B`` in [MD08].

    The step from the present centres is solved for: where the sets leave H singular, the
    centres stay.
    """
    weights = criterion.prices * masses[:, 1:] ** criterion.beta
    shares = criterion.shares
    H = (shares.T * weights.sum(axis=0)) @ shares
    B = space.sums(weights @ shares)
    step: Array = np.linalg.lstsq(H, B - H @ centers)[0]
    return centers + step


class Alternation(NamedTuple):
    """Where `alternate` ended."""

    masses: Array
    centers: Array
    objective: float
    n_iter: int
    converged: bool
    space: Space


def alternate(
    criterion: Criterion, space: Space, centers: Array, *, tol: float, max_iter: int
) -> Alternation:
    """Minimise over masses and centres in turn, until the criterion falls by a share <= ``tol``."""
    space, masses, objective = _masses_step(criterion, space, centers)
    n_iter, converged = 1, False
    while not converged and n_iter < max_iter:
        centers = best_centers(criterion, space, masses, centers)
        before = objective
        space, masses, objective = _masses_step(criterion, space, centers)
        n_iter, converged = n_iter + 1, abs(before - objective) <= tol * objective
    return Alternation(masses, centers, objective, n_iter, converged, space)


def _masses_step(criterion: Criterion, space: Space, centers: Array) -> tuple[Space, Array, float]:
    """Return the best masses for given centres and the criterion there."""
    space = space.spread(centers, criterion.shares)
    d2 = space.squared_distances(centers, criterion.shares)
    costs = mass_costs(criterion, d2, space.constant)
    masses = best_masses(costs, criterion.beta)
    return space, masses, float((costs * masses**criterion.beta).sum())
