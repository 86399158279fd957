"""``credpart plot``: a table of pictures of a fitted model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from credpart import plot
from credpart._checks import check_choice
from credpart._files import new_file
from credpart.cli.completion import claim
from credpart.cli.stored import Stored, stored_model
from credpart.errors import InputError

KINDS: Mapping[str, Callable[[Stored, Any], Any]] = {  # (result and notes, features or None)
    "partition": lambda s, features: _partition(s, features),
    "memberships": lambda s, features: plot.memberships(s.result.partition),
    "profile": lambda s, features: plot.profile(s.result),
    "selection": lambda s, features: plot.selection(s.result.selection),
    "approximation": lambda s, features: plot.approximation(s.result.compared, s.result.intervals),
    "classification": lambda s, features: plot.classification(
        s.result.mixture, s.X, features=features, classes=s.classes
    ),
    "uncertainty": lambda s, features: plot.uncertainty(s.result.mixture, s.X, features=features),
    "density": lambda s, features: plot.density(s.result.mixture, s.X, features=features),
    "relational": lambda s, features: plot.relational(s.result.partition),
    "matrix": lambda s, features: plot.scatter_matrix(
        plot.partition, s.result.partition, s.X, features=features
    ),
}
FORMATS = (".png", ".svg", ".pdf")


def _partition(stored: Stored, features: Any) -> Any:
    """The objects in a plane; along a line if there is only one column."""
    partition, X = stored.result.partition, stored.X
    if X.shape[1] == 1:
        return plot.one_column(partition, X)
    return plot.partition(partition, X, features=features, classes=stored.classes)


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
