"""The stopping rule of mclust, which the paper used."""

from typing import Any

import numpy as np

TOLERANCE = 1e-5


def tolerance(X: Any, loglik: float) -> float:
    """The tolerance of mclust for data in their own units, as the library counts it.

    Both stop when the log-likelihood rises by less than a share of itself.  It depends on the
    units of the data, so the library counts in units of the standard deviations.

    >>> print(f"{tolerance([[0.0], [2000.0]], -17.0):.1e}")
    5.6e-05
    """
    spread = np.asarray(X, dtype=float).std(axis=0)
    own = loglik + len(X) * np.log(spread).sum()
    return float(TOLERANCE * (1.0 + abs(loglik)) / (1.0 + abs(own)))
