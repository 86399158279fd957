"""What a person reads at the end of a command."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from credpart._audit import Audit
from credpart.cli.folder import FILES
from credpart.cli.profile_tables import full_profile, left_out, short_profile
from credpart.cli.vocabulary import in_shell
from credpart.diagnostics.diagnosis import URGENT
from credpart.mixture import Selection
from credpart.partition import EvidentialPartition
from credpart.partition.describe import counts_by_kind
from credpart.profiles import Profiles

GRADES = {"good": "bold green", "caution": "bold yellow", "poor": "bold red"}
COVERAGES = ("coverage", "standard_error", "length")
MOST_SETS = 8  # sets that are named; a screen has no room for more


def show_fit(
    summary: Mapping[str, Any],
    partition: EvidentialPartition,
    profiles: Profiles,
    folder: Path,
) -> None:
    """One screen: how sure the clusters are, whether to trust it, and where the files are."""
    console = Console(highlight=False)
    n, c, B = summary["n"], summary["n_clusters"], sum(summary["replicates"].values())
    console.print(
        f"\n[bold]{escape(Path(summary['source']).name)}[/]: {n} objects, {c} "
        f"cluster{'s' * (c != 1)}, model {summary['model']}, "
        f"{100 * summary['level']:.4g} % intervals from {B} replicates"
    )
    if summary["n_fitted"] < n:
        console.print(f"{summary['n_fitted']} rows were fitted, the others scored against them.")
    console.print(_sets(partition))
    console.print()
    console.print(short_profile(profiles))
    if left_out(profiles):
        console.print(left_out(profiles))
    if "adjusted_rand" in summary:
        console.print(f"\nKnown classes: adjusted Rand index {summary['adjusted_rand']:.3f}")
        counts = pd.DataFrame.from_dict(summary["confusion"], orient="index")
        if counts.shape[1] <= MOST_SETS:
            console.print(cells(counts, "class"))
    _trust(console, summary["diagnosis"])
    others = ", ".join(name for name in FILES if name != "report.html")
    console.print(f"\nIn [bold]{escape(str(folder))}[/]: report.html to open, {others}")
    quoted = escape(shlex.quote(str(folder)))
    console.print(
        f"Next: open report.html; [bold]credpart profile {quoted}[/] describes the clusters column "
        f"by column, [bold]credpart audit {quoted}[/] checks whether the intervals hold their level"
    )


def _sets(partition: EvidentialPartition) -> Table:
    """How many objects are certain, and between which clusters the others are."""
    table = Table(box=None, pad_edge=False, show_header=False)
    kinds = counts_by_kind(partition)
    for kind in ("certain", "ambiguous"):
        total = sum(kinds[kind].values())
        table.add_row(kind, f"{total}", f"{total / partition.n_objects:.1%}", _listed(kinds[kind]))
    for column in table.columns[1:3]:
        column.justify = "right"
    return table


def _listed(sets: Mapping[str, int]) -> str:
    largest = sorted(sets.items(), key=lambda item: -item[1])[:MOST_SETS]
    text = "  ".join(f"{name} {count}" for name, count in largest)
    more = len(sets) - len(largest)
    return f"{text}  and {more} more" if more else text


def _trust(console: Console, diagnosis: Mapping[str, Any]) -> None:
    """The verdict, and what else speaks against the fit."""
    grade = diagnosis["grade"]
    console.print(f"\n[{GRADES[grade]}]{grade.upper()}[/]  {escape(diagnosis['verdict'])}")
    for finding in diagnosis["findings"]:
        if finding["severity"] in URGENT and finding["text"] not in diagnosis["verdict"]:
            console.print(f"- {escape(finding['topic'])}: {escape(finding['text'])}.")
    if diagnosis["advice"]:
        console.print("\nWhat to do:")
    for k, finding in enumerate(diagnosis["advice"], 1):
        console.print(f"{k}. {escape(finding['advice'])}")
        if finding["change"]:  # not wrapped, so that it can be copied
            console.print(f"   {escape(finding['change'])}", soft_wrap=True)


def cells(frame: pd.DataFrame, corner: str) -> Table:
    """A table of counts or figures."""
    table = Table(corner, box=None, pad_edge=False)
    for column in frame:
        table.add_column(escape(str(column)), justify="right")
    for name, row in frame.iterrows():
        table.add_row(escape(str(name)), *(f"{value:.4g}" for value in row))
    return table


def show_profiles(profiles: Profiles) -> None:
    """What sets each cluster apart, and then all figures."""
    console = Console(highlight=False)
    console.print(short_profile(profiles))
    if left_out(profiles):
        console.print(f"{left_out(profiles)}, which are below")
    console.print("\nMeans (standard deviations) of numbers, shares of categories")
    for table in full_profile(profiles, console.width):
        console.print(table)
        console.print()


def show_audit(found: Audit, path: Path) -> None:
    """The verdict, and coverage by tenth of the true probability."""
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    columns = ("true P", "pairs", "intervals", "(s.e.)", "length", "[Bel, Pl]", "(s.e.)", "length")
    for name in columns:
        table.add_column(escape(name), justify="right", no_wrap=True)
    for tenth, row in found.by_decile.iterrows():
        table.add_row(str(tenth), f"{row['pairs']:.1%}", *_coverages(row))
    whole = {name: getattr(found, name) for name in found.by_decile.columns.drop("pairs").tolist()}
    table.add_section()
    table.add_row("all", "100.0%", *_coverages(whole), style="bold")
    console.print(f"\n{escape(in_shell(found.verdict))}\n")
    console.print(table)
    console.print(f"\n{escape(found.basis)}\nIn [bold]{escape(str(path))}[/]")


def _coverages(row: Mapping[str, float] | pd.Series) -> list[str]:
    """Coverage, standard error and length of intervals and of [Bel, Pl]."""
    names = [f"{name}{end}" for end in ("", "_partition") for name in COVERAGES]
    return ["" if np.isnan(row[name]) else f"{row[name]:.3f}" for name in names]


def selection_table(selection: Selection) -> Table:
    """The criterion: one row for each model, one column for each number of clusters; best bold."""
    best, frame = selection.best, selection.table.T
    title = f"{selection.criterion.upper()}, larger is better"
    table = Table("", title=title, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for c in frame:
        table.add_column(str(c), justify="right", no_wrap=True)
    for model, row in frame.iterrows():
        texts = ["-" if pd.isna(value) else f"{value:.1f}" for value in row]
        if model == best.model:
            place = list(frame).index(best.n_clusters)
            texts[place] = f"[bold green]{texts[place]}[/]"
        table.add_row(str(model), *texts)
    table.caption = f"columns: numbers of clusters; best: {best.model}, {best.n_clusters}"
    return table
