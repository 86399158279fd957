"""Where objects come from, partition by partition: Parquet, CSV and FCS files, Dask, arrays.

A partition can be read again and again, by any process that sees its file, and yields its rows as
frames of at most `FRAME_ROWS`.  What is in a partition depends on the data alone, never on the
number of jobs or the backend: so sums over partitions are the same to the bit.
"""

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from credpart._messages import Message
from credpart.errors import (
    FileAccessError,
    FileContentError,
    InputError,
    MissingFileError,
    MissingPackageError,
)
from credpart.tables import TextFormat
from credpart.tables.sources import FrameCells, Source, open_source

FRAME_ROWS = 1 << 16  # rows that are read together
PARTITION_ROWS = 1 << 18  # of small row groups, so many rows make a partition
KINDS = (".parquet", ".csv", ".tsv", ".fcs")
SEPARATORS = {".csv": (",", ";", "\t"), ".tsv": ("\t",)}
# Numbers are read to the last bit by option, and from pandas 3.1 on by default.
EXACT: dict[str, Any] = (
    {}
    if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    else {"float_precision": "round_trip"}
)
UNREADABLE = pd.errors.EmptyDataError, pd.errors.ParserError


class Partition(Protocol):
    """Some rows of the data."""

    @property
    def name(self) -> str:
        """How a message names it: the file, or what it is a part of."""

    @property
    def first_row(self) -> int:
        """Its first row, in what it is named after."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where that is known without reading them."""

    def column_names(self) -> list[str]:
        """Names of all columns."""

    def frames(self, columns: Sequence[str], as_text: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """These columns, by frames of rows; some as text where types are not known."""

    def fingerprint(self) -> list[Any]:
        """What changes if the data change, in terms that JSON has."""


def fingerprint_of_file(path: str) -> list[Any]:
    """Name, size and time of a file."""
    about = os.stat(path)
    return [path, about.st_size, about.st_mtime_ns]


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Consecutive row groups of a Parquet file."""

    name: str
    groups: tuple[int, ...]
    first_row: int
    n_rows: int

    def column_names(self) -> list[str]:
        """Names of all columns; an index that pandas has added has no meaning."""
        with _parquet(self.name) as file:
            names = [str(name) for name in file.schema_arrow.names]
        kept = [name for name in names if not name.startswith("__index_level_")]
        return _distinct(self.name, kept)

    def frames(self, columns: Sequence[str], as_text: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """The rows of the groups."""
        try:
            with _parquet(self.name) as file:
                for batch in file.iter_batches(
                    FRAME_ROWS, row_groups=list(self.groups), columns=list(columns)
                ):
                    yield batch.to_pandas()[list(columns)]
        except (OSError, ValueError) as error:  # what pyarrow raises is one of these
            if isinstance(error, InputError):
                raise
            raise _refused(self.name, "be a Parquet file", error) from None

    def fingerprint(self) -> list[Any]:
        """The file and the groups."""
        return [*fingerprint_of_file(self.name), list(self.groups)]


def arrow(module: str = "pyarrow.parquet") -> Any:
    """A module of pyarrow, which Parquet files need."""
    try:
        return import_module(module)
    except ImportError:
        needed = "Parquet files need the package pyarrow: pip install 'credpart[io]'"
        raise MissingPackageError(needed) from None


def _parquet(name: str) -> Any:
    parquet = arrow()
    try:
        return parquet.ParquetFile(name)
    except (OSError, ValueError) as error:
        raise _refused(name, "be a Parquet file", error) from None


def row_groups(path: str) -> list[RowGroups]:
    """The partitions of a Parquet file: row groups, of which small ones are taken together."""
    with _parquet(path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    found: list[RowGroups] = []
    group: list[int] = []
    first = rows = 0
    for i, size in enumerate(sizes):
        if group and rows + size > PARTITION_ROWS:
            found.append(RowGroups(path, tuple(group), first, rows))
            group, first, rows = [], first + rows, 0
        group.append(i)
        rows += size
    return [*found, RowGroups(path, tuple(group), first, rows)] if group else found


def _refused(name: str, requirement: str, error: Exception) -> FileContentError:
    """What to raise where a reader of files has raised an error."""
    reason = " ".join(str(error).split()).rstrip(".")
    got = Message(f"a file that cannot be read as such ({reason})")
    return FileContentError("source", name, requirement, got)


def _distinct(name: str, columns: list[str]) -> list[str]:
    """Names of columns, if all of them differ."""
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        got = Message(f"{twice[0]!r} more than once")
        requirement, remedy = "have distinct column names", "Rename the columns."
        raise FileContentError("source", name, requirement, got, remedy)
    return columns


def text_header(name: str) -> tuple[str, list[str]]:
    """The separator of a CSV or TSV file, by its header, and the names of its columns."""
    try:
        with Path(name).open(encoding="utf-8-sig") as lines:
            head = lines.readline()
        separator = max(SEPARATORS[Path(name).suffix.lower()], key=head.count)
        options: dict[str, Any] = {"encoding": "utf-8-sig", "dtype": str, "sep": separator}
        cells = pd.read_csv(name, header=None, nrows=1, **options).iloc[0]
    except UnicodeDecodeError as error:
        raise _refused(name, "be text in UTF-8", error) from None
    except UNREADABLE as error:
        raise _refused(name, "be a table with a header row", error) from None
    return separator, _distinct(name, ["" if pd.isna(cell) else str(cell) for cell in cells])


@dataclass(frozen=True, slots=True)
class TextFile:
    """A CSV or TSV file: one partition, since where its rows begin is known by reading it."""

    name: str
    first_row: ClassVar[int] = 0
    n_rows: ClassVar[int | None] = None

    def column_names(self) -> list[str]:
        """Names of all columns."""
        return text_header(self.name)[1]

    def frames(self, columns: Sequence[str], as_text: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """The rows by blocks; numbers are read exactly."""
        separator, names = text_header(self.name)
        try:
            with pd.read_csv(
                self.name,
                sep=separator,
                encoding="utf-8-sig",
                header=0,
                names=names,
                index_col=False,
                usecols=list(columns),
                dtype=dict.fromkeys(as_text, str),
                **EXACT,
                chunksize=FRAME_ROWS,
                low_memory=False,
            ) as reader:
                for frame in reader:
                    yield frame[list(columns)]
        except UnicodeDecodeError as error:
            raise _refused(self.name, "be text in UTF-8", error) from None
        except UNREADABLE as error:
            raise _refused(self.name, "be a table with a header row", error) from None

    def fingerprint(self) -> list[Any]:
        """The file."""
        return fingerprint_of_file(self.name)


def channels(name: str) -> tuple[Source, pd.DataFrame]:
    """An FCS file, and its channels as a frame."""
    found = open_source(name, TextFormat())
    if not isinstance(found.cells, FrameCells):
        raise FileContentError("source", name, "be an FCS file", Message("another one"))
    return found, found.cells.frame


@dataclass(frozen=True, slots=True)
class CytometryFile:
    """An FCS file, which is read as a whole."""

    name: str
    first_row: ClassVar[int] = 0
    n_rows: ClassVar[int | None] = None

    def column_names(self) -> list[str]:
        """Names of the channels."""
        return channels(self.name)[0].cells.names

    def frames(self, columns: Sequence[str], as_text: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """The rows by blocks."""
        frame = channels(self.name)[1][list(columns)]
        for first in range(0, len(frame), FRAME_ROWS):
            yield frame.iloc[first : first + FRAME_ROWS]

    def fingerprint(self) -> list[Any]:
        """The file."""
        return fingerprint_of_file(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class FramePart:
    """Some rows of a DataFrame in memory."""

    name: str
    frame: pd.DataFrame
    first_row: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def column_names(self) -> list[str]:
        """Names of all columns."""
        return [str(name) for name in self.frame]

    def frames(self, columns: Sequence[str], as_text: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """The rows by blocks."""
        some = self.frame.set_axis(self.column_names(), axis=1)[list(columns)]
        for first in range(0, len(some), FRAME_ROWS):
            yield some.iloc[first : first + FRAME_ROWS]

    def fingerprint(self) -> list[Any]:
        """A hash of the content."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(pd.util.hash_pandas_object(self.frame, index=False).to_numpy().tobytes())
        return [self.first_row, len(self.frame), digest.hexdigest()]


@dataclass(frozen=True, slots=True, eq=False)
class DelayedPart:
    """A partition of a Dask collection, which is computed where it is needed."""

    name: str
    delayed: Any
    columns: tuple[str, ...]
    first_row: ClassVar[int] = 0
    n_rows: ClassVar[int | None] = None

    def column_names(self) -> list[str]:
        """Names of all columns."""
        return list(self.columns)

    def frames(self, columns: Sequence[str], as_text: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """The rows by blocks."""
        # In this thread: the task that asks for it may itself be one of Dask's.
        content = self.delayed.compute(scheduler="synchronous")
        frame = pd.DataFrame(np.asarray(content), columns=list(self.columns))
        if isinstance(content, pd.DataFrame):
            frame = content.set_axis(list(self.columns), axis=1)
        for first in range(0, len(frame), FRAME_ROWS):
            yield frame[list(columns)].iloc[first : first + FRAME_ROWS]

    def fingerprint(self) -> list[Any]:
        """The key of the task, which Dask makes of what it computes."""
        return [str(self.delayed.key)]


@dataclass(frozen=True, slots=True, eq=False)
class PartitionedSource:
    """All partitions of the data, and what is known of their columns."""

    description: str
    partitions: tuple[Partition, ...]
    columns: tuple[str, ...]
    has_names: bool = True  # whether the columns have names of their own
    id_column: str | None = None  # that can be nothing else
    left_out: tuple[str, ...] = ()  # columns that are clustered only if asked for
    plain: tuple[str, ...] = ()  # columns that a transform leaves alone

    def fingerprint(self) -> list[Any]:
        """What changes if the data change."""
        return [part.fingerprint() for part in self.partitions]


def open_partitions(source: Any) -> PartitionedSource:
    """The partitions of files, of a Dask collection, or of data in memory.

    Parameters
    ----------
    source : path, pattern, folder, sequence of paths, array, DataFrame, or Dask array or DataFrame
        Paths end in .parquet, .csv, .tsv or .fcs, all alike; files are taken in the order of their
        names, or as they are listed.

    Examples
    --------
    >>> import numpy as np
    >>> open_partitions(np.zeros((300_000, 2))).columns
    ('0', '1')
    >>> len(open_partitions(np.zeros((300_000, 2))).partitions)
    2
    """
    if hasattr(source, "to_delayed"):
        return _from_dask(source)
    if isinstance(source, str | os.PathLike) or (
        isinstance(source, Sequence)
        and source
        and all(isinstance(one, str | os.PathLike) for one in source)
    ):
        return _from_files(source)
    if isinstance(source, pd.DataFrame | np.ndarray) and source.ndim == 2:
        return _from_memory(source)
    kinds = "be a path, a pattern, a folder, paths, a 2-D array, a DataFrame or a Dask collection"
    raise InputError("source", kinds, Message(type(source).__name__))


def _from_memory(source: Any) -> PartitionedSource:
    has_names = isinstance(source, pd.DataFrame)
    frame = source if has_names else pd.DataFrame(source)
    names = tuple(str(name) for name in frame)
    parts = tuple(
        FramePart("source", frame.iloc[first : first + PARTITION_ROWS], first)
        for first in range(0, len(frame), PARTITION_ROWS)
    )
    return PartitionedSource("data in memory", _checked(parts, "source"), names, has_names)


def _from_dask(source: Any) -> PartitionedSource:
    has_names = hasattr(source, "columns")
    if not has_names and source.numblocks[1] > 1:
        source = source.rechunk({1: -1})
    names = tuple(map(str, source.columns if has_names else range(source.shape[1])))
    blocks = np.ravel(source.to_delayed())
    parts = tuple(
        DelayedPart(f"partition {i} of source", block, names) for i, block in enumerate(blocks)
    )
    return PartitionedSource("a Dask collection", _checked(parts, "source"), names, has_names)


def _from_files(source: Any) -> PartitionedSource:
    paths = _files(source)
    kinds = sorted({path.suffix.lower() for path in paths})
    description = os.fspath(source) if isinstance(source, str | os.PathLike) else "files"
    if len(kinds) > 1 or kinds[0] not in KINDS:
        end = f"be files of one kind, {', '.join(KINDS)}"
        raise InputError("source", end, Message(", ".join(map(repr, kinds))))
    for path in paths:
        _check_readable(path)
    names = [os.path.abspath(path) for path in paths]
    if kinds[0] == ".parquet":
        parts: list[Partition] = [part for name in names for part in row_groups(name)]
        columns = _checked(parts, description)[0].column_names()
        return PartitionedSource(description, tuple(parts), tuple(columns))
    if kinds[0] == ".fcs":
        loaded, frame = channels(names[0])
        parts = [CytometryFile(name) for name in names]
        columns = [str(name) for name in frame]
        about = {"left_out": loaded.left_out, "plain": loaded.plain}
        return PartitionedSource(description, tuple(parts), tuple(columns), **about)  # type: ignore[arg-type]
    parts = [TextFile(name) for name in names]
    columns = parts[0].column_names()
    # R writes the names of rows into a first column without a name.
    id_column = "" if len(columns) > 1 and not columns[0] else None
    return PartitionedSource(description, tuple(parts), tuple(columns), id_column=id_column)


def _files(source: Any) -> list[Path]:
    """The files of a pattern, a folder or a list."""
    if not isinstance(source, str | os.PathLike):
        return [Path(one) for one in source]
    path = Path(source)
    if path.is_dir():
        hidden = (".", "_")
        inside = (one for one in path.rglob("*") if one.suffix.lower() in KINDS)
        found = sorted(one for one in inside if not one.name.startswith(hidden))
    elif path.exists():
        found = [path]
    else:
        found = sorted(Path(one) for one in glob.glob(os.fspath(source), recursive=True))
    if not found:
        raise MissingFileError("source", "name at least one file", os.fspath(source))
    return found


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        kind = MissingFileError if isinstance(error, FileNotFoundError) else FileAccessError
        raise kind("source", "be a file", Message(f"{str(path)!r}: {reason}")) from None


def _checked(parts: Sequence[Partition], name: str) -> tuple[Partition, ...]:
    if not parts:
        raise FileContentError("source", name, "have rows", Message("none"))
    return tuple(parts)
