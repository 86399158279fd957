"""Covariance structures of Gaussian components [CG95]_.

``Sigma_k = lam_k D_k A_k D_k'``: volume, orientation, shape.  The three letters of a name say
for each of volume, shape and orientation whether it is Equal over components, Varies, or is
that of the Identity.  Estimates depend on the weighted scatter matrices and the sizes only: no
structure ever sees the data.  A structure is two choices: the axes along which scatter matrices
are read, and one of four rules for the volumes and shapes along these.

Shapes: ``scatter`` (b, k, d, d), ``sizes`` (b, k), result (b, k, d, d).  ``previous`` is a start
for the structures that iterate: covariances of the same shape, or None.

References
----------
.. [CG95] Celeux, Govaert: Gaussian parsimonious clustering models.  Pattern Recognition 28, 1995.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.axes import (
    Axes,
    along,
    any_axes,
    column_axes,
    common_axes,
    no_axes,
    own_axes,
)
from credpart.mixture.matrices import diagonal
from credpart.mixture.volumes import (
    Rule,
    one_volume_one_shape,
    one_volume_own_shape,
    own_volume_one_shape,
    own_volume_own_shape,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Structure(NamedTuple):
    """How a covariance structure is estimated, and what it costs in BIC."""

    axes: Axes
    rule: Rule
    n_free: Callable[[int, int], int]  # (c, d) -> number of free covariance parameters
    nested: tuple[str, ...]  # the structures directly below: special cases of this one
    rotates: bool = False  # depends on the angles between columns, hence on their relative scale

    @property
    def diagonal(self) -> bool:
        """Covariances are diagonal matrices."""
        return self.axes in (no_axes, column_axes)


def _pairs(d: int) -> int:
    return d * (d - 1) // 2


EE, VE = one_volume_one_shape, own_volume_one_shape
EV, VV = one_volume_own_shape, own_volume_own_shape
STRUCTURES: Mapping[str, Structure] = {
    "EII": Structure(no_axes, EE, lambda c, d: 1, (), True),
    "VII": Structure(no_axes, VV, lambda c, d: c, ("EII",), True),
    "EEI": Structure(column_axes, EE, lambda c, d: d, ("EII",)),
    "VEI": Structure(column_axes, VE, lambda c, d: c + d - 1, ("VII", "EEI")),
    "EVI": Structure(column_axes, EV, lambda c, d: 1 + c * (d - 1), ("EEI",)),
    "VVI": Structure(column_axes, VV, lambda c, d: c * d, ("VEI", "EVI")),
    "EEE": Structure(any_axes, EE, lambda c, d: d + _pairs(d), ("EEI",)),
    "VEE": Structure(any_axes, VE, lambda c, d: c + d - 1 + _pairs(d), ("VEI", "EEE")),
    "EVE": Structure(
        common_axes, EV, lambda c, d: 1 + c * (d - 1) + _pairs(d), ("EVI", "EEE"), True
    ),
    "VVE": Structure(common_axes, VV, lambda c, d: c * d + _pairs(d), ("VVI", "VEE", "EVE"), True),
    "EEV": Structure(own_axes, EE, lambda c, d: d + c * _pairs(d), ("EEE",), True),
    "VEV": Structure(own_axes, VE, lambda c, d: c + d - 1 + c * _pairs(d), ("VEE", "EEV"), True),
    "EVV": Structure(any_axes, EV, lambda c, d: 1 + c * (d - 1 + _pairs(d)), ("EVE", "EEV")),
    "VVV": Structure(any_axes, VV, lambda c, d: c * (d + _pairs(d)), ("VVE", "VEV", "EVV")),
}
ONE_DIMENSION: Mapping[str, Structure] = {
    "E": Structure(column_axes, EE, lambda c, d: 1, ()),
    "V": Structure(column_axes, VV, lambda c, d: c, ("E",)),
}
TABLE: dict[str, Structure] = {**STRUCTURES, **ONE_DIMENSION}
NAMES: tuple[str, ...] = tuple(TABLE)  # a structure's code is its place here


class Kinds(NamedTuple):
    """Distinct kinds of structures, and which one each code has."""

    distinct: Sequence[Any]
    of_code: Rows

    @classmethod
    def of(cls, kinds: Sequence[object]) -> Self:
        """The kinds of all codes."""
        distinct = list(dict.fromkeys(kinds))
        return cls(distinct, np.array([distinct.index(kind) for kind in kinds]))

    def split(self, codes: Rows) -> list[tuple[Rows | slice, Any]]:
        """Rows of each kind that the codes have."""
        place = self.of_code[codes]
        if (place == place[0]).all():
            return [(slice(None), self.distinct[place[0]])]
        found = np.flatnonzero(np.bincount(place)).tolist()
        return [(np.flatnonzero(place == i), self.distinct[i]) for i in found]


ROTATES = np.array([structure.rotates for structure in TABLE.values()])
HAS_ONE_VOLUME = np.array([structure.rule in (EE, EV) for structure in TABLE.values()])
AXES = Kinds.of([structure.axes for structure in TABLE.values()])
RULES = Kinds.of([structure.rule for structure in TABLE.values()])


def update(scatter: Array, sizes: Array, codes: Rows, previous: Array | None = None) -> Array:
    """Covariances (b, k, d, d) of each replicate under the structure of its code."""

    def start(rows: Rows | slice) -> Array | None:
        return None if previous is None else previous[rows]

    matrices, result = np.empty_like(scatter), np.empty_like(scatter)
    turned = []
    for rows, read in AXES.split(codes):
        one = HAS_ONE_VOLUME[codes[rows]]
        matrices[rows], axes = read(scatter[rows], sizes[rows], one, start(rows))
        if axes is not None:
            turned.append((rows, axes))
    for rows, rule in RULES.split(codes):
        result[rows] = rule(matrices[rows], sizes[rows], start(rows))
    for rows, axes in turned:
        result[rows] = along(axes, diagonal(result[rows]))
    return result
