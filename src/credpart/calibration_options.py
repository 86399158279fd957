"""The checked parameters of a calibrated clustering: only these reach the stages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart._bootstrap.algorithm1 import REFITS
from credpart._bootstrap.draws import RESAMPLING
from credpart._bootstrap.refits import Plan
from credpart._bootstrap.units import Units, needs_weights
from credpart._checks import (
    check_choice,
    check_cluster_numbers,
    check_fraction,
    check_integer,
    check_positive,
)
from credpart._messages import Message, Name
from credpart._random import RandomState, integer_seed
from credpart.errors import InputError
from credpart.focal import (
    KINDS,
    check_focal_sets,
    check_non_empty,
    cluster_similarity,
    focal_sets,
)
from credpart.intervals import METHODS, replicates_needed
from credpart.mixture.criteria import CONSISTENT, CRITERIA
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.known_labels import KnownLabels
from credpart.mixture.models import check_noise
from credpart.mixture.optimisation.convergence import Limits
from credpart.mixture.search.selection import AUTO, Selection
from credpart.pairs import ComparedPairs, check_pair_option, pairs_of


def chosen_once(selection: Selection) -> tuple[MixtureFit, ...]:
    """Replicates have the model of the best fit, as in the paper."""
    return (selection.best,)


def chosen_in_each(selection: Selection) -> tuple[MixtureFit, ...]:
    """Each replicate chooses among the models and numbers of clusters that were tried.

    A consistent criterion errs on one side: it chooses too few clusters where the sample is small,
    and hardly ever too many.  So numbers below that of the best fit have been rejected, and only
    larger ones are offered to replicates.
    """
    best = selection.best
    fewest = best.n_clusters if selection.criterion in CONSISTENT else 0
    others = (fit for fit in selection.fits.values() if fit is not best)
    return best, *(fit for fit in others if fit.n_clusters >= fewest)


SELECTIONS: Mapping[str, Callable[[Selection], tuple[MixtureFit, ...]]] = {
    "each": chosen_in_each,
    "once": chosen_once,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationOptions:
    """All that a calibrated clustering depends on besides its data and its models.

    Attributes are the parameters of `CalibratedClustering` of the same names, except these.

    Attributes
    ----------
    n_clusters : tuple of int
        Numbers of clusters to choose from.
    is_auto : bool
        Whether numbers that are too large for the data are left out.
    pairs : str or int
        "auto", "all" or a number of landmarks; `pairs_for` says what it means for n objects.
    focal_sets : str or array of shape (f, c)
        A kind of focal sets, or the sets.
    nominal_level : float or None
        The level that was asked for, where an audit recommended another one, ``level``.
    seed : int
        The result is that of ``random_state=seed``, whatever ``random_state`` was.

    Examples
    --------
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import load_butterfly
    >>> model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=3)
    >>> options = model.fit(load_butterfly().X).result_.options
    >>> options.n_clusters, options.level, options.seed
    ((2,), 0.9, 3)
    """

    n_clusters: tuple[int, ...]
    is_auto: bool
    criterion: str
    selection: str
    n_replicates: int
    resampling: str
    refit: str
    level: float
    method: str
    pairs: str | int
    focal_sets: str | BoolArray
    omega: bool
    overlap: int
    weaken: bool
    tol: float
    max_iter: int
    n_starts: int
    regularization: str
    noise: bool | str
    seed: int
    nominal_level: float | None = None

    @classmethod
    def check(
        cls,
        *,
        n_models: int,
        n_clusters: Any,
        criterion: Any,
        selection: Any,
        n_replicates: Any,
        resampling: Any,
        refit: Any,
        level: Any,
        method: Any,
        pairs: Any,
        focal_sets: Any,
        omega: Any,
        overlap: Any,
        weaken: Any,
        tol: Any,
        max_iter: Any,
        n_starts: Any,
        regularization: Any,
        noise: Any,
        random_state: RandomState,
    ) -> "CalibrationOptions":
        """Refuse bad parameters before anything is computed."""
        numbers = check_cluster_numbers(n_clusters, auto=AUTO)
        options = cls(
            n_clusters=tuple(numbers),
            is_auto=isinstance(n_clusters, str),
            criterion=check_choice("criterion", criterion, CRITERIA),
            selection=check_choice("selection", selection, SELECTIONS),
            resampling=check_choice("resampling", resampling, RESAMPLING),
            refit=check_choice("refit", refit, REFITS),
            regularization=check_choice("regularization", regularization, REGULARIZATIONS),
            overlap=check_integer("overlap", overlap, at_least=1),
            omega=_check_bool("omega", omega),
            weaken=_check_bool("weaken", weaken),
            focal_sets=_check_kind(focal_sets, numbers),
            level=check_fraction("level", level),
            method=check_choice("method", method, METHODS),
            pairs=check_pair_option(pairs),
            n_replicates=check_integer("n_replicates", n_replicates, at_least=1),
            tol=check_positive("tol", tol),
            max_iter=check_integer("max_iter", max_iter, at_least=1),
            n_starts=check_integer("n_starts", n_starts, at_least=1),
            noise=check_noise(noise),
            seed=integer_seed(random_state),
        )
        needed = replicates_needed(options.level)
        if needed > options.n_replicates:
            enough = f"be at least 2 / (1 - level) = {needed} for level {options.level:g}"
            raise InputError("n_replicates", enough, options.n_replicates)
        if options.regularization == "pooled" and not len(numbers) == n_models == 1:
            raise InputError(
                "regularization",
                "be 'fallback' or 'none' where the model or the number of clusters is chosen",
                "pooled",
                Message("Give one ", Name("model"), " and one ", Name("n_clusters"), "."),
            )
        return options

    @property
    def limits(self) -> Limits:
        """When EM ends."""
        return Limits(self.tol, self.max_iter)

    def plan(
        self, objects: DistinctObjects, fits: tuple[MixtureFit, ...], units: Units | None = None
    ) -> Plan:
        """The bootstrap of fits of these objects."""
        how = self.resampling, self.criterion, self.regularization, self.limits, self.refit
        return Plan(objects, fits, *how, is_choice=len(fits) > 1, units=units)

    def replaced(
        self,
        n_clusters: int,
        *,
        level: Any = None,
        focal_sets: Any = None,
        omega: Any = None,
        overlap: Any = None,
        weaken: Any = None,
    ) -> "CalibrationOptions":
        """The options for another partition into n clusters; what is None stays as it is."""
        return replace(
            self,
            level=self.level if level is None else check_fraction("level", level),
            nominal_level=self.nominal_level if level is None else None,
            focal_sets=_check_kind(
                self.focal_sets if focal_sets is None else focal_sets, [n_clusters]
            ),
            omega=self.omega if omega is None else _check_bool("omega", omega),
            weaken=self.weaken if weaken is None else _check_bool("weaken", weaken),
            overlap=self.overlap
            if overlap is None
            else check_integer("overlap", overlap, at_least=1),
        )

    def with_labels(self, known: KnownLabels) -> "CalibrationOptions":
        """The options where labels are known: there are no fewer clusters than they name."""
        if not known.is_nothing and RESAMPLING[self.resampling].is_new:
            raise needs_weights("labels")
        numbers = known.numbers(self.n_clusters, is_auto=self.is_auto)
        return replace(self, n_clusters=tuple(numbers))

    def pairs_for(self, n: int, n_clusters: int) -> ComparedPairs:
        """Which pairs of n objects in this number of clusters are compared."""
        return pairs_of(self.pairs, n, n_clusters)

    def sets_for(self, posteriors: Array, weights: Array, *, has_noise: bool = False) -> BoolArray:
        """The focal sets (f, c) for clusters with these posteriors (n, c) of weighted objects.

        With noise the empty set is the first of them.  Masses that are weakened go to the set of
        all clusters.
        """
        return focal_sets(
            posteriors.shape[1],
            self.focal_sets,
            omega=self.omega or self.weaken,
            empty=has_noise,
            overlap=self.overlap,
            similarity=cluster_similarity(posteriors, sample_weight=weights),
        )


def _check_bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, "be True or False", value)
    return bool(value)


def _check_kind(kind: Any, numbers: Sequence[int]) -> str | BoolArray:
    """Refuse what `focal_sets` will refuse, as far as it is known before the fit."""
    c = max(numbers)
    if isinstance(kind, str):
        checked: str | BoolArray = check_choice("focal_sets", kind, KINDS)
    else:
        checked = check_focal_sets(kind, n_clusters=c if len(numbers) == 1 else None)
        check_non_empty(checked)  # noise adds the empty set
    if isinstance(kind, str) or len(numbers) == 1:
        focal_sets(c, checked, similarity=np.eye(c))
    return checked
