"""The objects of a source: attributes to cluster, and perhaps names and known classes."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credpart._arrays import IntArray
from credpart._checks import check_choice
from credpart._messages import ColumnName, Message, RowNumber
from credpart.errors import InputError
from credpart.tables.roles import (
    HEAD,
    code_remarks,
    identifier_remarks,
    left_out_remarks,
    may_identify,
    missing_code_remarks,
    total_remarks,
    why_identifier,
    why_left_out,
)
from credpart.tables.sources import JoinedCells, Source, open_sources
from credpart.tables.text import TextFormat
from credpart.tables.transform import Transform

MISSING = ("error", "drop", "model")


class KeptColumns(NamedTuple):
    """The columns of a source, to stand beside results."""

    written: pd.DataFrame  # cell for cell
    typed: pd.DataFrame  # columns that are clustered as the numbers that they were read as

    def take(self, rows: IntArray) -> "KeptColumns":
        """Some of the rows."""
        return KeptColumns(*(frame.iloc[rows].reset_index(drop=True) for frame in self))


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects to cluster: attributes, and perhaps names, known classes, groups and strata.

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
    rows : array of int or None
        Which row of the source, counted from 0, each object is; None if they are all of them.
    groups, strata : array of str or None
        Groups that are resampled whole, and strata that are each resampled on its own.
    known : array of str and None, or None
        What is known already of the clusters of objects, as labels that a fit takes.
    kept : KeptColumns or None
        All columns but that of names, if they were asked for.
    files : sequence of (str, int)
        Names and numbers of rows of the files, if there are several.

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
    rows: IntArray | None = None
    groups: NDArray[np.str_] | None = None
    strata: NDArray[np.str_] | None = None
    known: NDArray[np.object_] | None = None
    kept: KeptColumns | None = None
    files: Sequence[tuple[str, int]] = ()

    def without_missing(self) -> "Objects":
        """The objects that have no missing cell.

        >>> import numpy as np
        >>> X = pd.DataFrame({"x": [1.0, np.nan, 3.0]})
        >>> Objects(X, None, None).without_missing().named().index.to_list()
        [1, 3]
        """
        is_whole = self.X.notna().all(axis=1).to_numpy()
        kept = np.flatnonzero(is_whole)
        if len(kept) == len(self.X):
            return self
        left_out = np.flatnonzero(~is_whole)
        several = f"{len(left_out)} rows" if len(left_out) > 1 else "1 row"
        first = " (the first is " if len(left_out) > 1 else " ("
        remark = Message(
            f"Left out {several} with missing cells{first}", self.place(int(left_out[0])), ")."
        )
        return Objects(
            self.X.iloc[kept].reset_index(drop=True),
            None if self.ids is None else self.ids[kept],
            None if self.classes is None else self.classes[kept],
            (*self.remarks, remark),
            kept if self.rows is None else self.rows[kept],
            None if self.groups is None else self.groups[kept],
            None if self.strata is None else self.strata[kept],
            None if self.known is None else self.known[kept],
            None if self.kept is None else self.kept.take(kept),
            self.files,
        )

    def place(self, row: int) -> RowNumber:
        """Which row of the source an object is; of several files, which row of which file.

        >>> X = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
        >>> Objects(X, None, None, files=[("a.csv", 2), ("b.csv", 1)]).place(2)
        RowNumber(number=0, file='b.csv')
        """
        return place_in(self.files, row if self.rows is None else int(self.rows[row]))

    def places_of(self, sample: IntArray) -> Callable[[int], RowNumber]:
        """`place` for some of the objects, of which row i is object ``sample[i]``."""
        return lambda row: self.place(int(sample[row]))

    def named(self) -> pd.DataFrame:
        """The attributes by the names of the objects; those without have the numbers of their rows.

        >>> from credpart.tables import read_objects
        >>> read_objects("butterfly").named().index[0]
        1
        """
        ids = self.ids
        if ids is None:
            every = pd.RangeIndex(1, len(self.X) + 1)
            ids = every if self.rows is None else pd.Index(self.rows + 1)
        return self.X.set_axis(ids.rename("id"))


def read_objects(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    strata_column: str | None = None,
    known_column: str | None = None,
    transform: Transform | None = None,
    categories: bool = False,
    text_columns: Collection[str] = (),
    text_format: TextFormat | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
    keep_columns: bool = False,
    drop_redundant: bool = False,
    usual_id_column: str | None = None,
) -> Objects:
    """Return the objects of a file or of a bundled data set.

    Parameters
    ----------
    source : path or name
        A file that ends in .csv, .tsv, .txt, .parquet, .xlsx, .h5ad or .fcs, such a file as .gz
        or .zip, a bundled data set's name, or "-" for text on standard input.  Several of them,
        with the same columns, are one table.
    columns : sequence of str, optional
        The columns to cluster, by name or by pattern such as ``petal_*``; by default all but
        those of names and classes, those that plainly identify the objects (they count the rows,
        or hold another text in each), and that of time in an FCS file.
    id_column, label_column : str, optional
        The column of the names of the objects, and that of their known classes.  Both are text:
        001 is not 1.
    group_column, strata_column : str, optional
        The column of groups that are resampled whole, and that of strata.
    known_column : str, optional
        The column of what is known already of the clusters, which the fit respects: cells as
        ``A``, ``A|B`` or ``!C``, and empty ones.
    transform : Transform, optional
        Applied to all columns of numbers; in an FCS file to those of fluorescence.
    categories : bool
        Whether columns may hold text, as models of categories take it.
    text_columns : collection of str
        Columns that hold categories although all of their cells, or most, are numbers.
    text_format : TextFormat, optional
        How a text file holds its table, if that is not plain from the file.
    drop : sequence of str
        Columns to leave out, by name or by pattern.
    missing : {"error", "drop", "model"}
        What to do with an object that has a missing cell: "drop" leaves it out.  The others leave
        that to the model: one of numbers refuses missing cells unless it is told to model them.
    keep_columns : bool
        Whether to keep all columns of the source, so that they can be written beside results.
    drop_redundant : bool
        Whether to leave out columns of numbers that add nothing, unless ``columns`` names them:
        constant ones, and those that repeat another, perhaps in other units.
    usual_id_column : str, optional
        The column of the names of the objects, if ``id_column`` is not given and it is there.

    Examples
    --------
    >>> from credpart.tables import read_objects
    >>> objects = read_objects("iris", columns=["petal_length", "petal_width"])
    >>> objects.X.shape, str(objects.classes[0])
    ((150, 2), 'setosa')
    """
    check_choice("missing", missing, MISSING)
    several = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not several:
        raise InputError("source", "name at least one file", Message("none"))
    found = open_sources(several, text_format or TextFormat())
    where = ", ".join(str(os.fspath(one)) for one in several)
    files = found.cells.files if isinstance(found.cells, JoinedCells) else ()
    units = {"group_column": group_column, "strata_column": strata_column}
    apart = {**units, "known_column": known_column}
    if id_column is None and usual_id_column in found.cells.names:
        id_column = usual_id_column
    chosen = _choose(found, where, columns, drop, id_column, label_column, apart)
    if text_columns:
        _check_columns("text_columns", list(text_columns), found.cells.names, where)
    data = found.cells.values(chosen.columns, categories=categories, text_columns=text_columns)
    X = pd.DataFrame(data.columns, index=pd.RangeIndex(found.cells.n_rows))
    ids = None if chosen.ids is None else _ids(found, chosen.ids)
    classes, groups, strata = (
        None if column is None else _classes(found, argument, column, where, files)
        for argument, column in {"label_column": chosen.labels, **units}.items()
    )
    remarks = [*data.remarks, *chosen.remarks]
    if columns is None and not found.has_roles:
        reasons = why_left_out(X, redundant=drop_redundant)
        if len(reasons) < X.shape[1]:  # else nothing would be left to cluster
            X = X.drop(columns=list(reasons))
            remarks += left_out_remarks(reasons)
        remarks += () if categories else code_remarks(X)
    if not found.has_roles:
        remarks += missing_code_remarks(X, found.cells.texts)
        remarks += total_remarks(ids)
    kept = _kept(found, chosen.ids, X) if keep_columns else None
    X = _transformed(X, transform, found.plain)
    known = None
    if known_column is not None:
        known = np.array([*found.cells.texts(known_column)], dtype=object)
    objects = Objects(
        X,
        ids,
        classes,
        tuple(remarks),
        groups=groups,
        strata=strata,
        known=known,
        kept=kept,
        files=files,
    )
    return objects.without_missing() if missing == "drop" else objects


def place_in(files: Sequence[tuple[str, int]], row: int) -> RowNumber:
    """Which row of which of several files a row of all of them is."""
    for name, n_rows in files:
        if row < n_rows:
            return RowNumber(row, name)
        row -= n_rows
    return RowNumber(row)


class _Chosen(NamedTuple):
    """Which columns are what."""

    columns: Sequence[str]
    ids: str | None
    labels: str | None
    remarks: Sequence[str]


def _choose(
    found: Source,
    source: str,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    id_column: str | None,
    label_column: str | None,
    units: Mapping[str, str | None],
) -> _Chosen:
    """Say which columns are clustered, and which name the objects and their classes."""
    names = found.cells.names
    id_column = found.id_column if id_column is None else id_column
    label_column = found.label_column if label_column is None else label_column
    special = {"id_column": id_column, "label_column": label_column, **units}
    for argument, column in special.items():
        if column is not None:
            _check_columns(argument, [column], names, source)
    dropped = _matched("drop", drop, names, source) if drop else []
    if columns is not None:
        kept = _check_columns("columns", _matched("columns", columns, names, source), names, source)
        return _Chosen([c for c in kept if c not in dropped], id_column, label_column, [])
    apart = {*special.values(), *found.left_out, *dropped}
    wanted = [column for column in names if column not in apart]
    reasons = {} if found.has_roles else _identifiers(found, wanted)
    if len(reasons) == len(wanted):  # then nothing would be left to cluster
        reasons = {}
    if id_column is None:
        id_column = next(iter(reasons), None)
    kept = [column for column in wanted if column not in reasons]
    return _Chosen(kept, id_column, label_column, [*identifier_remarks(reasons, id_column)])


def _identifiers(found: Source, names: Sequence[str]) -> dict[str, str]:
    """The columns that identify objects, and why."""
    parts = found.cells.parts if isinstance(found.cells, JoinedCells) else [found.cells]
    reasons = {}
    for name in names:
        # A counter may begin again in each of several files.
        if all(may_identify(part.head(name, HEAD)) for part in parts):
            of_parts = [why_identifier(name, part.texts(name)) for part in parts]
            if all(of_parts):
                reasons[name] = of_parts[0]
    return reasons


def _matched(argument: str, wanted: Sequence[str], names: Sequence[str], source: str) -> list[str]:
    """The columns of names and patterns such as ``petal_*``, in this order."""
    found: list[str] = []
    for pattern in wanted:
        is_name = pattern in names or not any(mark in pattern for mark in "*?[")
        matching = [pattern] if is_name else [n for n in names if fnmatchcase(n, pattern)]
        more = _check_columns(argument, matching or [pattern], names, source)
        found += more if is_name else [name for name in more if name not in found]
    return found


def _ids(found: Source, column: str) -> pd.Index:
    return pd.Index(found.cells.names_of_objects(column), dtype=object, name=column)


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


def _kept(found: Source, ids: str | None, X: pd.DataFrame) -> KeptColumns:
    """All columns but that of the names of objects, which stand beside results anyway."""
    written = found.cells.as_written([name for name in found.cells.names if name != ids])
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name]) and name in written]
    return KeptColumns(written, written.assign(**{str(name): X[name] for name in numbers}))


def _transformed(
    X: pd.DataFrame, transform: Transform | None, plain: Sequence[str]
) -> pd.DataFrame:
    some = [str(name) for name in X if name not in plain and pd.api.types.is_numeric_dtype(X[name])]
    if transform is None or transform.name == "none" or not some:
        return X
    return X.assign(**dict(zip(some, transform(X[some].to_numpy(np.float64)).T, strict=True)))


UNKNOWN = {"label_column": "class", "group_column": "group", "strata_column": "stratum"}


def _classes(
    found: Source, argument: str, column: str, source: str, files: Sequence[tuple[str, int]]
) -> NDArray[np.str_]:
    """The classes, groups or strata of a column."""
    texts = found.cells.texts(column)
    missing = [row for row, text in enumerate(texts) if text is None]
    if missing:
        where = ", " if files else f" of {source!r}, "
        place = (ColumnName(column), where, place_in(files, missing[0]))
        raise InputError(
            argument,
            "be known for all objects",
            Message("none in ", *place),
            f"Give the unknown ones a {UNKNOWN[argument]} of their own.",
        )
    return np.array(texts, dtype=np.str_)
