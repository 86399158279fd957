"""Axes of components: what structures leave of scatter matrices, by the axes that they allow.

Shapes: ``scatter`` (d, d, k, b), ``sizes`` (k, b).  The result is sums of squares (d, k, b) along
the axes, or (k, b) of spheres, and the axes (b, k or 1, d, d), or None if they are the columns.
``has_one_volume`` (b,) and ``previous``, matrices (b, d, d) or None, are for axes that depend on
volumes.

References
----------
.. [BM14] Browne, McNicholas: Estimating common principal components in high dimensions.
   Advances in Data Analysis and Classification 8, 2014.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.covariance.matrices import diagonal, turn
from credpart.mixture.covariance.volumes import (
    TOLERANCE,
    one_volume_one_shape,
    own_volume_one_shape,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Axes = Callable[[Array, Array, Mask, Array | None], tuple[Array, Array | None]]

ABSENT = 1e-290  # size of a component without observations: finite everywhere, felt nowhere
SWEEPS = 2  # of rotations, before starts are compared and what has converged is left out
ROUNDS = 500  # of sweeps, at the most
ROUNDING = 1e-12  # of the cost


def any_axes(scatter: Array, *_: object) -> tuple[Array, None]:
    """Whole matrices, which are not read along axes: their rule finds these too."""
    return scatter, None


def no_axes(scatter: Array, *_: object) -> tuple[Array, None]:
    """Spheres of the same trace."""
    return diagonal(scatter).sum(axis=0) / len(scatter), None


def column_axes(scatter: Array, *_: object) -> tuple[Array, None]:
    """The coordinate axes."""
    return diagonal(scatter), None


def own_axes(scatter: Array, sizes: Array, *_: object) -> tuple[Array, Array]:
    """Own axes: those of each scatter matrix."""
    matrices, present = scatter.T, sizes.T > ABSENT
    if present.all():
        values, axes = _eigh(matrices)  # ascending, so shapes add up axis by axis
    else:
        values, axes = np.full(matrices.shape[:-1], ABSENT), np.empty(matrices.shape)
        axes[:] = np.eye(len(scatter))
        values[present], axes[present] = _eigh(matrices[present])
    return np.maximum(values, 0.0).T, axes  # rounding


def common_axes(
    scatter: Array, sizes: Array, has_one_volume: Mask, previous: Array | None
) -> tuple[Array, Array]:
    """The best axes that all components share, each with its own shape.

    From the axes of previous matrices EM only needs that the likelihood rises.  Without them
    several starts are tried: those of the nested structures are among them, so that these
    are never better.
    """
    if previous is not None:
        start = _eigh(previous)[1]
        axes, values, _ = _rotate_jointly(scatter.T, sizes.T, has_one_volume, start, 1)
        return values.T, axes[:, None]
    axes, values = _solve_axes(scatter, sizes, has_one_volume)
    return values.T, axes[:, None]


def _solve_axes(scatter: Array, sizes: Array, has_one_volume: Mask) -> tuple[Array, Array]:
    """Common axes (b, d, d) and sums of squares (b, k, d) along them, from several starts."""
    plain = np.broadcast_to(np.eye(len(scatter)), scatter[:, :, 0].T.shape)
    nested = _eigh(one_volume_one_shape(scatter, sizes)[:, :, 0].T)[1]
    is_one = np.ones_like(has_one_volume)
    axes, values = _to_the_end(scatter.T, sizes.T, is_one, [plain, nested])
    rows = np.flatnonzero(~has_one_volume)
    if len(rows):
        some = scatter[..., rows], sizes[:, rows]
        nested = _eigh(own_volume_one_shape(*some)[:, :, 0].T)[1]
        starts = [plain[rows], nested, axes[rows]]
        axes[rows], values[rows] = _to_the_end(some[0].T, some[1].T, ~is_one[rows], starts)
    return axes, values


def _to_the_end(
    scatter: Array, sizes: Array, has_one_volume: Mask, starts: Sequence[Array]
) -> tuple[Array, Array]:
    """Common axes and sums of squares along them, from the best of some starts (b, d, d)."""
    axes = _best_axes(scatter, sizes, has_one_volume, starts)
    values, going = np.empty(scatter.shape[:-1]), np.arange(len(axes))
    for _ in range(ROUNDS):
        axes[going], values[going], angles = _rotate_jointly(
            scatter[going], sizes[going], has_one_volume[going], axes[going], SWEEPS
        )
        going = going[np.abs(angles).max(axis=(1, 2)) > np.sqrt(TOLERANCE)]
        if not len(going):
            break
    return axes, values


def turned_back(axes: Array, values: Array) -> Array:
    """``D diag(values) D'``, shape (d, d, k, b)."""
    columns = np.ascontiguousarray(axes.T)
    result: Array = np.einsum("likb,ljkb->ijkb", columns * values[:, None], columns)
    return result


def _eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and axes; a matrix that is not finite gets NaN, and no exception."""
    if np.isfinite(matrices).all():
        return np.linalg.eigh(matrices)
    finite = np.asarray(np.isfinite(matrices).all(axis=(-2, -1), keepdims=True))
    values, axes = np.linalg.eigh(np.where(finite, matrices, 0.0))
    return np.where(finite[..., 0], values, np.nan), axes


def _best_axes(
    scatter: Array, sizes: Array, has_one_volume: Mask, starts: Sequence[Array]
) -> Array:
    """The best common axes (b, d, d), from starts of the same shape, after some sweeps."""
    s, b = len(starts), len(scatter)
    many = np.tile(np.arange(b), s)
    sizes, has_one_volume = sizes[many], has_one_volume[many]
    start = np.concatenate(starts)
    axes, values, _ = _rotate_jointly(scatter[many], sizes, has_one_volume, start, SWEEPS)
    logs = np.log(_precisions(values, sizes, has_one_volume)).sum(axis=-1)
    gains = np.nan_to_num((sizes * logs).sum(axis=-1), nan=-np.inf).reshape(s, b)
    best: Array = axes[np.argmax(gains, axis=0) * b + np.arange(b)]
    return best


def _rotate_jointly(
    scatter: Array, sizes: Array, has_one_volume: Mask, axes: Array, sweeps: int
) -> tuple[Array, Array, Array]:
    """Common axes (b, d, d), sums of squares (b, k, d), and the last angles (b, d, d).

    Here the stack is first, of scatter matrices (b, k, d, d) and sizes (b, k) too: products of
    matrices that share a factor are quick.
    """
    R = turn(scatter, axes)
    for _ in range(sweeps):
        precisions = _precisions(np.diagonal(R, axis1=2, axis2=3), sizes, has_one_volume)
        angles = _angles(R, precisions)
        R, rotations = _rotate(R, precisions, angles)
        axes = axes @ rotations
    return axes, np.diagonal(R, axis1=2, axis2=3), angles


def _precisions(values: Array, sizes: Array, has_one_volume: Mask) -> Array:
    """Precisions along the axes out of sums of squares (b, k, d), with own shapes."""
    volumes = np.exp(np.log(values).sum(axis=-1) / values.shape[-1])
    one = volumes * (sizes.sum(axis=-1) / volumes.sum(axis=-1))[:, None]
    result: Array = np.where(has_one_volume[:, None], one, sizes)[..., None] / values
    return result


def _angles(R: Array, precisions: Array) -> Array:
    """The best angle (b, d, d) in each plane if only this one turned [BM14]_.

    With the precisions fixed, the cost ``sum_kj p_kj d_j' W_k d_j`` is in a plane
    ``x cos 2t + y sin 2t`` plus a constant.
    """
    sums = precisions.mT @ np.diagonal(R, axis1=2, axis2=3)
    own = np.diagonal(sums, axis1=1, axis2=2)
    x = 0.5 * (own[:, None] + own[..., None] - sums - sums.mT)
    y = (precisions[..., None] * R).sum(axis=1)
    # x is not positive: large precisions go with small sums of squares
    result: Array = 0.5 * np.arctan2(y.mT - y, np.maximum(0.0 - x, 0.0))
    return result


def _rotate(R: Array, precisions: Array, angles: Array) -> tuple[Array, Array]:
    """Turn in all planes at once, and less far where the cost would rise; rotations (b, d, d)."""
    eye = np.eye(R.shape[-1])
    rotations = 2.0 * np.linalg.inv(eye + np.tan(0.5 * angles)) - eye  # Cayley's
    turned = turn(R, rotations)
    before, after = (
        (precisions * np.diagonal(matrices, axis1=2, axis2=3)).sum(axis=(1, 2))
        for matrices in (R, turned)
    )
    worse = after > (1.0 + ROUNDING) * before
    if worse.any():
        shorter = R[worse], precisions[worse], 0.25 * angles[worse]
        turned[worse], rotations[worse] = _rotate(*shorter)
    return turned, rotations
