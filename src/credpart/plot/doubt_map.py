"""The map of doubt: of each object, the undecided part of its mass against its overlap."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm, to_rgb

from credpart._arrays import Array
from credpart._checks import check_threshold
from credpart.focal import check_cluster_names
from credpart.partition import EvidentialPartition
from credpart.partition.describe import partition_doubt
from credpart.partition.doubt import THRESHOLD, WORDS, possible_words, word_codes
from credpart.plot._canvas import (
    MOST_CLUSTERS_IN_LEGEND,
    bar_beside,
    beside,
    cluster_keys,
    draw_objects,
    marker_key,
    name_places,
    new_axes,
    note,
)
from credpart.plot._palette import GREY, OUTLIER_SYMBOL, SYMBOLS, colours

MOST_TOLD = 500  # objects whose clusters can be told apart where many lie near the corner
CELLS = 40  # each way, as in the report
FAINTEST = 0.25  # of a scale of greys: a cell of one object is seen, too
OUTSIDE = 0.545  # half the sum of the coordinates of words above the triangle, where nothing lies
SURE = -0.045  # height of that word, below the corner: within it objects would hide it
BORDER: dict[str, Any] = {"color": GREY, "linewidth": 0.8}


def doubt(
    partition: EvidentialPartition, *, threshold: float = THRESHOLD, ax: Axes | None = None
) -> Axes:
    """Draw the undecided part of the mass of each object against its overlap.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    threshold : float
        Belief from which on an object is called sure, as in `EvidentialPartition.doubt`.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Sure objects lie below the broken line in the corner, overlapping ones along the horizontal
        axis and undecided ones along the vertical one.  Colours and symbols are clusters, if there
        are at most twelve.  More than 500 objects are drawn as cells, with their counts on a log
        scale.  Outlying objects are left out, since they may lie in the corner of the sure ones,
        and a note says how many they are; the counts are those of all.

    Examples
    --------
    >>> from credpart import EvidentialPartition, plot
    >>> masses = [[0.95, 0.05, 0], [0.5, 0.4, 0.1], [0.2, 0.1, 0.7]]
    >>> ax = plot.doubt(EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1]]))
    >>> ax.get_xlabel()
    'overlap: mass of other single clusters'
    """
    threshold = check_threshold("threshold", threshold)
    parts, labels = partition_doubt(partition), partition.labels_or_outlier
    codes = word_codes(parts, threshold)
    names = check_cluster_names(partition.cluster_names, partition.n_clusters)
    palette, points = colours(len(names)), np.column_stack([parts.overlap, parts.undecided])
    with_grey = np.vstack([palette, to_rgb(GREY)])  # the last, so that -1 is grey
    ax = new_axes(ax, (6.4, 5.0))
    _draw_regions(ax, 1.0 - threshold)
    shown = codes != WORDS.index("outlying")
    points, labels = points[shown], labels[shown]
    own = np.where(labels < 0, OUTLIER_SYMBOL, labels)
    if len(names) <= MOST_CLUSTERS_IN_LEGEND and len(codes) <= MOST_TOLD:
        draw_objects(ax, points, with_grey[labels], own)
        keys = cluster_keys(names, palette)
        if (labels < 0).any():
            keys.append(marker_key("in no cluster", SYMBOLS[OUTLIER_SYMBOL], GREY))
        beside(ax, keys)
    elif len(codes) <= MOST_TOLD:  # colours that no legend explains would say nothing
        draw_objects(ax, points, with_grey[np.full(len(points), -1)], np.zeros_like(labels))
        note(ax, f"the {len(names):,} clusters are too many to have colours")
    else:
        _draw_cells(ax, points)
        note(ax, f"cells, as more than {MOST_TOLD} objects would hide each other")
    left_out = int((~shown).sum())
    if left_out:
        note(ax, f"without the {left_out:,} outlying object{'s' * (left_out != 1)}")
    counts = np.bincount(codes, minlength=len(WORDS))
    told = [
        f"{word}: {count:,} ({count / len(codes):.1%})"
        for word, count in zip(possible_words(partition.focal_sets), counts, strict=False)
    ]
    ax.text(0.98, 0.98, "\n".join(told), transform=ax.transAxes, ha="right", va="top")
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(2.0 * SURE, 1.02),
        aspect="equal",
        xlabel="overlap: mass of other single clusters",
        ylabel="undecided: mass of sets of several clusters",
    )
    return ax


def _draw_regions(ax: Axes, edge: float) -> None:
    """Draw where parts can lie, and the borders between the words; sure is below ``edge``."""
    ax.plot([0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], **BORDER)
    ax.plot([0.0, edge], [edge, 0.0], "--", **BORDER)
    ax.plot([edge / 2.0, 0.5], [edge / 2.0, 0.5], "--", **BORDER)
    name_places(ax, ["sure"], np.array([[edge / 2.0, SURE]]))
    for word, shift in (("undecided", -0.25), ("overlapping", 0.25)):
        ax.text(
            OUTSIDE + shift, OUTSIDE - shift, word, fontsize="small", rotation=-45.0,
            ha="center", va="center",
        )  # fmt: skip


def _draw_cells(ax: Axes, points: Array) -> None:
    """Draw cells with their numbers of points, on a log scale."""
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    x, y = np.clip(points, 0.0, 1.0).T  # sums of masses may be 1 and a rounding error
    counts, _, _ = np.histogram2d(x, y, bins=CELLS, range=((0.0, 1.0), (0.0, 1.0)))
    greys = ListedColormap(colormaps["Greys"](np.linspace(FAINTEST, 1.0, 256)))
    filled = np.ma.masked_equal(counts.T, 0.0)
    scale = LogNorm(1.0, max(2.0, float(counts.max())))
    cells = ax.pcolormesh(edges, edges, filled, cmap=greys, norm=scale, zorder=0.5)
    bar_beside(ax, cells, "objects in a cell")
