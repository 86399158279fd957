"""What families with a location and a scale matrix share: standardised data and their features.

Inside these families the data are centred and scaled column by column.  A squared distance
``(x - m)' P (x - m)`` is a product with the features ``phi(x) = (1, x, x_i x_j)``, and weighted
sums of the features hold all moments that an M-step needs.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import gammaln

from credpart._arrays import Array, BoolArray, IntArray, make_read_only
from credpart._checks import Table
from credpart.mixture.covariance.structures import TABLE
from credpart.mixture.families.base import ABSENT, MixtureFamily, P

# Standardised data are rounded to this fraction of the spread of their middle half.  Otherwise
# other units would change the last bits of the data, and EM would end a little elsewhere.
ROUNDING = 2.0**-33
# A component is singular where its smallest variance, relative to the pooled within-cluster
# covariance, drowns in the rounding of the sums of squares.
SINGULAR = 1e10
FLAT = 1e-3  # relative variance below which a component may be spurious


@dataclass(frozen=True, slots=True)
class Standardisation:
    """Centres and scales of the columns, and which products of columns are features."""

    center: Array  # (d,)
    scale: Array  # (d,)
    pairs: tuple[IntArray, IntArray]  # which products x_i x_j are features
    rounding_unit: Array  # (d,): standardised data are multiples of it, whatever their units were
    is_unit_free: bool = False  # no structure that is asked for depends on the units of the data
    units: Array = field(init=False)  # (d,): in which structures are estimated, up to a factor
    multiplicity: Array = field(init=False)  # (p,): how often each pair stands in a matrix

    def __post_init__(self) -> None:
        scale = np.ones_like(self.scale) if self.is_unit_free else self.scale
        # rounded, so that another unit for all columns changes no bit
        mantissa, exponent = np.frexp(scale / np.exp(np.log(scale).mean()))
        units = np.ldexp(np.round(mantissa / ROUNDING) * ROUNDING, exponent)
        multiplicity = np.where(self.pairs[0] == self.pairs[1], 1.0, 2.0)
        make_read_only(units, multiplicity, self.center, self.scale, self.rounding_unit)
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "multiplicity", multiplicity)

    @classmethod
    def of(cls, X: Array, structures: Sequence[str]) -> Self:
        """The standardisation of these data, with all that estimates of the structures need."""
        center = middle(X)
        scale = (X - center).std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        low, high = np.percentile((X - center) / scale, [25, 75], axis=0)
        spread = np.round(np.log2(np.where(high > low, high - low, 1.0)))
        rows = [TABLE[name] for name in structures]
        pairs = entry_pairs(X.shape[1], all(row.diagonal for row in rows))
        is_unit_free = all(row.is_unit_free for row in rows)
        return cls(center, scale, pairs, ROUNDING * np.exp2(spread), is_unit_free)

    def check(self, d: int) -> None:
        """Raise ValueError if it is none of d columns."""
        parts = self.center, self.scale, self.rounding_unit
        if any(part.shape != (d,) or not np.isfinite(part).all() for part in parts):
            raise ValueError("centres and scales that are not those of the columns")
        if not (self.scale > 0.0).all() or not (self.rounding_unit > 0.0).all():
            raise ValueError("scales of columns that are not positive")
        known = (np.array(entry_pairs(d, is_diagonal)) for is_diagonal in (True, False))
        if not any(np.array_equal(np.array(self.pairs), pairs) for pairs in known):
            raise ValueError("pairs of columns that are none")

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.center)

    def features(self, X: Array) -> Array:
        """``(1, x, x_i x_j)`` of standardised rows, shape (n, p)."""
        Z = np.round((X - self.center) / self.scale / self.rounding_unit) * self.rounding_unit
        i, j = self.pairs
        return np.hstack([np.ones((len(Z), 1)), Z, Z[:, i] * Z[:, j]])

    def to_data_units(self, locations: Array, scales: Array) -> tuple[Array, Array]:
        """Locations (..., d) and scale matrices (..., d, d) in the units of the data."""
        return self.center + self.scale * locations, scales * (self.scale[:, None] * self.scale)

    def matrices(self, products: Array) -> Array:
        """Symmetric matrices (..., d, d) out of their entries (..., p) in ``pairs``."""
        i, j = self.pairs
        result = np.zeros((*products.shape[:-1], self.d, self.d))
        result[..., i, j] = result[..., j, i] = products
        return result

    def squared_distance(self, P: Array, locations: Array) -> Array:
        """Coefficients (b, k, p) of ``(x - m)' P (x - m)`` in the features."""
        i, j = self.pairs
        linear = np.einsum("bkde,bke->bkd", P, locations)
        constant = (locations * linear).sum(axis=-1, keepdims=True)
        forms = P[..., i, j] * self.multiplicity
        return np.concatenate([constant, -2.0 * linear, forms], axis=-1)


def middle(X: Array) -> Array:
    """A value of each column that halves it: the lower median; missing cells are left aside.

    A far outlier does not move it.  As it is one of the data, differences to it are exact, and
    data far from the origin are centred without loss.
    """
    return np.asarray(np.nanquantile(X, 0.5, axis=0, method="lower"))


def entry_pairs(d: int, is_diagonal: bool) -> tuple[IntArray, IntArray]:
    """Which products of columns make up a symmetric matrix."""
    return (np.arange(d), np.arange(d)) if is_diagonal else np.triu_indices(d)


def is_by_chance(flatness: Array, sizes: Array, n: float, d: int) -> BoolArray:
    """Which flat components are so small that chance explains them.

    That is so if such a subset of the objects is to be expected: n objects have ``C(n, N)`` subsets
    of the component's size N, and N points in d dimensions lie so close to a hyperplane, as its
    flatness 1 / v says, with a probability of the order of ``v^((N - d) / 2)``.
    """
    sizes = np.minimum(sizes, n)
    subsets = gammaln(n + 1.0) - gammaln(sizes + 1.0) - gammaln(n - sizes + 1.0)
    # An infinite flatness is that of a component without any width.
    logs = -np.log(np.minimum(flatness, 1.0 / ABSENT))
    return np.asarray(subsets + 0.5 * np.maximum(sizes - d, 0.0) * logs > 0.0)


class ScaleFamily(MixtureFamily[P]):
    """Families with components that may be flat: their last parameter is the flatness (b, k)."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Number of columns of numbers."""

    def is_degenerate(self, params: P) -> BoolArray:
        """A component is singular relative to the pooled within-cluster covariance."""
        return np.asarray(~(params[-1] < SINGULAR).all(axis=1))

    def is_flat(self, params: P) -> BoolArray:
        """Components (b, k) whose flatness exceeds ``1 / FLAT``.

        It is one over the harmonic mean of a component's variances, relative to the pooled
        within-cluster covariance, and so free of units.
        """
        return np.asarray(params[-1] > 1.0 / FLAT)

    def is_spurious(self, params: P, n: float) -> BoolArray:
        """Components (b, k) that are flat by chance."""
        result = self.is_flat(params)
        if result.any():
            flatness, sizes = params[-1][result], n * params[0][result]
            result[result] = is_by_chance(flatness, sizes, n, self.d)
        return result

    def describe_spurious(self, params: P, k: int, n: float) -> str:
        """The size and the variance of a component that is flat by chance."""
        size, variance = n * params[0][0, k], 1.0 / params[-1][0, k]
        what = f"{size:.1f} objects, relative variance {variance:.1g}"
        return f"a component is a spurious spike ({what})"


@dataclass(frozen=True, slots=True)
class StandardisedFamily(ScaleFamily[P]):
    """Families of locations and scale matrices on standardised data."""

    standardisation: Standardisation

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.standardisation.d

    @property
    def log_unit(self) -> float:
        """What to subtract from a log density to convert it to the units of the data."""
        return float(np.log(self.standardisation.scale).sum())

    def features(self, X: Array) -> Array:
        """``(1, x, x_i x_j)`` of standardised rows, shape (n, p)."""
        return self.standardisation.features(X)

    def n_free(self, c: int) -> int:
        """Number of free parameters without any constraint on the scale matrices."""
        return self.n_parameters("VVV", c)

    def check_columns(self, table: Table) -> None:
        """Raise ValueError if the family cannot be one of these data."""
        d = table.values.shape[1]
        self.standardisation.check(d)
        prior = getattr(self, "prior", None)
        if prior is not None and (prior.shape != (d, d) or not np.isfinite(prior).all()):
            raise ValueError("a prior that is not one of the columns")
