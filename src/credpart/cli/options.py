"""The options that commands share: their help, and how their texts are read."""

import csv
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_args

import typer


def number(text: str) -> Any:
    """An int, a float, or the text as it is, which the library then refuses."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def listed(text: str) -> Any:
    """Names with commas between them; a name that has one stands in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def names(text: str) -> Any:
    """One name, or several with commas between them."""
    several = listed(text)
    return several[0] if len(several) == 1 else several


def clusters(text: str) -> Any:
    """A number, a range such as 2-6, several with commas, or the text as it is."""
    first, dash, last = text.partition("-")
    if dash and first.isdigit() and last.isdigit():
        return list(range(int(first), int(last) + 1))
    return [number(part) for part in text.split(",")] if "," in text else number(text)


def numbers(text: str) -> Any:
    """Numbers with commas between them."""
    return tuple(number(part) for part in text.split(","))


def yes_or_no(text: str) -> Any:
    """True, False, or the text as it is."""
    return {"yes": True, "true": True, "no": False, "false": False}.get(text.lower(), text)


LISTS = (listed, names, clusters, numbers)  # what reads texts of several values


def lists_add_up(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command's options of lists be repeated: --drop A --drop B is --drop A,B."""
    own = signature(command)
    lists = {name for name, option in own.parameters.items() if _parser(option) in LISTS}

    @wraps(command)
    def run(**given: Any) -> None:
        command(**given | {name: together(given[name]) for name in lists & given.keys()})

    parameters = [
        _repeated(option) if name in lists else option for name, option in own.parameters.items()
    ]
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parser(option: Parameter) -> Any:
    return next((info.parser for info in get_args(option.annotation)[1:]), None)


def _repeated(option: Parameter) -> Parameter:
    """The option as one that may be repeated."""
    kind = Annotated[list[Any] | None, *get_args(option.annotation)[1:]]
    is_given = option.default not in (None, Parameter.empty)
    default = [option.default] if is_given else option.default
    return option.replace(annotation=kind, default=default)


def together(parts: Sequence[Any] | None) -> Any:
    """What the texts of an option that may be repeated say together; None if it is not given.

    >>> together([["A", "B"], "C"]), together(["A"]), together(None)
    (['A', 'B', 'C'], 'A', None)
    """
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    several = [part if isinstance(part, list | tuple) else [part] for part in parts]
    return [value for some in several for value in some]


MODEL, DATA, RUN = "Model", "Data", "Run"

SOURCE: Any = typer.Argument(
    metavar="SOURCE",
    help="A .csv, .tsv, .txt, .parquet, .xlsx, .h5ad or .fcs file, also as .gz or .zip, - for "
    "standard input, or a bundled data set (see `datasets`).",
    show_default=False,
)
Source = Annotated[str, SOURCE]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help=f"{SOURCE.help} Several files with the same columns are one table.",
        show_default=False,
    ),
]
Columns = Annotated[
    Any,
    typer.Option(
        parser=listed, metavar="A,B", help="Columns to draw (default: all)", rich_help_panel=DATA
    ),
]
RawText = Annotated[
    bool,
    typer.Option(
        "--raw-text",
        help="Write names that a spreadsheet would run as a formula as they are",
        rich_help_panel=RUN,
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
        help="Choose model and number of clusters in each replicate, or once",
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
Refit = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="full, linear (one pass over the objects), or auto: linear for large data",
        rich_help_panel=MODEL,
    ),
]
Level = Annotated[
    Any,
    typer.Option(
        parser=number, metavar="P", help="Confidence level of the intervals", rich_help_panel=MODEL
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="percentile, basic, normal, bca or simultaneous: how intervals are made",
        rich_help_panel=MODEL,
    ),
]
Pairs = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="L",
        help="Number of landmarks, or all, or auto: all pairs up to 2000 objects",
        rich_help_panel=MODEL,
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
Weaken = Annotated[
    bool,
    typer.Option(
        "--weaken",
        help="Weaken masses until [Bel, Pl] holds as much as the intervals",
        rich_help_panel=MODEL,
    ),
]
Noise = Annotated[
    Any,
    typer.Option(
        parser=yes_or_no,
        metavar="HOW",
        help="no, yes (uniform), contaminated, or auto: whether outliers may be in no cluster",
        rich_help_panel=MODEL,
    ),
]
Audit = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="N",
        help="Data sets of a quick audit; 0: none (auto: 8, up to 5000 objects)",
        rich_help_panel=RUN,
    ),
]
Recalibrate = Annotated[
    bool,
    typer.Option(
        "--recalibrate",
        help="Use the level at which intervals hold --level, unless the difference may be chance",
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
OutOfCore = Annotated[
    bool,
    typer.Option(
        "--out-of-core",
        help="Never hold all rows in memory; for a pattern or a folder of files this is so anyway",
        rich_help_panel=RUN,
    ),
]
SampleRows = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="N",
        help="Out of core: rows of the sample in which models are searched for",
        rich_help_panel=RUN,
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Out of core: scheduler of a Dask cluster, such as tcp://10.0.0.1:8786",
        rich_help_panel=RUN,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Out of core: go on with a run that was killed", rich_help_panel=RUN
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say how long it would take, and how much memory, out of core, and do nothing",
        rich_help_panel=RUN,
    ),
]
Seed = Annotated[Any, typer.Option(parser=number, metavar="N", help="Seed", rich_help_panel=RUN)]
Jobs = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="N",
        help="Number of parallel jobs; the result is the same",
        rich_help_panel=RUN,
    ),
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
File = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="File to write", rich_help_panel=RUN),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="File to write: .csv, .tsv, .parquet, .xlsx or .h5ad",
        rich_help_panel=RUN,
    ),
]
TableFileOrStream = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="File to write: .csv, .tsv, .parquet, .xlsx or .h5ad; or - for standard output",
        rich_help_panel=RUN,
    ),
]
Fitted = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A folder that `fit` made, or its model.npz", show_default=False
    ),
]
Datasets = Annotated[
    Any,
    typer.Option(
        parser=number, metavar="N", help="Data sets to draw and to fit", rich_help_panel=RUN
    ),
]
AuditReplicates = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="B",
        help="Bootstrap samples of each (default: as many as the fit has)",
        rich_help_panel=RUN,
    ),
]
Methods = Annotated[
    Any,
    typer.Option(
        parser=listed,
        metavar="A,B",
        help="Of calibrated, ecm, recm and evclus",
        rich_help_panel=MODEL,
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="partition, profile, memberships, doubt, selection, approximation, classification, "
        "uncertainty, density, relational or matrix",
        rich_help_panel=RUN,
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="File to write (KIND.png if not given)", rich_help_panel=RUN
    ),
]
