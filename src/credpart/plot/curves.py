"""The criterion of every model against the number of clusters."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from credpart._arrays import Array, BoolArray
from credpart.mixture.fit import MixtureFit
from credpart.mixture.search.selection import Selection
from credpart.plot._canvas import new_axes, note, plain
from credpart.plot._palette import COLOURS, GREY, LINES, SYMBOLS

if TYPE_CHECKING:
    import pandas as pd

GAP = 0.055  # of the height, between the names of two lines
FOCUS = 4.0  # distances between the best and the median model that are drawn
FAR = 1.5  # times as much that all values must span for some to be left out
MARGIN = 0.06  # of the range of values that are drawn, at either end


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

    Returns
    -------
    Axes
        A line for each model, which are named to the right, the best above; of one number of
        clusters a dot for each model.  The title names the best fit, and how far the next one
        lies below it.  Values far below most models are outside the picture, and
        a note says so.

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
    told = _told(list(selection.fits.values()), criterion)
    draw = _dots if len(table) == 1 else _curves
    return draw(table, f"{criterion.upper()} (larger is better)", told, new_axes(ax, (7.5, 5.0)))


def _told(fits: list[MixtureFit], criterion: str) -> str:
    """The best fit and the next one, whose distance says how clear the choice is."""
    best, *others = sorted(fits, key=lambda fit: -fit.criterion(criterion))[:2]
    c = best.n_clusters
    rank = f"highest {criterion.upper()}" if others else "only fit"
    told = f"{rank}: {plain(best.model)} with {c} cluster{'s' * (c != 1)}"
    for fit in others:
        behind = best.criterion(criterion) - fit.criterion(criterion)
        told += f";\nnext {plain(fit.model)} with {fit.n_clusters}, {behind:,.1f} lower"
    return told


def _curves(table: "pd.DataFrame", label: str, told: str, ax: Axes) -> Axes:
    """A line for each model, against the number of clusters."""
    numbers, values = table.index.to_numpy(), table.to_numpy()
    styles = [_style(k) for k in range(len(table.columns))]
    for k, model in enumerate(table):
        ax.plot(numbers, values[:, k], label=plain(model), **styles[k])
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    best = values[row, column]
    ax.plot(numbers[row], best, "o", markersize=13, fillstyle="none", color="black")
    low = min(lowest_drawn(values), float(np.nanmin(values[:, column])))
    span = best - low or 1.0
    ax.set_ylim(low - MARGIN * span, best + MARGIN * span)
    ax.set_xticks(numbers)
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    ax.set(xlabel="number of clusters", ylabel=label)
    ax.set_title(told, fontsize="medium", loc="left")
    _name_lines(ax, values, [plain(model) for model in table], styles, low)
    floor = ax.get_ylim()[0]
    n_cut = n_lines_cut(values >= floor, values < floor)
    if n_cut:
        note(ax, f"lower values of {n_cut} model{'s' * (n_cut != 1)} not drawn")
    return ax


def _dots(table: "pd.DataFrame", label: str, told: str, ax: Axes) -> Axes:
    """One number of clusters: a dot for each model, the best above; poor ones at the edge."""
    values = table.iloc[0].dropna().sort_values()
    low, best = lowest_drawn(values.to_numpy()[None]), float(values.iloc[-1])
    span = best - low or 1.0
    edge = low - MARGIN * span
    places = np.arange(len(values))
    inside = values.to_numpy() >= low
    ax.hlines(places[inside], edge, best + MARGIN * span, color="#CCCCCC", linewidth=1.0, zorder=1)
    ax.plot(values[inside], places[inside], "o", color=COLOURS[0], linestyle="")
    ax.plot(best, places[-1], "o", markersize=13, fillstyle="none", color="black")
    for place, value in zip(places[~inside], values[~inside], strict=True):
        ax.annotate(
            f" {value:,.0f}, further to the left", (edge, place), va="center",
            fontsize="small", color=GREY,
        )  # fmt: skip
    ax.set(xlim=(edge, best + MARGIN * span), ylim=(-0.7, len(values) - 0.3))
    ax.set_yticks(places, [plain(name) for name in values.index])
    ax.ticklabel_format(axis="x", useOffset=False, style="plain")
    if len(values) == 1:  # a scale around a single value would mean nothing
        ax.set_xticks([best], [f"{best:,.1f}"])
    ax.set(xlabel=label, ylabel="model")
    ax.set_title(told, fontsize="medium", loc="left")
    return ax


def lowest_drawn(values: Array) -> float:
    """The lowest value that is drawn: poor models must not squash the others.

    Values that lie below the best one by more than a multiple of the distance to the median model
    are left out.
    """
    of_models = np.nanmax(values[:, np.isfinite(values).any(axis=0)], axis=0)
    best = of_models.max()
    gap = best - np.median(of_models)
    lowest, floor = float(np.nanmin(values)), float(best - FOCUS * gap)
    is_far = gap > 0.0 and best - lowest > FAR * (best - floor)
    return float(np.nanmin(values, where=values >= floor, initial=best)) if is_far else lowest


def n_lines_cut(is_drawn: BoolArray, is_below: BoolArray) -> int:
    """How many lines of models, the columns, have some values in a picture and some below it.

    A missing value is neither.

    >>> values = np.array([[3.0, 4.0, 0.0], [1.0, 4.0, np.nan]])
    >>> n_lines_cut(values >= 2.0, values < 2.0)
    1
    """
    return int((is_drawn.any(axis=0) & is_below.any(axis=0)).sum())


def _style(k: int) -> dict[str, Any]:
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": SYMBOLS[k % len(SYMBOLS)],
        "linestyle": LINES[k // len(COLOURS) % len(LINES)],
        "markersize": 5,
        "linewidth": 1.0,
    }


def _name_lines(
    ax: Axes, values: Array, names: list[str], styles: list[dict[str, Any]], low: float
) -> None:
    """Name the models to the right, the best above, each beside a piece of its line.

    Models that lie below the picture are named in grey.
    """
    highest = np.array([np.nanmax(column, initial=-np.inf) for column in values.T])
    known = np.flatnonzero(np.isfinite(highest))
    rank = np.argsort(np.argsort(-highest[known], kind="stable"))
    step = min(GAP, 1.0 / max(1, len(known)))
    for k, place in zip(known, 0.98 - step * rank, strict=True):
        ax.text(
            1.10, place, names[k], transform=ax.transAxes, fontsize="small", va="center",
            color="black" if highest[k] >= low else GREY,
        )  # fmt: skip
    for k, place in zip(known, 0.98 - step * rank, strict=True):
        piece, at = [1.02, 1.05, 1.08], [place] * 3
        ax.plot(piece, at, transform=ax.transAxes, clip_on=False, markevery=[1], **styles[k])
    below = int((highest[known] < low).sum())
    if below:
        note(ax, f"{below} model{'s' * (below != 1)} below the picture, in grey")


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
