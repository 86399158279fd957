"""ECM beside Python evclust, and the cost of k-EVCLUS: ``python -m benchmarks.speed.evidential``.

evclust 0.2.1 is installed from the package index into a virtual environment of its own, which is
thrown away; without an index only our own seconds are printed.  All on one core.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from time import perf_counter, process_time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from credpart import ECM, EVCLUS
from credpart.metrics import adjusted_rand

CORNERS = 4.0 * np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
SIZES = (1250, 2500, 5000, 10_000, 20_000)

THEIRS = """
import json, sys, time
import numpy as np
from evclust.ecm import ecm
X = np.load(sys.argv[1])
best = float("inf")
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    found = ecm(X, c=4, type="full", delta=10, disp=False)
    best = min(best, time.perf_counter() - began)
print(json.dumps({"seconds": best, "centers": np.asarray(found["g"]).tolist()}))
"""


def four_clusters(n):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=n)
    return CORNERS[y] + rng.standard_normal((n, 2)), y


def evclust_ecm(X, repeats):
    """Seconds of evclust's ecm, the best of some, and its centres."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", "evclust==0.2.1"]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        np.save(Path(folder) / "X.npy", X)
        script = [python, "-c", THEIRS, Path(folder) / "X.npy", str(repeats)]
        run = subprocess.run(script, check=True, capture_output=True, text=True)
    found = json.loads(run.stdout.splitlines()[-1])
    return found["seconds"], np.array(found["centers"])


def our_ecm(X, repeats, **options):
    best = np.inf
    for _ in range(repeats):
        began = perf_counter()
        model = ECM(4, focal_sets="full", delta=10, random_state=0, **options).fit(X)
        best = min(best, perf_counter() - began)
    return best, model


def ecm():
    X, _ = four_clusters(1000)
    print("ECM, n = 1000, c = 4, full focal sets, k-means start\n")
    print("| program | stops when the criterion falls by | seconds | ratio |\n|---|---|---|---|")
    tight, model = our_ecm(X, 10)
    loose, _ = our_ecm(X, 10, tol=1e-3 / model.objective_)
    try:
        theirs, centers = evclust_ecm(X, 3)
    except subprocess.CalledProcessError as error:
        print(f"evclust could not be run: {error}", file=sys.stderr)
        theirs, centers = np.nan, model.centers_
    print(f"| evclust 0.2.1 | 1e-3 | {theirs:.3f} | 1 |")
    print(f"| credpart | 1e-3 | {loose:.4f} | {theirs / loose:.0f} |")
    print(f"| credpart (default) | 2e-12 of it | {tight:.4f} | {theirs / tight:.0f} |")
    gaps = np.abs(centers[:, None] - model.centers_).max(axis=2).min(axis=1)
    print(f"\nCentres differ by at most {gaps.max():.4f}.")


def k_evclus():
    print("\nk-EVCLUS, k = 100, c = 4, singletons, pairs, the empty set and Omega\n")
    print("| n | seconds | of the processor | sweeps | microseconds an object and sweep | ARI |")
    print("|---|---|---|---|---|---|")
    for n in SIZES:
        X, y = four_clusters(n)
        began, began_cpu = perf_counter(), process_time()
        model = EVCLUS(4, n_neighbors=100, random_state=0).fit(X)
        seconds, cpu = perf_counter() - began, process_time() - began_cpu
        sweeps, ari = len(model.history_), adjusted_rand(model.partition_, y)
        unit = 1e6 * cpu / (n * sweeps)
        print(
            f"| {n} | {seconds:.1f} | {cpu:.1f} | {sweeps} | {unit:.1f} | {ari:.3f} |", flush=True
        )


if __name__ == "__main__":
    ecm()
    k_evclus()
