"""The masses of each object, stacked."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from credpart._arrays import Array, IntArray
from credpart._checks import check_choice, check_integer
from credpart.focal import set_names
from credpart.partition import EvidentialPartition
from credpart.plot._canvas import beside, new_axes, note, object_names, plain
from credpart.plot._palette import GREY, set_styles

MOST_NAMES = 60  # objects that are named below their bars
MOST_SETS = 12  # sets with a filling of their own
MOST_BARS = 600  # more would be narrower than a pixel
VISIBLE = 0.005  # height of a bar that can be seen


def _by_ambiguity(partition: EvidentialPartition) -> IntArray:
    """The least specific objects first; of equals, those with the weakest largest mass."""
    return np.lexsort((partition.masses.max(axis=1), -partition.nonspecificity))


ORDERS: Mapping[str, tuple[str, Callable[[EvidentialPartition], IntArray]]] = {
    "ambiguity": ("object, the least specific first", _by_ambiguity),
    "index": ("object", lambda partition: np.arange(partition.n_objects)),
}


class Layer(NamedTuple):
    """Masses (n,) of a set, or of several together, with their name and filling."""

    masses: Array
    name: str
    style: dict[str, Any]


def memberships(
    partition: EvidentialPartition,
    *,
    order: str = "ambiguity",
    most: int | None = 60,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mass function of each object as a stacked bar, the least specific first.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    order : {"ambiguity", "index"}
        By nonspecificity, or as the objects stand.
    most : int, optional
        How many objects to draw; None draws all.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        At most 12 sets, those with most mass, have fillings of their own; the others are shown
        together.  More than 600 objects share bars, which then are means.  Notes say so.

    Examples
    --------
    >>> from credpart import EvidentialPartition, plot
    >>> rough = EvidentialPartition.from_rough([[1, 0], [1, 1], [0, 1]])
    >>> ax = plot.memberships(rough)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['1', '0', '2']
    """
    label, arrange = ORDERS[check_choice("order", order, ORDERS)]
    n = partition.n_objects
    most = n if most is None else min(n, check_integer("most", most, at_least=1))
    rows = arrange(partition)[:most]
    ax = new_axes(ax, (8.0, 3.2))
    _stack(ax, _layers(partition, rows))
    ax.set(xlim=(-0.5, most - 0.5), ylim=(0.0, 1.0), xlabel=label, ylabel="mass")
    if most <= MOST_NAMES:
        names = object_names(partition.index, rows)
        ax.set_xticks(range(most), names, rotation=90, fontsize="x-small")
    drawn = f"{most:,} of {n:,} objects" if most < n else f"all {n:,} objects"
    note(ax, drawn + (f", {most / MOST_BARS:.3g} to a bar" if most > MOST_BARS else ""))
    return ax


def _layers(partition: EvidentialPartition, rows: IntArray) -> list[Layer]:
    """The sets with most mass, and all others as one."""
    masses, focal = partition.masses[rows], partition.focal_sets
    names = set_names(focal, partition.cluster_names)
    totals = masses.sum(axis=0)
    heaviest = np.argsort(-totals, kind="stable")[:MOST_SETS]
    kept = np.sort(heaviest[masses[:, heaviest].max(axis=0) >= VISIBLE])
    rest = np.setdiff1d(np.flatnonzero(totals > 0.0), kept)
    layers = [
        Layer(masses[:, k], plain(names[k]), style)
        for k, style in zip(kept, set_styles(focal[kept]), strict=True)
    ]
    if len(rest):
        plural = "s" if len(rest) > 1 else ""
        style = {"facecolor": "#EEEEEE", "edgecolor": GREY, "hatch": None}
        layers.append(Layer(masses[:, rest].sum(axis=1), f"{len(rest)} other set{plural}", style))
    return layers


def _stack(ax: Axes, layers: list[Layer]) -> None:
    """Draw bars, one mass on the other; many objects share a bar."""
    n = len(layers[0].masses)
    edges = np.linspace(0, n, min(n, MOST_BARS) + 1).round().astype(int)
    base = np.zeros(len(edges) - 1)
    for masses, name, style in layers:
        top = base + np.add.reduceat(masses, edges[:-1]) / np.diff(edges)
        ax.stairs(top, edges - 0.5, baseline=base, fill=True, label=name, linewidth=0.0, **style)
        base = top
    beside(ax, ax.get_legend_handles_labels()[0], "set of clusters")
