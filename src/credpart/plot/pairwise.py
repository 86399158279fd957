"""Pairs of objects: the probability that two are in the same cluster, and its bounds."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from numpy.typing import ArrayLike
from scipy.spatial.distance import squareform

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import check_choice, check_data, check_integer
from credpart.errors import InputError
from credpart.focal import EMPTY, check_cluster_names
from credpart.intervals import PairwiseIntervals
from credpart.partition import EvidentialPartition, Relational
from credpart.plot._canvas import beside, draw_cloud, new_axes, note, object_names, plain
from credpart.plot._palette import COLOURS, GREY

BINS = 40
MOST_OBJECTS = 1000  # in a matrix of pairs, whose cells would else be smaller than a pixel
MOST_NAMES = 30  # objects that are named along a matrix
MOST_UPRIGHT = 12  # clusters whose names stand side by side
LONGEST_UPRIGHT = 4  # letters of such a name
BORDER = "#C4C4C4"  # between two clusters along a matrix
VISIBLE = 0.005  # mass of the empty set that can be seen
NARROWEST = 0.2  # range of a histogram, at least: else a sure pair looks as spread as others
SMOOTH: dict[str, Any] = {"interpolation": "antialiased"}  # else rows below a pixel are dropped
ROUNDING = 1e-9  # by which a bound may miss the truth and still hold


class HasPosteriors(Protocol):
    """What knows the posteriors of any objects in B replicates, such as `Replicates`."""

    def posteriors(self, X: Any) -> Array:
        """Posterior probabilities, shape (B, n, c)."""


class Line(NamedTuple):
    """A value to mark in a histogram."""

    place: float
    label: str
    style: str
    colour: str


class Bound(NamedTuple):
    """A side of the intervals, and how the partition approximates it."""

    name: str
    letters: str
    interval: Callable[[PairwiseIntervals], Array]
    approximation: Callable[[EvidentialPartition], Array]
    holds: Callable[[Array, Array], BoolArray]  # (approximation, truth)
    sign: str


BOUNDS: Mapping[str, Bound] = {
    "lower": Bound(
        "belief $Bel_{ij}$",
        "lower bound $P_{ij}^l$",
        lambda intervals: intervals.lower,
        lambda partition: partition.pairwise_condensed()[0],
        lambda belief, truth: belief <= truth + ROUNDING,
        "Bel ≤ P",
    ),
    "upper": Bound(
        "plausibility $Pl_{ij}$",
        "upper bound $P_{ij}^u$",
        lambda intervals: intervals.upper,
        lambda partition: partition.pairwise_condensed()[1],
        lambda plausibility, truth: plausibility >= truth - ROUNDING,
        "Pl ≥ P",
    ),
}

MATRICES: Mapping[str, tuple[str, Callable[[Relational], Array]]] = {
    "same": ("mass of: in the same cluster", lambda masses: masses.same),
    "apart": ("mass of: in different clusters", lambda masses: masses.apart),
    "unknown": ("mass of: unknown whether together", lambda masses: masses.unknown),
    "plausibility": (
        "plausibility of: in the same cluster",
        lambda masses: masses.same + masses.unknown,
    ),
}


# Mass: its colour, and what it says.  They are told apart in grey, too.
PARTS: Mapping[str, tuple[str, str]] = {
    "same": ("#5A2600", "same cluster"),
    "apart": ("#FFFFFF", "different clusters"),
    "unknown": ("#9650C8", "unknown"),  # that of undecided objects in the report
    "empty": ("#B0B0B0", "no cluster: an outlier"),
}
# Mixtures that are often seen.
HALVES: Mapping[tuple[str, str], str] = {
    ("same", "apart"): "half same, half different",
    ("same", "unknown"): "half same, half unknown",
    ("apart", "unknown"): "half different, half unknown",
}


def pair_histogram(
    replicates: HasPosteriors,
    X: Any,
    pair: tuple[int, int],
    *,
    intervals: PairwiseIntervals | None = None,
    partition: EvidentialPartition | None = None,
    truth: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the replicates of the probability that two objects are in the same cluster.

    Parameters
    ----------
    replicates : Replicates
        The refitted mixtures.
    X : array or DataFrame of shape (n, d)
        The objects.
    pair : (int, int)
        Rows of two objects.
    intervals : PairwiseIntervals, optional
        Its bounds are drawn as broken lines.
    partition : EvidentialPartition, optional
        Belief and plausibility are drawn as dash-dotted lines.
    truth : float, optional
        The true probability, drawn as a solid line.
    ax : Axes, optional
        Where to draw.

    Examples
    --------
    >>> from credpart import bootstrap, fit_mixture, plot
    >>> from credpart.datasets import make_example3
    >>> sample = make_example3(random_state=0)
    >>> replicates = bootstrap(sample.X, fit_mixture(sample.X, 3, "EII"), 50, random_state=0)
    >>> ax = plot.pair_histogram(replicates, sample.X, (0, 1), truth=sample.pairwise[0])
    >>> ax.get_title()
    'objects 0 and 1'
    """
    i, j = check_pair(pair, len(X))
    if intervals is not None and intervals.n_objects != len(X):
        raise InputError(
            "intervals",
            f"be of the {len(X)} objects",
            intervals.n_objects,
            "Those of a fit with landmarks are of a sample; `pairwise_intervals` of the posteriors "
            "of two objects gives theirs.",
        )
    two = X.iloc[[i, j]] if hasattr(X, "iloc") else check_data(X).values[[i, j]]
    left, right = np.moveaxis(replicates.posteriors(two), 1, 0)
    P = (left * right).sum(axis=1)  # Eq. (4)
    lines = [*_lines(i, j, intervals, partition, truth)]
    marked = [*P, *(line.place for line in lines)]
    ax = new_axes(ax)
    ax.hist(P, bins=BINS, range=_histogram_range(min(marked), max(marked)), color="#CCCCCC")
    for line in lines:
        ax.axvline(line.place, linestyle=line.style, color=line.colour, label=line.label)
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))  # a label once
    if handles:
        ax.legend(handles.values(), handles.keys(), framealpha=0.8, fontsize="small")
    names = object_names(None if partition is None else partition.index, [i, j])
    ax.set(
        xlabel="probability that both are in the same cluster, $P_{ij}$",
        ylabel="replicates",
        title=f"objects {names[0]} and {names[1]}",
    )
    return ax


def approximation(
    partition: EvidentialPartition,
    intervals: PairwiseIntervals,
    bound: str = "lower",
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw pairwise belief against lower bounds, or plausibility against upper ones.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    intervals : PairwiseIntervals
        What it approximates.
    bound : {"lower", "upper"}
        Belief and lower bounds, or plausibility and upper bounds.
    ax : Axes, optional
        Where to draw; more than 4000 pairs are drawn as a density.

    Examples
    --------
    >>> from credpart import PairwiseIntervals, focal_sets, irqp, plot
    >>> intervals = PairwiseIntervals([0.9, 0.0, 0.1], [1.0, 0.1, 0.2], level=0.9)
    >>> ax = plot.approximation(irqp(intervals, focal_sets(2)).partition, intervals, "upper")
    >>> ax.get_ylabel()
    'plausibility $Pl_{ij}$'
    """
    side = BOUNDS[check_choice("bound", bound, BOUNDS)]
    if partition.n_objects != intervals.n_objects:
        same = f"be of the partition's {partition.n_objects} objects"
        sampled = "With landmarks, `result_.compared` has the masses of the sample."
        raise InputError("intervals", same, intervals.n_objects, sampled)
    x, y = side.interval(intervals), side.approximation(partition)
    ax = _square(ax)
    draw_cloud(ax, x, y)
    note(ax, f"RMSE of this bound: {np.sqrt(np.mean((x - y) ** 2)):.3f}")
    ax.set(xlabel=f"{side.letters} ({100 * intervals.level:g} %)", ylabel=side.name)
    return ax


def calibration(
    partition: EvidentialPartition,
    truth: ArrayLike,
    bound: str = "lower",
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw pairwise belief or plausibility against the true probabilities.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    truth : array, condensed (i < j, row by row) or of shape (n, n)
        True probabilities that two objects are in the same cluster.
    bound : {"lower", "upper"}
        Belief, which should lie below the diagonal, or plausibility, which should lie above.
    ax : Axes, optional
        Where to draw; more than 4000 pairs are drawn as a density.

    Examples
    --------
    >>> from credpart import EvidentialPartition, plot
    >>> ax = plot.calibration(EvidentialPartition.from_hard([0, 0, 1]), [0.9, 0.2, 0.1])
    >>> ax.get_title("right")
    'Bel ≤ P for 66.7 % of pairs'
    """
    side = BOUNDS[check_choice("bound", bound, BOUNDS)]
    y, n = side.approximation(partition), partition.n_objects
    x = np.asarray(truth, dtype=np.float64)
    if x.shape not in (y.shape, (n, n)):
        raise InputError("truth", f"have shape {y.shape} or {(n, n)}", x.shape)
    if x.ndim == 2:
        x = squareform(x, checks=False)
    ax = _square(ax)
    draw_cloud(ax, x, y)
    note(ax, f"{side.sign} for {100 * side.holds(y, x).mean():.1f} % of pairs")
    ax.set(xlabel="true probability $P_{ij}$", ylabel=side.name)
    return ax


def relational(
    partition: EvidentialPartition, mass: str = "all", *, ax: Axes | None = None
) -> Axes:
    """Draw a matrix of the relational representation, Eq. (2), with clusters side by side.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    mass : {"all", "same", "apart", "unknown", "plausibility"}
        The three masses as a mixture of colours; or one of them: of "in the same cluster", of its
        negation, of both together; or the plausibility of "in the same cluster".
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Up to 30 objects stand in their order, with their names; more are sorted by cluster.  Of
        more than 1000 objects a random sample is drawn, and a note says so.

    Examples
    --------
    >>> from credpart import EvidentialPartition, plot
    >>> ax = plot.relational(EvidentialPartition.from_hard([0, 1, 0]), "apart")
    >>> ax.images[0].get_array().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    draw_masses = DRAWINGS[check_choice("mass", mass, DRAWINGS)]
    n = partition.n_objects
    rows = np.arange(n)
    if n > MOST_OBJECTS:
        rows = np.sort(np.random.default_rng(0).choice(n, MOST_OBJECTS, replace=False))
    if n > MOST_NAMES:
        rows = rows[np.argsort(partition.labels_or_outlier[rows], kind="stable")]
    ax = new_axes(ax, (5.0, 4.2))
    masses = EvidentialPartition(partition.masses[rows], partition.focal_sets).relational()
    draw_masses(ax, masses)
    if n > MOST_NAMES:
        _mark_clusters(ax, partition, rows)
    else:
        names = object_names(partition.index, rows)
        ax.set_xticks(rows, names, fontsize="x-small", rotation=90)
        ax.set_yticks(rows, names, fontsize="x-small")
        ax.set(xlabel="object", ylabel="object")
    if len(rows) < n:
        note(ax, f"{len(rows):,} of {n:,} objects drawn, at random")
    return ax


def _draw_mixed(ax: Axes, masses: Relational) -> None:
    """Draw the colours of the masses, mixed; what the three lack to 1 is the empty set's."""
    every = {**masses._asdict(), "empty": 1.0 - np.sum(masses, axis=0)}
    parts = [(every[name], *style) for name, style in PARTS.items()]
    if every["empty"].max() < VISIBLE:
        parts = parts[:-1]
    mixed = sum(mass[..., None] * np.array(to_rgb(colour)) for mass, colour, _ in parts)
    ax.imshow(np.clip(mixed, 0.0, 1.0), **SMOOTH)
    hues = [(to_rgb(colour), text) for _, colour, text in parts]
    for names, text in HALVES.items():
        even = np.mean([to_rgb(PARTS[name][0]) for name in names], axis=0)
        hues.append((tuple(even), text))
    patches = [Patch(facecolor=hue, edgecolor=GREY, label=text) for hue, text in hues]
    beside(ax, patches, "masses, colours mix:")


def _draw_one(name: str, ax: Axes, masses: Relational) -> None:
    """Draw one of the matrices in shades of grey."""
    title, read = MATRICES[name]
    image = ax.imshow(read(masses), cmap="Greys", vmin=0.0, vmax=1.0, **SMOOTH)
    ax.figure.colorbar(image, ax=ax, label=title)


DRAWINGS: Mapping[str, Callable[[Axes, Relational], None]] = {
    **{name: partial(_draw_one, name) for name in MATRICES},
    "all": _draw_mixed,
}


def _lines(
    i: int,
    j: int,
    intervals: PairwiseIntervals | None,
    partition: EvidentialPartition | None,
    truth: float | None,
) -> Iterator[Line]:
    if intervals is not None:
        row = condensed_row(i, j, intervals.n_objects)
        for bound in (intervals.lower, intervals.upper):
            yield Line(
                bound[row], f"{100 * intervals.level:g} % confidence interval", "--", "black"
            )
    if partition is not None:
        two = EvidentialPartition(partition.masses[[i, j]], partition.focal_sets)
        for degree in two.pairwise_condensed():
            yield Line(degree[0], "[Bel, Pl], its approximation", "-.", COLOURS[0])
    if truth is not None:
        yield Line(truth, "true probability", "-", COLOURS[1])


def _histogram_range(low: float, high: float) -> tuple[float, float]:
    """The range of probabilities in [0, 1], made wide enough for their ticks to be read.

    >>> _histogram_range(0.2, 0.6), _histogram_range(1.0 - 1e-12, 1.0)
    ((0.2, 0.6), (0.8, 1.0))
    """
    if high - low >= NARROWEST:
        return low, high
    start = min(max(0.0, 0.5 * (low + high - NARROWEST)), 1.0 - NARROWEST)
    return start, start + NARROWEST


def condensed_row(i: int, j: int, n: int) -> int:
    """Return where the pair i < j stands among all pairs, row by row.

    >>> [condensed_row(i, j, 3) for i, j in [(0, 1), (0, 2), (1, 2)]]
    [0, 1, 2]
    """
    return i * n - i * (i + 1) // 2 + j - i - 1


def check_pair(pair: tuple[int, int], n: int) -> tuple[int, int]:
    """Return the rows of two objects, the lower one first."""
    rows = sorted({check_integer("pair", row, at_least=0) for row in pair})
    if len(rows) != 2 or rows[1] >= n:
        raise InputError("pair", f"be two rows in 0..{n - 1}", pair)
    return rows[0], rows[1]


def _square(ax: Axes | None) -> Axes:
    """An Axes for probabilities against probabilities, with the diagonal."""
    ax = new_axes(ax, (5.0, 4.5))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    return ax


def _mark_clusters(ax: Axes, partition: EvidentialPartition, rows: IntArray) -> None:
    """Name the clusters along a matrix whose objects are sorted by them."""
    labels = partition.labels_or_outlier[rows]
    present, starts, counts = np.unique(labels, return_index=True, return_counts=True)
    names = (*check_cluster_names(partition.cluster_names, partition.n_clusters), EMPTY)
    for start in starts[1:] if len(starts) <= MOST_NAMES else []:
        ax.axhline(start - 0.5, color=BORDER, linewidth=0.4)
        ax.axvline(start - 0.5, color=BORDER, linewidth=0.4)
    every = slice(None, None, 1 + len(present) // MOST_NAMES)
    middles, shown = starts + counts / 2 - 0.5, [plain(names[k]) for k in present]
    is_short = len(present) <= MOST_UPRIGHT and max(map(len, shown)) <= LONGEST_UPRIGHT
    turned = 0 if is_short else 90
    ax.set_xticks(middles[every], shown[every], fontsize="x-small", rotation=turned)
    ax.set_yticks(middles[every], shown[every], fontsize="x-small")
    ax.set(xlabel="objects by cluster", ylabel="objects by cluster")
