"""EM for every mixture family: batched over mixtures, weighted by object.

EM is a map on the expected sufficient statistics of the complete data: an M-step takes statistics
to parameters, an E-step parameters to statistics.  So an iteration is an M-step and then an E-step,
and a mixture under way has both its parameters and the statistics that are expected there.
Statistics live in a linear space, so that one acceleration serves every family and structure.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.optimisation.anderson import Anderson
from credpart.mixture.optimisation.convergence import (
    Limits,
    Status,
    is_small_gain,
    relative_gain,
)
from credpart.mixture.optimisation.e_step import BlockwiseProblem, expected_statistics
from credpart.mixture.optimisation.mixtures import Mixtures, Problem

# Given the mixtures after an iteration and their relative gains, which mixtures to stop.
StoppingRule = Callable[[Mixtures, Array], BoolArray]


def evaluate(
    problem: Problem | BlockwiseProblem, mixtures: Mixtures, *, in_single: bool = False
) -> Mixtures:
    """The E-step at the parameters of mixtures: their objectives, statistics and status."""
    family = problem.family
    with np.errstate(all="ignore"):  # invalid parameters show in the log-likelihood
        loglik, statistics = expected_statistics(
            problem, mixtures.params, mixtures.sample, in_single=in_single
        )
        objective = loglik + family.log_prior(mixtures.params)
        is_valid = np.isfinite(objective) & ~family.is_degenerate(mixtures.params)
    status = np.where(is_valid, Status.NOT_CONVERGED, Status.DEGENERATE)
    return replace(mixtures, statistics=statistics, objective=objective, status=status)


def iterate(
    problem: Problem | BlockwiseProblem,
    mixtures: Mixtures,
    statistics: Array | None = None,
    *,
    in_single: bool = False,
) -> Mixtures:
    """One iteration: an M-step, from their own statistics by default, and then an E-step."""
    given = mixtures.statistics if statistics is None else statistics
    with np.errstate(all="ignore"):  # a singular or extrapolated point may not be a valid mixture
        params = problem.family.m_step(given, mixtures.structure_code, mixtures.params)
    moved = replace(mixtures, params=params, n_iter=mixtures.n_iter + 1)
    return evaluate(problem, moved, in_single=in_single)


def first_iteration(
    problem: Problem, statistics: Array, codes: IntArray, sample: IntArray, slot: IntArray
) -> Mixtures:
    """New mixtures from statistics (b, k, s), such as those of a partition of the objects."""
    with np.errstate(all="ignore"):
        params = problem.family.m_step(statistics, codes, None)
    return evaluate(problem, Mixtures.at(params, codes, sample, slot, n_iter=1))


def em(
    problem: Problem | BlockwiseProblem,
    start: Mixtures,
    limits: Limits,
    *,
    is_accelerated: bool = False,
    in_single: bool = False,
    early_stopping: StoppingRule | None = None,
) -> Mixtures:
    """Run EM until every mixture has converged, broken down, been given up, or met the limit.

    With acceleration, an iteration starts from extrapolated statistics in place of the expected
    ones.  Where the result is degenerate or has a lower likelihood, it is rejected, the memory is
    cleared, and a plain iteration follows; both count as iterations.  So the likelihood never
    falls if the M-step of the family never lowers it.  An extrapolated iteration may gain little
    even far from the maximum, so it converges only if the last accepted gain was small too.
    A mixture that breaks down in a plain iteration keeps its last sound parameters.  A fall of
    the likelihood beyond rounding, which only a wrong M-step can cause, is no convergence.
    """
    is_going = (start.status == Status.NOT_CONVERGED) & (start.n_iter < limits.max_iter)
    running = np.flatnonzero(is_going)  # places of the mixtures under way
    current = start.take(running)
    ended = [(np.flatnonzero(~is_going), start.take(np.flatnonzero(~is_going)))]
    size = int(np.prod(start.statistics.shape[1:]))
    anderson = Anderson(len(start), size) if is_accelerated else None
    # The statistics for the next M-step, whether they are extrapolated, and whether the last
    # accepted gain was small.
    statistics = current.statistics
    is_extrapolated = was_small = np.zeros(len(running), dtype=bool)
    while len(running):
        trial = iterate(problem, current, statistics, in_single=in_single)
        gain = relative_gain(trial.objective, current.objective)
        is_accepted = ~trial.is_degenerate & (~is_extrapolated | (gain >= 0.0))
        is_small = is_accepted & is_small_gain(gain, limits.tol)
        status = np.full(len(running), Status.NOT_CONVERGED)
        status[is_small & (~is_extrapolated | was_small)] = Status.OK
        status[~is_extrapolated & trial.is_degenerate] = Status.DEGENERATE
        has_ended = (status != Status.NOT_CONVERGED) | (trial.n_iter >= limits.max_iter)
        if early_stopping is not None:
            has_ended |= early_stopping(trial, gain)

        rejected = np.flatnonzero(~is_accepted)
        current = trial.put(rejected, current.take(rejected)) if len(rejected) else trial
        current = replace(current, n_iter=trial.n_iter, status=status)
        was_small = np.where(is_accepted, is_small, was_small)

        point, statistics = statistics, current.statistics
        if anderson is not None:
            anderson.forget(running[rejected])
            continuing, statistics = np.flatnonzero(is_accepted & ~has_ended), statistics.copy()
            statistics[continuing] = anderson.extrapolate(
                running[continuing], point[continuing], statistics[continuing]
            )
            # The first value has no difference to extrapolate from, so the next iteration is plain.
            is_extrapolated = anderson.count[running] > 0
        if has_ended.any():  # those that have ended leave the batch
            gone, stay = np.flatnonzero(has_ended), np.flatnonzero(~has_ended)
            ended.append((running[gone], current.take(gone)))
            running, current = running[stay], current.take(stay)
            statistics = statistics.take(stay, 0)
            is_extrapolated, was_small = is_extrapolated[stay], was_small[stay]
    order = np.argsort(np.concatenate([places for places, _ in ended]))
    return Mixtures.concatenate([part for _, part in ended]).take(order)
