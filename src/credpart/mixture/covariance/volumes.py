"""Volumes and shapes of components, equal or own of each, out of scatter matrices.

Shapes: ``matrices`` (d, k, b), scatter matrices that are diagonal along axes that are given, or
whole ones (d, d, k, b); ``sizes`` (k, b).  The result is covariances of the shape of the matrices,
with one component if they are equal.
``previous``, volumes (k, b) or None, is where the rule that iterates starts.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.covariance.matrices import diagonal, log_determinant, relative

Array = NDArray[np.float64]
Rule = Callable[[Array, Array, Array | None], Array]

TOLERANCE = 1e-10  # of the cost: volumes and angles, of which it is a square, end at its root
MAX_INNER = 100
NEGLIGIBLE = 1e-12  # share of the objects of a component that is as good as absent
TINY = np.finfo(float).tiny


def one_volume_one_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``C``."""
    common: Array = matrices.sum(axis=-2, keepdims=True) / sizes.sum(axis=0)
    return common


def own_volume_one_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam_k C``.

    From previous volumes one step is enough: EM only needs that the likelihood rises.
    """
    if previous is None:
        volumes = _solve_volumes(matrices, sizes, diagonal(matrices).sum(axis=0) / sizes)
    else:
        # an absent component may have none
        volumes = _step_towards(matrices, sizes, np.where(previous > 0.0, previous, 1.0))
    common = (matrices / volumes).sum(axis=-2, keepdims=True) / sizes.sum(axis=0)
    result: Array = volumes * common
    return result


def _solve_volumes(matrices: Array, sizes: Array, volumes: Array) -> Array:
    """Volumes (k, b) that go with one shape, up to a common factor."""
    going = np.arange(volumes.shape[-1])
    for _ in range(MAX_INNER):
        volumes[:, going], change = _step_volumes(
            matrices[..., going], sizes[:, going], volumes[:, going]
        )
        going = going[change > np.sqrt(TOLERANCE)]  # a step squares the error
        if not len(going):
            break
    return volumes


def _step_volumes(matrices: Array, sizes: Array, volumes: Array) -> tuple[Array, Array]:
    """Better volumes, and the largest change (b,) of their logarithms that was asked for.

    With ``lam_k = exp(l_k)``, ``C = sum_k W_k / lam_k`` and ``T_k = C^-1 W_k / lam_k``, the profile
    ``(d / n) sum_k n_k l_k + log|C|`` is convex in l.  Its gradient is ``d n_k / n - tr(T_k)``, its
    Hessian ``tr(T_k) - tr(T_k T_k)`` on the diagonal and ``-tr(T_k T_h)`` elsewhere.  This is a
    step of Newton's, shortened.
    """
    k, b = sizes.shape
    n = sizes.sum(axis=0)
    T = relative(matrices / volumes)
    traces = diagonal(T).sum(axis=0)
    gradient = traces - traces.sum(axis=0) * sizes / n
    flat = np.ascontiguousarray(T.reshape(-1, k, b).T)
    # 1.0: the profile is flat along (1, ..., 1); 1e-12: and without end if W_k is singular
    hessian = 1.0 - flat @ flat.mT
    hessian.reshape(b, -1)[:, :: k + 1] += (np.maximum(traces, sizes < NEGLIGIBLE * n) + 1e-12).T
    step = np.linalg.solve(hessian, gradient.T[..., None])[..., 0].T
    return volumes * np.exp(step * _shortening(step)), np.abs(step).max(axis=0)


def _step_towards(matrices: Array, sizes: Array, volumes: Array) -> Array:
    """Better volumes, out of good ones.

    Alternating between ``C`` and the volumes, ``l_k`` changes by ``log tr(T_k)`` less the log of
    the trace that is wanted (see `_step_volumes`).  A longer step that way, which the Hessian along
    it tells, is nearly as good as Newton's: without a system to solve.
    """
    T = relative(matrices / volumes)
    traces = diagonal(T).sum(axis=0)
    shares = sizes / sizes.sum(axis=0)
    wanted = len(matrices) * shares
    logs = np.log(np.maximum(traces, TINY) / wanted)
    # a common factor changes nothing but may be without bound; an absent component stays
    way = np.where(shares > NEGLIGIBLE, logs - (shares * logs).sum(axis=0), 0.0)
    slope = ((traces - wanted) * way).sum(axis=0)
    steep, mixed = (traces * way * way).sum(axis=0), (T * way).sum(axis=-2)
    bend = np.maximum(steep - (mixed * mixed).sum(axis=tuple(range(mixed.ndim - 1))), 1e-12 * steep)
    times = slope / (bend + TINY)
    result: Array = volumes * np.exp(way * np.maximum(times * _shortening(way * times), 1.0))
    return result


def _shortening(step: Array) -> Array:
    """What a step (k, b) that Newton's method asks for is multiplied by (b,), lest it overshoot.

    Along a step the third derivative of the profile is at most the spread ``x`` of the step times
    the second: so the profile falls up to ``log(1 + x) / x`` of it.  Long steps are asked for where
    the Hessian is nearly singular, as it is where shapes are unlike.
    """
    spread = step.max(axis=0) - step.min(axis=0) + TINY
    result: Array = np.log1p(spread) / spread
    return result


def one_volume_own_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam C_k``, where ``C_k`` has determinant 1."""
    own = np.exp(log_determinant(matrices) / len(matrices))
    result: Array = matrices / (own * (sizes.sum(axis=0) / own.sum(axis=0)))
    return result


def own_volume_own_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam_k C_k``."""
    result: Array = matrices / sizes
    return result
