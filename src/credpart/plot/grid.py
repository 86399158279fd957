"""A picture for each pair of features."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from numpy.typing import NDArray

from credpart._arrays import Array, IntArray
from credpart._checks import Table
from credpart.partition import EvidentialPartition
from credpart.plot._canvas import new_axes, note, plain, shortened
from credpart.plot._plane import check_features, check_view, feature_names
from credpart.plot._scene import Features
from credpart.profiles import find_profiles

PANEL = 1.9  # inches
LONGEST = 22  # letters of a column's name beside a panel
MOST_COLUMNS = 6  # of which all pairs are drawn without being asked for


def scatter_matrix(
    draw: Callable[..., Axes],
    value: Any,
    X: Any,
    *,
    features: Features = None,
    ax: Axes | None = None,
    **options: Any,
) -> NDArray[Any]:
    """Draw the same picture for each pair of features.

    Parameters
    ----------
    draw : `partition`, `classification`, `uncertainty` or `density`
        What to draw.
    value : EvidentialPartition or MixtureFit
        Its first argument.
    X : array or DataFrame of shape (n, d)
        The objects.
    features : columns, optional
        By name or number.  By default all, or of more than six those six whose means differ most
        between the clusters; a note says so.
    ax : Axes, optional
        The space to divide; it becomes invisible.  Of two features the one picture has all of it.
    **options
        Further arguments of ``draw``, such as ``classes``.

    Returns
    -------
    array of Axes, shape (m - 1, m - 1)
        Features 1.. down and 0.. across, below the diagonal; None above it.

    Examples
    --------
    >>> from credpart import fit_mixture, plot
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris().X
    >>> axes = plot.scatter_matrix(plot.classification, fit_mixture(iris, 3, "VEV"), iris)
    >>> axes.shape, axes[0, 1] is None
    ((3, 3), True)
    """
    table = check_view(X)
    names = feature_names(table)
    if features is None:
        features = _separating(table.values, _labels(value, X))
    chosen = check_features(features, names)
    side = len(chosen) - 1
    if side == 1:
        return np.array([[draw(value, X, features=chosen, ax=ax, **options)]], dtype=object)
    whole = new_axes(ax, (PANEL * side + 1.8, PANEL * side + 0.3))
    cells = _divide(whole, side)
    short = [plain(name) for name in shortened([names[j] for j in chosen], LONGEST)]
    notes: list[str] = []
    for row in range(side):
        for column in range(row + 1):
            pair = chosen[column], chosen[row + 1]
            cell = draw(value, X, features=pair, ax=cells[row, column], **options)
            notes += cell.get_title("right").split("\n")
            _move_texts(cell, whole, (short[column], short[row + 1]))
    for text in _told_once(notes, side * (side + 1) // 2):
        note(whole, text)
    if len(chosen) < len(names):
        note(whole, f"{len(chosen)} of {len(names)} columns")
    return cells


def _labels(value: Any, X: Any) -> IntArray:
    """The clusters of a partition, or the most probable components of a fit."""
    labels: IntArray = value.predict(X) if hasattr(value, "predict") else value.labels
    return labels


def _separating(values: Array, labels: IntArray) -> list[int]:
    """The columns, or those with the largest share of their variance between the clusters."""
    d = values.shape[1]
    if d <= MOST_COLUMNS:
        return list(range(d))
    partition = EvidentialPartition.from_hard(labels)
    names = [str(j) for j in range(d)]
    found = find_profiles(Table(values, None, None), names, np.ones(len(values)), partition)
    return sorted(int(column.name) for column in found.columns[:MOST_COLUMNS])


def _divide(whole: Axes, side: int) -> NDArray[Any]:
    """Cells below the diagonal of the space of an Axes; those of a column or row share an axis."""
    whole.set_axis_off()
    figure: Any = whole.figure
    place = whole.get_subplotspec()
    if place is None:
        left, bottom, right, top = whole.get_position().extents
        place = GridSpec(1, 1, figure, left=left, bottom=bottom, right=right, top=top)[0]
    spec = place.subgridspec(side, side)
    cells = np.full((side, side), None, dtype=object)
    for row in range(side):
        for column in range(row + 1):
            shared = {"sharex": cells[row - 1, column] if row > column else None}
            shared["sharey"] = cells[row, 0]
            cells[row, column] = figure.add_subplot(spec[row, column], **shared)
    return cells


def _told_once(notes: list[str], n_cells: int) -> list[str]:
    """What each of the cells says, once; what only some say, without numbers that differ.

    >>> _told_once(["of 9 columns", "without 1 object", "of 9 columns", "without 2 objects"], 3)
    ['2 of 3 panels: of 9 columns', '2 of 3 panels: without some objects']
    """
    counts = Counter(text for text in notes if text)
    by_all = [text for text, count in counts.items() if count == n_cells]
    partial: Counter[str] = Counter()
    for text, count in counts.items():
        if count < n_cells:
            told = re.sub(r"\d[\d,]* objects?", "some objects", text)
            partial[re.sub(r"(holds?) [\d.]+ %( and [\d.]+ %)?", r"\1 another share", told)] += (
                count
            )
    return by_all + [f"{count} of {n_cells} panels: {text}" for text, count in partial.items()]


def _move_texts(cell: Axes, whole: Axes, names: tuple[str, str]) -> None:
    """Say once for all cells what each of them says; the axes have these names."""
    legend = cell.get_legend()
    if legend is not None:
        labels = [text.get_text() for text in legend.get_texts()]
        handles = [handle for handle in legend.legend_handles if handle is not None]
        title = legend.get_title().get_text()
        place: dict[str, Any] = {"loc": "upper right", "frameon": False}
        whole.legend(
            handles, labels, title=title, fontsize="small", title_fontsize="small", **place
        )
        legend.remove()
    cell.set_title("", loc="right")
    for axis, name in zip((cell.xaxis, cell.yaxis), names, strict=True):
        axis.set_label_text(name, fontsize="small")
    cell.label_outer()
    cell.locator_params(nbins=5)  # a fixed number: ticks that change with the layout spoil it
    cell.tick_params(labelsize="x-small")
