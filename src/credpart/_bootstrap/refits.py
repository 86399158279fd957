"""Refit a chunk of replicates, under one model or under several of which the best is kept.

With several fits, which differ in their family, covariance structure or number of clusters, these
are chosen again in every replicate: choosing them once, and forgetting that they were chosen, makes
intervals too short.  Two things keep this cheap.  Models that are not worth trying are found by a
first few replicates, and left out of the others.  And all models are run to a loose tolerance
first; only those that may still win a replicate go on to the tight one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from credpart._arrays import Array, BoolArray, IntArray
from credpart._bootstrap.draws import RESAMPLING, Draws
from credpart._bootstrap.replicates import FamilyReplicates, Replicates
from credpart._bootstrap.units import Units
from credpart._threads import one_blas_thread
from credpart.mixture.criteria import N_DEVIATIONS, chosen_by
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.families.base import Family
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Status
from credpart.mixture.optimisation.e_step import e_step, total_log_certainty
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import map_params, take_params
from credpart.mixture.search.grid_search import Cell
from credpart.mixture.search.multistart import Found, Policy, best_first

LOOSE = 1e-6  # tolerance of the first round; at 1e-5 EM has often not converged
# A refit may still win if it is behind by less than `ALLOWANCE`, on the scale of the criterion,
# plus the gain of `MORE_ITERATIONS` more iterations like the last.
ALLOWANCE = 10.0
MORE_ITERATIONS = 100.0
FEW_PILOTS = 2.0  # with so many, a model is left out only if it is twice as far behind
LEAST_DEVIATION = 1.0  # of a deficit, on the scale of the criterion


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
    units: Units | None = None  # what is drawn, where it is not the objects one by one

    @property
    def optimism(self) -> float:
        """What choosing by the criterion has to correct, as in `chosen_by`."""
        return RESAMPLING[self.resampling].optimism


def by_family_and_number(fits: Sequence[MixtureFit]) -> list[tuple[MixtureFit, ...]]:
    """The fits of each family and number of clusters: EM can run them side by side."""
    members: dict[tuple[int, int], list[MixtureFit]] = {}
    for fit in fits:
        members.setdefault((id(fit.family), fit.n_clusters), []).append(fit)
    return [tuple(group) for group in members.values()]


class RefittedChunk(NamedTuple):
    """Refits of b replicates."""

    winners: Mapping[Cell, Mixtures]  # the best refits; their slots are the replicates that chose
    loglik: Array  # (b,), in the units of the data and without any prior
    # (b, fits): criterion after the first round, best less own; inf if not sound.  Linear
    # replicates have no first round.
    deficit: Array = np.empty((0, 0))


def worth_trying(pilots: Sequence[RefittedChunk]) -> BoolArray:
    """Which models (fits,) the replicates after these pilots try.

    Let the deficit of a model be the best criterion of a replicate less its own, after the first
    round.  A model is left out if no refit was sound, or if it won no pilot and its mean deficit,
    over the pilots in which its refit was sound, exceeds `N_DEVIATIONS` standard deviations of the
    deficit.  Few pilots know that deviation poorly, so it is multiplied by
    ``1 + FEW_PILOTS / (sound pilots)``, and is `LEAST_DEVIATION` at least.
    The first fit is always kept: parametric samples are drawn from it.
    """
    deficit = np.ma.masked_invalid(np.concatenate([pilot.deficit for pilot in pilots]))
    with np.errstate(over="ignore"):  # that of a model that hardly fits at all may be that large
        mean, deviation = deficit.mean(axis=0).filled(np.inf), deficit.std(axis=0).filled(0.0)
    deviation = np.maximum(deviation, LEAST_DEVIATION)
    n_sound = np.maximum(deficit.count(axis=0), 1)
    most = N_DEVIATIONS * (1.0 + FEW_PILOTS / n_sound) * deviation
    is_kept: BoolArray = (mean <= most) | (deficit == 0.0).any(axis=0).filled(False)
    is_kept[0] = True
    return is_kept


def refit_chunk(plan: Plan, seeds: Sequence[SeedSequence]) -> RefittedChunk:
    """Refit a chunk of replicates under the model of every fit, and choose."""
    streams = [np.random.default_rng(seed) for seed in seeds]
    with one_blas_thread():
        draw = RESAMPLING[plan.resampling].draw
        draws = draw(plan.objects, plan.fits[0], streams, plan.units)
        refits = [FamilyRefit(plan, fits, draws) for fits in by_family_and_number(plan.fits)]
        # The models of the first fit's family and number of clusters are refitted first: callers
        # give the best fit first, whose criteria few others reach.  The order only affects time.
        first_rounds, goals = [], np.full(len(seeds), -np.inf)
        for refit in refits:
            first_rounds.append(refit.first_round(goals))
            goals = np.maximum(goals, first_rounds[-1].values.max(axis=1))
        found = [
            refit.last_round(first, goals)
            for refit, first in zip(refits, first_rounds, strict=True)
        ]
        # Each replicate takes the best model of all.
        best = np.argmax([values for _, values in found], axis=0)  # of equals the first
        winners: dict[Cell, Mixtures] = {}
        loglik, first_values = np.empty(len(seeds)), {}
        for i, (refit, (answers, _)) in enumerate(zip(refits, found, strict=True)):
            rows = np.flatnonzero(best == i)
            won = refit.regularise(refit.finish(answers.take(rows)))
            loglik[rows] = refit.data_loglik(won)
            for fit, of_fit in zip(refit.fits, first_rounds[i].values.T, strict=True):
                mine = np.flatnonzero(won.structure_code == fit.structure_code)
                winners[fit.cell] = won.take(mine)
                first_values[fit.cell] = of_fit
    criteria = np.stack([first_values[fit.cell] for fit in plan.fits], axis=1)
    with np.errstate(invalid="ignore"):  # no model could be fitted: -inf - -inf
        return RefittedChunk(winners, loglik, criteria.max(axis=1, keepdims=True) - criteria)


class FirstRound(NamedTuple):
    """Refits of b replicates under every model of a `FamilyRefit`, to a loose tolerance."""

    candidates: Mixtures
    values: Array  # (b, fits): the criterion, -inf if not sound; 0 if only one model was given


class FamilyRefit:
    """Refits of replicates under models of one family with one number of clusters.

    The slots of the scheduler are replicates: models compete for them.
    """

    def __init__(self, plan: Plan, fits: tuple[MixtureFit, ...], draws: Draws) -> None:
        self.plan, self.fits = plan, fits
        self.rule, family = REGULARIZATIONS[plan.regularization], fits[0].family
        self.family = self._regularised() if self.rule.is_asked else family
        self.problem = Problem(self.family, draws.features_for(family))
        # The same with no object of more weight than in the data; None if samples are new objects.
        self.capped: Problem | None = None
        if not RESAMPLING[plan.resampling].is_new:
            weights = np.minimum(draws.weights, plan.objects.weights)
            self.capped = Problem(self.family, self.problem.data._replace(weights=weights))
        # Densities are compared in the units of the first fit's family.
        log_unit = family.log_unit - plan.fits[0].family.log_unit
        self.log_unit_offset = self.problem.n_objects * log_unit

    def first_round(self, goals: Array) -> FirstRound:
        """Refit every replicate under every model, to a loose tolerance.

        A refit is stopped if it cannot reach ``goals`` (b,), the best criterion that models of
        other families or numbers of clusters, refitted before, have reached in its replicate.
        Models of the same `FamilyRefit` do not stop each other.  With a single model the refits are
        final, and the values are 0.
        """
        b, m, limits = len(self.problem.data.weights), len(self.fits), self.plan.limits
        replicates = np.repeat(np.arange(b), m)
        start = evaluate(self.problem, self._start(np.tile(np.arange(m), b), replicates))
        if not self.plan.is_choice:
            return FirstRound(maximise(self.problem, start, limits), np.zeros((b, 1)))
        loose = Limits(max(limits.tol, LOOSE), limits.max_iter)

        def gives_up(trial: Mixtures, gain: Array) -> BoolArray:
            potential = self.criterion(trial, is_certain=True) + self.margin(trial, gain)
            return np.asarray(potential < goals[trial.slot])

        candidates = maximise(self.problem, start, loose, gives_up)
        return FirstRound(candidates, self.policy.value(candidates).reshape(b, m))

    def last_round(self, first: FirstRound, goals: Array) -> Found:
        """The best refit of each replicate, and its criterion (b,).

        Refits that cannot reach ``goals`` (b,), the best criterion of all models in the first
        round, are not run to the tight tolerance.
        """
        (candidates, values), limits = first, self.plan.limits
        if not self.plan.is_choice:
            return Found(candidates, values[:, 0])
        again = candidates.resumed() if limits.tol < LOOSE else candidates
        return best_first(self.problem, again, self.policy, limits, goals)

    def finish(self, winners: Mixtures) -> Mixtures:
        """Run to the tight tolerance those winners that were left at the loose one.

        They could not reach the goals, but every refit that could has become degenerate or
        spurious.
        """
        return maximise(self.problem, winners, self.plan.limits)

    @property
    def policy(self) -> Policy:
        """Which refit of a replicate is the best, and which may still become it."""
        return Policy(self.is_sound, self.criterion, self.margin)

    def is_sound(self, mixtures: Mixtures) -> BoolArray:
        """Which refits may be chosen: those without a component that is an artefact of the weights.

        A flat component on eight copies of two objects is one on two objects, and so is one on two
        objects whose Dirichlet weights sum to eight; many samples have such.  An EM step with no
        weight above that in the data gives these components the sizes that they have there.
        """
        is_sound = self.problem.is_sound(mixtures)
        if self.capped is None:
            return is_sound
        rows = np.flatnonzero(is_sound & self.family.is_flat(mixtures.params).any(axis=1))
        if len(rows):
            some = mixtures.take(rows)
            with np.errstate(all="ignore"):  # an object alone has no variance
                statistics = e_step(self.capped, some.params, some.sample)[1]
                params = self.family.m_step(statistics, some.structure_code, some.params)
            sizes = self.capped.data.weights[some.sample].sum(axis=1)  # each sample has its own
            is_spurious = [
                self.family.is_spurious(take_params(params, slice(i, i + 1)), n).any()
                for i, n in enumerate(sizes.tolist())
            ]
            is_sound[rows] = ~(np.array(is_spurious) | self.family.is_degenerate(params))
        return is_sound

    def criterion(self, mixtures: Mixtures, *, is_certain: bool = False) -> Array:
        """The criterion of mixtures; or a bound on it, as if all objects had certain clusters."""
        by_code = {fit.structure_code: fit.n_parameters for fit in self.fits}
        n_parameters = np.array([by_code[code] for code in mixtures.structure_code.tolist()])
        loglik = mixtures.objective - self.family.log_prior(mixtures.params) - self.log_unit_offset
        certainty: Callable[[], Array] = partial(
            total_log_certainty, self.problem, mixtures.params, mixtures.sample
        )
        if is_certain:
            certainty = partial(np.zeros, len(mixtures))
        value = chosen_by(self.plan.criterion, self.plan.optimism)
        return value(loglik, n_parameters, self.problem.n_objects, certainty)

    def margin(self, mixtures: Mixtures, gain: Array | float = LOOSE) -> Array:
        """A bound on what a refit may still gain in the criterion.

        It is given the relative gain of its last iteration; by default that of a refit that has
        just converged at `LOOSE`.
        """
        more = MORE_ITERATIONS * np.maximum(gain, LOOSE) * (1.0 + np.abs(mixtures.objective))
        return ALLOWANCE + 2.0 * more  # a criterion counts the log-likelihood twice

    def regularise(self, winners: Mixtures) -> Mixtures:
        """Refit degenerate replicates with pseudo-observations, if these are a fallback.

        Each component gets one.  With several models, a replicate without any sound refit counts
        as degenerate.  With one model, a spurious component is accepted.
        """
        status = winners.status.copy()
        if self.plan.is_choice:
            status[~self.is_sound(winners)] = Status.DEGENERATE
        if self.rule.is_asked:
            status[status == Status.OK] = Status.REGULARISED
        winners = replace(winners, status=status)
        rows = np.flatnonzero(winners.is_degenerate)
        if not self.rule.is_fallback or not len(rows):
            return winners
        problem = self.problem._replace(family=self._regularised())
        broken = winners.take(rows)
        # From the first fit, whatever the structure: the prior is made of it too.
        start = self._start(np.zeros(len(rows), dtype=np.intp), broken.slot)
        start = evaluate(problem, replace(start, structure_code=broken.structure_code))
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
        """The family with pseudo-observations that have the pooled covariance of the first fit."""
        fit, objects = self.fits[0], self.plan.objects
        problem = Problem.of(fit.family, objects.X, objects.weights[None])
        statistics = e_step(problem, fit.internal, np.array([0]))[1]
        return fit.family.regularised(statistics[0])


def join(plan: Plan, refits: Sequence[RefittedChunk]) -> Replicates:
    """The replicates of all chunks, in their order.

    Slots count from the start of a chunk; ``firsts`` turns them into numbers of replicates.
    """
    loglik = np.concatenate([chunk.loglik for chunk in refits])
    firsts = np.cumsum([0, *(len(chunk.loglik) for chunk in refits)])
    models = np.empty(len(loglik), dtype=np.array([fit.model for fit in plan.fits]).dtype)
    n_iter, status = np.empty((2, len(loglik)), dtype=np.intp)
    parts = []
    for fits in by_family_and_number(plan.fits):
        mine = [
            replace(chunk.winners[cell], slot=first + chunk.winners[cell].slot)
            for first, chunk in zip(firsts, refits, strict=False)
            for cell in (fit.cell for fit in fits)
            if cell in chunk.winners
        ]
        mixtures = Mixtures.concatenate(mine)
        mixtures = mixtures.take(np.argsort(mixtures.slot))
        rows, names = mixtures.slot, {fit.structure_code: fit.model for fit in fits}
        models[rows] = [names[code] for code in mixtures.structure_code.tolist()]
        n_iter[rows], status[rows] = mixtures.n_iter, mixtures.status
        if len(rows):
            parts.append(FamilyReplicates(fits[0].family, rows, mixtures.params))
    arrays = models, loglik, n_iter, status
    return Replicates(tuple(parts), *arrays, plan.resampling, plan.fits[0].columns)
