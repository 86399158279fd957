"""Starting partitions: agglomeration by the classification likelihood, Ward, and k-means.

Model-based agglomeration [F98]_ merges, step by step, the two sets whose union lowers the
maximised classification likelihood least: a function of sizes and scatter matrices alone.
Large data start from 1000 microclusters instead of single objects.  Models that do not depend on
the units of the columns start from partitions that do not depend on them either.

References
----------
.. [F98] Fraley: Algorithms for model-based Gaussian hierarchical clustering.  SIAM Journal on
   Scientific Computing 20, 1998.
.. [SR15] Scrucca, Raftery: Improved initialisation of model-based clustering using Gaussian
   hierarchical partitions.  Advances in Data Analysis and Classification 9, 2015.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from credpart._arrays import Array, IntArray
from credpart._checks import check_data, in_row
from credpart._messages import Message
from credpart.errors import InputError
from credpart.mixture.covariance.matrices import pivots

Cost = Callable[[Array, Array], Array]  # sizes (...), scatter (d, d, ...) -> (...)

MAX_INITIAL_SETS = 1000  # the matrix of merging costs is quadratic in the sets
MAX_OBJECTS = 2000  # Ward's method takes memory quadratic in the objects
MAX_FITTED = 20_000  # rows that k-means for microclusters is fitted to
DECIMALS = 9  # of scaled data
BLOCK = 1 << 16  # values in the scatter matrices of pairs whose costs are found together


class MergedSets(NamedTuple):
    """Sizes (m,), means (d, m) and scatter matrices (d, d, m) of sets of objects to merge."""

    sizes: Array
    means: Array
    scatter: Array

    def at(self, *index: Any) -> "MergedSets":
        """Some of the sets, or all of them along new axes."""
        return MergedSets(self.sizes[index], self.means[:, *index], self.scatter[:, :, *index])

    def merge(self, i: int, j: int) -> None:
        """Make set i the union of both, in place."""
        one, other = self.at(i), self.at(j)
        self.sizes[i], self.scatter[:, :, i] = unite(one, other)
        self.means[:, i] += other.sizes / self.sizes[i] * (other.means - one.means)


def balance(X: Array) -> Array:
    """Principal components of the scaled data, divided by the roots of their spreads [SR15]_.

    Halfway between scaled and sphered data: clusters still stand out, and no direction dominates.
    Directions without variance are dropped.
    """
    components, spread = principal_components(X)
    return components / np.sqrt(spread)


def sphere(X: Array) -> Array:
    """Data with unit covariance; directions without variance are dropped."""
    components, spread = principal_components(X)
    return components / (spread / np.sqrt(len(X)))


def principal_components(X: Array) -> tuple[Array, Array]:
    """Principal components of the scaled data that have a variance, and their singular values."""
    Z = scale(X)
    _, spread, axes = np.linalg.svd(Z, full_matrices=False)
    kept = spread > 1e-6 * spread[0]  # less is rounding: scaled data have 9 decimals
    return Z @ axes[kept].T, spread[kept]


def scale(X: Array) -> Array:
    """Data whose columns have mean 0 and, unless constant, variance 1.

    Rounded, so that other units give the same numbers to the last bit, and ties stay ties.
    """
    Z = X - X.mean(axis=0)
    spread = Z.std(axis=0)
    return np.asarray((Z / np.where(spread > 0.0, spread, 1.0)).round(DECIMALS))


def ellipsoidal_cost(sizes: Array, scatter: Array, offset: float) -> Array:
    """``n log(|W / n| + (tr W + offset) / n)`` for unconstrained covariances (VVV) [F98]_.

    The trace and the offset keep it finite for sets that are small or flat.  Determinant and
    trace have different units, so the data have to be on the scale of `balance`.
    """
    volume = np.fmax(reduce(np.multiply, pivots((scatter / sizes).T)).T, 0.0)  # 0 for NaN too
    return sizes * np.log(volume + (scatter.trace() + offset) / sizes)


def unite(one: MergedSets, other: MergedSets) -> tuple[Array, Array]:
    """Sizes and scatter matrices of sets united, one of the first with one of the second."""
    sizes = one.sizes + other.sizes
    gap = other.means - one.means
    between = (one.sizes * (other.sizes / sizes) * gap)[:, None] * gap
    return sizes, one.scatter + other.scatter + between


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # pivots of flat sets are 0
def agglomerate(sets: MergedSets, cost: Cost, numbers: Sequence[int]) -> dict[int, IntArray]:
    """Labels of the sets when they have been merged to each of the ``numbers`` of clusters."""
    m = len(sets.sizes)
    sets = MergedSets(*(field.copy() for field in sets))
    own_cost = cost(sets.sizes, sets.scatter)
    rises = all_rises(sets, own_cost, cost)
    nearest = rises.argmin(axis=1)  # of each row, so that a step need not search the matrix
    lowest = rises.min(axis=1)
    kept, gone = np.empty((2, m - min(numbers)), dtype=np.intp)
    for step in range(len(gone)):
        kept[step] = i = int(lowest.argmin())
        gone[step] = j = int(nearest[i])
        sets.merge(i, j)
        own_cost[i] += own_cost[j] + lowest[i]
        own_cost[j] = -np.inf  # so that the rise of every later merge with j is infinite
        rise = cost(*unite(sets.at(slice(i, i + 1)), sets)) - own_cost[i] - own_cost
        rises[:, j] = np.inf  # row j of rises is not read again
        rises[:i, i] = rise[:i]
        rises[i, i + 1 :] = rise[i + 1 :]
        nearest[j], lowest[j] = -1, np.inf
        stale = ((nearest == j) | (nearest == i) | (rises[:, i] < lowest)).nonzero()[0]
        nearest[stale] = places = rises[stale].argmin(axis=1)
        lowest[stale] = rises[stale, places]
    return {c: cut(m, gone[: m - c], kept[: m - c]) for c in numbers}


def all_rises(sets: MergedSets, own_cost: Array, cost: Cost) -> Array:
    """What merging sets i and j costs, i < j: a matrix (m, m), infinite elsewhere."""
    m = len(own_cost)
    rises, places = np.full((m, m), np.inf), np.arange(m)
    height = max(1, BLOCK // sets.scatter.size)
    for first in range(0, m, height):
        rows, others = slice(first, first + height), slice(first, None)
        united = unite(sets.at(rows, None), sets.at(None, others))
        rise = cost(*united) - own_cost[rows, None] - own_cost[others]
        np.copyto(rises[rows, others], rise, where=places[rows, None] < places[others])
    return rises


def set_moments(Z: Array, labels: IntArray) -> MergedSets:
    """Sizes, means and scatter matrices of labelled rows."""
    m, d = labels.max() + 1, Z.shape[1]
    sizes = np.bincount(labels, minlength=m).astype(float)
    means = np.stack([np.bincount(labels, Z[:, j], m) for j in range(d)]) / sizes
    gaps = Z.T - means[:, labels]
    scatter = [[np.bincount(labels, gaps[i] * gaps[j], m) for j in range(d)] for i in range(d)]
    return MergedSets(sizes, means, np.array(scatter))


def ward(Z: Array, numbers: Sequence[int]) -> dict[int, IntArray]:
    """Ward's partitions into each of the ``numbers`` of clusters.

    Many objects are first put into microclusters, whose centres then count once each, whatever
    their sizes.
    """
    labels, centers = np.arange(len(Z)), Z
    if len(Z) > MAX_OBJECTS:
        labels = initial_sets(Z, max(MAX_INITIAL_SETS, *numbers))
        centers = set_moments(Z, labels).means.T
    m = len(centers)
    # not linkage(centers): it warns of data that look like a matrix of distances
    merges = linkage(pdist(centers), "ward")[:, :2].astype(np.intp)
    nodes = np.arange(m, 2 * m - 1)[:, None]  # which the merges make
    return {c: cut(2 * m - 1, merges[: m - c], nodes[: m - c])[labels] for c in numbers}


def cut(n_nodes: int, children: IntArray, parents: IntArray) -> IntArray:
    """The cluster of each node of a dendrogram that is cut.

    Its merges are ``children`` into ``parents``.  Clusters are numbered in the order of the nodes
    that remain.
    """
    root, is_root = np.arange(n_nodes), np.ones(n_nodes, dtype=np.intp)
    root[children], is_root[children] = parents, 0
    for _ in range(n_nodes.bit_length()):  # each pass doubles the steps towards the root
        root = root[root]
    return (is_root.cumsum() - 1)[root]


def initial_sets(Z: Array, m: int) -> IntArray:
    """Labels of m sets to merge: single rows, those of Ward, or microclusters of many rows."""
    if len(Z) <= m:
        return np.arange(len(Z))
    if len(Z) <= MAX_OBJECTS:
        return ward(Z, [m])[m]
    thinned = Z[:: -(-len(Z) // MAX_FITTED)]
    labels = microclusters(Z, thinned, m, seed=0)
    first = np.unique(labels, return_index=True)[1]
    lacking = m - len(first)  # k-means may leave sets empty: some rows become sets
    labels[np.delete(np.arange(len(Z)), first)[:lacking]] = len(first) + np.arange(lacking)
    return labels


def microclusters(Z: Array, some: Array, m: int, seed: int) -> IntArray:
    """Labels of at most m compact sets of rows, by a few iterations of k-means on some rows."""
    from sklearn.cluster import KMeans

    model = KMeans(min(m, len(some)), n_init=1, max_iter=10, random_state=seed).fit(some)
    return np.unique(model.predict(Z), return_inverse=True)[1]


def k_means(Z: Array, numbers: Sequence[int], seed: int) -> dict[int, IntArray]:
    """k-means from k-means++ seeds."""
    from sklearn.cluster import KMeans

    fits = {c: KMeans(c, n_init=1, random_state=seed).fit(Z) for c in numbers}
    return {c: fit.labels_.astype(np.intp) for c, fit in fits.items()}


def ellipsoidal(X: Array, numbers: Sequence[int]) -> dict[int, IntArray]:
    """Model-based agglomeration with own ellipsoids."""
    Z = balance(X)
    # No fewer sets than there will be clusters.
    own = initial_sets(Z, max(MAX_INITIAL_SETS, *numbers))
    cost = partial(ellipsoidal_cost, offset=(Z**2).mean())
    found = agglomerate(set_moments(Z, own), cost, numbers)
    return {c: labels[own] for c, labels in found.items()}


Partitioner = Callable[[Array, Sequence[int]], dict[int, IntArray]]


def ward_on(to_scale: Callable[[Array], Array]) -> Partitioner:
    """Ward's method on the data in another scale."""
    return lambda X, numbers: ward(to_scale(X), numbers)


UNIT_FREE: tuple[Partitioner, ...] = (
    ellipsoidal,
    ward_on(scale),
    ward_on(sphere),
    ward_on(balance),
)
WITH_UNITS: tuple[Partitioner, ...] = (ellipsoidal, ward_on(scale), ward, ward_on(sphere))


def responsibilities(labels: IntArray, c: int) -> Array:
    """A partition as responsibilities (c, n), 0 or 1."""
    return 1.0 * (labels == np.arange(c)[:, None])


def check_start(start: ArrayLike, weights: Array, c: int) -> Array:
    """Responsibilities (c, n) of a start given as labels (n,) or responsibilities (n, c)."""
    given, n = np.asarray(start), len(weights)
    if given.shape == (n,):
        for found in np.unique(given), np.unique(given[weights > 0.0]):
            if not np.array_equal(found, np.arange(c)):
                labels = f"hold the labels 0 to {c - 1}, each at least once"
                where = "" if (weights > 0.0).all() else " where weights are positive"
                raise InputError("start", labels + where, found)
        return responsibilities(given, c)
    if given.shape != (n, c):
        raise InputError("start", f"have shape ({n},) or ({n}, {c})", given.shape)
    resp = check_data(given, name="start").values.T
    off = np.maximum(np.abs(resp.sum(axis=0) - 1.0), -resp.min(axis=0))
    if resp.min() < 0.0 or off.max() > 1e-6:
        got = in_row(f"{resp[:, off.argmax()]}", off.argmax())
        raise InputError("start", "have non-negative rows summing to 1", got)
    empty = np.flatnonzero(resp[:, weights > 0.0].sum(axis=1) == 0.0)
    if len(empty):
        where = "" if (weights > 0.0).all() else " of positive weight"
        got = Message(f"none for cluster {empty[0]}")
        raise InputError("start", "give each cluster a part of some object" + where, got)
    return resp


def starting_partitions(
    X: Array,
    numbers: Sequence[int],
    n_starts: int,
    seed: int = 0,
    starts: Sequence[Partitioner] = WITH_UNITS,
) -> list[dict[int, IntArray]]:
    """The first ``n_starts`` partitions into each of the ``numbers`` of clusters.

    After ``starts`` comes k-means, from as many seeds as are asked for.  Rows count once, however
    often they are repeated, so that weights do what repeated rows do.
    """
    rows, place = np.unique(X, axis=0, return_inverse=True)
    found = [start(rows, numbers) for start in starts[:n_starts]]
    seeds = [(seed + i) % (1 << 32) for i in range(n_starts - len(starts))]  # scikit-learn's limit
    found += [k_means(scale(rows), numbers, each) for each in seeds]
    return [{c: labels[place.ravel()] for c, labels in partitions.items()} for partitions in found]
