"""Fits and selections as HTML, for notebooks: all that comes from the data is escaped."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 20
MOST_ROWS = 10


def components(params: Any, names: Sequence[str] | None) -> "pd.DataFrame":
    """A row a component, counted from 1: parameters that are numbers or one number a column."""
    import pandas as pd

    c, columns = len(params[0]), {}
    for name, value in params._asdict().items():
        if value.shape == (c,):
            columns[name] = value
        elif value.ndim == 2:
            labels = names if names and len(names) == value.shape[1] else range(value.shape[1])
            columns |= {f"{name}: {label}": value[:, j] for j, label in enumerate(labels)}
    table = pd.DataFrame(columns, index=pd.RangeIndex(1, c + 1))
    return table.rename_axis("component", axis=1)  # over the rows' numbers when it is shown


def fit_html(text: str, params: Any, names: Sequence[str] | None) -> str:
    """A fit: what it is, and its components."""
    table = components(params, names)
    limits: dict[str, Any] = {"max_rows": MOST_ROWS, "max_cols": MOST_COLUMNS}
    return f"<p>{escape(text)}</p>\n{table.to_html(float_format='{:.4g}'.format, **limits)}"


def selection_html(
    text: str, table: "pd.DataFrame", best: tuple[int, str], missing: Mapping[Any, str]
) -> str:
    """The table of a criterion with its best cell in bold, and why others are empty."""
    shown = table.map(lambda value: "" if np.isnan(value) else f"{value:.1f}")
    shown.at[best] = "<strong>" + str(shown.at[best]) + "</strong>"
    grid = shown.rename(columns=lambda model: escape(str(model))).to_html(escape=False)
    reasons = "".join(f"<li>{escape(f'{c}, {m}: {why}')}</li>" for (c, m), why in missing.items())
    more = f"<details><summary>{len(missing)} not fitted</summary><ul>{reasons}</ul></details>"
    return f"<p>{escape(text)}</p>\n{grid}{more if missing else ''}"
