"""Pictures of the page that need no script: the criterion, and intervals against the partition."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from credpart._arrays import Array, IntArray
from credpart.mixture.search.selection import Selection
from credpart.plot._palette import COLOURS, colours
from credpart.plot.curves import lowest_drawn, n_lines_cut, spread

WIDE, NARROW = 640.0, 340.0  # widths of the chart of a criterion, on a screen and on a telephone
HEIGHT = 360.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 64.0, 14.0, 44.0
FLOOR = HEIGHT - BOTTOM  # below which nothing is drawn
MARKER = 3.0  # radius of the markers
LOWEST_MARKER = FLOOR - MARKER  # it is drawn whole
TICK = 22.0  # least distance of the numbers below the chart
DASHES = ("none", "6 3", "2 3", "8 3 2 3")
CELLS = 40  # of a 2-d histogram, each way
SHADES = 6
FAINTEST = 0.3  # opacity that the shades start above
FOCUS = 3.0  # times the median gap of a criterion, that fill a bar if others are far larger
FAR = 1.5  # times as much that the largest gap must be for bars to be cut
LEAST_GAP = 10.0  # of a criterion, that fills a bar: a smaller one decides little
# As in theme.js: how much red, green and blue contribute to the brightness of a colour, and below
# which brightness it is changed on a dark page, and how.
BRIGHTNESS, DARK_COLOUR, BLACK, STRONG = np.array([0.3, 0.59, 0.11]), 0.3, 40.0, 235.0
# Also as in theme.js: relative luminance, and below which one the contrast to a dark page is less
# than 3 (WCAG 2.2).
LUMINANCE, LEAST_LUMINANCE = np.array([0.2126, 0.7152, 0.0722]), 0.141


class Tick(NamedTuple):
    """A place on an axis and what is written there."""

    place: float
    text: str


class CriterionLine(NamedTuple):
    """A model's line: its points, and its name beside it."""

    name: str
    points: list[tuple[float, float, str]]  # x, y, what a pointer is told
    path: str
    name_place: float
    colour: str
    dashes: str


class SelectionChart(NamedTuple):
    """The criterion against the number of clusters."""

    width: float
    lines: list[CriterionLine]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    best: tuple[float, float]
    criterion: str
    n_below: int  # models that lie below the picture
    n_cut: int  # models of which a part lies below it


def selection_chart(selection: Selection, width: float = WIDE) -> SelectionChart | None:
    """Return the chart in a width, or None if there was nothing to choose."""
    table = selection.table
    values = table.to_numpy(dtype=np.float64)
    if np.isfinite(values).sum() < 2:
        return None
    numbers = np.asarray(table.index, dtype=np.float64)
    best = selection.best
    row, column = selection.numbers.index(best.n_clusters), selection.models.index(best.model)
    low = min(lowest_drawn(values), float(np.nanmin(values[:, column])))
    high = float(np.nanmax(values))
    ticks = nice_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    x = _scale(numbers, numbers.min(), numbers.max(), LEFT + 14.0, width - RIGHT - 14.0)
    lowest = FLOOR - 2.0 * MARKER
    y = _scale(values, low, high, lowest, TOP)
    known = [k for k in range(len(table.columns)) if np.isfinite(values[:, k]).any()]
    names = [str(table.columns[k]) for k in known]
    ends = [min(FLOOR, y[np.isfinite(y[:, k]), k][-1]) for k in known]
    heights = _name_places(ends)
    lines = [
        _line(name, k, x, y[:, k], values[:, k], numbers, height)
        for name, k, height in zip(names, known, heights, strict=True)
    ]
    every = int(np.ceil(TICK * len(numbers) / np.ptp(x))) if len(numbers) > 1 else 1
    is_below = y > LOWEST_MARKER  # heights count from the top
    return SelectionChart(
        width,
        lines,
        [Tick(float(x[k]), f"{numbers[k]:g}") for k in range(0, len(numbers), every)],
        [Tick(float(_scale(t, low, high, lowest, TOP)), f"{t:,.10g}") for t in ticks],
        (float(x[row]), float(y[row, column])),
        selection.criterion.upper(),
        int((is_below | np.isnan(y))[:, known].all(axis=0).sum()),
        n_lines_cut(y <= LOWEST_MARKER, is_below),
    )


def _line(
    name: str, k: int, x: Array, y: Array, values: Array, numbers: Array, name_place: float
) -> CriterionLine:
    known = np.flatnonzero(np.isfinite(y))
    points = [
        (float(x[i]), float(y[i]), f"{name}, {_clusters(numbers[i])}: {values[i]:.1f}")
        for i in known
    ]
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    style = svg_colours(len(COLOURS))[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
    return CriterionLine(name, points, path, name_place, *style)


def _clusters(number: float) -> str:
    return f"{number:g} cluster" if number == 1 else f"{number:g} clusters"


def svg_colours(c: int) -> list[str]:
    """Colours of c clusters, on a light page and on a dark one.

    >>> svg_colours(7)[-2:]
    ['light-dark(#56b4e9, #56b4e9)', 'light-dark(#000000, #d9d9d9)']
    """
    return [f"light-dark({(light := to_hex(one))}, {on_dark(light)})" for one in colours(c)]


def on_dark(colour: str) -> str:
    """A colour as it is seen on a dark page, as `adapted` of theme.js has it.

    >>> on_dark("#78001e"), on_dark("#874b69"), on_dark("#0072b2")
    ('#ef3362', '#a56786', '#0072b2')
    """
    rgb = 255.0 * np.array(to_rgb(colour))
    if rgb @ BRIGHTNESS / 255.0 < DARK_COLOUR:
        factor, share = (1.0, 0.85) if rgb.max() < BLACK else (STRONG / rgb.max(), 0.2)
    elif _luminance(rgb / 255.0) < LEAST_LUMINANCE:
        factor, share = 1.15, 0.1
    else:
        return colour
    mixed = factor * rgb + share * (255.0 - factor * rgb)
    return "#" + "".join(f"{int(part + 0.5):02x}" for part in mixed)


def _luminance(rgb: Array) -> float:
    """Relative luminance of red, green and blue in [0, 1], as WCAG has it.

    >>> round(_luminance(np.array([0.5, 0.5, 0.5])), 3)
    0.214
    """
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ LUMINANCE)


class CriterionRow(NamedTuple):
    """A model, and how far below the best it is."""

    name: str
    value: str
    gap: str
    share: str  # of the gap that fills a bar, in percent


def criterion_rows(selection: Selection) -> list[CriterionRow]:
    """Models in order, where there is one number of clusters and a choice of models."""
    if len(selection.numbers) > 1 or len(selection.fits) < 2:
        return []
    values = selection.table.iloc[0].dropna().sort_values(ascending=False)
    gaps = (values.max() - values).to_numpy()
    longest = max(_longest_gap(gaps), LEAST_GAP)
    return [
        CriterionRow(
            str(name),
            f"{value:,.1f}",
            f"{gap:,.1f}{' (bar cut)' * bool(gap > longest)}",
            f"{100.0 * min(gap / longest, 1.0):.1f}",
        )
        for name, value, gap in zip(values.index, values, gaps, strict=True)
    ]


def _longest_gap(gaps: Array) -> float:
    """The gap that fills a bar: one far larger than most would squeeze the others.

    >>> _longest_gap(np.array([0.0, 10.0, 20.0, 30.0])), _longest_gap(np.array([0.0, 10.0, 900.0]))
    (30.0, 30.0)
    """
    largest, focus = float(gaps.max()), FOCUS * float(np.median(gaps))
    return focus if largest > FAR * focus > 0.0 else largest


def _name_places(ends: Sequence[float]) -> list[float]:
    """Where the names stand: beside the ends of the lines, but apart."""
    down = (np.asarray(ends) - TOP) / (FLOOR - TOP)
    gap = min(0.05, 1.0 / max(1, len(down)))
    return [float(TOP + place * (FLOOR - TOP)) for place in spread(down, gap)]


def _scale(values: Any, low: float, high: float, start: float, end: float) -> Any:
    """Places between ``start`` and ``end``; all in the middle if there is only one value."""
    if high == low:
        return np.full_like(np.asarray(values, dtype=np.float64), 0.5 * (start + end))
    return start + (np.asarray(values) - low) / (high - low) * (end - start)


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers within [low, high].

    >>> nice_ticks(-1830.0, -540.0)
    [-1750.0, -1500.0, -1250.0, -1000.0, -750.0]
    """
    if not high > low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if (high - low) / (m * power) <= most)
    first = np.ceil(low / step)
    return [float(step * k) for k in np.arange(first, np.floor(high / step) + 1)]


class Shade(NamedTuple):
    """Cells of a 2-d histogram that hold about as many pairs."""

    path: str
    opacity: float
    label: str


def density_shades(x: Array, y: Array) -> list[Shade]:
    """Cells of the unit square by how many of the points (x, y) they hold, on a log scale.

    >>> [shade.label for shade in density_shades(np.array([0.0, 1.0]), np.array([0.0, 1.0]))]
    ['1']
    """
    i, j = (np.minimum((v * CELLS).astype(np.intp), CELLS - 1) for v in (x, y))
    counts = np.bincount(i * CELLS + j, minlength=CELLS**2)
    if not counts.any():
        return []
    levels = _shade_of(counts)
    return [
        Shade(_cells(np.flatnonzero(levels == level)), _opacity(level), _range(held))
        for level in range(1, SHADES + 1)
        if len(held := counts[levels == level])
    ]


def _shade_of(counts: IntArray) -> IntArray:
    """Shade 1 to 6 of each cell, 0 of an empty one."""
    logs = np.log1p(counts)
    # The share is exactly 1 in the fullest cell; a product that is divided afterwards may be more.
    return np.asarray(np.ceil(SHADES * (logs / logs.max())), dtype=np.intp)


def _opacity(level: int) -> float:
    """A cell of one pair has to be seen, too.

    >>> _opacity(1), _opacity(6)
    (0.417, 1.0)
    """
    return round(FAINTEST + (1.0 - FAINTEST) * level / SHADES, 3)


def _cells(which: IntArray) -> str:
    return "".join(f"M{k // CELLS} {CELLS - 1 - k % CELLS}h1v1h-1z" for k in which.tolist())


def _range(held: IntArray) -> str:
    low, high = int(held.min()), int(held.max())
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
