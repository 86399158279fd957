"""The experiment with non-normal data: a mixture of skew t laws (Figures 11-13)."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import softmax
from scipy.stats import multivariate_t, t

from benchmarks.paper import mclust
from benchmarks.paper.bench import PRINTED, Bench, Result, Section
from benchmarks.paper.mixture_figures import calibrations
from benchmarks.paper.real import named
from credpart import CalibratedClustering, PairwiseIntervals, fit_mixture, plot
from credpart.diagnostics import henze_zirkler
from credpart.intervals import pairwise_probabilities

SEED = 4  # of the data set shown: 14 objects misclassified by EVV, and 12 in the paper's
MODELS = ("EVV", "skew-t")
NAMES = {"EVV": "GMM EVV", "skew-t": "skew-t"}


class Component(NamedTuple):
    """A skew t law: x = mu + (delta |z| + N(0, Sigma)) / sqrt(w), w ~ Gamma(nu / 2, nu / 2)."""

    weight: float
    mean: tuple[float, float]
    scale: tuple[tuple[float, float], tuple[float, float]]
    skewness: tuple[float, float]
    dof: float


ROUND = ((1.0, 0.0), (0.0, 1.0))
COMPONENTS = (  # the paper prints weights .4, .4, .4: a slip
    Component(0.3, (3.0, -4.0), ((1.0, -0.1), (-0.1, 1.0)), (3.0, 3.0), 3.0),
    Component(0.3, (3.5, 4.0), ROUND, (1.0, 5.0), 5.0),
    Component(0.4, (2.0, 2.0), ROUND, (-3.0, 1.0), 5.0),
)


class Sample(NamedTuple):
    """Draws, the components that they came from, and the true P_ij."""

    X: Any
    y: Any
    pairwise: Any


def draw(n: int, seed: int) -> Sample:
    """A sample of the mixture."""
    rng = np.random.default_rng(seed)
    weights = [component.weight for component in COMPONENTS]
    y = rng.choice(len(COMPONENTS), size=n, p=weights)
    X = np.empty((n, 2))
    for k, (_, mean, scale, skewness, dof) in enumerate(COMPONENTS):
        size = int((y == k).sum())
        half = np.abs(rng.standard_normal((size, 1)))
        noise = rng.multivariate_normal((0.0, 0.0), scale, size)
        w = rng.gamma(dof / 2.0, 2.0 / dof, (size, 1))
        X[y == k] = mean + (half * skewness + noise) / np.sqrt(w)
    log_joint = np.stack([np.log(c.weight) + log_density(X, c) for c in COMPONENTS], axis=1)
    return Sample(X, y, pairwise_probabilities(softmax(log_joint, axis=1)))


def log_density(X: Any, component: Component) -> Any:
    """``2 t_d(x; mu, Omega, nu) T_{nu + d}(y sqrt((nu + d) / (nu + eta)))``, in logarithms."""
    _, mean, scale, skewness, dof = component
    delta, d = np.array(skewness), len(mean)
    omega = np.array(scale) + np.outer(delta, delta)
    gaps = X - np.array(mean)
    eta = np.einsum("nd,nd->n", gaps, np.linalg.solve(omega, gaps.T).T)
    spread = 1.0 - delta @ np.linalg.solve(omega, delta)
    y = gaps @ np.linalg.solve(omega, delta) / np.sqrt(spread)
    side = t.logcdf(y * np.sqrt((dof + d) / (dof + eta)), dof + d)
    return np.log(2.0) + multivariate_t.logpdf(X, mean, omega, dof) + side


def fit(sample: Sample, model: str, seed: int, replicates: int) -> CalibratedClustering:
    """The estimator with three clusters and one model."""
    options: dict[str, Any] = {"n_replicates": replicates, "random_state": seed}
    if model == "EVV":
        options["tol"] = mclust.tolerance(sample.X, fit_mixture(sample.X, 3, model).loglik)
    estimator = CalibratedClustering(3, model=model, selection="once", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # degenerate replicates, far objects
        return estimator.fit(sample.X)


def one_data_set(model: str, seed: int, n: int, replicates: int) -> Result:
    """Coverage, misclassified objects, and the normality of each cluster."""
    sample = draw(n, seed)
    estimator = fit(sample, model, seed, replicates)
    labels = estimator.mixture_.predict(sample.X)
    partition = named(estimator.partition_, sample.y)
    bounds = PairwiseIntervals(*partition.pairwise_condensed(), level=0.9)
    tests = [henze_zirkler(sample.X[labels == k]).p_value for k in range(3)]
    return {
        "CI": float(estimator.intervals_.contains(sample.pairwise).mean()),
        "[Bel, Pl]": float(bounds.contains(sample.pairwise).mean()),
        "length": float(bounds.length.mean()),
        "wrong": int((partition.labels != sample.y).sum()),
        "largest p": max(tests),
        "status": estimator.replicates_.counts(),
    }


def run(bench: Bench) -> Section:
    """Figures 11-13."""
    section = bench.section("Non-normal data: a mixture of skew t laws (Figures 11-13)")
    printed = PRINTED["skew-t"]
    size = {"n": bench.size(100, 300), "replicates": bench.size(40, 1000)}
    counts = {"EVV": bench.size(1, 20), "skew-t": bench.size(1, 5)}
    section.text(
        "The paper shows one data set of 300 objects, which is not published; these are other "
        "draws of the same law. Its weights are printed as .4, .4, .4, a slip: they are .3, .3, .4 "
        "here, as in the example of EMMIXskew with the same scales, skewness and degrees of "
        "freedom. A printed number agrees if it is among the middle 95 % of ours over data sets. "
        "Replicates, level .90 and focal sets are as before."
    )
    rows = []
    for model in MODELS:
        cases = [{"model": model, "seed": seed, **size} for seed in range(counts[model])]
        results = bench.map(f"skew_t, {model}", one_data_set, cases)
        rows += _rows(section, model, results, printed)
    section.table(["model", "what", "data sets", "median", "95 %", "paper", "verdict"], rows)
    _add_figures(section, size)
    return section


def _rows(
    section: Section, model: str, results: Sequence[Result], printed: Mapping[str, Any]
) -> list[list[Any]]:
    """Rows of the table of a model, and the verdict where the paper prints a number."""
    theirs = {"[Bel, Pl]": printed.get(f"coverage {NAMES[model]}")}
    if model == "EVV":
        theirs |= {"wrong": printed["misclassified"], "largest p": max(printed["henze-zirkler p"])}
    rows = []
    for key, what in WHAT.items():
        found = [result[key] for result in results]
        low, median, high = np.percentile(found, [2.5, 50.0, 97.5])
        value, verdict = theirs.get(key), ""
        if value is not None:
            verdict = section.judge("agrees" if low <= value <= high else "differs")
        shown = f"{low:.2g} to {high:.2g}", "" if value is None else f"{value:g}"
        rows.append([NAMES[model], what, len(found), f"{median:.3g}", *shown, verdict])
    return rows


WHAT = {
    "CI": "coverage of CI",
    "[Bel, Pl]": "coverage of [Bel, Pl]",
    "length": "mean length of [Bel, Pl]",
    "wrong": "misclassified objects of 300",
    "largest p": "largest p-value of Henze and Zirkler's test of the three clusters",
}


def _add_figures(section: Section, size: Mapping[str, int]) -> None:
    if section.figures.folder is None:
        return
    sample = draw(size["n"], SEED)
    found = {
        model: named(fit(sample, model, SEED, size["replicates"]).partition_, sample.y + 1)
        for model in MODELS
    }
    section.figure(
        "figure-11",
        lambda: _partitions(sample, found),
        "Figure 11: partitions of a data set; symbols are the true components, hulls the lower "
        "(solid) and upper (broken) approximations.",
    )
    for number, model in zip((12, 13), found, strict=False):
        section.figure(
            f"figure-{number}",
            lambda model=model: calibrations(found[model], sample.pairwise),
            f"Figure {number}: belief and plausibility against the true probabilities, "
            f"{NAMES[model]}.",
        )


def _partitions(sample: Sample, found: Mapping[str, Any]) -> Figure:
    figure, axes = plt.subplots(
        1, len(found), figsize=(5.5 * len(found), 4.2), layout="constrained", squeeze=False
    )
    X = pd.DataFrame(sample.X, columns=["$x_1$", "$x_2$"])
    for ax, (model, partition) in zip(axes.flat, found.items(), strict=True):
        plot.partition(partition, X, classes=sample.y + 1, ax=ax).set_title(NAMES[model])
    return figure
