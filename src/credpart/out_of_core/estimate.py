"""How long a clustering of partitions would take, and how much memory: by a small timed probe.

The first rows are read, and the kernels of the stages run on them once, with a mixture that was
not fitted.  What a stage takes is then in proportion to the number of rows.  The number of
iterations of EM is not known before; the estimate takes typical numbers, and says which.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.random import SeedSequence

from credpart._arrays import Array
from credpart._bootstrap.block_sums import BLOCK_ROWS
from credpart._bootstrap.delta_method import DeltaMethod
from credpart._bootstrap.deviations import weighted_products
from credpart._bootstrap.linear import ExpansionPoint, contributions_to_sums, natural_of
from credpart._irqp.new_objects import best_rows
from credpart._threads import one_blas_thread
from credpart.errors import InputError
from credpart.focal import focal_sets
from credpart.intervals import METHODS, bounds_between, scores
from credpart.mixture import fit_mixture
from credpart.mixture.fit import MixtureFit
from credpart.mixture.models import MODELS
from credpart.mixture.optimisation.e_step import e_step_of_block
from credpart.mixture.optimisation.mixtures import map_params
from credpart.mixture.search.subsample import LARGE, SUBSAMPLE
from credpart.out_of_core.partitioned_sources import FRAME_ROWS
from credpart.out_of_core.passes import blocks
from credpart.out_of_core.resumable_run import DatasetRequest
from credpart.out_of_core.stages import KEPT_ROWS
from credpart.result import DELTA_ROWS, NEW_VALUES

PROBED = 64  # objects whose bounds are timed
FITTED = 500  # objects of the mixture that the kernels run with
ITERATIONS = 80  # of EM from each start, on the sample
PASSES = 20  # of EM over all rows
GUARD = 4  # passes of thirty true refits
STARTS = 5e-8  # seconds for each pair of objects that a start by agglomeration compares


class Stage(NamedTuple):
    """What one stage takes."""

    name: str
    seconds: float
    gigabytes: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all stages would take."""

    n: int
    is_exact: bool  # whether n is known, or estimated from the sizes of files
    n_partitions: int
    n_jobs: int
    stages: tuple[Stage, ...]

    @property
    def seconds(self) -> float:
        """Seconds of all stages."""
        return sum(stage.seconds for stage in self.stages)

    def __str__(self) -> str:
        rows = f"{self.n}" if self.is_exact else f"about {self.n}"
        jobs = f"{self.n_jobs} job{'s' * (self.n_jobs != 1)}"
        lines = [f"{rows} rows in {self.n_partitions} partitions, {jobs}; a rough estimate:"]
        lines += [
            f"{stage.name:<10}{_time(stage.seconds):>10}  {stage.gigabytes:6.2f} GB"
            for stage in self.stages
        ]
        peak = max(stage.gigabytes for stage in self.stages)
        return "\n".join([*lines, f"{'in all':<10}{_time(self.seconds):>10}  {peak:6.2f} GB"])


def _time(seconds: float) -> str:
    for limit, unit, name in ((120.0, 1.0, "s"), (7200.0, 60.0, "min")):
        if seconds < limit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds / 3600.0:.1f} h"


def estimate(request: DatasetRequest, n_jobs: int | None = None) -> Estimate:
    """What a run would take, from a probe of the first rows."""
    options, parts = request.options, request.source.partitions
    began = perf_counter()
    first = next(blocks(parts[0], request.reading), None)
    reading = perf_counter() - began
    if first is None or len(first.values) < 2:
        raise InputError("source", "have rows in its first partition", 0)
    X = np.ascontiguousarray(first.values[:BLOCK_ROWS])
    n, is_exact = count(request, len(first.values))
    jobs, B = min(effective_n_jobs(n_jobs), len(parts)), options.n_replicates
    c, m = max(options.n_clusters), min(n, request.sample_rows)
    fit = probe_fit(X, c)
    read = reading / len(first.values)
    step = seconds_of(
        partial(e_step_of_block, fit.family, fit.internal, False, X, np.ones(len(X)), 0)
    )
    step /= len(X)
    contribute = partial(contributions_to_sums, [ExpansionPoint(fit, fit.internal)])
    products = seconds_of(partial(weighted_products, contribute, X, np.ones(len(X)), 0)) / len(X)
    landmarks = options.pairs_for(min(n, KEPT_ROWS), c)
    n_landmarks = landmarks.n_landmarks or min(n, KEPT_ROWS)
    compared = landmarks.n_sampled or min(n, KEPT_ROWS)
    bound = pair_seconds(fit, X, B, n_landmarks)  # for each pair
    mass = n_landmarks * bound  # for each object
    if landmarks.n_sampled is not None and is_by_delta_method(request, fit):
        mass = mass_seconds(fit, X, n_landmarks)
    cells = len(options.n_clusters) * len(request.models)
    searched = SUBSAMPLE if m > LARGE else m
    search = cells * options.n_starts * ITERATIONS * searched * step
    search += options.n_starts * STARTS * min(searched, 2000) ** 2 + PASSES * m * step
    d, q = X.shape[1], fit.family.features(X[:1]).shape[1]
    frame = 8.0 * FRAME_ROWS * (d + q + c) * jobs
    sample = 8.0 * m * (2 * d + q + 2 * c)
    all_pairs = 0.5 * compared**2
    blocks_of_masses = 8.0 * 2 * NEW_VALUES * jobs
    stages = (
        Stage("scan", n * read / jobs, frame / 1e9),
        Stage("sample", n * read / jobs, (frame + 8.0 * m * d) / 1e9),
        Stage("select", search, sample / 1e9),
        Stage("refine", PASSES * n * (read + step) / jobs, (frame + sample) / 1e9),
        Stage(
            "bootstrap",
            n * (read + products + GUARD * (read + 30 * step)) / jobs,
            (30 * frame + sample) / 1e9,
        ),
        Stage(
            "partition",
            all_pairs * bound + KEPT_ROWS * mass,
            (24.0 * compared**2 + 8.0 * B * c * compared) / 1e9,
        ),
        Stage("masses", n * (read + mass) / jobs, (frame + blocks_of_masses) / 1e9),
    )
    return Estimate(n, is_exact, len(parts), jobs, stages)


def count(request: DatasetRequest, n_first: int) -> tuple[int, bool]:
    """The number of rows, and whether it is exact: files without it are judged by their size."""
    known = [part.n_rows for part in request.source.partitions]
    if all(rows is not None for rows in known):
        return sum(rows for rows in known if rows is not None), True
    first = next(blocks(request.source.partitions[0], request.reading)).values
    sizes = [part.fingerprint() for part in request.source.partitions]
    bytes_of = [int(about[1]) for about in sizes if len(about) > 1]
    if len(bytes_of) < len(sizes):
        return len(sizes) * len(first), False
    # a number in a text file takes about ten bytes, in an FCS file four
    width = 10.0 if str(sizes[0][0]).endswith(("csv", "tsv")) else 4.0
    per_row = width * len(request.source.columns)
    if len(first) < FRAME_ROWS:  # the first file was read to its end
        per_row = bytes_of[0] / len(first)
    return round(sum(bytes_of) / per_row), False


def probe_fit(X: Array, c: int) -> MixtureFit:
    """Some mixture of c components of these rows: which, does not matter to the time."""
    some = X[:FITTED] + 1e-6 * X.std(axis=0) * np.random.default_rng(0).standard_normal(
        X[:FITTED].shape
    )
    labels, model = np.arange(len(some)) % c, "EEE" if X.shape[1] > 1 else "E"
    with warnings.catch_warnings(action="ignore"):  # one iteration is not meant to converge
        return fit_mixture(some, c, model, start=labels, max_iter=1, tol=1.0)


def pair_seconds(fit: MixtureFit, X: Array, B: int, n_landmarks: int) -> float:
    """Seconds for the interval of one pair, with the posteriors and the mass of its object."""
    objects = X[np.arange(PROBED) % len(X)]
    rng = np.random.default_rng(SeedSequence(0))

    def bounds() -> Any:
        params = map_params(lambda field: np.repeat(field, B, axis=0), fit.internal)
        joint = fit.family.log_joint(fit.family.features(objects), params)
        posteriors = np.ascontiguousarray(joint.transpose(2, 1, 0), dtype=np.float32)
        others = rng.random((n_landmarks, *posteriors.shape[1:]), dtype=np.float32)
        method = METHODS["percentile"]
        left, right = (scores(some, method, None) for some in (posteriors, others))
        return bounds_between(left, right, 0.9, method)

    return seconds_of(bounds) / (PROBED * n_landmarks)


def is_by_delta_method(request: DatasetRequest, fit: MixtureFit) -> bool:
    """Whether the delta method is likely to find the intervals with landmarks.

    It is if all models are Gaussian and replicates outnumber natural parameters; that replicates
    stay near their mean is judged only when they are there.
    """
    if not METHODS[request.options.method].allows_delta:
        return False
    is_gaussian = all(row.family == MODELS[fit.model].family for row in request.models.values())
    (natural,) = natural_of(fit.family, fit.internal)
    return is_gaussian and natural.size <= request.options.n_replicates


def mass_seconds(fit: MixtureFit, X: Array, n_landmarks: int) -> float:
    """Seconds for the masses of one object, whose intervals the delta method finds."""
    objects, known = (X[np.arange(size) % len(X)] for size in (DELTA_ROWS, n_landmarks))
    (natural,) = natural_of(fit.family, fit.internal)
    shape = (*natural.shape, *natural.shape)
    delta = DeltaMethod(
        fit.family, natural, np.eye(natural.size).reshape(shape), fit.family.features(known)
    )
    sets = focal_sets(len(natural), "pairs")
    masses = np.eye(len(sets))[np.arange(n_landmarks) % len(sets)]

    def solve() -> Any:
        lower, upper = delta.bounds(objects, 0.9)
        return best_rows(masses, sets, np.ones(n_landmarks), lower, upper)

    return seconds_of(solve) / len(objects)


def seconds_of(kernel: Callable[[], Any]) -> float:
    """Seconds of the second of two calls."""
    with one_blas_thread():
        kernel()
        began = perf_counter()
        kernel()
    return perf_counter() - began
