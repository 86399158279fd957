"""Tables 2-4: how often intervals hold the true probability, over data sets of Mixtures 1-3."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper import mclust
from benchmarks.paper.bench import Bench, Case, Result, Section
from benchmarks.paper.mixture_figures import add_figures, coverage_by_bin
from benchmarks.paper.mixture_tables import (
    AGREE,
    DEFAULTS,
    EDGES,
    KINDS,
    LEVELS,
    PAPER,
    add_beyond,
    add_defaults,
    add_mixture,
    add_repair,
    conditional,
)
from credpart import (
    PairwiseIntervals,
    bootstrap,
    fit_mixture,
    focal_sets,
    irqp,
    pairwise_intervals,
    select_mixture,
)
from credpart._bootstrap import Replicates
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3

MAKERS = {1: make_mixture1, 2: make_mixture2, 3: make_mixture3}
TIGHT = 1e-9  # the library's tolerance of EM
DATA_SETS, FURTHER = 100, 20  # of each mixture, for the paper's arms and for those beyond it
BLOCK = 10  # data sets of a mixture after which all arms are complete


class Arm(NamedTuple):
    """A way to choose and to refit the mixture."""

    model: str  # a structure, "Auto" (the best by BIC), or "each" (the best of each replicate)
    regularization: str = "fallback"


GROUPS: Mapping[str, Mapping[str, Arm]] = {  # arms that are computed together, in this order
    # the first with the stopping rule of mclust, the others with the library's
    "paper": {model: Arm(model) for model in PAPER},
    "tight": {f"{model}, tight": Arm(model) for model in PAPER},
    "each": {"each, tight": Arm("each")},
    "pooled": {"VVV, tight, pooled": Arm("VVV", regularization="pooled")},
}


def one_data_set(group: str, mixture: int, seed: int, n: int, replicates: int) -> Result:
    """Coverage and length of a group's arms on one data set, also by bins of the true P_ij."""
    sample = MAKERS[mixture](n, random_state=seed)
    bins = np.digitize(sample.pairwise, EDGES[1:-1])
    seen: dict[str, Result] = {}
    arms = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # degenerate replicates: they are counted
        first = mclust.TOLERANCE if group == "paper" else TIGHT
        selection = select_mixture(sample.X, 3, tol=first)
        rule = mclust.tolerance(sample.X, selection.best.loglik)
        for name, arm in GROUPS[group].items():
            fits = contenders(sample.X, selection, arm)
            tol = rule if group == "paper" else TIGHT
            options = {"tol": tol, "regularization": arm.regularization}
            if fits[0].model not in seen:  # Auto is often one of the others
                found = bootstrap(sample.X, fits, replicates, random_state=seed, **options)
                seen[fits[0].model] = _judge(found, sample, bins)
            arms[name] = {"model": fits[0].model, **seen[fits[0].model]}
    return {"pairs": np.bincount(bins, minlength=len(EDGES) - 1).tolist(), "arms": arms}


def contenders(X: Any, selection: Any, arm: Arm) -> list[Any]:
    """The fits that an arm refits: one, or all of which each replicate chooses one."""
    best = selection.best
    if arm.model == "each":
        return [best, *(fit for fit in selection.fits.values() if fit is not best)]
    if arm.model == "Auto":
        return [best]
    fit = selection.fits.get((3, arm.model))
    return [fit or fit_mixture(X, 3, arm.model)]


def _judge(found: Replicates, sample: Any, bins: Any) -> Result:
    """Coverage and length of replicates' intervals, and of their approximation."""
    levels = [float(level) for level in LEVELS]
    both = pairwise_intervals(found.posteriors(sample.X), levels)
    result: Result = {"chosen": found.chosen(), "status": found.counts()}
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
    return result


def run(bench: Bench) -> Section:
    """Tables 2-4 and Figures 7-10."""
    section = bench.section("Tables 2-4: calibration on Mixtures 1-3")
    size = {"n": bench.size(60, 300), "replicates": bench.size(40, 1000)}
    count, further = bench.size((1, 1), (DATA_SETS, FURTHER))
    if bench.so_far:
        paper, *others = (_complete(bench, size, group, count) for group in GROUPS)
        section.text(
            f"**Not complete**: a stopped run of {count} data sets of each mixture, {further} of "
            "them with the arms beyond the paper."
        )
        count, further = paper, min(further, *others, paper)
    by_mixture = compute(bench, size, count, further)
    section.text(
        f"{count} data sets of {size['n']} objects from each mixture, {size['replicates']} "
        "replicates, three clusters. Coverage is the share of pairs of objects whose true "
        "P_ij is in the interval; means over data sets, standard deviations in parentheses, "
        "and the standard error (±) of our mean. Models printed in bold are correct.",
        f"A coverage or a length agrees within {AGREE} of the printed one. The paper's numbers "
        "are means over 100 data sets too: where the difference is below 2.5 standard errors "
        "of both means together, the verdict is *within noise*.",
    )
    for mixture, found in by_mixture.items():
        add_mixture(section, mixture, found)
        if further:
            add_beyond(section, mixture, found[:further])
    if further:
        _add_lessons(section, {k: found[:further] for k, found in by_mixture.items()})
    section.text(DEFAULTS)
    if further:
        add_defaults(section, {k: found[:further] for k, found in by_mixture.items()})
    add_figures(section, size)
    return section


def _add_lessons(section: Section, by_mixture: Mapping[int, list[Result]]) -> None:
    """What the arms beyond the paper show."""
    add_repair(section, by_mixture[3])
    section.figure(
        "coverage-by-bin",
        lambda: coverage_by_bin(by_mixture, EDGES, conditional),
        "Coverage of [Bel, Pl] at level .90 among the pairs in a bin of the true probability: "
        "what an average over all pairs hides. Bars: two standard errors.",
    )


def compute(
    bench: Bench, size: Mapping[str, int], count: int, further: int
) -> dict[int, list[Result]]:
    """Results of all data sets, by mixture; the first ``further`` of each have all arms."""
    merged: dict[tuple[int, int], Result] = {}
    work = [("paper", range(count))]
    for start in range(0, further, BLOCK):
        work += [(group, range(start, min(start + BLOCK, further))) for group in list(GROUPS)[1:]]
    for group, draws in work:
        cases = [case for draw in draws for case in _cases(size, group, draw)]
        results = bench.map(f"mixtures, {group}", one_data_set, cases)
        for case, result in zip(cases, results, strict=True):
            known = merged.setdefault((case["mixture"], case["seed"]), {"arms": {}})
            known["pairs"] = result["pairs"]
            known["arms"] |= result["arms"]
    return {k: [merged[k, 1000 * k + draw] for draw in range(count)] for k in MAKERS}


def _cases(size: Mapping[str, int], group: str, draw: int) -> list[Case]:
    """A data set of each mixture."""
    return [{"group": group, "mixture": k, "seed": 1000 * k + draw, **size} for k in MAKERS]


def _complete(bench: Bench, size: Mapping[str, int], group: str, count: int) -> int:
    """How many of the first data sets a stopped run has computed."""
    for draw in range(count):
        cases = _cases(size, group, draw)
        if not all(bench.known(f"mixtures, {group}", one_data_set, case) for case in cases):
            return draw
    return count
