"""The result of a calibrated clustering: one frozen value that all consumers read.

Plots, reports, diagnoses and files take this value; the estimator `CalibratedClustering` wraps it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray, IntArray
from credpart._bootstrap import Replicates
from credpart._checks import Table
from credpart._columns import as_frame
from credpart._irqp import IRQPResult, irqp, row_masses
from credpart._irqp.starting_masses import from_posteriors
from credpart._progress import Progress, shown
from credpart.calibration_options import CalibrationOptions
from credpart.errors import InputError
from credpart.intervals import PairwiseIntervals, cross_intervals, pairwise_intervals
from credpart.mixture.fit import MixtureFit
from credpart.mixture.search.selection import Selection
from credpart.partition import EvidentialPartition

if TYPE_CHECKING:
    import pandas as pd

NEW_VALUES = 1 << 22  # posteriors and bounds of the new objects that are worked on together


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibratedResult:
    """All that a calibrated clustering found, with the data that it was found in.

    Attributes
    ----------
    data : Table
        The data as they were read: categories are codes.
    weights : array of shape (n,)
        Weights of the objects.
    options : CalibrationOptions
        The parameters.
    selection : Selection
        All fits that the mixture was chosen from.
    mixture : MixtureFit
        The fitted mixture; cluster k of the partition is its component k.
    posteriors : array of shape (n, c)
        Posterior probabilities of the mixture on its own data.
    replicates : Replicates
        The refitted mixtures.
    intervals : PairwiseIntervals
        Confidence intervals on the pairwise probabilities.
    partition : EvidentialPartition
        The mass functions.
    objective : float
        J of Eq. (9).
    timings : mapping
        Seconds of each stage: select, bootstrap, intervals, partition.

    Examples
    --------
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import load_butterfly
    >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
    >>> result = model.fit(load_butterfly().X).result_
    >>> result
    CalibratedResult(n_objects=11, n_clusters=2, model=EII, level=0.9, n_replicates=100)
    >>> result.refit_partition(level=0.8, focal_sets="singletons").partition
    EvidentialPartition(n_objects=11, n_clusters=2, n_focal_sets=2)
    """

    data: Table
    weights: Array
    options: CalibrationOptions
    selection: Selection
    mixture: MixtureFit
    posteriors: Array
    replicates: Replicates
    intervals: PairwiseIntervals
    partition: EvidentialPartition
    objective: float
    timings: Mapping[str, float]

    def __post_init__(self) -> None:
        for array in (self.data.values, self.weights, self.posteriors):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # By the constructor: a copied or unpickled result has read-only arrays too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return (
            f"CalibratedResult(n_objects={self.n_objects}, n_clusters={self.mixture.n_clusters}, "
            f"model={self.mixture.model}, level={self.intervals.level:g}, "
            f"n_replicates={len(self.replicates)})"
        )

    @property
    def n_objects(self) -> int:
        """Number of objects, n."""
        return len(self.data.values)

    @property
    def labels(self) -> IntArray:
        """Cluster of maximum plausibility of each object, from 0."""
        return self.partition.labels

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; columns without names are counted from 1."""
        d = self.data.values.shape[1]
        return self.data.names or [f"column {j + 1}" for j in range(d)]

    @property
    def ids(self) -> list[Any]:
        """Names of the objects; objects without names are counted from 0."""
        return list(range(self.n_objects) if self.data.index is None else self.data.index)

    @property
    def rmse(self) -> float:
        """Root mean square distance between the bounds of [Bel, Pl] and of the intervals.

        J of Eq. (9) is a sum over n (n - 1) / 2 pairs with two bounds each.  With weights it is
        over pairs of copies, as `irqp` counts them.
        """
        w = self.weights
        n_bounds = w.sum() ** 2 - (w * np.minimum(w, 1.0)).sum()
        return float(np.sqrt(self.objective / n_bounds))

    def parameters(self) -> dict[str, Any]:
        """Parameters of a `CalibratedClustering` that finds this result in these data."""
        options = {field.name: getattr(self.options, field.name) for field in fields(self.options)}
        seed, is_auto = options.pop("seed"), options.pop("is_auto")
        own = {type(fit.family).__name__: type(fit.family) for fit in self.selection.fits.values()}
        models = [own.get(name, name) for name in self.selection.models]
        return options | {
            "n_clusters": "auto" if is_auto else _one_or_all(self.options.n_clusters),
            "model": _one_or_all(models),
            "random_state": seed,
        }

    def frame(self) -> "pd.DataFrame":
        """The data as a DataFrame, with the categories that the codes stand for."""
        return as_frame(self.data)

    @overload
    def intervals_at(
        self, level: float, *, n_jobs: int | None = ..., verbose: int = ...
    ) -> PairwiseIntervals: ...
    @overload
    def intervals_at(
        self, level: Sequence[float], *, n_jobs: int | None = ..., verbose: int = ...
    ) -> list[PairwiseIntervals]: ...
    def intervals_at(
        self, level: float | Sequence[float], *, n_jobs: int | None = None, verbose: int = 0
    ) -> PairwiseIntervals | list[PairwiseIntervals]:
        """Intervals at another level, or at several, from the same replicates."""
        with shown("intervals", verbose) as progress:
            posteriors = self.replicates.posteriors_of(self.data.values, n_jobs=n_jobs)
            return pairwise_intervals(
                posteriors, level, method=self.options.method, n_jobs=n_jobs, progress=progress
            )

    def refit_partition(
        self,
        *,
        level: float | None = None,
        focal_sets: str | ArrayLike | None = None,
        omega: bool | None = None,
        overlap: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> "CalibratedResult":
        """The result with another partition, from the same replicates.

        The arguments that are given replace those of the options.
        """
        options = self.options.replaced(
            self.mixture.n_clusters,
            level=level,
            focal_sets=focal_sets,
            omega=omega,
            overlap=overlap,
        )
        sets, timings = options.sets_for(self.posteriors, self.weights), dict(self.timings)
        with shown("intervals", verbose, timings) as progress:
            intervals = find_intervals(self.replicates, self.data, options, n_jobs, progress)
        with shown("partition", verbose, timings) as progress:
            found = find_partition(intervals, sets, self.posteriors, self.weights, progress)
        return replace(
            self,
            options=options,
            intervals=intervals,
            partition=replace(found.partition, index=self.data.index),
            objective=found.objective,
            timings=timings,
        )

    def predict_masses(self, X: Any, *, n_jobs: int | None = None, verbose: int = 0) -> Array:
        """Masses (m, f) of new objects, each against the fitted ones."""
        values = self.mixture.columns.read(X).values
        return self.masses_of(values, n_jobs=n_jobs, verbose=verbose)

    def masses_of(self, values: Array, *, n_jobs: int | None = None, verbose: int = 0) -> Array:
        """`predict_masses` of checked values (m, d), in which categories are codes."""
        B, (n, f) = len(self.replicates), self.partition.masses.shape
        size = max(1, NEW_VALUES // (B * self.partition.n_clusters + 2 * n))
        known = self.replicates.posteriors_of(self.data.values, n_jobs=n_jobs)
        masses = np.empty((len(values), f))
        with shown("predict", verbose) as progress:
            for first in range(0, len(values), size):
                rows = slice(first, first + size)
                new = self.replicates.posteriors_of(values[rows], n_jobs=n_jobs)
                bounds = cross_intervals(
                    new, known, self.intervals.level, method=self.options.method, n_jobs=n_jobs
                )
                masses[rows] = row_masses(self.partition, *bounds, sample_weight=self.weights)
                if progress is not None:
                    progress("predict", min(1.0, rows.stop / len(values)))
        return masses


def _one_or_all(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def find_intervals(
    replicates: Replicates,
    data: Table,
    options: CalibrationOptions,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> PairwiseIntervals:
    """Algorithm 1, lines 4-11."""
    posteriors = replicates.posteriors_of(data.values, n_jobs=n_jobs)
    return pairwise_intervals(
        posteriors, options.level, method=options.method, n_jobs=n_jobs, progress=progress
    )


def find_partition(
    intervals: PairwiseIntervals,
    sets: BoolArray,
    posteriors: Array,
    weights: Array,
    progress: Progress | None = None,
) -> IRQPResult:
    """Algorithm 2, from the posteriors: so cluster k is component k of the mixture."""
    start = from_posteriors(posteriors, sets)
    return irqp(intervals, sets, sample_weight=weights, start=start, progress=progress)


class Fitted(Protocol):
    """A fitted estimator that keeps its result."""

    @property
    def result_(self) -> CalibratedResult:
        """The result."""


def result_of(model: CalibratedResult | Fitted) -> CalibratedResult:
    """The result itself, or that of a fitted estimator."""
    result = getattr(model, "result_", model)
    if not isinstance(result, CalibratedResult):
        raise InputError(
            "model",
            "be a fitted CalibratedClustering",
            type(model).__name__,
            "Call `fit` first; other clusterings have no replicates to judge.",
        )
    return result
