import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from credpart import EvidentialPartition, focal_sets


@pytest.fixture
def example_2():
    masses = np.array([[0.049, 0.863, 0.088], [0.074, 0.558, 0.368]])
    return EvidentialPartition(masses, np.array([[1, 0], [0, 1], [1, 1]], dtype=bool))


def test_arrays_are_copied_and_read_only():
    masses = np.array([[0.5, 0.5]])
    partition = EvidentialPartition(masses, np.eye(2, dtype=bool))
    masses[0] = [1.0, 0.0]
    assert partition.masses.tolist() == [[0.5, 0.5]]
    for array in (partition.masses, partition.focal_sets):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    with pytest.raises(AttributeError, match="cannot assign to field"):
        partition.masses = masses
    with pytest.raises((AttributeError, TypeError)):
        partition.other = 1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_masses_of_any_order_and_type_are_the_same(order, dtype):
    masses = np.array([[1, 0, 0], [0, 0, 1]], dtype=dtype, order=order)
    partition = EvidentialPartition(masses, focal_sets(2))
    assert partition == EvidentialPartition.from_rough([[1, 0], [1, 1]])
    assert partition.masses.flags.c_contiguous


def test_equality_is_by_value_and_partitions_have_no_hash(example_2):
    twin = EvidentialPartition(example_2.masses, example_2.focal_sets)
    assert twin == example_2
    assert twin != EvidentialPartition(twin.masses, twin.focal_sets, index=["a", "b"])
    assert twin != EvidentialPartition(twin.masses, twin.focal_sets, cluster_names=["a", "b"])
    assert twin != EvidentialPartition(twin.masses, twin.focal_sets[::-1])
    assert twin != "a partition"
    with pytest.raises(TypeError, match="unhashable"):
        hash(example_2)


def through_pickle(partition):
    return pickle.loads(pickle.dumps(partition))  # noqa: S301


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, through_pickle])
def test_copies_are_equal_and_read_only(clone, example_2):
    assert clone(example_2) == example_2
    assert not clone(example_2).masses.flags.writeable


def test_frame_has_a_row_an_object_and_keeps_the_index(example_2):
    masses = pd.DataFrame(
        example_2.masses, columns=["a", "b", "c"], index=pd.Index(["x", "y"], name="id")
    )
    partition = EvidentialPartition(masses, example_2.focal_sets, cluster_names=["no", "ch"])
    frame = partition.to_frame()
    masses_then = ["m{no}", "m{ch}", "m{no,ch}", "bel{no}", "bel{ch}", "pl{no}", "pl{ch}"]
    assert frame.columns.to_list() == ["label", "set_label", *masses_then]
    pd.testing.assert_index_equal(frame.index, masses.index)
    assert frame["set_label"].to_list() == ["{ch}", "{ch}"]
    assert frame["label"].to_list() == ["ch", "ch"]
    np.testing.assert_array_equal(frame.filter(regex="^pl"), partition.plausibility())


def test_labels_of_a_frame_count_from_1_as_its_sets_do():
    partition = EvidentialPartition(np.eye(3), [[1, 0], [0, 1], [1, 1]])
    frame = partition.to_frame()
    assert frame["label"].to_list() == [1, 2, 1]  # of equals the first
    assert frame["set_label"].to_list() == ["{1}", "{2}", "{1,2}"]
    np.testing.assert_array_equal(frame["label"], partition.labels + 1)


def test_the_index_of_a_frame_reaches_every_kind_of_partition():
    frame = pd.DataFrame([[1, 0], [0, 1]], columns=["a", "b"], index=["x", "y"])
    for build in (EvidentialPartition.from_fuzzy, EvidentialPartition.from_rough):
        partition = build(frame, cluster_names=["a", "b"])
        for view in (partition.hard(), partition.fuzzy(), partition.rough(), partition.normalize()):
            assert list(view.index) == ["x", "y"]
            assert view.cluster_names == ("a", "b")


def test_summary_counts_objects_by_word():
    masses = [[0.1, 0.7, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.6, 0.3, 0.1, 0.0], [1.0, 0, 0, 0]]
    partition = EvidentialPartition(masses, [[0, 0], [1, 0], [0, 1], [1, 1]])
    assert partition.summary().splitlines() == [
        "4 objects, 2 clusters, 4 focal sets",
        "sure: 0 (0.0 %)",
        "overlapping: 0 (0.0 %)",
        "undecided: 2 (50.0 %), between {1,2} 2",
        "outlying: 2 (50.0 %)",
        "mean nonspecificity: 0.575",
    ]


def test_html_escapes_names_and_labels():
    partition = EvidentialPartition.from_hard(
        [0, 1], cluster_names=["<script>", "&"], index=["<b>", "ok"]
    )
    html = partition._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "{&lt;script&gt;}" in html


def test_repr_is_short():
    partition = EvidentialPartition.from_hard(np.arange(100))
    assert repr(partition) == (
        "EvidentialPartition(n_objects=100, n_clusters=100, n_focal_sets=100)"
    )
    assert len(EvidentialPartition.from_hard(np.arange(100))._repr_html_()) < 20_000


def test_import_does_not_load_pandas():
    code = "import sys, credpart.partition; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


def test_masses_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValueError, match="rows summing to 1, got row sums in"):
        EvidentialPartition(np.full((2, 3), 0.5), np.ones((3, 2), dtype=bool))
    with pytest.raises(ValueError, match=r"in \[1, 1.5\], first 1.5 in row 1. Divide each row"):
        EvidentialPartition([[0.5, 0.5], [0.5, 1.0]], np.eye(2))
    assert EvidentialPartition([[0.5, 0.5 + 5e-9]], np.eye(2)).plausibility([0, 1]) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"masses": [[1.5, -0.5]]}, "`masses` must be non-negative, got -0.5 in column 1, row 0"),
        ({"masses": [[np.nan, 1.0]]}, "`masses` must be finite, got 1 NaN"),
        ({"masses": [["0.5", "0.5"]]}, "`masses` must hold numbers, got .* in column 0, row 0"),
        ({"masses": [1.0, 0.0]}, "`masses` must be 2-D"),
        ({"masses": np.empty((0, 2))}, "`masses` must have at least 1 rows"),
        ({"focal_sets": np.eye(3)}, "a column for each of the 3 focal sets, got 2"),
        ({"focal_sets": [[1, 0], [1, 0]]}, "`focal_sets` must have distinct rows, got the set {1}"),
        ({"focal_sets": [[1, 0], [0, 3]]}, "`focal_sets` must be an .* array of 0 and 1"),
        ({"cluster_names": ["a"]}, "`cluster_names` must be 2 distinct names"),
        ({"index": ["a", "b"]}, "`index` must have 1 labels, one for each object, got"),
        ({"index": "a"}, "`index` must have 1 labels"),
        ({"index": 3}, "`index` must have 1 labels, one for each object, got 3"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    good = {"masses": [[0.5, 0.5]], "focal_sets": np.eye(2)}
    with pytest.raises(ValueError, match=message):
        EvidentialPartition(**{**good, **arguments})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p: p.from_hard([0, 2], 2), "`labels` must be in 0..1, got 2 in row 1"),
        (lambda p: p.from_hard([0, -1]), "`labels` must be in 0..0, got -1 in row 1"),
        (lambda p: p.from_hard([-1]), "`labels` must be in 0..0, got -1 in row 0"),
        (lambda p: p.from_hard(["a", "b"]), "`labels` must be a sequence of integers.*np.unique"),
        (lambda p: p.from_hard([0.0, 1.0]), "of float64"),
        (lambda p: p.from_hard([]), "`labels` must be a sequence of integers"),
        (lambda p: p.from_hard([0], 0), "`n_clusters` must be an integer >= 1, got 0"),
        (lambda p: p.from_fuzzy([[0.5, 0.6]]), "`memberships` must have rows summing to 1"),
        (lambda p: p.from_rough([[0, 2]]), "`sets` must hold 0 and 1, got 2 in column 1, row 0"),
        (lambda p: p.from_hard([0]).rough("pl"), "`rule` must be one of 'mass', 'dominance', got"),
        (lambda p: p.from_hard([0]).belief([1]), "`sets` must be clusters in 0..0"),
    ],
)
def test_bad_constructions_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build(EvidentialPartition)


def test_a_summary_of_many_sets_names_the_largest():
    labels = np.repeat(np.arange(30), np.arange(1, 31))
    line = EvidentialPartition.from_hard(labels).summary().splitlines()[1]
    assert line.endswith("{29} 29, {30} 30 and 18 other sets")
    assert "{18} " not in line
