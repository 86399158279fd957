"""Own volumes and one shape: covariances ``lam_k C`` of many mixtures.

Shapes: ``W`` (b, k, d, d), ``n`` and ``volumes`` (b, k), with the stack contiguous.
"""

import numpy as np

from credpart._arrays import Array
from credpart.mixture.covariance.matrices import inverse

MAX_STEPS = 200
CONVERGED = 1e-9  # largest change of a volume's logarithm in the last step
# A component with a smaller share of the objects counts as absent: its volume does not affect the
# others, and would be computed from rounding errors.
NEGLIGIBLE = 1e-12
TINY = np.finfo(float).tiny


def own_volume_equal_shape(W: Array, n: Array, start: Array | None) -> Array:
    """``lam_k C``.

    Within EM one step from the previous volumes is enough: the likelihood only has to rise.
    """
    # The previous volume of an absent component may be unknown.
    volumes = np.ones_like(n) if start is None else np.where(start > 0.0, start, 1.0)
    for _ in range(MAX_STEPS if start is None else 1):
        before, volumes = volumes, step_volumes(W, n, volumes)
        if not (np.abs(np.log(volumes / before)) > CONVERGED).any():
            break
    common = _sum(W, 1.0 / volumes) / n.sum(axis=1)[:, None, None]
    return volumes[..., None, None] * common[:, None]


def _sum(W: Array, weights: Array) -> Array:
    """Weighted sums (b, d, d) over components."""
    return np.einsum("bk,bkij->bij", weights, W)


def step_volumes(W: Array, n: Array, volumes: Array) -> Array:
    """Better volumes, up to a common factor.

    With ``lam_k = exp(l_k)``, ``C = sum_k W_k / lam_k`` and ``T_k = C^-1 W_k / lam_k``, the profile
    ``(d / n) sum_k n_k l_k + log|C|`` is convex in l.  Its gradient is ``d n_k / n - tr(T_k)``, its
    Hessian ``tr(T_k) - tr(T_k T_k)`` on the diagonal and ``-tr(T_k T_h)`` elsewhere.

    The literal alternation between C and the volumes changes ``l_k`` by
    ``log(tr(T_k) / (d n_k / n))``.  It converges slowly if components are long in different
    directions.  The step here has the same direction, and the length of a damped Newton step along
    it, or that of the alternation if this is longer.
    """
    d, shares = W.shape[-1], n / n.sum(axis=1, keepdims=True)
    precision = inverse(_sum(W, 1.0 / volumes))[0]
    traces = np.einsum("bij,bkij->bk", precision, W) / volumes
    logs = np.log(np.maximum(traces, TINY) / (d * shares))
    # A common factor changes nothing but could drift without bound; an absent component stays.
    logs -= (shares * logs).sum(axis=1, keepdims=True)
    direction = np.where(shares > NEGLIGIBLE, logs, 0.0)
    descent = ((traces - d * shares) * direction).sum(axis=1)
    diagonal_part = (traces * direction**2).sum(axis=1)
    mixed = np.einsum("bij,bjl->bil", precision, _sum(W, direction / volumes))
    curvature = np.maximum(
        diagonal_part - np.einsum("bij,bji->b", mixed, mixed), 1e-12 * diagonal_part
    )
    length = descent / (curvature + TINY)
    # Along the direction the third derivative is at most (max - min of the direction) times the
    # second.  With x the same range of the full Newton step, the profile therefore decreases over
    # the fraction log(1 + x) / x of that step.
    x = length * (direction.max(axis=1) - direction.min(axis=1)) + TINY
    length = np.maximum(length * np.log1p(x) / x, 1.0)
    return volumes * np.exp(direction * length[:, None])
