"""Tables as files of several kinds, by the ending of the file: one function for each."""

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from credpart._messages import Message
from credpart.cli.spreadsheet import write_csv
from credpart.errors import InputError
from credpart.tables.extras import extra

MOST_ROWS, MOST_COLUMNS = 2**20, 2**14  # of an Excel sheet
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MASS = re.compile(r"m\{.*\}$")  # the column of a focal set
NO_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold


def writer_of(path: Path) -> Callable[..., None]:
    """What writes a table to a file of this name; an ending that says another kind is refused."""
    kind = path.suffix.lower()
    if kind not in WRITERS:
        endings = ", ".join(ending for ending in WRITERS if ending)
        raise InputError("out", f"end in one of {endings}", str(path))
    if kind in NEEDS:
        extra(*NEEDS[kind])
    return WRITERS[kind]


def write_parquet(frame: pd.DataFrame, target: Path, *, raw_text: bool = False) -> None:
    """Write a table with its index as Parquet; no program runs what stands in it."""
    arrow, parquet = (extra(name, "a .parquet file") for name in ("pyarrow", "pyarrow.parquet"))
    table = frame.reset_index()
    parquet.write_table(arrow.Table.from_pandas(table, preserve_index=False), target)


def write_excel(frame: pd.DataFrame, target: Path, *, raw_text: bool = False) -> None:
    """Write a table with its index as a sheet; every text is marked as text, none is a formula."""
    openpyxl = extra("openpyxl", "an .xlsx file")
    table = frame.reset_index()
    if len(table) >= MOST_ROWS or table.shape[1] > MOST_COLUMNS:
        got = Message(f"{len(table)} rows and {table.shape[1]} columns")
        limits = f"at most {MOST_ROWS - 1} rows and {MOST_COLUMNS} columns"
        raise InputError("out", f"hold {limits} as .xlsx", got, "Write .parquet or .csv.")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("credpart")
    as_cell = partial(_excel_cell, openpyxl, sheet)
    sheet.append([as_cell(str(name)) for name in table])
    for row in table.itertuples(index=False, name=None):
        sheet.append([as_cell(value) for value in row])
    content = io.BytesIO()
    book.save(content)
    target.write_bytes(_without_times(content))


def write_annotated(frame: pd.DataFrame, target: Path, *, raw_text: bool = False) -> None:
    """Write a table as annotations of an AnnData file: masses in ``obsm``, the others in ``obs``.

    The names are those of `credpart.annotated_data.annotate`; the objects are the observations.
    """
    anndata = extra("anndata", "an .h5ad file")
    odd = [name for name in frame if "/" in str(name)]
    if odd:
        remedy = "Write .parquet or .csv."
        raise InputError("out", "hold columns without a slash as .h5ad", str(odd[0]), remedy)
    obs = frame.set_axis([str(name) for name in frame], axis=1).set_axis(frame.index.map(str))
    texts = obs.select_dtypes(["object", "string"]).columns
    obs[texts] = obs[texts].astype(str).astype("category")
    masses = [name for name in obs if MASS.match(str(name))]
    found = anndata.AnnData(obs=obs.drop(columns=masses))
    found.obsm["credpart_masses"] = obs[masses]
    with TemporaryDirectory() as folder:  # the library locks what it writes, as we do the target
        made = Path(folder, "annotated.h5ad")
        found.write_h5ad(made)
        target.write_bytes(made.read_bytes())


def _excel_cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    """A number, a text, or nothing where a cell is missing."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    text = openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", str(value))
    cell = openpyxl.cell.WriteOnlyCell(sheet, text)
    cell.data_type = "s"  # also if it begins with =
    return cell


def _without_times(content: io.BytesIO) -> bytes:
    """The file without the time at which it was made: the same table is the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(content) as made, zipfile.ZipFile(out, "w") as again:
        for name in made.namelist():
            part = made.read(name)
            if name == "docProps/core.xml":
                part = TIME.sub(b"1980-01-01T00:00:00Z", part)
            again.writestr(zipfile.ZipInfo(name, NO_TIME), part, zipfile.ZIP_DEFLATED)
    return out.getvalue()


WRITERS: Mapping[str, Callable[..., None]] = {
    ".csv": write_csv,
    ".txt": write_csv,
    "": write_csv,  # devices have no ending
    ".tsv": partial(write_csv, delimiter="\t"),
    ".parquet": write_parquet,
    ".xlsx": write_excel,
    ".h5ad": write_annotated,
}
NEEDS = {
    ".parquet": ("pyarrow", "a .parquet file"),
    ".xlsx": ("openpyxl", "an .xlsx file"),
    ".h5ad": ("anndata", "an .h5ad file"),
}
TYPED = frozenset({".parquet", ".xlsx", ".h5ad"})  # files whose cells have types


def beside(kept: pd.DataFrame | None, found: pd.DataFrame) -> pd.DataFrame:
    """The columns of the data, if they are kept, and then those of the result.

    >>> found = pd.DataFrame({"label": [1]}, index=["a"])
    >>> list(beside(pd.DataFrame({"x": [0.5], "label": ["b"]}), found))
    ['x', 'data_label', 'label']
    """
    if kept is None:
        return found
    names = renamed([str(name) for name in kept], [found.index.name, *found])
    return pd.concat([kept.set_axis(names, axis=1).set_axis(found.index), found], axis=1)


def renamed(names: Sequence[str], of_result: Iterable[Any]) -> list[str]:
    """The names of the data's columns; one that a column of the result has gets a prefix."""
    taken, found = set(of_result), []
    for name in names:
        free = name
        while free in taken or (free != name and free in names):
            free = f"data_{free}"
        taken.add(free)
        found.append(free)
    return found
