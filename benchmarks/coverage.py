"""Coverage of the intervals on simulated data: ``python -m benchmarks.coverage [sets]``.

Mixtures 1-3 of the paper's Section 4.1, n = 300, B = 500, level .90, three clusters and all 14
structures: the structure chosen once, and again in each replicate.  "brute" is "each" with every
structure at the tight tolerance in every replicate.  Held out: half of the objects are new.
"""

import sys
import warnings
from statistics import mean, stdev
from time import perf_counter
from unittest.mock import patch

import numpy as np

from credpart import CalibratedClustering, EvidentialPartition, bootstrap, pairwise_intervals
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import pairwise_probabilities
from credpart.replicates import fitting, race

N, B, LEVEL = 300, 500, 0.9
MIXTURES = {"1 (EII)": make_mixture1, "2 (EEE)": make_mixture2, "3 (VVV)": make_mixture3}
NEW = (1_000, 10_000, 100_000)
ROUNDING = 1e-9


def fit(X, selection, seed):
    model = CalibratedClustering(
        3, selection=selection, n_replicates=B, level=LEVEL, random_state=seed, n_jobs=2
    )
    began = perf_counter()
    return model.fit(X), perf_counter() - began


def covers(lower, P, upper):
    return float(((lower - ROUNDING <= P) & (upper + ROUNDING >= P)).mean())


def judge(model, seconds, P):
    """Coverage and mean length of the intervals and of [Bel, Pl], and seconds."""
    belief, plausibility = model.partition_.pairwise_condensed()
    intervals = model.intervals_
    return {
        "CI": covers(intervals.lower, P, intervals.upper),
        "[Bel, Pl]": covers(belief, P, plausibility),
        "length CI": float(intervals.length.mean()),
        "length [Bel, Pl]": float((plausibility - belief).mean()),
        "seconds": seconds,
    }


def brute_force(model, X, P, seed):
    """What pruning loses: choices, bounds and coverage."""
    fits = [one for one in model.selection_.fits.values() if one.n_clusters == 3]
    with patch.object(fitting, "PILOT", B), patch.object(race, "MARGIN", np.inf):
        began = perf_counter()
        replicates = bootstrap(X, fits, B, random_state=seed, n_jobs=2)
        seconds = perf_counter() - began
    intervals = pairwise_intervals(replicates.posteriors(X), LEVEL, n_jobs=2)
    gaps = np.abs(intervals.lower - model.intervals_.lower)
    gaps += np.abs(intervals.upper - model.intervals_.upper)
    return {
        "other structure": float((replicates.models != model.replicates_.models).sum()),
        "change of a bound": float(gaps.mean() / 2.0),
        "CI": covers(intervals.lower, P, intervals.upper),
        "length CI": float(intervals.length.mean()),
        "seconds": seconds,
    }


def held_out(sample, full, seed):
    """Coverage of [Bel, Pl] between new and fitted objects, beside a fit of all."""
    half = N // 2
    model, _ = fit(sample.X[:half], "each", seed)
    masses = np.vstack([model.partition_.masses, model.predict_masses(sample.X[half:])])
    P = sample.posteriors[half:] @ sample.posteriors[:half].T
    blocks = {}
    for name, partition in {
        "new": EvidentialPartition(masses, model.partition_.focal_sets),
        "all": full.partition_,
    }.items():
        belief, plausibility = (side[half:, :half] for side in partition.pairwise())
        blocks[f"[Bel, Pl] {name}"] = covers(belief, P, plausibility)
        blocks[f"length {name}"] = float((plausibility - belief).mean())
    return blocks


def line(name, results):
    """Means over data sets, with standard errors."""
    cells = []
    for key in results[0]:
        values = [one[key] for one in results]
        error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        cells.append(f"{key} {mean(values):.3f} ({error:.3f})")
    print(f"- {name}: " + ", ".join(cells), flush=True)


def study(sets):
    for name, make in MIXTURES.items():
        table = {key: [] for key in ("once", "each", "brute", "held out")}
        for seed in range(sets):
            sample = make(N, random_state=seed)
            P = pairwise_probabilities(sample.posteriors)
            for selection in ("once", "each"):
                model, seconds = fit(sample.X, selection, seed)
                table[selection].append(judge(model, seconds, P))
            table["brute"].append(brute_force(model, sample.X, P, seed))
            table["held out"].append(held_out(sample, model, seed))
        print(f"\nMixture {name}, {sets} data sets, means (standard errors)\n")
        for key, results in table.items():
            line(key, results)


def new_objects():
    """Seconds for new objects against 300."""
    model, _ = fit(make_mixture1(N, random_state=0).X, "once", 0)
    print(f"\n| new objects against {N}, B = {B} | seconds | ms each |\n|---|---|---|")
    for m in NEW:
        X = make_mixture1(m, random_state=1).X
        began = perf_counter()
        model.predict_masses(X)
        seconds = perf_counter() - began
        print(f"| {m} | {seconds:.2f} | {1e3 * seconds / m:.3f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    study(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    new_objects()
