"""Refit a mixture to bootstrap samples (Algorithm 1, lines 1-3), by chunks.

The size of a chunk depends on the problem alone, so the number of jobs and the backend change no
bit.  Many replicates in a chunk is fast: each step of EM is one call for all of them, and on small
data threads would only wait for each other.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from credpart._bootstrap.draws import RESAMPLING, distinct
from credpart._bootstrap.refits import Part, Plan, Refits, contenders, refit
from credpart._bootstrap.replicates import Replicates
from credpart._checks import (
    Array,
    check_choice,
    check_integer,
    check_positive,
    check_weights,
)
from credpart._errors import DegeneracyWarning
from credpart._progress import Progress
from credpart._random import seed_sequence
from credpart._threads import one_blas_thread
from credpart.mixture.fit import CRITERIA, REGULARIZATIONS, MixtureFit
from credpart.mixture.optimisation.em import DEFAULT_TOLERANCE, MAX_ITERATIONS, Status

CHUNK_VALUES = 1 << 21  # posteriors of the replicates that are refitted together
SMALLEST, LARGEST = 16, 1024  # replicates in a chunk
PILOT = 64  # replicates that try every structure


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
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Replicates:
    """Refit a mixture to bootstrap samples of the objects it was fitted to.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    fit : MixtureFit or sequence of MixtureFit
        The fit to start from, of any family.  With several fits of the same data, with as many
        clusters, the model is chosen again in every replicate by the criterion; replicates of
        different families stand side by side.
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
        Jobs, as in joblib: threads, or the backend of `joblib.parallel_config`.  It changes no
        bit of the result.
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
    _check_total(weights, fits[0].n_clusters)
    plan = Plan(
        distinct(table.values, weights),
        fits,
        check_choice("resampling", resampling, RESAMPLING),
        check_choice("criterion", criterion, CRITERIA),
        check_choice("regularization", regularization, REGULARIZATIONS),
        check_positive("tol", tol),
        check_integer("max_iter", max_iter, at_least=1),
    )
    B = check_integer("n_replicates", n_replicates, at_least=1)
    seeds = seed_sequence(random_state).spawn(B)

    def report(done: int) -> None:
        if progress is not None:
            progress("bootstrap", done / B)

    refits: list[Refits] = []
    if len(plan.fits) > 1:
        refits = _refit_all(plan, seeds[:PILOT], n_jobs, report)
        plan = contenders(plan, refits)
    done = sum(len(some.status) for some in refits)
    refits += _refit_all(plan, seeds[done:], n_jobs, lambda more: report(done + more))
    replicates = _joined(replace(plan, fits=fits), refits)
    _tell(replicates, is_asked=plan.regularization == "pooled")
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
        raise ValueError(
            "`fit` must hold fits of the same data with the same number of clusters, "
            f"got {list(fits)!r}."
        )
    return fits


def _check_total(weights: Array, c: int) -> None:
    if weights.sum() <= c:
        raise ValueError(
            f"`sample_weight` must sum to more than the {c} clusters, got a sum of "
            f"{weights.sum():g}. A weight says how often an object was seen: multiply the weights "
            "by a constant."
        )


def _refit_all(
    plan: Plan,
    seeds: Sequence[SeedSequence],
    n_jobs: int | None,
    report: Callable[[int], None],
) -> list[Refits]:
    """Refit all replicates, by chunks."""
    n = RESAMPLING[plan.resampling].n_rows(plan.objects)
    size = chunk_size(n, plan.fits[0].n_clusters * len(plan.fits))
    chunks = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    refits: list[Refits] = []
    with one_blas_thread():
        for some in parallel(delayed(refit)(plan, chunk) for chunk in chunks):
            refits.append(some)
            report(sum(len(done.status) for done in refits))
    return refits


def _joined(plan: Plan, refits: Sequence[Refits]) -> Replicates:
    """All chunks as one value; ``plan`` has all fits that were given."""
    place = np.concatenate([some.place for some in refits])
    firsts = np.cumsum([0, *(len(some.place) for some in refits)])
    families, parts = [], []
    for team in plan.teams():
        mine = [
            Part(first + part.rows, part.params)
            for first, some in zip(firsts, refits, strict=False)
            for part in some.parts
            if len(part.rows) and some.place[part.rows[0]] in team.places
        ]
        if mine:
            fields = zip(*(part.params for part in mine), strict=True)
            params = type(mine[0].params)(*map(np.concatenate, fields))
            families.append(team.family)
            parts.append(Part(np.concatenate([part.rows for part in mine]), params))
    return Replicates(
        tuple(families),
        tuple(parts),
        np.array([fit.model for fit in plan.fits])[place],
        np.concatenate([some.loglik for some in refits]),
        np.concatenate([some.n_iter for some in refits]),
        np.concatenate([some.status for some in refits]),
        plan.resampling,
        plan.fits[0].columns,
    )


def _tell(replicates: Replicates, *, is_asked: bool) -> None:
    """Warn once of replicates that are not ok; of regularised ones unless that was asked for."""
    counts = {name: count for name, count in replicates.counts().items() if count}
    fine = {Status.OK.label, *([Status.REGULARISED.label] if is_asked else [])}
    if set(counts) - fine:
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        warnings.warn(
            f"Of {len(replicates)} replicates: {listed}. All were kept; see `status`.",
            DegeneracyWarning,
            stacklevel=3,
        )
