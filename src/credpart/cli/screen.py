"""What a person reads at the end of a command."""

import shlex
import sys
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from credpart._audit import Audit
from credpart.cli.blocks import GAP, TextRow, in_blocks
from credpart.cli.folder import FILES, Outcome, confusion_table
from credpart.cli.profile_tables import NO_LIMITS, full_profile, left_out, short_profile
from credpart.cli.streams import harmless
from credpart.cli.vocabulary import in_shell
from credpart.comparison import Comparison
from credpart.diagnostics.diagnosis import URGENT, level_in_words
from credpart.diagnostics.findings import STRONG
from credpart.mixture import Selection
from credpart.partition import EvidentialPartition
from credpart.partition.describe import PLACES, by_definition, sets_by_word
from credpart.partition.doubt import WORDS
from credpart.profiles import Profiles

GRADES = {"good": "bold green", "caution": "bold yellow", "poor": "bold red"}
COVERAGES = ("coverage", "standard_error", "length")
MOST_SETS = 8  # sets that are named; a screen has no room for more
SHARES = (*WORDS, "misplaced")  # of the objects, in a comparison
BETTER = "Better: adjusted_rand and credal_rand nearer to 1, misplaced nearer to 0."
NO_CLASSES = "Without known classes none of these figures says which method is better."
EMPTY_SET = "\N{EMPTY SET}"


class Legible:
    """Standard output for people: a character that it cannot show is a question mark.

    Data for programs are not written in this way: there such a character is an error.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        """Write text."""
        encoding = sys.stdout.encoding or "utf-8"
        try:
            EMPTY_SET.encode(encoding)
        except UnicodeEncodeError:
            text = text.replace(EMPTY_SET, "{}")
        return sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


class Screen(Console):
    """A console on which names of columns and objects, which may be any text, obey no terminal."""

    def render(self, *what: Any, **options: Any) -> Iterator[Segment]:
        """What is shown, without the control characters of others."""
        for segment in super().render(*what, **options):
            if segment.control:
                yield segment
            else:
                yield segment._replace(text=harmless(segment.text))


def new_console() -> Console:
    """Where the words of a command are printed."""
    screen: Any = Legible()
    return Screen(highlight=False, file=screen)


def show_fit(title: str, summary: Mapping[str, Any], outcome: Outcome, folder: Path) -> None:
    """One screen: how sure the clusters are, whether to trust it, and where the files are."""
    console, partition = new_console(), outcome.partition
    n, c, B = summary["n"], summary["n_clusters"], sum(summary["replicates"].values())
    console.print(
        f"[bold]{escape(title)}[/]: {n:,} objects, {c} "
        f"cluster{'s' * (c != 1)}, model {summary['model']}, "
        f"{level_in_words(summary['level'], summary['nominal_level'])} from {B:,} replicates"
    )
    if summary["n_fitted"] < n:
        console.print(f"{summary['n_fitted']:,} rows were fitted, the others scored against them.")
    console.print(_sets(partition, console.width))
    if by_definition(partition):
        console.print(by_definition(partition))
    console.print(escape(_maximum_mass(partition, console.width)))
    if summary["weakening"] is not None:
        console.print(_weakening(summary["weakening"]))
    profiles = outcome.result.profiles()
    console.print(short_profile(profiles))
    if left_out(profiles):
        console.print(left_out(profiles))
    if outcome.classes is not None:
        console.print(
            "Known classes by set of maximum mass (adjusted Rand index of clusters "
            f"{summary['adjusted_rand']:.3f})"
        )
        _confusion(console, partition, outcome.classes)
    _trust(console, summary["diagnosis"])
    place, quoted = escape(str(folder)), escape(shlex.quote(str(folder)))
    console.print(
        f"In [bold]{place}[/]: report.html to open, and {len(FILES) - 1} other files. "
        f"Next: [bold]credpart profile {quoted}[/]",
        soft_wrap=True,  # so that the command can be copied
    )


def _confusion(console: Console, partition: EvidentialPartition, classes: ArrayLike) -> None:
    """Classes against sets of clusters."""
    counts = confusion_table(partition, classes)
    if counts.shape[1] > MOST_SETS:
        told = f"The table against {counts.shape[1]} sets of clusters is in the report."
        console.print(told)
        return
    for table in cells(counts, "class", console.width):
        console.print(table)


def _sets(partition: EvidentialPartition, width: int) -> Table:
    """How many objects are sure, and between which clusters the others are."""
    table = Table(box=None, pad_edge=False, show_header=False)
    found = {word: sets for word, sets in sets_by_word(partition).items() if sets}
    totals = {word: sum(sets.values()) for word, sets in found.items()}
    shares = {word: f"{total / partition.n_objects:.1%}" for word, total in totals.items()}
    longest = (found, map("{:,}".format, totals.values()), shares.values())
    room = width - sum(GAP + max(map(len, texts), default=0) for texts in longest)
    for word, sets in found.items():
        place = _listed(PLACES[word], sets, room) if PLACES[word] else ""
        table.add_row(word, f"{totals[word]:,}", shares[word], place)
    for column in table.columns[1:3]:
        column.justify = "right"
    return table


def _maximum_mass(partition: EvidentialPartition, width: int) -> str:
    """How many objects have each set as that of their highest mass."""
    sets = {name: count for name, count in partition.counts().items() if count}
    return _listed("Sets of maximum mass, sure or not:", sets, width)


def _weakening(amount: float) -> str:
    """How much masses were weakened.

    >>> _weakening(0.0)
    'Masses were not weakened: [Bel, Pl] holds as much as the intervals without.'
    """
    if not amount:
        return "Masses were not weakened: [Bel, Pl] holds as much as the intervals without."
    return f"Masses were weakened: each set gives {amount:.4g} to the set of all clusters."


def _listed(head: str, sets: Mapping[str, int], width: int) -> str:
    """The largest sets behind some words, in lines that part no set from its count.

    >>> print(_listed("in", {"{1}": 40, "{2}": 30, "{3}": 20}, width=15))
    in {1} 40
    {2} 30  {3} 20
    """
    largest = sorted(sets.items(), key=lambda item: -item[1])[:MOST_SETS]
    parts = [f"{name} {count:,}" for name, count in largest]
    more = len(sets) - len(largest)
    first, *others = [*parts, f"and {more} more"] if more else parts
    lines = [f"{head} {first}"]
    for part in others:
        longer = f"{lines[-1]}{' ' * GAP}{part}"
        lines = [*lines[:-1], longer] if cell_len(longer) <= width else [*lines, part]
    return "\n".join(lines)


def _trust(console: Console, diagnosis: Mapping[str, Any]) -> None:
    """The verdict, and what else speaks against the fit."""
    grade = diagnosis["grade"]
    console.print(f"\n[{GRADES[grade]}]{grade.upper()}[/]  {escape(diagnosis['verdict'])}")
    for finding in diagnosis["findings"]:
        if finding["severity"] in URGENT and finding["text"] not in diagnosis["verdict"]:
            console.print(f"- {escape(finding['topic'])}: {escape(finding['text'])}.")
    if diagnosis["advice"]:
        console.print("What to do:")
    for k, finding in enumerate(diagnosis["advice"], 1):
        console.print(f"{k}. {escape(finding['advice'])}")
        if finding["change"]:  # not wrapped, so that it can be copied
            console.print(f"   {escape(finding['change'])}", soft_wrap=True)


def show_written(what: str, path: Path) -> None:
    """One line: what was written, and into which file."""
    new_console().print(f"{what} in [bold]{escape(str(path))}[/]", soft_wrap=True)


def cells(frame: pd.DataFrame, corner: str, width: int) -> Iterator[Table]:
    """A table of counts or figures, in blocks of columns if it is wide."""
    rows = [TextRow(str(name), [f"{v:.4g}" for v in row]) for name, row in frame.iterrows()]
    return in_blocks(corner, [str(column) for column in frame], rows, width)


def show_profiles(profiles: Profiles) -> None:
    """What sets each cluster apart, and then all figures."""
    console = new_console()
    if profiles.scope:
        console.print(profiles.scope)
    console.print(short_profile(profiles))
    if left_out(profiles):
        console.print(f"{left_out(profiles)}, which are below")
    console.print(NO_LIMITS)
    console.print("\nMeans (standard deviations) of numbers, shares of categories")
    for table in full_profile(profiles, console.width):
        console.print(table)
        console.print()


def show_comparison_tables(found: Comparison) -> None:
    """Each method in figures, and how far they agree."""
    console = new_console()
    rows = [TextRow(str(name), [_told(name, v) for v in row]) for name, row in found.table.items()]
    for table in in_blocks("", [str(name) for name in found.table.index], rows, console.width):
        console.print(table)
    console.print(BETTER if "misplaced" in found.table else NO_CLASSES)
    console.print("\nCredal Rand index between the methods")
    for table in cells(found.agreement, "", console.width):
        console.print(table)


def _told(name: Hashable, value: float) -> str:
    """A figure of a comparison: shares of objects in percent, seconds with two digits.

    >>> _told("sure", 0.1133), _told("seconds", 0.01261), _told("seconds", 123.4)
    ('11.3%', '0.013', '123')
    """
    if name in SHARES:
        return f"{value:.1%}"
    if name == "seconds":
        return f"{value:.2g}" if value < 10.0 else f"{value:.0f}"
    return f"{value:.4g}"


def show_audit(found: Audit, path: Path) -> None:
    """The verdict, and coverage by tenth of the true probability."""
    console = new_console()
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
    folder = shlex.quote(str(path.parent))
    command = f"[bold]credpart report {escape(folder)}[/]"
    console.print(f"Next, a report with this audit: {command}", soft_wrap=True)


def _coverages(row: Mapping[str, float] | pd.Series) -> list[str]:
    """Coverage, standard error and length of intervals and of [Bel, Pl]."""
    names = [f"{name}{end}" for end in ("", "_partition") for name in COVERAGES]
    return ["" if np.isnan(row[name]) else f"{row[name]:.3f}" for name in names]


def show_selection_table(selection: Selection) -> None:
    """The criterion: one row for each model, one column for each number of clusters; best bold."""
    console = new_console()
    best, frame = selection.best, selection.table.T
    rows = []
    for model, values in frame.iterrows():
        texts = [Text("-" if pd.isna(value) else f"{value:.1f}") for value in values]
        if model == best.model:
            texts[list(frame).index(best.n_clusters)].stylize("bold green")
        rows.append(TextRow(str(model), texts))
    console.print(f"{selection.criterion.upper()} by number of clusters, larger is better")
    for table in in_blocks("", [str(c) for c in frame], rows, console.width):
        console.print(table)
    c = best.n_clusters
    others = frame.drop(columns=c).max().dropna()
    lead = frame[c].max() - others.max() if len(others) else np.inf
    console.print(f"best: {escape(best.model)}, {c} cluster{'s' * (c != 1)}")
    if lead < STRONG:
        k = others.idxmax()
        console.print(
            f"{k} cluster{'s are' if k != 1 else ' is'} only {lead:.1f} lower, which is not strong "
            "evidence: fit both."
        )
