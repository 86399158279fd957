"""What is in the clusters: how each column of the data differs from one cluster to the next."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from credpart._arrays import Array
from credpart._checks import check_integer
from credpart.plot._canvas import new_axes, note, plain, shortened
from credpart.profiles import NOTABLE, ColumnProfile, figure
from credpart.result import CalibratedResult, Fitted, result_of

MOST_FIGURES = 20  # clusters that leave room for a number in each cell
DARK = 0.45  # brightness of a cell, from 0 to 1, below which black is not read
BRIGHTNESS = (0.299, 0.587, 0.114)  # of red, green and blue
LARGEST = 1.0  # standard deviations that the darkest colours stand for, at least
LOWEST = 2.4  # inches: in a lower picture the bar of colours has no room for its label
COLOURS = "BrBG"  # brown is low and teal is high; purple and orange are words of doubt
UNKNOWN = "#DDDDDD"  # a cluster in which no cell of a column is seen


class HeatRow(NamedTuple):
    """A row of the picture: a column of numbers, or one category."""

    name: str
    differences: Array  # (c,)
    texts: list[str]


def profile(model: CalibratedResult | Fitted, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw how the columns differ between clusters, those that separate them best first.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        The fitted clustering, or its result.
    most : int
        How many columns of the data to draw.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Clusters from left to right, the largest first.  A cell has the mean of the column in the
        cluster, and the colour of its standardised difference from all objects; a column of
        categories has a row for each, with its share.  Notes say what is not drawn.

    Examples
    --------
    >>> from credpart import CalibratedClustering, plot
    >>> from credpart.datasets import load_iris
    >>> model = CalibratedClustering(3, model="EEE", n_replicates=50, random_state=0)
    >>> ax = plot.profile(model.fit(load_iris().X))
    >>> ax.get_yticklabels()[0].get_text()
    'petal_length'
    """
    found = result_of(model).profiles()
    shown = found.columns[: check_integer("most", most, at_least=1)]
    order, c = found.by_size, len(found.clusters)
    rows = [row for column in shown for row in _rows(column)]
    values = np.array([row.differences[order] for row in rows])
    width, height = 3.0 + 0.62 * min(c, MOST_FIGURES), 1.55 + 0.3 * len(rows)
    ax = new_axes(ax, (max(5.5, width), max(LOWEST, height)))
    limit = max(LARGEST, float(np.nanmax(np.abs(values), initial=0.0)))
    ax.set_facecolor(UNKNOWN)
    image = ax.imshow(
        np.ma.masked_invalid(values), cmap=COLOURS, vmin=-limit, vmax=limit, aspect="auto"
    )
    if c <= MOST_FIGURES:
        for i, row in enumerate(rows):
            for place, k in enumerate(order):
                shade = image.to_rgba(values[i, place])[:3]
                dark = np.dot(shade, BRIGHTNESS) < DARK and bool(row.texts[k])
                mark = _mark(values[i, place])
                ax.text(
                    place, i, f"{row.texts[k]}{mark}", ha="center", va="center", fontsize="x-small",
                    color="white" if dark else "black",
                )  # fmt: skip
    bar = ax.figure.colorbar(image, ax=ax, shrink=min(1.0, 4.0 / (0.3 * len(rows) + 1.0)))
    bar.set_label("colour: standardised\ndifference\nfrom all objects", fontsize="small")
    names = [f"{plain(found.clusters[k])}\n{figure(found.sizes.objects[k])}" for k in order]
    ax.set_xticks(range(c), names, fontsize="small" if c <= MOST_FIGURES else "xx-small")
    names = [plain(name) for name in shortened([row.name for row in rows])]
    ax.set_yticks(range(len(rows)), names, fontsize="small")
    ax.tick_params(length=0)
    ax.set(xlabel=f"cluster, and its number of objects{_cell_key(shown, c)}")
    ax.spines[:].set_visible(False)
    left_out = len(found.columns) - len(shown)
    if left_out:
        plural = "s" if left_out > 1 else ""
        note(ax, f"{left_out} column{plural} with smaller differences not drawn")
    return ax


def _mark(difference: float) -> str:
    """What says in a cell that it differs notably, where colours are not told apart.

    >>> _mark(0.6), _mark(-0.6), _mark(0.4)
    (' ▲', ' ▼', '')
    """
    if abs(difference) >= NOTABLE:
        return " ▲" if difference > 0.0 else " ▼"
    return ""


def _cell_key(shown: Sequence[ColumnProfile], c: int) -> str:
    """What the numbers in the cells are; nothing where there are none."""
    if c > MOST_FIGURES:
        return ""
    is_of_categories = [column.categories is not None for column in shown]
    kinds = {False: "mean", True: "share of the category"}
    told = ", or ".join(kinds[kind] for kind in sorted(set(is_of_categories)))
    return f"\nin the cells: {told}; ▲ ▼: {NOTABLE:g} or more above or below all objects"


def _rows(column: ColumnProfile) -> list[HeatRow]:
    """One row for numbers; for categories one each, with the difference of its indicator."""
    if column.categories is None:
        texts = [column.text(value) for value in column.figures["mean"]]
        return [HeatRow(column.name, column.differences, ["" if t == "nan" else t for t in texts])]
    rows = []
    for level, (name, shares) in zip(column.categories, column.figures.items(), strict=True):
        p = column.overall[name]
        spread = np.sqrt(p * (1.0 - p)) or 1.0
        texts = ["" if np.isnan(share) else f"{share:.0%}" for share in shares]
        rows.append(HeatRow(f"{column.name}: {level}", (shares - p) / spread, texts))
    return rows
