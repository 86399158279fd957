"""Coverage with an unknown number of clusters: ``python -m benchmarks.choice [file] [sets] [B]``.

Mixtures 1-3 of the paper's Section 4.1 with n = 100 and 300, all 14 structures, level .90.  The
number of clusters is chosen from 1 to 6: once, in each replicate by the corrected criterion, and in
each replicate by the criterion of the data ("plain"), the last on the first data sets only.
"known" has three clusters, with the structure chosen in each replicate.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
"""

import sys
import warnings
from contextlib import nullcontext
from time import process_time
from unittest.mock import patch

from benchmarks.coverage import LEVEL, MIXTURES, Book, covers
from credpart import CalibratedClustering
from credpart._bootstrap.draws import RESAMPLING
from credpart.intervals import pairwise_probabilities

SIZES = (100, 300)
NUMBERS = range(1, 7)
PLAIN = {"nonparametric": RESAMPLING["nonparametric"]._replace(optimism=0.0)}
ARMS = {  # numbers of clusters, selection, changed rows of `RESAMPLING`
    "once": (NUMBERS, "once", None),
    "each": (NUMBERS, "each", None),
    "each, plain": (NUMBERS, "each", PLAIN),
    "known": (3, "each", None),
    "known, plain": (3, "each", PLAIN),
}
FEW = {"each, plain": 10}  # data sets of the arms that have not all of them


def judge(sample, arm, n_replicates, seed):
    """Coverage and mean length of the intervals and of [Bel, Pl], and what was chosen."""
    numbers, selection, changed = ARMS[arm]
    model = CalibratedClustering(
        numbers,
        selection=selection,
        n_replicates=n_replicates,
        level=LEVEL,
        random_state=seed,
        n_jobs=1,
    )
    began = process_time()
    with patch.dict(RESAMPLING, changed) if changed else nullcontext():
        model.fit(sample.X)
    seconds = process_time() - began
    P, intervals = pairwise_probabilities(sample.posteriors), model.intervals_
    belief, plausibility = model.partition_.pairwise_condensed()
    return {
        "CI": covers(intervals.lower, P, intervals.upper),
        "[Bel, Pl]": covers(belief, P, plausibility),
        "length CI": float(intervals.length.mean()),
        "best fit has 3": float(model.mixture_.n_clusters == 3),
        "replicates with 3": float((model.replicates_.n_clusters == 3).mean()),
        "seconds": seconds,
    }


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "choice.jsonl"
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    n_replicates = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    warnings.simplefilter("ignore")
    book = Book(path)
    for seed in range(sets):
        for name, make in MIXTURES.items():
            for n in SIZES:
                sample = make(n, random_state=seed)
                for arm in (arm for arm in ARMS if seed < FEW.get(arm, sets)):
                    key = f"{name}, n = {n}", seed, arm
                    book.once(key, judge, sample, arm, n_replicates, seed)
    book.print_tables()


if __name__ == "__main__":
    main()
