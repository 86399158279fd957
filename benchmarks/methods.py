"""Coverage and length of intervals by method: ``python -m benchmarks.methods [file] [sets]``.

Mixtures 1-3 of the paper's Section 4.1 with n = 50, 100 and 300 objects, the model and the number
of clusters given, level .90.  All methods are made of the same replicates.  The coverage of
"simultaneous" is the share of pairs, as that of the others, and beside it the share of data sets
whose pairs are all covered.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
0 sets prints the table alone.
"""

import sys
import warnings
from collections import defaultdict

from benchmarks.coverage import Book, cell, covers
from credpart import CalibratedClustering
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import METHODS, pairwise_probabilities

B, LEVEL, SIZES = 500, 0.9, (50, 100, 300)
MIXTURES = {"EII": make_mixture1, "EEE": make_mixture2, "VVV": make_mixture3}


def one_set(model, make, n, seed):
    """Coverage and mean length of each method on one data set."""
    sample = make(n, random_state=seed)
    P = pairwise_probabilities(sample.posteriors)
    fit = CalibratedClustering(
        3,
        model=model,
        n_replicates=B,
        level=LEVEL,
        focal_sets="singletons",
        random_state=seed,
        n_jobs=1,
    ).fit(sample.X)
    found = {}
    for method in METHODS:
        intervals = fit.intervals(method=method)
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
