"""The criterion of every model against the number of clusters."""

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from credpart._arrays import Array
from credpart.mixture.search.selection import Selection
from credpart.plot._canvas import new_axes, plain
from credpart.plot._palette import COLOURS, GREY, LINES, SYMBOLS

GAP = 0.045  # of the height, between the names of two lines


def selection(
    selection: Selection, criterion: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the criterion of every model against the number of clusters, and the best one.

    Parameters
    ----------
    selection : Selection
        The fits.
    criterion : {"bic", "icl", "aic"}, optional
        That of the selection by default; larger is better.
    ax : Axes, optional
        Where to draw.

    Examples
    --------
    >>> from credpart import plot, select_mixture
    >>> from credpart.datasets import load_iris
    >>> ax = plot.selection(select_mixture(load_iris().X, range(1, 4), ["EEE", "VEV", "VVV"]))
    >>> ax.get_ylabel()
    'BIC (larger is better)'
    """
    criterion = selection.criterion if criterion is None else criterion
    table = selection.tabulate(criterion)
    ax = new_axes(ax, (7.5, 5.0))
    numbers = table.index.to_numpy()
    for k, (model, values) in enumerate(table.items()):
        ax.plot(
            numbers, values.to_numpy(), label=plain(model), markersize=5, linewidth=1.0,
            color=COLOURS[k % len(COLOURS)], marker=SYMBOLS[k % len(SYMBOLS)],
            linestyle=LINES[k // len(COLOURS) % len(LINES)],
        )  # fmt: skip
    best = max(selection.fits.values(), key=lambda fit: fit.criterion(criterion))
    place = best.n_clusters, best.criterion(criterion)
    ax.plot(*place, "o", markersize=13, fillstyle="none", color="black")
    ax.set_xticks(numbers)
    ax.set(xlabel="number of clusters", ylabel=f"{criterion.upper()} (larger is better)")
    ax.set_title(f"best: {plain(best.model)} with {best.n_clusters} clusters", fontsize="medium")
    _name_lines(ax, table.to_numpy(), [plain(model) for model in table], numbers)
    return ax


def _name_lines(ax: Axes, values: Array, names: list[str], numbers: Array) -> None:
    """Write each name to the right, as far apart as they need, with a line to its last point."""
    low, high = ax.get_ylim()
    known = [k for k in range(len(names)) if np.isfinite(values[:, k]).any()]
    last = [int(np.flatnonzero(np.isfinite(values[:, k]))[-1]) for k in known]
    ends = values[last, known]
    heights = spread((ends - low) / (high - low), GAP)
    for k, row, end, height in zip(known, last, ends, heights, strict=True):
        ax.annotate(
            names[k],
            (numbers[row], end),
            (1.04, height),
            textcoords="axes fraction",
            color=COLOURS[k % len(COLOURS)],
            fontsize="small",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkB": 3},
        )


def spread(heights: Array, gap: float) -> Array:
    """Return heights in [0, 1], ``gap`` apart, in the same order and near the given ones.

    >>> spread(np.array([0.5, 0.52, 0.1]), 0.1).round(2)
    array([0.46, 0.56, 0.1 ])
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty(len(heights))
    fitted = isotonic_regression(heights[order] - steps).x
    moved[order] = np.clip(fitted, 0.0, max(0.0, 1.0 - steps[-1])) + steps
    return moved
