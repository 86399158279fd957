"""The result of a fit out of a folder that ``credpart fit`` made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from credpart._files import recover_folder
from credpart.cli.folder import OURS
from credpart.errors import MissingFileError
from credpart.partition.npz import one_error
from credpart.result import CalibratedResult
from credpart.storage import load_with_notes
from credpart.tables.transform import Transform


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """The result of a fit, and what is known of its data."""

    result: CalibratedResult
    notes: dict[str, Any]

    @property
    def X(self) -> pd.DataFrame:
        """The fitted objects, with the names of their columns."""
        return self.result.frame()

    @property
    def classes(self) -> list[str] | None:
        """Known classes of the fitted objects."""
        return self.notes.get("classes")

    @property
    def is_of_fit(self) -> bool:
        """Whether the command ``fit`` made it; models that Python saved have no such notes."""
        return "command" in self.notes


def stored_model(path: Path) -> Stored:
    """The model of a folder, or of its model.npz."""
    recover_folder(path, OURS)
    file = path / "model.npz" if path.is_dir() else path
    if not file.is_file():
        made = "be a folder that `credpart fit` made, or its model.npz"
        raise MissingFileError("path", made, str(path))
    model, notes = load_with_notes(file)
    with one_error(file, "save_model"):
        check_notes(notes, model.result_.n_objects)
    return Stored(model.result_, notes)


def check_notes(notes: Mapping[str, Any], n: int) -> None:
    """Raise ValueError for notes on n objects that ``fit`` has not written."""
    for name, is_possible in NOTES.items():
        if not is_possible(notes.get(name), n):
            raise ValueError(f"its note {name!r} is none that a fit makes")


def _is_text(value: Any, n: int) -> bool:
    return value is None or isinstance(value, str)


def _are_classes(value: Any, n: int) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and len(value) == n and all(isinstance(k, str) for k in value)


def _is_way_of_reading(value: Any, n: int) -> bool:
    """How the table was read; of it, ``predict`` takes the transform and the column of names."""
    if value is None:
        return True
    transform_of(value)
    return _is_text(value.get("id_column"), n)


def transform_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """What a `Transform` is made from, out of the note on how a table was read."""
    given: dict[str, Any] = dict(table["transform"])
    told: dict[str, Any] = {
        name: tuple(part) if isinstance(part, list) else part for name, part in given.items()
    }
    Transform(**told)  # an error if it is none
    return told


# A diagnosis that cannot be read, perhaps of another version, is made anew by the report.
NOTES: Mapping[str, Callable[[Any, int], bool]] = {
    "source": _is_text,
    "title": _is_text,
    "command": _is_text,
    "classes": _are_classes,
    "table": _is_way_of_reading,
}
