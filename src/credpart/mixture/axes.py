"""Axes of components: what structures leave of scatter matrices, by the axes that they allow.

Shapes: ``scatter`` (b, k, d, d), ``sizes`` (b, k).  The result is scatter matrices along the
axes, and the axes (b, k or 1, d, d), or None where there is nothing to turn back: the axes are the
columns, or the matrices stay whole.  ``has_one_volume`` (b,) and ``previous``, covariances or None,
are for the axes that depend on volumes.

References
----------
.. [BM14] Browne, McNicholas: Estimating common principal components in high dimensions.
   Advances in Data Analysis and Classification 8, 2014.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.matrices import diagonal
from credpart.mixture.volumes import (
    MAX_INNER,
    TOLERANCE,
    one_volume_one_shape,
    own_volume_one_shape,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Axes = Callable[[Array, Array, Mask, Array | None], tuple[Array, Array | None]]

SWEEPS = 5  # of rotations, before starts are compared and what has converged is left out


def any_axes(scatter: Array, *_: object) -> tuple[Array, None]:
    """Whole matrices: their rule finds the axes too."""
    return scatter, None


def no_axes(scatter: Array, *_: object) -> tuple[Array, None]:
    """Spheres of the same trace."""
    means = diagonal(scatter).mean(axis=-1, keepdims=True)
    return _diagonal_matrices(np.broadcast_to(means, scatter.shape[:-1])), None


def column_axes(scatter: Array, *_: object) -> tuple[Array, None]:
    """The coordinate axes."""
    return _diagonal_matrices(diagonal(scatter)), None


def own_axes(scatter: Array, *_: object) -> tuple[Array, Array]:
    """Own axes: those of each scatter matrix."""
    values, axes = _eigh(scatter)  # ascending, so shapes add up axis by axis
    return _diagonal_matrices(np.maximum(values, 0.0)), axes  # rounding


def common_axes(
    scatter: Array, sizes: Array, has_one_volume: Mask, previous: Array | None
) -> tuple[Array, Array]:
    """The best axes that all components share, each with its own shape.

    From the axes of the previous covariances EM only needs that the likelihood rises.  Without
    them several starts are tried: those of the nested structures are among them, so that these
    are never better.
    """
    if previous is not None:
        # unequal weights, lest a sum be a sphere where its terms are none
        weights = 1.0 / np.arange(1.0, previous.shape[1] + 1.0)
        start = _eigh(np.einsum("bkij,k->bij", previous, weights))[1]
        axes, values, _ = _rotate_jointly(scatter, sizes, has_one_volume, start, 1)
        return _diagonal_matrices(values), axes[:, None]
    plain = np.broadcast_to(np.eye(scatter.shape[-1]), scatter[:, 0].shape)
    nested = (rule(scatter, sizes)[:, 0] for rule in (one_volume_one_shape, own_volume_one_shape))
    starts = np.stack([plain, *(_eigh(matrices)[1] for matrices in nested)])
    axes, values = _best_axes(scatter, sizes, np.ones(len(scatter), dtype=bool), starts)
    rows = np.flatnonzero(~has_one_volume)
    if len(rows):
        starts = np.concatenate([starts[:, rows], axes[None, rows]])
        axes[rows], values[rows] = _best_axes(
            scatter[rows], sizes[rows], has_one_volume[rows], starts
        )
    return _diagonal_matrices(values), axes[:, None]


def along(axes: Array, values: Array) -> Array:
    """``D diag(values) D'``."""
    result: Array = (axes * values[..., None, :]) @ axes.mT
    return result


def _eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and axes; a matrix that is not finite gets NaN, and no exception."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(-2, -1), keepdims=True))
    if finite.all():
        return np.linalg.eigh(matrices)
    values, axes = np.linalg.eigh(np.where(finite, matrices, 0.0))
    return np.where(finite[..., 0], values, np.nan), axes


def _diagonal_matrices(values: Array) -> Array:
    return values[..., None] * np.eye(values.shape[-1])


def _variances(values: Array, sizes: Array, has_one_volume: Mask) -> Array:
    """Variances along the axes out of sums of squares (b, k, d), with own shapes."""
    with np.errstate(divide="ignore"):
        means = np.exp(np.log(values).mean(axis=-1))
    one = means * (sizes.sum(axis=-1) / means.sum(axis=-1))[:, None]
    result: Array = values / np.where(has_one_volume[:, None], one, sizes)[..., None]
    return result


def _best_axes(
    scatter: Array, sizes: Array, has_one_volume: Mask, starts: Array
) -> tuple[Array, Array]:
    """Common axes from starts (s, b, d, d): after some sweeps the best one goes to its end."""
    s, b = starts.shape[:2]
    many = np.tile(np.arange(b), s)
    tried = _rotate_jointly(
        scatter[many], sizes[many], has_one_volume[many], np.concatenate(starts), SWEEPS
    )
    logs = np.log(_variances(tried[1], sizes[many], has_one_volume[many]))
    costs = (sizes[many, :, None] * logs).sum(axis=(1, 2)).reshape(s, b)
    best = np.argmin(np.nan_to_num(costs, nan=np.inf), axis=0) * b + np.arange(b)
    axes, values, turned = (array[best] for array in tried)
    for _ in range(MAX_INNER // SWEEPS):
        # the cost is flat at its minimum: angles squared
        going = np.flatnonzero(turned > np.sqrt(TOLERANCE))
        if not len(going):
            break
        axes[going], values[going], turned[going] = _rotate_jointly(
            scatter[going], sizes[going], has_one_volume[going], axes[going], SWEEPS
        )
    return axes, values


def _rotate_jointly(
    scatter: Array, sizes: Array, has_one_volume: Mask, axes: Array, sweeps: int
) -> tuple[Array, Array, Array]:
    """Common axes by plane rotations [BM14]_, sums of squares (b, k, d) along them, and sines.

    With the variances fixed, the cost ``sum_kj d_j' W_k d_j / v_kj`` is in each plane
    ``x cos 2t + y sin 2t`` plus a constant: the best angle is closed, and the cost never rises.
    The sines (b,) are the largest of the last sweep.
    """
    b, k, d, _ = scatter.shape
    both = np.empty((d, d, b, k + 1))  # scatter matrices along the axes, and the axes
    both[..., :k] = (axes[:, None].mT @ scatter @ axes[:, None]).transpose(2, 3, 0, 1)
    both[..., k] = axes.transpose(2, 1, 0)
    R = both[..., :k]
    values = np.einsum("jjbk->bkj", R)  # a view: it turns with R
    largest = np.zeros(b)
    for _ in range(sweeps):
        largest[:] = 0.0
        precision = (1.0 / _variances(values, sizes, has_one_volume)).transpose(2, 0, 1)
        for i, j in combinations(range(d), 2):
            gap = precision[i] - precision[j]
            x = 0.5 * np.einsum("bk,bk->b", gap, R[i, i] - R[j, j])
            y = np.einsum("bk,bk->b", gap, R[i, j])
            angle = 0.5 * np.arctan2(0.0 - y, 0.0 - x)[:, None]
            cosine, sine = np.cos(angle), np.sin(angle)  # no turn, not half a one, if x = y = 0
            _turn(both, i, j, cosine, sine)
            _turn(np.swapaxes(R, 0, 1), i, j, cosine, sine)
            # fmax: a singular replicate is NaN, and the others go on
            np.fmax(largest, np.abs(sine[:, 0]), out=largest)
    return both[..., k].transpose(2, 1, 0), values, largest


def _turn(rows: Array, i: int, j: int, cosine: Array, sine: Array) -> None:
    """Turn rows i and j in their plane, in place."""
    first = cosine * rows[i] + sine * rows[j]
    rows[j] = cosine * rows[j] - sine * rows[i]
    rows[i] = first
