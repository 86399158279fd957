"""The commands and their options; what they do is imported when they run."""

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="credpart",
    help="Cluster data, and say how sure each object's cluster is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def number(text: str) -> Any:
    """An int, a float, or the text as it is, which the library then refuses."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def names(text: str) -> Any:
    """One name, or several with commas between them."""
    several = [name.strip() for name in text.split(",")]
    return several if len(several) > 1 else several[0]


def listed(text: str) -> Any:
    """Names with commas between them, always as a list."""
    return [name.strip() for name in text.split(",")]


def clusters(text: str) -> Any:
    """A number, a range such as 2-6, several with commas, or the text as it is."""
    first, dash, last = text.partition("-")
    if dash and first.isdigit() and last.isdigit():
        return list(range(int(first), int(last) + 1))
    return [number(part) for part in text.split(",")] if "," in text else number(text)


def numbers(text: str) -> Any:
    """Numbers with commas between them."""
    return tuple(number(part) for part in text.split(","))


MODEL, DATA, RUN = "Model", "Data", "Run"

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A .csv, .tsv, .parquet or .fcs file, or a bundled data set (see `datasets`).",
        show_default=False,
    ),
]
Columns = Annotated[
    Any,
    typer.Option(
        parser=listed, metavar="A,B", help="Columns to cluster (default: all)", rich_help_panel=DATA
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of the objects' names", rich_help_panel=DATA),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of known classes: left out, and compared with",
        rich_help_panel=DATA,
    ),
]
TransformName = Annotated[
    str,
    typer.Option(
        "--transform", metavar="NAME", help="none, asinh or logicle", rich_help_panel=DATA
    ),
]
Cofactor = Annotated[
    Any, typer.Option(parser=number, metavar="X", help="Of asinh(x / X)", rich_help_panel=DATA)
]
Logicle = Annotated[
    Any,
    typer.Option(
        parser=numbers, metavar="T,M,W,A", help="Of the logicle scale", rich_help_panel=DATA
    ),
]
Clusters = Annotated[
    Any,
    typer.Option(
        parser=clusters, metavar="C", help="3, 2-6, or auto: 1 to 9", rich_help_panel=MODEL
    ),
]
Model = Annotated[
    Any,
    typer.Option(
        parser=names,
        metavar="NAME",
        help="VVV, or several: VVV,EEE, or auto: 14 structures",
        rich_help_panel=MODEL,
    ),
]
Criterion = Annotated[
    str, typer.Option(metavar="NAME", help="bic, icl or aic", rich_help_panel=MODEL)
]
Selection = Annotated[
    str,
    typer.Option(
        metavar="WHEN",
        help="Choose the model in each replicate, or once",
        rich_help_panel=MODEL,
    ),
]
Replicates = Annotated[
    Any,
    typer.Option(
        parser=number, metavar="B", help="Number of bootstrap samples", rich_help_panel=MODEL
    ),
]
Resampling = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="nonparametric, bayesian or parametric", rich_help_panel=MODEL
    ),
]
Level = Annotated[
    Any,
    typer.Option(
        parser=number, metavar="P", help="Confidence level of the intervals", rich_help_panel=MODEL
    ),
]
FocalSets = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="singletons, pairs, overlapping or full",
        rich_help_panel=MODEL,
    ),
]
Omega = Annotated[
    bool,
    typer.Option("--omega", help="The set of all clusters may carry mass", rich_help_panel=MODEL),
]
Overlap = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="K",
        help="Neighbours of a cluster that `overlapping` takes",
        rich_help_panel=MODEL,
    ),
]
FitRows = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="N",
        help="Fit N random rows, and score the others against them: for large data",
        rich_help_panel=RUN,
    ),
]
Seed = Annotated[Any, typer.Option(parser=number, metavar="N", help="Seed", rich_help_panel=RUN)]
Jobs = Annotated[
    Any,
    typer.Option(parser=number, metavar="N", help="Jobs; they change no byte", rich_help_panel=RUN),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder to make (default: credpart-SOURCE)",
        rich_help_panel=RUN,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what credpart made before", rich_help_panel=RUN)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only", rich_help_panel=RUN)]


def tell_version(wanted: bool) -> None:
    """Print the version, and stop."""
    if wanted:
        from credpart import __version__

        print(f"credpart {__version__}")
        raise typer.Exit


@app.callback()
def everything(
    version: Annotated[
        bool,
        typer.Option("--version", callback=tell_version, is_eager=True, help="Show the version"),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from")] = False,
) -> None:
    """Cluster data, and say how sure each object's cluster is."""


@app.command()
def fit(
    source: Source,
    clusters: Clusters = "auto",
    model: Model = "auto",
    criterion: Criterion = "bic",
    selection: Selection = "each",
    replicates: Replicates = "1000",
    resampling: Resampling = "nonparametric",
    level: Level = "0.9",
    focal_sets: FocalSets = "pairs",
    omega: Omega = False,
    overlap: Overlap = "2",
    columns: Columns = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    transform: TransformName = "none",
    cofactor: Cofactor = "150",
    logicle: Logicle = "262144,4.5,0.5,0",
    fit_rows: FitRows = None,
    seed: Seed = "0",
    jobs: Jobs = None,
    out: Folder = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Cluster a table: masses, intervals, the model and a report, in a folder."""
    from credpart.cli.fitting import Request, fit_and_write

    fit_and_write(
        Request(
            source=source,
            table={
                "columns": columns,
                "id_column": id_column,
                "label_column": label_column,
                "transform": {"name": transform, "cofactor": cofactor, "logicle": logicle},
            },
            estimator={
                "n_clusters": clusters,
                "model": model,
                "criterion": criterion,
                "selection": selection,
                "n_replicates": replicates,
                "resampling": resampling,
                "level": level,
                "focal_sets": focal_sets,
                "omega": omega,
                "overlap": overlap,
                "random_state": seed,
                "n_jobs": jobs,
                "verbose": int(not quiet),
            },
            fit_rows=fit_rows,
        ),
        out,
        force=force,
        quiet=quiet,
    )
