"""What to know of the data before a mixture is fitted: which models they can carry."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, IntArray
from credpart._checks import Table, check_spread
from credpart._columns import sortable
from credpart._messages import Message, RowNumber, Setting, joined
from credpart.errors import DataWarning, InputError
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
    unexplained = np.abs(np.diagonal(R))
    return [int(varying[j]) for j in range(len(varying)) if _is_small(unexplained, j)]


def _is_small(unexplained: Array, j: int) -> bool:
    return j >= len(unexplained) or bool(unexplained[j] < DEPENDENT)


class Screening(NamedTuple):
    """What was found out about the data."""

    refused: dict[tuple[int, str], str]  # why they cannot carry a number of clusters and a model
    remarks: list[Message]  # what does not stop a fit

    def warn(self) -> None:
        """Warn the caller of the public function, once for all remarks."""
        if self.remarks:
            warning = DataWarning("The data: ", joined("; ", self.remarks), ".")
            warnings.warn(warning, stacklevel=3)


def screen(
    table: Table, models: Mapping[str, Model], numbers: Sequence[int], weights: Array
) -> Screening:
    """Look at the data before any fit; an error if there are too few rows for any."""
    present = np.flatnonzero(weights > 0.0)
    X = table.values[present]
    distinct = len(np.unique(sortable(X), axis=0))
    (n, d), most = X.shape, max(numbers)
    if distinct <= most:
        few, needed = f"{distinct} distinct row(s) of {n} (n = {n}) for ", most + 1
        raise InputError(
            "X",
            "have more distinct rows than clusters",
            Message(few, Setting("n_clusters", most), f"; at least {needed} are needed"),
            "Fit fewer clusters.",
        )
    if weights.sum() <= most:
        raise InputError(
            "sample_weight",
            f"sum to more than the {most} clusters",
            Message(f"a sum of {weights.sum():g}"),
            "A weight says how often an object was seen: multiply the weights by a constant.",
        )
    check_spread(np.ptp(X, axis=0), table)
    constant = [j for j in range(d) if np.nanmax(X[:, j]) == np.nanmin(X[:, j])]
    dependent = dependent_columns(X) if distinct > d and table.levels is None else []
    refused: dict[tuple[int, str], str] = {}
    for c, (model, row) in product(numbers, models.items()):
        structure = row.shape
        if structure is None:
            continue
        if constant and not structure.spherical:
            refused[c, model] = f"{_named(table, constant)} constant"
        elif dependent and not structure.diagonal:
            refused[c, model] = f"{_named(table, dependent)} a linear combination of other columns"
        elif not structure.diagonal and distinct < c + d:
            refused[c, model] = (
                f"{distinct} distinct rows cannot carry a full covariance of {d} columns "
                f"with {c} clusters (at least {c + d}); the most general model that fits is 'VVI'"
            )
    return Screening(refused, _remarks(table, present, constant, dependent, distinct))


def _named(table: Table, columns: list[int]) -> str:
    names = ", ".join(table.label(j) for j in columns)
    return f"{names} {'is' if len(columns) == 1 else 'are'}"


def _remarks(
    table: Table, present: IntArray, constant: list[int], dependent: list[int], distinct: int
) -> list[Message]:
    """What a user should know of the data."""
    X, notes = table.values[present], []
    if constant:
        notes.append(Message(f"{_named(table, constant)} constant"))
    if dependent:
        combined = f"{_named(table, dependent)} a linear combination of other columns"
        notes.append(Message(combined))
    if distinct < len(X) / 2 and table.levels is None:  # answers to questions do repeat
        notes.append(Message(f"{len(X) - distinct} of {len(X)} rows repeat another row"))
    low, middle, high = np.nanpercentile(X, [25, 50, 75], axis=0)
    far = np.abs(X - middle) > OUTLYING * (high - low)
    far &= high > low
    if far.any():
        row, column = np.argwhere(far)[0]
        notes.append(
            Message(
                RowNumber(present[row]),
                f" lies more than {OUTLYING:g} interquartile ranges from the median of ",
                table.column(column),
                f" ({far.any(axis=1).sum()} such row(s))",
            )
        )
    return notes
