"""Belief, overlap, undecided and outlying parts of masses, and the words for them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from credpart import EvidentialPartition, focal_sets
from credpart.errors import InputError
from credpart.partition.describe import sets_by_word

quick = settings(deadline=None, max_examples=60)
thresholds = st.floats(0.05, 1.0)


@st.composite
def partitions(draw, *, empty=True, kind="full"):
    """Random masses, many of them 0 or equal, on random distinct sets of clusters."""
    c = draw(st.integers(1, 4))
    every = focal_sets(c, kind, empty=empty)
    keep = draw(st.lists(st.booleans(), min_size=len(every), max_size=len(every)).filter(any))
    sets = every[np.array(keep)]
    n = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 9), min_size=len(sets), max_size=len(sets)).filter(any)
    weights = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)
    return EvidentialPartition(weights / weights.sum(axis=1, keepdims=True), sets)


def literal(partition, threshold):
    """The definition, object by object and set by set."""
    for masses, label in zip(partition.masses.tolist(), partition.labels, strict=True):
        parts = {"belief": 0.0, "undecided": 0.0, "overlap": 0.0, "outlying": 0.0}
        for mass, members in zip(masses, partition.focal_sets, strict=True):
            clusters = set(np.flatnonzero(members))
            if not clusters:
                parts["outlying"] += mass
            elif len(clusters) > 1:
                parts["undecided"] += mass
            elif clusters == {label}:
                parts["belief"] += mass
            else:
                parts["overlap"] += mass
        doubts = {name: part for name, part in parts.items() if name != "belief"}
        largest = max(doubts, key=doubts.__getitem__)  # the first of equals
        word = "overlapping" if largest == "overlap" else largest
        yield parts, "sure" if parts["belief"] >= threshold else word


@quick
@given(partitions(), thresholds)
def test_parts_and_words_are_those_of_the_definition(partition, threshold):
    table = partition.doubt(threshold)
    for (parts, word), (_, row) in zip(
        literal(partition, threshold), table.iterrows(), strict=True
    ):
        shown = {name: row.get(name, 0.0) for name in parts}
        assert shown == pytest.approx(parts)
        doubts = sorted(
            (parts[name] for name in ("overlap", "undecided", "outlying")), reverse=True
        )
        if abs(parts["belief"] - threshold) > 1e-9 and doubts[0] - doubts[1] > 1e-9:
            assert row["verdict"] == word


@quick
@given(partitions(), thresholds)
def test_parts_sum_to_one_and_sure_objects_reach_the_threshold(partition, threshold):
    table = partition.doubt(threshold)
    parts = table.drop(columns="verdict")
    np.testing.assert_allclose(parts.sum(axis=1), 1.0, rtol=1e-14)
    assert ((parts >= 0.0) & (parts <= 1.0 + 1e-15)).all(axis=None)
    is_sure = table["verdict"] == "sure"
    assert (table.loc[is_sure, "belief"] >= threshold).all()
    assert (table.loc[~is_sure, "belief"] < threshold).all()
    own = partition.belief()[np.arange(partition.n_objects), partition.labels]
    np.testing.assert_allclose(table["belief"], own)


@quick
@given(partitions(), st.randoms(use_true_random=False))
def test_other_numbers_of_the_clusters_change_nothing(partition, random):
    plausibility = np.sort(partition.plausibility(), axis=1)
    # Of equally plausible clusters the lowest is the label, which numbers do change.
    assume(partition.n_clusters == 1 or (np.diff(plausibility[:, -2:], axis=1) > 1e-5).all())
    order = random.sample(range(partition.n_clusters), partition.n_clusters)
    other = EvidentialPartition(partition.masses, partition.focal_sets[:, order])
    pd.testing.assert_frame_equal(partition.doubt(), other.doubt())


@quick
@given(st.lists(st.integers(0, 3), min_size=1), thresholds)
def test_hard_partitions_are_sure(labels, threshold):
    partition = EvidentialPartition.from_hard(labels, 4)
    assert partition.doubt_counts(threshold) == {
        "sure": len(labels),
        "overlapping": 0,
        "undecided": 0,
    }
    assert (partition.doubt(threshold)["belief"] == 1.0).all()


@given(st.integers(2, 6), st.integers(1, 5), thresholds)
def test_vacuous_partitions_are_undecided(c, n, threshold):
    table = EvidentialPartition.from_rough(np.ones((n, c))).doubt(threshold)
    assert (table["verdict"] == "undecided").all()
    assert (table["undecided"] == 1.0).all()


@quick
@given(partitions(kind="singletons"), thresholds)
def test_without_sets_of_several_clusters_nothing_is_undecided(partition, threshold):
    table = partition.doubt(threshold)
    assert not table["undecided"].any()
    # Rounding may leave a belief below a threshold of 1 with no doubt at all.
    assume((1.0 - table["belief"] > 1e-9).all() or threshold < 1.0 - 1e-9)
    assert not (table["verdict"] == "undecided").any()


def test_the_outlying_part_is_there_where_the_empty_set_is():
    masses = [[0.1, 0.7, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.6, 0.3, 0.1, 0.0], [1.0, 0, 0, 0]]
    partition = EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1], [1, 1]], index=[*"abcd"])
    table = partition.doubt()
    assert list(table) == ["belief", "overlap", "undecided", "outlying", "verdict"]
    assert list(table.index) == ["a", "b", "c", "d"]
    assert table["verdict"].tolist() == ["undecided", "undecided", "outlying", "outlying"]
    counts = {"sure": 0, "overlapping": 0, "undecided": 2, "outlying": 2}
    assert partition.doubt_counts() == counts
    assert list(EvidentialPartition.from_hard([0]).doubt()) == [
        *("belief", "overlap", "undecided", "verdict")
    ]


def test_an_object_between_a_cluster_and_nothing_is_outlying():
    partition = EvidentialPartition([[0.4, 0.6, 0.0]], [[0, 0], [1, 0], [0, 1]])
    assert partition.doubt()["verdict"].tolist() == ["outlying"]


def test_the_set_of_maximum_mass_does_not_make_an_object_sure():
    partition = EvidentialPartition.from_fuzzy([[0.4, 0.3, 0.3]])
    assert partition.lower_approximation().tolist() == [[True, False, False]]
    assert partition.doubt()["verdict"].tolist() == ["overlapping"]
    assert partition.doubt(0.4)["verdict"].tolist() == ["sure"]


def test_equal_parts_are_undecided():
    partition = EvidentialPartition([[0.5, 0.25, 0.25]], [[1, 0], [0, 1], [1, 1]])
    assert partition.doubt()["verdict"].tolist() == ["undecided"]


@pytest.mark.parametrize("threshold", [0.0, 1.01, -1, float("nan"), "0.9", None, True])
def test_the_threshold_is_checked(threshold):
    partition = EvidentialPartition.from_hard([0])
    for view in (partition.doubt, partition.doubt_counts):
        with pytest.raises(InputError, match="`threshold` must be a number above 0 and at most 1"):
            view(threshold)


def test_words_name_the_clusters_that_they_are_about():
    masses = [
        *([0.95, 0.05, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
        *([0.5, 0.1, 0.4, 0.0, 0.0], [0.1, 0.3, 0.0, 0.35, 0.25], [0.0, 0.0, 0.0, 0.4, 0.6]),
    ]
    sets = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]
    partition = EvidentialPartition(masses, sets)
    assert sets_by_word(partition) == {
        "sure": {"{1}": 1, "{3}": 1},
        "overlapping": {"{1,3}": 1},
        "undecided": {"{1,2}": 1, "{2,3}": 1},
    }


@quick
@given(partitions())
def test_the_counts_of_sets_are_those_of_the_words(partition):
    found = {word: sum(sets.values()) for word, sets in sets_by_word(partition).items()}
    assert found == partition.doubt_counts()
    assert sum(found.values()) == partition.n_objects
    assert partition.doubt()["verdict"].value_counts().to_dict() == {
        word: count for word, count in found.items() if count
    }
