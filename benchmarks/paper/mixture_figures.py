"""Figures 7-10, and the coverage by bins of the true probability."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import squareform

from benchmarks.paper import mclust
from benchmarks.paper.bench import Section
from credpart import CalibratedClustering, EvidentialPartition, fit_mixture, plot
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3

SEED = 2000  # of the data sets shown
TARGETS = (0.1, 0.4, 0.6, 0.9)  # true probabilities of the pairs shown
THIN: dict[str, Any] = {"markersize": 4, "linewidth": 1.0}
STYLES: Mapping[str, dict[str, Any]] = {
    "VVV": {"marker": "s", "linestyle": ":", "color": "#E69F00", **THIN},
    "VVV, tight": {"marker": "o", "linestyle": "-", "color": "#0072B2", **THIN},
    "Auto, tight": {"marker": "^", "linestyle": "--", "color": "#D55E00", **THIN},
    "each, tight": {"marker": "D", "linestyle": "-.", "color": "#009E73", **THIN},
}


def add_figures(section: Section, size: Mapping[str, int]) -> None:
    """Add Figures 7-10: data sets, and one of Mixture 2 in detail."""
    if section.figures.folder is None:
        return
    sample = make_mixture2(size["n"], random_state=SEED)
    tol = mclust.tolerance(sample.X, fit_mixture(sample.X, 3, "EEE").loglik)
    options = {"selection": "once", "tol": tol, "n_replicates": size["replicates"]}
    model = CalibratedClustering(3, model="EEE", random_state=SEED, **options).fit(sample.X)
    section.figure(
        "figure-7", lambda: data_sets(size["n"]), "Figure 7: a data set from each mixture."
    )
    section.figure(
        "figure-8",
        lambda: histograms(model, sample),
        "Figure 8: replicates of P_ij for four pairs of objects of a data set from Mixture 2, "
        "fitted with EEE; 90 % interval, belief and plausibility, and the truth.",
    )
    section.figure(
        "figure-9",
        lambda: approximations(model.partition_, model.intervals_),
        "Figure 9: the same data set; belief and plausibility against the bounds of the intervals.",
    )
    section.figure(
        "figure-10",
        lambda: calibrations(model.partition_, sample.pairwise),
        "Figure 10: the same data set; belief and plausibility against the true probabilities.",
    )


def data_sets(n: int) -> Figure:
    """Three data sets, their components as colours and symbols."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    makers = (make_mixture1, make_mixture2, make_mixture3)
    for k, (ax, make) in enumerate(zip(axes, makers, strict=True)):
        sample = make(n, random_state=SEED)
        truth = EvidentialPartition.from_hard(sample.y)
        plot.partition(truth, sample.X, ax=ax).get_legend().remove()
        ax.set(title=f"Mixture {k + 1}", xlabel="$x_1$", ylabel="$x_2$")
        for line in list(ax.lines):  # hulls mean nothing here
            line.remove()
    return figure


def histograms(model: Any, sample: Any) -> Figure:
    """Replicates of P_ij of pairs whose true probabilities are near the targets."""
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    true = squareform(sample.pairwise)
    for ax, target in zip(axes.flat, TARGETS, strict=True):
        off_diagonal = np.abs(true - target) + 2.0 * np.eye(len(true))
        i, j = np.unravel_index(off_diagonal.argmin(), true.shape)
        plot.pair_histogram(
            model.replicates_,
            sample.X,
            (int(i), int(j)),
            intervals=model.intervals_,
            partition=model.partition_,
            truth=float(true[i, j]),
            ax=ax,
        )
    return figure


def approximations(partition: Any, intervals: Any) -> Figure:
    """Belief against lower bounds, plausibility against upper bounds."""
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.7), layout="constrained")
    for ax, bound in zip(axes, ("lower", "upper"), strict=True):
        plot.approximation(partition, intervals, bound, ax=ax)
    return figure


def calibrations(partition: Any, truth: Any) -> Figure:
    """Belief and plausibility against the true probabilities."""
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.7), layout="constrained")
    for ax, bound in zip(axes, ("lower", "upper"), strict=True):
        plot.calibration(partition, truth, bound, ax=ax)
    return figure


def coverage_by_bin(
    by_mixture: Mapping[int, Sequence[Any]], edges: Sequence[float], conditional: Callable[..., Any]
) -> Figure:
    """Coverage of [Bel, Pl] at level .90 in bins of the true probability, by arm."""
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
    places = np.arange(len(edges) - 1)
    names = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    for ax, (mixture, results) in zip(axes, by_mixture.items(), strict=True):
        ax.axhline(0.9, color="black", linewidth=0.8)
        for k, (arm, style) in enumerate(STYLES.items()):
            rate, error = conditional(results, arm, "0.90", "[Bel, Pl]")
            ax.errorbar(places + 0.08 * (k - 1.5), rate, 2.0 * error, label=arm, **style)
        ax.set_xticks(places, names, rotation=60, fontsize="small")
        ax.set(title=f"Mixture {mixture}", xlabel="true $P_{ij}$", ylim=(0.3, 1.02))
    axes[0].set_ylabel("coverage of [Bel, Pl]")
    axes[0].legend(frameon=False, fontsize="small", loc="lower center")
    return figure
