"""Block descent on masses: the loop of Algorithm 2, Eq. (16)-(19) of [D20].

It minimises any sum over pairs of squared errors of bilinear forms of their masses,
``sum_r sum_{i<j} (m_i' B_r m_j - T_rij)^2``, which is quadratic in one row of ``M``.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple, Protocol

import numpy as np
from numpy.polynomial.polynomial import polyval

from credpart._arrays import Array
from credpart._progress import Progress
from credpart.simplex_qp import rise, simplex_qp, violation

OPTIMAL = 1e-10  # how closely every row meets its KKT conditions, relative to its coefficients
BLOCK = 64  # rows solved together, at most, if all pairs count
PARTS = 4  # blocks in a sweep, at least
ENOUGH = 0.1  # share of the expected drop that a block must reach
BLOCK_VALUES = 2**22  # numbers in the matrices Q_i of one block, at most
STRIPE = 256  # rows of an (n, n) array of errors that exist at a time
PERIOD = 2  # sweeps between extrapolations
MEMORY = 10  # differences of sweeps that an extrapolation uses
STEPS = np.linspace(0.0, 1.0, 65)


class Target(Protocol):
    """The values that one form should take, for all pairs of objects or for some."""

    @property
    def block(self) -> int:
        """How many rows are solved together, at most."""

    def row_problems(self, M: Array, gram: Array, rows: slice) -> tuple[Array, Array]:
        """``Q_i`` and ``u_i`` of Eq. (18) for a block of rows; ``gram`` is ``M' M``."""

    def cross_terms(self, old: Array, move: Array, rows: slice) -> float:
        """What the changes of a block's rows, summed one by one, miss of the change of J."""

    def objective(self, M: Array) -> float:
        """The sum over pairs of squared errors."""

    def line_coefficients(self, M: Array, E: Array) -> Array:
        """Coefficients of the polynomial ``J(M + s E) - J(M)`` in s, of degree 4."""


class AllPairs(NamedTuple):
    """The values that a form should take for all pairs of objects."""

    form: Array  # B (f, f), symmetric
    values: Array  # T (n, n), symmetric; the diagonal is zero

    @property
    def block(self) -> int:
        """See `Target`."""
        return BLOCK

    def row_problems(self, M: Array, gram: Array, rows: slice) -> tuple[Array, Array]:
        """See `Target`.

        By Eq. (13) the blocks of ``A_j' A_j`` both equal ``m_j m_j'``: the sum over j in (18a) is
        a Gram matrix, less the row's own part.
        """
        B, T = self
        own = M[rows] @ B
        Q = B @ gram @ B - own[:, :, None] * own[:, None]  # (18a)
        return Q, -2.0 * (T[rows] @ M @ B)  # (18b)

    def cross_terms(self, old: Array, move: Array, rows: slice) -> float:
        """See `Target`."""
        B, T = self
        r, p = old @ B @ old.T - T[rows, rows], move @ B @ old.T
        missed = missed_change(r, p, p.T, move @ B @ move.T)
        return 0.5 * float(missed.sum() - np.trace(missed))  # each pair was met twice

    def objective(self, M: Array) -> float:
        """See `Target`."""
        B, T = self
        total = 0.0
        for rows in blocks_of(len(M), STRIPE):
            errors = M[rows] @ B @ M.T - T[rows]
            errors[range(len(errors)), range(rows.start, rows.stop)] = 0.0
            total += float(np.vdot(errors, errors))
        return 0.5 * total

    def line_coefficients(self, M: Array, E: Array) -> Array:
        """See `Target`.

        With ``X = M + s E``, the sum over all i and j of the squared errors is
        ``tr(B X'X B X'X) - 2 tr(X' T X B) + const``, and the terms i = j are ``(x_i' B x_i)^2``.
        """
        B, T = self
        MB, EB = M @ B, E @ B
        TMB, TEB = np.split(T @ np.hstack([MB, EB]), 2, axis=1)
        grams = M.T @ M, M.T @ E + E.T @ M, E.T @ E
        own = (M * MB).sum(axis=1), 2.0 * (E * MB).sum(axis=1), (E * EB).sum(axis=1)
        total = np.zeros(5)
        total[1:3] -= 4.0 * np.vdot(E, TMB), 2.0 * np.vdot(E, TEB)
        for a, b in np.ndindex(3, 3):
            total[a + b] += np.vdot(B @ grams[a], grams[b] @ B) - own[a] @ own[b]
        total[0] = 0.0
        return 0.5 * total


class Descent(NamedTuple):
    """Where `descend` ended."""

    masses: Array
    history: Array  # the objective after each sweep
    converged: bool


def descend(
    targets: Sequence[Target],
    start: Array,
    *,
    tol: float,
    max_sweeps: int,
    floor: float = 0.0,
    progress: Progress | None = None,
) -> Descent:
    """Sweep over blocks of rows until all are optimal, or until Eq. (19) falls below ``tol``.

    The relative change in (19) is that of the true objective, Eq. (9); below ``floor`` it is
    relative to this, so that an objective which tends to 0 comes to an end.  Differences are summed
    from the end, where the objective is computed anew: so its history never rises.
    """
    M, J, error = start, objective(targets, start), 1.0
    least = max(floor, np.finfo(np.float64).eps * len(M) ** 2)  # J may be 0
    path: list[tuple[Array, Array]] = []
    drops: list[float] = []
    converged, share = False, 0.0
    while not converged and len(drops) < max_sweeps:
        due = path and len(drops) % PERIOD == 0
        before, gain = extrapolate(targets, path) if due else (M, 0.0)
        M, drop, worst = sweep(targets, before)
        drops.append(gain + drop)
        error = 0.5 * error + 0.5 * drops[-1] / max(J, least)  # (19)
        J -= drops[-1]
        converged = worst <= OPTIMAL or error < tol
        path = [*path[-MEMORY:], (before, M)]
        if progress is not None:
            share = max(share, _share(worst, OPTIMAL), _share(error, tol))
            progress("partition", share)
    later = np.cumsum([0.0, *drops[:0:-1]])[::-1]
    return Descent(M, objective(targets, M) + later, converged)


def _share(error: float, goal: float) -> float:
    """How far an error, from 1, has come on its way to the goal: it falls by factors."""
    return min(1.0, max(0.0, log(max(error, goal)) / log(goal)))


def sweep(targets: Sequence[Target], start: Array) -> tuple[Array, float, float]:
    """Return masses after one pass over all rows, the drop of J, and how far from optimal it began.

    Rows of a block are solved against the masses before it.  If J would rise, or hardly fall,
    the block is halved; one row alone lowers J, or stays if rounding hides by how much.
    """
    M, gram = start.copy(), start.T @ start
    drop, worst = 0.0, 0.0
    blocks = blocks_of(len(M), _block_size(targets, *M.shape))[::-1]
    while blocks:
        rows = blocks.pop()
        old = M[rows].copy()
        Q, u = row_problems(targets, M, gram, rows)
        new = simplex_qp(Q, u, old)
        expected = float(rise(Q, u, old, new).sum())
        change = expected + sum(t.cross_terms(old, new - old, rows) for t in targets)
        worst = max(worst, float(violation(Q, u, old).max()))
        if change <= ENOUGH * min(expected, 0.0):  # never a rise, however small
            M[rows] = new
            gram += new.T @ new - old.T @ old
            drop -= change
        elif len(old) > 1:
            middle = (rows.start + rows.stop) // 2
            blocks += [slice(middle, rows.stop), slice(rows.start, middle)]
    return M, drop, worst


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


def row_problems(
    targets: Sequence[Target], M: Array, gram: Array, rows: slice
) -> tuple[Array, Array]:
    """Return ``Q_i`` and ``u_i`` of Eq. (18) for a block of rows; ``gram`` is ``M' M``."""
    Q, u = zip(*(target.row_problems(M, gram, rows) for target in targets), strict=True)
    return np.sum(Q, axis=0), np.sum(u, axis=0)


def objective(targets: Sequence[Target], M: Array) -> float:
    """Return J of Eq. (9)."""
    return sum(target.objective(M) for target in targets)


def line_coefficients(targets: Sequence[Target], M: Array, E: Array) -> Array:
    """Return the coefficients of the polynomial ``J(M + s E) - J(M)`` in s, of degree 4."""
    total: Array = np.sum([target.line_coefficients(M, E) for target in targets], axis=0)
    return total


def missed_change(r: Array, p: Array, p_back: Array, q: Array) -> Array:
    """Return the part of the changes of pairs of rows that moving one row at a time misses.

    Such a pair has the form ``r + p + p' + q`` after the move, if r is its error before and p
    and q are the parts that are linear and bilinear in the move.
    """
    missed: Array = q * (q + 2.0 * (r + p + p_back)) + 2.0 * p * p_back
    return missed


def blocks_of(n: int, size: int) -> list[slice]:
    """Return slices of ``size`` rows that cover n."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _block_size(targets: Sequence[Target], n: int, f: int) -> int:
    most = min(target.block for target in targets)
    return max(1, min(most, n // PARTS, BLOCK_VALUES // f**2))
