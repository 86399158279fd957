"""Parquet files whose tables do not fit in memory are refused before they are read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from credpart import _parquet
from credpart.errors import FileContentError
from credpart.tables import read_objects


@pytest.fixture
def memory(monkeypatch):
    """Say how many bytes are free."""
    return lambda free: monkeypatch.setattr(_parquet, "free_memory", lambda: free)


def test_a_small_file_of_a_large_table_is_refused(tmp_path, memory):
    path = tmp_path / "zeros.parquet"
    table = pa.table({name: pa.array(np.zeros(1_000_000)) for name in "abc"})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 20_000
    memory(50e6)
    with pytest.raises(FileContentError) as caught:
        read_objects(path)
    expected = (
        "must fit in the 0.05 GB of memory that are free, got a table of 1000000 rows and 3 "
        "columns, which needs 0.096 GB. Keep a random sample of the rows, or the columns that are "
        "needed."
    )
    assert expected in str(caught.value)
    memory(200e6)
    assert read_objects(path).X.shape == (1_000_000, 3)


def test_a_long_text_that_is_stored_once_counts_as_often_as_it_occurs(tmp_path, memory):
    path = tmp_path / "text.parquet"
    places = pa.array(np.zeros(2000, dtype=np.int32))
    names = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"id": names, "x": np.arange(2000.0)}), path)
    assert path.stat().st_size < 100_000
    memory(100e6)
    with pytest.raises(FileContentError, match=r"which needs 0\.4 GB"):
        read_objects(path, id_column="id")


def test_ordinary_text_is_read_as_codes_and_passes(tmp_path, memory):
    path = tmp_path / "text.parquet"
    names = [f"object {i}" for i in range(2000)]
    pq.write_table(pa.table({"id": names, "x": np.arange(2000.0)}), path)
    memory(10e6)  # less than 2000 texts of the length of all of them
    assert read_objects(path, id_column="id").ids[7] == "object 7"


def test_nothing_is_refused_where_the_memory_is_not_known(tmp_path, memory):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(5.0)}), path)
    memory(None)
    assert read_objects(path).X.shape == (5, 1)


def test_a_damaged_file_is_left_to_the_reader(tmp_path, memory):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 no table PAR1")
    memory(1e9)
    with pytest.raises(FileContentError, match="must be a Parquet file"):
        read_objects(path)
