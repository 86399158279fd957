"""The whole pipeline as one estimator: the only module that knows all stages."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credpart._arrays import Array, BoolArray, IntArray
from credpart._bootstrap import bootstrap
from credpart._bootstrap.draws import RESAMPLING
from credpart._checks import (
    Table,
    check_choice,
    check_cluster_numbers,
    check_fraction,
    check_integer,
    check_weights,
)
from credpart._columns import sortable
from credpart._memory import check_pairs
from credpart._messages import Message, Name
from credpart._progress import Progress, shown
from credpart._random import seed_sequence
from credpart.diagnostics.diagnosis import summarise, summary_html
from credpart.errors import InputError
from credpart.focal import KINDS, check_focal_sets, cluster_similarity, focal_sets
from credpart.intervals import PairwiseIntervals, cross_intervals, pairwise_intervals
from credpart.masses import irqp, row_masses
from credpart.masses.starts import from_posteriors
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.fit import (
    N_STARTS,
    REGULARIZATIONS,
    SearchOptions,
    fit_one,
)
from credpart.mixture.models import Model, read
from credpart.mixture.optimisation.convergence import DEFAULT_TOLERANCE, MAX_ITERATIONS
from credpart.mixture.search.selection import AUTO, Selection, select
from credpart.partition import EvidentialPartition

SELECTIONS = ("each", "once")
NEW_VALUES = 1 << 22  # posteriors and bounds of the new objects that are worked on together


class CalibratedClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster with belief-plausibility intervals that are confidence intervals.

    As in [D20]_, a mixture is fitted and refitted to bootstrap samples; the replicates give
    confidence intervals on the probability that two objects are in the same cluster; and each
    object gets a mass function on sets of clusters, such that the pairwise belief and
    plausibility match these intervals.

    Parameters
    ----------
    n_clusters : int, iterable of int, or "auto"
        Number of clusters, or numbers to choose from by the criterion; "auto" is 1 to 9.
    model : str, family, or a sequence of these
        Models as in `fit_mixture`: Gaussian structures, "t", "skew-normal", "skew-t",
        "latent-class", "mixed", families of your own.  Several are chosen among.  "auto" is the 14
        Gaussian structures, or "latent-class" or "mixed" for a DataFrame with categories.
    criterion : {"bic", "icl", "aic"}
        How the number of clusters and the model are chosen.
    selection : {"each", "once"}
        Choose the model again in each replicate, or once as in the paper.  Choosing once
        ignores that the choice itself is uncertain, and makes the intervals too short.
    n_replicates : int
        Number of bootstrap samples, B.
    resampling : {"nonparametric", "bayesian", "parametric"}
        Draws with replacement, Dirichlet weights, or new samples from the fit.
    level : float
        Confidence level of the intervals, in (0, 1).
    focal_sets : {"singletons", "pairs", "overlapping", "full"} or array of shape (f, c)
        Sets of clusters that may carry mass.  "overlapping" takes the pairs of clusters that are
        mutual nearest neighbours: for many clusters.
    omega : bool
        Whether the set of all clusters may carry mass too.
    overlap : int
        With "overlapping": how many nearest neighbours a cluster has.
    tol : float
        Tolerance of EM; mclust's is 1e-5.
    regularization : {"fallback", "none", "pooled"}
        As in `fit_mixture`.
    random_state : int, RandomState, Generator or None
        Seed of the bootstrap.
    n_jobs : int, optional
        Jobs, as in joblib; the result is the same to the byte for any number.
    verbose : int
        If positive, each stage shows a bar with the time left, on a terminal or in a notebook,
        and is logged at level INFO by the logger "credpart".

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of maximum plausibility of each object, from 0; text and tables count from 1.
    partition_ : EvidentialPartition
        The mass functions.
    mixture_ : MixtureFit
        The fitted mixture; cluster k of the partition is its component k.
    selection_ : Selection
        All fits that the mixture was chosen from.
    replicates_ : Replicates
        The refitted mixtures.
    intervals_ : PairwiseIntervals
        Confidence intervals on the pairwise probabilities.
    objective_ : float
        J of Eq. (9): squared distance between the intervals and [Bel, Pl], over all pairs.
    timings_ : dict
        Seconds of each stage: select, bootstrap, intervals, partition.

    References
    ----------
    .. [D20] Denoeux: Calibrated model-based evidential clustering using bootstrapping.
       Information Sciences 528, 2020.

    Examples
    --------
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris().X
    >>> model = CalibratedClustering(3, model="VEV", n_replicates=100, random_state=0).fit(iris)
    >>> model.partition_.n_clusters
    3
    >>> belief, plausibility = model.partition_.pairwise()
    >>> bool(belief[0, 1] > 0.99)  # two setosas
    True
    """

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        model: Any = "auto",
        criterion: str = "bic",
        selection: str = "each",
        n_replicates: int = 1000,
        resampling: str = "nonparametric",
        level: float = 0.9,
        focal_sets: Any = "pairs",
        omega: bool = False,
        overlap: int = 2,
        tol: float = DEFAULT_TOLERANCE,
        regularization: str = "fallback",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.model = model
        self.criterion = criterion
        self.selection = selection
        self.n_replicates = n_replicates
        self.resampling = resampling
        self.level = level
        self.focal_sets = focal_sets
        self.omega = omega
        self.overlap = overlap
        self.tol = tol
        self.regularization = regularization
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture, bootstrap it and build the partition.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
            The objects.
        y : ignored
            Present for scikit-learn's convention.
        sample_weight : array of shape (n,), optional
            Weights of the objects.
        """
        table, models = read(X, "model", self.model, at_least=2)
        validate_data(self, X, skip_check_array=True)
        numbers = self._check_parameters(len(models))
        check_pairs(len(table.values), self.n_replicates, min(numbers))
        weights = check_weights("sample_weight", sample_weight, len(table.values))
        seed = seed_sequence(self.random_state)
        # codes of categories mean nothing without their levels
        self._fit_X = table.values if table.levels is None else table._replace(index=None)
        self._fit_weights, self._index = weights, table.index
        self.timings_: dict[str, float] = {}

        with shown("select", self.verbose, self.timings_) as progress:
            self.selection_ = self._select(table, weights, numbers, models, progress)
            self.mixture_ = self.selection_.best
        with shown("bootstrap", self.verbose, self.timings_) as progress:  # Algorithm 1, lines 1-3
            self.replicates_ = bootstrap(
                table,
                self._contenders(),
                self.n_replicates,
                resampling=self.resampling,
                criterion=self.criterion,
                sample_weight=weights,
                regularization=self.regularization,
                tol=self.tol,
                random_state=seed,
                n_jobs=self.n_jobs,
                progress=progress,
            )
        return self.refit_partition()

    @overload
    def intervals(self, level: float | None = None) -> PairwiseIntervals: ...
    @overload
    def intervals(self, level: Sequence[float]) -> list[PairwiseIntervals]: ...
    def intervals(self, level: Any = None) -> Any:
        """Intervals at another level, or at several, from the same replicates.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_butterfly
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model.fit(load_butterfly().X).intervals(level=0.95).level
        0.95
        """
        check_is_fitted(self, "replicates_")
        with shown("intervals", self.verbose, self.timings_) as progress:  # Algorithm 1, lines 4-11
            posteriors = self.replicates_.posteriors(self._fit_X, n_jobs=self.n_jobs)
            level = self.level if level is None else level
            return pairwise_intervals(posteriors, level, n_jobs=self.n_jobs, progress=progress)

    def refit_partition(
        self,
        *,
        level: float | None = None,
        focal_sets: Any = None,
        omega: bool | None = None,
        overlap: int | None = None,
    ) -> Self:
        """Build the partition anew, from the same replicates.

        The arguments that are given replace those of the estimator; ``intervals_``,
        ``partition_``, ``labels_`` and ``objective_`` are replaced.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_butterfly
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model.fit(load_butterfly().X).refit_partition(focal_sets="singletons").partition_
        EvidentialPartition(n_objects=11, n_clusters=2, n_focal_sets=2)
        """
        check_is_fitted(self, "replicates_")
        posteriors = self.mixture_.posteriors(self._fit_X)
        focal = self._focal_sets(posteriors, focal_sets, omega, overlap)
        self.intervals_: PairwiseIntervals = self.intervals(level)
        with shown("partition", self.verbose, self.timings_) as progress:  # Algorithm 2
            start = from_posteriors(posteriors, focal)
            result = irqp(self.intervals_, focal, start=start, progress=progress)
        self.partition_ = EvidentialPartition(result.partition.masses, focal, index=self._index)
        self.objective_ = result.objective
        self.labels_ = self.partition_.labels
        return self

    def predict_masses(self, X: Any) -> Array:
        """Masses (m, f) of new objects, each against the fitted ones.

        The replicates give the intervals between new and fitted objects, and one quadratic
        program an object gives its masses; the fitted objects' masses stay as they are.  Time
        grows linearly with the number of new objects.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model.fit(butterfly[1:]).predict_masses(butterfly[:1]).shape
        (1, 3)
        """
        check_is_fitted(self, "partition_")
        table = self.mixture_.columns.check_cells(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        B, (n, f) = len(self.replicates_), self.partition_.masses.shape
        size = max(1, NEW_VALUES // (B * self.partition_.n_clusters + 2 * n))
        known = self.replicates_.posteriors(self._fit_X, n_jobs=self.n_jobs)
        masses = np.empty((len(table.values), f))
        with shown("predict", self.verbose) as progress:
            for first in range(0, len(masses), size):
                rows = slice(first, first + size)
                some = table._replace(values=table.values[rows])
                new = self.replicates_.posteriors(some, n_jobs=self.n_jobs)
                bounds = cross_intervals(new, known, self.intervals_.level, n_jobs=self.n_jobs)
                masses[rows] = row_masses(self.partition_, *bounds)
                if progress is not None:
                    progress("predict", min(1.0, rows.stop / len(masses)))
        return masses

    def predict(self, X: Any) -> IntArray:
        """Cluster of maximum plausibility of new objects."""
        masses = self.predict_masses(X)
        return EvidentialPartition(masses, self.partition_.focal_sets).labels

    def summary(self) -> str:
        """Return, as text, what was found and whether to trust it.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_iris
        >>> model = CalibratedClustering(3, model="EEE", n_replicates=200, random_state=0)
        >>> print(model.fit(load_iris().X).summary())
        150 objects, 3 clusters: model EEE, 90 % intervals from 200 replicates
        certain: 140 (93.3 %), in {1} 50, {2} 46, {3} 44
        ambiguous: 10 (6.7 %), in {2,3} 10
        GOOD. This fit passes every check: its intervals can be taken at their level.
        """
        check_is_fitted(self, "partition_")
        return summarise(self)

    def _html_repr(self) -> str:
        html: str = super()._html_repr()
        return html + (summary_html(self) if hasattr(self, "partition_") else "")

    def _check_parameters(self, n_models: int) -> list[int]:
        """Refuse bad parameters before anything is computed; return numbers of clusters to try."""
        numbers = check_cluster_numbers(self.n_clusters, auto=AUTO)
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("selection", self.selection, SELECTIONS)
        check_choice("resampling", self.resampling, RESAMPLING)
        check_choice("regularization", self.regularization, REGULARIZATIONS)
        check_integer("overlap", self.overlap, at_least=1)
        _check_sets(self.focal_sets, self.omega, numbers)
        level = check_fraction("level", self.level)
        B = check_integer("n_replicates", self.n_replicates, at_least=1)
        needed = math.ceil(2.0 / (1.0 - level) * (1.0 - 1e-12))
        if needed > B:
            enough = f"be at least 2 / (1 - level) = {needed} for level {level:g}"
            raise InputError("n_replicates", enough, B)
        if self.regularization == "pooled" and not len(numbers) == n_models == 1:
            raise InputError(
                "regularization",
                "be 'fallback' or 'none' where the model or the number of clusters is chosen",
                "pooled",
                Message("Give one ", Name("model"), " and one ", Name("n_clusters"), "."),
            )
        return numbers

    def _select(
        self,
        table: Table,
        weights: Array,
        numbers: list[int],
        models: Mapping[str, Model],
        progress: Progress | None,
    ) -> Selection:
        """All fits that the mixture is chosen from."""
        options = SearchOptions.check(self.tol, MAX_ITERATIONS, N_STARTS, 0, self.n_jobs)
        if len(numbers) == len(models) == 1:
            fit = fit_one(table, weights, numbers[0], models, options, self.regularization)
            cell = numbers[0], fit.model
            return Selection({cell: fit}, {}, self.criterion, (cell[0],), (cell[1],))
        if isinstance(self.n_clusters, str):  # "auto" asks for no more than the data can carry
            distinct = len(np.unique(sortable(table.values[weights > 0.0]), axis=0))
            numbers = [c for c in numbers if c < distinct] or numbers[:1]
        return select(table, weights, numbers, models, options, self.criterion, progress)

    def _contenders(self) -> list[Any]:
        """The fits that replicates choose among, the best one first."""
        best = self.mixture_
        if self.selection == "once":
            return [best]
        fits = self.selection_.fits.values()
        return [best, *(f for f in fits if f.n_clusters == best.n_clusters and f is not best)]

    def _focal_sets(
        self, posteriors: Array, kind: Any, omega: bool | None, overlap: int | None
    ) -> BoolArray:
        return focal_sets(
            self.mixture_.n_clusters,
            self.focal_sets if kind is None else kind,
            omega=self.omega if omega is None else omega,
            overlap=self.overlap if overlap is None else overlap,
            similarity=cluster_similarity(posteriors),
        )


def _check_sets(kind: Any, omega: Any, numbers: Sequence[int]) -> None:
    """Refuse what `focal_sets` will refuse, as far as it is known before the fit."""
    if not isinstance(omega, bool | np.bool_):
        raise InputError("omega", "be True or False", omega)
    c = max(numbers)
    if isinstance(kind, str):
        check_choice("focal_sets", kind, KINDS)
    elif len(numbers) == 1:
        kind = check_focal_sets(kind, n_clusters=c)
    else:
        return
    focal_sets(c, kind, similarity=np.eye(c))
