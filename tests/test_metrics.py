import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, rand_score

from credpart import ECM, EvidentialPartition, focal_sets
from credpart.datasets import load_diabetes, load_iris
from credpart.metrics import (
    AGREEMENTS,
    DISTANCES,
    VIEWS,
    adjusted_rand,
    confusion,
    credal_distance,
    credal_rand,
    misplaced,
    nonspecificity,
    shares,
)

SEEDS = st.integers(0, 2**32 - 1)


def partition(seed, n=9, c=3, *, empty=False):
    rng = np.random.default_rng(seed)
    focal = focal_sets(c, "full", empty=empty)
    return EvidentialPartition(rng.dirichlet(np.full(len(focal), 0.3), size=n), focal)


def literal_pair(one, i, j):
    """Masses of {s}, {not s} and {s, not s}: Eq. (2) of [D20], with loops over focal sets."""
    masses = np.zeros(3)
    for A, a in zip(one.focal_sets, one.masses[i], strict=True):
        for B, b in zip(one.focal_sets, one.masses[j], strict=True):
            if not (A & B).any():
                masses[1] += a * b
            elif A.sum() == B.sum() == 1:
                masses[0] += a * b
            else:
                masses[2] += a * b
    return masses


JACCARD = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
LITERAL = {
    "jousselme": lambda p, q: 1.0 - np.sqrt(0.5 * (p - q) @ JACCARD @ (p - q)),
    "belief": lambda p, q: 1.0 - 0.5 * np.abs(p - q)[:2].sum(),
    "conflict": lambda p, q: 1.0 - p[0] * q[1] - p[1] * q[0],
}


@pytest.mark.parametrize("kind", AGREEMENTS)
@settings(deadline=None, max_examples=15)
@given(SEEDS, SEEDS)
def test_credal_rand_is_the_mean_over_pairs(kind, seed, other_seed):
    one, other = partition(seed), partition(other_seed, c=2)
    values = [
        LITERAL[kind](literal_pair(one, i, j), literal_pair(other, i, j))
        for i in range(9)
        for j in range(i)
    ]
    assert credal_rand(one, other, kind) == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("kind", AGREEMENTS)
@settings(deadline=None, max_examples=25)
@given(SEEDS, SEEDS, SEEDS)
def test_credal_rand_is_symmetric_in_range_and_blind_to_names(kind, seed, other_seed, shuffle):
    one, other = partition(seed, empty=True), partition(other_seed)
    value = credal_rand(one, other, kind)
    assert 0.0 <= value <= 1.0
    assert credal_rand(other, one, kind) == value
    order = np.random.default_rng(shuffle).permutation(3)
    renamed = EvidentialPartition(one.masses, one.focal_sets[:, order])
    assert credal_rand(renamed, other, kind) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("kind", DISTANCES)
@settings(deadline=None, max_examples=25)
@given(SEEDS, SEEDS, SEEDS)
def test_credal_distance_is_a_distance(kind, a, b, c):
    one, two, three = partition(a), partition(b), partition(c)
    assert credal_rand(one, one, kind) == 1.0
    assert credal_distance(one, one, kind) == 0.0
    direct = credal_distance(one, three, kind)
    by_two = credal_distance(one, two, kind) + credal_distance(two, three, kind)
    assert direct <= by_two + 1e-12


@pytest.mark.parametrize("kind", AGREEMENTS)
@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=12))
def test_of_hard_partitions_it_is_the_rand_index(kind, pairs):
    one, other = map(list, zip(*pairs, strict=True))
    expected = rand_score(one, other)
    assert credal_rand(one, other, kind) == pytest.approx(expected, abs=1e-12)
    hard = EvidentialPartition.from_hard(np.unique(one, return_inverse=True)[1])
    assert credal_rand(hard, other, kind) == pytest.approx(expected, abs=1e-12)


def test_conflict_does_not_see_imprecision_and_blocks_change_nothing(monkeypatch):
    vacuous = EvidentialPartition.from_rough(np.ones((5, 2)))
    assert credal_rand(vacuous, [0, 0, 1, 1, 1], "conflict") == 1.0
    assert credal_rand(vacuous, [0, 0, 1, 1, 1], "belief") == 0.5
    one, other = partition(1, n=30), partition(2, n=30)
    whole = credal_rand(one, other)
    monkeypatch.setattr("credpart.metrics.BLOCK_PAIRS", 70)
    assert credal_rand(one, other) == pytest.approx(whole, abs=1e-14)


@pytest.mark.parametrize("view", VIEWS)
def test_adjusted_rand_is_of_the_hard_view(view):
    one = partition(3, n=40)
    classes = np.random.default_rng(0).choice(["a", "b"], size=40)
    hard = {
        "plausibility": one.plausibility().argmax(axis=1),
        "pignistic": one.pignistic.argmax(axis=1),
        "belief": one.belief().argmax(axis=1),
        "mass": one.masses.argmax(axis=1),
    }
    expected = adjusted_rand_score(classes, hard[view])
    assert adjusted_rand(one, classes, view) == pytest.approx(expected)
    assert adjusted_rand(one, one, view) == 1.0


@pytest.mark.parametrize("view", VIEWS)
def test_outliers_are_a_group_of_their_own(view):
    # The last two are most plausibly in the first cluster, but more probably in none.
    masses = [[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0.7, 0.2, 0.1], [0.7, 0.2, 0.1]]
    one = EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1]])
    assert adjusted_rand(one, ["a", "a", "b", "b", "c", "c"], view) == 1.0
    assert adjusted_rand(one, ["a", "a", "b", "b", "a", "a"], view) < 1.0


def test_shares_and_nonspecificity():
    one = EvidentialPartition.from_rough([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]])
    assert shares(one) == (0.4, 0.0, 0.4, 0.2)
    assert nonspecificity(one) == pytest.approx((np.log(2) / np.log(3) + 2) / 5)


def test_confusion_gives_table_11_with_clusters_named_for_classes():
    diabetes = load_diabetes()
    X = (diabetes.X - diabetes.X.mean()) / diabetes.X.std()
    model = ECM(3, delta=100, focal_sets="overlapping", random_state=1).fit(X)
    table = confusion(model.partition_, diabetes.y)
    assert list(table.columns) == ["{Chemical}", "{Normal}", "{Overt}", "{Chemical,Normal}"]
    assert list(table.index) == ["Chemical", "Normal", "Overt"]
    assert table.to_numpy().tolist() == [[8, 17, 0, 11], [2, 68, 0, 6], [1, 10, 21, 1]]


def test_misplaced_counts_sets_without_the_class():
    sets = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]]
    classes = ["a", "a", "b", "b", "c", "c", "c", "a"]
    assert misplaced(EvidentialPartition.from_rough(sets), classes) == 1 / 8
    assert misplaced(EvidentialPartition.from_hard([0, 0, 1]), ["a", "b", "c"]) == 1 / 3


def test_confusion_keeps_names_and_names_clusters_that_match_no_class():
    iris = load_iris()
    hard = np.unique(iris.y, return_inverse=True)[1]
    hard[:10] = 3
    table = confusion(EvidentialPartition.from_hard(hard), iris.y)
    assert table.loc["setosa"].to_dict() == {
        "{setosa}": 40,
        "{versicolor}": 0,
        "{virginica}": 0,
        "{cluster 4}": 10,
    }
    named = EvidentialPartition.from_hard(hard, cluster_names=["p", "q", "r", "s"])
    assert list(confusion(named, iris.y).columns) == ["{p}", "{q}", "{r}", "{s}"]
    outlier = EvidentialPartition.from_rough([[0, 0], [1, 0], [0, 1]])
    assert confusion(outlier, ["a", "a", "b"]).columns[0] == "∅"


def test_outliers_do_not_name_clusters():
    # Five outliers of class b are the nearest to cluster 0, in which all objects are of class a.
    sets = focal_sets(2, "singletons", empty=True)
    masses = [[0.0, 1.0, 0.0]] * 2 + [[0.0, 0.0, 1.0]] * 2 + [[0.9, 0.1, 0.0]] * 5
    found = EvidentialPartition(masses, sets)
    classes = ["a", "a", "b", "b", *"bbbbb"]
    table = confusion(found, classes)
    assert list(table.columns) == ["∅", "{a}", "{b}"]
    assert table.to_numpy().tolist() == [[0, 2, 0], [5, 0, 2]]
    assert misplaced(found, classes) == 0.0


def test_bad_arguments_are_refused():
    one = partition(0)
    with pytest.raises(ValueError, match="`kind` must be one of 'belief', 'jousselme', 'conflict'"):
        credal_rand(one, one, "rand")
    with pytest.raises(ValueError, match="`kind` must be one of 'belief', 'jousselme', got 'con"):
        credal_distance(one, one, "conflict")
    with pytest.raises(ValueError, match="`view` must be one of 'plausibility'"):
        adjusted_rand(one, one, "hard")
    with pytest.raises(ValueError, match="`other` must have as many objects as `one`, 9, got 3"):
        credal_rand(one, [0, 1, 1])
    with pytest.raises(
        ValueError, match="`classes` must have 9 labels, one for each object, got 2"
    ):
        confusion(one, ["a", "b"])
    with pytest.raises(ValueError, match=r"`other` must have shape \(n,\), got \(1, 2\)"):
        adjusted_rand(one, [[0, 1]])
    with pytest.raises(ValueError, match="at least 2 objects, got 1"):
        credal_rand([0], [0])
