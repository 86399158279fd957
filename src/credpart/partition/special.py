"""Masses as a user gives them, and the hard, fuzzy and rough partitions as masses.

Section 2.2 of [D20]: masses of 1 on one cluster are a hard partition, Bayesian masses a fuzzy one,
logical masses a rough one.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table, check_data, check_integer, in_cell, in_row
from credpart._messages import Message
from credpart.errors import InputError
from credpart.focal import canonical_order

SUM_TOLERANCE = 1e-8


def check_masses(name: str, value: Any) -> Table:
    """Return ``value`` as non-negative rows (n, f) that sum to 1, C-ordered and read-only."""
    table = check_data(value, name=name)
    masses = np.ascontiguousarray(table.values)
    if masses.min() < 0.0:
        row, column = np.argwhere(masses < 0.0)[0]
        got = in_cell(f"{masses[row, column]:g}", table.column(column), row)
        raise InputError(name, "be non-negative", got)
    sums = masses.sum(axis=1)
    bad = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(bad):
        span = f"row sums in [{sums.min():g}, {sums.max():g}], first {float(sums[bad[0]])!r}"
        got = in_row(span, bad[0])
        raise InputError(name, "have rows summing to 1", got, "Divide each row by its sum.")
    masses.setflags(write=False)
    return table._replace(values=masses)


def check_labels(value: ArrayLike, n_clusters: int | None) -> tuple[IntArray, int]:
    """Return 0-based labels (n,), and the number of clusters: by default the highest + 1."""
    labels = np.asarray(value)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not labels.size:
        raise InputError(
            "labels",
            "be a sequence of integers",
            Message(f"shape {labels.shape} of {labels.dtype}"),
            "Number other labels with `np.unique(labels, return_inverse=True)[1]`.",
        )
    at_least = int(labels.max()) + 1
    c = (
        max(at_least, 1)
        if n_clusters is None
        else check_integer("n_clusters", n_clusters, at_least=1)
    )
    bad = np.flatnonzero((labels < 0) | (labels >= c))
    if len(bad):
        raise InputError("labels", f"be in 0..{c - 1}", in_row(f"{labels[bad[0]]}", bad[0]))
    return labels.astype(np.intp), c


def check_rows_of_sets(value: Any) -> Table:
    """Return one set of clusters for each object, as rows (n, c) of 0 and 1."""
    table = check_data(value, name="sets")
    bad = np.argwhere((table.values != 0.0) & (table.values != 1.0))
    if len(bad):
        row, column = bad[0]
        got = in_cell(f"{table.values[row, column]:g}", table.column(column), row)
        raise InputError("sets", "hold 0 and 1", got)
    return table


def logical_masses(sets: BoolArray) -> tuple[Array, BoolArray]:
    """Return masses (n, f) with all mass of object i on ``sets[i]``, and the focal sets.

    The singletons are always among them, so that no cluster is lost.
    """
    focal = canonical_order(np.vstack([np.eye(sets.shape[1], dtype=bool), sets]))
    # Two sets are equal if what they share is as large as either.
    shared = sets.astype(np.float64) @ focal.T
    equal = (shared == sets.sum(axis=1)[:, None]) & (shared == focal.sum(axis=1))
    return equal.astype(np.float64), focal


def check_index(value: Any, n: int) -> Any:
    """Return a pandas index as it is, other labels of n objects as a tuple; None stays None."""
    if value is None:
        return None
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    index = value if hasattr(value, "names") else tuple(value) if several else ()
    if len(index) != n:
        raise InputError("index", f"have {n} labels, one for each object", value)
    return index
