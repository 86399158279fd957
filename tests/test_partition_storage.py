import hashlib
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart import EvidentialPartition, focal_sets


@pytest.fixture
def example_2():
    masses = np.array([[0.049, 0.863, 0.088], [0.074, 0.558, 0.368]])
    return EvidentialPartition(masses, np.array([[1, 0], [0, 1], [1, 1]], dtype=bool))


INDICES = [
    None,
    ["a", "b"],
    (1, 2.5),
    np.array([7, 8]),
    [("a", 1), ("b", None)],
    pd.Index(["x", "y"], name="id"),
    pd.RangeIndex(5, 7),
    pd.Index([True, False]),
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["site", None]),
    pd.DatetimeIndex(["2020-01-01 10:00:00.000000001", "2021-06-01"], name="day"),
    pd.DatetimeIndex(["2020-01-01", "2021-06-01"], tz="Europe/Paris"),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_save_and_load_give_the_partition_back(index, example_2, tmp_path):
    partition = EvidentialPartition(
        example_2.masses, example_2.focal_sets, cluster_names=["α", "b\n"], index=index
    )
    path = tmp_path / "partition.npz"
    partition.save(path)
    loaded = EvidentialPartition.load(str(path))
    assert loaded == partition
    assert loaded.masses.tobytes() == partition.masses.tobytes()
    assert type(loaded.index) in (type(partition.index), pd.Index)
    assert [file.name for file in tmp_path.iterdir()] == ["partition.npz"]


def test_equal_partitions_make_equal_files(tmp_path):
    masses = np.random.default_rng(0).dirichlet(np.ones(7), size=50)
    partition = EvidentialPartition(masses, focal_sets(3, "full"), index=range(50))
    partition.save(tmp_path / "first")
    EvidentialPartition.load(tmp_path / "first").save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_failed_save_leaves_the_old_file_and_no_other(example_2, tmp_path, monkeypatch):
    path = tmp_path / "partition.npz"
    example_2.save(path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        example_2.hard().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_index_that_json_cannot_say_is_refused_before_writing(example_2, tmp_path):
    odd = EvidentialPartition(example_2.masses, example_2.focal_sets, index=[object(), object()])
    with pytest.raises(ValueError, match="`index` must hold text, numbers, times or tuples"):
        odd.save(tmp_path / "partition.npz")
    assert list(tmp_path.iterdir()) == []


def test_text_that_no_file_can_say_is_refused(example_2, tmp_path):
    with pytest.raises(ValueError, match="`cluster_names` must be text that UTF-8 can say"):
        EvidentialPartition.from_hard([0, 1], cluster_names=["a", "\ud800"])
    odd = EvidentialPartition.from_hard([0, 1], index=("a", "\ud800"))
    with pytest.raises(ValueError, match="`index` must hold text, numbers, times or tuples"):
        odd.save(tmp_path / "partition.npz")


def write_text(path):
    path.write_text("not a partition")


def write_array(path):
    with path.open("wb") as stream:
        np.save(stream, np.ones(3))


def write_pickle(path):
    about = np.array(json.dumps({"layout": "credpart.EvidentialPartition.2"}))
    with path.open("wb") as stream:
        np.savez(stream, about=about, masses=np.array([{}], dtype=object))


def write_npz(path, **arrays):
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


ABOUT = {"layout": "credpart.EvidentialPartition.2", "cluster_names": None, "index": None}
FOREIGN = {
    "empty": lambda path: path.write_bytes(b""),
    "text": write_text,
    "npy": write_array,
    "pickle": write_pickle,
    "other npz": partial(write_npz, masses=np.eye(2)),
    "other json": partial(write_npz, about=np.array("[1]")),
    "other layout": partial(write_npz, about=np.array('{"layout": "credpart.Other"}')),
    "no masses": partial(write_npz, about=np.array(json.dumps(ABOUT))),
    "bad masses": partial(
        write_npz, about=np.array(json.dumps(ABOUT)), masses=np.eye(2) / 2, focal_sets=np.eye(2)
    ),
    "bad index": partial(
        write_npz,
        about=np.array(json.dumps({**ABOUT, "index": "ab"})),
        masses=np.eye(2),
        focal_sets=np.eye(2),
    ),
}


@pytest.mark.parametrize("write", FOREIGN.values(), ids=FOREIGN)
def test_foreign_files_are_refused(write, tmp_path):
    write(tmp_path / "foreign")
    with pytest.raises(
        ValueError, match=r"`path` must be a file written by .*save`, got '.*foreign"
    ):
        EvidentialPartition.load(tmp_path / "foreign")


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_damaged_files_are_refused_or_harmless(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "partition.npz"
    partition = EvidentialPartition.from_hard([0, 1, 1], index=["a", "b", "c"])
    partition.save(path)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        assert EvidentialPartition.load(path) == partition
    except ValueError as error:
        assert "must be a file written by" in str(error)  # noqa: PT017


def test_a_file_says_its_own_digest(example_2, tmp_path):
    path = tmp_path / "partition.npz"
    example_2.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    digest = str(arrays.pop("digest"))
    text = b""
    for name in ("about", "focal_sets", "masses"):
        array = arrays[name]
        line = f'["{name}", "{array.dtype.str}", false, {list(array.shape)}]'
        text += line.encode() + b"\n" + array.tobytes()
    assert digest == hashlib.sha256(text).hexdigest()


def test_a_changed_number_is_found_by_the_digest(tmp_path):
    path = tmp_path / "partition.npz"
    EvidentialPartition.from_hard([0, 1]).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["masses"] = arrays["masses"][::-1]  # two objects exchange their masses
    with path.open("wb") as stream:
        np.savez_compressed(stream, **arrays)
    with pytest.raises(ValueError, match="its content is not that of its digest: the file is dam"):
        EvidentialPartition.load(path)


def test_a_character_that_does_not_exist_is_refused(tmp_path):
    path = tmp_path / "partition.npz"
    EvidentialPartition.from_hard([0, 1]).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    digest = arrays["digest"]
    digest.reshape(1).view(np.uint32)[-1] = 0x110000  # one more than the last character
    with path.open("wb") as stream:
        np.savez(stream, **arrays)
    with pytest.raises(ValueError, match="has characters that do not exist"):
        EvidentialPartition.load(path)


def test_paths_that_do_not_exist_are_named(example_2, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        EvidentialPartition.load(tmp_path / "nowhere.npz")
    with pytest.raises(FileNotFoundError, match="`path` must be in an existing folder"):
        example_2.save(tmp_path / "nowhere" / "partition.npz")
