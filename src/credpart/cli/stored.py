"""A fitted model out of a folder that ``credpart fit`` made."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from credpart._checks import Table
from credpart._columns import as_cells
from credpart.clustering import CalibratedClustering
from credpart.errors import MissingFileError
from credpart.storage import load_with_notes


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A fitted model, and what is known of its data."""

    model: CalibratedClustering
    notes: dict[str, Any]

    @property
    def X(self) -> pd.DataFrame:
        """The fitted objects, with the names of their columns."""
        model = self.model
        names = getattr(model, "feature_names_in_", None)
        X = model._fit_X
        cells = as_cells(X) if isinstance(X, Table) else X
        return pd.DataFrame(cells, columns=names, index=model.partition_.index)

    @property
    def classes(self) -> list[str] | None:
        """Known classes of the fitted objects."""
        return self.notes.get("classes")


def stored_model(path: Path) -> Stored:
    """The model of a folder, or of its model.npz."""
    file = path / "model.npz" if path.is_dir() else path
    if not file.is_file():
        made = "be a folder that `credpart fit` made, or its model.npz"
        raise MissingFileError("path", made, str(path))
    return Stored(*load_with_notes(file))
