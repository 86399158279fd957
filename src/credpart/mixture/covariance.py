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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Update = Callable[[Array, Array, Array | None], Array]

TOLERANCE = 1e-10  # relative change of volumes, or angle of a rotation, that ends an inner loop
MAX_INNER = 100
MAX_WARM = 1  # sweeps from good axes: EM only needs that the likelihood rises


def factor(matrices: Array) -> tuple[Array, Array]:
    """Inverse Cholesky factors and log determinants of stacked matrices (m, d, d).

    The stack is the last axis of the work arrays, so that each of the O(d) steps is one pass
    over all matrices: for small d several times faster than LAPACK matrix by matrix.  A matrix
    that is not positive definite gets NaN, and no exception ends the batch.
    """
    d = matrices.shape[-1]
    A = np.ascontiguousarray(np.moveaxis(matrices, 0, -1))
    L, inverse = np.zeros_like(A), np.zeros_like(A)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for j in range(d):
            column = A[j:, j] - np.einsum("ijm,jm->im", L[j:, :j], L[j, :j])
            L[j:, j] = column / np.sqrt(column[0])
            inverse[j, :j] = -np.einsum("im,ikm->km", L[j, :j], inverse[:j, :j])
            inverse[j, j] = 1.0
            inverse[j, : j + 1] /= L[j, j]
        logdet = 2.0 * np.log(np.einsum("jjm->jm", L)).sum(axis=0)
    return inverse, logdet


def log_determinant(matrices: Array) -> Array:
    """``log|A|`` of matrices (..., d, d); NaN where not positive definite."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    return factor(flat)[1].reshape(matrices.shape[:-2])


def _eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and axes; a matrix that is not finite gets NaN, and no exception."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(-2, -1)))
    values, axes = np.linalg.eigh(np.where(finite[..., None, None], matrices, 0.0))
    return np.where(finite[..., None], values, np.nan), axes


def _diagonal(matrices: Array) -> Array:
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def _diagonal_matrices(values: Array) -> Array:
    return values[..., None] * np.eye(values.shape[-1])


def _everywhere(common: Array, scatter: Array) -> Array:
    """One matrix a replicate (b, d, d), the same for all components."""
    return np.broadcast_to(common[:, None], scatter.shape)


def _geometric_mean(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        result: Array = np.exp(np.log(values).mean(axis=-1, keepdims=True))
        return result


def _equal_volumes(shapes: Array, volumes: Array, sizes: Array) -> Array:
    """``lam`` times shapes of determinant 1, ``lam = sum_k volumes_k / n``."""
    volume = volumes.sum(axis=-1) / sizes.sum(axis=-1)
    result: Array = volume.reshape(-1, *[1] * (shapes.ndim - 1)) * shapes
    return result


def _volumes(
    sizes: Array, shares: Callable[[Array], tuple[Array, Array]], previous: Array | None
) -> Array:
    """Logarithms ``l_k`` of own volumes that go with one shape, up to a common constant.

    With ``C = sum_k W_k exp(-l_k)``, the profile ``d sum_k n_k l_k + n log|C|`` is convex in l.
    ``shares(l)`` returns ``tr(T_k)`` (b, k) and ``tr(T_k T_h)`` (b, k, k) of
    ``T_k = C^-1 W_k exp(-l_k)``: its gradient and Hessian.  Newton's steps near the minimum;
    far from it the closed form of volumes given the shape, which never goes astray.
    """
    n = sizes.sum(axis=-1, keepdims=True)
    logs = np.zeros_like(sizes) if previous is None else previous
    unit = np.eye(sizes.shape[-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(MAX_INNER):
            traces, cross = shares(logs)
            target = traces.sum(axis=-1, keepdims=True) * sizes / n
            closed = np.where(sizes < 1e-12 * n, 0.0, np.log(traces / target))
            largest = np.abs(closed).max(axis=-1)[:, None, None]
            # 1.0: the profile is flat along (1, ..., 1); 1e-12: and without end if W_k is singular
            hessian = unit * (np.maximum(traces, sizes < 1e-12 * n) + 1e-12)[..., None]
            hessian += 1.0 - cross
            newton = np.linalg.solve(
                np.where(largest < 0.3, hessian, unit), (traces - target)[..., None]
            )
            logs = logs + np.where(largest < 0.3, newton, closed[..., None])[..., 0]
            if not (largest > np.sqrt(TOLERANCE)).any():  # the error is squared by each step
                break
    return logs


def _start_volumes(sizes: Array, traces: Array, previous: Array | None) -> Array | None:
    """Logarithms of the previous volumes relative to ``traces``; the shape is common to all."""
    if previous is None:
        return None
    ratio = _diagonal(previous).sum(axis=-1) * sizes / traces
    return np.log(np.where(ratio > 0.0, ratio, 1.0))


def _own_volumes_one_shape(values: Array, sizes: Array, previous: Array | None) -> Array:
    """Variances ``lam_k a_j`` that maximise the likelihood of sums of squares (b, k, d)."""

    def shares(logs: Array) -> tuple[Array, Array]:
        parts = start * np.exp(-logs)[..., None]
        parts /= parts.sum(axis=-2, keepdims=True)
        return parts.sum(axis=-1), parts @ parts.mT

    volume = values.sum(axis=-1, keepdims=True) / (values.shape[-1] * sizes[..., None])
    start = values / volume
    logs = _volumes(sizes, shares, _start_volumes(sizes, values.sum(axis=-1), previous))
    shape = (start * np.exp(-logs)[..., None]).sum(axis=-2, keepdims=True)
    shape /= _geometric_mean(shape)
    volume = (values / shape).sum(axis=-1, keepdims=True) / (values.shape[-1] * sizes[..., None])
    result: Array = volume * shape
    return result


def eii(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Spherical, equal volume: ``lam I``."""
    d = scatter.shape[-1]
    volume = _diagonal(scatter).sum(axis=(-2, -1)) / (d * sizes.sum(axis=-1))
    return np.broadcast_to(volume[:, None, None, None] * np.eye(d), scatter.shape)


def vii(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Spherical, own volume: ``lam_k I``."""
    d = scatter.shape[-1]
    result: Array = (_diagonal(scatter).sum(axis=-1) / (d * sizes))[..., None, None] * np.eye(d)
    return result


def eei(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Diagonal, equal volume and shape: ``lam A``."""
    variances = _diagonal(scatter).sum(axis=-2) / sizes.sum(axis=-1)[:, None]
    return _everywhere(_diagonal_matrices(variances), scatter)


def vei(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Diagonal, own volume, equal shape: ``lam_k A``."""
    return _diagonal_matrices(_own_volumes_one_shape(_diagonal(scatter), sizes, previous))


def evi(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Diagonal, equal volume, own shape: ``lam A_k``."""
    values = _diagonal(scatter)
    means = _geometric_mean(values)
    return _diagonal_matrices(_equal_volumes(values / means, means[..., 0], sizes))


def vvi(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Diagonal, own volume and shape: ``lam_k A_k``."""
    return _diagonal_matrices(_diagonal(scatter) / sizes[..., None])


def eee(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """One covariance for all: ``lam D A D'``."""
    return _everywhere(scatter.sum(axis=1) / sizes.sum(axis=-1)[:, None, None], scatter)


def vee(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Own volume, equal shape and orientation: ``lam_k C``."""
    d = scatter.shape[-1]

    def common(logs: Array) -> tuple[Array, Array]:
        parts = start * np.exp(-logs)[..., None, None]
        C = parts.sum(axis=1)
        half = np.moveaxis(factor(C)[0], -1, 0)[:, None]
        return C, half @ parts @ half.mT

    def shares(logs: Array) -> tuple[Array, Array]:
        parts = common(logs)[1]
        flat = parts.reshape(*parts.shape[:2], -1)
        return _diagonal(parts).sum(axis=-1), flat @ flat.mT

    traces = _diagonal(scatter).sum(axis=-1)
    volume = traces / (d * sizes)
    start = scatter / volume[..., None, None]
    logs = _volumes(sizes, shares, _start_volumes(sizes, traces, previous))
    C, parts = common(logs)
    traces = _diagonal(parts).sum(axis=-1) * np.exp(logs) * volume  # tr(W_k C^-1)
    result: Array = (traces / (d * sizes))[..., None, None] * C[:, None]
    return result


def eve(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Equal volume and orientation, own shape: ``lam D A_k D'``."""
    return _common_axes(scatter, sizes, previous, _variances_of_equal_volume, (eee,))


def vve(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Equal orientation, own volume and shape: ``lam_k D A_k D'``."""
    return _common_axes(scatter, sizes, previous, _variances_of_own_volume, (vee, eve))


def eev(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Equal volume and shape, own orientation: ``lam D_k A D_k'``."""
    eigenvalues, axes = _eigh(scatter)  # ascending, so shapes add up axis by axis
    pooled = eigenvalues.sum(axis=-2, keepdims=True) / sizes.sum(axis=-1)[:, None, None]
    result: Array = (axes * pooled[..., None, :]) @ axes.mT
    return result


def vev(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Equal shape, own volume and orientation: ``lam_k D_k A D_k'``."""
    eigenvalues, axes = _eigh(scatter)
    variances = _own_volumes_one_shape(np.maximum(eigenvalues, 0.0), sizes, previous)
    result: Array = (axes * variances[..., None, :]) @ axes.mT
    return result


def evv(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Equal volume, own shape and orientation: ``lam C_k``."""
    volumes = np.exp(log_determinant(scatter) / scatter.shape[-1])
    return _equal_volumes(scatter / volumes[..., None, None], volumes, sizes)


def vvv(scatter: Array, sizes: Array, previous: Array | None = None) -> Array:
    """Own covariance for each component: ``lam_k D_k A_k D_k'``."""
    return scatter / sizes[..., None, None]


def _variances_of_own_volume(values: Array, sizes: Array) -> Array:
    return values / sizes[..., None]


def _variances_of_equal_volume(values: Array, sizes: Array) -> Array:
    means = _geometric_mean(values)
    return _equal_volumes(values / means, means[..., 0], sizes)


Variances = Callable[[Array, Array], Array]


def _common_axes(
    scatter: Array,
    sizes: Array,
    previous: Array | None,
    variances: Variances,
    nested: Sequence[Update],
) -> Array:
    """Covariances ``D diag(variances_k) D'`` with the best common axes ``D``.

    Starts from the axes of the previous covariances (they share them), or from the coordinate
    axes and those of each of the nested structures: so these are never better.
    """
    if previous is not None:
        starts, sweeps = [previous], MAX_WARM
    else:
        unit = np.broadcast_to(np.eye(scatter.shape[-1]), scatter.shape)
        starts, sweeps = [unit, *(update(scatter, sizes, None) for update in nested)], MAX_INNER
    axes_tried = [_eigh(start.sum(axis=1))[1] for start in starts]
    tries = [_rotate_jointly(scatter, sizes, axes, variances, sweeps) for axes in axes_tried]
    costs = [(sizes[..., None] * np.log(values)).sum(axis=(1, 2)) for _, values in tries]
    best = np.argmin(np.nan_to_num(costs, nan=np.inf), axis=0)
    axes, fitted = (
        np.choose(best.reshape(-1, *[1] * (parts[0].ndim - 1)), parts)
        for parts in zip(*tries, strict=True)
    )
    result: Array = (axes[:, None] * fitted[..., None, :]) @ axes[:, None].mT
    return result


def _rotate_jointly(
    scatter: Array, sizes: Array, axes: Array, variances: Variances, sweeps: int
) -> tuple[Array, Array]:
    """Common axes by plane rotations [BM14]_, and the components' variances along them.

    With the variances fixed, the cost ``sum_kj d_j' W_k d_j / v_kj`` is in each plane
    ``x cos 2t + y sin 2t`` plus a constant: the best angle is closed, and the cost never rises.
    """
    d = axes.shape[-1]
    turned = axes[:, None].mT @ scatter @ axes[:, None]
    R = np.ascontiguousarray(np.moveaxis(turned, (-2, -1), (0, 1)))  # (d, d, b, k)
    D = np.ascontiguousarray(np.moveaxis(axes, -1, 0))[..., None]  # (d, b, d, 1): axis by axis
    for _ in range(sweeps):
        largest = 0.0
        precision = 1.0 / variances(np.moveaxis(np.einsum("jjbk->jbk", R), 0, -1), sizes)
        for i, j in combinations(range(d), 2):
            gap = precision[..., i] - precision[..., j]
            x = 0.5 * (gap * (R[i, i] - R[j, j])).sum(axis=-1)
            y = (gap * R[i, j]).sum(axis=-1)
            angle = 0.5 * np.arctan2(-y, -x)[:, None]
            cosine, sine = np.cos(angle), np.sin(angle)
            _turn(R, i, j, cosine, sine)
            _turn(np.swapaxes(R, 0, 1), i, j, cosine, sine)
            _turn(D, i, j, cosine[..., None], sine[..., None])
            # fmax: a singular replicate is NaN, and the others go on
            largest = max(largest, float(np.fmax.reduce(np.abs(sine), axis=None, initial=0.0)))
        if not largest > np.sqrt(TOLERANCE):  # the cost is flat at its minimum: angles squared
            break
    values = np.moveaxis(np.einsum("jjbk->jbk", R), 0, -1)
    return np.moveaxis(D[..., 0], 0, -1), variances(values, sizes)


def _turn(rows: Array, i: int, j: int, cosine: Array, sine: Array) -> None:
    """Turn rows i and j in their plane, in place."""
    first = cosine * rows[i] + sine * rows[j]
    rows[j] = cosine * rows[j] - sine * rows[i]
    rows[i] = first


class Structure(NamedTuple):
    """How a covariance structure is estimated, and what it costs in BIC."""

    update: Update
    n_free: Callable[[int, int], int]  # (c, d) -> number of free covariance parameters
    nested: tuple[str, ...]  # the structures directly below: special cases of this one
    rotates: bool = False  # depends on the angles between columns, hence on their relative scale
    diagonal: bool = False


def _pairs(d: int) -> int:
    return d * (d - 1) // 2


STRUCTURES: Mapping[str, Structure] = {
    "EII": Structure(eii, lambda c, d: 1, (), True, True),
    "VII": Structure(vii, lambda c, d: c, ("EII",), True, True),
    "EEI": Structure(eei, lambda c, d: d, ("EII",), False, True),
    "VEI": Structure(vei, lambda c, d: c + d - 1, ("VII", "EEI"), False, True),
    "EVI": Structure(evi, lambda c, d: 1 + c * (d - 1), ("EEI",), False, True),
    "VVI": Structure(vvi, lambda c, d: c * d, ("VEI", "EVI"), False, True),
    "EEE": Structure(eee, lambda c, d: d + _pairs(d), ("EEI",)),
    "VEE": Structure(vee, lambda c, d: c + d - 1 + _pairs(d), ("VEI", "EEE")),
    "EVE": Structure(eve, lambda c, d: 1 + c * (d - 1) + _pairs(d), ("EVI", "EEE"), True),
    "VVE": Structure(vve, lambda c, d: c * d + _pairs(d), ("VVI", "VEE", "EVE"), True),
    "EEV": Structure(eev, lambda c, d: d + c * _pairs(d), ("EEE",), True),
    "VEV": Structure(vev, lambda c, d: c + d - 1 + c * _pairs(d), ("VEE", "EEV"), True),
    "EVV": Structure(evv, lambda c, d: 1 + c * (d - 1 + _pairs(d)), ("EVE", "EEV")),
    "VVV": Structure(vvv, lambda c, d: c * (d + _pairs(d)), ("VVE", "VEV", "EVV")),
}
ONE_DIMENSION: Mapping[str, Structure] = {
    "E": Structure(eii, lambda c, d: 1, (), False, True),
    "V": Structure(vii, lambda c, d: c, ("E",), False, True),
}
