"""Mixtures of normal distributions with random scale and skewness: t, skew normal, skew t.

An object is ``x = mu + delta u + e / sqrt(w)`` with ``e ~ N(0, Sigma)`` and latent w and u, whose
distribution distinguishes the families.  Given w and u, each component is a weighted regression of
x on (1, u), and the scatter of its residuals goes through the covariance structures as that of a
Gaussian component does.

The maximum of the likelihood often lies at infinite skewness: ``tau^2 = 1 / (1 + delta' Sigma^-1
delta)`` is 0 there, and densities have an edge.  Skew components therefore have the penalty of
[AA13]_, ``tau^(2 PENALTY)``, which weighs about as much as one object and is invariant under affine
maps.

References
----------
.. [AA13] Azzalini, Arellano-Valle: Maximum penalized likelihood estimation for skew-normal and
   skew-t distributions.  Journal of Statistical Planning and Inference 143, 2013.  (Its second
   constant, 0.856, is rounded to 1 here.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.covariance.batched import Previous, update
from credpart.mixture.covariance.matrices import inverse
from credpart.mixture.covariance.structures import TABLE
from credpart.mixture.families.base import (
    ABSENT,
    Components,
    Parameters,
    linear_forms,
    weighted_sums,
)
from credpart.mixture.families.gaussian import GaussianParams
from credpart.mixture.families.latent_law import LatentLaw
from credpart.mixture.families.skew import SKEW_NORMAL, SKEW_T
from credpart.mixture.families.standardisation import (
    SINGULAR,
    Standardisation,
    StandardisedFamily,
)
from credpart.mixture.families.student import T

PENALTY = 0.876
LARGEST_SKEW = 0.7  # share of the variance that skewness may explain in a start
HALF_NORMAL_VARIANCE = 1.0 - 2.0 / np.pi  # of |z|
# Precision on the scale of standardised data beyond which a component has no width: its standard
# deviation, 1e-12 of that of the data, is near their rounding.
NO_WIDTH = 1e24

LAWS: Mapping[str, LatentLaw] = {law.name: law for law in (T, SKEW_NORMAL, SKEW_T)}


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


class Statistics(NamedTuple):
    """Expected sums over objects, by name; products are those of the standardisation's pairs."""

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
class LocationScale(StandardisedFamily[LocationScaleParams]):
    """Mixtures of one latent law on standardised data, of any structures side by side."""

    law: LatentLaw
    prior: Array | None = None  # (d, d): scale matrix of a pseudo-observation in every component

    params_type: ClassVar[type[Parameters]] = LocationScaleParams
    has_slow_em: ClassVar[bool] = True

    @classmethod
    def of(cls, X: Array, structures: Sequence[str], law: LatentLaw) -> Self:
        """The family for these data."""
        # Omega = Sigma + delta delta' is a full matrix even if Sigma is diagonal.
        needed = ["VVV"] if law.is_skew else structures
        return cls(Standardisation.of(X, needed), law)

    def state(self) -> dict[str, Any]:
        """The law is remembered by its name."""
        return {**StandardisedFamily.state(self), "law": self.law.name}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The family that remembers a state."""
        return cls(**{**state, "law": LAWS[state["law"]]})

    def log_joint(self, features: Array, params: LocationScaleParams) -> Array:
        """``log pi_k + log p_k(x_i)`` in standardised units, shape (b, k, n)."""
        eta, y = self._position(features, params)
        joint = self.law.log_density(eta, y, params.dof, self.d)
        joint += params.constant[..., None]
        return joint

    def statistics(
        self, features: Array, resp: Array, params: LocationScaleParams | None = None
    ) -> Array:
        """`Statistics` side by side, shape (b, k, 5 + d + p)."""
        params = self._by_moments(features, resp) if params is None else params
        eta, y = self._position(features, params)
        w, wu, wuu, log_w = self.law.expect(eta, y, params.dof, self.d)
        tau, sizes, short = params.tau[..., None], resp.sum(axis=-1), 1 + self.d
        logs = 0.0 * sizes if log_w is None else np.einsum("bkn,bkn->bk", resp, log_w)
        squares = sizes if wuu is None else np.einsum("bkn,bkn->bk", resp, wuu) * params.tau**2
        if wu is None:
            products = np.zeros((*sizes.shape, short))
        else:
            products = weighted_sums(resp * wu, features[..., :short]) * tau
        sums = weighted_sums(resp if w is None else resp * w, features)
        scalars = np.stack([sizes, logs, sizes * params.tau**2, squares], axis=-1)
        return np.concatenate([scalars, products, sums], axis=-1)

    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: LocationScaleParams | None
    ) -> LocationScaleParams:
        """Maximise the expected likelihood under the structure of each mixture."""
        sizes, locations, skewness, scatter, dof = self._regress(statistics)
        proportions = self.shares(sizes)
        start = None if previous is None else Previous.of(previous.scales, previous.proportions)
        if self.prior is not None:
            scatter, sizes = scatter + self.prior, sizes + 1.0
        scales = update(scatter, sizes, structure_code, start, self.standardisation.units)
        return self.complete(proportions, locations, scales, skewness, dof)

    def complete(
        self, proportions: Array, locations: Array, scales: Array, skewness: Array, dof: Array
    ) -> LocationScaleParams:
        """Parameters with what the E-step reads of them."""
        omega = scales + outer_square(skewness)
        P, logdet = inverse(omega)
        flatness = relative_flatness(P, omega, proportions)
        slope = np.einsum("bkde,bke->bkd", P, skewness)
        tau = np.sqrt(1.0 - (skewness * slope).sum(axis=-1))
        slant = slope / tau[..., None]
        slant = np.concatenate([-(slant * locations).sum(axis=-1, keepdims=True), slant], axis=-1)
        constant = self.log_shares(proportions) - 0.5 * logdet + self.law.constant(dof, self.d)
        distance = self.standardisation.squared_distance(P, locations)
        fields = proportions, locations, scales, skewness, dof, distance, slant, tau
        return LocationScaleParams(*fields, constant, flatness)

    def derived(self, params: LocationScaleParams) -> LocationScaleParams:
        """What the E-step reads, anew; degrees of freedom within their bounds."""
        bounds = self.law.bounds or (self.law.first_dof, self.law.first_dof)
        return self.complete(*params[:4], np.clip(params.dof, *bounds))

    def embed(self, params: Parameters) -> LocationScaleParams:
        """A mixture of a nested law; normal tails become those at the bound on dof."""
        if isinstance(params, GaussianParams):
            proportions, locations, scales = params.proportions, params.means, params.covariances
            skewness, dof = np.zeros_like(locations), np.full_like(proportions, np.inf)
        else:
            proportions, locations, scales, skewness, dof = params[:5]
        if self.law.bounds is not None:
            dof = np.clip(dof, *self.law.bounds)
        return self.complete(proportions, locations, scales, skewness, dof)

    def log_prior(self, params: LocationScaleParams) -> Array | float:
        """The penalty on skewness, and the likelihood of the pseudo-observations."""
        present = params.proportions > 0.0
        value = 2.0 * PENALTY * np.where(present, np.log(params.tau), 0.0).sum(axis=1)
        if self.prior is None:
            return value
        P, logdet = inverse(params.scales)
        part = logdet + np.einsum("bkde,de->bk", P, self.prior)
        return value - 0.5 * part.sum(axis=1)

    def n_parameters(self, structure: str, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        extra = self.d * self.law.is_skew + (self.law.bounds is not None)
        return c - 1 + c * (self.d + extra) + TABLE[structure].n_free(c, self.d)

    def is_degenerate(self, params: LocationScaleParams) -> BoolArray:
        """A component is singular relative to the pooled scale matrix, or infinitely skew."""
        return StandardisedFamily.is_degenerate(self, params) | ~(params.tau > 0.0).all(axis=1)

    def regularised(self, statistics: Array) -> Self:
        """This family with pseudo-observations of the pooled scale matrix of statistics (k, s)."""
        sizes, _, _, scatter, _ = self._regress(statistics[None])
        return replace(self, prior=scatter[0].sum(axis=0) / sizes[0].sum())

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

    def to_data_units(self, params: LocationScaleParams) -> Components:
        """Parameters in the units of the data."""
        moments = self.standardisation.to_data_units(params.locations, params.scales)
        skewness = params.skewness * self.standardisation.scale
        return Components(params.proportions, *moments, skewness, params.dof)

    def projectable(self, params: LocationScaleParams) -> Components:
        """Components of the first mixture."""
        return Components(*(field[0] for field in self.to_data_units(params)))

    def sample(self, params: LocationScaleParams, n: int, rng: Generator) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures, and their components."""
        labels = rng.choice(params.proportions.shape[1], size=n, p=params.proportions[0])
        dof = params.dof[0, labels]
        half = 0.5 * np.where(np.isinf(dof), 1.0, dof)
        w = np.where(np.isinf(dof), 1.0, rng.standard_gamma(half) / half)[:, None]
        u = np.abs(rng.standard_normal((n, 1)))
        roots = np.linalg.cholesky(params.scales[0])[labels]
        noise = np.einsum("nde,ne->nd", roots, rng.standard_normal((n, self.d)))
        Z = params.locations[0, labels] + (u * params.skewness[0, labels] + noise) / np.sqrt(w)
        return self.standardisation.center + self.standardisation.scale * Z, labels

    def _split(self, statistics: Array) -> Statistics:
        """Statistics by name; all have an axis for the features."""
        ends = np.cumsum([1, 1, 1, 1, 1, self.d, 1, self.d])
        return Statistics(*np.split(statistics, ends, axis=-1))

    def _position(self, features: Array, params: LocationScaleParams) -> tuple[Array, Array]:
        """``eta`` and ``y``, shape (b, k, n)."""
        eta = linear_forms(params.distance, features)
        np.maximum(eta, 0.0, out=eta)  # rounding
        y = linear_forms(params.slant, features[..., : 1 + self.d]) if self.law.is_skew else eta
        return eta, y

    def _regress(self, statistics: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Sizes, locations, skewness, scatter and dof: regressions of x on (1, u), weighted by w.

        Absent components get a unit ball.
        """
        i, j = self.standardisation.pairs
        s = self._split(statistics)
        absent = s.sizes <= ABSENT
        sizes = np.where(absent, ABSENT, s.sizes)
        # The penalty, seen from the parameters of the E-step: u is seen once more, with x = mu.
        uu = s.uu + 2.0 * PENALTY * s.tau2 / sizes
        with np.errstate(invalid="ignore", divide="ignore"):
            determinant = s.w * uu - s.u**2
            locations = np.where(absent, 0.0, (uu * s.x - s.u * s.ux) / determinant)
            skewness = np.where(absent, 0.0, (s.w * s.ux - s.u * s.x) / determinant)
        explained = locations[..., i] * s.x[..., j] + skewness[..., i] * s.ux[..., j]
        scatter = self.standardisation.matrices(s.xx - explained)
        dof = self.law.dof(((s.w - s.log_w) / sizes - 1.0)[..., 0])
        gone = absent[..., 0]
        scatter[gone], dof[gone] = ABSENT * np.eye(self.d), self.law.first_dof
        return sizes[..., 0], locations, skewness, scatter, dof

    def first_sums(self, features: Array, resp: Array) -> Array:
        """Sums (b, k, p) of the features before there are parameters."""
        return weighted_sums(resp, features)

    def _by_moments(self, features: Array, resp: Array) -> LocationScaleParams:
        """Parameters by the method of moments."""
        d, (i, j) = self.d, self.standardisation.pairs
        sums = self.first_sums(features, resp)
        absent = sums[..., 0] <= ABSENT
        sizes = np.where(absent, 1.0, sums[..., 0])[..., None]
        means, squares = sums[..., 1 : 1 + d] / sizes, sums[..., 1 + d :] / sizes
        covariances = self.standardisation.matrices(squares - means[..., i] * means[..., j])
        covariances[absent] = np.eye(d)
        proportions = self.shares(sums[..., 0])
        covariances = pooled_where_singular(covariances, proportions)
        skewness = np.zeros_like(means)
        if self.law.is_skew:  # from no skewness, EM would never find any
            cubes = weighted_sums(resp, features[..., 1 : 1 + d] ** 3) / sizes
            skewness = skewness_by_moments(means, covariances, cubes)
        scales = covariances - HALF_NORMAL_VARIANCE * outer_square(skewness)
        locations = means - np.sqrt(2.0 / np.pi) * skewness
        dof = np.full(absent.shape, self.law.first_dof)
        return self.complete(proportions, locations, scales, skewness, dof)


def skewness_by_moments(means: Array, covariances: Array, cubes: Array) -> Array:
    """Skewness (b, k, d) of skew normal components with these means of x and of its cubes."""
    third = cubes - 3.0 * means * np.einsum("bkdd->bkd", covariances) - means**3
    skewness = np.cbrt(third / (np.sqrt(2.0 / np.pi) * (4.0 / np.pi - 1.0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        P = inverse(covariances)[0]
        share = np.einsum("bkd,bkde,bke->bk", skewness, P, skewness) * HALF_NORMAL_VARIANCE
        skewness *= np.sqrt(np.minimum(1.0, LARGEST_SKEW / share))[..., None]
    return skewness


def outer_square(vectors: Array) -> Array:
    """Outer products of vectors (..., d) with themselves."""
    return vectors[..., :, None] * vectors[..., None, :]


def pooled_where_singular(covariances: Array, proportions: Array) -> Array:
    """Covariances (b, k, d, d), with the pooled one in place of those that are singular.

    The weights of objects in a first E-step need a scale matrix, also of a component that starts
    with one object or with fewer than there are columns.
    """
    with np.errstate(all="ignore"):
        flatness = relative_flatness(inverse(covariances)[0], covariances, proportions)
    pooled = np.einsum("bk,bkde->bde", proportions, covariances)[:, None]
    return np.where((flatness < SINGULAR)[..., None, None], covariances, pooled)


def relative_flatness(precisions: Array, scales: Array, proportions: Array) -> Array:
    """``tr(P_k S) / d`` (b, k) for the pooled scale matrix S; 0 if a component is absent.

    It is infinite if all components are so narrow that the pooled matrix is no measure of width.
    """
    is_present, d = proportions > 0.0, scales.shape[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        pooled = np.einsum("bk,bkde->bde", proportions, scales)
        flatness = np.einsum("bkde,bde->bk", precisions, pooled) / d
        is_wide = is_present & (np.trace(precisions, axis1=-2, axis2=-1) / d < NO_WIDTH)
    flatness = np.where(is_present, flatness, 0.0)
    flatness[~is_wide.any(axis=1)] = np.inf
    return flatness
