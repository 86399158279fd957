"""Coverage of [Bel, Pl] on large data: ``python -m benchmarks.large_coverage FILE [sets] [exact]``.

Mixtures 1-3 of the paper's Section 4.1 with their true model and 1e4 and 1e5 objects, B = 200,
level .90: landmarks and linear replicates, as the defaults choose them.  On the first ``exact``
data sets of 1e4 objects, full refits and all pairs stand beside them.  Pairs are drawn at random;
those of each decile of the true P count alike.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
"""

import sys
import warnings
from time import process_time

import numpy as np

from benchmarks.coverage import ROUNDING, Book
from credpart import CalibratedClustering
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3

MIXTURES = {
    "1": (make_mixture1, "EII"),
    "2": (make_mixture2, "EEE"),
    "3": (make_mixture3, "VVV"),
}
SIZES, B, LEVEL, N_PAIRS = (10_000, 100_000), 200, 0.9, 200_000
FIRST_SEED = 7000  # of data that nothing else looks at


def judge(sample, seed, options):
    """Coverage by decile of the true P, and mean length of [Bel, Pl]."""
    model = CalibratedClustering(
        3, n_replicates=B, level=LEVEL, random_state=seed, n_jobs=1, **options
    )
    began = process_time()
    partition = model.fit(sample.X).partition_
    seconds = process_time() - began
    rng = np.random.default_rng(seed)
    i, j = rng.integers(len(sample.X), size=(2, N_PAIRS))
    i, j = i[i != j], j[i != j]
    P = np.einsum("pk,pk->p", sample.posteriors[i], sample.posteriors[j])
    masses, focal = partition.masses, partition.focal_sets
    meet = (focal[:, None] & focal[None]).any(axis=2)
    single = focal.sum(axis=1) == 1
    same = np.outer(single, single) & meet
    belief = np.einsum("pf,pf->p", masses[i] @ same, masses[j])
    plausibility = np.einsum("pf,pf->p", masses[i] @ meet, masses[j])
    covered = (belief - ROUNDING <= P) & (plausibility + ROUNDING >= P)
    deciles = np.searchsorted(np.quantile(P, np.arange(1, 10) / 10.0), P)
    by_decile = [float(covered[deciles == d].mean()) for d in range(10)]
    return {
        "[Bel, Pl]": float(np.mean(by_decile)),
        "worst decile": min(by_decile),
        "length": float((plausibility - belief).mean()),
        "linear": float("linear" in repr(model.replicates_)),
        "seconds": seconds,
    }


def study(book, sets, exact):
    """All results, data set by data set."""
    for seed in range(FIRST_SEED, FIRST_SEED + sets):
        for name, (make, model) in MIXTURES.items():
            for n in SIZES:
                sample = make(n, random_state=seed)
                book.once((name, seed, f"n = {n}"), judge, sample, seed, {"model": model})
                if n == SIZES[0] and seed < FIRST_SEED + exact:
                    for kind, pairs in {"all pairs": "all", "landmarks": "auto"}.items():
                        options = {"model": model, "refit": "full", "pairs": pairs}
                        key = (name, seed, f"n = {n}, refits, {kind}")
                        book.once(key, judge, sample, seed, options)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    book = Book(sys.argv[1] if len(sys.argv) > 1 else "large_coverage.jsonl")
    study(
        book,
        int(sys.argv[2]) if len(sys.argv) > 2 else 20,
        int(sys.argv[3]) if len(sys.argv) > 3 else 3,
    )
    book.print_tables()
