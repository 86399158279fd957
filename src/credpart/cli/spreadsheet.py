"""Tables as CSV that a spreadsheet can open without running what stands in it.

A spreadsheet takes a cell that begins with one of `MARKS` for a formula.  An apostrophe in front
of it keeps it text (OWASP, "CSV Injection").  Apostrophes that already stand before such a mark
get one more, so that two names never become one and the first apostrophe can always be removed.
A number with a sign is no formula and stays as it is.
"""

import csv
import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from credpart._messages import Message, Name
from credpart.cli.vocabulary import in_shell
from credpart.tables.numbers import is_number

MARKS = "=+-@\t\r\n＝＋－＠"  # the last four are the wide forms, which some programs read alike
NAMES = ("name of an object", "names of objects")
FORMULA = re.compile(f"'*[{re.escape(MARKS)}]")


def safe(text: str) -> str:
    """The text as a spreadsheet shows it and never runs it.

    >>> [safe(text) for text in ("=1+1", "'=1+1", "-1.5", "a=b")]
    ["'=1+1", "''=1+1", '-1.5', 'a=b']
    """
    return f"'{text}" if is_formula(text) else text


def is_formula(text: object) -> bool:
    """Whether a spreadsheet might run it, with or without apostrophes before it."""
    if not isinstance(text, str) or not FORMULA.match(text):
        return False
    return text[0] not in "+-" or not is_number(text)


def formula_remarks(
    names: Iterable[object] | None,
    what: tuple[str, str] = ("name of an object", "names of objects"),
) -> list[str]:
    """How many names, or texts of another kind, `write_csv` alters, if any.

    >>> formula_remarks(["=1+1", "a"])
    ["1 name of an object that a spreadsheet might run as a formula, the first '=1+1', is written to
    CSV with an apostrophe before it; --raw-text writes texts as they are."]
    """
    found = [name for name in names if is_formula(name)] if names is not None else []
    if not found:
        return []
    several = len(found) > 1
    subject = f"{len(found)} {what[several]}"
    verb, it = ("are", "them") if several else ("is", "it")
    remark = Message(
        f"{subject} that a spreadsheet might run as a formula, the first {found[0]!r}, {verb} "
        f"written to CSV with an apostrophe before {it}; ",
        Name("raw_text"),
        " writes texts as they are.",
    )
    return [in_shell(remark)]


def kept_remarks(kept: pd.DataFrame | None) -> list[str]:
    """How many cells of columns that are kept `write_csv` alters, if any."""
    if kept is None:
        return []
    cells = kept.select_dtypes(exclude="number").to_numpy(object).ravel()
    return formula_remarks(cells, ("cell of a kept column", "cells of kept columns"))


def write_csv(
    frame: pd.DataFrame, target: Any, *, raw_text: bool = False, delimiter: str = ","
) -> None:
    """Write a table with its index to a path or a stream; ``raw_text`` leaves texts as they are."""
    table = frame.reset_index()
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    if not raw_text:
        for name in texts:
            table[name] = [_safe(cell) for cell in table[name]]
        table = table.rename(columns=_safe)
    # pandas leaves a carriage return without quotes, and a reader would end the row there.
    cells = [*table, *table.select_dtypes(exclude="number").to_numpy().ravel()]
    has_return = any("\r" in cell for cell in cells if isinstance(cell, str))
    quoting: Any = csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL
    table.to_csv(target, index=False, quoting=quoting, sep=delimiter)


def _safe(cell: Any) -> Any:
    return safe(cell) if isinstance(cell, str) else cell
