"""The map of doubt: of each object, the undecided part of its mass against its overlap."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from credpart._checks import check_threshold
from credpart.focal import check_cluster_names
from credpart.partition import EvidentialPartition
from credpart.partition.describe import partition_doubt
from credpart.partition.doubt import THRESHOLD, WORDS, possible_words, word_codes
from credpart.plot._canvas import (
    MOST_CLUSTERS_IN_LEGEND,
    beside,
    cluster_keys,
    draw_objects,
    drawn_rows,
    marker_area,
    marker_key,
    name_places,
    new_axes,
)
from credpart.plot._palette import GREY, OUTLIER_SYMBOL, SYMBOLS, colours

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
        axis and undecided ones along the vertical one.  Colours and symbols are clusters, if
        there are at most twelve.  Outlying
        objects, where there are any, have a ring, since they may lie in the corner too; those in no
        cluster are grey.  Of more than 20 000 objects a random sample is
        drawn, and a note says so; the counts are those of all.

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
    own = np.where(labels < 0, OUTLIER_SYMBOL, labels)
    is_told = len(names) <= MOST_CLUSTERS_IN_LEGEND
    if not is_told:  # colours that no legend explains would say nothing
        with_grey[:-1], own = palette[0], np.where(labels < 0, OUTLIER_SYMBOL, 0)
    draw_objects(ax, points, with_grey[labels], own)
    keys = cluster_keys(names, palette) if is_told else []
    is_outlying = codes == WORDS.index("outlying")
    if is_outlying.any():
        rows = drawn_rows(len(points))
        ringed, area = points[rows[is_outlying[rows]]], 3.0 * marker_area(len(points))
        edge: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.6}
        ax.scatter(ringed[:, 0], ringed[:, 1], s=area, **edge)
        keys.append(marker_key("outlying", "o", "black", fillstyle="none"))
    if (labels < 0).any():
        keys.append(marker_key("in no cluster", SYMBOLS[OUTLIER_SYMBOL], GREY))
    beside(ax, keys)
    counts = np.bincount(codes, minlength=len(WORDS))
    told = [
        f"{word}: {count:,} ({count / len(codes):.1%})"
        for word, count in zip(possible_words(partition.focal_sets), counts, strict=False)
    ]
    ax.text(0.98, 0.98, "\n".join(told), transform=ax.transAxes, ha="right", va="top")
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
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
    name_places(ax, ["undecided", "overlapping"], np.array([[0.17, 0.66], [0.68, 0.13]]))
