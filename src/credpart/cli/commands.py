"""What the commands other than ``fit`` do."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from credpart import __version__
from credpart._files import check_file, new_file
from credpart._progress import shown
from credpart.cli.fitting import check_jobs, collected_warnings, read, takes_categories
from credpart.cli.folder import AUDIT, report
from credpart.cli.screen import cells, selection_table, show_audit
from credpart.cli.stored import stored_model
from credpart.partition import EvidentialPartition


def save_table(table: pd.DataFrame, out: Path | None) -> None:
    """Write a table as CSV, if there is a file to write to."""
    if out is not None:
        with new_file(out, argument="out") as partial:
            table.to_csv(partial)


def checked(out: Path | None, *, force: bool) -> None:
    """Refuse a file before anything is computed."""
    if out is not None:
        check_file(out, overwrite=force, argument="out")


def show_selection(
    source: str,
    table: Mapping[str, Any],
    choice: tuple[Any, Any, str],
    out: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Fit all models and numbers of clusters, and show their criterion."""
    from credpart.mixture import select_mixture

    checked(out, force=force)
    X = read(source, table, categories=takes_categories(choice[1])).X
    with collected_warnings(None, quiet=quiet), shown("select", int(not quiet)) as progress:
        selection = select_mixture(X, *choice, progress=progress)
    save_table(selection.table, out)
    if not quiet:
        Console().print(selection_table(selection))


def write_predictions(
    path: Path,
    source: str,
    id_column: str | None,
    jobs: Any,
    out: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Score new objects, and write their masses."""
    checked(out, force=force)
    check_jobs(jobs)
    stored = stored_model(path)
    result = stored.result
    told = stored.notes.get("table", {})
    table = {
        "columns": result.data.names,
        "id_column": id_column,
        "label_column": None,
        "transform": _transform(told.get("transform", {})),
    }
    X = read(source, table, categories=result.data.levels is not None).named()
    with collected_warnings(None, quiet=quiet):
        masses = result.predict_masses(X, n_jobs=jobs, verbose=int(not quiet))
    partition = EvidentialPartition(masses, result.partition.focal_sets, index=X.index)
    frame = partition.to_frame().rename_axis("id")
    if out is None:
        frame.to_csv(sys.stdout)
    save_table(frame, out)


def _transform(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in told.items()}


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

    checked(out, force=force)
    objects = read(source, table)
    methods, c, seed = choice
    with collected_warnings(None, quiet=quiet), shown("compare", int(not quiet)):
        found = compare(objects.X, methods, n_clusters=c, y=objects.classes, random_state=seed)
    save_table(found.table, out)
    if not quiet:
        Console().print(cells(found.table.T, ""))
        Console().print("\nCredal Rand index between the methods")
        Console().print(cells(found.agreement, ""))


def write_report_again(path: Path, out: Path | None, *, force: bool) -> None:
    """Write the report of a stored model; that of its own folder is replaced."""
    target = out or (path if path.is_dir() else path.parent) / "report.html"
    check_file(target, overwrite=force or out is None, argument="out")
    stored = stored_model(path)
    with new_file(target, argument="out") as partial:
        partial.write_text(report(stored.result, stored.notes), encoding="utf-8")


def write_audit(path: Path, choice: tuple[Any, Any, Any, Any], *, force: bool, quiet: bool) -> None:
    """Audit a stored model, and write what was found beside it."""
    from credpart._audit import audit

    n_datasets, n_replicates, seed, jobs = choice
    result = stored_model(path).result
    target = (path if path.is_dir() else path.parent) / AUDIT
    check_file(target, overwrite=force, argument=AUDIT)
    check_jobs(jobs)
    with collected_warnings(None, quiet=quiet), shown("audit", int(not quiet)) as progress:
        found = audit(
            result,
            n_datasets,
            n_replicates=n_replicates,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
    about = {"seed": seed, "version": __version__}
    text = json.dumps(found.to_dict() | about, indent=2, allow_nan=False) + "\n"
    with new_file(target, overwrite=force, argument=AUDIT) as partial:
        partial.write_text(text, encoding="utf-8")
    if not quiet:
        show_audit(found, target)


def show_datasets(name: str | None, out: Path | None, *, force: bool) -> None:
    """List the bundled data sets, or write one as CSV."""
    from credpart.datasets import DATASETS, load

    if name is not None:
        checked(out, force=force)
        frame = load(name).frame
        frame = frame.set_axis(range(1, len(frame) + 1)).rename_axis("id")
        if out is None:
            frame.to_csv(sys.stdout)
        save_table(frame, out)
        return
    table = Table("name", "objects", "columns", "classes", "what", box=None, pad_edge=False)
    for data in map(load, DATASETS):
        classes = "" if data.y is None else str(len(set(data.y)))
        n, d = data.X.shape
        table.add_row(data.name, str(n), str(d), classes, data.description)
    Console().print(table)
