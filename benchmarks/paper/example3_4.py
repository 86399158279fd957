"""Examples 3 and 4: thirty objects (Figures 3-6, Table 1)."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.spatial.distance import squareform

from benchmarks.paper import mclust
from benchmarks.paper.bench import PRINTED, Bench, Result, Section
from benchmarks.paper.compare import standard_error
from benchmarks.paper.mixture_figures import approximations
from benchmarks.paper.real import named
from credpart import (
    EvidentialPartition,
    PairwiseIntervals,
    bootstrap,
    fit_mixture,
    focal_sets,
    irqp,
    pairwise_intervals,
    plot,
)
from credpart.datasets import make_example3
from credpart.focal import set_names

SEED = 26  # of the data set shown: as in the paper, three objects are ambiguous
TARGETS = (0.01, 0.7, 0.95, 0.999)  # true probabilities of the pairs shown


def stages(seed: int, replicates: int) -> Any:
    """The sample, its replicates, intervals and partition under the true model (EII)."""
    sample = make_example3(random_state=seed)
    fit = fit_mixture(sample.X, 3, "EII", tol=mclust.TOLERANCE)
    tol = mclust.tolerance(sample.X, fit.loglik)
    found = bootstrap(sample.X, fit, replicates, tol=tol, random_state=seed)
    intervals = pairwise_intervals(found.posteriors(sample.X), 0.9)
    partition = irqp(intervals, focal_sets(3), start=fit.predict(sample.X)).partition
    return sample, found, intervals, named(partition, [str(k + 1) for k in sample.y])


def one_data_set(seed: int, replicates: int) -> Result:
    """Coverage and length on one data set of thirty objects, and how many are ambiguous."""
    sample, _, intervals, partition = stages(seed, replicates)
    approximation = PairwiseIntervals(*partition.pairwise_condensed(), level=0.9)
    found: Result = {
        kind: [float(bounds.contains(sample.pairwise).mean()), float(bounds.length.mean())]
        for kind, bounds in (("CI", intervals), ("[Bel, Pl]", approximation))
    }
    return {**found, "ambiguous": int(ambiguous(partition).sum())}


def ambiguous(partition: EvidentialPartition) -> Any:
    """Which objects have their largest mass on a pair of clusters."""
    return partition.focal_sets.sum(axis=1)[partition.set_labels] > 1


def run(bench: Bench) -> Section:
    """Examples 3 and 4."""
    section = bench.section("Examples 3 and 4: thirty objects (Figures 3-6, Table 1)")
    replicates = bench.size(60, 1000)
    sample, found, intervals, partition = stages(SEED, replicates)
    section.text(
        "The thirty points of the paper are not published, so its Table 1 can be compared in kind "
        f"only. This is a draw from the same mixture (seed {SEED}, taken because its ambiguous "
        "objects are as many, and between the same clusters, as the paper's), with the true model "
        f"EII and {replicates} replicates. (The caption of Figure 4 says quantiles .025 and .975; "
        "the text, and ours, is a 90 % interval: .05 and .95.)",
    )
    _add_masses(section, partition)
    _add_coverage(section, bench, replicates)
    section.figure(
        "figure-3", lambda: _data(sample), "Figure 3: the data set; symbols are true components."
    )
    section.figure(
        "figure-4",
        lambda: _histograms(sample, found, intervals),
        "Figure 4: replicates of P_ij for four pairs, from P_ij = 0 to P_ij = 1.",
    )
    section.figure(
        "figure-5",
        lambda: approximations(partition, intervals),
        "Figure 5: belief and plausibility against the bounds of the 90 % intervals.",
    )
    section.figure(
        "figure-6",
        lambda: _partition(sample, partition),
        "Figure 6: the partition; hulls of the lower (solid) and upper (broken) approximations. "
        "Objects with a ring are not sure.",
    )
    return section


def _add_masses(section: Section, partition: EvidentialPartition) -> None:
    """Table 1 in kind: the three least specific objects, and the best one of each cluster."""
    printed = PRINTED["table 1"]
    doubt = partition.nonspecificity
    objects = [int(i) for i in np.argsort(-doubt, kind="stable")[:3]]
    objects += [int(np.argmax(partition.masses[:, k])) for k in range(partition.n_clusters)]
    names = set_names(partition.focal_sets)
    rows = [[i + 1, *(f"{mass:.3f}" for mass in partition.masses[i])] for i in sorted(objects)]
    section.text(
        "**Table 1**, ours: the three least specific objects, and the one of the highest mass of "
        "each cluster."
    )
    section.table(["object", *(f"m({name})" for name in names)], rows)
    section.text("The paper's:")
    section.table(
        ["object", *(f"m({name})" for name in printed["sets"])],
        [[i, *(f"{mass:.3f}" for mass in row)] for i, row in printed["masses"].items()],
    )
    as_paper = section.judge("agrees" if ambiguous(partition).any() else "differs")
    section.text(
        f"In kind: {ambiguous(partition).sum()} of 30 objects have most mass on a pair of clusters "
        f"(paper: 3), the others on one: {as_paper}."
    )


def _add_coverage(section: Section, bench: Bench, replicates: int) -> None:
    count = bench.size(2, 100)
    cases = [{"seed": 100 + draw, "replicates": replicates} for draw in range(count)]
    results = bench.map("example3_4", one_data_set, cases)
    rows = []
    for kind in ("CI", "[Bel, Pl]"):
        coverage, length = np.array([result[kind] for result in results]).T
        cells = [f"{coverage.mean():.3f} ± {standard_error(coverage):.3f}", f"{length.mean():.3f}"]
        rows.append([kind, *cells])
    low, median, high = np.percentile([result["ambiguous"] for result in results], [5, 50, 95])
    section.text(
        f"Not in the paper: coverage over {count} such data sets of 30, level .90. Percentile "
        "intervals are only right in large samples, and thirty objects are few. Such data sets "
        f"have {median:.0f} ambiguous objects in the median, and {low:.0f} to {high:.0f} in 90 % "
        "of cases."
    )
    section.table(["interval", "coverage", "mean length"], rows)


def _data(sample: Any) -> Figure:
    truth = EvidentialPartition.from_hard(sample.y, index=range(1, len(sample.X) + 1))
    ax = plot.partition(truth, _frame(sample), annotate=range(len(sample.X)))
    for line in list(ax.lines):  # hulls mean nothing here
        line.remove()
    ax.get_legend().remove()
    return ax.figure


def _histograms(sample: Any, replicates: Any, intervals: Any) -> Figure:
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    true = squareform(sample.pairwise)
    for ax, target in zip(axes.flat, TARGETS, strict=True):
        off_diagonal = np.abs(true - target) + 2.0 * np.eye(len(true))
        i, j = sorted(int(k) for k in np.unravel_index(off_diagonal.argmin(), true.shape))
        plot.pair_histogram(
            replicates, sample.X, (i, j), intervals=intervals, truth=float(true[i, j]), ax=ax
        )
        ax.set_title(f"objects {i + 1} and {j + 1}")
    return figure


def _partition(sample: Any, partition: EvidentialPartition) -> Figure:
    unsure = np.flatnonzero(ambiguous(partition)).tolist()
    return plot.partition(partition, _frame(sample), annotate=unsure).figure


def _frame(sample: Any) -> pd.DataFrame:
    return pd.DataFrame(sample.X, columns=["$x_1$", "$x_2$"])
