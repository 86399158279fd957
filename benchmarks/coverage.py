"""Coverage of the intervals on simulated data: ``python -m benchmarks.coverage [file] [sets]``.

Mixtures 1-3 of the paper's Section 4.1, n = 300, B = 500, level .90, three clusters and all 14
structures: the structure chosen once, and again in each replicate.  "brute" is "each" with every
structure at the tight tolerance in every replicate, on the first data sets only.  Held out: half
of the objects are new.  Trained: the fitted objects, as if they were new.

Each result is a line of the file as soon as it is there, and what the file has is not run again:
a run that was stopped goes on, and can be read meanwhile.  0 sets prints the tables alone.
"""

import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from time import process_time
from unittest.mock import patch

import numpy as np

from credpart import CalibratedClustering, EvidentialPartition, bootstrap, pairwise_intervals
from credpart._bootstrap import algorithm1, refits
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import pairwise_probabilities

N, B, LEVEL = 300, 500, 0.9
MIXTURES = {"1 (EII)": make_mixture1, "2 (EEE)": make_mixture2, "3 (VVV)": make_mixture3}
BRUTE_SETS = 2
NEW = (1_000, 10_000, 100_000)
ROUNDING = 1e-9


def fit(X, selection, seed):
    model = CalibratedClustering(
        3, selection=selection, n_replicates=B, level=LEVEL, random_state=seed, n_jobs=1
    )
    return model.fit(X)


def covers(lower, P, upper):
    return float(((lower - ROUNDING <= P) & (upper + ROUNDING >= P)).mean())


def judge(model, P):
    """Coverage and mean length of the intervals and of [Bel, Pl]."""
    belief, plausibility = model.partition_.pairwise_condensed()
    intervals = model.intervals_
    return {
        "CI": covers(intervals.lower, P, intervals.upper),
        "[Bel, Pl]": covers(belief, P, plausibility),
        "length CI": float(intervals.length.mean()),
        "length [Bel, Pl]": float((plausibility - belief).mean()),
    }


def brute_force(model, X, P, seed):
    """What pruning loses: choices, bounds and coverage."""
    best = model.mixture_
    fits = [best, *(one for one in model.selection_.fits.values() if one is not best)]
    with patch.object(algorithm1, "PILOTS", ()), patch.object(refits, "ALLOWANCE", np.inf):
        began = process_time()
        replicates = bootstrap(X, fits, B, random_state=seed, n_jobs=1)
        seconds = process_time() - began
    intervals = pairwise_intervals(replicates.posteriors(X), LEVEL)
    gaps = np.abs(intervals.lower - model.intervals_.lower)
    gaps += np.abs(intervals.upper - model.intervals_.upper)
    return {
        "other structure": float((replicates.models != model.replicates_.models).sum()),
        "change of a bound": float(gaps.mean() / 2.0),
        "CI": covers(intervals.lower, P, intervals.upper),
        "CI pruned": covers(model.intervals_.lower, P, model.intervals_.upper),
        "s bootstrap": seconds,
        "s pruned": model.timings_["bootstrap"],
    }


def trained(model, X):
    """How far the masses of fitted objects are from those they get as new ones."""
    masses, again = model.partition_.masses, model.predict_masses(X)
    new = EvidentialPartition(again, model.partition_.focal_sets)
    return {
        "mean gap": float(np.abs(masses - again).mean()),
        "largest gap": float(np.abs(masses - again).max()),
        "same label": float((new.labels == model.labels_).mean()),
    }


def held_out(sample, full, seed):
    """Coverage of [Bel, Pl] between new and fitted objects, beside a fit of all."""
    half = N // 2
    model = fit(sample.X[:half], "each", seed)
    masses = np.vstack([model.partition_.masses, model.predict_masses(sample.X[half:])])
    P = sample.posteriors[half:] @ sample.posteriors[:half].T
    old = pairwise_probabilities(sample.posteriors[:half])
    belief, plausibility = model.partition_.pairwise_condensed()
    blocks = {"[Bel, Pl] old": covers(belief, old, plausibility)}
    for name, partition in {
        "new": EvidentialPartition(masses, model.partition_.focal_sets),
        "all": full.partition_,
    }.items():
        belief, plausibility = (side[half:, :half] for side in partition.pairwise())
        blocks[f"[Bel, Pl] {name}"] = covers(belief, P, plausibility)
        blocks[f"length {name}"] = float((plausibility - belief).mean())
    return blocks


class Book:
    """Results by mixture, data set and kind, kept in a file of JSON lines."""

    def __init__(self, path):
        self.path, self.results = Path(path), {}
        if self.path.exists():
            for entry in map(json.loads, self.path.read_text().splitlines()):
                self.results[tuple(entry["key"])] = entry["result"]

    def once(self, key, make, *arguments):
        """Do what has not been done."""
        if key not in self.results:
            self.results[key] = make(*arguments)
            with self.path.open("a") as lines:
                lines.write(json.dumps({"key": key, "result": self.results[key]}) + "\n")

    def print_tables(self):
        """Means over data sets, with standard errors."""
        tables = defaultdict(list)
        for (name, _, kind), result in self.results.items():
            tables[kind, name].append(result)
        for kind in dict.fromkeys(kind for kind, _ in tables):
            columns = list(next(rows[0] for (k, _), rows in tables.items() if k == kind))
            print(f"\n| {kind}: Mixture | sets | " + " | ".join(columns) + " |")
            print("|---" * (len(columns) + 2) + "|")
            for (k, name), rows in tables.items():
                if k == kind:
                    cells = (cell([row[column] for row in rows]) for column in columns)
                    print(f"| {name} | {len(rows)} | " + " | ".join(cells) + " |")


def cell(values):
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{mean(values):.3g} ({stdev(values) / len(values) ** 0.5:.2g})"


def study(book, sets):
    """All results, data set by data set, so that a part of them is a smaller study."""
    for seed in range(sets):
        for name, make in MIXTURES.items():
            kinds = ["once", "each", "trained", "held out", *["brute"] * (seed < BRUTE_SETS)]
            if not all((name, seed, kind) in book.results for kind in kinds):
                one_set(book, name, make(N, random_state=seed), seed)


def one_set(book, name, sample, seed):
    P = pairwise_probabilities(sample.posteriors)
    book.once((name, seed, "once"), lambda: judge(fit(sample.X, "once", seed), P))
    model = fit(sample.X, "each", seed)
    book.once((name, seed, "each"), judge, model, P)
    book.once((name, seed, "trained"), trained, model, sample.X)
    book.once((name, seed, "held out"), held_out, sample, model, seed)
    if seed < BRUTE_SETS:
        book.once((name, seed, "brute"), brute_force, model, sample.X, P, seed)


def costs():
    """Seconds of one core for a fit of 300 objects."""
    print(f"\n| {N} objects, B = {B}: Mixture | once, s | each, s | ratio |\n|---|---|---|---|")
    for name, make in MIXTURES.items():
        began = process_time()
        X = make(N, random_state=0).X
        fit(X, "once", 0)
        once = process_time() - began
        fit(X, "each", 0)
        each = process_time() - began - once
        print(f"| {name} | {once:.2f} | {each:.2f} | {each / once:.1f} |", flush=True)


def new_objects():
    """Seconds of one core for new objects against 300."""
    model = fit(make_mixture1(N, random_state=0).X, "once", 0)
    print(f"\n| new objects against {N}, B = {B} | seconds | ms each |\n|---|---|---|")
    for m in NEW:
        X = make_mixture1(m, random_state=1).X
        began = process_time()
        model.predict_masses(X)
        seconds = process_time() - began
        print(f"| {m} | {seconds:.2f} | {1e3 * seconds / m:.3f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    book = Book(sys.argv[1] if len(sys.argv) > 1 else "coverage.jsonl")
    study(book, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    book.print_tables()
    costs()
    new_objects()
