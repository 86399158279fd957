"""Coverage and length of intervals by method: ``python -m benchmarks.methods [file] [sets] [png]``.

Mixtures 1-3 of the paper's Section 4.1 with n = 50, 100, 300 and 1000 objects, the model and the
number of clusters given, level .90.  All methods are made of the same replicates.  The coverage of
"simultaneous" is the share of pairs, as that of the others, and beside it the share of data sets
whose pairs are all covered.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
0 sets prints the table alone.  A picture of the table is drawn if its file is given.
"""

import sys
import warnings
from collections import defaultdict

import numpy as np

from benchmarks.coverage import Book, cell, covers
from credpart import bootstrap, fit_mixture, pairwise_intervals
from credpart._bootstrap.influence import find_influence
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import METHODS, pairwise_probabilities
from credpart.mixture.distinct import distinct

B, LEVEL, SIZES = 500, 0.9, (50, 100, 300, 1000)
JUDGED = 300  # objects whose pairs are judged, at most
MIXTURES = {"EII": make_mixture1, "EEE": make_mixture2, "VVV": make_mixture3}


def one_set(model, make, n, seed):
    """Coverage and mean length of each method on one data set."""
    sample = make(n, random_state=seed)
    fit = fit_mixture(sample.X, 3, model)
    replicates = bootstrap(sample.X, fit, B, random_state=seed, n_jobs=1)
    judged = sample.X[:JUDGED]
    posteriors, estimate = replicates.posteriors(judged), fit.posteriors(judged)
    influence = find_influence(fit, distinct(sample.X, np.ones(n)), None, seed)
    moves = None if influence is None else influence.on(judged)
    P, found = pairwise_probabilities(sample.posteriors[:JUDGED]), {}
    for method in METHODS:
        intervals = pairwise_intervals(
            posteriors, LEVEL, method=method, estimate=estimate, influence=moves, n_jobs=1
        )
        share = covers(intervals.lower, P, intervals.upper)
        found[method] = {
            "coverage": share,
            "length": float(intervals.length.mean()),
            "all pairs": float(share == 1.0),
        }
    return found


def print_table(results):
    """Means over data sets with standard errors, a row for each method."""
    columns = ("coverage", "length", "all pairs")
    print("| Mixture | n | method | sets | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 4) + "|")
    rows = defaultdict(list)
    for (model, n, _), found in results.items():
        for method, figures in found.items():
            rows[model, n, method].append(figures)
    for (model, n, method), found in sorted(
        rows.items(), key=lambda row: (*map([*MIXTURES].index, row[0][:1]), row[0][1])
    ):
        cells = (cell([one[column] for one in found]) for column in columns)
        print(f"| {model} | {n} | {method} | {len(found)} | " + " | ".join(cells) + " |")


def draw_figure(results, path):
    """Coverage over n, one panel for each mixture; bars are two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
    for axes, model, number in zip(panels, MIXTURES, "123", strict=True):
        for k, method in enumerate(METHODS):
            values = [
                [
                    found[method]["coverage"]
                    for key, found in results.items()
                    if key[:2] == (model, n)
                ]
                for n in SIZES
            ]
            places = np.array(SIZES) * 1.07 ** (k - 2)  # side by side
            errors = [2.0 * np.std(of, ddof=1) / len(of) ** 0.5 for of in values]
            means = [np.mean(of) for of in values]
            axes.errorbar(places, means, errors, marker="osD^v"[k], ms=4, lw=1, label=method)
        axes.axhline(LEVEL, color="0.5", lw=1, ls="--")
        axes.set(title=f"Mixture {number} ({model})", xscale="log", xlabel="objects, n")
        axes.set_xticks(SIZES, [f"{n}" for n in SIZES])
        axes.minorticks_off()
    panels[0].set_ylabel("share of pairs covered")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def study(book, sets):
    for seed in range(sets):
        for model, make in MIXTURES.items():
            for n in SIZES:
                book.once((model, n, seed), one_set, model, make, n, seed)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    book = Book(sys.argv[1] if len(sys.argv) > 1 else "methods.jsonl")
    study(book, int(sys.argv[2]) if len(sys.argv) > 2 else 50)
    print_table(book.results)
    if len(sys.argv) > 3:
        draw_figure(book.results, sys.argv[3])
