"""The commands; what they do is imported when they run."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from credpart.cli import options as o
from credpart.cli.reading import FOR_NEW_OBJECTS, WITHOUT_MASSES, reads_a_table

Table = dict[str, Any]  # what `read_objects` takes

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


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function; those of its options that are lists may be repeated."""
    return app.command()(o.lists_add_up(function))


@command
@reads_a_table()
def fit(
    source: o.Sources,
    table: Table,
    clusters: o.Clusters = "auto",
    model: o.Model = "auto",
    criterion: o.Criterion = "bic",
    selection: o.Selection = "each",
    replicates: o.Replicates = "1000",
    resampling: o.Resampling = "nonparametric",
    refit: o.Refit = "auto",
    level: o.Level = "0.9",
    method: o.Method = "percentile",
    pairs: o.Pairs = "auto",
    focal_sets: o.FocalSets = "pairs",
    omega: o.Omega = False,
    overlap: o.Overlap = "2",
    weaken: o.Weaken = False,
    noise: o.Noise = "no",
    audit: o.Audit = "auto",
    recalibrate: o.Recalibrate = False,
    fit_rows: o.FitRows = None,
    out_of_core: o.OutOfCore = False,
    sample_rows: o.SampleRows = "100000",
    dask: o.Dask = None,
    resume: o.Resume = False,
    dry_run: o.DryRun = False,
    seed: o.Seed = "0",
    jobs: o.Jobs = None,
    out: o.Folder = None,
    raw_text: o.RawText = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Cluster a table: masses, intervals, the model and a report, in a folder.

    A pattern or a folder of files is read file by file, and never held in memory as a whole:
    credpart fit 'cells/*.parquet' --clusters 7 --out out
    """
    from credpart.cli.fitting import command_again, fit_and_write
    from credpart.cli.folder import Request
    from credpart.cli.partitions import PartitionOptions, fit_partitions, is_in_partitions

    estimator = {
        "n_clusters": clusters,
        "model": model,
        "criterion": criterion,
        "selection": selection,
        "n_replicates": replicates,
        "resampling": resampling,
        "refit": refit,
        "level": level,
        "method": method,
        "pairs": pairs,
        "focal_sets": focal_sets,
        "omega": omega,
        "overlap": overlap,
        "weaken": weaken,
        "noise": noise,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": int(not quiet),
    }
    first, *more = source
    again = command_again(out, first)
    request = Request(
        first, table, estimator, fit_rows, raw_text, audit, recalibrate, again, tuple(more)
    )
    how = PartitionOptions(sample_rows, dask, resume, dry_run)
    if out_of_core or any(is_in_partitions(one, how) for one in source):
        fit_partitions(request, how, out, force=force, quiet=quiet)
    else:
        fit_and_write(request, out, force=force, quiet=quiet)


@command
@reads_a_table(*WITHOUT_MASSES)
def select(
    source: o.Source,
    table: Table,
    clusters: o.Clusters = "auto",
    model: o.Model = "auto",
    criterion: o.Criterion = "bic",
    noise: o.Noise = "no",
    out: o.TableFile = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Show how well each model and number of clusters fits: a quick first look."""
    from credpart.cli.commands import show_selection

    choice = {"n_clusters": clusters, "models": model, "criterion": criterion, "noise": noise}
    show_selection(source, table, choice, out, force=force, quiet=quiet)


@command
@reads_a_table(*FOR_NEW_OBJECTS)
def predict(
    model: o.Fitted,
    source: o.Source,
    table: Table,
    jobs: o.Jobs = None,
    out: o.TableFileOrStream = None,
    raw_text: o.RawText = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Give new objects their masses, against the fitted ones."""
    from credpart.cli.commands import write_predictions

    write_predictions(model, source, table, jobs, out, raw_text=raw_text, force=force, quiet=quiet)


@command
@reads_a_table(*WITHOUT_MASSES)
def compare(
    source: o.Source,
    table: Table,
    clusters: o.Clusters,
    methods: o.Methods = "calibrated,ecm,evclus",
    seed: o.Seed = "0",
    out: o.TableFile = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Put several methods of evidential clustering side by side."""
    from credpart.cli.commands import show_comparison

    show_comparison(source, table, (methods, clusters, seed), out, force=force, quiet=quiet)


@command
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


@command
def profile(
    model: o.Fitted, out: o.File = None, force: o.Force = False, quiet: o.Quiet = False
) -> None:
    """Show what is in the clusters: sizes, means, and what sets each apart."""
    from credpart.cli.commands import show_profile

    show_profile(model, out, force=force, quiet=quiet)


@command
def report(model: o.Fitted, out: o.File = None, force: o.Force = False) -> None:
    """Make the report of a fitted model again."""
    from credpart.cli.commands import write_report_again

    write_report_again(model, out, force=force)


@command
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


@command
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print this one as CSV")
    ] = None,
    out: o.TableFileOrStream = None,
    force: o.Force = False,
) -> None:
    """List the bundled data sets, or print one as CSV."""
    from credpart.cli.commands import show_datasets

    show_datasets(name, out, force=force)
