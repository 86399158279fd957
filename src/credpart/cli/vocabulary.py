"""The words of the command line: options for arguments, and rows of a file counted from 1."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from credpart._messages import Setting

if TYPE_CHECKING:  # `credpart --help` needs no NumPy
    from credpart._arrays import IntArray

OPTIONS: Mapping[str, str] = {  # arguments and names of the library, as the command line has them
    "X": "the data",
    "source": "SOURCE",
    "path": "MODEL",
    "n_clusters": "--clusters",
    "model": "--model",
    "models": "--model",
    "criterion": "--criterion",
    "selection": "--selection",
    "n_replicates": "--replicates",
    "resampling": "--resampling",
    "refit": "--refit",
    "level": "--level",
    "pairs": "--pairs",
    "focal_sets": "--focal-sets",
    "kind": "--focal-sets",  # as the function `focal_sets` calls it
    "omega": "--omega",
    "overlap": "--overlap",
    "columns": "--columns",
    "features": "--columns",
    "id_column": "--id-column",
    "label_column": "--label-column",
    "transform": "--transform",
    "cofactor": "--cofactor",
    "logicle": "--logicle",
    "fit_rows": "--fit-rows",
    "predict_masses": "--fit-rows",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_datasets": "--datasets",
    "methods": "--methods",
    "picture": "--kind",
    "out": "--out",
    "overwrite": "--force",
    "status": "summary.json",
}


@dataclass(frozen=True, slots=True, eq=False)
class ShellVocabulary:
    """What people type and read at a shell."""

    rows: "IntArray | None" = None  # which row of the file each row of the fit is; None: the same

    def name(self, name: str) -> str:
        """The option, or the name in backticks where the command line has none."""
        return OPTIONS.get(name, f"`{name}`")

    def setting(self, setting: Setting) -> str:
        """The option with its value; an option that is True needs none."""
        option, value = self.name(setting.name), setting.value
        if value is True:
            return option
        parts = value if isinstance(value, list | tuple) else [value]
        return f"{option} {','.join(map(str, parts))}"

    def row(self, number: int) -> str:
        """A row of the file; the first below the header is row 1."""
        return f"row {(number if self.rows is None else int(self.rows[number])) + 1}"


def in_shell(text: object, rows: "IntArray | None" = None) -> str:
    """A message, or any other text, in the words of the command line and in one line.

    >>> from credpart._messages import Message
    >>> in_shell(Message("Take ", Setting("n_replicates", 200), " or more."))
    'Take --replicates 200 or more.'
    """
    words = ShellVocabulary(rows)
    shown = text.render(words) if hasattr(text, "render") else str(text)
    return " ".join(shown.split())
