"""What the page says in words and tables; every text is escaped where it enters the page."""

import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from credpart import __version__
from credpart._arrays import IntArray
from credpart._checks import Table
from credpart.diagnostics import diagnose
from credpart.focal import check_cluster_names, set_names
from credpart.partition import EvidentialPartition
from credpart.report.charts import Shade, density_shades, svg_colours

MOST_PAIRED = 1200  # objects whose pairs are compared; of more a sample is taken
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
UNSEEDED = "none given: another run differs a little"
LETTERS = {"E": "equal", "V": "varying", "I": "along the axes"}
SHAPES = {**LETTERS, "I": "round"}
ASPECTS = (("volume", LETTERS), ("shape", SHAPES), ("orientation", LETTERS))


class Row(NamedTuple):
    """A name and what it is."""

    name: str
    value: str


class Finding(NamedTuple):
    """What was found out about the fit, how serious it is, and what to do."""

    topic: str
    severity: str
    text: str
    advice: str


class Verdict(NamedTuple):
    """Whether to trust the result."""

    grade: str
    text: str
    findings: list[Finding]


def verdict(model: Any) -> Verdict:
    """Return what the diagnosis says, in its own words."""
    found = diagnose(model)
    findings = [
        Finding(item.topic, item.severity, item.text, item.advice or "") for item in found.findings
    ]
    return Verdict(found.grade, found.verdict, findings)


class ClusterRow(NamedTuple):
    """A cluster: how many objects surely and possibly belong to it."""

    name: str
    code: int
    certain: int
    possible: int
    certain_share: str  # of the objects of the largest cluster, in percent
    possible_share: str
    colour: str


class Summary(NamedTuple):
    """The partition in numbers."""

    n: int
    certain: int
    ambiguous: int
    clusters: list[ClusterRow]
    between: list[tuple[str, int]]  # sets of several clusters, with their objects


def summary(partition: EvidentialPartition) -> Summary:
    """Count objects by the set of clusters that has their highest mass."""
    lower, upper = partition.lower_approximation(), partition.upper_approximation()
    names = check_cluster_names(partition.cluster_names, partition.n_clusters)
    certain, possible = lower.sum(axis=0), upper.sum(axis=0)
    share = 100.0 / max(1, int(possible.max()))
    clusters = [
        ClusterRow(name, k, int(low), int(high), f"{low * share:.1f}", f"{high * share:.1f}", hue)
        for k, (name, low, high, hue) in enumerate(
            zip(names, certain, possible, svg_colours(len(names)), strict=True)
        )
    ]
    sets = set_names(partition.focal_sets, partition.cluster_names)
    counts = np.bincount(partition.set_labels, minlength=len(sets))
    several = partition.focal_sets.sum(axis=1) != 1
    order = np.argsort(-counts * several, kind="stable")
    between = [(sets[k], int(counts[k])) for k in order if several[k] and counts[k]]
    n, n_certain = partition.n_objects, int(counts[~several].sum())
    return Summary(n, n_certain, n - n_certain, clusters, between)


class Crosstab(NamedTuple):
    """Known classes against sets of clusters."""

    sets: list[str]
    rows: list[tuple[str, list[int]]]


def crosstab(partition: EvidentialPartition, classes: Sequence[str], codes: IntArray) -> Crosstab:
    """Count the objects of each class by the set of their highest mass."""
    sets = set_names(partition.focal_sets, partition.cluster_names)
    counts = np.zeros((len(classes), len(sets)), dtype=np.intp)
    np.add.at(counts, (codes, partition.set_labels), 1)
    used = np.flatnonzero(counts.any(axis=0))
    rows = zip(classes, counts[:, used].tolist(), strict=True)
    return Crosstab([sets[k] for k in used], list(rows))


def describe_model(name: str) -> str:
    """Return a model's name with what its letters say.

    >>> describe_model("VEV")
    'VEV: volume varying, shape equal, orientation varying'
    >>> describe_model("EII")
    'EII: volume equal, shape round'
    >>> describe_model("skew-t")
    'skew-t'
    """
    if len(name) != 3 or not set(name) <= set(LETTERS):
        return name
    aspects = [
        f"{aspect} {words[letter]}"
        for letter, (aspect, words) in zip(name, ASPECTS, strict=True)
        if not (aspect == "orientation" and name[1:] == "II")
    ]
    return f"{name}: {', '.join(aspects)}"


def settings(model: Any) -> list[Row]:
    """How the result was made."""
    chosen, counts = model.replicates_.chosen(), model.replicates_.counts()
    fit = model.mixture_
    tried = _tried(model)
    return [
        Row("Clusters", f"{fit.n_clusters} ({tried})"),
        Row("Mixture", f"{describe_model(fit.model)}; log-likelihood {fit.loglik:.2f}"),
        Row("Replicates", f"{len(model.replicates_):,} ({model.resampling} bootstrap)"),
        Row("How they ended", ", ".join(f"{v:,} {k}" for k, v in counts.items() if v)),
        Row("Models of the replicates", ", ".join(f"{k} {v:,}" for k, v in chosen.items())),
        Row("Confidence level", f"{100 * model.intervals_.level:g} %"),
        Row("Sets that may carry mass", _sets(model)),
    ]


def _tried(model: Any) -> str:
    selection = model.selection_
    low, high = min(selection.numbers), max(selection.numbers)
    if low == high:
        return "as asked for"
    return f"chosen from {low} to {high} by {selection.criterion.upper()}"


def _sets(model: Any) -> str:
    kind = model.focal_sets if isinstance(model.focal_sets, str) else "as given"
    return f"{len(model.partition_.focal_sets)} ({kind})"


class Column(NamedTuple):
    """A column of the data in numbers."""

    name: str
    smallest: str
    median: str
    largest: str


def columns(table: Table, names: Sequence[str]) -> list[Column]:
    """Describe the columns; missing cells do not count, and categories have no order."""
    figures = np.nanquantile(table.values, [0.0, 0.5, 1.0], axis=0).T.tolist()
    levels = table.levels or [None] * len(names)
    return [
        Column(name, *(_figure(v) for v in row))
        if known is None
        else Column(name, f"{len(known)} categories", "", "")
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
    n_objects: int  # whose pairs are drawn
    length: float  # of the intervals, on average


def quality(model: Any) -> Quality:
    """Compare all pairs of the objects, or of a sample of them if there are many."""
    intervals, partition = model.intervals_, model.partition_
    n = partition.n_objects
    rows = np.linspace(0, n - 1, min(n, MOST_PAIRED)).round().astype(np.intp)
    i, j = (rows[side] for side in np.triu_indices(len(rows), 1))
    place = n * i - i * (i + 1) // 2 + j - i - 1  # of the pair in the condensed order
    some = EvidentialPartition(partition.masses[rows], partition.focal_sets)
    belief, plausibility = some.pairwise_condensed()
    lower, upper = intervals.lower[place], intervals.upper[place]
    n_pairs = n * (n - 1) // 2
    return Quality(
        density_shades(lower, belief),
        density_shades(upper, plausibility),
        # J of Eq. (9) is the sum of the squares of both differences over all pairs
        rmse=float(np.sqrt(model.objective_ / (2 * max(1, n_pairs)))),
        n_pairs=n_pairs,
        n_objects=len(rows),
        length=float((upper - lower).mean()) if len(place) else 0.0,
    )


def reproduction(model: Any, command: str | None) -> list[Row]:
    """What is needed to make the same result again."""
    seed, place = model.random_state, re.compile(" at 0x[0-9A-F]+")  # another in each run
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    rows = [
        Row("Estimator", place.sub("", " ".join(repr(model).split()))),
        Row("Seed", UNSEEDED if seed is None else place.sub("", repr(seed))),
        Row("Versions", f"credpart {__version__}, Python {platform.python_version()}, {libraries}"),
    ]
    return rows if command is None else [Row("Command", command), *rows]
