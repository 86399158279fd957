"""Where tables come from: files of several kinds, and bundled data sets.

Whatever the kind, a source gives the names of its columns, and each column in two ways: as cells
to cluster, which are numbers or text, and as text byte for byte, as names of objects and classes
are needed.
"""

import gzip
import io
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pandas as pd

from credpart._checks import in_cell
from credpart._memory import GIGA, free_memory
from credpart._messages import ColumnName, Message
from credpart._parquet import check_parquet_size
from credpart.annotated_data import objects_of
from credpart.datasets import DATASETS, load
from credpart.datasets.loaders import CLASSES
from credpart.errors import FileAccessError, FileContentError, InputError, MissingFileError
from credpart.tables.excel import read_sheet
from credpart.tables.extras import extra
from credpart.tables.text import DELIMITERS, TextFormat, Values, name_or_leave_out, read_text

CHUNK = 1 << 20  # bytes that are unpacked at once
STANDARD_INPUT = "-"


class Cells(Protocol):
    """The columns of a source."""

    @property
    def n_rows(self) -> int:
        """Number of objects."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    def values(
        self, names: Sequence[str], *, categories: bool, text_columns: Collection[str]
    ) -> Values:
        """Columns to cluster: numbers, or text where there may be categories."""

    def head(self, name: str, n: int) -> list[str | None]:
        """The first cells of a column as text."""

    def texts(self, name: str) -> list[str | None]:
        """A column as text, None where a cell is missing."""

    def names_of_objects(self, name: str) -> list[str]:
        """A column as it was written."""

    def as_written(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns as they are in the source, to be kept beside results."""


@dataclass(frozen=True, slots=True, eq=False)
class FrameCells:
    """Columns that have types of their own."""

    path: str
    frame: pd.DataFrame
    exact: Callable[[str], list[Any]] | None = None  # cells as they were stored, if pandas alters

    @property
    def n_rows(self) -> int:
        """Number of objects."""
        return len(self.frame)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self.frame]

    def values(
        self, names: Sequence[str], *, categories: bool, text_columns: Collection[str]
    ) -> Values:
        """Columns to cluster."""
        columns = {
            name: pd.Series(self.texts(name), dtype=object)
            if name in text_columns
            else self.frame[name].reset_index(drop=True)
            for name in names
        }
        if not categories:
            _check_numbers([columns[name] for name in names if name not in text_columns], self.path)
        return Values(columns, [])

    def head(self, name: str, n: int) -> list[str | None]:
        """The first cells of a column as text."""
        cells = list(self.frame[name].iloc[:n])
        return [None if _is_missing(cell) else _as_text(cell) for cell in cells]

    def texts(self, name: str) -> list[str | None]:
        """A column as text: each cell as its own type writes it."""
        cells = list(self.frame[name]) if self.exact is None else self.exact(name)
        return [None if _is_missing(cell) else _as_text(cell) for cell in cells]

    def names_of_objects(self, name: str) -> list[str]:
        """A column as text; a missing name is empty."""
        return [text or "" for text in self.texts(name)]

    def as_written(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns with the types that they have."""
        return self.frame[list(names)].reset_index(drop=True)


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell is pd.NaT or cell != cell


def _as_text(cell: Any) -> str:
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)


def _check_numbers(columns: Sequence[pd.Series], path: str) -> None:
    """Refuse the first cell that is not a number of columns of text."""
    first_text = {}  # of each column: where its first cell that is not a number stands
    for column in columns:
        if pd.api.types.is_string_dtype(column.dtype):
            bad = pd.to_numeric(column, errors="coerce").isna() & column.notna()
            if bad.any():
                row = int(bad.argmax())
                name = str(column.name)
                first_text[name] = in_cell(repr(str(column.iloc[row])), ColumnName(name), row)
    if first_text:
        remedy, got = name_or_leave_out([*first_text]), next(iter(first_text.values()))
        raise FileContentError("source", path, "hold numbers", got, remedy)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table as it was found."""

    cells: Cells
    id_column: str | None = None  # that can be nothing else
    label_column: str | None = None
    left_out: tuple[str, ...] = ()  # columns that are clustered only if asked for
    plain: tuple[str, ...] = ()  # columns that a transform leaves alone
    has_roles: bool = False  # whether it is known which columns are measurements


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCells:
    """The columns of several tables, one below the other."""

    parts: Sequence[Cells]
    sources: Sequence[str]  # where the tables are from

    @property
    def files(self) -> list[tuple[str, int]]:
        """Names of the sources and numbers of their rows."""
        return [(s, part.n_rows) for s, part in zip(self.sources, self.parts, strict=True)]

    @property
    def n_rows(self) -> int:
        """Number of objects of all tables."""
        return sum(part.n_rows for part in self.parts)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the first table."""
        return self.parts[0].names

    def values(
        self, names: Sequence[str], *, categories: bool, text_columns: Collection[str]
    ) -> Values:
        """Columns to cluster; each table says how its own numbers are written."""
        given = [
            part.values(names, categories=categories, text_columns=text_columns)
            for part in self.parts
        ]
        columns = {
            name: pd.concat([one.columns[name] for one in given], ignore_index=True)
            for name in names
        }
        for name in names:
            kinds = {pd.api.types.is_numeric_dtype(one.columns[name]) for one in given}
            if len(kinds) > 1:
                got = Message(f"numbers and text in column {name!r}")
                raise InputError("source", "be files whose columns are of the same kind", got)
        remarks = dict.fromkeys(remark for one in given for remark in one.remarks)
        return Values(columns, list(remarks))

    def head(self, name: str, n: int) -> list[str | None]:
        """The first cells of a column as text."""
        return self.parts[0].head(name, n)

    def texts(self, name: str) -> list[str | None]:
        """A column as text."""
        return [text for part in self.parts for text in part.texts(name)]

    def names_of_objects(self, name: str) -> list[str]:
        """A column as it was written."""
        return [text for part in self.parts for text in part.names_of_objects(name)]

    def as_written(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns as they are in the sources."""
        return pd.concat([part.as_written(names) for part in self.parts], ignore_index=True)


def open_sources(sources: Sequence[str | os.PathLike[str]], text_format: TextFormat) -> Source:
    """Read several sources with the same columns as one table."""
    found = [open_source(source, text_format) for source in sources]
    first = found[0]
    for source, other in zip(sources, found, strict=True):
        odd = sorted(set(first.cells.names) ^ set(other.cells.names))
        if odd:
            got = Message(f"{odd[0]!r} in only one of {os.fspath(sources[0])!r} and {source!r}")
            raise InputError("source", "be files with the same columns", got)
    if len(found) == 1:
        return first
    names = [str(os.fspath(source)) for source in sources]
    return replace(first, cells=JoinedCells([one.cells for one in found], names))


def open_source(source: str | os.PathLike[str], text_format: TextFormat) -> Source:
    """Read a file, standard input or a bundled data set."""
    path = Path(source)
    name = os.fspath(source)
    if name == STANDARD_INPUT:
        return _read_input(text_format)
    if name in DATASETS:  # a file of this name has no ending; a folder is named ./iris
        _check_no_text(text_format, f"the data set {name!r}")
        return _bundled(name)
    _check_kind(name)
    try:
        with open(path, "rb", opener=_without_waiting) as stream:
            _check_regular(stream, name)
            kind, content = _unpacked(stream, name)
            return READERS[kind](content, name, text_format)
    except FileAccessError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        missing = isinstance(error, FileNotFoundError)
        refusal = MissingFileError if missing else FileAccessError
        raise refusal("source", "be a file", Message(f"{name!r}: {reason}")) from None


def _check_kind(name: str) -> None:
    """Refuse a file whose name does not say what it holds."""
    kinds = Path(name.lower()).suffixes
    inner = kinds[:-1] if kinds and kinds[-1] == ".gz" else kinds
    if not inner or inner[-1] not in {*READERS, ".zip"}:
        endings, names = ", ".join(READERS), ", ".join(map(repr, DATASETS))
        raise InputError(
            "source",
            f"be a file that ends in {endings}, such a file as .gz or .zip, - for standard input, "
            f"or one of {names}",
            name,
        )


def _read_input(text_format: TextFormat) -> Source:
    """A text from standard input."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        got = Message("standard input that is closed")
        raise FileAccessError("source", "be a file or open standard input", got)
    return _read_text(stream, "standard input", text_format, DELIMITERS)


def _unpacked(stream: BinaryIO, name: str) -> tuple[str, BinaryIO]:
    """The kind of the file, and its content; one that is packed is unpacked into memory."""
    path = Path(name.lower())
    if path.suffix == ".gz":
        return Path(path.stem).suffix, _gunzipped(stream, name)
    if path.suffix == ".zip":
        return _unzipped(stream, name)
    return path.suffix, stream


def _gunzipped(stream: BinaryIO, name: str) -> BinaryIO:
    content = io.BytesIO()
    try:
        with gzip.open(stream) as packed:
            _copy(packed, content, name)
    except (EOFError, OSError, zlib.error) as error:
        raise _refused(name, "be a gzip file", error) from None
    return content


def _unzipped(stream: BinaryIO, name: str) -> tuple[str, BinaryIO]:
    """The one table of a zip file; other files in it, such as a licence, do not count."""
    content = io.BytesIO()
    try:
        with zipfile.ZipFile(stream) as archive:
            inside = [
                file
                for file in archive.namelist()
                if Path(file.lower()).suffix in READERS and not Path(file).name.startswith(".")
            ]
            if len(inside) != 1:
                got = Message(f"{len(inside)} of them")
                requirement = f"hold one file that ends in {', '.join(READERS)}"
                raise FileContentError("source", name, requirement, got, "Unpack it.")
            with archive.open(inside[0]) as packed:
                _copy(packed, content, name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise _refused(name, "be a zip file", error) from None
    return Path(inside[0].lower()).suffix, content


def _copy(packed: Any, content: BinaryIO, name: str) -> None:
    """Unpack by parts, and stop before the memory is full."""
    free = free_memory()
    while part := packed.read(CHUNK):
        content.write(part)
        if free is not None and 2.0 * content.tell() > free:
            requirement = f"unpack into the {free / GIGA:.1f} GB of memory that are free"
            raise FileContentError("source", name, requirement, Message("more"))
    content.seek(0)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a FIFO that nobody writes to is opened too, and refused afterwards."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(stream: BinaryIO, name: str) -> None:
    """Refuse FIFOs and devices: reading them may wait for ever, and never come to an end."""
    mode = os.fstat(stream.fileno()).st_mode
    if not stat.S_ISREG(mode):
        what = "a FIFO" if stat.S_ISFIFO(mode) else "a device"
        got = Message(f"{name!r}, which is {what}")
        raise FileAccessError("source", "be a file", got, "Give its text on standard input: -.")


def _bundled(name: str) -> Source:
    frame = load(name).frame
    label_column = CLASSES if CLASSES in frame else None
    return Source(FrameCells(name, frame), label_column=label_column, has_roles=True)


def _read_text(
    stream: BinaryIO, name: str, text_format: TextFormat, delimiters: Sequence[str]
) -> Source:
    """A csv or tsv file."""
    _check_given(text_format, ("sheet",), ".xlsx and .h5ad files", "a text file")
    table = read_text(stream.read(), name, text_format, delimiters)
    # R writes the names of rows into a first column without a name.
    unnamed = len(table.names) > 1 and not table.names[0]
    return Source(table, id_column="" if unnamed else None)


def _check_no_text(text_format: TextFormat, source: str) -> None:
    """Refuse what is said of text where there is none."""
    of_text = [field.name for field in fields(TextFormat) if field.name != "sheet"]
    _check_given(text_format, of_text, "text files", source)
    _check_given(text_format, ("sheet",), ".xlsx and .h5ad files", source)


def _check_given(text_format: TextFormat, names: Sequence[str], which: str, source: str) -> None:
    """Refuse what is said of files of another kind."""
    for field in fields(TextFormat):
        value = getattr(text_format, field.name)
        if field.name in names and value != field.default:
            got = Message(f"{value!r} for {source}")
            raise InputError(field.name, f"be given for {which} only", got, "Leave it out.")


def _read_parquet(stream: BinaryIO, name: str, text_format: TextFormat) -> Source:
    _check_no_text(text_format, "a .parquet file")
    extra("pyarrow", "a .parquet file")
    parquet = extra("pyarrow.parquet", "a .parquet file")
    check_parquet_size(stream, name)
    stream.seek(0)
    try:
        table = parquet.ParquetFile(stream).read()
        frame = table.to_pandas()
    except (ValueError, OSError) as error:  # what pyarrow raises is one
        if isinstance(error, FileContentError):
            raise
        raise _refused(name, "be a Parquet file", error) from None
    kept = [level for level in frame.index.names if level is not None]
    frame = frame.reset_index(level=kept)
    frame.columns = _distinct(name, [str(column) for column in frame.columns])

    def exact(column: str) -> list[Any]:
        # A column of integers with a missing cell is one of floats in pandas: long ones collide.
        stored = column in table.column_names
        return table[column].to_pylist() if stored else list(frame[column])

    return Source(FrameCells(name, frame, exact))


def _read_excel(stream: BinaryIO, name: str, text_format: TextFormat) -> Source:
    """A sheet, whose cells are read as text is: a first row may be a header, or an object."""
    of_characters = ("delimiter", "encoding", "comment")
    _check_given(text_format, of_characters, "text files", "an .xlsx file")
    try:
        table = read_sheet(stream, name, text_format)
    except (zipfile.BadZipFile, KeyError, TypeError, SyntaxError, EOFError, zlib.error) as error:
        raise _refused(name, "be an Excel file", error) from None
    unnamed = len(table.names) > 1 and not table.names[0]
    return Source(table, id_column="" if unnamed else None)


def _read_h5ad(stream: BinaryIO, name: str, text_format: TextFormat) -> Source:
    """An AnnData file: one of its matrices, and the columns of ``obs``, left out."""
    of_text = [field.name for field in fields(TextFormat) if field.name != "sheet"]
    _check_given(text_format, of_text, "text files", "an .h5ad file")
    read_elem = extra("anndata.io", "an .h5ad file").read_elem
    try:
        with extra("h5py", "an .h5ad file").File(stream, "r") as file:
            adata = read_elem(file)
    except (OSError, KeyError, ValueError) as error:
        raise _refused(name, "be an AnnData file", error) from None
    X = objects_of(adata, text_format.sheet, argument="sheet")
    obs = adata.obs.set_axis([str(column) for column in adata.obs], axis=1)
    names = _distinct(name, [*map(str, X), "obs_names", *obs])
    both = pd.concat([X.assign(obs_names=X.index), obs], axis=1).set_axis(names, axis=1)
    cells = FrameCells(name, both.reset_index(drop=True))
    return Source(cells, id_column="obs_names", left_out=tuple(obs), has_roles=True)


def _read_fcs(stream: BinaryIO, name: str, text_format: TextFormat) -> Source:
    """A cytometer's file: channels are named for their markers, if they have some."""
    _check_no_text(text_format, "a .fcs file")
    flowio = extra("flowio", "a .fcs file")
    try:
        data = flowio.FlowData(stream)
        values = data.as_array(preprocess=True)
    except Exception as error:  # a damaged file makes flowio raise errors of any kind
        raise _refused(name, "be an FCS file", error) from None
    both = zip(data.pnn_labels, data.pns_labels, strict=True)
    names = _distinct(name, [marker.strip() or channel for channel, marker in both])
    time = () if data.time_index is None else (names[data.time_index],)
    measured = [names[i] for i in data.fluoro_indices]
    plain = tuple(channel for channel in names if channel not in measured)
    cells = FrameCells(name, pd.DataFrame(values, columns=names))
    return Source(cells, left_out=time, plain=plain, has_roles=True)


def _refused(name: str, requirement: str, error: Exception) -> FileContentError:
    """What to raise where a reader of files has raised an error."""
    reason = " ".join(str(error).split()).rstrip(".")
    got = Message(f"a file that cannot be read as such ({reason})")
    return FileContentError("source", name, requirement, got)


def _distinct(name: str, names: list[str]) -> pd.Index:
    """Names of columns; pandas alone would rename those that occur twice."""
    index = pd.Index(names)
    twice = index[index.duplicated()]
    if len(twice):
        got = Message(f"{twice[0]!r} more than once")
        requirement, remedy = "have distinct column names", "Rename the columns."
        raise FileContentError("source", name, requirement, got, remedy)
    return index


READERS: Mapping[str, Callable[[BinaryIO, str, TextFormat], Source]] = {
    ".csv": partial(_read_text, delimiters=DELIMITERS),
    ".tsv": partial(_read_text, delimiters=("\t",)),
    ".txt": partial(_read_text, delimiters=(*DELIMITERS, " ")),
    ".parquet": _read_parquet,
    ".xlsx": _read_excel,
    ".h5ad": _read_h5ad,
    ".fcs": _read_fcs,
}
