"""Refit a chunk of replicates, under one model or under several of which the best is kept.

With several fits, which differ in their family or covariance structure, the model is chosen again
in every replicate: choosing it once, and forgetting that it was chosen, makes intervals too short.
Two things keep this cheap.  A pilot drops structures that have no real chance: those that never
won and whose criterion is, in mean, more than four standard deviations below the best of the
pilot's replicates.  And structures race: all run to a looser tolerance, and only those that may
still win a replicate go on to the tight one.  Against every structure at the tight tolerance in
every replicate, about one replicate in 100 has another structure: a rare local maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from credpart._bootstrap.draws import RESAMPLING, Data, Objects
from credpart._checks import Array
from credpart._threads import one_blas_thread
from credpart.mixture.fit import CRITERIA, MixtureFit
from credpart.mixture.optimisation.em import EMResult, Status, e_step, log_certainty, take
from credpart.mixture.optimisation.lbfgs import Metric, is_charted, maximise, observed_metric

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

    places: tuple[int, ...] = ()  # of the fits, among those that were given

    def teams(self) -> list["Team"]:
        """The fits by family: those of one family are refitted side by side."""
        members: dict[int, list[int]] = {}
        for i, fit in enumerate(self.fits):
            members.setdefault(id(fit.family), []).append(i)
        return [Team(np.array(m), tuple(self.fits[i] for i in m)) for m in members.values()]


class Team(NamedTuple):
    """Fits of one family, and their places in the plan."""

    places: Rows
    fits: tuple[MixtureFit, ...]

    @property
    def family(self) -> Any:
        """The family that the fits share."""
        return self.fits[0].family

    @property
    def variants(self) -> Rows:
        """The variant of the family that each fit is."""
        return np.array([fit.variant for fit in self.fits])

    def start(self, which: Rows) -> Any:
        """Parameters of some of the fits."""
        kind = type(self.fits[0].internal)
        fields = zip(*(fit.internal for fit in self.fits), strict=True)
        return take(kind(*map(np.concatenate, fields)), which)

    def pooled(self, objects: Objects) -> Any:
        """The family with pseudo-observations of the first fit's pooled covariance."""
        data = self.family.features(objects.X), objects.weights[None]
        statistics = e_step(self.family, *data, self.fits[0].internal)[1]
        return self.family.pooled(statistics[0])

    def metric(self, objects: Objects, which: Rows) -> Metric | None:
        """What each fit's information says of the way up, for families that have coordinates."""
        if not is_charted(self.family):
            return None
        data = self.family.features(objects.X), objects.weights[None]
        inverse = [
            observed_metric(self.family, *data, fit.internal, np.array([fit.variant]))
            for fit in self.fits
        ]
        return Metric(np.array(inverse), which)


class Heat(NamedTuple):
    """Refits of a team: replicate by replicate, in each one fit after the other."""

    team: Team
    family: Any  # the team's, or the pooled one
    data: Data
    metric: Metric | None
    result: EMResult
    value: Array  # (b, fits) of the criterion

    @property
    def which(self) -> Rows:
        """The fit that each refit started from."""
        return np.arange(len(self.data.weights)) % len(self.team.fits)


class Part(NamedTuple):
    """Refits of one family: which replicates, and their parameters."""

    rows: Rows
    params: Any


class Refits(NamedTuple):
    """Refits of b replicates; ``place`` says from which of the given fits."""

    parts: tuple[Part, ...]
    place: Rows
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
    places = np.flatnonzero(kept)
    return replace(plan, fits=tuple(plan.fits[i] for i in places), places=tuple(places))


def refit(plan: Plan, seeds: Sequence[SeedSequence]) -> Refits:
    """Refit a chunk of replicates under every fit's model, and choose."""
    b, m = len(seeds), len(plan.fits)
    value = np.empty((b, m))
    loglik, n_iter = np.empty(b), np.empty(b, dtype=np.intp)
    status, parts = np.empty(b, dtype=np.intp), []
    with one_blas_thread():
        streams = [np.random.default_rng(seed) for seed in seeds]
        draws = RESAMPLING[plan.resampling].draw(plan.objects, plan.fits[0], streams)
        heats = _race(
            plan, [_enter(plan, team, draws.seen_by(team.family)) for team in plan.teams()]
        )
        for heat in heats:
            value[:, heat.team.places] = heat.value
        best = _first_best(value)
        for heat in heats:
            rows, result = _winners(plan, heat, best)
            loglik[rows], n_iter[rows], status[rows] = result.loglik, result.n_iter, result.status
            parts.append(Part(rows, result.params))
    with np.errstate(invalid="ignore"):  # no model could be fitted: -inf - -inf
        lead = value - value[np.arange(b), best, None]
    places = np.array(plan.places or range(m))[best]
    return Refits(tuple(parts), places, loglik, n_iter, status, lead)


def _first_best(value: Array) -> Rows:
    """The first of the largest values of each row, up to rounding: some structures coincide."""
    largest = value.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((value >= largest - ROUNDING * np.abs(largest)).argmax(axis=1))


def _enter(plan: Plan, team: Team, data: Data) -> Heat:
    """Refit every replicate under every fit of a team; to a looser tolerance if there are many."""
    b, m = len(data.weights), len(team.fits)
    data, which = data.take(np.repeat(np.arange(b), m)), np.tile(np.arange(m), b)
    family = team.pooled(plan.objects) if plan.regularization == "pooled" else team.family
    start, metric = team.start(which), team.metric(plan.objects, which)
    statistics = e_step(family, *data, start)[1]
    result = maximise(
        family,
        *data,
        statistics,
        team.variants[which],
        start,
        metric,
        tol=plan.tol if len(plan.fits) == 1 else max(plan.tol, RACE_TOLERANCE),
        max_iter=plan.max_iter,
    )
    _put_first_right(result, start)
    return _judge(plan, Heat(team, family, data, metric, result, np.empty((b, m))))


def _race(plan: Plan, heats: list[Heat]) -> list[Heat]:
    """Take those that may still win their replicate on to the tight tolerance."""
    if len(plan.fits) == 1 or plan.tol >= RACE_TOLERANCE:
        return heats
    best = np.max([heat.value.max(axis=1) for heat in heats], axis=0)
    for heat in heats:
        rows = _ahead(heat, best)
        if len(rows):
            _go_on(plan, heat, rows)
    return [_judge(plan, heat) for heat in heats]


def _ahead(heat: Heat, best: Array) -> Rows:
    """The refits that may still win their replicate, at the race's tolerance."""
    value, best = heat.value.ravel(), best.repeat(len(heat.team.fits))
    # What EM may have left is relative to the likelihood, as its stopping rule is.
    left = 2.0 * SLOWNESS * RACE_TOLERANCE * (1.0 + np.abs(heat.result.loglik))
    return np.flatnonzero((value >= best - MARGIN - left) & np.isfinite(value))


def _go_on(plan: Plan, heat: Heat, rows: Rows) -> None:
    """Refit some to the tight tolerance, in place."""
    result = heat.result
    more = maximise(
        heat.family,
        *heat.data.take(rows),
        result.statistics[rows],
        heat.team.variants[heat.which[rows]],
        take(result.params, rows),
        None if heat.metric is None else heat.metric.take(rows),
        tol=plan.tol,
        max_iter=plan.max_iter,
    )
    _put(more._replace(n_iter=result.n_iter[rows] + more.n_iter), result, rows)


def _judge(plan: Plan, heat: Heat) -> Heat:
    """The criterion of every refit: -inf if it is degenerate or spurious.

    So such a refit is chosen only where there is no other: it is then refitted with a
    pseudo-observation, if there were several models; with one, a spike stays as it is.
    """
    n, (team, family, data, _, result, _) = float(plan.objects.weights.sum()), heat
    counts = np.array([fit.n_parameters for fit in team.fits])[heat.which]
    # densities in the units of the first fit's family
    unit = n * (team.family.log_unit - plan.fits[0].family.log_unit)
    value = CRITERIA[plan.criterion](
        result.loglik - family.log_prior(result.params) - unit,
        counts,
        n,
        lambda: log_certainty(family, *data, result.params),
    )
    flawed = (result.status == Status.DEGENERATE) | family.is_spurious(result.params, n).any(axis=1)
    return heat._replace(value=np.where(flawed, -np.inf, value).reshape(heat.value.shape))


def _winners(plan: Plan, heat: Heat, best: Rows) -> tuple[Rows, EMResult]:
    """The replicates that a team's fits win, and their refits."""
    places, result = heat.team.places, heat.result
    rows = np.flatnonzero(np.isin(best, places))
    which = np.searchsorted(places, best[rows])
    chosen = rows * len(places) + which
    result = EMResult(take(result.params, chosen), *(field[chosen] for field in result[1:]))
    if len(plan.fits) > 1:
        result.status[~np.isfinite(heat.value.ravel()[chosen])] = Status.DEGENERATE
    if plan.regularization == "pooled":
        result.status[result.status == Status.OK] = Status.REGULARISED
    _rescue(plan, heat.team, heat.data.take(chosen), which, result)
    return rows, result


def _rescue(plan: Plan, team: Team, data: Data, which: Rows, result: EMResult) -> None:
    """Refit degenerate replicates with a pseudo-observation, unless that is not wanted."""
    rows = np.flatnonzero(result.status == Status.DEGENERATE)
    if plan.regularization != "fallback" or not len(rows):
        return
    family, data = team.pooled(plan.objects), data.take(rows)
    start = take(team.fits[0].internal, np.zeros(len(rows), dtype=np.intp))
    statistics = e_step(family, *data, start)[1]
    new = maximise(
        family,
        *data,
        statistics,
        team.variants[which[rows]],
        start,
        tol=plan.tol,
        max_iter=plan.max_iter,
    )
    new.status[new.status == Status.OK] = Status.REGULARISED
    _put_first_right(new, start)
    _put(new, result, rows)


def _put_first_right(result: EMResult, start: Any) -> None:
    """Give refits that broke down in their first step the parameters they started from."""
    rows = np.flatnonzero((result.status == Status.DEGENERATE) & (result.n_iter == 1))
    for field, good in zip(result.params, start, strict=True):
        field[rows] = good[rows]


def _put(new: EMResult, result: EMResult, rows: Rows) -> None:
    """Replace some refits by others."""
    fields = zip([*result.params, *result[1:]], [*new.params, *new[1:]], strict=True)
    for field, changed in fields:
        field[rows] = changed
