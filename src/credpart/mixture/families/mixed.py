"""Numbers and categories in one mixture, all columns independent given the component.

Numeric columns are normal with a variance of their own in each component, categorical columns
as in `latent_class`.  A missing cell of either kind drops out of the product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table
from credpart.mixture.families.base import ABSENT, Parameters, linear_forms
from credpart.mixture.families.latent_class import PSEUDO, LatentClass, LatentClassParams
from credpart.mixture.families.standardisation import ScaleFamily, middle


class MixedParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    means: Array  # (b, k, numbers)
    variances: Array  # (b, k, numbers)
    probabilities: Array  # (b, k, levels of all columns)
    natural: Array  # (b, k, p): log joint density = natural . features
    flatness: Array  # (b, k): mean of the pooled variances over the component's


class MixedInDataUnits(NamedTuple):
    """Parameters in the units of the data; probabilities as in `ClassParams`."""

    proportions: Array
    means: Array
    variances: Array
    probabilities: Array


@dataclass(frozen=True, slots=True)
class Mixed(ScaleFamily[MixedParams]):
    """Mixtures of products of normals, on standardised columns, and multinomials."""

    center: Array  # (numbers,)
    scale: Array
    numeric: IntArray  # which columns are numbers
    categorical: IntArray
    categories: LatentClass
    prior: Array | None = None  # (numbers,): variances of a pseudo-observation in every component

    params_type: ClassVar[type[Parameters]] = MixedParams

    @property
    def d(self) -> int:
        """Number of columns of numbers."""
        return len(self.numeric)

    @classmethod
    def of(
        cls, X: Array, levels: Sequence[int], weights: Array | None = None, pseudo: float = PSEUDO
    ) -> Self:
        """The family for X (n, d): codes in columns with levels, numbers where these are 0."""
        counts = np.asarray(levels)
        numeric, categorical = np.flatnonzero(counts == 0), np.flatnonzero(counts > 0)
        numbers = X[:, numeric]
        center = middle(numbers)
        scale = np.nanstd(numbers - center, axis=0)
        classes = LatentClass.of(X[:, categorical], counts[categorical].tolist(), weights, pseudo)
        scale = np.where(scale > 0.0, scale, 1.0)
        return cls(center, scale, numeric, categorical, classes)

    def n_free(self, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        return self.categories.n_free(c) + 2 * c * len(self.numeric)

    def to_data_units(self, params: MixedParams) -> MixedInDataUnits:
        """Parameters in the units of the data."""
        proportions, probabilities = self.categories.to_data_units(self._classes(params))
        means, variances = self.center + self.scale * params.means, self.scale**2 * params.variances
        return MixedInDataUnits(proportions, means, variances, probabilities)

    def sample(self, params: MixedParams, n: int, rng: Generator) -> tuple[Array, IntArray]:
        """Draw n rows from the first of the mixtures, and their components."""
        codes, labels = self.categories.sample(self._classes(params), n, rng)
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
        return linear_forms(params.natural, features)

    def natural_parameters(self, params: MixedParams) -> Array:
        """The coefficients that `log_joint` multiplies with the features."""
        return params.natural

    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: MixedParams | None
    ) -> MixedParams:
        """Shares of the levels, means and variances."""
        m = len(self.numeric)
        split = statistics.shape[-1] - 3 * m
        proportions, probabilities, natural = self.categories.m_step(
            statistics[..., :split], structure_code, None
        )
        counts, sums, squares = np.split(statistics[..., split:], 3, axis=-1)
        empty = (counts <= ABSENT) | (statistics[..., :1] <= ABSENT)
        counts = np.where(empty, ABSENT, counts)
        means = np.where(empty, 0.0, sums / counts)
        scatter = np.where(empty, ABSENT, squares - counts * means**2)
        variances = scatter / counts
        if self.prior is not None:
            variances = (scatter + self.prior) / (counts + 1.0)
        pooled = scatter.sum(axis=1, keepdims=True) / counts.sum(axis=1, keepdims=True)
        joined = self._natural(natural, means, variances)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            flatness = (pooled / variances).mean(axis=-1) if m else np.ones(proportions.shape)
        flatness = np.where(proportions > 0.0, flatness, 0.0)
        return MixedParams(proportions, means, variances, probabilities, joined, flatness)

    def log_prior(self, params: MixedParams) -> Array | float:
        """Log density of the Dirichlet prior, and likelihood of the pseudo-observations."""
        prior = self.categories.log_prior(self._classes(params))
        if self.prior is None:
            return prior
        part = (np.log(params.variances) + self.prior / params.variances).sum(axis=-1)
        return prior - 0.5 * part.sum(axis=1)

    def regularised(self, statistics: Array) -> Self:
        """This family with pseudo-observations of the pooled variances of statistics (k, s)."""
        counts, sums, squares = np.split(statistics[:, -3 * len(self.numeric) :], 3, axis=-1)
        present = counts > 0.0
        scatter = squares - np.divide(sums**2, counts, where=present, out=np.zeros_like(sums))
        return replace(self, prior=scatter.sum(axis=0) / counts.sum(axis=0))

    def is_degenerate(self, params: MixedParams) -> BoolArray:
        """A component without spread in a column, or statistics that are none."""
        is_none = ~(params.probabilities >= 0.0).all(axis=(1, 2))
        return is_none | ScaleFamily.is_degenerate(self, params)

    def remarks(self, params: MixedParams) -> list[str]:
        """The prior of the categories."""
        return self.categories.remarks(self._classes(params))

    def check_columns(self, table: Table) -> None:
        """Raise ValueError if the family cannot be one of these data."""
        is_number = np.array([levels is None for levels in table.levels or ()])
        if not np.array_equal(np.flatnonzero(is_number), self.numeric):
            raise ValueError("columns of numbers that are none")
        if not np.array_equal(np.flatnonzero(~is_number), self.categorical):
            raise ValueError("columns of categories that are none")
        prior = () if self.prior is None else (self.prior,)
        for part in (self.center, self.scale, *prior):
            if part.shape != self.numeric.shape or not np.isfinite(part).all():
                raise ValueError("centres and scales that are not those of the columns")
        if not (self.scale > 0.0).all():
            raise ValueError("scales of columns that are not positive")
        levels = tuple(known for known in table.levels or () if known is not None)
        self.categories.check_columns(table._replace(levels=levels))

    def derived(self, params: MixedParams) -> MixedParams:
        """The coefficients of the densities, out of probabilities, means and variances."""
        classes = self.categories.derived(self._classes(params))
        natural = self._natural(classes.natural, params.means, params.variances)
        return params._replace(probabilities=classes.probabilities, natural=natural)

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _natural(self, classes: Array, means: Array, variances: Array) -> Array:
        spread = 2.0 * np.pi * variances * self.scale**2
        constants = -0.5 * (np.log(spread) + means**2 / variances)
        parts = [classes, constants, means / variances, -0.5 / variances]
        return np.concatenate(parts, axis=-1)

    def _classes(self, params: MixedParams) -> LatentClassParams:
        """The parameters of the columns of categories."""
        natural = params.natural[..., : 1 + sum(self.categories.levels)]
        return LatentClassParams(params.proportions, params.probabilities, natural)
