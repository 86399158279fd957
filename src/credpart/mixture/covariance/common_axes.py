"""Axes that the components of a mixture share, of many mixtures [BM14]_.

Shapes: ``W`` (b, k, d, d), with each matrix contiguous, ``n`` (b, k), ``axes`` (b, d, d).
``has_equal_volume`` (b,) selects the rule for the precisions: volumes are equal (EVE) or own (VVE);
shapes are own in both.

References
----------
.. [BM14] Browne, McNicholas: Estimating common principal components in high dimensions.
   Advances in Data Analysis and Classification 8, 2014.
"""

import numpy as np

from credpart._arrays import Array, BoolArray

MAX_SWEEPS = 1000
CONVERGED = 1e-5  # largest angle in the last sweep; the cost is flat to the square of it
ROUNDING = 1e-12  # of the cost


def rotate_to_convergence(
    W: Array, n: Array, has_equal_volume: BoolArray, axes: Array
) -> tuple[Array, Array]:
    """The locally best common axes, starting from ``axes``.

    Also the log-likelihoods (b,) there, up to a constant.
    """
    axes, going = axes.copy(), np.arange(len(axes))
    for _ in range(MAX_SWEEPS):
        axes[going], angles = rotate(W[going], n[going], has_equal_volume[going], axes[going])
        going = going[np.abs(angles).max(axis=(1, 2)) > CONVERGED]
        if not len(going):
            break
    p = _precisions(_diagonal(in_axes(W, axes)), n, has_equal_volume)
    return axes, (n * np.log(p).sum(axis=-1)).sum(axis=-1)


def rotate(W: Array, n: Array, has_equal_volume: BoolArray, axes: Array) -> tuple[Array, Array]:
    """Axes of lower cost, and the angles (b, d, d) that minimise it if only one plane is rotated.

    With the precisions ``p_kj`` fixed the cost ``sum_kj p_kj d_j' W_k d_j`` is, as a function of
    the angle t in a plane, ``x cos 2t + y sin 2t`` plus a constant.
    """
    R = in_axes(W, axes)
    p = _precisions(_diagonal(R), n, has_equal_volume)
    sums = p.mT @ _diagonal(R)
    own = _diagonal(sums)
    x = 0.5 * (own[:, None] + own[..., None] - sums - sums.mT)
    weighted = (p[..., None] * R).sum(axis=1)
    y = weighted - weighted.mT  # both x and y have one entry for each plane (i, j)
    # x <= 0, since large precisions go with small sums of squares; 0.0 - x is never -0.0, of which
    # the arctangent would be pi.
    angles = 0.5 * np.arctan2(-y, np.maximum(0.0 - x, 0.0))
    return axes @ _rotation(R, p, angles), angles


def _rotation(R: Array, p: Array, angles: Array) -> Array:
    """Rotations (b, d, d) in all planes at once, by less where the cost would rise.

    Each plane alone would have a lower cost at its angle, but all of them together may go too far.
    A quarter of the angles is tried then, and so on: small enough ones never raise the cost.
    """
    eye = np.eye(R.shape[-1])
    rotations = 2.0 * np.linalg.inv(eye + np.tan(0.5 * angles)) - eye  # Cayley's transform
    before, after = ((p * _diagonal(S)).sum(axis=(1, 2)) for S in (R, in_axes(R, rotations)))
    worse = after > (1.0 + ROUNDING) * before
    if worse.any():
        rotations[worse] = _rotation(R[worse], p[worse], 0.25 * angles[worse])
    return rotations


def _precisions(values: Array, n: Array, has_equal_volume: BoolArray) -> Array:
    """Precisions (b, k, d) along axes, out of the sums of squares along these."""
    volumes = np.exp(np.log(values).mean(axis=-1))
    equal = volumes * (n.sum(axis=-1) / volumes.sum(axis=-1))[:, None]
    return np.where(has_equal_volume[:, None], equal, n)[..., None] / values


def in_axes(W: Array, axes: Array) -> Array:
    """``D' W_k D``."""
    b, k, d, _ = W.shape
    once = (W.reshape(b, k * d, d) @ axes).reshape(b, k, d, d)
    return (once.mT.reshape(b, k * d, d) @ axes).reshape(b, k, d, d)


def _diagonal(matrices: Array) -> Array:
    return np.einsum("...dd->...d", matrices)
