"""``credpart plot``: a table of pictures of a fitted model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from credpart import plot
from credpart._checks import check_choice
from credpart._files import new_file
from credpart.cli.completion import claim
from credpart.cli.fitting import show_notes
from credpart.cli.screen import show_written
from credpart.cli.stored import Stored, stored_model
from credpart.errors import InputError
from credpart.result import CalibratedResult

Draw = Callable[[Stored, Any], Any]  # result and notes, features or None


def whole(stored: Stored) -> Stored:
    """The objects that have a place in a plane: those without missing cells."""
    result, classes = stored.result, stored.classes
    is_whole = np.isfinite(result.data.values).all(axis=1)
    rows, n = np.flatnonzero(is_whole), result.n_objects
    index = result.partition.index
    if len(rows) == n or result.data.levels is not None:
        return stored
    n_left = n - len(rows)
    several = "object with missing cells is" if n_left == 1 else "objects with missing cells are"
    show_notes([f"{n_left} {several} not drawn."], quiet=False)
    names = None if index is None else index[rows]
    partition = replace(result.partition, masses=result.partition.masses[rows], index=names)
    data = result.data._replace(values=result.data.values[rows], index=names)
    known = None if classes is None else [classes[row] for row in rows]
    drawn = replace(result, data=data, partition=partition)
    return Stored(drawn, {**stored.notes, "classes": known})


def of_objects(draw: Draw) -> Draw:
    """A picture that has a place for each object."""
    return lambda stored, features: draw(whole(stored), features)


KINDS: Mapping[str, Draw] = {
    "partition": of_objects(lambda s, features: _partition(s, features)),
    "memberships": lambda s, features: plot.memberships(s.result.partition),
    "doubt": lambda s, features: plot.doubt(s.result.partition),
    "profile": lambda s, features: plot.profile(s.result),
    "selection": lambda s, features: plot.selection(s.result.selection),
    "approximation": lambda s, features: _approximation(s.result),
    "classification": of_objects(
        lambda s, features: plot.classification(
            s.result.mixture, s.X, features=features, classes=s.classes
        )
    ),
    "uncertainty": of_objects(
        lambda s, features: plot.uncertainty(s.result.mixture, s.X, features=features)
    ),
    "density": of_objects(
        lambda s, features: plot.density(s.result.mixture, s.X, features=features)
    ),
    "relational": lambda s, features: plot.relational(s.result.partition),
    "matrix": of_objects(
        lambda s, features: plot.scatter_matrix(
            plot.partition, s.result.partition, s.X, features=features
        )
    ),
}
FORMATS = (".png", ".svg", ".pdf")


def _partition(stored: Stored, features: Any) -> Any:
    """The objects in a plane; along a line if there is only one column."""
    partition, X = stored.result.partition, stored.X
    if X.shape[1] == 1:
        return plot.one_column(partition, X)
    return plot.partition(partition, X, features=features, classes=stored.classes)


def _approximation(result: CalibratedResult) -> Any:
    """Both bounds: belief against the lower, plausibility against the upper."""
    axes = plt.subplots(1, 2, figsize=(10.0, 4.5), layout="constrained")[1]
    for ax, bound in zip(axes, ("lower", "upper"), strict=True):
        plot.approximation(result.compared, result.intervals, bound, ax=ax)
    return axes


def write_picture(
    model: Path, kind: str, columns: Sequence[str] | None, out: Path | None, *, force: bool
) -> None:
    """Draw a picture of a fitted model into a file."""
    draw = KINDS[check_choice("picture", kind, KINDS)]
    path = out or Path(f"{kind}.png")
    if path.suffix.lower() not in FORMATS:
        raise InputError("out", f"end in {', '.join(FORMATS)}", str(path))
    stored = stored_model(model)
    mpl.use("agg")
    with (
        mpl.rc_context({"svg.hashsalt": "credpart"}),  # the same picture is the same bytes
        new_file(path, overwrite=force, argument="out") as partial,
    ):
        claim(path, partial)
        axes = draw(stored, columns)
        figure: Figure = pd.Series(axes.ravel() if hasattr(axes, "ravel") else [axes])[0].figure
        kept = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        figure.savefig(partial, dpi=150, bbox_inches="tight", metadata=kept[path.suffix.lower()])
    show_written("The picture is", path)
