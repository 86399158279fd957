"""`cluster_dataset`: a calibrated clustering of data that do not fit in memory, which resumes.

Every stage leaves its result in the folder that is being made, and every partition its file.  A
run that was killed reads these instead of computing them again.  A run that goes through reads
back what it has written too, so that both end with the same bytes.
"""

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from credpart import __version__
from credpart._checks import check_data, check_integer
from credpart._files import discard, new_file, remove_unfinished, resumable_folder
from credpart._messages import Message, Name
from credpart._progress import Progress, shown, silent
from credpart.calibration_options import CalibrationOptions
from credpart.clustering import CalibratedClustering
from credpart.diagnostics import diagnose
from credpart.errors import CredpartError, FileContentError, InputError
from credpart.focal import set_names
from credpart.intervals import METHODS
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.models import MODELS, Model, read
from credpart.out_of_core.partitioned_sources import PartitionedSource, arrow, open_partitions
from credpart.out_of_core.passes import PartitionedRows, Reading, in_order, reading_of
from credpart.out_of_core.stages import (
    SampledRows,
    Totals,
    draw_sample,
    find_replicates,
    find_result,
    read_totals,
    refine,
    scan,
    select_on_sample,
    write_partition,
)
from credpart.partition.describe import shares_by_size
from credpart.partition.doubt import THRESHOLD, WORDS, Doubt, possible_parts, possible_words
from credpart.partition.npz import UNREADABLE
from credpart.report import to_html
from credpart.report.paths import file_name, without_folders
from credpart.result import CalibratedResult
from credpart.storage import dump_model, load_model, load_value, save_value
from credpart.summary_file import mixture_and_replicates
from credpart.tables import Transform

SAMPLE_ROWS = 100_000
STATE = "state"
PARTS = "masses/part-{:05d}.parquet"
FILES = ("masses/part-*.parquet", "model.npz", "report.html", "summary.json")
UNFINISHED = (*FILES, f"{STATE}/*.npz", f"{STATE}/run.json")


@dataclass(frozen=True, slots=True, eq=False)
class DatasetResult:
    """What `cluster_dataset` has written, and the result on the rows that it keeps.

    Attributes
    ----------
    folder : Path
        The folder.
    summary : mapping
        What stands in ``summary.json``; its counts are those of all rows.
    result : CalibratedResult
        The mixture and the replicates of all rows, with the masses of a random sample of these.
    """

    folder: Path
    summary: Mapping[str, Any]
    result: CalibratedResult

    def __repr__(self) -> str:
        c = self.summary["n_clusters"]
        found = f"{self.summary['n']} objects, {c} cluster{'s' * (c != 1)}"
        return f"DatasetResult({str(self.folder)!r}: {found}, model {self.summary['model']})"

    @property
    def parts(self) -> list[Path]:
        """The files of masses, in the order of the rows."""
        return sorted(self.folder.glob("masses/part-*.parquet"))


class DatasetRequest(NamedTuple):
    """Checked arguments."""

    source: PartitionedSource
    reading: Reading
    models: Mapping[str, Model]
    options: CalibrationOptions
    sample_rows: int
    families: Sequence[type[MixtureFamily[Any]]]


def cluster_dataset(
    source: Any,
    out: str | os.PathLike[str],
    n_clusters: Any = "auto",
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    transform: Transform | None = None,
    sample_rows: int = SAMPLE_ROWS,
    resume: bool = False,
    overwrite: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    command: str | None = None,
    **parameters: Any,
) -> DatasetResult:
    """Cluster data that need not fit in memory: partitions in, partitions out.

    Rows are read again in each pass and never held all at once.  Starts and models are tried on a
    random sample; the likelihood is then maximised over all rows, replicates are drawn from all
    rows, and every row gets its masses.

    Parameters
    ----------
    source : path, pattern, folder, sequence of paths, array, DataFrame, Dask array or DataFrame
        The objects: .parquet, .csv, .tsv or .fcs files, or what has ``to_delayed``.  A partition
        is a Parquet row group (or several small ones), another file, or a partition of Dask.
    out : path
        The folder to make.
    n_clusters : int, iterable of int, or "auto"
        As in `CalibratedClustering`.
    columns, id_column, label_column, transform
        As in `credpart.tables.read_objects`; known classes are copied to the files of masses.
    sample_rows : int
        Rows of the random sample.  If there are no more than these, all are in it.
    resume : bool
        Whether to go on with a run of the same data and parameters that has not ended.
    overwrite : bool
        Whether a folder that credpart has made may be replaced.
    n_jobs : int, optional
        Number of parallel jobs, as in joblib: threads, or the backend of
        `joblib.parallel_config`, such as "loky" or "dask".  The result does not depend on it.
    verbose : int
        As in `CalibratedClustering`.
    command : str, optional
        The command that the report shows.
    **parameters
        Other parameters of `CalibratedClustering`: ``model``, ``n_replicates``, ``random_state``
        and so on.  Models of categories are not supported, and ``pairs`` cannot be "all".

    Returns
    -------
    DatasetResult
        The folder, its summary, and the result on the rows that it keeps.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from credpart import cluster_dataset
    >>> from credpart.datasets import make_mixture1
    >>> X = make_mixture1(3000, random_state=0).X
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = cluster_dataset(
    ...         X, Path(folder, "out"), 3, model="EII", n_replicates=50, random_state=0
    ...     )
    ...     sorted(path.name for path in found.folder.iterdir())
    ['masses', 'model.npz', 'report.html', 'summary.json']
    >>> sum(found.summary["sets"].values())
    3000
    """
    folder = Path(out)
    request = check_request(
        source,
        {"n_clusters": n_clusters, **parameters},
        (columns, id_column, label_column, transform),
        sample_rows,
    )
    with resumable_folder(folder, UNFINISHED, resume=resume, overwrite=overwrite) as partial:
        run = Run(partial, request, n_jobs, verbose)
        try:
            run.begin(has_seed=parameters.get("random_state") is not None)
            if not (partial / "summary.json").exists():
                run.compute(command)
        except CredpartError:
            if not run.has_begun:
                discard(partial, UNFINISHED)
            raise
        run.clean()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    model = load_model(folder / "model.npz", families=request.families)
    return DatasetResult(folder, summary, model.result_)


def check_request(
    source: Any,
    parameters: Mapping[str, Any],
    table: tuple[Any, Any, Any, Transform | None],
    sample_rows: int,
) -> DatasetRequest:
    """Refuse bad arguments before anything is computed."""
    estimator = CalibratedClustering(**parameters).get_params(deep=False)
    for name in ("n_jobs", "verbose"):
        estimator.pop(name)
    model = estimator.pop("model")
    listed = model if isinstance(model, list | tuple) else [model]
    for name in listed:
        if isinstance(name, str) and name in MODELS and MODELS[name].read is not check_data:
            raise InputError("model", "be a model of numbers for data in partitions", name)
    if estimator["pairs"] == "all":
        landmarks = "be 'auto' or a number of landmarks for data in partitions"
        raise InputError("pairs", landmarks, "all")
    sample_rows = check_integer("sample_rows", sample_rows, at_least=2)
    arrow()  # what is written needs it
    found = open_partitions(source)
    reading = reading_of(found, *table)
    _, models = read(np.zeros((2, len(reading.columns))), "model", model)
    if estimator["noise"] is not False or any(row.has_noise for row in models.values()):
        raise InputError("noise", "be False for data in partitions", estimator["noise"])
    if estimator.pop("missing", "error") != "error":
        raise InputError("missing", "be 'error' for data in partitions", "model")
    options = CalibrationOptions.check(n_models=len(models), **estimator)
    if METHODS[options.method].needs_estimate:
        names = [repr(name) for name, row in METHODS.items() if not row.needs_estimate]
        raise InputError(
            "method", f"be {' or '.join(names)} for data in partitions", options.method
        )
    families = [type(one) if isinstance(one, MixtureFamily) else one for one in listed]
    own = [family for family in families if isinstance(family, type)]
    return DatasetRequest(found, reading, models, options, sample_rows, own)


class Run:
    """One run in its folder: each stage is computed, or read if it was computed before."""

    def __init__(
        self, folder: Path, request: DatasetRequest, n_jobs: int | None, verbose: int
    ) -> None:
        self.folder, self.request = folder, request
        self.n_jobs, self.verbose = n_jobs, verbose
        self.timings: dict[str, float] = {}
        self.remarks: list[str] = []

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to resume."""
        return any((self.folder / STATE).glob("*.npz"))

    def begin(self, *, has_seed: bool) -> None:
        """Note what the run depends on, or refuse to go on with one that depends on other things.

        A run without a seed has drawn one; to go on with it is to take that seed.
        """
        path = self.folder / STATE / "run.json"
        if (self.folder / "summary.json").exists():
            return
        if path.exists():
            kept = _kept(_json, path) or {}
            if not has_seed and "seed" in kept:
                options = replace(self.request.options, seed=int(kept["seed"]))
                self.request = self.request._replace(options=options)
            self._compare(kept)
            return
        for name in (STATE, "masses"):
            (self.folder / name).mkdir(exist_ok=True)
        with new_file(path) as partial:
            partial.write_text(json.dumps(self._identity()), encoding="utf-8")

    def _identity(self) -> dict[str, Any]:
        """What the result depends on, as JSON has it."""
        request = self.request
        identity = {
            "version": __version__,
            "data": request.source.fingerprint(),
            "columns": repr(request.reading),
            "parameters": repr((list(request.models), request.options, request.sample_rows)),
            "seed": str(request.options.seed),
        }
        return dict(json.loads(json.dumps(identity)))

    def _compare(self, kept: Mapping[str, Any]) -> None:
        now = self._identity()
        changed = [name for name in now if kept.get(name) != now[name]]
        if changed:
            what = f"other {' and '.join(changed)}"
            if changed[0] == "data" and "data" in kept:
                both = zip(kept["data"], now["data"], strict=False)
                other = [new for old, new in both if old != new]
                what = f"other data ({other[0][0] if other else 'another number of partitions'})"
            raise InputError(
                "resume",
                "go on with a run of the same data and parameters",
                Message(what),
                Message("Start again without ", Name("resume"), "."),
            )

    def check_same_data(self) -> None:
        """Refuse data that have changed while they were read: masses would be those of others."""
        kept = _json(self.folder / STATE / "run.json")
        for old, new in zip(kept["data"], self._identity()["data"], strict=True):
            if old != new:
                remedy = "Start again, and let it be until the run is over."
                got = Message("a file that has changed meanwhile")
                requirement = "stay as it is while it is read"
                raise FileContentError("source", str(new[0]), requirement, got, remedy)

    def stage(self, name: str, compute: Callable[[Progress | None], Any]) -> Any:
        """The result of a stage, computed or read; either way as it was written."""
        path = self.folder / STATE / f"{name}.npz"
        kept = _kept(load_value, path, self.request.families)
        if kept is None:
            seconds: dict[str, float] = {}
            with (
                warnings.catch_warnings(record=True) as caught,
                shown(name, self.verbose, seconds) as progress,
            ):
                warnings.simplefilter("always")
                value = compute(progress)
            for one in caught:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
            remarks = list(dict.fromkeys(str(one.message) for one in caught))
            save_value({"value": value, "seconds": seconds[name], "remarks": remarks}, path)
            kept = load_value(path, self.request.families)
        self.timings[name] = kept["seconds"]
        self.remarks += kept["remarks"]
        return kept["value"]

    def compute(self, command: str | None) -> None:
        """All stages, and the files."""
        source, reading, models, options, sample_rows, _ = self.request
        jobs, parts = self.n_jobs, self.request.source.partitions
        rows = PartitionedRows(parts, reading, jobs)

        counts = self.stage("scan", lambda show: scan(source, reading, jobs, show or silent))
        n = int(counts.sum())
        if n < 2:
            raise InputError("source", "have at least 2 rows", n)
        drawn = self.stage(
            "sample",
            lambda show: list(
                draw_sample(
                    source, reading, counts, sample_rows, options.seed, jobs, show or silent
                )
            ),
        )
        sample = SampledRows(*drawn)
        chosen = self.stage(
            "select", lambda show: select_on_sample(sample.table, models, options, jobs, show)
        )
        selection = self.stage(
            "refine", lambda show: refine(chosen, sample.table, rows, n, options)
        )
        replicates = self.stage(
            "bootstrap",
            lambda show: find_replicates(selection, sample.table, rows, n, options, jobs, show),
        )
        result = self.stage(
            "partition",
            lambda show: find_result(
                sample, selection, replicates, options, self.timings, jobs, show
            ),
        )
        began = perf_counter()
        totals = self.write_masses(result, counts)
        self.check_same_data()
        self.timings["masses"] = perf_counter() - began
        self.write_files(result, totals, command)

    def write_masses(self, result: CalibratedResult, counts: np.ndarray[Any, Any]) -> Totals:
        """The files of all partitions that are not there yet, and the totals of all."""
        paths = [self.folder / PARTS.format(i) for i in range(len(counts))]
        landmarks, firsts = result.known(n_jobs=self.n_jobs), np.cumsum(counts) - counts + 1
        known = landmarks, result.replicates, result.weakening
        tasks = [
            (part, self.request.reading, int(first), *known, path)
            for part, first, path in zip(self.request.source.partitions, firsts, paths, strict=True)
            if _kept(read_totals, path) is None
        ]
        with shown("masses", self.verbose) as progress:
            for _ in in_order(write_partition, tasks, self.n_jobs, "masses", progress or silent):
                pass
        return reduce(Totals.plus, map(read_totals, paths))

    def write_files(self, result: CalibratedResult, totals: Totals, command: str | None) -> None:
        """The model, the report and, last, the summary."""
        diagnosis = diagnose(result, audit=0, rivals=False)
        summary = summarise(self, result, totals, diagnosis.to_dict(), command)
        source = self.request.source.description
        notes = {"source": source, "classes": None, "command": command}
        with new_file(self.folder / "model.npz") as partial, partial.open("wb") as stream:
            dump_model(result, stream, notes=notes)
        name = file_name(source)
        title = f"{name}: {summary['n']:,} objects, of which a sample is shown"
        typed = None if command is None else without_folders(command, command, source)
        page = to_html(result, title=title, source=name, command=typed, diagnosis=diagnosis)
        with new_file(self.folder / "report.html") as partial:
            partial.write_text(page, encoding="utf-8")
        with new_file(self.folder / "summary.json") as partial:
            text = json.dumps(summary, indent=2, default=str) + "\n"
            partial.write_text(text, encoding="utf-8")

    def clean(self) -> None:
        """Remove what only a run that goes on needs."""
        for name in UNFINISHED:
            remove_unfinished(self.folder, name)
        for path in (self.folder / STATE).glob("*"):
            path.unlink()
        with suppress(FileNotFoundError):
            (self.folder / STATE).rmdir()


def _json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _kept(read: Callable[..., Any], *arguments: Any) -> Any:
    """What an interrupted run has kept; None if it has not, or if it cannot be read any more."""
    try:
        return read(*arguments)
    except UNREADABLE:  # pyarrow's errors are among these
        return None


def summarise(
    run: Run,
    result: CalibratedResult,
    totals: Totals,
    diagnosis: Mapping[str, Any],
    command: str | None,
) -> dict[str, Any]:
    """What stands in summary.json: counts are those of all rows."""
    decision = result.replicates.decision
    n = int(totals.sets.sum())
    focal = result.partition.focal_sets
    sizes = focal.sum(axis=1)
    means = dict(zip(Doubt._fields, (totals.doubt / n).tolist(), strict=True))
    verdicts = dict(zip(WORDS, (totals.verdicts / n).tolist(), strict=True))
    by_size = [int(totals.sets[found].sum()) for found in (sizes == 1, sizes > 1, sizes == 0)]
    return {
        "n": n,
        "n_partitions": len(run.request.source.partitions),
        "n_sampled": int(min(n, run.request.sample_rows)),
        "n_fitted": n,
        "columns": list(run.request.reading.columns),
        **mixture_and_replicates(result),
        "refits": None if decision is None else str(decision),
        "objective": float(n) * (n - 1) * result.rmse**2,  # estimated, over all pairs
        "sets": {
            name: int(count)
            for name, count in zip(set_names(focal), totals.sets, strict=True)
            if count
        },
        "labels": {str(k + 1): int(count) for k, count in enumerate(totals.labels)},
        "verdicts": {word: verdicts[word] for word in possible_words(focal)},
        "threshold": THRESHOLD,
        "doubt": {name: means[name] for name in possible_parts(focal)},
        "shares": shares_by_size(*by_size),
        "diagnosis": dict(diagnosis),
        "remarks": list(dict.fromkeys(run.remarks)),
        "timings": dict(run.timings),
        "source": run.request.source.description,
        "command": command,
    }
