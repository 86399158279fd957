"""Volumes and shapes of components, equal or own of each, out of scatter matrices.

Shapes: ``matrices`` (b, k, d, d), scatter matrices as `axes` leaves them: diagonal along axes that
are given, or whole; ``sizes`` (b, k); result (b, k, d, d), covariances.  ``previous``, covariances
or None, is where the rule that iterates starts.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.matrices import diagonal, factor, log_determinant

Array = NDArray[np.float64]
Rule = Callable[[Array, Array, Array | None], Array]

TOLERANCE = 1e-10  # of the cost: volumes and angles, of which it is a square, end at its root
MAX_INNER = 100


def one_volume_one_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``C``."""
    common: Array = matrices.sum(axis=1) / sizes.sum(axis=-1)[:, None, None]
    return np.broadcast_to(common[:, None], matrices.shape)


def own_volume_one_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam_k C``.

    From previous volumes one step is enough: EM only needs that the likelihood rises.
    """
    d = matrices.shape[-1]
    if previous is None:
        volumes = _solve_volumes(matrices, sizes, diagonal(matrices).sum(axis=-1) / (d * sizes))
    else:
        traces = diagonal(previous).sum(axis=-1)
        # an absent component may have no previous covariance
        volumes, _ = _step_volumes(matrices, sizes, np.where(traces > 0.0, traces, 1.0))
    common = (matrices / volumes[..., None, None]).sum(axis=1)
    common /= sizes.sum(axis=-1)[:, None, None]
    result: Array = volumes[..., None, None] * common[:, None]
    return result


def _solve_volumes(matrices: Array, sizes: Array, volumes: Array) -> Array:
    """Volumes (b, k) that go with one shape, up to a common factor."""
    for _ in range(MAX_INNER):
        volumes, change = _step_volumes(matrices, sizes, volumes)
        if not (change > np.sqrt(TOLERANCE)).any():  # a step squares the error
            break
    return volumes


def _step_volumes(matrices: Array, sizes: Array, volumes: Array) -> tuple[Array, Array]:
    """Better volumes, and the largest change (b, 1) of their logarithms that was asked for.

    With ``lam_k = exp(l_k)`` and ``C = sum_k W_k / lam_k``, the profile ``d sum_k n_k l_k + n
    log|C|`` is convex in l; ``T_k = C^-1 W_k / lam_k`` gives its gradient ``tr(T_k)`` and its
    Hessian ``tr(T_k T_h)``.  This is a step of Newton's, shortened where it is long: then the
    Hessian is nearly singular, as it is where shapes are unlike.
    """
    b, k, d, _ = matrices.shape
    n = sizes.sum(axis=-1, keepdims=True)
    absent = sizes < 1e-12 * n
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = matrices / volumes[..., None, None]
        half = factor(parts.sum(axis=1))[0].transpose(2, 0, 1)
        turned = (parts.reshape(b, k * d, d) @ half.mT).reshape(b, k, d, d)
        flat = (half[:, None] @ turned).reshape(b, k, d * d)
        traces = flat[..., :: d + 1].sum(axis=-1)
        gradient = traces - traces.sum(axis=-1, keepdims=True) * sizes / n
        # 1.0: the profile is flat along (1, ..., 1); 1e-12: and without end if W_k is singular
        hessian = np.eye(k) * (np.maximum(traces, absent) + 1e-12)[..., None]
        hessian += 1.0 - flat @ flat.mT
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        length = np.abs(step).max(axis=-1, keepdims=True)
        step *= np.log1p(2.0 * length) / (2.0 * length + np.finfo(float).tiny)
        return volumes * np.exp(step), length


def one_volume_own_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam C_k``, where ``C_k`` has determinant 1."""
    volumes = np.exp(log_determinant(matrices) / matrices.shape[-1])
    volume = volumes.sum(axis=-1, keepdims=True) / sizes.sum(axis=-1, keepdims=True)
    result: Array = volume[..., None, None] * (matrices / volumes[..., None, None])
    return result


def own_volume_own_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam_k C_k``."""
    result: Array = matrices / sizes[..., None, None]
    return result
