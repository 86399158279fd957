from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from credpart.datasets import load_iris, make_mixture3
from credpart.mixture.families.base import ABSENT
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.optimisation import e_step as e_step_module
from credpart.mixture.optimisation.anderson import Anderson
from credpart.mixture.optimisation.convergence import Status, is_small_gain, relative_gain
from credpart.mixture.optimisation.e_step import blocks, e_step, normalise, total_log_certainty
from credpart.mixture.optimisation.maximise import SINGLE_FROM
from credpart.mixture.optimisation.mixtures import Mixtures, take_params
from credpart.mixture.search.initialisation import ward

from .problems import (
    ALL,
    all_structures,
    begin,
    begin_from,
    codes,
    on,
    on_features,
    responsibilities,
    run,
    run_em,
    samples,
)

TIGHT = {"tol": 1e-13, "max_iter": 20_000}


def overlapping(n=150, seed=0):
    sample = make_mixture3(n, seed)
    return sample.X, sample.posteriors.argmax(axis=1)


def start_all(X, labels, c, weights=None):
    """The Gaussian family on data, and mixtures of all structures under way."""
    problem, statistics = all_structures(X, labels, c, weights)
    return problem, begin(problem, statistics, ALL)


def bootstrapped(n=40):
    """Mixtures of all structures, each with a sample of its own."""
    X, labels = overlapping(n)
    problem, start = start_all(X, labels, 3)
    weights = np.random.default_rng(0).integers(0, 3, (len(ALL), n)).astype(float)
    return on_features(problem.family, problem.data.features, weights), start.params


def test_e_step_is_the_literal_sum_over_objects():
    problem, params = bootstrapped()
    features, weights = problem.data
    loglik, expected = e_step(problem, params, ALL)
    joint = problem.family.log_joint(features, params)
    for b in range(len(ALL)):
        log_density = logsumexp(joint[b], axis=0)
        assert loglik[b] == pytest.approx(sum(weights[b] * log_density))
        resp = weights[b] * np.exp(joint[b] - log_density)
        literal = [sum(r * phi for r, phi in zip(row, features, strict=True)) for row in resp]
        np.testing.assert_allclose(expected[b], literal, atol=1e-10)


def test_e_step_in_single_precision_is_close():
    problem, params = bootstrapped()
    double, single = (e_step(problem, params, ALL, in_single=s) for s in (False, True))
    np.testing.assert_allclose(single[0], double[0], rtol=1e-8)
    np.testing.assert_allclose(single[1], double[1], rtol=1e-6, atol=1e-5)
    assert not np.array_equal(single[0], double[0])


@pytest.mark.parametrize("in_single", [False, True])
def test_absent_components_stay_absent(in_single):
    problem, statistics = all_structures(*overlapping(40), 3)
    padded = np.concatenate([statistics, np.zeros_like(statistics[:, :1])], axis=1)
    padded[0, 3] = 0.5 * padded[0, 2]  # one mixture has four components
    params = problem.family.m_step(padded, ALL, None)
    with np.errstate(over="ignore"):
        expected = e_step(problem, params, samples(problem, len(ALL)), in_single=in_single)[1]
    assert expected[0, 3, 0] > 0.0
    assert (np.abs(expected[1:, 3]) < ABSENT).all()  # to which the M-step gives no share


def test_e_step_reads_the_sample_of_each_mixture():
    problem, params = bootstrapped()
    family, (features, weights) = problem.family, problem.data
    some, sample = take_params(params, [3, 5, 7]), np.array([8, 0, 8])
    wanted = e_step(on_features(family, features, weights[sample]), some, np.arange(3))
    shared = e_step(problem, some, sample)
    own = e_step(on_features(family, np.stack([features] * len(ALL)), weights), some, sample)
    for found, single, literal in zip(shared, own, wanted, strict=True):
        np.testing.assert_array_equal(found, literal)
        np.testing.assert_allclose(single, literal, rtol=1e-9, atol=1e-9)


def test_e_step_of_no_mixture_is_empty():
    problem, params = bootstrapped()
    loglik, statistics = e_step(problem, take_params(params, slice(0)), ALL[:0])
    assert loglik.shape == (0,)
    assert len(statistics) == 0


def test_large_batches_end_where_small_ones_do():
    # large batches start in single precision
    problem, start = start_all(*overlapping(1800), 3)
    assert 3 * 1800 < SINGLE_FROM < len(ALL) * 3 * 1800
    together = run(problem, start)
    for code in ALL:
        apart = run(problem, start.take(np.array([code])))
        np.testing.assert_allclose(together.objective[code], apart.objective[0], rtol=1e-7)


def test_large_batches_end_in_double_precision():
    problem, start = start_all(*overlapping(1800), 3)
    found = run(problem, start)
    loglik, _ = e_step(problem, found.params, found.sample)
    np.testing.assert_allclose(found.objective, loglik, rtol=1e-13)


def test_a_mixture_without_any_component_is_degenerate():
    problem, statistics = all_structures(*overlapping(40), 3)
    start = begin(problem, 0.0 * statistics, ALL)
    assert (start.status == Status.DEGENERATE).all()
    assert (run(problem, start).status == Status.DEGENERATE).all()


def test_log_certainty_is_the_literal_sum_over_objects():
    problem, params = bootstrapped()
    features, weights = problem.data
    joint = problem.family.log_joint(features, params)
    largest = joint.max(axis=1) - logsumexp(joint, axis=1)
    actual = total_log_certainty(problem, params, ALL)
    np.testing.assert_allclose(actual, (weights * largest).sum(axis=1))


def test_normalise_returns_densities_and_leaves_posteriors():
    joint = np.random.default_rng(0).normal(0, 400, (2, 3, 50))  # exp would overflow
    posteriors = joint.copy()
    np.testing.assert_allclose(normalise(posteriors), logsumexp(joint, axis=1))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)


@settings(deadline=None, max_examples=20)
@given(b=st.integers(0, 40), k=st.integers(1, 9), n=st.integers(1, 5000))
def test_blocks_cover_everything_once(b, k, n):
    seen = np.zeros((b, n), dtype=int)
    for some, rows in blocks(b, k, n):
        seen[some, rows] += 1
    assert (seen == 1).all()


def test_size_of_blocks_changes_nothing(monkeypatch):
    problem, start = start_all(*overlapping(300), 3)
    whole = run(problem, start)
    monkeypatch.setattr(e_step_module, "BLOCK", 100)
    monkeypatch.setattr(e_step_module, "ROWS", 7)
    small = run(problem, start)
    np.testing.assert_allclose(small.objective, whole.objective, rtol=1e-8)


@dataclass
class Recording:
    """A family that notes the objective at the parameters that EM holds, by structure."""

    inner: Gaussian
    paths: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    problem: Any = None

    def m_step(self, statistics: Any, structure: Any, previous: Any) -> Any:
        if previous is not None:
            values = e_step(self.problem, previous, 0 * structure)[0]
            for code, value in zip(structure, values + self.log_prior(previous), strict=True):
                self.paths[code].append(value)
        return self.inner.m_step(statistics, structure, previous)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def recorded(problem, statistics, **limits):
    """Accelerated EM, and the values (structure -> path) that it went through."""
    recording = Recording(problem.family, problem=problem)
    watched = problem._replace(family=recording)
    start = begin(watched, statistics, ALL)
    result = run_em(watched, start, is_accelerated=True, **limits)
    return {code: [*path, result.objective[code]] for code, path in recording.paths.items()}


@pytest.mark.parametrize("has_prior", [False, True])
@settings(deadline=None, max_examples=2)
@example(seed=4520)  # with the prior, a component loses all its observations
@given(seed=st.integers(0, 2**32 - 1))
def test_likelihood_never_falls(has_prior, seed):
    rng = np.random.default_rng(seed)
    X, _ = overlapping(60, seed)
    problem, statistics = all_structures(X, rng.integers(3, size=60), 3)
    if has_prior:
        problem = problem._replace(family=problem.family.regularised(statistics[0]))
    for path in recorded(problem, statistics, tol=1e-12, max_iter=200).values():
        assert (np.diff(path) >= -1e-12 * np.abs(path[1:])).all()


def test_likelihood_never_falls_on_iris():
    X = load_iris().X.to_numpy()
    problem, statistics = all_structures(X, np.repeat([0, 1, 2], 50), 3)
    paths = recorded(problem, statistics, tol=1e-12)
    assert len(paths) == 14
    for path in paths.values():
        assert (np.diff(path) >= -1e-12 * np.abs(path[1:])).all()
        assert path[-1] > path[0]


def test_replicates_together_are_replicates_apart():
    X, labels = overlapping()
    weights = np.random.default_rng(1).multinomial(150, np.full(150, 1 / 150), len(ALL)) + 0.0
    problem = on(all_structures(X, labels, 3)[0].family, X, weights)
    start = begin_from(problem, responsibilities(labels, 3), ALL)
    together = run(problem, start, tol=1e-12)
    for b in range(len(ALL)):
        apart = run(problem, start.take(np.array([b])), tol=1e-12)
        assert apart.objective[0] == pytest.approx(together.objective[b], rel=1e-10)
        assert apart.status[0] == together.status[b]
        # flat directions of the likelihood: half of its digits
        np.testing.assert_allclose(apart.params.means[0], together.params.means[b], atol=1e-4)


@pytest.mark.parametrize("gap", [3.0, 3e6])  # 3e6: both clusters drown in the total covariance
def test_padded_mixtures_end_as_without_padding(gap):
    labels = np.repeat([0, 1], 40)
    X = np.random.default_rng(0).standard_normal((80, 2)) + gap * labels[:, None]
    problem, statistics = all_structures(X, labels, 2)
    padded = np.concatenate([statistics, np.zeros_like(statistics[:, :1])], axis=1)
    alone, beside = (run(problem, begin(problem, T, ALL)) for T in (statistics, padded))
    np.testing.assert_array_equal(beside.status, alone.status)
    np.testing.assert_allclose(beside.objective, alone.objective, rtol=1e-7)
    assert (alone.status == (Status.OK if gap < 1e6 else Status.DEGENERATE)).all()


@pytest.mark.parametrize("is_accelerated", [False, True])
def test_em_leaves_its_arguments_alone(is_accelerated):
    problem, start = start_all(*overlapping(60), 3)
    for array in (*problem.data, start.statistics, start.objective, *start.params):
        array.flags.writeable = False
    result = run_em(problem, start, is_accelerated=is_accelerated, max_iter=4)
    assert (result.status == Status.NOT_CONVERGED).all()
    assert (result.n_iter == 4).all()
    result.statistics[:] = 0.0
    assert start.statistics.any()


def test_data_of_its_own_is_what_shared_data_is():
    problem, start = start_all(*overlapping(), 3)
    family, (features, weights) = problem.family, problem.data
    every = np.repeat(features[None], len(ALL), axis=0)
    own = on_features(family, every, np.repeat(weights, len(ALL), axis=0))
    shared = run(problem, start, tol=1e-12)
    found = run(own, replace(start, sample=ALL), tol=1e-12)
    np.testing.assert_allclose(found.objective, shared.objective, rtol=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_weights_are_repeated_rows(seed):
    X, labels = overlapping(seed=seed)
    counts = np.random.default_rng(seed).integers(0, 4, len(X))
    problem, start = start_all(X, labels, 3, counts.astype(float))
    weighted = run(problem, start, tol=1e-12)
    family = problem.family
    repeated = on_features(family, np.repeat(problem.data.features, counts, axis=0))
    resp = responsibilities(np.repeat(labels, counts), 3)
    statistics = np.repeat(family.statistics(repeated.data.features, resp), len(ALL), axis=0)
    longer = run(repeated, begin(repeated, statistics, ALL), tol=1e-12)
    np.testing.assert_allclose(longer.objective, weighted.objective, rtol=1e-10)
    np.testing.assert_allclose(longer.params.means, weighted.params.means, atol=1e-4)


@pytest.mark.parametrize("seed", [1])
def test_acceleration_ends_where_plain_em_ends(seed):
    problem, start = start_all(*overlapping(200, seed), 3)
    plain, fast = run_em(problem, start, **TIGHT), run(problem, start, **TIGHT)
    assert (plain.status == Status.OK).all()
    assert (fast.status == Status.OK).all()
    np.testing.assert_allclose(fast.objective, plain.objective, rtol=1e-9)
    np.testing.assert_allclose(fast.params.means, plain.params.means, atol=1e-3)
    assert fast.n_iter.sum() < 0.5 * plain.n_iter.sum()


def test_result_belongs_together():
    # The log-likelihood and the statistics are those of the parameters.
    problem, start = start_all(*overlapping(), 3)
    for limit in (1, 5, 30, 2000):
        result = run(problem, start, max_iter=limit)
        loglik, statistics = e_step(problem, result.params, result.sample)
        np.testing.assert_allclose(result.objective, loglik, rtol=1e-12)
        np.testing.assert_allclose(result.statistics, statistics, rtol=1e-9, atol=1e-9)


def test_result_is_a_fixed_point():
    problem, start = start_all(*overlapping(), 3)
    result = run(problem, start, **TIGHT)
    again = problem.family.m_step(result.statistics, ALL, result.params)
    np.testing.assert_allclose(again.means, result.params.means, atol=1e-5)
    np.testing.assert_allclose(again.covariances, result.params.covariances, atol=1e-5)


def test_statuses():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 2)), np.full((2, 2), 30.0)])
    problem, statistics = all_structures(X, np.repeat([0, 1], [40, 2]), 2)
    result = run(problem, begin(problem, statistics[:2], codes("EEE", "VVV")))
    assert result.status.tolist() == [Status.OK, Status.DEGENERATE]
    # the second cluster has no covariance: nothing is known of the mixture but its partition
    assert result.n_iter[1] == 1
    slow = run(*start_all(*overlapping(), 3), max_iter=2)
    assert (slow.status == Status.NOT_CONVERGED).all()
    assert (slow.n_iter == 2).all()
    assert Status.NOT_CONVERGED.label == "not converged"


def test_degenerate_mixture_keeps_its_last_sound_parameters():
    X = np.random.default_rng(28).standard_normal((40, 1))
    problem = on(Gaussian.of(X, ["V"]), X)
    result = run(problem, begin_from(problem, responsibilities(ward(X, [5])[5], 5), codes("V")))
    assert result.status[0] == Status.DEGENERATE
    assert result.n_iter[0] > 1
    loglik, _ = e_step(problem, result.params, result.sample)
    assert loglik[0] == pytest.approx(result.objective[0])


@dataclass
class Counting:
    """A family that notes how many mixtures each M-step is asked for."""

    inner: Gaussian
    seen: list[int] = field(default_factory=list)

    def m_step(self, statistics: Any, structure: Any, previous: Any) -> Any:
        self.seen.append(len(statistics))
        return self.inner.m_step(statistics, structure, previous)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize("is_accelerated", [False, True])
def test_converged_mixtures_leave_the_batch(is_accelerated):
    problem, statistics = all_structures(*overlapping(), 3)
    counting = Counting(problem.family)
    problem = problem._replace(family=counting)
    result = run_em(problem, begin(problem, statistics, ALL), is_accelerated=is_accelerated)
    expected = [int((result.n_iter >= i).sum()) for i in range(1, result.n_iter.max() + 1)]
    assert counting.seen == expected
    assert counting.seen[-1] < counting.seen[0]


def test_mixtures_that_are_given_up_stay_where_they_are():
    problem, start = start_all(*overlapping(), 3)
    met = []

    def stop_early(trial, gain):
        met.append(len(trial))
        return (trial.structure_code % 2 == 0) & (trial.n_iter == 3)

    found = run_em(problem, start, early_stopping=stop_early)
    without, short = run_em(problem, start), run_em(problem, start, max_iter=3)
    assert met[:3] == [14, 14, 7]
    assert (found.status[::2] == Status.NOT_CONVERGED).all()
    np.testing.assert_array_equal(found.objective[::2], short.objective[::2])
    np.testing.assert_allclose(found.objective[1::2], without.objective[1::2], rtol=1e-12)


def test_loose_tolerance_stops_early_and_below():
    problem, start = start_all(*overlapping(), 3)
    loose, tight = run(problem, start, tol=1e-5), run(problem, start)
    assert (loose.n_iter <= tight.n_iter).all()
    assert (loose.objective <= tight.objective + 1e-9).all()
    # mclust's rule leaves something open, the default little
    assert (tight.objective - loose.objective).max() > 1e-4
    plain = run_em(problem, start, tol=1e-5)
    np.testing.assert_array_equal(loose.objective, plain.objective)


def test_parts_of_a_batch_make_up_the_batch():
    _, start = start_all(*overlapping(), 3)
    rows, others = np.array([5, 0, 9]), np.array([1, 2, 3])
    some = start.take(rows)
    assert type(some.params) is type(start.params)
    np.testing.assert_array_equal(some.params.means, start.params.means[rows])
    np.testing.assert_array_equal(some.structure_code, rows)
    both = Mixtures.concatenate([some, start.take(others)])
    np.testing.assert_array_equal(both.objective, start.objective[np.r_[rows, others]])
    changed = start.put(others, some)
    np.testing.assert_array_equal(changed.params.means[others], some.params.means)
    np.testing.assert_array_equal(changed.slot[others], rows)
    assert start.slot[1] == 1  # the batch itself is a value


@pytest.mark.parametrize("growth", [1.0001, 1.1])
def test_acceleration_leads_away_from_a_saddle(growth):
    # a linear map that leaves its fixed point slowly in one direction, and nears it in the other
    rates = np.array([growth, 0.5])
    anderson, rows = Anderson(1, 2, memory=3), np.array([0])
    point = np.array([[1.0, 1.0]])
    for _ in range(12):
        point = anderson.extrapolate(rows, point, point * rates)
    assert point[0, 0] > 100.0
    assert abs(point[0, 1]) < 1.0


def test_acceleration_finds_a_fixed_point_of_a_linear_map():
    anderson, rows = Anderson(1, 2, memory=3), np.array([0])
    point = np.array([[1.0, 1.0]])
    for _ in range(6):
        point = anderson.extrapolate(rows, point, point * [0.999, 0.5])
    np.testing.assert_allclose(point, 0.0, atol=1e-6)


def test_an_iteration_before_the_first_extrapolation_converges_as_plain_ones_do():
    problem, statistics = all_structures(*overlapping(), 3)
    start = begin(problem, statistics, ALL).take(codes("VVV"))
    first, second = (run_em(problem, start, tol=0.0, max_iter=1 + i) for i in (1, 2))
    gains = [
        relative_gain(b.objective, a.objective)[0] for a, b in ((start, first), (first, second))
    ]
    assert gains[1] < gains[0]
    tol = float(np.mean(gains))
    plain, fast = (run_em(problem, start, tol=tol, is_accelerated=is_fast) for is_fast in (0, 1))
    np.testing.assert_array_equal(fast.n_iter, plain.n_iter)
    assert fast.n_iter[0] == start.n_iter[0] + 2


def test_a_fall_of_the_likelihood_is_convergence_only_if_it_is_rounding():
    gains = np.array([1e-3, 1e-10, 0.0, -1e-10, -1e-7, -1e-3])
    expected = [False, True, True, True, True, False]
    assert is_small_gain(gains, 1e-9).tolist() == expected
    assert is_small_gain(gains, 1e-2).tolist() == [True] * 6  # 1e-3 is below the tolerance
