"""Columns that are no measurements: identifiers, and codes of categories.

Only what a whole column shows counts: an identifier differs in every row.  Whoever names the
columns to cluster decides alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from credpart._messages import Message, Name, Setting
from credpart.tables.numbers import OTHERS, STANDARD

FEWEST = 20  # rows from which on consecutive numbers, or texts that all differ, are no chance
FEW_CODES = 10  # different whole numbers that may be codes
HEAD = 100  # cells that are looked at before a whole column is
LAST = 18  # figures of a counter that are looked at
WHOLE = re.compile(r"[0-9]+")
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
    return not any(style.is_number(text) for text in texts for style in (STANDARD, *OTHERS))


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


def identifier_remarks(reasons: Mapping[str, str], names_objects: str | None) -> Iterator[str]:
    """What was found to identify objects, and how to cluster it nevertheless."""
    for name, reason in reasons.items():
        use = "names the objects and is not clustered" if name == names_objects else "is left out"
        yield Message(f"Column {name!r} {reason}: it {use}; ", Name("columns"), " can take it in.")


def code_remarks(X: pd.DataFrame) -> Iterator[str]:
    """Which columns of numbers may be codes of categories."""
    names = [str(name) for name in X if len(X) >= FEWEST and _holds_codes(X[name])]
    if names:
        shown = ", ".join(map(repr, names))
        yield Message(
            f"Few whole numbers stand in {shown}, read as measurements. If they are codes, say ",
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
