"""The page as a whole: content, data, script, and the policy that lets nothing else in."""

import base64
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credpart._arrays import IntArray
from credpart._checks import Table
from credpart._files import check_file, new_file
from credpart.errors import InputError
from credpart.focal import check_cluster_names, set_names
from credpart.plot._palette import SYMBOLS, colours
from credpart.plot._plane import class_codes, principal_plane
from credpart.report import charts, content, payload
from credpart.report.script import page_script

NUMBERS = {"levels": None}  # of an axis


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ids: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    source: str | None = None,
    command: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted clustering as one self-contained page for a browser.

    The page needs no network and runs no script but its own.  It is written whole or not at all.

    Parameters
    ----------
    model : CalibratedClustering
        The fitted clustering.
    path : path
        The file to write.
    title : str, optional
        Title of the page.
    ids : array-like of n, optional
        Names of the objects; by default the index of the data, or the number of the row from 0.
    classes : array-like of n, optional
        Known classes of the objects, to compare the clusters with.
    source : str, optional
        Name of the data.
    command : str, optional
        The command that makes the result again.
    overwrite : bool
        Whether a file may be replaced.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import load_butterfly
    >>> from credpart.report import write_report
    >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
    >>> model = model.fit(load_butterfly().X)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_report(model, f"{directory}/butterfly.html", source="butterfly").name
    'butterfly.html'
    """
    target = Path(path)
    check_file(target, overwrite=overwrite)
    text = to_html(model, title=title, ids=ids, classes=classes, source=source, command=command)
    with new_file(target, overwrite=overwrite) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


def to_html(
    model: Any,
    *,
    title: str | None = None,
    ids: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    source: str | None = None,
    command: str | None = None,
) -> str:
    """Return the page that `write_report` writes.

    Examples
    --------
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import load_butterfly
    >>> from credpart.report import to_html
    >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
    >>> page = to_html(model.fit(load_butterfly().X), title="Two wings")
    >>> "<title>Two wings</title>" in page
    True
    """
    check_is_fitted(model, "partition_")
    objects = Objects.of(model, ids, classes)
    arrays, about = _data(model, objects)
    text, about["arrays"] = payload.pack(arrays)
    failure_script, script = page_script("failure.js"), page_script("main.js")
    style = _asset("page.css")
    n, c = model.partition_.n_objects, model.partition_.n_clusters
    page = _template().render(
        title=title or f"{source or 'Clustering'}: {n:,} objects in {c} cluster{'s'[: c != 1]}",
        source=source,
        policy=policy([failure_script, script], style),
        failure_script=Markup(failure_script),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own file
        style=Markup(style),  # noqa: S704  our own file
        about=Markup(payload.to_json(about)),  # noqa: S704  escaped as JSON
        arrays=text,
        objects=objects,
        **_sections(model, objects, command),
        stored=about["stored"],
        charts=charts,
    )
    # A name of a file may hold bytes that are no text: the page is, so that it can be written.
    return page.encode("utf-8", "replace").decode("utf-8")


class Objects(NamedTuple):
    """The objects: their names, features, and classes if they are known."""

    table: Table  # categories are codes
    names: list[str]  # of the columns
    ids: list[str]
    classes: list[str]
    codes: IntArray | None

    @classmethod
    def of(cls, model: Any, ids: Any, classes: ArrayLike | None) -> "Objects":
        """Check and gather them."""
        table = model.mixture_.columns.read(model._fit_X)
        n, d = table.values.shape
        given = getattr(model, "feature_names_in_", None)
        names = [f"column {j + 1}" for j in range(d)] if given is None else list(given)
        index = ids if ids is not None else model._index
        labels = [str(label) for label in (range(n) if index is None else list(index))]
        if len(labels) != n:
            raise InputError("ids", f"have {n} names", len(labels))
        known, codes = ([], None) if classes is None else class_codes(classes, n)
        return cls(table, [str(name) for name in names], labels, known, codes)


def _sections(model: Any, objects: Objects, command: str | None) -> dict[str, Any]:
    """What the template's sections show."""
    partition = model.partition_
    codes = objects.codes
    return {
        "verdict": content.verdict(model),
        "summary": content.summary(partition),
        "crosstab": None if codes is None else content.crosstab(partition, objects.classes, codes),
        "settings": content.settings(model),
        "columns": content.columns(objects.table, objects.names),
        "selection": charts.selection_chart(model.selection_),
        "criterion_rows": charts.criterion_rows(model.selection_),
        "chosen": content.describe_model(model.mixture_.model),
        "quality": content.quality(model),
        "reproduction": content.reproduction(model, command),
        "level": f"{100 * model.intervals_.level:g} %",
        "model": model,
    }


def _data(model: Any, objects: Objects) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the description that the script reads."""
    partition, table = model.partition_, objects.table
    doubt = 1.0 - partition.belief().max(axis=1)
    order = np.argsort(-doubt, kind="stable")
    arrays = {
        "X": payload.table_values(table.values),
        "masses": payload.table_values(partition.masses),
        "fit": payload.table_values(model.mixture_.posteriors(table)),
        "labels": partition.labels.astype("<u2"),
        "sets": partition.set_labels.astype("<u2"),
        "order": order.astype("<u4"),
    }
    if objects.codes is not None:
        arrays["classes"] = objects.codes.astype("<u2")
    room = payload.room_beside(arrays)
    stored = payload.store(model.replicates_, table, order, model.intervals_.level, room)
    arrays |= {"kept": stored.objects.astype("<u4"), **stored.arrays}
    c = partition.n_clusters
    about = {
        "ids": objects.ids,
        "clusters": check_cluster_names(partition.cluster_names, c),
        "sets": set_names(partition.focal_sets, partition.cluster_names),
        "members": [np.flatnonzero(row).tolist() for row in partition.focal_sets],
        "classes": objects.classes,
        "colours": [to_hex(colour) for colour in colours(c)],
        "class_colours": [to_hex(colour) for colour in colours(len(objects.classes))],
        "symbols": list(SYMBOLS),
        "names": objects.names,
        "axes": _axes(objects),
        "ellipses": _ellipses(model),
        "level": model.intervals_.level,
        "stored": {
            "objects": len(stored.objects),
            "replicates": stored.replicates,
            "of": stored.of,
            "resolution": stored.resolution,
        },
    }
    return arrays, about


def _axes(objects: Objects) -> list[dict[str, Any]]:
    """What the picture's axes can be: principal components, then the columns."""
    X, d = objects.table.values, objects.table.values.shape[1]
    levels = objects.table.levels or [None] * d
    axes: list[dict[str, Any]] = [
        {"name": name, "center": 0.0, "weights": row, "levels": known and [*map(str, known)]}
        for name, row, known in zip(objects.names, np.eye(d).tolist(), levels, strict=True)
    ]
    if d > 2 and objects.table.levels is None and np.isfinite(X).all():
        view = principal_plane(X)
        axes += [
            {"name": label, "center": float(view.center @ row), "weights": row.tolist(), **NUMBERS}
            for label, row in zip(view.labels, view.axes.T, strict=True)
        ]
    return axes


def _ellipses(model: Any) -> dict[str, Any] | None:
    """Means and covariances, if the family has them."""
    params = model.mixture_.params
    means, covariances = (getattr(params, name, None) for name in ("means", "covariances"))
    if means is None or covariances is None:
        return None
    return {"means": means.tolist(), "covariances": covariances.tolist()}


def policy(scripts: Sequence[str], style: str) -> str:
    """Let the page run its own scripts and style, and nothing else.

    >>> policy([""], "").split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; script-src {' '.join(map(_digest, scripts))}; "
        f"style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("credpart.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("page.html"))
