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
    both, leading = np.zeros((d, 2 * d, *stack)), np.empty((d, *stack))
    both[:, :d] = matrices
    for j in range(d):
        both[j, d + j] = 1.0
        row = both[j, j : d + j + 1]  # it is zero elsewhere
        leading[j] = row[0]
        row /= np.sqrt(row[0])
        both[j + 1 :, j + 1 : d + j + 1] -= row[1 : d - j, None] * row[1:]
    return both[:, d:], np.log(leading).sum(axis=0)


def inverse(matrices: Array) -> tuple[Array, Array]:
    """Inverses (d, d, ...) and log determinants of matrices (d, d, ...)."""
    half, logdet = factor(matrices)
    return np.einsum("li...,lj...->ij...", half, half), logdet


def pivots(matrices: Array) -> list[Array]:
    """The d pivots (...) of Gauss's elimination of matrices (d, d, ...): |A| is their product."""
    rest, found = matrices, [matrices[0, 0]]
    for _ in range(1, len(matrices)):
        row = rest[0, 1:]
        rest = rest[1:, 1:] - row[:, None] * (row / rest[0, 0])
        found.append(rest[0, 0])
    return found


def log_determinant(matrices: Array) -> Array:
    """``log|A|`` (k, b) of matrices, whole or diagonal; NaN where not positive definite."""
    result: Array = np.log(matrices if matrices.ndim == 3 else pivots(matrices)).sum(axis=0)
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
