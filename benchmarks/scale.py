"""Time and memory against n: ``python -m benchmarks.scale [n ...] [--chosen]``.

Objects are drawn from a fit of GvHD, seven components in four columns.  Beside each other, in one
run: `CalibratedClustering` in memory with 1000 replicates, one fit of scikit-learn's
`GaussianMixture` to the same rows, and `cluster_dataset` on ten Parquet files; with ``--chosen``,
`CalibratedClustering` that chooses among all models and 5 to 9 clusters too.  Each runs in a
process of its own, so that its peak memory is its own, with two jobs.

``python -m benchmarks.scale --draw TABLE PICTURE`` draws a table that was printed before.
"""

import json
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

SIZES = (10_000, 100_000, 1_000_000, 4_000_000)
C, B, N_FILES, JOBS = 7, 1000, 10, 2


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

    model = CalibratedClustering(C, model="VVV", n_replicates=B, random_state=0, n_jobs=JOBS)
    return model.fit(X).timings_


def chosen(X):
    """The stages of a fit that chooses its model and its number of clusters."""
    from credpart import CalibratedClustering

    model = CalibratedClustering(range(5, 10), n_replicates=B, random_state=0, n_jobs=JOBS)
    return model.fit(X).timings_


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
            folder, Path(folder, "out"), C, model="VVV", n_replicates=B, random_state=0, n_jobs=JOBS
        )
        return dict(found.summary["timings"])


METHODS = {"in memory": in_memory, "scikit-learn": scikit_learn, "partitions": partitions}
CHOSEN = {"scikit-learn": scikit_learn, "chosen": chosen}


def measure(method, path):
    """Run one method; print what it took."""
    import numpy as np

    warnings.simplefilter("ignore")
    X = np.load(path)
    (METHODS | CHOSEN)[method](X[:2000])  # all that is loaded on first use counts as import
    before, began = peak(), perf_counter()
    timings = (METHODS | CHOSEN)[method](X)
    seconds = perf_counter() - began
    print(json.dumps({"seconds": seconds, "memory": peak() - before, "timings": timings}))


def main(sizes, methods):
    import numpy as np

    print("| n | method | seconds | times scikit-learn | peak over the data, MB | stages |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder, f"{n}.npy")
            np.save(path, draw(n))
            found = {}
            for method in methods:
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


STYLES = {
    "in memory": ("o-", "#0072b2"),
    "partitions": ("s-", "#d55e00"),
    "scikit-learn": ("^--", "#666666"),
}
NAMES = {
    "in memory": "credpart: 1000 replicates (refitted only at 10 000),\nmasses from landmarks",
    "partitions": "the same, ten Parquet files",
    "scikit-learn": "scikit-learn: one fit of GaussianMixture",
}


def draw_table(table, picture):
    """Time against n, both on logarithmic scales."""
    import matplotlib.pyplot as plt

    rows = [line.split("|")[1:-1] for line in Path(table).read_text().splitlines()[2:]]
    fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for method, (style, colour) in STYLES.items():
        points = [(int(row[0]), float(row[2])) for row in rows if row[1].strip() == method]
        if not points:
            continue
        ax.plot(*zip(*points, strict=True), style, color=colour, label=NAMES[method])
    ax.legend(frameon=False, loc="lower right")
    ax.set(xscale="log", yscale="log", xlabel="objects", ylabel="seconds, two cores")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xticks([1e4, 1e5, 1e6, 4e6], ["10 000", "100 000", "1 million", "4 million"])
    ax.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    ax.minorticks_off()
    fig.savefig(picture, dpi=144)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:
        draw_table(*sys.argv[2:])
    elif sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3])
    else:
        numbers = [int(n) for n in sys.argv[1:] if n != "--chosen"]
        main(numbers or SIZES, CHOSEN if "--chosen" in sys.argv else METHODS)
