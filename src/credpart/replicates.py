"""Bootstrap replicates of a mixture (Algorithm 1, lines 1-3), as weights on the same objects.

A nonparametric replicate is a vector of counts, a Bayesian one of Dirichlet weights; both are
refitted by the weighted EM that made the fit, many side by side.  A parametric replicate is a
new sample from the fit.  Every replicate has a random stream of its own, and the chunks depend
on the problem alone: the number of jobs and the backend change no bit.

With several fits, which differ in their covariance structure, the structure is chosen again in
every replicate: choosing it once, and forgetting that it was chosen, makes intervals too short.
Two things keep this cheap.  A pilot drops structures that have no real chance: those whose
criterion is so far below the best, in mean and spread over the pilot's replicates, that they
would be chosen in fewer than about one of 30 000.  And structures race: all run to a loose
tolerance, and only those within `MARGIN` of a replicate's best go on to the tight one.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from credpart._checks import (
    Array,
    check_choice,
    check_data,
    check_integer,
    check_positive,
    check_weights,
)
from credpart._errors import DegeneracyWarning
from credpart._threads import one_blas_thread
from credpart.mixture.em import (
    DEFAULT_TOLERANCE,
    MAX_ITERATIONS,
    MCLUST_TOLERANCE,
    EMResult,
    Status,
    e_step,
    em,
    log_certainty,
    normalise,
    take,
)
from credpart.mixture.fit import CRITERIA, REGULARIZATIONS, MixtureFit, Progress, check_columns
from credpart.mixture.gaussian import NAMES, Gaussian, GaussianParams

CHUNK_VALUES = 1 << 18  # posteriors of the replicates that are refitted together
CHUNK_SIZES = 16, 128  # replicates, at least and at most
PILOT = 64  # replicates that try every structure
SPREADS = 4.0  # standard deviations below the best at which a structure has no real chance
MARGIN = 10.0  # criterion behind the best, at the loose tolerance, that ends a structure's race


class Draws(NamedTuple):
    """What replicates are refitted to: features (n, p) or (b, n, p), and weights (b, n)."""

    features: Array
    weights: Array

    def take(self, rows: NDArray[np.intp]) -> "Draws":
        """What some replicates are refitted to."""
        shared = self.features.ndim == 2
        return Draws(self.features if shared else self.features[rows], self.weights[rows])


def nonparametric(plan: "Plan", streams: Sequence[Generator]) -> Draws:
    """Counts of n draws with replacement (Algorithm 1, line 2)."""
    total = plan.weights.sum()
    size = round(total)
    counts = np.stack([rng.multinomial(size, plan.weights / total) for rng in streams])
    return Draws(plan.family.features(plan.X), counts * (total / size))


def bayesian(plan: "Plan", streams: Sequence[Generator]) -> Draws:
    """Dirichlet weights: the smooth counterpart of counts."""
    draws = np.stack([rng.standard_gamma(plan.weights) for rng in streams])
    scale = plan.weights.sum() / draws.sum(axis=1, keepdims=True)
    return Draws(plan.family.features(plan.X), draws * scale)


def parametric(plan: "Plan", streams: Sequence[Generator]) -> Draws:
    """New objects from the fit, as many as there were."""
    samples = [plan.family.sample(plan.fits[0].internal, len(plan.X), rng)[0] for rng in streams]
    weights = np.full(len(plan.X), plan.weights.sum() / len(plan.X))
    features = np.stack([plan.family.features(sample) for sample in samples])
    return Draws(features, np.tile(weights, (len(streams), 1)))


RESAMPLING: Mapping[str, Callable[["Plan", Sequence[Generator]], Draws]] = {
    "nonparametric": nonparametric,
    "bayesian": bayesian,
    "parametric": parametric,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a chunk of replicates needs to know."""

    X: Array
    weights: Array
    fits: tuple[MixtureFit, ...]
    resampling: str
    criterion: str
    regularization: str
    tol: float
    max_iter: int

    @property
    def family(self) -> Gaussian:
        """The family that all fits share."""
        return self.fits[0].family


class Refits(NamedTuple):
    """Refits of b replicates; ``code`` says under which structure."""

    params: GaussianParams
    code: NDArray[np.intp]
    loglik: Array
    n_iter: NDArray[np.intp]
    status: NDArray[np.intp]
    lead: Array  # (b, fits): criterion of each fit, less that of the replicate's best


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replicates:
    """Mixtures refitted to bootstrap samples.

    Attributes
    ----------
    models : array of str, shape (B,)
        Model of each replicate.
    status : array of int, shape (B,)
        How each refit ended, a `credpart.mixture.em.Status`.
    loglik, n_iter : arrays of shape (B,)
        Log-likelihood of each replicate's own sample, and iterations of EM.
    """

    family: Gaussian
    params: GaussianParams  # of all replicates, in the family's units
    models: NDArray[np.str_]
    loglik: Array
    n_iter: NDArray[np.intp]
    status: NDArray[np.intp]
    resampling: str

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        return f"Replicates({len(self)} {self.resampling}: {counts})"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.params.proportions.shape[1])

    def counts(self) -> dict[str, int]:
        """Number of replicates by status."""
        return {status.label: int((self.status == status).sum()) for status in Status}

    def chosen(self) -> dict[str, int]:
        """Number of replicates by model, most frequent first."""
        names, counts = np.unique(self.models, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {str(names[i]): int(counts[i]) for i in order}

    def posteriors(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Posterior probabilities of any objects in all replicates, shape (B, n, c).

        The result is a view of an array that has the replicates side by side, which
        `pairwise_intervals` reads as it is.
        """
        values = check_data(X).values
        check_columns(values, len(self.family.center))
        features = self.family.features(values)
        out = np.empty((len(values), self.n_clusters, len(self)))
        size = chunk_size(len(values), self.n_clusters)
        chunks = [slice(start, start + size) for start in range(0, len(self), size)]
        with one_blas_thread():
            Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(_fill)(self.family, features, take(self.params, rows), out[:, :, rows])
                for rows in chunks
            )
        return out.transpose(2, 0, 1)


def _fill(family: Gaussian, features: Array, params: GaussianParams, out: Array) -> None:
    with one_blas_thread():
        for start in range(0, len(features), 512):
            rows = slice(start, start + 512)
            joint = family.log_joint(features[rows], params)
            normalise(joint)
            out[rows] = joint.transpose(2, 1, 0)


def chunk_size(n: int, width: int) -> int:
    """Replicates in a chunk: a function of the problem alone."""
    smallest, largest = CHUNK_SIZES
    return int(np.clip(CHUNK_VALUES // (n * width), smallest, largest))


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
    random_state: int | SeedSequence | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Replicates:
    """Refit a mixture to bootstrap samples of the objects it was fitted to.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    fit : MixtureFit or sequence of MixtureFit
        The fit to start from.  With several fits of one selection, with as many clusters, the
        model is chosen again in every replicate by the criterion.
    n_replicates : int
        Number of replicates, B.
    resampling : {"nonparametric", "bayesian", "parametric"}
        Draws with replacement, Dirichlet weights, or new samples from the (first) fit.
    criterion : {"bic", "icl", "aic"}
        How the model is chosen in a replicate.
    sample_weight : array of shape (n,), optional
        Weights of the objects.
    regularization : {"fallback", "none", "pooled"}
        As in `fit_mixture`, for each replicate.  No replicate is ever redrawn: with "none" a
        degenerate one keeps its last parameters and says so in ``status``.
    tol, max_iter
        As in `fit_mixture`.
    random_state : int or SeedSequence, optional
        Seed; each replicate has a stream of its own, so the first B replicates of a longer run
        are the same.
    n_jobs : int, optional
        Jobs, as in joblib: threads, or the backend of `joblib.parallel_config`.
    progress : callable, optional
        Called with "bootstrap" and the share that is done.

    Returns
    -------
    Replicates
        Parameters, model and status of every replicate.

    Examples
    --------
    >>> from credpart import bootstrap, fit_mixture
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris().X
    >>> replicates = bootstrap(iris, fit_mixture(iris, 3, "VEV"), 20, random_state=0)
    >>> replicates.posteriors(iris).shape
    (20, 150, 3)
    """
    table = check_data(X)
    fits = (fit,) if isinstance(fit, MixtureFit) else tuple(fit)
    check_columns(table.values, len(fits[0].family.center))
    if len({(id(one.family), one.n_clusters) for one in fits}) != 1:
        raise ValueError("`fit` must hold fits of one selection with the same number of clusters.")
    plan = Plan(
        table.values,
        check_weights("sample_weight", sample_weight, len(table.values)),
        fits,
        check_choice("resampling", resampling, RESAMPLING),
        check_choice("criterion", criterion, CRITERIA),
        check_choice("regularization", regularization, REGULARIZATIONS),
        check_positive("tol", tol),
        check_integer("max_iter", max_iter, at_least=1),
    )
    B = check_integer("n_replicates", n_replicates, at_least=1)
    root = random_state if isinstance(random_state, SeedSequence) else SeedSequence(random_state)
    streams = SeedSequence(root.entropy, spawn_key=root.spawn_key).spawn(B)

    def report(done: int) -> None:
        if progress is not None:
            progress("bootstrap", done / B)

    with one_blas_thread():
        pilot = _refit_all(plan, streams[:PILOT], n_jobs, report) if len(fits) > 1 else []
        left = _contenders(plan, pilot)
        done = len(streams[:PILOT]) if pilot else 0
        refits = pilot + _refit_all(left, streams[done:], n_jobs, lambda more: report(done + more))
    params = GaussianParams(*map(np.concatenate, zip(*(r.params for r in refits), strict=True)))
    code, loglik, n_iter, status = (
        np.concatenate(field)
        for field in zip(*((r.code, r.loglik, r.n_iter, r.status) for r in refits), strict=True)
    )
    models = np.array(NAMES)[code]
    replicates = Replicates(plan.family, params, models, loglik, n_iter, status, resampling)
    _tell(replicates)
    return replicates


def _tell(replicates: Replicates) -> None:
    """Warn once of the replicates that are not ok."""
    counts = {name: count for name, count in replicates.counts().items() if count}
    if set(counts) - {Status.OK.label}:
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        warnings.warn(
            f"Of {len(replicates)} replicates: {listed}. All were kept; see `status`.",
            DegeneracyWarning,
            stacklevel=3,
        )


def _refit_all(
    plan: Plan,
    streams: Sequence[SeedSequence],
    n_jobs: int | None,
    report: Callable[[int], None],
) -> list[Refits]:
    """Refit all replicates, by chunks."""
    size = chunk_size(len(plan.X), plan.fits[0].n_clusters * len(plan.fits))
    chunks = [streams[start : start + size] for start in range(0, len(streams), size)]
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    refits: list[Refits] = []
    for refit in parallel(delayed(_refit)(plan, chunk) for chunk in chunks):
        refits.append(refit)
        report(sum(len(done.status) for done in refits))
    return refits


def _contenders(plan: Plan, pilot: Sequence[Refits]) -> Plan:
    """The plan with the fits that have a real chance to be chosen."""
    if not pilot:
        return plan
    lead = np.concatenate([refit.lead for refit in pilot])
    lead = np.where(np.isfinite(lead), lead, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a structure that never could be fitted
        chance = np.nanmean(lead, axis=0) + SPREADS * np.nanstd(lead, axis=0)
    kept = (chance >= 0.0) | (np.nanmax(lead, axis=0, initial=-np.inf) == 0.0)
    return replace(plan, fits=tuple(fit for fit, keep in zip(plan.fits, kept, strict=True) if keep))


def _refit(plan: Plan, seeds: Sequence[SeedSequence]) -> Refits:
    """Refit a chunk of replicates under every fit's structure, and choose."""
    with one_blas_thread():
        draws = RESAMPLING[plan.resampling](plan, [np.random.default_rng(seed) for seed in seeds])
        b, m = len(draws.weights), len(plan.fits)
        family = _family(plan)
        rows = np.repeat(np.arange(b), m)
        result = _race(plan, family, draws, rows)
        lead = _criterion(plan, family, draws, rows, result).reshape(b, m)
        best = lead.argmax(axis=1)
        chosen = np.arange(b) * m + best
        result = EMResult(take(result.params, chosen), *(field[chosen] for field in result[1:]))
        code = _codes(plan)[best]
        status = np.where(plan.regularization == "pooled", Status.REGULARISED, result.status)
        result = _rescue(plan, draws, code, result._replace(status=status))
        with np.errstate(invalid="ignore"):
            lead -= lead.max(axis=1, keepdims=True)
        return Refits(result.params, code, result.loglik, result.n_iter, result.status, lead)


def _codes(plan: Plan) -> NDArray[np.intp]:
    return np.array([NAMES.index(fit.model) for fit in plan.fits])


def _family(plan: Plan) -> Gaussian:
    return _pooled(plan) if plan.regularization == "pooled" else plan.family


def _pooled(plan: Plan) -> Gaussian:
    """The family with pseudo-observations of the (first) fit's pooled covariance."""
    features = plan.family.features(plan.X)
    fit = plan.fits[0].internal
    return plan.family.pooled(e_step(plan.family, features, plan.weights[None], fit)[1][0])


def _race(plan: Plan, family: Gaussian, draws: Draws, rows: NDArray[np.intp]) -> EMResult:
    """EM of every replicate (``rows``) and fit: to the tight tolerance only if it may win."""
    b, m = len(draws.weights), len(plan.fits)
    which = np.tile(np.arange(m), b)
    fields = zip(*(fit.internal for fit in plan.fits), strict=True)
    start = take(GaussianParams(*(np.concatenate(field) for field in fields)), which)
    variant = _codes(plan)[which]
    draws = draws.take(rows)
    statistics = e_step(family, *draws, start)[1]
    limits: dict[str, Any] = {"max_iter": plan.max_iter}
    if m == 1:
        return em(family, *draws, statistics, variant, start, tol=plan.tol, **limits)
    loose = max(plan.tol, MCLUST_TOLERANCE)
    result = em(family, *draws, statistics, variant, start, tol=loose, **limits)
    value = _criterion(plan, family, draws, np.arange(len(rows)), result)
    best = value.reshape(b, m).max(axis=1)[rows]
    ahead = np.flatnonzero((value >= best - MARGIN) & (result.status != Status.DEGENERATE))
    if plan.tol < loose and len(ahead):
        more = em(
            family,
            *draws.take(ahead),
            result.statistics[ahead],
            variant[ahead],
            take(result.params, ahead),
            tol=plan.tol,
            **limits,
        )
        for field, new in zip(result.params, more.params, strict=True):
            field[ahead] = new
        result.loglik[ahead], result.status[ahead] = more.loglik, more.status
        result.n_iter[ahead] += more.n_iter
    return result


def _criterion(
    plan: Plan, family: Gaussian, draws: Draws, rows: NDArray[np.intp], result: EMResult
) -> Array:
    """The criterion of every refit; no refit that is degenerate or spurious is ever chosen."""
    n, c = float(plan.weights.sum()), plan.fits[0].n_clusters
    which = np.arange(len(rows)) % len(plan.fits)
    counts = np.array([plan.family.n_parameters(fit.model, c) for fit in plan.fits])[which]
    value = CRITERIA[plan.criterion](
        result.loglik, counts, n, lambda: log_certainty(family, *draws.take(rows), result.params)
    )
    flawed = (result.status == Status.DEGENERATE) | family.is_spurious(result.params, n).any(axis=1)
    return np.where(flawed & (len(plan.fits) > 1), -np.inf, value)


def _rescue(plan: Plan, draws: Draws, code: NDArray[np.intp], result: EMResult) -> EMResult:
    """Refit degenerate replicates with a pseudo-observation, unless that is not wanted."""
    rows = np.flatnonzero(result.status == Status.DEGENERATE)
    if plan.regularization != "fallback" or not len(rows):
        return result
    family, draws = _pooled(plan), draws.take(rows)
    start = take(plan.fits[0].internal, np.zeros(len(rows), dtype=np.intp))
    statistics = e_step(family, *draws, start)[1]
    new = em(family, *draws, statistics, code[rows], start, tol=plan.tol, max_iter=plan.max_iter)
    for field, fixed in zip(result.params, new.params, strict=True):
        field[rows] = fixed
    fixed = np.where(new.status == Status.DEGENERATE, new.status, Status.REGULARISED)
    result.loglik[rows], result.n_iter[rows], result.status[rows] = new.loglik, new.n_iter, fixed
    return result
