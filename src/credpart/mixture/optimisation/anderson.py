"""Anderson acceleration of a fixed-point map [A65]_.

References
----------
.. [A65] Anderson: Iterative procedures for nonlinear integral equations.  Journal of the ACM 12,
   1965.
"""

import numpy as np

from credpart._arrays import Array, IntArray

# Differences that are remembered.  Sixty refits of a t mixture took 2550, 2176 and 2257 iterations
# with 1, 6 and 20; refits of normal mixtures hardly depend on it.
MEMORY = 6


class Anderson:
    """Extrapolation of a fixed-point map F to where its residual ``F(x) - x`` would vanish.

    Every mixture has its own memory: the last few differences of residuals and of values
    ``F(x)``. The next point is the value minus the combination of value differences whose
    residual differences fit the residual best, by least squares.  Unlike [A65]_, a correction that
    opposes the residual has its sign reversed: it would lead back to a saddle point, such as two
    coinciding components.
    """

    def __init__(self, b: int, size: int, memory: int = MEMORY) -> None:
        self.residual_steps = np.zeros((b, memory, size))
        self.value_steps = np.zeros((b, memory, size))
        self.residual = np.zeros((b, size))
        self.value = np.zeros((b, size))
        self.count = np.full(b, -1)  # differences seen; -1 before the first value

    def forget(self, rows: IntArray) -> None:
        """Start anew for some mixtures."""
        self.count[rows] = -1
        self.residual_steps[rows] = self.value_steps[rows] = 0.0

    def extrapolate(self, rows: IntArray, point: Array, value: Array) -> Array:
        """The next points of some mixtures, from points (b, ...) whose values are ``value``."""
        shape, flat = value.shape, (len(rows), self.value.shape[1])
        value = value.reshape(flat)
        residual = value - point.reshape(flat)
        seen = self.count[rows] >= 0
        slots = rows[seen], self.count[rows[seen]] % self.value_steps.shape[1]
        self.residual_steps[slots] = (residual - self.residual[rows])[seen]
        self.value_steps[slots] = (value - self.value[rows])[seen]
        self.residual[rows], self.value[rows] = residual, value
        self.count[rows] += 1
        steps = self.residual_steps[rows]
        gram = steps @ steps.mT
        # The ridge gives no weight to unused slots, which are zero, and bounds collinear ones.  It
        # is small beside the squares of differences, and large beside their rounding.
        scale = np.einsum("bmm->b", gram)[:, None, None] + np.finfo(float).tiny
        gram = gram / scale + 1e-12 * np.eye(gram.shape[-1])
        mix = np.linalg.solve(gram, (steps @ residual[..., None]) / scale)
        move = np.einsum("bm,bms->bs", mix[..., 0], self.value_steps[rows])
        is_back = np.einsum("bs,bs->b", move, residual) > 0.0
        return (value + np.where(is_back[:, None], move, -move)).reshape(shape)
