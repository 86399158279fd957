"""The commands; what they do is imported when they run."""

from typing import Annotated, Any

import typer

from credpart.cli import options as o

app = typer.Typer(
    name="credpart",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version, and stop."""
    if wanted:
        from credpart import __version__

        print(f"credpart {__version__}")
        raise typer.Exit


def table_options(
    columns: Any, id_column: str | None, label_column: str | None, *transform: Any
) -> dict[str, Any]:
    """What `read_objects` takes."""
    return {
        "columns": columns,
        "id_column": id_column,
        "label_column": label_column,
        "transform": dict(zip(("name", "cofactor", "logicle"), transform, strict=True)),
    }


@app.callback()
def everything(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version"),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from")] = False,
) -> None:
    """Cluster data, and say how sure each object's cluster is.

    Try: credpart fit iris --clusters 3 --out out
    """


@app.command()
def fit(
    source: o.Source,
    clusters: o.Clusters = "auto",
    model: o.Model = "auto",
    criterion: o.Criterion = "bic",
    selection: o.Selection = "each",
    replicates: o.Replicates = "1000",
    resampling: o.Resampling = "nonparametric",
    refit: o.Refit = "auto",
    level: o.Level = "0.9",
    pairs: o.Pairs = "auto",
    focal_sets: o.FocalSets = "pairs",
    omega: o.Omega = False,
    overlap: o.Overlap = "2",
    columns: o.Columns = None,
    id_column: o.IdColumn = None,
    label_column: o.LabelColumn = None,
    transform: o.TransformName = "none",
    cofactor: o.Cofactor = "150",
    logicle: o.Logicle = "262144,4.5,0.5,0",
    fit_rows: o.FitRows = None,
    seed: o.Seed = "0",
    jobs: o.Jobs = None,
    out: o.Folder = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Cluster a table: masses, intervals, the model and a report, in a folder."""
    from credpart.cli.fitting import fit_and_write
    from credpart.cli.folder import Request

    estimator = {
        "n_clusters": clusters,
        "model": model,
        "criterion": criterion,
        "selection": selection,
        "n_replicates": replicates,
        "resampling": resampling,
        "refit": refit,
        "level": level,
        "pairs": pairs,
        "focal_sets": focal_sets,
        "omega": omega,
        "overlap": overlap,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": int(not quiet),
    }
    table = table_options(columns, id_column, label_column, transform, cofactor, logicle)
    fit_and_write(Request(source, table, estimator, fit_rows), out, force=force, quiet=quiet)


@app.command()
def select(
    source: o.Source,
    clusters: o.Clusters = "auto",
    model: o.Model = "auto",
    criterion: o.Criterion = "bic",
    columns: o.Columns = None,
    id_column: o.IdColumn = None,
    label_column: o.LabelColumn = None,
    transform: o.TransformName = "none",
    cofactor: o.Cofactor = "150",
    logicle: o.Logicle = "262144,4.5,0.5,0",
    out: o.File = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Show how well each model and number of clusters fits: a quick first look."""
    from credpart.cli.commands import show_selection

    table = table_options(columns, id_column, label_column, transform, cofactor, logicle)
    show_selection(source, table, (clusters, model, criterion), out, force=force, quiet=quiet)


@app.command()
def predict(
    model: o.Fitted,
    source: o.Source,
    id_column: o.IdColumn = None,
    jobs: o.Jobs = None,
    out: o.File = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Give new objects their masses, against the fitted ones, as CSV."""
    from credpart.cli.commands import write_predictions

    write_predictions(model, source, id_column, jobs, out, force=force, quiet=quiet)


@app.command()
def compare(
    source: o.Source,
    clusters: o.Clusters,
    methods: o.Methods = "calibrated,ecm,evclus",
    columns: o.Columns = None,
    id_column: o.IdColumn = None,
    label_column: o.LabelColumn = None,
    transform: o.TransformName = "none",
    cofactor: o.Cofactor = "150",
    logicle: o.Logicle = "262144,4.5,0.5,0",
    seed: o.Seed = "0",
    out: o.File = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Put several methods of evidential clustering side by side."""
    from credpart.cli.commands import show_comparison

    table = table_options(columns, id_column, label_column, transform, cofactor, logicle)
    show_comparison(source, table, (methods, clusters, seed), out, force=force, quiet=quiet)


@app.command()
def plot(
    model: o.Fitted,
    kind: o.Kind = "partition",
    columns: o.Columns = None,
    out: o.Picture = None,
    force: o.Force = False,
) -> None:
    """Draw a fitted model as a .png, .svg or .pdf file."""
    from credpart.cli.pictures import write_picture

    write_picture(model, kind, columns, out, force=force)


@app.command()
def report(model: o.Fitted, out: o.File = None, force: o.Force = False) -> None:
    """Make the report of a fitted model again."""
    from credpart.cli.commands import write_report_again

    write_report_again(model, out, force=force)


@app.command()
def audit(
    model: o.Fitted,
    datasets: o.Datasets = "50",
    replicates: o.AuditReplicates = None,
    seed: o.Seed = "0",
    jobs: o.Jobs = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Check on data drawn from a fitted model whether its intervals hold their level."""
    from credpart.cli.commands import write_audit

    write_audit(model, (datasets, replicates, seed, jobs), force=force, quiet=quiet)


@app.command()
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print this one as CSV")
    ] = None,
    out: o.File = None,
    force: o.Force = False,
) -> None:
    """List the bundled data sets, or print one as CSV."""
    from credpart.cli.commands import show_datasets

    show_datasets(name, out, force=force)
