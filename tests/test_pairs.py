import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart import (
    CalibratedClustering,
    EvidentialPartition,
    diagnose,
    focal_sets,
    irqp,
    load_model,
    pairwise_intervals,
    plot,
    save_model,
)
from credpart.datasets import load_gvhd, make_mixture1, make_mixture3
from credpart.focal import disjoint_matrix, same_matrix
from credpart.intervals import by_object, cross_intervals
from credpart.mixture import fit_mixture
from credpart.pairs import (
    Chosen,
    Landmarks,
    SampledObjects,
    bounds_of,
    choose_landmarks,
    distinct_objects,
    estimated_objective,
    pairs_of,
    stratified_sample,
)
from credpart.report import to_html
from credpart.simplex_qp import violation

B = 100


def draw(n, c=3, seed=0):
    # Some objects are certain of a cluster in all replicates, the others are between two.
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(c, 0.3), size=n)
    posteriors = base * rng.gamma(20.0, 1.0 / 20.0, size=(B, n, c))
    return posteriors / posteriors.sum(axis=2, keepdims=True)


def every_object(posteriors, weights=None, level=0.9):
    """Landmarks that are all objects, with the masses of Algorithm 2."""
    n, c = posteriors.shape[1:]
    weights = np.ones(n) if weights is None else weights
    intervals = pairwise_intervals(posteriors, level)
    found = irqp(intervals, focal_sets(c), sample_weight=weights)
    known = by_object("posteriors", posteriors)
    return intervals, found, Landmarks(found.partition, weights, known, level, "percentile")


def literal_row(masses, partition, lower, upper, weights):
    """J_i of one new object, word for word: Eq. (8)-(9) over its pairs with weighted objects."""
    total = 0.0
    for known, low, high, weight in zip(partition.masses, lower, upper, weights, strict=True):
        both = EvidentialPartition(np.stack([masses, known]), partition.focal_sets)
        belief, plausibility = both.pairwise_condensed()
        total += weight * ((belief[0] - low) ** 2 + (plausibility[0] - high) ** 2)
    return total


# --- which pairs count


@pytest.mark.parametrize(
    ("option", "n", "expected"),
    [
        ("auto", 180, (None, None)),
        ("auto", 2000, (None, 18)),
        ("auto", 2001, (1000, 30)),
        ("all", 50_000, (None, None)),
        (40, 50_000, (1000, 40)),
        (400, 50_000, (1600, 400)),
        (40, 500, (None, 40)),
        (40, 40, (None, None)),
    ],
)
def test_what_the_parameter_means(option, n, expected):
    assert tuple(pairs_of(option, n, 3)) == expected


@pytest.mark.parametrize("value", ["some", 1, 2.5, True, None])
def test_other_values_of_the_parameter_are_refused(value):
    model = CalibratedClustering(2, model="EII", pairs=value)
    with pytest.raises(ValueError, match="`pairs` must be 'auto', 'all' or a number of landmarks"):
        model.fit(np.random.default_rng(0).normal(size=(20, 2)))


# --- the sample


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(60, 400))
def test_a_sample_has_the_weight_of_each_cluster(seed, size):
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, p=[0.6, 0.3, 0.07, 0.03], size=1000)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=1000)
    sample = stratified_sample(labels, weights, size, rng)
    assert (np.diff(sample.rows) > 0).all()
    assert (sample.weights > 0.0).all()
    np.testing.assert_allclose(
        np.bincount(labels[sample.rows], sample.weights, minlength=4),
        np.bincount(labels, weights, minlength=4),
    )
    available = np.bincount(labels[weights > 0.0], minlength=4)
    assert (np.bincount(labels[sample.rows], minlength=4) >= np.minimum(available, 20)).all()


def test_a_sample_of_all_objects_is_all_objects():
    weights = np.array([1.0, 0.0, 2.0])
    sample = stratified_sample(np.array([0, 1, 0]), weights, None, np.random.default_rng(0))
    assert sample.rows.tolist() == [0, 1, 2]
    assert sample.weights.tolist() == [1.0, 0.0, 2.0]


# --- landmarks


def everyone(n):
    return Chosen(np.arange(n), np.ones(n))


def test_every_object_as_a_landmark_is_all_pairs():
    # Each object then solves the program of Algorithm 2 with its own copy among the others; at
    # the optimum of Algorithm 2 its masses meet the KKT conditions once that copy is taken out.
    posteriors = draw(40)
    intervals, found, landmarks = every_object(posteriors)
    places, weights = choose_landmarks(intervals, everyone(40), None, seed=0)
    assert places.tolist() == list(range(40))
    assert weights.tolist() == [1.0] * 40
    focal = found.partition.focal_sets
    S, C = same_matrix(focal), disjoint_matrix(focal)
    lower, upper = intervals.square()
    for i in range(40):
        M = np.delete(found.partition.masses, i, axis=0)
        gram = M.T @ M
        Q = S @ gram @ S + C @ gram @ C
        low, high = np.delete(lower[i], i), np.delete(upper[i], i)
        u = -2.0 * (S @ (M.T @ low) + C @ (M.T @ (1.0 - high)))
        rest = Landmarks(
            EvidentialPartition(M, focal),
            np.ones(39),
            np.delete(landmarks.posteriors, i, axis=0),
            0.9,
            "percentile",
        )
        masses = rest.masses(posteriors[:, i : i + 1])
        # Algorithm 2 stops at 1e-10, on bounds that are the same to the last bit.
        assert violation(Q[None], u[None], masses)[0] < 1e-8
        assert violation(Q[None], u[None], found.partition.masses[i : i + 1])[0] < 1e-8


def test_masses_minimise_the_literal_objective_of_a_new_object():
    rng = np.random.default_rng(3)
    weights = rng.choice([0.5, 1.0, 4.0], size=12)
    posteriors, new = draw(12), draw(3, seed=1)
    _, found, landmarks = every_object(posteriors, weights)
    lower, upper = cross_intervals(new, posteriors, 0.9)
    for masses, low, high in zip(landmarks.masses(new), lower, upper, strict=True):
        best = literal_row(masses, found.partition, low, high, weights)
        for other in rng.dirichlet(np.ones(6), size=20):
            step = masses + 0.05 * (other - masses)
            assert literal_row(step, found.partition, low, high, weights) >= best - 1e-9


def test_blocks_of_objects_are_independent():
    *_, landmarks = every_object(draw(30))
    new = draw(50, seed=5)
    whole = landmarks.masses(new)
    parts = [landmarks.masses(new[:, i : i + 7]) for i in range(0, 50, 7)]
    # The matrix products of other blocks are summed in another order.
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=0, atol=1e-10)
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_allclose(landmarks.masses(new[:, order]), whole[order], rtol=0, atol=1e-10)
    assert landmarks.masses(new, n_jobs=2).tobytes() == whole.tobytes()


def test_weights_of_landmarks_are_repetitions():
    posteriors, counts = draw(15), np.arange(15) % 3 + 1
    _, found, landmarks = every_object(posteriors, counts.astype(float))
    repeated = Landmarks(
        EvidentialPartition(
            found.partition.masses.repeat(counts, axis=0), found.partition.focal_sets
        ),
        np.ones(counts.sum()),
        landmarks.posteriors.repeat(counts, axis=0),
        0.9,
        "percentile",
    )
    new = draw(8, seed=2)
    np.testing.assert_allclose(landmarks.masses(new), repeated.masses(new), atol=1e-8)


def test_chosen_landmarks_carry_all_weight_and_depend_on_the_seed_alone():
    posteriors = draw(120)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=120)
    intervals = pairwise_intervals(posteriors)
    objects = distinct_objects(np.arange(120.0)[:, None], weights)
    chosen = choose_landmarks(intervals, objects, 15, seed=4)
    again = choose_landmarks(intervals, objects, 15, seed=4)
    assert len(np.unique(chosen.places)) == len(chosen.places) == 15
    assert chosen.weights.sum() == pytest.approx(weights.sum())
    assert (weights[chosen.places] > 0.0).all()
    assert chosen.places.tobytes() == again.places.tobytes()
    assert chosen.weights.tobytes() == again.weights.tobytes()


def test_objects_that_are_certain_of_a_cluster_share_one_landmark():
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    intervals = pairwise_intervals(np.tile(np.eye(3)[labels], (40, 1, 1)))
    chosen = choose_landmarks(intervals, everyone(100), 12, seed=0)
    assert sorted(chosen.weights) == [20.0, 30.0, 50.0]
    assert sorted(labels[chosen.places]) == [0, 1, 2]


def test_bounds_of_some_objects_with_others():
    intervals = pairwise_intervals(draw(9))
    lower, upper = intervals.square()
    np.fill_diagonal(lower, intervals.own_lower)
    np.fill_diagonal(upper, intervals.own_upper)
    rows, others = np.array([0, 4, 8]), np.array([1, 4, 7, 8])
    both = np.concatenate([lower[np.ix_(rows, others)], upper[np.ix_(rows, others)]], axis=1)
    assert np.array_equal(bounds_of(intervals, rows, others), both)


def test_masses_need_posteriors_in_the_same_replicates():
    *_, landmarks = every_object(draw(10))
    with pytest.raises(ValueError, match="must have 100 replicates and 3 clusters, got 99 and 3"):
        landmarks.masses(draw(4)[:99])


def test_the_estimated_objective_is_that_of_all_pairs_if_all_are_in_the_sample():
    posteriors = draw(25)
    weights = np.random.default_rng(0).choice([0.5, 1.0], size=25)
    intervals, found, _ = every_object(posteriors, weights)
    sample = SampledObjects(np.arange(25), weights)
    estimate = estimated_objective(intervals, found.partition, sample, weights)
    assert estimate == pytest.approx(found.objective, rel=1e-9)
    thousands = SampledObjects(np.arange(25), 1000.0 * weights)
    scaled = estimated_objective(intervals, found.partition, thousands, np.ones(1000))
    assert scaled / (1000 * 999 / 2) == pytest.approx(
        estimate / np.triu(np.outer(weights, weights), 1).sum()
    )


# --- whole fits


def total_variation(left, right):
    return 0.5 * np.abs(left - right).sum(axis=1)


def gvhd_like(n):
    return fit_mixture(load_gvhd(sample=True).X.to_numpy(), 7, "VVV").sample(n, random_state=5)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "c", "model"),
    [
        (lambda: make_mixture1(1500, random_state=3).X, 3, "EII"),
        (lambda: make_mixture3(1500, random_state=3).X, 3, "VVV"),
        (lambda: gvhd_like(1500), 7, "VVV"),
    ],
    ids=["mixture 1", "mixture 3", "gvhd"],
)
def test_landmarks_are_as_good_as_all_pairs(make, c, model):
    options = {"model": model, "n_replicates": 40, "random_state": 0, "tol": 1e-5}
    X, n_landmarks = make(), pairs_of("auto", 5000, c).n_landmarks
    exact = CalibratedClustering(c, **options, pairs="all").fit(X)
    fast = CalibratedClustering(c, **options, pairs=n_landmarks).fit(X)
    assert fast.result_.is_sampled
    assert len(fast.result_.landmarks.weights) == n_landmarks
    same = fast.partition_.set_labels == exact.partition_.set_labels
    assert np.mean(same) >= 0.99
    assert total_variation(fast.partition_.masses, exact.partition_.masses).mean() < 0.02
    everyone = SampledObjects(np.arange(1500), np.ones(1500))
    found = estimated_objective(exact.intervals_, fast.partition_, everyone, np.ones(1500))
    assert found <= 1.02 * exact.objective_
    assert fast.objective_ == pytest.approx(found, rel=0.1)  # a sample of 1000 objects


LARGE = make_mixture1(3000, random_state=0).X


@pytest.fixture(scope="module")
def large():
    return CalibratedClustering(3, model="EII", n_replicates=40, random_state=0).fit(LARGE)


def test_a_large_fit_has_all_that_a_small_one_has(large, tmp_path):
    assert large.partition_.n_objects == 3000
    assert large.intervals_.n_objects == large.result_.compared.n_objects < 1100
    assert large.intervals(level=0.8).n_objects == large.intervals_.n_objects
    assert "30 landmarks" in large.summary()
    assert 0.0 <= diagnose(large, audit=0, rivals=False).covered <= 1.0
    ax = plot.ApproximationDisplay.from_estimator(large).ax_
    assert ax.get_xlabel()
    page = to_html(large.result_)
    assert "estimated from the pairs of" in page
    save_model(large, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.predict_masses(LARGE[:9]).tobytes() == large.predict_masses(LARGE[:9]).tobytes()
    assert again.result_.sample.rows.tobytes() == large.result_.sample.rows.tobytes()


def test_a_large_fit_can_be_refitted(large):
    result = large.result_.refit_partition(focal_sets="singletons")
    assert result.partition.masses.shape == (3000, 3)
    assert result.sample is large.result_.sample
    assert result.is_sampled


def test_fitted_objects_have_the_masses_of_new_ones(large):
    np.testing.assert_allclose(
        large.predict_masses(LARGE[:50]), large.partition_.masses[:50], rtol=0, atol=1e-10
    )


def test_a_large_fit_depends_on_its_seed_alone(large):
    options = large.get_params() | {"n_jobs": 2}
    again = CalibratedClustering(**options).fit(LARGE)
    assert again.partition_.masses.tobytes() == large.partition_.masses.tobytes()
    assert again.objective_ == large.objective_


def test_intervals_of_a_sample_are_not_taken_for_those_of_all_objects(large):
    with pytest.raises(ValueError, match="`intervals` must be of the 3000 objects"):
        plot.pair_histogram(large.replicates_, LARGE, (0, 1), intervals=large.intervals_)
    with pytest.raises(ValueError, match=r"3000 objects, got .* `result_.compared`"):
        plot.approximation(large.partition_, large.intervals_)


def test_predictions_with_landmarks_are_close_to_those_with_all_objects():
    X, new = make_mixture1(300, random_state=1).X, make_mixture1(400, random_state=2).X
    options = {"model": "EII", "n_replicates": 100, "random_state": 0}
    fast = CalibratedClustering(3, **options).fit(X)
    exact = CalibratedClustering(3, **options, pairs="all").fit(X)
    assert len(fast.result_.landmarks.weights) == 18
    assert exact.result_.landmarks is None
    assert fast.partition_.masses.tobytes() == exact.partition_.masses.tobytes()
    distances = total_variation(fast.predict_masses(new), exact.predict_masses(new))
    assert distances.mean() < 0.01
    assert distances.max() < 0.05


def test_weights_count_in_a_large_fit():
    # Twice the objects by weights of 2: the same J for each pair, and nearly the same masses.
    options = {"model": "EII", "n_replicates": 40, "random_state": 0}
    one = CalibratedClustering(3, **options, pairs=20).fit(LARGE[:1500])
    two = CalibratedClustering(3, **options, pairs=20).fit(
        LARGE[:1500], sample_weight=np.full(1500, 2.0)
    )
    assert two.result_.landmarks.weights.sum() == pytest.approx(3000.0)
    assert two.result_.sample.weights.sum() == pytest.approx(3000.0)
    assert one.result_.landmarks.weights.sum() == pytest.approx(1500.0)
    assert np.mean(one.labels_ == two.labels_) > 0.99
