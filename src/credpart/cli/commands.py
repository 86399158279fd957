"""What the commands other than ``fit`` do."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from credpart import __version__
from credpart._audit import Audit, audit
from credpart._columns import columns_of_text
from credpart._files import new_file, write_or_rescue
from credpart._messages import Message, Name
from credpart._progress import shown
from credpart._rivals import Rivals
from credpart.cli.completion import STANDARD_OUTPUT, claim, refuse_stream, table_file
from credpart.cli.fitting import (
    check_jobs,
    collected_warnings,
    missing,
    read,
    read_for,
    show_notes,
)
from credpart.cli.folder import AUDIT, masses_table, put_text, report, stored_diagnosis
from credpart.cli.screen import (
    new_console,
    show_audit,
    show_comparison_tables,
    show_profiles,
    show_selection_table,
    show_written,
)
from credpart.cli.signals import raise_if_stopped
from credpart.cli.spreadsheet import formula_remarks, kept_remarks, write_csv
from credpart.cli.stored import Stored, stored_model, transform_of
from credpart.cli.streams import check_output_is_open
from credpart.cli.table_files import TYPED, beside
from credpart.cli.vocabulary import ShellVocabulary, in_shell
from credpart.diagnostics import Diagnosis, diagnose
from credpart.errors import InputError
from credpart.partition import EvidentialPartition
from credpart.result import CalibratedResult
from credpart.tables import Objects

SAME_DENSITY = 1e-9  # relative difference of log densities that may be rounding
RARE = 0.001  # chance below which a number of new objects of low density is told
# A single object is not that rare, so one that is very far off is told in any case.  Of 60 samples
# of 2000 objects of the same population, none had one so far off with a fit of 150 objects.
FAR = 10.0


def show_selection(
    source: str,
    table: Mapping[str, Any],
    choice: Mapping[str, Any],
    out: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Fit all models and numbers of clusters, and show their criterion."""
    from credpart.mixture import select_mixture

    with table_file(out, force=force) as save:
        objects = read_for(source, table, choice["models"])
        with (
            collected_warnings(objects.place, quiet=quiet, of_reading=objects.remarks),
            shown("select", int(not quiet)) as progress,
        ):
            selection = select_mixture(
                objects.X,
                **choice,
                labels=objects.known,
                progress=progress,
                missing=missing(table),
            )
        save(selection.table)
        if not quiet:
            show_selection_table(selection)


def write_predictions(
    path: Path,
    source: str,
    table: Mapping[str, Any],
    jobs: Any,
    out: Path | None,
    *,
    raw_text: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Score new objects, and write their masses."""
    check_jobs(jobs)
    out = None if out == STANDARD_OUTPUT else out
    with table_file(out, force=force, raw_text=raw_text) as save:
        if out is None:
            check_output_is_open()
        stored = stored_model(path)
        result = stored.result
        told = stored.notes.get("table") or {"transform": {}}
        as_fitted = {
            "columns": result.data.names,
            "text_columns": columns_of_text(result.data),
            "transform": transform_of(told),
            "usual_id_column": told.get("id_column"),
        }
        categories = result.data.levels is not None
        objects = read(source, {**table, **as_fitted}, categories=categories)
        X = objects.named()
        remarks = [*objects.remarks, *usual_names(table["id_column"], told, objects)]
        with collected_warnings(objects.place, quiet=quiet, of_reading=remarks):
            masses = result.predict_masses(X, n_jobs=jobs, verbose=int(not quiet))
        show_notes(map(in_shell, of_low_density(result, objects)), quiet=quiet)
        partition = EvidentialPartition(masses, result.partition.focal_sets, index=X.index)
        is_typed = out is not None and out.suffix.lower() in TYPED
        kept = None if objects.kept is None else objects.kept[is_typed]
        frame = beside(kept, masses_table(partition))
        if not raw_text and not is_typed:
            altered = [*formula_remarks(X.index), *kept_remarks(kept)]
            show_notes(altered, quiet=quiet)
        if out is None:
            write_csv(frame, sys.stdout, raw_text=raw_text)
        save(frame)
    if out is not None and not quiet:
        n = len(frame)
        show_written(f"The masses of {n} object{'s' * (n != 1)} are", out)


def usual_names(asked: str | None, told: Mapping[str, Any], objects: Objects) -> Iterator[Message]:
    """Whether the objects have names out of the column that named those of the fit."""
    column = told.get("id_column")
    if asked is None and column and objects.ids is not None and objects.ids.name == column:
        take = Name("id_column")
        yield Message(f"Column {column!r} names the objects, as in the fit; ", take, " changes it.")


def of_low_density(result: CalibratedResult, objects: Objects) -> Iterator[Message]:
    """How many new objects have a lower density than all that were fitted, if that is no chance.

    It is said if so many would be in fewer than `RARE` of all samples of the same population, or if
    the log density of one is `FAR` times as far below the median as the lowest fitted one.

    Densities of objects with missing values are of fewer columns: they are left aside.  A result
    out of core keeps only a sample of what was fitted, whose lowest density is not that of all.
    """
    new, fitted = result.mixture.columns.read(objects.X).values, result.data.values
    is_new, is_fitted = (~np.isnan(values).any(axis=1) for values in (new, fitted))
    keeps_all = np.isclose(result.mixture.n_objects, result.weights.sum())
    if not (keeps_all and is_new.any() and is_fitted.any()):
        return
    of_fitted = result.mixture.log_density(result.frame()[is_fitted])
    of_new = result.mixture.log_density(objects.X[is_new])
    lowest, median = of_fitted.min(), np.median(of_fitted)
    is_low = of_new < lowest - SAME_DENSITY * max(1.0, abs(lowest))
    k, m, n = int(is_low.sum()), len(of_new), len(of_fitted)
    is_far = median - of_new.min() > FAR * (median - lowest)
    if k == 0 or not (is_far or chance_of_lowest(k, m, n) < RARE):
        return
    row = int(np.flatnonzero(is_new)[of_new.argmin()])
    have, their, first = ("has", "its", "") if k == 1 else ("have", "their", "the lowest is ")
    which = "" if m == len(new) else " without missing values"
    silent = "" if result.has_noise else f", which {their} masses do not show"
    expected = m / (n + 1)
    yield Message(
        f"{k} of {m} objects{which} {have} a lower density under the mixture than every fitted "
        f"object ({first}",
        *(objects.place(row), f"){silent}. By chance "),
        f"{f'about {expected:.0f}' if expected >= 1.0 else 'fewer than one'} of {m} would.",
    )


def chance_of_lowest(k: int, m: int, n: int) -> float:
    """Probability that k or more of m new objects rank below all n others of their population.

    The k lowest of all are then new: ``C(m, k) / C(m + n, k)``.

    >>> chance_of_lowest(1, m=3, n=150) == 3 / 153
    True
    """
    rank = np.arange(k)
    return float(np.prod((m - rank) / (m + n - rank)))


def show_comparison(
    source: str,
    table: Mapping[str, Any],
    choice: tuple[Any, Any, Any],
    out: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Fit several methods, and show their table."""
    from credpart.comparison import compare

    with table_file(out, force=force) as save:
        if table.get("known_column") is not None:
            remedy = "Of the methods, only `fit` takes what is known already."
            column = table["known_column"]
            raise InputError("known_column", "not be given for a comparison", column, remedy)
        objects = read(source, {**table, "drop_redundant": True})
        methods, c, seed = choice
        with (
            collected_warnings(objects.place, quiet=quiet, of_reading=objects.remarks),
            shown("compare", int(not quiet)),
        ):
            found = compare(objects.X, methods, n_clusters=c, y=objects.classes, random_state=seed)
        save(found.table)
        if not quiet:
            show_comparison_tables(found)


def show_profile(path: Path, out: Path | None, *, force: bool, quiet: bool) -> None:
    """Show what is in the clusters of a stored model."""
    with table_file(out, force=force) as save:
        profiles = stored_model(path).result.profiles()
        frame = profiles.to_frame()
        heads = [str(name) if of == "cluster" else f"{of} {name}" for of, name in [*frame]]
        save(frame.set_axis(heads, axis=1))
        if not quiet:
            show_profiles(profiles)


def write_report_again(path: Path, out: Path | None, *, force: bool) -> None:
    """Write the report of a stored model; that of a folder that ``fit`` made is replaced."""
    refuse_stream(out, "a file")
    stored = stored_model(path)
    around = path if path.is_dir() else path.parent
    target = out or around / "report.html"
    is_own = out is None and stored.is_of_fit and (around / "summary.json").exists()
    with new_file(target, overwrite=force or is_own, argument="out") as partial:
        claim(target, partial)
        page = report(stored.result, stored.notes, judged_anew(stored, around / AUDIT))
        write_or_rescue(lambda file: put_text(file, page), partial, target)
        raise_if_stopped()
    show_written("The report is", target)


def judged_anew(stored: Stored, file: Path) -> Diagnosis | None:
    """The diagnosis of a fit with the audit that was made after it; None if there is none of it."""
    result, before = stored.result, stored_diagnosis(stored.notes)
    try:
        found = Audit.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError, AttributeError):  # a file can hold anything
        return None
    if result.mixture is None or not found.is_of(result.mixture):
        return None
    if found.level != result.options.level:
        return None
    # What the fit left out, "auto" leaves out for the same reason.  Without a diagnosis there is no
    # search for rivals: it takes as long as the fit.
    rivals: Rivals | bool | str = False if before is None else before.rivals or "auto"
    diagnosis = diagnose(result, audit=found, rivals=rivals)
    command = stored.notes.get("command")
    words = ShellVocabulary() if command is None else ShellVocabulary(None, shlex.split(command))
    return diagnosis.in_words(words)


def write_audit(path: Path, choice: tuple[Any, Any, Any, Any], *, force: bool, quiet: bool) -> None:
    """Audit a stored model, and write what was found beside it."""
    n_datasets, n_replicates, seed, jobs = choice
    check_jobs(jobs)
    result = stored_model(path).result
    target = (path if path.is_dir() else path.parent) / AUDIT
    with new_file(target, overwrite=force, argument=AUDIT) as partial:
        claim(target, partial)
        with collected_warnings(None, quiet=quiet), shown("audit", int(not quiet)) as progress:
            found = audit(
                result,
                n_datasets,
                n_replicates=n_replicates,
                random_state=seed,
                n_jobs=jobs,
                progress=progress,
            )
        about = found.to_dict() | {"seed": seed, "version": __version__}
        text = json.dumps(about, indent=2, allow_nan=False) + "\n"
        write_or_rescue(lambda file: put_text(file, text), partial, target)
        raise_if_stopped()
    if not quiet:
        show_audit(found, target)


def show_datasets(name: str | None, out: Path | None, *, force: bool) -> None:
    """List the bundled data sets, or write one as CSV."""
    from credpart.datasets import DATASETS, load

    out = None if out == STANDARD_OUTPUT else out
    if name is not None:
        with table_file(out, force=force) as save:
            frame = load(name).frame
            frame = frame.set_axis(range(1, len(frame) + 1)).rename_axis("id")
            if out is None:
                write_csv(frame, sys.stdout)
            save(frame)
        return
    table = Table("name", "objects", "columns", "classes", "what", box=None, pad_edge=False)
    for data in map(load, DATASETS):
        classes = "" if data.y is None else str(len(set(data.y)))
        n, d = data.X.shape
        table.add_row(data.name, str(n), str(d), classes, data.description)
    new_console().print(table)
