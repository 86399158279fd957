"""Mixtures that an audit takes for true.

BIC leaves out what a sample is too small to prove.  Data drawn from the chosen mixture would follow
its model exactly, and intervals that take the choice for granted would seem to hold their level.
So the truth of an audit may be of a wider model, of which the chosen one is a special case.

Let R be the likelihood ratio of the chosen fit and the maximum of the wider model that EM reaches
from there.  If the chosen model is right, R has a mean E, which tends to the difference in
parameters, df, in large samples.  If the truth is at a distance from it, R df / E is about a
noncentral chi-square variable with df degrees of freedom, whose noncentrality delta is the square
of that distance; the maximum itself is at R df / E.  A single R says little of delta: it is as
likely to be 0 as to be large.  So the truths of an audit are at several places on the way from the
chosen fit to the maximum, at the quantiles of the confidence distribution of delta, which gives
each delta the probability of a larger R [XS13]_.  None is beyond the maximum.

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

References
----------
.. [XS13] Xie, Singh: Confidence distribution, the frequentist distribution estimator of a
   parameter.  International Statistical Review 81, 2013.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, chndtrinc

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

N_PLACES = 5  # on the way to a wider model


class Truth(NamedTuple):
    """A mixture that data sets may be drawn from."""

    name: str  # the model of the fitted mixture, or words for another
    mixture: MixtureFit
    share: float  # of the data sets


def plausible_truths(result: CalibratedResult) -> list[Truth]:
    """What may be true of the data of a fit; shares sum to 1.

    First the fitted mixture, and mixtures on the way to the widest model of its family that
    contains it, as far as the likelihood ratio of the two allows.  If other families were tried,
    the best fit of each too: then the share of a family is the Akaike weight, exp(AICc / 2), of its
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
    best = best_of_families(fit for fit in others if fit.family is not chosen.family)
    own = [fit.aicc for fit in (chosen, *others) if fit.family is chosen.family]
    criteria = np.array([max(own), *(fit.aicc for fit in best)])
    weights = np.exp(0.5 * (criteria - criteria.max()))
    share, *shares = (weights / weights.sum()).tolist()
    wider = widest(chosen, others)
    mixtures = [chosen] if wider is None else on_the_way(result, wider)
    truths = []
    kept = sum(mixture is chosen for mixture in mixtures)
    if kept:
        truths.append(Truth(chosen.model, chosen, share * kept / len(mixtures)))
    for mixture in mixtures:
        if mixture is not chosen:
            name = f"a mixture between {chosen.model} and {mixture.model}"
            truths.append(Truth(name, mixture, share / len(mixtures)))
    for fit, its_share in zip(best, shares, strict=True):
        truths.append(Truth(f"the fit of {fit.model}", fit, its_share))
    return truths


def widest(chosen: MixtureFit, fits: Iterable[MixtureFit]) -> MixtureFit | None:
    """The fit with most parameters of those of its family whose models contain the chosen one."""
    containing = [
        fit
        for fit in fits
        if fit.family is chosen.family
        and chosen.model in special_cases(fit.model)
        and fit.n_parameters > chosen.n_parameters  # some models coincide with one cluster
    ]
    return max(containing, key=lambda fit: fit.n_parameters, default=None)


def on_the_way(result: CalibratedResult, wider: MixtureFit) -> list[MixtureFit]:
    """Mixtures of the wider model, at `N_PLACES` places on the way to it from the chosen fit.

    They are the chosen fit itself where chance explains the likelihood ratio; and all of them are
    where the likelihood is no parabola on the way, so that the two ends are too far apart for what
    is said above: half-way twice its gain would be 3/4 R, and is less than half of that.
    """
    chosen, values, weights = result.mixture, result.mixture_values, result.weights
    end = maximum_from(chosen, wider, values, weights, result.options.limits)
    ratio = 2.0 * (end.loglik - chosen.loglik)
    df = wider.n_parameters - chosen.n_parameters
    half_way = between(chosen, end, 0.5, values, weights)
    is_near = 2.0 * (half_way.loglik - chosen.loglik) > 0.5 * 0.75 * ratio
    return [
        between(chosen, end, way, values, weights) if is_near and way > 0.0 else chosen
        for way in places_on_the_way(ratio, ratio_by_chance(chosen, wider), df)
    ]


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


def places_on_the_way(ratio: float, chance: float, df: int) -> list[float]:
    """Shares of the way to the maximum at which the truth may be, in ascending order.

    They are ``sqrt(delta E / (R df))``, and 1 at most, for equally spaced quantiles of the
    confidence distribution of delta.

    >>> [round(way, 2) for way in places_on_the_way(4.0, 4.0, 4)]
    [0.0, 0.0, 0.43, 0.84, 1.0]
    >>> [round(way, 2) for way in places_on_the_way(20.0, 4.0, 4)]
    [0.62, 0.8, 0.92, 1.0, 1.0]
    >>> places_on_the_way(0.0, 4.0, 4)
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    scaled = max(ratio, 0.0) * df / chance
    levels = (np.arange(N_PLACES) + 0.5) / N_PLACES
    positive = levels[levels > chdtrc(df, scaled)]  # delta is 0 with the probability of a larger R
    delta = chndtrinc(scaled, df, 1.0 - positive)
    ways = np.minimum(np.sqrt(delta / scaled), 1.0) if len(positive) else positive
    return [0.0] * (N_PLACES - len(positive)) + [float(way) for way in ways]


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
