"""Refit a chunk of replicates, under one model or under several of which the best is kept.

With several fits, which differ in their family or covariance structure, the model is chosen again
in every replicate: choosing it once, and forgetting that it was chosen, makes intervals too short.
Two things keep this cheap.  Models that have no real chance are found by a first few replicates,
and left out of the others.  And all models are run to a loose tolerance first; only those that may
still win a replicate go on to the tight one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from credpart._arrays import Array, IntArray
from credpart._bootstrap.draws import RESAMPLING, Draws
from credpart._bootstrap.replicates import FamilyReplicates, Replicates
from credpart._threads import one_blas_thread
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.families.base import Family
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Samples, Status
from credpart.mixture.optimisation.e_step import e_step, log_certainty
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import map_params
from credpart.mixture.search.multistart import Policy, best_first

SPREADS = 4.0  # standard deviations below the best at which a model has no real chance
LOOSE = 1e-6  # tolerance of the first round: at 1e-5 EM often stands on a plateau
MARGIN = 10.0  # difference of the criterion at that tolerance that no model makes up for
SLOWNESS = 100.0  # iterations' worth of gain that EM may still make from there


@dataclass(frozen=True, slots=True)
class Plan:
    """Checked arguments of a bootstrap: all that a chunk of replicates needs to know."""

    objects: DistinctObjects
    fits: tuple[MixtureFit, ...]
    resampling: str
    criterion: str
    regularization: str
    limits: Limits
    refit: str = "full"  # how replicates are found, a row of `algorithm1.REFITS`
    is_choice: bool = False  # several models were given, of which each replicate chooses one

    def families(self) -> list[tuple[MixtureFit, ...]]:
        """The fits by family: those of one family are refitted side by side."""
        members: dict[int, list[MixtureFit]] = {}
        for fit in self.fits:
            members.setdefault(id(fit.family), []).append(fit)
        return [tuple(fits) for fits in members.values()]


class Refits(NamedTuple):
    """Refits of b replicates."""

    winners: Mapping[str, Mixtures]  # by model: the best of the replicates that are its slots
    loglik: Array  # (b,), in the units of the data and without any prior
    lead: Array  # (b, fits): criterion of each fit's model, less that of the replicate's best


def contenders(plan: Plan, refits: Sequence[Refits]) -> Plan:
    """The plan with the fits that have a real chance to be chosen, by some replicates.

    A model has no real chance if it never won and its criterion is, on average, more than
    `SPREADS` standard deviations below the best one of the replicate.  The first fit is always
    kept: parametric samples are drawn from it.
    """
    lead = np.ma.masked_invalid(np.concatenate([some.lead for some in refits]))
    chance = (lead.mean(axis=0) + SPREADS * lead.std(axis=0)).filled(-np.inf)
    is_kept = (chance >= 0.0) | (lead == 0.0).any(axis=0).filled(False)
    is_kept[0] = True
    return replace(plan, fits=tuple(plan.fits[i] for i in np.flatnonzero(is_kept)))


def refit(plan: Plan, seeds: Sequence[SeedSequence]) -> Refits:
    """Refit a chunk of replicates under the model of every fit, and choose."""
    streams = [np.random.default_rng(seed) for seed in seeds]
    with one_blas_thread():
        draws = RESAMPLING[plan.resampling].draw(plan.objects, plan.fits[0], streams)
        families = [FamilyRefit(plan, fits, draws) for fits in plan.families()]
        found = [family.run() for family in families]
        best = np.argmax([values for _, values, _ in found], axis=0)  # of equals the first
        winners: dict[str, Mixtures] = {}
        loglik, first = np.empty(len(seeds)), {}
        for i, (family, (answers, values, first_values)) in enumerate(
            zip(families, found, strict=True)
        ):
            rows = np.flatnonzero(best == i)
            won = family.regularise(answers.take(rows), values[rows])
            loglik[rows] = family.data_loglik(won)
            for fit, of_fit in zip(family.fits, first_values.T, strict=True):
                winners[fit.model] = won.take(np.flatnonzero(won.structure == fit.structure_code))
                first[fit.model] = of_fit
    criteria = np.stack([first[fit.model] for fit in plan.fits], axis=1)
    with np.errstate(invalid="ignore"):  # no model could be fitted: -inf - -inf
        return Refits(winners, loglik, criteria - criteria.max(axis=1, keepdims=True))


class FamilyRefit:
    """Refits of a chunk of replicates under all models of one family; slots are replicates."""

    def __init__(self, plan: Plan, fits: tuple[MixtureFit, ...], draws: Draws) -> None:
        self.plan, self.fits = plan, fits
        self.rule, family = REGULARIZATIONS[plan.regularization], fits[0].family
        self.family = self._regularised() if self.rule.is_asked else family
        self.problem = Problem(self.family, draws.seen_by(family))
        # Densities are compared in the units of the first fit's family.
        self.unit = self.problem.n_objects * (family.log_unit - plan.fits[0].family.log_unit)

    def run(self) -> tuple[Mixtures, Array, Array]:
        """Refit every replicate under every model, and choose.

        Returns the best refit of each replicate, its criterion (b,), and the criterion (b, fits)
        of each fit's model at the loose tolerance.  A criterion is -inf where no refit is sound.
        """
        b, m, limits = len(self.problem.data.weights), len(self.fits), self.plan.limits
        replicates = np.repeat(np.arange(b), m)
        start = evaluate(self.problem, self._start(np.tile(np.arange(m), b), replicates))
        if not self.plan.is_choice:
            return maximise(self.problem, start, limits), np.zeros(b), np.zeros((b, 1))
        first = Limits(max(limits.tol, LOOSE), limits.max_iter)
        candidates = maximise(self.problem, start, first)
        again = candidates.under_way() if limits.tol < first.tol else candidates
        answers, values = best_first(self.problem, again, Policy(self.value, self.margin), limits)
        return answers, values, self.value(candidates).reshape(b, m)

    def criterion(self, mixtures: Mixtures) -> Array:
        """The criterion of mixtures."""
        n_parameters = {fit.structure_code: fit.n_parameters for fit in self.fits}
        k = np.array([n_parameters[code] for code in mixtures.structure.tolist()])
        loglik = mixtures.loglik - self.family.log_prior(mixtures.params) - self.unit
        certainty = partial(log_certainty, self.problem, mixtures.params, mixtures.sample)
        return CRITERIA[self.plan.criterion](loglik, k, self.problem.n_objects, certainty)

    def value(self, mixtures: Mixtures) -> Array:
        """The criterion of mixtures that may be answers."""
        return np.where(self.problem.is_sound(mixtures), self.criterion(mixtures), -np.inf)

    def margin(self, mixtures: Mixtures) -> Array:
        """What a refit at the loose tolerance may still gain: relative, as the tolerance is."""
        return MARGIN + 2.0 * SLOWNESS * LOOSE * (1.0 + np.abs(mixtures.loglik))

    def regularise(self, winners: Mixtures, values: Array) -> Mixtures:
        """Refit degenerate replicates with a pseudo-observation, unless that is not wanted.

        Where models were chosen among, so are replicates of which none was sound; under one model,
        a spurious component stays as it is.
        """
        status = winners.status.copy()
        if self.plan.is_choice:
            status[~np.isfinite(values)] = Status.DEGENERATE
        if self.rule.is_asked:
            status[status == Status.OK] = Status.REGULARISED
        winners = replace(winners, status=status)
        rows = np.flatnonzero(winners.is_degenerate)
        if not self.rule.is_fallback or not len(rows):
            return winners
        problem = self.problem._replace(family=self._regularised())
        broken = winners.take(rows)
        start = self._start(np.zeros(len(rows), dtype=np.intp), broken.slot)
        start = evaluate(problem, replace(start, structure=broken.structure))
        again = maximise(problem, start, self.plan.limits)
        status = np.where(again.status == Status.OK, Status.REGULARISED, again.status)
        return winners.put(rows, replace(again, status=status))

    def data_loglik(self, mixtures: Mixtures) -> Array:
        """Log-likelihoods in the units of the data, without the prior."""
        loglik = e_step(self.problem, mixtures.params, mixtures.sample)[0]
        return loglik - self.problem.n_objects * self.family.log_unit

    def _start(self, which: IntArray, replicates: IntArray) -> Mixtures:
        """Mixtures with the parameters of some of the fits, for these replicates."""
        codes = np.array([fit.structure_code for fit in self.fits])[which]
        params = map_params(
            lambda *fields: np.concatenate(fields)[which], *(fit.internal for fit in self.fits)
        )
        return Mixtures.at(params, codes, replicates, replicates, n_iter=0)

    def _regularised(self) -> Family:
        """The family with pseudo-observations of the first fit's pooled covariance."""
        fit, objects = self.fits[0], self.plan.objects
        data = Samples(fit.family.features(objects.X), objects.weights[None])
        statistics = e_step(Problem(fit.family, data), fit.internal, np.array([0]))[1]
        return fit.family.regularised(statistics[0])


def join(plan: Plan, refits: Sequence[Refits]) -> Replicates:
    """All chunks as one value."""
    loglik = np.concatenate([some.loglik for some in refits])
    firsts = np.cumsum([0, *(len(some.loglik) for some in refits)])
    models = np.empty(len(loglik), dtype=np.array([fit.model for fit in plan.fits]).dtype)
    n_iter, status = np.empty((2, len(loglik)), dtype=np.intp)
    parts = []
    for fits in plan.families():
        mine = [
            replace(some.winners[fit.model], slot=first + some.winners[fit.model].slot)
            for first, some in zip(firsts, refits, strict=False)
            for fit in fits
            if fit.model in some.winners
        ]
        mixtures = Mixtures.concatenate(mine)
        mixtures = mixtures.take(np.argsort(mixtures.slot))
        rows, names = mixtures.slot, {fit.structure_code: fit.model for fit in fits}
        models[rows] = [names[code] for code in mixtures.structure.tolist()]
        n_iter[rows], status[rows] = mixtures.n_iter, mixtures.status
        if len(rows):
            parts.append(FamilyReplicates(fits[0].family, rows, mixtures.params))
    arrays = models, loglik, n_iter, status
    return Replicates(tuple(parts), *arrays, plan.resampling, plan.fits[0].columns)
