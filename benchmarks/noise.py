"""Mixture 3 with outliers: who is found to belong nowhere, and what it does to the others.

``python -m benchmarks.noise [--datasets 20] [--replicates 200] [--n 285] [--outliers 15]``

Each data set has objects of Mixture 3, of which the true P_ij are known, and outliers of one of two
kinds: uniform over a box with twice the sides of the objects' own, but none where the mixture is
dense; or inflated, from the components with 25 times their covariances, of which some are not far
out.  A third kind of data has none.  They are clustered with three components VVV: with uniform
noise, with contaminated components, with noise="auto" and without noise.

Shown are, as means over the data sets with standard errors: the share of outliers with most mass on
the empty set, and their mean mass on it; the same of the other objects; the adjusted Rand index of
the others; and how often the true P_ij of pairs of others lie within the intervals, and within
[Bel, Pl].  Where R and mclust are installed, ``Mclust(X, 3, "VVV", initialization = list(noise =
...))`` is put beside it; its first guess of noise is that of Byers and Raftery, as here.
"""

import argparse
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from credpart import CalibratedClustering
from credpart._arrays import Array, BoolArray, IntArray
from credpart.datasets import make_mixture3
from credpart.datasets.generators import Sample
from credpart.intervals import pairwise_probabilities
from credpart.mixture.search.outliers import find_outliers

Draw = Callable[[Sample, int, np.random.Generator], Array]

INFLATION = 25.0
FITS = {
    "uniform": "uniform",
    "contaminated": "contaminated",
    "noise='auto'": "auto",
    "without": False,
}
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


def uniform(found: Sample, m: int, rng: np.random.Generator) -> Array:
    """Objects all over the place, as far from every object: else nothing makes them outliers."""
    low, high = found.X.min(axis=0), found.X.max(axis=0)
    middle, side = (low + high) / 2.0, high - low
    spread = found.X.std(axis=0)
    outliers = np.empty((0, found.X.shape[1]))
    while len(outliers) < m:
        one = rng.uniform(middle - side, middle + side)
        gaps = np.linalg.norm((found.X - one) / spread, axis=1)
        if gaps.min() > 0.5:
            outliers = np.vstack([outliers, one])
    return outliers


def inflated(found: Sample, m: int, rng: np.random.Generator) -> Array:
    """Objects of the components with covariances that are `INFLATION` times as large."""
    proportions, means, covariances = found.truth
    labels = rng.choice(len(proportions), m, p=proportions)
    rows = [rng.multivariate_normal(means[k], INFLATION * covariances[k]) for k in labels]
    return np.array(rows)


def none(found: Sample, m: int, rng: np.random.Generator) -> Array:
    """No outliers."""
    return np.empty((0, found.X.shape[1]))


def make_data(n: int, m: int, seed: int, draw: Draw = uniform) -> tuple[Array, IntArray, Array]:
    """Objects, their components with -1 for outliers, and P_ij of the others, condensed."""
    found = make_mixture3(n, random_state=seed)
    outliers = draw(found, m, np.random.default_rng(seed))
    labels = np.concatenate([found.y, np.full(len(outliers), -1)])
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
        "mass of outliers": float(mass[is_noise].mean()) if is_noise.any() else np.nan,
        "mass of others": float(mass[~is_noise].mean()),
        "coverage": coverage(lower[pairs], truth, upper[pairs]),
        "coverage of [Bel, Pl]": coverage(belief[pairs], truth, plausibility[pairs]),
        "length": float((upper[pairs] - lower[pairs]).mean()),
    }


def shares(found: IntArray, labels: IntArray) -> dict[str, float]:
    """Shares of outliers, and of others, that are found to be outliers; agreement of the others."""
    is_noise = labels < 0
    return {
        "outliers found": float((found[is_noise] < 0).mean()) if is_noise.any() else np.nan,
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


def study(given: argparse.Namespace, draw: Draw) -> pd.DataFrame:
    """One row for each data set and fit."""
    sets = [make_data(given.n, given.outliers, seed, draw) for seed in range(given.datasets)]
    rows = []
    for name, noise in FITS.items():
        for seed, (X, labels, truth) in enumerate(sets):
            model = CalibratedClustering(
                3, model="VVV", noise=noise, n_replicates=given.replicates, random_state=seed
            )
            rows.append({"fit": name, **judge(model.fit(X), labels, truth)})
    found = mclust_labels([X for X, _, _ in sets])
    for number, labels in enumerate(found or []):
        rows.append({"fit": "mclust, with noise", **shares(labels, sets[number][1])})
    return pd.DataFrame(rows)


def main() -> None:
    """Cluster the data sets of each kind, and print a table of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("datasets", 20), ("replicates", 200), ("n", 285), ("outliers", 15)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    for draw in (uniform, inflated, none):
        found = study(given, draw).groupby("fit", sort=False)
        means, errors = found.mean(), found.sem()
        cells = means.map("{:.3f}".format) + errors.map(" ({:.3f})".format)
        print(f"\n{given.datasets} data sets of {given.n} objects, outliers: {draw.__name__}")
        print(cells.T.to_string(), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
