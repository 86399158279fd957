"""One form of message for every argument: what must hold, what was got, the way out.

Public entry points call these once; kernels trust their arguments.
"""

import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from credpart._arrays import Array
from credpart._messages import ColumnName, Message, Part, RowNumber
from credpart.errors import InputError, InputTypeError

LARGEST = 1e150  # squares of larger values overflow
SMALLEST = 1e-150  # squares of smaller differences underflow
LARGEST_TOTAL = 1e15  # of weights: floats count no further without gaps
REMEDY = "Drop or impute them."  # of cells that are missing or infinite
SPARSE = {"nnz": ".toarray()", "sparse": ".sparse.to_dense()"}  # what only sparse data have

# Methods that compute a lazy frame; the first that a frame has makes a table of the result.
LAZY = ("toPandas", "to_pandas", "compute", "df", "collect")


class Table(NamedTuple):
    """Checked data: a float array (n, d) with the names of its columns and rows.

    It is finite but for missing cells (NaN) in data that were read as categories or mixed, and in
    numbers that may be missing.
    """

    values: Array
    names: list[str] | None  # None: the input had no column names
    index: Any  # a pandas index, or None
    levels: tuple[tuple[Any, ...] | None, ...] | None = None  # of categories; None: numbers only
    may_miss: bool = False  # cells of numbers may be missing, here and in new data

    def column(self, number: int) -> ColumnName:
        """How a message names a column."""
        return ColumnName(self.names[number] if self.names else int(number))

    def label(self, number: int) -> str:
        """The name of a column in plain text."""
        return str(self.column(number))


class WeightedTable(NamedTuple):
    """Checked data with a weight for each object."""

    table: Table
    weights: Array  # (n,)

    @property
    def values(self) -> Array:
        """The data (n, d)."""
        return self.table.values

    @classmethod
    def check(cls, table: Table, sample_weight: ArrayLike | None) -> Self:
        """The data with the weights that a user gives; None means ones."""
        return cls(table, check_weights("sample_weight", sample_weight, len(table.values)))

    @property
    def seen(self) -> Array:
        """The data of the objects that have a positive weight."""
        return self.values[self.weights > 0.0]


def in_cell(what: str, column: ColumnName, row: int, after: str = "") -> Message:
    """What was got in a cell of the data."""
    return Message(f"{what} in ", column, ", ", RowNumber(row), after)


def in_row(what: str, row: int, *after: Part) -> Message:
    """What was got in a row of the data."""
    return Message(f"{what} in ", RowNumber(row), *after)


def check_integer(name: str, value: object, *, at_least: int) -> int:
    """Return ``value`` as an int >= ``at_least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise InputError(name, f"be an integer >= {at_least}", value)
    return int(value)


def check_fraction(name: str, value: object) -> float:
    """Return ``value`` as a float in the open interval (0, 1)."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        raise InputError(name, "be a number in the open interval (0, 1)", value)
    return float(value)


def check_threshold(name: str, value: object) -> float:
    """Return ``value`` as a float in (0, 1]."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) <= 1.0:
        raise InputError(name, "be a number above 0 and at most 1", value)
    return float(value)


def is_writable(text: str) -> bool:
    r"""Whether a text can be written in UTF-8: half of a surrogate pair cannot.

    >>> is_writable("é"), is_writable("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a finite float > 0."""
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value <= 0.0:  # type: ignore[arg-type, operator]
        raise InputError(name, "be a positive finite number", value)
    return float(value)  # type: ignore[arg-type]


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(name, f"be one of {', '.join(map(repr, choices))}", value)
    return value


def check_cluster_numbers(value: object, *, auto: Iterable[int] | None = None) -> list[int]:
    """Return the distinct numbers of clusters to try, in increasing order."""
    if isinstance(value, str) and value == "auto" and auto is not None:
        return list(auto)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        numbers = sorted({check_integer("n_clusters", v, at_least=1) for v in value})
        if not numbers:
            raise InputError("n_clusters", "name at least one number of clusters", Message("none"))
        return numbers
    return [check_integer("n_clusters", value, at_least=1)]


def check_weights(name: str, value: ArrayLike | None, n: int) -> Array:
    """Return ``value`` as n finite non-negative weights with a positive sum; None means ones."""
    if value is None:
        return np.ones(n)
    given = np.asarray(value)
    if given.dtype.kind not in "biuf":
        raise InputError(name, "hold numbers", Message(f"dtype {given.dtype}"))
    weights = given.astype(np.float64)
    if weights.shape != (n,):
        raise InputError(name, f"have shape ({n},)", weights.shape)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    with np.errstate(over="ignore"):
        total = weights.sum()
    if len(bad) or total == 0.0:
        zeros = Message("zeros only")
        got = in_row(f"{float(weights[bad[0]])}", bad[0]) if len(bad) else zeros
        raise InputError(name, "be finite, non-negative and not all 0", got)
    if total > LARGEST_TOTAL:
        raise InputError(
            name,
            f"sum to at most {LARGEST_TOTAL:g}",
            Message(f"a sum of {total:g}"),
            "A weight says how often an object was seen: divide the weights by a constant.",
        )
    return weights


def check_in_memory(name: str, X: Any) -> None:
    """Refuse a frame that only describes a computation: what it costs is the user's decision."""
    try:
        is_lazy = isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
    except ValueError:  # names that occur twice are refused later
        return
    except ImportError:  # a frame of an older Dask, for which narwhals needs one more package
        is_lazy = True
    if is_lazy:
        kind = type(X)
        module = kind.__module__.partition(".")[0]
        method = next((method for method in LAZY if hasattr(X, method)), "collect")
        got = Message(f"a {kind.__name__} of {module}, which is not computed yet")
        remedy = f"Pass `{name}.{method}()`."
        raise InputTypeError(name, "be a table in memory", got, remedy)


def check_data(X: Any, *, name: str = "X", at_least: int = 1, remedy: str = REMEDY) -> Table:
    """Return the data as finite float64; the message names the first bad column and row."""
    table = read_numbers(X, name=name, at_least=at_least)
    check_cells(name, table, remedy=remedy)
    return table


def check_data_with_missing(X: Any, *, at_least: int = 1) -> Table:
    """Return the data as float64 that is finite or, where a cell is missing, NaN."""
    table = read_numbers(X, at_least=at_least)._replace(may_miss=True)
    check_rows_seen(table)
    check_cells("X", table, may_miss=True)
    return table


def check_columns_seen(table: Table) -> None:
    """Refuse columns of `X` without any value."""
    empty = np.flatnonzero(np.isnan(table.values).all(axis=0))
    if len(empty):
        got = Message("only missing cells in ", table.column(int(empty[0])))
        raise InputError("X", "have a value in every column", got, "Leave the column out.")


def check_rows_seen(table: Table) -> None:
    """Refuse rows of `X` without any value; the first is named by its number and its name."""
    empty = np.flatnonzero(np.isnan(table.values).all(axis=1))
    if len(empty):
        is_named = table.index is not None and type(table.index).__name__ != "RangeIndex"
        called = f" (id {table.index[empty[0]]})" if is_named else ""
        raise InputError(
            "X",
            "have a value in every row",
            in_row("only missing cells", empty[0], f"{called} ({len(empty)} such row(s))"),
            "Drop them: they say nothing.",
        )


def read_numbers(X: Any, *, name: str = "X", at_least: int = 1) -> Table:
    """Return the data as float64; a missing cell is NaN."""
    check_in_memory(name, X)
    if X is None or np.isscalar(X):
        raise InputError(name, "be a 2-D array or a DataFrame", X)
    for mark, remedy in SPARSE.items():
        if hasattr(X, mark) and 0 not in X.shape:  # of a frame without columns all are sparse
            container = Message("a sparse container")
            raise InputTypeError(name, "be dense", container, f"Convert it with `{remedy}`.")
    if hasattr(X, "columns") and hasattr(X, "shape"):
        values, names = _from_frame(name, X)
    else:
        values, names = _from_array(name, X), None
    values = np.ascontiguousarray(values)  # sums over other layouts have other last bits
    table = Table(values, names, getattr(X, "index", None) if names else None)
    check_shape(name, values.shape, at_least)
    return table


def check_shape(name: str, shape: tuple[int, ...], at_least: int) -> None:
    """Refuse data without columns, or with too few rows."""
    n, d = shape
    if d == 0:
        # These are the words that scikit-learn's checks look for.
        got = Message(f"0 feature(s) (shape={shape}) while a minimum of 1 is required")
        raise InputError(name, "have columns: at least 1", got)
    if n < at_least:
        samples = "1 sample" if n == 1 else f"{n} sample(s)"
        got = Message(f"{samples} (shape={shape})")
        raise InputError(name, f"have at least {at_least} rows", got)


def check_spread(ranges: Array, table: Table | None = None) -> None:
    """Refuse ranges of columns of `X` so small that squares are lost; 0 is no range."""
    lost = np.flatnonzero((ranges > 0.0) & (ranges < SMALLEST))
    if len(lost):
        where = (" in ", table.column(int(lost[0]))) if table else ()
        raise InputError(
            "X",
            f"vary by {SMALLEST:g} or more where it varies",
            Message(f"a range of {ranges[lost[0]]:g}", *where),
            "Multiply by a constant.",
        )


def _from_array(name: str, X: Any) -> Array:
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(object), np.nan)
    try:
        raw = np.asarray(X)
    except ValueError:
        unequal = Message("rows of unequal lengths")
        raise InputError(name, "be a 2-D array", unequal) from None
    if np.iscomplexobj(raw):
        raise InputError(
            name,
            "be real",
            Message(str(raw.dtype)),
            "Use the real and imaginary parts as columns.",
            preface="Complex data not supported: ",  # scikit-learn's checks look for these words
        )
    if raw.ndim == 1:
        raise InputError(
            name,
            "be 2-D",
            Message(f"shape {raw.shape}"),
            f"Reshape your data: `{name}.reshape(-1, 1)` if it is one feature, "
            f"`{name}.reshape(1, -1)` if one object.",
        )
    if raw.ndim != 2:
        raise InputError(name, "be 2-D", Message(f"shape {raw.shape}"))
    if raw.dtype.kind in "biuf":
        return raw.astype(np.float64)
    cells = raw.astype(object)
    columns = [_numbers(name, ColumnName(j), cells[:, j]) for j in range(raw.shape[1])]
    return np.column_stack(columns) if columns else np.empty(raw.shape)


def check_names(name: str, X: Any) -> list[str]:
    """The names of a frame's columns, which must differ."""
    names = [str(column) for column in X.columns]
    twice = sorted({c for c in names if names.count(c) > 1})
    if twice:
        got = Message(f"{', '.join(map(repr, twice))} more than once")
        raise InputError(name, "have distinct column names", got, "Rename the columns.")
    return names


def _from_frame(name: str, X: Any) -> tuple[Array, list[str]]:
    names = check_names(name, X)
    frame = nw.from_native(X, eager_only=True)
    columns = [
        _from_column(name, label, column)
        for label, column in zip(names, frame.iter_columns(), strict=True)
    ]
    return (np.column_stack(columns) if columns else np.empty(X.shape)), names


def _from_column(name: str, label: str, column: Any) -> Array:
    dtype = column.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        missing = column.is_null().to_numpy().astype(bool)
        if not missing.any():
            return np.asarray(column.to_numpy(), dtype=np.float64)
        values = np.full(len(missing), np.nan)
        values[~missing] = column.drop_nulls().to_numpy().astype(np.float64)
        return values
    if dtype == nw.Object or dtype == nw.String:
        return _numbers(name, ColumnName(label), np.asarray(column.to_list(), dtype=object))
    first = column.to_list()[0] if len(column) else None
    kind = f" is of type {column.to_native().dtype} ("
    raise InputError(
        name,
        "hold numbers",
        Message("others: ", ColumnName(label), kind, RowNumber(0), f": {first!r})"),
        "Leave it out, or encode it as numbers if they have a meaning.",
    )


def _numbers(name: str, column: ColumnName, cells: NDArray[Any]) -> Array:
    """Numbers out of a column of objects; text is never coerced."""
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        if cell is None or type(cell).__name__ == "NAType":
            values[row] = np.nan
        elif isinstance(cell, Real):
            values[row] = float(cell)
        else:
            kind = InputError if isinstance(cell, str | bytes) else InputTypeError
            shown = str(cell) if isinstance(cell, str) else cell
            # The parenthesis has the words that scikit-learn's checks look for.
            why = (
                " (the argument must be a real number; a string, even of a number, "
                "is not converted)"
            )
            raise kind(
                name,
                "hold numbers",
                in_cell(repr(shown), column, row, why),
                "Leave the column out, or convert it first.",
            )
    return values


def check_cells(name: str, table: Table, *, may_miss: bool = False, remedy: str = REMEDY) -> None:
    """Refuse cells that are missing, unless they may be, infinite, or too large.

    ``remedy`` is for data in which only missing cells are wrong.
    """
    values = table.values
    bad = np.isinf(values) if may_miss else ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        n_nan, n_inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        first = f"{n_nan} NaN (missing) and {n_inf} inf values, the first"
        got = in_cell(first, table.column(column), row)
        raise InputError(name, "be finite", got, REMEDY if n_inf else remedy)
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        row, column = np.argwhere(np.abs(values) > LARGEST)[0]
        raise InputError(
            name,
            f"stay below {LARGEST:g} in absolute value",
            in_cell(f"{values[row, column]:g}", table.column(column), row),
            "Correct the value, or rescale the column.",
        )
