"""A partition as a table and as text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credpart._arrays import IntArray
from credpart.errors import InputError
from credpart.focal import set_names

if TYPE_CHECKING:
    import pandas as pd

    from credpart.partition.evidential import EvidentialPartition

MOST_SETS = 12  # the largest, that a summary names: it has to fit on a screen


def frame(partition: "EvidentialPartition") -> "pd.DataFrame":
    """Return labels, masses, beliefs and plausibilities as a table, one row for each object."""
    import pandas as pd

    clusters = np.eye(partition.n_clusters, dtype=bool)
    names = set_names(partition.focal_sets, partition.cluster_names)
    singles = set_names(clusters, partition.cluster_names)
    columns = [f"m{name}" for name in names]
    columns += [f"{measure}{name}" for measure in ("bel", "pl") for name in singles]
    values = np.hstack([partition.masses, partition.belief(), partition.plausibility()])
    table = pd.DataFrame(values, columns=columns)
    numbers = partition.cluster_names or np.arange(1, partition.n_clusters + 1)
    table.insert(0, "label", np.asarray(numbers)[partition.labels])
    table.insert(1, "set_label", [names[k] for k in partition.set_labels])
    if partition.index is not None:
        table.index = pd.Index(partition.index)
    return table


def with_backend(table: "pd.DataFrame", has_index: bool, backend: Any) -> Any:
    """Return the table as one of another library; an index becomes its column "id"."""
    if backend is None or backend == "pandas":
        return table
    import narwhals as nw

    numbers = list(table.select_dtypes("number"))
    columns: dict[str, Any] = {"id": table.index.to_list()} if has_index else {}
    for name in table:
        column = table[name]
        columns[str(name)] = column.to_numpy() if name in numbers else column.to_list()
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except (ImportError, ValueError, TypeError, AttributeError):
        requirement = "be a library of tables that is installed, such as 'polars' or 'pyarrow'"
        raise InputError("backend", requirement, backend) from None


def count_sets(set_labels: IntArray, n_sets: int) -> IntArray:
    """Return how many objects each focal set has, given the set of each object."""
    return np.bincount(set_labels, minlength=n_sets)


def counts_by_kind(partition: "EvidentialPartition") -> dict[str, dict[str, int]]:
    """Return the counts of the sets that hold objects, by what such a set says of an object.

    A single cluster makes it certain, several clusters ambiguous, the empty set an outlier.
    """
    kinds: dict[str, dict[str, int]] = {"certain": {}, "ambiguous": {}, "outliers": {}}
    sizes = partition.focal_sets.sum(axis=1)
    for (name, count), size in zip(partition.counts().items(), sizes, strict=True):
        kind = "outliers" if size == 0 else "certain" if size == 1 else "ambiguous"
        if count:
            kinds[kind][name] = count
    return kinds


def summary(partition: "EvidentialPartition") -> str:
    """Return how many objects are certain, ambiguous and outliers, and in which sets."""
    n, c, f = partition.n_objects, partition.n_clusters, len(partition.focal_sets)
    lines = [
        f"{n} objects, {c} clusters, {f} focal sets",
        *kind_lines(partition).values(),
        f"mean nonspecificity: {partition.nonspecificity.mean():.3f}",
    ]
    return "\n".join(lines)


def kind_lines(partition: "EvidentialPartition") -> dict[str, str]:
    """Return one line each on certain objects, ambiguous ones and outliers."""
    kinds = counts_by_kind(partition)
    return {kind: _line(kind, counts, partition.n_objects) for kind, counts in kinds.items()}


def _line(kind: str, counts: Mapping[str, int], n: int) -> str:
    total = sum(counts.values())
    largest = sorted(counts, key=lambda name: -counts[name])[:MOST_SETS]
    listed = ", ".join(f"{name} {count}" for name, count in counts.items() if name in largest)
    left = f" and {len(counts) - MOST_SETS} other sets" if len(counts) > MOST_SETS else ""
    return f"{kind}: {total} ({100 * total / n:.1f} %)" + (f", in {listed}{left}" if listed else "")
