"""Odd and damaged text files: each is read as it is written, or refused with a clear error.

A random table is written in a random way, and then damaged up to three times.  What
`read_objects` makes of it must equal what the csv module and ``float`` make of it with the
delimiter that it was written with; else it must be an error of this library, in one line.

    python -m tests.attacks.fuzz_tables --tries 5000
"""

import argparse
import csv
import io
import math
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from credpart.cli.vocabulary import in_shell
from credpart.errors import CredpartError
from credpart.tables import Objects, TextFormat, read_objects

LIMIT = 20.0  # seconds after which a try counts as hanging
NUMBERS = [
    *("0", "-0", "1.10", "1E2", "001", "+.5", "5.", "1e400", "-1e-400", "9007199254740993", " 7 "),
    *("2.4703282292062328e-324", "123456789012345678901234567890", "inf", "-Infinity"),
]
OTHERWISE = {  # numbers as other countries write them
    "commas": lambda x: f"{x:.6f}".replace(".", ","),
    "groups": lambda x: f"{x * 1e4:,.2f}",
    "groups and commas": lambda x: f"{x * 1e4:,.2f}".translate({44: ".", 46: ","}),
}
WORDS = [
    *("NA", "None", "null", "nan", "", " ", "a", "b", "yes", "=1+1", "-", "@x", "größe", "名"),
    *("🙂", "a,b", "a;b", "a\tb", "two\nlines", "a\rb", 'say "a"', "'", "1_000", "١٢", "1,5"),
    *("0x1F", "\ufeff", "\u2028", "x" * 3000, "#", "True", "2020-01-01", "1 000", "\x1f", "\x85"),
]
NAMES = ["x", "y", "z", "größe", "a,b", "a;b", "the id", "", " ", "1990", "x$", "'", "\ufeffx"]


@dataclass
class Written:
    """A table as it was written, and how."""

    data: bytes
    delimiter: str
    has_header: bool
    damages: list[str] = field(default_factory=list)


def written(rng: np.random.Generator) -> Written:
    """A random table in a random form."""
    n, d = int(rng.integers(0, 30)), int(rng.integers(1, 6))
    of_numbers = str(rng.choice(["numbers", *OTHERWISE], p=[0.7, 0.1, 0.1, 0.1]))
    kinds = rng.choice([of_numbers, "odd numbers", "words", "names"], d, p=[0.5, 0.2, 0.2, 0.1])
    columns = [cells(kind, n, rng) for kind in kinds]
    names = [str(rng.choice(NAMES)) + (f"{j}" if rng.random() < 0.95 else "") for j in range(d)]
    # An object that is lost is noticed only above numbers: that much is promised.
    has_header = n == 0 or of_numbers not in kinds or bool(rng.random() < 0.85)
    rows = [*([names] if has_header else []), *map(list, zip(*columns, strict=True))]
    delimiter = str(rng.choice([",", ";", "\t"], p=[0.6, 0.2, 0.2]))
    if d == 1:
        delimiter = ","  # so that commas within the cells are quoted: else no program could tell
    stream = io.StringIO(newline="")
    quoting = int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    end = str(rng.choice(["\n", "\r\n", "\r"], p=[0.6, 0.3, 0.1]))
    # A terminator of both characters makes the writer quote cells that hold either of them.
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\r\n")
    lines = []
    for row in rows:
        stream.seek(0)
        stream.truncate()
        writer.writerow(row)
        lines.append(stream.getvalue().removesuffix("\r\n"))
    text = end.join(lines) + (end * int(rng.integers(0, 3)))
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"], p=[0.8, 0.1, 0.05, 0.05]))
    return Written(text.encode(encoding, "replace"), delimiter, has_header)


def cells(kind: str, n: int, rng: np.random.Generator) -> list[str]:
    """The cells of a column."""
    if kind == "numbers":
        return [repr(float(x)) for x in rng.normal(size=n) * 10.0 ** rng.integers(-5, 6)]
    if kind in OTHERWISE:
        return [OTHERWISE[kind](x) for x in rng.normal(size=n)]
    if kind == "odd numbers":
        return [str(rng.choice(NUMBERS)) for _ in range(n)]
    if kind == "words":
        return [str(rng.choice(WORDS)) for _ in range(n)]
    return [f"{row:03d}" for row in range(n)]


def _place(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(0, len(data) + 1))


def _insert(data: bytes, rng: np.random.Generator) -> bytes:
    marks = [b'"', b"\0", b",", b";", b"\t", b"\n", b"\r\n", b"\n\n", b"\xff", b"\xef\xbb\xbf"]
    more = [b"e", b"-", b"NA", b" ", b"\x1a", b"9" * 400, b"#", b"''", b'""']
    place = _place(data, rng)
    return data[:place] + (marks + more)[int(rng.integers(len(marks + more)))] + data[place:]


def _delete(data: bytes, rng: np.random.Generator) -> bytes:
    place = _place(data, rng)
    return data[:place] + data[place + int(rng.integers(1, 10)) :]


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return data
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]


def _truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def _repeat_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.splitlines(keepends=True)
    place = int(rng.integers(len(lines) + 1))
    return b"".join([*lines[:place], *lines[max(0, place - 1) : place], *lines[place:]])


def _drop_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.splitlines(keepends=True)
    place = int(rng.integers(len(lines) + 1)) or 1  # never the first: no program could tell
    return b"".join([*lines[:place], *lines[place + 1 :]])


DAMAGES: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "insert": _insert,
    "delete": _delete,
    "flip": _flip,
    "truncate": _truncate,
    "repeat a line": _repeat_line,
    "drop a line": _drop_line,
}


def damaged(table: Written, rng: np.random.Generator) -> Written:
    """The table after up to three damages; an object in the first row stays what it is."""
    kept = b"" if table.has_header else table.data.splitlines(keepends=True)[0]
    rest = table.data.removeprefix(kept)
    table.damages = [str(name) for name in rng.choice(list(DAMAGES), int(rng.integers(0, 4)))]
    for name in table.damages:
        rest = DAMAGES[name](rest, rng)
    table.data = kept + rest
    return table


def simply_parsed(table: Written) -> list[list[str]] | None:
    """The rows by the csv module, blank lines left out; None if there are none or they differ."""
    encoding = "utf-16" if table.data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = table.data.decode(encoding)
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=table.delimiter, strict=True)
        rows = list(lines)
    except (UnicodeError, csv.Error):
        return None
    first = next((row for row in rows if any(cell.strip() for cell in row) or len(row) > 1), None)
    if first is None:
        return None
    rows = rows[rows.index(first) :]
    while not rows[-1]:
        rows.pop()
    if len(first) == 1:
        rows = [row or [""] for row in rows]  # in a single column a blank line is a missing cell
    else:
        rows = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
    return rows if len({len(row) for row in rows}) == 1 else None


def difference(objects: Objects, rows: list[list[str]], has_header: bool) -> str:
    """In what the objects differ from the rows; nothing if they are the same."""
    header, body = (rows[0], rows[1:]) if has_header else (None, rows)
    ids = objects.ids
    names = header or [str(j + 1) for j in range(len(rows[0]))]
    if len(objects.X) != len(body):
        return f"{len(objects.X)} rows, expected {len(body)}"
    columns = dict(zip(names, zip(*body, strict=True) if body else [()] * len(names), strict=True))
    if ids is not None and list(ids) != list(columns.pop(ids.name)):
        return "names of objects"
    said = " ".join(objects.remarks)
    columns = {
        name: texts
        for name, texts in columns.items()
        if not (f"Column {name!r} " in said and name not in objects.X)
    }
    if list(objects.X) != list(columns):
        return f"names {list(objects.X)}, expected {list(columns)}"
    for name, texts in columns.items():
        found = objects.X[name].to_list()
        expected = as_said(list(texts), objects.remarks) if all_numbers(found) else list(texts)
        if not same(found, expected):
            return f"column {name!r}: {found}, expected {expected}"
    return ""


def all_numbers(found: list[object]) -> bool:
    """Whether a column was read as numbers."""
    return all(isinstance(cell, float) for cell in found)


def as_said(texts: list[str], remarks: tuple[str, ...]) -> list[str]:
    """The numbers with a decimal point, where a remark says that they were written otherwise."""
    said = " ".join(remarks)
    if "Numbers are read with" not in said:
        return texts
    grouping, sign = (".' ", ",") if "decimal comma" in said else (",' ", ".")
    for mark in grouping:
        texts = [text.strip().replace(mark, "") for text in texts]
    return [text.replace(sign, ".") for text in texts]


def same(found: list[object], expected: list[str]) -> bool:
    """Whether cells are the texts, or all of them the numbers that ``float`` makes of the texts."""
    if all_numbers(found):
        try:
            numbers = [float(text) if text else math.nan for text in expected]
        except ValueError:
            return False
        return struct.pack(f"{len(found)}d", *found) == struct.pack(f"{len(found)}d", *numbers)
    return [cell or "" for cell in found] == expected


@contextmanager
def time_limit() -> Iterator[None]:
    """Stop what hangs, where the system has signals for it."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer in {LIMIT:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def outcome(table: Written, path: Path, rng: np.random.Generator) -> tuple[str, str]:
    """What came of a file ("table", "error" or "failure"), and what is wrong with it."""
    path.write_bytes(table.data)
    said = {}
    if rng.random() < 0.3:
        said["delimiter"] = table.delimiter
    if rng.random() < 0.3:
        said["header"] = table.has_header
    try:
        with time_limit(), warnings.catch_warnings(action="error"):
            chosen = TextFormat(**said)
            objects = read_objects(path, categories=bool(rng.random() < 0.7), text_format=chosen)
    except CredpartError as error:
        line = in_shell(error)
        clear = 20 < len(line) < 20_000 and "\n" not in line
        return ("error", "") if clear else ("failure", f"unclear error: {line!r}")
    except Exception as error:
        return "failure", f"{type(error).__name__}: {error}"
    rows = simply_parsed(table)
    if not len(objects.X) and (rows is None or len(rows) == table.has_header):
        return "table", ""  # there are no objects that could be misread
    if rows is None:
        return "failure", f"read although it is no table: {objects.X.shape}"
    wrong = difference(objects, rows, table.has_header)
    return ("failure", wrong) if wrong else ("table", "")


def attack(tries: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Count the outcomes of random files, and describe each failure."""
    counts: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tries):
            rng = np.random.default_rng([seed, number])
            table = damaged(written(rng), rng)
            what, wrong = outcome(table, Path(folder, "data.csv"), rng)
            counts[what] += 1
            if wrong:
                failures.append(f"[{seed}, {number}] {table.damages} {wrong}\n    {table.data!r}")
    return counts, failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.perf_counter()
    counts, failures = attack(given.tries, given.seed)
    print(*failures[:20], sep="\n")
    print(f"{given.tries} files: {dict(counts)}, {time.perf_counter() - started:.0f} s")
    sys.exit(bool(failures))
