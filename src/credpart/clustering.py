"""The whole pipeline as one scikit-learn estimator: parameters in, a `CalibratedResult` kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, overload

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credpart._arrays import Array, IntArray
from credpart._bootstrap import Replicates
from credpart._bootstrap.draws import RESAMPLING
from credpart._bootstrap.units import Design
from credpart._checks import check_weights
from credpart._memory import SEARCHED, check_matrices, check_pairs
from credpart.calibration_options import CalibrationOptions
from credpart.diagnostics.diagnosis import summarise, summary_html
from credpart.estimator_outputs import NewObjectsMixin
from credpart.intervals import PairwiseIntervals
from credpart.mixture.fit import N_STARTS, MixtureFit
from credpart.mixture.known_labels import KnownLabels
from credpart.mixture.models import read, with_noise
from credpart.mixture.optimisation.convergence import DEFAULT_TOLERANCE, MAX_ITERATIONS
from credpart.mixture.search.selection import Selection
from credpart.partition import EvidentialPartition
from credpart.pipeline import calibrate
from credpart.result import CalibratedResult, Recommendation

if TYPE_CHECKING:
    import pandas as pd

OF_COLUMNS = ("n_features_in_", "feature_names_in_")  # what scikit-learn keeps of the data


class CalibratedClustering(NewObjectsMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster with belief-plausibility intervals that are confidence intervals.

    As in [D20]_, a mixture is fitted and refitted to bootstrap samples; the replicates give
    confidence intervals on the probability that two objects are in the same cluster; and each
    object gets a mass function on sets of clusters, such that the pairwise belief and
    plausibility match these intervals.

    Parameters
    ----------
    n_clusters : int, iterable of int, or "auto"
        Number of clusters, or numbers to choose from by the criterion; "auto" is 1 to 9, below the
        number of distinct objects.
    model : str, family, or a sequence of these
        Models as in `fit_mixture`: Gaussian structures, "t", "skew-normal", "skew-t",
        "latent-class", "mixed", families of your own.  If there are several, the criterion
        chooses.  "auto" is the 14 Gaussian structures (E and V for one column), or "latent-class"
        or "mixed" for a DataFrame with categories.
    criterion : {"bic", "icl", "aic"}
        How the number of clusters and the model are chosen.
    selection : {"each", "once"}
        Choose the model and the number of clusters again in each replicate, or once as in the
        paper.  Choosing once ignores that the choice itself is uncertain, and makes the intervals
        too short.  By BIC and ICL, which choose too few clusters rather than too many, a replicate
        has at least as many as the best fit.  The partition has the clusters of the best fit in
        either case.
    n_replicates : int
        Number of bootstrap samples, B.
    resampling : {"nonparametric", "bayesian", "parametric"}
        Draws with replacement, Dirichlet weights, or new samples from the fit.
    refit : {"auto", "full", "linear"}
        Whether replicates are refitted by EM.  "auto" takes linear ones, which need one pass over
        the objects, from 10 000 distinct objects on if true refits confirm them, as in `bootstrap`.
    level : float
        Confidence level of the intervals, in (0, 1).
    method : {"percentile", "basic", "normal", "bca", "simultaneous"}
        How intervals are made of replicates, as in `pairwise_intervals`.
    pairs : {"auto", "all"} or int
        "all" compares all pairs of objects, as in the paper.  A number is that of landmarks:
        a sample of the objects is compared pair by pair, and each object with a few weighted
        ones of these only, so that time and memory grow linearly with n.  "auto" is all pairs up
        to 2000 objects and landmarks above, and compares new objects with landmarks.
    focal_sets : {"singletons", "pairs", "overlapping", "full"} or array of shape (f, c)
        Sets of clusters that may carry mass.  "overlapping" takes the pairs of clusters that are
        mutual nearest neighbours: for many clusters.
    omega : bool
        Whether the set of all clusters may carry mass too.
    overlap : int
        With "overlapping": how many nearest neighbours a cluster has.
    weaken : bool
        Whether masses go to the set of all clusters, up to the same amount of each set, until
        [Bel, Pl] holds as many of the replicates as the intervals do.  With many clusters it covers
        too little without; with few, intervals get longer by more than they need.
    tol : float
        Tolerance of EM; mclust's is 1e-5.
    max_iter : int
        Limit on the iterations of a run of EM.
    n_starts : int
        Number of starting partitions, as in `fit_mixture`.
    regularization : {"fallback", "none", "pooled"}
        As in `fit_mixture`.
    missing : {"error", "model"}
        What to do with numbers that are missing (NaN).  "model" fits Gaussian, "t" and
        "contaminated" mixtures to the cells that are seen, and takes the others as missing at
        random; `predict_masses` then takes objects with missing cells too.
    noise : {False, True, "uniform", "contaminated", "auto"}
        Whether an object may belong to no cluster, and then has mass on the empty set.  True or
        "uniform" adds a component for outliers that is uniform over the volume of the data.
        "contaminated" gives each Gaussian component an outlying part, with the same mean and
        inflated covariances.  "auto" tries all models without and with uniform noise, and the
        criterion chooses.
    random_state : int, RandomState, Generator or None
        Seed of the bootstrap, of the k-means starts if ``n_starts`` is above 4, and of the
        subsample that a search of more than 20 000 objects begins with.
    n_jobs : int, optional
        Number of parallel jobs, as in joblib.  The result does not depend on it.
    verbose : int
        If positive, each stage shows a bar with the time left, on a terminal or in a notebook,
        and is logged at level INFO by the logger "credpart".

    Attributes
    ----------
    result_ : CalibratedResult
        All that was found, as one frozen value; the attributes below read from it.
    labels_ : array of shape (n,)
        Cluster of maximum plausibility of each object, from 0; text and tables count from 1.  With
        noise, -1 for an object with most of its mass on the empty set.
    probabilities_ : array of shape (n,)
        Belief of each object's label: how sure it is.
    partition_ : EvidentialPartition
        The mass functions.
    mixture_ : MixtureFit
        The fitted mixture; cluster k of the partition is its component k.
    selection_ : Selection
        All fits that the mixture was chosen from.
    replicates_ : Replicates
        The refitted mixtures.
    intervals_ : PairwiseIntervals
        Confidence intervals on the pairwise probabilities: of all objects, or with landmarks of
        the sample whose rows are ``result_.sample.rows``.
    objective_ : float
        J of Eq. (9): squared distance between the intervals and [Bel, Pl], over all pairs.  With
        landmarks it is an estimate, from the pairs of the sample.
    n_iter_ : int
        Iterations of EM that led to the mixture.
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

    result_: CalibratedResult

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        model: Any = "auto",
        criterion: str = "bic",
        selection: str = "each",
        n_replicates: int = 1000,
        resampling: str = "nonparametric",
        refit: str = "auto",
        level: float = 0.9,
        method: str = "percentile",
        pairs: Any = "auto",
        focal_sets: Any = "pairs",
        omega: bool = False,
        overlap: int = 2,
        weaken: bool = False,
        tol: float = DEFAULT_TOLERANCE,
        max_iter: int = MAX_ITERATIONS,
        n_starts: int = N_STARTS,
        regularization: str = "fallback",
        missing: str = "error",
        noise: Any = False,
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
        self.refit = refit
        self.level = level
        self.method = method
        self.pairs = pairs
        self.focal_sets = focal_sets
        self.omega = omega
        self.overlap = overlap
        self.weaken = weaken
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.regularization = regularization
        self.missing = missing
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        labels: Any = None,
    ) -> Self:
        """Fit the mixture, bootstrap it and build the partition.

        A fit that fails or is interrupted leaves the estimator as it was.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
            The objects.
        y : ignored
            Present for scikit-learn's convention.
        sample_weight : array of shape (n,), optional
            Weights of the objects.  A weight of 2 is the object twice, in every stage.
        groups : array of shape (n,), optional
            Group of each object, such as its donor: bootstrap samples draw whole groups, since
            objects of one group are not independent.
        strata : array of shape (n,), optional
            Stratum of each object: bootstrap samples draw objects, or groups, within each.
        labels : sequence of length n, optional
            What is known already of the cluster of each object: None or -1 for nothing, a cluster
            from 0, or a set of clusters.  Or names of clusters: "A", "A|B", "!C" for any but C.
            The fit, the replicates and the masses respect it, and cluster k is that of label k;
            names are numbered in alphabetical order.
        """
        data, models = read(X, "model", self.model, at_least=2, missing=self.missing)
        models = with_noise(models, self.noise)
        columns = BaseEstimator()  # a blank one, which learns the number and names of the columns
        validate_data(columns, X, skip_check_array=True)
        options, n = self._options(len(models)), len(data.values)
        known = KnownLabels.check(labels, n)
        options = options.with_labels(known)
        c = max(options.n_clusters)
        check_pairs(options.pairs_for(n, c).n_sampled or n, options.n_replicates, c)
        if data.levels is None and any(row.structure is not None for row in models.values()):
            least = min(options.n_clusters)
            check_matrices(data.values.shape[1], least, max(SEARCHED, options.n_replicates))
        weights = check_weights("sample_weight", sample_weight, len(data.values))
        is_new = RESAMPLING[options.resampling].is_new
        design = Design.check(groups, strata, weights, is_new=is_new)
        result = calibrate(
            data, weights, models, options, design, known, n_jobs=self.n_jobs, verbose=self.verbose
        )
        kept = {name: value for name, value in vars(self).items() if name not in OF_COLUMNS}
        # One assignment: an interruption finds the earlier fit or this one, never parts of both.
        self.__dict__ = kept | vars(columns) | {"result_": result}
        return self

    @property
    def labels_(self) -> IntArray:
        """Cluster of maximum plausibility of each object, from 0."""
        return self.result_.labels

    @property
    def partition_(self) -> EvidentialPartition:  # type: ignore[override]
        """The mass functions."""
        return self.result_.partition

    @property
    def mixture_(self) -> MixtureFit:
        """The fitted mixture."""
        return self.result_.mixture

    @property
    def selection_(self) -> Selection:
        """All fits that the mixture was chosen from."""
        return self.result_.selection

    @property
    def replicates_(self) -> Replicates:
        """The refitted mixtures."""
        return self.result_.replicates

    @property
    def intervals_(self) -> PairwiseIntervals:
        """Confidence intervals on the pairwise probabilities, of all objects or of a sample."""
        return self.result_.intervals

    @property
    def objective_(self) -> float:
        """J of Eq. (9), or with landmarks an estimate of it."""
        return self.result_.objective

    @property
    def n_iter_(self) -> int:
        """Iterations of EM that led to the mixture."""
        return self.result_.mixture.n_iter

    @property
    def timings_(self) -> dict[str, float]:
        """Seconds of each stage."""
        return dict(self.result_.timings)

    @overload
    def intervals(
        self, level: float | None = None, *, method: str | None = None
    ) -> PairwiseIntervals: ...
    @overload
    def intervals(
        self, level: Sequence[float], *, method: str | None = None
    ) -> list[PairwiseIntervals]: ...
    def intervals(self, level: Any = None, *, method: str | None = None) -> Any:
        """Intervals at another level, or at several, or by another method.

        They are made of the same replicates, and are those of the same objects as ``intervals_``.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_butterfly
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model.fit(load_butterfly().X).intervals(level=0.95).level
        0.95
        """
        check_is_fitted(self)
        level = self.level if level is None else level
        return self.result_.intervals_at(
            level, method=method, n_jobs=self.n_jobs, verbose=self.verbose
        )

    def refit_partition(
        self,
        *,
        level: float | None = None,
        focal_sets: Any = None,
        omega: bool | None = None,
        overlap: int | None = None,
        weaken: bool | None = None,
    ) -> Self:
        """Build the partition anew, from the same replicates.

        The arguments that are given replace those of the estimator; ``result_`` is replaced, and
        with it ``intervals_``, ``partition_``, ``labels_`` and ``objective_``.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_butterfly
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model.fit(load_butterfly().X).refit_partition(focal_sets="singletons").partition_
        EvidentialPartition(n_objects=11, n_clusters=2, n_focal_sets=2)
        """
        check_is_fitted(self)
        if level is None and self.result_.options.nominal_level != self.level:
            level = self.level  # else it stays the one that an audit recommended for this level
        self.result_ = self.result_.refit_partition(
            level=level,
            focal_sets=self.focal_sets if focal_sets is None else focal_sets,
            omega=self.omega if omega is None else omega,
            overlap=self.overlap if overlap is None else overlap,
            weaken=self.weaken if weaken is None else weaken,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return self

    def recalibrate(self, audit: Recommendation) -> Self:
        """Build intervals and partition anew at the level that an audit recommends.

        The mixtures are not refitted.  ``result_`` is replaced, the parameter ``level`` stays what
        was asked for, and `summary` names both.

        Examples
        --------
        >>> from credpart import CalibratedClustering, audit
        >>> from credpart.datasets import load_butterfly
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model = model.fit(load_butterfly().X)
        >>> found = audit(model, n_datasets=4)
        >>> model.recalibrate(found).intervals_.level == found.recommended_level
        True
        """
        check_is_fitted(self)
        self.result_ = self.result_.recalibrate(audit, n_jobs=self.n_jobs, verbose=self.verbose)
        return self

    def predict_masses(self, X: Any) -> Array:
        """Masses (m, f) of new objects, each against the fitted ones.

        The replicates give the intervals between new objects and landmarks, a few weighted
        objects that stand for the fitted ones, and one quadratic program for each object gives
        its masses; the fitted objects' masses stay as they are.  With ``pairs="all"`` every fitted
        object is a landmark.  Time grows linearly with the number of new objects, and the masses
        of one do not depend on the others.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> model.fit(butterfly[1:]).predict_masses(butterfly[:1]).shape
        (1, 3)
        """
        values = self._checked(X)
        return self.result_.masses_of(values, n_jobs=self.n_jobs, verbose=self.verbose)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of objects under the fitted mixture: larger is better.

        For objects that were held out it compares models and numbers of clusters, as
        `sklearn.model_selection` does.

        Parameters
        ----------
        X : array or DataFrame of shape (m, d)
            The objects.
        y : ignored
            Present for scikit-learn's convention.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_iris
        >>> iris = load_iris().X
        >>> model = CalibratedClustering(3, model="EEE", n_replicates=20, random_state=0)
        >>> round(model.fit(iris[::2]).score(iris[1::2]), 2)
        -2.05
        """
        self._checked(X)
        return float(self.mixture_.log_density(X).mean())

    def _checked(self, X: Any) -> Array:
        """The values (m, d) of new objects, in which categories are codes."""
        check_is_fitted(self)
        values = self.mixture_.columns.check_cells(X).values
        validate_data(self, X, reset=False, skip_check_array=True)
        return values

    def predict(self, X: Any) -> IntArray:
        """Cluster of maximum plausibility of new objects; -1 for an outlier."""
        return self.predict_partition(X).labels_or_outlier

    def summary(self) -> str:
        """Return, as text, what was found and whether to trust it.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_iris
        >>> model = CalibratedClustering(3, model="EEE", n_replicates=200, random_state=0)
        >>> print(model.fit(load_iris().X).summary())
        150 objects, 3 clusters: model EEE, 90 % intervals from 200 replicates
        sure: 128 (85.3 %), in {1} 50, {2} 42, {3} 36
        overlapping: 0 (0.0 %)
        undecided: 22 (14.7 %), between {2,3} 22
        GOOD. Nothing that was checked speaks against this fit; whether its intervals hold their
        level was not checked (no audit); other models were not compared. To check it:
        `diagnose(audit=8)`.
        """
        check_is_fitted(self)
        return summarise(self.result_)

    def profile(self) -> "pd.DataFrame":
        """Return what is in the clusters: one row for each, the largest first.

        The table is that of `CalibratedResult.profile`: sizes with bounds, mean, spread and median
        of each column or the shares of its categories, and how each cluster differs from all
        objects.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_iris
        >>> model = CalibratedClustering(3, model="EEE", n_replicates=50, random_state=0)
        >>> profile = model.fit(load_iris().X).profile()
        >>> profile.loc[2, "cluster"]["set_apart_by"]
        'sepal_width'
        """
        check_is_fitted(self)
        return self.result_.profile()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "model"
        return tags

    def _html_repr(self) -> str:
        html: str = super()._html_repr()
        return html + (summary_html(self.result_) if hasattr(self, "result_") else "")

    def _options(self, n_models: int) -> CalibrationOptions:
        """The checked parameters."""
        return CalibrationOptions.check(
            n_models=n_models,
            n_clusters=self.n_clusters,
            criterion=self.criterion,
            selection=self.selection,
            n_replicates=self.n_replicates,
            resampling=self.resampling,
            refit=self.refit,
            level=self.level,
            method=self.method,
            pairs=self.pairs,
            focal_sets=self.focal_sets,
            omega=self.omega,
            overlap=self.overlap,
            weaken=self.weaken,
            tol=self.tol,
            max_iter=self.max_iter,
            n_starts=self.n_starts,
            regularization=self.regularization,
            noise=self.noise,
            random_state=self.random_state,
        )
