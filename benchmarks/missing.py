"""Coverage and time with missing cells: ``python -m benchmarks.missing [file] [sets]``.

Mixtures 1-3 of the paper's Section 4.1, n = 300, B = 500, level .90, the model and the number of
clusters given.  Cells are missing completely at random, 20 % of them; no object misses all.  The
true P_ij is that given the cells that are seen.  Beside it: the same data complete, and the
objects without missing cells alone, which are all that is left if others are dropped.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
0 sets prints the table alone.
"""

import sys
import warnings
from time import process_time

import numpy as np
from scipy.special import softmax
from scipy.stats import multivariate_normal

from benchmarks.coverage import Book, judge
from credpart import CalibratedClustering
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import pairwise_probabilities

N, B, LEVEL, SHARE = 300, 500, 0.9, 0.2
MIXTURES = {"EII": make_mixture1, "EEE": make_mixture2, "VVV": make_mixture3}


def with_missing(X, rng):
    """The data without a share of their cells; the last cell of an object stays."""
    is_missing = rng.random(X.shape) < SHARE
    rows = np.flatnonzero(is_missing.all(axis=1))
    is_missing[rows, rng.integers(X.shape[1], size=len(rows))] = False
    return np.where(is_missing, np.nan, X)


def posteriors(X, truth):
    """Probabilities of the components given the cells that are seen, object by object."""
    log_joint = np.empty((len(X), len(truth.proportions)))
    for i, x in enumerate(X):
        seen = ~np.isnan(x)
        for k, (share, mean, covariance) in enumerate(zip(*truth, strict=True)):
            law = multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)])
            log_joint[i, k] = np.log(share) + law.logpdf(x[seen])
    return softmax(log_joint, axis=1)


def one_fit(X, model, P, seed):
    """Coverage, lengths and seconds of one core."""
    began = process_time()
    fit = CalibratedClustering(
        3,
        model=model,
        n_replicates=B,
        level=LEVEL,
        missing="model",
        random_state=seed,
        n_jobs=1,
    ).fit(X)
    seconds = process_time() - began
    return judge(fit, P) | {"seconds": seconds}


def one_set(book, model, make, seed):
    """All results of one data set."""
    sample = make(N, random_state=seed)
    X = with_missing(sample.X, np.random.default_rng([seed, 1]))
    whole = ~np.isnan(X).any(axis=1)
    truth = posteriors(X, sample.truth)
    for kind, values, known in (
        ("missing", X, truth),
        ("complete", sample.X, sample.posteriors),
        ("dropped", X[whole], truth[whole]),
    ):
        P = pairwise_probabilities(known)
        book.once((model, seed, kind), one_fit, values, model, P, seed)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    book = Book(sys.argv[1] if len(sys.argv) > 1 else "missing.jsonl")
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 20):
        for model, make in MIXTURES.items():
            one_set(book, model, make, seed)
    book.print_tables()
