"""The two ways in which partitions are passed over: sums of small arrays, and files of masses.

What is sent to workers is a partition, which is mostly the name of a file, and small arrays; what
comes back are small arrays, or rows of a sample.  Sums are added in the order of the partitions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.random import SeedSequence
from numpy.typing import NDArray

from credpart._arrays import Array, IntArray
from credpart._bootstrap.block_sums import BLOCK_ROWS, Kernel, Sums, add_up, run_kernel
from credpart._checks import LARGEST, in_cell
from credpart._messages import ColumnName, Message, Name
from credpart._progress import Progress, silent
from credpart._threads import one_blas_thread
from credpart.errors import CredpartError, FileContentError, InputError
from credpart.out_of_core.partitioned_sources import Partition, PartitionedSource
from credpart.tables import Transform

# Blocks of a partition are numbered from a multiple of this: the numbers seed what is drawn.
MOST_BLOCKS = 1 << 24
SAMPLE_STREAM = 2**32 - 2  # a stream of random numbers that is not a replicate's

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of a partition are read."""

    columns: tuple[str, ...]
    id_column: str | None = None
    label_column: str | None = None
    transform: Transform | None = None
    plain: tuple[str, ...] = ()  # columns that the transform leaves alone

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns that are not clustered."""
        return tuple(name for name in (self.id_column, self.label_column) if name is not None)


class Block(NamedTuple):
    """Some consecutive rows of a partition."""

    first: int  # in the partition
    values: Array  # (m, d), finite
    ids: NDArray[Any] | None
    classes: NDArray[Any] | None


def reading_of(
    source: PartitionedSource,
    columns: Sequence[str] | None,
    id_column: str | None,
    label_column: str | None,
    transform: Transform | None,
) -> Reading:
    """What to read of a source; columns that it does not have are refused."""
    known = source.columns
    id_column = source.id_column if id_column is None else id_column
    for name, wanted in (
        ("columns", [] if columns is None else columns),
        ("id_column", [] if id_column is None else [id_column]),
        ("label_column", [] if label_column is None else [label_column]),
    ):
        unknown = [column for column in wanted if column not in known]
        if unknown:
            got = Message(", ".join(map(repr, unknown)))
            listed = f"Its columns are {', '.join(map(repr, known))}."
            raise InputError(name, f"be in {source.description!r}", got, listed)
    if columns is None:
        apart = {id_column, label_column, *source.left_out}
        columns = [name for name in known if name not in apart]
    if not columns or len(set(columns)) < len(columns):
        raise InputError("columns", "be distinct, and at least one", list(columns))
    return Reading(tuple(columns), id_column, label_column, transform, source.plain)


def blocks(part: Partition, reading: Reading) -> Iterator[Block]:
    """The checked rows of a partition; a message names its file, the column and the row."""
    wanted = tuple(dict.fromkeys((*reading.columns, *reading.apart)))
    missing = [name for name in wanted if name not in part.column_names()]
    if missing:
        got = Message(f"none of the name {missing[0]!r}")
        raise FileContentError("source", part.name, "have the columns of the others", got)
    first = 0
    try:
        for frame in part.frames(wanted, reading.apart):
            values = checked_values(frame[list(reading.columns)], part.name, part.first_row + first)
            if reading.transform is not None:
                some = [j for j, name in enumerate(reading.columns) if name not in reading.plain]
                values[:, some] = reading.transform(values[:, some])
            yield Block(
                first,
                values,
                None if reading.id_column is None else frame[reading.id_column].to_numpy(),
                None if reading.label_column is None else frame[reading.label_column].to_numpy(),
            )
            first += len(values)
    except (CredpartError, MemoryError):
        raise
    except Exception as error:
        got = Message(f"an error while it was read ({type(error).__name__}: {error})")
        raise FileContentError("source", part.name, "be readable", got) from error


def checked_values(frame: pd.DataFrame, name: str, first_row: int) -> Array:
    """Finite numbers (m, d) out of the columns of a frame; text is never made into numbers."""
    values = np.empty(frame.shape)
    for j, column in enumerate(frame):
        cells = frame[column]
        where = ColumnName(str(column))
        if not (pd.api.types.is_numeric_dtype(cells) or pd.api.types.is_bool_dtype(cells)):
            numbers = pd.to_numeric(cells, errors="coerce")
            bad = np.flatnonzero(numbers.isna() & cells.notna())
            row = int(bad[0]) if len(bad) else 0
            raise FileContentError(
                "source",
                name,
                "hold numbers",
                in_cell(repr(cells.iloc[row]), where, first_row + row),
                Message(
                    *("Leave the column out with ", Name("columns"), ", or name it as "),
                    *(Name("id_column"), " or ", Name("label_column"), "."),
                ),
            )
        values[:, j] = cells.to_numpy(dtype=np.float64, na_value=np.nan)
    is_bad = ~(np.abs(values) <= LARGEST)
    if is_bad.any():
        row, j = np.argwhere(is_bad)[0]
        n_bad = int(is_bad.sum())
        got = in_cell(f"{values[row, j]}", ColumnName(str(frame.columns[j])), first_row + int(row))
        more = f" ({n_bad} such cells in these {len(values)} rows)" if n_bad > 1 else ""
        requirement = f"hold finite numbers below {LARGEST:g}"
        remedy = "Drop or impute them."
        raise FileContentError("source", name, requirement, Message(got, more), remedy)
    return values


def in_order(
    function: Callable[..., Found],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    stage: str = "",
    progress: Progress = silent,
) -> Iterator[Found]:
    """What a function finds in each task, in the order of the tasks, while others are at work."""
    jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    with one_blas_thread():  # once, and not by each task: to change the number takes time
        for done, found in enumerate(jobs(delayed(function)(*task) for task in tasks)):
            progress(stage, (done + 1) / len(tasks))
            yield found


def count_rows(part: Partition, reading: Reading) -> int:
    """Read and check a partition: its number of rows."""
    return sum(len(block.values) for block in blocks(part, reading))


@dataclass(frozen=True, slots=True)
class PartitionedRows:
    """All objects, each of weight 1, passed over partition by partition; `BlockwiseObjects`."""

    partitions: tuple[Partition, ...]
    reading: Reading
    n_jobs: int | None = None
    progress: Progress = silent
    stage: str = ""

    def sum_over_blocks(self, kernel: Kernel) -> Sums:
        """The sums over all partitions of what the kernel returns for their blocks."""
        tasks = [(part, self.reading, kernel, i) for i, part in enumerate(self.partitions)]
        found = (sums for sums in in_order(fold_partition, tasks, self.n_jobs) if sums)
        return add_up(found)


def fold_partition(part: Partition, reading: Reading, kernel: Kernel, number: int) -> Sums:
    """The sums over the blocks of one partition; nothing if it has no rows."""
    found = list[Sums]()
    place = number * MOST_BLOCKS
    for block in blocks(part, reading):
        for first in range(0, len(block.values), BLOCK_ROWS):
            X = block.values[first : first + BLOCK_ROWS]
            sums = run_kernel(kernel, X, np.ones(len(X)), place)
            found = [add_up(iter([*found, sums]))]
            place += 1
    return found[0] if found else ()


class DrawnRows(NamedTuple):
    """Rows of a partition that were drawn for a sample, with the random keys that decide."""

    keys: Array  # (m,)
    rows: IntArray  # (m,): in the partition
    values: Array  # (m, d)
    ids: NDArray[Any] | None


def draw_rows(
    part: Partition, reading: Reading, seed: int, number: int, threshold: float
) -> DrawnRows:
    """The rows whose keys are below a threshold; every row of a partition has a key of its own."""
    rng = np.random.default_rng(SeedSequence(seed, spawn_key=(SAMPLE_STREAM, number)))
    keys, rows, values, ids = [], [], [], []
    for block in blocks(part, reading):
        drawn = rng.random(len(block.values))
        kept = np.flatnonzero(drawn < threshold)
        keys.append(drawn[kept])
        rows.append(block.first + kept)
        values.append(block.values[kept])
        ids.append(kept if block.ids is None else block.ids[kept])
    if not keys:
        d = len(reading.columns)
        return DrawnRows(np.empty(0), np.empty(0, dtype=np.intp), np.empty((0, d)), None)
    named = None if reading.id_column is None else np.concatenate(ids)
    return DrawnRows(np.concatenate(keys), np.concatenate(rows), np.concatenate(values), named)
