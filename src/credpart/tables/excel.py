"""Sheets of Excel files, as rows of text.

A number is the shortest text that is the same number again, so nothing is lost; a date is the text
of ISO 8601.  So a sheet is read by the same rules as a text file.
"""

import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO

from credpart._memory import GIGA, free_memory
from credpart._messages import Message
from credpart.errors import FileContentError
from credpart.tables.extras import extra
from credpart.tables.text import CellRow, Text, TextFormat, TextTable, option, table_of_rows

PER_BYTE = 10.0  # bytes of memory that a byte of an unpacked sheet takes


def read_sheet(stream: BinaryIO, path: str, text_format: TextFormat) -> TextTable:
    """The table of the sheet that is named, or of the only one that is not empty."""
    openpyxl = extra("openpyxl", "an .xlsx file")
    _check_size(stream, path)
    # Stored values, and beside them what stands in the cells: a formula may have no value.
    stored, entered = (
        openpyxl.load_workbook(stream, read_only=True, data_only=values_only)
        for values_only in (True, False)
    )
    for sheet in (*stored.worksheets, *entered.worksheets):
        # A cell far away, which may be empty, would else make all rows as wide as a sheet can be.
        sheet.reset_dimensions()
    text = Text(b"", path, "utf-8")
    name = _sheet_name(text, stored, text_format.sheet)
    rows = list(_rows(text, stored[name], entered[name]))
    used = sorted({place for row in rows for place, cell in enumerate(row.cells) if cell})
    return table_of_rows(text, (_cut(row, used) for row in rows), text_format)


def _cut(row: CellRow, used: list[int]) -> CellRow:
    """The cells of the columns that are used; none of a row without any."""
    cells = dict(enumerate(row.cells))
    return row._replace(cells=[cells.get(place, "") for place in used] if any(row.cells) else [])


def _sheet_name(text: Text, book: Any, wanted: str | None) -> str:
    names = [sheet.title for sheet in book.worksheets]
    listed = ", ".join(map(repr, names))
    if wanted is not None:
        if wanted not in names:
            raise text.refused(f"have the sheet {wanted!r}", Message(f"the sheets {listed}"))
        return wanted
    filled = [sheet.title for sheet in book.worksheets if _is_filled(sheet)]
    if len(filled) > 1:
        raise text.refused(
            "have one sheet with a table",
            Message(f"the sheets {', '.join(map(repr, filled))}"),
            Message("Say which, as in ", option("sheet", filled[0]), "."),
        )
    if not filled:
        raise text.refused("be a table with a header row", Message("sheets without cells"))
    return str(filled[0])


def _is_filled(sheet: Any) -> bool:
    return any(value is not None for row in sheet.iter_rows(values_only=True) for value in row)


def _rows(text: Text, stored: Any, entered: Any) -> Iterator[CellRow]:
    """The rows of a sheet as texts."""
    both = zip(stored.iter_rows(values_only=True), entered.iter_rows(), strict=True)
    for number, (values, cells) in enumerate(both, start=1):
        for value, cell in zip(values, cells, strict=False):
            if value is None and getattr(cell, "data_type", "n") == "f":
                raise text.refused(
                    "have stored values for its formulas",
                    Message(f"none for {cell.value!r} in cell {cell.coordinate}"),
                    "Open it in a spreadsheet and save it again.",
                )
        yield CellRow([_as_text(value) for value in values], number)


def _as_text(value: Any) -> str:
    """A cell as text: numbers to the last bit, whole ones without a point."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ") if value.time() != time() else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if not isinstance(value, timedelta) else f"{value.total_seconds()!r} s"


def _check_size(stream: BinaryIO, path: str) -> None:
    """Refuse a file that unpacks to more than the memory."""
    free = free_memory()
    with zipfile.ZipFile(stream) as packed:
        needed = PER_BYTE * sum(part.file_size for part in packed.infolist())
    stream.seek(0)
    if free is not None and needed > free:
        requirement = f"unpack into the {free / GIGA:.1f} GB of memory that are free"
        got = Message(f"a need of about {needed / GIGA:.1f} GB")
        raise FileContentError("source", path, requirement, got, "Save it as .csv.")
