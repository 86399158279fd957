"""Attack: does an integer weight do what repeating the row does?

    python -m tests.attacks.weights --tries 200

Small studies of random kind (models, numbers of clusters, criteria, resampling, focal sets) are
run with weights, and with the rows repeated.  Some studies also permute the rows, and give
objects no weight, and some compare new objects with landmarks, or weaken the masses.  The mixture,
the models that the replicates choose, the intervals of all pairs, also of an object with its copy,
J, and the masses of the fitted and of new objects have to be the same to the bit.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np

from credpart import CalibratedClustering
from credpart.errors import CredpartError, CredpartWarning
from tests.attacks.small_data import clusters

MODELS = (
    "EII", "VVI", "EEE", "VEV", "VVV", "t", "t-EEE", "skew-normal",
    ["EII", "VII", "VVI"], ["EEE", "VVV", "t"], "auto",
)  # fmt: skip


class Study(NamedTuple):
    """What both forms of the data are given to."""

    X: np.ndarray
    weights: np.ndarray
    n_clusters: object
    options: dict


class Outcome(NamedTuple):
    """Largest differences between the two forms."""

    loglik: float = 0.0
    posteriors: float = 0.0
    models: int = 0  # replicates that chose another
    intervals: float = 0.0
    objective: float = 0.0
    masses: float = 0.0
    new_masses: float = 0.0
    error: str = ""

    @property
    def is_same(self):
        return not any(self)


def draw(seed):
    """A study."""
    rng = np.random.default_rng([seed, 7])
    X, c = clusters(rng, most_columns=3, per_cluster=(6, 20))
    if rng.random() < 0.3:  # ties
        X = np.round(X, 1)
    weights = rng.integers(0 if rng.random() < 0.5 else 1, 4, len(X)).astype(float)
    options = {
        "model": MODELS[rng.integers(len(MODELS) - (rng.random() < 0.8))],
        "criterion": str(rng.choice(["bic", "icl", "aic"])),
        "resampling": str(rng.choice(["nonparametric", "bayesian", "parametric"])),
        "focal_sets": str(rng.choice(["singletons", "pairs", "full"])),
        "selection": str(rng.choice(["each", "once"])),
        "pairs": [10, "all", "auto"][rng.integers(3)],
        "weaken": bool(rng.random() < 0.3),
        "n_replicates": 40,
        "random_state": int(rng.integers(1000)),
    }
    return Study(X, weights, c if rng.random() < 0.7 else [c - 1, c], options), rng


def attempt(seed):
    """One study in both forms."""
    (X, weights, c, options), rng = draw(seed)
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    rng.shuffle(rows)
    seen = np.flatnonzero(weights)
    first = np.array([np.flatnonzero(rows == i)[0] for i in seen])
    one, two = found(X, c, options, weights), found(X[rows], c, options, None)
    if isinstance(one, str) or isinstance(two, str):
        return Outcome(error="" if one == two else f"{one} / {two}")
    if one.mixture_.n_clusters != two.mixture_.n_clusters:
        return Outcome(error="numbers of clusters differ")
    # Of pairs of copies, the repeated form has several; those of one object have its own bounds.
    bounds, others = one.intervals_.square(), two.intervals_.square()
    own = np.stack([one.intervals_.own_lower, one.intervals_.own_upper])
    gap = 0.0
    for bound, other, copies in zip(bounds, others, own, strict=True):
        expected = bound.copy()
        np.fill_diagonal(expected, copies)
        difference = np.abs(expected[np.ix_(rows, rows)] - other)
        np.fill_diagonal(difference, 0.0)
        gap = max(gap, difference.max())
    masses = np.abs(one.partition_.masses[rows] - two.partition_.masses).max()
    return Outcome(
        abs(one.mixture_.loglik - two.mixture_.loglik),
        np.abs(one.result_.posteriors[seen] - two.result_.posteriors[first]).max(),
        int((one.replicates_.models != two.replicates_.models).sum()),
        gap,
        abs(one.objective_ - two.objective_),
        masses,
        np.abs(one.predict_masses(X + 0.1) - two.predict_masses(X + 0.1)).max(),
    )


def found(X, c, options, weights):
    """The fitted estimator, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredpartWarning)
        try:
            return CalibratedClustering(c, **options).fit(X, sample_weight=weights)
        except CredpartError as error:
            return type(error).__name__


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first study")
    options = parser.parse_args()
    outcomes = {seed: attempt(seed) for seed in range(options.seed, options.seed + options.tries)}
    bad = {seed: one for seed, one in outcomes.items() if not one.is_same}
    worst = max(one.intervals for one in outcomes.values())
    print(f"{len(bad)} of {options.tries} studies disagree; worst interval {worst:.2g}")
    for seed, one in bad.items():
        study = draw(seed)[0]
        print(f"    seed {seed}: {one}\n        {study.n_clusters} {study.options}")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
