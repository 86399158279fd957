"""Mixtures that an audit takes for true.

BIC leaves out what a sample is too small to prove.  Data drawn from the chosen mixture would follow
its model exactly, and intervals that take the choice for granted would seem to hold their level.
So the truth of an audit may be of a wider model, of which the chosen one is a special case.

Let R be the likelihood ratio of the two fits.  If the chosen model is right, chance alone gives R a
mean of df, the number of parameters that the wider model has more; if it is not, R - df estimates
how far the truth is from it.  Data drawn from the wider fit would have a ratio of R + df on
average: it overstates what is there.  The truth is therefore part of the way from the chosen fit to
the wider one, at ``sqrt(1 - df / R)``, since ratios grow with the square of the distance.  Data
drawn from it have a ratio of R on average, that of the data.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from credpart._arrays import Array
from credpart.errors import UnsupportedError
from credpart.mixture.fit import MixtureFit
from credpart.mixture.models import special_cases
from credpart.mixture.posteriors import score
from credpart.result import CalibratedResult


class Truth(NamedTuple):
    """A mixture that data sets may be drawn from."""

    name: str
    mixture: MixtureFit
    share: float  # of the data sets


def plausible_truths(result: CalibratedResult) -> list[Truth]:
    """What may be true of the data of a fit; shares sum to 1.

    First the fitted mixture, part of the way to that of the widest model that contains it, if the
    likelihood ratio of the two exceeds what chance makes it.  If other families were tried, the
    best fit of each, with its Akaike weight, exp(AICc / 2), as its share [BA02]_.  All have the
    number of clusters of the fit.

    References
    ----------
    .. [BA02] Burnham, Anderson: Model selection and multimodel inference.  Springer, 2002.
    """
    chosen = result.mixture
    if not chosen.is_determined:
        return [Truth(chosen.model, chosen, 1.0)]
    others = [
        fit
        for fit in result.selection.fits.values()
        if fit.n_clusters == chosen.n_clusters
        and fit.is_determined
        and not fit.coincides_with(chosen)
        and can_sample(fit)
    ]
    name, mixture, aicc = chosen.model, chosen, chosen.aicc
    wider = widest(chosen, others)
    way = 0.0 if wider is None else share_of_the_way(chosen, wider)
    if wider is not None and way > 0.0:
        name = f"{chosen.model} part of the way to {wider.model}"
        mixture = between(chosen, wider, way, result.mixture_values, result.weights)
        aicc = max(aicc, wider.aicc)
    best = best_of_families(fit for fit in others if fit.family is not chosen.family)
    criteria = np.array([aicc, *(fit.aicc for fit in best)])
    weights = np.exp(0.5 * (criteria - criteria.max()))
    shares = (weights / weights.sum()).tolist()
    names, mixtures = [name, *(fit.model for fit in best)], [mixture, *best]
    return [Truth(*row) for row in zip(names, mixtures, shares, strict=True)]


def widest(chosen: MixtureFit, fits: Iterable[MixtureFit]) -> MixtureFit | None:
    """The fit with most parameters of those whose models contain the chosen one."""
    containing = [
        fit
        for fit in fits
        if fit.family is chosen.family and chosen.model in special_cases(fit.model)
    ]
    return max(containing, key=lambda fit: fit.n_parameters, default=None)


def share_of_the_way(chosen: MixtureFit, wider: MixtureFit) -> float:
    """``sqrt(1 - df / R)``; 0 where the ratio R is no larger than chance makes it.

    In small samples chance makes it larger than df: half the difference of the two penalties of
    AICc estimates by how much.
    """
    ratio = 2.0 * (wider.loglik - chosen.loglik)
    by_chance = 0.5 * (ratio - (wider.aicc - chosen.aicc))
    return float(np.sqrt(max(0.0, 1.0 - by_chance / ratio))) if ratio > 0.0 else 0.0


def between(
    chosen: MixtureFit, wider: MixtureFit, way: float, values: Array, weights: Array
) -> MixtureFit:
    """A mixture of the wider model, part of the way from the chosen fit; ``values`` are the data.

    Components are matched by the objects that they share.
    """
    shared = (weights[:, None] * chosen.posteriors_of(values)).T @ wider.posteriors_of(values)
    order = linear_sum_assignment(shared, maximize=True)[1]
    here, there, family = chosen.internal, wider.internal, wider.family
    fields = ((1.0 - way) * a + way * b[:, order] for a, b in zip(here, there, strict=True))
    params = family.derived(type(there)(*fields))
    loglik = float(weights @ score(family, params, values)[1])
    return replace(wider, internal=params, loglik=loglik)


def best_of_families(fits: Iterable[MixtureFit]) -> list[MixtureFit]:
    """The fit with the highest AICc of each family."""
    best: dict[int, MixtureFit] = {}
    for fit in fits:
        known = best.get(id(fit.family))
        if known is None or fit.aicc > known.aicc:
            best[id(fit.family)] = fit
    return list(best.values())


def can_sample(fit: MixtureFit) -> bool:
    """Whether data sets can be drawn from a fit."""
    try:
        fit.family.sample(fit.internal, 1, np.random.default_rng(0))
    except UnsupportedError:
        return False
    return True
