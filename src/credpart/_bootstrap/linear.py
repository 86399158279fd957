"""Replicates of large samples without refits: how the fixed point of EM moves with the sample.

EM is a map on sufficient statistics: the M-step takes statistics s to natural parameters, and the
E-step takes these to expected statistics, a sum over objects.  A bootstrap sample changes the sum
at the fit by ``S_b - s``.  To first order the fixed point moves by ``(I - J)^-1 (S_b - s)``, where
J is the derivative of the map, and an M-step turns the moved statistics into a mixture.

With ``v_i = r_i (x) phi_i``, the posteriors of an object times its features, all that this needs of
the objects is ``K = sum_i w_i v_i v_i'``:

- the statistics ``s = sum_i w_i v_i``, since posteriors add up to 1 and the first feature is 1;
- the derivative of the E-step, ``H = blockdiag(D_k) - K``, where ``D_k = sum_i w_i r_ik phi_i
  phi_i'`` is the sum of the blocks of K in row k;
- the covariance of the statistics of a bootstrap sample, ``C = K - s s' / n``.

The derivative N of the M-step needs no objects, and ``J = H N``.  So one pass over the objects
serves any number of replicates: these take ``O(n q^2 + B q^2)`` operations for q statistics, where
each iteration of refits takes ``O(n q B)``.  How the differences ``S_b - s`` are drawn is in
`deviations`: as normal vectors with covariance C or, where groups of objects are drawn, from sums
by group.

Several models are drawn jointly: their v_i stand side by side, with their log densities, and K and
C are those of all.

Shapes: b replicates, k components, p features; q = k p statistics of a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart._bootstrap.block_sums import BlockwiseObjects
from credpart._bootstrap.deviations import Deviations, FindDeviations, weighted_products
from credpart.errors import UnsupportedError
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.fit import MixtureFit
from credpart.mixture.optimisation.mixtures import map_params
from credpart.mixture.posteriors import bayes_rule

STEP = 1e-5  # of the differences that the derivative of the M-step is found by, relative
M_STEP_CONVERGED = 1e-11  # relative change of natural parameters in the last of repeated M-steps
MOST_M_STEPS = 300
NEAR_FIXED_POINT = 0.05  # standard deviations of a replicate that the fit may be away from it
MOST_PASSES = 4  # over the objects, until it is that near


class Moved(NamedTuple):
    """Mixtures estimated from moved statistics."""

    # b mixtures; where the statistics give no valid mixture, the parameters of the point
    params: Parameters
    statistics: Array  # (b, k, p)
    is_sound: BoolArray  # (b,): whether they are mixtures


class ExpansionPoint(NamedTuple):
    """A mixture of one model, about which EM is linearised."""

    fit: MixtureFit
    params: Parameters  # one mixture

    @property
    def family(self) -> Family:
        """The family of the model."""
        return self.fit.family

    @property
    def natural(self) -> Array:
        """Natural parameters (k, p)."""
        return natural_of(self.family, self.params)[0]

    def m_step(self, statistics: Array) -> Parameters:
        """Parameters that maximise the likelihood of statistics (b, k, p), near the mixture.

        An M-step without a closed form only has to raise the likelihood: it is repeated.
        """
        b = len(statistics)
        structure_code = np.full(b, self.fit.structure_code)
        params = map_params(lambda field: np.repeat(field, b, axis=0), self.params)
        with np.errstate(all="ignore"):  # moved statistics may be those of no mixture
            natural = natural_of(self.family, params)
            for _ in range(MOST_M_STEPS):
                before = natural
                params = self.family.m_step(statistics, structure_code, params)
                natural = natural_of(self.family, params)
                scale = np.abs(natural).max(axis=(1, 2), keepdims=True)
                if not (np.abs(natural - before) > M_STEP_CONVERGED * scale).any():
                    break
        return params

    def moved_to(self, statistics: Array) -> Moved:
        """The mixtures of statistics (b, k, p), where there are any."""
        is_finite = np.isfinite(statistics).all(axis=(1, 2))
        is_sound = np.asarray(is_finite & (statistics[..., 0] > 0.0).all(axis=1))
        rows = np.flatnonzero(is_sound)
        new = self.m_step(statistics[rows])
        is_sound[rows[self.family.is_degenerate(new)]] = False
        kept = is_sound[rows]

        def replaced(old: Array, field: Array) -> Array:
            result = np.repeat(old, len(statistics), axis=0)
            result[rows[kept]] = field[kept]
            return result

        return Moved(map_params(replaced, self.params, new), statistics, is_sound)


def natural_of(family: Family, params: Parameters) -> Array:
    """Natural parameters (b, k, p) of mixtures of a family that has these."""
    natural = family.natural_parameters(params)
    if natural is None:
        raise UnsupportedError(type(family).__name__, "has no natural parameters to linearise")
    return natural


def contributions_to_sums(points: Sequence[ExpansionPoint], X: Array) -> Array:
    """What each object contributes to statistics and log-likelihoods.

    The columns are the statistics (k p) of each point, then the log density under each, then 1:
    so their weighted products hold K, and in the last row the sums.
    """
    statistics, log_densities = [], []
    for family, params in ((one.family, one.params) for one in points):
        features = family.features(X)
        posteriors, log_density = bayes_rule(family, features, params)
        log_densities.append(log_density[0])
        statistics.append((posteriors[0].T[:, :, None] * features[:, None]).reshape(len(X), -1))
    return np.column_stack([*statistics, *log_densities, np.ones(len(X))])


@dataclass(frozen=True, slots=True)
class Linearisation:
    """EM under one model near its fixed point."""

    point: ExpansionPoint
    statistics: Array  # (k, p): expected at the point
    loglik: float  # at the point, in the family's units
    H: Array  # (q, q): derivative of the E-step
    N: Array  # (q, q): derivative of the M-step
    inverse: Array  # (q, q): (I - J)^-1
    rate: float  # the largest eigenvalue of J, at which EM converges
    fixed_point: Array  # (k, p): statistics, by a step of Newton's method

    @classmethod
    def of(cls, point: ExpansionPoint, K: Array, s: Array, loglik: float) -> Self:
        """From the products K (q, q) and sums s (q,) of the statistics of objects."""
        k, p = point.natural.shape
        blocks, H = K.reshape(k, p, k, p), -K
        for j in range(k):
            H[j * p : (j + 1) * p, j * p : (j + 1) * p] += blocks[j].sum(axis=1)  # D_j
        statistics = s.reshape(k, p)
        squares = np.einsum("jphp->jp", blocks)  # sums of r_ik phi_i^2
        N = m_step_derivative(point, statistics, np.sqrt(statistics[:, :1] * squares))
        J = H @ N
        inverse, rate = np.full(J.shape, np.nan), np.inf
        if np.isfinite(J).all():
            rate = float(np.linalg.eigvals(J).real.max())
        if rate < 1.0:
            inverse = np.linalg.inv(np.eye(len(J)) - J)
        gap = natural_of(point.family, point.m_step(statistics[None])) - point.natural
        step = inverse @ (H @ gap.ravel())
        fixed_point = (s + step).reshape(k, p)
        return cls(point, statistics, loglik, H, N, inverse, rate, fixed_point)

    def spread(self, C: Array) -> Array:
        """Standard deviations (q,) of the statistics of replicates, by the covariance C (q, q)."""
        variances = np.vecdot(self.inverse @ C, self.inverse)
        return np.sqrt(np.maximum(variances, np.finfo(float).tiny))

    def distance(self, C: Array) -> float:
        """How far the fit is from the fixed point, in standard deviations of a replicate."""
        off = np.abs(self.fixed_point - self.statistics).ravel()
        return float((off / self.spread(C)).max())

    def moved(self, differences: Array) -> "Moved":
        """The replicates whose sums differ from the statistics by ``differences`` (b, q)."""
        k, p = self.statistics.shape
        statistics = self.fixed_point + (differences @ self.inverse.T).reshape(-1, k, p)
        return self.point.moved_to(statistics)

    def gain(self, differences: Array) -> Array:
        """How much higher the likelihoods (b,) of replicates are than the fit's, on their samples.

        To second order this is ``(S_b - s)' N (I - J)^-1 (S_b - s) / 2``, a likelihood ratio as a
        quadratic form of the score.
        """
        return 0.5 * np.vecdot(differences @ self.inverse.T @ self.N, differences)


def m_step_derivative(point: ExpansionPoint, statistics: Array, scale: Array) -> Array:
    """Derivative N (q, q) of natural parameters by statistics, at ``statistics`` (k, p).

    By central differences, whose steps are in proportion to ``scale`` (k, p).  N is symmetric:
    the M-step maximises the product of statistics and natural parameters on a surface.
    """
    h = STEP * scale.ravel()
    moves = np.diag(h).reshape(-1, *statistics.shape)
    both = np.concatenate([statistics + moves, statistics - moves])
    natural = natural_of(point.family, point.m_step(both)).reshape(2, len(h), -1)
    N = (natural[0] - natural[1]) / (2.0 * h[:, None])
    return 0.5 * (N + N.T)


@dataclass(frozen=True, slots=True)
class JointLinearisation:
    """EM under several models near their fixed points, on the same objects."""

    parts: tuple[Linearisation, ...]
    deviations: Deviations  # of all statistics, then of the log-likelihoods of the fits
    n: float  # total weight

    @classmethod
    def of(
        cls, rows: BlockwiseObjects, fits: Sequence[MixtureFit], find_deviations: FindDeviations
    ) -> Self:
        """Linearise about the fixed points near some fits: one pass, or more if they are far."""
        points = [ExpansionPoint(fit, fit.internal) for fit in fits]
        for _ in range(MOST_PASSES):
            contribute = partial(contributions_to_sums, points)
            (products,) = rows.sum_over_blocks(partial(weighted_products, contribute))
            joint = cls._at(points, products, find_deviations(contribute, products))
            if joint.distance <= NEAR_FIXED_POINT or not np.isfinite(joint.distance):
                break
            moved = [part.point.moved_to(part.fixed_point[None]) for part in joint.parts]
            if not all(one.is_sound[0] for one in moved):
                break
            points = [
                one._replace(params=there.params) for one, there in zip(points, moved, strict=True)
            ]
        return joint

    @classmethod
    def _at(cls, points: Sequence[ExpansionPoint], products: Array, deviations: Deviations) -> Self:
        sums, parts = products[-1], []
        for one, place, loglik in zip(
            points, _places(points), sums[-1 - len(points) : -1], strict=True
        ):
            parts.append(Linearisation.of(one, products[place, place], sums[place], float(loglik)))
        return cls(tuple(parts), deviations, float(sums[-1]))

    @property
    def C(self) -> Array:
        """Covariance of the deviations."""
        return self.deviations.C

    @property
    def places(self) -> list[slice]:
        """Where the statistics of each model stand."""
        return _places([part.point for part in self.parts])

    @property
    def distance(self) -> float:
        """How far a fit is from its fixed point at most, in standard deviations of a replicate."""
        C = self.C
        return max(
            part.distance(C[place, place])
            for part, place in zip(self.parts, self.places, strict=True)
        )


def _places(points: Sequence[ExpansionPoint]) -> list[slice]:
    ends = accumulate((one.natural.size for one in points), initial=0)
    return [slice(first, last) for first, last in pairwise(ends)]
