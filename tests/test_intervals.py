import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform
from scipy.stats import norm

from credpart import intervals as module
from credpart.intervals import (
    PairwiseIntervals,
    cross_intervals,
    pairwise_intervals,
    pairwise_probabilities,
)

SINGLE = 2e-7  # what single precision may do to a probability, and so to its quantiles


def draw(B, n, c, seed=0, concentration=0.5):
    return np.random.default_rng(seed).dirichlet(np.full(c, concentration), size=(B, n))


def literal_bounds(left, right, level):
    # Algorithm 1 word for word, with the n x n x B array that the library never forms.
    P = np.einsum("bik,bjk->ijb", left, right)
    alpha = 1.0 - level
    return np.quantile(P, [alpha / 2.0, 1.0 - alpha / 2.0], axis=2, method="linear")


def condensed(square):
    return square[np.triu_indices(len(square), 1)]


def as_bytes(intervals):
    return intervals.lower.tobytes() + intervals.upper.tobytes()


@settings(deadline=None, max_examples=60)
@given(
    B=st.integers(20, 60),
    n=st.integers(1, 21),  # three slabs, the last one ragged
    c=st.integers(1, 5),
    level=st.floats(0.02, 0.9),
    seed=st.integers(0, 2**32 - 1),
)
def test_bounds_are_the_quantiles_of_the_literal_array(B, n, c, level, seed):
    posteriors = draw(B, n, c, seed)
    intervals = pairwise_intervals(posteriors, level)
    lower, upper = literal_bounds(posteriors, posteriors, level)
    np.testing.assert_allclose(intervals.lower, condensed(lower), rtol=0, atol=SINGLE)
    np.testing.assert_allclose(intervals.upper, condensed(upper), rtol=0, atol=SINGLE)
    assert intervals.n_objects == n


@pytest.mark.parametrize("B", [1000, 999, 37])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.94])
def test_bounds_with_several_tiles_a_slab(B, level, monkeypatch):
    monkeypatch.setattr(module, "TILE_VALUES", 3 * module.TILE_ROWS * B)
    posteriors = draw(B, 20, 3)
    intervals = pairwise_intervals(posteriors, level)
    lower, upper = literal_bounds(posteriors, posteriors, level)
    np.testing.assert_allclose(intervals.lower, condensed(lower), rtol=0, atol=SINGLE)
    np.testing.assert_allclose(intervals.upper, condensed(upper), rtol=0, atol=SINGLE)


def test_bounds_are_type_7_quantiles_of_r():
    # R 4.2.2: quantile(values, c(.05, .95), type = 7)
    values = [0.02, 0.1, 0.11, 0.3, 0.32, 0.5, 0.51, 0.52, 0.7, 0.9]
    values += [0.03, 0.12, 0.31, 0.33, 0.53, 0.71, 0.72, 0.8, 0.85, 0.95]
    first = np.column_stack([values, 1.0 - np.array(values)])
    second = np.tile([1.0, 0.0], (20, 1))
    intervals = pairwise_intervals(np.stack([first, second], axis=1), 0.9)
    np.testing.assert_allclose(intervals.lower, [0.0295], rtol=0, atol=SINGLE)
    np.testing.assert_allclose(intervals.upper, [0.9025], rtol=0, atol=SINGLE)


@pytest.mark.parametrize("agreement", [0.0, 0.3, 0.97, 1.0])
def test_ties_take_another_way_to_the_same_bounds(agreement):
    # Hard assignments: P_ij is 0 or 1, and most rows are full of ties.
    rng = np.random.default_rng(1)
    agreed, drawn = np.arange(12) % 4, rng.integers(4, size=(400, 12))
    labels = np.where(rng.random((400, 12)) < agreement, agreed, drawn)
    posteriors = np.eye(4)[labels]
    intervals = pairwise_intervals(posteriors, 0.9)
    lower, upper = literal_bounds(posteriors, posteriors, 0.9)
    # Neighbours 1 apart multiply the rounding of (B - 1)(1 - alpha / 2) in np.quantile.
    np.testing.assert_allclose(intervals.lower, condensed(lower), rtol=0, atol=1e-12)
    np.testing.assert_allclose(intervals.upper, condensed(upper), rtol=0, atol=1e-12)


def test_levels_in_one_pass_are_the_bytes_of_separate_passes():
    posteriors = draw(301, 30, 3)
    levels = [0.95, 0.3, 0.9, 0.9, 0.99]
    together = pairwise_intervals(posteriors, levels)
    assert [one.level for one in together] == levels
    for intervals, level in zip(together, levels, strict=True):
        assert as_bytes(intervals) == as_bytes(pairwise_intervals(posteriors, level))


def test_a_higher_level_gives_wider_intervals():
    ninety, ninety_five = pairwise_intervals(draw(200, 15, 3), (0.9, 0.95))
    assert (ninety_five.lower <= ninety.lower).all()
    assert (ninety_five.upper >= ninety.upper).all()


def test_n_jobs_changes_no_byte():
    posteriors = draw(211, 70, 4)
    alone = as_bytes(pairwise_intervals(posteriors))
    assert all(as_bytes(pairwise_intervals(posteriors, n_jobs=jobs)) == alone for jobs in (1, 2, 4))
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert as_bytes(pairwise_intervals(posteriors)) == alone


@pytest.mark.parametrize("certain", [False, True])
def test_tile_size_changes_no_byte(certain, monkeypatch):
    posteriors = separated(101, 40) if certain else draw(101, 40, 7)
    whole = as_bytes(pairwise_intervals(posteriors))
    monkeypatch.setattr(module, "TILE_VALUES", 1)
    monkeypatch.setattr(module, "TILE_ROWS", 3)
    assert as_bytes(pairwise_intervals(posteriors)) == whole


def test_memory_layout_changes_no_byte():
    posteriors = draw(60, 17, 3)
    expected = as_bytes(pairwise_intervals(posteriors))
    for order in [(1, 2, 0), (0, 2, 1), (2, 1, 0)]:
        laid_out = np.ascontiguousarray(posteriors.transpose(order)).transpose(np.argsort(order))
        laid_out.flags.writeable = False
        assert as_bytes(pairwise_intervals(laid_out)) == expected
    assert as_bytes(pairwise_intervals(posteriors.tolist())) == expected


def test_posteriors_are_copied_once_in_single_precision_and_not_changed():
    posteriors = draw(60, 9, 3)
    before = posteriors.copy()
    kept = module.by_object("posteriors", posteriors)
    assert kept.dtype == np.float32
    assert kept.flags.c_contiguous
    np.testing.assert_allclose(kept, posteriors.transpose(1, 2, 0), rtol=1e-7)
    pairwise_intervals(posteriors)
    assert np.array_equal(posteriors, before)


def separated(B, n, seed=0):
    # Objects that are certain of one of two clusters in all replicates, up to 1e-9, and others
    # between the second and a third.
    rng = np.random.default_rng(seed)
    posteriors = np.zeros((B, n, 3))
    share = rng.random((B, n)) * np.where(np.arange(n) % 3 == 2, 1.0, 1e-9)
    posteriors[:, np.arange(n), np.arange(n) % 3 % 2] = 1.0 - share
    posteriors[:, :, 2] = share
    return posteriors


def test_pairs_that_are_certain_are_not_sorted_but_have_their_bounds(monkeypatch):
    posteriors = separated(200, 90)
    lower, upper = literal_bounds(posteriors, posteriors, 0.9)
    sorted_rows, quantiles = [], module.quantiles

    def counted(values, levels):
        sorted_rows.append(len(values))
        return quantiles(values, levels)

    monkeypatch.setattr(module, "quantiles", counted)
    intervals = pairwise_intervals(posteriors, 0.9)
    # Both bounds are within the extremes, which differ by 1e-6 at most.
    np.testing.assert_allclose(intervals.lower, condensed(lower), rtol=0, atol=1e-6)
    np.testing.assert_allclose(intervals.upper, condensed(upper), rtol=0, atol=1e-6)
    assert 0 < sum(sorted_rows) < 0.7 * len(intervals.lower)


@pytest.mark.parametrize("method", ["percentile", "simultaneous"])
def test_a_copy_of_an_object_has_the_bytes_of_its_own_bounds(method):
    posteriors = separated(200, 12)
    copies = np.concatenate([posteriors, posteriors], axis=1)
    within = pairwise_intervals(copies, method=method)
    lower, upper = within.square()
    assert np.array_equal(np.diagonal(lower, 12), within.own_lower[:12])
    assert np.array_equal(np.diagonal(upper, 12), within.own_upper[:12])


def test_tiny_posteriors_do_not_underflow():
    posteriors = np.tile([1.0, 1e-200, 1e-30], (40, 5, 1))
    with np.errstate(under="raise"):
        intervals = pairwise_intervals(posteriors)
    assert (intervals.lower == 1.0).all()


def test_numbering_of_clusters_in_a_replicate_changes_no_interval():
    posteriors = draw(150, 20, 4)
    rng = np.random.default_rng(3)
    renumbered = np.stack([replicate[:, rng.permutation(4)] for replicate in posteriors])
    ours, theirs = pairwise_intervals(posteriors), pairwise_intervals(renumbered)
    # Another order of summation over k moves the last bits only, of single precision.
    np.testing.assert_allclose(ours.lower, theirs.lower, rtol=0, atol=SINGLE)
    np.testing.assert_allclose(ours.upper, theirs.upper, rtol=0, atol=SINGLE)


def test_replicates_in_another_order_change_no_byte():
    posteriors = draw(150, 20, 4)
    shuffled = np.random.default_rng(4).permutation(posteriors)
    assert as_bytes(pairwise_intervals(posteriors)) == as_bytes(pairwise_intervals(shuffled))


def test_one_cluster_is_certain():
    intervals = pairwise_intervals(np.ones((20, 4, 1)))
    assert (intervals.lower == 1.0).all()
    assert (intervals.upper == 1.0).all()


def test_one_object_has_no_pairs():
    intervals = pairwise_intervals(draw(20, 1, 3))
    assert intervals.n_objects == 1
    assert intervals.lower.shape == (0,)
    assert [bound.tolist() for bound in intervals.square()] == [[[1.0]], [[1.0]]]
    assert repr(intervals) == "PairwiseIntervals(n_objects=1, level=0.9)"


def test_rounded_posteriors_do_not_leave_the_unit_interval():
    posteriors = np.full((20, 3, 2), [1.0 + 9e-7, 0.0])
    assert pairwise_intervals(posteriors).upper.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 20), (19, 2)])
def test_cross_bounds_are_the_quantiles_of_the_literal_array(m, n):
    new, known = draw(80, m, 3, seed=1), draw(80, n, 3, seed=2)
    bounds = cross_intervals(new, known, 0.8)
    np.testing.assert_allclose(bounds, literal_bounds(new, known, 0.8), rtol=0, atol=SINGLE)


def test_cross_bounds_of_the_same_objects_are_the_pairwise_bounds():
    posteriors = draw(60, 21, 3)
    lower, upper = cross_intervals(posteriors, posteriors, 0.9, n_jobs=2)
    intervals = pairwise_intervals(posteriors, 0.9)
    assert np.array_equal(condensed(lower), intervals.lower)
    assert np.array_equal(condensed(upper), intervals.upper)


def test_pairwise_probabilities_are_equation_4():
    posteriors = draw(1, 9, 3)[0]
    expected = [
        sum(posteriors[i, k] * posteriors[j, k] for k in range(3))
        for i in range(9)
        for j in range(i + 1, 9)
    ]
    np.testing.assert_allclose(pairwise_probabilities(posteriors), expected, rtol=0, atol=1e-15)
    assert pairwise_probabilities(posteriors[:1]).shape == (0,)


def test_square_and_contains():
    intervals = PairwiseIntervals([0.1, 0.2, 0.3], [0.4, 0.2, 1.0], level=0.95)
    lower, upper = intervals.square()
    assert lower.tolist() == [[1.0, 0.1, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]]
    assert upper.tolist() == [[1.0, 0.4, 0.2], [0.4, 1.0, 1.0], [0.2, 1.0, 1.0]]
    P = np.array([0.4, 0.2, 0.29])
    assert intervals.contains(P).tolist() == [True, True, False]
    assert intervals.contains(squareform(P)).tolist() == [True, True, False]
    np.testing.assert_allclose(intervals.length, [0.3, 0.0, 0.7], rtol=0, atol=1e-15)


@settings(deadline=None, max_examples=20)
@given(B=st.integers(20, 90), n=st.integers(1, 6), c=st.integers(1, 4), seed=st.integers(0, 99))
def test_the_own_bounds_are_those_of_an_object_and_a_copy_of_itself(B, n, c, seed):
    P = np.random.default_rng(seed).dirichlet(np.ones(c), size=(B, n))
    for intervals in pairwise_intervals(P, [0.9, 0.5]):
        twice = pairwise_intervals(P.repeat(2, axis=1), intervals.level)
        for own, bound in zip(
            (intervals.own_lower, intervals.own_upper), (twice.lower, twice.upper), strict=True
        ):
            copies = squareform(bound)[range(0, 2 * n, 2), range(1, 2 * n, 2)]
            np.testing.assert_allclose(own, copies, rtol=0, atol=1e-15)
            assert not own.flags.writeable


def test_own_bounds_are_checked():
    with pytest.raises(ValueError, match="`own_lower` must be given with `own_upper`, got None"):
        PairwiseIntervals([0.1], [0.2], 0.9, own_upper=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"`own_lower` must have shape \(2,\), .* got \(1,\)"):
        PairwiseIntervals([0.1], [0.2], 0.9, own_lower=[0.5], own_upper=[0.5])
    with pytest.raises(ValueError, match=r"`own_lower` must satisfy .* for object 1"):
        PairwiseIntervals([0.1], [0.2], 0.9, own_lower=[0.5, 0.6], own_upper=[0.5, 0.5])
    with pytest.raises(ValueError, match="`own_upper` must be finite, got nan for object 0"):
        PairwiseIntervals([0.1], [0.2], 0.9, own_lower=[0.5, 0.5], own_upper=[np.nan, 0.5])


def test_values_are_frozen_copies():
    lower = np.array([0.5])
    intervals = PairwiseIntervals(lower, [0.6], level=0.9)
    lower[0] = 0.0
    assert intervals.lower.tolist() == [0.5]
    with pytest.raises(ValueError, match="read-only"):
        intervals.lower[0] = 0.0
    with pytest.raises(AttributeError, match="cannot assign"):
        intervals.level = 0.5
    assert as_bytes(pickle.loads(pickle.dumps(intervals))) == as_bytes(intervals)  # noqa: S301


def test_rounding_is_taken_away():
    intervals = PairwiseIntervals([-1e-13, 0.5, 1.0], [0.5, 0.5 - 1e-13, 1.0 + 1e-13], level=0.9)
    assert intervals.lower.tolist() == [0.0, 0.5, 1.0]
    assert intervals.upper.tolist() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("lower", "upper", "level", "message"),
    [
        ([0.1, 0.2], [0.3, 0.4], 0.9, r"`lower` must have n \(n - 1\) / 2 values .* got 2"),
        ([0.1], [0.3, 0.4, 0.5], 0.9, "of the same length as `upper`, got 1 and 3"),
        ([[0.1]], [0.3], 0.9, r"`lower` must be condensed.* got shape \(1, 1\)"),
        ([0.1], [np.nan], 0.9, "`upper` must be finite, got nan for pair 0"),
        ([0.5], [0.4], 0.9, r"0 <= lower <= upper <= 1, got \[0.5, 0.4\] for pair 0"),
        ([-0.1], [0.4], 0.9, r"got \[-0.1, 0.4\] for pair 0"),
        ([0.1], [1.1], 0.9, r"got \[0.1, 1.1\] for pair 0"),
        ([0.1], [0.4], 1.0, r"`level` must be a number in the open interval \(0, 1\), got 1.0"),
    ],
)
def test_bounds_that_are_no_intervals_are_refused(lower, upper, level, message):
    with pytest.raises(ValueError, match=message):
        PairwiseIntervals(lower, upper, level)


def test_probabilities_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"`P` must have shape \(1,\) or \(2, 2\), got \(3,\)"):
        PairwiseIntervals([0.1], [0.4], 0.9).contains(np.zeros(3))


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.5, np.nan, "0.9", None, True])
def test_levels_outside_the_unit_interval_are_refused(level):
    with pytest.raises(ValueError, match=r"`level` must be a number in the open interval \(0, 1\)"):
        pairwise_intervals(draw(50, 3, 2), level)


def test_no_level_is_refused():
    with pytest.raises(ValueError, match="`level` must be one number or several, got none"):
        pairwise_intervals(draw(50, 3, 2), [])


@pytest.mark.parametrize(("B", "level", "needed"), [(19, 0.9, 20), (39, 0.95, 40), (2, 0.01, 3)])
def test_too_few_replicates_for_the_level_are_refused(B, level, needed):
    with pytest.raises(ValueError, match=rf"at least {needed} replicates .* got {B}\."):
        pairwise_intervals(draw(B, 3, 2), level)
    assert pairwise_intervals(draw(needed, 3, 2), level).n_objects == 3


def spoilt(replicate, object_, value):
    posteriors = draw(30, 80, 2)
    posteriors[replicate, object_, 1] = value
    return posteriors


@pytest.mark.parametrize(
    ("posteriors", "message"),
    [
        (np.ones((30, 4)), r"`posteriors` must have shape \(B, n, c\), .* got \(30, 4\)"),
        (np.ones((30, 0, 2)), r"none of them 0, got \(30, 0, 2\)"),
        (np.ones((30, 4, 1), dtype=complex), "must hold real numbers, got dtype complex128"),
        (spoilt(7, 70, np.nan), "must be finite, got .*nan.* in replicate 7, object 70"),
        (spoilt(7, 70, np.inf), "must be finite, got .*inf.* in replicate 7, object 70"),
        (spoilt(3, 2, 1.5), "sum to 1 over the clusters, got .* in replicate 3, object 2"),
        (np.tile([1.5, -0.5], (30, 2, 1)), r"got \[1.5, -0.5\] \(sum 1\) in replicate 0, object 0"),
    ],
)
def test_arrays_that_are_no_posteriors_are_refused(posteriors, message):
    with pytest.raises(ValueError, match=message):
        pairwise_intervals(posteriors)


def test_cross_intervals_of_other_replicates_are_refused():
    with pytest.raises(ValueError, match=r"must have 30 replicates and 2 clusters .* got 40 and 3"):
        cross_intervals(draw(40, 2, 3), draw(30, 4, 2))


def test_probabilities_need_one_set_of_posteriors():
    with pytest.raises(ValueError, match=r"`posteriors` must have shape \(n, c\), got \(2, 2, 2\)"):
        pairwise_probabilities(np.full((2, 2, 2), 0.5))


# Methods


EXTREME = 1e-6  # as in the module


def logit(P):
    inner = np.clip(P, EXTREME, 1.0 - EXTREME)
    return np.log(inner / (1.0 - inner))


def literal_method(method, posteriors, estimate, level):
    # With the n x n x B array, in double precision.
    P = np.einsum("bik,bjk->ijb", posteriors, posteriors)[np.triu_indices(len(estimate), 1)]
    point = pairwise_probabilities(estimate)
    alpha = 1.0 - level
    low, high = np.quantile(P, [alpha / 2.0, 1.0 - alpha / 2.0], axis=1)
    if method == "basic":
        ends = 2.0 * logit(point) - logit(high), 2.0 * logit(point) - logit(low)
    else:
        reach = norm.ppf(1.0 - alpha / 2.0) * logit(P).std(axis=1, ddof=1)
        ends = logit(point) - reach, logit(point) + reach
    bounds = [1.0 / (1.0 + np.exp(-end)) for end in ends]
    edge = EXTREME * (1.0 + 1e-9)
    return [np.where(b <= edge, 0.0, np.where(b >= 1.0 - edge, 1.0, b)) for b in bounds]


@pytest.mark.parametrize("method", ["basic", "normal"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_methods_on_the_logit_scale_are_those_of_the_literal_array(method, level):
    posteriors, estimate = draw(70, 19, 3, seed=3, concentration=2.0), draw(1, 19, 4, seed=4)[0]
    found = pairwise_intervals(posteriors, level, method=method, estimate=estimate)
    lower, upper = literal_method(method, posteriors, estimate, level)
    # Logits multiply what single precision does to a small probability.
    np.testing.assert_allclose(found.lower, lower, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.upper, upper, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["basic", "normal"])
def test_pairs_that_are_certain_have_certain_bounds(method):
    known = np.eye(3)[[0, 0, 1, 2]]
    found = pairwise_intervals(np.tile(known, (40, 1, 1)), method=method, estimate=known)
    np.testing.assert_array_equal(found.lower, pairwise_probabilities(known))
    np.testing.assert_array_equal(found.upper, pairwise_probabilities(known))


def test_bounds_on_the_logit_scale_reach_0_and_1():
    P = np.linspace(0.0, 1.0, 41)
    posteriors = np.stack([np.column_stack([P, 1 - P]), np.tile([1.0, 0.0], (41, 1))], axis=1)
    for method in ("basic", "normal"):
        found = pairwise_intervals(posteriors, 0.95, method=method, estimate=posteriors[20])
        assert 0.0 <= found.lower[0] < 0.05
        assert 0.95 < found.upper[0] <= 1.0


def literal_simultaneous(posteriors, level):
    """The narrowest bands between order statistics that hold a share of replicates in all pairs."""
    n, B = posteriors.shape[1], len(posteriors)
    single = posteriors.astype(np.float32)
    P = np.einsum("bik,bjk->ijb", single, single)[np.triu_indices(n, 1)]
    ordered = np.sort(P, axis=1)
    for k in range((B - 1) // 2, -1, -1):
        lower, upper = ordered[:, k], ordered[:, B - 1 - k]
        outside = (lower[:, None] > P) | (upper[:, None] < P)
        if 1.0 - outside.any(axis=0).mean() >= level:
            return lower, upper, k
    raise AssertionError


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_simultaneous_bands_are_those_of_a_search_over_all_bands(seed, level):
    rng = np.random.default_rng(seed)
    # One number moves all pairs, so that bands need not be as wide as all replicates.
    p = 1.0 / (1.0 + np.exp(-rng.normal(size=(101, 1)) - rng.normal(size=(1, 7))))
    p = np.clip(p + 0.001 * rng.normal(size=p.shape), 0.01, 0.99).round(2 + seed % 2 * 6)
    posteriors = np.stack([p, 1.0 - p], axis=2)
    lower, upper, k = literal_simultaneous(posteriors, level)
    found = pairwise_intervals(posteriors, level, method="simultaneous")
    np.testing.assert_allclose(found.lower, lower, rtol=0, atol=SINGLE)
    np.testing.assert_allclose(found.upper, upper, rtol=0, atol=SINGLE)
    assert found.level == level
    assert (found.pointwise_level or level) == pytest.approx(1.0 - 2.0 * k / 100)
    assert (found.length >= pairwise_intervals(posteriors, level).length - SINGLE).all()


@pytest.mark.parametrize("method", module.METHODS)
def test_n_jobs_and_tiles_change_no_byte_of_any_method(method, monkeypatch):
    posteriors, estimate = draw(90, 37, 3), draw(1, 37, 3, seed=1)[0]

    def found(jobs):
        return as_bytes(
            pairwise_intervals(posteriors, method=method, estimate=estimate, n_jobs=jobs)
        )

    alone = found(1)
    assert found(2) == alone
    monkeypatch.setattr(module, "TILE_VALUES", 500)
    assert found(2) == alone


@pytest.mark.parametrize("method", module.METHODS)
def test_bounds_between_objects_are_those_of_all_pairs(method):
    posteriors, estimate = draw(60, 12, 3), draw(1, 12, 3, seed=1)[0]
    within = pairwise_intervals(posteriors, method=method, estimate=estimate)
    lower, upper = cross_intervals(
        posteriors, posteriors, method=method, estimate_new=estimate, estimate=estimate
    )
    np.testing.assert_allclose(condensed(lower), within.lower, rtol=0, atol=1e-6)
    np.testing.assert_allclose(condensed(upper), within.upper, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(upper), within.own_upper, rtol=0, atol=1e-6)


def test_methods_that_start_from_a_fit_need_it():
    for method in ("basic", "normal"):
        with pytest.raises(ValueError, match=r"`estimate` must be given.*'percentile'"):
            pairwise_intervals(draw(40, 4, 2), method=method)
    with pytest.raises(ValueError, match=r"`estimate` must have shape \(4, c\), .*got \(3, 2\)"):
        pairwise_intervals(draw(40, 4, 2), method="basic", estimate=draw(1, 3, 2)[0])
    with pytest.raises(ValueError, match="`estimate` must be probabilities"):
        pairwise_intervals(draw(40, 4, 2), method="basic", estimate=np.ones((4, 2)))
    with pytest.raises(ValueError, match="`estimate_new` must have 2 clusters"):
        cross_intervals(
            draw(40, 4, 2),
            draw(40, 4, 2),
            method="normal",
            estimate_new=draw(1, 4, 3)[0],
            estimate=draw(1, 4, 2)[0],
        )
    with pytest.raises(ValueError, match="`method` must be one of 'percentile', 'basic'"):
        pairwise_intervals(draw(40, 4, 2), method="studentised")
