"""How numbers are written: the decimal sign, and what groups thousands.

A number is what ``float`` makes of its text, to the last bit, once the decimal sign is a point and
the thousands are not grouped.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from credpart._arrays import Array

NUL = "\0"  # stands between the cells of a block: no text file has it
FIGURES = re.compile(r"[-+.0-9eE \t\0]*")  # `float` takes a text of these only if it is a number


def _pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    """What `float` takes, without the underscores, digits of other scripts and NaN."""
    point = re.escape(decimal)
    whole = r"[0-9]+"
    if thousands:
        whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|[0-9]+)"
    figures = rf"(?:{whole}{point}?[0-9]*|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    return re.compile(rf"[ \t]*[+-]?(?:{figures}|(?i:inf|infinity))[ \t]*")


@dataclass(frozen=True, slots=True)
class NumberStyle:
    r"""A way to write numbers.

    >>> NumberStyle(",", ".").numbers("1.234,5\0-2")
    array([1234.5,   -2. ])
    """

    decimal: str = "."
    thousands: str | None = None
    _number: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_number", _pattern(self.decimal, self.thousands))

    def is_number(self, cell: str) -> bool:
        """Whether a cell is written as a number."""
        return self._number.fullmatch(cell) is not None

    def numbers(self, block: str, na_values: frozenset[str] = frozenset()) -> Array | None:
        """The numbers of cells that are joined by NUL, NaN for a missing one; None if one is none.

        A cell is missing if it is empty, or one of ``na_values``.
        """
        cells = block.split(NUL)
        if na_values:
            cells = ["" if cell in na_values else cell for cell in cells]
        plain = self == STANDARD
        if not (plain and FIGURES.fullmatch(block)):
            if not all(not cell or self.is_number(cell) for cell in cells):
                return None
            if not plain:
                cells = [self._as_python(cell) for cell in cells]
        try:
            return np.array([float(cell or "nan") for cell in cells])
        except ValueError:
            return None

    def _as_python(self, cell: str) -> str:
        return cell.replace(self.thousands or NUL, "").replace(self.decimal, ".")


STANDARD = NumberStyle()
OTHERS = [  # other styles that a file may show
    *(NumberStyle(",", mark) for mark in (None, ".", " ", "\u00a0", "\u202f", "'")),
    *(NumberStyle(".", mark) for mark in (",", " ", "\u00a0", "\u202f", "'")),
]


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, with a decimal point.

    >>> [is_number(cell) for cell in ("1.50", " -2e3", "inf", "1_000", "nan", "")]
    [True, True, True, False, False, False]
    """
    return STANDARD.is_number(cell)
