import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.estimator_checks import parametrize_with_checks

from credpart import ECM, EVCLUS, RECM, focal_sets
from credpart.datasets import load_butterfly, load_diabetes, load_iris
from credpart.ecm.criterion import Criterion, alternate, best_centers, best_masses, mass_costs
from credpart.ecm.spaces import Points, Relations
from credpart.errors import ConvergenceWarning, DataWarning
from credpart.focal import cluster_similarity

REFERENCE = json.loads((Path(__file__).parent / "reference" / "ecm_iris.json").read_text())
SEEDS = st.integers(0, 2**32 - 1)


def reference(name):
    return np.array(REFERENCE[name])


def standardized(X):
    return (X - X.mean()) / X.std()


def problem(seed, n=12, c=3, d=2):
    """A criterion with random parameters, random points and random centres."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["singletons", "pairs", "full"]))
    focal = focal_sets(c, kind, empty=True)
    criterion = Criterion(focal, rng.uniform(0, 2), rng.uniform(1.2, 3), rng.uniform(0.5, 5))
    return criterion, rng.normal(size=(n, d)), rng.normal(size=(c, d))


def literal_criterion(criterion, X, masses, centers):
    """J of Masson and Denoeux (2008), with loops."""
    total = 0.0
    for i, x in enumerate(X):
        for A, m in zip(criterion.focal, masses[i], strict=True):
            if A.any():
                gap = x - centers[A].mean(axis=0)
                total += A.sum() ** criterion.alpha * m**criterion.beta * (gap @ gap)
            else:
                total += criterion.delta**2 * m**criterion.beta
    return total


def literal_masses(criterion, X, centers):
    """Eq. (14)-(15) of Masson and Denoeux (2008), with loops."""
    power = 1.0 / (criterion.beta - 1.0)
    masses = np.empty((len(X), len(criterion.focal)))
    for i, x in enumerate(X):
        for k, A in enumerate(criterion.focal):
            if A.any():
                d2 = ((x - centers[A].mean(axis=0)) ** 2).sum()
                masses[i, k] = A.sum() ** (-criterion.alpha * power) * d2**-power
            else:
                masses[i, k] = criterion.delta ** (-2 * power)
    return masses / masses.sum(axis=1, keepdims=True)


def step(criterion, space, centers):
    """Masses for centres, and the criterion there."""
    costs = mass_costs(criterion, space.squared_distances(centers, criterion.shares))
    masses = best_masses(costs, criterion.beta)
    return masses, float((costs * masses**criterion.beta).sum())


# The reference: evclust 2.0.3, which stopped when J fell by less than 1e-10.


@pytest.mark.parametrize(
    ("kind", "suffix"), [("singletons", "_simple"), ("overlapping", ""), ("given", "")]
)
def test_iris_agrees_with_evclust(kind, suffix):
    sets = reference("focal") if kind == "given" else kind
    start = reference("start_centers")
    model = ECM(3, delta=100, focal_sets=sets, start=start).fit(load_iris().X)
    assert model.objective_ == pytest.approx(REFERENCE[f"criterion{suffix}"], rel=1e-8)
    np.testing.assert_allclose(
        model.partition_.masses, reference(f"masses{suffix}"), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(model.centers_, reference(f"centers{suffix}"), rtol=0, atol=1e-6)


def test_iris_overlaps_in_versicolor_and_virginica():
    iris, start = load_iris().X, reference("start_centers")
    first = ECM(3, delta=100, focal_sets="singletons", start=start).fit(iris)
    similarity = cluster_similarity(first.partition_.normalize().plausibility())
    np.testing.assert_allclose(similarity, reference("similarity"), rtol=1e-6)
    second = ECM(3, delta=100, focal_sets="overlapping", start=start).fit(iris)
    assert second.partition_.focal_sets[4].tolist() == [False, True, True]


@pytest.mark.parametrize("seed", range(3))
def test_diabetes_gives_table_11(seed):
    diabetes = load_diabetes()
    model = ECM(3, delta=100, focal_sets="overlapping", random_state=seed)
    sets = model.fit(standardized(diabetes.X)).partition_.set_labels
    table = pd.crosstab(diabetes.y, sets).to_numpy()
    expected = [[8, 17, 0, 11], [2, 68, 0, 6], [1, 10, 21, 1]]
    assert sorted(map(tuple, table.T)) == sorted(zip(*expected, strict=True))


def test_butterfly_gives_example_2():
    model = ECM(2, delta=100, random_state=0).fit(load_butterfly().X)
    masses = model.partition_.masses[:, 1:]
    left = [1, 0, 2] if masses[3, 0] > 0.5 else [0, 1, 2]
    # [D20] prints masses of a run that had not converged fully.
    np.testing.assert_allclose(masses[3, left], [0.049, 0.863, 0.088], atol=0.004)
    np.testing.assert_allclose(masses[4, left], [0.074, 0.558, 0.368], atol=0.004)


# Laws.


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_masses_and_criterion_are_those_of_the_paper(seed):
    criterion, X, centers = problem(seed)
    masses, objective = step(criterion, Points(X), centers)
    np.testing.assert_allclose(masses, literal_masses(criterion, X, centers), atol=1e-12)
    assert objective == pytest.approx(literal_criterion(criterion, X, masses, centers))


@settings(deadline=None, max_examples=40)
@given(SEEDS)
def test_no_other_masses_and_no_other_centers_cost_less(seed):
    criterion, X, centers = problem(seed)
    masses, lowest = step(criterion, Points(X), centers)
    rng = np.random.default_rng(seed)
    others = rng.dirichlet(np.ones(masses.shape[1]), size=len(X))
    near = 0.99 * masses + 0.01 * others
    assert literal_criterion(criterion, X, near, centers) >= lowest
    best = best_centers(criterion, Points(X), masses, centers)
    lowest = literal_criterion(criterion, X, masses, best)
    elsewhere = best + 0.01 * rng.normal(size=best.shape)
    assert literal_criterion(criterion, X, masses, elsewhere) >= lowest


@settings(deadline=None, max_examples=30)
@given(SEEDS)
def test_criterion_never_rises(seed):
    criterion, X, centers = problem(seed, n=25)
    history = []
    for _ in range(20):
        masses, objective = step(criterion, Points(X), centers)
        history.append(objective)
        centers = best_centers(criterion, Points(X), masses, centers)
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(history))


@settings(deadline=None, max_examples=30)
@given(SEEDS)
def test_relations_are_points_without_coordinates(seed):
    criterion, X, _ = problem(seed)
    points, relations = Points(X), Relations(squareform(pdist(X)) ** 2)
    rows = np.random.default_rng(seed).choice(len(X), 3, replace=False)
    options = {"tol": 1e-13, "max_iter": 50}
    one = alternate(criterion, points, points.objects(rows), **options)
    other = alternate(criterion, relations, relations.objects(rows), **options)
    np.testing.assert_allclose(other.masses, one.masses, atol=1e-6)
    np.testing.assert_allclose(other.centers @ X, one.centers, atol=1e-5)
    np.testing.assert_allclose(other.centers.sum(axis=1), 1.0)
    assert other.space.constant == 0.0


@settings(deadline=None, max_examples=30)
@given(SEEDS)
def test_spread_is_the_least_that_leaves_no_distance_negative(seed):
    rng = np.random.default_rng(seed)
    D = np.triu(rng.uniform(size=(10, 10)), 1)
    relations = Relations((D + D.T) ** 2)
    centers = rng.dirichlet(np.ones(10), size=3)
    shares = np.eye(3)
    before = relations.squared_distances(centers, shares)
    spread = relations.spread(centers, shares)
    after = spread.squared_distances(centers, shares)
    assert after.min() >= 0.0
    if before.min() < 0.0:
        assert after.min() == pytest.approx(0.0, abs=1e-10)
        apart = ~np.eye(10, dtype=bool)
        np.testing.assert_allclose((spread.squares - relations.squares)[apart], spread.constant)
    else:
        assert spread is relations


def test_dissimilarities_that_are_not_euclidean_are_clustered():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 10)
    D = np.where(groups[:, None] == groups, 1.0, 8.0) + np.triu(rng.uniform(0, 3, (20, 20)))
    D = (np.triu(D, 1) + np.triu(D, 1).T) ** 2
    model = RECM(2, metric="precomputed", random_state=0).fit(D)
    assert len(set(zip(model.labels_.tolist(), groups.tolist(), strict=True))) == 2
    assert model.spread_ > 0.0
    assert (model.partition_.set_labels != 0).all()
    assert model.delta_ == pytest.approx(np.quantile(squareform(D), 0.95))


# Invariances and conventions.


def test_recm_of_distances_is_ecm():
    iris = load_iris().X
    ecm = ECM(3, delta=10, focal_sets="overlapping", start=iris.iloc[[0, 60, 120]]).fit(iris)
    options = {"delta": 10.0, "focal_sets": "overlapping", "start": [0, 60, 120]}
    for metric, X in [("euclidean", iris), ("precomputed", squareform(pdist(iris)))]:
        recm = RECM(3, metric=metric, **options).fit(X)
        np.testing.assert_allclose(recm.partition_.masses, ecm.partition_.masses, atol=1e-7)
        np.testing.assert_allclose(recm.coefficients_ @ iris.to_numpy(), ecm.centers_, atol=1e-7)


@pytest.mark.parametrize(("factor", "shift"), [(1e12, 0.0), (1e-12, 0.0), (1.0, 1e9)])
def test_units_and_origin_do_not_matter(factor, shift):
    X = load_iris().X.to_numpy()
    start = X[[0, 60, 120]]
    plain = ECM(3, start=start).fit(X)
    moved = ECM(3, delta=10 * factor, start=start * factor + shift).fit(X * factor + shift)
    np.testing.assert_allclose(moved.partition_.masses, plain.partition_.masses, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_delta_in_other_units_gives_the_same_masses(seed):
    # with the program's own starts; a power of 2 changes no bit, any other factor only rounding
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(m, 1, (15, 3)) for m in (0, 5, 9)])
    options = {"focal_sets": str(rng.choice(["full", "pairs", "overlapping"])), "random_state": 0}
    delta, exact, factor = (
        rng.uniform(3, 12),
        2.0 ** rng.integers(-40, 40),
        10 ** rng.uniform(-9, 9),
    )
    plain = ECM(3, delta=delta, **options).fit(X)
    moved = ECM(3, delta=delta * exact, **options).fit(X * exact)
    np.testing.assert_array_equal(moved.partition_.masses, plain.partition_.masses)
    np.testing.assert_array_equal(moved.centers_, plain.centers_ * exact)
    moved = ECM(3, delta=delta * factor, **options).fit(X * factor)
    np.testing.assert_allclose(moved.partition_.masses, plain.partition_.masses, atol=1e-6)


def test_data_that_are_wide_beside_delta_are_warned_of():
    X = load_iris().X * 1e12
    with pytest.warns(DataWarning, match="100% of the mass is on the empty set") as caught:
        ECM(3, random_state=0).fit(X)
    text = str(caught[0].message)
    assert "most mass of 150 of 150 objects: `delta=10.0`, the distance to the empty set" in text
    # the value that it suggests is one that works
    suggested = float(re.search(r"objects are below (\S+), a usual value", text)[1])
    found = ECM(3, delta=suggested, random_state=0).fit(X)
    assert found.partition_.masses[:, 0].mean() < 0.2
    with pytest.warns(DataWarning, match="on the empty set"):
        RECM(3, delta=10.0, random_state=0).fit(X)


def test_empty_set_flags_the_outlier():
    # The butterfly of Masson and Denoeux (2008) has a twelfth point far above the others.
    X = np.vstack([load_butterfly().X, [0.0, 10.0]])
    partition = ECM(2, delta=5, random_state=0).fit(X).partition_
    assert partition.set_labels[11] == 0
    assert not (partition.set_labels[:11] == 0).any()


def test_new_objects_get_the_masses_that_fitted_ones_have():
    iris = load_iris().X
    model = ECM(3, random_state=0).fit(iris)
    masses = model.predict_masses(iris)
    np.testing.assert_array_equal(masses, model.partition_.masses)
    np.testing.assert_array_equal(model.predict(iris), model.labels_)
    at_centers = model.predict_masses(pd.DataFrame(model.centers_, columns=iris.columns))
    np.testing.assert_allclose(at_centers[:, 1:4], np.eye(3), atol=1e-9)


def test_same_seed_same_bytes_and_more_trials_are_never_worse():
    X = np.random.default_rng(0).normal(size=(60, 2))
    one, two = (ECM(4, start="random", random_state=5).fit(X) for _ in range(2))
    assert one.partition_.masses.tobytes() == two.partition_.masses.tobytes()
    many = ECM(4, start="random", n_trials=8, random_state=5).fit(X)
    assert many.objective_ <= one.objective_


def test_index_of_a_frame_is_kept_and_integers_are_taken():
    frame = load_butterfly().X.set_axis([f"p{i}" for i in range(11)])
    partition = ECM(2, delta=100, random_state=0).fit(frame).partition_
    assert list(partition.to_frame().index) == list(frame.index)
    whole = frame.round().astype(int)
    one = ECM(2, random_state=0).fit(whole).partition_.masses
    other = ECM(2, random_state=0).fit(whole.astype(np.float32)).partition_.masses
    np.testing.assert_array_equal(one, other)


def test_one_cluster_and_all_clusters():
    X = load_butterfly().X
    one = ECM(1, delta=100).fit(X).partition_
    assert one.focal_sets.tolist() == [[False], [True]]
    assert one.masses[:, 1].min() > 0.99
    omega = ECM(3, focal_sets="singletons", omega=True).fit(X).partition_
    assert omega.focal_sets[-1].all()


# Messages.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "`n_clusters` must be an integer >= 1, got 0"),
        ({"n_clusters": 2.5}, "`n_clusters` must be an integer >= 1, got 2.5"),
        ({"alpha": -1.0}, "`alpha` must be a finite number >= 0, got -1.0"),
        ({"beta": 1.0}, "`beta` must be a finite number > 1, got 1.0"),
        ({"beta": "2"}, "`beta` must be a finite number > 1, got '2'"),
        ({"delta": 0.0}, "`delta` must be a positive finite number, got 0.0"),
        ({"focal_sets": "trios"}, "`focal_sets` must be one of 'singletons', 'pairs'"),
        ({"start": "best"}, "`start` must be one of 'kmeans', 'random', got 'best'"),
        ({"n_trials": 0}, "`n_trials` must be an integer >= 1, got 0"),
        ({"n_clusters": 12}, "at least 13 for n_clusters=12, got 11 distinct of 11"),
        ({"tol": 2.0}, "`tol` must be a number in the open interval"),
        ({"random_state": -1}, "`random_state` must be an integer >= 0, got -1"),
    ],
)
@pytest.mark.parametrize("method", [ECM, RECM])
def test_bad_parameters_are_refused(method, parameters, message):
    with pytest.raises(ValueError, match=message):
        method(**{"n_clusters": 2, **parameters}).fit(load_butterfly().X)


def test_bad_starts_and_matrices_are_refused():
    X = load_butterfly().X
    with pytest.raises(ValueError, match=r"`start` must have shape \(2, 2\), got \(3, 2\)"):
        ECM(2, start=np.zeros((3, 2))).fit(X)
    with pytest.raises(ValueError, match=r"`start` must be 2 distinct objects in 0..10"):
        RECM(2, start=[1, 1]).fit(X)
    with pytest.raises(ValueError, match="`metric` must be one of 'euclidean', 'precomputed'"):
        RECM(2, metric="cosine").fit(X)
    with pytest.raises(ValueError, match=r"square, got shape \(11, 2\)"):
        RECM(2, metric="precomputed").fit(X)
    with pytest.raises(ValueError, match="0 on the diagonal, got 1 in row 0"):
        RECM(2, metric="precomputed").fit(np.ones((4, 4)))
    with pytest.raises(ValueError, match="Negative values in data, -1 in row 0, column 1"):
        RECM(2, metric="precomputed").fit(np.eye(4) - 1)
    with pytest.raises(ValueError, match="symmetric, got 1 in row 0, column 1 and 0"):
        RECM(2, metric="precomputed").fit(np.triu(np.ones((4, 4)), 1))


def test_an_early_end_is_told():
    with pytest.warns(ConvergenceWarning, match="after 2 iterations; raise `max_iter`"):
        ECM(3, max_iter=2, random_state=0).fit(load_iris().X)


@parametrize_with_checks([ECM(), RECM()])
def test_estimators_meet_the_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [ECM(2), RECM(2), EVCLUS(2)])
def test_differences_whose_squares_underflow_are_refused(estimator):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"must vary by 1e-150 or more.*Multiply by a constant"):
        estimator.fit(X * 1e-170)
