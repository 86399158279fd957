"""The Iris data: Figures 14-18, Tables 5-8."""

from typing import Any

import numpy as np

from benchmarks.paper.bench import PRINTED, Bench, Result, Section
from benchmarks.paper.compare import FACTS, count_table, deviation, fact
from benchmarks.paper.mixture_figures import approximations
from benchmarks.paper.real import (
    add_arms,
    calibrated,
    counts,
    draws,
    matrix_of,
    named,
    standardized,
)
from credpart import ECM, EVCLUS, plot, select_mixture
from credpart.datasets import load_iris
from credpart.metrics import adjusted_rand

TOLERANCE = 4  # counts of the reference code itself move as much with the draw


def run(bench: Bench) -> Section:
    """Tables 5-8."""
    section = bench.section("Iris (Figures 14-18, Tables 5-8)")
    printed, iris = PRINTED["iris"], load_iris()
    selection = select_mixture(iris.X, 3)
    fit = selection.best
    wrong = _misclassified(fit.predict(iris.X), iris.y)
    index = adjusted_rand(fit.predict(iris.X), iris.y)
    section.table(
        FACTS,
        [
            fact(section, "model with 3 clusters, by BIC", fit.model, printed["model"]),
            fact(section, "adjusted Rand index", index, printed["adjusted rand"], tolerance=0.005),
            fact(section, "misclassified objects", wrong, printed["misclassified"]),
        ],
    )
    found = draws(bench, "iris", fit.model, printed["misclassified"])
    section.text(
        "**Our replicates** as in the paper: the model chosen once, mclust's stopping rule. Counts "
        "move with the draw of the replicates: the reference code itself gives 41/1/8 and 49/1 "
        "where the paper prints 38/1/11 and 47/3."
    )
    count_table(section, "table 6", [r["confusion"] for r in found["paper"]], TOLERANCE)
    section.text("With the default tolerance, and with the model chosen in each replicate:")
    add_arms(section, found)
    _add_table_5(section, found)
    _add_ecm(section, iris)
    _add_evclus(section, bench, iris)
    _add_figures(section, bench, iris, fit)
    return section


def _misclassified(labels: Any, classes: Any) -> list[int]:
    """Objects, from 1, that are not in the cluster of their class."""
    names, codes = np.unique(classes, return_inverse=True)
    majority = [np.bincount(codes[labels == k], minlength=len(names)).argmax() for k in range(3)]
    return [int(i) + 1 for i in np.flatnonzero(np.array(majority)[labels] != codes)]


def _add_table_5(section: Section, found: dict[str, list[Result]]) -> None:
    printed = PRINTED["table 5"]
    section.text(
        f"**{printed['where']}**: masses of the five misclassified objects; mean over draws, ± the "
        "standard deviation of a draw. (The row of object 69 is printed with a sum of 1.010: "
        ".012 is likely a slip for .002.) A mass agrees within .05, or 2.5 standard deviations."
    )
    rows = []
    for number, theirs in printed["masses"].items():
        cells = [number]
        for name, value in zip(printed["sets"], theirs, strict=True):
            ours = [result["masses"][number].get(name, 0.0) for result in found["paper"]]
            mean, spread = np.mean(ours), deviation(ours)
            agrees = abs(mean - value) <= np.fmax(0.05, 2.5 * spread)
            section.judge("agrees" if agrees else "differs")
            mark = "" if agrees else " **!**"
            cells.append(f"{mean:.3f} ± {spread:.3f}; paper {value:g}{mark}")
        rows.append(cells)
    section.table(["object", *printed["sets"]], rows)


def _ecm(iris: Any) -> Any:
    model = ECM(3, delta=100, focal_sets="overlapping", random_state=0).fit(iris.X)
    return named(model.partition_, iris.y)


def _add_ecm(section: Section, iris: Any) -> None:
    section.text(
        "**ECM**, raw data, delta = 100, one pair of overlapping clusters. Run to its minimum, the "
        "reference code has ours, 33 and 16, where the paper prints 32 and 17: object 148 is on "
        "the border (.459 against .446), and the printed run had stopped early."
    )
    count_table(section, "table 7", [counts(_ecm(iris), iris.y)], tolerance=1)


def evclus_draw(seed: int) -> Result:
    """One run of k-EVCLUS on standardised data."""
    iris = load_iris()
    return {"confusion": counts(_evclus(iris, seed), iris.y)}


def _evclus(iris: Any, seed: int) -> Any:
    model = EVCLUS(3, n_neighbors=50, focal_sets="overlapping", random_state=seed)
    return named(model.fit(standardized(iris.X)).partition_, iris.y)


def _add_evclus(section: Section, bench: Bench, iris: Any) -> None:
    cases = [{"seed": seed} for seed in range(bench.size(1, 20))]
    results = bench.map("iris evclus", evclus_draw, cases)
    section.text(
        "**k-EVCLUS**, standardised data, k = 50; the pairs that it looks at are drawn. The "
        "reference code draws them in another way: [comparison.md](comparison.md) has what that "
        "and other settings change."
    )
    count_table(section, "table 8", [r["confusion"] for r in results], TOLERANCE)


def _add_figures(section: Section, bench: Bench, iris: Any, fit: Any) -> None:
    if section.figures.folder is None:
        return
    _, estimator, partition = calibrated("iris", fit.model, "paper", 0, bench.size(40, 1000))
    hulls = "hulls of lower (solid) and upper (broken) approximations; symbols are species"
    section.figure(
        "figure-14",
        lambda: matrix_of(plot.classification, fit, iris.X, radius=1.0),
        "Figure 14: the mixture VEV with three components; ellipses of covariance.",
    )
    section.figure(
        "figure-15",
        lambda: approximations(partition, estimator.intervals_),
        "Figure 15: belief and plausibility against the bounds of the 90 % intervals.",
    )
    for number, name, value in (
        (16, "the model-based partition", partition),
        (17, "ECM", _ecm(iris)),
        (18, "k-EVCLUS", _evclus(iris, 0)),
    ):
        section.figure(
            f"figure-{number}",
            lambda value=value: matrix_of(plot.partition, value, iris.X, classes=iris.y),
            f"Figure {number}: {name}; {hulls}.",
        )
    section.figure(
        "iris-memberships",
        lambda: plot.memberships(partition).figure,
        "Not in the paper: the masses of the sixty most ambiguous irises.",
    )
