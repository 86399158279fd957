"""Types of arrays, named once, and how arrays are protected."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def sums_by(place: IntArray, values: Array) -> Array:
    """Sums of values (n,) over the rows of each place, which are numbers from 0.

    >>> sums_by(np.array([1, 0, 1]), np.array([1.0, 2.0, 4.0]))
    array([2., 5.])
    """
    return np.asarray(np.bincount(place, values), dtype=np.float64)


def make_read_only(*arrays: NDArray[Any]) -> None:
    """Protect arrays of a frozen value."""
    for array in arrays:
        array.flags.writeable = False
