"""Tables in text files: every cell is kept as it was written until somebody asks for numbers.

A file is text with a delimiter, read by the `csv` module.  How a file is written is a
`TextFormat`; what a caller leaves open is found out from the file where only one reading is
possible, and else asked for.  A number is what ``float`` makes of its text, to the last bit, and
only an empty cell is missing unless ``na_values`` names other texts.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd

from credpart._arrays import Array
from credpart._checks import in_cell
from credpart._messages import ColumnName, Message, Name, Setting, joined
from credpart.errors import FileContentError, InputError

BLOCK = 10_000  # rows that are kept together
SAMPLE = 100  # rows that are looked at to find the delimiter
NUL = "\0"  # stands between the cells of a block: no text file has it
DELIMITERS = (",", ";", "\t")
MARKS = {  # first bytes, and the encoding that they say; UTF-32 begins as UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
UTF8 = "utf-8-sig"  # with and without a mark
# What `float` takes, without the underscores, digits of other scripts and NaN that it takes too.
NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))[ \t]*"
)
FIGURES = re.compile(r"[-+.0-9eE \t\0]*")  # `float` takes a text of these only if it is a number


@dataclass(frozen=True, slots=True)
class TextFormat:
    r"""How a text file holds a table.

    Parameters
    ----------
    header : bool, optional
        Whether the first row holds the names of the columns; without it they are called "1", "2",
        "3" and so on.  By default it must be plain from the file that it does.
    na_values : sequence of str
        Texts that stand for a missing value, as an empty cell always does.  Names of objects are
        never missing.
    delimiter : str, optional
        The character between two cells; by default the one of comma, semicolon and tab that cuts
        all rows into the same number of cells.
    encoding : str, optional
        By default UTF-8, or UTF-16 if the file begins with its mark.

    Examples
    --------
    >>> from credpart.tables import TextFormat, read_objects
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("1.5,2\n3.5,NA\n")
    ...     objects = read_objects(
    ...         Path(folder, "a.csv"), text_format=TextFormat(header=False, na_values=["NA"])
    ...     )
    >>> objects.X
         1    2
    0  1.5  2.0
    1  3.5  NaN
    >>> print(*objects.remarks)
    Read as missing by `na_values`: 1 cell of column '2'.
    """

    header: bool | None = None
    na_values: Sequence[str] = ()
    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.na_values, str) or not all(isinstance(v, str) for v in self.na_values):
            raise InputError("na_values", "be a sequence of texts", self.na_values)
        object.__setattr__(self, "na_values", tuple(self.na_values))
        if self.delimiter is not None and not _is_delimiter(self.delimiter):
            raise InputError(
                "delimiter", "be one character other than a quote or a line end", self.delimiter
            )
        if self.encoding is not None:
            try:
                io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
            except (LookupError, ValueError, TypeError):
                requirement = "be an encoding that Python knows, such as 'utf-8' or 'cp1252'"
                raise InputError("encoding", requirement, self.encoding) from None


def _is_delimiter(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text not in '"\r\n\0'


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """A column as it was written.

    Its cells are kept in blocks of consecutive rows, joined by NUL: so they take the space that
    they take in the file, and not that of a Python object each.
    """

    name: str
    blocks: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks:
            yield from block.split(NUL)

    def numbers(self, na_values: Iterable[str] = ()) -> Array | None:
        """The numbers, NaN where a cell is missing; None if a cell is neither."""
        parts = [np.empty(0)]
        for block in self.blocks:
            part = _numbers(block, frozenset(na_values))
            if part is None:
                return None
            parts.append(part)
        return np.concatenate(parts)

    def texts(self, na_values: Iterable[str] = ()) -> list[str | None]:
        """The texts, None where a cell is missing."""
        missing = {"", *na_values}
        known: dict[str, str] = {}  # a text that occurs often is one object
        return [None if cell in missing else known.setdefault(cell, cell) for cell in self]

    def holds_numbers(self) -> bool:
        """Whether at least half of the cells of the first block that are not empty are numbers."""
        cells = [cell for block in self.blocks[:1] for cell in block.split(NUL) if cell]
        return 0 < len(cells) <= 2 * sum(is_number(cell) for cell in cells)

    def first_text(self, na_values: Iterable[str] = ()) -> tuple[int, str]:
        """The first cell that is neither missing nor a number, with its row; there must be one."""
        missing = {"", *na_values}
        return next(
            (row, cell)
            for row, cell in enumerate(self)
            if cell not in missing and not is_number(cell)
        )

    def count(self, values: Iterable[str]) -> int:
        """How many cells are one of the values, of which none is empty."""
        wanted = frozenset(values) - {""}
        return sum(cell in wanted for cell in self) if wanted else 0


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number.

    >>> [is_number(cell) for cell in ("1.50", " -2e3", "inf", "1_000", "nan", "")]
    [True, True, True, False, False, False]
    """
    return NUMBER.fullmatch(cell) is not None


def _numbers(block: str, na_values: frozenset[str]) -> Array | None:
    """The numbers of a block; None if a cell is none."""
    cells = block.split(NUL)
    if na_values:
        cells = ["" if cell in na_values else cell for cell in cells]
    if not FIGURES.fullmatch(block) and not all(not cell or is_number(cell) for cell in cells):
        return None
    try:
        return np.array([float(cell or "nan") for cell in cells])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A table that was read from a text file, and how."""

    path: str
    text_format: TextFormat  # with nothing left open
    columns: Sequence[TextColumn]
    n_rows: int
    remarks: Sequence[str] = ()  # what a user should know of the reading

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def column(self, name: str) -> TextColumn:
        """The column of a name."""
        return self.columns[self.names.index(name)]

    def values(self, name: str, *, categories: bool, as_text: bool) -> pd.Series:
        """A column to cluster: numbers, or text where there may be categories."""
        column, na_values = self.column(name), self.text_format.na_values
        numbers = None if as_text else column.numbers(na_values)
        if numbers is not None:
            return pd.Series(numbers)
        if not as_text and (not categories or column.holds_numbers()):
            raise self._not_a_number(column, categories=categories)
        return pd.Series(column.texts(na_values), dtype=object)

    def texts(self, name: str) -> list[str | None]:
        """A column as text, None where a cell is missing."""
        return self.column(name).texts(self.text_format.na_values)

    def names_of_objects(self, name: str) -> list[str]:
        """A column as it was written."""
        return list(self.column(name))

    def remarks_on(self, names: Sequence[str]) -> list[str]:
        """What a user should know of the reading, and of some of the columns."""
        return [*self.remarks, *self._missing_cells(names)]

    def _missing_cells(self, names: Sequence[str]) -> Iterator[str]:
        """How many cells `na_values` made missing."""
        if not self.text_format.na_values:
            return
        counts = {name: self.column(name).count(self.text_format.na_values) for name in names}
        found = [
            Message(f"{count} cell{'s' * (count > 1)} of ", ColumnName(name))
            for name, count in counts.items()
            if count
        ]
        which = joined(", ", found) if found else Message("no cell")
        yield Message("Read as missing by ", Name("na_values"), ": ", which, ".")

    def _not_a_number(self, column: TextColumn, *, categories: bool) -> FileContentError:
        """The error that names the first cell that is not a number."""
        row, cell = column.first_text(self.text_format.na_values)
        place = in_cell(repr(cell), ColumnName(column.name), row)
        if not column.holds_numbers():
            remedy = name_or_leave_out()
        else:
            as_text = Setting("text_columns", [column.name], is_quoted=True)
            either = (", ", as_text, " if the column holds categories,") if categories else ()
            missing = option("na_values", [cell])
            remedy = Message(
                *("Say ", missing, " if it stands for a missing value", *either),
                " or correct the cell.",
            )
        return FileContentError("source", self.path, "hold numbers", place, remedy)


def name_or_leave_out() -> Message:
    """What to do with a column of text."""
    names = (Name("id_column"), " or ", Name("label_column"), ".")
    return Message("Leave the column out with ", Name("columns"), ", or name it as ", *names)


def read_text(
    data: bytes, path: str, text_format: TextFormat, delimiters: Sequence[str] = DELIMITERS
) -> TextTable:
    """The table that a text holds; ``delimiters`` are those that it may have."""
    text = _Text(data, path, _encoding(data, text_format.encoding))
    text.check()
    delimiter = text_format.delimiter or _find_delimiter(text, delimiters)
    rows = text.rows(delimiter)
    first = next((row for row in rows if row.has_cells), None)
    if first is None:
        raise text.refused("be a table with a header row", Message("an empty file"))
    width = len(first.cells)
    body = _Body(text, width)
    if text_format.header is False:
        body.add(first)
    body.read(rows)
    if text_format.header is None:
        _check_header(text, first.cells, body.blocks)
    has_header = text_format.header is not False
    names = first.cells if has_header else [str(number + 1) for number in range(width)]
    _check_distinct(text, names)
    columns = [TextColumn(name, blocks) for name, blocks in zip(names, body.blocks, strict=True)]
    complete = replace(text_format, header=has_header, delimiter=delimiter, encoding=text.encoding)
    return TextTable(path, complete, columns, body.n_rows, body.remarks())


def _encoding(data: bytes, given: str | None) -> str:
    """The encoding: what is given, or what the first bytes say, or else UTF-8."""
    if given is None:
        return next((name for mark, name in MARKS.items() if data.startswith(mark)), UTF8)
    return UTF8 if codecs.lookup(given).name == "utf-8" else given


class Row(NamedTuple):
    """The cells of a row, and the line of the file where it ends."""

    cells: list[str]
    line: int

    @property
    def has_cells(self) -> bool:
        """Whether it is more than a blank line."""
        return len(self.cells) > 1 or bool(self.cells and self.cells[0].strip())


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as bytes, which can be cut into rows again and again."""

    data: bytes
    path: str
    encoding: str

    def check(self) -> None:
        """Refuse bytes that are no text in the encoding, and text that holds NUL."""
        try:
            place = self.data.decode(self.encoding).find(NUL)
        except UnicodeDecodeError as error:
            found = f"byte {self.data[error.start]:#04x}"
            raise self._undecodable(f"{found} in line {self._line(error.start)}") from None
        except UnicodeError as error:
            raise self._undecodable(str(error)) from None
        if place >= 0:
            raise self.refused(
                "be text",
                Message(f"a NUL character at place {place + 1}, which text does not have"),
                Message("If it is text in UTF-16, say ", option("encoding", "utf-16"), "."),
            )

    def rows(self, delimiter: str) -> Iterator[Row]:
        """The rows; a blank line is a row without cells, or with a blank one."""
        stream = io.TextIOWrapper(io.BytesIO(self.data), encoding=self.encoding, newline="")
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                yield Row(cells, reader.line_num)
        except csv.Error as error:
            raise self.refused(
                "be a table of cells",
                Message(f"{_reason(error)} in line {reader.line_num}"),
                "Correct the line, or the quote that was opened before it.",
            ) from None

    def first_line(self) -> str:
        """The first line that is not blank, or nothing."""
        stream = io.TextIOWrapper(io.BytesIO(self.data), encoding=self.encoding)
        return next((line for line in stream if line.strip()), "")

    def refused(self, requirement: str, got: Message, remedy: str = "") -> FileContentError:
        """The error that says what the file must be."""
        return FileContentError("source", self.path, requirement, got, remedy)

    def _line(self, place: int) -> int:
        return self.data.count(b"\n", 0, place) + 1

    def _undecodable(self, found: str) -> FileContentError:
        return self.refused(
            f"be text in {self.encoding.upper().removesuffix('-SIG')}",
            Message(found),
            Message("Say its encoding, which often is ", option("encoding", "cp1252"), "."),
        )


def option(name: str, value: object) -> Setting:
    """A parameter of `TextFormat`, as a message says it."""
    return Setting(name, value, method="TextFormat", is_quoted=True)


REASONS = {  # what the csv module says, and how it fits our sentence
    "unexpected end of data": "a quote that is not closed",
    "expected after": "text after a closing quote",
    "field larger than field limit": "a cell of more than 131072 characters",
}


def _reason(error: csv.Error) -> str:
    return next((ours for theirs, ours in REASONS.items() if theirs in str(error)), str(error))


def _find_delimiter(text: _Text, candidates: Sequence[str]) -> str:
    """The delimiter that cuts the first rows into equally many cells, two at least."""
    widths = {mark: list(_widths(text, mark)) for mark in candidates}
    possible = [mark for mark, found in widths.items() if len(set(found)) == 1 and found[0] > 1]
    if len(possible) > 1:
        marks = " and ".join(map(repr, possible))
        raise text.refused(
            "have one delimiter",
            Message(f"rows that {marks} both cut into equally many cells"),
            Message("Say which it is, as in ", option("delimiter", possible[0]), "."),
        )
    # Where none does, the header decides, and the rows that differ from it are refused.
    return possible[0] if possible else max(candidates, key=text.first_line().count)


def _widths(text: _Text, delimiter: str) -> Iterator[int]:
    """How many cells each of the first rows has; 0 for one whose quotes do not fit."""
    try:
        for row in islice(text.rows(delimiter), SAMPLE):
            if row.has_cells:
                yield len(row.cells)
    except FileContentError:
        yield 0


class _Body:
    """The rows of the objects, gathered column by column."""

    def __init__(self, text: _Text, width: int) -> None:
        self.blocks: list[list[str]] = [[] for _ in range(width)]
        self.n_rows = 0
        self._text, self._width = text, width
        self._rows: list[list[str]] = []  # of the block that is not full yet
        self._n_blank = 0  # lines between rows

    def read(self, rows: Iterable[Row]) -> None:
        """Take all rows; blank lines at the end of the file are nothing."""
        blank: list[Row] = []
        for row in rows:
            if not row.cells or (self._width > 1 and not row.has_cells):
                blank.append(row._replace(cells=[""]))
                continue
            if self._width == 1:  # here a blank line is a missing cell
                for missing in blank:
                    self.add(missing)
            else:
                self._n_blank += len(blank)
            blank = []
            self.add(row)
        self._close_block()

    def add(self, row: Row) -> None:
        """Take a row."""
        if len(row.cells) != self._width:
            raise self._text.refused(
                f"be a table with a header row and {self._width} cells in each row",
                Message(f"{len(row.cells)} in line {row.line}"),
                Message(
                    "Put a cell that holds the delimiter into double quotes, or say another "
                    "delimiter, as in ",
                    option("delimiter", ";"),
                    ".",
                ),
            )
        self._rows.append(row.cells)
        self.n_rows += 1
        if len(self._rows) == BLOCK:
            self._close_block()

    def _close_block(self) -> None:
        if self._rows:
            for blocks, cells in zip(self.blocks, zip(*self._rows, strict=True), strict=True):
                blocks.append(NUL.join(cells))
        self._rows = []

    def remarks(self) -> list[str]:
        """What was left out."""
        several = "lines" if self._n_blank > 1 else "line"
        blank = f"Left out {self._n_blank} blank {several} between the rows."
        return [Message(blank)] if self._n_blank else []


def _check_header(text: _Text, first: Sequence[str], blocks: Sequence[Sequence[str]]) -> None:
    """Ask whether the first row is an object, if it looks like the rows below it."""
    columns = [TextColumn(cell, found) for cell, found in zip(first, blocks, strict=True)]
    if _looks_like_data(columns):
        shown = ", ".join(map(repr, first[:4])) + (", ..." if len(first) > 4 else "")
        raise text.refused(
            "have a first row that is plainly a header",
            Message(f"{shown}, which looks like an object"),
            Message(
                *("Say ", option("header", False), " if it is an object, or "),
                *(option("header", True), " if these are the names of the columns."),
            ),
        )


def _looks_like_data(columns: Sequence[TextColumn]) -> bool:
    """Whether the names of columns could be cells of theirs.

    A number could be one.  Where no column holds numbers, so could texts that occur again below,
    in each column whose texts do.
    """
    if any(is_number(column.name) for column in columns):
        return True
    if any(column.holds_numbers() for column in columns):
        return False
    first = [(column.name, column.blocks[0].split(NUL)) for column in columns if column.blocks]
    repeated = [(name, cells) for name, cells in first if len(set(cells)) < len(cells)]
    return bool(repeated) and all(name in cells for name, cells in repeated)


def _check_distinct(text: _Text, names: Sequence[str]) -> None:
    """Refuse names that two columns have."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        got = Message(f"{twice[0]!r} more than once")
        raise text.refused("have distinct column names", got, "Rename the columns.")
