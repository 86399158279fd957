"""Objects along one column: where clusters change, and where that is open."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from credpart._arrays import Array
from credpart._checks import check_data
from credpart.errors import InputError
from credpart.focal import check_cluster_names
from credpart.partition import EvidentialPartition
from credpart.partition.describe import partition_doubt
from credpart.partition.doubt import THRESHOLD
from credpart.plot._canvas import (
    MOST_CLUSTERS_IN_LEGEND,
    RASTER,
    beside,
    cluster_keys,
    drawn_rows,
    marker_key,
    name_places,
    new_axes,
    note,
    plain,
    tell_doubt,
)
from credpart.plot._palette import GREY, OUTLIER_SYMBOL, SYMBOLS, colours, symbols
from credpart.plot._plane import feature_names

VISIBLE = 0.01  # plausibility from which on a line is drawn
SHORTEST = 0.008  # length of a line that is seen as a dot
APART = 1.4  # points between the lines of two clusters at one object
WIDEST = 6.0  # points, at most, from those of the first cluster to those of the last
STAGGERED = (0.75, 0.65, 0.55, 0.45, 0.35, 0.25)  # heights of the names of clusters, in turn
TICKS = -0.06  # height of the marks of the objects, below the degrees

BAND = Patch(facecolor=GREY, alpha=0.5, label="belief to plausibility")
LINE = Line2D([], [], color=GREY, linewidth=1.5, label="belief to plausibility")


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
        Belief to plausibility of each cluster: what lies between is what the data leave open.  Of
        data with a single column it is a band along the column; of others, where objects with the
        same value may be in different clusters, a line at each object.  Marks below are the
        objects, in the colours and symbols of their clusters; those that are not sure, as in
        `EvidentialPartition.doubt`, have a ring, and a note says how many they are.  Of more than
        20 000 objects a random sample has marks and lines, and a note says so.

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
        if len(names) == 1:
            _draw_band(ax, x, belief[:, k], plausibility[:, k], colour)
        else:
            shift = min(APART, WIDEST / len(clusters)) * (k - 0.5 * (len(clusters) - 1))
            _draw_lines(ax, x[rows], belief[rows, k], plausibility[rows, k], colour, shift)
        _draw_marks(ax, x[rows[labels[rows] == k]], colour, SYMBOLS[marks[k]])
    _draw_marks(ax, x[rows[labels[rows] < 0]], GREY, SYMBOLS[OUTLIER_SYMBOL])
    in_doubt = (partition_doubt(partition).belief < THRESHOLD)[order]
    _draw_rings(ax, x[rows[in_doubt[rows]]])
    tell_doubt(ax, in_doubt)
    ax.set(xlabel=plain(names[j]), ylabel="belief to plausibility", ylim=(2 * TICKS, 1.03))
    if len(rows) < n:
        drawn = "marks" if len(names) == 1 else "marks and lines"
        note(ax, f"{drawn}: {len(rows):,} of {n:,} objects, at random")
    keys: list[Any] = [BAND if len(names) == 1 else LINE]
    if in_doubt.any():
        keys.append(marker_key("not sure", "o", "black", fillstyle="none"))
    if len(clusters) <= MOST_CLUSTERS_IN_LEGEND:
        keys = [*cluster_keys(clusters, palette), *keys]
        if (labels < 0).any():
            keys.append(marker_key("outlier", SYMBOLS[OUTLIER_SYMBOL], GREY))
    else:
        present = np.unique(labels[labels >= 0])
        middles = np.array([np.median(x[labels == k]) for k in present])
        heights = np.empty(len(present))
        heights[np.argsort(middles)] = np.resize(STAGGERED, len(present))
        places = np.column_stack([middles, heights])
        name_places(ax, [plain(clusters[k]) for k in present], places, "x-small")
    beside(ax, keys)
    return ax


def _draw_band(ax: Axes, x: Array, belief: Array, plausibility: Array, colour: Any) -> None:
    """Draw a band from belief to plausibility along the column."""
    ax.fill_between(x, belief, plausibility, color=colour, alpha=0.35, linewidth=0)
    for degrees in (belief, plausibility):
        ax.plot(x, degrees, color=colour, linewidth=0.9)


def _draw_lines(
    ax: Axes, x: Array, belief: Array, plausibility: Array, colour: Any, shift: float
) -> None:
    """Draw a line from belief to plausibility beside each object, ``shift`` points from it.

    Where the two agree, it is a dot.
    """
    is_seen = plausibility >= VISIBLE
    low, high = belief[is_seen], plausibility[is_seen]
    more = 0.5 * np.maximum(0.0, SHORTEST - (high - low))
    lines = ax.vlines(x[is_seen], low - more, high + more, color=colour, linewidth=1.5, alpha=0.7)
    lines.set_rasterized(len(x) > RASTER)
    lines.set_transform(lines.get_transform() + offset_points(ax, shift))


def offset_points(ax: Axes, right: float) -> ScaledTranslation:
    """A shift to the right, in points, whatever the data."""
    return ScaledTranslation(right / 72.0, 0.0, ax.figure.dpi_scale_trans)


def _draw_marks(ax: Axes, x: Array, colour: Any, symbol: str) -> None:
    """Draw objects below the degrees."""
    ax.scatter(x, np.full(len(x), TICKS), s=14, color=colour, marker=symbol, linewidths=0.6)


def _draw_rings(ax: Axes, x: Array) -> None:
    """Draw rings around the marks of objects."""
    ax.scatter(
        x, np.full(len(x), TICKS), s=48, facecolors="none", edgecolors="black",
        linewidths=0.6, alpha=float(np.clip(60.0 / max(len(x), 1), 0.35, 1.0)),
    )  # fmt: skip


def _chosen(feature: int | str | None, names: list[str]) -> int:
    """The number of a column, given by name or number."""
    known: dict[int | str | None, int] = {name: j for j, name in enumerate(names)}
    known |= {j: j for j in range(len(names))}
    known |= {None: 0} if len(names) == 1 else {}
    if feature not in known:
        one_of = f"be one column, by name or number, of {', '.join(map(repr, names))}"
        raise InputError("feature", one_of, feature)
    return known[feature]
