"""The scheduler: run many mixtures, give up those without hope, and keep the best of each slot.

A slot is what mixtures compete for: a model and a number of clusters in a selection, a replicate
of the bootstrap.  Candidates are mixtures that have been run for some iterations.  The most
promising ones are run to their ends first; another one only if it could still win its slot.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.families.base import P
from credpart.mixture.optimisation.convergence import Limits, resolution
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import Mixtures, Problem

PATIENCE = 60.0  # iterations


class Policy(NamedTuple, Generic[P]):
    """What distinguishes one search from another."""

    # What is maximised in a slot: -inf for a mixture that is no answer.
    value: Callable[[Mixtures[P]], Array]
    # What a candidate may still gain on the others of its slot.
    margin: Callable[[Mixtures[P]], Array]
    # More candidates, from the answers (one for each slot) and which of these are new.
    offers: Callable[[Mixtures[P], IntArray], Mixtures[P] | None] = lambda answers, new: None


class Found(NamedTuple, Generic[P]):
    """The result of a search."""

    answers: Mixtures[P]  # one for each slot
    values: Array  # of the answers; -inf where no mixture is sound
    ended: Mixtures[P]  # all mixtures that were run to their ends


def best_first(
    problem: Problem[P], candidates: Mixtures[P], policy: Policy[P], limits: Limits
) -> Found[P]:
    """Run candidates to their ends, the most promising first, until no other could win its slot."""
    pool, values = candidates, policy.value(candidates)
    answers = pool.take(best_of_slots(values, pool.slot, limits.tol))
    reached = np.full(len(answers), -np.inf)
    ended: list[Mixtures[P]] = []
    while True:
        slot, potential = pool.slot, values + policy.margin(pool)
        leading = reached.copy()
        np.maximum.at(leading, slot, values)
        is_chosen = (potential > just_above(reached, limits.tol)[slot]) & (
            potential >= leading[slot]
        )
        if not is_chosen.any():
            return Found(answers, reached, Mixtures.concatenate(ended or [answers]))
        runs = maximise(problem, pool.take(np.flatnonzero(is_chosen)).under_way(), limits)
        ended.append(runs)
        pool, values = pool.take(np.flatnonzero(~is_chosen)), values[~is_chosen]

        ends = policy.value(runs)
        best = best_of_slots(ends, runs.slot, limits.tol)
        slot = runs.slot[best]
        is_better = ends[best] > just_above(reached, limits.tol)[slot]
        is_new = is_better | np.isinf(reached[slot])  # for want of better, what is no answer
        answers = answers.put(slot[is_new], runs.take(best[is_new]))
        reached[slot[is_new]] = ends[best[is_new]]
        more = policy.offers(answers, slot[is_better])
        if more is not None:
            pool = Mixtures.concatenate([pool, more])
            values = np.concatenate([values, policy.value(more)])


class EarlyStopping(Generic[P]):
    """Give up candidates that are too far behind the best of their slot.

    Too far is where it would take them more than `PATIENCE` iterations that gain as much as the
    last one, if the best stood still.
    """

    def __init__(self, policy: Policy[P], n_slots: int) -> None:
        self.policy, self.best = policy, np.full(n_slots, -np.inf)

    def __call__(self, trial: Mixtures[P], gain: Array) -> BoolArray:
        """Which candidates to give up after an iteration with these relative gains."""
        np.maximum.at(self.best, trial.slot, self.policy.value(trial))
        behind = self.best[trial.slot] - trial.loglik
        return np.asarray(behind > PATIENCE * gain * (1.0 + np.abs(trial.loglik)))


def best_of_slots(values: Array, slot: IntArray, tol: float) -> IntArray:
    """The place of the best value of each slot that occurs; of equals, up to ``tol``, the first."""
    largest = np.full(slot.max() + 1, -np.inf)
    np.maximum.at(largest, slot, values)
    is_best = values + np.nan_to_num(resolution(largest, tol), posinf=0.0)[slot] >= largest[slot]
    places = np.flatnonzero(is_best)
    return np.asarray(places[np.unique(slot[places], return_index=True)[1]])


def just_above(values: Array, tol: float) -> Array:
    """Values that are larger by more than what the rule of convergence leaves open."""
    with np.errstate(invalid="ignore"):  # -inf - -inf
        return np.where(np.isfinite(values), values + resolution(values, tol), -np.inf)
