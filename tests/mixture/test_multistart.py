"""The scheduler, on mixtures whose ends are known beforehand."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from credpart.mixture.optimisation.convergence import Limits, Status
from credpart.mixture.optimisation.mixtures import Mixtures
from credpart.mixture.search import multistart
from credpart.mixture.search.multistart import (
    CATCH_UP,
    EarlyStopping,
    Policy,
    best_first,
    best_of_slots,
    just_above,
)

LIMITS = Limits(1e-9, 100)
UNDER_WAY, DEGENERATE = Status.NOT_CONVERGED, Status.DEGENERATE


class Ends(NamedTuple):
    """What stands for the parameters of a mixture: where it will end, and whether as a spike."""

    objective: np.ndarray
    is_spurious: np.ndarray


def batch(objective, ends=None, slot=None, status=None, is_spurious=None):
    """Mixtures with these objectives, which end at others."""
    objective = np.array(objective, dtype=float)
    b, zeros = len(objective), np.zeros(len(objective), dtype=np.intp)
    ends = objective if ends is None else np.array(ends, dtype=float)
    is_spurious = zeros.astype(bool) if is_spurious is None else np.array(is_spurious)
    slot = zeros if slot is None else np.array(slot)
    status = np.full(b, UNDER_WAY) if status is None else np.array(status)
    params = Ends(ends, is_spurious)
    return Mixtures(params, np.zeros((b, 1, 1)), objective, zeros, status, zeros, zeros, slot)


def is_sound(mixtures):
    return ~(mixtures.is_degenerate | mixtures.params.is_spurious)


@pytest.fixture
def runs(monkeypatch):
    """The objectives at which mixtures are run to their ends, round by round."""
    rounds = []

    def run_to_the_end(problem, mixtures, limits, early_stopping):
        rounds.append(mixtures.objective.tolist())
        ends = mixtures.params.objective
        is_lost = np.isnan(ends)
        objective = np.where(is_lost, mixtures.objective, ends)
        status = np.where(is_lost, DEGENERATE, Status.OK)
        return replace(mixtures, objective=objective, status=status)

    monkeypatch.setattr(multistart, "maximise", run_to_the_end)
    return rounds


def test_the_most_promising_candidate_of_each_slot_is_run_first(runs):
    found = best_first(
        None,
        batch([-5.0, -3.0, -9.0, -8.0], ends=[-2.0, -1.0, -4.0, -4.0], slot=[0, 0, 1, 1]),
        Policy(is_sound),
        LIMITS,
    )
    assert runs == [[-3.0, -8.0]]  # the others are below what was reached
    assert found.answers.objective.tolist() == found.values.tolist() == [-1.0, -4.0]


def test_another_candidate_is_run_only_if_it_could_still_win(runs):
    # the second may gain 3 on the others, and is run; the third is too far below
    policy = Policy(is_sound, margin=lambda mixtures: np.full(len(mixtures), 3.0))
    found = best_first(None, batch([-5.0, -7.0, -9.0], ends=[-4.9, -4.0, -0.1]), policy, LIMITS)
    assert runs == [[-5.0, -7.0]]
    assert found.values.tolist() == [-4.0]


@pytest.mark.parametrize("lost", [np.nan, -1.0])  # it becomes singular, or a spike
def test_where_the_best_candidate_is_refused_the_next_best_is_run(runs, lost):
    candidates = batch([-3.0, -4.0, -5.0, -6.0], ends=[lost, lost, -2.0, -1.0])

    def is_no_spike(mixtures):
        return ~(mixtures.is_degenerate | (mixtures.objective == -1.0))

    found = best_first(None, candidates, Policy(is_no_spike), LIMITS)
    assert runs == [[-3.0], [-4.0], [-5.0]]
    assert found.values.tolist() == [-2.0]


def test_where_all_candidates_are_refused_one_of_them_is_the_answer(runs):
    found = best_first(None, batch([-3.0, -4.0], ends=[np.nan, np.nan]), Policy(is_sound), LIMITS)
    assert found.values.tolist() == [-np.inf]
    assert found.answers.status.tolist() == [DEGENERATE]


def test_candidates_that_have_ended_are_not_run_again(runs):
    candidates = batch([-3.0, -1.0, -2.0], status=[Status.OK, DEGENERATE, UNDER_WAY])
    found = best_first(None, candidates, Policy(is_sound), LIMITS)
    assert runs == [[-2.0]]
    assert found.values.tolist() == [-2.0]


def test_candidates_that_cannot_reach_the_goal_of_their_slot_are_not_run(runs):
    policy = Policy(is_sound, margin=lambda mixtures: np.full(len(mixtures), 1.0))
    candidates = batch([-3.0, -2.5, -6.0, -7.0], ends=[-2.9, np.nan, 0.0, 0.0], slot=[0, 1, 1, 2])
    found = best_first(None, candidates, policy, LIMITS, goals=np.array([-2.0, -2.0, -2.0]))
    assert runs == [[-3.0, -2.5]]  # potentials equal to the goal are enough
    # Where no other is sound they are answers, and it shows that they have not converged.
    assert found.values.tolist() == [-2.9, -6.0, -7.0]
    assert found.answers.status.tolist() == [Status.OK, UNDER_WAY, UNDER_WAY]


def test_while_mixtures_are_run_no_criterion_is_computed(monkeypatch):
    is_running = False

    def run(problem, mixtures, limits, early_stopping):
        nonlocal is_running
        is_running = True
        n_iter = np.array([multistart.SOUND_BY, multistart.SOUND_BY + 1, multistart.SOUND_BY + 1])
        trial = replace(mixtures, n_iter=n_iter)
        assert early_stopping(trial, np.zeros(3)).tolist() == [False, False, True]
        is_running = False
        return replace(mixtures, status=np.full(3, Status.OK))

    def criterion(mixtures):
        assert not is_running
        return mixtures.objective

    monkeypatch.setattr(multistart, "maximise", run)
    candidates = batch([-3.0, -4.0, -5.0], slot=[0, 1, 2])

    def third_is_spurious_while_running(mixtures):
        return ~(is_running & (mixtures.slot == 2))

    best_first(None, candidates, Policy(third_is_spurious_while_running, criterion), LIMITS)


def test_of_equal_answers_that_of_the_first_start_is_kept(runs):
    candidates = batch([-3.0 - 1e-9, -3.0], status=[Status.OK, Status.OK])
    candidates = replace(candidates, n_iter=np.array([7, 5]))
    found = best_first(None, candidates, Policy(is_sound), LIMITS)
    assert found.answers.n_iter.tolist() == [7]
    assert runs == []


def test_new_answers_are_offered_to_others_until_nothing_changes(runs):
    seen = []

    def more_starts(answers, new):
        seen.append(new.tolist())
        # the first answer of slot 0 leads slot 1 to a better one, and that leads back
        if len(seen) == 1:
            return batch([-6.0], ends=[-1.0], slot=[1])
        if len(seen) == 2:
            return batch([-4.5, -9.0], ends=[-0.5, 0.0], slot=[0, 0])
        return None

    candidates = batch([-5.0, -8.0], slot=[0, 1], status=[Status.OK, Status.OK])
    found = best_first(None, candidates, Policy(is_sound, more_starts=more_starts), LIMITS)
    assert seen == [[0, 1], [1], [0]]
    assert runs == [[-6.0], [-4.5]]  # what is behind the answer is not run
    assert found.values.tolist() == [-0.5, -1.0]


def test_a_refused_answer_is_not_offered_to_others(runs):
    seen = []

    def more_starts(answers, new):
        seen.append(new.tolist())

    candidates = batch([-5.0, -8.0], ends=[-5.0, np.nan], slot=[0, 1])
    best_first(None, candidates, Policy(is_sound, more_starts=more_starts), LIMITS)
    assert seen == [[], [0]]


def test_an_answer_that_is_only_as_good_is_not_offered(runs):
    seen = []

    def more_starts(answers, new):
        seen.append(new.tolist())
        return batch([-4.0], ends=[-5.0 + 1e-9]) if len(seen) == 1 else None

    candidates = batch([-5.0], status=[Status.OK])
    best_first(None, candidates, Policy(is_sound, more_starts=more_starts), LIMITS)
    assert seen == [[0], []]


# --- early stopping


def relative(gains, objective):
    return np.array(gains) / (1.0 + np.abs(objective))


def test_who_is_too_far_behind_is_given_up():
    objective = np.array([-100.0, -120.0, -200.0, -300.0])
    trial = batch(objective, slot=[0, 0, 0, 1])
    stop = EarlyStopping(is_sound, 2)
    gains = relative(np.full(4, 50.0 / CATCH_UP), objective)  # so that 50 are made up for in time
    assert stop(trial, gains).tolist() == [False, False, True, False]
    assert not stop(trial, 4.0 * gains).any()
    # the best is remembered when it has left
    assert stop(trial.take(np.array([2, 3])), gains[2:]).tolist() == [True, False]


@pytest.mark.parametrize(
    "flaw", [{"status": [DEGENERATE, UNDER_WAY]}, {"is_spurious": [True, False]}]
)
def test_nobody_is_given_up_because_of_a_leader_that_is_refused(flaw):
    stop = EarlyStopping(is_sound, 1)
    trial = batch([-1.0, -900.0], **flaw)
    for _ in range(3):
        assert not stop(trial, relative([1e-6, 1e-6], trial.objective))[1]
    assert stop(batch([-1.0, -900.0]), relative([1e-6, 1e-6], trial.objective)).tolist() == [
        False,
        True,
    ]


# --- comparisons


def test_sound_mixtures_are_better_than_any_that_is_refused():
    values, slot = np.array([-np.inf, -5.0, -np.inf, -np.inf]), np.array([0, 0, 1, 1])
    assert best_of_slots(values, slot, 1e-9).tolist() == [1, 2]
    assert best_of_slots(values[:0], slot[:0], 1e-9).tolist() == []


def test_of_equals_the_first_is_best():
    # rounding does not choose
    values, slot = np.array([-5.0, -5.0 + 1e-9, -4.0]), np.array([3, 3, 1])
    assert best_of_slots(values, slot, 1e-9).tolist() == [2, 0]
    assert best_of_slots(values + np.array([0.0, 1e-3, 0.0]), slot, 1e-9).tolist() == [2, 1]


def test_what_convergence_leaves_open_is_no_difference():
    values = np.array([-1000.0, -np.inf])
    above = just_above(values, 1e-9)
    assert -1000.0 + 1e-9 * 1001 < above[0] < -1000.0 + 1e-3
    assert above[1] == -np.inf
