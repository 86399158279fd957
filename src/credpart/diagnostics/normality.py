"""Are the clusters normal?  The test of Henze and Zirkler, weighted by posteriors.

References
----------
.. [HZ90] Henze, Zirkler: A class of invariant consistent tests for multivariate normality.
   Communications in Statistics - Theory and Methods 19, 1990.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import lognorm

from credpart._arrays import Array, IntArray
from credpart._checks import check_data, check_weights

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 1 << 18  # pairwise distances worked on at a time: 2 MB stay in the cache
MOST_ROWS = 4000  # of a cluster, that are tested: the time is quadratic
ROUNDING = 1e-12  # of the statistic, which is about 1: in 100 dimensions its law is narrower
NEGLIGIBLE = 1e-8  # posteriors that are not felt in the statistic, but in the time


class NormalityTest(NamedTuple):
    """The test of Henze and Zirkler for one cluster.

    Examples
    --------
    >>> from credpart.datasets import load_iris
    >>> from credpart.diagnostics import henze_zirkler
    >>> henze_zirkler(load_iris().X).p_value < 1e-10  # three species are not one normal cluster
    True
    """

    statistic: float
    p_value: float
    size: float  # effective number of objects


ABSENT = NormalityTest(np.nan, np.nan, 0.0)  # of a component without objects


def henze_zirkler(
    X: Any, weights: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> NormalityTest:
    """Test whether objects come from one multivariate normal distribution [HZ90]_.

    The statistic is a weighted distance between the characteristic function of the standardised
    objects and that of the normal law.  With weights, such as posterior probabilities of a
    cluster, means are weighted means, and the number of objects is Kish's effective number
    ``(sum w)^2 / sum w^2``; with weights 0 and 1 this is the test on the objects of weight 1.
    Under a mixture that is true, objects weighted by their posteriors have the law of the
    component, also where components overlap; the objects of a hard cluster have not.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    weights : array of shape (n,), optional
        Weights of the objects.
    sample_weight : array of shape (n,), optional
        How often each object was seen: the same as repeated rows.

    Returns
    -------
    NormalityTest
        The statistic, its p-value by the lognormal approximation, and the effective number of
        objects.  Both are NaN where the objects do not span the space.

    Examples
    --------
    >>> from credpart.datasets import load_iris
    >>> from credpart.diagnostics import henze_zirkler
    >>> setosa = load_iris().X[:50]
    >>> test = henze_zirkler(setosa)
    >>> round(test.statistic, 4), round(test.p_value, 3)
    (0.9488, 0.05)
    """
    values = check_data(X).values
    w = check_weights("weights", weights, len(values))
    seen = check_weights("sample_weight", sample_weight, len(values))
    size = float((seen @ w) ** 2 / (seen @ w**2))
    w = seen * w
    values, w = values[w > 0.0], w[w > 0.0] / w.sum()
    Z = _sphere(values, w)
    if Z is None:
        return NormalityTest(np.nan, np.nan, size)
    n, d = size, values.shape[1]
    b2 = 0.5 * ((2 * d + 1) * n / 4.0) ** (2.0 / (d + 4))
    near = np.exp(-0.5 * b2 / (1.0 + b2) * (Z**2).sum(axis=1))
    statistic = n * (
        _mean_kernel(Z, w, b2)
        - 2.0 * (1.0 + b2) ** (-d / 2) * (w @ near)
        + (1.0 + 2.0 * b2) ** (-d / 2)
    )
    return NormalityTest(float(statistic), _p_value(float(statistic), d, b2), size)


def _sphere(X: Array, w: Array) -> Array | None:
    """Objects with mean 0 and unit covariance (divided by n); None if they lie on a plane."""
    gaps = X - X[0]  # exactly 0 where a column is constant: the weighted mean may round
    gaps = gaps - w @ gaps
    unit = np.sqrt(w @ gaps**2)
    if not (unit > 0.0).all():
        return None
    gaps = gaps / unit
    values, axes = np.linalg.eigh((gaps * w[:, None]).T @ gaps)
    if values[0] <= 1e-12 * values[-1]:
        return None
    return np.asarray(gaps @ axes / np.sqrt(values))


def _mean_kernel(Z: Array, w: Array, b2: float) -> float:
    """``sum_ij w_i w_j exp(-b2 |z_i - z_j|^2 / 2)``, by blocks of rows."""
    squares, total = (Z**2).sum(axis=1), 0.0
    step = max(1, BLOCK // len(Z))
    for start in range(0, len(Z), step):
        rows = slice(start, start + step)
        D = squares[rows, None] + squares - 2.0 * (Z[rows] @ Z.T)
        total += float(w[rows] @ np.exp(-0.5 * b2 * np.maximum(D, 0.0)) @ w)
    return total


def _p_value(statistic: float, d: int, b2: float) -> float:
    """Upper tail of the lognormal law with the moments of Theorems 2.2 and 2.3 of [HZ90]_."""
    a, c = 1.0 + 2.0 * b2, (1.0 + b2) * (1.0 + 3.0 * b2)
    b4, b8 = b2**2, b2**4
    mean = 1.0 - a ** (-d / 2) * (1.0 + d * b2 / a + d * (d + 2) * b4 / (2.0 * a**2))
    variance = (
        2.0 * (1.0 + 4.0 * b2) ** (-d / 2)
        + 2.0 * a**-d * (1.0 + 2.0 * d * b4 / a**2 + 3.0 * d * (d + 2) * b8 / (4.0 * a**4))
        - 4.0 * c ** (-d / 2) * (1.0 + 3.0 * d * b4 / (2.0 * c) + d * (d + 2) * b8 / (2.0 * c**2))
    )
    spread = max(float(np.sqrt(np.log1p(variance / mean**2))), ROUNDING)
    return float(lognorm.sf(statistic, spread, scale=mean**2 / np.sqrt(variance + mean**2)))


def normality_by_cluster(
    X: Array, posteriors: Array, sample_weight: Array, names: list[str]
) -> "pd.DataFrame":
    """The test for each cluster, with Holm's adjusted p-values and the number of rows used.

    Of clusters with more than `MOST_ROWS` rows a random subset is tested, always the same.
    """
    import pandas as pd

    rows = []
    for weights in posteriors.T:
        kept = _rows_of(weights * (sample_weight > 0.0))
        part = X[kept], weights[kept]
        test = henze_zirkler(*part, sample_weight=sample_weight[kept]) if len(kept) else ABSENT
        rows.append((*test, len(kept)))
    columns = [*NormalityTest._fields, "rows"]
    table = pd.DataFrame(rows, columns=columns, index=pd.Index(names, name="cluster"))
    table.insert(2, "adjusted", holm(table["p_value"].to_numpy()))
    # The statistic is n times a squared distance of characteristic functions, which does not grow
    # with the number of objects: the size of the effect.
    table.insert(3, "distance", np.sqrt(table["statistic"] / table["size"]))
    return table


def holm(p: Array) -> Array:
    """P-values adjusted by Holm's rule: the family-wise error is kept under any dependence.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: int(np.isfinite(p).sum())]  # NaN, no test, are last
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def _rows_of(weights: Array) -> IntArray:
    """Rows that count in a cluster, at most `MOST_ROWS` of them."""
    rows = np.flatnonzero(weights > min(NEGLIGIBLE, 0.5 * weights.max()))
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
