"""EVCLUS as an estimator."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from credpart._arrays import Array, BoolArray
from credpart._checks import check_choice, check_fraction, check_integer
from credpart._irqp.descent import Descent, descend
from credpart._messages import Name
from credpart._random import random_generator
from credpart._threads import one_blas_thread
from credpart.dissimilarities import METRICS, Dissimilarities, check_distinct, dissimilarities
from credpart.errors import ConvergenceWarning, InputError, warn_caller
from credpart.estimator_outputs import FittedObjectsMixin
from credpart.evclus.conflicts import Conflicts, all_conflicts, sampled_conflicts
from credpart.focal import KINDS, cluster_similarity, focal_sets
from credpart.partition import EvidentialPartition
from credpart.partition.special import check_masses

SMALL_STRESS = 0.01  # below this, changes are no longer relative to the stress
BY_A_FIRST_RUN = frozenset({"overlapping"})  # sets that depend on a run with singletons


class EVCLUS(FittedObjectsMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Evidential clustering of dissimilarities, also of large data.

    See [DM04]_ and, for large data, [DSK16]_.

    Masses are sought whose degree of conflict, for each pair of objects, is like their
    dissimilarity: the more alike two objects are, the more plausible it is that they are in the
    same cluster.  Neither clusters nor dissimilarities need a shape or a metric.  An object that
    is unlike all others is given to the empty set.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, c.
    n_neighbors : int, optional
        k-EVCLUS: fit only the dissimilarities with k other objects drawn at random for each
        object; time and memory are then linear in n.  By default, and from n - 1 on, all are.
    metric : {"euclidean", "precomputed"}
        Whether ``X`` holds attributes, or dissimilarities.
    focal_sets : {"singletons", "pairs", "overlapping", "full"} or array of shape (f, c)
        Sets of clusters that may carry mass, besides the empty one.  "overlapping" adds to the
        singletons the pairs of clusters that are mutual nearest neighbours, by the plausibilities
        of a first run with singletons.
    omega : bool
        Whether the set of all clusters may carry mass too.
    overlap : int
        With "overlapping": how many nearest neighbours a cluster has.
    quantile : float
        Which quantile of the dissimilarities is d0, at which the conflict should be 0.95.
    start : {"random"} or array of shape (n, f), optional
        Masses to begin with, by default random ones; with "overlapping", those of the first run.
    n_trials : int
        Number of starts, of which the best result is kept; 1 with given masses.
    tol : float
        Ends the search when the running mean of the changes of the stress, relative to it or to
        0.01 if that is more, is lower; see `irqp`.
    max_sweeps : int
        Limit on the passes over all objects.
    random_state : int, RandomState, Generator or None
        Seed of the starts and of the pairs drawn.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of maximum plausibility of each object.
    probabilities_ : array of shape (n,)
        Belief of each object's label: how sure it is.
    partition_ : EvidentialPartition
        The mass functions, with the empty set first.
    objective_ : float
        The stress: the sum over pairs of squared differences between conflict and transformed
        dissimilarity, divided by that of the squared transformed dissimilarities.
    history_ : array of shape (n_sweeps,)
        The stress after each sweep; it never rises.
    d0_ : float
        The dissimilarity at which the conflict should be 0.95.

    References
    ----------
    .. [DM04] Denoeux, Masson: EVCLUS: evidential clustering of proximity data.  IEEE Transactions
       on Systems, Man and Cybernetics B 34, 2004.
    .. [DSK16] Denoeux, Sriboonchitta, Kanjanatarakul: Evidential clustering of large
       dissimilarity data.  Knowledge-Based Systems 106, 2016.

    Examples
    --------
    >>> from credpart import EVCLUS
    >>> D = [[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]]
    >>> labels = EVCLUS(2, metric="precomputed", random_state=0).fit(D).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        n_neighbors: int | None = None,
        metric: str = "euclidean",
        focal_sets: Any = "pairs",
        omega: bool = True,
        overlap: int = 1,
        quantile: float = 0.9,
        start: Any = None,
        n_trials: int = 1,
        tol: float = 1e-5,
        max_sweeps: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.focal_sets = focal_sets
        self.omega = omega
        self.overlap = overlap
        self.quantile = quantile
        self.start = start
        self.n_trials = n_trials
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the masses to the dissimilarities.

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
        self._check_parameters()
        check_distinct(given.values, self.n_clusters)
        rng = random_generator(self.random_state)

        with one_blas_thread():
            conflicts = self._conflicts(given, rng)
            focal, found = self._search(conflicts, len(given.values), rng)
        if not found.converged:
            ended = f"EVCLUS had not converged after {self.max_sweeps} sweeps; raise "
            warn_caller(ConvergenceWarning(ended, Name("max_sweeps"), " or ", Name("tol"), "."))
        self.partition_ = EvidentialPartition(found.masses, focal, index=given.index)
        self.history_ = found.history / conflicts.total
        self.objective_ = float(self.history_[-1])
        self.d0_ = conflicts.d0
        self.labels_ = self.partition_.labels
        return self

    def _check_parameters(self) -> None:
        """Refuse bad parameters before anything is computed."""
        check_integer("n_clusters", self.n_clusters, at_least=1)
        if self.n_neighbors is not None:
            check_integer("n_neighbors", self.n_neighbors, at_least=1)
        if isinstance(self.focal_sets, str):
            check_choice("focal_sets", self.focal_sets, KINDS)
        if isinstance(self.start, str):
            check_choice("start", self.start, ("random",))
        check_integer("overlap", self.overlap, at_least=1)
        check_fraction("quantile", self.quantile)
        check_integer("n_trials", self.n_trials, at_least=1)
        check_fraction("tol", self.tol)
        check_integer("max_sweeps", self.max_sweeps, at_least=1)

    def _conflicts(self, given: Dissimilarities, rng: np.random.Generator) -> Conflicts:
        if self.n_neighbors is None or self.n_neighbors >= len(given.values) - 1:
            return all_conflicts(given, self.quantile)
        return sampled_conflicts(given, self.quantile, self.n_neighbors, rng)

    def _search(
        self, conflicts: Conflicts, n: int, rng: np.random.Generator
    ) -> tuple[BoolArray, Descent]:
        """Return the focal sets, and the best descent of all trials.

        Where sets depend on which clusters overlap, that is seen from a first run with
        singletons, and the second one starts from its masses, so that its clusters are the same.
        """
        if not (isinstance(self.focal_sets, str) and self.focal_sets in BY_A_FIRST_RUN):
            focal = self._focal_sets(self.focal_sets)
            return focal, self._best(conflicts, focal, self._starts(n, len(focal), rng))
        simple = self._focal_sets("singletons")
        first = self._best(conflicts, simple, self._starts(n, len(simple), rng))
        plausibility = EvidentialPartition(first.masses, simple).normalize().plausibility()
        focal = self._focal_sets(self.focal_sets, cluster_similarity(plausibility))
        return focal, self._best(conflicts, focal, [_widened(first.masses, simple, focal)])

    def _focal_sets(self, kind: Any, similarity: Array | None = None) -> BoolArray:
        return focal_sets(
            self.n_clusters,
            kind,
            omega=self.omega,
            empty=True,
            similarity=similarity,
            overlap=self.overlap,
        )

    def _starts(self, n: int, f: int, rng: np.random.Generator) -> list[Array]:
        if self.start is None or isinstance(self.start, str):
            return [rng.dirichlet(np.ones(f), size=n) for _ in range(self.n_trials)]
        masses = check_masses("start", self.start).values
        if masses.shape != (n, f):
            raise InputError("start", f"have shape {(n, f)}", masses.shape)
        return [masses]

    def _best(self, conflicts: Conflicts, focal: BoolArray, starts: list[Array]) -> Descent:
        pairs = conflicts.pairs(focal)
        floor = SMALL_STRESS * conflicts.total
        descents = [
            descend(pairs, M, tol=self.tol, max_sweeps=self.max_sweeps, floor=floor) for M in starts
        ]
        return min(descents, key=lambda descent: descent.objective)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        return tags


def _widened(masses: Array, focal: BoolArray, wider: BoolArray) -> Array:
    """Return the same masses on more focal sets."""
    same = (focal[:, None] == wider).all(axis=2)  # (f, wider f)
    return masses @ same
