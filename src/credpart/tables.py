"""Tables of objects from files and bundled data sets: what is clustered, named and compared with.

Text is never made into numbers: a cell that is not a number is an error that names it.
"""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credpart._arrays import Array
from credpart._checks import check_choice, check_positive, in_cell
from credpart._messages import ColumnName, Message, Name, Part, RowNumber
from credpart._parquet import check_parquet_size
from credpart.datasets import DATASETS, load
from credpart.datasets.loaders import CLASSES
from credpart.errors import (
    FileAccessError,
    FileContentError,
    InputError,
    MissingFileError,
    MissingPackageError,
)

UNREADABLE = pd.errors.EmptyDataError, pd.errors.ParserError, pd.errors.ParserWarning


class Loaded(NamedTuple):
    """A table as it was found."""

    frame: pd.DataFrame
    id_column: str | None = None  # that can be nothing else
    label_column: str | None = None
    left_out: tuple[str, ...] = ()  # columns that are clustered only if asked for
    plain: tuple[str, ...] = ()  # columns that a transform leaves alone


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects to cluster: attributes, and perhaps names and known classes.

    Attributes
    ----------
    X : DataFrame
        The attributes.
    ids : Index or None
        Names of the objects.
    classes : array of str or None
        Known classes, that no method sees.

    Examples
    --------
    >>> from credpart.tables import read_objects
    >>> read_objects("butterfly").X.shape
    (11, 2)
    """

    X: pd.DataFrame
    ids: pd.Index | None
    classes: NDArray[np.str_] | None

    def named(self) -> pd.DataFrame:
        """The attributes by the names of the objects; those without are called 1, 2, 3 and so on.

        >>> from credpart.tables import read_objects
        >>> read_objects("butterfly").named().index[0]
        1
        """
        ids = pd.RangeIndex(1, len(self.X) + 1) if self.ids is None else self.ids
        return self.X.set_axis(ids.rename("id"))


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

    def __call__(self, values: Array) -> Array:
        """The transformed values."""
        return TRANSFORMS[self.name](self, values)


def _logicle(transform: Transform, values: Array) -> Array:
    T, M, W, A = transform.logicle
    scale = _extra("flowutils.transforms", Name("transform"), " 'logicle'").logicle
    return np.asarray(scale(values, None, t=T, m=M, w=W, a=A))


TRANSFORMS: Mapping[str, Callable[[Transform, Array], Array]] = {
    "none": lambda transform, values: values,
    "asinh": lambda transform, values: np.arcsinh(values / transform.cofactor),
    "logicle": _logicle,
}


def read_objects(
    source: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    transform: Transform | None = None,
    categories: bool = False,
) -> Objects:
    """Return the objects of a file or of a bundled data set.

    Parameters
    ----------
    source : path or name
        A file that ends in .csv, .tsv, .parquet or .fcs, or a bundled data set's name.
    columns : sequence of str, optional
        The columns to cluster; by default all but those of names and classes and, in an FCS
        file, that of time.
    id_column, label_column : str, optional
        The column of the names of the objects, and that of their known classes.
    transform : Transform, optional
        Applied to all columns of numbers; in an FCS file to those of fluorescence.
    categories : bool
        Whether columns may hold text, as models of categories take it.

    Examples
    --------
    >>> from credpart.tables import read_objects
    >>> objects = read_objects("iris", columns=["petal_length", "petal_width"])
    >>> objects.X.shape, str(objects.classes[0])
    ((150, 2), 'setosa')
    """
    found = _load(source)
    frame, source = found.frame, os.fspath(source)
    id_column = found.id_column if id_column is None else id_column
    label_column = found.label_column if label_column is None else label_column
    for name, column in (("id_column", id_column), ("label_column", label_column)):
        if column is not None:
            _check_columns(name, [column], frame, source)
    if columns is None:
        apart = {id_column, label_column, *found.left_out}
        columns = [str(name) for name in frame if name not in apart]
    else:
        columns = _check_columns("columns", columns, frame, source)
    for column in columns if not categories else ():
        _check_cells(frame[column], source)
    X = _transformed(frame[list(columns)], transform, found.plain)
    ids = None if id_column is None else pd.Index(frame[id_column])
    classes = None if label_column is None else _classes(frame[label_column], source)
    return Objects(X, ids, classes)


def _check_columns(
    name: str, wanted: Sequence[str], frame: pd.DataFrame, source: str
) -> Sequence[str]:
    unknown = [column for column in wanted if column not in frame]
    if unknown or not wanted:
        got = Message(", ".join(map(repr, unknown)) or "none")
        known = f"Its columns are {', '.join(map(repr, frame))}."
        raise InputError(name, f"be in {source!r}", got, known)
    twice = sorted({column for column in wanted if list(wanted).count(column) > 1})
    if twice:
        raise InputError(name, "be distinct", Message(f"{twice[0]!r} more than once"))
    return wanted


def _transformed(
    X: pd.DataFrame, transform: Transform | None, plain: Sequence[str]
) -> pd.DataFrame:
    some = [str(name) for name in X if name not in plain and pd.api.types.is_numeric_dtype(X[name])]
    if transform is None or transform.name == "none" or not some:
        return X
    return X.assign(**dict(zip(some, transform(X[some].to_numpy(np.float64)).T, strict=True)))


def _classes(column: pd.Series, source: str) -> NDArray[np.str_]:
    missing = np.flatnonzero(column.isna())
    if len(missing):
        place = (ColumnName(str(column.name)), f" of {source!r}, ", RowNumber(int(missing[0])))
        raise InputError(
            "label_column",
            "be known for all objects",
            Message("none in ", *place),
            "Give the unknown ones a class of their own.",
        )
    return column.astype(str).to_numpy(dtype=np.str_)


def _load(source: str | os.PathLike[str]) -> Loaded:
    path = Path(source)
    name, kind = os.fspath(source), path.suffix.lower()
    if name in DATASETS and not path.exists():
        frame = load(name).frame
        return Loaded(frame, label_column=CLASSES if CLASSES in frame else None)
    if kind not in READERS:
        kinds, names = ", ".join(READERS), ", ".join(map(repr, DATASETS))
        raise InputError("source", f"be a file that ends in {kinds}, or one of {names}", name)
    try:
        with path.open("rb"):
            pass
        return READERS[kind](path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        missing = isinstance(error, FileNotFoundError)
        refusal = MissingFileError if missing else FileAccessError
        raise refusal("source", "be a file", Message(f"{name!r}: {reason}")) from None


def _read_text(path: Path, separators: Sequence[str]) -> Loaded:
    """A csv or tsv file; its header says which separator it has."""
    options: dict[str, Any] = {"encoding": "utf-8-sig", "low_memory": False}
    try:
        with path.open(encoding="utf-8-sig") as lines:
            head = lines.readline()
        options["sep"] = max(separators, key=head.count)
        names = pd.read_csv(path, header=None, nrows=1, dtype=str, **options).iloc[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, index_col=False, **options)
    except UnicodeDecodeError as error:
        raise _refused(path, "be text in UTF-8", error) from None
    except UNREADABLE as error:
        raise _refused(path, "be a table with a header row", error) from None
    frame.columns = _distinct(path, ["" if pd.isna(name) else str(name) for name in names])
    # R writes the names of rows into a first column without a name.
    return Loaded(frame, id_column="" if len(frame.columns) > 1 and not frame.columns[0] else None)


def _read_parquet(path: Path) -> Loaded:
    _extra("pyarrow", "a .parquet file")
    check_parquet_size(path)
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except ValueError as error:  # what pyarrow raises is one
        raise _refused(path, "be a Parquet file", error) from None
    kept = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index(level=kept)
    frame.columns = _distinct(path, [str(name) for name in frame.columns])
    return Loaded(frame)


def _read_fcs(path: Path) -> Loaded:
    """A cytometer's file: channels are named for their markers, if they have some."""
    flowio = _extra("flowio", "a .fcs file")
    try:
        with path.open("rb") as stream:
            data = flowio.FlowData(stream)
        values = data.as_array(preprocess=True)
    except Exception as error:  # a damaged file makes flowio raise errors of any kind
        raise _refused(path, "be an FCS file", error) from None
    both = zip(data.pnn_labels, data.pns_labels, strict=True)
    names = _distinct(path, [marker.strip() or channel for channel, marker in both])
    time = () if data.time_index is None else (names[data.time_index],)
    measured = [names[i] for i in data.fluoro_indices]
    plain = tuple(name for name in names if name not in measured)
    return Loaded(pd.DataFrame(values, columns=names), left_out=time, plain=plain)


def _refused(path: Path, requirement: str, error: Exception) -> FileContentError:
    """What to raise where a reader of files has raised an error."""
    reason = " ".join(str(error).split()).rstrip(".")
    got = Message(f"a file that cannot be read as such ({reason})")
    return FileContentError("source", str(path), requirement, got)


def _distinct(path: Path, names: list[str]) -> pd.Index:
    """Names of columns; pandas alone would rename those that occur twice."""
    index = pd.Index(names)
    twice = index[index.duplicated()]
    if len(twice):
        got = Message(f"{twice[0]!r} more than once")
        requirement, remedy = "have distinct column names", "Rename the columns."
        raise FileContentError("source", str(path), requirement, got, remedy)
    return index


def _check_cells(column: pd.Series, source: str) -> None:
    """Refuse the first cell of a column of text that is not a number."""
    if pd.api.types.is_string_dtype(column.dtype):
        numbers = pd.to_numeric(column, errors="coerce")
        bad = np.flatnonzero(numbers.isna() & column.notna())
        if len(bad):
            cell, names = repr(str(column.iloc[bad[0]])), (Name("id_column"), Name("label_column"))
            raise FileContentError(
                "source",
                source,
                "hold numbers",
                in_cell(cell, ColumnName(str(column.name)), int(bad[0])),
                Message(
                    *("Leave the column out with ", Name("columns"), ", or name it as "),
                    *(names[0], " or ", names[1], "."),
                ),
            )


def _extra(module: str, *what: Part) -> Any:
    """A module of the optional ones that files need."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(
            *what, f" needs the package {module.split('.')[0]}: pip install 'credpart[io]'"
        ) from None


READERS: Mapping[str, Callable[[Path], Loaded]] = {
    ".csv": partial(_read_text, separators=(",", ";", "\t")),
    ".tsv": partial(_read_text, separators=("\t",)),
    ".parquet": _read_parquet,
    ".fcs": _read_fcs,
}
