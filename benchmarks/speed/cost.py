"""Seconds of one EM iteration against n, B, c and d: ``python -m benchmarks.speed.cost``."""

import os
from time import perf_counter

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from credpart.mixture.covariance.structures import NAMES
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.optimisation.e_step import e_step
from credpart.mixture.optimisation.mixtures import Problem, Samples

BASE = {"n": 1000, "B": 32, "c": 4, "d": 4}
SWEEPS = {
    "n": (1000, 10_000, 100_000, 1_000_000),
    "B": (8, 32, 128, 512),
    "c": (2, 4, 8, 16),
    "d": (2, 4, 8, 16),
}


def iteration(n, B, c, d):
    """Seconds of an E-step and an M-step, the best of three."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 4.0 * rng.integers(c, size=(n, 1))
    family = Gaussian.of(X, ["VVV"])
    features = family.features(X)
    resp = rng.dirichlet(np.ones(c), size=n).T[None]
    statistics = np.repeat(family.statistics(features, resp), B, axis=0)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=B).astype(float)
    structure = np.full(B, NAMES.index("VVV"))
    problem = Problem(family, Samples(features, weights))
    best = np.inf
    for _ in range(3):
        began = perf_counter()
        params = family.m_step(statistics, structure, None)
        e_step(problem, params, np.arange(B))
        best = min(best, perf_counter() - began)
    return best


def main():
    print(f"VVV, one core; other sizes as in {BASE}, but B = 1 where n varies.\n")
    print("| varied | size | ms an iteration | ns for each n B c |")
    print("|---|---|---|---|")
    for name, sizes in SWEEPS.items():
        for size in sizes:
            case = BASE | ({"B": 1} if name == "n" else {}) | {name: size}
            time = iteration(**case)
            unit = time / (case["n"] * case["B"] * case["c"])
            print(f"| {name} | {size} | {1e3 * time:.2f} | {1e9 * unit:.1f} |")


if __name__ == "__main__":
    main()
