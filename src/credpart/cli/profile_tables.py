"""Profiles of clusters on a screen: a few words for each cluster, or a table of all figures."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.markup import escape
from rich.table import Table

from credpart.profiles import ColumnProfile, Profiles, figure

MOST_CLUSTERS = 12  # that a summary has room for
MOST_COLUMNS = 3  # that a summary names for each cluster
LONGEST = 24  # letters of a name in one line of a table
GAP = 2  # between columns of a table


class Row(NamedTuple):
    """A row of the table: what it is of, its figure for all objects, and for each cluster."""

    name: str
    overall: str
    cells: list[str]


def short_profile(profiles: Profiles) -> Table:
    """For each cluster its size, and the columns that set it apart, with their means."""
    table = Table("cluster", box=None, pad_edge=False)
    table.add_column("objects", justify="right")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("set apart by (means; against all objects)", overflow="fold")
    for k in map(int, profiles.by_size[:MOST_CLUSTERS]):
        words = [column.words(k) for column in profiles.set_apart(k)[:MOST_COLUMNS]]
        sizes = profiles.sizes
        bounds = f"({100 * sizes.low[k]:.0f} to {100 * sizes.high[k]:.0f}%)"
        table.add_row(
            escape(str(profiles.clusters[k])),
            figure(sizes.objects[k]),
            f"{sizes.share[k]:.0%} {bounds}",
            escape(", ".join(words) or "no column"),
        )
    return table


def left_out(profiles: Profiles) -> str:
    """What `short_profile` does not show; empty if it shows all clusters."""
    more = len(profiles.clusters) - MOST_CLUSTERS
    return f"and {more} smaller cluster{'s' * (more != 1)}" if more > 0 else ""


def full_profile(profiles: Profiles, width: int) -> Iterator[Table]:
    """All figures, in as many tables side by side as the clusters need at this width."""
    rows = [*_sizes(profiles), *(row for column in profiles.columns for row in _rows(column))]
    names = min(LONGEST, max(len(row.name) for row in rows))
    cell = GAP + max(len(text) for row in rows for text in (row.overall, *row.cells))
    heads = [f"cluster {name}" for name in profiles.clusters]
    cell = max(cell, GAP + min(LONGEST, max(map(len, heads))))
    room = max(1, (width - names - cell) // cell)
    order = [int(k) for k in profiles.by_size]
    for first in range(0, len(order), room):
        yield _table(rows, heads, order[first : first + room])


def _table(rows: Sequence[Row], heads: Sequence[str], clusters: Sequence[int]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("", max_width=LONGEST, overflow="fold")
    table.add_column("all", justify="right", no_wrap=True)
    for k in clusters:
        table.add_column(escape(heads[k]), justify="right", max_width=LONGEST, overflow="fold")
    for row in rows:
        table.add_row(escape(row.name), row.overall, *(row.cells[k] for k in clusters))
    return table


def _sizes(profiles: Profiles) -> list[Row]:
    sizes = profiles.sizes
    shares = {"share": sizes.share, "at least": sizes.low, "at most": sizes.high}
    counts = Row("objects", figure(sizes.objects.sum()), [figure(n) for n in sizes.objects])
    return [counts, *(Row(name, "", [f"{v:.1%}" for v in each]) for name, each in shares.items())]


def _rows(column: ColumnProfile) -> list[Row]:
    """Mean and standard deviation of numbers; the share of each category."""
    if column.categories is None:
        overall = _number(column.overall["mean"], column.overall["sd"])
        pairs = zip(column.figures["mean"], column.figures["sd"], strict=True)
        return [Row(column.name, overall, [_number(*pair) for pair in pairs])]
    levels = zip(column.categories, column.figures.items(), strict=True)
    return [
        Row(f"{column.name}: {level}", _percent(column.overall[name]), [*map(_percent, shares)])
        for level, (name, shares) in levels
    ]


def _number(mean: float, sd: float) -> str:
    return "-" if mean != mean else f"{figure(mean)} ({figure(sd)})"


def _percent(share: float) -> str:
    return "-" if share != share else f"{share:.0%}"
