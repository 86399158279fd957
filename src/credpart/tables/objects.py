"""The objects of a source: attributes to cluster, and perhaps names and known classes."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credpart._messages import ColumnName, Message, RowNumber
from credpart.errors import InputError
from credpart.tables.sources import Source, open_source
from credpart.tables.text import TextFormat
from credpart.tables.transform import Transform


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects to cluster: attributes, and perhaps names and known classes.

    Attributes
    ----------
    X : DataFrame
        The attributes.
    ids : Index or None
        Names of the objects: text, as it was written.
    classes : array of str or None
        Known classes, that no method sees: text, as it was written.
    remarks : tuple of str
        What a user should know of how the source was read.

    Examples
    --------
    >>> from credpart.tables import read_objects
    >>> read_objects("butterfly").X.shape
    (11, 2)
    """

    X: pd.DataFrame
    ids: pd.Index | None
    classes: NDArray[np.str_] | None
    remarks: tuple[str, ...] = ()

    def named(self) -> pd.DataFrame:
        """The attributes by the names of the objects; those without are called 1, 2, 3 and so on.

        >>> from credpart.tables import read_objects
        >>> read_objects("butterfly").named().index[0]
        1
        """
        ids = pd.RangeIndex(1, len(self.X) + 1) if self.ids is None else self.ids
        return self.X.set_axis(ids.rename("id"))


def read_objects(
    source: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    transform: Transform | None = None,
    categories: bool = False,
    text_columns: Collection[str] = (),
    text_format: TextFormat | None = None,
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
        The column of the names of the objects, and that of their known classes.  Both are text:
        001 is not 1.
    transform : Transform, optional
        Applied to all columns of numbers; in an FCS file to those of fluorescence.
    categories : bool
        Whether columns may hold text, as models of categories take it.
    text_columns : collection of str
        Columns that hold categories although all of their cells, or most, are numbers.
    text_format : TextFormat, optional
        How a text file holds its table, if that is not plain from the file.

    Examples
    --------
    >>> from credpart.tables import read_objects
    >>> objects = read_objects("iris", columns=["petal_length", "petal_width"])
    >>> objects.X.shape, str(objects.classes[0])
    ((150, 2), 'setosa')
    """
    found = open_source(source, text_format or TextFormat())
    cells, name = found.cells, os.fspath(source)
    id_column = found.id_column if id_column is None else id_column
    label_column = found.label_column if label_column is None else label_column
    for argument, column in (("id_column", id_column), ("label_column", label_column)):
        if column is not None:
            _check_columns(argument, [column], cells.names, name)
    if text_columns:
        _check_columns("text_columns", list(text_columns), cells.names, name)
    if columns is None:
        apart = {id_column, label_column, *found.left_out}
        columns = [column for column in cells.names if column not in apart]
    else:
        columns = _check_columns("columns", columns, cells.names, name)
    data = {
        column: cells.values(column, categories=categories, as_text=column in text_columns)
        for column in columns
    }
    X = _transformed(pd.DataFrame(data, index=pd.RangeIndex(cells.n_rows)), transform, found.plain)
    ids = None if id_column is None else pd.Index(cells.names_of_objects(id_column), dtype=object)
    classes = None if label_column is None else _classes(found, label_column, name)
    used = [*columns, *([] if label_column is None else [label_column])]
    return Objects(X, ids, classes, tuple(cells.remarks_on(used)))


def _check_columns(
    argument: str, wanted: Sequence[str], names: Sequence[str], source: str
) -> Sequence[str]:
    unknown = [column for column in wanted if column not in names]
    if unknown or not wanted:
        got = Message(", ".join(map(repr, unknown)) or "none")
        known = f"Its columns are {', '.join(map(repr, names))}."
        raise InputError(argument, f"be in {source!r}", got, known)
    twice = sorted({column for column in wanted if list(wanted).count(column) > 1})
    if twice:
        raise InputError(argument, "be distinct", Message(f"{twice[0]!r} more than once"))
    return wanted


def _transformed(
    X: pd.DataFrame, transform: Transform | None, plain: Sequence[str]
) -> pd.DataFrame:
    some = [str(name) for name in X if name not in plain and pd.api.types.is_numeric_dtype(X[name])]
    if transform is None or transform.name == "none" or not some:
        return X
    return X.assign(**dict(zip(some, transform(X[some].to_numpy(np.float64)).T, strict=True)))


def _classes(found: Source, column: str, source: str) -> NDArray[np.str_]:
    texts = found.cells.texts(column)
    missing = [row for row, text in enumerate(texts) if text is None]
    if missing:
        place = (ColumnName(column), f" of {source!r}, ", RowNumber(missing[0]))
        raise InputError(
            "label_column",
            "be known for all objects",
            Message("none in ", *place),
            "Give the unknown ones a class of their own.",
        )
    return np.array(texts, dtype=np.str_)
