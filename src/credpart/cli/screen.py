"""What a person reads at the end of a command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from credpart.cli.fitting import Outcome

GRADES = {"good": "green", "caution": "yellow", "poor": "red"}


def show_fit(outcome: Outcome, summary: Mapping[str, Any], folder: Path) -> None:
    """One screen: how sure the clusters are, and where the files are."""
    console = Console()
    n, c = summary["n"], summary["n_clusters"]
    console.print(
        f"\n[bold]{escape(Path(summary['source']).name)}[/]: {n} objects in {c} "
        f"cluster{'s' * (c != 1)}, model {summary['model']}"
    )
    if summary["n_fitted"] < n:
        console.print(f"{summary['n_fitted']} rows were fitted, the others scored against them.")
    console.print(_sets(summary))
    if "adjusted_rand" in summary:
        console.print(_confusion(summary["confusion"]))
        console.print(f"Adjusted Rand index with the known classes: {summary['adjusted_rand']:.3f}")
    if summary["diagnosis"]:
        _trust(console, summary["diagnosis"])
    console.print(f"\nFiles are in [bold]{escape(str(folder))}[/].")


def _sets(summary: Mapping[str, Any]) -> Table:
    """How many objects are certain, and between which clusters the others are."""
    groups: dict[str, dict[str, int]] = {"certain": {}, "ambiguous": {}}
    for name, count in summary["sets"].items():
        groups["ambiguous" if "," in name else "certain"][name] = count
    table = Table("", "objects", "share", "in", box=None, pad_edge=False)
    for group, sets in groups.items():
        total = sum(sets.values())
        held = ", ".join(f"{name} {count}" for name, count in sets.items())
        table.add_row(group, str(total), f"{total / summary['n']:.1%}", held)
    return table


def _confusion(counts: Mapping[str, Mapping[str, int]]) -> Table:
    columns = list(next(iter(counts.values())))
    table = Table("class", *columns, box=None, pad_edge=False)
    for name, row in counts.items():
        table.add_row(escape(name), *(str(row[column]) for column in columns))
    return table


def _trust(console: Console, diagnosis: Mapping[str, Any]) -> None:
    colour = GRADES[diagnosis["grade"]]
    console.print(f"\n[{colour}]{escape(diagnosis['verdict'])}[/]")
    for finding in diagnosis["findings"]:
        console.print(f"- {escape(finding['text'])} {escape(finding['advice'] or '')}")
