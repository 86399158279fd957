"""How many objects are sure, overlapping and undecided, on data sets of several kinds.

``python -m benchmarks.doubt`` prints the table of `docs/doubt.md`.  It takes about a minute of one
processor, and needs R with mclust.  The picture of that page is of the gallery.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from benchmarks.published import r_data
from credpart import CalibratedClustering
from credpart.datasets import load_diabetes, load_iris
from credpart.partition.doubt import THRESHOLD

GRID = np.array([(i, j) for i in range(4) for j in range(3)], dtype=float)
SPACING = 4.0  # standard deviations between neighbouring centres


class Case(NamedTuple):
    """Data, and how they are clustered."""

    name: str
    X: np.ndarray
    n_clusters: int
    models: list[str]


def touching(n: int, seed: int = 0) -> np.ndarray:
    """Draw n objects from twelve round clusters on a grid, which touch their neighbours."""
    rng = np.random.default_rng(seed)
    return SPACING * GRID[rng.integers(len(GRID), size=n)] + rng.standard_normal((n, 2))


def thyroid() -> np.ndarray:
    """Read five laboratory values of 215 patients from the R package mclust."""
    X, _ = r_data("mclust", "thyroid")()
    return np.asarray(X)


def cases() -> Iterator[Case]:
    wine, cancer = load_wine().data, load_breast_cancer().data[:, :10]
    yield Case("Iris", load_iris().X.to_numpy(), 3, ["VEV", "EEE", "VVV"])
    yield Case("wine, 13 columns", wine, 3, ["VVI", "EEE", "EVI"])
    yield Case("wdbc, 10 mean columns", cancer, 2, ["EEE", "VVI", "VVV"])
    yield Case("thyroid", thyroid(), 3, ["VVI", "VEI", "VVV"])
    yield Case("Diabetes", load_diabetes().X.to_numpy(), 3, ["VVV", "EEE", "VVI"])
    for n in (120, 600, 3000):
        yield Case(f"12 touching clusters, n = {n}", touching(n), 12, ["EII"])
    for n in (200, 2000):
        gaussian = np.random.default_rng(1).standard_normal((n, 2))
        yield Case(f"one Gaussian fitted with 3 clusters, n = {n}", gaussian, 3, ["VVV", "EII"])


def main() -> None:
    heads = ("data", "n", "one cluster of maximum mass", "sure", "overlapping", "undecided")
    print(f"| {' | '.join(heads)} | sure with belief < {THRESHOLD:g} |")
    print("|---" * (len(heads) + 1) + "|")
    for name, X, c, models in cases():
        model = CalibratedClustering(c, model=models, n_replicates=200, random_state=0).fit(X)
        partition = model.partition_
        table, n = partition.doubt(), len(X)
        counts = partition.doubt_counts().values()
        single = partition.lower_approximation().any(axis=1).mean()
        shares = " | ".join(f"{100 * count / n:.1f} %" for count in counts)
        wrong = int((table.loc[table["verdict"] == "sure", "belief"] < THRESHOLD).sum())
        print(f"| {name} | {n} | {100 * single:.1f} % | {shares} | {wrong} |", flush=True)


if __name__ == "__main__":
    main()
