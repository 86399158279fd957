"""ECM and RECM as estimators."""

from functools import partial
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from credpart._arrays import Array, IntArray
from credpart._checks import check_choice, check_data, check_positive
from credpart.dissimilarities import METRICS, check_distinct, dissimilarities
from credpart.ecm.criterion import best_masses, mass_costs
from credpart.ecm.search import Settings, drawn_starts, far_distance, search, warn_if_empty
from credpart.ecm.spaces import Points, Relations
from credpart.errors import InputError
from credpart.estimator_outputs import FittedObjectsMixin, NewObjectsMixin

DEFAULT_TOLERANCE = 2e-12  # small, but well above rounding
MAX_COMPARED = 1000  # objects whose distances say which `delta` is usual


class ECM(NewObjectsMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Evidential c-means: k-means with prototypes for sets of clusters too.

    See [MD08]_.  A set of clusters is represented by the barycentre of their centres; an object
    far from all of them is given to the empty set.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, c.
    alpha : float
        How much large sets are penalised: by their size to this power.
    beta : float
        How soft the masses are, > 1.
    delta : float
        Distance of every object to the empty set, in the units of the data: outliers are farther
        from all centres than this.  If the data are multiplied by a number, multiply ``delta`` by
        it too, and the masses stay the same.  Where the data are so wide that most of the mass
        ends on the empty set, a warning says so and suggests a value.
    focal_sets : {"singletons", "pairs", "overlapping", "full"} or array of shape (f, c)
        Sets of clusters that may carry mass, besides the empty one.  "overlapping" adds to the
        singletons the pairs of clusters that are mutual nearest neighbours, by the plausibilities
        of a first run with singletons.
    omega : bool
        Whether the set of all clusters may carry mass too; "full" has it anyway.
    overlap : int
        With "overlapping": how many nearest neighbours a cluster has.
    start : {"kmeans", "random"} or array of shape (c, d), optional
        Centres to begin with: those of k-means (the default), objects drawn apart from each
        other, or given ones.
    n_trials : int
        Number of starts, of which the best result is kept; 1 with given centres.
    tol : float
        Ends the search when the criterion falls by no more than this share of it.  Masses then
        are within some 1e-6 of the minimum's.
    max_iter : int
        Limit on the iterations.
    random_state : int, RandomState, Generator or None
        Seed of the starts.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of maximum plausibility of each object.
    probabilities_ : array of shape (n,)
        Belief of each object's label: how sure it is.
    partition_ : EvidentialPartition
        The mass functions, with the empty set first.
    centers_ : array of shape (c, d)
        Centres of the clusters.
    objective_ : float
        The criterion at its minimum.
    n_iter_ : int
        Number of iterations of the best trial.

    References
    ----------
    .. [MD08] Masson, Denoeux: ECM: an evidential version of the fuzzy c-means algorithm.
       Pattern Recognition 41, 2008.

    Examples
    --------
    >>> from credpart import ECM
    >>> from credpart.datasets import load_butterfly
    >>> model = ECM(2, delta=100, random_state=0).fit(load_butterfly().X)
    >>> int(model.partition_.set_labels[5])  # row 3 of the focal sets: the sixth point is between
    3
    >>> model.partition_.focal_sets[3].tolist()
    [True, True]
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float = 10.0,
        focal_sets: Any = "full",
        omega: bool = False,
        overlap: int = 1,
        start: Any = None,
        n_trials: int = 1,
        tol: float = DEFAULT_TOLERANCE,
        max_iter: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.focal_sets = focal_sets
        self.omega = omega
        self.overlap = overlap
        self.start = start
        self.n_trials = n_trials
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Minimise the criterion.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
            The objects.
        y : ignored
            Present for scikit-learn's convention.
        """
        table = check_data(X, at_least=2)
        validate_data(self, X, skip_check_array=True)
        settings = Settings.of(self)
        delta = check_positive("delta", self.delta)
        check_distinct(table.values, settings.n_clusters)

        origin = table.values.mean(axis=0)  # distances between large coordinates would lose digits
        points = Points(table.values - origin)
        if settings.start is None or isinstance(settings.start, str):
            starts = drawn_starts(points, len(table.values), settings)
        else:
            starts = [self._given_centers() - origin]
        fit = search(points, starts, delta, settings)
        some = points.X[:: -(-len(points.X) // MAX_COMPARED)]
        warn_if_empty(fit, lambda: far_distance(pdist(some)))
        self._criterion, self._origin = fit.criterion, origin
        self._centers = fit.descent.centers  # about the origin: exact, where `centers_` is rounded
        self.partition_ = fit.partition(table.index)
        self.centers_: Array = self._centers + origin
        self.objective_ = fit.descent.objective
        self.n_iter_ = fit.descent.n_iter
        self.labels_ = self.partition_.labels
        return self

    def predict_masses(self, X: Any) -> Array:
        """Masses (m, f) of new objects, given the centres.

        Examples
        --------
        >>> from credpart import ECM
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> model = ECM(2, delta=100, random_state=0).fit(butterfly)
        >>> bool(abs(model.predict_masses(butterfly) - model.partition_.masses).max() < 1e-8)
        True
        """
        check_is_fitted(self, "partition_")
        values = check_data(X).values
        validate_data(self, X, reset=False, skip_check_array=True)
        criterion, points = self._criterion, Points(values - self._origin)
        d2 = points.squared_distances(self._centers, criterion.shares)
        return best_masses(mass_costs(criterion, d2), criterion.beta)

    def _given_centers(self) -> Array:
        centers = check_data(self.start, name="start").values
        wanted = (self.n_clusters, self.n_features_in_)
        if centers.shape != wanted:
            raise InputError("start", f"have shape {wanted}", centers.shape)
        return centers


class RECM(FittedObjectsMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Relational evidential c-means: ECM of objects known by their dissimilarities.

    See [MD09]_.  With Euclidean distances it is ECM.  With others a squared distance to a centre
    may become negative; as in [HB94]_, the least constant that prevents it is then added to the
    squared dissimilarities, and half of it to the square of `delta`.

    Parameters
    ----------
    n_clusters, alpha, beta, focal_sets, omega, overlap, n_trials, tol, max_iter, random_state
        As in `ECM`.
    delta : float, optional
        Distance to the empty set, in the units of the dissimilarities; by default their 0.95
        quantile.
    metric : {"euclidean", "precomputed"}
        Whether ``X`` holds attributes, or dissimilarities (not squared).
    start : {"kmeans", "random"} or array of shape (c,), optional
        As in `ECM`; an array names c objects, from 0, to begin with as centres.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of maximum plausibility of each object.
    probabilities_ : array of shape (n,)
        Belief of each object's label: how sure it is.
    partition_ : EvidentialPartition
        The mass functions, with the empty set first.
    coefficients_ : array of shape (c, n)
        What the objects contribute to each centre; rows sum to 1.
    objective_ : float
        The criterion at its minimum.
    n_iter_ : int
        Number of iterations of the best trial.
    delta_ : float
        The distance to the empty set.
    spread_ : float
        The constant that was added to the squared dissimilarities.

    References
    ----------
    .. [MD09] Masson, Denoeux: RECM: relational evidential c-means algorithm.  Pattern
       Recognition Letters 30, 2009.
    .. [HB94] Hathaway, Bezdek: NERF c-means: non-Euclidean relational fuzzy clustering.  Pattern
       Recognition 27, 1994.

    Examples
    --------
    >>> from credpart import RECM
    >>> D = [[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]]
    >>> labels = RECM(2, metric="precomputed", random_state=0).fit(D).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        metric: str = "euclidean",
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float | None = None,
        focal_sets: Any = "full",
        omega: bool = False,
        overlap: int = 1,
        start: Any = None,
        n_trials: int = 1,
        tol: float = DEFAULT_TOLERANCE,
        max_iter: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.focal_sets = focal_sets
        self.omega = omega
        self.overlap = overlap
        self.start = start
        self.n_trials = n_trials
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Minimise the criterion.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d) or (n, n)
            The objects, or their dissimilarities: see `metric`.
        y : ignored
            Present for scikit-learn's convention.
        """
        check_choice("metric", self.metric, METRICS)
        given = dissimilarities(X, self.metric)
        validate_data(self, X, skip_check_array=True)
        settings = Settings.of(self)
        check_distinct(given.values, settings.n_clusters)

        D = given.all()
        far = partial(far_distance, D[np.triu_indices(len(D), 1)])
        self.delta_ = check_positive("delta", far() if self.delta is None else self.delta)
        space = Relations(D**2)
        if settings.start is None or isinstance(settings.start, str):
            starts = drawn_starts(space, len(D), settings)
        else:
            starts = [space.objects(self._given_objects(len(D)))]
        fit = search(space, starts, self.delta_, settings)
        warn_if_empty(fit, far)
        self.partition_ = fit.partition(given.index)
        self.coefficients_ = fit.descent.centers
        self.spread_ = fit.descent.space.constant
        self.objective_ = fit.descent.objective
        self.n_iter_ = fit.descent.n_iter
        self.labels_ = self.partition_.labels
        return self

    def _given_objects(self, n: int) -> IntArray:
        rows = np.asarray(self.start)
        good = rows.shape == (self.n_clusters,) and rows.dtype.kind in "iu"
        if not good or rows.min() < 0 or rows.max() >= n or len(np.unique(rows)) < len(rows):
            wanted = f"be {self.n_clusters} distinct objects in 0..{n - 1}"
            raise InputError("start", wanted, self.start)
        return rows.astype(np.intp)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        return tags
