"""How far the counts of k-EVCLUS hang on what [D20] leaves open.

``python -m benchmarks.evclus_draws`` prints the table.

The paper shows one run on Iris (Table 8) and one on Diabetes (Table 12).  The library samples
mutual partners: if i has j, then j has i, and every sweep lowers the stress.  R's evclust, as its
manual says, draws k partners for each object by itself, anew in each run, and an object's masses
are fitted to its own partners alone; that is written out here, to see how its counts vary.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.preprocessing import StandardScaler

from credpart import EvidentialPartition, focal_sets
from credpart.datasets import load_diabetes, load_iris
from credpart.evclus.conflicts import wanted_conflict
from credpart.evclus.sampling import sample_partners
from credpart.focal import cluster_similarity, disjoint_matrix
from credpart.metrics import confusion
from credpart.simplex_qp import simplex_qp

K, SEEDS, ROWS = 50, 20, 10
SAME = {"quantile": 0.9, "omega": True, "sweeps": 100, "tol": 1e-4, "again": False}


def own_partners(n, k, rng):
    """Partners of each object, whoever they have."""
    places = rng.random((n, n - 1)).argsort(axis=1)[:, :k]
    return places + (places >= np.arange(n)[:, None])


def fit(wanted, partners, focal, M, sweeps, tol):
    """Masses by passes over rows, each against its own partners."""
    C, M, before, error = disjoint_matrix(focal), M.copy(), None, 1.0
    for _ in range(sweeps):
        total = 0.0
        for first in range(0, len(M), ROWS):
            rows = slice(first, first + ROWS)
            near = M[partners[rows]] @ C
            T = wanted[rows]
            M[rows] = simplex_qp(near.mT @ near, -2.0 * (T[:, None] @ near)[:, 0], M[rows])
            total += float((((near @ M[rows, :, None])[:, :, 0] - T) ** 2).sum())
        error = 0.5 * error + (0.5 * abs(before - total) / before if before else 0.5)
        before = total
        if error < tol:
            break
    return M


def two_runs(X, seed, sample, *, quantile, omega, sweeps, tol, again):
    """The partition of the second run, with the pair that the first one shows."""
    rng = np.random.default_rng(seed)
    D = squareform(pdist(X))

    def drawn():
        partners = sample(len(X), K, rng)
        some = np.take_along_axis(D, partners, axis=1)
        return wanted_conflict(some, np.quantile(some, quantile)), partners

    pairs = drawn()
    simple = focal_sets(3, "singletons", omega=omega, empty=True)
    first = fit(*pairs, simple, rng.dirichlet(np.ones(len(simple)), size=len(X)), sweeps, tol)
    similar = cluster_similarity(EvidentialPartition(first, simple).normalize().plausibility())
    focal = focal_sets(3, "overlapping", omega=True, empty=True, similarity=similar, overlap=1)
    start = first @ (simple[:, None] == focal).all(axis=2)
    pairs = drawn() if again else pairs
    return EvidentialPartition(fit(*pairs, focal, start, sweeps, tol), focal)


CASES = {
    "mutual partners (the library's)": (sample_partners, {}),
    "own partners": (own_partners, {}),
    "own partners, drawn anew for the second run": (own_partners, {"again": True}),
    "own partners, at most 20 sweeps, tolerance 1e-3": (own_partners, {"sweeps": 20, "tol": 1e-3}),
    "own partners, d0 the quantile .95": (own_partners, {"quantile": 0.95}),
    "own partners, first run without Omega": (own_partners, {"omega": False}),
}
VERSICOLOR = ["{versicolor}", "{virginica}", "{versicolor,virginica}"]


def span(counts):
    return f"{min(counts)}-{max(counts)}"


def main():
    """Print the table."""
    iris, diabetes = load_iris(), load_diabetes()
    print(
        "| sampling | versicolor in {ve} | {vi} | {ve,vi} | virginica in {ve} | {vi} | {ve,vi} |",
        end="",
    )
    print(" Diabetes: {no,ov} found |\n|---|---|---|---|---|---|---|---|")
    print("| the paper | 32 | 10 | 8 | 6 | 33 | 9 | yes |")
    for name, (sample, options) in CASES.items():
        found = {}
        for key, data in (("iris", iris), ("diabetes", diabetes)):
            X = StandardScaler().fit_transform(data.X)
            runs = [two_runs(X, seed, sample, **SAME | options) for seed in range(SEEDS)]
            found[key] = [confusion(partition, data.y) for partition in runs]
        tables = [t.reindex(columns=VERSICOLOR, fill_value=0) for t in found["iris"]]
        cells = [
            span([t.loc[y, s] for t in tables])
            for y in ("versicolor", "virginica")
            for s in VERSICOLOR
        ]
        taken = sum("{Chemical,Normal}" not in t for t in found["diabetes"])
        print(f"| {name} | {' | '.join(cells)} | {taken} of {SEEDS} |", flush=True)


if __name__ == "__main__":
    main()
