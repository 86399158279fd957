"""Make the files of this folder: one small table, as many programs and people write it.

``python -m tests.files_as_they_come.make`` writes them again; `FILES` says what is wrong with each
and what must happen.
"""

import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import pandas as pd

HERE = Path(__file__).parent
N = 24
TRUTH = pd.DataFrame(
    {
        "length": [round(4.5 + (i * 37 % 23) / 10, 1) for i in range(N)],
        "width": [round(2.2 + (i * 29 % 19) / 10 + 0.03, 2) for i in range(N)],
        "weight": [round(1034.5 + (i * 41 % 31) * 97.25, 2) for i in range(N)],
    }
)
NAMES = list(TRUTH)
PLAIN = [[str(value) for value in row] for row in TRUTH.astype(object).to_numpy()]
IDS = [f"plant {i:02d}" for i in range(N)]
SEX = ["mf"[i % 2] for i in range(N)]
DAYS = [(date(2021, 3, 1) + timedelta(days=i % 9)).isoformat() for i in range(N)]


class File(NamedTuple):
    """A file, what is wrong with it, and what must happen."""

    name: str
    wrong: str
    make: Callable[[], bytes]
    option: str | None = (
        ""  # to add, as the message says it; "" if none is needed, None if there is none
    )
    columns: Sequence[str] = NAMES  # that are clustered in the end
    rows: Sequence[int] = range(N)  # objects of the table that are
    said: str = ""  # what a remark or an error must say


def table(
    rows: Sequence[Sequence[str]], header: Sequence[str] | None = NAMES, sep: str = ","
) -> str:
    lines = [sep.join(row) for row in ([header, *rows] if header is not None else rows)]
    return "\n".join(lines) + "\n"


def text(content: str, encoding: str = "utf-8") -> Callable[[], bytes]:
    return lambda: content.encode(encoding)


def gzipped(content: str) -> bytes:
    data = bytearray(gzip.compress(content.encode(), mtime=0))
    data[9] = 3  # the operating system, which versions of Python write differently
    return bytes(data)


def with_column(name: str, cells: Sequence[object], place: int = 0) -> str:
    header = [*NAMES[:place], name, *NAMES[place:]]
    rows = [[*row[:place], str(c), *row[place:]] for row, c in zip(PLAIN, cells, strict=True)]
    return table(rows, header)


def changed(row: int, column: int, cell: str) -> list[list[str]]:
    rows = [list(cells) for cells in PLAIN]
    rows[row][column] = cell
    return rows


def written(form: Callable[[float], str]) -> list[list[str]]:
    return [[form(float(cell)) for cell in row] for row in PLAIN]


def grouped(mark: str, point: str) -> Callable[[float], str]:
    return lambda x: f"{x:,.2f}".replace(",", "\0").replace(".", point).replace("\0", mark)


def packed(*files: tuple[str, str]) -> Callable[[], bytes]:
    def make() -> bytes:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, inside in files:
                archive.writestr(zipfile.ZipInfo(name), inside)
        return content.getvalue()

    return make


def parquet() -> bytes:
    content = io.BytesIO()
    TRUTH.assign(id=IDS).to_parquet(content, index=False)
    return content.getvalue()


def book(*sheets: tuple[str, Sequence[Sequence[object]]]) -> Callable[[], bytes]:
    def make() -> bytes:
        from openpyxl import Workbook

        content, made = io.BytesIO(), Workbook()
        made.remove(made.active)
        for name, rows in sheets:
            sheet = made.create_sheet(name)
            for row in rows:
                sheet.append(list(row))
        made.save(content)
        return content.getvalue()

    return make


COMMA = table(written(lambda x: str(x).replace(".", ",")), sep=";")
CSV = table(PLAIN)
ROWS = [NAMES, *TRUTH.astype(object).to_numpy().tolist()]
MONTHS = [f"{day[8:]}/{day[5:7]}/{day[:4]}" for day in DAYS]
CENTIMETRES = [[f"{row[0]} cm", *row[1:]] for row in PLAIN]
MISSING = [row for row in range(N) if row != 5]
FILES = [
    File("plain.csv", "nothing", text(CSV)),
    File("upper.CSV", "upper case in the ending", text(CSV)),
    File("semicolon_decimal_comma.csv", "German Excel", text(COMMA), said="decimal comma"),
    File("tabs.tsv", "tabs", text(table(PLAIN, sep="\t"))),
    File("tabs.csv", "tabs, but called .csv", text(table(PLAIN, sep="\t"))),
    File("bars.txt", "bars between cells", text(table(PLAIN, sep="|"))),
    File(
        "aligned.txt",
        "columns aligned by several spaces",
        text(table([[f"{c:>9}" for c in r] for r in PLAIN], [f"{c:>9}" for c in NAMES], " ")),
    ),
    File("bom.csv", "a byte order mark", text(CSV, "utf-8-sig")),
    File("utf16.csv", "Unicode text of Excel", text(table(PLAIN, sep="\t"), "utf-16")),
    File("crlf.csv", "line ends of Windows", text(CSV.replace("\n", "\r\n"))),
    File("cr.csv", "line ends of an old Mac", text(CSV.replace("\n", "\r"))),
    File("no_last_line_end.csv", "no line end at the end", text(CSV.rstrip())),
    File("blank_lines_at_end.csv", "blank lines at the end", text(CSV + "\n\n  \n")),
    File(
        "blank_line_between.csv",
        "a blank line in the table",
        text(CSV.replace("\n", "\n\n", 7).replace("\n\n", "\n", 6)),
        said="Left out 1 blank line",
    ),
    File("comments_above.csv", "comments above", text("# by hand\n# 2021\n" + CSV), said="2 lines"),
    File("quoted.csv", "every cell in quotes", text(table([[f'"{c}"' for c in r] for r in PLAIN]))),
    File(
        "quoted_names.csv",
        "commas in names of objects",
        text(with_column("plant", [f'"Rosa, {name}"' for name in IDS])),
        said="'plant' holds another text in each row",
    ),
    File(
        "padded.csv", "spaces before numbers", text(table([[f"  {c}" for c in r] for r in PLAIN]))
    ),
    File("scientific.csv", "exponents", text(table(written(lambda x: f"{x:.7E}")))),
    File("plus.csv", "plus signs", text(table([[f"+{c}" for c in r] for r in PLAIN]))),
    File(
        "thousands_comma.csv",
        "thousands grouped by commas, in quotes",
        text(table([[f'"{c}"' for c in r] for r in written(grouped(",", "."))])),
        said="thousands grouped by ','",
    ),
    File(
        "thousands_point.csv",
        "thousands grouped by points, decimal commas",
        text(table(written(grouped(".", ",")), sep=";")),
        said="thousands grouped by '.'",
    ),
    File(
        "thousands_apostrophe.csv",
        "Swiss numbers",
        text(table(written(grouped("'", ".")))),
        said="thousands grouped by",
    ),
    File(
        "thousands_space.csv",
        "French numbers",
        text(table(written(grouped("\u202f", ",")), sep=";")),
        said="thousands grouped by",
    ),
    File(
        "r_row_names.csv",
        "names of rows by R: a first column without a name",
        text(with_column('""', [f'"{i + 1}"' for i in range(N)])),
    ),
    File("pandas_index.csv", "the index of pandas", text(with_column("", list(range(N))))),
    File(
        "counter.csv",
        "a counter of the rows",
        text(with_column("nr", range(1, N + 1))),
        said="'nr'",
    ),
    File(
        "identifier.csv",
        "whole numbers that identify",
        text(with_column("patient_id", [10_000 + 37 * i % 1009 for i in range(N)])),
        said="'patient_id' holds another value in each row",
    ),
    File(
        "trailing_comma.csv",
        "a comma at the end of each line",
        text(CSV.replace("\n", ",\n")),
        said="is empty",
    ),
    File(
        "empty_column.csv",
        "a column without cells",
        text(with_column("remark", [""] * N)),
        said="is empty",
    ),
    File(
        "constant.csv", "a constant column", text(with_column("site", [3] * N)), said="in every row"
    ),
    File(
        "doubled.csv",
        "a column twice, in other units",
        text(with_column("length_mm", [f"{10 * x:.1f}" for x in TRUTH["length"]], 3)),
        said="'length_mm' repeats column 'length' in other units",
    ),
    File(
        "dates_as_numbers.csv",
        "dates as whole numbers",
        text(with_column("date", [day.replace("-", "") for day in DAYS])),
        said="holds dates",
    ),
    File("packed.csv.gz", "packed by gzip", lambda: gzipped(CSV)),
    File("packed.zip", "packed, with a licence", packed(("flowers.csv", CSV), ("LICENCE", "free"))),
    File("frame.parquet", "Parquet, with names", parquet, said="'id' holds another"),
    File("sheet.xlsx", "a sheet of Excel", book(("flowers", ROWS))),
    File(
        "sheet_in_a_corner.xlsx",
        "a table that begins in C4",
        book(("flowers", [[], [], [], *[[None, None, *row] for row in ROWS]])),
    ),
    # stopped, with the option to add
    File(
        "latin1.csv",
        "Latin-1 in a name",
        text(with_column("plant", [f"Bl\u00fcte {i}" for i in range(N)]), "cp1252"),
        "--encoding cp1252",
    ),
    File("no_header.csv", "no header", text(table(PLAIN, None)), "--no-header", ["1", "2", "3"]),
    File(
        "years_as_names.csv",
        "names of columns that are numbers",
        text(table(PLAIN, ["2001", "2002", "2003"])),
        "--header",
        ["2001", "2002", "2003"],
    ),
    File(
        "title.csv",
        "a title above the table",
        text("Plants of 2021\n" + CSV),
        "--comment 'Plants of 2021'",
    ),
    File("sep.csv", "Excel's line about the delimiter", text("sep=;\n" + COMMA), "--comment sep="),
    File(
        "comments_between.csv",
        "a comment in the table",
        text(CSV.replace("\n", "\n# second visit\n", 9).replace("\n# second visit\n", "\n", 8)),
        "--comment '#'",
    ),
    File(
        "comma_or_thousands.csv",
        "1,034 may be two numbers",
        text(
            table(
                [[name, f"{int(float(r[2])):,}"] for name, r in zip(IDS, PLAIN, strict=True)],
                ["plant", "weight"],
                ";",
            )
        ),
        "--thousands ,",
        ["weight"],
        said="which may be",
    ),
    File(
        "na.csv",
        "NA for what is missing",
        text(table(changed(5, 1, "NA"))),
        "--na-values NA",
        rows=MISSING,
        said="missing",
    ),
    File(
        "na_and_dash.csv",
        "several words for what is missing",
        text(table([*changed(5, 1, "n/a")[:9], *changed(9, 1, "-")[9:]])),
        "--na-values n/a,-",
        rows=[row for row in MISSING if row != 9],
        said="missing",
    ),
    File(
        "question_mark.csv",
        "? for what is missing",
        text(table(changed(5, 2, "?"))),
        "--na-values '?'",
        rows=MISSING,
        said="missing",
    ),
    File(
        "missing_cell.csv",
        "an empty cell",
        text(table(changed(5, 1, ""))),
        "--missing drop",
        rows=MISSING,
    ),
    File("sex.csv", "a column of categories", text(with_column("sex", SEX)), "--drop sex"),
    File(
        "dates.csv",
        "a column of dates",
        text(with_column("day", DAYS)),
        "--drop day",
        said="which is a date",
    ),
    File(
        "other_dates.csv",
        "dates of another country",
        text(with_column("day", MONTHS)),
        "--drop day",
        said="which is a date",
    ),
    File(
        "units.csv",
        "units in the cells",
        text(table(CENTIMETRES)),
        "--drop length",
        ["width", "weight"],
    ),
    File(
        "two_sheets.xlsx",
        "two sheets with tables",
        book(("flowers", ROWS), ("other", [["x"], [1.5]])),
        "--sheet flowers",
    ),
    File(
        "percent.csv",
        "a sign in each cell, each of which is another text as that of a name is",
        text(table([[f"{12.5 + i}%", *row[1:]] for i, row in enumerate(PLAIN)])),
        "--drop length",
        ["width", "weight"],
        said="Write the numbers without '%'",
    ),
    File(
        "currency.csv",
        "prices with a sign and grouped thousands",
        text(table([[*row[:2], f'"${float(row[2]) + i:,.2f}"'] for i, row in enumerate(PLAIN)])),
        "--drop weight",
        ["length", "width"],
        said="Write the numbers without '$'",
    ),
    File(
        "write_table.txt",
        "by write.table of R: no name for the names of rows",
        text(
            table(
                [[f'"g{i}"', *row] for i, row in enumerate(PLAIN)], [f'"{n}"' for n in NAMES], " "
            )
        ),
    ),
    File(
        "trailing_delimiters.csv",
        "a delimiter at the end of each row but the header",
        text(table([[*row, ""] for row in PLAIN])),
        said="is empty",
    ),
    File(
        "line_ends_in_cells.csv",
        "notes of two lines in quotes",
        text(with_column("note", [f'"seen twice,\nthen {i} times"' for i in range(N)])),
    ),
    # stopped; what to do is no option
    File(
        "two_tables.zip",
        "two tables in one file",
        packed(("a.csv", CSV), ("b.csv", CSV)),
        None,
        said="Unpack it",
    ),
    File(
        "ragged.csv",
        "a row with a cell too many",
        text(CSV + "5.1,3.5,1.5,7\n"),
        None,
        said="line 26",
    ),
    File(
        "open_quote.csv",
        "a quote that is not closed",
        text(CSV + '"5.1,3.5,1\n'),
        None,
        said="quote",
    ),
    File(
        "same_names.csv",
        "two columns of one name",
        text(table(PLAIN, ["a", "b", "a"])),
        None,
        said="'a' more than once",
    ),
    File(
        "slip.csv",
        "a slip of the pen",
        text(table(changed(5, 1, "3.l"))),
        None,
        said="'3.l' in column 'width', row 6",
    ),
    File(
        "old.xls",
        "an old Excel file",
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504),
        None,
        said="ends in",
    ),
]


if __name__ == "__main__":
    for file in FILES:
        (HERE / file.name).write_bytes(file.make())
