"""What to know of the data before a mixture is fitted: which models they can carry."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array
from credpart._checks import Table, WeightedTable, check_columns_seen, check_spread
from credpart._columns import missing_cells
from credpart._memory import check_matrices
from credpart._messages import Message, RowNumber, Setting, joined
from credpart.errors import DataWarning, InputError, warn_caller
from credpart.mixture.covariance.structures import TABLE
from credpart.mixture.distinct import distinct
from credpart.mixture.models import Model

OUTLYING = 1e3  # interquartile ranges from the median
# Part of a standardised column that the others leave unexplained: where it is smaller, densities
# with full covariances drown in rounding.
DEPENDENT = 1e-6


def dependent_columns(X: Array) -> list[int]:
    """Columns that are linear combinations of columns before them (constants left aside)."""
    spread = X.std(axis=0)
    varying = np.flatnonzero(spread > 0.0)
    Z = (X[:, varying] - X[:, varying].mean(axis=0)) / spread[varying]
    R = np.linalg.qr(Z / np.sqrt(len(X)), mode="r")
    unexplained = np.zeros(len(varying))  # with fewer rows than columns, the last depend on others
    unexplained[: len(R)] = np.abs(np.diagonal(R))
    return [int(j) for j in varying[unexplained < DEPENDENT]]


class Screening(NamedTuple):
    """What was found out about the data."""

    refused: dict[tuple[int, str], str]  # why they cannot carry a number of clusters and a model
    remarks: list[Message]  # what does not stop a fit

    def warn(self) -> None:
        """Warn the caller of the public function, once for all remarks."""
        if self.remarks:
            warn_caller(DataWarning("The data: ", joined("; ", self.remarks), "."))


def screen(data: WeightedTable, models: Mapping[str, Model], numbers: Sequence[int]) -> Screening:
    """Look at the data before any fit; an error if there are too few rows for any."""
    table, X = data.table, data.seen
    rows = distinct(data.values, data.weights).X
    n_distinct = len(rows)
    (n, d), most = X.shape, max(numbers)
    if n_distinct <= most:
        few, needed = f"{n_distinct} distinct row(s) of {n} (n = {n}) for ", most + 1
        raise InputError(
            "X",
            "have more distinct rows than clusters",
            Message(few, Setting("n_clusters", most), f"; at least {needed} are needed"),
            "Fit fewer clusters.",
        )
    if table.levels is None and any(row.structure is not None for row in models.values()):
        check_matrices(d, min(numbers))
    check_total(data.weights, most)
    check_columns_seen(table._replace(values=X))
    check_spread(np.nanmax(X, axis=0) - np.nanmin(X, axis=0), table)
    columns = [j for j in range(d) if np.nanmax(X[:, j]) == np.nanmin(X[:, j])]
    constant = _sentence(table, columns, "constant")
    whole = rows[~np.isnan(rows).any(axis=1)]
    columns = dependent_columns(whole) if len(whole) > d and table.levels is None else []
    dependent = _sentence(table, columns, "a linear combination of other columns")
    refused: dict[tuple[int, str], str] = {}
    flat = constant or dependent
    for c, (model, row) in product(numbers, models.items()):
        if row.structure is None:
            continue
        structure = TABLE[row.structure]
        if flat and row.needs_volume:
            refused[c, model] = f"the data fill no volume that noise could be uniform over: {flat}"
        elif constant and not structure.spherical:
            refused[c, model] = constant
        elif dependent and not structure.diagonal:
            refused[c, model] = dependent
        elif not structure.diagonal and n_distinct < c + d:
            refused[c, model] = (
                f"{n_distinct} distinct rows cannot carry a full covariance of {d} columns "
                f"with {c} clusters (at least {c + d}); the most general model that fits is 'VVI'"
            )
    remarks = [Message(text) for text in (constant, dependent, missing_cells(table)) if text]
    if n_distinct < n / 2 and table.levels is None:  # answers to questions do repeat
        remarks.append(Message(f"{n - n_distinct} of {n} rows repeat another row"))
    return Screening(refused, [*remarks, *_outliers(data, rows)])


def check_total(weights: Array, c: int) -> None:
    """Refuse weights that do not make up more objects than there are clusters."""
    if weights.sum() <= c:
        raise InputError(
            "sample_weight",
            f"sum to more than the {c} clusters",
            Message(f"a sum of {weights.sum():g}"),
            "A weight says how often an object was seen: multiply the weights by a constant.",
        )


def _sentence(table: Table, columns: list[int], what: str) -> str:
    """What some columns are; nothing if there are none."""
    verb = "is" if len(columns) == 1 else "are"
    return f"{', '.join(map(table.label, columns))} {verb} {what}" if columns else ""


def _outliers(data: WeightedTable, rows: Array) -> Iterator[Message]:
    """The first row that lies far from all others, and how many there are.

    Quartiles are those of the distinct ``rows``, so that weights do what repeated rows do.
    """
    X = data.seen
    low, middle, high = np.nanpercentile(rows, [25, 50, 75], axis=0)
    far = (np.abs(X - middle) > OUTLYING * (high - low)) & (high > low)
    if far.any():
        row, column = np.argwhere(far)[0]
        yield Message(
            RowNumber(np.flatnonzero(data.weights > 0.0)[row]),
            f" lies more than {OUTLYING:g} interquartile ranges from the median of ",
            data.table.column(column),
            f" ({far.any(axis=1).sum()} such row(s))",
        )
