"""Peak memory of a fit over that of the import: ``python -m benchmarks.memory [n ...]``.

The bound is 200 MB + 2 (8 B n c + 24 n^2) bytes, with B = 1000 and c = 3.  Each fit runs in a
process of its own.  ``python -m benchmarks.memory 10000`` takes all pairs of 10 000 objects.
"""

import json
import resource
import subprocess
import sys
import warnings

B, C = 1000, 3
SIZES = (300, 1000, 3000)


def bound(n):
    """Megabytes that a fit may take."""
    return 200.0 + 2.0 * (8 * B * n * C + 24 * n**2) / 1e6


def peak():
    """Megabytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(n):
    """Fit n objects; print what it took."""
    from credpart import CalibratedClustering
    from credpart.datasets import make_mixture1

    warnings.simplefilter("ignore")
    X = make_mixture1(n, random_state=0).X
    # all that is loaded on first use counts as import
    CalibratedClustering(C, model="EII", n_replicates=20, random_state=0, n_jobs=2).fit(X[:30])
    before = peak()
    model = CalibratedClustering(
        C, model="EII", selection="once", n_replicates=B, random_state=0, n_jobs=2
    ).fit(X)
    print(json.dumps({"memory": peak() - before, "timings": model.timings_}))


def main(sizes):
    print(
        "| n | peak over import, MB | bound, MB | select, s | bootstrap | intervals | partition |"
    )
    print("|---|---|---|---|---|---|---|")
    for n in sizes:
        command = [sys.executable, "-m", "benchmarks.memory", "--measure", str(n)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        result = json.loads(output)
        times = " | ".join(f"{seconds:.2f}" for seconds in result["timings"].values())
        print(f"| {n} | {result['memory']:.0f} | {bound(n):.0f} | {times} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(int(sys.argv[2]))
    else:
        main([int(n) for n in sys.argv[1:]] or SIZES)
