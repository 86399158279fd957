"""Gaussian mixtures as an exponential family: an EM iteration is two matrix products.

With features ``phi(x) = (1, x, vech(x x'))``, the log joint densities of all mixtures are
``natural @ phi'`` and their sufficient statistics ``resp @ phi``.  Inside the family the data
are centred and scaled column by column; parameters are in these units until they are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, IntArray
from credpart.mixture.covariance.batched import Previous, unequal_weights, update
from credpart.mixture.covariance.matrices import inverse, stack_contiguous
from credpart.mixture.covariance.structures import TABLE
from credpart.mixture.families.base import ABSENT, Components, Parameters, linear_forms
from credpart.mixture.families.standardisation import (
    Standardisation,
    StandardisedFamily,
    entry_pairs,
)

COLLAPSED = 1e12  # total covariance relative to that of a component without any width
LOG_2_PI = np.log(2.0 * np.pi)


class GaussianParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    means: Array  # (b, k, d)
    natural: Array  # (b, k, p): log joint density = natural . phi(x)
    logdet: Array  # (b, k), of the covariances
    flatness: Array  # (b, k): tr(Sigma_k^-1 S) / d for the pooled within-cluster covariance S

    @property
    def covariances(self) -> Array:
        """Covariance matrices (b, k, d, d), as exact as the densities are."""
        d = self.means.shape[-1]
        forms = self.natural[..., 1 + d :]
        i, j = entry_pairs(d, is_diagonal=forms.shape[-1] == d)
        precisions = np.zeros((*forms.shape[:-1], d, d))
        precisions[..., i, j] = precisions[..., j, i] = forms * np.where(i == j, -2.0, -1.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.ascontiguousarray(inverse(precisions)[0])


class MixtureParams(NamedTuple):
    """Parameters of a mixture in the units of the data."""

    proportions: Array
    means: Array
    covariances: Array


@dataclass(frozen=True, slots=True)
class Gaussian(StandardisedFamily[GaussianParams]):
    """Gaussian mixtures on standardised data, of any covariance structures side by side."""

    prior: Array | None = None  # (d, d): covariance of a pseudo-observation in every component

    is_normal: ClassVar[bool] = True
    is_linearisable: ClassVar[bool] = True
    params_type: ClassVar[type[Parameters]] = GaussianParams

    @classmethod
    def of(cls, X: Array, structures: Sequence[str]) -> Self:
        """The family for these data; products of columns only if some structure needs them."""
        return cls(Standardisation.of(X, structures))

    def log_joint(self, features: Array, params: GaussianParams) -> Array:
        """``log pi_k + log p_k(x_i)`` in standardised units, shape (b, k, n)."""
        return linear_forms(params.natural, features)

    def natural_parameters(self, params: GaussianParams) -> Array | None:
        """The coefficients that `log_joint` multiplies with the features."""
        return params.natural

    def mean_statistics(self, params: GaussianParams) -> Array:
        """Proportions, and these times the means and the second moments, shape (b, k, p)."""
        i, j = self.standardisation.pairs
        means = params.means
        products = params.covariances[..., i, j] + means[..., i] * means[..., j]
        ones = np.ones((*params.proportions.shape, 1))
        return params.proportions[..., None] * np.concatenate([ones, means, products], axis=-1)

    # A singular component shows in its flatness: see `is_degenerate`.
    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: GaussianParams | None
    ) -> GaussianParams:
        """Maximise the expected likelihood under the structure of each mixture."""
        space, statistics = self.standardisation, stack_contiguous(statistics)
        sizes, means, products = self._moments(statistics)
        scatter, counts = space.matrices(products), sizes
        if self.prior is not None:
            scatter, counts = scatter + self.prior, sizes + 1.0
        start = None if previous is None else self._previous(previous)
        P, logdet = inverse(update(scatter, counts, structure_code, start, space.units))
        proportions = self.shares(sizes)
        distance = space.squared_distance(P, means)
        natural = self._natural(proportions, distance, logdet)
        flatness = self._flatness(proportions, distance, statistics, products)
        return GaussianParams(proportions, means, natural, logdet, flatness)

    def log_prior(self, params: GaussianParams) -> Array | float:
        """Likelihood of the pseudo-observations, at each component's mean."""
        if self.prior is None:
            return 0.0
        forms = params.natural[..., 1 + self.d :]
        traces = -2.0 * (forms @ self.prior[self.standardisation.pairs])
        # A component that lost its observations keeps its pseudo-observation.
        return -0.5 * (params.logdet + traces).sum(axis=1)

    def n_parameters(self, structure: str, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        return c - 1 + c * self.d + TABLE[structure].n_free(c, self.d)

    def regularised(self, statistics: Array) -> Self:
        """This family with pseudo-observations of the pooled covariance of statistics (k, s)."""
        sizes, _, products = self._moments(statistics)
        pooled = self.standardisation.matrices(products.sum(axis=0) / sizes.sum())
        return replace(self, prior=pooled)

    def to_data_units(self, params: GaussianParams) -> MixtureParams:
        """Parameters in the units of the data."""
        moments = self.standardisation.to_data_units(params.means, params.covariances)
        return MixtureParams(params.proportions, *moments)

    def projectable(self, params: GaussianParams) -> Components:
        """Normal components."""
        proportions, means, covariances = (field[0] for field in self.to_data_units(params))
        infinite = np.full(len(means), np.inf)
        return Components(proportions, means, covariances, np.zeros_like(means), infinite)

    def sample(self, params: GaussianParams, n: int, rng: Generator) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures, and their components."""
        proportions, means, covariances = (field[0] for field in self.to_data_units(params))
        labels = rng.choice(len(proportions), size=n, p=proportions)
        scale = self.standardisation.scale
        roots = np.linalg.cholesky(covariances / (scale[:, None] * scale))
        noise = np.einsum("nde,ne->nd", roots[labels], rng.standard_normal((n, len(scale))))
        return means[labels] + scale * noise, labels

    def derived(self, params: GaussianParams) -> GaussianParams:
        """The coefficients of the densities, out of the quadratic ones among them and the means."""
        space = self.standardisation
        forms = params.natural[..., 1 + self.d :]
        precisions = space.matrices(forms * (-2.0 / space.multiplicity))
        logdet = -inverse(precisions)[1]
        distance = space.squared_distance(precisions, params.means)
        natural = self._natural(params.proportions, distance, logdet)
        return params._replace(natural=natural, logdet=logdet)

    def _natural(self, proportions: Array, distance: Array, logdet: Array) -> Array:
        natural = -0.5 * distance
        natural[..., 0] += self.log_shares(proportions) - 0.5 * (logdet + self.d * LOG_2_PI)
        return natural

    def _previous(self, params: GaussianParams) -> Previous:
        """The covariances, for structures whose update iterates."""
        space, d = self.standardisation, self.standardisation.d
        weights = unequal_weights(params.proportions)
        forms = np.einsum("bk,bkp->bp", weights, params.natural[..., 1 + d :])
        precisions = space.matrices(forms * (-2.0 / space.multiplicity))
        return Previous(np.exp(params.logdet / d), precisions)

    def _moments(self, statistics: Array) -> tuple[Array, Array, Array]:
        """Sizes (...), means (..., d) and entries of scatter matrices (..., p) out of sums."""
        d, (i, j) = self.d, self.standardisation.pairs
        is_absent = statistics[..., 0] <= ABSENT
        sizes = np.where(is_absent, ABSENT, statistics[..., 0])
        sums = statistics[..., 1 : 1 + d]
        means = sums / sizes[..., None]
        products = statistics[..., 1 + d :] - sums[..., i] * means[..., j]
        products[is_absent] = ABSENT * (i == j)
        return sizes, means, products

    def _flatness(
        self, proportions: Array, distance: Array, statistics: Array, products: Array
    ) -> Array:
        """Flatness (b, k), as in `GaussianParams`.

        Infinite if every component is narrower than the total covariance by the factor `COLLAPSED`:
        the mixture as a whole has collapsed.
        """
        d, (i, j) = self.d, self.standardisation.pairs
        is_present, forms = proportions > 0.0, distance[..., 1 + d :]
        totals = statistics.sum(axis=1)
        n = totals[:, :1]
        within = products.sum(axis=1) / (d * n)
        flatness = np.where(is_present, np.einsum("bkp,bp->bk", forms, within), 0.0)
        means = totals[:, 1 : 1 + d] / n
        total = (totals[:, 1 + d :] / n - means[:, i] * means[:, j]) / d
        is_wide = is_present & (np.einsum("bkp,bp->bk", forms, total) < COLLAPSED)
        flatness[~is_wide.any(axis=1)] = np.inf
        return flatness
