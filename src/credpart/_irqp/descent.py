"""Block descent on masses: the loop of Algorithm 2, Eq. (16)-(19) of [D20].

It minimises a sum over pairs of objects of squared errors of bilinear forms of their masses,

    J(M) =   sum_r sum_{i<j} w_i w_j             (m_i' B_r m_j - T_rij)^2
           + sum_r sum_i     w_i (w_i - 1) / 2   (m_i' B_r m_i - T_rii)^2

The weight w_i says how many copies of object i there are.  Copies have the same masses; the
second line is for the pairs of two of them, and is 0 if all weights are 1.  A weight below 1
is less than one copy, and makes no such pair.
"""

from math import log
from typing import NamedTuple, Protocol

import numpy as np
from numpy.polynomial.polynomial import polyval

from credpart._arrays import Array, BoolArray
from credpart._progress import Progress
from credpart.simplex_qp import rise, simplex_qp, violation

OPTIMAL = 1e-10  # how closely every row meets its KKT conditions, relative to its coefficients
BLOCK = 64  # rows solved together, at most, if all pairs count
PARTS = 4  # blocks in a sweep, at least
ENOUGH = 0.1  # fraction of the expected decrease of J that a step must reach
MATRIX_VALUES = 2**22  # numbers in the matrices Q_i of one block, at most
STRIPE = 128  # rows of an (n, n) array of errors that exist at a time
PERIOD = 2  # sweeps between extrapolations
MEMORY = 10  # differences of sweeps that an extrapolation uses
STEPS = np.linspace(0.0, 1.0, 65)
HALVINGS = 30  # how often the step of one object's copies is halved, at most


class Pairs(Protocol):
    """The pairs of objects that count, and the values that forms of their masses should take."""

    @property
    def weights(self) -> Array:
        """The weights w (n,) of the objects, all positive."""

    @property
    def block(self) -> int:
        """How many rows are solved together, at most."""

    def row_problems(self, M: Array, gram: Array, rows: slice) -> tuple[Array, Array]:
        """``Q_i`` and ``u_i`` of Eq. (18) for one copy of each object of a block.

        ``gram`` is ``sum_j w_j m_j m_j'``.
        """

    def cross_terms(self, old: Array, move: Array, rows: slice) -> float:
        """The change of J if a block moves, less what it is if each copy moves alone, summed."""

    def objective(self, M: Array) -> float:
        """J of Eq. (9)."""

    def line_coefficients(self, M: Array, E: Array) -> Array:
        """Coefficients of the polynomial ``J(M + s E) - J(M)`` in s, of degree 4."""


class AllPairs(NamedTuple):
    """All pairs of objects, and the values that r forms of their masses should take.

    J is half of the sum over ordered pairs of copies: w_i w_j of objects i and j, and
    ``w_i w_i - w_i min(w_i, 1)`` of object i with itself, since no copy is its own partner.
    """

    forms: Array  # B (r, f, f), symmetric
    values: Array  # T (r, n, n), symmetric; the diagonal is 0 where an object has no second copy
    weights: Array  # w (n,)

    @property
    def block(self) -> int:
        """See `Pairs`."""
        return BLOCK

    def row_problems(self, M: Array, gram: Array, rows: slice) -> tuple[Array, Array]:
        """See `Pairs`.

        By Eq. (13) the blocks of ``A_j' A_j`` both equal ``m_j m_j'``: the sum over j in (18a) is
        a Gram matrix, less the part of the copy that moves.
        """
        B, T, w = self
        moving = np.minimum(w[rows], 1.0)[:, None]
        own = M[rows] @ B
        Q = B @ gram @ B
        Q = Q[:, None] - (moving * own)[..., None] * own[..., None, :]  # (18a)
        near = T[:, rows] @ (w[:, None] * M) - moving * self._diagonal(rows)[..., None] * M[rows]
        return Q.sum(axis=0), -2.0 * (near @ B).sum(axis=0)  # (18b)

    def cross_terms(self, old: Array, move: Array, rows: slice) -> float:
        """See `Pairs`."""
        B, T, w = self
        r, p = old @ B @ old.T - T[:, rows, rows], move @ B @ old.T
        missed = missed_change(r, p, p.mT, move @ B @ move.T)
        return 0.5 * sum_over_copies(missed, w[rows], w[rows], 0)

    def objective(self, M: Array) -> float:
        """See `Pairs`."""
        B, T, w = self
        total = 0.0
        for rows in blocks_of(len(M), STRIPE):
            errors = M[rows] @ B @ M.T
            errors -= T[:, rows]
            total += sum_over_copies(np.square(errors, out=errors), w[rows], w, rows.start)
        return 0.5 * total

    def line_coefficients(self, M: Array, E: Array) -> Array:
        """See `Pairs`.

        With ``X = M + s E`` and ``G = sum_i w_i x_i x_i'``, the sum over all i and j is
        ``tr(B G B G) - 2 sum_ij w_i w_j T_ij x_i' B x_j + const``, from which the copies with
        themselves are taken: ``w_i min(w_i, 1) ((x_i' B x_i)^2 - 2 T_ii x_i' B x_i)``.
        """
        B, T, w = self
        MB, EB = M @ B, E @ B
        wT_MB, wT_EB = np.split(
            w[:, None] * (T @ (w[:, None] * np.concatenate([MB, EB], axis=2))), 2, axis=2
        )
        wM, wE = w[:, None] * M, w[:, None] * E
        grams = wM.T @ M, wM.T @ E + wE.T @ M, wE.T @ E
        own = (M * MB).sum(axis=2), 2.0 * (E * MB).sum(axis=2), (E * EB).sum(axis=2)
        selves = w * np.minimum(w, 1.0)
        wanted = selves * self._diagonal(slice(None))
        total = np.zeros(5)
        total[1] = 2.0 * np.vdot(wanted, own[1]) - 4.0 * (E * wT_MB).sum()
        total[2] = 2.0 * np.vdot(wanted, own[2]) - 2.0 * (E * wT_EB).sum()
        for a, b in np.ndindex(3, 3):
            total[a + b] += np.vdot(B @ grams[a], grams[b] @ B) - np.vdot(selves * own[a], own[b])
        total[0] = 0.0
        return 0.5 * total

    def _diagonal(self, rows: slice) -> Array:
        """The values (r, b) for two copies of the objects of a block."""
        return np.diagonal(self.values, axis1=1, axis2=2)[:, rows]


class Descent(NamedTuple):
    """Where `descend` ended."""

    masses: Array
    history: Array  # the objective after each sweep
    converged: bool

    @property
    def objective(self) -> float:
        """J of Eq. (9)."""
        return float(self.history[-1])


def descend(
    pairs: Pairs,
    start: Array,
    *,
    tol: float,
    max_sweeps: int,
    floor: float = 0.0,
    stall: float = 0.0,
    allowed: BoolArray | None = None,
    progress: Progress | None = None,
) -> Descent:
    """Sweep over blocks of rows until all are optimal, or until Eq. (19) falls below ``tol``.

    The relative change in (19) is that of the true objective, Eq. (9); below ``floor`` it is
    relative to this, so that an objective which tends to 0 comes to an end.  The search also ends
    if a sweep lowers the objective by less than ``stall``, relative to it.  Differences are summed
    from the end, where the objective is computed anew: so its history never rises.

    ``allowed`` (n, f) says which masses may be positive; those of the start are within it.
    """
    M, J, error = start, pairs.objective(start), 1.0
    least = max(floor, np.finfo(np.float64).eps * pairs.weights.sum() ** 2)  # J may be 0
    path: list[tuple[Array, Array]] = []
    drops: list[float] = []
    converged, share = False, 0.0
    while not converged and len(drops) < max_sweeps:
        due = path and len(drops) % PERIOD == 0
        before, gain = extrapolate(pairs, path) if due else (M, 0.0)
        M, drop, worst = sweep(pairs, before, allowed)
        drops.append(gain + drop)
        relative = drops[-1] / max(J, least)
        error = 0.5 * error + 0.5 * relative  # (19)
        J -= drops[-1]
        converged = worst <= OPTIMAL or error < tol or relative < stall
        path = [*path[-MEMORY:], (before, M)]
        if progress is not None:
            share = max(share, _share(worst, OPTIMAL), _share(error, tol))
            progress("partition", share)
    later = np.cumsum([0.0, *drops[:0:-1]])[::-1]
    return Descent(M, pairs.objective(M) + later, converged)


def _share(error: float, goal: float) -> float:
    """The fraction of the way from 1 to the goal, on a logarithmic scale."""
    return min(1.0, max(0.0, log(max(error, goal)) / log(goal)))


def sweep(
    pairs: Pairs, start: Array, allowed: BoolArray | None = None
) -> tuple[Array, float, float]:
    """Return masses after one pass over all rows, the drop of J, and how far from optimal it began.

    Rows of a block are solved against the masses before it.  If J would rise, or hardly fall,
    the block is halved.
    """
    M, roots = start.copy(), np.sqrt(pairs.weights)[:, None]
    weighted = roots * start
    gram = weighted.T @ weighted
    drop, worst = 0.0, 0.0
    blocks = blocks_of(len(M), _block_size(pairs, *M.shape))[::-1]
    while blocks:
        rows = blocks.pop()
        old = M[rows].copy()
        Q, u = pairs.row_problems(M, gram, rows)
        inside = None if allowed is None else allowed[rows]
        worst = max(worst, float(violation(Q, u, old, inside).max()))
        step = sufficient_step(pairs, Q, u, old, simplex_qp(Q, u, old, inside), rows)
        if step is not None:
            M[rows] = step.masses
            before, after = roots[rows] * old, roots[rows] * step.masses
            gram += after.T @ after - before.T @ before
            drop -= step.change
        elif len(old) > 1:
            middle = (rows.start + rows.stop) // 2
            blocks += [slice(middle, rows.stop), slice(rows.start, middle)]
    return M, drop, worst


class Step(NamedTuple):
    """New masses (b, f) of a block, and the change of J, which is never positive."""

    masses: Array
    change: float


def sufficient_step(
    pairs: Pairs, Q: Array, u: Array, old: Array, new: Array, rows: slice
) -> Step | None:
    """Return the step of a block to the optima of its rows, or None if J would not fall enough.

    One object alone lowers J.  Only if it has copies, which move with it, may it go too far: its
    step is then halved until J falls.
    """
    for _ in range(HALVINGS if len(old) == 1 else 1):
        expected = float((pairs.weights[rows] * rise(Q, u, old, new)).sum())
        change = expected + pairs.cross_terms(old, new - old, rows)
        if change <= ENOUGH * min(expected, 0.0):  # never a rise, however small
            return Step(new, change)
        new = 0.5 * (old + new)
    return None


def extrapolate(pairs: Pairs, path: list[tuple[Array, Array]]) -> tuple[Array, float]:
    """Return masses beyond the last sweep of ``path``, and by how much they lower J.

    Near its end the descent is a linear iteration with a few slow modes.  Anderson's combination
    of the last sweeps (before, after) removes them; it is followed as far as J falls.
    """
    before, after = (np.stack(side) for side in zip(*path, strict=True))
    M, moves = after[-1], (after - before).reshape(len(path), -1)
    weights = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-8)[0]
    goal = M - np.tensordot(weights, np.diff(after, axis=0), axes=1)
    goal = np.maximum(goal, 0.0) * (M > 0.0)  # only the QP gives mass to further focal sets
    goal = np.where(goal.any(axis=1, keepdims=True), goal, M)
    E = goal / goal.sum(axis=1, keepdims=True) - M
    gains = -polyval(STEPS, pairs.line_coefficients(M, E))
    best = int(gains.argmax())
    return M + STEPS[best] * E, float(gains[best])


def missed_change(r: Array, p: Array, p_back: Array, q: Array) -> Array:
    """Return the part of the changes of pairs of rows that moving one row at a time misses.

    Such a pair has the form ``r + p + p' + q`` after the move, if r is its error before and p
    and q are the parts that are linear and bilinear in the move.
    """
    return q * (q + 2.0 * (r + p + p_back)) + 2.0 * p * p_back


def sum_over_copies(values: Array, left: Array, right: Array, first: int) -> float:
    """Return the sum of values (r, b, n) over all ordered pairs of different copies of objects.

    ``left`` (b,) and ``right`` (n,) are the weights of the objects; object i of the rows is object
    ``first + i`` of the columns.  The diagonal of the values is changed.

    >>> w = np.array([1.0, 2.0, 0.5])  # 0, 2 and 0 pairs within; 2, 0.5 and 1 between them
    >>> sum_over_copies(np.ones((1, 3, 3)), w, w, 0) == 2 + 2 * (2 + 0.5 + 1)
    True
    """
    i = np.arange(len(left))
    values[:, i, first + i] *= 1.0 - np.minimum(left, 1.0) / left  # no copy is its own partner
    return float((values @ right @ left).sum())


def blocks_of(n: int, size: int) -> list[slice]:
    """Return slices of ``size`` rows that cover n."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _block_size(pairs: Pairs, n: int, f: int) -> int:
    return max(1, min(pairs.block, n // PARTS, MATRIX_VALUES // f**2))
