"""Evidential c-means: from checked parameters to the best of several descents."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from credpart._arrays import Array
from credpart._checks import check_choice, check_fraction, check_integer
from credpart._messages import Name, Setting
from credpart._random import random_generator
from credpart._threads import one_blas_thread
from credpart.ecm.criterion import Alternation, Criterion, alternate
from credpart.ecm.spaces import Space
from credpart.ecm.starts import STARTS
from credpart.errors import ConvergenceWarning, DataWarning, InputError, warn_caller
from credpart.focal import KINDS, cluster_similarity, focal_sets
from credpart.partition import EvidentialPartition

BY_A_FIRST_RUN = frozenset({"overlapping"})  # sets that depend on a run with singletons
FAR = 0.95  # the quantile of the distances between objects that is far
MOSTLY_EMPTY = 0.5  # share of the mass on the empty set above which `delta` is taken for too small


class Settings(NamedTuple):
    """Checked parameters of both estimators."""

    n_clusters: int
    alpha: float
    beta: float
    focal_sets: Any
    omega: bool
    overlap: int
    start: Any
    n_trials: int
    tol: float
    max_iter: int
    random_state: Any

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the parameters of an estimator, checked."""
        if isinstance(model.focal_sets, str):
            check_choice("focal_sets", model.focal_sets, KINDS)
        return cls(
            n_clusters=check_integer("n_clusters", model.n_clusters, at_least=1),
            alpha=check_above("alpha", model.alpha, 0.0, or_equal=True),
            beta=check_above("beta", model.beta, 1.0),
            focal_sets=model.focal_sets,
            omega=model.omega,
            overlap=check_integer("overlap", model.overlap, at_least=1),
            start=model.start,
            n_trials=check_integer("n_trials", model.n_trials, at_least=1),
            tol=check_fraction("tol", model.tol),
            max_iter=check_integer("max_iter", model.max_iter, at_least=1),
            random_state=model.random_state,
        )

    def criterion(self, delta: float, kind: Any, similarity: Array | None = None) -> Criterion:
        """Return what is minimised, with the empty set first."""
        focal = focal_sets(
            self.n_clusters, kind, omega=self.omega, similarity=similarity, overlap=self.overlap
        )
        nonempty = focal[focal.any(axis=1)]
        sets = np.vstack([np.zeros_like(nonempty[:1]), nonempty])
        return Criterion(sets, self.alpha, self.beta, delta)


class Fit(NamedTuple):
    """What a search found."""

    criterion: Criterion
    descent: Alternation

    def partition(self, index: Any = None) -> EvidentialPartition:
        """Return the masses as a partition."""
        return EvidentialPartition(self.descent.masses, self.criterion.focal, index=index)


def search(space: Space, starts: list[Array], delta: float, settings: Settings) -> Fit:
    """Return the best descent from any of the starts.

    Where sets depend on which clusters overlap, that is seen from a first run with singletons,
    and the second one starts from its centres, so that its clusters are the same.
    """
    kind, similarity = settings.focal_sets, None
    with one_blas_thread():
        if isinstance(kind, str) and kind in BY_A_FIRST_RUN:
            simple = settings.criterion(delta, "singletons")
            first = _best(simple, space, starts, settings)
            plausibility = Fit(simple, first).partition().normalize().plausibility()
            similarity, starts = cluster_similarity(plausibility), [first.centers]
        criterion = settings.criterion(delta, kind, similarity)
        found = _best(criterion, space, starts, settings)
    if not found.converged:
        ended = (
            f"The criterion still fell by a share of more than {settings.tol:g} after "
            f"{settings.max_iter} iterations; raise "
        )
        warn_caller(ConvergenceWarning(ended, Name("max_iter"), " or ", Name("tol"), "."))
    return Fit(criterion, found)


def far_distance(distances: Array) -> float:
    """The distance between objects that an outlier has to the others: a usual ``delta``."""
    return float(np.quantile(distances, FAR))


def warn_if_empty(fit: Fit, far: Callable[[], float]) -> None:
    """Warn if most of the mass is on the empty set; ``far()`` is a usual ``delta`` for the data."""
    masses, delta = fit.descent.masses, fit.criterion.delta
    share = float(masses[:, 0].mean())
    if share > MOSTLY_EMPTY:
        n_empty = int((masses.argmax(axis=1) == 0).sum())
        warning = DataWarning(
            f"{share:.0%} of the mass is on the empty set, which holds most mass of {n_empty} of "
            f"{len(masses)} objects: ",
            Setting("delta", delta, is_quoted=True),
            ", the distance to the empty set in the units of the data, is small for these data. "
            f"95 % of the distances between objects are below {far():.3g}, a usual value of ",
            Name("delta"),
            ".",
        )
        warn_caller(warning)


def _best(
    criterion: Criterion, space: Space, starts: list[Array], settings: Settings
) -> Alternation:
    descents = [
        alternate(criterion, space, centers, tol=settings.tol, max_iter=settings.max_iter)
        for centers in starts
    ]
    return min(descents, key=lambda descent: descent.objective)


def drawn_starts(space: Space, n: int, settings: Settings) -> list[Array]:
    """Return the centres of each trial, as ``start`` names them; None is k-means."""
    name = "kmeans" if settings.start is None else settings.start
    draw = STARTS[check_choice("start", name, STARTS)]
    rng = random_generator(settings.random_state)
    with one_blas_thread():
        return [draw(space, n, settings.n_clusters, rng) for _ in range(settings.n_trials)]


def check_above(name: str, value: object, bound: float, *, or_equal: bool = False) -> float:
    """Return ``value`` as a finite float > ``bound``, or >= it."""
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < bound or (value == bound and not or_equal):  # type: ignore[operator]
        sign = ">=" if or_equal else ">"
        raise InputError(name, f"be a finite number {sign} {bound:g}", value)
    return float(value)  # type: ignore[arg-type]
