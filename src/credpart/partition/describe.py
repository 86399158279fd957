"""A partition as a table and as text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credpart._checks import Array
from credpart.focal import BoolArray, set_names
from credpart.partition import measures

if TYPE_CHECKING:
    import pandas as pd


def frame(
    masses: Array, focal: BoolArray, cluster_names: Iterable[str] | None, index: Any
) -> "pd.DataFrame":
    """Return labels, masses, beliefs and plausibilities as a table with a row an object."""
    import pandas as pd

    clusters = np.eye(focal.shape[1], dtype=bool)
    belief = measures.belief(masses, focal, clusters)
    plausibility = measures.plausibility(masses, focal, clusters)
    names, singles = set_names(focal, cluster_names), set_names(clusters, cluster_names)
    columns = [f"m{name}" for name in names]
    columns += [f"{measure}{name}" for measure in ("bel", "pl") for name in singles]
    table = pd.DataFrame(np.hstack([masses, belief, plausibility]), columns=columns)
    numbers = np.arange(1, focal.shape[1] + 1) if cluster_names is None else [*cluster_names]
    table.insert(0, "label", np.asarray(numbers)[measures.most_plausible(plausibility)])
    table.insert(1, "set_label", [names[k] for k in masses.argmax(axis=1)])
    if index is not None:
        table.index = pd.Index(index)
    return table


def summary(masses: Array, focal: BoolArray, cluster_names: Iterable[str] | None) -> str:
    """Return how many objects are certain, ambiguous and outliers, and in which sets."""
    n, sizes, names = len(masses), focal.sum(axis=1), set_names(focal, cluster_names)
    counts = np.bincount(masses.argmax(axis=1), minlength=len(sizes))
    groups = {"certain": sizes == 1, "ambiguous": sizes > 1, "outliers": sizes == 0}
    lines = [
        f"{n} objects, {focal.shape[1]} clusters, {len(sizes)} focal sets",
        *(_group(group, counts * members, n, names) for group, members in groups.items()),
        f"mean nonspecificity: {measures.nonspecificity(masses, focal).mean():.3f}",
    ]
    return "\n".join(lines)


def _group(group: str, counts: NDArray[np.intp], n: int, names: list[str]) -> str:
    total = counts.sum()
    held = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True) if count)
    return f"{group}: {total} ({100 * total / n:.1f} %)" + (f", in {held}" if held else "")
