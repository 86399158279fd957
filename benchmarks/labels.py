"""What labels do: ``python -m benchmarks.labels [file] [sets] [B]``.

First, data sets of 300 objects of the paper's Mixture 3, of which a tenth have a label: a set of
two clusters with the true one in it, or the true cluster alone.  Printed are coverage and mean
length of the intervals and of [Bel, Pl] at level .90, with the labels and without.  The true
probabilities are those of what is known: the posteriors of the true mixture within the labels.  The
pairs are those of objects without a label, which are the same with and without, and then all pairs.

Second, evidential discriminant analysis.  A random half of the objects of each class of Iris and
of Diabetes is fitted with all of its labels, and the other half is predicted.  Printed beside the
error of scikit-learn's QDA are: the error of the most plausible cluster; how often the class is in
the set of highest mass, and in the set of nondominated clusters; and how many clusters these have.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
"""

import sys
import warnings

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.coverage import LEVEL, Book, covers
from credpart import CalibratedClustering, EvidentialPartition
from credpart.datasets import load_diabetes, load_iris, make_mixture3
from credpart.intervals import pairwise_probabilities

N, SHARE = 300, 0.1
DATA = {"iris": load_iris, "diabetes": load_diabetes}


def none(y, c, rng):
    return None


def one(y, c, rng):
    return int(y)


def two(y, c, rng):
    other = (int(y) + rng.integers(1, c)) % c
    return {int(y), int(other)}


KINDS = {"none": none, "sets of two": two, "one cluster": one}


def intervals(kind, n_replicates, seed):
    """Coverage and length where some objects have labels of a kind."""
    sample, rng = make_mixture3(N, random_state=seed), np.random.default_rng(seed)
    some = rng.permutation(N)[: round(SHARE * N)]
    labels, c = [None] * N, sample.posteriors.shape[1]
    allowed = np.ones((N, c), dtype=bool)
    for i in some:
        labels[i] = KINDS[kind](sample.y[i], c, rng)
        if labels[i] is not None:
            allowed[i] = np.isin(
                np.arange(c), list({labels[i]} if kind == "one cluster" else labels[i])
            )
    truth = np.where(allowed, sample.posteriors, 0.0)
    P = pairwise_probabilities(truth / truth.sum(axis=1, keepdims=True))
    model = CalibratedClustering(
        c, model="VVV", n_replicates=n_replicates, level=LEVEL, random_state=seed, n_jobs=1
    )
    model.fit(sample.X, labels=labels)
    belief, plausibility = model.partition_.pairwise_condensed()
    lower, upper = model.intervals_.lower, model.intervals_.upper
    has_none = ~np.isin(np.arange(N), some)
    is_free = squareform(np.outer(has_none, has_none), checks=False)
    found = {}
    for name, pairs in (("without labels", is_free), ("all", np.ones_like(is_free))):
        found[f"CI, {name}"] = covers(lower[pairs], P[pairs], upper[pairs])
        found[f"length, {name}"] = float((upper - lower)[pairs].mean())
        found[f"[Bel, Pl], {name}"] = covers(belief[pairs], P[pairs], plausibility[pairs])
    return found


def discriminant(name, n_replicates, seed):
    """Errors and coverage of sets on the held-out half of each class."""
    data = DATA[name]()
    X, y = np.asarray(data.X, dtype=float), np.unique(data.y, return_inverse=True)[1]
    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=seed)
    ((train, test),) = split.split(X, y)
    model = CalibratedClustering(
        3, model="VVV", n_replicates=n_replicates, level=LEVEL, random_state=seed, n_jobs=1
    )
    model.fit(X[train], labels=y[train])
    masses = model.predict_masses(X[test])
    partition = EvidentialPartition(masses, model.partition_.focal_sets)
    largest = partition.focal_sets[partition.set_labels]
    rows = np.arange(len(test))
    qda = QuadraticDiscriminantAnalysis().fit(X[train], y[train])
    return {
        "error of QDA": float((qda.predict(X[test]) != y[test]).mean()),
        "error": float((partition.labels != y[test]).mean()),
        "in the set": float(largest[rows, y[test]].mean()),
        "clusters in it": float(largest.sum(axis=1).mean()),
        "nondominated": float(partition.nondominated[rows, y[test]].mean()),
        "clusters nondominated": float(partition.nondominated.sum(axis=1).mean()),
    }


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "labels.jsonl"
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    n_replicates = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    warnings.simplefilter("ignore")
    book = Book(path)
    for seed in range(sets):
        for name in DATA:
            book.once((name, seed, "held out"), discriminant, name, n_replicates, seed)
        for kind in KINDS:
            book.once((kind, seed, "labels"), intervals, kind, n_replicates, seed)
    book.print_tables()


if __name__ == "__main__":
    main()
