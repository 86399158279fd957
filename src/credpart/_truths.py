"""Mixtures that an audit takes for true.

BIC leaves out what a sample is too small to prove.  Data drawn from the chosen mixture would follow
its model exactly, and intervals that take the choice for granted would seem to hold their level.
So the truth of an audit may be of a wider model, of which the chosen one is a special case.

Let R be the likelihood ratio of the chosen fit and the maximum of the wider model that EM reaches
from there.  If the chosen model is right, chance alone gives R a mean E, which tends to the
difference in parameters in large samples; if it is not, R - E estimates how far the truth is from
it.  Data drawn from the wider maximum would have a ratio of R + E on average: it overstates what is
there.  The truth is therefore part of the way from the chosen fit to that maximum, at
``sqrt(1 - E / R)``, since ratios grow with the square of the distance.  Data drawn from it have a
ratio of about R on average, that of the data.

In small samples E is larger than the difference in parameters.  It is taken to be half the
difference of the penalties of AICc: of n objects and k parameters ``n k / (n - k - 1)``.  Measured
on 60 data sets each, with the right model against VVV (standard errors .5 to .9):

==============  ===  =======================  ====  ======
data            n    parameters more in VVV   E     mean R
==============  ===  =======================  ====  ======
Mixture 1, EII   50  8                        15.3  12.6
Mixture 1, EII  100  8                        10.7  11.1
Mixture 1, EII  300  8                         8.8   9.1
Mixture 2, EEE  100  6                         8.2   8.6
==============  ===  =======================  ====  ======
"""

from collections.abc import Iterable
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array
from credpart.errors import UnsupportedError
from credpart.mixture.families.base import Parameters
from credpart.mixture.fit import MixtureFit
from credpart.mixture.models import special_cases
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Status
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import map_params
from credpart.mixture.posteriors import log_certainty, score
from credpart.result import CalibratedResult


class Truth(NamedTuple):
    """A mixture that data sets may be drawn from."""

    name: str  # the model of the fitted mixture, or words for another
    mixture: MixtureFit
    share: float  # of the data sets


def plausible_truths(result: CalibratedResult) -> list[Truth]:
    """What may be true of the data of a fit; shares sum to 1.

    First the fitted mixture, part of the way to the widest model of its family that contains it, if
    the likelihood ratio of the two exceeds what chance makes it.  If other families were tried, the
    best fit of each too: then the share of a family is the Akaike weight, exp(AICc / 2), of its
    best fit [BA02]_.  All have the number of clusters of the fit.

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
    name, mixture = chosen.model, chosen
    wider = widest(chosen, others)
    if wider is not None:
        mixture = on_the_way(result, wider)
        if mixture is not chosen:
            name = f"a mixture between {chosen.model} and {wider.model}"
    best = best_of_families(fit for fit in others if fit.family is not chosen.family)
    own = [fit.aicc for fit in (chosen, *others) if fit.family is chosen.family]
    criteria = np.array([max(own), *(fit.aicc for fit in best)])
    weights = np.exp(0.5 * (criteria - criteria.max()))
    shares = (weights / weights.sum()).tolist()
    names, mixtures = [name, *(f"the fit of {fit.model}" for fit in best)], [mixture, *best]
    return [Truth(*row) for row in zip(names, mixtures, shares, strict=True)]


def widest(chosen: MixtureFit, fits: Iterable[MixtureFit]) -> MixtureFit | None:
    """The fit with most parameters of those of its family whose models contain the chosen one."""
    containing = [
        fit
        for fit in fits
        if fit.family is chosen.family and chosen.model in special_cases(fit.model)
    ]
    return max(containing, key=lambda fit: fit.n_parameters, default=None)


def on_the_way(result: CalibratedResult, wider: MixtureFit) -> MixtureFit:
    """A mixture of the wider model, part of the way to it from the chosen fit.

    It is the chosen fit itself where the likelihood ratio is no larger than chance makes it; and
    where the likelihood is no parabola on the way, so that the two are too far apart for what is
    said above: twice its gain would be ``R (1 - (1 - way)^2)``, and is less than half of that.
    """
    chosen, values, weights = result.mixture, result.mixture_values, result.weights
    end = maximum_from(chosen, wider, values, weights, result.options.limits)
    ratio = 2.0 * (end.loglik - chosen.loglik)
    way = share_of_the_way(ratio, ratio_by_chance(chosen, wider))
    if way == 0.0:
        return chosen
    mixture = between(chosen, end, way, values, weights)
    gain = 2.0 * (mixture.loglik - chosen.loglik)
    return mixture if gain > 0.5 * ratio * (1.0 - (1.0 - way) ** 2) else chosen


def maximum_from(
    chosen: MixtureFit, wider: MixtureFit, values: Array, weights: Array, limits: Limits
) -> MixtureFit:
    """The maximum of the wider model that EM reaches from the chosen fit; or that fit if none.

    The search for the best wider fit may have found another one, with other clusters.
    """
    problem = Problem.of(chosen.family, values, weights[None])
    first = np.zeros(1, dtype=np.intp)
    code = np.array([wider.structure_code])
    start = Mixtures.at(chosen.internal, code, first, first, n_iter=0)
    found = maximise(problem, evaluate(problem, start), limits)
    if not problem.is_sound(found)[0]:
        return chosen
    end = with_parameters(wider, found.params, values, weights)
    return replace(end, n_iter=int(found.n_iter[0]), status=Status(int(found.status[0])))


def ratio_by_chance(chosen: MixtureFit, wider: MixtureFit) -> float:
    """E, the mean of the likelihood ratio of two determined fits if the chosen model is right."""
    n = chosen.n_objects
    return half_penalty(n, wider.n_parameters) - half_penalty(n, chosen.n_parameters)


def half_penalty(n: float, k: int) -> float:
    """Half the penalty of AICc for k parameters and n objects.

    >>> half_penalty(50, 17) - half_penalty(50, 9)
    15.3125
    >>> round(half_penalty(1e9, 17) - half_penalty(1e9, 9), 3)
    8.0
    """
    return n * k / (n - k - 1.0)


def share_of_the_way(ratio: float, chance: float) -> float:
    """``sqrt(1 - E / R)``; 0 where the ratio R is no larger than E, as chance makes it.

    >>> share_of_the_way(8.0, 6.0), share_of_the_way(5.0, 6.0)
    (0.5, 0.0)
    """
    return sqrt(1.0 - chance / ratio) if ratio > chance else 0.0


def between(
    here: MixtureFit, there: MixtureFit, way: float, values: Array, weights: Array
) -> MixtureFit:
    """A mixture of the model of ``there``, part of the way to it; ``values`` are the data."""
    fields = map_params(lambda a, b: (1.0 - way) * a + way * b, here.internal, there.internal)
    return with_parameters(there, there.family.derived(fields), values, weights)


def with_parameters(
    fit: MixtureFit, params: Parameters, values: Array, weights: Array
) -> MixtureFit:
    """A mixture of the model of a fit that has other parameters, which are no end of EM."""
    posteriors, log_density = score(fit.family, params, values)
    return replace(
        fit,
        internal=params,
        loglik=float(weights @ log_density),
        log_certainty=float(weights @ log_certainty(posteriors)),
        n_iter=0,
        status=Status.OK,
    )


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
