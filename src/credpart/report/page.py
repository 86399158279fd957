"""The page as a whole: content, data, script, and the policy that lets nothing else in."""

import base64
import hashlib
import os
import re
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

from credpart._arrays import IntArray
from credpart._checks import Table
from credpart._files import check_file, new_file
from credpart.diagnostics import Diagnosis, diagnose
from credpart.errors import InputError
from credpart.focal import check_cluster_names, set_names
from credpart.mixture.fit import MixtureFit
from credpart.partition.describe import partition_doubt
from credpart.partition.doubt import THRESHOLD, possible_words, word_codes
from credpart.plot._palette import SYMBOLS, colours
from credpart.plot._plane import class_codes, principal_plane
from credpart.report import charts, content, payload
from credpart.report.profile_table import profile_table
from credpart.report.script import page_script
from credpart.report.trust import AuditSection, audit_section, rivals_section
from credpart.result import CalibratedResult, Fitted, result_of

NUMBERS = {"levels": None}  # of an axis
SIGNS = re.compile(r"(?<=[_./-])(?=.)")  # behind which a name may go on in the next line


def write_report(
    model: CalibratedResult | Fitted,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ids: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    source: str | None = None,
    command: str | None = None,
    diagnosis: Diagnosis | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted clustering as one self-contained page for a browser.

    The page needs no network and runs no script but its own.  It is written whole or not at all.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        The fitted clustering, or its result.
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
    diagnosis : Diagnosis, optional
        What `diagnose` found; by default what it finds without an audit and without rivals.
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
    text = to_html(
        model,
        title=title,
        ids=ids,
        classes=classes,
        source=source,
        command=command,
        diagnosis=diagnosis,
    )
    with new_file(target, overwrite=overwrite) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


def to_html(
    model: CalibratedResult | Fitted,
    *,
    title: str | None = None,
    ids: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    source: str | None = None,
    command: str | None = None,
    diagnosis: Diagnosis | None = None,
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
    result = result_of(model)
    judged = diagnose(result, audit=0, rivals=False) if diagnosis is None else diagnosis
    objects = ReportObjects.of(result, ids, classes)
    arrays, about = _data(result, objects)
    about["grade"] = judged.grade
    text, about["arrays"] = payload.pack(arrays)
    failure_script, script = page_script("failure.js"), page_script("main.js")
    style = _asset("page.css")
    n, c = result.n_objects, result.partition.n_clusters
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
        diagnosis=judged,
        audit=_audit_section(result, judged),
        rivals=judged.rivals and rivals_section(judged.rivals, _coverage_asked_for(result)),
        **_sections(result, objects, command),
        stored=about["stored"],
        charts=charts,
    )
    # A name of a file may hold bytes that are no text: the page is, so that it can be written.
    return page.encode("utf-8", "replace").decode("utf-8")


def _coverage_asked_for(result: CalibratedResult) -> float:
    return result.options.nominal_level or result.intervals.level


def _audit_section(result: CalibratedResult, judged: Diagnosis) -> AuditSection | None:
    """The audit of a diagnosis, with the words of its finding on the level."""
    finding = next((one for one in judged.findings if one.topic == "level"), None)
    if judged.audit is None or finding is None:
        return None
    return audit_section(judged.audit, finding, float(result.intervals.length.mean()))


class ReportObjects(NamedTuple):
    """The objects: their names, features, and classes if they are known."""

    data: Table  # categories are codes
    names: list[str]  # of the columns
    ids: list[str]
    classes: list[str]
    codes: IntArray | None

    @classmethod
    def of(
        cls, result: CalibratedResult, ids: ArrayLike | None, classes: ArrayLike | None
    ) -> "ReportObjects":
        """Check and gather them."""
        n = result.n_objects
        labels = [str(label) for label in (result.ids if ids is None else np.asarray(ids))]
        if len(labels) != n:
            raise InputError("ids", f"have {n} names", len(labels))
        known, codes = ([], None) if classes is None else class_codes(classes, n)
        return cls(result.data, result.column_names, labels, known, codes)

    @property
    def known_classes(self) -> NDArray[np.str_] | None:
        """The class of each object, if that is known."""
        return None if self.codes is None else np.array(self.classes, dtype=str)[self.codes]


def _sections(
    result: CalibratedResult, objects: ReportObjects, command: str | None
) -> dict[str, Any]:
    """What the template's sections show."""
    partition, selection, known = result.partition, result.selection, objects.known_classes
    return {
        "summary": content.summary(partition),
        "divided": content.divided(result),
        "crosstab": None if known is None else content.crosstab(partition, known),
        "profiles": profile_table(result.profiles()),
        "settings": content.settings(result),
        "columns": content.columns(objects.data, objects.names),
        "criterion": selection.criterion.upper(),
        "selection": charts.selection_chart(selection),
        "narrow_selection": charts.selection_chart(selection, charts.NARROW),
        "criterion_rows": charts.criterion_rows(selection),
        "model": result.mixture.model,
        "meaning": content.describe_model(result.mixture.model).partition(": ")[2],
        "quality": content.quality(result),
        "reproduction": content.reproduction(result, command),
        "level": f"{100 * result.intervals.level:g} %",
    }


def _data(
    result: CalibratedResult, objects: ReportObjects
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the description that the script reads."""
    partition, values, level = result.partition, result.data.values, result.intervals.level
    doubt = partition_doubt(partition)
    order = np.argsort(doubt.belief, kind="stable")
    arrays = {
        "X": payload.table_values(values),
        "masses": payload.table_values(partition.masses),
        "fit": payload.table_values(result.posteriors),
        "labels": partition.labels.astype("<u2"),
        "sets": partition.set_labels.astype("<u2"),
        "verdicts": word_codes(doubt, THRESHOLD).astype("<u2"),
        "order": order.astype("<u4"),
    }
    if objects.codes is not None:
        arrays["classes"] = objects.codes.astype("<u2")
    room = payload.room_beside(arrays)
    stored = payload.store(result.replicates, result.mixture_values, order, level, room)
    arrays |= {"kept": stored.objects.astype("<u4"), **stored.arrays}
    c = partition.n_clusters
    about = {
        "ids": objects.ids,
        "clusters": check_cluster_names(partition.cluster_names, c),
        "sets": set_names(partition.focal_sets, partition.cluster_names),
        "words": list(possible_words(partition.focal_sets)),
        "members": [np.flatnonzero(row).tolist() for row in partition.focal_sets],
        "classes": objects.classes,
        "colours": [to_hex(colour) for colour in colours(c)],
        "class_colours": [to_hex(colour) for colour in colours(len(objects.classes))],
        "symbols": list(SYMBOLS),
        "names": objects.names,
        "axes": _axes(objects),
        "ellipses": _ellipses(result.mixture),
        "level": level,
        "stored": {
            "objects": len(stored.objects),
            "replicates": stored.replicates,
            "of": stored.of,
            "resolution": stored.resolution,
        },
    }
    return arrays, about


def _axes(objects: ReportObjects) -> list[dict[str, Any]]:
    """What the picture's axes can be: principal components, then the columns."""
    X, d = objects.data.values, objects.data.values.shape[1]
    levels = objects.data.levels or [None] * d
    axes: list[dict[str, Any]] = [
        {"name": name, "center": 0.0, "weights": row, "levels": known and [*map(str, known)]}
        for name, row, known in zip(objects.names, np.eye(d).tolist(), levels, strict=True)
    ]
    if d > 2 and objects.data.levels is None and np.isfinite(X).all():
        view = principal_plane(X)
        axes += [
            {
                "name": label,
                "short": label.replace("principal component", "PC"),
                "center": float(view.center @ row),
                "weights": row.tolist(),
                **NUMBERS,
            }
            for label, row in zip(view.labels, view.axes.T, strict=True)
        ]
    return axes


def _ellipses(fit: MixtureFit) -> dict[str, Any] | None:
    """Means and covariances of normal components, whose ellipses hold known shares."""
    components = fit.components
    if components is None or not fit.family.is_normal:
        return None
    return {"means": components.locations.tolist(), "covariances": components.scales.tolist()}


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
    environment.filters["breakable"] = _breakable
    environment.filters["unbroken_words"] = _unbroken_words
    return environment.from_string(_asset("page.html"))


def _breakable(name: str) -> Markup:
    """A name that may go on in the next line behind a sign, as names of columns have no spaces.

    >>> print(_breakable("petal_length <cm>"))
    petal_<wbr>length &lt;cm&gt;
    """
    return Markup("<wbr>").join(SIGNS.split(str(name)))


def _unbroken_words(command: str) -> Markup:
    """A command whose words are not parted at the end of a line, as at a hyphen or a slash.

    >>> print(_unbroken_words("fit <a.csv --model"))
    fit &lt;a.csv <span class="word">--model</span>
    """
    whole = Markup('<span class="word">{}</span>')
    words = command.split(" ")
    return Markup(" ").join(whole.format(word) if set("-/") & set(word) else word for word in words)
