"""The options that say how a table is read, and what of it is used: one row for each."""

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, NamedTuple

import typer

from credpart.cli.options import listed, number, numbers

DATA, TEXT = "Data", "Text files"


class ReadingOption(NamedTuple):
    """An option: what typer makes of it, its default, and where its value goes."""

    kind: Any
    default: Any = None
    part: str = ""  # "transform", "text_format", or nothing: an argument of `read_objects`
    field: str = ""  # its name there, if it is another


def texts(words: Sequence[str] | None) -> list[str]:
    """Texts with commas between them, of an option that may be repeated; blanks count.

    >>> texts(["NA,null", " "])
    ['NA', 'null', ' ']
    """
    return [text for word in words or () for text in next(csv.reader([word]), [])]


def delimiter(text: str) -> str:
    """A character, or the word for one that is hard to type."""
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)


OPTIONS: Mapping[str, ReadingOption] = {
    "columns": ReadingOption(
        Annotated[
            Any,
            typer.Option(
                parser=listed,
                metavar="A,B",
                help="Columns to cluster, by name or as in x_* (default: all)",
                rich_help_panel=DATA,
            ),
        ]
    ),
    "drop": ReadingOption(
        Annotated[
            Any,
            typer.Option(
                parser=listed,
                metavar="A,B",
                help="Columns to leave out, by name or as in x_*",
                rich_help_panel=DATA,
            ),
        ]
    ),
    "missing": ReadingOption(
        Annotated[
            str,
            typer.Option(
                metavar="WHAT",
                help="Missing cells: error; drop the object; model (as missing at random)",
                rich_help_panel=DATA,
            ),
        ],
        "error",
    ),
    "keep_columns": ReadingOption(
        Annotated[
            bool,
            typer.Option(
                "--keep-columns",
                help="Write the columns of the data beside the masses",
                rich_help_panel=DATA,
            ),
        ],
        False,
    ),
    "id_column": ReadingOption(
        Annotated[
            str | None,
            typer.Option(metavar="NAME", help="Column of the objects' names", rich_help_panel=DATA),
        ]
    ),
    "label_column": ReadingOption(
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Column of known classes: left out, and only compared with in the end",
                rich_help_panel=DATA,
            ),
        ]
    ),
    "known_column": ReadingOption(
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Column of clusters known already, which the fit respects: "
                "A, A|B, !C (not C) or empty",
                rich_help_panel=DATA,
            ),
        ]
    ),
    "group_column": ReadingOption(
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Column of groups, such as donors: left out, and resampled whole",
                rich_help_panel=DATA,
            ),
        ]
    ),
    "strata_column": ReadingOption(
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Column of strata: left out, and each resampled on its own",
                rich_help_panel=DATA,
            ),
        ]
    ),
    "text_columns": ReadingOption(
        Annotated[
            Any,
            typer.Option(
                parser=listed,
                metavar="A,B",
                help="Columns of numbers that are categories",
                rich_help_panel=DATA,
            ),
        ],
    ),
    "transform": ReadingOption(
        Annotated[
            str, typer.Option(metavar="NAME", help="none, asinh or logicle", rich_help_panel=DATA)
        ],
        "none",
        "transform",
        "name",
    ),
    "cofactor": ReadingOption(
        Annotated[
            Any,
            typer.Option(parser=number, metavar="X", help="Of asinh(x / X)", rich_help_panel=DATA),
        ],
        "150",
        "transform",
    ),
    "logicle": ReadingOption(
        Annotated[
            Any,
            typer.Option(
                parser=numbers, metavar="T,M,W,A", help="Of the logicle scale", rich_help_panel=DATA
            ),
        ],
        "262144,4.5,0.5,0",
        "transform",
    ),
    "na_values": ReadingOption(
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="A,B",
                help="Texts that stand for a missing value, beside empty cells",
                rich_help_panel=TEXT,
            ),
        ],
        None,
        "text_format",
    ),
    "header": ReadingOption(
        Annotated[
            bool | None,
            typer.Option(
                "--header/--no-header",
                help="Whether the first row names the columns",
                rich_help_panel=TEXT,
                show_default=False,
            ),
        ],
        None,
        "text_format",
    ),
    "delimiter": ReadingOption(
        Annotated[
            Any,
            typer.Option(
                parser=delimiter,
                metavar="CHAR",
                help="Between two cells: a character, tab or space",
                rich_help_panel=TEXT,
            ),
        ],
        None,
        "text_format",
    ),
    "encoding": ReadingOption(
        Annotated[
            str | None,
            typer.Option(metavar="NAME", help="utf-8, cp1252, ...", rich_help_panel=TEXT),
        ],
        None,
        "text_format",
    ),
    "decimal": ReadingOption(
        Annotated[
            str | None,
            typer.Option(metavar="CHAR", help="Decimal sign: . or ,", rich_help_panel=TEXT),
        ],
        None,
        "text_format",
    ),
    "thousands": ReadingOption(
        Annotated[
            str | None,
            typer.Option(metavar="CHAR", help="What groups thousands", rich_help_panel=TEXT),
        ],
        None,
        "text_format",
    ),
    "comment": ReadingOption(
        Annotated[
            str | None,
            typer.Option(
                metavar="TEXT", help="What lines to leave out begin with", rich_help_panel=TEXT
            ),
        ],
        None,
        "text_format",
    ),
    "sheet": ReadingOption(
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Sheet of an .xlsx file, or matrix of an .h5ad file",
                rich_help_panel=DATA,
            ),
        ],
        None,
        "text_format",
    ),
}
FOR_NEW_OBJECTS = (
    "id_column",
    "keep_columns",
    "missing",
    *(name for name, option in OPTIONS.items() if option.part == "text_format"),
)
WITHOUT_MASSES = tuple(name for name in OPTIONS if name != "keep_columns")


def reads_a_table(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these names (all if none), as its argument ``table``."""
    chosen = {name: OPTIONS[name] for name in names or OPTIONS}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command)
        shared = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=option.kind)
            for name, option in chosen.items()
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            read = {name: given.pop(name) for name in chosen}
            command(**given, table=table_arguments(read))

        kept = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in own.parameters.items()
            if name != "table"
        ]
        parameters = [*kept, *shared]
        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def table_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """What `read_objects` takes; transform and text format as what they are made from."""
    table: dict[str, Any] = {"transform": {}, "text_format": {}}
    for name, value in given.items():
        option = OPTIONS[name]
        target = table[option.part] if option.part else table
        target[option.field or name] = value
    table["text_format"]["na_values"] = texts(table["text_format"].get("na_values"))
    for name in ("text_columns", "drop"):
        table[name] = given.get(name) or []
    return table
