from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart import focal_sets
from credpart.focal import (
    KINDS,
    canonical_order,
    check_focal_sets,
    check_sets,
    cluster_similarity,
    disjoint_matrix,
    inclusion_matrix,
    intersection_matrix,
    overlapping_pairs,
    same_matrix,
    set_names,
)

# s_kl of [D20, Section 4.2] for 1000 rows of GvHD, from mclust 6.0.0's fit (VVV, c = 7).
GVHD = np.array(
    [
        [81.88, 1.28, 0.81, 5.38, 1.50, 1.99, 3.89],
        [1.28, 92.65, 0.08, 3.51, 3.45, 4.03, 0.07],
        [0.81, 0.08, 20.10, 4.41, 7.14, 0.02, 0.29],
        [5.38, 3.51, 4.41, 187.09, 38.69, 0.64, 0.00],
        [1.50, 3.45, 7.14, 38.69, 264.11, 11.05, 0.00],
        [1.99, 4.03, 0.02, 0.64, 11.05, 80.92, 0.00],
        [3.89, 0.07, 0.29, 0.00, 0.00, 0.00, 96.82],
    ]
)


def as_sets(focal):
    return [frozenset(np.flatnonzero(row).tolist()) for row in focal]


def powerset(c, sizes):
    return [frozenset(s) for size in sizes for s in combinations(range(c), size)]


def families():
    """Distinct sets of at most 4 clusters, the empty set possibly among them."""

    def rows(c):
        row = st.lists(st.booleans(), min_size=c, max_size=c)
        return st.lists(row, min_size=1, max_size=12, unique_by=tuple)

    return st.integers(1, 4).flatmap(rows).map(lambda rows: np.array(rows, dtype=bool))


@pytest.mark.parametrize("c", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("singletons", lambda c: (1,)),
        ("pairs", lambda c: (1, 2)),
        ("full", lambda c: range(1, c + 1)),
    ],
)
def test_named_kinds_are_the_sets_of_their_sizes_in_order(kind, sizes, c):
    assert as_sets(focal_sets(c, kind)) == powerset(c, sizes(c))


@pytest.mark.parametrize("c", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["singletons", "pairs", "full"])
def test_omega_comes_last_and_the_empty_set_first_and_both_only_once(kind, c):
    plain = as_sets(focal_sets(c, kind))
    both = as_sets(focal_sets(c, kind, omega=True, empty=True))
    assert both[0] == frozenset()
    assert both[-1] == frozenset(range(c))
    assert len(set(both)) == len(both)
    assert [s for s in both[1:] if s in plain] == plain


def test_omega_adds_nothing_to_the_pairs_of_two_clusters_or_to_one_cluster():
    assert len(focal_sets(2, "pairs", omega=True)) == 3
    assert len(focal_sets(1, "singletons", omega=True)) == 1


def test_full_reaches_twelve_clusters_and_refuses_thirteen():
    assert focal_sets(12, "full").shape == (4095, 12)
    with pytest.raises(ValueError, match=r"at most 12 when `kind` is 'full', got 13.*'pairs'"):
        focal_sets(13, "full")
    with pytest.raises(ValueError, match=r"got 1000000, which has 2\^1000000"):
        focal_sets(10**6, "full")


def test_chosen_pairs_are_sorted_and_taken_once():
    chosen = focal_sets(4, "pairs", pairs=[(3, 1), (0, 2), (1, 3)])
    assert as_sets(chosen) == [*powerset(4, [1]), frozenset({0, 2}), frozenset({1, 3})]
    assert len(focal_sets(4, "pairs", pairs=[])) == 4


def test_a_given_array_keeps_its_order_and_is_not_changed():
    given_sets = np.array([[1, 1, 0], [0, 0, 1]])
    assert as_sets(focal_sets(3, given_sets)) == [{0, 1}, {2}]
    extended = focal_sets(3, given_sets, omega=True, empty=True)
    assert as_sets(extended) == [frozenset(), {0, 1}, {2}, {0, 1, 2}]
    assert focal_sets(3, extended, omega=True, empty=True).tolist() == extended.tolist()


@pytest.mark.parametrize("kind", ["pairs", "full", [[1, 0, 1], [0, 1, 0]]])
def test_the_result_is_boolean_and_read_only(kind):
    focal = focal_sets(3, kind)
    assert focal.dtype == bool
    with pytest.raises(ValueError, match="read-only"):
        focal[0, 0] = False


def test_overlapping_takes_the_mutual_neighbours_and_the_singletons():
    # [D20] finds f = 12 sets with K = 2 on its own sample of 1000 rows; so does this one.
    focal = focal_sets(7, "overlapping", similarity=GVHD, overlap=2)
    assert len(focal) == 12
    assert set_names(focal[7:]) == ["{1,4}", "{1,7}", "{2,6}", "{4,5}", "{5,6}"]


def test_overlapping_reproduces_the_pair_of_evclust_on_iris():
    # evclust 2.0.3, ecm() on iris, then its similarity and mutual nearest pair with K = 1.
    similarity = [[47.0158, 3.33976, 1.57354], [3.33976, 39.3194, 11.3321]]
    similarity.append([1.57354, 11.3321, 31.1741])
    assert overlapping_pairs(similarity, 1).tolist() == [[1, 2]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8))
@settings(deadline=None, max_examples=40)
def test_overlapping_pairs_are_mutual_neighbours_by_the_definition(seed, c, K):
    s = cluster_similarity(np.random.default_rng(seed).dirichlet(np.full(c, 0.1), size=20))

    def neighbours(k):
        others = sorted((j for j in range(c) if j != k and s[k, j] > 0), key=lambda j: -s[k, j])
        return others[:K]

    literal = [
        [k, j] for k, j in combinations(range(c), 2) if j in neighbours(k) and k in neighbours(j)
    ]
    assert overlapping_pairs(s, K).tolist() == literal


def test_clusters_that_never_meet_do_not_overlap():
    assert overlapping_pairs(np.eye(4), 3).shape == (0, 2)
    assert len(focal_sets(4, "overlapping", similarity=np.eye(4))) == 4


def test_ties_go_to_the_lowest_cluster():
    assert overlapping_pairs(np.ones((3, 3)), 1).tolist() == [[0, 1]]


def test_similarity_is_the_sum_of_products():
    posteriors = np.random.default_rng(0).dirichlet(np.ones(4), size=30)
    literal = [[sum(p[k] * p[j] for p in posteriors) for j in range(4)] for k in range(4)]
    np.testing.assert_allclose(cluster_similarity(posteriors), literal)


def test_fifty_overlapping_clusters_need_few_sets():
    centres = np.arange(50.0)
    x = np.linspace(0, 49, 2000)[:, None]
    weights = np.exp(-2 * (x - centres) ** 2)
    similarity = cluster_similarity(weights / weights.sum(axis=1, keepdims=True))
    focal = focal_sets(50, "overlapping", similarity=similarity, overlap=2)
    assert as_sets(focal[50:]) == [{k, k + 1} for k in range(49)]
    assert disjoint_matrix(focal).shape == (99, 99)


@given(families())
@settings(deadline=None, max_examples=40)
def test_matrices_follow_their_definitions(focal):
    sets = as_sets(focal)
    f = range(len(sets))
    S = [[float(k == j and len(sets[k]) == 1) for j in f] for k in f]
    C = [[float(not sets[k] & sets[j]) for j in f] for k in f]
    within = [[float(bool(sets[k]) and sets[k] <= sets[j]) for j in f] for k in f]
    assert same_matrix(focal).tolist() == S
    assert disjoint_matrix(focal).tolist() == C
    assert inclusion_matrix(focal, focal).tolist() == within
    assert (intersection_matrix(focal, focal) == 1.0 - np.array(C)).all()


def test_the_empty_set_is_disjoint_from_all():
    assert (disjoint_matrix(focal_sets(3, "full", empty=True))[0] == 1.0).all()


@given(families())
@settings(deadline=None, max_examples=40)
def test_canonical_order_is_by_size_then_lexicographic(focal):
    ordered = [sorted(s) for s in as_sets(canonical_order(focal[::-1]))]
    assert ordered == sorted(map(sorted, as_sets(focal)), key=lambda s: (len(s), s))


def test_names_count_from_one_unless_clusters_have_names():
    focal = focal_sets(3, "pairs", empty=True)
    assert set_names(focal) == ["∅", "{1}", "{2}", "{3}", "{1,2}", "{1,3}", "{2,3}"]
    assert set_names(focal, ["se", "ve", "vi"])[4:] == ["{se,ve}", "{se,vi}", "{ve,vi}"]


@pytest.mark.parametrize(
    "value", [[0, 2], (2, 0), {0, 2}, range(0, 3, 2), np.array([0, 2]), [True, False, True]]
)
def test_sets_are_read_from_clusters_and_from_masks(value):
    assert check_sets("sets", value, 3).tolist() == [True, False, True]


def test_no_clusters_is_the_empty_set():
    assert not check_sets("sets", [], 3).any()
    assert check_sets("sets", np.eye(3, dtype=bool), 3).shape == (3, 3)


@pytest.mark.parametrize(
    "value", [3, [3], [-1], [0.5], "01", [[0, 1], [2]], [[1, 0, 0]], [True, False], None]
)
def test_sets_that_are_neither_are_refused(value):
    with pytest.raises(ValueError, match=r"`sets` must be clusters in 0..2, or a boolean array"):
        check_sets("sets", value, 3)


def test_every_kind_but_pairs_refuses_chosen_pairs():
    for kind in chain(set(KINDS) - {"pairs"}, [np.eye(2)]):
        with pytest.raises(ValueError, match="`pairs` must be None when `kind` is"):
            focal_sets(2, kind, pairs=[(0, 1)], similarity=np.eye(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "simple"}, "`kind` must be one of 'singletons', 'pairs', 'overlapping', 'full'"),
        ({"kind": 3}, r"`kind` must be one of .*'full' or an \(f, 3\) array, got 3"),
        ({"kind": None}, r"or an \(f, 3\) array, got None"),
        ({"kind": np.eye(2)}, r"`kind` must be an \(f, 3\) array of 0 and 1.*shape \(2, 2\)"),
        ({"kind": np.zeros((0, 3))}, r"got shape \(0, 3\)"),
        ({"kind": [1, 0, 0]}, r"got shape \(3,\)"),
        (
            {"kind": [[1, 0, 0], [1, 0]]},
            r"array of 0 and 1, one row for each set, got \[\[1, 0, 0\]",
        ),
        ({"kind": [[1, 0, 0], [0, 2, 1]]}, "got 2 in row 1"),
        ({"kind": [[1, 0, np.nan]]}, "got nan in row 0"),
        ({"kind": [["1", "0", "1"]]}, "got 1 in row 0"),
        ({"kind": [[1, 1, 1], [1, 0, 0], [1, 1, 1]]}, r"distinct rows, got the set {1,2,3} again"),
        ({"kind": [[1, 0, 0], [1, 1, 0]]}, "every cluster in some set, got none with cluster 2"),
        ({"n_clusters": 0}, "`n_clusters` must be an integer >= 1, got 0"),
        ({"n_clusters": 2.5}, "`n_clusters` must be an integer >= 1, got 2.5"),
        ({"pairs": [(0, 3)]}, "`pairs` must be pairs of distinct clusters in 0..2"),
        ({"pairs": [(1, 1)]}, "`pairs` must be pairs of distinct clusters"),
        ({"pairs": [0, 1]}, "`pairs` must be pairs of distinct clusters"),
        ({"kind": "overlapping"}, r"`similarity` must be a \(3, 3\) array.*cluster_similarity"),
        ({"kind": "overlapping", "similarity": np.eye(2)}, r"shape \(3, 3\), got \(2, 2\)"),
        ({"kind": "overlapping", "similarity": -np.eye(3)}, "finite and non-negative, got -1.0"),
        ({"kind": "overlapping", "similarity": np.full((3, 3), np.nan)}, "finite and.*got nan"),
        ({"kind": "overlapping", "similarity": np.tri(3)}, "`similarity` must be symmetric"),
        ({"kind": "overlapping", "similarity": np.eye(3), "overlap": 0}, "`overlap` must be an"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        focal_sets(**{"n_clusters": 3, **arguments})


def test_other_functions_refuse_bad_arguments():
    with pytest.raises(ValueError, match=r"`similarity` must have shape \(c, c\), got \(2, 3\)"):
        overlapping_pairs(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"`posteriors` must have shape \(n, c\), got \(3,\)"):
        cluster_similarity([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="`cluster_names` must be 2 distinct names"):
        set_names(np.eye(2, dtype=bool), ["a", "a"])
    with pytest.raises(ValueError, match="`cluster_names` must be 2 distinct names, got 'ab'"):
        set_names(np.eye(2, dtype=bool), "ab")
    with pytest.raises(ValueError, match=r"`focal_sets` must be an \(f, c\) array"):
        check_focal_sets(1.0)


def test_weights_count_in_the_similarity_of_clusters():
    P = np.random.default_rng(0).dirichlet(np.ones(3), size=6)
    weights = [1, 0, 2, 3, 1, 1]
    np.testing.assert_allclose(
        cluster_similarity(P, sample_weight=weights),
        cluster_similarity(P.repeat(weights, axis=0)),
    )
