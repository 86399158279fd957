"""Posterior probabilities of objects under mixtures, and what is read off them."""

import numpy as np

from credpart._arrays import Array, IntArray
from credpart.mixture.families.base import OUTLIER, Family, Parameters
from credpart.mixture.families.missing_cells import scoring
from credpart.mixture.optimisation.e_step import normalise, row_blocks


def bayes_rule(family: Family, features: Array, params: Parameters) -> tuple[Array, Array]:
    """Posteriors (b, k, n) and log densities (b, n) of objects, in the family's units.

    In a family with noise, the posteriors of noise come after those of the components.
    """
    joint = family.log_joint(features, params)
    log_density = normalise(joint)
    return joint, log_density


def score(family: Family, params: Parameters, X: Array) -> tuple[Array, Array]:
    """Posteriors (n, c) and log densities (n,) of objects under one mixture, in the data's units.

    Blocks of objects bound the memory that this takes.
    """
    c = params[0].shape[1]
    posteriors = np.empty((len(X), c))
    log_density = np.empty(len(X))
    family = scoring(family, X)
    for rows in row_blocks(*posteriors.shape):
        found, logs = bayes_rule(family, family.features(X[rows]), params)
        posteriors[rows], log_density[rows] = found[0, :c].T, logs[0] - family.log_unit
    return posteriors, log_density


def most_probable(posteriors: Array) -> IntArray:
    """The most probable of the components; -1 if an object more probably belongs to none.

    >>> most_probable(np.array([[0.7, 0.3], [0.2, 0.2]])).tolist()
    [0, -1]
    """
    is_outlier = largest_posterior(posteriors) > posteriors.max(axis=1)
    return np.where(is_outlier, OUTLIER, posteriors.argmax(axis=1))


def largest_posterior(posteriors: Array) -> Array:
    """The largest probability (n,) among those of the components (n, c) and that of noise."""
    return np.maximum(posteriors.max(axis=1), 1.0 - posteriors.sum(axis=1))


def log_certainty(posteriors: Array) -> Array:
    """The logarithm (n,) of the largest posterior, whose sum ICL adds to the log-likelihood."""
    return np.log(largest_posterior(posteriors))
