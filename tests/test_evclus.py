from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.estimator_checks import parametrize_with_checks

from credpart import EVCLUS, EvidentialPartition, focal_sets
from credpart._irqp.descent import AllPairs, extrapolate, sweep
from credpart.datasets import load_butterfly, load_diabetes, load_iris
from credpart.dissimilarities import dissimilarities
from credpart.errors import ConvergenceWarning
from credpart.evclus.conflicts import all_conflicts, sampled_conflicts, wanted_conflict
from credpart.evclus.sampling import SampledPairs, sample_partners
from credpart.focal import disjoint_matrix
from credpart.metrics import confusion

SEEDS = st.integers(0, 2**32 - 1)


def standardized(dataset):
    return (dataset.X - dataset.X.mean()) / dataset.X.std()


def literal_stress(X, masses, focal, pairs, quantile=0.9):
    """Sum over pairs (i, j) of (kappa - delta)^2 over that of delta^2, with loops."""
    distances = {(i, j): np.linalg.norm(X[i] - X[j]) for i, j in pairs}
    d0 = np.quantile(list(distances.values()), quantile)
    gamma = -np.log(0.05) / d0**2
    above = below = 0.0
    for (i, j), d in distances.items():
        delta = 1.0 - np.exp(-gamma * d**2)
        kappa = sum(
            masses[i, a] * masses[j, b]
            for a, A in enumerate(focal)
            for b, B in enumerate(focal)
            if not (A & B).any()
        )
        above, below = above + (kappa - delta) ** 2, below + delta**2
    return above / below


def problem(seed, n=11, c=3):
    """Points, random masses on the empty set, singletons, pairs and Omega, and the forms."""
    rng = np.random.default_rng(seed)
    focal = focal_sets(c, "pairs", omega=True, empty=True)
    return rng, rng.normal(size=(n, 2)), rng.dirichlet(np.ones(len(focal)), size=n), focal


def sampled_pairs(seed, n=11, k=4):
    rng, X, M, focal = problem(seed, n)
    given_ = dissimilarities(X, "euclidean")
    return sampled_conflicts(given_, 0.9, k, rng).pairs(focal), M


# Sampled pairs.


@pytest.mark.parametrize(("n", "k"), [(5, 2), (6, 3), (7, 4), (8, 6), (9, 3), (40, 11), (41, 11)])
def test_partners_are_distinct_mutual_and_k(n, k):
    partners = sample_partners(n, k, np.random.default_rng(n))
    related = np.zeros((n, n), dtype=int)
    np.add.at(related, (np.arange(n)[:, None], partners), 1)
    assert partners.shape[1] == (k + 1 if n % 2 and k % 2 else k)
    assert related.max() == 1
    assert not np.diagonal(related).any()
    np.testing.assert_array_equal(related, related.T)


def test_every_pair_is_as_likely():
    n, k, draws = 8, 3, 2000
    counts, rng = np.zeros((n, n)), np.random.default_rng(0)
    for _ in range(draws):
        counts[np.arange(n)[:, None], sample_partners(n, k, rng)] += 1
    shares = counts[np.triu_indices(n, 1)] / draws
    # Standard error .011; 28 pairs.
    np.testing.assert_allclose(shares, k / (n - 1), atol=0.045)


@settings(deadline=None, max_examples=8)
@given(SEEDS)
def test_sampled_pairs_meet_the_literal_sums(seed):
    pairs, M = sampled_pairs(seed)
    C, J, T = pairs
    errors = [
        (M[i] @ C @ M[j] - t) ** 2
        for i, row in enumerate(J)
        for j, t in zip(row, T[i], strict=True)
    ]
    assert pairs.objective(M) == pytest.approx(sum(errors) / 2)
    Q, u = pairs.row_problems(M, M.T @ M, slice(2, 5))
    for i in range(2, 5):
        literal_Q = sum(C @ np.outer(M[j], M[j]) @ C for j in J[i])
        literal_u = -2.0 * sum(t * C @ M[j] for j, t in zip(J[i], T[i], strict=True))
        np.testing.assert_allclose(Q[i - 2], literal_Q, atol=1e-12)
        np.testing.assert_allclose(u[i - 2], literal_u, atol=1e-12)


@settings(deadline=None, max_examples=8)
@given(SEEDS)
def test_with_all_partners_a_sample_is_all_pairs(seed):
    rng, X, M, focal = problem(seed)
    n, C = len(X), disjoint_matrix(focal)
    T = wanted_conflict(squareform(pdist(X)), 1.5)
    partners = sample_partners(n, n - 1, rng)
    every = AllPairs(C[None], T[None], np.ones(n))
    sample = SampledPairs(C, partners, T[np.arange(n)[:, None], partners])
    assert sample.objective(M) == pytest.approx(every.objective(M))
    rows, E = slice(1, 9), rng.dirichlet(np.ones(len(focal)), size=n) - M
    for one, other in zip(
        sample.row_problems(M, M.T @ M, rows), every.row_problems(M, M.T @ M, rows), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(
        sample.line_coefficients(M, E), every.line_coefficients(M, E), atol=1e-11
    )
    cross = [pairs.cross_terms(M[rows], E[rows], rows) for pairs in (sample, every)]
    assert cross[0] == pytest.approx(cross[1])
    (one, drop, _), (other, other_drop, _) = sweep(sample, M), sweep(every, M)
    assert drop == pytest.approx(other_drop)
    assert every.objective(one) == pytest.approx(every.objective(other))


@settings(deadline=None, max_examples=8)
@given(SEEDS)
def test_a_sweep_over_sampled_pairs_knows_by_how_much_it_lowers_the_stress(seed):
    pairs, M = sampled_pairs(seed, n=40, k=7)
    path = []
    for _ in range(3):
        before, J = M, pairs.objective(M)
        M, drop, _ = sweep(pairs, before)
        path.append((before, M))
        assert drop >= 0.0
        assert pairs.objective(M) == pytest.approx(J - drop, abs=1e-11)
    beyond, gain = extrapolate(pairs, path)
    assert gain >= 0.0
    assert pairs.objective(beyond) == pytest.approx(pairs.objective(M) - gain, abs=1e-11)


# The estimator.


@settings(deadline=None, max_examples=4)
@given(SEEDS)
def test_stress_is_that_of_the_papers_and_never_rises(seed):
    _, X, _, _ = problem(seed)
    model = EVCLUS(3, tol=1e-3, random_state=seed).fit(X)
    masses, focal = model.partition_.masses, model.partition_.focal_sets
    pairs = [(i, j) for i in range(len(X)) for j in range(i)]
    assert model.objective_ == pytest.approx(literal_stress(X, masses, focal, pairs), abs=1e-12)
    assert all(after <= before for before, after in pairwise(model.history_))


@pytest.mark.parametrize(
    ("k", "sets"), [(None, "singletons"), (30, "overlapping"), (30, "pairs"), (None, "full")]
)
def test_stress_never_rises_on_iris(k, sets):
    X = standardized(load_iris())[::2]
    model = EVCLUS(3, n_neighbors=k, focal_sets=sets, random_state=0).fit(X)
    assert all(after <= before for before, after in pairwise(model.history_))
    assert model.partition_.focal_sets[0].sum() == 0
    assert model.partition_.focal_sets[-1].all()


def test_all_neighbors_are_all_pairs_and_attributes_are_their_distances():
    X = standardized(load_iris())[::3]
    every = EVCLUS(3, random_state=0).fit(X)
    many = EVCLUS(3, n_neighbors=len(X) - 1, random_state=0).fit(X)
    np.testing.assert_array_equal(many.partition_.masses, every.partition_.masses)
    D = squareform(pdist(X))
    given_ = EVCLUS(3, metric="precomputed", random_state=0).fit(D)
    np.testing.assert_allclose(given_.partition_.masses, every.partition_.masses, atol=1e-6)
    assert given_.d0_ == pytest.approx(np.quantile(squareform(D), 0.9))


def test_partners_that_are_nearly_all_give_nearly_the_same_partition():
    X = standardized(load_iris())[::3]
    options = {"focal_sets": "singletons", "random_state": 0}
    every = EVCLUS(3, **options).fit(X).partition_
    most = EVCLUS(3, n_neighbors=len(X) - 3, **options).fit(X).partition_
    (one, _), (other, _) = every.pairwise_condensed(), most.pairwise_condensed()
    np.testing.assert_allclose(one, other, atol=0.05)


IRIS_TABLE_8 = [[2, 48, 0, 0, 0], [0, 0, 32, 10, 8], [2, 0, 6, 33, 9]]
DIABETES_TABLE_12 = [[8, 27, 0, 0, 1], [1, 75, 0, 0, 0], [1, 9, 21, 2, 0]]


def tables(dataset, columns, fits):
    found = [confusion(model.partition_, dataset.y) for model in fits]
    return np.array([t.reindex(columns=columns, fill_value=0).to_numpy() for t in found])


def test_iris_gives_table_8_within_what_seeds_vary():
    iris = load_iris()
    X = standardized(iris)
    options = {"n_neighbors": 50, "focal_sets": "overlapping"}
    fits = [EVCLUS(3, random_state=seed, **options).fit(X) for seed in range(5)]
    names = ["∅", "{setosa}", "{versicolor}", "{virginica}", "{versicolor,virginica}"]
    found = tables(iris, names, fits)
    # Counts move by up to 4 over ten seeds; [D20] shows one draw, of the sampled pairs too.
    assert np.abs(np.median(found, axis=0) - IRIS_TABLE_8).max() <= 4
    assert (found.min(axis=0) - 2 <= IRIS_TABLE_8).all()
    assert (found.max(axis=0) + 2 >= IRIS_TABLE_8).all()


def test_diabetes_gives_table_12_within_what_seeds_vary():
    # [D20] took the pair {no, ov}.  It is nearly as similar as {ch, no}: 13.8 against 14.4 over
    # all pairs, and the sample decides; so the pair is given here.
    diabetes = load_diabetes()
    X = standardized(diabetes)
    fits = []
    for seed in range(3):
        first = EVCLUS(3, n_neighbors=50, focal_sets="singletons", random_state=seed).fit(X)
        clusters = [
            np.bincount(first.labels_[diabetes.y == y]).argmax() for y in ("Normal", "Overt")
        ]
        sets = focal_sets(3, "pairs", pairs=[clusters], omega=True, empty=True)
        start = np.insert(first.partition_.masses, 4, 0.0, axis=1)
        again = EVCLUS(3, n_neighbors=50, focal_sets=sets, start=start, random_state=seed)
        fits.append(again.fit(X))
    names = ["{Chemical}", "{Normal}", "{Overt}", "{Normal,Overt}", "{Chemical,Normal,Overt}"]
    found = tables(diabetes, names, fits)
    assert np.abs(np.median(found, axis=0) - DIABETES_TABLE_12).max() <= 3
    assert (found.min(axis=0) - 1 <= DIABETES_TABLE_12).all()
    assert (found.max(axis=0) + 1 >= DIABETES_TABLE_12).all()


def test_empty_set_flags_outliers():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal([8, 0], 1, size=(30, 2)), [[4, 40]]])
    partition = EVCLUS(2, random_state=0).fit(X).partition_
    assert partition.set_labels[60] == 0
    assert (partition.set_labels[:60] != 0).all()


def test_same_seed_same_bytes_and_more_trials_are_never_worse():
    X = np.random.default_rng(0).normal(size=(30, 2))
    options = {"tol": 1e-3, "random_state": 3}
    one, two = (EVCLUS(3, n_neighbors=15, **options).fit(X) for _ in range(2))
    assert one.partition_.masses.tobytes() == two.partition_.masses.tobytes()
    single = EVCLUS(3, **options).fit(X)
    assert EVCLUS(3, n_trials=3, **options).fit(X).objective_ <= single.objective_


@pytest.mark.parametrize(("factor", "shift"), [(1e12, 0.0), (1e-12, 0.0), (1.0, 1e9)])
def test_units_and_origin_do_not_matter(factor, shift):
    X = load_butterfly().X.to_numpy()
    plain = EVCLUS(2, random_state=0).fit(X).partition_
    moved = EVCLUS(2, random_state=0).fit(X * factor + shift).partition_
    np.testing.assert_allclose(moved.pairwise()[0], plain.pairwise()[0], atol=1e-5)


def test_start_index_and_sets_are_the_users():
    frame = load_butterfly().X.set_axis([f"p{i}" for i in range(11)])
    start = EvidentialPartition.from_hard([0] * 5 + [1] * 6).masses @ np.eye(2, 4, 1)
    model = EVCLUS(2, start=start).fit(frame)
    assert model.labels_[[0, 10]].tolist() == [0, 1]
    assert list(model.partition_.to_frame().index) == list(frame.index)
    without = EVCLUS(3, focal_sets="singletons", omega=False, random_state=0).fit(frame)
    assert without.partition_.focal_sets.sum(axis=1).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "`n_clusters` must be an integer >= 1, got 0"),
        ({"n_neighbors": 0}, "`n_neighbors` must be an integer >= 1, got 0"),
        ({"metric": "cosine"}, "`metric` must be one of 'euclidean', 'precomputed', got 'cosine'"),
        ({"metric": "precomputed"}, r"square, got shape \(11, 2\)"),
        ({"focal_sets": "trios"}, "`focal_sets` must be one of 'singletons', 'pairs'"),
        ({"overlap": 0}, "`overlap` must be an integer >= 1, got 0"),
        ({"quantile": 1.0}, r"`quantile` must be a number in the open interval \(0, 1\), got 1.0"),
        ({"start": "kmeans"}, "`start` must be one of 'random', got 'kmeans'"),
        ({"start": np.eye(11, 3)}, "`start` must have rows summing to 1"),
        ({"start": np.eye(11, 11)}, r"`start` must have shape \(11, 4\), got \(11, 11\)"),
        ({"n_trials": 0}, "`n_trials` must be an integer >= 1, got 0"),
        ({"max_sweeps": 0}, "`max_sweeps` must be an integer >= 1, got 0"),
        ({"n_clusters": 11}, "at least 12 for n_clusters=11, got 11 distinct of 11"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        EVCLUS(**{"n_clusters": 2, **parameters}).fit(load_butterfly().X)


def test_objects_that_are_nearly_all_alike_are_refused():
    X = np.vstack([np.zeros((30, 2)), np.eye(2)])
    with pytest.raises(ValueError, match=r"`quantile` must be one .* got 0.5, where they are 0"):
        EVCLUS(2, quantile=0.5).fit(X)
    assert all_conflicts(dissimilarities(X, "euclidean"), 0.99).d0 > 0.0


def test_an_early_end_is_told():
    with pytest.warns(ConvergenceWarning, match="had not converged after 2 sweeps"):
        EVCLUS(3, max_sweeps=2, random_state=0).fit(load_iris().X)


@parametrize_with_checks([EVCLUS()])
def test_estimator_meets_the_contract(estimator, check):
    check(estimator)
