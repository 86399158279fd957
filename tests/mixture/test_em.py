from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from credpart.datasets import load_iris, make_mixture3
from credpart.mixture.covariance.structures import NAMES, STRUCTURES
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.standardisation import ABSENT
from credpart.mixture.optimisation import em as em_module
from credpart.mixture.optimisation.anderson import Acceleration
from credpart.mixture.optimisation.em import (
    Status,
    blocks,
    e_step,
    em,
    log_certainty,
    normalise,
    take,
)
from credpart.mixture.search.initialisation import ward

ALL = np.arange(len(STRUCTURES))  # a replicate for each of the 14 structures
TIGHT = {"tol": 1e-13, "max_iter": 20_000}


def problem(X, labels, c, weights=None):
    """Family, features, weights and the statistics of a hard partition."""
    family = Gaussian.of(X, list(STRUCTURES))
    features = family.features(X)
    weights = np.ones(len(X)) if weights is None else weights
    resp = (labels == np.arange(c)[:, None]) * weights
    return family, features, weights[None], family.statistics(features, resp[None])


def overlapping(n=150, seed=0):
    sample = make_mixture3(n, seed)
    return sample.X, sample.posteriors.argmax(axis=1)


def start_all(X, labels, c, weights=None):
    """One replicate for each structure, all from the same partition."""
    family, features, weights, statistics = problem(X, labels, c, weights)
    return family, features, weights, np.repeat(statistics, len(ALL), axis=0), ALL


def test_e_step_is_the_literal_sum_over_objects():
    X, labels = overlapping(40)
    family, features, weights, statistics, variant = start_all(X, labels, 3)
    weights = np.random.default_rng(0).integers(0, 3, (len(ALL), len(X))).astype(float)
    params = family.m_step(statistics, variant, None)
    loglik, expected = e_step(family, features, weights, params)
    joint = family.log_joint(features, params)
    for b in range(len(ALL)):
        log_density = logsumexp(joint[b], axis=0)
        assert loglik[b] == pytest.approx(sum(weights[b] * log_density))
        resp = weights[b] * np.exp(joint[b] - log_density)
        literal = [sum(r * phi for r, phi in zip(row, features, strict=True)) for row in resp]
        np.testing.assert_allclose(expected[b], literal, atol=1e-10)


def test_coarse_e_step_is_close():
    X, labels = overlapping(40)
    family, features, _, statistics, variant = start_all(X, labels, 3)
    weights = np.random.default_rng(0).integers(0, 3, (len(ALL), len(X))).astype(float)
    params = family.m_step(statistics, variant, None)
    fine, coarse = (
        e_step(family, features, weights, params, is_coarse=is_coarse)
        for is_coarse in (False, True)
    )
    np.testing.assert_allclose(coarse[0], fine[0], rtol=1e-8)
    np.testing.assert_allclose(coarse[1], fine[1], rtol=1e-6, atol=1e-5)
    assert not np.array_equal(coarse[0], fine[0])  # it was in single precision


@pytest.mark.parametrize("is_coarse", [False, True])
def test_absent_components_stay_absent(is_coarse):
    X, labels = overlapping(40)
    family, features, weights, statistics, variant = start_all(X, labels, 3)
    padded = np.concatenate([statistics, np.zeros_like(statistics[:, :1])], axis=1)
    padded[0, 3] = 0.5 * padded[0, 2]  # one replicate has four components
    params = family.m_step(padded, variant, None)
    with np.errstate(over="ignore"):
        expected = e_step(
            family, features, np.repeat(weights, len(ALL), axis=0), params, is_coarse=is_coarse
        )[1]
    assert expected[0, 3, 0] > 0.0
    assert (np.abs(expected[1:, 3]) < ABSENT).all()  # to which the M-step gives no share


def test_e_step_reads_the_weights_of_its_members():
    X, labels = overlapping(40)
    family, features, _, statistics, variant = start_all(X, labels, 3)
    params = take(family.m_step(statistics, variant, None), [3, 5, 7])
    weights = np.random.default_rng(0).integers(0, 3, (9, len(X))).astype(float)
    members = np.array([8, 0, 8])
    some = e_step(family, features, weights, params, members)
    own = e_step(family, np.stack([features] * 9), weights, params, members)
    for found, single, wanted in zip(
        some, own, e_step(family, features, weights[members], params), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(single, wanted, rtol=1e-9, atol=1e-9)


def test_large_batches_end_where_small_ones_do():
    # beyond a cacheful, the first steps are coarse
    X, labels = overlapping(1800)
    family, features, weights, statistics, variant = start_all(X, labels, 3)
    assert len(ALL) * 3 * len(X) > em_module.BLOCK
    together = em(family, features, weights, statistics, variant)
    for code in ALL:
        apart = em(family, features, weights, statistics[[code]], variant[[code]])
        np.testing.assert_allclose(together.loglik[code], apart.loglik[0], rtol=1e-7)


@pytest.mark.parametrize(
    ("n", "options", "wanted"),
    [
        (150, {"tol": 1e-5}, False),  # too few values
        (400, {"tol": 1e-5}, True),
        (400, {"tol": 1e-9}, False),  # too few if steps are accelerated
        (400, {"tol": 1e-5, "is_exact": True}, False),
        (1800, {"tol": 1e-9}, True),
        (1800, {"tol": 1e-9, "is_exact": True}, False),
    ],
)
def test_steps_are_coarse_where_it_saves_time_and_does_no_harm(monkeypatch, n, options, wanted):
    coarse = []

    def record(*given, is_coarse=False):
        coarse.append(is_coarse)
        return e_step(*given, is_coarse=is_coarse)

    monkeypatch.setattr(em_module, "e_step", record)
    em(*start_all(*overlapping(n), 3), **options)
    assert any(coarse) == wanted
    assert wanted or len(coarse) > 5


def test_a_replicate_without_any_component_is_degenerate():
    X, labels = overlapping(40)
    family, features, weights, statistics = problem(X, labels, 3)
    assert em(family, features, weights, 0.0 * statistics, ALL[-1:]).status == Status.DEGENERATE


def test_log_certainty_is_the_literal_sum_over_objects():
    X, labels = overlapping(40)
    family, features, _, statistics, variant = start_all(X, labels, 3)
    weights = np.random.default_rng(0).integers(0, 3, (len(ALL), len(X))).astype(float)
    params = family.m_step(statistics, variant, None)
    joint = family.log_joint(features, params)
    largest = joint.max(axis=1) - logsumexp(joint, axis=1)
    actual = log_certainty(family, features, weights, params)
    np.testing.assert_allclose(actual, (weights * largest).sum(axis=1))


def test_normalise_returns_densities_and_leaves_posteriors():
    joint = np.random.default_rng(0).normal(0, 400, (2, 3, 50))  # exp would overflow
    posteriors = joint.copy()
    np.testing.assert_allclose(normalise(posteriors), logsumexp(joint, axis=1))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)


@settings(deadline=None, max_examples=20)
@given(b=st.integers(1, 40), k=st.integers(1, 9), n=st.integers(1, 5000))
def test_blocks_cover_everything_once(b, k, n):
    seen = np.zeros((b, n), dtype=int)
    for some, rows in blocks(b, k, n):
        seen[some, rows] += 1
    assert (seen == 1).all()


def test_size_of_blocks_changes_nothing(monkeypatch):
    X, labels = overlapping(300)
    problem = start_all(X, labels, 3)
    whole = em(*problem)
    monkeypatch.setattr(em_module, "BLOCK", 100)
    monkeypatch.setattr(em_module, "ROWS", 7)
    small = em(*problem)
    np.testing.assert_allclose(small.loglik, whole.loglik, rtol=1e-8)


@dataclass
class Recording:
    """A family that notes the log-likelihoods of the parameters that `em` holds, by variant."""

    inner: Gaussian
    data: tuple[Any, Any]
    paths: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def m_step(self, statistics: Any, variant: Any, previous: Any) -> Any:
        if previous is not None:
            features, weights = self.data
            every = np.repeat(weights, len(variant), axis=0)
            values = e_step(self.inner, features, every, previous)[0]
            for code, value in zip(variant, values + self.log_prior(previous), strict=True):
                self.paths[code].append(value)
        return self.inner.m_step(statistics, variant, previous)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize("pooled", [False, True])
@settings(deadline=None, max_examples=2)
@example(seed=4520)  # with pooling, a component loses all its observations
@given(seed=st.integers(0, 2**32 - 1))
def test_likelihood_never_falls(pooled, seed):
    rng = np.random.default_rng(seed)
    X, _ = overlapping(60, seed)
    family, features, weights, statistics, variant = start_all(X, rng.integers(3, size=60), 3)
    family = family.pooled(statistics[0]) if pooled else family
    recording = Recording(family, (features, weights))
    result = em(recording, features, weights, statistics, variant, tol=1e-12, max_iter=200)
    for code, path in recording.paths.items():
        path = np.array([*path, result.loglik[code]])
        assert (np.diff(path) >= -1e-12 * np.abs(path[1:])).all()


def test_likelihood_never_falls_on_iris():
    X = load_iris().X.to_numpy()
    family, features, weights, *rest = start_all(X, np.repeat([0, 1, 2], 50), 3)
    recording = Recording(family, (features, weights))
    em(recording, features, weights, *rest, tol=1e-12)
    assert len(recording.paths) == 14
    for path in recording.paths.values():
        assert (np.diff(path) >= -1e-12 * np.abs(path[1:])).all()
        assert path[-1] > path[0]


def test_replicates_together_are_replicates_apart():
    X, labels = overlapping()
    family, features, _, statistics = problem(X, labels, 3)
    weights = np.random.default_rng(1).multinomial(150, np.full(150, 1 / 150), len(ALL)) + 0.0
    resp = (labels == np.arange(3)[:, None]) * weights[:, None]
    statistics = family.statistics(features, resp)
    together = em(family, features, weights, statistics, ALL, tol=1e-12)
    for b in range(len(ALL)):
        one = slice(b, b + 1)
        apart = em(family, features, weights[one], statistics[one], ALL[one], tol=1e-12)
        assert apart.loglik[0] == pytest.approx(together.loglik[b], rel=1e-10)
        assert apart.status[0] == together.status[b]
        # flat directions of the likelihood: half of its digits
        np.testing.assert_allclose(apart.params.means[0], together.params.means[b], atol=1e-4)


@pytest.mark.parametrize("gap", [3.0, 3e6])  # 3e6: both clusters drown in the total covariance
def test_padded_replicates_end_as_without_padding(gap):
    labels = np.repeat([0, 1], 40)
    X = np.random.default_rng(0).standard_normal((80, 2)) + gap * labels[:, None]
    family, features, weights, statistics, variant = start_all(X, labels, 2)
    padded = np.concatenate([statistics, np.zeros_like(statistics[:, :1])], axis=1)
    alone, beside = (em(family, features, weights, T, variant) for T in (statistics, padded))
    np.testing.assert_array_equal(beside.status, alone.status)
    np.testing.assert_allclose(beside.loglik, alone.loglik, rtol=1e-7)
    assert (alone.status == (Status.OK if gap < 1e6 else Status.DEGENERATE)).all()


def test_em_leaves_its_arguments_alone():
    X, labels = overlapping(60)
    family, features, weights, statistics, variant = start_all(X, labels, 3)
    previous = family.m_step(statistics, variant, None)
    for array in (features, weights, statistics, *previous):
        array.flags.writeable = False
    result = em(family, features, weights, statistics, variant, previous, max_iter=1)
    assert (result.status == Status.NOT_CONVERGED).all()
    assert (result.n_iter == 1).all()
    result.statistics[:] = 0.0
    assert statistics.any()


def test_data_of_its_own_is_what_shared_data_is():
    X, labels = overlapping()
    family, features, weights, statistics, variant = start_all(X, labels, 3)
    own = np.repeat(features[None], len(ALL), axis=0)
    shared = em(family, features, weights, statistics, variant, tol=1e-12)
    np.testing.assert_allclose(
        em(family, own, weights, statistics, variant, tol=1e-12).loglik, shared.loglik, rtol=1e-10
    )


@pytest.mark.parametrize("seed", range(2))
def test_weights_are_repeated_rows(seed):
    X, labels = overlapping(seed=seed)
    counts = np.random.default_rng(seed).integers(0, 4, len(X))
    weighted = em(*start_all(X, labels, 3, counts.astype(float)), tol=1e-12)
    family, features, _, statistics, variant = start_all(X, labels, 3)
    resp = (np.repeat(labels, counts) == np.arange(3)[:, None])[None] + 0.0
    repeated = np.repeat(features, counts, axis=0)
    statistics = np.repeat(family.statistics(repeated, resp), len(ALL), axis=0)
    ones = np.ones((1, len(repeated)))
    longer = em(family, repeated, ones, statistics, variant, tol=1e-12)
    np.testing.assert_allclose(longer.loglik, weighted.loglik, rtol=1e-10)
    np.testing.assert_allclose(longer.params.means, weighted.params.means, atol=1e-4)


@pytest.mark.parametrize("seed", [1])
def test_acceleration_ends_where_plain_em_ends(seed):
    X, labels = overlapping(200, seed)
    problem = start_all(X, labels, 3)
    plain, fast = em(*problem, **TIGHT, memory=0), em(*problem, **TIGHT)
    assert (plain.status == Status.OK).all()
    assert (fast.status == Status.OK).all()
    np.testing.assert_allclose(fast.loglik, plain.loglik, rtol=1e-9)
    np.testing.assert_allclose(fast.params.means, plain.params.means, atol=1e-3)
    assert fast.n_iter.sum() < 0.5 * plain.n_iter.sum()


def test_result_belongs_together():
    # The log-likelihood and the statistics are those of the parameters.
    X, labels = overlapping()
    family, features, weights, *rest = start_all(X, labels, 3)
    for limit in (1, 5, 30, 2000):
        result = em(family, features, weights, *rest, max_iter=limit)
        ones = np.ones((len(ALL), len(X)))
        loglik, statistics = e_step(family, features, ones, result.params)
        np.testing.assert_allclose(result.loglik, loglik, rtol=1e-12)
        np.testing.assert_allclose(result.statistics, statistics, rtol=1e-9, atol=1e-9)


def test_result_is_a_fixed_point():
    X, labels = overlapping()
    family, features, weights, statistics, variant = start_all(X, labels, 3)
    result = em(family, features, weights, statistics, variant, **TIGHT)
    again = family.m_step(result.statistics, variant, result.params)
    np.testing.assert_allclose(again.means, result.params.means, atol=1e-5)
    np.testing.assert_allclose(again.covariances, result.params.covariances, atol=1e-5)


def test_statuses():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 2)), np.full((2, 2), 30.0)])
    labels = np.repeat([0, 1], [40, 2])
    family, features, weights, statistics = problem(X, labels, 2)
    variant = np.array([NAMES.index(name) for name in ("EEE", "VVV")])
    both = np.repeat(statistics, 2, axis=0)
    assert em(family, features, weights, both, variant).status.tolist() == [
        Status.OK,
        Status.DEGENERATE,
    ]
    # the second cluster has no covariance: nothing is known of the mixture but its partition
    assert em(family, features, weights, both, variant).n_iter[1] == 1
    X, labels = overlapping()
    slow = em(*start_all(X, labels, 3), max_iter=2)
    assert (slow.status == Status.NOT_CONVERGED).all()
    assert (slow.n_iter == 2).all()
    assert Status.NOT_CONVERGED.label == "not converged"


def test_degenerate_replicate_keeps_its_last_sound_parameters():
    X = np.random.default_rng(28).standard_normal((40, 1))
    family = Gaussian.of(X, ["V"])
    features, weights = family.features(X), np.ones((1, len(X)))
    resp = (ward(X, [5])[5] == np.arange(5)[:, None])[None] + 0.0
    statistics = family.statistics(features, resp)
    result = em(family, features, weights, statistics, np.array([NAMES.index("V")]))
    assert result.status[0] == Status.DEGENERATE
    assert result.n_iter[0] > 1
    loglik, _ = e_step(family, features, weights, result.params)
    assert loglik[0] == pytest.approx(result.loglik[0])


@dataclass
class Counting:
    """A family that notes how many replicates each M-step is asked for."""

    inner: Gaussian
    seen: list[int] = field(default_factory=list)

    def m_step(self, statistics: Any, variant: Any, previous: Any) -> Any:
        self.seen.append(len(statistics))
        return self.inner.m_step(statistics, variant, previous)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_converged_replicates_leave_the_batch():
    X, labels = overlapping()
    family, *rest = start_all(X, labels, 3)
    counting = Counting(family)
    result = em(counting, *rest)
    expected = [int((result.n_iter >= i).sum()) for i in range(1, result.n_iter.max() + 1)]
    assert counting.seen == expected
    assert counting.seen[-1] < counting.seen[0]


def test_loose_tolerance_stops_early_and_below():
    X, labels = overlapping()
    problem = start_all(X, labels, 3)
    loose, tight = em(*problem, tol=1e-5), em(*problem)
    assert (loose.n_iter <= tight.n_iter).all()
    assert (loose.loglik <= tight.loglik + 1e-9).all()
    # mclust's rule leaves something open, the default little
    assert (tight.loglik - loose.loglik).max() > 1e-4
    plain = em(*problem, tol=1e-5, memory=0)
    np.testing.assert_array_equal(loose.loglik, plain.loglik)


def test_take_keeps_the_type():
    X, labels = overlapping()
    family, _, _, statistics, variant = start_all(X, labels, 3)
    params = family.m_step(statistics, variant, None)
    some = take(params, [2, 0])
    assert type(some) is type(params)
    np.testing.assert_array_equal(some.means, params.means[[2, 0]])


@pytest.mark.parametrize("growth", [1.0001, 1.1])
def test_acceleration_leads_away_from_a_saddle(growth):
    # a linear map that leaves its fixed point slowly in one direction, and nears it in the other
    rates = np.array([growth, 0.5])
    faster, rows = Acceleration(3, 1, 2), np.array([0])
    point = np.array([[1.0, 1.0]])
    for _ in range(12):
        point = faster.next(rows, point, point * rates)
    assert point[0, 0] > 100.0
    assert abs(point[0, 1]) < 1.0


def test_acceleration_finds_a_fixed_point_of_a_linear_map():
    faster, rows = Acceleration(3, 1, 2), np.array([0])
    point = np.array([[1.0, 1.0]])
    for _ in range(6):
        point = faster.next(rows, point, point * [0.999, 0.5])
    np.testing.assert_allclose(point, 0.0, atol=1e-6)
