"""How sure an evidential partition is, and how it agrees with classes or with another one.

References
----------
.. [DLS18] Denoeux, Li, Sriboonchitta: Evaluating and comparing soft partitions: an approach
   based on Dempster-Shafer theory.  IEEE Transactions on Fuzzy Systems 26, 2018.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import check_choice, check_threshold
from credpart._messages import Message, Name
from credpart._threads import one_blas_thread
from credpart.errors import InputError
from credpart.focal import intersection_matrix, set_names
from credpart.partition import EvidentialPartition
from credpart.partition.describe import count_sets, count_words
from credpart.partition.doubt import THRESHOLD

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Shares",
    "adjusted_rand",
    "confusion",
    "credal_distance",
    "credal_rand",
    "misplaced",
    "nonspecificity",
    "shares",
]

BLOCK_PAIRS = 2**20  # pairs compared at a time

Labels = IntArray


class Shares(NamedTuple):
    """Which share of the objects has each verdict of `EvidentialPartition.doubt`; they sum to 1.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> shares(EvidentialPartition.from_hard([0, 1])).sure
    1.0
    """

    sure: float  # belief in the label of at least the threshold
    overlapping: float  # else, if most of the doubt is mass of other single clusters
    undecided: float  # or mass of sets of several clusters
    outlying: float  # or mass of the empty set


def shares(partition: EvidentialPartition, threshold: float = THRESHOLD) -> Shares:
    """Return the shares of sure, overlapping, undecided and outlying objects.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    threshold : float
        As in `EvidentialPartition.doubt`.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> shares(EvidentialPartition.from_rough([[1, 0], [0, 1], [1, 1], [0, 0]]))
    Shares(sure=0.5, overlapping=0.0, undecided=0.25, outlying=0.25)
    """
    counts = count_words(partition, check_threshold("threshold", threshold))
    return Shares(*(counts.get(word, 0) / partition.n_objects for word in Shares._fields))


def nonspecificity(partition: EvidentialPartition) -> float:
    """Return the mean nonspecificity of the objects, from 0 (precise) to 1 (vacuous).

    That of each object is ``partition.nonspecificity``.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> nonspecificity(EvidentialPartition.from_rough([[1, 0], [1, 1]]))
    0.5
    """
    return float(partition.nonspecificity.mean())


VIEWS: Mapping[str, Callable[[EvidentialPartition], Labels]] = {
    "plausibility": lambda partition: partition.labels,
    "pignistic": lambda partition: partition.pignistic.argmax(axis=1),
    "belief": lambda partition: partition.belief().argmax(axis=1),
    "mass": lambda partition: partition.set_labels,
}
OUTLIERS = -1  # the group of objects that are in no cluster, in every view


def adjusted_rand(
    one: EvidentialPartition | ArrayLike,
    other: EvidentialPartition | ArrayLike,
    view: str = "plausibility",
) -> float:
    """Return the adjusted Rand index of hard views: 1 if they agree, 0 on average by chance.

    Parameters
    ----------
    one, other : EvidentialPartition or labels of shape (n,)
        What is compared.
    view : {"plausibility", "pignistic", "belief", "mass"}
        The cluster of highest plausibility, pignistic probability or belief; "mass" groups
        objects by their set of highest mass, be it a single cluster or not.  Objects whose set of
        highest mass is the empty set are one more group, as their labels -1 say.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> partition = EvidentialPartition.from_fuzzy([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> adjusted_rand(partition, ["a", "a", "b"])
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    first, second = _same_objects(one, other)
    hard = VIEWS[check_choice("view", view, VIEWS)]
    labels = (np.where(part.is_outlier, OUTLIERS, hard(part)) for part in (first, second))
    return float(adjusted_rand_score(*labels))


def confusion(partition: EvidentialPartition, classes: ArrayLike) -> "pd.DataFrame":
    """Return how many objects of each class are in each set of clusters, as in [D20].

    Parameters
    ----------
    partition : EvidentialPartition
        Objects count in their set of highest mass.
    classes : labels of shape (n,)
        Known classes.

    Returns
    -------
    DataFrame
        One row for each class, one column for each set that holds an object.  Clusters are named
        for the classes that they match best, one to one, by the most plausible clusters of the
        objects that are no outliers; by their own names if the partition has some.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> partition = EvidentialPartition.from_rough([[0, 1], [0, 1], [1, 0], [1, 1]])
    >>> confusion(partition, ["a", "a", "b", "b"])
           {a}  {b}  {a,b}
    class
    a        2    0      0
    b        0    1      1
    """
    import pandas as pd

    labels = _check_labels("classes", classes, partition.n_objects)
    names, members = np.unique(labels, return_inverse=True)
    order, cluster_names = _named_clusters(partition, names, members)
    focal = partition.focal_sets[:, order]
    sets = partition.set_labels
    counts = np.array([count_sets(sets[members == k], len(focal)) for k in range(len(names))])
    columns = [k for k in _by_size(focal) if counts[:, k].any()]
    return pd.DataFrame(
        counts[:, columns],
        index=pd.Index(names, name="class"),
        columns=set_names(focal[columns], cluster_names),
    )


def misplaced(partition: EvidentialPartition, classes: ArrayLike) -> float:
    """Return the share of objects whose set of highest mass does not contain their class.

    Clusters are matched with classes as in `confusion`.  Outliers are placed nowhere, so not
    misplaced; imprecise sets are right as soon as they contain the class: see also `shares`.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> partition = EvidentialPartition.from_rough([[0, 1], [0, 1], [1, 0], [1, 1], [0, 1]])
    >>> misplaced(partition, ["a", "a", "b", "b", "b"])
    0.2
    """
    labels = _check_labels("classes", classes, partition.n_objects)
    names, members = np.unique(labels, return_inverse=True)
    matched, clusters = _matching(partition, members, len(names))
    right = np.zeros((len(names), partition.n_clusters), dtype=bool)
    right[matched, clusters] = True
    sets = partition.focal_sets[partition.set_labels]
    return float(np.mean(sets.any(axis=1) & ~(sets & right[members]).any(axis=1)))


def _matching(
    partition: EvidentialPartition, members: Labels, n_classes: int
) -> tuple[Labels, Labels]:
    """Classes and the clusters that match them best, one to one; outliers are in no cluster."""
    from scipy.optimize import linear_sum_assignment

    placed = ~partition.is_outlier
    common = np.zeros((n_classes, partition.n_clusters), dtype=int)
    np.add.at(common, (members[placed], partition.labels[placed]), 1)
    matched, clusters = linear_sum_assignment(common, maximize=True)
    return matched, clusters


def _named_clusters(
    partition: EvidentialPartition, names: NDArray[Any], members: Labels
) -> tuple[Labels, list[str]]:
    """Clusters in the order of the classes they match, and their names in that order."""
    c = partition.n_clusters
    if partition.cluster_names is not None:
        return np.arange(c), list(partition.cluster_names)
    matched, clusters = _matching(partition, members, len(names))
    others = np.setdiff1d(np.arange(c), clusters)
    found = [str(names[k]) for k in matched] + [f"cluster {k + 1}" for k in others]
    return np.concatenate([clusters, others]), found


def _by_size(focal: BoolArray) -> Labels:
    """Rows by size and then lexicographically."""
    return np.lexsort((*(~focal[:, ::-1]).T, focal.sum(axis=1)))


class PairMasses(NamedTuple):
    """Masses of Eq. (2) that pairs of objects are, and are not, in the same cluster."""

    same: Array
    apart: Array


def conflict_agreement(one: PairMasses, other: PairMasses) -> Array:
    """One minus the degree of conflict of the two masses of each pair."""
    return 1.0 - (one.same * other.apart + one.apart * other.same)


def belief_agreement(one: PairMasses, other: PairMasses) -> Array:
    """One minus the L1 distance of the belief functions of each pair, over its maximum."""
    return 1.0 - 0.5 * (np.abs(one.same - other.same) + np.abs(one.apart - other.apart))


def jousselme_agreement(one: PairMasses, other: PairMasses) -> Array:
    """One minus Jousselme's distance, which on a frame of two reduces to a root mean square."""
    gaps = (one.same - other.same) ** 2 + (one.apart - other.apart) ** 2
    return 1.0 - np.sqrt(0.5 * gaps)


AGREEMENTS: Mapping[str, Callable[[PairMasses, PairMasses], Array]] = {
    "belief": belief_agreement,
    "jousselme": jousselme_agreement,
    "conflict": conflict_agreement,
}
DISTANCES = ("belief", "jousselme")  # that of a partition to itself is 0


def credal_rand(
    one: EvidentialPartition | ArrayLike,
    other: EvidentialPartition | ArrayLike,
    kind: str = "belief",
) -> float:
    """Return the credal Rand index [DLS18]_: the mean agreement over pairs of objects.

    Two partitions agree on a pair as far as they hold the same evidence that it is in one
    cluster.  For hard partitions it is the Rand index.

    Parameters
    ----------
    one, other : EvidentialPartition or labels of shape (n,)
        What is compared; mass on the empty set is normalised away.
    kind : {"belief", "jousselme", "conflict"}
        One minus the L1 distance between belief functions, one minus Jousselme's distance, or
        one minus the degree of conflict.  The first two are 1 for a partition and itself; the
        third is lower where the partition is uncertain without being imprecise.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> round(credal_rand([0, 0, 1], [0, 1, 1]), 4)  # hard: of three pairs, they agree on one
    0.3333
    """
    first, second = (partition.normalize() for partition in _same_objects(one, other))
    agreement = AGREEMENTS[check_choice("kind", kind, AGREEMENTS)]
    n, total = first.n_objects, 0.0
    if n < 2:
        raise InputError("one", "have at least 2 objects", n)
    with one_blas_thread():
        for pairs in zip(_pairs(first), _pairs(second), strict=True):
            total += float(agreement(*pairs).sum())
    return total / (n * (n - 1) // 2)


def credal_distance(
    one: EvidentialPartition | ArrayLike,
    other: EvidentialPartition | ArrayLike,
    kind: str = "belief",
) -> float:
    """Return the mean distance over pairs of objects, from 0 to 1: one minus `credal_rand`.

    Parameters
    ----------
    one, other : EvidentialPartition or labels of shape (n,)
        What is compared.
    kind : {"belief", "jousselme"}
        The L1 distance between belief functions, or Jousselme's.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> vacuous = EvidentialPartition.from_rough([[1, 1], [1, 1]])
    >>> credal_distance(vacuous, [0, 1])
    0.5
    """
    return 1.0 - credal_rand(one, other, check_choice("kind", kind, DISTANCES))


def _pairs(partition: EvidentialPartition) -> Iterator[PairMasses]:
    """Masses of pairs i < j by blocks of rows i."""
    M, focal = partition.masses, partition.focal_sets
    single = M[:, focal.sum(axis=1) == 1]
    meeting = M @ intersection_matrix(focal, focal)
    n = len(M)
    step = max(1, BLOCK_PAIRS // n)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        later = np.arange(n) > np.arange(rows.start, rows.stop)[:, None]
        same = (single[rows] @ single.T)[later]
        apart = 1.0 - np.minimum((meeting[rows] @ M.T)[later], 1.0)
        yield PairMasses(same, apart)


def _same_objects(
    *values: EvidentialPartition | ArrayLike,
) -> tuple[EvidentialPartition, EvidentialPartition]:
    """Labels as hard partitions; both must be of the same objects."""
    one, other = (
        value if isinstance(value, EvidentialPartition) else _hard(name, value)
        for name, value in zip(("one", "other"), values, strict=True)
    )
    if one.n_objects != other.n_objects:
        as_many = Message("have as many objects as ", Name("one"), f", {one.n_objects}")
        raise InputError("other", as_many, other.n_objects)
    return one, other


def _hard(name: str, value: Any) -> EvidentialPartition:
    labels = _check_labels(name, value)
    return EvidentialPartition.from_hard(np.unique(labels, return_inverse=True)[1])


def _check_labels(name: str, value: Any, n: int | None = None) -> NDArray[Any]:
    labels = np.asarray(value)
    if labels.ndim != 1 or not labels.size:
        raise InputError(name, "have shape (n,)", labels.shape)
    if n is not None and len(labels) != n:
        raise InputError(name, f"have {n} labels, one for each object", len(labels))
    return labels
