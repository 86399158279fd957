"""Coverage of objects in groups: ``python -m benchmarks.groups [file] [sets] [B]``.

Each donor has ``CELLS`` objects from a mixture of three normal clusters whose centres and
proportions are shifted by effects of the donor.  The true P_ij are those of the mixture that all
donors have together, an average over donors, which a large sample of donors gives: it is the best
fit of model VVV to ``MANY`` donors.  Intervals are found with and without ``groups``, for the pairs
of ``JUDGED`` objects.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
"""

import sys
import warnings

import numpy as np

from benchmarks.coverage import LEVEL, Book, covers
from credpart import bootstrap, fit_mixture, pairwise_intervals
from credpart.intervals import pairwise_probabilities

CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 3.0]])
CELLS, MANY = 200, 2000  # objects of a donor; donors of the truth
JUDGED = 300  # objects whose pairs are judged
DONORS = (3, 5, 10, 20, 50)
EFFECTS = (0.1, 0.3, 0.6)  # standard deviations of the shifts, in those of a cluster


def draw(n_donors, effect, rng):
    """Objects, and the donor and cluster of each."""
    donors = np.repeat(np.arange(n_donors), CELLS)
    logits = effect * rng.standard_normal((n_donors, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    clusters = (rng.random((len(donors), 1)) > shares.cumsum(axis=1)[donors]).sum(axis=1)
    shifts = effect * rng.standard_normal((n_donors, 3, 2))
    centres = CENTRES[clusters] + shifts[donors, clusters]
    return centres + rng.standard_normal((len(donors), 2)), donors, clusters


def judge(n_donors, effect, n_replicates, seed, truth):
    """Coverage and mean length, with objects as independent and with whole donors."""
    rng = np.random.default_rng(seed)
    X, donors, _ = draw(n_donors, effect, rng)
    fit, judged = fit_mixture(X, 3, "VVV"), X[rng.choice(len(X), JUDGED, replace=False)]
    P, found = pairwise_probabilities(truth.posteriors(judged)), {}
    for name, groups in (("independent", None), ("by donor", donors)):
        replicates = bootstrap(X, fit, n_replicates, groups=groups, random_state=seed, n_jobs=1)
        intervals = pairwise_intervals(replicates.posteriors(judged), LEVEL)
        found[name] = covers(intervals.lower, P, intervals.upper)
        found[f"length {name}"] = float(intervals.length.mean())
    return found


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "groups.jsonl"
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    n_replicates = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    warnings.simplefilter("ignore")
    book = Book(path)
    truths = {}
    for effect in EFFECTS:
        X, _, clusters = draw(MANY, effect, np.random.default_rng(2**20))
        truths[effect] = fit_mixture(X, 3, "VVV", start=clusters)
    for seed in range(sets):
        for effect, truth in truths.items():
            for n_donors in DONORS:
                key = f"{n_donors} donors", seed, f"effects of {effect:g}"
                book.once(key, judge, n_donors, effect, n_replicates, seed, truth)
    book.print_tables()


if __name__ == "__main__":
    main()
