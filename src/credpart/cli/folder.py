"""What stands in a folder of results: one function for each file."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credpart._arrays import IntArray
from credpart.cli.spreadsheet import write_csv
from credpart.cli.table_files import beside
from credpart.diagnostics import Diagnosis, Finding
from credpart.focal import check_cluster_names
from credpart.metrics import adjusted_rand, confusion
from credpart.partition import EvidentialPartition
from credpart.partition.describe import counts_by_size, shares_by_size
from credpart.partition.doubt import THRESHOLD
from credpart.partition.npz import write_arrays
from credpart.report import to_html
from credpart.report.paths import file_name, without_folders
from credpart.result import CalibratedResult
from credpart.storage import dump_model
from credpart.summary_file import mixture_and_replicates

Summary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What to fit to what."""

    source: str
    table: Mapping[str, Any]  # what `read_objects` takes
    estimator: Mapping[str, Any]
    fit_rows: Any  # how many rows to fit; None is all
    raw_text: bool = False  # whether names that look like formulas are written as they are
    audit: Any = "auto"  # data sets of a quick audit
    recalibrate: bool = False  # whether the level is the one that the audit recommends
    command: Sequence[str] = ("credpart", "fit", "SOURCE")  # that fits again, with another folder
    more: tuple[str, ...] = ()  # other files with the same columns

    @property
    def sources(self) -> list[str]:
        """All files, which are one table; or the one source."""
        return [self.source, *self.more]

    @property
    def title(self) -> str:
        """The names of the files."""
        return ", ".join(Path(source).name for source in self.sources)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What was found: the result of the fitted rows, whether to trust it, and the masses of all."""

    result: CalibratedResult
    diagnosis: Diagnosis
    rows: IntArray | None  # those that were fitted; None: all
    partition: EvidentialPartition  # of all objects
    classes: NDArray[np.str_] | None  # of all objects, if they are known
    remarks: list[str]
    kept: pd.DataFrame | None = None  # columns of the data to write beside the masses
    id_column: str | None = None  # that named the objects, by an option or by itself

    @property
    def fitted_classes(self) -> NDArray[np.str_] | None:
        """Known classes of the rows that were fitted."""
        if self.classes is None or self.rows is None:
            return self.classes
        return self.classes[self.rows]

    def notes(self, request: Request, summary: Summary) -> dict[str, Any]:
        """What a stored model keeps of its data."""
        classes = self.fitted_classes
        return {
            "source": ", ".join(request.sources),
            "title": request.title,
            "table": {**request.table, "id_column": self.id_column},
            "classes": None if classes is None else classes.tolist(),
            "command": summary["command"],
            "diagnosis": summary["diagnosis"],
        }


def describe(request: Request, outcome: Outcome) -> Summary:
    """What stands in summary.json."""
    result, partition = outcome.result, outcome.partition
    summary: dict[str, Any] = {
        "n": partition.n_objects,
        "n_fitted": result.n_objects,
        "columns": result.column_names,
        **mixture_and_replicates(result),
        "replicate_clusters": {str(c): b for c, b in result.replicates.chosen_numbers().items()},
        "n_groups": None if result.groups is None else len(np.unique(result.groups)),
        "n_strata": None if result.strata is None else len(np.unique(result.strata)),
        "n_labelled": None if result.known_labels is None else result.known_labels.n_labelled,
        "label_names": None if result.known_labels is None else result.known_labels.names,
        "objective": result.objective,
        **shares_and_doubt(partition),
        "sets": {name: count for name, count in partition.counts().items() if count},
        "diagnosis": outcome.diagnosis.to_dict(),
        "remarks": outcome.remarks,
        "source": request.source if not request.more else request.sources,
        "command": shlex.join(["credpart", *sys.argv[1:]]),
    }
    if outcome.classes is not None:
        table = confusion_table(partition, outcome.classes)
        summary["confusion"] = {str(name): row.to_dict() for name, row in table.iterrows()}
        summary["adjusted_rand"] = adjusted_rand(partition, outcome.classes)
    return summary


def confusion_table(partition: EvidentialPartition, classes: ArrayLike) -> pd.DataFrame:
    """Classes against sets of clusters, which have the numbers that they have elsewhere."""
    numbers = check_cluster_names(partition.cluster_names, partition.n_clusters)
    return confusion(replace(partition, cluster_names=numbers), classes)


def shares_and_doubt(partition: EvidentialPartition) -> Summary:
    """Shares of the objects by verdict and by the set of maximum mass, and the mean doubt."""
    n, table = partition.n_objects, partition.doubt()
    means = table.drop(columns="verdict").mean()
    return {
        "verdicts": {word: count / n for word, count in partition.doubt_counts().items()},
        "threshold": THRESHOLD,
        "doubt": means.to_dict(),
        "shares": shares_by_size(*counts_by_size(partition)),
    }


def masses_table(partition: EvidentialPartition) -> pd.DataFrame:
    """Labels, masses, beliefs, plausibilities, and how sure the label of each object is."""
    return pd.concat([partition.to_frame(), partition.doubt()], axis=1).rename_axis("id")


def write_masses(path: Path, request: Request, outcome: Outcome, summary: Summary) -> None:
    """One row for each object: its labels, masses, beliefs and plausibilities, and its doubt."""
    table = beside(outcome.kept, masses_table(outcome.partition))
    write_csv(table, path, raw_text=request.raw_text)


def write_intervals(path: Path, request: Request, outcome: Outcome, summary: Summary) -> None:
    """The bounds of all pairs of the objects that were compared, and their rows in the fit."""
    intervals, rows = outcome.result.intervals, outcome.result.sample.rows
    arrays = {"lower": intervals.lower, "upper": intervals.upper, "rows": rows}
    with path.open("wb") as stream:
        write_arrays(stream, arrays | {"level": np.array(intervals.level)})


def write_model(path: Path, request: Request, outcome: Outcome, summary: Summary) -> None:
    """The result, for `load_model` and the other commands."""
    with path.open("wb") as stream:
        dump_model(outcome.result, stream, notes=outcome.notes(request, summary))


def write_summary(path: Path, request: Request, outcome: Outcome, summary: Summary) -> None:
    """What was found, for programs."""
    # Names of files need not be text: as escapes they can always be written.
    put_text(path, json.dumps(summary, indent=2, default=str) + "\n")


def write_timings(path: Path, request: Request, outcome: Outcome, summary: Summary) -> None:
    """Seconds of each stage: the one file that differs between two runs of the same seed."""
    put_text(path, json.dumps(dict(outcome.result.timings), indent=2) + "\n")


def write_report(path: Path, request: Request, outcome: Outcome, summary: Summary) -> None:
    """The page to open in a browser."""
    page = report(outcome.result, outcome.notes(request, summary), outcome.diagnosis)
    put_text(path, page)


def put_text(path: Path, text: str) -> None:
    """Write text as UTF-8, with the same ends of lines on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


FILES: Mapping[str, Callable[[Path, Request, Outcome, Summary], None]] = {
    "masses.csv": write_masses,
    "intervals.npz": write_intervals,
    "model.npz": write_model,
    "summary.json": write_summary,
    "timings.json": write_timings,
    "report.html": write_report,
}


AUDIT = "audit.json"  # what `credpart audit` adds to a folder
OURS = (*FILES, AUDIT)  # files of a folder that may be replaced


def report(
    result: CalibratedResult, notes: Mapping[str, Any], diagnosis: Diagnosis | None = None
) -> str:
    """The page on a result; notes that a model saved from Python lacks are left out.

    A page may be mailed: paths on it are names without folders.
    """
    source, command = notes.get("source"), notes.get("command")
    diagnosis = stored_diagnosis(notes) if diagnosis is None else diagnosis

    def short(text: str) -> str:
        return without_folders(text, command, source)

    return to_html(
        result,
        title=None if source is None else notes.get("title", file_name(source)),
        classes=notes.get("classes"),
        source=None if source is None else file_name(source),
        command=None if command is None else short(command),
        diagnosis=None if diagnosis is None else _with_changes(diagnosis, short),
    )


def stored_diagnosis(notes: Mapping[str, Any]) -> Diagnosis | None:
    """The diagnosis that was made with the fit; None if there is none that can be read."""
    told = notes.get("diagnosis")
    if told is None:
        return None
    try:
        return Diagnosis.from_dict(told)
    except (KeyError, TypeError, ValueError, AttributeError):  # a file can hold anything
        return None


def _with_changes(diagnosis: Diagnosis, change: Callable[[str], str]) -> Diagnosis:
    """The diagnosis with other texts of what to type."""

    def changed(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(replace(finding, change=change(finding.change)) for finding in findings)

    findings, advice = changed(diagnosis.findings), changed(diagnosis.advice)
    return replace(diagnosis, findings=findings, advice=advice)
