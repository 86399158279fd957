"""Mixture 3 with uniform outliers: who is found to belong nowhere, and what it does to the others.

``python -m benchmarks.noise [--datasets 20] [--replicates 200] [--n 285] [--outliers 15]``

Each data set has objects of Mixture 3, of which the true P_ij are known, and outliers that are
uniform over a box with twice the sides of the objects' own, but none where the mixture is dense.
It is clustered with three components VVV, with noise and without.  Shown are, as means over the
data sets: the share of outliers with most mass on the empty set, and their mean mass on it; the
same of the other objects; the adjusted Rand index of the others; and how often the true P_ij of
pairs of others lie within the intervals, and within [Bel, Pl].  Where R and mclust are installed,
``Mclust(X, 3, "VVV", initialization = list(noise = ...))`` is put beside it; its first guess of
noise is that of Byers and Raftery, as here.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from credpart import CalibratedClustering
from credpart._arrays import Array, BoolArray, IntArray
from credpart.datasets import make_mixture3
from credpart.intervals import pairwise_probabilities
from credpart.mixture.search.outliers import find_outliers

MCLUST = """
suppressMessages(library(mclust))
for (file in commandArgs(TRUE)) {
  data <- read.csv(file)
  noise <- data$guess == 1
  fit <- Mclust(data[, c("a", "b")], 3, "VVV", initialization = list(noise = noise),
                verbose = FALSE)
  write.csv(data.frame(label = fit$classification), paste0(file, ".out"), row.names = FALSE)
}
"""


def make_data(n: int, m: int, seed: int) -> tuple[Array, IntArray, Array]:
    """Objects, their components with -1 for outliers, and P_ij of the others, condensed."""
    found = make_mixture3(n, random_state=seed)
    rng = np.random.default_rng(seed)
    low, high = found.X.min(axis=0), found.X.max(axis=0)
    middle, side = (low + high) / 2.0, high - low
    spread = found.X.std(axis=0)
    outliers = np.empty((0, found.X.shape[1]))
    while len(outliers) < m:
        one = rng.uniform(middle - side, middle + side)
        gaps = np.linalg.norm((found.X - one) / spread, axis=1)
        if gaps.min() > 0.5:  # as far from every object: else nothing makes it an outlier
            outliers = np.vstack([outliers, one])
    labels = np.concatenate([found.y, np.full(m, -1)])
    return np.vstack([found.X, outliers]), labels, pairwise_probabilities(found.posteriors)


def judge(model: CalibratedClustering, labels: IntArray, truth: Array) -> dict[str, float]:
    """What a fit says of outliers, and of the others."""
    is_noise, partition = labels < 0, model.partition_
    empty = ~partition.focal_sets.any(axis=1)
    mass = partition.masses[:, empty].sum(axis=1)
    others = np.flatnonzero(~is_noise)
    i, j = np.triu_indices(len(others), 1)
    pairs = others[i], others[j]
    belief, plausibility = partition.pairwise()
    lower, upper = model.intervals_.square()
    return shares(model.labels_, labels) | {
        "mass of outliers": float(mass[is_noise].mean()),
        "mass of others": float(mass[~is_noise].mean()),
        "coverage": coverage(lower[pairs], truth, upper[pairs]),
        "coverage of [Bel, Pl]": coverage(belief[pairs], truth, plausibility[pairs]),
        "length": float((upper[pairs] - lower[pairs]).mean()),
    }


def shares(found: IntArray, labels: IntArray) -> dict[str, float]:
    """Shares of outliers, and of others, that are found to be outliers; agreement of the others."""
    is_noise = labels < 0
    return {
        "outliers found": float((found[is_noise] < 0).mean()),
        "others lost": float((found[~is_noise] < 0).mean()),
        "ARI of others": float(adjusted_rand_score(labels[~is_noise], found[~is_noise])),
    }


def coverage(lower: Array, truth: Array, upper: Array) -> float:
    """Share of pairs whose true P_ij is within the bounds."""
    within: BoolArray = (lower <= truth + 1e-9) & (truth <= upper + 1e-9)
    return float(within.mean())


def mclust_labels(data: list[Array]) -> list[IntArray] | None:
    """Labels by mclust, with 0 for noise made -1; None where R or mclust is missing."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, X in enumerate(data):
            files.append(Path(folder) / f"{number}.csv")
            frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "guess": find_outliers(X) * 1})
            frame.to_csv(files[-1], index=False)
        script = Path(folder) / "mclust.R"
        script.write_text(MCLUST, encoding="utf-8")
        command = ["Rscript", str(script), *map(str, files)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            print(f"mclust is left out: {ended.stderr.strip()[-200:]}")
            return None
        return [pd.read_csv(f"{file}.out")["label"].to_numpy() - 1 for file in files]


def main() -> None:
    """Cluster the data sets, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("datasets", 20), ("replicates", 200), ("n", 285), ("outliers", 15)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    sets = [make_data(given.n, given.outliers, seed) for seed in range(given.datasets)]
    rows = []
    for name, noise in (("with noise", True), ("noise='auto'", "auto"), ("without", False)):
        for seed, (X, labels, truth) in enumerate(sets):
            model = CalibratedClustering(
                3, model="VVV", noise=noise, n_replicates=given.replicates, random_state=seed
            )
            rows.append({"fit": name, **judge(model.fit(X), labels, truth)})
    found = mclust_labels([X for X, _, _ in sets])
    for number, labels in enumerate(found or []):
        rows.append({"fit": "mclust, with noise", **shares(labels, sets[number][1])})
    table = pd.DataFrame(rows).groupby("fit", sort=False).mean()
    print(f"{given.datasets} data sets of {given.n} objects and {given.outliers} outliers")
    print(table.T.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
