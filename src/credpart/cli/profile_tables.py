"""Profiles of clusters on a screen: a few words for each cluster, or a table of all figures."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from credpart.cli.blocks import TextRow, in_blocks
from credpart.cli.streams import harmless
from credpart.profiles import NOTABLE, ColumnProfile, Profiles, figure

MOST_CLUSTERS = 12  # that a summary has room for
LONGEST_NAME = 100  # letters
MOST_COLUMNS = 2  # that a summary names for each cluster
# Shares of the mass, not of the objects counted beside them.  Short names: longer ones would wrap
# the column to the right.
SHARES = "share of mass\n(Bel-Pl, no CI)"
NO_LIMITS = "Bel to Pl are bounds of these objects' mass, and no confidence limits."
NOTHING = f"nothing by {NOTABLE:g} s.d."  # of a cluster that lies near the mean of all objects


def short_profile(profiles: Profiles) -> Table:
    """For each cluster its size, and the columns that set it apart, with their means."""
    table = Table("cluster", box=None, pad_edge=False)
    table.add_column("objects", justify="right")
    table.add_column(SHARES, justify="right", no_wrap=True)
    table.add_column("set apart by (means; against all objects)", overflow="fold")
    for k in map(int, profiles.by_size[:MOST_CLUSTERS]):
        words = [_short(column).words(k) for column in profiles.set_apart(k)[:MOST_COLUMNS]]
        sizes = profiles.sizes
        bounds = f"({_hundredths(sizes.low[k])} to {_hundredths(sizes.high[k])}%)"
        table.add_row(
            Text(str(profiles.clusters[k])),
            figure(sizes.objects[k]),
            f"{_hundredths(sizes.share[k])}% {bounds}",
            Text(", ".join(words) or NOTHING),
        )
    return table


def _hundredths(share: float) -> str:
    """A share in percent, without the sign; one decimal below 10.

    >>> _hundredths(0.0672), _hundredths(0.0998), _hundredths(0.57)
    ('6.7', '10', '57')
    """
    percent = 100.0 * share
    return f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"


def left_out(profiles: Profiles) -> str:
    """What `short_profile` does not show; empty if it shows all clusters."""
    more = len(profiles.clusters) - MOST_CLUSTERS
    return f"and {more} smaller cluster{'s' * (more != 1)}" if more > 0 else ""


def full_profile(profiles: Profiles, width: int) -> Iterator[Table]:
    """All figures; the first column of each table is that of all objects."""
    order = [int(k) for k in profiles.by_size]
    heads = ["all", *(f"cluster {profiles.clusters[k]}" for k in order)]
    rows = [*_sizes(profiles, order)]
    rows += [row for column in profiles.columns for row in _rows(_short(column), order)]
    return in_blocks("", heads, rows, width, repeated=1)


def _short(column: ColumnProfile) -> ColumnProfile:
    """The column with names that a screen has room for, such as the beginning of a question."""
    levels = column.categories
    return column._replace(
        name=_cut(column.name), categories=levels and tuple(_cut(str(level)) for level in levels)
    )


def _cut(name: str) -> str:
    """The beginning of a long name.

    >>> _cut("short"), len(_cut("long" * 1000))
    ('short', 100)
    """
    shown = harmless(name[:LONGEST_NAME])
    return shown if len(name) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def _sizes(profiles: Profiles, order: list[int]) -> Iterator[TextRow]:
    sizes = profiles.sizes
    total = figure(sizes.objects.sum())
    yield TextRow("objects", [total, *(figure(sizes.objects[k]) for k in order)])
    shares = {"share": sizes.share, "mean belief": sizes.low, "mean plausibility": sizes.high}
    for name, each in shares.items():
        yield TextRow(name, ["", *(f"{each[k]:.1%}" for k in order)])


def _rows(column: ColumnProfile, order: list[int]) -> Iterator[TextRow]:
    """Mean and standard deviation of numbers; the share of each category."""
    if column.categories is None:
        means, sds = column.figures["mean"], column.figures["sd"]
        overall = _number(column, column.overall["mean"], column.overall["sd"])
        yield TextRow(column.name, [overall, *(_number(column, means[k], sds[k]) for k in order)])
        return
    for level, (name, shares) in zip(column.categories, column.figures.items(), strict=True):
        cells = [_percent(column.overall[name]), *(_percent(shares[k]) for k in order)]
        yield TextRow(f"{column.name}: {level}", cells)


def _number(column: ColumnProfile, mean: float, sd: float) -> str:
    return "-" if mean != mean else f"{column.text(mean)} ({column.text(sd)})"


def _percent(share: float) -> str:
    return "-" if share != share else f"{share:.0%}"
