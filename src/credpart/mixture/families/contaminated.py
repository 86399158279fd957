"""Mixtures of contaminated normal distributions [PM16]_: each cluster has an outlying part.

An object of component k is regular with probability ``alpha_k``, and then ``N(mu_k, Sigma_k)``;
otherwise it is outlying, ``N(mu_k, eta_k Sigma_k)`` with the inflation ``eta_k > 1``.  So it is
``mu + e / sqrt(w)`` with ``e ~ N(0, Sigma)`` and a latent w that is 1 or ``1 / eta``: given w each
component is a weighted mean, and its scatter goes through the covariance structures as that of a
Gaussian component does.

An iteration is ECM with two steps.  The first maximises the expected likelihood over all parameters
but the inflation, which is that of the E-step; the second over the inflation, given the others.

Two families have these mixtures.  In `Contaminated` the outlying part belongs to its cluster, which
then has heavy tails.  In `ContaminatedWithNoise` an outlying object is in no cluster, and outlying
parts are wide enough to be told from regular ones.

References
----------
.. [PM16] Punzo, McNicholas: Parsimonious mixtures of multivariate contaminated normal
   distributions.  Biometrical Journal 58, 2016.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, IntArray
from credpart.mixture.covariance.batched import Previous, update
from credpart.mixture.covariance.matrices import inverse
from credpart.mixture.covariance.structures import TABLE
from credpart.mixture.families.base import (
    ABSENT,
    OUTLIER,
    Components,
    Parameters,
    linear_forms,
    weighted_sums,
)
from credpart.mixture.families.gaussian import LOG_2_PI, GaussianParams
from credpart.mixture.families.location_scale import pooled_where_singular, relative_flatness
from credpart.mixture.families.standardisation import Standardisation, StandardisedFamily

# Most objects of a cluster are regular [PM16]_; a share of exactly 1 would stay 1 in EM.
REGULAR = 0.5, 1.0 - 1e-10
LARGEST_INFLATION = 1e10
# Where outlying objects are in no cluster, their standard deviations are at least three times those
# of regular ones.  Of clean data, the likelihood hardly knows how to divide a cluster into two
# parts that are nearly alike, and any number of its objects would be outliers.
OUTLYING = 9.0
FIRST_REGULAR, FIRST_INFLATION = 0.9, 10.0  # where EM starts


class ContaminatedParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    means: Array  # (b, k, d)
    scales: Array  # (b, k, d, d): Sigma
    regular: Array  # (b, k): alpha
    inflation: Array  # (b, k): eta
    distance: Array  # (b, k, p): delta = distance . phi(x)
    logdet: Array  # (b, k), of Sigma
    flatness: Array  # (b, k)


class ContaminatedMixtureParams(NamedTuple):
    """Parameters of a mixture in the units of the data."""

    proportions: Array
    means: Array
    covariances: Array  # of the regular parts
    regular: Array
    inflation: Array


class NoisyContaminatedMixtureParams(NamedTuple):
    """The same where outlying objects are in no cluster.

    Proportions are those of the regular parts among all objects: they and the noise share sum to 1.
    """

    proportions: Array
    means: Array
    covariances: Array
    regular: Array
    inflation: Array
    noise: Array


class Parts(NamedTuple):
    """Log joint densities, or responsibilities, of the parts of each component, (b, k, n)."""

    regular: Array
    outlying: Array


@dataclass(frozen=True, slots=True)
class Contaminated(StandardisedFamily[ContaminatedParams]):
    """Contaminated normal mixtures on standardised data, of any structures side by side.

    Statistics are: sizes; sums of the features weighted by w; sums of those of the outlying part.
    """

    prior: Array | None = None  # (d, d): scale matrix of a pseudo-observation in every component

    params_type: ClassVar[type[Parameters]] = ContaminatedParams
    has_slow_em: ClassVar[bool] = True
    # At 1 both parts would be the same, and would stay so in EM.
    least_inflation: ClassVar[float] = 1.01

    @classmethod
    def of(cls, X: Array, structures: Sequence[str]) -> Self:
        """The family for these data."""
        return cls(Standardisation.of(X, structures))

    # What EM asks

    def log_parts(self, features: Array, params: ContaminatedParams) -> Parts:
        """Log joint densities of the regular and of the outlying parts."""
        delta = np.maximum(linear_forms(params.distance, features), 0.0)  # rounding
        return log_parts(delta, self.d, params.logdet, params)

    def part_sums(self, features: Array, resp: Parts, params: ContaminatedParams) -> Parts:
        """Sums of the features over each part, (b, k, p)."""
        return Parts(weighted_sums(resp.regular, features), weighted_sums(resp.outlying, features))

    def log_joint(self, features: Array, params: ContaminatedParams) -> Array:
        """``log pi_k + log p_k(x_i)`` in standardised units, shape (b, k, n)."""
        return np.asarray(np.logaddexp(*self.log_parts(features, params)))

    def statistics(
        self, features: Array, resp: Array, params: ContaminatedParams | None = None
    ) -> Array:
        """Statistics (b, k, 1 + 2 p) of objects whose parts are not known."""
        params = self.by_moments(features, resp) if params is None else params
        parts = self.log_parts(features, params)
        regular = resp * np.exp(parts.regular - np.logaddexp(*parts))
        return self.of_parts(features, Parts(regular, resp - regular), params)

    def of_parts(self, features: Array, resp: Parts, params: ContaminatedParams) -> Array:
        """Statistics (b, k, 1 + 2 p) given responsibilities of the parts."""
        regular, outlying = self.part_sums(features, resp, params)
        sizes = regular[..., :1] + outlying[..., :1]
        weighted = regular + outlying / params.inflation[..., None]
        return np.concatenate([sizes, weighted, outlying], axis=-1)

    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: ContaminatedParams | None
    ) -> ContaminatedParams:
        """Both steps of ECM, under the structure of each mixture."""
        sizes, means, scatter = self._moments(statistics)
        proportions = self.shares(statistics[..., 0])
        start = None if previous is None else Previous.of(previous.scales, previous.proportions)
        counts = sizes
        if self.prior is not None:
            scatter, counts = scatter + self.prior, sizes + 1.0
        scales = update(scatter, counts, structure_code, start, self.standardisation.units)
        n_outlying = self._outlying(statistics)[..., 0]
        regular = np.where(sizes > ABSENT, 1.0 - n_outlying / sizes, FIRST_REGULAR)
        P, logdet = inverse(scales)
        distance = self.standardisation.squared_distance(P, means)
        # sum over the outlying part of delta: the features are what delta is a product with
        spread = (distance * self._outlying(statistics)).sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            inflation = spread / (self.d * n_outlying)
        inflation = np.where(n_outlying > ABSENT, inflation, FIRST_INFLATION)
        return ContaminatedParams(
            proportions,
            means,
            scales,
            np.clip(regular, *REGULAR),
            self._within(inflation),
            distance,
            logdet,
            relative_flatness(P, scales, proportions),
        )

    def complete(
        self, proportions: Array, means: Array, scales: Array, regular: Array, inflation: Array
    ) -> ContaminatedParams:
        """Parameters with what the E-step reads of them."""
        P, logdet = inverse(scales)
        distance = self.standardisation.squared_distance(P, means)
        flatness = relative_flatness(P, scales, proportions)
        fields = proportions, means, scales, regular, inflation, distance, logdet
        return ContaminatedParams(*fields, flatness)

    def by_moments(self, features: Array, resp: Array) -> ContaminatedParams:
        """Parameters of a first E-step: normal components, of which a part is inflated."""
        return self._first(self.first_sums(features, resp))

    def first_sums(self, features: Array, resp: Array) -> Array:
        """Sums of the features (b, k, p), before there are parameters."""
        return weighted_sums(resp, features)

    def log_prior(self, params: ContaminatedParams) -> Array | float:
        """Likelihood of the pseudo-observations, at each component's mean."""
        if self.prior is None:
            return 0.0
        P, logdet = inverse(params.scales)
        return -0.5 * (logdet + np.einsum("bkde,de->bk", P, self.prior)).sum(axis=1)

    # What the choice of a model asks

    def n_parameters(self, structure: str, c: int) -> int:
        """Number of free parameters: a share and an inflation for each component."""
        return c - 1 + c * (self.d + 2) + TABLE[structure].n_free(c, self.d)

    def embed(self, params: Parameters) -> ContaminatedParams:
        """A Gaussian mixture, as EM starts from it; one of either contaminated family as it is."""
        if isinstance(params, ContaminatedParams):
            return self.derived(params)
        normal = cast(GaussianParams, params)
        regular = np.full_like(normal.proportions, FIRST_REGULAR)
        inflation = np.full_like(normal.proportions, FIRST_INFLATION)
        return self.complete(
            normal.proportions, normal.means, normal.covariances, regular, inflation
        )

    def regularised(self, statistics: Array) -> Self:
        """This family with pseudo-observations of the pooled scale matrix of statistics (k, s)."""
        sizes, _, scatter = self._moments(statistics[None])
        return replace(self, prior=scatter[0].sum(axis=0) / sizes[0].sum())

    # What people read

    def to_data_units(self, params: ContaminatedParams) -> Parameters:
        """Parameters in the units of the data."""
        return self.shown(params)

    def shown(self, params: ContaminatedParams) -> ContaminatedMixtureParams:
        """Parameters in the units of the data."""
        moments = self.standardisation.to_data_units(params.means, params.scales)
        return ContaminatedMixtureParams(
            params.proportions, *moments, params.regular, params.inflation
        )

    def remarks(self, params: ContaminatedParams) -> list[str]:
        """Components that are not contaminated."""
        return [
            f"component {k + 1} has no outlying part: it is normal"
            for k in np.flatnonzero(params.regular[0] > 1.0 - 1e-6)
        ]

    def projectable(self, params: ContaminatedParams) -> Components:
        """The regular and then the outlying parts, which are normal."""
        pi, means, covariances, regular, eta = (field[0] for field in self.shown(params))
        shares = np.concatenate([pi * regular, pi * (1.0 - regular)])
        scales = np.concatenate([covariances, eta[:, None, None] * covariances])
        locations = np.concatenate([means, means])
        return Components(
            shares, locations, scales, np.zeros_like(locations), np.full(len(shares), np.inf)
        )

    def cluster_scales(self, params: ContaminatedParams) -> Array:
        """Covariances of the regular parts, to which most objects of a cluster belong."""
        return self.shown(params).covariances[0]

    def sample(self, params: ContaminatedParams, n: int, rng: Generator) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures, and their components."""
        X, labels, _ = self.draw_parts(params, n, rng)
        return X, labels

    def draw_parts(
        self, params: ContaminatedParams, n: int, rng: Generator
    ) -> tuple[Array, IntArray, Array]:
        """Objects of the first of the mixtures, their components, and which are outlying."""
        labels = rng.choice(params.proportions.shape[1], size=n, p=params.proportions[0])
        is_outlying = rng.random(n) >= params.regular[0, labels]
        spread = np.sqrt(np.where(is_outlying, params.inflation[0, labels], 1.0))
        roots = np.linalg.cholesky(params.scales[0])[labels]
        residuals = np.einsum("nde,ne->nd", roots, rng.standard_normal((n, self.d)))
        Z = params.means[0, labels] + spread[:, None] * residuals
        space = self.standardisation
        return space.center + space.scale * Z, labels, is_outlying

    # How it is checked when it comes out of a file

    def derived(self, params: ContaminatedParams) -> ContaminatedParams:
        """What the E-step reads, anew; shares and inflations within their bounds."""
        return self.complete(
            *params[:3], np.clip(params.regular, *REGULAR), self._within(params.inflation)
        )

    def _within(self, inflation: Array) -> Array:
        """Inflations within their bounds."""
        return np.clip(inflation, self.least_inflation, LARGEST_INFLATION)

    # Out of statistics

    def _outlying(self, statistics: Array) -> Array:
        """The sums of the outlying part, (..., p)."""
        return statistics[..., (statistics.shape[-1] + 1) // 2 :]

    def _moments(self, statistics: Array) -> tuple[Array, Array, Array]:
        """Sizes, means and scatter matrices weighted by w; absent components get a unit ball."""
        d, (i, j) = self.d, self.standardisation.pairs
        absent = statistics[..., 0] <= ABSENT
        sizes = np.where(absent, ABSENT, statistics[..., 0])
        weighted = statistics[..., 1 : (statistics.shape[-1] + 1) // 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = weighted[..., 1 : 1 + d] / weighted[..., :1]
        means[absent] = 0.0
        products = weighted[..., 1 + d :] - means[..., i] * weighted[..., 1 + j]
        scatter = self.standardisation.matrices(products)
        scatter[absent] = ABSENT * np.eye(d)
        return sizes, means, scatter

    def _first(self, sums: Array) -> ContaminatedParams:
        """Parameters out of sums of the features, as of normal components."""
        n_outlying = np.zeros_like(sums)
        sizes, means, scatter = self._moments(
            np.concatenate([sums[..., :1], sums, n_outlying], axis=-1)
        )
        regular = np.full_like(sizes, FIRST_REGULAR)
        inflation = np.full_like(sizes, FIRST_INFLATION)
        proportions = self.shares(sums[..., 0])
        covariances = pooled_where_singular(scatter / sizes[..., None, None], proportions)
        return self.complete(proportions, means, covariances, regular, inflation)


class OutlyingPartIsNoise:
    """Contaminated mixtures whose outlying objects are in no cluster.

    `log_joint` has a row more than there are components, the last one, for the outlying parts of
    all components together.
    """

    __slots__ = ()

    def log_joint(self: Any, features: Array, params: ContaminatedParams) -> Array:
        """Log joint densities of the regular parts and, last, of all outlying ones together."""
        regular, outlying = self.log_parts(features, params)
        b, k, n = regular.shape
        joint = np.empty((k + 1, b, n)).transpose(1, 0, 2)  # components first, as in linear_forms
        joint[:, :k], joint[:, k] = regular, np.logaddexp.reduce(outlying, axis=1)
        return joint

    def statistics(
        self: Any, features: Array, resp: Array, params: ContaminatedParams | None = None
    ) -> Array:
        """Statistics of objects that are regular in a component, or outlying in some.

        Before the first M-step ``resp`` has no row for outlying objects.
        """
        if params is None:
            return np.asarray(Contaminated.statistics(self, features, resp))
        outlying = self.log_parts(features, params).outlying
        outlying = np.exp(outlying - np.logaddexp.reduce(outlying, axis=1, keepdims=True))
        parts = Parts(resp[:, :-1], resp[:, -1:] * outlying)
        return cast(Array, self.of_parts(features, parts, params))

    def to_data_units(self: Any, params: ContaminatedParams) -> NoisyContaminatedMixtureParams:
        """Parameters in the units of the data; the proportions and the noise share sum to 1."""
        shown: ContaminatedMixtureParams = self.shown(params)
        noise = (params.proportions * (1.0 - params.regular)).sum(axis=1, keepdims=True)
        shown = shown._replace(proportions=params.proportions * params.regular)
        return NoisyContaminatedMixtureParams(*shown, noise)

    def sample(
        self: Any, params: ContaminatedParams, n: int, rng: Generator
    ) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures; outliers have the label -1."""
        X, labels, is_outlying = self.draw_parts(params, n, rng)
        return X, np.where(is_outlying, OUTLIER, labels)

    def projectable(self: Any, params: ContaminatedParams) -> Components:
        """The regular parts, which are normal."""
        proportions, means, covariances, *_ = (field[0] for field in self.to_data_units(params))
        infinite = np.full(len(means), np.inf)
        return Components(proportions, means, covariances, np.zeros_like(means), infinite)


@dataclass(frozen=True, slots=True)
class ContaminatedWithNoise(OutlyingPartIsNoise, Contaminated):
    """Contaminated mixtures whose outlying objects are in no cluster."""

    is_normal: ClassVar[bool] = True
    has_noise: ClassVar[bool] = True
    least_inflation: ClassVar[float] = OUTLYING


def log_parts(delta: Array, d: int, logdet: Array, params: ContaminatedParams) -> Parts:
    """Log joint densities of both parts at squared distances delta (b, k, n) in d columns."""
    regular, eta = params.regular[..., None], params.inflation[..., None]
    constant = Contaminated.log_shares(params.proportions) - 0.5 * (logdet + d * LOG_2_PI)
    core = constant[..., None] + np.log(regular) - 0.5 * delta
    tail = constant[..., None] + np.log1p(-regular) - 0.5 * (d * np.log(eta) + delta / eta)
    return Parts(core, tail)
