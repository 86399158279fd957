"""What the page says of the clusters: each column of the data in each of them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from credpart.profiles import NOTABLE, ColumnProfile, Profiles, figure

MOST_ROWS = 60  # of numbers and categories; a longer table is read by nobody
WIDEST = 6  # clusters side by side: so many fit on a printed page
STEPS = (0.2, 0.5, 1.0)  # standardised differences from which on a cell has the next shade


class Cell(NamedTuple):
    """A figure, and how it differs from that of all objects."""

    text: str
    spread: str  # standard deviation; empty for shares
    shade: str  # a class of the style sheet; empty: hardly different
    mark: str  # "high", "low" or nothing
    told: str  # what a pointer is told


class Head(NamedTuple):
    """A cluster above its column of the table."""

    name: str
    code: int
    objects: str
    share: str
    bounds: str


class ProfileBlock(NamedTuple):
    """Some clusters from left to right, and what they are like."""

    heads: list[Head]
    rows: list[tuple[str, Cell, list[Cell]]]  # the name, all objects, each cluster


class ProfileTable(NamedTuple):
    """The clusters, the largest first, in blocks that stand below each other."""

    blocks: list[ProfileBlock]
    objects: str  # in clusters: the figures of all objects do not count outliers
    n_left_out: int  # rows that are not shown
    scope: str  # of which objects the figures are; empty: of all


def profile_table(profiles: Profiles) -> ProfileTable:
    """The columns that separate the clusters best come first."""
    order, sizes = [int(k) for k in profiles.by_size], profiles.sizes
    heads = [
        Head(
            str(profiles.clusters[k]),
            k,
            figure(sizes.objects[k]),
            f"{sizes.share[k]:.1%}",
            f"{100 * sizes.low[k]:.1f} to {100 * sizes.high[k]:.1f} %",
        )
        for k in order
    ]
    rows = [row for column in profiles.columns for row in _rows(column, order)]
    shown = rows[:MOST_ROWS]
    width = -(-len(heads) // -(-len(heads) // WIDEST))  # blocks of about the same width
    blocks = [
        ProfileBlock(
            heads[start : start + width],
            [(name, whole, cells[start : start + width]) for name, whole, cells in shown],
        )
        for start in range(0, len(heads), width)
    ]
    return ProfileTable(blocks, figure(sizes.objects.sum()), len(rows) - len(shown), profiles.scope)


def _rows(column: ColumnProfile, order: list[int]) -> Iterator[tuple[str, Cell, list[Cell]]]:
    if column.categories is None:
        means, sds = column.figures["mean"], column.figures["sd"]
        whole = Cell(
            column.text(column.overall["mean"]), column.text(column.overall["sd"]), "", "", ""
        )
        cells = [
            _cell(column.text(means[k]), column.text(sds[k]), float(column.differences[k]))
            for k in order
        ]
        yield column.name, whole, cells
        return
    for level, (name, shares) in zip(column.categories, column.figures.items(), strict=True):
        p = column.overall[name]
        spread = np.sqrt(p * (1.0 - p)) or 1.0
        cells = [_cell(f"{shares[k]:.0%}", "", float((shares[k] - p) / spread)) for k in order]
        yield f"{column.name}: {level}", Cell(f"{p:.0%}", "", "", "", ""), cells


def _cell(text: str, spread: str, difference: float) -> Cell:
    """A cell with its shade.

    >>> _cell("5.0", "0.4", -1.2)
    Cell(text='5.0', spread='0.4', shade='low3', mark='low', told='-1.20 standard deviations')
    """
    if np.isnan(difference):
        return Cell("", "", "", "", "no object with a value")
    side = "high" if difference > 0.0 else "low"
    step = sum(abs(difference) >= start for start in STEPS)
    mark = side if abs(difference) >= NOTABLE else ""
    told = f"{difference:+.2f} standard deviations"
    return Cell(text, spread, f"{side}{step}" if step else "", mark, told)
