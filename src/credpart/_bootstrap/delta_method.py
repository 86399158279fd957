"""Intervals on P_ij of large samples by the delta method: no posteriors in replicates are needed.

Where log joint densities are linear in natural parameters eta, posteriors are
``pi_ik = exp(eta_k' phi_i) / sum_h exp(eta_h' phi_i)`` for an object with features phi_i.  A small
change of the parameters moves the log joint densities of object i by ``s_ik = d eta_k' phi_i``, its
posteriors by ``G_i s_i``, where ``G_i = diag(pi_i) - pi_i pi_i'``, and ``P_ij = pi_i' pi_j`` by

    pi_j' G_i s_i + pi_i' G_j s_j.

So the variance of P_ij follows from the covariance of the natural parameters in the replicates:

    pi_j' G_i V_ii G_i pi_j + pi_i' G_j V_jj G_j pi_i + 2 pi_j' G_i V_ij G_j pi_i,

with ``V_ij = Cov(s_i, s_j)``.  The interval is ``logit P -+ z s / (P (1 - P))``, as the method
"normal" has it.  This holds where replicates stay near their mean, as they do in large samples.
Whether they do is judged by a sample of objects, whose intervals come from the replicates
themselves: see `credpart.result`.

For an object far from all others, the differences of log joint densities are large and vary
strongly between replicates, so P_ij is not linear there.  `DeltaMethod.is_linear` tells such
objects apart, which then need their replicates.

It takes ``c^2 p`` multiplications for each pair of objects and ``c^2 p^2`` for each object, of
which BLAS does nearly all, where replicates take ``c B`` for each pair and the selection of
quantiles among B values besides.  With seven clusters in four columns and 1000 replicates that is
a twentieth of the time.

Shapes: m objects, l known objects, c clusters, p features, B replicates.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart._bootstrap.linear import natural_of
from credpart._bootstrap.replicates import Replicates
from credpart.intervals import expit, logit
from credpart.mixture.families.base import Family
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.optimisation.e_step import normalise

CERTAIN_ODDS = 14.0  # log odds from which on a posterior is 0 or 1, as far as bounds tell: 1e-6
LINEAR_DEVIATION = 1.0  # of log odds, up to which posteriors are as good as linear
REACH = 4.0  # standard deviations that log odds may vary by
MOST_ODDS = 40.0  # log odds whose probability is 0 or 1 in double precision


@dataclass(frozen=True, slots=True, eq=False)
class DeltaMethod:
    """Intervals between any objects and l known ones."""

    family: Family  # what reads the features of objects
    natural: Array  # (c, p): mean natural parameters of the replicates
    covariance: Array  # (c, p, c, p): of the natural parameters
    known: Array  # (l, p): features of the known objects

    @classmethod
    def of(cls, replicates: Replicates, known: Array) -> Self | None:
        """From replicates and the values (l, d) of known objects; None where it does not apply.

        It needs sound replicates of one family that can be linearised, with as many clusters, none
        of them absent, and no fewer replicates than natural parameters: otherwise their covariance
        costs more than the replicates themselves.
        """
        if len(replicates.parts) != 1 or (replicates.status == Status.DEGENERATE).any():
            return None
        (part,) = replicates.parts
        if not part.family.is_linearisable or (part.params[0] <= 0.0).any():
            return None
        natural = natural_of(part.family, part.params)
        if natural[0].size > len(natural):
            return None
        mean = natural.mean(axis=0)
        deviations = (natural - mean).reshape(len(natural), -1)
        covariance = deviations.T @ deviations / (len(natural) - 1)
        shape = (*mean.shape, *mean.shape)
        return cls(part.family, mean, covariance.reshape(shape), part.family.features(known))

    def bounds(self, values: Array, level: float) -> tuple[Array, Array]:
        """Lower and upper bounds (m, l) on P_ij of objects (m, d) with the known ones."""
        P, variance = self.moments(self.family.features(values))
        inner = logit(P)
        slope = 2.0 + 2.0 * np.cosh(inner)  # 1 / (P (1 - P)), the derivative of the logit
        z = NormalDist().inv_cdf(0.5 + level / 2.0)
        half_width = z * slope * np.sqrt(np.maximum(variance, 0.0))
        lower, upper = (
            np.clip(inner + shift, -MOST_ODDS, MOST_ODDS) for shift in (-half_width, half_width)
        )
        return expit(lower), expit(upper)

    def is_linear(self, values: Array) -> BoolArray:
        """Which objects (m, d) have posteriors that are linear as far as the replicates vary.

        Others have log odds of two clusters that vary much, and that are not so far from 0 that the
        posterior is 0 or 1 in all replicates.
        """
        features = self.family.features(values)
        with np.errstate(over="ignore", invalid="ignore"):  # of objects that are very far away
            joint, V = features @ self.natural.T, self._variances(features)
            rows, first = np.arange(len(joint)), joint.argmax(axis=1)
            odds = joint[rows, first][:, None] - joint
            own = np.diagonal(V, axis1=1, axis2=2)
            variance = own + own[rows, first][:, None] - 2.0 * V[rows, first]
            deviation = np.sqrt(np.maximum(variance, 0.0))
            varies = (deviation > LINEAR_DEVIATION) & (odds - REACH * deviation < CERTAIN_ODDS)
        return np.isfinite(deviation).all(axis=1) & ~varies.any(axis=1)

    def moments(self, features: Array) -> tuple[Array, Array]:
        """P_ij (m, l) of objects with features (m, p), and its variance over replicates."""
        C, c = self.covariance, len(self.natural)
        known, others = self._posteriors(self.known), self._posteriors(features)
        P = others @ known.T
        of_known, of_others = (
            _covariances(self._variances(phi), pi)
            for phi, pi in ((self.known, known), (features, others))
        )
        variance = of_others @ _squares(known).T + _squares(others) @ of_known.T
        # The covariance of both moves, from the right: G_j pi_i is linear in pi_i, so that its
        # product with Cov(s_ik, s_j) has coefficients of phi_i that no object needs to change.
        G = known[:, :, None] * np.eye(c) - known[:, :, None] * known[:, None]
        of_pairs = np.einsum("kphq,jq,jhg->pgjk", C, self.known, G, optimize=True)
        products = (features @ of_pairs.reshape(len(C[0]), -1)).reshape(len(features), c, -1)
        crossed = (others[:, None] @ products).reshape(*P.shape, c)
        moves = others[:, None] * (known - P[:, :, None])  # G_i pi_j
        variance += 2.0 * np.einsum("ijk,ijk->ij", crossed, moves)
        return P, variance

    def _posteriors(self, features: Array) -> Array:
        joint = (features @ self.natural.T).T[None]
        normalise(joint)
        return joint[0].T

    def _variances(self, features: Array) -> Array:
        """``V_ii``, the covariances (m, c, c) of the log joint densities of each object."""
        c = len(self.natural)
        V = np.empty((len(features), c, c))
        for k in range(c):
            for h in range(k + 1):
                V[:, k, h] = V[:, h, k] = np.vecdot(features @ self.covariance[k, :, h], features)
        return V


def _covariances(V: Array, posteriors: Array) -> Array:
    """``G_i V_ii G_i``, the covariances of the posteriors of each object, as rows (m, c c)."""
    moved = posteriors[:, :, None] * (V - posteriors[:, None] @ V)
    moved = (moved - moved @ posteriors[:, :, None]) * posteriors[:, None]
    return moved.reshape(len(V), -1)


def _squares(rows: Array) -> Array:
    """Products of all pairs of numbers of each row."""
    return (rows[:, :, None] * rows[:, None]).reshape(len(rows), -1)
