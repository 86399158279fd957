"""Landmarks beside all pairs, and predictions with landmarks beside those with all fitted objects.

    python -m benchmarks.landmarks --objects 10000 --replicates 1000 mixture1 gvhd

Times are ratios within one run; J is that over all pairs.
"""

import argparse
import time

import numpy as np

from credpart import CalibratedClustering, fit_mixture
from credpart.datasets import load_gvhd, make_mixture1, make_mixture2, make_mixture3
from credpart.pairs import SampledObjects, estimated_objective, pairs_of


def gvhd(n, random_state):
    """Objects drawn from a fit of seven clusters to the sample of GvHD."""
    fit = fit_mixture(load_gvhd(sample=True).X.to_numpy(), 7, "VVV")
    return fit.sample(n, random_state=random_state)[0]


CASES = {
    "mixture1": (lambda n, seed: make_mixture1(n, random_state=seed).X, 3, "EII"),
    "mixture2": (lambda n, seed: make_mixture2(n, random_state=seed).X, 3, "EEE"),
    "mixture3": (lambda n, seed: make_mixture3(n, random_state=seed).X, 3, "VVV"),
    "gvhd": (gvhd, 7, "VVV"),
}


def compare(name, n, B):
    """One fit of each kind: ratio of the stages that look at pairs, and what is given up."""
    draw, c, model = CASES[name]
    X, fits = draw(n, 11), {}
    for pairs in (pairs_of("auto", n, c).n_landmarks, "all"):
        estimator = CalibratedClustering(
            c, model=model, n_replicates=B, pairs=pairs, random_state=0, n_jobs=2
        )
        fits[pairs == "all"] = estimator.fit(X)
    fast, exact = fits[False], fits[True]
    seconds = [fit.timings_["intervals"] + fit.timings_["partition"] for fit in (fast, exact)]
    everyone, ones = SampledObjects(np.arange(n), np.ones(n)), np.ones(n)
    J = estimated_objective(exact.intervals_, fast.partition_, everyone, ones)
    moved = 0.5 * np.abs(fast.partition_.masses - exact.partition_.masses).sum(axis=1)
    same = fast.partition_.masses.argmax(axis=1) == exact.partition_.masses.argmax(axis=1)
    print(
        f"| {name} | {n} | {len(fast.result_.landmarks.weights)} | {seconds[0] / seconds[1]:.3f} "
        f"| {same.mean():.4f} | {J / exact.objective_:.4f} | {moved.mean():.4f} "
        f"| {moved.max():.3f} | {fast.objective_ / J:.3f} |",
        flush=True,
    )


def predict(n_new, B):
    """New objects against 300 fitted ones."""
    X, new = make_mixture1(300, random_state=1).X, make_mixture1(n_new, random_state=2).X
    masses, seconds = [], []
    for pairs in ("auto", "all"):
        model = CalibratedClustering(3, model="EII", n_replicates=B, pairs=pairs, random_state=0)
        model.fit(X)
        start = time.perf_counter()
        masses.append(model.predict_masses(new))
        seconds.append(time.perf_counter() - start)
    moved = 0.5 * np.abs(masses[0] - masses[1]).sum(axis=1)
    print(
        f"\n{n_new} new objects, 300 fitted: time with landmarks / with all "
        f"{seconds[0] / seconds[1]:.3f}, "
        f"masses move by {moved.mean():.4f} (at most {moved.max():.3f})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--new", type=int, default=100_000)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    print(
        "| case | n | landmarks | time / all pairs | same set | J / all pairs | moved | most "
        "| estimated J / J |\n|---|---|---|---|---|---|---|---|---|"
    )
    for case in options.cases:
        compare(case, options.objects, options.replicates)
    predict(options.new, options.replicates)
