"""``credpart fit``: read, fit, write the folder, say what was found."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from credpart._arrays import IntArray
from credpart._audit import Audit
from credpart._checks import check_data, check_data_with_missing, check_integer
from credpart._files import new_folder, write_or_rescue
from credpart._messages import Message, RowNumber, Setting
from credpart._progress import shown
from credpart._random import random_generator
from credpart.cli.completion import claim, refuse_stream
from credpart.cli.folder import FILES, OURS, Outcome, Request, Summary, describe
from credpart.cli.signals import raise_if_stopped
from credpart.cli.spreadsheet import formula_remarks, kept_remarks
from credpart.cli.streams import harmless
from credpart.cli.vocabulary import ShellVocabulary, in_shell, without_option
from credpart.clustering import CalibratedClustering
from credpart.diagnostics import Diagnosis, diagnose
from credpart.errors import CredpartError, InputError
from credpart.mixture.models import MODELS
from credpart.mixture.models import read as read_data
from credpart.partition import EvidentialPartition
from credpart.result import CalibratedResult
from credpart.tables import Objects, TextFormat, Transform, read_objects
from credpart.tables.sources import STANDARD_INPUT


def fit_and_write(request: Request, out: Path | None, *, force: bool, quiet: bool) -> None:
    """Fit the model, and write the folder, which is claimed before anything is computed."""
    refuse_stream(out, "a folder")
    folder = out or default_folder(request.source)
    with new_folder(folder, OURS, overwrite=force) as partial:
        claim(folder, partial)
        outcome = fit(request, quiet=quiet)
        summary = describe(request, outcome)
        write_or_rescue(folder_writer(request, outcome, summary), partial, folder)
        raise_if_stopped()
    if not quiet:
        from credpart.cli.screen import show_fit

        show_fit(request.title, summary, outcome, folder)


def folder_writer(request: Request, outcome: Outcome, summary: Summary) -> Callable[[Path], None]:
    """What writes all files of a result into a folder."""

    def write_all(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name, write in FILES.items():
            write(folder / name, request, outcome, summary)

    return write_all


def stem(source: str) -> str:
    """What a folder of results is named for: the file without its endings.

    >>> stem("data/flowers.csv.gz"), stem("-")
    ('flowers', 'input')
    """
    return "input" if source == STANDARD_INPUT else Path(source.removesuffix(".gz")).stem


def default_folder(source: str) -> Path:
    """Where results go if nobody says where."""
    return Path(f"credpart-{stem(source)}")


def command_again(out: Path | None, source: str) -> list[str]:
    """The command that was typed, with the folder that it writes at its end."""
    typed = without_option(["credpart", *sys.argv[1:]], "--out", takes_value=True)
    return [*typed, "--out", f"{out or default_folder(source)}"]


def takes_categories(models: str | list[str]) -> bool:
    """Whether a model reads text as categories."""
    named = [models] if isinstance(models, str) else models
    return any(name in MODELS and MODELS[name].read is not check_data for name in named)


def read_for(source: str | list[str], table: Mapping[str, Any], models: str | list[str]) -> Objects:
    """The objects that models are fitted to.

    If a model is named, it decides whether it can take a constant or doubled column.
    """
    categories, drop_redundant = takes_categories(models), models == "auto"
    given = {**table, "drop_redundant": drop_redundant}
    objects = read(source, given, categories=categories)
    if not categories and table.get("missing") == "error":
        with rows_of_file(objects.place):
            _check_whole(objects.X, models)
    return objects


def _check_whole(X: pd.DataFrame, models: str | list[str]) -> None:
    """Refuse missing cells as the library does, with the option that leaves out their rows."""
    if not X.isna().to_numpy().any():
        return
    try:
        read_data(X, "model", models)
    except InputError as error:
        leave_out = Setting("missing", "drop", is_quoted=True)
        remedy = Message(error.remedy or "", " Or say ", leave_out, " to leave out such rows.")
        raise InputError(error.argument, error.requirement, error.got, remedy) from None


def read(source: str | list[str], table: Mapping[str, Any], *, categories: bool = False) -> Objects:
    """The objects of a file or of a bundled data set."""
    parts = {
        "transform": Transform(**table["transform"]),
        "text_format": TextFormat(**table["text_format"]),
    }
    return read_objects(source, **{**table, **parts}, categories=categories)


def missing(table: Mapping[str, Any]) -> str:
    """What a model does with missing cells, by the options of reading."""
    return "model" if table["missing"] == "model" else "error"


def show_notes(remarks: Iterable[str], *, quiet: bool) -> None:
    """Print what a user should know, one line for each remark, unless ``quiet``."""
    for remark in remarks if not quiet else ():
        print(harmless(f"Note: {remark}"), file=sys.stderr)


KEPT_LEVEL = "The level stays as it is: in the audit intervals cover {}{}."


def fit(request: Request, *, quiet: bool) -> Outcome:
    """Fit the model to all rows, or to some and score the others."""
    check_jobs(request.estimator["n_jobs"])
    categories = takes_categories(request.estimator["model"])
    objects = read_for(request.sources, request.table, request.estimator["model"])
    X, rows = objects.named(), None
    if request.fit_rows is not None:
        rows = _sampled_rows(X, request, objects.place, categories=categories)
    model = CalibratedClustering(**request.estimator, missing=missing(request.table))
    place = objects.place if rows is None else objects.places_of(rows)
    with collected_warnings(place, quiet=quiet, of_reading=objects.remarks) as remarks:
        fitted = slice(None) if rows is None else rows
        groups, strata, labels = (
            None if names is None else names[fitted]
            for names in (objects.groups, objects.strata, objects.known)
        )
        result = model.fit(X.iloc[fitted], groups=groups, strata=strata, labels=labels).result_
    diagnosis = judged(result, request, quiet=quiet)
    how = {name: request.estimator[name] for name in ("n_jobs", "verbose")}
    if request.recalibrate:
        found = _audit_of(diagnosis)
        if found.asks_for_another_level:
            result = result.recalibrate(found, **how)
            diagnosis = judged(result, request, quiet=quiet)
        else:
            is_told = found.severity == "ok"
            why = ", which asks for no other" if is_told else f"; {found.uncertainty}"
            remarks += [KEPT_LEVEL.format(found.covered, why)]
            show_notes(remarks[-1:], quiet=quiet)
    partition = result.partition
    if rows is not None:
        partition = _partition_of_all(result, X, rows, objects.known, how)
    remarks += (told := [*label_remarks(result), *scale_remarks(request.table["transform"])])
    show_notes(told, quiet=quiet)
    kept = None if objects.kept is None else objects.kept.written
    altered = [*formula_remarks(objects.ids), *kept_remarks(kept)]
    formulas = [] if request.raw_text else altered
    show_notes(formulas, quiet=quiet)
    diagnosis = diagnosis.in_words(ShellVocabulary(place, request.command))
    remarks = [*remarks, *formulas]
    id_column = None if objects.ids is None else str(objects.ids.name)
    return Outcome(result, diagnosis, rows, partition, objects.classes, remarks, kept, id_column)


def judged(result: CalibratedResult, request: Request, *, quiet: bool) -> Diagnosis:
    """What speaks for and against the result, with a quick audit."""
    jobs = request.estimator["n_jobs"]
    with shown("diagnosis", int(not quiet)) as progress:
        return diagnose(result, audit=request.audit, n_jobs=jobs, progress=progress)


def _audit_of(diagnosis: Diagnosis) -> Audit:
    """The audit that a level is taken from; an error says why there is none."""
    if diagnosis.audit is None:
        why = next(one.text for one in diagnosis.findings if one.topic == "level")
        raise InputError("recalibrate", "be given with an audit", Message(why))
    return diagnosis.audit


def check_jobs(value: Any) -> None:
    """Refuse what joblib would refuse in words of its own."""
    if value is not None and (not isinstance(value, int) or value == 0):
        raise InputError("n_jobs", "be an integer other than 0", value)


def _sampled_rows(
    X: pd.DataFrame, request: Request, place: Callable[[int], RowNumber], *, categories: bool
) -> IntArray:
    """A random sample of the rows, in their order."""
    wanted = check_integer("fit_rows", request.fit_rows, at_least=2)
    if not categories:  # all rows must be fit to be scored
        with rows_of_file(place):
            (check_data_with_missing if missing(request.table) == "model" else check_data)(X)
    rng = random_generator(request.estimator["random_state"])
    return np.sort(rng.permutation(len(X))[:wanted])


def label_remarks(result: CalibratedResult) -> list[str]:
    """Which cluster each name of a label is."""
    known = result.known_labels
    if known is None or known.names is None:
        return []
    named = ", ".join(f"{k} is {name!r}" for k, name in enumerate(known.names, 1))
    return [f"{known.n_labelled} of {result.n_objects} objects have labels; cluster {named}."]


def scale_remarks(given: Mapping[str, Any]) -> list[str]:
    """On which scale means and spreads are, if the columns were transformed."""
    scale = Transform(**given)
    if scale.name == "none":
        return []
    return [f"Columns were transformed: means and spreads are on the scale {scale}."]


def _partition_of_all(
    result: CalibratedResult, X: pd.DataFrame, rows: IntArray, known: Any, how: Mapping[str, Any]
) -> EvidentialPartition:
    """Masses of all objects: the fitted ones keep theirs, and the others respect their labels."""
    others = np.setdiff1d(np.arange(len(X)), rows)
    masses = np.empty((len(X), len(result.partition.focal_sets)))
    masses[rows] = result.partition.masses
    if len(others):
        labels = None if known is None or result.known_labels is None else known[others]
        masses[others] = result.predict_masses(X.iloc[others], labels=labels, **how)
    return EvidentialPartition(masses, result.partition.focal_sets, index=X.index)


@contextmanager
def rows_of_file(place: Callable[[int], RowNumber] | None) -> Iterator[None]:
    """Errors name rows of the files; of the data that are used, row i is ``place(i)``."""
    try:
        yield
    except CredpartError as error:
        if place is not None:
            error.message = error.message.with_rows(place)
        raise


@contextmanager
def collected_warnings(
    place: Callable[[int], RowNumber] | None, *, quiet: bool, of_reading: Iterable[str] = ()
) -> Iterator[list[str]]:
    """Collect warnings in the words of a shell, and print each of them once, unless ``quiet``.

    Remarks on how the data were read come first.  After an error none are printed: the error is
    the one line to read.
    """
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught, rows_of_file(place):
        warnings.simplefilter("always")
        yield remarks
    texts = [*map(in_shell, of_reading), *(in_shell(warning.message, place) for warning in caught)]
    remarks += dict.fromkeys(texts)  # each of them once
    show_notes(remarks, quiet=quiet)
