"""Mixtures of objects that have missing cells, taken as missing at random [LR02]_.

There are Gaussian, t and contaminated normal ones.


Given a component, the cells that are seen are normal too, and those that are missing are a linear
regression on them.  So for all objects with the same missing cells, a pattern, the E-step is that
of complete data in fewer columns: the sums of the cells that are seen are mapped linearly to the
expected sums of all cells, and the M-step of the complete family takes these.  The likelihood is
that of the cells that are seen.  For t distributions all this holds given the latent weight, and
for contaminated ones in each part.

Matrices of a pattern keep d columns: where a cell is missing, a precision is 0 and a matrix to be
inverted has a 1 on its diagonal.  So all patterns are inverted together.  Features are those of
complete data with 0 in the place of a missing cell, beside indicators of the cells that are seen.
If every mixture has data of its own, a row has the same missing cells in all of them.

Shapes: g patterns; b, k, n, d, p as in the other families.

References
----------
.. [LR02] Little, Rubin: Statistical analysis with missing data, 2nd edition.  Wiley, 2002.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.covariance.matrices import inverse, matrices_contiguous
from credpart.mixture.covariance.structures import TABLE
from credpart.mixture.families.base import ABSENT, Family, linear_forms, weighted_sums
from credpart.mixture.families.contaminated import (
    OUTLYING,
    Contaminated,
    ContaminatedParams,
    ContaminatedWithNoise,
    OutlyingPartIsNoise,
    Parts,
    log_parts,
)
from credpart.mixture.families.gaussian import LOG_2_PI, Gaussian, GaussianParams
from credpart.mixture.families.latent_law import LatentLaw
from credpart.mixture.families.location_scale import LocationScale, LocationScaleParams
from credpart.mixture.families.standardisation import Standardisation, entry_pairs

ASSUMPTION = "missing cells are taken as missing at random"
BLOCK = 1 << 20  # numbers in the matrices of the patterns that are worked on together


class Patterns(NamedTuple):
    """Which cells are seen in each pattern (g, d), and the rows of each."""

    seen: BoolArray
    rows: list[IntArray]

    def blocks(self, width: int) -> Iterator[tuple[BoolArray, list[IntArray]]]:
        """Some patterns at a time, for ``width`` matrices of each."""
        d = self.seen.shape[1]
        size = max(1, BLOCK // max(1, width * d * d))
        for first in range(0, len(self.rows), size):
            some = slice(first, first + size)
            yield self.seen[some], self.rows[some]


class Regression(NamedTuple):
    """Missing cells given those that are seen: ``x = offset + slope z`` plus a residual.

    Of cells that are seen, x is z, in which missing cells are 0.
    """

    precisions: Array  # (b, k, g, d, d), of the cells that are seen
    offset: Array  # (b, k, g, d)
    slope: Array  # (b, k, g, d, d)
    residual: Array  # (b, k, g, d, d): covariance


def patterns_of(seen: Array) -> Patterns:
    """The patterns of rows whose cells are seen (n, d).

    Examples
    --------
    >>> found = patterns_of(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]))
    >>> found.seen.tolist(), [rows.tolist() for rows in found.rows]
    ([[True, False], [True, True]], [[0, 2], [1]])
    """
    is_seen = seen > 0.0
    packed = np.packbits(is_seen, axis=1)
    keys = np.ascontiguousarray(packed).view(f"S{packed.shape[1]}")[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return Patterns(is_seen[first], np.split(order, np.cumsum(np.bincount(which))[:-1]))


def seen_precisions(covariances: Array, seen: BoolArray) -> tuple[Array, Array]:
    """Precisions (b, k, g, d, d) and log determinants (b, k, g) of the cells that are seen."""
    both = seen[:, :, None] & seen[:, None, :]
    ones = ~seen[:, :, None] * np.eye(seen.shape[1])
    precisions, logdet = inverse(np.where(both, covariances[:, :, None], 0.0) + ones)
    return matrices_contiguous(np.where(both, precisions, 0.0)), logdet


def regress(means: Array, covariances: Array, seen: BoolArray) -> Regression:
    """Regressions of the missing cells of each pattern on those that are seen."""
    means, covariances = means[:, :, None], covariances[:, :, None]
    precisions, missing = seen_precisions(covariances[:, :, 0], seen)[0], ~seen
    slope = np.where(missing[:, :, None], covariances @ precisions, 0.0)
    offset = np.where(missing, means, 0.0) - (slope @ means[..., None])[..., 0]
    within = covariances - slope @ covariances
    residual = np.where(missing[:, :, None] & missing[:, None, :], within, 0.0)
    same = seen[:, :, None] * np.eye(seen.shape[1])
    return Regression(precisions, offset, slope + same, residual)


def expected_sums(space: Standardisation, found: Regression, sums: Array, counts: Array) -> Array:
    """Expected sums (b, k, p) of the features of all cells, over all patterns.

    ``sums`` (b, k, g, p) are those of the features with 0 in the place of missing cells; ``counts``
    (b, k, g) say how often the covariance of the residuals is added.
    """
    d, (i, j) = space.d, space.pairs
    sizes = sums[..., :1]
    moved = (found.slope @ sums[..., 1 : 1 + d, None])[..., 0]
    squares = found.slope @ space.matrices(sums[..., 1 + d :]) @ found.slope.mT
    cross = moved[..., :, None] * found.offset[..., None, :]
    squares += cross + cross.mT + counts[..., None, None] * found.residual
    squares += (sizes * found.offset)[..., :, None] * found.offset[..., None, :]
    x = moved + sizes * found.offset
    return np.concatenate([sizes, x, squares[..., i, j]], axis=-1).sum(axis=2)


def sums_by_pattern(resp: Array, phi: Array, rows: Sequence[IntArray]) -> Array:
    """Weighted sums (b, k, g, p) of features over the rows of each pattern."""
    return np.stack([weighted_sums(resp[..., own], phi[..., own, :]) for own in rows], axis=2)


class MissingCells:
    """What families on objects with missing cells share: their features, and what these give."""

    __slots__ = ()

    standardisation: Standardisation

    def features(self, X: Array) -> Array:
        """Features of complete rows with 0 for missing cells, and which cells are seen."""
        seen = ~np.isnan(X)
        filled = np.where(seen, X, self.standardisation.center)
        return np.hstack([self.standardisation.features(filled), seen])

    def split(self, features: Array) -> tuple[Array, Patterns]:
        """The features of complete rows, and the patterns."""
        seen = self.seen_cells(features)
        return features[..., : -seen.shape[-1]], patterns_of(seen if seen.ndim == 2 else seen[0])

    def seen_cells(self, features: Array) -> Array:
        """Which cells are seen, (..., n, d)."""
        return features[..., -self.standardisation.d :]

    def unseen_log_unit(self, seen: BoolArray) -> Array:
        """What `log_unit` subtracts too much from the log density of a pattern, (g,)."""
        return np.where(seen, 0.0, np.log(self.standardisation.scale)).sum(axis=1)

    def distance(self, precisions: Array, means: Array) -> Array:
        """Coefficients (b, k, g, p) of the squared distances in the cells that are seen."""
        b, k, g, d, _ = precisions.shape
        repeated = np.broadcast_to(means[:, :, None], (b, k, g, d)).reshape(b, k * g, d)
        flat = precisions.reshape(b, k * g, d, d)
        return self.standardisation.squared_distance(flat, repeated).reshape(b, k, g, -1)

    def normal_sums(self, features: Array, resp: Array, means: Array, covariances: Array) -> Array:
        """Expected sums (b, k, p) of the features of all cells, of normal components."""
        phi, patterns = self.split(features)
        total: Any = 0.0
        for seen, rows in patterns.blocks(means.shape[0] * means.shape[1]):
            sums = sums_by_pattern(resp, phi, rows)
            found = regress(means, covariances, seen)
            total = total + expected_sums(self.standardisation, found, sums, sums[..., 0])
        return np.asarray(total)

    def first_sums(self, features: Array, resp: Array) -> Array:
        """Expected sums (b, k, p) before there are parameters.

        Missing cells have the mean and the variance of those that are seen in the component, or
        among all objects where these do not give any.
        """
        d, (i, j) = self.standardisation.d, self.standardisation.pairs
        squares = features[..., 1 + d : -d][..., i == j]
        cells = np.concatenate([features[..., -d:], features[..., 1 : 1 + d], squares], axis=-1)
        sums = weighted_sums(resp, cells)
        every = _mean_and_variance(sums.sum(axis=1, keepdims=True), 0.0, 1.0)
        means, variances = _mean_and_variance(sums, *every)
        return self.normal_sums(features, resp, means, variances[..., None] * np.eye(d))


def _mean_and_variance(
    sums: Array, mean: Array | float, variance: Array | float
) -> tuple[Array, Array]:
    """Of counts, sums and sums of squares side by side; others where there are no cells."""
    counts, first, second = np.split(sums, 3, axis=-1)
    is_empty = counts <= ABSENT
    counts = np.where(is_empty, 1.0, counts)
    means = np.where(is_empty, mean, first / counts)
    spread = second / counts - means**2
    return means, np.where(is_empty | ~(spread > 0.0), variance, spread)


def standardisation_of(X: Array, structures: Sequence[str]) -> Standardisation:
    """`Standardisation.of` the cells that are seen, column by column."""
    cells = [column[~np.isnan(column)][:, None] for column in X.T]
    each = [Standardisation.of(column, structures) for column in cells]
    center, scale, unit = (
        np.concatenate([getattr(one, name) for one in each])
        for name in ("center", "scale", "rounding_unit")
    )
    pairs = entry_pairs(X.shape[1], all(TABLE[name].diagonal for name in structures))
    return Standardisation(center, scale, pairs, unit, each[0].is_unit_free)


@dataclass(frozen=True, slots=True)
class GaussianWithMissing(MissingCells, Gaussian):
    """Gaussian mixtures of objects with missing cells."""

    is_normal: ClassVar[bool] = True
    is_linearisable: ClassVar[bool] = False  # statistics depend on the parameters

    @classmethod
    def of(cls, X: Array, structures: Sequence[str]) -> Self:
        """The family for these data, in which missing cells are NaN."""
        return cls(standardisation_of(X, structures))

    def log_joint(self, features: Array, params: GaussianParams) -> Array:
        """``log pi_k + log p_k(x_i)`` of the cells that are seen, shape (b, k, n)."""
        phi, patterns = self.split(features)
        (b, k), covariances = params.proportions.shape, params.covariances
        joint = np.empty((k, b, phi.shape[-2])).transpose(1, 0, 2)
        shares = self.log_shares(params.proportions)[..., None]
        for seen, rows in patterns.blocks(b * k):
            precisions, logdet = seen_precisions(covariances, seen)
            natural = -0.5 * self.distance(precisions, params.means)
            natural[..., 0] += shares - 0.5 * (logdet + seen.sum(axis=1) * LOG_2_PI)
            natural[..., 0] += self.unseen_log_unit(seen)
            for g, own in enumerate(rows):
                joint[..., own] = linear_forms(natural[:, :, g], phi[..., own, :])
        return joint

    def statistics(
        self, features: Array, resp: Array, params: GaussianParams | None = None
    ) -> Array:
        """Expected sums of the features of all cells, given those that are seen, (b, k, p)."""
        if params is None:
            return self.first_sums(features, resp)
        return self.normal_sums(features, resp, params.means, params.covariances)

    def natural_parameters(self, params: GaussianParams) -> None:
        """Densities are no products with features: their coefficients depend on the pattern."""

    def remarks(self, params: GaussianParams) -> list[str]:
        """What is assumed of missing cells."""
        return [ASSUMPTION]

    def completed(self, X: Array, params: GaussianParams) -> Array:
        """Objects (n, d) whose missing cells have their expectations under the first component."""
        phi, patterns = self.split(self.features(X))
        space, result = self.standardisation, X.copy()
        Z = phi[:, 1 : 1 + space.d]
        for seen, rows in patterns.blocks(1):
            found = regress(params.means[:1, :1], params.covariances[:1, :1], seen)
            for g, own in enumerate(rows):
                expected = found.offset[0, 0, g] + Z[own] @ found.slope[0, 0, g].T
                values = space.center + space.scale * expected
                result[own] = np.where(seen[g], X[own], values)
        return result


@dataclass(frozen=True, slots=True)
class LocationScaleWithMissing(MissingCells, LocationScale):
    """Mixtures of t distributions on objects with missing cells; the law may not be skew."""

    @classmethod
    def of(cls, X: Array, structures: Sequence[str], law: LatentLaw) -> Self:
        """The family for these data, in which missing cells are NaN."""
        return cls(standardisation_of(X, structures), law)

    def log_joint(self, features: Array, params: LocationScaleParams) -> Array:
        """``log pi_k + log p_k(x_i)`` of the cells that are seen, shape (b, k, n)."""
        phi, patterns = self.split(features)
        b, k = params.proportions.shape
        joint = np.empty((k, b, phi.shape[-2])).transpose(1, 0, 2)
        shares = self.log_shares(params.proportions)
        for seen, rows in patterns.blocks(b * k):
            precisions, logdet = seen_precisions(params.scales, seen)
            distance, shift = (
                self.distance(precisions, params.locations),
                self.unseen_log_unit(seen),
            )
            for g, own in enumerate(rows):
                d = int(seen[g].sum())
                eta = np.maximum(linear_forms(distance[:, :, g], phi[..., own, :]), 0.0)
                constant = shares - 0.5 * logdet[..., g] + self.law.constant(params.dof, d)
                density = self.law.log_density(eta, eta, params.dof, d)
                joint[..., own] = density + (constant + shift[g])[..., None]
        return joint

    def statistics(
        self, features: Array, resp: Array, params: LocationScaleParams | None = None
    ) -> Array:
        """`Statistics` side by side, of all cells given those that are seen."""
        params = self._by_moments(features, resp) if params is None else params
        phi, patterns = self.split(features)
        b, k = params.proportions.shape
        total: Any = 0.0
        logs = np.zeros((b, k))
        for seen, rows in patterns.blocks(b * k):
            found = regress(params.locations, params.scales, seen)
            distance = self.distance(found.precisions, params.locations)
            sums, counts = [], []
            for g, own in enumerate(rows):
                part, cells = resp[..., own], phi[..., own, :]
                eta = np.maximum(linear_forms(distance[:, :, g], cells), 0.0)
                w, _, _, log_w = self.law.expect(eta, eta, params.dof, int(seen[g].sum()))
                sums.append(weighted_sums(part if w is None else part * w, cells))
                counts.append(part.sum(axis=-1))
                if log_w is not None:
                    logs += np.einsum("bkn,bkn->bk", part, log_w)
            weighted = np.stack(sums, axis=2), np.stack(counts, axis=2)
            total = total + expected_sums(self.standardisation, found, *weighted)
        sizes = resp.sum(axis=-1)
        scalars = np.stack([sizes, logs, sizes * params.tau**2, sizes], axis=-1)
        return np.concatenate([scalars, np.zeros((b, k, 1 + self.d)), total], axis=-1)

    def remarks(self, params: LocationScaleParams) -> list[str]:
        """What is assumed of missing cells, and degrees of freedom at their bounds."""
        return [ASSUMPTION, *LocationScale.remarks(self, params)]


@dataclass(frozen=True, slots=True)
class ContaminatedWithMissing(MissingCells, Contaminated):
    """Contaminated normal mixtures of objects with missing cells."""

    @classmethod
    def of(cls, X: Array, structures: Sequence[str]) -> Self:
        """The family for these data, in which missing cells are NaN."""
        return cls(standardisation_of(X, structures))

    def log_parts(self, features: Array, params: ContaminatedParams) -> Parts:
        """Log joint densities of both parts, of the cells that are seen."""
        phi, patterns = self.split(features)
        b, k = params.proportions.shape
        joint = np.empty((2, k, b, phi.shape[-2])).transpose(0, 2, 1, 3)
        for seen, rows in patterns.blocks(b * k):
            precisions, logdet = seen_precisions(params.scales, seen)
            distance = self.distance(precisions, params.means)
            shift = self.unseen_log_unit(seen)
            for g, own in enumerate(rows):
                delta = np.maximum(linear_forms(distance[:, :, g], phi[..., own, :]), 0.0)
                parts = log_parts(delta, int(seen[g].sum()), logdet[..., g], params)
                joint[..., own] = np.array(parts) + shift[g]
        return Parts(*joint)

    def part_sums(self, features: Array, resp: Parts, params: ContaminatedParams) -> Parts:
        """Expected sums of the features of all cells over each part, given those that are seen."""
        phi, patterns = self.split(features)
        regular: Any = 0.0
        outlying: Any = 0.0
        for seen, rows in patterns.blocks(params.means.shape[0] * params.means.shape[1]):
            found, space = regress(params.means, params.scales, seen), self.standardisation
            sums = sums_by_pattern(resp.regular, phi, rows)
            regular = regular + expected_sums(space, found, sums, sums[..., 0])
            sums = sums_by_pattern(resp.outlying, phi, rows)
            inflated = params.inflation[..., None] * sums[..., 0]
            outlying = outlying + expected_sums(space, found, sums, inflated)
        return Parts(regular, outlying)

    def remarks(self, params: ContaminatedParams) -> list[str]:
        """What is assumed of missing cells, and components that are not contaminated."""
        return [ASSUMPTION, *Contaminated.remarks(self, params)]


@dataclass(frozen=True, slots=True)
class ContaminatedWithNoiseAndMissing(OutlyingPartIsNoise, ContaminatedWithMissing):
    """The same, whose outlying objects are in no cluster."""

    is_normal: ClassVar[bool] = True
    has_noise: ClassVar[bool] = True
    least_inflation: ClassVar[float] = OUTLYING


def scoring(family: Family, X: Array) -> Family:
    """The family that scores these objects: one for missing cells if they have any.

    Parameters of both are the same.  A family without such a counterpart scores them itself.
    """
    return family.with_components(_for_missing) if np.isnan(X).any() else family


def _for_missing(family: Family) -> Family:
    """The counterpart of a family for objects with missing cells, if there is one."""
    counterpart = COUNTERPARTS.get(type(family))
    return family if counterpart is None else counterpart.from_state(family.state())


COUNTERPARTS: Mapping[type, Any] = {
    Gaussian: GaussianWithMissing,
    LocationScale: LocationScaleWithMissing,
    Contaminated: ContaminatedWithMissing,
    ContaminatedWithNoise: ContaminatedWithNoiseAndMissing,
}
