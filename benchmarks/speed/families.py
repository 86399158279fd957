"""Seconds of 1000 replicates by family: ``python -m benchmarks.speed.families``.

The paper's skew t data, n = 300, three clusters, one core.  EMMIXskew takes 0.34 s for one skew t
fit at its default tolerance on a machine of this kind: 340 s for a thousand.
"""

import os
from time import process_time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from credpart import bootstrap, fit_mixture
from credpart.datasets import make_skew_t

MODELS = ("VVV", "t", "skew-normal", "skew-t-EEE", "skew-t")
B = 1000
EMMIXSKEW = 340.0


def main():
    X = make_skew_t(300, random_state=0).X
    print(
        "| model | seconds | times VVV | iterations | EMMIXskew over ours |\n|---|---|---|---|---|"
    )
    reference = None
    for model in MODELS:
        fit = fit_mixture(X, 3, model)
        began = process_time()
        replicates = bootstrap(X, fit, B, random_state=0)
        seconds = process_time() - began
        reference = reference or seconds
        ratio = f"{EMMIXSKEW / seconds:.0f}" if model == "skew-t" else ""
        n_iter = replicates.n_iter.mean()
        print(f"| {model} | {seconds:.2f} | {seconds / reference:.1f} | {n_iter:.0f} | {ratio} |")


if __name__ == "__main__":
    main()
