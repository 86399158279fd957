"""A partition as a table and as text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.focal import set_names
from credpart.partition import measures

if TYPE_CHECKING:
    import pandas as pd

MOST_SETS = 12  # the largest, that a summary names: it has to fit on a screen


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
    lines = [
        f"{len(masses)} objects, {focal.shape[1]} clusters, {len(focal)} focal sets",
        *groups(masses, focal, cluster_names).values(),
        f"mean nonspecificity: {measures.nonspecificity(masses, focal).mean():.3f}",
    ]
    return "\n".join(lines)


def groups(masses: Array, focal: BoolArray, cluster_names: Iterable[str] | None) -> dict[str, str]:
    """Return a line each on certain objects, ambiguous ones and outliers."""
    n, sizes, names = len(masses), focal.sum(axis=1), set_names(focal, cluster_names)
    counts = np.bincount(masses.argmax(axis=1), minlength=len(sizes))
    kinds = {"certain": sizes == 1, "ambiguous": sizes > 1, "outliers": sizes == 0}
    return {kind: _group(kind, counts * members, n, names) for kind, members in kinds.items()}


def _group(kind: str, counts: IntArray, n: int, names: list[str]) -> str:
    total, held = counts.sum(), np.flatnonzero(counts)
    shown = np.sort(held[np.argsort(-counts[held], kind="stable")][:MOST_SETS])
    listed = ", ".join(f"{names[f]} {counts[f]}" for f in shown)
    left = f" and {len(held) - len(shown)} other sets" if len(held) > len(shown) else ""
    return f"{kind}: {total} ({100 * total / n:.1f} %)" + (f", in {listed}{left}" if listed else "")
