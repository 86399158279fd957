"""Columns that are no measurements: identifiers, dates, codes of categories, and repetitions.

Only what a whole column shows counts: an identifier differs in every row.  Whoever names the
columns to cluster decides alone.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from credpart._arrays import Array
from credpart._messages import Message, Name, Setting
from credpart.tables.numbers import OTHERS, STANDARD

FEWEST = 20  # rows from which on consecutive numbers, or texts that all differ, are no chance
FEW_CODES = 10  # different whole numbers that may be codes
HEAD = 100  # cells that are looked at before a whole column is
LAST = 18  # figures of a counter that are looked at
WHOLE = re.compile(r"[0-9]+")
SAME = 1e-9  # difference of standardised columns that is no difference: units differ by rounding
UNITS, TAKE_IN = " in other units", " can take it in."
NAMED_AS_DATE = re.compile(r"(?i)(?:.*[\W_])?(?:date|day|datum|time)(?:[\W_].*)?|.*[a-z]Date")
MONTH = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DAY = (
    rf"[0-9]{{1,2}}(?:[-/.][0-9]{{1,2}}[-/.]|[-/. ]{{1,2}}{MONTH}[-/., ]+)(?:[0-9]{{4}}|[0-9]{{2}})"
)
CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?(?:Z| ?[-+][0-9:]{2,6})?"
ISO = rf"[0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}|{MONTH} [0-9]{{1,2}},? [0-9]{{4}}"
DATE = re.compile(rf"(?:{ISO}|{DAY})(?:(?:T| |, ?){CLOCK})?")
CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF"
QUANTITY = re.compile(  # a number with what stands before it and after it
    rf"((?:{CURRENCY})?) *[-+\u2212]?[0-9][0-9.,'\u00a0\u202f ]*(?:[eE][-+]?[0-9]+)? *([^0-9]*)"
)
MINUS = "\u2212"  # the sign of typesetters, which no program reads
MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0)
TOTALS = ("total", "totals", "grand total", "sum", "mean", "average", "summe", "gesamt")
NAMED_AS_ONE = re.compile(r"(?i)(?:.*[\W_])?(?:id|ids|key|index|rownames?|row|nr|no)|.*[a-z]ID")


def differs_in_all_rows(cells: Sequence[str | None]) -> bool:
    """Whether no cell is missing and no two are alike.

    >>> differs_in_all_rows(["a", "b"]), differs_in_all_rows(["a", None]), differs_in_all_rows([])
    (True, False, False)
    """
    return bool(cells) and None not in cells and len(set(cells)) == len(cells)


def may_identify(cells: Sequence[str | None]) -> bool:
    """Whether cells are whole numbers, or no numbers, and all differ."""
    if not differs_in_all_rows(cells):
        return False
    texts = [cell for cell in cells if cell is not None]
    if all(WHOLE.fullmatch(text) for text in texts):
        return True
    if any(style.is_number(text) for text in texts for style in (STANDARD, *OTHERS)):
        return False
    return not unit_of(texts)


def unit_of(cells: Sequence[str]) -> str:
    """What stands beside the number in all cells, such as % or mg; nothing if they are no such.

    >>> unit_of(["12 mg", "7.5 mg"]), unit_of(["$1,200", "$7"]), unit_of(["s1", "s2"])
    ('mg', '$', '')
    """
    found = [QUANTITY.fullmatch(cell.strip()) for cell in cells]
    units = {match and " ".join(part for part in match.groups() if part) for match in found}
    (unit,) = units if len(units) == 1 else (None,)
    return MINUS if unit == "" and any(MINUS in cell for cell in cells) else unit or ""


def why_identifier(name: str, cells: Sequence[str | None]) -> str:
    """Why a column names the objects; nothing if it may be a measurement.

    >>> why_identifier("patient_id", ["7", "3", "5"])
    'holds another value in each row and is named as an identifier'
    >>> why_identifier("x", [str(row) for row in range(1, 41)])
    'counts the rows'
    >>> why_identifier("x", ["7", "3", "5"])
    ''
    """
    if not may_identify(cells):
        return ""
    if NAMED_AS_ONE.fullmatch(name):
        return "holds another value in each row and is named as an identifier"
    if len(cells) < FEWEST:
        return ""
    if all(WHOLE.fullmatch(cell or "") for cell in cells):
        numbers = [int((cell or "")[-LAST:]) for cell in cells]
        counts = all(after - before == 1 for before, after in pairwise(numbers))
        return "counts the rows" if counts else ""
    return "holds another text in each row"


def is_date(cell: str) -> bool:
    """Whether a text is written as a date, perhaps with a time.

    >>> [is_date(cell) for cell in ("2021-03-04", "4.3.2021 10:15", "3/4/21", "4 Mar 2021", "1.5")]
    [True, True, True, True, False]
    """
    return DATE.fullmatch(cell.strip()) is not None


def why_left_out(X: pd.DataFrame, *, redundant: bool) -> dict[str, str]:
    """Columns of numbers that are no measurements, and why.

    They are empty or hold dates, and if ``redundant`` they are constant or repeat another.

    >>> X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [7.0] * 3, "c": [3.0, 5.0, 9.0]})
    >>> why_left_out(X, redundant=True)
    {'b': 'holds 7.0 in every row', 'c': "repeats column 'a' in other units"}
    """
    reasons: dict[str, str] = {}
    seen = _Columns()  # that may be repeated
    for name in map(str, X):
        if not pd.api.types.is_numeric_dtype(X[name]):
            continue
        values = X[name].to_numpy(np.float64)
        known = values[~np.isnan(values)]
        if not len(known):
            reasons[name] = "is empty"
        elif _holds_dates(name, known):
            reasons[name] = "holds dates as whole numbers"
        elif redundant and np.isfinite(known).all() and len(known) > 1:
            if np.ptp(known) == 0.0:
                reasons[name] = f"holds {float(known[0])!r} in every row"
                continue
            scaled = (values - known.mean()) / known.std()
            twin = seen.twin(scaled)
            if twin is not None:
                how = "" if np.array_equal(values, X[twin], equal_nan=True) else UNITS
                reasons[name] = f"repeats column {twin!r}{how}"
            else:
                seen.add(name, scaled)
    return reasons


class _Columns:
    """Standardised columns, by the size of their first value that is not missing.

    Columns that are alike have nearly the same first value: so a column is compared with a few,
    and not with all of perhaps 100 000.
    """

    def __init__(self) -> None:
        self._sizes: list[float] = []  # ascending
        self._columns: list[tuple[str, Array]] = []  # in the same order

    def add(self, name: str, scaled: Array) -> None:
        """Take one more column."""
        place = bisect_left(self._sizes, _first_size(scaled))
        self._sizes.insert(place, _first_size(scaled))
        self._columns.insert(place, (name, scaled))

    def twin(self, scaled: Array) -> str | None:
        """A column that this one repeats."""
        size = _first_size(scaled)
        near = slice(bisect_left(self._sizes, size - SAME), bisect_right(self._sizes, size + SAME))
        return next((name for name, other in self._columns[near] if _alike(scaled, other)), None)


def _first_size(scaled: Array) -> float:
    return abs(float(scaled[np.isfinite(scaled).argmax()]))


def _alike(one: Array, other: Array) -> bool:
    """Whether two standardised columns are the same, or each other's negative."""
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    return bool(min(np.nanmax(np.abs(one - other)), np.nanmax(np.abs(one + other))) < SAME)


def _holds_dates(name: str, values: Array) -> bool:
    """Whether whole numbers such as 20210304 stand in a column that is named as one of dates."""
    if not NAMED_AS_DATE.fullmatch(name) or (values != np.round(values)).any():
        return False
    years, days = np.divmod(values, 10_000)
    months, days = np.divmod(days, 100)
    good = (years >= 1800) & (years < 2200) & (months >= 1) & (months <= 12)
    return bool((good & (days >= 1) & (days <= 31)).all())


def left_out_remarks(reasons: Mapping[str, str]) -> Iterator[str]:
    """Which columns are left out, and how to cluster them nevertheless."""
    for name, reason in reasons.items():
        yield Message(f"Column {name!r} {reason}: it is left out; ", Name("columns"), TAKE_IN)


def identifier_remarks(reasons: Mapping[str, str], names_objects: str | None) -> Iterator[str]:
    """What was found to identify objects, and how to cluster it nevertheless."""
    for name, reason in reasons.items():
        use = "names the objects and is not clustered" if name == names_objects else "is left out"
        yield Message(f"Column {name!r} {reason}: it {use}; ", Name("columns"), TAKE_IN)


def code_remarks(X: pd.DataFrame) -> Iterator[str]:
    """Which columns of numbers may be codes of categories."""
    names = [str(name) for name in X if len(X) >= FEWEST and _holds_codes(X[name])]
    if names:
        shown = ", ".join(map(repr, names))
        yield Message(
            f"Few whole numbers stand in {shown}, clustered as measurements. If they are not ",
            *("measurements, leave them out with ", Setting("drop", names, is_quoted=True)),
            *(", or name one of them as ", Name("group_column"), " (such as donors). "),
            "If they are codes of categories to cluster, say ",
            *(Setting("text_columns", names, is_quoted=True), " and take the model 'mixed' or "),
            "'latent-class'.",
        )


def _holds_codes(column: pd.Series) -> bool:
    if not pd.api.types.is_numeric_dtype(column):
        return False
    values = column.dropna().to_numpy(np.float64)
    few = np.unique(values[: 10 * HEAD])
    if len(few) > FEW_CODES or not len(few) > 2 or (few != np.round(few)).any():
        return False
    return len(np.unique(values)) <= FEW_CODES


def missing_code_remarks(
    X: pd.DataFrame, texts: Callable[[str], list[str | None]]
) -> Iterator[str]:
    """Which columns hold a number that often stands for missing cells, far from the others.

    ``texts`` gives the cells of a column as they were written.
    """
    for name in map(str, X):
        if not pd.api.types.is_numeric_dtype(X[name]):
            continue
        values = X[name].to_numpy(np.float64)
        for code in MISSING_CODES:
            others = values[np.isfinite(values) & (values != code)]
            rows = np.flatnonzero(values == code)
            if len(rows) < 2 or len(others) < 2:
                continue
            if max(others.min() - code, code - others.max()) > np.ptp(others):
                written = (texts(name)[rows[0]] or "").strip()
                yield Message(
                    f"Column {name!r} holds {written} in {len(rows)} rows, far from its other "
                    "numbers, and it is read as a number. If it stands for a missing cell, say ",
                    *(Setting("na_values", [written], is_quoted=True), "."),
                )


def total_remarks(ids: pd.Index | None) -> Iterator[str]:
    """Whether the last row is named as one that sums up the others."""
    if ids is not None and len(ids) and str(ids[-1]).strip().lower() in TOTALS:
        yield Message(
            f"The last row is named {ids[-1]!r} and is clustered as an object: delete it if it ",
            "sums up the others.",
        )
