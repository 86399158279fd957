"""Criteria by which a model is chosen, with the sign of mclust: larger is better."""

from collections.abc import Callable, Mapping

import numpy as np

from credpart._arrays import Array

# Functions of log-likelihoods, numbers of parameters, the number of objects, and of what returns
# the sums of the logarithms of the largest posteriors, which only ICL asks for.
Criterion = Callable[[Array, Array, float, Callable[[], Array]], Array]

CRITERIA: Mapping[str, Criterion] = {
    "bic": lambda loglik, k, n, certainty: 2.0 * loglik - k * np.log(n),
    "icl": lambda loglik, k, n, certainty: 2.0 * (loglik + certainty()) - k * np.log(n),
    "aic": lambda loglik, k, n, certainty: 2.0 * (loglik - k),
}
