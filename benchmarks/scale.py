"""Time and memory against n: ``python -m benchmarks.scale [n ...]``.

Objects are drawn from a fit of GvHD, seven components in four columns.  Beside each other, in one
run: `CalibratedClustering` in memory with 1000 replicates, one fit of scikit-learn's
`GaussianMixture` to the same rows, and `cluster_dataset` on ten Parquet files.  Each runs in a
process of its own, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

SIZES = (10_000, 100_000, 1_000_000)
C, B, N_FILES = 7, 1000, 10


def draw(n):
    """Rows of a mixture like that of GvHD."""
    from credpart import fit_mixture
    from credpart.datasets import load_gvhd

    fit = fit_mixture(load_gvhd(sample=True).X, C, "VVV", tol=1e-6)
    return fit.sample(n, 1)[0]


def peak():
    """Megabytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def in_memory(X):
    """The stages of a fit in memory."""
    from credpart import CalibratedClustering

    return CalibratedClustering(C, model="VVV", n_replicates=B, random_state=0).fit(X).timings_


def scikit_learn(X):
    """One fit of a mixture, without any replicate."""
    from sklearn.mixture import GaussianMixture

    GaussianMixture(C, tol=1e-5, max_iter=200, random_state=0).fit(X)
    return {}


def partitions(X):
    """The stages of a fit of ten Parquet files."""
    import numpy as np
    import pandas as pd

    from credpart import cluster_dataset

    with tempfile.TemporaryDirectory() as folder:
        for i, rows in enumerate(np.array_split(X, N_FILES)):
            pd.DataFrame(rows, columns=list("abcd")).to_parquet(Path(folder, f"{i}.parquet"))
        found = cluster_dataset(
            folder, Path(folder, "out"), C, model="VVV", n_replicates=B, random_state=0
        )
        return dict(found.summary["timings"])


METHODS = {"in memory": in_memory, "scikit-learn": scikit_learn, "partitions": partitions}


def measure(method, path):
    """Run one method; print what it took."""
    import numpy as np

    warnings.simplefilter("ignore")
    X = np.load(path)
    METHODS[method](X[:2000])  # all that is loaded on first use counts as import
    before, began = peak(), perf_counter()
    timings = METHODS[method](X)
    seconds = perf_counter() - began
    print(json.dumps({"seconds": seconds, "memory": peak() - before, "timings": timings}))


def main(sizes):
    import numpy as np

    print("| n | method | seconds | times scikit-learn | peak over the data, MB | stages |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder, f"{n}.npy")
            np.save(path, draw(n))
            found = {}
            for method in METHODS:
                command = [sys.executable, "-m", "benchmarks.scale", "--measure", method, str(path)]
                output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found[method] = json.loads(output)
            for method, one in found.items():
                ratio = one["seconds"] / found["scikit-learn"]["seconds"]
                stages = ", ".join(f"{name} {s:.1f}" for name, s in one["timings"].items())
                print(
                    f"| {n} | {method} | {one['seconds']:.1f} | {ratio:.1f} | "
                    f"{one['memory']:.0f} | {stages} |",
                    flush=True,
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3])
    else:
        main([int(n) for n in sys.argv[1:]] or SIZES)
