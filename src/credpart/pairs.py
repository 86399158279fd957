"""Which pairs of objects count: all of them, or those with a few weighted landmarks.

J of Eq. (9) is a sum over pairs.  For one object it is a sum over the others, and few of these,
with weights, have nearly the same sum: objects whose intervals with all others are alike may
stand for each other.  So the masses of n objects take time and memory linear in n:

1. Draw a sample of the objects, from each cluster its share (`stratified_sample`).
2. Run Algorithm 2 on all pairs of the sample, weighted: an object of weight w stands for w.
3. Choose landmarks by k-means on the intervals of the sample (`choose_landmarks`): each is an
   object of the sample, with the total weight of those that it stands for.  Objects that are
   certain of one cluster have the same intervals, so they become one landmark.
4. The masses of every object solve one quadratic program, from its intervals with the landmarks
   only (`Landmarks.masses`).  They depend on no object besides, so blocks of objects are
   independent of each other.

If all pairs count, the sample is all objects, and steps 3 and 4 are for new objects only.
"""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning as DistinctWarning
from threadpoolctl import threadpool_limits

from credpart._arrays import Array, BoolArray, IntArray, Single, make_read_only, sums_by
from credpart._irqp.new_objects import best_rows
from credpart._messages import Message
from credpart._threads import one_blas_thread
from credpart.errors import InputError
from credpart.intervals import (
    METHODS,
    Influence,
    PairwiseIntervals,
    bounds_between,
    by_object,
    scores,
)
from credpart.mixture.distinct import copies
from credpart.partition import EvidentialPartition

MOST_COMPARED = 2000  # objects up to which "auto" compares all pairs
SAMPLED = 1000  # objects of a sample
SAMPLED_FOR_EACH = 4  # objects of a sample for each landmark, at least
FEWEST = 20  # objects of each cluster in a sample, if it has as many
PER_PAIR = 3  # landmarks for each single and pair of clusters
PER_PAIR_SAMPLED = 5  # the same, where they give most fitted objects their masses too
PER_CLUSTER = 15  # landmarks for each cluster, at most
EACH_FOR = 10  # objects that a landmark must stand for, on average, to be worth its error
COLUMNS = 256  # objects of the sample whose intervals describe an object to k-means


class ComparedPairs(NamedTuple):
    """Which pairs count; None stands for all objects, or all of the sample."""

    n_sampled: int | None  # objects that are all compared with each other
    n_landmarks: int | None  # objects among these that all others are compared with


ALL = ComparedPairs(None, None)


def check_pair_option(value: object) -> str | int:
    """Refuse what is neither "auto" nor "all" nor a number of landmarks."""
    if isinstance(value, str) and value in ("auto", "all"):
        return value
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 2:
        raise InputError("pairs", "be 'auto', 'all' or a number of landmarks >= 2", value)
    return int(value)


def pairs_of(option: str | int, n: int, n_clusters: int) -> ComparedPairs:
    """What the parameter ``pairs`` means for n objects.

    >>> pairs_of("auto", 300, 3)
    ComparedPairs(n_sampled=None, n_landmarks=18)
    >>> pairs_of("auto", 5000, 3)
    ComparedPairs(n_sampled=1000, n_landmarks=30)
    """
    if option == "all":
        return ALL
    if isinstance(option, str):
        c = n_clusters
        per_pair = PER_PAIR if n <= MOST_COMPARED else PER_PAIR_SAMPLED
        number = min(per_pair * c * (c + 1) // 2, PER_CLUSTER * c)
        n_landmarks = number if number * EACH_FOR < n else n
        n_sampled = n if n <= MOST_COMPARED else max(SAMPLED, SAMPLED_FOR_EACH * number)
    else:
        n_landmarks, n_sampled = option, max(SAMPLED, SAMPLED_FOR_EACH * option)
    return ComparedPairs(
        n_sampled if n_sampled < n else None, n_landmarks if n_landmarks < n else None
    )


class SampledObjects(NamedTuple):
    """Objects that are all compared with each other, and how many objects each stands for."""

    rows: IntArray  # (s,), ascending
    weights: Array  # (s,)


def stratified_sample(
    labels: IntArray, weights: Array, size: int | None, rng: np.random.Generator
) -> SampledObjects:
    """Draw about ``size`` objects: of each cluster its share, but no fewer than `FEWEST`.

    The weights of the sample add up to those of each cluster.  Objects without weight are drawn
    only if all objects are.

    >>> labels, weights = np.repeat([0, 1], [900, 100]), np.ones(1000)
    >>> sample = stratified_sample(labels, weights, 100, np.random.default_rng(0))
    >>> np.bincount(labels[sample.rows]), np.bincount(labels[sample.rows], sample.weights)
    (array([90, 20]), array([900., 100.]))
    """
    if size is None or size >= len(labels):
        return SampledObjects(np.arange(len(labels)), weights)
    rows, drawn_weights = [], []
    for k in range(int(labels.max()) + 1):
        (members,) = np.nonzero((labels == k) & (weights > 0.0))
        total = weights[members].sum()
        share = round(size * total / weights.sum())
        drawn = rng.choice(members, min(len(members), max(share, FEWEST)), replace=False)
        rows.append(drawn)
        drawn_weights.append(weights[drawn] * (total / weights[drawn].sum() if len(drawn) else 1.0))
    order = np.argsort(np.concatenate(rows))
    return SampledObjects(np.concatenate(rows)[order], np.concatenate(drawn_weights)[order])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Landmarks:
    """A few weighted objects that stand for all, and give any object its masses.

    Attributes
    ----------
    partition : EvidentialPartition
        Masses of the landmarks.
    weights : array of shape (l,)
        How many objects each of them stands for.
    posteriors : array of shape (l, c, B)
        Their posteriors in the replicates, in single precision.
    level, method
        Of the intervals.
    estimate : array of shape (l, c) or None
        Their posteriors in the fit, if the method needs them.
    pointwise_level : float or None
        Level of each interval on its own, if ``level`` is that of all together.
    influence : Influence or None
        How fitted objects move their posteriors in the fit, if the method needs it.
    values : array of shape (l, d) or None
        Their values, if intervals with them are those of the delta method.

    Examples
    --------
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import make_mixture1
    >>> X = make_mixture1(200, random_state=0).X
    >>> model = CalibratedClustering(3, model="EII", n_replicates=40, random_state=0).fit(X)
    >>> model.result_.landmarks
    Landmarks(18 for 200 objects, level=0.9, n_replicates=40)
    >>> model.result_.landmarks.masses(model.replicates_.posteriors(X[:2])).shape
    (2, 6)
    """

    partition: EvidentialPartition
    weights: Array
    posteriors: Single
    level: float
    method: str
    estimate: Array | None = None
    pointwise_level: float | None = None
    influence: Influence | None = None
    values: Array | None = None

    def __post_init__(self) -> None:
        make_read_only(self.weights, self.posteriors)
        if self.values is not None:
            make_read_only(self.values)
        if self.estimate is not None:
            make_read_only(self.estimate)
        if self.influence is not None:
            make_read_only(*self.influence)

    def __repr__(self) -> str:
        return (
            f"Landmarks({len(self.weights)} for {self.weights.sum():g} objects, "
            f"level={self.level:g}, n_replicates={self.posteriors.shape[2]})"
        )

    def masses(
        self,
        posteriors: ArrayLike,
        *,
        estimate: ArrayLike | None = None,
        influence: Influence | None = None,
        allowed: BoolArray | None = None,
        n_jobs: int | None = None,
    ) -> Array:
        """Masses (m, f) of any objects, from their posteriors (B, m, c) in the same replicates.

        ``estimate`` has their posteriors (m, c) in the fit, for methods that need them, and
        ``influence`` says how the objects of `influence` move these.  ``allowed`` (m, f) says which
        focal sets may carry mass, if not all.

        One quadratic program, Eq. (16)-(17), for each object: its masses do not depend on the
        other objects of the call.
        """
        new = by_object("posteriors", posteriors)
        if new.shape[1:] != self.posteriors.shape[1:]:
            c, B = self.posteriors.shape[1:]
            got = Message(f"{new.shape[2]} and {new.shape[1]}")
            raise InputError("posteriors", f"have {B} replicates and {c} clusters", got)
        method = METHODS[self.method]
        lower, upper = bounds_between(
            scores(new, method, estimate, influence),
            scores(self.posteriors, method, self.estimate, self.influence),
            self.level_of_each,
            method,
            n_jobs=n_jobs,
        )
        return self.masses_within(lower, upper, allowed)

    def masses_within(self, lower: Array, upper: Array, allowed: BoolArray | None = None) -> Array:
        """Masses (m, f) of objects with bounds (m, l) on their P_ij with the landmarks."""
        masses, focal = self.partition.masses, self.partition.focal_sets
        with one_blas_thread():
            return best_rows(masses, focal, self.weights, lower, upper, allowed)

    @property
    def n_sets(self) -> int:
        """Number of focal sets, f."""
        return len(self.partition.focal_sets)

    @property
    def level_of_each(self) -> float:
        """Level of each interval on its own."""
        return self.level if self.pointwise_level is None else self.pointwise_level


class Chosen(NamedTuple):
    """Some objects of a sample, and how many objects each stands for."""

    places: IntArray  # in the sample
    weights: Array


def distinct_objects(values: Array, weights: Array) -> Chosen:
    """The distinct ones among objects (n, d) that have a weight, in lexicographic order.

    >>> distinct_objects(np.array([[2.0], [1.0], [2.0]]), np.array([1.0, 1.0, 2.0]))
    Chosen(places=array([1, 0]), weights=array([1., 3.]))
    """
    first, place = copies(values)
    totals = sums_by(place, weights)
    counted = totals > 0.0
    return Chosen(first[counted], totals[counted])


def choose_landmarks(
    intervals: PairwiseIntervals, objects: Chosen, number: int | None, seed: int
) -> Chosen:
    """Choose landmarks among objects with these intervals: all if number is None.

    Objects are alike if their intervals with others are.  These need no matching of clusters
    between replicates, and their distance is what J pays for taking one object for another.
    Weighted k-means makes groups; the object nearest to the centre stands for its group.
    """
    counted, weights = objects
    if number is None or number >= len(counted):
        return objects
    rng = np.random.default_rng(seed)
    others = counted
    if len(others) > COLUMNS:
        others = counted[np.sort(rng.choice(len(counted), COLUMNS, replace=False))]
    features = bounds_of(intervals, counted, others)
    # One thread, since the order of its sums depends on their number; fewer groups than asked for,
    # which scikit-learn warns of, only say that many objects have the same intervals.
    with (
        one_blas_thread(),
        threadpool_limits(1, user_api="openmp"),
        warnings.catch_warnings(action="ignore", category=DistinctWarning),
    ):
        groups = KMeans(number, n_init=1, random_state=seed % 2**32).fit(
            features, sample_weight=weights
        )
    centres = groups.cluster_centers_[groups.labels_]
    distances = np.square(features - centres).sum(axis=1)
    order = np.lexsort((distances, groups.labels_))  # by group, the nearest to its centre first
    found, first = np.unique(groups.labels_[order], return_index=True)
    totals = np.bincount(groups.labels_, weights, minlength=number)
    places = counted[order[first]]
    return Chosen(places, totals[found])


def bounds_of(intervals: PairwiseIntervals, rows: IntArray, others: IntArray) -> Array:
    """Both bounds of ``rows`` with ``others``, side by side; of an object with itself its own.

    >>> intervals = PairwiseIntervals([0.1, 0.2, 0.3], [0.4, 0.5, 0.6], level=0.9)
    >>> bounds_of(intervals, np.array([0, 2]), np.array([1]))
    array([[0.1, 0.4],
           [0.3, 0.6]])
    """
    n = intervals.n_objects
    i, j = np.minimum.outer(rows, others), np.maximum.outer(rows, others)
    same = i == j
    place = np.where(same, 0, i * n - i * (i + 1) // 2 + j - i - 1)
    own = intervals.own_lower, intervals.own_upper
    bounds = []
    for bound, itself in zip((intervals.lower, intervals.upper), own, strict=True):
        found = bound[place]
        if itself is not None:
            found[same] = itself[i[same]]
        bounds.append(found)
    return np.concatenate(bounds, axis=1)


def estimated_objective(
    intervals: PairwiseIntervals,
    partition: EvidentialPartition,
    sample: SampledObjects,
    weights: Array,
) -> float:
    """J of Eq. (9) over all pairs of weighted objects, from the pairs of a sample of them.

    Their mean error, weighted, times the number of all pairs of copies; ``partition`` has the
    masses of the sample.
    """
    total = weighted = 0.0
    w, first = sample.weights, 0
    belief, plausibility = partition.pairwise_condensed()
    errors = np.square(belief - intervals.lower) + np.square(plausibility - intervals.upper)
    for i in range(len(w) - 1):
        row = errors[first : first + len(w) - 1 - i]
        total += w[i] * float(w[i + 1 :] @ row)
        weighted += w[i] * float(w[i + 1 :].sum())
        first += len(row)
    n_pairs = 0.5 * (weights.sum() ** 2 - (weights * np.minimum(weights, 1.0)).sum())
    return total / weighted * float(n_pairs) if weighted > 0.0 else 0.0
