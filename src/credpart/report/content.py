"""What the page says in words and tables; every text is escaped where it enters the page."""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from credpart import __version__
from credpart._arrays import IntArray
from credpart._checks import Table
from credpart.focal import check_cluster_names
from credpart.metrics import adjusted_rand, confusion
from credpart.mixture.models import NOISE
from credpart.mixture.search.selection import Selection
from credpart.partition import EvidentialPartition
from credpart.partition.describe import by_definition, partition_doubt, sets_by_word
from credpart.partition.doubt import THRESHOLD, WORDS, possible_words, word_codes
from credpart.plot._palette import GREY
from credpart.report.charts import Shade, density_shades, svg_colours
from credpart.result import CalibratedResult

MOST_PAIRED = 1200  # objects whose pairs are compared; of more a sample is taken
MOST_SETS = 10  # columns of a table of classes against sets
MANY_UNDECIDED = 0.15  # share above which the data are said to be too few
MOST_NAMED = 3  # sets of a class where there is no room for a table
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
LETTERS = {"E": "equal", "V": "varying", "I": "along the axes"}
SHAPES = {**LETTERS, "I": "round"}
FAMILY_WORDS = {
    "t": "heavy tails",
    "skew-normal": "skewed",
    "skew-t": "heavy tails, skewed",
    "contaminated": "some objects of a cluster lie farther out",
    "latent-class": "answers independent within a cluster",
    "mixed": "columns independent within a cluster",
}
ASPECTS = (("volume", LETTERS), ("shape", SHAPES), ("orientation", LETTERS))
HOW_RESAMPLED = {"Groups": "resampled whole", "Strata": "each resampled on its own"}
IN_PAGE = "percentile"  # the method of intervals that the script of the page has


class Row(NamedTuple):
    """A name and what it is."""

    name: str
    value: str


class ClusterRow(NamedTuple):
    """A cluster: how many objects have it as their label, and how many of these have each word.

    Outliers, which are in no cluster, have a row of their own, without a code.
    """

    name: str
    code: int | None
    labelled: int
    words: list[int]
    sure_share: str  # of the objects of the largest cluster, in percent
    labelled_share: str
    colour: str


class WordRow(NamedTuple):
    """A word for objects: how many have it, and where its part of a bar of all objects lies."""

    word: str
    n_objects: int
    percent: str
    start: str  # in percent of the bar
    width: str


class Summary(NamedTuple):
    """The partition in numbers."""

    n: int
    words: list[WordRow]
    clusters: list[ClusterRow]
    outliers: ClusterRow | None
    between: list[tuple[str, int, int]]  # clusters, and how many objects overlap or are undecided
    threshold: str
    n_outlying: int
    on_no_overlap: str  # what it means that no object overlaps; empty if it needs no words
    by_definition: str  # of the sure objects; empty unless there is one cluster
    map: list[Shade]  # undecided part against overlap, of all objects but the outlying ones


def summary(partition: EvidentialPartition) -> Summary:
    """Count objects by how sure their cluster is."""
    doubt = partition_doubt(partition)
    labels, codes = partition.labels_or_outlier, word_codes(doubt, THRESHOLD)
    possible = possible_words(partition.focal_sets)
    names = check_cluster_names(partition.cluster_names, partition.n_clusters)
    table = np.zeros((len(names) + 1, len(WORDS)), dtype=np.intp)  # -1, the last, is no cluster
    np.add.at(table, (labels, codes), 1)
    labelled = table.sum(axis=1)
    unit = 100.0 / max(1, int(labelled.max()))

    is_outlying = codes == WORDS.index("outlying")  # they would lie in the corner of the sure ones

    def row(k: int, name: str, code: int | None, colour: str) -> ClusterRow:
        return ClusterRow(
            name,
            code,
            int(labelled[k]),
            table[k, : len(possible)].tolist(),
            f"{table[k, WORDS.index('sure')] * unit:.1f}",
            f"{labelled[k] * unit:.1f}",
            colour,
        )

    clusters = [
        row(k, name, k, colour)
        for k, (name, colour) in enumerate(zip(names, svg_colours(len(names)), strict=True))
    ]
    clusters.sort(key=lambda row: -row.labelled)
    return Summary(
        partition.n_objects,
        _word_rows(possible, table.sum(axis=0)[: len(possible)]),
        clusters,
        row(-1, "none", None, GREY) if labelled[-1] else None,
        _between(partition),
        f"{THRESHOLD:g}",
        int(is_outlying.sum()),
        _on_no_overlap(table.sum(axis=0)),
        by_definition(partition),
        density_shades(doubt.overlap[~is_outlying], doubt.undecided[~is_outlying]),
    )


def _on_no_overlap(counts: IntArray) -> str:
    """What it means that no object overlaps where some are undecided.

    >>> print(_on_no_overlap(np.array([9, 0, 1, 0])))
    No object is called overlapping; of the undecided one the data do not tell whether it
    overlaps.
    """
    k = int(counts[WORDS.index("undecided")])
    if counts[WORDS.index("overlapping")] or not k:
        return ""
    if k > MANY_UNDECIDED * counts.sum():
        return (
            "0 overlapping does not mean that the clusters are apart: the data are too few to tell."
        )
    which, do = ("undecided one", "it overlaps") if k == 1 else (f"{k:,} undecided", "they overlap")
    return f"No object is called overlapping; of the {which} the data do not tell whether {do}."


def _word_rows(words: Sequence[str], counts: IntArray) -> list[WordRow]:
    """One row for each word; their bars stand side by side."""
    percents = 100.0 * counts / counts.sum()
    starts = np.cumsum(percents) - percents
    return [
        WordRow(word, count, _percent(percent), f"{start:.3f}", f"{percent:.3f}")
        for word, count, percent, start in zip(
            words, counts.tolist(), percents, starts, strict=True
        )
    ]


def _percent(percent: float) -> str:
    """A percentage in tenths.

    >>> _percent(0.0), _percent(0.01), _percent(33.333)
    ('0', 'below 0.1', '33.3')
    """
    if percent == 0.0:
        return "0"
    return "below 0.1" if percent < 0.05 else f"{percent:.1f}"


def _between(partition: EvidentialPartition) -> list[tuple[str, int, int]]:
    """The clusters that overlapping and undecided objects are between, most objects first."""
    found = sets_by_word(partition)
    overlapping, undecided = found["overlapping"], found["undecided"]
    rows = [
        (name, overlapping.get(name, 0), undecided.get(name, 0))
        for name in dict.fromkeys([*overlapping, *undecided])
    ]
    return sorted(rows, key=lambda row: -(row[1] + row[2]))


class Crosstab(NamedTuple):
    """Known classes against sets of clusters."""

    sets: list[str]  # none if they are too many for a table
    rows: list[tuple[str, list[int]]]
    listed: list[tuple[str, int, str]]  # each class, its objects, and the sets that most are in
    adjusted_rand: str


def crosstab(partition: EvidentialPartition, classes: ArrayLike) -> Crosstab:
    """Count the objects of each class by the set of their highest mass.

    Clusters have the names that they have on the rest of the page.
    """
    names = check_cluster_names(partition.cluster_names, partition.n_clusters)
    known = np.asarray(classes, dtype=str)
    table = confusion(replace(partition, cluster_names=names), known)
    rows = [(str(name), counts.tolist()) for name, counts in table.iterrows()]
    agreement = f"{adjusted_rand(partition, known):.3f}"
    if len(table.columns) <= MOST_SETS:
        return Crosstab(list(table.columns), rows, [], agreement)
    listed = [(name, sum(counts), _largest(table.columns, counts)) for name, counts in rows]
    return Crosstab([], [], listed, agreement)


def _largest(sets: Iterable[str], counts: Sequence[int]) -> str:
    """The sets with the most objects, and how many are in others.

    >>> _largest(["{1}", "{2}", "{3}", "{4}", "{1,2}"], [7, 0, 1, 1, 2])
    '{1} 7, {1,2} 2, {3} 1 and 1 in others'
    """
    order = sorted(zip(sets, counts, strict=True), key=lambda item: -item[1])
    named = ", ".join(f"{name} {count:,}" for name, count in order[:MOST_NAMED] if count)
    others = sum(count for _, count in order[MOST_NAMED:])
    return f"{named} and {others:,} in others" if others else named


def describe_model(name: str) -> str:
    """Return a model's name with what its parts say.

    >>> describe_model("VEV")
    'VEV: volume varying, shape equal, orientation varying'
    >>> describe_model("EII")
    'EII: volume equal, shape round'
    >>> describe_model("skew-t-EII")
    'skew-t-EII: heavy tails, skewed; volume equal, shape round'
    >>> describe_model("latent-class")
    'latent-class: answers independent within a cluster'
    >>> describe_model("EII+noise")
    'EII+noise: volume equal, shape round; and noise'
    >>> describe_model("MyFamily")
    'MyFamily'
    """
    plain = name.removesuffix(NOISE)
    is_of = [known for known in FAMILY_WORDS if f"{plain}-".startswith(f"{known}-")]
    family = max(is_of, key=len, default="")
    structure = plain.removeprefix(family).removeprefix("-")
    parts = [part for part in (FAMILY_WORDS.get(family), _describe_structure(structure)) if part]
    parts += ["and noise"] if parts and name != plain else []
    return f"{name}: {'; '.join(parts)}" if parts else name


def _describe_structure(letters: str) -> str:
    """What the letters of a covariance structure say; nothing where there are none."""
    if letters in ("E", "V"):
        return f"variances {LETTERS[letters]}"
    if len(letters) != 3 or not set(letters) <= set(LETTERS):
        return ""
    aspects = [
        f"{aspect} {words[letter]}"
        for letter, (aspect, words) in zip(letters, ASPECTS, strict=True)
        if not (aspect == "orientation" and letters[1:] == "II")
    ]
    return ", ".join(aspects)


def divided(result: CalibratedResult) -> str:
    """What mass on several clusters means where replicates have other numbers of clusters.

    Nothing is said where they are too few to set a bound of an interval, as in the finding on the
    fit to the intervals.
    """
    B, c = len(result.replicates), result.partition.n_clusters
    others = {k: count for k, count in result.replicates.chosen_numbers().items() if k != c}
    number, count = max(others.items(), key=lambda item: item[1], default=(c, 0))
    if not others or count < 0.5 * (1.0 - result.intervals.level) * B:
        return ""
    have = "replicate has" if count == 1 else "replicates have"
    return (
        f"{count:,} of {B:,} {have} {number} cluster{'s' * (number != 1)}. Mass on several "
        "clusters then also stands for clusters that may be split or merged: it need not mean "
        "doubt between the clusters named."
    )


def settings(result: CalibratedResult) -> list[Row]:
    """How the result was made."""
    chosen, counts = result.replicates.chosen(), result.replicates.counts()
    fit, options = result.mixture, result.options
    kind = options.focal_sets if isinstance(options.focal_sets, str) else "as given"
    numbers = result.replicates.chosen_numbers()
    units = {"Groups": result.groups, "Strata": result.strata}
    resampled = [
        Row(name, f"{len(np.unique(codes)):,}, {HOW_RESAMPLED[name]}")
        for name, codes in units.items()
        if codes is not None
    ]
    weakened = [Row("Weakening", f"{result.weakening:.4g}")] if options.weaken else []
    return [
        Row("Clusters", f"{fit.n_clusters} ({_tried(result.selection)})"),
        Row("Mixture", f"{describe_model(fit.model)}; log-likelihood {fit.loglik:.2f}"),
        Row("Replicates", f"{len(result.replicates):,} ({options.resampling} bootstrap)"),
        *resampled,
        Row("How they ended", ", ".join(f"{v:,} {k}" for k, v in counts.items() if v)),
        Row("Models of the replicates", ", ".join(f"{k}: {v:,}" for k, v in chosen.items())),
        Row("Clusters of the replicates", ", ".join(f"{k}: {v:,}" for k, v in numbers.items())),
        Row("Confidence level", f"{100 * options.level:g} %"),
        Row("Method of the intervals", options.method + _looked_up(options.method)),
        Row("Sets that may carry mass", f"{len(result.partition.focal_sets)} ({kind})"),
        *weakened,
    ]


def _looked_up(method: str) -> str:
    """What the script of the page computes if the intervals were made otherwise."""
    return "" if method == IN_PAGE else f" (pairs that are looked up in this page: {IN_PAGE})"


def _tried(selection: Selection) -> str:
    low, high = min(selection.numbers), max(selection.numbers)
    if low == high:
        return "as asked for"
    return f"chosen from {low} to {high} by {selection.criterion.upper()}"


class ColumnRow(NamedTuple):
    """A column of the data in numbers."""

    name: str
    smallest: str
    median: str
    largest: str


def columns(data: Table, names: Sequence[str]) -> list[ColumnRow]:
    """Describe the columns; missing cells do not count, and categories have no order."""
    figures = np.nanquantile(data.values, [0.0, 0.5, 1.0], axis=0).T.tolist()
    levels = data.levels or [None] * len(names)
    return [
        ColumnRow(name, *(_figure(v) for v in row))
        if known is None
        else ColumnRow(name, f"{len(known)} categories", "", "")
        for name, row, known in zip(names, figures, levels, strict=True)
    ]


def _figure(value: float) -> str:
    """Four digits, but no digit before the point is lost.

    >>> _figure(0.123456), _figure(12345.6), _figure(-3.2e40)
    ('0.1235', '12,346', '-3.2e+40')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


class Quality(NamedTuple):
    """How well [Bel, Pl] of the partition meets the confidence intervals."""

    belief: list[Shade]
    plausibility: list[Shade]
    rmse: float
    n_pairs: int
    n_compared: int  # objects whose pairs have intervals: all, or a sample
    n_objects: int  # whose pairs are drawn
    length: float  # of the intervals, on average


def quality(result: CalibratedResult) -> Quality:
    """Compare all pairs of the objects, or of a sample of them if there are many."""
    intervals, partition = result.intervals, result.compared
    n = partition.n_objects
    rows = np.linspace(0, n - 1, min(n, MOST_PAIRED)).round().astype(np.intp)
    i, j = (rows[side] for side in np.triu_indices(len(rows), 1))
    place = n * i - i * (i + 1) // 2 + j - i - 1  # of the pair in the condensed order
    some = EvidentialPartition(partition.masses[rows], partition.focal_sets)
    belief, plausibility = some.pairwise_condensed()
    lower, upper = intervals.lower[place], intervals.upper[place]
    return Quality(
        density_shades(lower, belief),
        density_shades(upper, plausibility),
        rmse=result.rmse,
        n_pairs=result.n_objects * (result.n_objects - 1) // 2,
        n_compared=n,
        n_objects=len(rows),
        length=float((upper - lower).mean()) if len(place) else 0.0,
    )


def reproduction(result: CalibratedResult, command: str | None) -> list[Row]:
    """What is needed to make the same result again."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    rows = [
        Row("Estimator", estimator_call(result)),
        Row("Seed", str(result.options.seed)),
        Row("Versions", f"credpart {__version__}, Python {platform.python_version()}, {libraries}"),
    ]
    if result.known_labels is not None:
        told = f"labels of {result.known_labels.n_labelled} of {result.n_objects} objects"
        rows.append(Row("Known already", told))
    return rows if command is None else [Row("Command", command), *rows]


def estimator_call(result: CalibratedResult) -> str:
    """The estimator with all its parameters, as Python."""
    parameters = result.parameters().items()
    listed = ", ".join(f"{name}={_as_python(value)}" for name, value in parameters)
    return f"CalibratedClustering({listed})"


def _as_python(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_as_python, value))}]"
    if isinstance(value, np.ndarray):
        return repr(value.astype(int).tolist())
    return value.__name__ if isinstance(value, type) else repr(value)
