"""Starting partitions of data with outliers: these are found first, and left out.

Objects far from their nearest neighbours are taken for outliers as in [BR98]_: clusters and noise
are two Poisson processes, so that the volume of the ball that reaches to the k-th neighbour has a
gamma distribution in each, and EM separates the two.  A partition of the others then marks outliers
with -1.  It is only where EM starts: what is an outlier in the end, the mixture decides.

References
----------
.. [BR98] Byers, Raftery: Nearest-neighbor clutter removal for estimating features in spatial point
   processes.  Journal of the American Statistical Association 93, 1998.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree
from scipy.special import expit

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.families.base import OUTLIER
from credpart.mixture.search.initialisation import DECIMALS, Partitioner, starting_partitions

NEIGHBOURS = 12
ITERATIONS = 100
# More clutter than this is rather a cluster of low density.
MOST = 0.5


def starts_without_outliers(
    X: Array,
    numbers: Sequence[int],
    n_starts: int,
    seed: int,
    starts: Sequence[Partitioner],
) -> list[dict[int, IntArray]]:
    """`starting_partitions` of the objects that are no outliers; none if all seem to be clusters.

    Outliers have the label -1.
    """
    rows, place = np.unique(X, axis=0, return_inverse=True)
    is_outlier = find_outliers(rows)
    if not is_outlier.any() or len(rows) - is_outlier.sum() <= max(max(numbers), X.shape[1] + 1):
        return []
    inside = np.flatnonzero(~is_outlier[place.ravel()])

    def marked(labels: IntArray) -> IntArray:
        result = np.full(len(X), OUTLIER)
        result[inside] = labels
        return result

    found = starting_partitions(X[inside], numbers, n_starts, seed, starts)
    return [{c: marked(labels) for c, labels in one.items()} for one in found]


def find_outliers(X: Array) -> BoolArray:
    """Which of the distinct objects (n, d) are far from their nearest neighbours.

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)), [[30.0, -30.0]]])
    >>> bool(find_outliers(X)[-1]), int(find_outliers(X)[:-1].sum()) < 40
    (True, True)
    """
    n, d = X.shape
    k = min(NEIGHBOURS, n // 4)
    if k < 1:
        return np.zeros(n, dtype=bool)
    Z = in_quartiles(X)
    distances = np.asarray(KDTree(Z).query(Z, [k + 1])[0])[:, 0]  # the first is the object itself
    logs = d * np.log(np.maximum(distances, np.finfo(float).tiny))
    is_far = clutter(logs, k)
    return is_far if is_far.mean() <= MOST else np.zeros(n, dtype=bool)


def clutter(log_volumes: Array, k: int) -> BoolArray:
    """Whether each ball more probably comes from the sparser of two Poisson processes.

    A volume has density proportional to ``rate^k v^(k - 1) exp(-rate v)``, by the k-th neighbour.
    EM alternates between the probability of the sparser process and the two rates.
    """
    volumes = np.exp(log_volumes - np.median(log_volumes))
    volumes = np.minimum(volumes, np.finfo(float).max ** 0.5)
    resp = 1.0 * (volumes > np.quantile(volumes, 0.9))
    if not 0.0 < resp.mean() < 1.0:
        return np.zeros(len(volumes), dtype=bool)
    for _ in range(ITERATIONS):
        share = np.clip(resp.mean(), 1e-12, 1.0 - 1e-12)
        rate_sparse = k * resp.sum() / (resp @ volumes)
        rate_dense = k * (1.0 - resp).sum() / ((1.0 - resp) @ volumes)
        log_odds = np.log(share / (1.0 - share)) + k * np.log(rate_sparse / rate_dense)
        before, resp = resp, expit(log_odds + (rate_dense - rate_sparse) * volumes)
        if np.abs(resp - before).max() < 1e-6 or not 0.0 < resp.sum() < len(resp):
            break
    return np.asarray(resp > 0.5)


def in_quartiles(X: Array) -> Array:
    """Columns in units of their interquartile ranges, which outliers do not move.

    Rounded, as `scale` is.
    """
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    spread = np.where(high > low, high - low, np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0))
    return np.asarray(((X - middle) / spread).round(DECIMALS))
