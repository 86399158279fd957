"""Whether the table of a Parquet file fits in memory: asked of its metadata before it is read.

The size of the file says nothing: a column of equal values takes some bytes, however long it is.
"""

from typing import Any, BinaryIO

from credpart._memory import GIGA, free_memory
from credpart._messages import Message
from credpart.errors import FileContentError

# A cell takes 8 bytes in the table that is read, in the frame, in the columns that are chosen of it
# and in the array that a model is fitted to.
CELL_BYTES = 32
TEXT = "BYTE_ARRAY"  # the one physical type whose cells have no fixed size


def check_parquet_size(stream: BinaryIO, name: str) -> None:
    """Refuse a Parquet file whose table needs more memory than is free.

    A file that is damaged passes: the reader that comes next says what is wrong with it.
    """
    import pyarrow as pa
    from pyarrow import parquet as pq

    free = free_memory()
    if free is None:
        return
    try:
        metadata = pq.read_metadata(stream)
        needed = _bytes_of_cells(metadata)
        if needed <= free and _longest_text(metadata) > free:
            needed += _bytes_of_text(stream, metadata)
    except MemoryError:
        needed = float("inf")
    except (pa.ArrowException, OSError, ValueError):
        return
    if needed > free:
        size = f"{needed / GIGA:.3g} GB" if needed < float("inf") else "more"
        raise FileContentError(
            "source",
            name,
            f"fit in the {free / GIGA:.3g} GB of memory that are free",
            Message(
                f"a table of {metadata.num_rows} rows and {metadata.num_columns} columns, "
                f"which needs {size}"
            ),
            "Keep a random sample of the rows, or the columns that are needed.",
        )


def _chunks(metadata: Any) -> list[Any]:
    """What the file says of each column in each of its groups of rows."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return [group.column(j) for group in groups for j in range(group.num_columns)]


def _bytes_of_cells(metadata: Any) -> float:
    """Bytes of all cells, without what texts take, and of the pages they are read from."""
    return float(
        sum(
            CELL_BYTES * max(chunk.num_values, 0) + max(chunk.total_uncompressed_size, 0)
            for chunk in _chunks(metadata)
        )
    )


def _longest_text(metadata: Any) -> float:
    """What all texts take if each is as long as the pages of its column."""
    return float(
        sum(
            chunk.num_values * chunk.total_uncompressed_size
            for chunk in _chunks(metadata)
            if _is_text(chunk)
        )
    )


def _bytes_of_text(stream: BinaryIO, metadata: Any) -> float:
    """What all texts take.  They are read as codes with a dictionary, which repeats no text."""
    from pyarrow import compute as pc
    from pyarrow import parquet as pq

    names = sorted({chunk.path_in_schema for chunk in _chunks(metadata) if _is_text(chunk)})
    file = pq.ParquetFile(stream, read_dictionary=names)
    total = 0.0
    for group in range(metadata.num_row_groups):
        for column in file.read_row_group(group, columns=names).columns:
            for part in column.chunks:
                if hasattr(part, "dictionary"):
                    lengths = pc.binary_length(part.dictionary)
                    total += pc.sum(pc.take(lengths, part.indices)).as_py() or 0
                else:
                    total += part.nbytes
    return 2.0 * total  # in the table that is read, and in the frame


def _is_text(chunk: Any) -> bool:
    return bool(chunk.physical_type == TEXT)
