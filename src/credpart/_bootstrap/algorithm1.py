"""Refit a mixture to bootstrap samples, or approximate the refits linearly: Algorithm 1, lines 1-3.

The size of a chunk depends on the problem alone, so the number of jobs and the backend do not
change the result.  Large chunks are fast: each step of EM is one call for all of them, and on small
data threads would only wait for each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from credpart._bootstrap.draws import RESAMPLING
from credpart._bootstrap.large_samples import (
    FULL_ROWS,
    LINEAR_FROM,
    attempt_in_memory,
    can_shrink,
    shrunken_refits,
)
from credpart._bootstrap.refits import Plan, RefittedChunk, join, refit_chunk, worth_trying
from credpart._bootstrap.replicates import Replicates
from credpart._bootstrap.units import Design, needs_weights
from credpart._checks import check_choice, check_integer, check_weights
from credpart._memory import free_memory
from credpart._messages import Message, Name
from credpart._parallel import run_tasks
from credpart._progress import Progress, silent
from credpart._random import RandomState, seed_sequence
from credpart.errors import ConvergenceWarning, DegeneracyWarning, InputError, warn_caller
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.distinct import distinct
from credpart.mixture.families.labelled import Labelled
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.known_labels import KnownLabels
from credpart.mixture.optimisation import DEFAULT_TOLERANCE, MAX_ITERATIONS, Limits, Status
from credpart.mixture.screening import check_total

CHUNK_VALUES = 1 << 21  # posteriors of the replicates that are refitted together
SMALLEST, LARGEST = 16, 1024  # replicates in a chunk
# Pilot replicates: the first 16 are refitted under every model, the next 48 under the models that
# these leave, and all others under those that the 64 leave.
PILOTS = (16, 64)


def bootstrap(
    X: Any,
    fit: MixtureFit | Sequence[MixtureFit],
    n_replicates: int = 1000,
    *,
    resampling: str = "nonparametric",
    refit: str = "auto",
    criterion: str = "bic",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    labels: Any = None,
    regularization: str = "fallback",
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Replicates:
    """Refit a mixture to bootstrap samples of the objects it was fitted to.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    fit : MixtureFit or sequence of MixtureFit
        The fit to start from, of any family.  With several fits of the same data, which differ in
        their model or number of clusters, these are chosen again in every replicate by the
        criterion; the first fit is the one that replicates are to be compared with.
    n_replicates : int
        Number of replicates, B.
    resampling : {"nonparametric", "bayesian", "parametric"}
        Draws with replacement, Dirichlet weights, or new samples from the (first) fit.
    refit : {"auto", "full", "linear"}
        "full" refits the mixture to every sample by EM.  "linear" takes the fixed point of EM as
        linear in the sample, which is accurate where every cluster has many objects and takes one
        pass over them.  "auto" does so from 10 000 distinct objects on, unless thirty true refits
        or other signs speak against it; ``decision`` of the result says which, and why.
    criterion : {"bic", "icl", "aic"}
        How the model and the number of clusters are chosen in a replicate.  Criteria are on the
        scale of 2 log L, larger is better, as in mclust.  Unless samples are parametric, the
        penalty is larger by 1 for each parameter: see Notes.
    sample_weight : array of shape (n,), optional
        Weights of the objects: how often each was seen.  Their sum is the size of a sample.
    groups : array of shape (n,), optional
        Group of each object, such as its donor.  Whole groups are resampled, since objects of one
        group are not independent; weights vary as those of as many new groups would [RW88]_.
    strata : array of shape (n,), optional
        Stratum of each object: objects, or groups, are drawn within each stratum.
    labels : sequence of length n, optional
        What is known of the clusters of objects: the labels that the fit was given.
    regularization : {"fallback", "none", "pooled"}
        As in `fit_mixture`, for each replicate.  No replicate is ever redrawn: with "none" a
        degenerate one keeps its last good parameters and says so in ``status``.
    tol, max_iter
        As in `fit_mixture`.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed.  Each replicate has a stream of its own: a longer run begins with the same samples;
        its replicates are identical to the last bit only if their chunks hold the same replicates
        and models.
    n_jobs : int, optional
        Number of parallel jobs, as in joblib: threads, or the backend of
        `joblib.parallel_config`.  The result does not depend on it.
    progress : callable, optional
        Called with "bootstrap" and the share that is done.

    Returns
    -------
    Replicates
        Parameters, model and status of every replicate.

    Notes
    -----
    Samples are drawn from the distinct objects in lexicographic order, with their total weights.
    So neither the order of the rows, nor whether an object is repeated or has a weight, changes
    what is drawn.

    A bootstrap sample repeats what is peculiar to the data, so that replicates would favour large
    models: twice the log-likelihood at its maximum exceeds that of the data by one for each
    parameter, on average.  The criterion of a replicate subtracts as much.

    Examples
    --------
    >>> from credpart import bootstrap, fit_mixture
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris().X
    >>> replicates = bootstrap(iris, fit_mixture(iris, 3, "VEV"), 20, random_state=0)
    >>> replicates.posteriors(iris).shape
    (20, 150, 3)
    """
    fits = _check_fits(fit)
    table = fits[0].columns.read(X)
    weights = check_weights("sample_weight", sample_weight, len(table.values))
    check_total(weights, max(one.n_clusters for one in fits))
    check_choice("resampling", resampling, RESAMPLING)
    is_new = RESAMPLING[resampling].is_new
    design = Design.check(groups, strata, weights, is_new=is_new)
    known = _check_labels(labels, fits, len(weights), is_new=is_new)
    objects = distinct(known.attach(table).values, weights)
    plan = Plan(
        objects,
        fits,
        resampling,
        check_choice("criterion", criterion, CRITERIA),
        check_choice("regularization", regularization, REGULARIZATIONS),
        Limits.check(tol, max_iter),
        check_choice("refit", refit, REFITS),
        is_choice=len(fits) > 1,
        units=design.units(objects, weights),
    )
    B = check_integer("n_replicates", n_replicates, at_least=1)
    return run_bootstrap(plan, seed_sequence(random_state).spawn(B), n_jobs, progress)


def run_bootstrap(
    plan: Plan,
    seeds: Sequence[SeedSequence],
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Replicates:
    """`bootstrap` with checked arguments, and a seed for each replicate."""
    replicates = REFITS[plan.refit](plan, seeds, n_jobs, progress or silent)
    warn_user(replicates, is_asked=REGULARIZATIONS[plan.regularization].is_asked)
    return replicates


def refit_fully(
    plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None, progress: Progress
) -> Replicates:
    """Refit the mixture to every sample."""
    refits, done = [], 0
    for chunk in _refit_all(plan, seeds, n_jobs):
        refits.append(chunk)
        done += len(chunk.loglik)
        progress("bootstrap", done / len(seeds))
    return join(plan, refits)


def refit_linearly(
    plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None, progress: Progress
) -> Replicates:
    """Linear replicates, whatever speaks against them; an error if there are none."""
    return attempt_in_memory(plan, seeds, n_jobs).required()


def refit_if_needed(
    plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None, progress: Progress
) -> Replicates:
    """Linear replicates of large samples if nothing speaks against them, and else refits."""
    if len(plan.objects.X) < LINEAR_FROM:
        return refit_fully(plan, seeds, n_jobs, progress)
    plan, replicates, decision = attempt_in_memory(plan, seeds, n_jobs)
    if replicates is not None and not decision.reasons:
        return replicates
    if len(plan.objects.X) <= FULL_ROWS or not can_shrink(plan):
        decision = replace(decision, kind="full")
        return replace(refit_fully(plan, seeds, n_jobs, progress), decision=decision)

    def refit_some(some: Plan) -> Replicates:
        return refit_fully(some, seeds, n_jobs, progress)

    figures = {**decision.figures, "rows": float(FULL_ROWS)}
    decision = replace(decision, kind="subsample", figures=figures)
    return replace(shrunken_refits(plan, refit_some, seeds[0]), decision=decision)


REFITS: Mapping[str, Callable[[Plan, Sequence[SeedSequence], int | None, Progress], Replicates]] = {
    "auto": refit_if_needed,
    "full": refit_fully,
    "linear": refit_linearly,
}


def chunk_size(n: int, width: int) -> int:
    """Replicates in a chunk, with n objects and ``width`` posteriors each: a power of 2.

    >>> chunk_size(150, 3), chunk_size(1000, 7), chunk_size(10_000, 50)
    (1024, 256, 16)
    """
    most = int(np.clip(CHUNK_VALUES // (n * width), SMALLEST, LARGEST))
    return 1 << (most.bit_length() - 1)


def _check_fits(fit: MixtureFit | Sequence[MixtureFit]) -> tuple[MixtureFit, ...]:
    fits = (fit,) if isinstance(fit, MixtureFit) else tuple(fit)
    if len({(one.columns, one.n_objects) for one in fits}) != 1:
        raise InputError("fit", "hold fits of the same data", list(fits))
    if len({one.cell for one in fits}) < len(fits):
        once = "hold one fit of each model and number of clusters"
        raise InputError("fit", once, list(fits))
    return fits


def _check_labels(labels: Any, fits: Sequence[MixtureFit], n: int, *, is_new: bool) -> KnownLabels:
    """What is known of the objects; refuse labels that the fits were not given, or the reverse."""
    known = KnownLabels.check(labels, n)
    if {isinstance(fit.family, Labelled) for fit in fits} != {not known.is_nothing}:
        got = Message("none" if known.is_nothing else "labels for a fit without")
        raise InputError("labels", "be those that the fit was given", got)
    if not known.is_nothing and is_new:
        raise needs_weights("labels")
    known.numbers([fit.n_clusters for fit in fits], is_auto=False)
    return known


def _refit_all(
    plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None
) -> Iterator[RefittedChunk]:
    """Refit all replicates; those after a pilot only under models that are worth trying."""
    done, pilots = 0, list[RefittedChunk]()
    for end in PILOTS:
        if len(plan.fits) > 1:
            pilot = list(_refit_chunks(plan, seeds[done:end], n_jobs))
            yield from pilot
            pilots, done = [*pilots, *pilot], min(end, len(seeds))
            is_kept = worth_trying(pilots)
            plan = replace(plan, fits=tuple(compress(plan.fits, is_kept)))
            pilots = [pilot._replace(deficit=pilot.deficit[:, is_kept]) for pilot in pilots]
        if done == len(seeds):
            return
    yield from _refit_chunks(plan, seeds[done:], n_jobs)


def _refit_chunks(
    plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None
) -> Iterable[RefittedChunk]:
    """Refit replicates under all models, by chunks."""
    n = RESAMPLING[plan.resampling].n_rows(plan.objects)
    size = chunk_size(n, sum(fit.n_clusters for fit in plan.fits))
    _check_memory(plan, n, min(size, len(seeds)))
    chunks = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    return run_tasks(refit_chunk, [(plan, chunk) for chunk in chunks], n_jobs)


def _check_memory(plan: Plan, n: int, size: int) -> None:
    """Refuse samples of new objects that do not fit in memory, as those of huge weights."""
    free, (known, d) = free_memory(), plan.objects.X.shape
    needed = 8.0 * size * n * (2 * d + d * (d + 1) // 2)  # objects and, about, their features
    if n > known and free is not None and needed > free:
        raise InputError(
            "resampling",
            "draw samples that fit in memory",
            Message(
                f"{plan.resampling!r} with {n:.3g} objects in each of {size} samples, "
                f"{needed / 1e9:.3g} GB where {free / 1e9:.3g} GB are free"
            ),
            "Resample by weights ('nonparametric' or 'bayesian'), or divide the weights of the "
            "objects by a constant.",
        )


def warn_user(replicates: Replicates, *, is_asked: bool) -> None:
    """Warn once of replicates that are not ok; of regularised ones unless that was asked for."""
    counts = {name: count for name, count in replicates.counts().items() if count}
    fine = {Status.OK.label, *([Status.REGULARISED.label] if is_asked else [])}
    faults = set(counts) - fine
    if faults:
        only_slow = faults == {Status.NOT_CONVERGED.label}
        kind = ConvergenceWarning if only_slow else DegeneracyWarning
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        counted = f"Of {len(replicates)} replicates: {listed}. All were kept; see "
        warn_caller(kind(counted, Name("status"), "."))
