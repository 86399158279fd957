"""Degrees of conflict that pairs of objects should have, from their dissimilarities [DSK16].

References
----------
.. [DSK16] Denoeux, Sriboonchitta, Kanjanatarakul: Evidential clustering of large dissimilarity
   data.  Knowledge-Based Systems 106, 2016.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart._irqp.descent import AllPairs, Pairs
from credpart._messages import Message
from credpart.dissimilarities import Dissimilarities
from credpart.errors import InputError
from credpart.evclus.sampling import SampledPairs, sample_partners
from credpart.focal import disjoint_matrix

APART = 0.95  # the conflict that objects at the distance d0 should have


class Conflicts(NamedTuple):
    """What the conflicts should be, whatever the focal sets."""

    of_form: Callable[[Array], Pairs]
    total: float  # the sum over pairs of their squares, by which the stress is divided
    d0: float

    def pairs(self, focal: BoolArray) -> Pairs:
        """Return the pairs, and what ``kappa_ij = m_i' C m_j`` should be for them.

        C is that of Eq. (12).
        """
        return self.of_form(disjoint_matrix(focal))


def all_conflicts(given: Dissimilarities, quantile: float) -> Conflicts:
    """Return the conflicts that all pairs should have."""
    D = given.all()
    d0 = scale(D[np.triu_indices(len(D), 1)], quantile)
    values = wanted_conflict(D, d0)
    total = 0.5 * float(np.vdot(values, values))
    return Conflicts(lambda C: AllPairs(C[None], values[None], np.ones(len(D))), total, d0)


def sampled_conflicts(
    given: Dissimilarities, quantile: float, k: int, rng: np.random.Generator
) -> Conflicts:
    """Return the conflicts that the pairs of a sample should have."""
    n = len(given.values)
    partners = sample_partners(n, k, rng)
    D = given.pairs(np.arange(n)[:, None], partners)
    d0 = scale(D, quantile)
    values = wanted_conflict(D, d0)
    total = 0.5 * float(np.vdot(values, values))
    return Conflicts(lambda C: SampledPairs(C, partners, values), total, d0)


def wanted_conflict(D: Array, d0: float) -> Array:
    """Return ``1 - exp(-gamma d^2)``, with gamma such that it is 0.95 at d0.

    >>> wanted_conflict(np.array([0.0, 2.0]), 2.0).round(2)
    array([0.  , 0.95])
    """
    return -np.expm1(np.log(1.0 - APART) * (D / d0) ** 2)


def scale(D: Array, quantile: float) -> float:
    """Return d0, the dissimilarity at which two objects are hardly in one cluster."""
    d0 = float(np.quantile(D, quantile))
    if d0 <= 0.0:
        raise InputError(
            "quantile",
            "be one at which the dissimilarities are positive",
            Message(f"{quantile:g}, where they are 0"),
            "Raise it, or drop duplicate objects.",
        )
    return d0
