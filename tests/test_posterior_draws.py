"""`from_replicates`: posterior draws of any sampler as replicates."""

import pickle

import numpy as np
import pytest

from credpart import (
    CalibratedClustering,
    CalibratedResult,
    bootstrap,
    diagnose,
    fit_mixture,
    from_replicates,
    pairwise_intervals,
    save_model,
)
from credpart.datasets import make_mixture1
from credpart.errors import NoMixtureError
from credpart.intervals import pairwise_probabilities
from credpart.posterior_draws import _nearest_to_mean
from credpart.report import to_html


def draw(B=60, n=30, c=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(c, 0.3), size=(B, n))


def around(B=80, n=40, c=3, seed=0):
    """Draws that differ little from each other."""
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.full(c, 0.3), size=n)
    values = centre * rng.gamma(20.0, size=(B, n, c)) + 1e-9
    return values / values.sum(axis=2, keepdims=True)


def test_draws_of_the_bootstrap_give_the_partition_of_the_estimator():
    X = make_mixture1(120, random_state=0).X
    options = {"n_replicates": 100, "random_state": 0}
    model = CalibratedClustering(3, model="EII", **options).fit(X)
    draws = model.replicates_.posteriors(X)
    result = from_replicates(draws, reference=model.mixture_.posteriors(X))
    assert isinstance(result, CalibratedResult)
    # Posteriors in single precision move a bound by 2e-7, and so the masses by little.
    np.testing.assert_allclose(result.intervals.lower, model.intervals_.lower, rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.intervals.upper, model.intervals_.upper, rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.partition.masses, model.partition_.masses, rtol=0, atol=1e-3)
    again = model.refit_partition(level=0.8, focal_sets="full")
    other = result.refit_partition(level=0.8, focal_sets="full")
    np.testing.assert_allclose(other.partition.masses, again.partition_.masses, rtol=0, atol=1e-3)
    assert other.intervals.level == 0.8
    assert type(other) is type(result)


def test_the_order_and_the_number_of_clusters_of_a_draw_change_no_interval():
    draws = around()
    rng = np.random.default_rng(1)
    plain = from_replicates(draws)
    moved = []
    for one in draws:
        order = rng.permutation(3)
        moved.append(np.hstack([one[:, order], np.zeros((len(one), rng.integers(3)))]))
    other = from_replicates(moved)
    # Sums over clusters in another order differ by rounding in single precision.
    np.testing.assert_allclose(other.intervals.lower, plain.intervals.lower, rtol=0, atol=3e-7)
    np.testing.assert_allclose(other.intervals.upper, plain.intervals.upper, rtol=0, atol=3e-7)
    assert other.partition.n_clusters == 3
    np.testing.assert_array_equal(other.replicates.n_clusters, 3)


def test_draws_may_have_different_numbers_of_clusters():
    split = []
    for b, one in enumerate(around(B=60)):
        share = 0.5 if b % 3 == 0 else None
        halves = [share * one[:, :1], (1 - share) * one[:, :1]] if share else [one[:, :1]]
        split.append(np.hstack([*halves, one[:, 1:]]))
    result = from_replicates(split)
    assert set(result.replicates.n_clusters) == {3, 4}
    assert "60 posterior draws with 3 to 4 clusters" in result.summary()
    literal = np.array([pairwise_probabilities(one) for one in split])
    lower, upper = np.quantile(literal, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(result.intervals.lower, lower, rtol=0, atol=3e-7)
    np.testing.assert_allclose(result.intervals.upper, upper, rtol=0, atol=3e-7)


def test_chains_are_put_one_after_the_other():
    draws = around(B=60)
    chains = from_replicates(draws.reshape(4, 15, *draws.shape[1:]))
    assert chains.partition.masses.tobytes() == from_replicates(draws).partition.masses.tobytes()


def test_the_reference_is_the_draw_nearest_to_the_mean_of_all():
    draws = draw(B=25, n=12)
    P = np.array([pairwise_probabilities(one) for one in draws])
    nearest = np.square(P - P.mean(axis=0)).sum(axis=1).argmin()  # [D06], word for word
    single = np.ascontiguousarray(draws.transpose(1, 2, 0), dtype=np.float32)
    np.testing.assert_allclose(_nearest_to_mean(single), draws[nearest], rtol=0, atol=1e-6)


def test_n_jobs_changes_no_byte_and_many_objects_have_landmarks(monkeypatch):
    monkeypatch.setattr("credpart.pairs.MOST_COMPARED", 200)  # in place of 2000
    monkeypatch.setattr("credpart.pairs.SAMPLED", 100)
    draws = around(B=40, n=210)
    one, two = (from_replicates(draws, n_jobs=jobs) for jobs in (1, 2))
    assert one.is_sampled
    assert one.landmarks is not None
    assert one.partition.n_objects == 210
    assert one.partition.masses.tobytes() == two.partition.masses.tobytes()
    np.testing.assert_allclose(one.partition.masses.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["basic", "normal", "bca", "simultaneous"])
def test_methods_start_from_the_reference_that_was_given(method):
    draws = around(B=80, n=25)
    estimate = draws.mean(axis=0)
    result = from_replicates(draws, method=method, reference=estimate)
    expected = pairwise_intervals(draws, method=method, estimate=estimate)
    np.testing.assert_allclose(result.intervals.lower, expected.lower, rtol=0, atol=1e-6)
    alone = from_replicates(draws, reference=estimate).intervals_at(0.9, method=method)
    assert alone.upper.tobytes() == result.intervals.upper.tobytes()


def test_a_draw_is_no_estimate():
    with pytest.raises(ValueError, match="`reference` must be given for the methods 'basic'"):
        from_replicates(around(), method="basic")
    with pytest.raises(ValueError, match="`estimate` must be given"):
        from_replicates(around()).intervals_at(0.9, method="normal")


def test_sampled_labels_are_refused_with_the_reason():
    labels = np.random.default_rng(0).integers(3, size=(50, 20))
    for draws in (np.eye(3)[labels], np.eye(3, dtype=int)[labels], list(np.eye(3)[labels])):
        with pytest.raises(ValueError, match=r"sampled labels: 1000 of 1000 rows .* vacuous"):
            from_replicates(draws)
    nearly = np.eye(3)[labels]
    nearly[0, :4] = 1.0 / 3.0
    with pytest.raises(ValueError, match="sampled labels: 996 of 1000 rows"):
        from_replicates(nearly)


def altered(where, value):
    draws = around()
    draws[where] = value
    return draws


BAD = {
    "a row that does not sum to 1": (altered((3, 7, 0), 2.0), r"sum .* in draw 3, row 7"),
    "a negative number": (altered((5, 2), [-0.5, 0.5, 1.0]), r"in draw 5, row 2"),
    "not a number": (altered((1, 4), np.nan), r"nan.* in draw 1, row 4"),
    "two dimensions": (around()[0], r"shape \(B, n, c\) .*got shape \(40, 3\)"),
    "text": ("draws", r"got 'draws'"),
    "a number": (3, r"got 3"),
    "none": ([], r"at least one draw, got none"),
    "words": (np.full((30, 4, 2), "a"), r"real numbers, got dtype <U1 in draw 0"),
    "other objects": ([np.eye(3), np.eye(2)], r"have 3 objects in each draw.*got 2 in draw 1"),
    "few": (around(B=10), r"hold at least 20 draws for level 0.9 \(B >= 2 / alpha\), got 10"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_are_no_draws_is_refused(case):
    draws, message = BAD[case]
    with pytest.raises(ValueError, match=rf"`posteriors` must .*{message}"):
        from_replicates(draws)


def test_a_reference_of_other_objects_is_refused():
    with pytest.raises(ValueError, match=r"`reference` must have shape \(40, c\), .*got \(3, 3\)"):
        from_replicates(around(), reference=np.eye(3))
    with pytest.raises(ValueError, match=r"`reference` must be probabilities .* in row 0"):
        from_replicates(around(), reference=np.ones((40, 3)))


CONSUMERS = {
    "diagnose": diagnose,
    "report": to_html,
    "file": lambda result: save_model(result, "model.npz"),
    "new objects": lambda result: result.predict_masses([[1.0]]),
    "parameters": lambda result: result.parameters(),
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_what_needs_a_mixture_says_that_there_is_none(consumer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = from_replicates(around(B=30, n=10))
    with pytest.raises(NoMixtureError, match=r"made of posterior draws by `from_replicates`"):
        CONSUMERS[consumer](result)
    assert not hasattr(result, "mixture")
    assert not hasattr(result, "selection")
    assert list(tmp_path.iterdir()) == []


def test_a_result_comes_back_from_pickle():
    result = from_replicates(around(B=30, n=10))
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert again.partition.masses.tobytes() == result.partition.masses.tobytes()
    assert repr(again) == repr(result)
    assert not again.posteriors.flags.writeable


def test_replicates_with_their_own_structures_are_draws_too():
    X = make_mixture1(90, random_state=0).X
    fits = [fit_mixture(X, 3, name) for name in ("EII", "VVV")]
    replicates = bootstrap(X, fits, 40, random_state=0)
    result = from_replicates(replicates.posteriors(X))
    expected = pairwise_intervals(replicates.posteriors(X))
    np.testing.assert_allclose(result.intervals.lower, expected.lower, rtol=0, atol=1e-6)
