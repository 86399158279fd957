"""Coverage of [Bel, Pl] beside the intervals, ten clusters: ``python -m benchmarks.many_clusters``.

Ten spherical Gaussian clusters in three dimensions, with centres drawn at random, the model and the
number of clusters given, level .90.  All partitions of a data set are of the same intervals:
focal sets of several kinds, with the set of all clusters and without, and discounted.

``python -m benchmarks.many_clusters [file] [sets]``.  Each result is a line of the file as soon as
it is there, and what the file has is not run again.  0 sets prints the table alone.
"""

import sys
import warnings
from collections import defaultdict

import numpy as np

from benchmarks.coverage import Book, cell, covers
from credpart import CalibratedClustering
from credpart.intervals import pairwise_probabilities

C, D, B, LEVEL = 10, 3, 200, 0.9
SITUATIONS = {"n = 800, spread 2.5": (800, 2.5), "n = 400, spread 3": (400, 3.0)}
SETS = {
    "pairs": {"focal_sets": "pairs"},
    "pairs, Omega": {"focal_sets": "pairs", "omega": True},
    "overlapping": {"focal_sets": "overlapping"},
    "overlapping, Omega": {"focal_sets": "overlapping", "omega": True},
}
RATES = (0.0, 0.0001, 0.001, 0.01)


def sample(n, spread, seed):
    """Objects, and the true probabilities of their clusters."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(C, D))
    X = centres[rng.integers(C, size=n)] + rng.normal(size=(n, D))
    squares = np.square(X[:, None] - centres).sum(axis=2)
    density = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
    return X, density / density.sum(axis=1, keepdims=True)


def one_set(n, spread, seed):
    """Coverage and mean length of the intervals and of each partition, on one data set."""
    X, posteriors = sample(n, spread, seed)
    P = pairwise_probabilities(posteriors)
    options = {"selection": "once", "pairs": "all", "level": LEVEL, "n_jobs": 1}
    model = CalibratedClustering(C, model="EII", n_replicates=B, random_state=seed, **options)
    intervals = model.fit(X).intervals_
    found = {"intervals": judge(intervals.lower, P, intervals.upper)}
    for name, sets in SETS.items():
        partition = model.result_.refit_partition(**sets).partition
        for rate in RATES:
            there = partition.discount(rate) if rate else partition
            belief, plausibility = there.pairwise_condensed()
            label = f"{name}, discounted by {rate:g}" if rate else name
            found[label] = judge(belief, P, plausibility)
    return found


def judge(lower, P, upper):
    missed = np.maximum(np.maximum(lower - P, P - upper), 0.0)
    return {
        "coverage": covers(lower, P, upper),
        "missed by more than .01": float((missed > 0.01).mean()),
        "length": float((upper - lower).mean()),
    }


def print_table(results):
    """Means over data sets with standard errors, a row for each partition."""
    columns = ("coverage", "missed by more than .01", "length")
    print("| situation | partition | sets | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 3) + "|")
    rows = defaultdict(list)
    for (situation, _), found in results.items():
        for label, figures in found.items():
            rows[situation, label].append(figures)
    for (situation, label), found in rows.items():
        cells = (cell([one[column] for one in found]) for column in columns)
        print(f"| {situation} | {label} | {len(found)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    book = Book(sys.argv[1] if len(sys.argv) > 1 else "many_clusters.jsonl")
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 5):
        for situation, (n, spread) in SITUATIONS.items():
            book.once((situation, seed), one_set, n, spread, seed)
    print_table(book.results)
