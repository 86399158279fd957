"""Intervals beside those of another checkout: ``python -m benchmarks.speed.intervals DIR``.

`pairwise_intervals` of both reads the same posteriors of 1000 replicates, by turns and on one core.
Medians of processor time, which other work on the machine changes little.  ``DIR`` is the root of
the other checkout, for instance one made by ``git worktree add DIR 40e4dff``.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from credpart import bootstrap, fit_mixture
from credpart.datasets import load_gvhd, load_iris, make_mixture1

B = 1000
TURNS = 5
ROOT = Path(__file__).parents[2]
CASES = {  # data, clusters, model
    "Iris, VEV, c=3": (load_iris().X.to_numpy(), 3, "VEV"),
    "Mixture 1, EII, n=300": (make_mixture1(300, random_state=0).X, 3, "EII"),
    "Mixture 1, EII, n=600": (make_mixture1(600, random_state=0).X, 3, "EII"),
    "GvHD, VVV, c=7, n=500": (load_gvhd(sample=True).X.to_numpy()[:500], 7, "VVV"),
}
# Reads paths of posteriors and answers each by the processor time that their intervals took.
ANSWER = """
import sys, time
import numpy as np
from credpart import pairwise_intervals

for line in sys.stdin:
    posteriors = np.load(line.strip())
    began = time.process_time()
    pairwise_intervals(posteriors, n_jobs=1)
    print(time.process_time() - began, flush=True)
"""


class Program:
    """`pairwise_intervals` of a checkout, in a process of its own that works when it is asked."""

    def __init__(self, checkout):
        command = [sys.executable, "-c", ANSWER]
        environment = os.environ | {"PYTHONPATH": str(Path(checkout) / "src")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, env=environment, **pipes)

    def seconds(self, path):
        """Its processor time for the posteriors in a file."""
        print(path, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def main(other):
    warnings.simplefilter("ignore")
    programs = Program(other), Program(ROOT)
    print("| case | other checkout, s | this one, s | ratio |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posteriors.npy"
        for name, (X, c, model) in CASES.items():
            replicates = bootstrap(X, fit_mixture(X, c, model), B, random_state=0)
            np.save(path, replicates.posteriors(X))
            turns = [[program.seconds(path) for program in programs] for _ in range(TURNS + 1)]
            theirs, ours = (median(times[1:]) for times in zip(*turns, strict=True))
            print(f"| {name} | {theirs:.3f} | {ours:.3f} | {ours / theirs:.3f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
