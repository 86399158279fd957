"""One form of message for every argument: what must hold, what was got, the way out.

Public entry points call these once; kernels trust their arguments.
"""

import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LARGEST = 1e150  # squares of larger values overflow
SMALLEST = 1e-150  # squares of smaller differences underflow
SPARSE = {"nnz": ".toarray()", "sparse": ".sparse.to_dense()"}  # what only sparse data have


class Table(NamedTuple):
    """Checked data: a float array (n, d) with the names of its columns and rows.

    It is finite but for missing cells (NaN) in data that were read as categories or mixed.
    """

    values: Array
    names: list[str] | None  # None: the input had no column names
    index: Any  # a pandas index, or None
    levels: tuple[tuple[Any, ...] | None, ...] | None = None  # of categories; None: numbers only

    def label(self, column: int) -> str:
        """How a message names a column."""
        return f"column {self.names[column]!r}" if self.names else f"column {column}"


def check_integer(name: str, value: object, *, at_least: int) -> int:
    """Return ``value`` as an int >= ``at_least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"`{name}` must be an integer >= {at_least}, got {value!r}.")
    return int(value)


def check_fraction(name: str, value: object) -> float:
    """Return ``value`` as a float in the open interval (0, 1)."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"`{name}` must be a number in the open interval (0, 1), got {value!r}.")
    return float(value)


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a finite float > 0."""
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value <= 0.0:  # type: ignore[arg-type, operator]
        raise ValueError(f"`{name}` must be a positive finite number, got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"`{name}` must be one of {listed}, got {value!r}.")
    return value


def check_cluster_numbers(value: object, *, auto: Iterable[int] | None = None) -> list[int]:
    """Return the distinct numbers of clusters to try, in increasing order."""
    if isinstance(value, str) and value == "auto" and auto is not None:
        return list(auto)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        numbers = sorted({check_integer("n_clusters", v, at_least=1) for v in value})
        if not numbers:
            raise ValueError("`n_clusters` must name at least one number of clusters, got none.")
        return numbers
    return [check_integer("n_clusters", value, at_least=1)]


def check_weights(name: str, value: ArrayLike | None, n: int) -> Array:
    """Return ``value`` as n finite non-negative weights with a positive sum; None means ones."""
    if value is None:
        return np.ones(n)
    given = np.asarray(value)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"`{name}` must hold numbers, got dtype {given.dtype}.")
    weights = given.astype(np.float64)
    if weights.shape != (n,):
        raise ValueError(f"`{name}` must have shape ({n},), got {weights.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad) or weights.sum() == 0.0:
        where = f"{float(weights[bad[0]])} in row {bad[0]}" if len(bad) else "zeros only"
        raise ValueError(f"`{name}` must be finite, non-negative and not all 0, got {where}.")
    return weights


def check_data(X: Any, *, name: str = "X", at_least: int = 1) -> Table:
    """Return the data as finite float64; the message names the first bad column and row."""
    if isinstance(X, Table) and X.levels is None:
        return X
    if X is None or np.isscalar(X):
        raise ValueError(f"`{name}` must be a 2-D array or a DataFrame, got {X!r}.")
    for mark, remedy in SPARSE.items():
        if hasattr(X, mark) and 0 not in X.shape:  # of a frame without columns all are sparse
            raise TypeError(
                f"`{name}` must be dense, got a sparse container. Convert it with `{remedy}`."
            )
    if hasattr(X, "columns") and hasattr(X, "shape"):
        values, names = _from_frame(name, X)
    else:
        values, names = _from_array(name, X), None
    values = np.ascontiguousarray(values)  # sums over other layouts have other last bits
    table = Table(values, names, getattr(X, "index", None) if names else None)
    check_shape(name, values.shape, at_least)
    check_cells(name, table)
    return table


def check_shape(name: str, shape: tuple[int, ...], at_least: int) -> None:
    """Refuse data without columns, or with too few rows."""
    n, d = shape
    if d == 0:
        raise ValueError(
            f"`{name}` must have columns: found array with 0 feature(s) (shape={shape}) "
            "while a minimum of 1 is required."
        )
    if n < at_least:
        samples = "1 sample" if n == 1 else f"{n} sample(s)"
        raise ValueError(
            f"`{name}` must have at least {at_least} rows, got {samples} (shape={shape})."
        )


def check_spread(ranges: Array, table: Table | None = None) -> None:
    """Refuse ranges of columns of `X` so small that squares are lost; 0 is no range."""
    lost = np.flatnonzero((ranges > 0.0) & (ranges < SMALLEST))
    if len(lost):
        where = f" in {table.label(int(lost[0]))}" if table else ""
        raise ValueError(
            f"`X` must vary by {SMALLEST:g} or more where it varies, got a range of "
            f"{ranges[lost[0]]:g}{where}. Multiply by a constant."
        )


def _from_array(name: str, X: Any) -> Array:
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(object), np.nan)
    try:
        raw = np.asarray(X)
    except ValueError:
        raise ValueError(f"`{name}` must be a 2-D array, got rows of unequal lengths.") from None
    if np.iscomplexobj(raw):
        raise ValueError(
            f"Complex data not supported: `{name}` must be real, got {raw.dtype}. "
            "Use the real and imaginary parts as columns."
        )
    if raw.ndim == 1:
        raise ValueError(
            f"`{name}` must be 2-D, got shape {raw.shape}. Reshape your data: "
            f"`{name}.reshape(-1, 1)` if it is one feature, `{name}.reshape(1, -1)` if one object."
        )
    if raw.ndim != 2:
        raise ValueError(f"`{name}` must be 2-D, got shape {raw.shape}.")
    if raw.dtype.kind in "biuf":
        return raw.astype(np.float64)
    cells = raw.astype(object)
    columns = [_numbers(name, f"column {j}", cells[:, j]) for j in range(raw.shape[1])]
    return np.column_stack(columns) if columns else np.empty(raw.shape)


def check_names(name: str, X: Any) -> list[str]:
    """The names of a frame's columns, which must differ."""
    names = [str(column) for column in X.columns]
    twice = sorted({c for c in names if names.count(c) > 1})
    if twice:
        raise ValueError(
            f"`{name}` must have distinct column names, got {', '.join(map(repr, twice))} "
            "more than once. Rename the columns."
        )
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
        return _numbers(name, f"column {label!r}", np.asarray(column.to_list(), dtype=object))
    first = column.to_list()[0] if len(column) else None
    raise ValueError(
        f"`{name}` must hold numbers, but column {label!r} is of type {column.to_native().dtype} "
        f"(row 0: {first!r}). Leave it out, or encode it as numbers if they have a meaning."
    )


def _numbers(name: str, label: str, cells: NDArray[Any]) -> Array:
    """Numbers out of a column of objects; text is never coerced."""
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        if cell is None or type(cell).__name__ == "NAType":
            values[row] = np.nan
        elif isinstance(cell, Real):
            values[row] = float(cell)
        else:
            kind = ValueError if isinstance(cell, str | bytes) else TypeError
            shown = str(cell) if isinstance(cell, str) else cell
            raise kind(
                f"`{name}` must hold numbers, got {shown!r} in {label}, row {row} "
                "(the argument must be a real number; a string, even of a number, "
                "is not converted). Leave the column out, or convert it first."
            )
    return values


def check_cells(name: str, table: Table, *, may_miss: bool = False) -> None:
    """Refuse cells that are missing, unless they may be, infinite, or too large."""
    values = table.values
    bad = np.isinf(values) if may_miss else ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        n_nan, n_inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        raise ValueError(
            f"`{name}` must be finite, got {n_nan} NaN (missing) and {n_inf} inf values, the first "
            f"in {table.label(column)}, row {row}. Drop or impute them."
        )
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        row, column = np.argwhere(np.abs(values) > LARGEST)[0]
        raise ValueError(
            f"`{name}` must stay below {LARGEST:g} in absolute value, got {values[row, column]:g} "
            f"in {table.label(column)}, row {row}. Correct the value, or rescale the column."
        )
