"""Volumes and shapes of components whose axes are given: equal, or own of each component.

Shapes: ``matrices`` (b, k, d, d), scatter matrices, diagonal where the axes are other ones than
the columns' own; ``sizes`` (b, k); result (b, k, d, d), covariances.  ``previous``, covariances
or None, is where the rule that iterates starts.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rule = Callable[[Array, Array, Array | None], Array]

TOLERANCE = 1e-10  # relative change of volumes, or angle of a rotation, that ends an inner loop
MAX_INNER = 100


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


def diagonal(matrices: Array) -> Array:
    """Diagonals of matrices (..., d, d)."""
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def one_volume_one_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``C``."""
    common: Array = matrices.sum(axis=1) / sizes.sum(axis=-1)[:, None, None]
    return np.broadcast_to(common[:, None], matrices.shape)


def own_volume_one_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam_k C``.

    From good volumes EM only needs that the likelihood rises: C given these, then the volumes.
    """
    if previous is None:
        volumes = solve_volumes(matrices, sizes)
    else:
        traces = diagonal(previous).sum(axis=-1)
        # an absent component may have no previous covariance
        inverse = _inverse(_common(matrices, np.where(traces > 0.0, traces, 1.0)))
        volumes = np.einsum("bkij,bij->bk", matrices, inverse) / sizes
    common = _common(matrices, volumes) / sizes.sum(axis=-1)[:, None, None]
    result: Array = volumes[..., None, None] * common[:, None]
    return result


def solve_volumes(matrices: Array, sizes: Array) -> Array:
    """Volumes (b, k) that go with one shape, up to a common factor.

    With ``lam_k = exp(l_k)`` and ``C = sum_k W_k / lam_k``, the profile ``d sum_k n_k l_k + n
    log|C|`` is convex in l; ``T_k = C^-1 W_k / lam_k`` gives its gradient ``tr(T_k)`` and its
    Hessian ``tr(T_k T_h)``.  Newton's steps near the minimum; far from it the closed form of
    volumes given the shape, which never goes astray.
    """
    b, k, d, _ = matrices.shape
    n = sizes.sum(axis=-1, keepdims=True)
    absent = sizes < 1e-12 * n
    unit = np.eye(k)
    volumes: Array = diagonal(matrices).sum(axis=-1) / (d * sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(MAX_INNER):
            parts = (matrices / volumes[..., None, None]).reshape(b, k * d, d)
            shares = parts @ _inverse(_common(matrices, volumes))
            flat = shares.reshape(b, k, d * d)
            other = shares.reshape(b, k, d, d).mT.reshape(b, k, d * d)
            traces = flat[..., :: d + 1].sum(axis=-1)
            target = traces.sum(axis=-1, keepdims=True) * sizes / n
            closed = np.where(absent, 0.0, np.log(traces / target))
            error = np.abs(closed).max(axis=-1)[:, None, None]
            # 1.0: the profile is flat along (1, ..., 1); 1e-12: and without end if W_k is singular
            hessian = unit * (np.maximum(traces, absent) + 1e-12)[..., None]
            hessian += 1.0 - flat @ other.mT
            newton = np.linalg.solve(
                np.where(error < 0.3, hessian, unit), (traces - target)[..., None]
            )
            volumes *= np.exp(np.where(error < 0.3, newton, closed[..., None])[..., 0])
            if not (error > np.sqrt(TOLERANCE)).any():  # a step squares the error
                break
    return volumes


def _common(matrices: Array, volumes: Array) -> Array:
    """``sum_k W_k / lam_k``, shape (b, d, d)."""
    result: Array = (matrices / volumes[..., None, None]).sum(axis=1)
    return result


def _inverse(matrices: Array) -> Array:
    """Inverses of matrices (b, d, d); NaN where not positive definite."""
    half, _ = factor(matrices)
    result: Array = np.einsum("ijb,ilb->bjl", half, half)
    return result


def one_volume_own_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam C_k``, where ``C_k`` has determinant 1."""
    volumes = np.exp(log_determinant(matrices) / matrices.shape[-1])
    volume = volumes.sum(axis=-1, keepdims=True) / sizes.sum(axis=-1, keepdims=True)
    result: Array = (volume / volumes)[..., None, None] * matrices
    return result


def own_volume_own_shape(matrices: Array, sizes: Array, previous: Array | None = None) -> Array:
    """``lam_k C_k``."""
    result: Array = matrices / sizes[..., None, None]
    return result
