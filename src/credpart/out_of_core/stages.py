"""The stages of a calibrated clustering whose objects are not all in memory.

A random sample is held in memory: mixtures are searched for in it, and it gives the landmarks.
What depends on all objects is found by passes over them: the maximum of the likelihood, the
replicates, and at last the masses.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import SeedSequence

from credpart._arrays import Array, BoolArray, IntArray
from credpart._bootstrap.algorithm1 import refit_fully, run_bootstrap, warn_user
from credpart._bootstrap.block_sums import Sums
from credpart._bootstrap.large_samples import attempt, can_shrink, shrunken
from credpart._bootstrap.refits import Plan, by_family_and_number
from credpart._bootstrap.replicates import RefitDecision, Replicates
from credpart._checks import Table, WeightedTable
from credpart._files import new_file
from credpart._progress import Progress, silent
from credpart._threads import one_blas_thread
from credpart._weakening import weakened_masses
from credpart.calibration_options import SELECTIONS, CalibrationOptions
from credpart.errors import DegenerateMixtureError
from credpart.focal import set_names
from credpart.mixture.criteria import contributions
from credpart.mixture.distinct import distinct
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.models import Model
from credpart.mixture.optimisation import Limits, Mixtures, Status
from credpart.mixture.optimisation.e_step import BlockwiseProblem
from credpart.mixture.optimisation.em import em, evaluate
from credpart.mixture.optimisation.mixtures import map_params
from credpart.mixture.posteriors import log_certainty, score
from credpart.mixture.search.grid_search import Cell
from credpart.mixture.search.selection import Selection
from credpart.mixture.search.subsample import chances_on_all
from credpart.out_of_core.partitioned_sources import Partition, PartitionedSource, arrow
from credpart.out_of_core.passes import (
    DrawnRows,
    PartitionedRows,
    Reading,
    blocks,
    count_rows,
    draw_rows,
    in_order,
)
from credpart.pairs import Landmarks
from credpart.partition import EvidentialPartition
from credpart.partition.doubt import (
    THRESHOLD,
    WORDS,
    Doubt,
    divide,
    possible_parts,
    word_codes,
)
from credpart.pipeline import choose_mixture
from credpart.result import (
    CalibratedResult,
    PartitionInputs,
    find_intervals,
    find_partition,
    find_sample,
    masses_from,
)

KEPT_ROWS = 10_000  # of the sample, that the result keeps, and the report shows
MOST_PASSES = 100  # over all objects, to maximise the likelihood


# Scan


def scan(
    source: PartitionedSource, reading: Reading, n_jobs: int | None, progress: Progress = silent
) -> IntArray:
    """Read and check all rows: how many each partition has."""
    tasks = [(part, reading) for part in source.partitions]
    return np.array(list(in_order(count_rows, tasks, n_jobs, "scan", progress)), dtype=np.intp)


# Sample


class SampledRows(NamedTuple):
    """A random sample of all rows, in their order."""

    table: Table
    is_kept: Array  # (m,): whether the result keeps the row


def draw_sample(
    source: PartitionedSource,
    reading: Reading,
    counts: IntArray,
    size: int,
    seed: int,
    n_jobs: int | None,
    progress: Progress = silent,
) -> SampledRows:
    """The rows with the smallest random keys: a sample without replacement."""
    n = int(counts.sum())
    wanted = min(size, n)
    # Enough keys are below this, but for a chance of one in millions.
    threshold = (wanted + 5.0 * np.sqrt(wanted) + 10.0) / n
    drawn: list[DrawnRows] = []
    while sum(len(part.keys) for part in drawn) < wanted:
        tasks = [(part, reading, seed, i, threshold) for i, part in enumerate(source.partitions)]
        drawn = list(in_order(draw_rows, tasks, n_jobs, "sample", progress))
        threshold *= 2.0
    firsts = np.cumsum(counts) - counts
    rows = np.concatenate([first + part.rows for first, part in zip(firsts, drawn, strict=True)])
    keys = np.concatenate([part.keys for part in drawn])
    values = np.concatenate([part.values for part in drawn])
    order = np.lexsort((rows, keys))[:wanted]
    is_kept = np.zeros(len(keys))
    is_kept[order[:KEPT_ROWS]] = 1.0
    chosen = np.sort(order)  # partitions and their rows are in order
    ids = pd.Index(rows[chosen] + 1, name="id")
    if reading.id_column is not None:
        named = [part.ids for part in drawn if part.ids is not None]
        ids = pd.Index(np.concatenate(named)[chosen], name="id")
    names = list(reading.columns) if source.has_names else None
    table = Table(np.ascontiguousarray(values[chosen]), names, ids)
    return SampledRows(table, is_kept[chosen])


# Selection, on the sample and on all rows


def select_on_sample(
    table: Table,
    models: Mapping[str, Model],
    options: CalibrationOptions,
    n_jobs: int | None,
    progress: Progress | None = None,
) -> Selection:
    """The search among models and numbers of clusters, as of data in memory."""
    data = WeightedTable(table, np.ones(len(table.values)))
    return choose_mixture(data, models, options, n_jobs, progress)


def refine(
    selection: Selection, table: Table, rows: PartitionedRows, n: int, options: CalibrationOptions
) -> Selection:
    """The fits that have a real chance, at their maxima on all rows.

    EM runs by passes over all rows from the fits of the sample, accelerated; fits of one family
    with as many clusters share the passes.
    """
    if n == len(table.values):
        return selection
    kept, left_out = fits_to_refine(selection, table, n)
    fits: dict[Cell, MixtureFit] = {}
    limits = Limits(options.tol, min(options.max_iter, MOST_PASSES))
    for together in by_family_and_number([selection.fits[cell] for cell in kept]):
        fits |= {fit.cell: fit for fit in refine_together(together, rows, limits)}
    broken = {
        cell: "it broke down on all objects"
        for cell, fit in fits.items()
        if fit.status == Status.DEGENERATE
    }
    sound = [cell for cell in fits if cell not in broken]
    if not sound:
        message = "No mixture of the sample can be fitted to all objects: each broke down. "
        raise DegenerateMixtureError(message + "Fit fewer clusters or a more constrained model.")
    kernel = partial(likelihood_sums, [fits[cell] for cell in sound])
    logliks, certainties = rows.sum_over_blocks(kernel)
    final = {
        cell: replace(
            fits[cell],
            loglik=float(loglik),
            log_certainty=float(certainty),
            n_objects=float(n),
        )
        for cell, loglik, certainty in zip(sound, logliks, certainties, strict=True)
    }
    missing = {**selection.missing, **left_out, **broken}
    return replace(selection, fits=final, missing=missing)


def fits_to_refine(
    selection: Selection, table: Table, n: int
) -> tuple[list[Cell], dict[Cell, str]]:
    """Which fits may be the best on all rows, by the sample; and why others may not.

    The rule is that of searches of large data in memory: the difference of two criteria is a sum
    over objects, whose standard error the sample gives.
    """
    cells, fits, name = list(selection.fits), selection.fits.values(), selection.criterion
    U = [contributions(name, fit.family, fit.internal, table.values) for fit in fits]
    n_parameters = np.array([fit.n_parameters for fit in fits], dtype=float)
    weights = np.ones(len(table.values))
    chances = chances_on_all(name, np.array(U), n_parameters, weights, float(n))
    kept = [cells[i] for i in np.flatnonzero(chances.may_be_chosen)]
    return kept, {cells[i]: chances.why_not[i] for i in np.flatnonzero(~chances.may_be_chosen)}


def refine_together(
    fits: Sequence[MixtureFit], rows: PartitionedRows, limits: Limits
) -> list[MixtureFit]:
    """Fits of one family with as many clusters at their maxima on all rows, by common passes.

    A fit that needed pseudo-observations is left as it is: without these it would break down.
    """
    problem = BlockwiseProblem(fits[0].family, rows.sum_over_blocks)
    free = [i for i, fit in enumerate(fits) if fit.status != Status.REGULARISED]
    result = list(fits)
    if not free:
        return result
    slots, zeros = np.arange(len(free)), np.zeros(len(free), dtype=np.intp)
    params = map_params(lambda *fields: np.concatenate(fields), *(fits[i].internal for i in free))
    codes = np.array([fits[i].structure_code for i in free])
    start = evaluate(problem, Mixtures.at(params, codes, zeros, slots, n_iter=0))
    found = em(problem, start, limits, is_accelerated=True)
    for i, slot in zip(free, slots, strict=True):
        one = found.take(np.array([slot]))
        status = Status(int(one.status[0]))
        n_iter = fits[i].n_iter + int(one.n_iter[0])
        result[i] = replace(fits[i], internal=one.params, status=status, n_iter=n_iter)
    return result


def likelihood_sums(fits: Sequence[MixtureFit], X: Array, weights: Array, block: int) -> Sums:
    """Log-likelihoods of fits, and sums of the logs of the largest posteriors."""
    logliks, certainties = [], []
    for fit in fits:
        posteriors, log_density = score(fit.family, fit.internal, X)
        logliks.append(weights @ log_density)
        certainties.append(weights @ log_certainty(posteriors))
    return np.array(logliks), np.array(certainties)


# Replicates


def find_replicates(
    selection: Selection,
    table: Table,
    rows: PartitionedRows,
    n: int,
    options: CalibrationOptions,
    n_jobs: int | None,
    progress: Progress | None = None,
) -> Replicates:
    """Linear replicates by passes over all rows; if they are doubtful, refits of the sample."""
    objects = distinct(table.values, np.ones(len(table.values)))
    plan = options.plan(objects, SELECTIONS[options.selection](selection))
    seeds = SeedSequence(options.seed).spawn(options.n_replicates)
    if n == len(table.values):
        return run_bootstrap(plan, seeds, n_jobs, progress)
    replicates, decision = None, RefitDecision("full", (), {})
    if options.refit != "full":
        found = attempt(plan, rows, seeds)
        if options.refit == "linear":
            found.required()
        plan, replicates, decision = found
    if replicates is None or (options.refit == "auto" and decision.reasons):
        replicates = refit_sample(plan, n, decision, seeds, n_jobs, progress or silent)
    warn_user(replicates, is_asked=REGULARIZATIONS[plan.regularization].is_asked)
    return replicates


def refit_sample(
    plan: Plan,
    n: int,
    decision: RefitDecision,
    seeds: Sequence[SeedSequence],
    n_jobs: int | None,
    progress: Progress,
) -> Replicates:
    """Refits of the sample: shrunk to the size of the data, or, where they cannot be, as they are.

    Those that are not shrunk vary as those of a study of as many objects as the sample has, so
    that intervals are longer than need be.
    """

    def refit(some: Plan) -> Replicates:
        return refit_fully(some, seeds, n_jobs, progress)

    figures = {**decision.figures, "rows": float(plan.objects.weights.sum())}
    if can_shrink(plan):
        found = shrunken(plan, float(n), refit)
        return replace(found, decision=replace(decision, kind="subsample", figures=figures))
    m = float(plan.objects.weights.sum())
    of_sample = replace(plan, fits=tuple(replace(fit, n_objects=m) for fit in plan.fits))
    return replace(refit(of_sample), decision=replace(decision, kind="sample", figures=figures))


# Landmarks


def find_result(
    sample: SampledRows,
    selection: Selection,
    replicates: Replicates,
    options: CalibrationOptions,
    timings: Mapping[str, float],
    n_jobs: int | None,
    progress: Progress | None = None,
) -> CalibratedResult:
    """The result on the kept rows of the sample, each of which counts once.

    Masses do not depend on a common factor of the weights, and tests of the clusters are right
    for the rows that they see.
    """
    kept = np.flatnonzero(sample.is_kept)
    table = sample.table._replace(
        values=np.ascontiguousarray(sample.table.values[kept]), index=sample.table.index[kept]
    )
    weights = np.ones(len(kept))
    mixture = selection.best
    posteriors = mixture.posteriors_of(table.values)
    sets = options.sets_for(posteriors, weights, has_noise=mixture.has_noise)
    compared = find_sample(posteriors, weights, options)
    intervals = find_intervals(replicates, table, compared, options, n_jobs, None)
    weighted = WeightedTable(table, weights)
    given = PartitionInputs(replicates, weighted, posteriors, compared, intervals, sets, options)
    found = find_partition(given, n_jobs, progress)
    return CalibratedResult(
        data=table,
        weights=weights,
        options=options,
        selection=selection,
        mixture=mixture,
        posteriors=posteriors,
        replicates=replicates,
        sample=compared,
        intervals=intervals,
        timings=dict(timings),
        **found._asdict(),
    )


# Masses


class Totals(NamedTuple):
    """What is counted over all rows."""

    sets: IntArray  # (f,): objects by their set of highest mass
    labels: IntArray  # (c,): objects by their cluster
    doubt: Array  # (4,): sums of belief, overlap, undecided and outlying
    verdicts: IntArray  # (4,): objects by their word

    @classmethod
    def zero(cls, focal: BoolArray) -> "Totals":
        """Of no rows."""
        f, c = focal.shape
        counts = [np.zeros(size, dtype=np.intp) for size in (f, c, len(WORDS))]
        return cls(counts[0], counts[1], np.zeros(len(Doubt._fields)), counts[2])

    def plus(self, others: "Totals") -> "Totals":
        """Both added."""
        return Totals(
            self.sets + others.sets,
            self.labels + others.labels,
            self.doubt + others.doubt,
            self.verdicts + others.verdicts,
        )


TOTALS_KEY = "credpart.totals"


def write_partition(
    part: Partition,
    reading: Reading,
    first_id: int,
    landmarks: Landmarks,
    replicates: Replicates,
    weakening: float,
    path: Path,
) -> Totals:
    """Write the masses of the rows of a partition to a Parquet file, whole or not at all.

    The file keeps the totals too.
    """
    table, parquet = arrow("pyarrow").table, arrow()
    focal = landmarks.partition.focal_sets
    totals = Totals.zero(focal)
    writer: Any = None
    with new_file(path) as partial_path:
        try:
            for block in blocks(part, reading):
                with one_blas_thread():
                    masses = masses_from(landmarks, replicates, block.values)
                masses = weakened_masses(masses, focal, weakening)
                frame, counted = as_columns(masses, landmarks.partition.focal_sets)
                ids = block.ids
                first = first_id + block.first
                frame = {"id": np.arange(first, first + len(masses)) if ids is None else ids} | (
                    frame if block.classes is None else {"class": block.classes} | frame
                )
                content = table(frame)
                writer = writer or parquet.ParquetWriter(partial_path, content.schema)
                writer.write_table(content)
                totals = totals.plus(counted)
            if writer is None:  # a partition without rows
                frame, _ = as_columns(np.empty((0, len(focal))), focal)
                empty = table({"id": np.empty(0, dtype=np.intp)} | frame)
                writer = parquet.ParquetWriter(partial_path, empty.schema)
            kept = {name: array.tolist() for name, array in totals._asdict().items()}
            writer.add_key_value_metadata({TOTALS_KEY: json.dumps(kept)})
        finally:
            if writer is not None:
                writer.close()
    return totals


def read_totals(path: Path) -> Totals:
    """The totals that a file of masses keeps."""
    kept = json.loads(arrow().read_metadata(path).metadata[TOTALS_KEY.encode()])
    return Totals(**{name: np.array(values) for name, values in kept.items()})


def as_columns(masses: Array, focal: BoolArray) -> tuple[dict[str, Any], Totals]:
    """What stands in a file for each object, and the totals."""
    pa = arrow("pyarrow")
    partition = EvidentialPartition(masses, focal)
    rows, labels = np.arange(len(masses)), partition.labels
    order = np.argsort(-masses, axis=1, kind="stable")
    singles = np.eye(focal.shape[1], dtype=bool)
    doubt = divide(masses, focal, labels)
    parts = {name: getattr(doubt, name) for name in possible_parts(focal)}
    words = word_codes(doubt, THRESHOLD)
    sets = set_names(focal)

    def named(places: IntArray, names: Sequence[str] = sets) -> Any:
        codes = pa.array(places.astype(np.int16))
        return pa.DictionaryArray.from_arrays(codes, pa.array(names))

    set_labels = partition.set_labels
    second = order[:, 1] if masses.shape[1] > 1 else order[:, 0]
    columns = {
        "label": (labels + 1).astype(np.int32),
        "set": named(set_labels),
        "mass": masses[rows, set_labels],
        "second_set": named(second),
        "second_mass": masses[rows, second],
        "plausibility": partition.plausibility(singles)[rows, labels],
        **parts,
        "verdict": named(words, WORDS),
    }
    totals = Totals(
        np.bincount(set_labels, minlength=len(focal)),
        np.bincount(labels, minlength=focal.shape[1]),
        np.array([part.sum() for part in doubt]),
        np.bincount(words, minlength=len(WORDS)),
    )
    return columns, totals
