"""Refit a chunk of replicates, under one structure or under several of which the best is kept.

With several fits, which differ in their covariance structure, the structure is chosen again in
every replicate: choosing it once, and forgetting that it was chosen, makes intervals too short.
Two things keep this cheap.  A pilot drops structures that have no real chance: those that never
won and whose criterion is, in mean, more than four standard deviations below the best of the
pilot's replicates.  And structures race: all run to a looser tolerance, and only those that may
still win a replicate go on to the tight one.  Against every structure at the tight tolerance in
every replicate, about one replicate in 100 has another structure: a rare local maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from credpart._checks import Array
from credpart._threads import one_blas_thread
from credpart.mixture.em import (
    EMResult,
    Status,
    e_step,
    em,
    log_certainty,
    take,
)
from credpart.mixture.fit import CRITERIA, MixtureFit
from credpart.mixture.frame import NAMES
from credpart.mixture.gaussian import Gaussian, GaussianParams
from credpart.replicates.draws import RESAMPLING, Draws, Objects

Rows = NDArray[np.intp]

SPREADS = 4.0  # standard deviations below the best at which a structure has no real chance
RACE_TOLERANCE = 1e-6  # at 1e-5 EM often stands on a plateau, 10 to 20 below where it will end
MARGIN = 10.0  # criterion behind the best, at that tolerance, that ends a structure's race
ROUNDING = 1e-9  # relative difference between criteria that are the same
SLOWNESS = 100.0  # iterations' worth of gain that EM may have left there


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a chunk of replicates needs to know."""

    objects: Objects
    fits: tuple[MixtureFit, ...]
    resampling: str
    criterion: str
    regularization: str
    tol: float
    max_iter: int

    @property
    def family(self) -> Gaussian:
        """The family that all fits share."""
        return self.fits[0].family

    @property
    def codes(self) -> Rows:
        """The structure of each fit, by its place in the table."""
        return np.array([NAMES.index(fit.model) for fit in self.fits])

    def pooled(self) -> Gaussian:
        """The family with pseudo-observations of the (first) fit's pooled covariance."""
        features, weights = self.family.features(self.objects.X), self.objects.weights
        statistics = e_step(self.family, features, weights[None], self.fits[0].internal)[1]
        return self.family.pooled(statistics[0])


class Refits(NamedTuple):
    """Refits of b replicates; ``code`` says under which structure."""

    params: GaussianParams
    code: Rows
    loglik: Array
    n_iter: Rows
    status: Rows
    lead: Array  # (b, fits): criterion of each fit, less that of the replicate's best


def contenders(plan: Plan, pilot: Sequence[Refits]) -> Plan:
    """The plan with the fits that have a real chance to be chosen."""
    lead = np.concatenate([refits.lead for refits in pilot])
    lead = np.ma.masked_invalid(lead)  # a structure that could not be fitted to a replicate
    chance = (lead.mean(axis=0) + SPREADS * lead.std(axis=0)).filled(-np.inf)
    kept = (chance >= 0.0) | (lead == 0.0).any(axis=0).filled(False)
    if not kept.any():  # no structure could be fitted to any replicate: all stay
        return plan
    return replace(plan, fits=tuple(fit for fit, keep in zip(plan.fits, kept, strict=True) if keep))


def refit(plan: Plan, seeds: Sequence[SeedSequence]) -> Refits:
    """Refit a chunk of replicates under every fit's structure, and choose."""
    b, m = len(seeds), len(plan.fits)
    with one_blas_thread():
        streams = [np.random.default_rng(seed) for seed in seeds]
        draws = RESAMPLING[plan.resampling].draw(plan.objects, plan.fits[0], streams)
        every = draws.take(np.repeat(np.arange(b), m))
        family = plan.pooled() if plan.regularization == "pooled" else plan.family
        result = _race(plan, family, every)
        value = _criterion(plan, family, every, result)
        best = _first_best(value.reshape(b, m))
        chosen = np.arange(b) * m + best
        result = EMResult(take(result.params, chosen), *(field[chosen] for field in result[1:]))
        if m > 1:
            result.status[~np.isfinite(value[chosen])] = Status.DEGENERATE
        if plan.regularization == "pooled":
            result.status[result.status == Status.OK] = Status.REGULARISED
        _rescue(plan, draws, plan.codes[best], result)
    with np.errstate(invalid="ignore"):  # no structure could be fitted: -inf - -inf
        lead = (value - value[chosen].repeat(m)).reshape(b, m)
    loglik, n_iter, status = result.loglik, result.n_iter, result.status
    return Refits(result.params, plan.codes[best], loglik, n_iter, status, lead)


def _first_best(value: Array) -> Rows:
    """The first of the largest values of each row, up to rounding: some structures coincide."""
    largest = value.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((value >= largest - ROUNDING * np.abs(largest)).argmax(axis=1))


def _race(plan: Plan, family: Gaussian, draws: Draws) -> EMResult:
    """EM of every replicate and fit, the fits side by side: tight only for those that may win."""
    m = len(plan.fits)
    which = np.arange(len(draws.weights)) % m
    fields = zip(*(fit.internal for fit in plan.fits), strict=True)
    start = take(GaussianParams(*map(np.concatenate, fields)), which)
    variant = plan.codes[which]
    statistics = e_step(family, *draws, start)[1]
    first = plan.tol if m == 1 else max(plan.tol, RACE_TOLERANCE)
    limit = plan.max_iter
    result = em(family, *draws, statistics, variant, start, tol=first, max_iter=limit)
    _put_nan_right(result, start)
    rows = _ahead(plan, family, draws, result) if plan.tol < first else which[:0]
    if len(rows):
        where, so_far = result.statistics[rows], take(result.params, rows)
        some = draws.take(rows)
        more = em(family, *some, where, variant[rows], so_far, tol=plan.tol, max_iter=limit)
        _put(more._replace(n_iter=result.n_iter[rows] + more.n_iter), result, rows)
    return result


def _ahead(plan: Plan, family: Gaussian, draws: Draws, result: EMResult) -> Rows:
    """The refits that may still win their replicate, at the race's tolerance."""
    value = _criterion(plan, family, draws, result)
    best = value.reshape(-1, len(plan.fits)).max(axis=1).repeat(len(plan.fits))
    # What EM may have left is relative to the likelihood, as its stopping rule is.
    left = 2.0 * SLOWNESS * RACE_TOLERANCE * (1.0 + np.abs(result.loglik))
    return np.flatnonzero((value >= best - MARGIN - left) & np.isfinite(value))


def _criterion(plan: Plan, family: Gaussian, draws: Draws, result: EMResult) -> Array:
    """The criterion of every refit: -inf if it is degenerate or spurious.

    So such a refit is chosen only where there is no other: it is then refitted with a
    pseudo-observation, if there were several structures; with one, a spike stays as it is.
    """
    n, c = float(plan.objects.weights.sum()), plan.fits[0].n_clusters
    which = np.arange(len(draws.weights)) % len(plan.fits)
    counts = np.array([plan.family.n_parameters(fit.model, c) for fit in plan.fits])[which]
    value = CRITERIA[plan.criterion](
        result.loglik - family.log_prior(result.params),
        counts,
        n,
        lambda: log_certainty(family, *draws, result.params),
    )
    flawed = (result.status == Status.DEGENERATE) | family.is_spurious(result.params, n).any(axis=1)
    return np.where(flawed, -np.inf, value)


def _rescue(plan: Plan, draws: Draws, code: Rows, result: EMResult) -> None:
    """Refit degenerate replicates with a pseudo-observation, unless that is not wanted."""
    rows = np.flatnonzero(result.status == Status.DEGENERATE)
    if plan.regularization != "fallback" or not len(rows):
        return
    family, draws = plan.pooled(), draws.take(rows)
    start = take(plan.fits[0].internal, np.zeros(len(rows), dtype=np.intp))
    statistics = e_step(family, *draws, start)[1]
    new = em(family, *draws, statistics, code[rows], start, tol=plan.tol, max_iter=plan.max_iter)
    new.status[new.status == Status.OK] = Status.REGULARISED
    _put_nan_right(new, start)
    _put(new, result, rows)


def _put_nan_right(result: EMResult, start: GaussianParams) -> None:
    """Give refits that broke down in their first step the parameters they started from."""
    rows = np.flatnonzero(~np.isfinite(result.params.natural).all(axis=(1, 2)))
    for field, good in zip(result.params, start, strict=True):
        field[rows] = good[rows]


def _put(new: EMResult, result: EMResult, rows: Rows) -> None:
    """Replace some refits by others."""
    fields = zip([*result.params, *result[1:]], [*new.params, *new[1:]], strict=True)
    for field, changed in fields:
        field[rows] = changed
