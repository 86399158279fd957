"""What families with a location and a scale matrix share: units, features, quadratic forms.

Inside these families the data are centred and scaled column by column.  A squared distance
``(x - m)' P (x - m)`` is a product with the features ``phi(x) = (1, x, x_i x_j)``, and weighted
sums of the features hold all moments that an M-step needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credpart.mixture.covariance.axes import ABSENT as ABSENT
from credpart.mixture.covariance.matrices import inverse
from credpart.mixture.covariance.structures import TABLE, Estimate, Previous, Units, update

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Other units change the last bits of the data, and EM would end a little elsewhere: so data are
# rounded, to this part of the spread of their middle half.
GRAIN = 2.0**-33
# A component is singular where its smallest variance, relative to the pooled within-cluster
# covariance, drowns in the rounding of the sums of squares.
SINGULAR = 1e10
FLAT = 1e-3  # relative variance of a component that may be a spike


class Ellipsoids(NamedTuple):
    """Quadratic forms of components: what densities read of scale matrices."""

    precisions: Array  # (b, k, d, d)
    logdet: Array  # (b, k), of the scale matrices
    flatness: Array  # (b, k): tr(P_k S) / d for the pooled scale matrix S; 0 if absent


@dataclass(frozen=True, slots=True)
class Frame:
    """The units of the data inside a family."""

    center: Array  # (d,)
    scale: Array  # (d,)
    pairs: tuple[Rows, Rows]  # which products x_i x_j are features
    grain: Array  # (d,): standardised data are multiples of it, whatever their units were
    units: Units = field(init=False)  # the data's, up to a common factor
    counts: Array = field(init=False)  # (p,): how often the pairs stand in a matrix

    def __post_init__(self) -> None:
        # rounded, so that another unit for all columns changes no bit
        mantissa, exponent = np.frexp(self.scale / np.exp(np.log(self.scale).mean()))
        units = Units.of(np.ldexp(np.round(mantissa / GRAIN) * GRAIN, exponent))
        counts = np.where(self.pairs[0] == self.pairs[1], 1.0, 2.0)
        for array in (units.products, counts):
            array.flags.writeable = False
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of(cls, X: Array, structures: Sequence[str]) -> Self:
        """The frame of these data; products of columns only if some structure needs them."""
        d = X.shape[1]
        # The median keeps a far outlier from drowning the other rows' sums of squares.
        center = np.median(X, axis=0)
        scale = (X - center).std(axis=0)
        is_diagonal = all(TABLE[name].diagonal for name in structures)
        pairs = pairs_of(d, is_diagonal)
        scale = np.where(scale > 0.0, scale, 1.0)
        low, high = np.percentile((X - center) / scale, [25, 75], axis=0)
        spread = np.round(np.log2(np.where(high > low, high - low, 1.0)))
        grain = np.asarray(GRAIN * np.exp2(spread), dtype=np.float64)
        for array in (center, scale, grain):
            array.flags.writeable = False
        return cls(center, scale, pairs, grain)

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.center)

    @property
    def log_unit(self) -> float:
        """What a log density loses when the data go back to their own units."""
        return float(np.log(self.scale).sum())

    def features(self, X: Array) -> Array:
        """``(1, x, x_i x_j)`` of standardised rows, shape (n, p)."""
        Z = np.round((X - self.center) / self.scale / self.grain) * self.grain
        i, j = self.pairs
        return np.hstack([np.ones((len(Z), 1)), Z, Z[:, i] * Z[:, j]])

    def reveal(self, locations: Array, scales: Array) -> tuple[Array, Array]:
        """Locations (..., d) and scale matrices (..., d, d) in the units of the data."""
        return self.center + self.scale * locations, scales * (self.scale[:, None] * self.scale)

    def scatter(self, products: Array) -> Array:
        """Symmetric matrices (..., d, d) out of their entries in ``pairs``."""
        return np.ascontiguousarray(self.matrices(products.T).T)

    def matrices(self, products: Array) -> Array:
        """The same with the stack last: (d, d, ...) out of (p, ...)."""
        return symmetric(products, self.pairs, self.d)

    def distance(self, P: Array, locations: Array) -> Array:
        """Coefficients (b, k, p) of ``(x - m)' P (x - m)`` in the features."""
        i, j = self.pairs
        b, k, d = locations.shape
        linear = np.einsum("bkde,bke->bkd", P, locations)
        result = np.empty((b, k, 1 + d + len(i)))
        result[..., 0] = (locations * linear).sum(axis=-1)
        result[..., 1 : 1 + d] = -2.0 * linear
        result[..., 1 + d :] = P[..., i, j] * self.counts
        return result

    def update(
        self, scatter: Array, sizes: Array, variant: Rows, previous: Previous | None
    ) -> Estimate:
        """Scale matrices under each replicate's structure."""
        return update(scatter, sizes, variant, previous, self.units)


def pairs_of(d: int, is_diagonal: bool) -> tuple[Rows, Rows]:
    """Which products of columns make up a symmetric matrix."""
    return (np.arange(d), np.arange(d)) if is_diagonal else np.triu_indices(d)


def symmetric(products: Array, pairs: tuple[Rows, Rows], d: int) -> Array:
    """Symmetric matrices (d, d, ...) out of their entries (p, ...) in ``pairs``."""
    i, j = pairs
    result = np.zeros((d, d, *products.shape[1:]))
    result[i, j] = result[j, i] = products
    return result


def apply(coefficients: Array, features: Array) -> Array:
    """Products of coefficients (b, k, p) with features (n, p) or (b, n, p): shape (b, k, n)."""
    if features.ndim == 3:  # every replicate has data of its own
        return coefficients @ features.mT
    # in memory the components come first: then operations over them are long
    b, k, p = coefficients.shape
    rows = coefficients.transpose(1, 0, 2).reshape(-1, p)
    return (rows @ features.T).reshape(k, b, -1).transpose(1, 0, 2)


def collect(resp: Array, features: Array) -> Array:
    """Sums of features weighted by ``resp`` (b, k, n): shape (b, k, p)."""
    if features.ndim == 3:
        return resp @ features
    b, k, n = resp.shape
    rows = resp.transpose(1, 0, 2).reshape(-1, n)
    return (rows @ features).reshape(k, b, -1).transpose(1, 0, 2)


def outer(a: Array, b: Array) -> Array:
    """Outer products of vectors (..., d)."""
    return a[..., :, None] * b[..., None, :]


def ellipsoids(matrices: Array, proportions: Array) -> Ellipsoids:
    """Invert scale matrices (b, k, d, d); what is not positive definite becomes NaN."""
    b, k, d, _ = matrices.shape
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverses, logdet = inverse(matrices.reshape(-1, d, d).T)  # (d, d, m)
        P = np.ascontiguousarray(inverses.T).reshape(b, k, d, d)
        pooled = np.einsum("bk,bkde->bde", proportions, matrices)
        flatness = np.einsum("bkde,bde->bk", P, pooled) / d
    return Ellipsoids(P, logdet.reshape(b, k), np.where(proportions > 0.0, flatness, 0.0))


def shares(sizes: Array) -> Array:
    """Proportions (b, k) of sizes; absent components have none."""
    present = np.where(sizes > ABSENT, sizes, 0.0)
    result: Array = present / present.sum(axis=1, keepdims=True)
    return result


def log_shares(proportions: Array) -> Array:
    """Logarithms, finite for absent components too."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(proportions), -1e300)


def by_chance(flatness: Array, proportions: Array, n: float, d: int) -> NDArray[np.bool_]:
    """Components (b, k) that are flat by chance.

    Flat: the harmonic mean v of a component's variances relative to the pooled within-cluster
    covariance is below `FLAT`.  By chance: n objects have ``C(n, N)`` subsets of the component's
    size N, and N points in d dimensions lie that close to a hyperplane with a probability of the
    order of ``v^((N - d) / 2)``; so one such subset is expected.  Both are free of scale.
    """
    result = np.asarray(flatness > 1.0 / FLAT)
    if result.any():
        sizes = np.minimum(n * proportions[result], n)
        subsets = gammaln(n + 1.0) - gammaln(sizes + 1.0) - gammaln(n - sizes + 1.0)
        # inf is a component without any width
        logs = -np.log(np.minimum(flatness[result], 1.0 / ABSENT))
        result[result] = subsets + 0.5 * np.maximum(sizes - d, 0.0) * logs > 0.0
    return result
