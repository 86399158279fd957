"""Gaussian mixtures as an exponential family: an EM iteration is two matrix products.

With features ``phi(x) = (1, x, vech(x x'))``, the log joint densities of all replicates are
``natural @ phi'`` and their sufficient statistics ``resp @ phi``.  Inside the family the data
are centred and scaled column by column; parameters are in these units until they are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.covariance.matrices import inverse
from credpart.mixture.covariance.structures import TABLE, Previous, unequal_weights
from credpart.mixture.families.standardisation import (
    ABSENT,
    SINGULAR,
    Frame,
    apply,
    by_chance,
    collect,
    log_shares,
    pairs_of,
    shares,
    symmetric,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# A mixture is singular where all its components have next to no variance relative to the total
# covariance.  Below a trace of NARROW a precision of standardised data cannot tell of that: weights
# on outliers raise variances by a factor of n at the most, and there are fewer than 1e7 rows.
LOST = 1e12
NARROW = 1e5
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
        forms = np.ascontiguousarray(self.natural.T[1 + d :])
        pairs = i, j = pairs_of(d, is_diagonal=len(forms) == d)
        precisions = symmetric(forms * np.where(i == j, -2.0, -1.0)[:, None, None], pairs, d)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.ascontiguousarray(inverse(precisions)[0].T)


class MixtureParams(NamedTuple):
    """Parameters of a mixture in the units of the data."""

    proportions: Array
    means: Array
    covariances: Array


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian mixtures on standardised data, any structures side by side."""

    frame: Frame
    pooling: float = 0.0  # pseudo-observations with covariance `pool` in every component
    pool: Array | None = None
    is_normal: ClassVar[bool] = True  # so that normality of the clusters can be tested

    @classmethod
    def of(cls, X: Array, models: Sequence[str]) -> Self:
        """The family for these data; products of columns only if some model needs them."""
        return cls(Frame.of(X, models))

    @property
    def log_unit(self) -> float:
        """What a log density loses when the data go back to their own units."""
        return self.frame.log_unit

    def n_parameters(self, model: str, c: int) -> int:
        """Free parameters of a mixture of c components."""
        d = self.frame.d
        return c - 1 + c * d + TABLE[model].n_free(c, d)

    def reveal(self, params: GaussianParams) -> MixtureParams:
        """Parameters in the units of the data."""
        return MixtureParams(
            params.proportions, *self.frame.reveal(params.means, params.covariances)
        )

    def sample(
        self, params: GaussianParams, n: int, rng: np.random.Generator
    ) -> tuple[Array, Rows]:
        """Draw n objects from the first of the mixtures, and their components."""
        proportions, means, covariances = (field[0] for field in self.reveal(params))
        labels = rng.choice(len(proportions), size=n, p=proportions)
        scale = self.frame.scale
        roots = np.linalg.cholesky(covariances / (scale[:, None] * scale))
        noise = np.einsum("nde,ne->nd", roots[labels], rng.standard_normal((n, len(scale))))
        return means[labels] + scale * noise, labels

    def features(self, X: Array) -> Array:
        """``(1, x, x_i x_j)`` of standardised rows, shape (n, p)."""
        return self.frame.features(X)

    def log_joint(self, features: Array, params: GaussianParams) -> Array:
        """``log pi_k + log p_k(x_i)`` in standardised units, shape (b, k, n)."""
        return apply(params.natural, features)

    def statistics(
        self, features: Array, resp: Array, params: GaussianParams | None = None
    ) -> Array:
        """Sizes, sums and sums of products, shape (b, k, p)."""
        return collect(resp, features)

    # what overflows is degenerate, and found to be so by its flatness
    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def m_step(
        self, statistics: Array, variant: Rows, previous: GaussianParams | None
    ) -> GaussianParams:
        """Maximise the expected likelihood under each replicate's structure."""
        sums = np.ascontiguousarray(statistics.T)  # operations are quick along the last axis
        sizes, means, products = self._moments(sums)
        scatter = self.frame.matrices(products)
        start = None if previous is None else self._previous(previous)
        if self.pool is None:
            estimate = self.frame.update(scatter.T, sizes.T, variant, start)
        else:
            pooled = scatter.T + self.pooling * self.pool, sizes.T + self.pooling
            estimate = self.frame.update(*pooled, variant, start)
        precisions, logdet = estimate.precisions()
        proportions = shares(np.ascontiguousarray(sizes.T))
        natural = self._natural(proportions, means, precisions, logdet)
        flatness = self._flatness(proportions, natural, sums, products)
        fields = proportions, np.ascontiguousarray(means.T), natural, np.ascontiguousarray(logdet.T)
        return GaussianParams(*fields, flatness)

    def log_prior(self, params: GaussianParams) -> Array | float:
        """Likelihood of the pseudo-observations, at each component's mean."""
        if self.pool is None:
            return 0.0
        forms = params.natural[..., 1 + self.frame.d :]
        traces = -2.0 * (forms @ self.pool[self.frame.pairs])
        # a component that lost its observations keeps its pseudo-observation
        return np.asarray(-0.5 * self.pooling * (params.logdet + traces).sum(axis=1))

    def pooled(self, statistics: Array, pooling: float = 1.0) -> Self:
        """This family with pseudo-observations of the statistics' pooled covariance (k, p)."""
        sizes, _, products = self._moments(statistics.T)
        pool = self.frame.matrices(products.sum(axis=1) / sizes.sum())
        return replace(self, pooling=pooling, pool=pool)

    def is_degenerate(self, params: GaussianParams) -> NDArray[np.bool_]:
        """A component that is singular relative to the pooled covariance."""
        return np.asarray(~(params.flatness < SINGULAR).all(axis=1))

    def is_spurious(self, params: GaussianParams, n: float) -> NDArray[np.bool_]:
        """Components (b, k) that are flat by chance."""
        return by_chance(params.flatness, params.proportions, n, self.frame.d)

    def remarks(self, params: GaussianParams) -> list[str]:
        """Nothing: a singular mixture is an error."""
        return []

    def _previous(self, params: GaussianParams) -> Previous:
        """The covariances, for structures that iterate."""
        d = self.frame.d

        def volumes(rows: Rows) -> Array:
            result: Array = np.exp(params.logdet[rows].T / d)
            return result

        def axes(rows: Rows) -> Array:
            forms = unequal_weights(params.proportions[rows]) @ params.natural[rows, :, 1 + d :]
            return self.frame.scatter(forms[:, 0] * (-2.0 / self.frame.counts))

        return Previous(volumes, axes)

    def _moments(self, sums: Array) -> tuple[Array, Array, Array]:
        """Sizes (...), means (d, ...) and products of scatter matrices, out of sums (p, ...)."""
        d = self.frame.d
        i, j = self.frame.pairs
        absent = sums[0] <= ABSENT
        sizes = np.where(absent, ABSENT, sums[0])
        means = sums[1 : 1 + d] / sizes
        products = sums[1 + d :] - sums[1 : 1 + d][i] * means[j]
        np.copyto(products.T, ABSENT * (self.frame.counts == 1.0), where=absent.T[..., None])
        return sizes, means, products

    def _natural(self, proportions: Array, means: Array, precisions: Array, logdet: Array) -> Array:
        """Natural parameters (b, k, p)."""
        d = len(means)
        i, j = self.frame.pairs
        natural = np.empty((1 + d + len(i), *logdet.shape))
        linear = natural[1 : 1 + d]
        np.einsum("ijkb,jkb->ikb", precisions, means, out=linear)
        natural[0] = log_shares(proportions).T - 0.5 * (
            logdet + (linear * means).sum(axis=0) + d * LOG_2_PI
        )
        natural[1 + d :] = precisions[i, j] * (-0.5 * self.frame.counts[:, None, None])
        return np.ascontiguousarray(natural.T)

    def _flatness(self, proportions: Array, natural: Array, sums: Array, products: Array) -> Array:
        """Flatness (b, k): infinite where no component is wider than rounding."""
        d = self.frame.d
        present, forms, n = proportions > 0.0, natural[..., 1 + d :], sums[0].sum(axis=0)
        pooled = products.sum(axis=1) / (-0.5 * d * n)  # with a form it makes a trace over d
        flatness = np.where(present, np.einsum("bkp,pb->bk", forms, pooled), 0.0)
        # as a rule the first component is wide enough
        is_wide = forms[:, 0] @ (self.frame.counts == 1.0) > -0.5 * NARROW
        narrow = ~(is_wide & present[:, 0])
        if narrow.any():
            flatness[self._find_lost(forms, present, sums, narrow)] = np.inf
        return flatness

    def _find_lost(self, forms: Array, present: Mask, sums: Array, rows: Mask) -> Rows:
        """Those of some replicates that have no component of any width in the total covariance."""
        d, (i, j) = self.frame.d, self.frame.pairs
        moments = sums[:, :, rows].sum(axis=1)
        moments /= moments[0]
        means = moments[1 : 1 + d]
        total = (moments[1 + d :] - means[i] * means[j]) * (-2.0 / d)
        is_wide = np.einsum("bkp,pb->bk", forms[rows], total) < LOST
        lost: Rows = np.flatnonzero(rows)[~(is_wide & present[rows]).any(axis=1)]
        return lost
