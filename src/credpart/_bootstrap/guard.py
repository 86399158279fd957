"""Whether replicates may be linear: some true refits beside their own linear predictions.

A true refit and its prediction have the same bootstrap weights, so that their difference is the
error of the approximation alone, and thirty of them measure it well.  What counts is how far this
error moves posteriors, in proportion to how far the refit itself moves them, in the worst cluster.

A refit starts at its prediction and goes on by steps of Newton's method on the equation
``E(M(s)) = s`` of its sample, with the matrix that the linearisation has.  Each step is one E-step,
and two or three are enough if the prediction is good.  A small step of Newton's method means that
the fixed point is near; a small gain of EM may only mean that EM is slow.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, BoolArray
from credpart._bootstrap.block_sums import BlockwiseObjects, Sums
from credpart._bootstrap.deviations import SampleWeights
from credpart._bootstrap.linear import Linearisation, Moved
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.optimisation.e_step import e_step_of_block
from credpart.mixture.optimisation.mixtures import map_params
from credpart.mixture.posteriors import bayes_rule

N_REFITS = 30
FOUND = 0.02  # standard deviations of a replicate: a smaller step of Newton's method is the last
MOST_STEPS = 8
OBJECTS = 256  # of each cluster, at which posteriors are compared


def resampled_e_step(
    family: Family,
    params: Parameters,
    samples: SampleWeights,
    X: Array,
    weights: Array,
    block: int,
) -> Sums:
    """Log-likelihoods (b,) and statistics (b, k, p) of mixtures, each on a bootstrap sample."""
    return e_step_of_block(family, params, True, X, samples(weights, block), block)


class PairedRefits(NamedTuple):
    """True refits of b bootstrap samples, and what the linearisation predicts of them."""

    predicted: Moved
    true: Moved
    is_found: BoolArray  # (b,): whether Newton's method has converged to a mixture
    predicted_loglik: Array  # (b,), in the family's units
    true_loglik: Array


def paired_refits(
    rows: BlockwiseObjects, part: Linearisation, C: Array, samples: SampleWeights
) -> PairedRefits:
    """Refit one model to bootstrap samples, beside the linear predictions of the same samples."""
    b, family = len(samples), part.point.family
    spread = part.spread(C)

    def evaluated(params: Parameters) -> Sums:
        return rows.sum_over_blocks(partial(resampled_e_step, family, params, samples))

    fit = map_params(lambda field: np.repeat(field, b, axis=0), part.point.params)
    loglik_at_fit, sums = evaluated(fit)
    differences = (sums - part.statistics).reshape(b, -1)
    predicted = current = part.moved(differences)
    is_found, loglik = np.zeros(b, dtype=bool), loglik_at_fit
    for _ in range(MOST_STEPS):
        loglik, image = evaluated(current.params)
        steps = (image - current.statistics).reshape(b, -1) @ part.inverse.T
        is_found = current.is_sound & (np.abs(steps / spread).max(axis=1) <= FOUND)
        current = part.point.moved_to(current.statistics + steps.reshape(image.shape))
        if (is_found | ~current.is_sound).all():
            break
    expected = loglik_at_fit + part.gain(differences)
    return PairedRefits(predicted, current, is_found & current.is_sound, expected, loglik)


def ambiguous_objects(X: Array, posteriors: Array, weights: Array, rng: Generator) -> Array:
    """Objects (m, d) to compare posteriors at: of each cluster, those that may be in another."""
    chosen = []
    for own in posteriors.T:
        chance = weights * own * (1.0 - own)
        present = np.flatnonzero(chance > 0.0)
        if len(present):
            # in logarithms, since a chance may be as small as a number can be
            keys = np.log(rng.standard_exponential(len(present))) - np.log(chance[present])
            chosen.append(present[np.argsort(keys, kind="stable")[:OBJECTS]])
    return X[np.unique(np.concatenate(chosen))] if chosen else X[:0]


def relative_errors(part: Linearisation, pairs: PairedRefits, X: Array) -> tuple[Array, Array]:
    """For each cluster: error of the predicted posteriors relative to their spread, and the spread.

    Both are root mean squares over refits and objects.
    """
    family, params_at_fit = part.point.family, part.point.params
    features = family.features(X)
    fit, predicted, true = (
        bayes_rule(family, features, params)[0]
        for params in (params_at_fit, pairs.predicted.params, pairs.true.params)
    )
    spread = np.sqrt(((true - fit) ** 2).mean(axis=(0, 2)))
    error = np.sqrt(((predicted - true) ** 2).mean(axis=(0, 2)))
    return error / np.maximum(spread, np.finfo(float).tiny), spread
