"""Mixtures beside mclust, by turns on one core: ``python -m benchmarks.speed.mixture``.

mclust needs R with the package ``mclust``; without it only our own seconds are printed.  Both are
timed by turns, since the speed of a machine changes from minute to minute.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
import pandas as pd

from credpart import bootstrap, fit_mixture, select_mixture
from credpart.datasets import load_diabetes, load_gvhd, load_iris, make_mixture1
from credpart.mixture.optimisation.convergence import DEFAULT_TOLERANCE, MCLUST_TOLERANCE

DATA = {
    "iris": load_iris().X.to_numpy(),
    "diabetes": load_diabetes().X.to_numpy(),
    "gvhd-sample": load_gvhd(sample=True).X.to_numpy(),
    "gvhd": load_gvhd().X.to_numpy(),
    "mixture1": make_mixture1(300, random_state=1).X,
}
REFITS = {"gvhd-sample": (7, "VVV", 10), "iris": (3, "VEV", 4), "mixture1": (3, "EII", 2)}
SELECTIONS = ("iris", "diabetes", "gvhd-sample", "gvhd")


class Peer:
    """mclust in a process of its own, which works only when it is asked."""

    def __init__(self, folder):
        self.process = None
        if shutil.which("Rscript") is not None:
            for name, X in DATA.items():
                pd.DataFrame(X).to_csv(Path(folder) / f"{name}.csv", index=False)
            command = ["Rscript", str(Path(__file__).with_name("mclust.R")), folder]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(command, text=True, **pipes)
            print(f"Beside mclust {self.process.stdout.readline().strip()}, both on one core.\n")

    def seconds(self, request):
        """Its time for a request, or NaN if R is not there."""
        if self.process is None:
            return float("nan")
        print(request, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def by_turns(peer, request, tasks, turns, in_a_row=1):
    """Median seconds of the peer, and of each of our tasks."""
    ways = [lambda: peer.seconds(request), *(partial(seconds, task) for task in tasks)]
    times = [[] for _ in ways]
    for _ in range(turns):
        for way, found in zip(ways, times, strict=True):
            found += [way() for _ in range(in_a_row)]  # the first one finds cold caches
    return np.median(times, axis=1)


def seconds(task):
    began = perf_counter()
    task()
    return perf_counter() - began


def tolerance_of_mclust(X):
    """Our tolerance that asks for the same gain in log-likelihood as mclust's 1e-5.

    Both are relative to 1 + |loglik|; mclust's is in the units of the data, ours is not.
    """
    best = select_mixture(X, [2, 3], ["EEE", "VVV"], n_starts=1).best
    inside = best.loglik + len(X) * best.family.log_unit
    return MCLUST_TOLERANCE * (1.0 + abs(best.loglik)) / (1.0 + abs(inside))


def refits(peer):
    print("| refits of 1000 bootstrap samples | mclust, s | ours, s | ratio | wanted |", end="")
    print(" tight, s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, (c, model, factor) in REFITS.items():
        X = DATA[name]
        fit = fit_mixture(X, c, model)
        tasks = [
            partial(bootstrap, X, fit, 1000, random_state=0, tol=tol)
            for tol in (MCLUST_TOLERANCE, DEFAULT_TOLERANCE)
        ]
        turns = 1 if name == "gvhd-sample" else 5
        other, loose, tight = by_turns(peer, f"bootstrap {name} {c} {model}", tasks, turns)
        print(
            f"| {name}, {model}, c={c} | {other:.2f} | {loose:.3f} | {loose / other:.3f} "
            f"| {1 / factor:.2f} | {tight:.3f} | {tight / other:.3f} |"
        )


def selections(peer):
    print("| 14 structures, c = 1..9 | mclust, s | ours, s | ratio | tolerance |", end="")
    print(" at 1e-5, s | ratio | tight, s | ratio | 1 start, s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in SELECTIONS:
        X = DATA[name]
        stop = tolerance_of_mclust(X)
        ways = ((4, stop), (4, MCLUST_TOLERANCE), (4, DEFAULT_TOLERANCE), (1, stop))
        tasks = [partial(select_mixture, X, n_starts=starts, tol=tol) for starts, tol in ways]
        repeats = {"gvhd": (1, 1), "gvhd-sample": (3, 1)}.get(name, (15, 3))
        other, *ours = by_turns(peer, f"select {name}", tasks, *repeats)
        same, equal, tight, one = (f"{own:.2f} | {own / other:.2f}" for own in ours)
        shape = f"{len(X)} x {X.shape[1]}"
        print(
            f"| {name} ({shape}) | {other:.2f} | {same} | {stop:.1e} | {equal} | {tight} | {one} |"
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(folder)
        refits(peer)
        print()
        selections(peer)


if __name__ == "__main__":
    sys.exit(main())
