"""Tables that are wider than the screen, as several below each other: nothing is left out."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from credpart.cli.streams import harmless

GAP = 2  # between two columns
LONGEST = 24  # letters of a row's name or of a heading in one line; longer ones are folded


class TextRow(NamedTuple):
    """A row of a table: its name, and its cells."""

    name: str
    cells: Sequence[str | Text]


def in_blocks(
    corner: str, heads: Sequence[str], rows: Sequence[TextRow], width: int, *, repeated: int = 0
) -> Iterator[Table]:
    """Tables of as many columns as the width has room for; the first few stand in each of them.

    >>> rows = [TextRow("a", ["1", "22", "333"])]
    >>> [len(table.columns) for table in in_blocks("", ["x", "y", "z"], rows, width=8)]
    [3, 2]
    """
    heads = [harmless(head) for head in heads]  # before their widths are measured
    rows = [row._replace(name=harmless(row.name)) for row in rows]
    names = min(LONGEST, max(len(text) for text in (corner, *(row.name for row in rows))))
    widths = [
        GAP + max(min(LONGEST, len(head)), *(min(LONGEST, len(row.cells[j])) for row in rows))
        for j, head in enumerate(heads)
    ]
    always = list(range(repeated))
    taken, room = [*always], width - names - sum(widths[:repeated])
    for j in range(repeated, len(heads)):
        if widths[j] > room and len(taken) > repeated:
            yield _table(corner, heads, rows, taken)
            taken, room = [*always], width - names - sum(widths[:repeated])
        taken.append(j)
        room -= widths[j]
    yield _table(corner, heads, rows, taken)


def _table(
    corner: str, heads: Sequence[str], rows: Sequence[TextRow], taken: Sequence[int]
) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, GAP), collapse_padding=True)
    table.add_column(Text(corner), max_width=LONGEST, overflow="fold")
    for j in taken:
        table.add_column(Text(heads[j]), justify="right", max_width=LONGEST, overflow="fold")
    for row in rows:
        cells = (row.cells[j] for j in taken)
        table.add_row(Text(row.name), *(Text(c) if isinstance(c, str) else c for c in cells))
    return table
