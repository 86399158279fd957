"""Columns of categories: read by choice, in the same way at every later use.

A category is a code 0, 1, ... in the order of the column's levels, a missing cell NaN.  Numbers
stay numbers: nothing is turned into a category, or a category into a number, unless the model
asks for it.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from credpart._arrays import Array
from credpart._checks import (
    Table,
    check_cells,
    check_columns_seen,
    check_data,
    check_data_with_missing,
    check_in_memory,
    check_names,
    check_rows_seen,
    check_shape,
    in_cell,
)
from credpart._messages import ColumnName, Message, RowNumber
from credpart.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Levels = tuple[Hashable, ...] | None  # None: the column holds numbers
LISTED = 10  # columns that are listed with their numbers of missing cells


class Column(NamedTuple):
    """A column as it came."""

    name: ColumnName  # how a message names it
    cells: NDArray[Any]  # objects; a missing cell is None
    is_number: bool  # by its type, or by its values where it has none


@dataclass(frozen=True, slots=True)
class Columns:
    """How a fit reads its data, and data that come later."""

    n_columns: int
    names: tuple[str, ...] | None = None
    levels: tuple[Levels, ...] | None = None  # None: numbers only
    may_miss: bool = False  # cells of numbers may be missing

    @classmethod
    def of(cls, table: Table) -> "Columns":
        """The columns of data that were read."""
        names = None if table.names is None else tuple(table.names)
        return cls(table.values.shape[1], names, table.levels, table.may_miss)

    def read(self, X: Any) -> Table:
        """Check data that come after the fit."""
        table = self.check_cells(X)
        if table.values.shape[1] != self.n_columns:
            columns = f"have {self.n_columns} columns as in the fit"
            raise InputError("X", columns, table.values.shape[1])
        return table

    def check_cells(self, X: Any) -> Table:
        """Check the cells, but not yet the number of columns."""
        if self.levels is not None:
            return _coded(X, 1, self._known)
        return check_data_with_missing(X) if self.may_miss else check_data(X)

    def _known(self, j: int, column: Column) -> Levels:
        """The levels that the fit saw."""
        levels = self.levels[j] if self.levels is not None and j < self.n_columns else None
        if levels is not None:
            _refuse_unseen(column, levels)
        return levels


def read_categories(X: Any, at_least: int = 0) -> Table:
    """Read every column as categories."""
    table = _coded(X, at_least, _levels)
    check_columns_seen(table)
    return table


def read_numbers_that_may_miss(X: Any, at_least: int = 0) -> Table:
    """Read every column as numbers, of which cells may be missing."""
    table = check_data_with_missing(X, at_least=at_least)
    check_columns_seen(table)
    return table


def missing_cells(table: Table) -> str:
    """How many numbers are missing, by column, and what is assumed; nothing if none are.

    >>> missing_cells(Table(np.array([[1.0, np.nan], [2.0, 3.0]]), ["x", "y"], None))
    "1 of 4 cells is missing (column 'y' 1), and taken as missing at random"
    """
    counts = np.isnan(table.values).sum(axis=0)
    if table.levels is not None or not counts.any():
        return ""
    places = np.flatnonzero(counts)
    listed = ", ".join(f"{table.label(j)} {counts[j]}" for j in places[:LISTED])
    more = f", {len(places) - LISTED} more columns" if len(places) > LISTED else ""
    verb = "is" if counts.sum() == 1 else "are"
    return (
        f"{counts.sum()} of {table.values.size} cells {verb} missing ({listed}{more}), "
        "and taken as missing at random"
    )


def read_mixed(X: Any, at_least: int = 0) -> Table:
    """Read columns of numbers as numbers, all others as categories."""

    def choose(j: int, column: Column) -> Levels:
        return None if column.is_number else _levels(j, column)

    table = _coded(X, at_least, choose)
    check_columns_seen(table)
    codes = [levels is not None for levels in table.levels or ()]
    if all(codes) or not any(codes):
        what, other = ("numbers", "latent-class") if all(codes) else ("categories", "VVI")
        raise InputError(
            "X",
            "have columns of numbers and of categories for a mixed model",
            Message(f"none of {what}"),
            f"Use model {other!r}.",
        )
    return table


def kinds(X: Any) -> list[bool]:
    """Whether each column of a frame holds numbers by its type; other data have no types."""
    if not hasattr(X, "shape") or not hasattr(X, "columns"):
        return []
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return []
    return [_is_number(column) for column in frame.iter_columns()]


def text_columns(X: Any) -> list[str]:
    """Names of the columns of a frame that hold text."""
    frame = nw.from_native(X, eager_only=True)
    kinds = zip(frame.columns, frame.iter_columns(), strict=True)
    return [name for name, column in kinds if column.dtype in (nw.String, nw.Object)]


def columns_of_text(table: Table) -> list[str]:
    """Names of the columns whose categories are texts, so that new cells are read as texts too."""
    named = zip(table.names or (), table.levels or (), strict=False)
    return [name for name, levels in named if levels and all(isinstance(x, str) for x in levels)]


def as_cells(table: Table) -> NDArray[Any]:
    """The data as they were read: numbers, levels, and None for a missing category."""
    cells = table.values.astype(object)
    for j, levels in enumerate(table.levels or ()):
        if levels is not None:
            codes = table.values[:, j]
            cells[:, j] = [None if np.isnan(code) else levels[int(code)] for code in codes]
    return cells


def as_frame(table: Table) -> "pd.DataFrame":
    """The data as they were read, as a DataFrame: numbers, and levels in columns of categories."""
    import pandas as pd

    if table.levels is None:
        return pd.DataFrame(table.values, columns=table.names, index=table.index)
    return pd.DataFrame(as_cells(table), columns=table.names, index=table.index).infer_objects()


def as_numbers(table: Table) -> Array:
    """What starting partitions see: indicators of levels; a missing cell is a column's mean."""
    if table.levels is None:
        return table.values
    blocks = []
    for values, levels in zip(table.values.T, table.levels, strict=True):
        wide = values[:, None] if levels is None else 1.0 * (values[:, None] == range(len(levels)))
        seen = ~np.isnan(values)
        blocks.append(np.where(seen[:, None], wide, wide[seen].mean(axis=0)))
    return np.ascontiguousarray(np.hstack(blocks))


def _coded(X: Any, at_least: int, choose: Callable[[int, Column], Levels]) -> Table:
    """Codes and numbers side by side; ``choose`` gives a column's levels."""
    columns, names = _columns(X)
    n = len(columns[0].cells) if columns else 0
    levels = tuple(choose(j, column) for j, column in enumerate(columns))
    values = np.empty((n, len(columns)))
    for j, (column, known) in enumerate(zip(columns, levels, strict=True)):
        values[:, j] = _codes(column, known) if known is not None else _floats(column)
    table = Table(values, names, getattr(X, "index", None) if names else None, levels)
    check_shape("X", values.shape, at_least)
    check_rows_seen(table)
    check_cells("X", table, may_miss=True)
    return table


def _columns(X: Any) -> tuple[list[Column], list[str] | None]:
    """The columns of a frame or of an array."""
    check_in_memory("X", X)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        names = check_names("X", X)
        frame = nw.from_native(X, eager_only=True)
        pairs = zip(names, frame.iter_columns(), strict=True)
        return [
            Column(ColumnName(name), _objects(column.to_list()), _is_number(column))
            for name, column in pairs
        ], names
    raw = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
    if raw.ndim != 2:
        raise InputError("X", "be 2-D", Message(f"shape {raw.shape}"))
    found = []
    for j, values in enumerate(raw.T):
        cells = _objects(values.tolist())
        numbers = all(c is None or _is_real(c) for c in cells)
        found.append(Column(ColumnName(j), cells, numbers))
    return found, None


def _is_number(column: Any) -> bool:
    """A column of a frame that holds numbers by its type; objects count by their values."""
    if column.dtype == nw.Object:
        return any(_is_real(cell) for cell in column.to_list())
    return column.dtype not in (nw.Boolean, nw.String, nw.Categorical, nw.Enum)


def _is_real(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool | np.bool_)


def _objects(cells: Sequence[Any]) -> NDArray[Any]:
    """Cells as objects, each missing one as None."""
    out = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        missing = cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell
        out[i] = None if missing else cell
    return out


def _levels(j: int, column: Column) -> Levels:
    """The levels of a column, sorted; an error if they describe nothing."""
    seen = [
        _category(column, row, cell) for row, cell in enumerate(column.cells) if cell is not None
    ]
    levels = tuple(sorted(set(seen), key=lambda level: (str(type(level)), level)))
    if len(levels) == 1:
        raise InputError(
            "X",
            "have at least two levels in a column of categories",
            Message(f"{levels[0]!r} only in ", column.name),
            "Leave the column out.",
        )
    if len(levels) == len(seen) > 2:
        raise InputError(
            "X",
            "have levels that repeat in a column of categories",
            Message(f"{len(levels)} different values in ", column.name),
            "Leave the column out if it names the objects.",
        )
    return levels or None


def _category(column: Column, row: int, cell: Any) -> Hashable:
    """A cell as a level: text, True and False, or a whole number."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Real | np.bool_) and float(cell).is_integer():
        return int(float(cell))
    raise InputError(
        "X",
        "hold categories (text, booleans or whole numbers)",
        in_cell(repr(cell), column.name, row),
        "Leave the column out, or cut it into classes first.",
    )


def _refuse_unseen(column: Column, levels: tuple[Hashable, ...]) -> None:
    for row, cell in enumerate(column.cells):
        if cell is not None and _category(column, row, cell) not in levels:
            shown = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
            raise InputError(
                "X",
                f"have levels that the fit has seen ({shown})",
                in_cell(repr(cell), column.name, row),
                "Make the cell missing, or fit again with such objects.",
            )


def _codes(column: Column, levels: tuple[Hashable, ...]) -> Array:
    places = {level: float(code) for code, level in enumerate(levels)}
    cells = enumerate(column.cells)
    return np.array(
        [np.nan if cell is None else places[_category(column, row, cell)] for row, cell in cells]
    )


def _floats(column: Column) -> Array:
    """Numbers; anything else is refused."""
    for row, cell in enumerate(column.cells):
        if cell is not None and not isinstance(cell, Real):
            place = (column.name, ", ", RowNumber(row))
            raise InputError(
                "X",
                "hold numbers or categories",
                Message(f"{cell!r} among the numbers of ", *place),
                "Correct the cell, or leave the column out.",
            )
    return np.array([np.nan if cell is None else float(cell) for cell in column.cells])


def sortable(values: Array) -> Array:
    """The values with missing cells as a number that no data have: equal rows are equal."""
    return np.where(np.isnan(values), -1e300, values)
