"""Mixtures beside mclust, in one run on one core: ``python -m benchmarks.speed.mixture``.

mclust needs R with the package ``mclust``; without it only our own seconds are printed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
import pandas as pd

from credpart import bootstrap, fit_mixture, select_mixture
from credpart.datasets import load_diabetes, load_gvhd, load_iris, make_mixture1
from credpart.mixture.covariance import NAMES
from credpart.mixture.em import DEFAULT_TOLERANCE, MCLUST_TOLERANCE, e_step, em, take

DATA = {
    "iris": load_iris().X.to_numpy(),
    "diabetes": load_diabetes().X.to_numpy(),
    "gvhd-sample": load_gvhd(sample=True).X.to_numpy(),
    "gvhd": load_gvhd().X.to_numpy(),
    "mixture1": make_mixture1(300, random_state=1).X,
}
REFITS = {"gvhd-sample": (7, "VVV", 10), "iris": (3, "VEV", 4), "mixture1": (3, "EII", 2)}
SELECTIONS = ("iris", "diabetes", "gvhd-sample", "gvhd")


def seconds(task, repeats=3):
    times = []
    for _ in range(repeats):
        began = perf_counter()
        task()
        times.append(perf_counter() - began)
    return median(times)


def peer():
    """Seconds of mclust by case, or nothing if R is not there."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        for name, X in DATA.items():
            pd.DataFrame(X).to_csv(Path(folder) / f"{name}.csv", index=False)
        script = Path(__file__).with_name("mclust.R")
        lines = subprocess.run(
            ["Rscript", str(script), folder], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    pairs = dict(line.split() for line in lines)
    print(f"Beside mclust {pairs.pop('version')}, both on one core.\n")
    return {case: float(value) for case, value in pairs.items()}


def tolerance_of_mclust(X):
    """Our tolerance that asks for the same gain in log-likelihood as mclust's 1e-5.

    Both are relative to 1 + |loglik|; mclust's is in the units of the data, ours is not.
    """
    best = select_mixture(X, [2, 3], ["EEE", "VVV"], n_starts=1).best
    inside = best.loglik + len(X) * best.family.log_unit
    return MCLUST_TOLERANCE * (1.0 + abs(best.loglik)) / (1.0 + abs(inside))


def iterations(name, memory):
    """Mean number of EM iterations of refits at the default tolerance."""
    c, model, _ = REFITS[name]
    X = DATA[name]
    fit = fit_mixture(X, c, model)
    rng = np.random.default_rng(0)
    weights = rng.multinomial(len(X), np.full(len(X), 1 / len(X)), size=100).astype(float)
    start = take(fit.internal, np.zeros(100, dtype=int))
    features = fit.family.features(X)
    statistics = e_step(fit.family, features, weights, start)[1]
    variant = np.full(100, NAMES.index(model))
    return em(
        fit.family, features, weights, statistics, variant, start, memory=memory
    ).n_iter.mean()


def main():
    theirs = peer()
    print("| refits of 1000 bootstrap samples | mclust, s | ours, s | ratio | wanted |", end="")
    print(" tight, s | ratio | iterations plain | accelerated |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (c, model, factor) in REFITS.items():
        X = DATA[name]
        fit = fit_mixture(X, c, model)
        refit = partial(bootstrap, X, fit, 1000, random_state=0)
        loose, tight = (
            seconds(partial(refit, tol=tol)) for tol in (MCLUST_TOLERANCE, DEFAULT_TOLERANCE)
        )
        other = theirs.get(f"bootstrap:{name}", float("nan"))
        print(
            f"| {name}, {model}, c={c} | {other:.2f} | {loose:.3f} | {loose / other:.3f} "
            f"| {1 / factor:.2f} | {tight:.3f} | {tight / other:.3f} "
            f"| {iterations(name, 0):.1f} | {iterations(name, 6):.1f} |"
        )
    print("\n| 14 structures, c = 1..9 | mclust, s | ours, s | ratio | tolerance |", end="")
    print(" at 1e-5, s | ratio | tight, s | ratio | 1 start, s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in SELECTIONS:
        X = DATA[name]
        stop = tolerance_of_mclust(X)
        ways = ((4, stop), (4, MCLUST_TOLERANCE), (4, DEFAULT_TOLERANCE), (1, stop))
        repeats = 1 if name == "gvhd" else 5
        same, equal, tight, one = (
            seconds(partial(select_mixture, X, n_starts=n_starts, tol=tol), repeats)
            for n_starts, tol in ways
        )
        other = theirs.get(f"select:{name}", float("nan"))
        print(
            f"| {name} ({len(X)} x {X.shape[1]}) | {other:.2f} | {same:.2f} | {same / other:.2f} "
            f"| {stop:.1e} | {equal:.2f} | {equal / other:.2f} | {tight:.2f} "
            f"| {tight / other:.2f} | {one:.2f} | {one / other:.2f} |"
        )


if __name__ == "__main__":
    sys.exit(main())
