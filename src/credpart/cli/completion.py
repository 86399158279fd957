"""Results that are complete, whatever happens to the command afterwards."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from credpart._files import is_in_place, new_file, write_or_rescue
from credpart.cli.signals import raise_if_stopped

if TYPE_CHECKING:  # `credpart --help` needs no pandas
    import pandas as pd


@contextmanager
def said_if_complete(path: Path) -> Iterator[list[os.stat_result]]:
    """An exception within the context says so if the result was in its place by then.

    The caller adds the state of what will be renamed, by which it is known again.
    """
    made: list[os.stat_result] = []
    try:
        yield made
    except BaseException as error:
        if made and is_in_place(path, made[0]):
            error.add_note(f"The result in {str(path)!r} is complete.")
        raise


@contextmanager
def table_file(
    path: Path | None, *, force: bool, raw_text: bool = False
) -> Iterator[Callable[["pd.DataFrame"], None]]:
    """What saves a table as CSV, in a file that is claimed before anything is computed.

    Without a path nothing is saved.
    """
    from credpart.cli.spreadsheet import write_csv

    if path is None:
        yield lambda table: None
        return
    with said_if_complete(path) as made, ExitStack() as claim:
        file = new_file(path, overwrite=force, only_seen=True, argument="out")
        partial = claim.enter_context(file)

        def save(table: "pd.DataFrame") -> None:
            def write(target: Path) -> None:
                write_csv(table, target, raw_text=raw_text)

            write_or_rescue(write, partial, path)
            made.append(partial.stat())
            raise_if_stopped()
            claim.close()  # takes its place

        yield save


def complete_result(error: BaseException) -> str:
    """What `said_if_complete` said; empty if nothing was complete."""
    return " ".join(getattr(error, "__notes__", ()))
