"""``credpart fit`` of data in partitions, which are never all in memory."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from joblib import parallel_config

from credpart._messages import Message
from credpart.cli.completion import refuse_stream
from credpart.cli.fitting import check_jobs, collected_warnings
from credpart.cli.folder import Request
from credpart.cli.reading import OPTIONS as READING
from credpart.cli.screen import new_console
from credpart.cli.vocabulary import in_shell
from credpart.datasets import DATASETS
from credpart.diagnostics.diagnosis import ASKED_FOR
from credpart.errors import InputError, MissingPackageError
from credpart.out_of_core.estimate import estimate
from credpart.out_of_core.resumable_run import DatasetResult, check_request, cluster_dataset
from credpart.partition.doubt import WORDS
from credpart.tables import Transform


class PartitionOptions(NamedTuple):
    """Options that only data in partitions have."""

    sample_rows: Any
    dask: str | None  # address of a scheduler
    resume: bool
    dry_run: bool


def is_in_partitions(source: str, how: PartitionOptions) -> bool:
    """Whether a source is several files, or an option asks for partitions."""
    path, is_pattern = Path(source), any(mark in source for mark in "*?[")
    is_folder = path.is_dir() and source not in DATASETS
    is_several = is_folder or (is_pattern and not path.exists())
    return is_several or how.dask is not None or how.resume or how.dry_run


def fit_partitions(
    request: Request, how: PartitionOptions, out: Path | None, *, force: bool, quiet: bool
) -> None:
    """Cluster all partitions, and write the folder; or say what it would take."""
    source = request.source
    refuse_stream(out, "a folder")
    if request.more:
        got = Message(f"{len(request.more) + 1} of them")
        remedy = "A pattern such as 'cells/*.parquet', or a folder, is one source."
        raise InputError("source", "be one source for data in partitions", got, remedy)
    others = dict(request.table)
    names = ("columns", "id_column", "label_column")
    table: dict[str, Any] = {name: others.pop(name) or None for name in names}
    transform = Transform(**others.pop("transform"))
    for name, value in (others | others.pop("text_format")).items():
        if name in READING and value not in (READING[name].default, None, []):
            raise InputError(name, "not be given with data in partitions", value)
    if source in DATASETS:
        what = (
            "a file, of which an estimate is made" if how.dry_run else "files for a run out of core"
        )
        raise InputError("source", f"be {what}", source)
    if request.fit_rows is not None:
        raise InputError("fit_rows", "not be given with data in partitions", request.fit_rows)
    if request.recalibrate:
        raise InputError("recalibrate", "not be given with data in partitions", True)
    check_jobs(request.estimator["n_jobs"])
    table["transform"] = None if transform.name == "none" else transform
    estimator = dict(request.estimator)
    if how.dry_run:
        run = {name: estimator.pop(name) for name in ("n_jobs", "verbose")}
        columns = (table["columns"], table["id_column"], table["label_column"], table["transform"])
        checked = check_request(source, estimator, columns, how.sample_rows)
        print(estimate(checked, run["n_jobs"]))
        return
    folder = out or Path(f"credpart-{Path(source).stem.strip('*?[].') or 'out'}")
    command = shlex.join(["credpart", *sys.argv[1:]])
    with dask_cluster(how.dask), collected_warnings(None, quiet=quiet):
        found = cluster_dataset(
            source,
            folder,
            **table,
            **estimator,
            sample_rows=how.sample_rows,
            resume=how.resume,
            overwrite=force,
            command=command,
        )
    if not quiet:
        show(found)


@contextmanager
def dask_cluster(address: str | None) -> Iterator[None]:
    """Parallel work goes to a Dask cluster, if there is one."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        needed = "--dask needs the package distributed: pip install 'credpart[dask]'"
        raise MissingPackageError(needed) from None
    try:
        client: Any = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        got = Message(f"{address!r} ({error})")
        raise InputError("dask", "be the address of a Dask scheduler that runs", got) from None
    with client, parallel_config(backend="dask"):
        yield


def show(found: DatasetResult) -> None:
    """One screen: what was found, and where it is."""
    say = partial(new_console().print, markup=False)
    summary, sets = found.summary, found.summary["sets"]
    n, c, parts = summary["n"], summary["n_clusters"], summary["n_partitions"]
    say(
        f"\n{summary['source']}: {n} objects in {parts} partition{'s' * (parts != 1)}, "
        f"{c} cluster{'s' * (c != 1)}, model {summary['model']}"
    )
    largest = sorted(sets.items(), key=lambda item: -item[1])[:8]
    listed = "  ".join(f"{name} {count}" for name, count in largest)
    more = f"  and {len(sets) - len(largest)} more" if len(sets) > len(largest) else ""
    verdicts = summary["verdicts"]
    say("  ".join(f"{word} {verdicts[word]:.1%}" for word in WORDS if word in verdicts))
    say(f"Sets of maximum mass, sure or not: {listed}{more}")
    if summary["refits"]:
        say(f"{summary['refits']}.")
    diagnosis = summary["diagnosis"]
    audit = f"credpart audit {shlex.quote(str(found.folder))}"
    verdict = diagnosis["verdict"].replace(Message(ASKED_FOR), audit)
    say(f"\n{diagnosis['grade'].upper()}  {in_shell(verdict)}")
    say(f"\nIn {found.folder}: report.html to open, masses/, model.npz, summary.json")
