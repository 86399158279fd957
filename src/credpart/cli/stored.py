"""The result of a fit out of a folder that ``credpart fit`` made."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from credpart._files import recover_folder
from credpart.cli.folder import OURS
from credpart.errors import MissingFileError
from credpart.result import CalibratedResult
from credpart.storage import load_with_notes


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
    return Stored(model.result_, notes)
