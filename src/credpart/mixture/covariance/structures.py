"""Covariance structures of Gaussian components [CG95]_.

``Sigma_k = lam_k D_k A_k D_k'``: volume, orientation, shape.  The three letters of a name say
for each of volume, shape and orientation whether it is Equal over components, Varies, or is
that of the Identity.  Estimates depend on the weighted scatter matrices and the sizes only: no
structure ever sees the data.  A structure is two choices: the axes along which scatter matrices
are read, and one of four rules for the volumes and shapes along these.

Shapes: ``scatter`` (b, k, d, d), ``sizes`` (b, k).  Inside, the axes are reversed: operations are
quick along the last one.

References
----------
.. [CG95] Celeux, Govaert: Gaussian parsimonious clustering models.  Pattern Recognition 28, 1995.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.covariance.axes import (
    Axes,
    any_axes,
    column_axes,
    common_axes,
    no_axes,
    own_axes,
    turned_back,
)
from credpart.mixture.covariance.matrices import diagonal, inverse, log_determinant
from credpart.mixture.covariance.volumes import (
    Rule,
    one_volume_one_shape,
    one_volume_own_shape,
    own_volume_one_shape,
    own_volume_own_shape,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Start = Callable[[object, slice], Array | None]  # of a kind that iterates


class Previous(NamedTuple):
    """Covariances that structures which iterate start from: what these read of some replicates."""

    volumes: Callable[[Rows], Array]  # (k, b), up to a factor
    axes: Callable[[Rows], Array]  # (b, d, d): precision matrices that have the common axes

    @classmethod
    def of(cls, covariances: Array, proportions: Array) -> Self:
        """Covariances (b, k, d, d) of components; absent ones do not count."""
        k, d = covariances.shape[1:3]

        def volumes(rows: Rows) -> Array:
            result: Array = np.exp(log_determinant(covariances[rows].T) / d)
            return result

        def axes(rows: Rows) -> Array:
            sums = unequal_weights(proportions[rows]) @ covariances[rows].reshape(-1, k, d * d)
            return inverse(sums.reshape(-1, d, d).T)[0].T

        return cls(volumes, axes)


def unequal_weights(proportions: Array) -> Array:
    """Weights (b, 1, k) of the components present, lest a sum be a sphere and its terms none."""
    weights: Array = (proportions > 0.0) / np.arange(1.0, proportions.shape[1] + 1.0)
    return weights[:, None]


class Structure(NamedTuple):
    """How a covariance structure is estimated, and what it costs in BIC."""

    axes: Axes
    rule: Rule
    n_free: Callable[[int, int], int]  # (c, d) -> number of free covariance parameters
    nested: tuple[str, ...]  # the structures directly below: special cases of this one

    @property
    def diagonal(self) -> bool:
        """Covariances are diagonal matrices."""
        return self.axes in (no_axes, column_axes)

    @property
    def spherical(self) -> bool:
        """Covariances are multiples of the identity."""
        return self.axes is no_axes


def _pairs(d: int) -> int:
    return d * (d - 1) // 2


EE, VE = one_volume_one_shape, own_volume_one_shape
EV, VV = one_volume_own_shape, own_volume_own_shape
STRUCTURES: Mapping[str, Structure] = {
    "EII": Structure(no_axes, EE, lambda c, d: 1, ()),
    "VII": Structure(no_axes, VV, lambda c, d: c, ("EII",)),
    "EEI": Structure(column_axes, EE, lambda c, d: d, ("EII",)),
    "VEI": Structure(column_axes, VE, lambda c, d: c + d - 1, ("VII", "EEI")),
    "EVI": Structure(column_axes, EV, lambda c, d: 1 + c * (d - 1), ("EEI",)),
    "VVI": Structure(column_axes, VV, lambda c, d: c * d, ("VEI", "EVI")),
    "EEE": Structure(any_axes, EE, lambda c, d: d + _pairs(d), ("EEI",)),
    "VEE": Structure(any_axes, VE, lambda c, d: c + d - 1 + _pairs(d), ("VEI", "EEE")),
    "EVE": Structure(common_axes, EV, lambda c, d: 1 + c * (d - 1) + _pairs(d), ("EVI", "EEE")),
    "VVE": Structure(common_axes, VV, lambda c, d: c * d + _pairs(d), ("VVI", "VEE", "EVE")),
    "EEV": Structure(own_axes, EE, lambda c, d: d + c * _pairs(d), ("EEE",)),
    "VEV": Structure(own_axes, VE, lambda c, d: c + d - 1 + c * _pairs(d), ("VEE", "EEV")),
    "EVV": Structure(any_axes, EV, lambda c, d: 1 + c * (d - 1 + _pairs(d)), ("EVE", "EEV")),
    "VVV": Structure(any_axes, VV, lambda c, d: c * (d + _pairs(d)), ("VVE", "VEV", "EVV")),
}
ONE_DIMENSION: Mapping[str, Structure] = {
    "E": Structure(column_axes, EE, lambda c, d: 1, ()),
    "V": Structure(column_axes, VV, lambda c, d: c, ("E",)),
}
TABLE: dict[str, Structure] = {**STRUCTURES, **ONE_DIMENSION}
NAMES: tuple[str, ...] = tuple(TABLE)  # a structure's code is its place here


# In this order structures of the same axes stand together, spheres first and whole matrices last,
# and many of the same rule.
# fmt: off
ORDER = (
    "EII", "VII", "VVE", "EVE", "EVI", "VVI", "V", "E", "EEI", "VEI", "VEV", "EEV",
    "EEE", "VEE", "EVV", "VVV",
)
# fmt: on
PLACES = np.array([ORDER.index(name) for name in NAMES])
ALL_PLACES = np.arange(len(ORDER) + 1)


class Stretch(NamedTuple):
    """Structures side by side that have something in common."""

    kind: Any
    first: int
    stop: int

    @classmethod
    def of(cls, kinds: Sequence[Any]) -> list[Self]:
        """Runs of equal kinds, in the order above."""
        edges = [i for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]]
        return [cls(kinds[i], i, j) for i, j in pairwise([*edges, len(kinds)])]


_ROWS = [TABLE[name] for name in ORDER]
N_SPHERES = sum(row.spherical for row in _ROWS)
N_AXES = sum(row.axes is not any_axes for row in _ROWS)
AXES = Stretch.of([row.axes for row in _ROWS[:N_AXES]])
RULES = Stretch.of([(row.rule, row.axes is any_axes) for row in _ROWS])
HAS_ONE_VOLUME = np.array([row.rule in (EE, EV) for row in _ROWS])
ITERATIVE = common_axes, VE
# spheres and angles between columns depend on the columns' units
ROTATING = no_axes, common_axes, own_axes


class Units(NamedTuple):
    """Spheres and angles are those of matrices times products of units."""

    products: Array  # (d, d)
    log_product: float  # of the diagonal: what a log determinant gains

    @classmethod
    def of(cls, units: Array) -> Self:
        """Units (d,) of the columns."""
        return cls(units[:, None] * units, 2.0 * float(np.log(units).sum()))


class Estimate(NamedTuple):
    """Covariances as their structures know them: the axes of arrays are reversed.

    Replicates are in the order of their structures: first those with axes, then the others.
    """

    values: Array  # (d, k, first of b): variances along axes
    whole: Array  # (d, d, k, last of b): covariances
    axes: list[tuple[slice, Array | None]]  # replicates and their axes; None: the columns
    units: Units  # that the axes are in
    back: Rows | None = None  # where the replicates are, if not in their places

    def covariances(self) -> Array:
        """Covariances (b, k, d, d)."""
        result = self._along_axes(self.values, 1.0 / self.units.products)
        result[..., self.values.shape[-1] :] = self.whole
        return self._in_place(result).T

    def precisions(self) -> tuple[Array, Array]:
        """Inverses (d, d, k, b) of the covariances, and the log determinants (k, b) of these."""
        first = self.values.shape[-1]
        result = self._along_axes(1.0 / self.values, self.units.products)
        logdet = np.empty(result.shape[2:])
        logdet[:, :first] = np.log(self.values).sum(axis=0)
        for rows, axes in self.axes:
            if axes is not None:
                logdet[:, rows] -= self.units.log_product
        if self.whole.size:
            result[..., first:], logdet[:, first:] = inverse(self.whole)
        return self._in_place(result), self._in_place(logdet)

    def _along_axes(self, values: Array, products: Array) -> Array:
        """Matrices (d, d, k, b) of replicates with axes, zero for the others."""
        d, k, first = values.shape
        result = np.zeros((d, d, k, first + self.whole.shape[-1]))
        for rows, axes in self.axes:
            if axes is None:
                diagonal(result)[..., rows] = values[..., rows]
            else:
                result[..., rows] = turned_back(axes, values[..., rows])
                result[..., rows] *= products[..., None, None]
        return result

    def _in_place(self, stack: Array) -> Array:
        """Replicates in their places."""
        return stack if self.back is None else stack.take(self.back, axis=-1)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # singular ones become NaN
def update(
    scatter: Array,
    sizes: Array,
    codes: Rows,
    previous: Previous | None = None,
    units: Units | None = None,
) -> Estimate:
    """Covariances of each replicate under the structure of its code."""
    units = Units.of(np.ones(scatter.shape[-1])) if units is None else units
    places = PLACES[codes]
    is_sorted = bool((places[1:] >= places[:-1]).all())
    order = np.arange(len(places)) if is_sorted else np.argsort(places, kind="stable")

    def start(kind: object, rows: slice) -> Array | None:
        if previous is None or kind not in ITERATIVE:
            return None
        chosen = order[rows]
        if kind is common_axes:
            return previous.axes(chosen) / units.products
        return previous.volumes(chosen)

    if is_sorted:
        return _update(scatter.T, sizes.T, places, start, units)
    stacks = scatter.T.take(order, axis=-1), sizes.T.take(order, axis=-1)
    result = _update(*stacks, places[order], start, units)
    return result._replace(back=np.argsort(order))


def _update(scatter: Array, sizes: Array, places: Rows, start: Start, units: Units) -> Estimate:
    """The same for ascending places, with the axes of arrays reversed."""
    products = units.products[..., None, None]
    ends = np.searchsorted(places, ALL_PLACES).tolist()

    def spans(runs: Sequence[Stretch]) -> Iterator[tuple[Any, slice]]:
        for kind, first, stop in runs:
            if ends[first] < ends[stop]:
                yield kind, slice(ends[first], ends[stop])

    values, whole, found = np.empty(scatter.shape[1:]), np.empty(scatter.shape), []
    for read, rows in spans(AXES):
        one, part = HAS_ONE_VOLUME[places[rows]], scatter[..., rows]
        part = part * products if read in ROTATING else part
        values[..., rows], axes = read(part, sizes[:, rows], one, start(read, rows))
        found.append((rows, axes))
    for (rule, is_whole), rows in spans(RULES):
        before, after = (scatter, whole) if is_whole else (values, values)
        after[..., rows] = rule(before[..., rows], sizes[:, rows], start(rule, rows))
    if ends[N_SPHERES]:
        values[..., : ends[N_SPHERES]] /= diagonal(products)
    first = ends[N_AXES]
    return Estimate(values[..., :first], whole[..., first:], found, units)
