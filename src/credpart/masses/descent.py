"""Block descent on masses: the loop of Algorithm 2, Eq. (16)-(19) of [D20].

It minimises any sum over pairs of squared errors of bilinear forms of their masses,
``sum_r sum_{i<j} (m_i' B_r m_j - T_rij)^2``, which is quadratic in one row of ``M``.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.polynomial.polynomial import polyval

from credpart._checks import Array
from credpart.simplex_qp import rise, simplex_qp, violation

OPTIMAL = 1e-10  # how closely every row meets its KKT conditions, relative to its coefficients
BLOCK = 64  # rows solved together, at most
PARTS = 4  # blocks in a sweep, at least
ENOUGH = 0.1  # share of the expected drop that a block must reach
BLOCK_VALUES = 2**22  # numbers in the matrices Q_i of one block, at most
STRIPE = 256  # rows of an (n, n) array of errors that exist at a time
PERIOD = 2  # sweeps between extrapolations
MEMORY = 10  # differences of sweeps that an extrapolation uses
STEPS = np.linspace(0.0, 1.0, 65)


class Target(Protocol):
    """Values that one form should take, for some pairs or for all."""

    def row_problems(
    targets: Sequence[Target], M: Array, gram: Array, rows: slice
) -> tuple[Array, Array]:
    """Return ``Q_i`` and ``u_i`` of Eq. (18) for a block of rows; ``gram`` is ``M' M``."""
    Q, u = zip(*(target.row_problems(M, gram, rows) for target in targets), strict=True)
    return np.sum(Q, axis=0), np.sum(u, axis=0)


def extrapolate(targets: Sequence[Target], path: list[tuple[Array, Array]]) -> tuple[Array, float]:
    """Return masses beyond the last sweep of ``path``, and by how much they lower J.

    Near its end the descent is a linear iteration with a few slow modes.  Anderson's combination
    of the last sweeps (before, after) removes them; it is followed as far as J falls.
    """
    before, after = (np.stack(side) for side in zip(*path, strict=True))
    M, moves = after[-1], (after - before).reshape(len(path), -1)
    weights = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-8)[0]
    goal = M - np.tensordot(weights, np.diff(after, axis=0), axes=1)
    goal = np.maximum(goal, 0.0) * (M > 0.0)  # other focal sets are for the QP to find
    goal = np.where(goal.any(axis=1, keepdims=True), goal, M)
    E = goal / goal.sum(axis=1, keepdims=True) - M
    gains = -polyval(STEPS, line_coefficients(targets, M, E))
    best = int(gains.argmax())
    return M + STEPS[best] * E, float(gains[best])


def objective(targets: Sequence[Target], M: Array) -> float:
    """Return J of Eq. (9)."""
    return sum(target.objective(M) for target in targets)


def line_coefficients(targets: Sequence[Target], M: Array, E: Array) -> Array:
    """Return the coefficients of the polynomial ``J(M + s E) - J(M)`` in s."""
    total: Array = np.sum([target.line_coefficients(M, E) for target in targets], axis=0)
    return total


def missed_change(r: Array, p: Array, p_back: Array, q: Array) -> Array:
    """Return the part of ``(r + p + p' + q)^2 - r^2`` that moving one row at a time misses."""
    missed: Array = q * (q + 2.0 * (r + p + p_back)) + 2.0 * p * p_back
    return missed


def _form(left: Array, B: Array, right: Array, rows: slice) -> Array:
    """Return ``left_i' B right_j`` for i in ``rows`` and all j, with 0 where i = j."""
    values: Array = left[rows] @ B @ right.T
    values[range(len(values)), range(rows.start, rows.stop)] = 0.0
    return values


def blocks_of(n: int, size: int) -> list[slice]:
    """Return slices of ``size`` rows that cover n."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _block_size(n: int, f: int) -> int:
    return max(1, min(BLOCK, n // PARTS, BLOCK_VALUES // f**2))
