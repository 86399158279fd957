"""Criteria by which a model is chosen, with the sign of mclust: larger is better."""

from collections.abc import Callable, Mapping

import numpy as np

from credpart._arrays import Array
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.posteriors import log_certainty, score

# Functions of log-likelihoods, numbers of parameters, the number of objects, and of what returns
# the sums of the logarithms of the largest posteriors, which only ICL asks for.
Criterion = Callable[[Array, Array, float, Callable[[], Array]], Array]

CRITERIA: Mapping[str, Criterion] = {
    "bic": lambda loglik, k, n, certainty: 2.0 * loglik - k * np.log(n),
    "icl": lambda loglik, k, n, certainty: 2.0 * (loglik + certainty()) - k * np.log(n),
    "aic": lambda loglik, k, n, certainty: 2.0 * (loglik - k),
}

# Criteria whose choice has too many clusters with a probability that vanishes as n grows: for one
# cluster too many, the likelihood ratio would have to exceed a penalty that grows with log n.
CONSISTENT = frozenset({"bic", "icl"})


def contributions(criterion: str, family: Family, params: Parameters, X: Array) -> Array:
    """What each object (n,) contributes to a criterion, without the penalty for parameters."""
    posteriors, log_density = score(family, params, X)
    value, none = CRITERIA[criterion], np.zeros(1)
    return value(log_density, none, 1.0, lambda: log_certainty(posteriors))


def chosen_by(criterion: str, optimism: float) -> Criterion:
    """The criterion by which a replicate chooses: less ``optimism`` for each parameter.

    A bootstrap sample repeats the peculiarities of the data, to which the fit has adapted, and has
    its own.  Twice its log-likelihood at its own maximum exceeds that of the data at theirs by k on
    average, where k is the number of parameters.  So of two nested models that are both right the
    likelihood ratio has mean 2 df in a replicate in place of df in the data, and replicates favour
    large models.  With k subtracted, a replicate's criterion has the data's criterion as its mean:
    of BIC and AIC, and of the part of ICL that is maximised.  New samples from the fit repeat
    nothing, so that ``optimism`` is 0 there.

    >>> chosen_by("aic", 1.0)(np.array([-10.0]), np.array([3]), 50.0, lambda: np.zeros(1))
    array([-29.])
    """
    value = CRITERIA[criterion]
    return lambda loglik, k, n, certainty: value(loglik, k, n, certainty) - optimism * k
