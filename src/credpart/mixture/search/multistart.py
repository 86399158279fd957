"""The scheduler: run many mixtures, stop those that are unlikely to win, keep the best of a slot.

A slot is what mixtures compete for: a model and a number of clusters in a selection, a replicate
of the bootstrap.  A mixture that competes is a candidate, and the best one of a slot its answer.
A search has two steps.  First, EM runs all candidates side by side, and `EarlyStopping` stops
those that are too far behind.  Then `best_first` keeps the best of each slot, and resumes a
stopped candidate, or runs a start that the policy adds, only if its value plus the margin of the
policy exceeds that best.  With a margin of 0, as in the grid search, a stopped candidate is
resumed only if every candidate with a higher value has since become degenerate or spurious.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Status
from credpart.mixture.optimisation.convergence import resolution
from credpart.mixture.optimisation.maximise import maximise

# What early stopping saves and costs: the ablation in docs/design-notes.md.
CATCH_UP = 240.0  # iterations at its present gain that a candidate may need to reach the best
SOUND_BY = 240  # after so many iterations a candidate that is not sound is given up


class Policy(NamedTuple):
    """What a search maximises, when it resumes a candidate, and where it gets further starts."""

    # Which mixtures may be answers.
    is_sound: Callable[[Mixtures], BoolArray]
    # What is maximised in a slot.
    criterion: Callable[[Mixtures], Array] = lambda mixtures: mixtures.objective
    # What a candidate may still gain on the others of its slot.
    margin: Callable[[Mixtures], Array] = lambda mixtures: np.zeros(len(mixtures))
    # Further candidates, given the answers (one per slot) and the slots whose answers are new.
    more_starts: Callable[[Mixtures, IntArray], Mixtures | None] = lambda answers, new: None

    def value(self, mixtures: Mixtures) -> Array:
        """The criterion of mixtures that may be answers; -inf for others."""
        return np.where(self.is_sound(mixtures), self.criterion(mixtures), -np.inf)


class Found(NamedTuple):
    """The result of a search."""

    answers: Mixtures  # one for each slot
    values: Array  # of the answers; -inf where no mixture is sound


def best_first(
    problem: Problem,
    candidates: Mixtures,
    policy: Policy,
    limits: Limits,
    goals: Array | None = None,
) -> Found:
    """Run the candidates of highest potential to convergence, until no other could win its slot.

    ``goals`` (slots,) are values reached elsewhere: a candidate whose potential, value plus margin,
    is below its goal is never run.  If no candidate of a slot that was run is sound and better, the
    best of these unfinished ones is the answer, still NOT_CONVERGED.
    """
    values = policy.value(candidates)
    # Placeholders, one for each slot: any candidate that has ended replaces them.
    answers = candidates.take(best_of_slots(values, candidates.slot, limits.tol))
    best_values = np.full(len(answers), -np.inf)
    is_open = candidates.status == Status.NOT_CONVERGED
    if goals is not None:
        is_open &= values + policy.margin(candidates) >= goals[candidates.slot]
    waiting = candidates.take(np.flatnonzero(is_open))
    ended = candidates.take(np.flatnonzero(~is_open))

    def gives_up(trial: Mixtures, gain: Array) -> BoolArray:
        return is_collapsing(policy.is_sound(trial), trial.n_iter)

    while True:
        # Keep the best of those that have ended, where they exceed the answers.
        values = policy.value(ended)
        best = best_of_slots(values, ended.slot, limits.tol)
        slot = ended.slot[best]
        is_better = values[best] > just_above(best_values, limits.tol)[slot]
        # If nothing is sound, keep what there is.
        is_replaced = is_better | np.isinf(best_values[slot])
        answers = answers.put(slot[is_replaced], ended.take(best[is_replaced]))
        best_values[slot[is_replaced]] = values[best[is_replaced]]

        # New answers may give more candidates; run those that could still win their slots.
        further = policy.more_starts(answers, slot[is_better])
        waiting = waiting if further is None else Mixtures.concatenate([waiting, further])
        is_chosen = most_promising(waiting, policy, just_above(best_values, limits.tol))
        if not is_chosen.any():
            return Found(answers, best_values)
        chosen = waiting.take(np.flatnonzero(is_chosen)).resumed()
        waiting = waiting.take(np.flatnonzero(~is_chosen))
        ended = maximise(problem, chosen, limits, gives_up)


def most_promising(waiting: Mixtures, policy: Policy, to_exceed: Array) -> BoolArray:
    """Candidates whose potential, value plus margin, may win their slot.

    It is above ``to_exceed`` (slots,), and at least the highest value of those that wait for it.
    """
    values = policy.value(waiting)
    potential = values + policy.margin(waiting)
    leading = to_exceed.copy()
    np.maximum.at(leading, waiting.slot, values)
    return np.asarray((potential > to_exceed[waiting.slot]) & (potential >= leading[waiting.slot]))


class EarlyStopping:
    """Give up candidates that are too far behind the best of their slot, or collapse.

    A candidate is too far behind if, at its last gain per iteration, it would need more than
    `CATCH_UP` iterations to reach the present best.  Only plain EM is stopped, not accelerated
    EM.  What is maximised must be the objective of EM.
    """

    def __init__(self, is_sound: Callable[[Mixtures], BoolArray], n_slots: int) -> None:
        self.is_sound, self.best = is_sound, np.full(n_slots, -np.inf)

    def __call__(self, trial: Mixtures, gain: Array) -> BoolArray:
        """Which candidates to give up after an iteration with these relative gains."""
        is_sound = self.is_sound(trial)
        np.maximum.at(self.best, trial.slot[is_sound], trial.objective[is_sound])
        behind = self.best[trial.slot] - trial.objective
        is_behind = behind > CATCH_UP * np.maximum(gain, 0.0) * (1.0 + np.abs(trial.objective))
        return np.asarray(is_behind | is_collapsing(is_sound, trial.n_iter))


def is_collapsing(is_sound: BoolArray, n_iter: IntArray) -> BoolArray:
    """Mixtures that are not sound now, after more than `SOUND_BY` iterations in all.

    While a component collapses, the likelihood may rise for thousands of iterations.
    """
    return np.asarray(~is_sound & (n_iter > SOUND_BY))


def best_of_slots(values: Array, slot: IntArray, tol: float) -> IntArray:
    """The place of the best value of each slot that occurs; of equals, up to ``tol``, the first."""
    largest = np.full(slot.max(initial=-1) + 1, -np.inf)
    np.maximum.at(largest, slot, values)
    is_best = values + np.nan_to_num(resolution(largest, tol), posinf=0.0)[slot] >= largest[slot]
    places = np.flatnonzero(is_best)
    return np.asarray(places[np.unique(slot[places], return_index=True)[1]])


def just_above(values: Array, tol: float) -> Array:
    """Values that a candidate must exceed to count as better."""
    with np.errstate(invalid="ignore"):  # -inf - -inf
        return np.where(np.isfinite(values), values + resolution(values, tol), -np.inf)
