"""How far a stage is: a live bar on a terminal or in a notebook, a line of the log elsewhere."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from time import perf_counter
from typing import Any

Progress = Callable[[str, float], None]  # name of a stage, share of it that is done


def silent(stage: str, share: float) -> None:
    """The progress that nobody watches."""


logger = logging.getLogger("credpart")


@contextmanager
def shown(
    stage: str, verbose: int, timings: dict[str, float] | None = None
) -> Iterator[Progress | None]:
    """Show a stage while it runs, and keep the seconds it took.

    What comes out takes the share that is done; None is silence.

    >>> with shown("bootstrap", verbose=0) as progress:
    ...     print(progress)
    None
    """
    began = perf_counter()
    with _bar(stage) if verbose else nullcontext() as progress:
        yield progress
    seconds = perf_counter() - began
    if timings is not None:
        timings[stage] = seconds
    if verbose:
        logger.info("%s: %.2f s", stage, seconds)


@contextmanager
def _bar(stage: str) -> Iterator[Progress]:
    """A bar that pulses until the first fraction is known."""
    from rich.console import Console

    console = Console(stderr=True)
    if not _is_live(console):
        yield lambda stage, share: None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=24),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left about"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console) as bars:
        task = bars.add_task(stage, total=None)
        yield lambda stage, share: bars.update(task, total=1.0, completed=share)
        bars.update(task, total=1.0, completed=1.0)


def _is_live(console: Any) -> bool:
    """A terminal, or a notebook that has the widgets that a live display needs."""
    if console.is_jupyter:
        return find_spec("ipywidgets") is not None
    return bool(console.is_terminal)
