"""Mixtures of normal laws with random scale and skewness: t, skew normal, skew t.

An object is ``x = mu + delta u + e / sqrt(w)`` with ``e ~ N(0, Sigma)`` and latent w and u; what
law these have sets the families apart.  Given them, each component is a weighted regression of x
on (1, u), and the scatter of its residuals goes through the covariance structures as that of a
Gaussian component does.

The maximum of the likelihood often lies at infinite skewness: ``tau^2 = 1 / (1 + delta' Sigma^-1
delta)`` is 0 there, and densities have an edge.  So skew components have the penalty of [AA13]_,
``tau^(2 PENALTY)``, which weighs about as much as one object and is invariant under affine maps.

References
----------
.. [AA13] Azzalini, Arellano-Valle: Maximum penalized likelihood estimation for skew-normal and
   skew-t distributions.  Journal of Statistical Planning and Inference 143, 2013.  (Its second
   constant, 0.856, is rounded to 1 here.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

from credpart.mixture.covariance.structures import NAMES, TABLE, Previous
from credpart.mixture.families import coordinates as chart
from credpart.mixture.families.standardisation import (
    ABSENT,
    SINGULAR,
    Frame,
    apply,
    by_chance,
    collect,
    ellipsoids,
    log_shares,
    outer,
    shares,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

PENALTY = 0.876
STEEPEST = 0.7  # share of a direction's variance that a start may lay on the skewness
LOST = 1.0 - 2.0 / np.pi  # of the square of the skewness, in the covariance


class Expectations(NamedTuple):
    """What the E-step expects of the latent variables given x, (b, k, n); None is 1, 0, 1, 0."""

    w: Array | None
    wu: Array | None  # over tau
    wuu: Array | None  # over tau^2
    log_w: Array | None


class Law(NamedTuple):
    """The law of w and u: functions of eta and y (b, k, n), dof (b, k) and d."""

    log_density: Callable[[Array, Array, Array, int], Array]  # but for `constant`
    constant: Callable[[Array, int], Array]  # (dof, d)
    expect: Callable[[Array, Array, Array, int], Expectations]
    dof: Callable[[Array], Array]  # from mean w - 1 - mean log w
    bounds: tuple[float, float] | None  # on dof; None: there is none to estimate
    first_dof: float
    is_skew: bool = False


class LocationScaleParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    locations: Array  # (b, k, d)
    scales: Array  # (b, k, d, d): Sigma
    skewness: Array  # (b, k, d): delta
    dof: Array  # (b, k)
    distance: Array  # (b, k, p): eta = distance . phi(x)
    slant: Array  # (b, k, 1 + d): y = slant . (1, x)
    tau: Array  # (b, k)
    constant: Array  # (b, k)
    flatness: Array  # (b, k), of Omega


class SkewParams(NamedTuple):
    """Parameters of a mixture in the units of the data; covariances are larger than `scales`."""

    proportions: Array
    locations: Array
    scales: Array
    skewness: Array
    dof: Array


class Moments(NamedTuple):
    """Regressions of the components: what the statistics say before a structure is imposed."""

    sizes: Array  # (b, k)
    locations: Array
    skewness: Array
    scatter: Array
    dof: Array


class Statistics(NamedTuple):
    """Expected sums over objects, named; matrices of products stay in the frame's pairs."""

    sizes: Array
    log_w: Array
    tau2: Array  # tau^2, of the parameters of the E-step
    uu: Array
    u: Array
    ux: Array
    w: Array
    x: Array
    xx: Array


@dataclass(frozen=True, slots=True)
class LocationScale:
    """Mixtures of one law on standardised data, any structures side by side."""

    frame: Frame
    law: Law
    pooling: float = 0.0  # pseudo-observations with scale matrix `pool` in every component
    pool: Array | None = None

    @classmethod
    def of(cls, X: Array, structures: Sequence[str], law: Law) -> Self:
        """The family for these data."""
        return cls(Frame.of(X, structures), law)

    @property
    def log_unit(self) -> float:
        """What a log density loses when the data go back to their own units."""
        return self.frame.log_unit

    def n_parameters(self, structure: str, c: int) -> int:
        """Free parameters of a mixture of c components."""
        d = self.frame.d
        extra = d * self.law.is_skew + (self.law.bounds is not None)
        return c - 1 + c * (d + extra) + TABLE[structure].n_free(c, d)

    def reveal(self, params: LocationScaleParams) -> SkewParams:
        """Parameters in the units of the data."""
        shown = self.frame.reveal(params.locations, params.scales)
        return SkewParams(
            params.proportions, *shown, params.skewness * self.frame.scale, params.dof
        )

    def sample(
        self, params: LocationScaleParams, n: int, rng: np.random.Generator
    ) -> tuple[Array, Rows]:
        """Draw n objects from the first of the mixtures, and their components."""
        labels = rng.choice(params.proportions.shape[1], size=n, p=params.proportions[0])
        dof = params.dof[0, labels]
        half = 0.5 * np.where(np.isinf(dof), 1.0, dof)
        w = np.where(np.isinf(dof), 1.0, rng.standard_gamma(half) / half)[:, None]
        u = np.abs(rng.standard_normal((n, 1)))
        roots = np.linalg.cholesky(params.scales[0])[labels]
        noise = np.einsum("nde,ne->nd", roots, rng.standard_normal((n, self.frame.d)))
        Z = params.locations[0, labels] + (u * params.skewness[0, labels] + noise) / np.sqrt(w)
        return self.frame.center + self.frame.scale * Z, labels

    def features(self, X: Array) -> Array:
        """``(1, x, x_i x_j)`` of standardised rows, shape (n, p)."""
        return self.frame.features(X)

    def log_joint(self, features: Array, params: LocationScaleParams) -> Array:
        """``log pi_k + log p_k(x_i)`` in standardised units, shape (b, k, n)."""
        eta, y = self._position(features, params)
        joint = self.law.log_density(eta, y, params.dof, self.frame.d)
        joint += params.constant[..., None]
        return joint

    def statistics(
        self, features: Array, resp: Array, params: LocationScaleParams | None = None
    ) -> Array:
        """`Statistics` side by side, shape (b, k, 5 + d + p)."""
        params = self._start(features, resp) if params is None else params
        eta, y = self._position(features, params)
        w, wu, wuu, log_w = self.law.expect(eta, y, params.dof, self.frame.d)
        tau, sizes, short = params.tau[..., None], resp.sum(axis=-1), 1 + self.frame.d
        logs = 0.0 * sizes if log_w is None else np.einsum("bkn,bkn->bk", resp, log_w)
        squares = sizes if wuu is None else np.einsum("bkn,bkn->bk", resp, wuu) * params.tau**2
        if wu is None:
            pulls = np.zeros((*sizes.shape, short))
        else:
            pulls = collect(resp * wu, features[..., :short]) * tau
        sums = collect(resp if w is None else resp * w, features)
        scalars = np.stack([sizes, logs, sizes * params.tau**2, squares], axis=-1)
        return np.concatenate([scalars, pulls, sums], axis=-1)

    def m_step(
        self, statistics: Array, variant: Rows, previous: LocationScaleParams | None
    ) -> LocationScaleParams:
        """Maximise the expected likelihood under each replicate's structure."""
        sizes, locations, skewness, scatter, dof = self._regress(statistics)
        start = None
        if previous is not None:
            start = Previous.of(previous.scales, previous.proportions)
        pool = 0.0 if self.pool is None else self.pooling * self.pool
        estimate = self.frame.update(scatter + pool, sizes + self.pooling, variant, start)
        return self.complete(shares(sizes), locations, estimate.covariances(), skewness, dof)

    def complete(
        self, proportions: Array, locations: Array, scales: Array, skewness: Array, dof: Array
    ) -> LocationScaleParams:
        """Parameters with what the E-step reads of them."""
        d = self.frame.d
        P, logdet, flatness = ellipsoids(scales + outer(skewness, skewness), proportions)
        slope = np.einsum("bkde,bke->bkd", P, skewness)
        tau = np.sqrt(1.0 - (skewness * slope).sum(axis=-1))
        slant = np.empty((*tau.shape, 1 + d))
        slant[..., 1:] = slope / tau[..., None]
        slant[..., 0] = -(slant[..., 1:] * locations).sum(axis=-1)
        constant = log_shares(proportions) - 0.5 * logdet + self.law.constant(dof, d)
        distance = self.frame.distance(P, locations)
        fields = proportions, locations, scales, skewness, dof, distance, slant, tau
        return LocationScaleParams(*fields, constant, flatness)

    def embed(self, params: Any) -> LocationScaleParams:
        """A mixture of a law that is nested in this one; normal tails are those at the cap."""
        proportions, locations = params[:2]
        scales = params.scales if hasattr(params, "scales") else params.covariances
        skewness = getattr(params, "skewness", np.zeros_like(locations))
        dof = getattr(params, "dof", np.full_like(proportions, np.inf))
        if self.law.bounds is not None:
            dof = np.clip(dof, *self.law.bounds)
        return self.complete(proportions, locations, scales, skewness, dof)

    def log_prior(self, params: LocationScaleParams) -> Array | float:
        """The penalty on skewness, and the likelihood of the pseudo-observations."""
        present = params.proportions > 0.0
        value = 2.0 * PENALTY * np.where(present, np.log(params.tau), 0.0).sum(axis=1)
        if self.pool is None:
            return np.asarray(value)
        P, logdet, _ = ellipsoids(params.scales, params.proportions)
        part = logdet + np.einsum("bkde,de->bk", P, self.pool)
        return np.asarray(value - 0.5 * self.pooling * part.sum(axis=1))

    def pooled(self, statistics: Array, pooling: float = 1.0) -> Self:
        """This family with pseudo-observations of the statistics' pooled scale matrix (k, s)."""
        found = self._regress(statistics[None])
        pool = found.scatter[0].sum(axis=0) / found.sizes[0].sum()
        return replace(self, pooling=pooling, pool=pool)

    def is_degenerate(self, params: LocationScaleParams) -> NDArray[np.bool_]:
        """A component that is singular relative to the pooled scale matrix."""
        return np.asarray(~((params.flatness < SINGULAR) & (params.tau > 0.0)).all(axis=1))

    def is_spurious(self, params: LocationScaleParams, n: float) -> NDArray[np.bool_]:
        """Components (b, k) that are flat by chance."""
        return by_chance(params.flatness, params.proportions, n, self.frame.d)

    def remarks(self, params: LocationScaleParams) -> list[str]:
        """Degrees of freedom at their bounds."""
        if self.law.bounds is None:
            return []
        least, most = self.law.bounds
        words = {most: "normal for all purposes", least: "the heaviest allowed"}
        return [
            f"component {k + 1} has {bound:g} degrees of freedom, a bound: its tails are {what}"
            for bound, what in words.items()
            for k in np.flatnonzero(np.isclose(params.dof[0], bound, rtol=1e-6))
        ]

    def encode(self, params: LocationScaleParams) -> Array:
        """Coordinates: log proportions, locations, skewness, scale matrices, log dof."""
        scales = chart.encode_scales(params.scales)
        blocks = params.locations, params.skewness, scales, np.log(params.dof)[..., None]
        return self._join(log_shares(params.proportions)[..., None], *blocks)

    def decode(self, coordinates: Array) -> LocationScaleParams:
        """Parameters at any coordinates."""
        d, b, k = self.frame.d, *coordinates.shape[:2]
        fixed = np.full((b, k, 1), self.law.first_dof), np.zeros((b, k, d))
        dof, skewness = fixed
        if self.law.bounds is not None:
            dof = np.clip(np.exp(coordinates[..., -1:]), *self.law.bounds)
        if self.law.is_skew:
            skewness = coordinates[..., 1 + d : 1 + 2 * d]
        first = 1 + d + d * self.law.is_skew
        scales = chart.decode_scales(coordinates[..., first : first + d * (d + 1) // 2], d)
        logits = coordinates[..., 0] - coordinates[..., 0].max(axis=1, keepdims=True)
        return self.complete(
            shares(np.exp(logits)), coordinates[..., 1 : 1 + d], scales, skewness, dof[..., 0]
        )

    def gradient(self, statistics: Array, params: LocationScaleParams, variant: Rows) -> Array:
        """Gradient of the expected log-likelihood and of the log prior, in the coordinates."""
        s = self._split(statistics)
        mu, delta, sizes = params.locations, params.skewness, s.sizes
        uu = s.uu + 2.0 * PENALTY * params.tau[..., None] ** 2  # as if u were seen once more
        pull, slant = s.x - mu * s.w - delta * s.u, s.ux - mu * s.u - delta * uu
        P = ellipsoids(params.scales, params.proportions).precisions
        S = self.frame.scatter(s.xx) - outer(mu, s.x) - outer(delta, s.ux)
        S = S - outer(pull, mu) - outer(slant, delta)
        if self.pool is not None:
            S = S + self.pooling * self.pool
        G = 0.5 * (P @ (0.5 * (S + S.mT)) @ P - (sizes + self.pooling)[..., None] * P)
        half = 0.5 * np.minimum(params.dof, 1e3)[..., None]  # infinite: not in the coordinates
        return self.project(
            self._join(
                sizes - params.proportions[..., None] * sizes.sum(axis=1, keepdims=True),
                np.einsum("bkde,bke->bkd", P, pull),
                np.einsum("bkde,bke->bkd", P, slant),
                chart.pull_back(G, chart.encode_scales(params.scales)),
                half * (sizes * (np.log(half) + 1.0 - digamma(half)) + s.log_w - s.w),
            ),
            params,
            variant,
        )

    def project(self, gradient: Array, params: LocationScaleParams, variant: Rows) -> Array:
        """What is left of a gradient by structures, bounds and absent components."""
        d, present = self.frame.d, params.proportions > 0.0
        first = 1 + d + d * self.law.is_skew
        block = slice(first, first + d * (d + 1) // 2)
        result = gradient.copy()
        for code in np.unique(variant):
            rows = variant == code
            kept = chart.project(gradient[rows, :, block], d, NAMES[code], present[rows])
            result[rows, :, block] = kept
        if self.law.bounds is not None:
            least, most = self.law.bounds
            push = result[..., -1]
            stops = (params.dof >= most) & (push > 0.0) | (params.dof <= least) & (push < 0.0)
            push[stops] = 0.0
        return np.where(present[..., None], result, 0.0)

    def spread(self, params: LocationScaleParams) -> Array:
        """Inverse of the information that one object gives of each coordinate."""
        P = ellipsoids(params.scales, params.proportions).precisions
        variances = np.einsum("bkdd->bkd", params.scales)
        half = 0.5 * np.minimum(params.dof, 1e3)[..., None]
        dof = 1.0 / (half**2 * polygamma(1, half) - half)
        scales = chart.scale_spread(chart.encode_scales(params.scales), P)
        return self._join(np.ones_like(half), variances, variances, scales, dof)

    def _join(self, logs: Array, location: Array, skew: Array, scale: Array, dof: Array) -> Array:
        """Blocks side by side: those that the law has."""
        blocks = [logs, location, *[skew] * self.law.is_skew, scale]
        return np.concatenate([*blocks, *[dof] * (self.law.bounds is not None)], axis=-1)

    def _position(self, features: Array, params: LocationScaleParams) -> tuple[Array, Array]:
        """``eta`` and ``y``, shape (b, k, n)."""
        eta = apply(params.distance, features)
        np.maximum(eta, 0.0, out=eta)  # rounding
        y = apply(params.slant, features[..., : 1 + self.frame.d]) if self.law.is_skew else eta
        return eta, y

    def _split(self, statistics: Array) -> Statistics:
        """Statistics by name; all have an axis for the features."""
        d = self.frame.d
        ends = np.cumsum([1, 1, 1, 1, 1, d, 1, d])
        return Statistics(*np.split(statistics, ends, axis=-1))

    def _regress(self, statistics: Array) -> Moments:
        """Regressions of x on (1, u), weighted by w; absent components get a unit ball."""
        frame, (i, j) = self.frame, self.frame.pairs
        s = self._split(statistics)
        absent = s.sizes <= ABSENT
        sizes = np.where(absent, ABSENT, s.sizes)
        # the penalty, seen from the parameters of the E-step: u is seen once more, with x = mu
        uu = s.uu + 2.0 * PENALTY * s.tau2 / sizes
        with np.errstate(invalid="ignore", divide="ignore"):
            determinant = s.w * uu - s.u**2
            locations = np.where(absent, 0.0, (uu * s.x - s.u * s.ux) / determinant)
            skewness = np.where(absent, 0.0, (s.w * s.ux - s.u * s.x) / determinant)
        explained = locations[..., i] * s.x[..., j] + skewness[..., i] * s.ux[..., j]
        scatter = frame.scatter(s.xx - explained)
        dof = self.law.dof(((s.w - s.log_w) / sizes - 1.0)[..., 0])
        gone = absent[..., 0]
        scatter[gone], dof[gone] = ABSENT * np.eye(frame.d), self.law.first_dof
        return Moments(sizes[..., 0], locations, skewness, scatter, dof)

    def _start(self, features: Array, resp: Array) -> LocationScaleParams:
        """Parameters by moments: without skewness EM would never find any."""
        frame, d, (i, j) = self.frame, self.frame.d, self.frame.pairs
        sums = collect(resp, features)
        absent = sums[..., 0] <= ABSENT
        sizes = np.where(absent, 1.0, sums[..., 0])[..., None]
        means, squares = sums[..., 1 : 1 + d] / sizes, sums[..., 1 + d :] / sizes
        cubes = collect(resp, features[..., 1 : 1 + d] ** 3) / sizes
        covariances = frame.scatter(squares - means[..., i] * means[..., j])
        covariances[absent] = np.eye(d)
        third = cubes - 3.0 * means * np.einsum("bkdd->bkd", covariances) - means**3
        skewness = np.cbrt(third / (np.sqrt(2.0 / np.pi) * (4.0 / np.pi - 1.0)))
        with np.errstate(invalid="ignore", divide="ignore"):
            P = ellipsoids(covariances, sums[..., 0]).precisions
            share = LOST * np.einsum("bkd,bkde,bke->bk", skewness, P, skewness)
            skewness *= np.sqrt(np.minimum(1.0, STEEPEST / share))[..., None]
        skewness *= self.law.is_skew
        scales = covariances - LOST * outer(skewness, skewness)
        locations = means - np.sqrt(2.0 / np.pi) * skewness
        dof = np.full(absent.shape, self.law.first_dof)
        return self.complete(shares(sums[..., 0]), locations, scales, skewness, dof)
