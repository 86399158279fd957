"""Bootstrap samples: weights on the same objects, or new objects.

A nonparametric replicate is a vector of counts, a Bayesian one of Dirichlet weights; a parametric
one is a new sample from the fit.  Each has a random stream of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array
from credpart._bootstrap.units import Units
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.families.base import Family
from credpart.mixture.fit import MixtureFit
from credpart.mixture.optimisation.mixtures import Samples


class Draws(NamedTuple):
    """Objects (n, d), or (b, n, d) if every replicate has its own, and weights (b, n)."""

    X: Array
    weights: Array

    def seen_by(self, family: Family) -> Samples:
        """The draws as a family reads them."""
        if self.X.ndim == 2:
            return Samples(family.features(self.X), self.weights)
        return Samples(np.array([family.features(sample) for sample in self.X]), self.weights)


def nonparametric(
    objects: DistinctObjects,
    fit: MixtureFit,
    streams: Sequence[Generator],
    units: Units | None = None,
) -> Draws:
    """Counts of n draws with replacement (Algorithm 1, line 2), or of draws of units."""
    total = objects.weights.sum()
    if units is not None:
        drawn = np.array([units.counts(rng) for rng in streams])
        return Draws(objects.X, units.weights(drawn, total))
    size = round(total)
    counts = [rng.multinomial(size, objects.weights / total) for rng in streams]
    return Draws(objects.X, np.array(counts, dtype=float) * (total / size))


def bayesian(
    objects: DistinctObjects,
    fit: MixtureFit,
    streams: Sequence[Generator],
    units: Units | None = None,
) -> Draws:
    """Dirichlet weights: the smooth counterpart of counts."""
    if units is not None:
        drawn = np.array([units.dirichlet(rng) for rng in streams])
        return Draws(objects.X, units.weights(drawn, objects.weights.sum()))
    draws = np.array([rng.standard_gamma(objects.weights) for rng in streams])
    scale = objects.weights.sum() / draws.sum(axis=1, keepdims=True)
    return Draws(objects.X, draws * scale)


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


Weigh = Callable[[Array, Generator], Array]  # weights of objects -> weights in a bootstrap sample


class Resampling(NamedTuple):
    """How replicates are drawn, and how many rows of features each is refitted to."""

    draw: Callable[[DistinctObjects, MixtureFit, Sequence[Generator], Units | None], Draws]
    n_rows: Callable[[DistinctObjects], int] = lambda objects: len(objects.X)
    # Weights that do not depend on those of other objects, so that blocks of objects can be weighed
    # on their own.  The total varies, which changes no mixture.  None where objects are new.
    weigh: Weigh | None = None
    # How often units are drawn; None where objects are new.
    draw_units: Callable[[Units, Generator], Array] | None = None
    # By how much twice the log-likelihood rises in a replicate for each parameter, since the sample
    # repeats what is peculiar to the data.
    optimism: float = 1.0


def poisson_counts(weights: Array, rng: Generator) -> Array:
    """Counts whose law, given their total, is that of draws with replacement."""
    return rng.poisson(weights).astype(float)


def _gamma(weights: Array, rng: Generator) -> Array:
    """Weights whose law, divided by their total, is that of Dirichlet weights."""
    return rng.standard_gamma(weights)


RESAMPLING: Mapping[str, Resampling] = {
    "nonparametric": Resampling(nonparametric, weigh=poisson_counts, draw_units=Units.counts),
    "bayesian": Resampling(bayesian, weigh=_gamma, draw_units=Units.dirichlet),
    "parametric": Resampling(
        parametric, lambda objects: round(objects.weights.sum()), optimism=0.0
    ),
}
