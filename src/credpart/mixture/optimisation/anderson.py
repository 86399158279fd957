"""Fewer iterations of a fixed-point map, whatever the map is."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Acceleration:
    """Anderson's acceleration of a fixed-point map ``F``, for every replicate on its own.

    From the last few differences of ``F`` it extrapolates to where the residual ``F(T) - T``
    would vanish if the map were linear; or away from there, if EM comes from there: then it is a
    saddle, such as that of two components that coincide.
    """

    def __init__(self, memory: int, b: int, size: int) -> None:
        self.residual_steps = np.zeros((b, memory, size))
        self.value_steps = np.zeros((b, memory, size))
        self.residual = np.zeros((b, size))
        self.value = np.zeros((b, size))
        self.count = np.full(b, -1)  # differences seen; -1: not even one value

    def forget(self, rows: Rows) -> None:
        """Start anew for some replicates."""
        self.count[rows] = -1
        self.residual_steps[rows] = self.value_steps[rows] = 0.0

    def next(self, rows: Rows, point: Array, value: Array) -> Array:
        """Where ``rows`` go from ``point`` (b, size), whose image is ``value``."""
        residual = value - point
        seen = self.count[rows] >= 0
        slots = rows[seen], self.count[rows[seen]] % self.value_steps.shape[1]
        self.residual_steps[slots] = (residual - self.residual[rows])[seen]
        self.value_steps[slots] = (value - self.value[rows])[seen]
        self.residual[rows], self.value[rows] = residual, value
        self.count[rows] += 1
        steps = self.residual_steps[rows]
        gram = steps @ steps.mT
        # unused slots are zero: the ridge gives them no weight, and tames collinear ones
        scale = np.einsum("bmm->b", gram)[:, None, None] + np.finfo(float).tiny
        gram = gram / scale + 1e-12 * np.eye(gram.shape[-1])
        mix = np.linalg.solve(gram, (steps @ residual[..., None]) / scale)
        move = np.einsum("bm,bms->bs", mix[..., 0], self.value_steps[rows])
        is_back = np.einsum("bs,bs->b", move, residual) > 0.0
        result: Array = value + np.where(is_back[:, None], move, -move)
        return result
