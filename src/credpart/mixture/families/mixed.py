"""Numbers and categories in one mixture, all columns independent given the component.

Numeric columns are normal with a variance of their own in each component, categorical columns
as in `latent_class`.  A missing cell of either kind drops out of the product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.families.latent_class import PSEUDO, LatentClass, LatentClassParams
from credpart.mixture.families.standardisation import ABSENT, SINGULAR, apply, by_chance, collect

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class MixedParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    means: Array  # (b, k, numbers)
    variances: Array  # (b, k, numbers)
    probabilities: Array  # (b, k, levels of all columns)
    natural: Array  # (b, k, p): log joint density = natural . features
    flatness: Array  # (b, k): mean of the pooled variances over the component's


class RevealedMixed(NamedTuple):
    """Parameters in the units of the data; probabilities as in `ClassParams`."""

    proportions: Array
    means: Array
    variances: Array
    probabilities: Array


@dataclass(frozen=True, slots=True)
class Mixed:
    """Mixtures of products of normals, on standardised columns, and multinomials."""

    center: Array  # (numbers,)
    scale: Array
    numeric: Rows  # which columns are numbers
    categorical: Rows
    categories: LatentClass
    pooling: float = 0.0  # pseudo-observations with variances `pool` in every component
    pool: Array | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        levels: Sequence[int],
        weights: Array | None = None,
        pseudo: float = PSEUDO,
    ) -> Self:
        """The family for X (n, d): codes in columns with levels, numbers where these are 0."""
        counts = np.asarray(levels)
        numeric, categorical = np.flatnonzero(counts == 0), np.flatnonzero(counts > 0)
        numbers = X[:, numeric]
        center = np.nanmedian(numbers, axis=0)
        scale = np.nanstd(numbers - center, axis=0)
        classes = LatentClass.of(X[:, categorical], counts[categorical].tolist(), weights, pseudo)
        scale = np.where(scale > 0.0, scale, 1.0)
        return cls(center, scale, numeric, categorical, classes)

    @property
    def log_unit(self) -> float:
        """Densities are in the units of the data already: rows differ in what they lack."""
        return 0.0

    def n_parameters(self, variant: str, c: int) -> int:
        """Free parameters of a mixture of c components."""
        return self.categories.n_parameters(variant, c) + 2 * c * len(self.numeric)

    def reveal(self, params: MixedParams) -> RevealedMixed:
        """Parameters in the units of the data."""
        classes = LatentClassParams(params.proportions, params.probabilities, params.natural)
        return RevealedMixed(
            params.proportions,
            self.center + self.scale * params.means,
            self.scale**2 * params.variances,
            self.categories.reveal(classes).probabilities,
        )

    def sample(self, params: MixedParams, n: int, rng: np.random.Generator) -> tuple[Array, Rows]:
        """Draw n rows from the first of the mixtures, and their components."""
        classes = LatentClassParams(params.proportions, params.probabilities, params.natural)
        codes, labels = self.categories.sample(classes, n, rng)
        X = np.empty((n, len(self.numeric) + len(self.categorical)))
        noise = rng.standard_normal((n, len(self.numeric)))
        Z = params.means[0, labels] + np.sqrt(params.variances[0, labels]) * noise
        X[:, self.numeric], X[:, self.categorical] = self.center + self.scale * Z, codes
        return X, labels

    def features(self, X: Array) -> Array:
        """A one, indicators of levels; and of seen numbers, the numbers and their squares."""
        Z = (X[:, self.numeric] - self.center) / self.scale
        seen = ~np.isnan(Z)
        Z = np.where(seen, Z, 0.0)
        return np.hstack([self.categories.features(X[:, self.categorical]), seen, Z, Z**2])

    def log_joint(self, features: Array, params: MixedParams) -> Array:
        """``log pi_k + log p_k(x_i)``, shape (b, k, n)."""
        return apply(params.natural, features)

    def statistics(self, features: Array, resp: Array, params: MixedParams | None = None) -> Array:
        """Sums of the features, shape (b, k, p)."""
        return collect(resp, features)

    def m_step(self, statistics: Array, variant: Rows, previous: MixedParams | None) -> MixedParams:
        """Shares of the levels, means and variances."""
        m = len(self.numeric)
        split = statistics.shape[-1] - 3 * m
        proportions, probabilities, natural = self.categories.m_step(
            statistics[..., :split], variant, None
        )
        counts, sums, squares = np.split(statistics[..., split:], 3, axis=-1)
        empty = (counts <= ABSENT) | (statistics[..., :1] <= ABSENT)
        counts = np.where(empty, ABSENT, counts)
        means = np.where(empty, 0.0, sums / counts)
        scatter = np.where(empty, ABSENT, squares - counts * means**2)
        pool = 0.0 if self.pool is None else self.pooling * self.pool
        variances = (scatter + pool) / (counts + self.pooling)
        pooled = scatter.sum(axis=1, keepdims=True) / counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spread = 2.0 * np.pi * variances * self.scale**2
            constants = -0.5 * (np.log(spread) + means**2 / variances)
            parts = [natural, constants, means / variances, -0.5 / variances]
            flatness = (pooled / variances).mean(axis=-1) if m else np.ones(proportions.shape)
        flatness = np.where(proportions > 0.0, flatness, 0.0)
        joined = np.concatenate(parts, axis=-1)
        return MixedParams(proportions, means, variances, probabilities, joined, flatness)

    def log_prior(self, params: MixedParams) -> Array | float:
        """Log density of the Dirichlet prior, and likelihood of the pseudo-observations."""
        split = 1 + sum(self.categories.levels)
        classes = LatentClassParams(
            params.proportions, params.probabilities, params.natural[..., :split]
        )
        prior = self.categories.log_prior(classes)
        if self.pool is None:
            return prior
        part = (np.log(params.variances) + self.pool / params.variances).sum(axis=-1)
        return np.asarray(prior - 0.5 * self.pooling * part.sum(axis=1))

    def pooled(self, statistics: Array, pooling: float = 1.0) -> Self:
        """This family with pseudo-observations of the statistics' pooled variances (k, p)."""
        counts, sums, squares = np.split(statistics[:, -3 * len(self.numeric) :], 3, axis=-1)
        present = counts > 0.0
        scatter = squares - np.divide(sums**2, counts, where=present, out=np.zeros_like(sums))
        pool = scatter.sum(axis=0) / counts.sum(axis=0)
        return replace(self, pooling=pooling, pool=pool)

    def is_degenerate(self, params: MixedParams) -> NDArray[np.bool_]:
        """A component without spread in a column, or statistics that are none."""
        sound = (params.probabilities >= 0.0).all(axis=(1, 2))
        return np.asarray(~(sound & (params.flatness < SINGULAR).all(axis=1)))

    def is_spurious(self, params: MixedParams, n: float) -> NDArray[np.bool_]:
        """Components (b, k) that are flat by chance."""
        return by_chance(params.flatness, params.proportions, n, len(self.numeric))

    def remarks(self, params: MixedParams) -> list[str]:
        """The prior of the categories."""
        classes = LatentClassParams(params.proportions, params.probabilities, params.natural)
        return self.categories.remarks(classes)
