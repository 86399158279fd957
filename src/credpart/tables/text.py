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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pandas as pd

from credpart._arrays import Array
from credpart._checks import in_cell
from credpart._messages import ColumnName, Message, Name, Setting, joined
from credpart.errors import FileContentError, InputError
from credpart.tables.numbers import NUL, OTHERS, STANDARD, NumberStyle
from credpart.tables.roles import MINUS, differs_in_all_rows, is_date, unit_of

BLOCK = 10_000  # rows that are kept together
SAMPLE = 100  # rows that are looked at to find the delimiter and the columns
MOST_TEXTS = 5  # that a message names
DELIMITERS = (",", ";", "\t", "|")
MARKS = {  # first bytes, and the encoding that they say; UTF-32 begins as UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
OTHER_FORMATS = {  # how their first line begins
    "JSON": re.compile(r'\s*\[?\s*\{\s*(?:"|$)|\s*\[\s*\['),
    "HTML or XML": re.compile(r"(?i)\s*<(?:!doctype|html|table|\?xml)"),
}
GROUPED = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")  # perhaps thousands
UTF8 = "utf-8-sig"  # with and without a mark


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
        The character between two cells; by default the one of comma, semicolon, tab and bar (and
        in a .txt file the space) that cuts all rows into the same number of cells.  Of a space
        there may be several.
    encoding : str, optional
        By default UTF-8, or UTF-16 if the file begins with its mark.
    decimal, thousands : str, optional
        The decimal sign, and the character that groups thousands.  By default a point and none,
        or else those with which all columns of numbers can be read, if there is one such reading.
    comment : str, optional
        Lines that begin with it are left out.  By default lines above the table that begin with
        # are, if they have not as many cells as the table.
    sheet : str, optional
        The table to read of a file that holds several: a sheet of an .xlsx file.

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
    decimal: str | None = None
    thousands: str | None = None
    comment: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.na_values, str) or not all(isinstance(v, str) for v in self.na_values):
            raise InputError("na_values", "be a sequence of texts", self.na_values)
        object.__setattr__(self, "na_values", tuple(self.na_values))
        if self.delimiter is not None and not _is_delimiter(self.delimiter):
            raise InputError(
                "delimiter", "be one character other than a quote or a line end", self.delimiter
            )
        if self.decimal not in (None, ".", ","):
            raise InputError("decimal", "be '.' or ','", self.decimal)
        if self.thousands is not None and not _groups(self.thousands, self.decimal):
            requirement = "be one character, no figure, and not the decimal sign"
            raise InputError("thousands", requirement, self.thousands)
        if self.comment is not None and not (isinstance(self.comment, str) and self.comment):
            raise InputError("comment", "be a text that comments begin with", self.comment)
        if self.encoding is not None:
            try:
                io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
            except (LookupError, ValueError, TypeError):
                requirement = "be an encoding that Python knows, such as 'utf-8' or 'cp1252'"
                raise InputError("encoding", requirement, self.encoding) from None

    @property
    def number_style(self) -> NumberStyle | None:
        """How numbers are written; None if that is left open."""
        if self.decimal is None and self.thousands is None:
            return None
        return NumberStyle(self.decimal or ("," if self.thousands == "." else "."), self.thousands)


def _groups(mark: object, decimal: str | None) -> bool:
    return isinstance(mark, str) and len(mark) == 1 and mark not in f"0123456789+-eE{decimal}"


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

    def numbers(self, na_values: Iterable[str], style: NumberStyle) -> Array | None:
        """The numbers, NaN where a cell is missing; None if a cell is neither."""
        parts = [np.empty(0)]
        for block in self.blocks:
            part = style.numbers(block, frozenset(na_values))
            if part is None:
                return None
            parts.append(part)
        return np.concatenate(parts)

    def texts(self, na_values: Iterable[str] = ()) -> list[str | None]:
        """The texts, None where a cell is missing."""
        missing = {"", *na_values}
        known: dict[str, str] = {}  # a text that occurs often is one object
        return [None if cell in missing else known.setdefault(cell, cell) for cell in self]

    def holds_numbers(self, style: NumberStyle = STANDARD) -> bool:
        """Whether at least half of the cells of the first block that are not empty are numbers."""
        cells = [cell for block in self.blocks[:1] for cell in block.split(NUL) if cell]
        return 0 < len(cells) <= 2 * sum(map(style.is_number, cells))

    def first_text(self, na_values: Iterable[str], style: NumberStyle) -> tuple[int, str]:
        """The first cell that is neither missing nor a number, with its row; there must be one."""
        missing = {"", *na_values}
        return next(
            (row, cell)
            for row, cell in enumerate(self)
            if cell not in missing and not style.is_number(cell)
        )

    def other_texts(self, na_values: Iterable[str], style: NumberStyle) -> list[str]:
        """The first different cells that are neither missing nor numbers, some at most."""
        missing = {"", *na_values}
        texts = (cell for cell in self if cell not in missing and not style.is_number(cell))
        return list(islice(dict.fromkeys(texts), MOST_TEXTS))

    def count(self, values: Iterable[str]) -> int:
        """How many cells are one of the values, of which none is empty."""
        wanted = frozenset(values) - {""}
        return sum(cell in wanted for cell in self) if wanted else 0


class Values(NamedTuple):
    """Columns to cluster, and what a user should know of how they were read."""

    columns: dict[str, pd.Series]
    remarks: list[str]


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

    def values(
        self, names: Sequence[str], *, categories: bool, text_columns: Collection[str]
    ) -> Values:
        """Columns to cluster: numbers, or text where there may be categories."""
        columns = {name: self.column(name) for name in names}
        of_numbers = [column for name, column in columns.items() if name not in text_columns]
        style = self.text_format.number_style or self._find_style(of_numbers)
        values = {}
        for name, column in columns.items():
            series = self._series(
                column, style, categories=categories, as_text=name in text_columns
            )
            if series is None:
                raise self._not_a_number(column, of_numbers, style, categories=categories)
            values[name] = series
        return Values(
            values, [*self.remarks, *self._said(style, of_numbers), *self._missing_cells(names)]
        )

    def _series(
        self, column: TextColumn, style: NumberStyle, *, categories: bool, as_text: bool
    ) -> pd.Series | None:
        """A column; None if it has a cell that is no number and has to be one."""
        na_values = self.text_format.na_values
        numbers = None if as_text else column.numbers(na_values, style)
        if numbers is not None:
            return pd.Series(numbers)
        if not as_text and (not categories or column.holds_numbers(style)):
            return None
        return pd.Series(column.texts(na_values), dtype=object)

    def _find_style(self, columns: Sequence[TextColumn]) -> NumberStyle:
        """The style in which all columns are numbers that are numbers in any, if it is one."""
        na_values = self.text_format.na_values
        odd = [column for column in columns if column.numbers(na_values, STANDARD) is None]
        odd = [c for c in odd if any(c.numbers(na_values, style) is not None for style in OTHERS)]
        if not odd:
            return STANDARD
        texts = [column for column in columns if not column.holds_numbers() and column not in odd]
        rest = [column for column in columns if column not in texts]
        readings: dict[bytes, tuple[NumberStyle, Array]] = {}
        for style in OTHERS:
            numbers = [column.numbers(na_values, style) for column in rest]
            if all(found is not None for found in numbers):
                values = np.array(numbers)
                readings.setdefault(values.tobytes(), (style, values))
        if len(readings) > 1:
            raise self._two_readings(odd[0], [style for style, _ in readings.values()][:2])
        style = next((style for style, _ in readings.values()), STANDARD)
        # Where commas stand between cells, one in a number may as well be a slip.
        return STANDARD if style.decimal == self.text_format.delimiter else style

    def _two_readings(self, column: TextColumn, styles: Sequence[NumberStyle]) -> FileContentError:
        row, cell = column.first_text(self.text_format.na_values, STANDARD)
        both = [style.numbers(cell) for style in styles]
        may_be = " or ".join(str(found[0]) for found in both if found is not None)
        return FileContentError(
            "source",
            self.path,
            "have numbers that can be read in one way",
            in_cell(repr(cell), ColumnName(column.name), row, f", which may be {may_be}"),
            Message("Say ", option("decimal", ","), " or ", option("thousands", ","), "."),
        )

    def _said(self, style: NumberStyle, columns: Sequence[TextColumn]) -> Iterator[str]:
        """How numbers were read, if the file has shown it."""
        if self.text_format.number_style is None and style != STANDARD:
            grouped = f" and thousands grouped by {style.thousands!r}" if style.thousands else ""
            sign = "comma" if style.decimal == "," else "point"
            undo = option("decimal", ".")
            yield Message(f"Numbers are read with a decimal {sign}{grouped}; ", undo, " undoes it.")
        elif self.text_format.number_style is None and self.text_format.delimiter == ";":
            # Where a decimal comma is usual, semicolons stand between cells.
            cells = [cell for column in columns for cell in column if "." in cell]
            if cells and all(GROUPED.fullmatch(cell.strip()) for cell in cells):
                yield Message(
                    f"Numbers such as {cells[0].strip()} are read with a decimal point. If it ",
                    *("groups thousands, say ", option("thousands", "."), "."),
                )

    def head(self, name: str, n: int) -> list[str | None]:
        """The first cells of a column as text."""
        missing = {"", *self.text_format.na_values}
        return [None if cell in missing else cell for cell in islice(self.column(name), n)]

    def texts(self, name: str) -> list[str | None]:
        """A column as text, None where a cell is missing."""
        return self.column(name).texts(self.text_format.na_values)

    def names_of_objects(self, name: str) -> list[str]:
        """A column as it was written."""
        return list(self.column(name))

    def as_written(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns of text, cell for cell."""
        columns = {name: pd.Series(list(self.column(name)), dtype=object) for name in names}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows))

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

    def _names_of_text(self, columns: Iterable[TextColumn], style: NumberStyle) -> list[str]:
        """Names of the columns that are neither numbers nor numbers with a unit."""
        odd = [c for c in columns if c.numbers(self.text_format.na_values, style) is None]
        texts = [column for column in odd if not column.holds_numbers(style)]
        return [c.name for c in texts if not unit_of([cell for cell in c if cell])]

    def _not_a_number(
        self,
        column: TextColumn,
        of_numbers: Sequence[TextColumn],
        style: NumberStyle,
        *,
        categories: bool,
    ) -> FileContentError:
        """The error that names the first cell that is not a number."""
        row, cell = column.first_text(self.text_format.na_values, style)
        what = ", which is a date" if is_date(cell) else ""
        place = in_cell(repr(cell), ColumnName(column.name), row, what)
        unit = unit_of([text for text in column if text])
        if unit:
            leave_out = Setting("drop", [column.name], is_quoted=True)
            plain = (
                f"'-' in place of {unit!r}" if unit == MINUS else f"the numbers without {unit!r}"
            )
            remedy = Message(f"Write {plain}, or leave the column out with ", leave_out, ".")
        elif not column.holds_numbers(style):
            remedy = name_or_leave_out(self._names_of_text(of_numbers, style))
        elif NumberStyle(",").is_number(cell):
            remedy = Message("Say ", option("decimal", ","), " if it is a number.")
        else:
            as_text = Setting("text_columns", [column.name], is_quoted=True)
            either = (", ", as_text, " if the column holds categories,") if categories else ()
            missing = option("na_values", column.other_texts(self.text_format.na_values, style))
            remedy = Message(
                *("Say ", missing, " if it stands for a missing value", *either),
                " or correct the cell." if row else ", correct the cell, or delete a row of units.",
            )
        return FileContentError("source", self.path, "hold numbers", place, remedy)


def name_or_leave_out(columns: Sequence[str]) -> Message:
    """What to do with columns of text."""
    which, one, their = (
        ("the column", "it", "its") if len(columns) == 1 else ("such columns", "one", "their")
    )
    return Message(
        *(f"Leave {which} out with ", Setting("drop", list(columns), is_quoted=True)),
        *(f", name {one} as ", Name("id_column"), ", ", Name("label_column")),
        *(" (known classes) or ", Name("group_column"), " (such as donors), or take "),
        *(f"{their} categories with ", Setting("model", "mixed", is_quoted=True), "."),
    )


def read_text(
    data: bytes, path: str, text_format: TextFormat, delimiters: Sequence[str] = DELIMITERS
) -> TextTable:
    """The table that a text holds; ``delimiters`` are those that it may have."""
    text = Text(data, path, _encoding(data, text_format.encoding), text_format.comment)
    text.check()
    _check_is_table(text)
    delimiter = text_format.delimiter or _find_delimiter(text, delimiters)
    text = replace(text, n_skipped=0 if text.comment else _lines_above(text, delimiter))
    complete = replace(text_format, delimiter=delimiter, encoding=text.encoding)
    return table_of_rows(text, text.rows(delimiter), complete)


def _check_is_table(text: "Text") -> None:
    """Refuse what another format plainly is, whatever the name of the file says."""
    for kind, begins in OTHER_FORMATS.items():
        if begins.match(text.first_line()):
            remedy = "Save it as CSV with the program that it is from."
            raise text.refused("be a table of cells", Message(kind), remedy)


def table_of_rows(text: "Text", rows: Iterator["CellRow"], text_format: TextFormat) -> TextTable:
    """The table that rows of cells make up, with or without a header row."""
    first = next((row for row in rows if row.has_cells), None)
    if first is None:
        raise text.refused("be a table with a header row", Message("an empty file"))
    has_header = text_format.header is not False
    head = list(islice(rows, SAMPLE))
    is_short = has_header and _is_short(first, head)
    width = len(first.cells) + is_short
    body = _Body(text, width, first)
    if not has_header:
        body.add(first)
    body.read(chain(head, rows))
    names = first.cells if has_header else [str(number + 1) for number in range(width)]
    if is_short:
        names = _with_one_more(text, first, names, [TextColumn("", b) for b in body.blocks])
    if text_format.header is None:
        _check_header(text, names, body.blocks)
    _check_distinct(text, names)
    columns = [TextColumn(name, blocks) for name, blocks in zip(names, body.blocks, strict=True)]
    complete = replace(text_format, header=has_header)
    return TextTable(text.path, complete, columns, body.n_rows, [*text.remarks(), *body.remarks()])


def _is_short(first: "CellRow", head: Sequence["CellRow"]) -> bool:
    """Whether a header has one cell less than all rows: R leaves out the name of row names.

    So do programs that end each row, but not the header, with a delimiter.
    """
    widths = {len(row.cells) for row in head if row.has_cells}
    is_title = sum(map(bool, first.cells)) == 1
    return widths == {len(first.cells) + 1} and not is_title


def _with_one_more(
    text: "Text", first: "CellRow", names: Sequence[str], columns: Sequence[TextColumn]
) -> list[str]:
    """The names of columns, of which there is one more: that of row names, or an empty last one.

    Else a name was lost, nobody knows which.
    """
    if not any(columns[-1]):
        return [*names, ""]
    rows = columns[0].texts()
    styles = (STANDARD, *OTHERS)
    is_text = not any(style.is_number(cell or "") for cell in rows for style in styles)
    counts = rows == [str(number + 1) for number in range(len(rows))]
    if differs_in_all_rows(rows) and (is_text or counts):
        return ["", *names]
    raise text.refused(
        f"be a table with a header row and {_cells(len(names))} in each row",
        Message(f"{len(columns)} in all rows below line {first.line}"),
        "Give each column a name.",
    )


def _encoding(data: bytes, given: str | None) -> str:
    """The encoding: what is given, or what the first bytes say, or else UTF-8."""
    if given is None:
        return next((name for mark, name in MARKS.items() if data.startswith(mark)), UTF8)
    return UTF8 if codecs.lookup(given).name == "utf-8" else given


class CellRow(NamedTuple):
    """The cells of a row, and the line of the file where it ends."""

    cells: list[str]
    line: int

    @property
    def has_cells(self) -> bool:
        """Whether it is more than a blank line."""
        return len(self.cells) > 1 or bool(self.cells and self.cells[0].strip())


@dataclass(frozen=True, slots=True)
class Text:
    """A text as bytes, which can be cut into rows again and again."""

    data: bytes
    path: str
    encoding: str
    comment: str | None = None  # what lines that are left out begin with
    n_skipped: int = 0  # lines at the beginning that are left out

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

    def rows(self, delimiter: str) -> Iterator[CellRow]:
        """The rows; a blank line is a row without cells, or with a blank one."""
        lines = _Lines(self)
        is_space = delimiter == " "
        source = (line.rstrip(" \t\r\n") + "\n" for line in lines) if is_space else lines
        reader = csv.reader(source, delimiter=delimiter, strict=True, skipinitialspace=is_space)
        try:
            for cells in reader:
                yield CellRow(cells, lines.number)
        except csv.Error as error:
            raise self.refused(
                "be a table of cells",
                Message(f"{_reason(error)} in line {lines.number}"),
                "Correct the line, or the quote that was opened before it.",
            ) from None

    def first_line(self) -> str:
        """The first line that is not blank, or nothing."""
        return next((line for line in _Lines(self) if line.strip()), "")

    def remarks(self) -> list[str]:
        """What was left out above the table."""
        if not self.n_skipped:
            return []
        several = "lines" if self.n_skipped > 1 else "line"
        text = f"Left out {self.n_skipped} {several} above the table that begin with '#'."
        return [Message(text)]

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


class _Lines:
    """The lines of a text without its comments; ``number`` is that of the last one."""

    def __init__(self, text: Text) -> None:
        self.number = 0
        stream = io.TextIOWrapper(io.BytesIO(text.data), encoding=text.encoding, newline="")
        self._stream, self._comment, self._n_skipped = stream, text.comment, text.n_skipped
        self._is_quoted = False  # whether the line begins within a cell

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.number += 1
            is_comment = self._comment is not None and line.startswith(self._comment)
            if self.number <= self._n_skipped or (is_comment and not self._is_quoted):
                continue
            self._is_quoted ^= line.count('"') % 2 == 1
            yield line


def _lines_above(text: Text, delimiter: str) -> int:
    """How many lines above the table begin with # and are not cut as the table is."""
    lines = iter(_Lines(text))
    above = 0
    for line in lines:
        if line.strip() and not line.startswith("#"):
            break
        above += 1
    rows = replace(text, n_skipped=above).rows(delimiter)
    try:
        width = next((len(row.cells) for row in rows if row.has_cells), 0)
        marked = [row for row in islice(text.rows(delimiter), above) if row.has_cells]
    except FileContentError:  # it is said where the table is read
        return 0
    is_header = marked and len(marked[-1].cells) == width and marked[-1].cells[0].startswith("#")
    return 0 if is_header or width < 2 or not text.first_line().startswith("#") else above


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


def _find_delimiter(text: Text, candidates: Sequence[str]) -> str:
    """The delimiter that cuts the first rows into equally many cells, two at least."""
    widths = {mark: list(_widths(text, mark)) for mark in candidates}
    likely = [mark for mark, found in widths.items() if _cut_alike(found) >= 0.5]
    possible = [mark for mark in likely if _cut_alike(widths[mark]) == 1.0]
    if possible and len(likely) > 1:
        marks = " and ".join(map(repr, likely))
        raise text.refused(
            "have one delimiter",
            Message(f"rows that {marks} both cut into equally many cells, all or most of them"),
            Message("Say which it is, as in ", option("delimiter", possible[0]), "."),
        )
    if possible:
        return possible[0]
    # The header decides, or the rows below one without any, and what differs from it is refused.
    first = text.first_line()

    def cells_and_cut_rows(mark: str) -> tuple[int, int]:
        found = widths[mark]
        return (found and found[0]) or first.count(mark) + 1, sum(n > 1 for n in found)

    return max(candidates, key=cells_and_cut_rows)


def _cut_alike(widths: Sequence[int]) -> float:
    """The share of rows that have as many cells as the first, which must have two at least."""
    return widths.count(widths[0]) / len(widths) if widths and widths[0] > 1 else 0.0


def _widths(text: Text, delimiter: str) -> Iterator[int]:
    """How many cells each of the first rows has; 0 for one whose quotes do not fit.

    Rows above the others that begin with # may be comments, and have no say.
    """
    above = text.comment is None
    try:
        for row in islice(text.rows(delimiter), SAMPLE):
            above = above and (not row.has_cells or row.cells[0].startswith("#"))
            if row.has_cells and not above:
                yield len(row.cells)
    except FileContentError:
        yield 0


class _Body:
    """The rows of the objects, gathered column by column."""

    def __init__(self, text: Text, width: int, first: CellRow) -> None:
        self.blocks: list[list[str]] = [[] for _ in range(width)]
        self.n_rows = 0
        self._text, self._width, self._first = text, width, first
        self._rows: list[list[str]] = []  # of the block that is not full yet
        self._n_blank = 0  # lines between rows

    def read(self, rows: Iterable[CellRow]) -> None:
        """Take all rows; blank lines at the end of the file are nothing."""
        blank: list[CellRow] = []
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

    def add(self, row: CellRow) -> None:
        """Take a row."""
        if len(row.cells) != self._width:
            raise self._text.refused(
                f"be a table with a header row and {_cells(self._width)} in each row",
                Message(f"{len(row.cells)} in line {row.line}"),
                self._remedy(row),
            )
        self._rows.append(row.cells)
        self.n_rows += 1
        if len(self._rows) == BLOCK:
            self._close_block()

    def _remedy(self, row: CellRow) -> Message:
        """What to do with a row of another length: the first is a title, or this a comment."""
        is_title = self.n_rows == 0 and sum(map(bool, self._first.cells)) == 1 < len(row.cells)
        title = next(filter(None, self._first.cells), "")
        if is_title or row.cells[0].startswith("#"):
            mark = option("comment", title if is_title else "#")
            which = self._first.line if is_title else row.line
            return Message("Say ", mark, f" if line {which} is no part of the table.")
        return Message(
            "Put a cell that holds the delimiter into double quotes, or say another delimiter, ",
            *("as in ", option("delimiter", ";"), "."),
        )

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


def _check_header(text: Text, first: Sequence[str], blocks: Sequence[Sequence[str]]) -> None:
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
    styles = (STANDARD, *OTHERS)
    if any(style.is_number(column.name) for column in columns for style in styles):
        return True
    if any(column.holds_numbers(style) for column in columns for style in styles):
        return False
    first = [(column.name, column.blocks[0].split(NUL)) for column in columns if column.blocks]
    repeated = [(name, cells) for name, cells in first if len(set(cells)) < len(cells)]
    return bool(repeated) and all(name in cells for name, cells in repeated)


def _check_distinct(text: Text, names: Sequence[str]) -> None:
    """Refuse names that two columns have."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        got = Message(f"{twice[0]!r} more than once")
        raise text.refused("have distinct column names", got, "Rename the columns.")


def _cells(number: int) -> str:
    return "one cell" if number == 1 else f"{number} cells"
