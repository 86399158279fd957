"""A folder of results, that appears whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILES = ("masses.csv", "intervals.npz", "model.npz", "summary.json", "report.html")


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse a folder that cannot be made, or that would destroy what credpart did not make."""
    name = str(path)
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"`out` must be in an existing folder that can be written, got {name!r}.")
    if not path.exists():
        return
    if not path.is_dir():
        raise ValueError(f"`out` must be a folder, got the file {name!r}.")
    held = sorted(entry.name for entry in path.iterdir())
    foreign = [entry for entry in held if entry not in FILES]
    if foreign:
        raise ValueError(
            f"`out` must hold nothing but what credpart made, got {foreign[0]!r} in {name!r}. "
            "Give another folder."
        )
    if held and not force:
        raise ValueError(
            f"`out` must be a new folder, got {name!r}, which holds {held[0]!r}. "
            "Give another one, or --force to replace it."
        )


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder beside ``path`` to write into, that takes its place at the end."""
    mark = secrets.token_hex(4)
    partial, old = (path.with_name(f".{path.name}.{mark}.{kind}") for kind in ("partial", "old"))
    partial.mkdir()
    try:
        yield partial
        if path.exists():
            path.rename(old)
        partial.rename(path)
    finally:
        if old.exists() and not path.exists():
            old.rename(path)
        for rest in (old, partial):
            shutil.rmtree(rest, ignore_errors=True)


def check_file(path: Path, *, force: bool) -> None:
    """Refuse a file that cannot be made, or that is there and may not be replaced."""
    name = str(path)
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"`out` must be in an existing folder that can be written, got {name!r}.")
    if path.is_dir():
        raise ValueError(f"`out` must be a file, got the folder {name!r}.")
    if path.exists() and not force:
        raise ValueError(f"`out` must be a new file, got {name!r}. Give --force to replace it.")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write, that takes its place at the end."""
    partial = path.with_name(f".{secrets.token_hex(4)}.partial-{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
