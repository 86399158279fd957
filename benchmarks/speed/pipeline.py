"""The whole pipeline as a multiple of a sort: ``python -m benchmarks.speed.pipeline``.

The unit is the time that NumPy takes, on one core and in the same run, to sort an array of
n (n - 1) / 2 x B doubles along its rows: what an exact quantile of every pair would cost at least.
Medians of five, of the library call without import, with two jobs.
"""

import os
import sys
import warnings
from statistics import median
from time import perf_counter

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from credpart import CalibratedClustering
from credpart.datasets import load_diabetes, load_gvhd, load_iris, make_mixture1
from credpart.focal import set_names
from credpart.mixture.optimisation.convergence import DEFAULT_TOLERANCE, MCLUST_TOLERANCE

B = 1000
REPEATS = 5
SLAB = 1000  # rows sorted at a time: the whole array would not fit in memory
CASES = {  # data, clusters, model, focal sets, wanted
    "Iris, VEV, c=3": (load_iris().X, 3, "VEV", "pairs", 8),
    "Diabetes, VVV, c=3": (load_diabetes().X, 3, "VVV", "pairs", 8),
    "Mixture 1, EII, n=300": (make_mixture1(300, random_state=0).X, 3, "EII", "pairs", 3),
    "Mixture 1, EII, n=600": (make_mixture1(600, random_state=0).X, 3, "EII", "pairs", 2),
    "GvHD, VVV, c=7, n=1000": (load_gvhd(sample=True).X, 7, "VVV", "overlapping", 2),
}
STAGES = ("select", "bootstrap", "intervals", "partition")


def sort_seconds(n):
    """Seconds to sort n (n - 1) / 2 rows of B uniform doubles."""
    values = np.random.default_rng(0).random((SLAB, B))
    slab, total = np.empty_like(values), 0.0
    rows = n * (n - 1) // 2
    for first in range(0, rows, SLAB):
        slab[:] = values
        part = slab[: rows - first]
        began = perf_counter()
        part.sort(axis=1)
        total += perf_counter() - began
    return total


def call_seconds(X, c, model, focal_sets, **options):
    """Seconds of a fit, by stage, and the fit."""
    began = perf_counter()
    fitted = CalibratedClustering(
        c, model=model, focal_sets=focal_sets, selection="once", n_replicates=B, **options
    ).fit(X)
    return {"total": perf_counter() - began, **fitted.timings_}, fitted


def main(n_jobs=2):
    warnings.simplefilter("ignore")
    print(f"B = {B}, {n_jobs} jobs, medians of {REPEATS}; stages in seconds.\n")
    stages = " | ".join(STAGES)
    print(f"| case | tolerance | sort, s | call, s | ratio | wanted | {stages} |")
    print("|---|---|---|---|---|---|" + "---|" * len(STAGES))
    for name, (X, c, model, focal_sets, wanted) in CASES.items():
        for tol in (MCLUST_TOLERANCE, DEFAULT_TOLERANCE):
            sorts, calls = [], []
            for seed in range(REPEATS):
                options = {"tol": tol, "random_state": seed, "n_jobs": n_jobs}
                sorts.append(sort_seconds(len(X)))
                seconds, fitted = call_seconds(X, c, model, focal_sets, **options)
                calls.append(seconds)
            unit = median(sorts)
            call, *parts = (median(one[key] for one in calls) for key in ("total", *STAGES))
            target = f"<= {wanted}" if tol == MCLUST_TOLERANCE else ""
            cells = " | ".join(f"{part:.3f}" for part in parts)
            line = f"{tol:g} | {unit:.3f} | {call:.3f} | {call / unit:.2f} | {target} | {cells}"
            print(f"| {name} | {line} |", flush=True)
    pairs = [name for name in set_names(fitted.partition_.focal_sets) if "," in name]
    print(f"\nGvHD: {len(pairs)} overlapping pairs, {', '.join(pairs)}; {fitted.replicates_}.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
