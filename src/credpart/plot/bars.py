"""The masses of each object, stacked."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import check_choice, check_integer
from credpart.focal import EMPTY, set_names
from credpart.partition import EvidentialPartition
from credpart.partition.describe import partition_doubt
from credpart.partition.doubt import THRESHOLD, WORDS, word_codes
from credpart.plot._canvas import beside, new_axes, note, object_names, plain
from credpart.plot._palette import set_styles

MOST_NAMES = 60  # objects that are named below their bars
MOST_SETS = 12  # sets with a filling of their own
MOST_BARS = 600  # more would be narrower than a pixel
VISIBLE = 0.005  # height of a bar that can be seen
NO_CLUSTER = f"{EMPTY} (no cluster)"
# How sets without a filling of their own are shown together: clusters alone are overlap, sets of
# several are what is undecided, and these are different kinds of doubt.
OTHERS: Mapping[str, tuple[Callable[[IntArray], BoolArray], dict[str, Any]]] = {
    "{n} other single cluster{s}": (
        lambda sizes: sizes == 1,
        {"facecolor": "#9A9A9A", "hatch": "||||"},
    ),
    "{n} other set{s} of several": (
        lambda sizes: sizes > 1,
        {"facecolor": "#E4E4E4", "hatch": "////"},
    ),
    NO_CLUSTER: (lambda sizes: sizes == 0, {"facecolor": "#FFFFFF", "hatch": "...."}),
}
OTHER_EDGE: dict[str, Any] = {"edgecolor": "#5A5A5A", "linewidth": 0.4}


def _by_ambiguity(partition: EvidentialPartition) -> IntArray:
    """The least sure objects first; of equals, the least specific ones."""
    return np.lexsort((-partition.nonspecificity, partition_doubt(partition).belief))


ORDERS: Mapping[str, tuple[str, Callable[[EvidentialPartition], IntArray]]] = {
    "ambiguity": ("object, the least sure (lowest belief) first", _by_ambiguity),
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
    """Draw the mass function of each object as a stacked bar, the least sure first.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    order : {"ambiguity", "index"}
        By belief, as in the table of the report, or as the objects stand.
    most : int, optional
        How many objects to draw; None draws all.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        At most 12 sets, those with most mass, have fillings of their own; of the others, single
        clusters are shown together, and so are sets of several.  A note counts the objects that are
        not sure, by the words of `EvidentialPartition.doubt`.  A bar is one object: of more
        than 600 objects, 600 are drawn that are evenly spaced in the order, at their ranks, and a
        note says so.

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
    ranks = np.arange(most)
    if most > MOST_BARS:
        ranks = np.linspace(0, most - 1, MOST_BARS).round().astype(np.intp)
    rows = arrange(partition)[ranks]
    ax = new_axes(ax, (8.0, 3.2))
    _stack(ax, _layers(partition, rows), most)
    ax.set(xlim=(-0.5, most - 0.5), ylim=(0.0, 1.0), xlabel=label, ylabel="mass")
    if most <= MOST_NAMES:
        names = object_names(partition.index, rows)
        ax.set_xticks(range(most), names, rotation=90, fontsize="x-small")
    elif order == "ambiguity":  # ticks are numbers, but not those of the objects
        ax.set_xlabel("rank of the object, the least sure first")
    drawn = f"{most:,} of {n:,} objects" if most < n else f"all {n:,} objects"
    if most > MOST_BARS:
        first = f"{n:,}" if most == n else f"the first {most:,} of {n:,}"
        drawn = f"{MOST_BARS} of {first} objects, evenly spaced in this order"
    note(ax, drawn)
    _tell_doubt(ax, partition)
    return ax


def _tell_doubt(ax: Axes, partition: EvidentialPartition) -> None:
    """Count the objects that are not sure, by word; nothing if all are."""
    codes = word_codes(partition_doubt(partition), THRESHOLD)
    counts = np.bincount(codes, minlength=len(WORDS))
    doubtful = len(codes) - int(counts[WORDS.index("sure")])
    if doubtful:
        told = [
            f"{k:,} {word}" for k, word in zip(counts, WORDS, strict=True) if k and word != "sure"
        ]
        note(ax, f"{doubtful:,} not sure: {', '.join(told)}")


def _layers(partition: EvidentialPartition, rows: IntArray) -> list[Layer]:
    """The sets with most mass, and the others by their kind."""
    masses, focal = partition.masses[rows], partition.focal_sets
    names = set_names(focal, partition.cluster_names)
    totals, sizes = masses.sum(axis=0), focal.sum(axis=1)
    heaviest = np.argsort(-totals, kind="stable")[:MOST_SETS]
    kept = np.sort(heaviest[masses[:, heaviest].max(axis=0) >= VISIBLE])
    layers = [
        Layer(
            masses[:, k],
            plain(names[k]) if sizes[k] else NO_CLUSTER,
            {"linewidth": 0.0, **style},
        )
        for k, style in zip(kept, set_styles(focal[kept]), strict=True)
    ]
    rest = np.setdiff1d(np.flatnonzero(totals > 0.0), kept)
    for kind, (is_of, style) in OTHERS.items():
        members = rest[is_of(sizes[rest])]
        if len(members):
            name = kind.format(n=len(members), s="s" * (len(members) != 1))
            layers.append(Layer(masses[:, members].sum(axis=1), name, {**style, **OTHER_EDGE}))
    return layers


def _stack(ax: Axes, layers: list[Layer], most: int) -> None:
    """Draw bars, one mass on the other, over the ranks 0 to ``most``; each has its own within."""
    n = len(layers[0].masses)
    edges = np.linspace(0, most, n + 1) - 0.5
    base = np.zeros(n)
    for masses, name, style in layers:
        top = base + masses
        label = name if masses.max() >= VISIBLE else "_nolegend_"
        ax.stairs(top, edges, baseline=base, fill=True, label=label, **style)
        base = top
    beside(ax, ax.get_legend_handles_labels()[0], "set of clusters")
