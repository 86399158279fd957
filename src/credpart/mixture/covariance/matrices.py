"""Many small symmetric matrices at once, of shape (..., d, d).

NumPy is fastest along the axis that is contiguous in memory.  A formula entry by entry is best if
that is the first axis of the stack: it is then one pass over all matrices for each entry, for small
d several times faster than LAPACK matrix by matrix.  LAPACK and BLAS are best if each matrix is
contiguous.  The axes are the same in both layouts: only their order in memory differs.

A matrix that is not positive definite gives NaN and raises no exception; callers silence NumPy's
warnings, once for all that they do.
"""

import numpy as np

from credpart._arrays import Array


def stack_contiguous(array: Array) -> Array:
    """The same array, its first axis contiguous in memory; a copy only if it was not."""
    return np.asfortranarray(array)


def matrices_contiguous(array: Array) -> Array:
    """The same array, its last axis contiguous in memory; a copy only if it was not."""
    return np.ascontiguousarray(array)


def factor(matrices: Array) -> tuple[Array, Array]:
    """Inverse Cholesky factors and log determinants, by elimination beside the identity."""
    d = matrices.shape[-1]
    both = np.zeros((*matrices.shape[:-1], 2 * d), order="F")
    leading = np.empty(matrices.shape[:-1], order="F")
    both[..., :d] = matrices
    for j in range(d):
        both[..., j, d + j] = 1.0
        row = both[..., j, j : d + j + 1]  # entries to its left count as eliminated
        leading[..., j] = row[..., 0]
        row /= np.sqrt(row[..., :1])
        both[..., j + 1 :, j + 1 : d + j + 1] -= row[..., 1 : d - j, None] * row[..., None, 1:]
    return both[..., d:], np.log(leading).sum(axis=-1)


def inverse(matrices: Array) -> tuple[Array, Array]:
    """Inverses and log determinants."""
    half, logdet = factor(matrices)
    return np.einsum("...li,...lj->...ij", half, half, order="F"), logdet


def pivots(matrices: Array) -> list[Array]:
    """The d pivots of Gaussian elimination: the determinant is their product."""
    rest, found = matrices, [matrices[..., 0, 0]]
    for _ in range(1, matrices.shape[-1]):
        row = rest[..., 0, 1:]
        rest = rest[..., 1:, 1:] - row[..., :, None] * (row / rest[..., 0, :1])[..., None, :]
        found.append(rest[..., 0, 0])
    return found


def log_determinant(matrices: Array) -> Array:
    """Log determinants; NaN where a matrix is not positive definite."""
    return np.asarray(sum(np.log(pivot) for pivot in pivots(matrices)))


def eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors; values are NaN if a matrix is not finite."""
    if np.isfinite(matrices).all():
        return np.linalg.eigh(matrices)
    finite = np.asarray(np.isfinite(matrices).all(axis=(-2, -1), keepdims=True))
    values, axes = np.linalg.eigh(np.where(finite, matrices, 0.0))
    return np.where(finite[..., 0], values, np.nan), axes
