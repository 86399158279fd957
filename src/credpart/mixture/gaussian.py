"""Gaussian mixtures as an exponential family: an EM iteration is two matrix products.

With features ``phi(x) = (1, x, vech(x x'))``, the log joint densities of all replicates are
``natural @ phi'`` and their sufficient statistics ``resp @ phi``.  Inside the family the data
are centred and scaled column by column; parameters are in these units until they are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credpart.mixture.covariance import ONE_DIMENSION, STRUCTURES, Structure, factor

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# A component is singular where its smallest variance, relative to the pooled within-cluster
# covariance, drowns in the rounding of the sums of squares.
SINGULAR = 1e10
# So it is where all components have next to no variance relative to the total covariance.
LOST = 1e12
# Other units change the last bits of the data, and EM would end a little elsewhere: so data are
# rounded, to this part of the spread of their middle half.
GRAIN = 2.0**-33
FLAT = 1e-3  # relative variance of a component that may be a spike
ABSENT = 1e-290  # size of a component without observations: finite everywhere, felt nowhere
LOG_2_PI = np.log(2.0 * np.pi)

TABLE: dict[str, Structure] = {**STRUCTURES, **ONE_DIMENSION}
NAMES: tuple[str, ...] = tuple(TABLE)


class GaussianParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    means: Array  # (b, k, d)
    covariances: Array  # (b, k, d, d)
    natural: Array  # (b, k, p): log joint density = natural . phi(x)
    flatness: Array  # (b, k): tr(Sigma_k^-1 S) / d for the pooled within-cluster covariance S


class MixtureParams(NamedTuple):
    """Parameters of a mixture in the units of the data."""

    proportions: Array
    means: Array
    covariances: Array


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian mixtures on standardised data, any structures side by side."""

    center: Array  # (d,)
    scale: Array  # (d,)
    pairs: tuple[Rows, Rows]  # which products x_i x_j are features
    grain: Array  # (d,): standardised data are multiples of it, whatever their units were
    pooling: float = 0.0  # pseudo-observations with covariance `pool` in every component
    pool: Array | None = None

    @classmethod
    def of(cls, X: Array, models: Sequence[str]) -> Self:
        """The family for these data; products of columns only if some model needs them."""
        d = X.shape[1]
        # The median keeps a far outlier from drowning the other rows' sums of squares.
        center = np.median(X, axis=0)
        scale = (X - center).std(axis=0)
        diagonal = all(TABLE[name].diagonal for name in models)
        pairs = (np.arange(d), np.arange(d)) if diagonal else np.triu_indices(d)
        scale = np.where(scale > 0.0, scale, 1.0)
        low, high = np.percentile((X - center) / scale, [25, 75], axis=0)
        spread = np.round(np.log2(np.where(high > low, high - low, 1.0)))
        return cls(center, scale, pairs, np.asarray(GRAIN * np.exp2(spread), dtype=np.float64))

    @property
    def log_unit(self) -> float:
        """What a log density loses when the data go back to their own units."""
        return float(np.log(self.scale).sum())

    def n_parameters(self, model: str, c: int) -> int:
        """Free parameters of a mixture of c components."""
        d = len(self.center)
        return c - 1 + c * d + TABLE[model].n_free(c, d)

    def reveal(self, params: GaussianParams) -> MixtureParams:
        """Parameters in the units of the data."""
        means = self.center + self.scale * params.means
        covariances = params.covariances * (self.scale[:, None] * self.scale)
        return MixtureParams(params.proportions, means, covariances)

    def sample(
        self, params: GaussianParams, n: int, rng: np.random.Generator
    ) -> tuple[Array, Rows]:
        """Draw n objects from the first of the mixtures, and their components."""
        proportions, means, covariances = (field[0] for field in self.reveal(params))
        labels = rng.choice(len(proportions), size=n, p=proportions)
        roots = np.linalg.cholesky(covariances / (self.scale[:, None] * self.scale))
        noise = np.einsum("nde,ne->nd", roots[labels], rng.standard_normal((n, len(self.center))))
        return means[labels] + self.scale * noise, labels

    def features(self, X: Array) -> Array:
        """``(1, x, x_i x_j)`` of standardised rows, shape (n, p)."""
        Z = np.round((X - self.center) / self.scale / self.grain) * self.grain
        i, j = self.pairs
        return np.hstack([np.ones((len(Z), 1)), Z, Z[:, i] * Z[:, j]])

    def log_joint(self, features: Array, params: GaussianParams) -> Array:
        """``log pi_k + log p_k(x_i)`` in standardised units, shape (b, k, n)."""
        if features.ndim == 3:  # every replicate has data of its own
            return params.natural @ features.mT
        b, k, p = params.natural.shape
        return (params.natural.reshape(-1, p) @ features.T).reshape(b, k, -1)

    def statistics(
        self, features: Array, resp: Array, params: GaussianParams | None = None
    ) -> Array:
        """Sizes, sums and sums of products, shape (b, k, p)."""
        if features.ndim == 3:
            return resp @ features
        b, k, n = resp.shape
        return (resp.reshape(-1, n) @ features).reshape(b, k, -1)

    def m_step(
        self, statistics: Array, variant: Rows, previous: GaussianParams | None
    ) -> GaussianParams:
        """Maximise the expected likelihood under each replicate's structure."""
        sizes, means, scatter = self._moments(statistics)
        if self.pool is not None:
            sizes_, scatter_ = sizes + self.pooling, scatter + self.pooling * self.pool
        else:
            sizes_, scatter_ = sizes, scatter
        covariances = np.empty_like(scatter)
        for code in np.unique(variant):
            rows = np.flatnonzero(variant == code)
            start = None if previous is None else previous.covariances[rows]
            covariances[rows] = self._update(
                TABLE[NAMES[code]], scatter_[rows], sizes_[rows], start
            )
        pooled = scatter.sum(axis=1) / sizes.sum(axis=1)[:, None, None]
        proportions = np.where(sizes > ABSENT, sizes, 0.0)
        proportions /= proportions.sum(axis=1, keepdims=True)
        natural, flatness = self._natural(proportions, means, covariances, pooled)
        total = self._moments(statistics.sum(axis=1, keepdims=True))[2][:, 0]
        total /= sizes.sum(axis=1)[:, None, None]
        flatness[self._is_lost(natural, total).all(axis=1)] = np.inf
        return GaussianParams(proportions, means, covariances, natural, flatness)

    def log_prior(self, params: GaussianParams) -> Array | float:
        """Likelihood of the pseudo-observations, at each component's mean."""
        if self.pool is None:
            return 0.0
        b, k, d = params.means.shape
        half, logdet = factor(params.covariances.reshape(-1, d, d))
        traces = np.einsum("ijm,ilm,jl->m", half, half, self.pool, optimize=True)
        # a component that lost its observations keeps its pseudo-observation
        return np.asarray(-0.5 * self.pooling * (logdet + traces).reshape(b, k).sum(axis=1))

    def pooled(self, statistics: Array, pooling: float = 1.0) -> Self:
        """This family with pseudo-observations of the statistics' pooled covariance (k, p)."""
        sizes, _, scatter = self._moments(statistics[None])
        pool = scatter[0].sum(axis=0) / sizes[0].sum()
        return replace(self, pooling=pooling, pool=pool)

    def is_degenerate(self, params: GaussianParams) -> NDArray[np.bool_]:
        """A component that is singular relative to the pooled covariance."""
        return np.asarray(~(params.flatness < SINGULAR).all(axis=1))

    def is_spurious(self, params: GaussianParams, n: float) -> NDArray[np.bool_]:
        """Components (b, k) that are flat by chance.

        Flat: the harmonic mean v of a component's variances relative to the pooled within-cluster
        covariance is below `FLAT`.  By chance: n objects have ``C(n, N)`` subsets of the
        component's size N, and N points in d dimensions lie that close to a hyperplane with a
        probability of the order of ``v^((N - d) / 2)``; so one such subset is expected.  Both
        are free of scale.
        """
        # 0 is an absent component, inf one without any width
        logs = -np.log(np.clip(params.flatness, ABSENT, 1.0 / ABSENT))
        sizes = np.minimum(n * params.proportions, n)
        subsets = gammaln(n + 1.0) - gammaln(sizes + 1.0) - gammaln(n - sizes + 1.0)
        expected = subsets + 0.5 * np.maximum(sizes - len(self.center), 0.0) * logs
        return np.asarray((logs < np.log(FLAT)) & (expected > 0.0))

    def _is_lost(self, natural: Array, total: Array) -> NDArray[np.bool_]:
        """Components (b, k) whose variance drowns in the rounding of the total covariance."""
        d = len(self.center)
        i, j = self.pairs
        traces = -2.0 * np.einsum("bkp,bp->bk", natural[..., 1 + d :], total[:, i, j])
        return np.asarray(~(traces < d * LOST))

    def _moments(self, statistics: Array) -> tuple[Array, Array, Array]:
        """Sizes (b, k), means (b, k, d) and scatter matrices (b, k, d, d)."""
        d = len(self.center)
        i, j = self.pairs
        absent = statistics[..., 0] <= ABSENT
        sizes = np.where(absent, ABSENT, statistics[..., 0])
        means = statistics[..., 1 : 1 + d] / sizes[..., None]
        scatter = np.zeros((*sizes.shape, d, d))
        products = statistics[..., 1 + d :] - sizes[..., None] * means[..., i] * means[..., j]
        scatter[..., i, j] = scatter[..., j, i] = products
        scatter[absent] = ABSENT * np.eye(d)
        return sizes, means, scatter

    def _update(
        self, structure: Structure, scatter: Array, sizes: Array, start: Array | None
    ) -> Array:
        """Covariances under a structure, in the units that the structure is defined in."""
        if not structure.rotates:
            return structure.update(scatter, sizes, start)
        mantissa, exponent = np.frexp(self.scale / np.exp(np.log(self.scale).mean()))
        units = np.ldexp(np.round(mantissa / GRAIN) * GRAIN, exponent)
        units = units[:, None] * units
        start = None if start is None else start * units
        result: Array = structure.update(scatter * units, sizes, start) / units
        return result

    def _natural(
        self, proportions: Array, means: Array, covariances: Array, pooled: Array
    ) -> tuple[Array, Array]:
        """Natural parameters and flatness."""
        b, k, d = means.shape
        i, j = self.pairs
        half, logdet = factor(covariances.reshape(-1, d, d))  # (d, d, m)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # what overflows here is degenerate, and found to be so by its flatness
            P = np.einsum("ijm,ilm->mjl", half, half).reshape(b, k, d, d)
            linear = np.einsum("bkde,bke->bkd", P, means)
            constant = logdet.reshape(b, k) + d * LOG_2_PI + (means * linear).sum(axis=-1)
            logs = np.maximum(np.log(proportions), -1e300)
        natural = np.empty((b, k, 1 + d + len(i)))
        natural[..., 0] = logs - 0.5 * constant
        natural[..., 1 : 1 + d] = linear
        natural[..., 1 + d :] = P[..., i, j] * np.where(i == j, -0.5, -1.0)
        flatness = np.einsum("bkde,bde->bk", P, pooled) / d
        return natural, np.where(proportions > 0.0, flatness, 0.0)
