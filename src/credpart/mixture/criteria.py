"""Criteria by which a model is chosen, with the sign of mclust: larger is better."""

from collections.abc import Callable, Mapping

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.posteriors import log_certainty, score

N_DEVIATIONS = 4.0  # standard deviations below the best at which a model has no real chance

# Functions of log-likelihoods, numbers of parameters, the number of objects, and of what returns
# the sums of the logarithms of the largest posteriors, which only ICL asks for.
Criterion = Callable[[Array, Array, float, Callable[[], Array]], Array]

CRITERIA: Mapping[str, Criterion] = {
    "bic": lambda loglik, n_parameters, n, certainty: 2.0 * loglik - n_parameters * np.log(n),
    "icl": lambda loglik, n_parameters, n, certainty: (
        2.0 * (loglik + certainty()) - n_parameters * np.log(n)
    ),
    "aic": lambda loglik, n_parameters, n, certainty: 2.0 * (loglik - n_parameters),
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
    its own.  If the model is right, twice its log-likelihood at its own maximum exceeds that of the
    data at theirs by the number of parameters on average.  So of two nested models that are both
    right the likelihood ratio has mean 2 df in a replicate in place of df in the data, and
    replicates favour large models.  With the number of parameters subtracted, a replicate's
    criterion has the data's criterion as its mean: of BIC and AIC, and of the part of ICL that is
    maximised.  New samples from the fit repeat nothing, so that ``optimism`` is 0 there.

    >>> chosen_by("aic", 1.0)(np.array([-10.0]), np.array([3]), 50.0, lambda: np.zeros(1))
    array([-29.])
    """
    value = CRITERIA[criterion]
    return lambda loglik, n_parameters, n, certainty: (
        value(loglik, n_parameters, n, certainty) - optimism * n_parameters
    )


def may_be_chosen(
    deficits: Array, deviations: Array, n_parameters: Array, scale: float
) -> BoolArray:
    """Which models (m,) have a real chance to be chosen, though they are behind by ``deficits``.

    A deficit is the best criterion less that of the model.  Two things vary: the difference of the
    two criteria at the fits, with standard ``deviations`` (m,), and what a model gains by being
    fitted again: ``scale`` times a chi-square variable with as many degrees of freedom as it has
    parameters, less its mean.  Each may be off by `N_DEVIATIONS` standard deviations.

    >>> may_be_chosen(np.array([23.0, 25.0]), np.array([2.0, 2.0]), np.array([8, 8]), 1.0)
    array([ True, False])
    """
    gain_deviations = scale * np.sqrt(2.0 * n_parameters)
    return np.asarray(deficits <= N_DEVIATIONS * (deviations + gain_deviations))
