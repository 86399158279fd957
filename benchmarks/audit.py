"""Does an audit predict coverage, and does its level mend it?  ``python -m benchmarks.audit``.

For each situation, data sets are drawn from a known truth, fitted and audited.  Printed are, as
means over data sets with standard errors: the true coverage of the intervals at level .90, what the
audit says it is, the level that the audit recommends, the true coverage at that level, and both of
[Bel, Pl]; then the tenth of the true P that is covered worst, by the audit.

Each data set is a line of the file as soon as it is there, and what the file has is not run
again.  0 sets prints the tables alone.
"""

import argparse
import warnings

import numpy as np
from scipy.stats import multivariate_normal

from benchmarks.coverage import Book, cell, covers
from credpart import CalibratedClustering, audit, fit_mixture
from credpart.datasets import load_gvhd, make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import pairwise_probabilities

LEVEL = 0.9
FOUR = {  # a mixture of our own: two that overlap, one long, one small and dense
    "proportions": np.array([0.35, 0.3, 0.2, 0.15]),
    "means": np.array([[0.0, 0.0], [2.5, 1.0], [0.0, 5.0], [5.0, 5.0]]),
    "covariances": np.array(
        [
            [[1.0, 0.3], [0.3, 1.0]],
            [[1.0, 0.0], [0.0, 1.0]],
            [[4.0, 1.0], [1.0, 0.6]],
            [[0.25, 0.0], [0.0, 0.25]],
        ]
    ),
}


def paper(make, n):
    def draw(seed):
        sample = make(n, random_state=seed)
        return sample.X, sample.posteriors

    return draw


def seven(n):
    """Samples of the mixture of seven components that fits the GvHD data."""
    truth = fit_mixture(load_gvhd(sample=True).X.to_numpy(), 7, "VVV")

    def draw(seed):
        X = truth.sample(n, seed)[0]
        return X, truth.posteriors(X)

    return draw


def four(n):
    def draw(seed):
        rng = np.random.default_rng(seed)
        y = rng.choice(4, n, p=FOUR["proportions"])
        factors = np.linalg.cholesky(FOUR["covariances"])
        X = FOUR["means"][y] + np.einsum("nde,ne->nd", factors[y], rng.standard_normal((n, 2)))
        densities = [
            p * multivariate_normal.pdf(X, mean, covariance)
            for p, mean, covariance in zip(*FOUR.values(), strict=True)
        ]
        joint = np.stack(densities, axis=1)
        return X, joint / joint.sum(axis=1, keepdims=True)

    return draw


MIXTURES = {
    "Mixture 1": (make_mixture1, "EII"),
    "Mixture 2": (make_mixture2, "EEE"),
    "Mixture 3": (make_mixture3, "VVV"),
}
# name -> (what makes the generator, parameters of the clustering)
SITUATIONS = {
    f"{name}, n = {n}, {model}": (lambda make=make, n=n: paper(make, n), (3, {"model": model}))
    for name, (make, model) in MIXTURES.items()
    for n in (50, 100, 300)
} | {
    "seven components, n = 300, VVV": (lambda: seven(300), (7, {"model": "VVV"})),
    "Mixture 3, n = 300, chosen once": (
        lambda: paper(make_mixture3, 300),
        (3, {"selection": "once"}),
    ),
    "four components, n = 150, VVV": (lambda: four(150), (4, {"model": "VVV"})),
}


def one_set(draw, parameters, seed, options):
    """A data set: true coverage, what the audit says, and what its level gives."""
    X, posteriors = draw(seed)
    c, rest = parameters
    model = CalibratedClustering(
        c, n_replicates=options.replicates, level=LEVEL, random_state=seed, **rest
    ).fit(X)
    P = pairwise_probabilities(posteriors)
    found = audit(model, options.datasets, random_state=seed, n_jobs=options.jobs)
    before, after = model.result_, model.result_.recalibrate(found)
    worst = found.by_decile["coverage"].idxmin()
    return {
        "true CI": covers(before.intervals.lower, P, before.intervals.upper),
        "audit CI": found.coverage,
        "level": found.recommended_level,
        "true CI there": covers(after.intervals.lower, P, after.intervals.upper),
        "true [Bel, Pl]": partition_covers(before, P),
        "audit [Bel, Pl]": found.coverage_partition,
        "true [Bel, Pl] there": partition_covers(after, P),
        "worst tenth": found.by_decile["coverage"].min(),
        "starts at": float(worst.split("-")[0]),
        "not reached": float(not found.is_reached),
        "failed": float(found.n_failed),
    }


def partition_covers(result, P):
    belief, plausibility = result.partition.pairwise_condensed()
    return covers(belief, P, plausibility)


def print_table(book):
    rows = {}
    for (name, _, _), result in book.results.items():
        rows.setdefault(name, []).append(result)
    if not rows:
        return
    columns = list(next(iter(rows.values()))[0])
    print(f"\n| situation | sets | {' | '.join(columns)} | off by | recovered |")
    print("|---" * (len(columns) + 4) + "|")
    for name, results in rows.items():
        means = {column: np.mean([row[column] for row in results]) for column in columns}
        cells = [cell([row[column] for row in results]) for column in columns]
        off = means["audit CI"] - means["true CI"]
        lacking = LEVEL - means["true CI"]
        mended = (means["true CI there"] - means["true CI"]) / lacking
        recovered = f"{mended:.2f}" if means["true CI"] < 0.85 else ""
        print(f"| {name} | {len(results)} | {' | '.join(cells)} | {off:+.3f} | {recovered} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default="audit.jsonl")
    parser.add_argument("--situations", nargs="*", default=[""], help="parts of their names")
    parser.add_argument("--sets", type=int, default=10, help="data sets of each situation")
    parser.add_argument("--datasets", type=int, default=50, help="that each audit draws")
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    book = Book(options.file)
    for name, (make, parameters) in SITUATIONS.items():
        if options.sets and any(part in name for part in options.situations):
            draw = make()
            for seed in range(options.sets):
                book.once((name, seed, "audit"), one_set, draw, parameters, seed, options)
    print_table(book)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
