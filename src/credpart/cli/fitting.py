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
from credpart.diagnostics import diagnose
from credpart.errors import InputError
from credpart.focal import set_names
from credpart.metrics import adjusted_rand, confusion, shares
from credpart.mixture.models import MODELS
from credpart.partition import EvidentialPartition
from credpart.report import write_report
from credpart.storage import save_model
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
    """What was found: a model of the fitted rows, and the masses of all."""

    model: CalibratedClustering
    objects: Objects
    rows: IntArray  # those that were fitted
    partition: EvidentialPartition  # of all objects
    remarks: list[str]

    @property
    def classes(self) -> NDArray[np.str_] | None:
        """Known classes of the rows that were fitted."""
        known = self.objects.classes
        return None if known is None else known[self.rows]


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

        show_fit(summary, folder)


def takes_categories(models: str | list[str]) -> bool:
    """Whether a model reads text as categories."""
    named = [models] if isinstance(models, str) else models
    return any(name in MODELS and MODELS[name].read is not check_data for name in named)


def read(source: str, table: Mapping[str, Any], *, categories: bool = False) -> Objects:
    """The objects; those without names are called 1, 2, 3 and so on."""
    transform = Transform(**table["transform"])
    objects = read_objects(source, **{**table, "transform": transform}, categories=categories)
    ids = pd.RangeIndex(1, len(objects.X) + 1) if objects.ids is None else objects.ids
    return Objects(objects.X.set_axis(ids.rename("id")), ids, objects.classes)


def fit(request: Request, *, quiet: bool) -> Outcome:
    """Fit the model to all rows, or to some and score the others."""
    check_jobs(request.estimator["n_jobs"])
    objects = read(
        request.source, request.table, categories=takes_categories(request.estimator["model"])
    )
    model = CalibratedClustering(**request.estimator)
    rows = _fitted_rows(objects, request)
    with heard(rows, quiet=quiet) as remarks:
        model.fit(objects.X.iloc[rows])
    return Outcome(model, objects, rows, _partition(model, objects, rows), remarks)


def check_jobs(value: Any) -> None:
    """Refuse what joblib would refuse in words of its own."""
    if value is not None and (not isinstance(value, int) or value == 0):
        raise InputError("n_jobs", "be an integer other than 0", value)


def _fitted_rows(objects: Objects, request: Request) -> IntArray:
    n = len(objects.X)
    if request.fit_rows is None:
        return np.arange(n)
    wanted = check_integer("fit_rows", request.fit_rows, at_least=2)
    if not takes_categories(request.estimator["model"]):
        check_data(objects.X)  # all rows must be fit to be scored
    rng = random_generator(request.estimator["random_state"])
    chosen: IntArray = np.sort(rng.permutation(n)[:wanted])
    return chosen


def _partition(
    model: CalibratedClustering, objects: Objects, rows: IntArray
) -> EvidentialPartition:
    """Masses of all objects: the fitted ones keep theirs."""
    others = np.setdiff1d(np.arange(len(objects.X)), rows)
    if not len(others):
        return model.partition_
    masses = np.empty((len(objects.X), len(model.partition_.focal_sets)))
    masses[rows] = model.partition_.masses
    masses[others] = model.predict_masses(objects.X.iloc[others])
    return EvidentialPartition(masses, model.partition_.focal_sets, index=objects.X.index)


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
    model, partition = outcome.model, outcome.partition
    mixture = model.mixture_
    summary: dict[str, Any] = {
        "n": partition.n_objects,
        "n_fitted": len(outcome.rows),
        "columns": list(outcome.objects.X),
        "n_clusters": mixture.n_clusters,
        "model": mixture.model,
        "loglik": mixture.loglik,
        "bic": mixture.bic,
        "criterion": model.criterion,
        "level": model.level,
        "replicates": model.replicates_.counts(),
        "replicate_models": model.replicates_.chosen(),
        "objective": model.objective_,
        "shares": shares(partition)._asdict(),
        "sets": set_counts(partition),
        "diagnosis": diagnose(model).to_dict(),
        "remarks": outcome.remarks,
        "timings": model.timings_,
        "seed": request.estimator["random_state"],
        "source": request.source,
        "command": command(),
        "version": __version__,
    }
    known = outcome.objects.classes
    if known is not None:
        table = confusion(partition, known)
        summary["confusion"] = {str(name): row.to_dict() for name, row in table.iterrows()}
        summary["adjusted_rand"] = adjusted_rand(partition, known)
    return summary


def set_counts(partition: EvidentialPartition) -> dict[str, int]:
    """How many objects have their highest mass on each set; sets of none are left out."""
    names = set_names(partition.focal_sets, partition.cluster_names)
    counts = np.bincount(partition.set_labels, minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=True) if count}


def command() -> str:
    """The command that this process was given."""
    import shlex

    return shlex.join(["credpart", *sys.argv[1:]])


def write(folder: Path, request: Request, outcome: Outcome, summary: Mapping[str, Any]) -> None:
    """Write all files."""
    model = outcome.model
    classes = None if outcome.classes is None else outcome.classes.tolist()
    notes = {
        "source": request.source,
        "table": dict(request.table),
        "classes": classes,
        "command": summary["command"],
    }
    outcome.partition.to_frame().rename_axis("id").to_csv(folder / "masses.csv")
    intervals = model.intervals_
    np.savez_compressed(
        folder / "intervals.npz",
        allow_pickle=False,
        lower=intervals.lower,
        upper=intervals.upper,
        level=np.array(intervals.level),
    )
    save_model(model, folder / "model.npz", notes=notes)
    # names of files need not be text: as escapes they can always be written
    text = json.dumps(summary, indent=2, default=str)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    write_page(folder / "report.html", model, notes)


def write_page(path: Path, model: CalibratedClustering, notes: Mapping[str, Any]) -> None:
    """Write the report."""
    write_report(
        model,
        path,
        title=Path(notes["source"]).name,
        ids=list(model.partition_.index),
        classes=notes["classes"],
        source=notes["source"],
        command=notes["command"],
        overwrite=True,
    )
