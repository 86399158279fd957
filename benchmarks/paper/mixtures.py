"""Tables 2-4: how often intervals hold the true probability, over data sets of Mixtures 1-3."""

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper.bench import PRINTED, Bench, Result, Section
from benchmarks.paper.compare import deviation, judge_number, standard_error
from benchmarks.paper.mixture_figures import add_figures, coverage_by_bin
from credpart import (
    PairwiseIntervals,
    bootstrap,
    fit_mixture,
    focal_sets,
    irqp,
    pairwise_intervals,
    select_mixture,
)
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3

MAKERS = {1: make_mixture1, 2: make_mixture2, 3: make_mixture3}
LEVELS = ("0.90", "0.95")
KINDS = ("CI", "[Bel, Pl]")
QUANTITIES = ("coverage", "length")
EDGES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)  # bins of the true P_ij
MCLUST, TIGHT = 1e-5, 1e-9  # tolerances of EM: mclust's, and the library's default
PAPER = ("EII", "EEE", "VVV", "Auto")
AGREE = 0.02  # how close a coverage or a length is to the printed one


class Arm(NamedTuple):
    """A way to choose and to refit the mixture."""

    model: str  # a structure, "Auto" (the best by BIC), or "each" (the best of each replicate)
    tol: float
    regularization: str = "fallback"


ARMS: Mapping[str, Arm] = {
    **{model: Arm(model, MCLUST) for model in PAPER},
    **{f"{model}, tight": Arm(model, TIGHT) for model in PAPER},
    "VVV, tight, pooled": Arm("VVV", TIGHT, "pooled"),
    "each, tight": Arm("each", TIGHT),
}


def one_data_set(mixture: int, seed: int, n: int, replicates: int) -> Result:
    """Coverage and length of all arms on one data set; bins are those of the true P_ij."""
    sample = MAKERS[mixture](n, random_state=seed)
    bins = np.digitize(sample.pairwise, EDGES[1:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # degenerate replicates: they are counted
        selections = {tol: select_mixture(sample.X, 3, tol=tol) for tol in (MCLUST, TIGHT)}
        seen: dict[Any, Result] = {}
        arms = {}
        for name, arm in ARMS.items():
            fits = contenders(sample.X, selections[arm.tol], arm)
            key = tuple(fit.model for fit in fits), arm.tol, arm.regularization
            if key not in seen:
                seen[key] = _one_arm(sample, bins, fits, arm, replicates, seed)
            arms[name] = seen[key]
    return {"pairs": np.bincount(bins, minlength=len(EDGES) - 1).tolist(), "arms": arms}


def contenders(X: Any, selection: Any, arm: Arm) -> list[Any]:
    """The fits that an arm refits: one, or all of which each replicate chooses one."""
    best = selection.best
    if arm.model == "each":
        return [best, *(fit for fit in selection.fits.values() if fit is not best)]
    if arm.model == "Auto":
        return [best]
    fit = selection.fits.get((3, arm.model))
    return [fit or fit_mixture(X, 3, arm.model, tol=arm.tol)]


def _one_arm(
    sample: Any, bins: Any, fits: Sequence[Any], arm: Arm, replicates: int, seed: int
) -> Result:
    began = perf_counter()
    options = {"tol": arm.tol, "regularization": arm.regularization}
    found = bootstrap(sample.X, fits, replicates, random_state=seed, **options)
    levels = [float(level) for level in LEVELS]
    both = pairwise_intervals(found.posteriors(sample.X), levels)
    result: Result = {"model": fits[0].model, "chosen": found.chosen(), "status": found.counts()}
    start: Any = "prototypes"
    for level, intervals in zip(LEVELS, both, strict=True):
        partition = irqp(intervals, focal_sets(3), start=start).partition
        start = partition.masses
        approximation = PairwiseIntervals(*partition.pairwise_condensed(), level=intervals.level)
        for kind, bounds in zip(KINDS, (intervals, approximation), strict=True):
            inside = bounds.contains(sample.pairwise)
            result[f"{level} {kind}"] = {
                "coverage": float(inside.mean()),
                "length": float(bounds.length.mean()),
                "hits": np.bincount(bins, inside, len(EDGES) - 1).astype(int).tolist(),
            }
    return {**result, "seconds": perf_counter() - began}


def run(bench: Bench) -> Section:
    """Tables 2-4 and Figures 7-10."""
    section = bench.section("Tables 2-4: calibration on Mixtures 1-3")
    size = {"n": bench.size(60, 300), "replicates": bench.size(40, 1000)}
    count = bench.size(1, 100)
    cases = [
        {"mixture": mixture, "seed": 1000 * mixture + draw, **size}
        for mixture in MAKERS
        for draw in range(count)
    ]
    results = bench.map("mixtures", one_data_set, cases)
    section.text(
        f"{count} data sets of {size['n']} objects from each mixture, {size['replicates']} "
        "replicates, three clusters. Coverage is the share of pairs of objects whose true "
        "P_ij is in the interval; means over data sets, standard deviations in parentheses, "
        "and the standard error (±) of our mean. Models printed in bold are correct.",
        f"A coverage or a length agrees within {AGREE} of the printed one. The paper's numbers "
        "are means over 100 data sets too: where the difference is below 2.5 standard errors "
        "of both means together, the verdict is *within noise*.",
    )
    by_mixture = {
        mixture: [r for r, case in zip(results, cases, strict=True) if case["mixture"] == mixture]
        for mixture in MAKERS
    }
    for mixture, found in by_mixture.items():
        _add_mixture(section, mixture, found)
    _add_repair(section, by_mixture[3])
    section.figure(
        "coverage-by-bin",
        lambda: coverage_by_bin(by_mixture, EDGES, conditional),
        "Coverage of [Bel, Pl] at level .90 among the pairs in a bin of the true probability: "
        "what an average over all pairs hides. Bars: two standard errors.",
    )
    add_figures(section, size)
    return section


def values(results: Sequence[Result], arm: str, level: str, kind: str, what: str) -> list[float]:
    """A number of every data set."""
    return [result["arms"][arm][f"{level} {kind}"][what] for result in results]


def _add_mixture(section: Section, mixture: int, results: Sequence[Result]) -> None:
    printed = PRINTED[f"table {mixture + 1}"]
    section.text(f"### {printed['where']}: Mixture {mixture}")
    section.table(
        [
            *("level", "model", "interval", "coverage", "±", "paper", "verdict"),
            *("length", "±", "paper", "verdict"),
        ],
        [
            _paper_row(section, printed, results, level, model, kind)
            for level in LEVELS
            for model in PAPER
            for kind in KINDS
        ],
    )
    chosen = [result["arms"]["Auto"]["model"] for result in results]
    section.text(f"Auto chose {_counts(chosen)}.")
    section.text("Beyond the paper: what tolerance, regularisation and selection change.")
    columns = list(product(LEVELS, QUANTITIES, KINDS))
    rows = []
    for arm in ARMS:
        means = [np.mean(values(results, arm, level, kind, what)) for level, what, kind in columns]
        rows.append([arm, *(f"{mean:.3f}" for mean in means)])
    section.table(["model", *map(" ".join, columns)], rows)
    section.text(_status_text(results))
    _add_bins(section, mixture, results)


def _paper_row(
    section: Section,
    printed: Mapping[str, Any],
    results: Sequence[Result],
    level: str,
    model: str,
    kind: str,
) -> list[str]:
    correct = model in printed["correct"]
    cells = [level, f"**{model}**" if correct else model, kind]
    for what in QUANTITIES:
        found = values(results, model, level, kind, what)
        mean, error = float(np.mean(found)), standard_error(found)
        theirs, spread = printed["levels"][level][what][model][kind]
        nominal = float(level) if correct and what == "coverage" else None
        both = math.hypot(error, spread / 10.0)  # the paper's mean is over 100 data sets too
        verdict = section.judge(judge_number(mean, theirs, AGREE, both, nominal))
        cells += [
            f"{mean:.3f} ({deviation(found):.3f})",
            f"{error:.3f}",
            f"{theirs:g} ({spread:g})",
            verdict,
        ]
    return cells


def _status_text(results: Sequence[Result]) -> str:
    """Replicates of VVV that were not ordinary, by tolerance."""
    parts = []
    for arm in ("VVV", "VVV, tight"):
        total: dict[str, int] = {}
        for result in results:
            for status, count in result["arms"][arm]["status"].items():
                total[status] = total.get(status, 0) + count
        parts.append(f"{arm}: " + ", ".join(f"{n} {status}" for status, n in total.items() if n))
    return f"Replicates by how their refit ended: {'; '.join(parts)}."


def conditional(
    results: Sequence[Result], arm: str, level: str, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Coverage in each bin of the true P_ij, and its standard error over data sets."""
    pairs = np.array([result["pairs"] for result in results], dtype=float)
    hits = np.array(values(results, arm, level, kind, "hits"), dtype=float)
    total = np.maximum(pairs.sum(axis=0), 1.0)
    rate = hits.sum(axis=0) / total
    return rate, np.sqrt(((hits - rate * pairs) ** 2).sum(axis=0)) / total


def _add_bins(section: Section, mixture: int, results: Sequence[Result]) -> None:
    right = PRINTED[f"table {mixture + 1}"]["correct"][0]
    arms = list(
        dict.fromkeys([right, f"{right}, tight", "VVV, tight", "Auto, tight", "each, tight"])
    )
    pairs = np.array([result["pairs"] for result in results]).sum(axis=0)
    columns = [(arm, kind) for arm in arms for kind in KINDS]
    rates = {column: conditional(results, column[0], "0.90", column[1]) for column in columns}
    rows = []
    for b, share in enumerate(pairs / pairs.sum()):
        cells = [
            f"{rates[c][0][b]:.2f} ± {rates[c][1][b]:.2f}" if pairs[b] else "" for c in columns
        ]
        rows.append([f"{EDGES[b]:g} to {EDGES[b + 1]:g}", f"{100 * share:.1f} %", *cells])
    section.text("Coverage at level .90 by bins of the true P_ij (± standard error):")
    section.table(["P_ij", "pairs", *(f"{arm} {kind}" for arm, kind in columns)], rows)


def _add_repair(section: Section, results: Sequence[Result]) -> None:
    """Whether choosing the model in each replicate repairs Auto on Mixture 3."""
    section.text(
        "### Does choosing the model in each replicate repair Auto?",
        "On Mixture 3, with the default tolerance: coverage at least .88 at .90 and .93 at .95, "
        "with a mean length no larger than VVV's.",
    )
    rows = []
    for level, least in zip(LEVELS, (0.88, 0.93), strict=True):
        for kind in KINDS:
            coverage = float(np.mean(values(results, "each, tight", level, kind, "coverage")))
            length, most = (
                float(np.mean(values(results, arm, level, kind, "length")))
                for arm in ("each, tight", "VVV, tight")
            )
            holds = section.judge("agrees" if coverage >= least and length <= most else "differs")
            cells = [f"{coverage:.3f}", f"{least}", f"{length:.3f}", f"{most:.3f}", holds]
            rows.append([level, kind, *cells])
    section.table(
        ["level", "interval", "coverage", "at least", "length", "VVV's length", "verdict"], rows
    )


def _counts(names: Sequence[str]) -> str:
    order = sorted(set(names), key=lambda name: (-names.count(name), name))
    return ", ".join(f"{name} {names.count(name)} times" for name in order)
