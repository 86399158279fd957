"""Convex quadratic programs on the simplex, many at once: Eq. (16)-(17) of [D20].

The method is a primal active set.  On the simplex the active bounds and the sum constraint
are always linearly independent, so variables that reach zero together may leave together,
and every later step has a positive length: there is no degenerate vertex to cycle at.

``Q`` may be singular: [D20] calls it positive definite, but it is not once the frame is a
focal set, nor with four or more clusters and near-certain masses.  Each step is therefore a
proximal one, ``min f(x + d) + RIDGE |d|^2``, which leaves the optimum of ``f`` where it is.
"""

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray

# Both relative to the largest coefficient.  A full step leaves a gradient of 2 RIDGE |d|, and
# |d| <= sqrt(2): below TOLERANCE, so one full step settles a face.
RIDGE = 1e-12
TOLERANCE = 1e-11
TINY = np.finfo(np.float64).tiny  # division by less would overflow


def simplex_qp(Q: Array, u: Array, start: Array, allowed: BoolArray | None = None) -> Array:
    """Minimise ``x' Q x + u' x`` subject to ``x >= 0`` and ``sum(x) = 1``, for many ``(Q, u)``.

    Parameters
    ----------
    Q : array of shape (b, f, f) or (f, f)
        Symmetric positive semidefinite, of any rank; one for all problems if 2-D.
    u : array of shape (b, f)
        Linear terms.
    start : array of shape (b, f)
        A point of the simplex for each problem; the nearer to the optimum, the faster.
    allowed : array of shape (b, f), optional
        Variables that may be positive; the others are 0, in the start too.  None: all.

    Returns
    -------
    array of shape (b, f)
        A minimiser of each problem, never worse than its start.  The gradient is constant on
        its support, and nowhere lower, to 1e-10 of the largest coefficient.

    Examples
    --------
    >>> import numpy as np
    >>> Q = np.diag([1.0, 1.0, 0.0])
    >>> simplex_qp(Q, np.array([[-1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])).round(6)
    array([[0.5, 0. , 0.5]])
    """
    b, f = u.shape
    Q, u = np.broadcast_to(Q, (b, f, f)), u - u.min(axis=1, keepdims=True)
    scale = _scale(Q, u)
    x, g = start.copy(), _gradient(Q, u, start) / scale
    free, moved = x > 0.0, np.ones(b, dtype=bool)
    for _ in range(100 + 20 * f):  # many times what is needed, so that rounding cannot trap it
        rows = np.flatnonzero(_violation(_open(g, allowed), free) > TOLERANCE)
        if not rows.size:
            break
        free[rows] |= _entering(_open(g, allowed)[rows], free[rows], moved[rows])
        columns, used = _packed(free[rows])
        at = (rows[:, None], columns)
        Q_F = Q[at] / scale[rows, :, None]  # Q is symmetric: its rows are its columns
        d = _direction(np.take_along_axis(Q_F, columns[:, None], axis=2), g[at], used)
        length, leaving = _step(x[at], d)
        x[at] = np.where(leaving, 0.0, x[at] + length * d)
        g[rows] += 2.0 * ((length * d)[:, None] @ Q_F)[:, 0]
        free[at] = used & ~leaving
        moved[rows] = length[:, 0] > 0.0
    x /= x.sum(axis=1, keepdims=True)
    rises = rise(Q, u, start, x) > 0.0
    return np.where(rises[:, None], start, x)


def rise(Q: Array, u: Array, x: Array, y: Array) -> Array:
    """Return ``f(y) - f(x)`` of each problem, for points of the simplex, without cancellation."""
    g = _gradient(Q, u, 0.5 * (x + y))
    # The sums of x and y differ by a rounding error, which a large constant in g would magnify.
    return ((y - x) * (g - g.min(axis=1, keepdims=True))).sum(axis=1)


def violation(Q: Array, u: Array, x: Array, allowed: BoolArray | None = None) -> Array:
    """Return by how much each point misses its KKT conditions, relative to the coefficients."""
    return _violation(_open(_gradient(Q, u, x) / _scale(Q, u), allowed), x > 0.0)


def _open(g: Array, allowed: BoolArray | None) -> Array:
    """Return gradients by which no variable enters that is not allowed."""
    return g if allowed is None else np.where(allowed, g, np.inf)


def _scale(Q: Array, u: Array) -> Array:
    """Return the largest coefficient of each problem: of ``Q`` it is on the diagonal.

    A constant added to ``u`` is a constant added to the objective, and does not count.
    """
    largest = np.maximum(np.diagonal(Q, axis1=1, axis2=2).max(axis=1), np.ptp(u, axis=1))
    return np.where(largest > 0.0, largest, 1.0)[:, None]


def _gradient(Q: Array, u: Array, x: Array) -> Array:
    return 2.0 * (Q @ x[:, :, None])[:, :, 0] + u


def _violation(g: Array, free: BoolArray) -> Array:
    """Return the highest gradient on the support less the lowest anywhere: 0 at an optimum."""
    return np.where(free, g, -np.inf).max(axis=1) - g.min(axis=1)


def _entering(g: Array, free: BoolArray, moved: BoolArray) -> BoolArray:
    """Return, where the face is settled, the variable whose bound holds the objective up most.

    After a step of length zero the variable that had entered was the one to block it: the face
    must be settled better first.
    """
    spread = np.where(free, g, -np.inf).max(axis=1) - np.where(free, g, np.inf).min(axis=1)
    settled = (spread <= TOLERANCE) & moved
    lowest = np.arange(g.shape[1]) == g.argmin(axis=1)[:, None]
    return lowest & settled[:, None]


def _packed(free: BoolArray) -> tuple[IntArray, BoolArray]:
    """Return the indices of the free variables, padded to one length, and which are no padding."""
    counts = free.sum(axis=1, keepdims=True)
    width = int(counts.max())
    columns = np.argsort(~free, axis=1, kind="stable")[:, :width]
    return columns, np.arange(width) < counts


def _direction(Q_FF: Array, g: Array, used: BoolArray) -> Array:
    """Solve the KKT system of ``min g' d + d' (Q + RIDGE I) d`` subject to ``sum(d) = 0``."""
    m, p = g.shape
    system = np.zeros((m, p + 1, p + 1))
    np.multiply(Q_FF, 2.0 * (used[:, :, None] & used[:, None]), out=system[:, :p, :p])
    system[:, range(p), range(p)] += np.where(used, 2.0 * RIDGE, 1.0)
    system[:, :p, p] = system[:, p, :p] = used
    target = np.zeros((m, p + 1, 1))
    np.multiply(g, -1.0 * used, out=target[:, :p, 0])
    return np.linalg.solve(system, target)[:, :p, 0]


def _step(x: Array, d: Array) -> tuple[Array, BoolArray]:
    """Return the longest feasible step, at most 1, and the variables it takes to zero."""
    reach = np.divide(x, -d, out=np.full_like(x, np.inf), where=d < -TINY)
    length = np.minimum(reach.min(axis=1, keepdims=True), 1.0)
    return length, reach <= length
