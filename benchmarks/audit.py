"""Does an audit predict coverage, and does its level mend it?  ``python -m benchmarks.audit``.

For each situation, data sets are drawn from a known truth and fitted; the first of them are
audited too.  The true coverage at level .90, and by tenths of the true P, is that of all data sets;
an audit of one fit speaks of that fit alone, so that its figures are averaged over the audited
ones: what it says the coverage is, the level that it recommends, and the true coverage there.

Each data set is a line of the file as soon as it is there, and what the file has is not run
again.  0 sets prints the table alone.
"""

import argparse
import warnings
from collections import defaultdict
from time import process_time

import numpy as np
from scipy.stats import multivariate_normal

from benchmarks.coverage import ROUNDING, Book, cell, covers
from credpart import CalibratedClustering, audit, fit_mixture
from credpart._audit import ratio_and_error
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
    **{
        f"{name}, n = 300, chosen once": (
            lambda make=make: paper(make, 300),
            (3, {"selection": "once"}),
        )
        for name, (make, _) in MIXTURES.items()
    },
    "four components, n = 150, VVV": (lambda: four(150), (4, {"model": "VVV"})),
}


def fit(draw, parameters, seed, options):
    """A data set: the fit and the true P."""
    X, posteriors = draw(seed)
    c, rest = parameters
    model = CalibratedClustering(
        c, n_replicates=options.replicates, level=LEVEL, random_state=seed, n_jobs=1, **rest
    ).fit(X)
    return model.result_, pairwise_probabilities(posteriors)


def truth(draw, parameters, seed, options):
    """True coverage on a data set; pairs, and those that are covered, by tenths of the true P."""
    result, P = fit(draw, parameters, seed, options)
    lower, upper = result.intervals.lower - ROUNDING, result.intervals.upper + ROUNDING
    tenth = np.minimum((10.0 * P).astype(int), 9)
    is_covered = (lower <= P) & (upper >= P)
    return {
        "CI": float(is_covered.mean()),
        "[Bel, Pl]": partition_covers(result, P),
        "pairs": np.bincount(tenth, minlength=10).tolist(),
        "covered": np.bincount(tenth, is_covered, minlength=10).tolist(),
    }


def prediction(draw, parameters, seed, options):
    """What the audit of a fit says, and the true coverage at its level."""
    result, P = fit(draw, parameters, seed, options)
    began = process_time()
    found = audit(result, options.datasets, random_state=seed, n_jobs=1)
    seconds = process_time() - began
    after = result.recalibrate(found)
    return {
        "CI": covers(result.intervals.lower, P, result.intervals.upper),
        "audit CI": found.coverage,
        "audit [Bel, Pl]": found.coverage_partition,
        "level": found.recommended_level,
        "CI there": covers(after.intervals.lower, P, after.intervals.upper),
        "[Bel, Pl] there": partition_covers(after, P),
        "not reached": float(not found.is_reached),
        "failed": float(found.n_failed),
        "seconds": seconds,
    }


def partition_covers(result, P):
    belief, plausibility = result.partition.pairwise_condensed()
    return covers(belief, P, plausibility)


def print_table(book):
    rows = defaultdict(lambda: defaultdict(list))
    for (name, _, kind), result in book.results.items():
        rows[name][kind].append(result)
    columns = ("audit CI", "level", "CI there", "audit [Bel, Pl]", "[Bel, Pl] there", "seconds")
    print("| situation | sets | CI | [Bel, Pl] | worst tenth | audits | ", end="")
    print(" | ".join(columns), "| off by | gained | recovered |")
    print("|---" * (len(columns) + 9) + "|")
    for name, kinds in rows.items():
        truths, audits = kinds["truth"], kinds["audit"]
        known = [cell([row[column] for row in truths]) for column in ("CI", "[Bel, Pl]")]
        said = [cell([row[column] for row in audits]) if audits else "" for column in columns]
        print(f"| {name} | {len(truths)} | {' | '.join(known)} | {worst_tenth(truths)}", end="")
        print(f" | {len(audits)} | {' | '.join(said)} | {' | '.join(compared(truths, audits))} |")


def worst_tenth(truths):
    """The tenth of the true P that is covered worst, with the standard error over data sets."""
    pairs = np.array([row["pairs"] for row in truths], dtype=float)
    covered = np.array([row["covered"] for row in truths])
    coverage, errors = ratio_and_error(covered, pairs)
    k = int(np.nanargmin(coverage))
    return f"{coverage[k]:.3f} ({errors[k]:.2g}), {k / 10:.1f}-{(k + 1) / 10:.1f}"


def compared(truths, audits):
    """By how much audits are off on average, what their level gains, and which part that is."""
    if not audits:
        return "", "", ""
    true = np.mean([row["CI"] for row in truths])
    off = np.mean([row["audit CI"] for row in audits]) - true
    gained = np.array([row["CI there"] - row["CI"] for row in audits])  # on the same data sets
    part = f"{gained.mean() / (LEVEL - true):.2f}" if true < 0.85 else ""
    return f"{off:+.3f}", cell(gained.tolist()), part


KINDS = {"truth": truth, "audit": prediction}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default="audit.jsonl")
    parser.add_argument("--situations", nargs="*", default=[""], help="parts of their names")
    parser.add_argument("--sets", type=int, default=50, help="data sets of each situation")
    parser.add_argument("--audits", type=int, default=10, help="how many of them are audited")
    parser.add_argument("--datasets", type=int, default=50, help="that each audit draws")
    parser.add_argument("--replicates", type=int, default=200)
    options = parser.parse_args()
    book = Book(options.file)
    makers = {
        name: (make(), parameters)
        for name, (make, parameters) in SITUATIONS.items()
        if options.sets and any(part in name for part in options.situations)
    }
    for kind, number in (("truth", options.sets), ("audit", min(options.sets, options.audits))):
        for seed in range(number):
            for name, (draw, parameters) in makers.items():
                book.once((name, seed, kind), KINDS[kind], draw, parameters, seed, options)
    print_table(book)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
