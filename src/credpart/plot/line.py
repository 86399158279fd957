"""Objects along one column: where clusters change, and where that is open."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from credpart._arrays import Array
from credpart._checks import check_data
from credpart.errors import InputError
from credpart.focal import check_cluster_names
from credpart.partition import EvidentialPartition
from credpart.plot._canvas import (
    MOST_CLUSTERS_IN_LEGEND,
    beside,
    cluster_keys,
    drawn_rows,
    marker_key,
    name_places,
    new_axes,
    note,
    plain,
)
from credpart.plot._palette import GREY, OUTLIER_SYMBOL, SYMBOLS, colours, symbols
from credpart.plot._plane import feature_names

TICKS = -0.06  # height of the marks of the objects, below the degrees


def one_column(
    partition: EvidentialPartition,
    X: Any,
    *,
    feature: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw belief and plausibility of each cluster along one column.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    X : array or DataFrame of shape (n, d)
        The objects.
    feature : column, optional
        By name or number; it may be left out if there is only one.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        A band for each cluster, from belief to plausibility of the objects in the order of the
        column: its width is what the data leave open.  Marks below it are the objects, in the
        colours and symbols of their clusters.

    Examples
    --------
    >>> from credpart import EvidentialPartition, plot
    >>> rough = EvidentialPartition.from_rough([[1, 0], [1, 1], [0, 1]])
    >>> ax = plot.one_column(rough, [[1.0], [2.0], [3.0]])
    >>> ax.get_ylabel()
    'belief to plausibility'
    """
    table = check_data(X)
    n, names = partition.n_objects, feature_names(table)
    if len(table.values) != n:
        raise InputError("X", f"have a row for each of the {n} objects", len(table.values))
    j = _chosen(feature, names)
    clusters = check_cluster_names(partition.cluster_names, partition.n_clusters)
    order = np.argsort(table.values[:, j], kind="stable")
    x, labels = table.values[order, j], partition.labels_or_outlier[order]
    belief, plausibility = partition.belief()[order], partition.plausibility()[order]
    ax = new_axes(ax, (7.0, 3.6))
    palette, marks = colours(len(clusters)), symbols(np.arange(len(clusters)))
    rows = drawn_rows(n)
    for k, colour in enumerate(palette):
        ax.fill_between(x, belief[:, k], plausibility[:, k], color=colour, alpha=0.35, linewidth=0)
        for degrees in (belief[:, k], plausibility[:, k]):
            ax.plot(x, degrees, color=colour, linewidth=0.9)
        _draw_marks(ax, x[rows[labels[rows] == k]], colour, SYMBOLS[marks[k]])
    _draw_marks(ax, x[rows[labels[rows] < 0]], GREY, SYMBOLS[OUTLIER_SYMBOL])
    ax.set(xlabel=plain(names[j]), ylabel="belief to plausibility", ylim=(2 * TICKS, 1.03))
    if len(rows) < n:
        note(ax, f"marks: {len(rows):,} of {n:,} objects, at random")
    if len(clusters) <= MOST_CLUSTERS_IN_LEGEND:
        keys = cluster_keys(clusters, palette)
        if (labels < 0).any():
            keys.append(marker_key("outlier", SYMBOLS[OUTLIER_SYMBOL], GREY))
        beside(ax, keys)
    else:
        present = np.unique(labels[labels >= 0])
        places = [[np.median(x[labels == k]), 0.5] for k in present]
        name_places(ax, [plain(clusters[k]) for k in present], np.array(places), "x-small")
    return ax


def _draw_marks(ax: Axes, x: Array, colour: Any, symbol: str) -> None:
    """Draw objects below the degrees."""
    ax.scatter(x, np.full(len(x), TICKS), s=14, color=colour, marker=symbol, linewidths=0.6)


def _chosen(feature: int | str | None, names: list[str]) -> int:
    """The number of a column, given by name or number."""
    known: dict[int | str | None, int] = {name: j for j, name in enumerate(names)}
    known |= {j: j for j in range(len(names))}
    known |= {None: 0} if len(names) == 1 else {}
    if feature not in known:
        one_of = f"be one column, by name or number, of {', '.join(map(repr, names))}"
        raise InputError("feature", one_of, feature)
    return known[feature]
