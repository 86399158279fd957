"""Types of arrays, named once, and how arrays are protected."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def make_read_only(*arrays: NDArray[Any]) -> None:
    """Protect arrays of a frozen value."""
    for array in arrays:
        array.flags.writeable = False
