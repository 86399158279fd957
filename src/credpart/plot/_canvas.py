"""What all pictures share: an Axes to draw on, markers and clouds that stay legible, notes."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray, IntArray
from credpart.partition.doubt import THRESHOLD
from credpart.plot._palette import GREY, SYMBOLS, symbols

MOST_MARKERS = 20_000  # more hide each other: then a sample or a density is drawn
MOST_DOTS = 4_000  # pairs above which dots lie on each other
MOST_CLUSTERS_IN_LEGEND = 12  # more are named where they are
RASTER = 2_000  # markers above which a vector file would be slow to open
MOST_SYMBOLS = 5_000  # objects above which symbols are too small to be told apart
EDGED = 12.0  # area from which on a marker has room for a white edge
LONGEST = 28  # letters of a name beside a picture
OPEN = ("+", "x")  # symbols that have no inside
LARGER = {"*": 1.7, "P": 1.3}  # symbols that would look smaller than others of the same area
NOTE: dict[str, Any] = {"fontsize": "x-small", "color": GREY}


def new_axes(ax: Axes | None, figsize: tuple[float, float] = (6.0, 4.5)) -> Axes:
    """Return ``ax``, or the Axes of a new figure."""
    if ax is not None:
        return ax
    try:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    except ImportError:  # the backend is not there: a figure that can be saved, though not shown
        return Figure(figsize=figsize, layout="constrained").subplots()


def drawn_rows(n: int) -> IntArray:
    """Return the objects that get a marker: all, or a fixed random sample of many."""
    if n <= MOST_MARKERS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_MARKERS, replace=False))


def marker_area(n: int) -> float:
    """Return the area of a marker, in points: smaller if there are many."""
    return float(np.clip(12_000.0 / n, 3.0, 30.0))


def draw_objects(
    ax: Axes, points: Array, colour: Array, symbol: IntArray, area: ArrayLike | None = None
) -> None:
    """Draw objects (n, 2) with a colour (n, 3) and a code of a symbol (n,) each.

    Objects of one size are drawn in random order, so that none of the clusters hides the others;
    else the last ones lie on top.
    """
    n = len(points)
    rows = drawn_rows(n)
    if area is None:
        rows = np.random.default_rng(0).permutation(rows)
    area = np.broadcast_to(marker_area(n) if area is None else np.asarray(area), n)
    which = symbols(symbol)
    for code in np.unique(which[rows]):
        chosen = rows[which[rows] == code]
        draw_markers(ax, points[chosen], colour[chosen], SYMBOLS[code], area[chosen])
    if len(rows) < n:
        note(ax, f"{len(rows):,} of {n:,} objects drawn, at random")


def draw_markers(
    ax: Axes, points: Array, colour: ArrayLike, symbol: str, area: Array
) -> PathCollection:
    """Draw markers of one symbol."""
    roomy = np.mean(area) >= EDGED
    edge: dict[str, Any] = {"linewidths": 0.4 if roomy else 0.0, "edgecolors": "white"}
    if symbol in OPEN:
        edge = {"linewidths": 1.0 if roomy else 0.6}
    raster = len(points) > RASTER
    return ax.scatter(
        points[:, 0],
        points[:, 1],
        s=area * LARGER.get(symbol, 1.0),
        c=colour,
        marker=symbol,
        rasterized=raster,
        **edge,
    )


def draw_cloud(ax: Axes, x: Array, y: Array) -> None:
    """Draw few pairs of objects as dots, many as their density: all of them count."""
    if len(x) <= MOST_DOTS:
        ax.plot(x, y, ".", color="#0072B2", markersize=3, alpha=0.5, rasterized=len(x) > RASTER)
        return
    extent = (0.0, 1.0, 0.0, 1.0)
    cells = ax.hexbin(x, y, gridsize=60, bins="log", mincnt=1, cmap="cividis", extent=extent)
    bar_beside(ax, cells, "pairs in a cell")


def bar_beside(ax: Axes, cells: Any, label: str) -> None:
    """Draw what colours mean beside the picture, as high as it is."""
    place = ax.inset_axes((1.04, 0.0, 0.04, 1.0))
    ax.figure.colorbar(cells, cax=place, label=label)


def note(ax: Axes, text: str) -> None:
    """Say above the picture what it does not show, below what was said before."""
    said = ax.get_title("right")
    ax.set_title(f"{said}\n{text}" if said else text, loc="right", **NOTE)


def tell_doubt(ax: Axes, in_doubt: BoolArray) -> None:
    """Say how many objects are not sure, if any are."""
    doubtful = int(in_doubt.sum())
    if doubtful:
        are = "is" if doubtful == 1 else "are"
        which = f"{doubtful:,} of {len(in_doubt):,} objects {are} not sure"
        note(ax, f"{which} (belief below {THRESHOLD:g})")


def name_places(ax: Axes, names: Sequence[str], places: Array, size: Any = "small") -> None:
    """Write names at places (m, 2), on a white ground."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
    for name, (x, y) in zip(names, places, strict=True):
        ax.text(x, y, name, fontsize=size, ha="center", va="center", bbox=box, clip_on=True)


def marker_key(
    label: str, symbol: str, colour: Any, size: float = 6.0, fillstyle: Any = "full"
) -> Line2D:
    """Return a legend entry for a marker."""
    line = Line2D([], [], linestyle="", marker=symbol, color=colour, label=label)
    line.set(markersize=size, fillstyle=fillstyle)
    return line


def cluster_keys(names: Sequence[str], palette: Array) -> list[Line2D]:
    """Return legend entries for clusters with their symbols."""
    return [
        marker_key(f"cluster {plain(name)}", SYMBOLS[code], colour)
        for name, code, colour in zip(names, symbols(np.arange(len(names))), palette, strict=True)
    ]


def cluster_patches(names: Sequence[str], palette: Array) -> list[Patch]:
    """Return legend entries for clusters where symbols say something else."""
    return [
        Patch(facecolor=colour, label=f"cluster {plain(name)}")
        for name, colour in zip(names, palette, strict=True)
    ]


def plain(name: object) -> str:
    r"""A name of the user's as matplotlib shows it: a dollar sign begins no formula.

    >>> print(plain("price in $ or $/kg"))
    price in \$ or \$/kg
    """
    return str(name).replace("$", r"\$")


def shortened(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Names that leave room for the picture; where their beginnings are the same, also their ends.

    >>> shortened(["the proportion of objects in the left half"])
    ['the proportion of objects i…']
    >>> shortened([f"gene expression level of marker {k} (log2)" for k in (1, 15)])
    ['gene expr…of marker 1 (log2)', 'gene expr…f marker 15 (log2)']
    """
    begun = [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]
    counts = Counter(begun)
    alike = [name for name, cut in zip(names, begun, strict=True) if counts[cut] > 1]
    if not alike:
        return begun
    head = longest // 3
    tail = longest - 1 - head
    # The ends, or else the piece further back that tells most of the names apart.
    places = range(max(map(len, alike)) - longest + 1)
    pieces = [[name[: len(name) - k][-tail:] for name in alike] for k in places]
    told = dict(zip(alike, max(pieces, key=lambda cut: len(set(cut)), default=alike), strict=True))
    return [
        f"{name[:head]}…{told[name]}" if counts[cut] > 1 and len(name) > longest else cut
        for name, cut in zip(names, begun, strict=True)
    ]


def object_names(index: Any, rows: ArrayLike) -> list[str]:
    """Names of objects as they are shown: those of their index, or their rows."""
    return [plain(row if index is None else index[row]) for row in np.asarray(rows)]


def beside(ax: Axes, handles: Sequence[Any], title: str | None = None) -> None:
    """Put a legend to the right of the picture, where it hides nothing."""
    if handles:
        ax.legend(
            handles=handles,
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            fontsize="small",
            title_fontsize="small",
        )
