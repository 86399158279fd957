"""Starting partitions: agglomeration by the classification likelihood, Ward, and k-means.

Model-based agglomeration [F98]_ merges, step by step, the two groups whose union lowers the
maximised classification likelihood least: a function of sizes and scatter matrices alone.
Large data start from a few hundred small groups instead of single objects.

References
----------
.. [F98] Fraley: Algorithms for model-based Gaussian hierarchical clustering.  SIAM Journal on
   Scientific Computing 20, 1998.
.. [SR15] Scrucca, Raftery: Improved initialisation of model-based clustering using Gaussian
   hierarchical partitions.  Advances in Data Analysis and Classification 9, 2015.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Cost = Callable[[Array, Array], Array]  # sizes (m,), scatter (m, d, d) -> (m,)

MAX_GROUPS = 1000  # agglomeration takes time cubic in the groups it starts from
MAX_OBJECTS = 2000  # Ward's method takes memory quadratic in the objects
MAX_SEEDED = 20_000  # rows that small groups are sought among


class Groups(NamedTuple):
    """Sizes (m,), means (m, d) and scatter matrices (m, d, d) of groups of objects."""

    sizes: Array
    means: Array
    scatter: Array


def balance(X: Array) -> Array:
    """Principal components of the scaled data, divided by the roots of their spreads [SR15]_.

    Halfway between scaled and sphered data: clusters still stand out, and no direction rules.
    Directions without variance are dropped.
    """
    Z = scale(X)
    _, spread, axes = np.linalg.svd(Z, full_matrices=False)
    kept = spread > 1e-6 * spread[0]
    result: Array = (Z @ axes[kept].T) / np.sqrt(spread[kept])
    return result


def sphere(X: Array) -> Array:
    """Data with unit covariance; directions without variance are dropped."""
    Z = scale(X)
    _, spread, axes = np.linalg.svd(Z, full_matrices=False)
    kept = spread > 1e-6 * spread[0]
    result: Array = (Z @ axes[kept].T) / (spread[kept] / np.sqrt(len(Z)))
    return result


def scale(X: Array) -> Array:
    """Data whose columns have mean 0 and, unless constant, variance 1."""
    Z = X - X.mean(axis=0)
    spread = Z.std(axis=0)
    result: Array = Z / np.where(spread > 0.0, spread, 1.0)
    return result


def ellipsoidal_cost(sizes: Array, scatter: Array, unit: float) -> Array:
    """Own ellipsoids: ``n log|W / n|``, kept finite for small groups by a trace [F98]_.

    The trace and the determinant have different units: the data have to be on `balance`'s scale.
    """
    trace = np.trace(scatter, axis1=-2, axis2=-1)
    volume = np.maximum(np.linalg.det(scatter / sizes[..., None, None]), 0.0)
    result: Array = sizes * np.log(volume + (trace + unit) / sizes)
    return result


def merge(groups: Groups, i: int, others: Labels | slice) -> Groups:
    """Group ``i`` united with each of the others."""
    sizes = groups.sizes[i] + groups.sizes[others]
    gap = groups.means[others] - groups.means[i]
    share = groups.sizes[others] / sizes
    means = groups.means[i] + share[:, None] * gap
    between = (groups.sizes[i] * share)[:, None, None] * gap[:, :, None] * gap[:, None, :]
    return Groups(sizes, means, groups.scatter[i] + groups.scatter[others] + between)


def agglomerate(groups: Groups, cost: Cost, numbers: Sequence[int]) -> dict[int, Labels]:
    """Labels of the groups when they have been merged to each of the ``numbers`` of clusters."""
    m = len(groups.sizes)
    groups = Groups(*(field.copy() for field in groups))
    own = cost(groups.sizes, groups.scatter)
    rises = np.full((m, m), np.inf)  # rises[i, j], i < j: what merging i and j costs
    for i in range(m - 1):
        union = merge(groups, i, slice(i + 1, None))
        rises[i, i + 1 :] = cost(union.sizes, union.scatter) - own[i] - own[i + 1 :]
    nearest = rises.argmin(axis=1)  # of each row, so that a step need not search the matrix
    lowest = rises[np.arange(m), nearest]
    labels, alive = np.arange(m), np.ones(m, dtype=bool)
    found = {}
    for left in range(m, min(numbers) - 1, -1):
        if left in numbers:
            found[left] = np.unique(labels, return_inverse=True)[1]
        if left == min(numbers):
            break
        i = int(lowest.argmin())
        j = int(nearest[i])
        own[i] += own[j] + lowest[i]
        union = merge(groups, i, slice(j, j + 1))
        for field, merged in zip(groups, union, strict=True):
            field[i] = merged[0]
        labels[labels == j] = i
        alive[j] = False
        rises[j, :] = rises[:, j] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != i]
        union = merge(groups, i, others)
        rise = cost(union.sizes, union.scatter) - own[i] - own[others]
        rises[np.minimum(i, others), np.maximum(i, others)] = rise
        stale = np.flatnonzero((nearest == j) | (nearest == i) | (rises[:, i] < lowest))
        stale = np.append(stale, [i, j])
        nearest[stale] = rises[stale].argmin(axis=1)
        lowest[stale] = rises[stale, nearest[stale]]
    return found


def summarise(Z: Array, labels: Labels) -> Groups:
    """Sizes, means and scatter matrices of labelled rows."""
    m, d = labels.max() + 1, Z.shape[1]
    sizes = np.bincount(labels, minlength=m).astype(float)
    means = np.stack([np.bincount(labels, Z[:, j], m) for j in range(d)], axis=1) / sizes[:, None]
    gaps = Z - means[labels]
    scatter = np.empty((m, d, d))
    for i in range(d):
        for j in range(d):
            scatter[:, i, j] = np.bincount(labels, gaps[:, i] * gaps[:, j], m)
    return Groups(sizes, means, scatter)


def ward(Z: Array, numbers: Sequence[int]) -> dict[int, Labels]:
    """Ward's partitions into each of the ``numbers`` of clusters."""
    groups = small_groups(Z, enough(numbers)) if len(Z) > MAX_OBJECTS else np.arange(len(Z))
    centers = summarise(Z, groups).means if len(Z) > MAX_OBJECTS else Z
    labels, cuts = np.arange(len(centers)), {}
    for left, (one, other) in zip(range(len(centers), 0, -1), tree_pairs(centers), strict=True):
        if left in numbers:
            cuts[left] = np.unique(labels, return_inverse=True)[1][groups]
        # the number of the new node
        labels[(labels == one) | (labels == other)] = 2 * len(centers) - left
    return {c: cuts[c] for c in numbers}


def tree_pairs(Z: Array) -> NDArray[np.intp]:
    """The nodes that Ward's method merges, step by step; nothing is merged in the last step."""
    # not linkage(Z): it warns of data that look like a matrix of distances
    merges = linkage(pdist(Z), "ward")[:, :2].astype(np.intp)
    return np.vstack([merges, [-1, -1]])


def enough(numbers: Sequence[int]) -> int:
    """How many small groups to start from: no fewer than there will be clusters."""
    return max(MAX_GROUPS, *numbers)


def small_groups(Z: Array, m: int, seed: int = 0) -> Labels:
    """Compact groups, m of them or one a row: by Ward, or by k-means where the rows are many."""
    if len(Z) <= m:
        return np.arange(len(Z))
    if len(Z) <= MAX_OBJECTS:
        return ward(Z, [m])[m]
    from sklearn.cluster import KMeans

    seeds = Z[:: -(-len(Z) // MAX_SEEDED)]
    model = KMeans(min(m, len(seeds)), n_init=1, max_iter=10, random_state=seed).fit(seeds)
    _, first, labels = np.unique(model.predict(Z), return_index=True, return_inverse=True)
    lacking = m - len(first)  # k-means may leave groups empty: some rows become groups
    labels[np.delete(np.arange(len(Z)), first)[:lacking]] = len(first) + np.arange(lacking)
    return np.asarray(labels)


def k_means(Z: Array, numbers: Sequence[int], seed: int) -> dict[int, Labels]:
    """k-means from k-means++ seeds."""
    from sklearn.cluster import KMeans

    fits = {c: KMeans(c, n_init=1, random_state=seed).fit(Z) for c in numbers}
    return {c: fit.labels_.astype(np.intp) for c, fit in fits.items()}


def ellipsoidal(X: Array, numbers: Sequence[int]) -> dict[int, Labels]:
    """Model-based agglomeration with own ellipsoids."""
    Z = balance(X)
    groups = small_groups(Z, enough(numbers))
    cost = partial(ellipsoidal_cost, unit=(Z**2).mean())
    found = agglomerate(summarise(Z, groups), cost, numbers)
    return {c: labels[groups] for c, labels in found.items()}


FIXED: tuple[Callable[[Array, Sequence[int]], dict[int, Labels]], ...] = (
    ellipsoidal,
    lambda X, numbers: ward(scale(X), numbers),
    ward,
    lambda X, numbers: ward(sphere(X), numbers),
)


def starting_partitions(
    X: Array, weights: Array, numbers: Sequence[int], n_starts: int, seed: int = 0
) -> list[dict[int, Labels]]:
    """The first ``n_starts`` partitions into each of the ``numbers`` of clusters.

    Model-based agglomeration comes first; then Ward's method on scaled, raw and sphered data;
    then k-means from as many seeds as are asked for.  Rows count once, however often they are
    repeated, so that weights do what repeated rows do.
    """
    present = np.flatnonzero(weights > 0.0)
    rows, back = np.unique(X[present], axis=0, return_inverse=True)
    found = [start(rows, numbers) for start in FIXED[:n_starts]]
    found += [k_means(scale(rows), numbers, seed + i) for i in range(n_starts - len(FIXED))]
    starts = []
    for partitions in found:
        full = {c: np.zeros(len(X), dtype=np.intp) for c in partitions}
        for c, labels in partitions.items():
            full[c][present] = labels[back]
        starts.append(full)
    return starts
