"""The words of the command line: options for arguments, and rows of a file counted from 1."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from credpart._messages import Call, RowNumber, Setting

OPTIONS: Mapping[str, str] = {  # arguments and names of the library, as the command line has them
    "X": "the data",
    "source": "SOURCE",
    "name": "NAME",
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
    "method": "--method",
    "pairs": "--pairs",
    "focal_sets": "--focal-sets",
    "kind": "--focal-sets",  # as the function `focal_sets` calls it
    "omega": "--omega",
    "overlap": "--overlap",
    "weaken": "--weaken",
    "noise": "--noise",
    "columns": "--columns",
    "features": "--columns",
    "drop": "--drop",
    "missing": "--missing",
    "id_column": "--id-column",
    "label_column": "--label-column",
    "known_column": "--known-column",
    "labels": "--known-column",
    "group_column": "--group-column",
    "groups": "--group-column",
    "strata_column": "--strata-column",
    "strata": "--strata-column",
    "text_columns": "--text-columns",
    "header": "--header",
    "na_values": "--na-values",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "comment": "--comment",
    "sheet": "--sheet",
    "transform": "--transform",
    "cofactor": "--cofactor",
    "logicle": "--logicle",
    "fit_rows": "--fit-rows",
    "predict_masses": "--fit-rows",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_datasets": "--datasets",
    "audit": "--audit",
    "recalibrate": "--recalibrate",
    "methods": "--methods",
    "picture": "--kind",
    "plot.one_column": "--kind partition",
    "plot.density": "--kind density",
    "plot.memberships": "--kind memberships",
    "out": "--out",
    "raw_text": "--raw-text",
    "keep_columns": "--keep-columns",
    "overwrite": "--force",
    "resume": "--resume",
    "sample_rows": "--sample-rows",
    "dask": "--dask",
    "status": "summary.json",
}


IN_FOLDER_NAMES = re.compile(r"[^\w.+-]+")  # what is replaced in them
LONGEST_ENDING = 40


@dataclass(frozen=True, slots=True, eq=False)
class ShellVocabulary:
    """What people type and read at a shell."""

    # Which row of the files each row of the fit is; None: the same.
    place: Callable[[int], RowNumber] | None = None
    # What was typed, with the folder that it writes.
    command: Sequence[str] = ("credpart", "fit", "SOURCE")

    def name(self, name: str) -> str:
        """The option, or the name in backticks where the command line has none."""
        return OPTIONS.get(name, f"`{name}`")

    def setting(self, setting: Setting) -> str:
        """The option with its value; one that is True or False needs none."""
        option, value = self.name(setting.name), setting.value
        if isinstance(value, bool):
            return option if value else f"--no-{option.removeprefix('--')}"
        if isinstance(value, list | tuple):
            value = ",".join(_listed(str(part)) for part in value)
        return f"{option} {shlex.quote(str(value))}"

    def row(self, row: RowNumber) -> str:
        """A row of the file; the first below the header is row 1."""
        return (row if self.place is None else self.place(int(row.number))).counted_from(1)

    def call(self, call: Call) -> str:
        """The command that was typed, with other settings and a folder that is named for them."""
        words, ending = list(self.command), ""
        for setting in call.settings:
            option, *value = shlex.split(self.setting(setting))
            words = [*without_option(words, option, takes_value=bool(value)), option, *value]
            ending += "-".join(["", option.removeprefix("--"), *value])
        if "--out" in words:
            words[words.index("--out") + 1] += IN_FOLDER_NAMES.sub("-", ending)[:LONGEST_ENDING]
        return shlex.join(words)


def without_option(words: Sequence[str], option: str, *, takes_value: bool) -> list[str]:
    """A command without an option, which may be written as --a 1 or --a=1."""
    kept: list[str] = []
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word == option:
            is_value = takes_value
        elif not word.startswith(f"{option}="):
            kept.append(word)
    return kept


def _listed(text: str) -> str:
    """A text as it stands in a list with commas, where spaces before a name do not count."""
    doubled = text.replace('"', '""')
    is_indented = text.lstrip(" ") not in ("", text)
    return f'"{doubled}"' if "," in text or text != doubled or is_indented else text


def in_shell(text: object, place: Callable[[int], RowNumber] | None = None) -> str:
    """A message, or any other text, in the words of the command line and in one line.

    >>> from credpart._messages import Message
    >>> in_shell(Message("Take ", Setting("n_replicates", 200), " or more."))
    'Take --replicates 200 or more.'
    """
    words = ShellVocabulary(place)
    shown = text.render(words) if hasattr(text, "render") else str(text)
    return " ".join(shown.split())
