"""Results that are complete, whatever happens to the command afterwards."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from credpart._files import is_in_place, new_file, write_or_rescue
from credpart.cli.signals import raise_if_stopped
from credpart.errors import InputError

if TYPE_CHECKING:  # `credpart --help` needs no pandas
    import pandas as pd


STANDARD_OUTPUT = Path("-")  # as programs name it that read and write streams
_claimed: list[tuple[Path, os.stat_result]] = []  # places, and what is to stand there


def begin() -> None:
    """No result has been claimed yet."""
    _claimed.clear()


def claim(path: Path, partial: Path) -> None:
    """Remember that ``partial`` is to take the place of ``path``; its state tells it apart.

    What is written to a device or a pipe takes no place.
    """
    if partial.exists():
        _claimed.append((path, partial.stat()))


def complete_results() -> str:
    """Which results are in their places by now, in a sentence; empty if none is.

    It looks when it is asked, so that it is right at whatever moment a command was interrupted.
    """
    paths = [str(path) for path, made in _claimed if is_in_place(path, made)]
    return " ".join(f"The result in {path!r} is complete." for path in paths)


def refuse_stream(path: Path | None, what: str, remedy: str = "") -> None:
    """Refuse standard output for what is a file or a folder."""
    if path == STANDARD_OUTPUT:
        raise InputError("out", f"name {what}", str(path), remedy)


@contextmanager
def table_file(
    path: Path | None, *, force: bool, raw_text: bool = False
) -> Iterator[Callable[["pd.DataFrame"], None]]:
    """What saves a table, in a file that is claimed before anything is computed.

    Its ending says the kind of the file.  Without a path nothing is saved.
    """
    from credpart.cli.table_files import writer_of

    refuse_stream(path, "a file", "Without --out the result goes to standard output.")
    if path is None:
        yield lambda table: None
        return
    write_table = writer_of(path)
    with ExitStack() as stack:
        file = new_file(path, overwrite=force, only_seen=True, argument="out")
        partial = stack.enter_context(file)
        claim(path, partial)

        def save(table: "pd.DataFrame") -> None:
            def write(target: Path) -> None:
                write_table(table, target, raw_text=raw_text)

            write_or_rescue(write, partial, path)
            raise_if_stopped()
            stack.close()  # takes its place

        yield save
