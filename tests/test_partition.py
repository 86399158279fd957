from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart import EvidentialPartition, focal_sets
from credpart.errors import InputError
from credpart.focal import set_names
from credpart.partition import relational as relational_module
from credpart.partition.evidential import RULES

quick = settings(deadline=None, max_examples=40)


@st.composite
def partitions(draw, *, empty=True, most_clusters=4):
    """Random masses, many of them 0 or equal, on random distinct sets of clusters."""
    c = draw(st.integers(1, most_clusters))
    every = focal_sets(c, "full", empty=empty)
    keep = draw(st.lists(st.booleans(), min_size=len(every), max_size=len(every)).filter(any))
    sets = every[np.array(keep)]
    n = draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 4), min_size=len(sets), max_size=len(sets)).filter(any)
    weights = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)
    return EvidentialPartition(weights / weights.sum(axis=1, keepdims=True), sets)


def as_sets(focal):
    return [frozenset(np.flatnonzero(row).tolist()) for row in focal]


def mass_functions(partition):
    """The masses of each object as a dictionary over frozensets: the paper's own form."""
    sets = as_sets(partition.focal_sets)
    return [dict(zip(sets, row, strict=True)) for row in partition.masses.tolist()]


@pytest.fixture
def example_2():
    masses = np.array([[0.049, 0.863, 0.088], [0.074, 0.558, 0.368]])
    return EvidentialPartition(masses, np.array([[1, 0], [0, 1], [1, 1]], dtype=bool))


@pytest.fixture
def with_outlier():
    """One object certain, one ambiguous, one an outlier, one nothing but an outlier."""
    masses = [[0.1, 0.7, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.6, 0.3, 0.1, 0.0], [1.0, 0, 0, 0]]
    return EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1], [1, 1]])


# The paper


def test_relational_reproduces_example_2(example_2):
    same, apart, unknown = example_2.relational()
    assert same[0, 1] == pytest.approx(0.485, abs=5e-4)
    assert apart[0, 1] == pytest.approx(0.0912, abs=5e-5)
    # [D20] prints 0.423, cut off; 1 - 0.485180 - 0.091204 = 0.423616.
    assert unknown[0, 1] == pytest.approx(0.423616, abs=5e-7)


def test_pairwise_reproduces_example_2(example_2):
    belief, plausibility = example_2.pairwise()
    assert belief[0, 1] == pytest.approx(0.485, abs=5e-4)
    # [D20] prints 0.908 because it adds two rounded masses.
    assert plausibility[0, 1] == pytest.approx(0.909, abs=5e-4)


@quick
@given(partitions())
def test_belief_and_plausibility_follow_their_definitions(partition):
    c = partition.n_clusters
    every = focal_sets(c, "full", empty=True)
    for functions, values in (
        (lambda m, A: sum(v for B, v in m.items() if B and B <= A), partition.belief(every)),
        (lambda m, A: sum(v for B, v in m.items() if B & A), partition.plausibility(every)),
    ):
        literal = [[functions(m, A) for A in as_sets(every)] for m in mass_functions(partition)]
        np.testing.assert_allclose(values, literal, atol=1e-14)


def literal_relational(m_i, m_j):
    """Eq. (2) as two loops over sets; the empty set is set apart from "not the same"."""
    same = apart = unknown = 0.0
    for A, a in m_i.items():
        for B, b in m_j.items():
            same += a * b * (A == B and len(A) == 1)
            apart += a * b * (not A & B and bool(A) and bool(B))
            unknown += a * b * bool(A & B) * (not (A == B and len(A) == 1))
    return same, apart, unknown


@quick
@given(partitions())
def test_relational_is_equation_2_for_every_pair(partition):
    masses = mass_functions(partition)
    n = partition.n_objects
    values = np.stack(partition.relational(), axis=-1)
    for i, j in combinations(range(n), 2):
        np.testing.assert_allclose(values[i, j], literal_relational(masses[i], masses[j]))
        np.testing.assert_array_equal(values[i, j], values[j, i])
    np.testing.assert_array_equal(values[range(n), range(n)], [[1.0, 0.0, 0.0]] * n)


@quick
@given(partitions())
def test_pairwise_is_equation_3_for_every_pair(partition):
    masses = mass_functions(partition)
    belief, plausibility = partition.pairwise()
    for i, j in combinations(range(partition.n_objects), 2):
        same, _, unknown = literal_relational(masses[i], masses[j])
        assert belief[i, j] == belief[j, i] == pytest.approx(same)
        assert plausibility[i, j] == plausibility[j, i] == pytest.approx(same + unknown)
    assert (np.diag(belief) == 1.0).all()
    assert (np.diag(plausibility) == 1.0).all()


@quick
@given(partitions())
def test_relational_masses_and_conflict_sum_to_one(partition):
    empty = partition.masses @ ~partition.focal_sets.any(axis=1)
    conflict = empty[:, None] + empty - np.outer(empty, empty)
    np.fill_diagonal(conflict, 0.0)
    np.testing.assert_allclose(sum(partition.relational()) + conflict, 1.0)


@pytest.mark.parametrize("pairs_at_once", [1, 7, 2**20])
def test_condensed_is_the_upper_triangle_whatever_the_block(monkeypatch, pairs_at_once):
    monkeypatch.setattr(relational_module, "BLOCK_PAIRS", pairs_at_once)
    masses = np.random.default_rng(0).dirichlet(np.ones(6), size=5)
    partition = EvidentialPartition(masses, focal_sets(3, "pairs"))
    upper = np.triu_indices(5, k=1)
    for condensed, full in zip(partition.pairwise_condensed(), partition.pairwise(), strict=True):
        np.testing.assert_allclose(condensed, full[upper])
        np.testing.assert_array_equal(full, full.T)
    literal = literal_relational(*[mass_functions(partition)[i] for i in (1, 3)])
    np.testing.assert_allclose([matrix[1, 3] for matrix in partition.relational()], literal)


def test_condensed_of_one_object_is_empty():
    belief, plausibility = EvidentialPartition.from_hard([0]).pairwise_condensed()
    assert belief.shape == plausibility.shape == (0,)


# Laws


@quick
@given(partitions())
def test_belief_never_exceeds_plausibility(partition):
    every = focal_sets(partition.n_clusters, "full", empty=True)
    for belief, plausibility in (
        (partition.belief(every), partition.plausibility(every)),
        partition.pairwise(),
        partition.pairwise_condensed(),
    ):
        assert (belief >= 0.0).all()
        assert (belief <= plausibility + 1e-12).all()
        assert (plausibility <= 1.0).all()


@quick
@given(partitions(empty=False))
def test_plausibility_is_one_less_the_belief_of_the_complement(partition):
    every = focal_sets(partition.n_clusters, "full", empty=True)
    np.testing.assert_allclose(
        partition.plausibility(every), 1.0 - partition.belief(~every), atol=1e-12
    )


@quick
@given(partitions(), st.randoms(use_true_random=False))
def test_relabelling_clusters_moves_columns_and_no_pair(partition, random):
    order = list(range(partition.n_clusters))
    random.shuffle(order)
    moved = EvidentialPartition(partition.masses, partition.focal_sets[:, order])
    np.testing.assert_allclose(moved.belief(), partition.belief()[:, order])
    np.testing.assert_allclose(moved.plausibility(), partition.plausibility()[:, order])
    np.testing.assert_allclose(moved.pignistic, partition.pignistic[:, order])
    np.testing.assert_allclose(moved.nonspecificity, partition.nonspecificity)
    np.testing.assert_array_equal(moved.pairwise(), partition.pairwise())
    for rule in RULES:
        np.testing.assert_array_equal(
            moved.upper_approximation(rule), partition.upper_approximation(rule)[:, order]
        )


@quick
@given(partitions())
def test_pignistic_lies_between_normalised_belief_and_plausibility(partition):
    normal = partition.normalize()
    np.testing.assert_allclose(partition.pignistic.sum(axis=1), 1.0)
    assert (normal.belief() <= partition.pignistic + 1e-12).all()
    assert (partition.pignistic <= normal.plausibility() + 1e-12).all()


@quick
@given(partitions(), st.floats(0.001, 0.999))
def test_weakening_raises_no_belief_and_lowers_no_plausibility(partition, amount):
    weak = partition.weaken(amount)
    every = focal_sets(partition.n_clusters, "full")
    assert (weak.belief(every[:-1]) <= partition.belief(every[:-1]) + 1e-12).all()
    assert (weak.plausibility(every) >= partition.plausibility(every) - 1e-12).all()
    (belief, plausibility), (less, more) = partition.pairwise_condensed(), weak.pairwise_condensed()
    if partition.n_clusters > 1:
        assert (less <= belief + 1e-12).all()
    assert (more >= plausibility - 1e-12).all()
    for mass, sets in zip(weak.masses.T, weak.focal_sets, strict=True):
        if not sets.all():
            (place,) = np.flatnonzero((partition.focal_sets == sets).all(axis=1))
            given_up = np.minimum(partition.masses[:, place], amount)
            np.testing.assert_allclose(mass, partition.masses[:, place] - given_up, atol=1e-15)


@pytest.mark.parametrize("amount", [0.0, 1.0, -0.1, np.nan, "much", True])
def test_an_amount_of_weakening_is_between_0_and_1(amount):
    with pytest.raises(InputError, match="`amount` must be a number in the open interval"):
        EvidentialPartition.from_hard([0, 1]).weaken(amount)


@quick
@given(partitions())
def test_nonspecificity_is_its_definition_and_between_0_and_1(partition):
    c = partition.n_clusters
    literal = [
        sum(v * np.log2(len(A) or c) for A, v in m.items()) / (np.log2(c) if c > 1 else 1.0)
        for m in mass_functions(partition)
    ]
    np.testing.assert_allclose(partition.nonspecificity, literal, atol=1e-14)
    assert (partition.nonspecificity <= 1.0 + 1e-12).all()


@quick
@given(partitions())
def test_nondominated_clusters_follow_their_definition(partition):
    bel, pl = partition.belief(), partition.plausibility()
    c = partition.n_clusters
    literal = [
        [not any(bel[i, j] > pl[i, k] for j in range(c) if j != k) for k in range(c)]
        for i in range(partition.n_objects)
    ]
    np.testing.assert_array_equal(partition.nondominated, literal)


@pytest.mark.parametrize("rule", RULES)
@quick
@given(partition=partitions())
def test_approximations_are_nested_and_say_whether_an_object_is_sure(rule, partition):
    lower, upper = partition.lower_approximation(rule), partition.upper_approximation(rule)
    assert (lower <= upper).all()
    np.testing.assert_array_equal(lower.any(axis=1), upper.sum(axis=1) == 1)
    assert partition.rough(rule).upper_approximation().tolist() == upper.tolist()


# Special cases


@quick
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_a_hard_partition_is_certain_of_everything(labels):
    partition = EvidentialPartition.from_hard(labels, 5)
    same = np.equal.outer(labels, labels)
    np.testing.assert_array_equal(partition.labels, labels)
    np.testing.assert_array_equal(partition.pairwise(), [same, same])
    np.testing.assert_array_equal(partition.belief(), partition.plausibility())
    assert not partition.nonspecificity.any()
    assert partition.hard() == partition.fuzzy() == partition.rough("dominance") == partition
    for rule in RULES:
        lower, upper = partition.lower_approximation(rule), partition.upper_approximation(rule)
        np.testing.assert_array_equal(lower, upper)
        np.testing.assert_array_equal(upper.argmax(axis=1), labels)


def test_a_fuzzy_partition_has_belief_and_plausibility_alike():
    memberships = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
    partition = EvidentialPartition.from_fuzzy(memberships)
    np.testing.assert_array_equal(partition.belief(), memberships)
    np.testing.assert_array_equal(partition.plausibility(), memberships)
    np.testing.assert_array_equal(partition.pignistic, memberships)
    assert partition.fuzzy() == partition


@quick
@given(partitions())
def test_a_rough_partition_gives_its_sets_back(partition):
    sets = partition.upper_approximation()
    rough = EvidentialPartition.from_rough(sets)
    # Below Eq. (1): Bel and Pl are the indicators of the lower and upper approximations.
    np.testing.assert_array_equal(rough.upper_approximation(), sets)
    np.testing.assert_array_equal(rough.belief(), rough.lower_approximation())
    np.testing.assert_array_equal(rough.plausibility(), sets)
    assert len(rough.focal_sets) <= partition.n_clusters + partition.n_objects


def test_one_cluster_is_certain():
    partition = EvidentialPartition([[1.0], [1.0]], focal_sets(1))
    assert (partition.belief() == 1.0).all()
    assert (partition.plausibility() == 1.0).all()
    assert not partition.nonspecificity.any()
    np.testing.assert_array_equal(partition.pairwise(), np.ones((2, 2, 2)))
    assert "sure: 2 (100.0 %), in {1} 2" in partition.summary()


def test_fifty_clusters_with_overlapping_pairs():
    chain = [(k, k + 1) for k in range(49)]
    sets = focal_sets(50, "pairs", pairs=chain)
    masses = np.random.default_rng(0).dirichlet(np.full(99, 0.05), size=300)
    partition = EvidentialPartition(masses, sets)
    belief, plausibility = partition.pairwise()
    assert (belief <= plausibility).all()
    # Cluster 0 is in the sets {0} and {0, 1} alone.
    np.testing.assert_allclose(partition.plausibility([0]), masses[:, 0] + masses[:, 50])
    assert partition.to_frame().shape == (300, 2 + 99 + 100)


def test_ties_go_to_the_lowest():
    partition = EvidentialPartition([[0.25, 0.25, 0.5, 0]], [[1, 0], [0, 1], [1, 1], [0, 0]])
    assert partition.labels.tolist() == [0]
    assert EvidentialPartition.from_fuzzy([[0.5, 0.5]]).set_labels.tolist() == [0]


def test_outliers_are_in_no_approximation(with_outlier):
    for rule in RULES:
        assert not with_outlier.upper_approximation(rule)[2:].any()
    assert with_outlier.upper_approximation().tolist()[:2] == [[True, False], [True, True]]
    assert with_outlier.nondominated[:, 1].tolist() == [False, True, False, True]


def test_normalize_shares_the_mass_of_the_empty_set(with_outlier):
    normal = with_outlier.normalize()
    np.testing.assert_allclose(normal.masses[2], [0.75, 0.25, 0.0])
    # Nothing is known of the cluster of an object that lies wholly outside.
    np.testing.assert_array_equal(normal.masses[3], [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(with_outlier.pignistic[3], [0.5, 0.5])
    np.testing.assert_array_equal(with_outlier.nonspecificity[3], 1.0)
    assert normal.normalize() is normal


def test_normalize_adds_omega_only_for_an_object_wholly_outside():
    sets = focal_sets(3, "singletons", empty=True)
    assert len(EvidentialPartition([[0.5, 0.5, 0, 0]], sets).normalize().focal_sets) == 3
    normal = EvidentialPartition([[1.0, 0, 0, 0]], sets).normalize()
    assert normal.focal_sets[-1].all()
    assert normal.masses.tolist() == [[0.0, 0.0, 0.0, 1.0]]
    # A rest as small as the accuracy of fitted masses says nothing of clusters either.
    rest = EvidentialPartition([[1.0 - 1e-9, 1e-9, 0, 0]], sets).normalize()
    assert rest.masses.tolist() == [[0.0, 0.0, 0.0, 1.0]]
    alone = EvidentialPartition([[1.0]], [[0, 0]]).normalize()
    assert alone.focal_sets.tolist() == [[True, True]]


def test_empty_mass_is_in_neither_belief_nor_plausibility(with_outlier):
    everything = [True, True]
    np.testing.assert_allclose(with_outlier.belief(everything), [0.9, 0.9, 0.4, 0.0])
    np.testing.assert_allclose(with_outlier.plausibility(everything), [0.9, 0.9, 0.4, 0.0])
    assert not with_outlier.belief([]).any()
    assert not with_outlier.plausibility([]).any()


def test_sets_are_named_in_several_ways(example_2):
    by_index, by_mask = example_2.belief([1]), example_2.belief([False, True])
    np.testing.assert_array_equal(by_index, by_mask)
    np.testing.assert_array_equal(by_index, example_2.belief()[:, 1])
    assert example_2.belief(np.ones((3, 2), dtype=bool)).shape == (2, 3)


@quick
@given(value=partitions())
def test_counts_are_of_the_sets_of_highest_mass(value):
    counts = value.counts()
    assert list(counts) == set_names(value.focal_sets, value.cluster_names)
    assert list(counts.values()) == [
        sum(row == k for row in value.set_labels) for k in range(len(value.focal_sets))
    ]
