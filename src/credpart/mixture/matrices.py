"""Many small symmetric matrices at once.

Shapes: matrices (d, d, ...), or (d, k, b) if they are diagonal and their number is (k, b).  The
stack is last, so that each of the few steps of a formula is one pass over all matrices: for small
d several times faster than LAPACK matrix by matrix.  Matrices that are not positive definite become
NaN, and raise no exception; callers silence NumPy's warnings, once for all that they do.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def factor(matrices: Array) -> tuple[Array, Array]:
    """Inverse Cholesky factors (d, d, ...) and log determinants of matrices (d, d, ...).

    Gauss's elimination of the matrices beside the identity.
    """
    d, *stack = matrices.shape[1:]
    both, pivots = np.zeros((d, 2 * d, *stack)), np.empty((d, *stack))
    both[:, :d] = matrices
    for j in range(d):
        both[j, d + j] = 1.0
        row = both[j, j : d + j + 1]  # it is zero elsewhere
        pivots[j] = row[0]
        row /= np.sqrt(row[0])
        both[j + 1 :, j + 1 : d + j + 1] -= row[1 : d - j, None] * row[1:]
    return both[:, d:], np.log(pivots).sum(axis=0)


def log_determinant(matrices: Array) -> Array:
    """``log|A|`` (k, b) of matrices, whole or diagonal; NaN where not positive definite."""
    if matrices.ndim == 4:
        matrices = matrices.copy()
        for j in range(len(matrices) - 1):
            row = matrices[j, j:]
            matrices[j + 1 :, j + 1 :] -= row[1:, None] * (row[1:] / row[0])
    result: Array = np.log(diagonal(matrices)).sum(axis=0)
    return result


def diagonal(matrices: Array) -> Array:
    """Diagonals (d, k, b) of matrices, whole or diagonal."""
    return matrices if matrices.ndim == 3 else np.einsum("ddkb->dkb", matrices)


def relative(matrices: Array) -> Array:
    """``C^-1/2 A_k C^-1/2`` for the sum C of matrices ``A_k``, whole or diagonal."""
    total = matrices.sum(axis=-2)
    if matrices.ndim == 3:
        result: Array = matrices / total[:, None]
        return result
    half = factor(total)[0]
    return turn(matrices.T, half.T).T


def turn(matrices: Array, axes: Array) -> Array:
    """``D' A_k D`` of matrices (b, k, d, d) with axes (b, d, d)."""
    b, k, d, _ = matrices.shape
    once = (matrices.reshape(b, k * d, d) @ axes).reshape(b, k, d, d)
    result: Array = (once.mT.reshape(b, k * d, d) @ axes).reshape(b, k, d, d)
    return result
