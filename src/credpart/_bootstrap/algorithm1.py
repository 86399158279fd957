"""Refit a mixture to bootstrap samples (Algorithm 1, lines 1-3), by chunks.

The size of a chunk depends on the problem alone, so the number of jobs and the backend do not
change the result.  Large chunks are fast: each step of EM is one call for all of them, and on small
data threads would only wait for each other.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from credpart._bootstrap.draws import RESAMPLING, distinct
from credpart._bootstrap.refits import Plan, Refits, contenders, join, refit
from credpart._bootstrap.replicates import Replicates
from credpart._checks import check_choice, check_integer, check_weights
from credpart._messages import Name
from credpart._parallel import run_tasks
from credpart._progress import Progress, silent
from credpart._random import RandomState, seed_sequence
from credpart.errors import DegeneracyWarning, InputError
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.optimisation import DEFAULT_TOLERANCE, MAX_ITERATIONS, Limits, Status
from credpart.mixture.screening import check_total

CHUNK_VALUES = 1 << 21  # posteriors of the replicates that are refitted together
SMALLEST, LARGEST = 16, 1024  # replicates in a chunk
PILOT = 64  # first replicates, which try every model


def bootstrap(
    X: Any,
    fit: MixtureFit | Sequence[MixtureFit],
    n_replicates: int = 1000,
    *,
    resampling: str = "nonparametric",
    criterion: str = "bic",
    sample_weight: ArrayLike | None = None,
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
        The fit to start from, of any family.  With several fits of the same data and the same
        number of clusters, the model is chosen again in every replicate by the criterion;
        replicates of different families stand side by side.
    n_replicates : int
        Number of replicates, B.
    resampling : {"nonparametric", "bayesian", "parametric"}
        Draws with replacement, Dirichlet weights, or new samples from the (first) fit.
    criterion : {"bic", "icl", "aic"}
        How the model is chosen in a replicate.
    sample_weight : array of shape (n,), optional
        Weights of the objects: how often each was seen.  Their sum is the size of a sample.
    regularization : {"fallback", "none", "pooled"}
        As in `fit_mixture`, for each replicate.  No replicate is ever redrawn: with "none" a
        degenerate one keeps its last good parameters and says so in ``status``.
    tol, max_iter
        As in `fit_mixture`.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed.  Each replicate has a stream of its own: the first B replicates of a longer run
        draw the same samples, and are the same to the bit where a chunk has no others.
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
    check_total(weights, fits[0].n_clusters)
    plan = Plan(
        distinct(table.values, weights),
        fits,
        check_choice("resampling", resampling, RESAMPLING),
        check_choice("criterion", criterion, CRITERIA),
        check_choice("regularization", regularization, REGULARIZATIONS),
        Limits.check(tol, max_iter),
        is_choice=len(fits) > 1,
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
    report, refits, done = progress or silent, [], 0
    for some in _refit_all(plan, seeds, n_jobs):
        refits.append(some)
        done += len(some.loglik)
        report("bootstrap", done / len(seeds))
    replicates = join(plan, refits)
    _warn_user(replicates, is_asked=REGULARIZATIONS[plan.regularization].is_asked)
    return replicates


def chunk_size(n: int, width: int) -> int:
    """Replicates in a chunk, with n objects and ``width`` posteriors each: a power of 2.

    >>> chunk_size(150, 3), chunk_size(1000, 7), chunk_size(10_000, 50)
    (1024, 256, 16)
    """
    most = int(np.clip(CHUNK_VALUES // (n * width), SMALLEST, LARGEST))
    return 1 << (most.bit_length() - 1)


def _check_fits(fit: MixtureFit | Sequence[MixtureFit]) -> tuple[MixtureFit, ...]:
    fits = (fit,) if isinstance(fit, MixtureFit) else tuple(fit)
    if len({(one.columns, one.n_objects, one.n_clusters) for one in fits}) != 1:
        same = "hold fits of the same data with the same number of clusters"
        raise InputError("fit", same, list(fits))
    if len({one.model for one in fits}) < len(fits):
        raise InputError("fit", "hold one fit of each model", list(fits))
    return fits


def _refit_all(plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None) -> Iterator[Refits]:
    """Refit all replicates; those after a pilot only under models that have a real chance."""
    if len(plan.fits) > 1:
        pilot = list(_refit_chunks(plan, seeds[:PILOT], n_jobs))
        yield from pilot
        plan, seeds = contenders(plan, pilot), seeds[PILOT:]
    yield from _refit_chunks(plan, seeds, n_jobs)


def _refit_chunks(
    plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None
) -> Iterable[Refits]:
    """Refit replicates under all models, by chunks."""
    n = RESAMPLING[plan.resampling].n_rows(plan.objects)
    size = chunk_size(n, plan.fits[0].n_clusters * len(plan.fits))
    chunks = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    return run_tasks(refit, [(plan, chunk) for chunk in chunks], n_jobs)


def _warn_user(replicates: Replicates, *, is_asked: bool) -> None:
    """Warn once of replicates that are not ok; of regularised ones unless that was asked for."""
    counts = {name: count for name, count in replicates.counts().items() if count}
    fine = {Status.OK.label, *([Status.REGULARISED.label] if is_asked else [])}
    if set(counts) - fine:
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        counted = f"Of {len(replicates)} replicates: {listed}. All were kept; see "
        warnings.warn(DegeneracyWarning(counted, Name("status"), "."), stacklevel=4)
