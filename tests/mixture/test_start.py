from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from sklearn.metrics import adjusted_rand_score

from credpart.datasets import load, make_mixture3
from credpart.mixture.covariance.matrices import pivots
from credpart.mixture.search import initialisation as start_module
from credpart.mixture.search.initialisation import (
    UNIT_FREE,
    WITH_UNITS,
    agglomerate,
    all_rises,
    balance,
    ellipsoidal,
    ellipsoidal_cost,
    initial_sets,
    scale,
    set_moments,
    sphere,
    starting_partitions,
    unite,
    ward,
)

from .reference import DATA, mclust

N_STARTS = len(WITH_UNITS) + 2  # all fixed partitions, and k-means twice

DIFFICULT = {
    "cloud": lambda rng: rng.standard_normal((40, 3)),
    "ties": lambda rng: rng.integers(0, 3, (60, 2)).astype(float),
    "grid": lambda rng: np.stack(np.meshgrid(range(6), range(6)), axis=-1).reshape(-1, 2) + 0.0,
    "line": lambda rng: np.arange(30.0)[:, None],
    "duplicates": lambda rng: np.repeat(rng.standard_normal((12, 2)), 8, axis=0),
    "outlier": lambda rng: np.vstack([rng.standard_normal((40, 2)), [[1e6, 0.0]]]),
    "dependent": lambda rng: rng.standard_normal((40, 1)) * [1.0, 2.0, -1.0],
    "constant": lambda rng: np.column_stack([rng.standard_normal(40), np.full(40, 7.0)]),
    "wide": lambda rng: rng.standard_normal((12, 20)),
}


@pytest.mark.parametrize("kind", DIFFICULT)
def test_every_start_has_all_its_clusters(kind):
    X = DIFFICULT[kind](np.random.default_rng(0))
    numbers = list(range(1, 9))
    starts = starting_partitions(X, numbers, N_STARTS)
    assert len(starts) == N_STARTS
    for partitions in starts:
        assert set(partitions) == set(numbers)
        for c, labels in partitions.items():
            assert_array_equal(np.unique(labels), np.arange(c))


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(3, 25),
    d=st.integers(1, 3),
    levels=st.integers(2, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_exactly_c_clusters_for_any_gridded_data(n, d, levels, seed):
    X = np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)
    distinct = len(np.unique(X, axis=0))
    assume(distinct > 1)
    numbers = list(range(1, distinct))
    for partitions in starting_partitions(X, numbers, len(WITH_UNITS)):
        for c, labels in partitions.items():
            assert_array_equal(np.unique(labels), np.arange(c))


@pytest.mark.parametrize("data", DATA)
def test_agglomeration_is_that_of_mclust(data):
    figures = mclust(data)
    labels = ellipsoidal(load(DATA[data]).X.to_numpy(), [figures["n_clusters"]])
    found = labels[figures["n_clusters"]]
    assert adjusted_rand_score(figures["start_labels"], found) == 1.0


def test_agglomeration_merges_the_cheapest_pair():
    # the literal form: all pairs of sets, from the data, at every step
    Z = balance(make_mixture3(25, random_state=0).X)
    offset = (Z**2).mean()

    def cost_of(members):
        rows = Z[members]
        W = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        with np.errstate(invalid="ignore"):  # one object has no spread
            return ellipsoidal_cost(np.array(len(rows) + 0.0), W, offset)

    sets = [[i] for i in range(25)]
    while len(sets) > 4:
        pairs = [(i, j) for j in range(len(sets)) for i in range(j)]
        rises = [cost_of(sets[i] + sets[j]) - cost_of(sets[i]) - cost_of(sets[j]) for i, j in pairs]
        i, j = pairs[int(np.argmin(rises))]
        sets[i] += sets.pop(j)
    expected = np.empty(25, dtype=int)
    for k, members in enumerate(sets):
        expected[members] = k
    cost = partial(ellipsoidal_cost, offset=offset)
    found = agglomerate(set_moments(Z, np.arange(25)), cost, [4])[4]
    assert adjusted_rand_score(expected, found) == 1.0


def test_partitions_are_nested():
    X = make_mixture3(60, random_state=0).X
    numbers = [2, 3, 5, 8, 60]
    found = ellipsoidal(X, numbers)
    for few, many in pairwise(numbers):
        pairs = set(zip(found[many].tolist(), found[few].tolist(), strict=True))
        assert len(pairs) == many


def test_merged_sets_are_the_sets_of_the_union():
    Z = np.random.default_rng(0).standard_normal((30, 3))
    labels = np.arange(30) % 5
    sets = set_moments(Z, labels)
    sizes, scatter = unite(sets.at([1]), sets.at([3, 4]))
    for place, other in enumerate((3, 4)):
        rows = Z[(labels == 1) | (labels == other)]
        assert sizes[place] == len(rows)
        assert_allclose(scatter[..., place], np.cov(rows.T, bias=True) * len(rows))
    sets.merge(1, 4)
    assert_array_equal(sets.sizes, [6, 12, 6, 6, 6])
    assert_allclose(sets.means[:, 1], rows.mean(axis=0))
    assert_array_equal(sets.scatter[..., 1], scatter[..., 1])


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_determinants_are_those_of_lapack(d):
    rows = np.random.default_rng(d).standard_normal((4, 5, d + 2, d))
    matrices = rows.mT @ rows
    assert_allclose(np.prod(pivots(matrices), axis=0), np.linalg.det(matrices))


def test_a_flat_set_has_no_volume():
    # of two objects that differ in one column only, the other pivots are 0
    scatter = np.diag([0.0, 8.0, 0.0])
    with np.errstate(invalid="ignore"):
        found = ellipsoidal_cost(np.array(2.0), scatter, 0.5)
    assert found == pytest.approx(2.0 * np.log((8.0 + 0.5) / 2.0))


@pytest.mark.parametrize("block", [1, 150, 10_000])
def test_the_size_of_a_block_changes_nothing(monkeypatch, block):
    sets = set_moments(make_mixture3(30, random_state=0).X, np.arange(30) // 2)
    cost = partial(ellipsoidal_cost, offset=0.1)
    own = cost(sets.sizes, sets.scatter)
    expected = all_rises(sets, own, cost)
    monkeypatch.setattr(start_module, "BLOCK", block)
    assert_array_equal(all_rises(sets, own, cost), expected)
    for i, j in np.ndindex(15, 15):
        rise = cost(*unite(sets.at(i), sets.at(j))) - own[i] - own[j]
        assert expected[i, j] == (pytest.approx(rise) if i < j else np.inf)


@settings(deadline=None, max_examples=25)
@given(n=st.integers(2, 40), seed=st.integers(0, 2**32 - 1))
def test_a_tree_is_cut_as_if_its_merges_were_done_one_by_one(n, seed):
    Z = np.random.default_rng(seed).standard_normal((n, 2))
    found = ward(Z, range(1, n + 1))
    labels = np.arange(n)
    for step, (one, other) in enumerate(linkage(Z, "ward")[:, :2]):
        assert_array_equal(found[n - step], np.unique(labels, return_inverse=True)[1])
        labels[(labels == one) | (labels == other)] = n + step
    assert_array_equal(found[1], np.zeros(n))


def test_scales():
    X = make_mixture3(100, random_state=0).X * [1.0, 1e5] + [3.0, -1e4]
    assert_allclose(scale(X).mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(scale(X).std(axis=0), 1.0)
    assert_allclose(np.cov(sphere(X).T, bias=True), np.eye(2), atol=1e-9)
    # halfway between: the variance along an axis is a root of what it is for scaled data
    spread = np.linalg.svd(scale(X), compute_uv=False)
    assert_allclose(np.diag(balance(X).T @ balance(X)), spread)
    line = np.column_stack([X, X.sum(axis=1)])
    assert balance(line).shape == sphere(line).shape == (100, 2)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repeated_rows(seed):
    X = make_mixture3(50, random_state=seed).X
    weights = np.random.default_rng(seed).integers(0, 4, 50)
    rows = np.repeat(np.arange(50), weights)
    place = np.cumsum(weights > 0) - 1
    once = starting_partitions(X[weights > 0], [2, 4], N_STARTS)
    repeated = starting_partitions(X[rows], [2, 4], N_STARTS)
    for one, other in zip(once, repeated, strict=True):
        for c in (2, 4):
            assert_array_equal(one[c][place[rows]], other[c])


def test_starts_are_deterministic():
    X = make_mixture3(80, random_state=0).X
    runs = [starting_partitions(X, [3, 5], N_STARTS, seed=4) for _ in range(2)]
    for one, other in zip(*runs, strict=True):
        assert_array_equal(one[3], other[3])
        assert_array_equal(one[5], other[5])


def test_seeds_of_k_means_start_again_from_zero():
    X = make_mixture3(60, random_state=0).X
    last, first = (starting_partitions(X, [2], n, (1 << 32) - 1, ()) for n in (2, 1))
    assert_array_equal(last[0][2], first[0][2])
    assert_array_equal(last[1][2], starting_partitions(X, [2], 1, 0, ())[0][2])


def test_order_of_rows_is_no_matter():
    X = make_mixture3(80, random_state=0).X
    order = np.random.default_rng(0).permutation(80)
    for one, other in zip(
        starting_partitions(X, [3], N_STARTS),
        starting_partitions(X[order], [3], N_STARTS),
        strict=True,
    ):
        assert_array_equal(one[3][order], other[3])


@pytest.mark.parametrize("seed", range(20))
def test_units_change_no_bit_of_unit_free_starts(seed):
    rng = np.random.default_rng(seed)
    X = load("iris").X.to_numpy() if seed % 2 else make_mixture3(150, random_state=seed).X
    units = 10.0 ** rng.uniform(-6.0, 6.0, X.shape[1])
    one, other = (
        starting_partitions(Z, [2, 3, 5], N_STARTS, starts=UNIT_FREE) for Z in (X, X * units)
    )
    for ours, theirs in zip(one, other, strict=True):
        for c in (2, 3, 5):
            assert_array_equal(ours[c], theirs[c])


def test_ten_thousand_objects_start_from_microclusters():
    # three clusters far apart: microclusters are pure, and agglomeration finds the clusters
    sample = make_mixture3(10_000, random_state=0)
    X = sample.X + 20.0 * np.eye(3)[sample.y][:, :2]
    for partitions in starting_partitions(X, [3], 2):
        assert adjusted_rand_score(sample.y, partitions[3]) == 1.0


def test_initial_sets(monkeypatch):
    monkeypatch.setattr(start_module, "MAX_OBJECTS", 300)
    Z = make_mixture3(500, random_state=0).X
    assert_array_equal(initial_sets(Z[:40], 50), np.arange(40))
    for rows in (Z[:250], Z):  # by Ward, by k-means
        sets = initial_sets(rows, 50)
        assert_array_equal(np.unique(sets), np.arange(sets.max() + 1))
        assert 40 <= sets.max() + 1 <= 50
        within = set_moments(rows, sets).scatter.trace().sum()
        assert within < 0.05 * ((rows - rows.mean(axis=0)) ** 2).sum()
    assert set(ward(Z, [2, 3])) == {2, 3}


@pytest.mark.parametrize("seeded", [20_000, 40])  # rows that microclusters are sought among
def test_more_clusters_than_initial_sets(monkeypatch, seeded):
    monkeypatch.setattr(start_module, "MAX_INITIAL_SETS", 10)
    monkeypatch.setattr(start_module, "MAX_OBJECTS", 20)
    monkeypatch.setattr(start_module, "MAX_FITTED", seeded)
    X = np.random.default_rng(0).standard_normal((120, 2))
    for partitions in starting_partitions(X, [3, 60, 119], N_STARTS):
        for c in (3, 60, 119):
            assert_array_equal(np.unique(partitions[c]), np.arange(c))
