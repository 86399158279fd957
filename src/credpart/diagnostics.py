"""What a user should know before trusting a fit.

References
----------
.. [HZ90] Henze, Zirkler: A class of invariant consistent tests for multivariate normality.
   Communications in Statistics - Theory and Methods 19, 1990.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import lognorm

from credpart._checks import Array, check_data, check_weights

BLOCK = 1 << 21  # pairwise distances worked on at a time


class NormalityTest(NamedTuple):
    """The test of Henze and Zirkler for one cluster."""

    statistic: float
    p_value: float
    size: float  # effective number of objects


def henze_zirkler(X: Any, weights: ArrayLike | None = None) -> NormalityTest:
    """Test whether objects come from one multivariate normal distribution [HZ90]_.

    The statistic is a weighted distance between the characteristic function of the standardised
    objects and that of the normal law.  With weights, such as posterior probabilities of a
    cluster, means are weighted means, and the number of objects is Kish's effective number
    ``(sum w)^2 / sum w^2``; with weights 0 and 1 this is the test on the objects of weight 1.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    weights : array of shape (n,), optional
        Weights of the objects.

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
    size = float(w.sum() ** 2 / (w**2).sum())
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
    gaps = X - w @ X
    unit = np.sqrt(w @ gaps**2)
    if not (unit > 0.0).all():
        return None
    gaps = gaps / unit
    values, axes = np.linalg.eigh((gaps * w[:, None]).T @ gaps)
    if values[0] <= 1e-12 * values[-1]:
        return None
    result: Array = gaps @ axes / np.sqrt(values)
    return result


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
    spread = np.sqrt(np.log1p(variance / mean**2))
    return float(lognorm.sf(statistic, spread, scale=mean**2 / np.sqrt(variance + mean**2)))
