"""Coverage of [Bel, Pl] beside the intervals: ``python -m benchmarks.many_clusters``.

Three, six and ten spherical Gaussian clusters with centres drawn at random, the model and the
number of clusters given, level .90.  All partitions of a data set are of the same intervals: with
the set of all clusters and without, weakened by a constant amount, and weakened until [Bel, Pl]
holds as many of the replicates as the intervals do.  The rule was found on seeds 100 to 201.

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

B, LEVEL, FIRST = 200, 0.9, 1000  # the seed of the first data set
SITUATIONS = {  # objects, clusters, dimensions, spread of the centres
    "c = 10, n = 800": (800, 10, 3, 2.5),
    "c = 10, n = 400": (400, 10, 3, 3.0),
    "c = 6, n = 400": (400, 6, 3, 2.5),
    "c = 3, n = 300": (300, 3, 2, 2.0),
}
PARTITIONS = {
    "pairs": {},
    "pairs, Omega": {"omega": True},
    "overlapping, Omega": {"focal_sets": "overlapping", "omega": True},
    "pairs, weakened as the replicates ask": {"weaken": True},
}
AMOUNTS = (0.0001, 0.001)


def sample(n, c, d, spread, seed):
    """Objects, and the true probabilities of their clusters."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(c, d))
    X = centres[rng.integers(c, size=n)] + rng.normal(size=(n, d))
    squares = np.square(X[:, None] - centres).sum(axis=2)
    density = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
    return X, density / density.sum(axis=1, keepdims=True)


def one_set(situation, seed):
    """Coverage and mean length of the intervals and of each partition, on one data set."""
    X, posteriors = sample(*situation, seed)
    P = pairwise_probabilities(posteriors)
    options = {"selection": "once", "pairs": "all", "level": LEVEL, "n_jobs": 1}
    model = CalibratedClustering(
        situation[1], model="EII", n_replicates=B, random_state=seed, **options
    ).fit(X)
    intervals = model.intervals_
    found = {"intervals": judge(intervals.lower, P, intervals.upper)}
    for name, changes in PARTITIONS.items():
        result = model.result_.refit_partition(**changes)
        belief, plausibility = result.partition.pairwise_condensed()
        found[name] = judge(belief, P, plausibility) | {"amount": result.weakening}
    for amount in AMOUNTS:
        belief, plausibility = model.partition_.weaken(amount).pairwise_condensed()
        found[f"pairs, weakened by {amount:g}"] = judge(belief, P, plausibility)
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
    for seed in range(FIRST, FIRST + (int(sys.argv[2]) if len(sys.argv) > 2 else 20)):
        for name, situation in SITUATIONS.items():
            book.once((name, seed), one_set, situation, seed)
    print_table(book.results)
