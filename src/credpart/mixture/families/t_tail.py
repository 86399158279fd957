"""Student's t distribution function at real degrees of freedom, fast and exact far out.

For ``r = 2a`` degrees of freedom, ``x = sqrt(r) s`` and ``z = 1 / (1 + s^2)``, the probability
beyond ``|x|`` is

    ``T_r(-|x|) = z^a N_a(s) / (2a B(a, 1/2))``,
    ``N_a(s) = 2a int_0^1 v^(2a-1) / sqrt(1 - z v^2) dv``.

All decay is in ``z^a``: ``N_a``, the `shape` of the tail, falls gently from ``a B(a, 1/2)`` to 1.
It obeys ``N_a = sqrt(1 - z) + c_a z N_{a+1}``, ``c_a = (a + 1/2) / (a + 1)``: a sum of positive
terms.  So ``N_{a+1}`` is all that has to be known, and ratios of distribution functions at r and
r + 2 lose no digits however far out.  Its logarithm, and the slope of that in a, are polynomials
in ``s / sqrt(s^2 + g(r))`` whose coefficients are polynomials in ``log r``; they are computed on
first use.

Shapes: ``s`` (..., n) with ``a`` (...), as the components of mixtures share their degrees of
freedom.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import betaln, digamma

from credpart._arrays import Array

LEAST_DOF = 1.0
N_DOF = 32  # polynomials in log r
N_POSITION = 28  # coefficients in the position, at FEW_DOF; 4 more when the limit doubles
FEW_DOF = 256.0


class Coefficients(NamedTuple):
    """Coefficients (dof, position) of ``log N_{a+1}`` and of its derivative in a, times r."""

    limit: float  # on the degrees of freedom r + 2
    log_shape: Array
    slope: Array


def log_norm(a: Array) -> Array:
    """``log(2a B(a, 1/2))``: what divides the tail."""
    return np.log(2.0 * a) + betaln(a, 0.5)


def log_norm_slope(a: Array) -> Array:
    """The derivative of `log_norm`."""
    return 1.0 / a + digamma(a) - digamma(a + 0.5)


class Tail(NamedTuple):
    """The lower tail at ``-|x|``, without its decay."""

    shape: Array  # N_a
    above: Array  # c_a N_{a+1}
    sine: Array  # sqrt(1 - z)
    z: Array
    position: Array  # of s, in [-1, 1)


def tail(distance: Array, a: Array) -> Tail:
    """The shape of the tail at ``s = -distance``."""
    square = distance * distance
    position = distance / np.sqrt(square + _stretch(2.0 * a + 2.0)[..., None])
    position *= 2.0
    position -= 1.0
    above = _polynomial(_coefficients(a, 1), position)
    np.exp(above, out=above)
    above *= ((a + 0.5) / (a + 1.0))[..., None]
    square += 1.0
    z = np.reciprocal(square, out=square)
    sine = distance * np.sqrt(z)
    return Tail(sine + z * above, above, sine, z, position)


def slope(found: Tail, a: Array) -> Array:
    """``d log N_a / da`` at a given s."""
    rise = _polynomial(_coefficients(a, 2) / (2.0 * a + 2.0)[..., None], found.position)
    rise += (1.0 / ((a + 1.0) * (2.0 * a + 1.0)))[..., None]
    rise *= found.above * found.z / found.shape
    return rise


def _polynomial(coefficients: Array, x: Array) -> Array:
    """Horner's rule, coefficients (..., K) in increasing order at x (..., n)."""
    result = np.empty_like(x)
    result[...] = coefficients[..., -1:]
    for j in range(coefficients.shape[-1] - 2, -1, -1):
        result *= x
        result += coefficients[..., j, None]
    return result


def _coefficients(a: Array, field: int) -> Array:
    """Coefficients in the position, of a field of the table, for each a."""
    dof = 2.0 * a + 2.0
    table = _table(max(0, int(np.ceil(np.log2(np.nanmax(dof, initial=1.0) / FEW_DOF)))))
    where = 2.0 * np.log(dof / (LEAST_DOF + 2.0)) / np.log(table.limit / (LEAST_DOF + 2.0)) - 1.0
    found: Array = chebyshev.chebvander(where.ravel(), N_DOF - 1) @ table[field]
    return found.reshape(*a.shape, -1)


@cache
def _table(doublings: int) -> Coefficients:
    """The table up to ``FEW_DOF 2^doublings`` degrees of freedom."""
    limit, least, m = FEW_DOF * 2.0**doublings, LEAST_DOF + 2.0, N_POSITION + 4 * doublings
    rows, columns = chebyshev.chebpts1(N_DOF), chebyshev.chebpts1(m)
    dof = least * np.exp(0.5 * (rows + 1.0) * np.log(limit / least))
    x = 0.5 * (columns + 1.0)
    shape, slope = _integrals(dof, _stretch(dof)[:, None] * (x**2 / (1.0 - x**2)))
    # to powers of the position: stable, as the coefficients fall faster than 2.4^-j
    powers = np.zeros((m, m))
    for j in range(m):
        powers[j, : j + 1] = chebyshev.cheb2poly(np.eye(m)[j])[: j + 1]
    fits = []
    for values in (np.log(shape), slope * dof[:, None]):
        transform = np.linalg.solve(chebyshev.chebvander(rows, N_DOF - 1), values)
        along = np.linalg.solve(chebyshev.chebvander(columns, m - 1), transform.T).T
        fits.append(along @ powers)
    return Coefficients(limit, *fits)


def _stretch(dof: Array) -> Array:
    """``g(r)`` such that ``s / sqrt(s^2 + g)`` needs the fewest coefficients: by experiment."""
    return 1.69 * dof**-0.26


def _integrals(dof: Array, square: Array) -> tuple[Array, Array]:
    """``N`` and ``d log N / da`` for dof (m,) at ``s^2`` (m, n), by double exponential quadrature.

    With ``v = exp(-y / r)``, ``N = int_0^inf exp(-y) / sqrt(1 - z exp(-2 y / r)) dy``.
    """
    t = np.arange(-5.5, 4.6, 1.0 / 32.0)
    y = np.exp(t - np.exp(-t))
    weights = y * (1.0 + np.exp(-t)) * np.exp(-y) / 32.0
    z = (1.0 / (1.0 + square))[..., None]
    decay = 2.0 * y / dof[:, None, None]
    inside = square[..., None] * z - z * np.expm1(-decay)
    shape = (weights / np.sqrt(inside)).sum(axis=-1)
    rise = (weights * y * np.exp(-decay) * inside**-1.5 * z).sum(axis=-1)
    return shape, 2.0 * rise / (shape * dof[:, None] ** 2)
