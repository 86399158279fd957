"""Covariance structures of Gaussian components [CG95]_, [BM14]_.

``Sigma_k = lam_k D_k A_k D_k'``: volume, orientation, shape.  The three letters of a name say
for each of volume, shape and orientation whether it is Equal over components, Varies, or is
that of the Identity.  Every structure is one pure function of the weighted scatter matrices
and the sizes, which are sufficient: no structure ever sees the data.

Shapes: ``scatter`` (b, k, d, d), ``sizes`` (b, k), result (b, k, d, d).  ``previous`` is a start
for the structures that iterate: covariances of the same shape, or None.

References
----------
.. [CG95] Celeux, Govaert: Gaussian parsimonious clustering models.  Pattern Recognition 28, 1995.
.. [BM14] Browne, McNicholas: Estimating common principal components in high dimensions.
   Advances in Data Analysis and Classification 8, 2014.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.variances import (
    MAX_INNER,
    TOLERANCE,
    Variances,
    diagonal,
    equal_volumes,
    one_variance,
    one_volume_one_shape,
    one_volume_own_shape,
    own_variance,
    own_volume_one_shape,
    own_volume_own_shape,
    solve_volumes,
    start_volumes,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

SWEEPS = 5  # of rotations, before starts are compared and what has converged is left out


def factor(matrices: Array) -> tuple[Array, Array]:
    """Inverse Cholesky factors (d, d, m) and log determinants of stacked matrices (m, d, d).

    Gauss's elimination of the matrices beside the identity.  The stack is the last axis of the
    work array, so that each of the O(d) steps is one pass over all matrices: for small d several
    times faster than LAPACK matrix by matrix.  A matrix that is not positive definite gets NaN,
    and no exception ends the batch.
    """
    d = matrices.shape[-1]
    both = np.zeros((d, 2 * d, len(matrices)))
    both[:, :d] = matrices.transpose(1, 2, 0)
    both[range(d), range(d, 2 * d)] = 1.0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for j in range(d):
            row = both[j, j : d + j + 1]  # it is zero elsewhere
            row /= np.sqrt(row[0])
            both[j + 1 :, j : d + j + 1] -= row[1 : d - j, None] * row
        logdet = 2.0 * np.log(both.diagonal()).sum(axis=-1)
    return both[:, d:], logdet


def log_determinant(matrices: Array) -> Array:
    """``log|A|`` of matrices (..., d, d); NaN where not positive definite."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    return factor(flat)[1].reshape(matrices.shape[:-2])


def _eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and axes; a matrix that is not finite gets NaN, and no exception."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(-2, -1)))
    values, axes = np.linalg.eigh(np.where(finite[..., None, None], matrices, 0.0))
    return np.where(finite[..., None], values, np.nan), axes


def _diagonal_matrices(values: Array) -> Array:
    return values[..., None] * np.eye(values.shape[-1])


def _along(axes: Array, values: Array) -> Array:
    """``D diag(values) D'``."""
    result: Array = (axes * values[..., None, :]) @ axes.mT
    return result


# Covariances of replicates whose structures are estimated in the same way; a structure's own
# part is `variances`, and each group says which rows it is for.
Groups = Sequence[tuple[Rows | slice, Variances]]


def _variances(groups: Groups, values: Array, sizes: Array, previous: Array | None) -> Array:
    """Variances along the axes, each replicate by its own rule."""
    result = np.empty_like(values)
    for rows, variances in groups:
        start = None if previous is None else previous[rows]
        result[rows] = variances(values[rows], sizes[rows], start)
    return result


def fixed_axes(scatter: Array, sizes: Array, groups: Groups, previous: Array | None) -> Array:
    """The coordinate axes."""
    return _diagonal_matrices(_variances(groups, diagonal(scatter), sizes, previous))


def own_axes(scatter: Array, sizes: Array, groups: Groups, previous: Array | None) -> Array:
    """Own axes: those of each scatter matrix."""
    values, axes = _eigh(scatter)  # ascending, so shapes add up axis by axis
    return _along(axes, _variances(groups, values, sizes, previous))


def common_axes(scatter: Array, sizes: Array, groups: Groups, previous: Array | None) -> Array:
    """The best axes that all components share.

    From the axes of the previous covariances EM only needs that the likelihood rises.  Without
    them several starts are tried: those of the nested structures are among them, so that these
    are never better.
    """
    if previous is not None:
        start = _eigh(previous.sum(axis=1))[1]
        axes, values, _ = _rotate_jointly(scatter, sizes, start, groups, 1)
        return _along(axes[:, None], values)
    plain = np.broadcast_to(np.eye(scatter.shape[-1]), scatter[:, 0].shape)
    others = (_eigh(matrices[:, 0])[1] for matrices in (eee(scatter, sizes), vee(scatter, sizes)))
    starts = np.stack([plain, *others])
    axes, values = _best_axes(scatter, sizes, starts, one_volume_own_shape)
    for rows, variances in groups:
        if variances is not one_volume_own_shape:
            nested = np.concatenate([starts[:, rows], axes[None, rows]])
            axes[rows], values[rows] = _best_axes(scatter[rows], sizes[rows], nested, variances)
    return _along(axes[:, None], values)


def _best_axes(
    scatter: Array, sizes: Array, starts: Array, variances: Variances
) -> tuple[Array, Array]:
    """Common axes from starts (s, b, d, d): after some sweeps the best one goes to its end."""
    s, b = starts.shape[:2]
    groups = [(slice(None), variances)]
    many = np.tile(scatter, (s, 1, 1, 1)), np.tile(sizes, (s, 1))
    tried = _rotate_jointly(*many, starts.reshape(s * b, *starts.shape[2:]), groups, SWEEPS)
    costs = (many[1][..., None] * np.log(tried[1])).sum(axis=(1, 2)).reshape(s, b)
    best = np.argmin(np.nan_to_num(costs, nan=np.inf), axis=0) * b + np.arange(b)
    axes, values, turned = (array[best] for array in tried)
    for _ in range(MAX_INNER // SWEEPS):
        # the cost is flat at its minimum: angles squared
        going = np.flatnonzero(turned > np.sqrt(TOLERANCE))
        if not len(going):
            break
        axes[going], values[going], turned[going] = _rotate_jointly(
            scatter[going], sizes[going], axes[going], groups, SWEEPS
        )
    return axes, values


def _rotate_jointly(
    scatter: Array, sizes: Array, axes: Array, groups: Groups, sweeps: int
) -> tuple[Array, Array, Array]:
    """Common axes by plane rotations [BM14]_, the components' variances along them, and sines.

    With the variances fixed, the cost ``sum_kj d_j' W_k d_j / v_kj`` is in each plane
    ``x cos 2t + y sin 2t`` plus a constant: the best angle is closed, and the cost never rises.
    The sines (b,) are the largest of the last sweep.
    """
    d = axes.shape[-1]
    turned = axes[:, None].mT @ scatter @ axes[:, None]
    R = np.ascontiguousarray(turned.transpose(2, 3, 0, 1))  # (d, d, b, k)
    D = np.ascontiguousarray(axes.transpose(2, 0, 1))[..., None]  # (d, b, d, 1): axis by axis
    values = np.einsum("jjbk->bkj", R)  # a view: it turns with R
    largest = np.zeros(len(scatter))
    for _ in range(sweeps):
        largest[:] = 0.0
        precision = (1.0 / _variances(groups, values, sizes, None)).transpose(2, 0, 1)
        for i, j in combinations(range(d), 2):
            gap = precision[i] - precision[j]
            x = 0.5 * (gap * (R[i, i] - R[j, j])).sum(axis=-1)
            y = (gap * R[i, j]).sum(axis=-1)
            angle = 0.5 * np.arctan2(-y, -x)[:, None]
            cosine, sine = np.cos(angle), np.sin(angle)
            _turn(R, i, j, cosine, sine)
            _turn(np.swapaxes(R, 0, 1), i, j, cosine, sine)
            _turn(D, i, j, cosine[..., None], sine[..., None])
            # fmax: a singular replicate is NaN, and the others go on
            np.fmax(largest, np.abs(sine[:, 0]), out=largest)
    return D[..., 0].transpose(1, 2, 0), _variances(groups, values, sizes, None), largest


def _turn(rows: Array, i: int, j: int, cosine: Array, sine: Array) -> None:
    """Turn rows i and j in their plane, in place."""
    first = cosine * rows[i] + sine * rows[j]
    rows[j] = cosine * rows[j] - sine * rows[i]
    rows[i] = first


def eee(scatter: Array, sizes: Array, *_: object) -> Array:
    """One covariance for all: ``lam D A D'``."""
    common = scatter.sum(axis=1) / sizes.sum(axis=-1)[:, None, None]
    return np.broadcast_to(common[:, None], scatter.shape)


def vee(scatter: Array, sizes: Array, groups: Groups = (), previous: Array | None = None) -> Array:
    """Own volume, equal shape and orientation: ``lam_k C``."""
    b, k, d, _ = scatter.shape

    def scaled(logs: Array) -> Array:
        return start * np.exp(-logs)[..., None, None]

    def shares(logs: Array) -> tuple[Array, Array]:
        parts = scaled(logs)
        half, _ = factor(parts.sum(axis=1))
        products = parts.reshape(b, k * d, d) @ np.einsum("ijb,ilb->bjl", half, half)
        products = products.reshape(b, k, d, d)
        flat = products.reshape(b, k, -1)
        return diagonal(products).sum(axis=-1), flat @ products.mT.reshape(b, k, -1).mT

    traces = diagonal(scatter).sum(axis=-1)
    volume = traces / (d * sizes)
    start = scatter / volume[..., None, None]
    logs = solve_volumes(sizes, shares, start_volumes(sizes, traces, previous))
    common = scaled(logs).sum(axis=1) / sizes.sum(axis=-1)[:, None, None]
    result: Array = (volume * np.exp(logs))[..., None, None] * common[:, None]
    return result


def evv(scatter: Array, sizes: Array, *_: object) -> Array:
    """Equal volume, own shape and orientation: ``lam C_k``."""
    volumes = np.exp(log_determinant(scatter) / scatter.shape[-1])
    return equal_volumes(scatter / volumes[..., None, None], volumes, sizes)


def vvv(scatter: Array, sizes: Array, *_: object) -> Array:
    """Own covariance for each component: ``lam_k D_k A_k D_k'``."""
    result: Array = scatter / sizes[..., None, None]
    return result


class Structure(NamedTuple):
    """How a covariance structure is estimated, and what it costs in BIC."""

    estimate: Callable[[Array, Array, Groups, Array | None], Array]  # together with its like
    variances: Variances | None  # along the axes, where these come first
    n_free: Callable[[int, int], int]  # (c, d) -> number of free covariance parameters
    nested: tuple[str, ...]  # the structures directly below: special cases of this one
    rotates: bool = False  # depends on the angles between columns, hence on their relative scale
    diagonal: bool = False


def _pairs(d: int) -> int:
    return d * (d - 1) // 2


STRUCTURES: Mapping[str, Structure] = {
    "EII": Structure(fixed_axes, one_variance, lambda c, d: 1, (), True, True),
    "VII": Structure(fixed_axes, own_variance, lambda c, d: c, ("EII",), True, True),
    "EEI": Structure(fixed_axes, one_volume_one_shape, lambda c, d: d, ("EII",), False, True),
    "VEI": Structure(
        fixed_axes, own_volume_one_shape, lambda c, d: c + d - 1, ("VII", "EEI"), False, True
    ),
    "EVI": Structure(
        fixed_axes, one_volume_own_shape, lambda c, d: 1 + c * (d - 1), ("EEI",), False, True
    ),
    "VVI": Structure(
        fixed_axes, own_volume_own_shape, lambda c, d: c * d, ("VEI", "EVI"), False, True
    ),
    "EEE": Structure(eee, None, lambda c, d: d + _pairs(d), ("EEI",)),
    "VEE": Structure(vee, None, lambda c, d: c + d - 1 + _pairs(d), ("VEI", "EEE")),
    "EVE": Structure(
        common_axes,
        one_volume_own_shape,
        lambda c, d: 1 + c * (d - 1) + _pairs(d),
        ("EVI", "EEE"),
        True,
    ),
    "VVE": Structure(
        common_axes,
        own_volume_own_shape,
        lambda c, d: c * d + _pairs(d),
        ("VVI", "VEE", "EVE"),
        True,
    ),
    "EEV": Structure(
        own_axes, one_volume_one_shape, lambda c, d: d + c * _pairs(d), ("EEE",), True
    ),
    "VEV": Structure(
        own_axes,
        own_volume_one_shape,
        lambda c, d: c + d - 1 + c * _pairs(d),
        ("VEE", "EEV"),
        True,
    ),
    "EVV": Structure(evv, None, lambda c, d: 1 + c * (d - 1 + _pairs(d)), ("EVE", "EEV")),
    "VVV": Structure(vvv, None, lambda c, d: c * (d + _pairs(d)), ("VVE", "VEV", "EVV")),
}
ONE_DIMENSION: Mapping[str, Structure] = {
    "E": Structure(fixed_axes, one_variance, lambda c, d: 1, (), False, True),
    "V": Structure(fixed_axes, own_variance, lambda c, d: c, ("E",), False, True),
}
TABLE: dict[str, Structure] = {**STRUCTURES, **ONE_DIMENSION}
NAMES: tuple[str, ...] = tuple(TABLE)  # a structure's code is its place here


ROTATES = np.array([structure.rotates for structure in TABLE.values()])


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
        return [(np.flatnonzero(place == i), self.distinct[i]) for i in np.bincount(place).nonzero()[0]]


ESTIMATES = Kinds.of([structure.estimate for structure in TABLE.values()])
VARIANCES = Kinds.of([structure.variances for structure in TABLE.values()])


def update(scatter: Array, sizes: Array, codes: Rows, previous: Array | None = None) -> Array:
    """Covariances (b, k, d, d) of each replicate under the structure of its code."""
    result = np.empty_like(scatter)
    for rows, estimate in ESTIMATES.split(codes):
        start = None if previous is None else previous[rows]
        groups = VARIANCES.split(codes[rows])
        result[rows] = estimate(scatter[rows], sizes[rows], groups, start)
    return result
