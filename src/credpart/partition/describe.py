"""A partition as a table and as text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credpart._arrays import IntArray
from credpart.errors import InputError
from credpart.focal import EMPTY, set_names
from credpart.partition import doubt

if TYPE_CHECKING:
    import pandas as pd

    from credpart.partition.evidential import EvidentialPartition

MOST_SETS = 12  # the largest, that a summary names: it has to fit on a screen
PLACES = {"sure": "in", "overlapping": "between", "undecided": "between", "outlying": ""}


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
    labels = np.asarray(numbers)[partition.labels]
    table.insert(0, "label", np.where(partition.is_outlier, _outlier_as(labels), labels))
    table.insert(1, "set_label", [names[k] for k in partition.set_labels])
    if partition.index is not None:
        table.index = pd.Index(partition.index)
    return table


def _outlier_as(labels: NDArray[Any]) -> Any:
    """What stands for the cluster of an object in none: -1, or among names the empty set."""
    return -1 if labels.dtype.kind in "iu" else EMPTY


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
    except (ImportError, ValueError, TypeError, AttributeError, AssertionError):
        requirement = "be a library of tables that is installed, such as 'polars' or 'pyarrow'"
        raise InputError("backend", requirement, backend) from None


def count_sets(set_labels: IntArray, n_sets: int) -> IntArray:
    """Return how many objects each focal set has, given the set of each object."""
    return np.bincount(set_labels, minlength=n_sets)


def doubt_frame(partition: "EvidentialPartition", threshold: float) -> "pd.DataFrame":
    """Return the parts of the mass of each object, and its word, as a table."""
    import pandas as pd

    parts = partition_doubt(partition)
    named = parts._asdict()
    columns: dict[str, Any] = {
        name: named[name] for name in doubt.possible_parts(partition.focal_sets)
    }
    columns["verdict"] = np.array(doubt.WORDS, dtype=object)[doubt.word_codes(parts, threshold)]
    index = None if partition.index is None else pd.Index(partition.index)
    return pd.DataFrame(columns, index=index)


def partition_doubt(partition: "EvidentialPartition") -> doubt.Doubt:
    """Return the parts of the mass of each object."""
    return doubt.divide(partition.masses, partition.focal_sets, partition.labels)


def count_words(partition: "EvidentialPartition", threshold: float) -> dict[str, int]:
    """Return how many objects have each of the words that are possible."""
    codes = doubt.word_codes(partition_doubt(partition), threshold)
    counts = np.bincount(codes, minlength=len(doubt.WORDS)).tolist()
    possible = doubt.possible_words(partition.focal_sets)
    return dict(zip(possible, counts, strict=False))  # only the last word may be impossible


def sets_by_word(
    partition: "EvidentialPartition", threshold: float = doubt.THRESHOLD
) -> dict[str, dict[str, int]]:
    """Return for each word the clusters that it is about, with their numbers of objects.

    Which clusters these are, `doubt.sets_of_doubt` says.  Sets come in the order of their sizes,
    then of their clusters.
    """
    masses, focal, labels = partition.masses, partition.focal_sets, partition.labels
    codes = doubt.word_codes(doubt.divide(masses, focal, labels), threshold)
    sets = doubt.sets_of_doubt(masses, focal, labels, codes)
    found: dict[str, dict[str, int]] = {}
    for word in doubt.possible_words(focal):
        distinct, counts = np.unique(
            sets[codes == doubt.WORDS.index(word)], axis=0, return_counts=True
        )
        order = np.lexsort((*(~distinct.T[::-1]), distinct.sum(axis=1)))
        names = set_names(distinct[order], partition.cluster_names)
        found[word] = dict(zip(names, counts[order].tolist(), strict=True))
    return found


def counts_by_size(partition: "EvidentialPartition") -> tuple[int, int, int]:
    """Return how many objects have one cluster, several, and none in their set of maximum mass."""
    sizes = partition.focal_sets.sum(axis=1)[partition.set_labels]
    one, several = int((sizes == 1).sum()), int((sizes > 1).sum())
    return one, several, partition.n_objects - one - several


def shares_by_size(one: int, several: int, none: int) -> dict[str, float]:
    """Return the shares of `counts_by_size`, under the names that files have for them.

    >>> shares_by_size(3, 1, 0)
    {'certain': 0.75, 'ambiguous': 0.25, 'outlying': 0.0}
    """
    n = one + several + none
    return {"certain": one / n, "ambiguous": several / n, "outlying": none / n}


def summary(partition: "EvidentialPartition") -> str:
    """Return how many objects are sure, overlapping, undecided and outlying."""
    n, c, f = partition.n_objects, partition.n_clusters, len(partition.focal_sets)
    lines = [
        f"{n} objects, {c} cluster{'s'[: c != 1]}, {f} focal set{'s'[: f != 1]}",
        *word_lines(partition),
        f"mean nonspecificity: {partition.nonspecificity.mean():.3f}",
    ]
    if by_definition(partition):
        lines.insert(2, by_definition(partition))
    return "\n".join(lines)


def by_definition(partition: "EvidentialPartition") -> str:
    """Return what stands beside the shares of one cluster; empty if there are several.

    Where masses may be on no cluster, that all objects are in the one is a finding.
    """
    if partition.n_clusters > 1 or not partition.focal_sets.any(axis=1).all():
        return ""
    return "With one cluster all objects are in it by definition."


def word_lines(partition: "EvidentialPartition") -> list[str]:
    """Return one line for each word: how many objects it has, and in or between which clusters."""
    found = sets_by_word(partition)
    return [_line(word, counts, partition.n_objects) for word, counts in found.items()]


def _line(word: str, counts: Mapping[str, int], n: int) -> str:
    total = sum(counts.values())
    largest = sorted(counts, key=lambda name: -counts[name])[:MOST_SETS]
    listed = ", ".join(f"{name} {count}" for name, count in counts.items() if name in largest)
    left = f" and {len(counts) - MOST_SETS} other sets" if len(counts) > MOST_SETS else ""
    place = PLACES[word]
    named = f", {place} {listed}{left}" if listed and place else ""
    return f"{word}: {total} ({100 * total / n:.1f} %){named}"
