"""Coverage of [Bel, Pl] beyond Gaussian data: ``python -m benchmarks.families [sets] [which]``.

Three skew t components as in the paper (n = 300, B = 500, 90 %), under a Gaussian mixture (EVV,
the paper's choice), mixtures of t and of skew t distributions, and a selection among these by BIC
in each replicate.  And latent classes on a simulated survey (n = 500 and 1000, B = 500).
"""

import sys
import warnings
from statistics import mean, stdev
from time import process_time

import numpy as np
from scipy.optimize import linear_sum_assignment

from credpart import CalibratedClustering
from credpart.datasets import make_skew_t, make_survey
from credpart.diagnostics import henze_zirkler

B, LEVEL, ROUNDING = 500, 0.9, 1e-9
SKEWED = {
    "EVV": "EVV",
    "t": "t",
    "skew-t": "skew-t",
    "selection": ("EVV", "VVV", "t", "skew-t-EEE", "skew-t"),
}


def covers(lower, P, upper):
    return float(((lower - ROUNDING <= P) & (upper + ROUNDING >= P)).mean())


def line(name, results):
    """Means over data sets, with standard errors."""
    cells = []
    for key in results[0]:
        values = [one[key] for one in results]
        error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        cells.append(f"{key} {mean(values):.3f} ({error:.3f})")
    print(f"- {name}: " + ", ".join(cells), flush=True)


def judge(sample, model, n_clusters, seed):
    """Coverage and mean length of the intervals and of [Bel, Pl], errors, seconds."""
    began = process_time()
    found = CalibratedClustering(
        n_clusters, model=model, n_replicates=B, level=LEVEL, random_state=seed
    ).fit(sample.X)
    seconds = process_time() - began
    belief, plausibility = found.partition_.pairwise_condensed()
    P, intervals = sample.pairwise, found.intervals_
    errors = min_errors(found.labels_, sample.y)
    return found, {
        "[Bel, Pl]": covers(belief, P, plausibility),
        "CI": covers(intervals.lower, P, intervals.upper),
        "length [Bel, Pl]": float((plausibility - belief).mean()),
        "errors": float(errors),
        "CPU seconds": seconds,
    }


def min_errors(labels, truth):
    """Objects out of place under the best matching of clusters."""
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels, truth), 1.0)
    return len(labels) - table[linear_sum_assignment(-table)].sum()


def skewed(sets):
    results = {name: [] for name in SKEWED}
    chosen, rejected = {}, []
    for seed in range(sets):
        sample = make_skew_t(300, random_state=seed)
        for name, model in SKEWED.items():
            found, row = judge(sample, model, 3, seed)
            results[name].append(row)
            if name == "EVV":
                tests = [henze_zirkler(sample.X[found.labels_ == k]).p_value for k in range(3)]
                rejected.append(sum(p < 0.05 for p in tests))
            if name == "selection":
                best = found.mixture_.model
                chosen[best] = chosen.get(best, 0) + 1
        if (seed + 1) % 5 == 0 or seed + 1 == sets:
            print(f"\nSkew t data, {seed + 1} data sets, means (standard errors)\n")
            for name, rows in results.items():
                line(name, rows)
            print(
                f"- selection chose {chosen}; clusters under EVV that Henze-Zirkler rejects "
                f"at .05, by data set: {rejected}",
                flush=True,
            )


def survey(sets):
    print(f"\nSurvey, {sets} data sets, means (standard errors)\n")
    for n, missing in ((500, 0.0), (500, 0.1), (1000, 0.0), (1000, 0.1)):
        rows = []
        for seed in range(sets):
            sample = make_survey(n, random_state=seed, missing=missing)
            rows.append(judge(sample, "latent-class", 3, seed)[1])
        line(f"latent-class, n = {n}, {missing:.0%} missing", rows)


STUDIES = {"skewed": (skewed, 30), "survey": (survey, 20)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    which = sys.argv[2:] or list(STUDIES)
    for name in which:
        study, usual = STUDIES[name]
        study(int(sys.argv[1]) if len(sys.argv) > 1 else usual)
