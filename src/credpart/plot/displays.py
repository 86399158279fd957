"""Pictures of fitted estimators, by scikit-learn's convention for displays.

A display keeps what it shows and draws it as often as wanted: ``from_estimator`` draws at once,
``plot`` again, and ``ax_`` and ``figure_`` are where it was drawn last.
"""

from typing import Any, Protocol, Self

from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from sklearn.utils.validation import check_is_fitted

from credpart.intervals import PairwiseIntervals
from credpart.mixture.search.selection import Selection
from credpart.partition import EvidentialPartition
from credpart.plot.bars import memberships
from credpart.plot.curves import selection
from credpart.plot.object_maps import partition
from credpart.plot.pairwise import approximation
from credpart.result import CalibratedResult, Fitted, result_of


class HasPartition(Protocol):
    """A fitted estimator of any kind that keeps its partition."""

    @property
    def partition_(self) -> EvidentialPartition:
        """The partition."""


def _partition_of(model: CalibratedResult | HasPartition) -> EvidentialPartition:
    if isinstance(model, CalibratedResult):
        return model.partition
    check_is_fitted(model, "partition_")
    return model.partition_


def _result_of(model: CalibratedResult | Fitted) -> CalibratedResult:
    if not isinstance(model, CalibratedResult):
        check_is_fitted(model)  # scikit-learn's own error
    return result_of(model)


class Display:
    """What all displays share."""

    ax_: Axes
    figure_: FigureBase

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw on ``ax``, or on a new figure, and return the display."""
        self.ax_ = self._draw(ax=ax, **options)
        self.figure_ = self.ax_.figure
        return self

    def _draw(self, **options: Any) -> Axes:
        raise NotImplementedError


class PartitionDisplay(Display):
    """The partition of a fitted estimator, as `plot.partition` draws it.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    X : array or DataFrame of shape (n, d)
        The objects.

    Examples
    --------
    >>> from credpart import ECM, plot
    >>> from credpart.datasets import load_butterfly
    >>> butterfly = load_butterfly().X
    >>> model = ECM(2, delta=100, random_state=0).fit(butterfly)
    >>> display = plot.PartitionDisplay.from_estimator(model, butterfly, annotate=[5])
    >>> display.ax_.texts[0].get_text()
    '5'
    """

    def __init__(self, partition: EvidentialPartition, X: Any) -> None:
        self.partition = partition
        self.X = X

    @classmethod
    def from_estimator(
        cls,
        estimator: CalibratedResult | HasPartition,
        X: Any,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the partition of an estimator fitted to ``X``; options as in `plot.partition`."""
        return cls(_partition_of(estimator), X).plot(ax=ax, **options)

    def _draw(self, **options: Any) -> Axes:
        return partition(self.partition, self.X, **options)


class MembershipsDisplay(Display):
    """The masses of a fitted estimator, as `plot.memberships` draws them.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.

    Examples
    --------
    >>> from credpart import ECM, plot
    >>> from credpart.datasets import load_butterfly
    >>> model = ECM(2, delta=100, random_state=0).fit(load_butterfly().X)
    >>> plot.MembershipsDisplay.from_estimator(model).ax_.get_ylabel()
    'mass'
    """

    def __init__(self, partition: EvidentialPartition) -> None:
        self.partition = partition

    @classmethod
    def from_estimator(
        cls, estimator: CalibratedResult | HasPartition, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the masses of a fitted estimator; options as in `plot.memberships`."""
        return cls(_partition_of(estimator)).plot(ax=ax, **options)

    def _draw(self, **options: Any) -> Axes:
        return memberships(self.partition, **options)


class SelectionDisplay(Display):
    """How a fitted `CalibratedClustering` chose its mixture, as `plot.selection` draws it.

    Parameters
    ----------
    selection : Selection
        The fits.

    Examples
    --------
    >>> from credpart import CalibratedClustering, plot
    >>> from credpart.datasets import load_butterfly
    >>> model = CalibratedClustering([1, 2], model="EII", n_replicates=20, random_state=0)
    >>> display = plot.SelectionDisplay.from_estimator(model.fit(load_butterfly().X))
    >>> display.ax_.get_xlabel()
    'number of clusters'
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    @classmethod
    def from_estimator(
        cls, estimator: CalibratedResult | Fitted, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the selection of a fitted estimator; options as in `plot.selection`."""
        return cls(_result_of(estimator).selection).plot(ax=ax, **options)

    def _draw(self, **options: Any) -> Axes:
        return selection(self.selection, **options)


class ApproximationDisplay(Display):
    """How well the partition matches the intervals, as `plot.approximation` draws it.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    intervals : PairwiseIntervals
        What it approximates.

    Examples
    --------
    >>> from credpart import CalibratedClustering, plot
    >>> from credpart.datasets import load_butterfly
    >>> model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    >>> display = plot.ApproximationDisplay.from_estimator(model.fit(load_butterfly().X))
    >>> display.plot(bound="upper").ax_.get_ylabel()
    'plausibility $Pl_{ij}$'
    """

    def __init__(self, partition: EvidentialPartition, intervals: PairwiseIntervals) -> None:
        self.partition = partition
        self.intervals = intervals

    @classmethod
    def from_estimator(
        cls, estimator: CalibratedResult | Fitted, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw a fitted `CalibratedClustering`; options as in `plot.approximation`."""
        result = _result_of(estimator)
        return cls(result.compared, result.intervals).plot(ax=ax, **options)

    def _draw(self, **options: Any) -> Axes:
        return approximation(self.partition, self.intervals, **options)
