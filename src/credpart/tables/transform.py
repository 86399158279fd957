"""Transforms of the measurements of a cytometer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from credpart._arrays import Array
from credpart._checks import check_choice, check_positive
from credpart._messages import Name
from credpart.errors import InputError
from credpart.tables.extras import extra


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform of the measurements of a cytometer.

    Parameters
    ----------
    name : {"none", "asinh", "logicle"}
        What is done.
    cofactor : float
        Of asinh: ``arcsinh(x / cofactor)``.  Usual are 150 for fluorescence, 5 for masses.
    logicle : four numbers
        T, M, W and A of the logicle scale.

    Examples
    --------
    >>> Transform("asinh", cofactor=5.0)(np.array([[0.0, 5.0]])).round(3)
    array([[0.   , 0.881]])
    """

    name: str = "none"
    cofactor: float = 150.0
    logicle: tuple[float, ...] = (262144.0, 4.5, 0.5, 0.0)

    def __post_init__(self) -> None:
        check_choice("transform", self.name, TRANSFORMS)
        check_positive("cofactor", self.cofactor)
        good = all(isinstance(part, Real) and np.isfinite(part) for part in self.logicle)
        if len(self.logicle) != 4 or not good:
            raise InputError("logicle", "be four finite numbers T, M, W, A", self.logicle)

    def __str__(self) -> str:
        """The scale in words.

        >>> print(Transform("asinh", cofactor=5.0))
        asinh(x / 5)
        """
        return f"asinh(x / {self.cofactor:g})" if self.name == "asinh" else self.name

    def __call__(self, values: Array) -> Array:
        """The transformed values."""
        return TRANSFORMS[self.name](self, values)


def _logicle(transform: Transform, values: Array) -> Array:
    T, M, W, A = transform.logicle
    scale = extra("flowutils.transforms", Name("transform"), " 'logicle'").logicle
    return np.asarray(scale(values, None, t=T, m=M, w=W, a=A))


TRANSFORMS: Mapping[str, Callable[[Transform, Array], Array]] = {
    "none": lambda transform, values: values,
    "asinh": lambda transform, values: np.arcsinh(values / transform.cofactor),
    "logicle": _logicle,
}
