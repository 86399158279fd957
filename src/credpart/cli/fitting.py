"""``credpart fit``: read, fit, write the folder, say what was found."""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credpart import __version__
from credpart._arrays import IntArray
from credpart._checks import check_data, check_integer
from credpart._files import check_folder, new_folder
from credpart._random import random_generator
from credpart.cli.folder import FILES
from credpart.cli.vocabulary import in_shell
from credpart.clustering import CalibratedClustering
from credpart.diagnostics import Diagnosis, diagnose
from credpart.errors import InputError
from credpart.metrics import adjusted_rand, confusion, shares
from credpart.mixture.models import MODELS
from credpart.partition import EvidentialPartition
from credpart.report import to_html
from credpart.result import CalibratedResult
from credpart.storage import dump_model
from credpart.tables import Objects, Transform, read_objects


@dataclass(frozen=True, slots=True)
class Request:
    """What to fit to what."""

    source: str
    table: Mapping[str, Any]  # columns, id_column, label_column, transform
    estimator: Mapping[str, Any]
    fit_rows: Any  # how many rows to fit; None is all


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What was found: the result of the fitted rows, whether to trust it, and the masses of all."""

    result: CalibratedResult
    diagnosis: Diagnosis
    rows: IntArray | None  # those that were fitted; None: all
    partition: EvidentialPartition  # of all objects
    classes: NDArray[np.str_] | None  # of all objects, if they are known
    remarks: list[str]

    @property
    def fitted_classes(self) -> NDArray[np.str_] | None:
        """Known classes of the rows that were fitted."""
        if self.classes is None or self.rows is None:
            return self.classes
        return self.classes[self.rows]


def fit_and_write(request: Request, out: Path | None, *, force: bool, quiet: bool) -> None:
    """Fit the model, and write the folder."""
    folder = out or Path(f"credpart-{Path(request.source).stem}")
    check_folder(folder, FILES, overwrite=force)
    outcome = fit(request, quiet=quiet)
    summary = describe(request, outcome)
    with new_folder(folder, FILES, overwrite=force) as partial:
        write(partial, request, outcome, summary)
    if not quiet:
        from credpart.cli.screen import show_fit

        show_fit(summary, outcome.partition, folder)


def takes_categories(models: str | list[str]) -> bool:
    """Whether a model reads text as categories."""
    named = [models] if isinstance(models, str) else models
    return any(name in MODELS and MODELS[name].read is not check_data for name in named)


def read(source: str, table: Mapping[str, Any], *, categories: bool = False) -> Objects:
    """The objects of a file or of a bundled data set."""
    transform = Transform(**table["transform"])
    return read_objects(source, **{**table, "transform": transform}, categories=categories)


def fit(request: Request, *, quiet: bool) -> Outcome:
    """Fit the model to all rows, or to some and score the others."""
    check_jobs(request.estimator["n_jobs"])
    categories = takes_categories(request.estimator["model"])
    objects = read(request.source, request.table, categories=categories)
    X, rows = objects.named(), None
    if request.fit_rows is not None:
        rows = _sampled_rows(X, request, categories=categories)
    model = CalibratedClustering(**request.estimator)
    with heard(rows, quiet=quiet) as remarks:
        result = model.fit(X if rows is None else X.iloc[rows]).result_
    partition = result.partition if rows is None else _partition_of_all(model, X, rows)
    return Outcome(result, diagnose(result), rows, partition, objects.classes, remarks)


def check_jobs(value: Any) -> None:
    """Refuse what joblib would refuse in words of its own."""
    if value is not None and (not isinstance(value, int) or value == 0):
        raise InputError("n_jobs", "be an integer other than 0", value)


def _sampled_rows(X: pd.DataFrame, request: Request, *, categories: bool) -> IntArray:
    """A random sample of the rows, in their order."""
    wanted = check_integer("fit_rows", request.fit_rows, at_least=2)
    if not categories:
        check_data(X)  # all rows must be fit to be scored
    rng = random_generator(request.estimator["random_state"])
    return np.sort(rng.permutation(len(X))[:wanted])


def _partition_of_all(
    model: CalibratedClustering, X: pd.DataFrame, rows: IntArray
) -> EvidentialPartition:
    """Masses of all objects: the fitted ones keep theirs."""
    others = np.setdiff1d(np.arange(len(X)), rows)
    masses = np.empty((len(X), len(model.partition_.focal_sets)))
    masses[rows] = model.partition_.masses
    if len(others):
        masses[others] = model.predict_masses(X.iloc[others])
    return EvidentialPartition(masses, model.partition_.focal_sets, index=X.index)


@contextmanager
def heard(rows: IntArray | None, *, quiet: bool) -> Iterator[list[str]]:
    """Collect warnings in plain words; tell each once, unless ``quiet``."""
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield remarks
    texts = [in_shell(warning.message, rows) for warning in caught]
    remarks += dict.fromkeys(texts)  # each of them once
    for remark in remarks if not quiet else ():
        print(f"Note: {remark}", file=sys.stderr)


def describe(request: Request, outcome: Outcome) -> dict[str, Any]:
    """What stands in summary.json."""
    result, partition = outcome.result, outcome.partition
    mixture, options = result.mixture, result.options
    summary: dict[str, Any] = {
        "n": partition.n_objects,
        "n_fitted": result.n_objects,
        "columns": result.column_names,
        "n_clusters": mixture.n_clusters,
        "model": mixture.model,
        "loglik": mixture.loglik,
        "bic": mixture.bic,
        "criterion": options.criterion,
        "level": options.level,
        "replicates": result.replicates.counts(),
        "replicate_models": result.replicates.chosen(),
        "objective": result.objective,
        "shares": shares(partition)._asdict(),
        "sets": {name: count for name, count in partition.counts().items() if count},
        "diagnosis": outcome.diagnosis.to_dict(),
        "remarks": outcome.remarks,
        "timings": dict(result.timings),
        "seed": options.seed,
        "source": request.source,
        "command": command(),
        "version": __version__,
    }
    if outcome.classes is not None:
        table = confusion(partition, outcome.classes)
        summary["confusion"] = {str(name): row.to_dict() for name, row in table.iterrows()}
        summary["adjusted_rand"] = adjusted_rand(partition, outcome.classes)
    return summary


def command() -> str:
    """The command that this process was given."""
    import shlex

    return shlex.join(["credpart", *sys.argv[1:]])


def write(folder: Path, request: Request, outcome: Outcome, summary: Mapping[str, Any]) -> None:
    """Write all files."""
    result, intervals = outcome.result, outcome.result.intervals
    classes = outcome.fitted_classes
    notes = {
        "source": request.source,
        "table": dict(request.table),
        "classes": None if classes is None else classes.tolist(),
        "command": summary["command"],
    }
    outcome.partition.to_frame().rename_axis("id").to_csv(folder / "masses.csv")
    np.savez_compressed(
        folder / "intervals.npz",
        allow_pickle=False,
        lower=intervals.lower,
        upper=intervals.upper,
        level=np.array(intervals.level),
    )
    with (folder / "model.npz").open("wb") as stream:
        dump_model(result, stream, notes=notes)
    # names of files need not be text: as escapes they can always be written
    text = json.dumps(summary, indent=2, default=str)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    page = report(result, notes, outcome.diagnosis)
    (folder / "report.html").write_text(page, encoding="utf-8")


def report(
    result: CalibratedResult, notes: Mapping[str, Any], diagnosis: Diagnosis | None = None
) -> str:
    """The page on a result."""
    return to_html(
        result,
        title=Path(notes["source"]).name,
        classes=notes["classes"],
        source=notes["source"],
        command=notes["command"],
        diagnosis=diagnosis,
    )
