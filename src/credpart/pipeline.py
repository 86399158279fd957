"""The whole pipeline, the only module that runs all stages: data in, `CalibratedResult` out."""

from collections.abc import Mapping

import numpy as np
from numpy.random import SeedSequence

from credpart._arrays import Array
from credpart._bootstrap.algorithm1 import run_bootstrap
from credpart._bootstrap.units import Design
from credpart._checks import Table, WeightedTable
from credpart._columns import sortable
from credpart._progress import Progress, shown
from credpart.calibration_options import SELECTIONS, CalibrationOptions
from credpart.mixture.distinct import distinct
from credpart.mixture.fit import SearchOptions, fit_one, warn_unless_converged
from credpart.mixture.known_labels import NOTHING, KnownLabels
from credpart.mixture.models import Model
from credpart.mixture.search.selection import Selection, select
from credpart.result import (
    CalibratedResult,
    PartitionInputs,
    find_intervals,
    find_partition,
    find_sample,
    influence_on,
)


def calibrate(
    data: Table,
    weights: Array,
    models: Mapping[str, Model],
    options: CalibrationOptions,
    design: Design | None = None,
    known: KnownLabels = NOTHING,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CalibratedResult:
    """Fit the mixture, bootstrap it and build the partition; all arguments are checked."""
    timings: dict[str, float] = {}
    design = design or Design()
    read = known.attach(data)  # as the mixtures read the data
    with shown("select", verbose, timings) as progress:
        weighted = WeightedTable(data, weights)
        selection = choose_mixture(weighted, models, options, n_jobs, progress, known)
        mixture = selection.best
        posteriors = mixture.posteriors_of(read.values)
        sets = options.sets_for(posteriors, weights, has_noise=mixture.has_noise)
        allowed = known.allowed_sets(sets)
    with shown("bootstrap", verbose, timings) as progress:  # Algorithm 1, lines 1-3
        fits = SELECTIONS[options.selection](selection)
        objects = distinct(read.values, weights)
        plan = options.plan(objects, fits, design.units(objects, weights))
        seeds = SeedSequence(options.seed).spawn(options.n_replicates)
        replicates = run_bootstrap(plan, seeds, n_jobs, progress)
    with shown("intervals", verbose, timings) as progress:  # Algorithm 1, lines 4-11
        sample = find_sample(posteriors, weights, options)
        influence = influence_on(mixture, read, weights, design, options, options.method)
        intervals = find_intervals(
            replicates, read, sample, options, n_jobs, progress, posteriors, influence, weights
        )
    with shown("partition", verbose, timings) as progress:  # Algorithm 2
        given = PartitionInputs(
            replicates,
            WeightedTable(read, weights),
            posteriors,
            sample,
            intervals,
            sets,
            options,
            influence,
            allowed,
        )
        found = find_partition(given, n_jobs, progress)
    return CalibratedResult(
        data=data,
        weights=weights,
        options=options,
        selection=selection,
        mixture=mixture,
        posteriors=posteriors,
        replicates=replicates,
        sample=sample,
        intervals=intervals,
        timings=timings,
        groups=design.groups,
        strata=design.strata,
        known_labels=None if known.is_nothing else known,
        **found._asdict(),
    )


def choose_mixture(
    data: WeightedTable,
    models: Mapping[str, Model],
    options: CalibrationOptions,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    known: KnownLabels = NOTHING,
) -> Selection:
    """Fit all models and numbers of clusters; one of each is fitted as `fit_mixture` does."""
    search = SearchOptions.check(options.limits, options.n_starts, options.seed, n_jobs)
    numbers = options.n_clusters
    if len(numbers) == len(models) == 1:
        fit = fit_one(data, numbers[0], models, search, options.regularization, known=known)
        return Selection.of_one(fit, options.criterion)
    if options.is_auto:
        n_distinct = len(np.unique(sortable(data.seen), axis=0))
        numbers = tuple(c for c in numbers if c < n_distinct) or numbers[:1]
    selection = select(data, numbers, models, search, options.criterion, progress, known=known)
    warn_unless_converged(selection.best.status, selection.best.n_iter)
    return selection
