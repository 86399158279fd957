"""Bootstrap samples: weights on the same objects, or new objects.

A nonparametric replicate is a vector of counts, a Bayesian one of Dirichlet weights; a parametric
one is a new sample from the fit.  Each has a random stream of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array
from credpart._bootstrap.units import Units, Weigh
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.families.base import Family
from credpart.mixture.fit import MixtureFit
from credpart.mixture.optimisation.mixtures import Samples


class Draws(NamedTuple):
    """Objects (n, d), or (b, n, d) if every replicate has its own, and weights (b, n)."""

    X: Array
    weights: Array

    def features_for(self, family: Family) -> Samples:
        """The draws as a family reads them."""
        if self.X.ndim == 2:
            return Samples(family.features(self.X), self.weights)
        return Samples(np.array([family.features(sample) for sample in self.X]), self.weights)


def with_replacement(weights: Array, rng: Generator) -> Array:
    """Multinomial counts of a sample of the same size, rescaled to the total of the weights."""
    total = weights.sum()
    size = max(1, round(total))
    return rng.multinomial(size, weights / total) * (total / size)


def dirichlet(weights: Array, rng: Generator) -> Array:
    """Dirichlet weights (Bayesian bootstrap), rescaled to the total of the weights."""
    drawn = np.asarray(rng.standard_gamma(weights))
    return np.asarray(drawn * (weights.sum() / drawn.sum()))


def counts_of_units(frequency: Array, rng: Generator) -> Array:
    """Counts of N - 1 draws from the N units of a stratum, rescaled to N.

    Sums over such samples have the variance that N independent units show, with N - 1 in its
    denominator.  A single unit cannot vary.
    """
    total = frequency.sum()
    share = 1.0 - 1.0 / total if total >= 2.0 else 1.0
    return with_replacement(share * frequency, rng) / share


def dirichlet_of_units(frequency: Array, rng: Generator) -> Array:
    """Dirichlet weights of the N units of a stratum with the variance of `counts_of_units`.

    Weights whose parameters sum to A vary as counts of A + 1 draws do: so they sum to N - 2.  As
    this goes to 0, the weights become a single draw, which is what two units get.
    """
    total = frequency.sum()
    if total < 3.0:
        return counts_of_units(frequency, rng)
    share = 1.0 - 2.0 / total
    return dirichlet(share * frequency, rng) / share


def reweighted(
    weigh: Weigh,
    weigh_units: Weigh,
    objects: DistinctObjects,
    fit: MixtureFit,
    streams: Sequence[Generator],
    units: Units | None = None,
) -> Draws:
    """The same objects with other weights (Algorithm 1, line 2), or those of draws of units.

    ``fit`` is not used: one signature serves all ways to draw.
    """
    if units is None:
        return Draws(objects.X, np.array([weigh(objects.weights, rng) for rng in streams]))
    drawn = np.array([units.draw(weigh_units, rng) for rng in streams])
    return Draws(objects.X, units.weights(drawn, objects.weights.sum()))


def parametric(
    objects: DistinctObjects,
    fit: MixtureFit,
    streams: Sequence[Generator],
    units: Units | None = None,
) -> Draws:
    """New objects from the fit, as many as the total weight; these have no units.

    The cells that are missing are those of the data, the same ones in every sample: objects of a
    sample are alike in distribution, so it does not matter which has them.
    """
    total = objects.weights.sum()
    size = round(total)
    samples = np.array([fit.family.sample(fit.internal, size, rng)[0] for rng in streams])
    places = (np.arange(size) + 0.5) * (total / size)
    like = np.searchsorted(np.cumsum(objects.weights), places).clip(max=len(objects.X) - 1)
    samples[:, np.isnan(objects.X)[like]] = np.nan
    return Draws(samples, np.full((len(streams), size), total / size))


class Resampling(NamedTuple):
    """How replicates are drawn, and how many rows of features each is refitted to."""

    draw: Callable[[DistinctObjects, MixtureFit, Sequence[Generator], Units | None], Draws]
    n_rows: Callable[[DistinctObjects], int] = lambda objects: len(objects.X)
    # Weights of the units of a stratum, with the total of the data; None where objects are new.
    weigh_units: Weigh | None = None
    # Weights that do not depend on those of other objects, so that blocks of objects can be weighed
    # on their own.  The total varies, which changes no mixture.
    weigh_alone: Weigh | None = None
    # By how much twice the maximised log-likelihood of a replicate exceeds that of the data, on
    # average and per parameter: a sample of the data shares their peculiarities.
    optimism: float = 1.0

    @property
    def is_new(self) -> bool:
        """Whether samples are new objects, rather than weights of those of the data."""
        return self.weigh_units is None


def poisson_counts(weights: Array, rng: Generator) -> Array:
    """Counts whose law, given their total, is that of draws with replacement."""
    return rng.poisson(weights).astype(float)


def gamma_weights(weights: Array, rng: Generator) -> Array:
    """Weights whose law, divided by their total, is that of Dirichlet weights."""
    return rng.standard_gamma(weights)


def _by_weights(weigh: Weigh, weigh_units: Weigh, weigh_alone: Weigh) -> Resampling:
    return Resampling(
        partial(reweighted, weigh, weigh_units), weigh_units=weigh_units, weigh_alone=weigh_alone
    )


RESAMPLING: Mapping[str, Resampling] = {
    "nonparametric": _by_weights(with_replacement, counts_of_units, poisson_counts),
    "bayesian": _by_weights(dirichlet, dirichlet_of_units, gamma_weights),
    "parametric": Resampling(
        parametric, lambda objects: round(objects.weights.sum()), optimism=0.0
    ),
}
