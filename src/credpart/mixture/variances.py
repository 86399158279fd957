"""Variances of components along axes that are given: volumes and shapes, equal or own.

Shapes: ``values`` (b, k, d), the sums of squares along the axes; ``sizes`` (b, k); result
(b, k, d).  ``previous``, covariances or None, is where the rule that iterates starts.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Variances = Callable[[Array, Array, Array | None], Array]

TOLERANCE = 1e-10  # relative change of volumes, or angle of a rotation, that ends an inner loop
MAX_INNER = 100
WARM_ERROR = 0.05  # of logarithms of volumes, before the last step from a good start


def diagonal(matrices: Array) -> Array:
    """Diagonals of matrices (..., d, d)."""
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def _geometric_mean(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        result: Array = np.exp(np.log(values).mean(axis=-1, keepdims=True))
        return result


def equal_volumes(shapes: Array, volumes: Array, sizes: Array) -> Array:
    """``lam`` times shapes of determinant 1, ``lam = sum_k volumes_k / n``."""
    volume = volumes.sum(axis=-1) / sizes.sum(axis=-1)
    result: Array = volume.reshape(-1, *[1] * (shapes.ndim - 1)) * shapes
    return result


def solve_volumes(
    sizes: Array, shares: Callable[[Array], tuple[Array, Array]], previous: Array | None
) -> Array:
    """Logarithms ``l_k`` of own volumes that go with one shape, up to a common constant.

    With ``C = sum_k W_k exp(-l_k)``, the profile ``d sum_k n_k l_k + n log|C|`` is convex in l.
    ``shares(l)`` returns ``tr(T_k)`` (b, k) and ``tr(T_k T_h)`` (b, k, k) of
    ``T_k = C^-1 W_k exp(-l_k)``: its gradient and Hessian.  Newton's steps near the minimum;
    far from it the closed form of volumes given the shape, which never goes astray.
    """
    n = sizes.sum(axis=-1, keepdims=True)
    absent = sizes < 1e-12 * n
    logs, enough = np.zeros_like(sizes), np.sqrt(TOLERANCE)  # a step squares the error
    if previous is not None:
        logs, enough = previous, WARM_ERROR
    unit = np.eye(sizes.shape[-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(MAX_INNER):
            traces, cross = shares(logs)
            target = traces.sum(axis=-1, keepdims=True) * sizes / n
            closed = np.where(absent, 0.0, np.log(traces / target))
            error = np.abs(closed).max(axis=-1)[:, None, None]
            # 1.0: the profile is flat along (1, ..., 1); 1e-12: and without end if W_k is singular
            hessian = unit * (np.maximum(traces, absent) + 1e-12)[..., None]
            hessian += 1.0 - cross
            newton = np.linalg.solve(
                np.where(error < 0.3, hessian, unit), (traces - target)[..., None]
            )
            logs = logs + np.where(error < 0.3, newton, closed[..., None])[..., 0]
            if not (error > enough).any():
                break
    return logs


def start_volumes(sizes: Array, traces: Array, previous: Array | None) -> Array | None:
    """Logarithms of the previous volumes relative to ``traces``; the shape is common to all."""
    if previous is None:
        return None
    ratio = diagonal(previous).sum(axis=-1) * sizes / traces
    return np.log(np.where(ratio > 0.0, ratio, 1.0))


def one_variance(values: Array, sizes: Array, previous: Array | None) -> Array:
    """``lam``."""
    volume = values.sum(axis=(-2, -1)) / (values.shape[-1] * sizes.sum(axis=-1))
    return np.broadcast_to(volume[:, None, None], values.shape)


def own_variance(values: Array, sizes: Array, previous: Array | None) -> Array:
    """``lam_k``."""
    volume = values.sum(axis=-1) / (values.shape[-1] * sizes)
    return np.broadcast_to(volume[..., None], values.shape)


def one_volume_one_shape(values: Array, sizes: Array, previous: Array | None) -> Array:
    """``lam a_j``."""
    variances = values.sum(axis=-2) / sizes.sum(axis=-1)[:, None]
    return np.broadcast_to(variances[:, None], values.shape)


def own_volume_one_shape(values: Array, sizes: Array, previous: Array | None) -> Array:
    """``lam_k a_j``."""

    def scaled(logs: Array) -> Array:
        return start * np.exp(-logs)[..., None]

    def shares(logs: Array) -> tuple[Array, Array]:
        parts = scaled(logs)
        parts /= parts.sum(axis=-2, keepdims=True)
        return parts.sum(axis=-1), parts @ parts.mT

    values = np.maximum(values, 0.0)  # rounding
    total = values.sum(axis=-1)
    volume = total / (values.shape[-1] * sizes)
    start = values / volume[..., None]
    logs = solve_volumes(sizes, shares, start_volumes(sizes, total, previous))
    common = scaled(logs).sum(axis=-2) / sizes.sum(axis=-1, keepdims=True)
    result: Array = (volume * np.exp(logs))[..., None] * common[:, None]
    return result


def one_volume_own_shape(values: Array, sizes: Array, previous: Array | None) -> Array:
    """``lam a_kj``."""
    means = _geometric_mean(values)
    return equal_volumes(values / means, means[..., 0], sizes)


def own_volume_own_shape(values: Array, sizes: Array, previous: Array | None) -> Array:
    """``lam_k a_kj``."""
    result: Array = values / sizes[..., None]
    return result
