"""Latent classes: categorical columns, independent given the component.

With a feature for every level of every column the log joint densities are one product, and the
sufficient statistics another.  A missing cell has no feature: it drops out of the product.
A Dirichlet prior keeps probabilities off the boundary: in each component and column, `pseudo`
observations with the frequencies of the whole data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table
from credpart.mixture.families.base import MixtureFamily, Parameters, linear_forms

PSEUDO = 1.0


class LatentClassParams(NamedTuple):
    """Parameters of b mixtures, with what the E-step reads of them."""

    proportions: Array  # (b, k)
    probabilities: Array  # (b, k, levels of all columns)
    natural: Array  # (b, k, 1 + levels): log joint density = natural . features


class ClassParams(NamedTuple):
    """Parameters of latent classes: ``probabilities[k, j, l]`` is that of level l in column j.

    Columns with fewer levels than another are filled up with NaN.
    """

    proportions: Array
    probabilities: Array


@dataclass(frozen=True, slots=True)
class LatentClass(MixtureFamily[LatentClassParams]):
    """Mixtures of products of multinomials on codes 0, 1, ... (NaN: missing)."""

    levels: tuple[int, ...]  # of each column
    frequencies: Array  # (levels of all columns,): in the whole data
    pseudo: float = PSEUDO

    params_type: ClassVar[type[Parameters]] = LatentClassParams

    @classmethod
    def of(
        cls, X: Array, levels: Sequence[int], weights: Array | None = None, pseudo: float = PSEUDO
    ) -> Self:
        """The family for codes X (n, d)."""
        family = cls(tuple(levels), np.zeros(sum(levels)), pseudo)
        counts = family.features(X).T @ (np.ones(len(X)) if weights is None else weights)
        return cls(family.levels, counts[1:] / family._totals(counts[1:]), pseudo)

    def n_free(self, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        return c - 1 + c * (sum(self.levels) - len(self.levels))

    def to_data_units(self, params: LatentClassParams) -> ClassParams:
        """Probabilities by column and level."""
        b, k = params.proportions.shape
        table = np.full((b, k, len(self.levels), max(self.levels)), np.nan)
        column = np.repeat(np.arange(len(self.levels)), self.levels)
        level = np.concatenate([np.arange(m) for m in self.levels])
        table[:, :, column, level] = params.probabilities
        return ClassParams(params.proportions, table)

    def sample(self, params: LatentClassParams, n: int, rng: Generator) -> tuple[Array, IntArray]:
        """Draw n rows of codes from the first of the mixtures, and their components."""
        labels = rng.choice(params.proportions.shape[1], size=n, p=params.proportions[0])
        probabilities = self.to_data_units(params).probabilities[0]
        cumulative = np.nan_to_num(np.cumsum(probabilities, axis=-1), nan=np.inf)
        draws = rng.random((n, len(self.levels), 1))
        codes = (draws > cumulative[labels]).sum(axis=-1)
        return np.minimum(codes, np.array(self.levels) - 1).astype(float), labels

    def features(self, X: Array) -> Array:
        """A one, and an indicator of every level, shape (n, 1 + levels)."""
        codes = [X[:, j, None] == np.arange(m) for j, m in enumerate(self.levels)]
        return np.hstack([np.ones((len(X), 1)), *codes]).astype(float)

    def log_joint(self, features: Array, params: LatentClassParams) -> Array:
        """``log pi_k + log p_k(x_i)``, shape (b, k, n)."""
        return linear_forms(params.natural, features)

    def natural_parameters(self, params: LatentClassParams) -> Array:
        """The coefficients that `log_joint` multiplies with the features."""
        return params.natural

    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: LatentClassParams | None
    ) -> LatentClassParams:
        """Shares of the levels among the cells that are seen."""
        sizes = np.maximum(statistics[..., 0], 0.0)
        counts = np.where(sizes[..., None] > 0.0, statistics[..., 1:], 0.0)
        prior = self.pseudo * self.frequencies
        totals = self._totals(counts) + self.pseudo
        empty = totals <= 0.0  # a class without a prior, in which no cell of the column is seen
        probabilities = (counts + prior) / np.where(empty, 1.0, totals)
        probabilities = np.where(empty, self.frequencies, probabilities)
        return self._complete(self.shares(sizes), probabilities)

    def _complete(self, proportions: Array, probabilities: Array) -> LatentClassParams:
        """Parameters with what the E-step reads of them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(probabilities == 0.0, -1e3, np.log(probabilities))
        natural = np.concatenate([self.log_shares(proportions)[..., None], logs], axis=-1)
        return LatentClassParams(proportions, probabilities, natural)

    def check_columns(self, table: Table) -> None:
        """Raise ValueError if the family cannot be one of these data."""
        known = tuple(len(levels) if levels else 0 for levels in table.levels or ())
        frequencies = self.frequencies
        if self.levels != known or frequencies.shape != (sum(known),):
            raise ValueError("levels that are not those of the columns")
        if not (frequencies >= 0.0).all() or not np.allclose(self._totals(frequencies), 1.0):
            raise ValueError("frequencies that are none")
        if not 0.0 <= self.pseudo < np.inf:
            raise ValueError("a number of pseudo-observations that is none")

    def derived(self, params: LatentClassParams) -> LatentClassParams:
        """Probabilities that sum to 1 over the levels of a column, and their logarithms."""
        shares = params.probabilities / self._totals(params.probabilities)
        return self._complete(params.proportions, shares)

    def log_prior(self, params: LatentClassParams) -> Array | float:
        """Log density of the Dirichlet prior, up to a constant."""
        logs = params.natural[..., 1:] @ (self.pseudo * self.frequencies)
        return np.asarray(np.where(params.proportions > 0.0, logs, 0.0).sum(axis=1))

    def is_degenerate(self, params: LatentClassParams) -> BoolArray:
        """Where statistics were no counts at all."""
        return np.asarray(~(params.probabilities >= 0.0).all(axis=(1, 2)))

    def remarks(self, params: LatentClassParams) -> list[str]:
        """The prior."""
        return [
            f"{self.pseudo:g} pseudo-observation(s) with the frequencies of the whole data in each "
            "class and column keep probabilities off 0 and 1"
        ]

    def _totals(self, counts: Array) -> Array:
        """Sums over the levels of each column, for every level."""
        starts = np.cumsum((0, *self.levels[:-1]))
        sums = np.add.reduceat(counts, starts, axis=-1)
        return np.repeat(sums, self.levels, axis=-1)
