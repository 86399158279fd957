"""Names of files without their folders: a page may be mailed, and folders tell who made it."""

import re
import shlex
from pathlib import PurePath

FOLDERS = re.compile(r".*[/\\]")


def file_name(path: str) -> str:
    """The last part of a path, of whatever system it is.

    >>> file_name("/home/ada/study 3/flowers.csv"), file_name("data/"), file_name("iris")
    ('flowers.csv', 'data', 'iris')
    """
    return FOLDERS.sub("", path.rstrip("/\\")) or path


def without_folders(text: str, command: str | None, source: str | None) -> str:
    """A text in which paths of a command, and that of the data, have no folders.

    Of a command these are the data, other files after them, and what follows ``--out``.

    >>> command = "credpart fit '/home/ada/study 3/flowers.csv' --out /home/ada/out --columns km/h"
    >>> without_folders(f"Type {command}.", command, "/home/ada/study 3/flowers.csv")
    'Type credpart fit flowers.csv --out out --columns km/h.'
    """
    for path in sorted(_paths(command, source), key=len, reverse=True):
        name = file_name(path)
        text = text.replace(shlex.quote(path), shlex.quote(name)).replace(path, name)
    return text


def _paths(command: str | None, source: str | None) -> set[str]:
    """Paths with folders."""
    found = set() if source is None else {source}
    try:
        words = [] if command is None else shlex.split(command)
    except ValueError:  # no command of a shell
        words = []
    for before, word in zip(["", *words], words, strict=False):
        if before == "--out":
            found |= {word, f"{word}-2"}
        elif word.startswith("--out="):
            found.add(word.removeprefix("--out="))
        elif PurePath(word).suffix and not before.startswith("-"):
            found.add(word)
    return {path for path in found if file_name(path) != path}
