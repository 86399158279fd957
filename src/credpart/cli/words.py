"""Messages of the library in the words of the command line."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

NAMES: Mapping[str, str] = {  # arguments of the library that have another name here
    "X": "the data",
    "n_clusters": "--clusters",
    "n_replicates": "--replicates",
    "focal_sets": "--focal-sets",
    "kind='pairs'": "--focal-sets pairs",
    "models": "--model",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "id_column": "--id-column",
    "label_column": "--label-column",
    "fit_rows": "--fit-rows",
    "predict_masses": "--fit-rows",
    "source": "SOURCE",
    "path": "MODEL",
    "status": "summary.json",
}
OPTIONS = (
    *("model", "criterion", "selection", "resampling", "level", "omega", "overlap", "columns"),
    *("transform", "cofactor", "logicle", "methods", "out", "kind"),
)


def in_words(text: str, rows: Any = None) -> str:
    """The message in one line: options for arguments, and rows counted from 1.

    ``rows`` says which row of the file each row that the library saw is.

    >>> in_words("`X` must be finite, got 1 NaN, the first in column 'a', row 4.")
    "The data must be finite, got 1 NaN, the first in column 'a', row 5."
    >>> in_words("`n_clusters` must be an integer >= 1, got 0.")
    '--clusters must be an integer >= 1, got 0.'
    """
    names = {f"`{name}`": f"--{name}" for name in OPTIONS}
    names |= {f"`{name}`": word for name, word in NAMES.items()}
    line = " ".join(text.split())
    line = re.sub(r"`[^`]+`", lambda name: names.get(name[0], name[0]), line)

    def counted(match: re.Match[str]) -> str:
        row = int(match[1])
        return f"row {(row if rows is None else int(rows[row])) + 1}"

    line = re.sub(r"\brow (\d+)", counted, line)
    return line[:1].upper() + line[1:] if line.startswith("the data") else line


ADVICE: Mapping[str, str] = {  # patterns of Python in the advice of a diagnosis
    r'refit_partition\(focal_sets="(\w+)"\)': r"--focal-sets \1",
    r"omega=True": "--omega",
    r'selection="(\w+)"': r"--selection \1",
    r"n_replicates=(\d+)": r"--replicates \1",
    r"model='([\w-]+)'": r"--model \1",
    r"model=\['([\w-]+)', '([\w-]+)', '([\w-]+)'\]": r"--model \1,\2,\3",
}


def advice_in_words(text: str) -> str:
    """Advice of a diagnosis with options in place of arguments.

    >>> advice_in_words('Allow more: refit_partition(focal_sets="full"), or omega=True.')
    'Allow more: --focal-sets full, or --omega.'
    """
    for pattern, words in ADVICE.items():
        text = re.sub(pattern, words, text)
    return text


def once(messages: Iterable[str]) -> list[str]:
    """Each message, the first time it is said."""
    return list(dict.fromkeys(messages))
