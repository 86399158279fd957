"""The evidential partition: for each object, masses on sets of clusters."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import check_choice, check_fraction, check_threshold
from credpart.errors import InputError
from credpart.focal import (
    check_cluster_names,
    check_focal_sets,
    check_sets,
    focal_sets,
    set_names,
)
from credpart.partition import describe, measures, npz, relational, special
from credpart.partition.doubt import THRESHOLD

if TYPE_CHECKING:
    import pandas as pd

LAYOUT = "credpart.EvidentialPartition.2"


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class EvidentialPartition:
    """Evidence about the cluster of each of n objects, as masses on sets of clusters.

    Parameters
    ----------
    masses : array or DataFrame of shape (n, f)
        Non-negative, with rows summing to 1 (tolerance 1e-8).
    focal_sets : array of shape (f, c)
        The sets, as in `focal_sets`; the empty set is an all-False row.
    cluster_names : c distinct names, optional
        For people; without them clusters are numbered from 1 wherever text is made, and
        from 0 wherever arrays are.
    index : n labels of the objects, optional
        A pandas index or any sequence.  A DataFrame of masses brings its own.

    Notes
    -----
    Where the empty set has mass, `belief` and `plausibility` are not normalised; see
    `normalize`.  An object whose set of highest mass is the empty set is an outlier.

    Examples
    --------
    Example 2 of [D20]:

    >>> masses = [[0.049, 0.863, 0.088], [0.074, 0.558, 0.368]]
    >>> partition = EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1]])
    >>> partition
    EvidentialPartition(n_objects=2, n_clusters=2, n_focal_sets=3)
    >>> partition.labels, partition.set_labels
    (array([1, 1]), array([1, 1]))
    >>> partition.plausibility().round(3)
    array([[0.137, 0.951],
           [0.442, 0.926]])
    """

    masses: Array
    focal_sets: BoolArray
    cluster_names: tuple[str, ...] | None
    index: Any

    def __init__(
        self,
        masses: Any,
        focal_sets: ArrayLike,
        *,
        cluster_names: Iterable[str] | None = None,
        index: Any = None,
    ) -> None:
        table = special.check_masses("masses", masses)
        sets = check_focal_sets(focal_sets)
        (n, f), c = table.values.shape, sets.shape[1]
        if f != len(sets):
            columns = f"have a column for each of the {len(sets)} focal sets"
            raise InputError("masses", columns, f)
        names = None if cluster_names is None else check_cluster_names(cluster_names, c)
        index = special.check_index(table.index if index is None else index, n)
        for name, value in zip(self.__slots__, (table.values, sets, names, index), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def from_hard(
        cls,
        labels: ArrayLike,
        n_clusters: int | None = None,
        *,
        cluster_names: Iterable[str] | None = None,
        index: Any = None,
    ) -> Self:
        """Return the hard partition with 0-based integer `labels`.

        >>> EvidentialPartition.from_hard([0, 1]).masses
        array([[1., 0.],
               [0., 1.]])
        """
        hard, c = special.check_labels(labels, n_clusters)
        sets = focal_sets(c, "singletons")
        return cls(sets[hard], sets, cluster_names=cluster_names, index=index)

    @classmethod
    def from_fuzzy(
        cls, memberships: Any, *, cluster_names: Iterable[str] | None = None, index: Any = None
    ) -> Self:
        """Return the Bayesian partition with `memberships` (n, c), rows summing to 1.

        >>> EvidentialPartition.from_fuzzy([[0.25, 0.75]]).plausibility()
        array([[0.25, 0.75]])
        """
        table = special.check_masses("memberships", memberships)
        sets = focal_sets(table.values.shape[1], "singletons")
        index = table.index if index is None else index
        return cls(table.values, sets, cluster_names=cluster_names, index=index)

    @classmethod
    def from_rough(
        cls, sets: Any, *, cluster_names: Iterable[str] | None = None, index: Any = None
    ) -> Self:
        """Return the logical partition with all mass of object i on the set ``sets[i]``.

        `sets` is (n, c), of 0 and 1; a row of zeros is an outlier, on the empty set.

        >>> EvidentialPartition.from_rough([[1, 0], [1, 1]]).belief()
        array([[1., 0.],
               [0., 0.]])
        """
        table = special.check_rows_of_sets(sets)
        masses, focal = special.logical_masses(table.values.astype(bool))
        index = table.index if index is None else index
        return cls(masses, focal, cluster_names=cluster_names, index=index)

    @property
    def n_objects(self) -> int:
        """The number n of objects."""
        return len(self.masses)

    @property
    def n_clusters(self) -> int:
        """The number c of clusters."""
        return int(self.focal_sets.shape[1])

    def belief(self, sets: Any = None) -> Array:
        """Return ``Bel_i(A)``, the mass of the non-empty sets within A.

        Parameters
        ----------
        sets : optional
            A: a boolean mask (c,), masks (s, c), or the 0-based clusters of one set.  By
            default each single cluster.

        Returns
        -------
        array of shape (n,) for one set, (n, s) for several

        Examples
        --------
        >>> partition = EvidentialPartition([[0.5, 0.2, 0.3]], [[1, 0], [0, 1], [1, 1]])
        >>> partition.belief(), partition.belief([0, 1])
        (array([[0.5, 0.2]]), array([1.]))
        """
        return measures.belief(self.masses, self.focal_sets, self._chosen(sets))

    def plausibility(self, sets: Any = None) -> Array:
        """Return ``Pl_i(A)``, the mass of the sets that meet A; `sets` as in `belief`.

        >>> partition = EvidentialPartition([[0.5, 0.2, 0.3]], [[1, 0], [0, 1], [1, 1]])
        >>> partition.plausibility()
        array([[0.8, 0.5]])
        """
        return measures.plausibility(self.masses, self.focal_sets, self._chosen(sets))

    def _chosen(self, sets: Any) -> BoolArray:
        c = self.n_clusters
        return np.eye(c, dtype=bool) if sets is None else check_sets("sets", sets, c)

    def normalize(self) -> Self:
        """Return the partition without the empty set, its mass shared out in proportion.

        An object with all its mass on the empty set, of which nothing is then known, gets
        the vacuous mass function: 1 on the set of all clusters, added if need be.

        >>> partition = EvidentialPartition([[0.5, 0.4, 0.1]], [[0, 0], [1, 0], [0, 1]])
        >>> partition.normalize().masses
        array([[0.8, 0.2]])
        """
        if self.focal_sets.any(axis=1).all():
            return self
        masses, sets = measures.normalized(self.masses, self.focal_sets)
        return replace(self, masses=masses, focal_sets=sets)

    def weaken(self, amount: float) -> Self:
        """Return the partition in which each set gives up to ``amount`` to the set of all clusters.

        A mass m becomes max(m - amount, 0), and the rest is on the set of all clusters, which is
        added if need be.  So no belief rises and no plausibility falls, for objects and for pairs.
        Masses that IRQP finds are as exact as squared distances ask for: a belief of 0.0001 and a
        plausibility of 0 are the same to it, but a true probability of 0.00001 is outside of both.
        `CalibratedClustering` chooses the amount itself if it is asked to, with ``weaken=True``.

        Examples
        --------
        >>> partition = EvidentialPartition([[0.99, 0.01], [0, 1]], [[1, 0], [0, 1]])
        >>> partition.pairwise_condensed(), partition.weaken(0.02).pairwise_condensed()
        ((array([0.01]), array([0.01])), (array([0.]), array([0.0494])))
        """
        checked = check_fraction("amount", amount)
        masses, sets = measures.weakened(self.masses, self.focal_sets, checked)
        return replace(self, masses=masses, focal_sets=sets)

    @property
    def pignistic(self) -> Array:
        """Probabilities (n, c): each mass, normalised, shared equally within its set."""
        normal = self.normalize()
        return measures.pignistic(normal.masses, normal.focal_sets)

    @property
    def labels(self) -> IntArray:
        """The most plausible cluster of each object, from 0; ties (to 1e-6) go to the lowest."""
        return measures.most_plausible(self.plausibility())

    @property
    def may_be_outliers(self) -> bool:
        """Whether the empty set is a focal set, so that objects may belong to no cluster."""
        return not bool(self.focal_sets.any(axis=1).all())

    @property
    def is_outlier(self) -> BoolArray:
        """Objects (n,) whose set of highest mass is the empty set: they belong to no cluster."""
        return np.asarray(~self.focal_sets[self.set_labels].any(axis=1))

    @property
    def labels_or_outlier(self) -> IntArray:
        """`labels`, with -1 for outliers as scikit-learn has it.

        >>> sets = focal_sets(2, "singletons", empty=True)
        >>> EvidentialPartition([[0.9, 0.1, 0.0], [0.2, 0.0, 0.8]], sets).labels_or_outlier
        array([-1,  1])
        """
        return np.where(self.is_outlier, -1, self.labels)

    @property
    def set_labels(self) -> IntArray:
        """The row of `focal_sets` with the highest mass; ties go to the lowest."""
        return np.asarray(self.masses.argmax(axis=1))

    @property
    def nondominated(self) -> BoolArray:
        """Clusters (n, c) no less plausible than any other is believed: ``max Bel <= Pl``."""
        highest: Array = self.belief().max(axis=1, keepdims=True)
        return self.plausibility() >= highest

    @property
    def nonspecificity(self) -> Array:
        """Imprecision (n,): ``sum m(A) log2|A| / log2 c``, from 0 to 1; 0 if c = 1.

        The empty set counts as the set of all clusters, as in Masson and Denoeux (2008).
        """
        return measures.nonspecificity(self.masses, self.focal_sets)

    def lower_approximation(self, rule: str = "mass") -> BoolArray:
        """Return the lower approximation of each cluster, Eq. (1), shape (n, c).

        The clusters an object may belong to are, by `rule`, its set of highest "mass" or,
        by "dominance", its `nondominated` ones.  The lower approximation of a cluster holds the
        objects that may belong to no other, even if their belief in it is low: `doubt` says how
        sure they are.  Outliers are in no approximation.

        >>> EvidentialPartition.from_rough([[1, 0], [1, 1]]).lower_approximation()
        array([[ True, False],
               [False, False]])
        """
        sets = self.upper_approximation(rule)
        is_single: BoolArray = sets.sum(axis=1, keepdims=True) == 1
        return sets & is_single

    def upper_approximation(self, rule: str = "mass") -> BoolArray:
        """Return the objects that may belong to each cluster; see `lower_approximation`.

        >>> EvidentialPartition.from_rough([[1, 0], [1, 1]]).upper_approximation()
        array([[ True, False],
               [ True,  True]])
        """
        sets = RULES[check_choice("rule", rule, RULES)](self)
        return sets & self.focal_sets[self.set_labels].any(axis=1, keepdims=True)

    def hard(self) -> Self:
        """Return the hard partition into the most plausible clusters.

        >>> EvidentialPartition.from_fuzzy([[0.25, 0.75]]).hard().masses
        array([[0., 1.]])
        """
        sets = focal_sets(self.n_clusters, "singletons")
        return replace(self, masses=sets[self.labels].astype(float), focal_sets=sets)

    def fuzzy(self) -> Self:
        """Return the fuzzy partition with the `pignistic` probabilities.

        >>> EvidentialPartition.from_rough([[1, 1]]).fuzzy().masses
        array([[0.5, 0.5]])
        """
        sets = focal_sets(self.n_clusters, "singletons")
        return replace(self, masses=self.pignistic, focal_sets=sets)

    def rough(self, rule: str = "mass") -> Self:
        """Return the rough partition with the upper approximations by `rule`.

        >>> partition = EvidentialPartition([[0.5, 0.2, 0.3]], [[1, 0], [0, 1], [1, 1]])
        >>> partition.rough("dominance").upper_approximation()
        array([[ True,  True]])
        """
        masses, sets = special.logical_masses(self.upper_approximation(rule))
        return replace(self, masses=masses, focal_sets=sets)

    def relational(self) -> relational.Relational:
        """Return the masses of "i and j are in the same cluster", Eq. (2).

        An object is in its own cluster: the diagonals are 1, 0 and 0.  Where the empty set
        has mass, ``m_ij(empty) = m_i(empty) + m_j(empty) - m_i(empty) m_j(empty)`` is what
        the three masses lack to 1.

        >>> EvidentialPartition.from_rough([[1, 0], [1, 1]]).relational().unknown
        array([[0., 1.],
               [1., 0.]])
        """
        return relational.relational(self.masses, self.focal_sets)

    def pairwise(self) -> tuple[Array, Array]:
        """Return belief and plausibility of "i and j are in the same cluster", Eq. (3).

        Both are (n, n) and symmetric, with 1 on the diagonal.

        >>> masses = [[0.049, 0.863, 0.088], [0.074, 0.558, 0.368]]
        >>> partition = EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1]])
        >>> belief, plausibility = partition.pairwise()
        >>> round(float(belief[0, 1]), 3), round(float(plausibility[0, 1]), 3)
        (0.485, 0.909)
        """
        return relational.pairwise(self.masses, self.focal_sets)

    def pairwise_condensed(self) -> tuple[Array, Array]:
        """Return `pairwise` for i < j only, row by row: n (n - 1) / 2 pairs in less memory.

        >>> EvidentialPartition.from_hard([0, 0, 1]).pairwise_condensed()
        (array([1., 0., 0.]), array([1., 0., 0.]))
        """
        return relational.pairwise_condensed(self.masses, self.focal_sets)

    def counts(self) -> dict[str, int]:
        """Return how many objects have their highest mass on each focal set.

        How many are sure of their cluster is another question; see `doubt_counts`.

        Returns
        -------
        dict
            Number of objects by the name of the set, for all focal sets in their order.

        Examples
        --------
        >>> EvidentialPartition.from_rough([[1, 0], [1, 1], [1, 0]]).counts()
        {'{1}': 2, '{2}': 0, '{1,2}': 1}
        """
        names = set_names(self.focal_sets, self.cluster_names)
        numbers = describe.count_sets(self.set_labels, len(names))
        return dict(zip(names, numbers.tolist(), strict=True))

    def doubt(self, threshold: float = THRESHOLD) -> "pd.DataFrame":
        """Return how sure the cluster of each object is, and why it is not.

        Parameters
        ----------
        threshold : float
            Belief from which on an object is called sure; above 0 and at most 1.

        Returns
        -------
        DataFrame
            One row for each object, with the index of the partition.  "belief" is the mass of its
            label alone, "overlap" that of the other single clusters, "undecided" that of sets of
            several clusters and, where the empty set is a focal set, "outlying" that of the empty
            set; they sum to 1.  "verdict" is "sure" if the belief is at least the threshold; else
            the largest of the other parts makes it "overlapping", "undecided" or "outlying".  Of
            equal parts the undecided one counts first, then the overlap.

        Notes
        -----
        Overlap is doubt that stays: the odds are known, and clusters that overlap have such
        objects however many data there are.  The undecided part is what the data do not tell yet:
        more data make it smaller.

        Examples
        --------
        >>> masses = [[0.95, 0.05, 0], [0.5, 0.4, 0.1], [0.2, 0.1, 0.7]]
        >>> EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1]]).doubt()
           belief  overlap  undecided      verdict
        0    0.95     0.05        0.0         sure
        1    0.50     0.40        0.1  overlapping
        2    0.20     0.10        0.7    undecided
        """
        return describe.doubt_frame(self, check_threshold("threshold", threshold))

    def doubt_counts(self, threshold: float = THRESHOLD) -> dict[str, int]:
        """Return how many objects are sure, overlapping, undecided and, if possible, outlying.

        Parameters
        ----------
        threshold : float
            As in `doubt`.

        Examples
        --------
        >>> masses = [[0.95, 0.05, 0], [0.5, 0.4, 0.1], [0.2, 0.1, 0.7]]
        >>> EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1]]).doubt_counts()
        {'sure': 1, 'overlapping': 1, 'undecided': 1}
        """
        return describe.count_words(self, check_threshold("threshold", threshold))

    @overload
    def to_frame(self, backend: None = None) -> "pd.DataFrame": ...
    @overload
    def to_frame(self, backend: Any) -> Any: ...
    def to_frame(self, backend: Any = None) -> Any:
        """Return a DataFrame with one row for each object.

        Its columns are "label" (the most plausible cluster), "set_label" (the set of most mass),
        masses, beliefs and plausibilities.  Clusters have names or numbers from 1, not from 0; the
        label of an outlier is -1, or "∅" among names.

        Parameters
        ----------
        backend : str, optional
            "polars", "pyarrow" or another library of tables that narwhals knows; by default
            pandas.  Tables of other libraries have no index: it becomes their column "id".

        Examples
        --------
        >>> EvidentialPartition.from_hard([1]).to_frame()
           label set_label  m{1}  m{2}  bel{1}  bel{2}  pl{1}  pl{2}
        0      2       {2}   0.0   1.0     0.0     1.0    0.0    1.0
        """
        return describe.with_backend(describe.frame(self), self.index is not None, backend)

    def summary(self) -> str:
        """Return, as text, how many objects are sure, overlapping, undecided and outlying.

        Sure objects are counted by their cluster, overlapping ones by their label and the next
        single cluster, undecided ones by the set of several clusters that has the most mass.

        >>> print(EvidentialPartition.from_rough([[1, 0], [1, 1], [0, 1]]).summary())
        3 objects, 2 clusters, 3 focal sets
        sure: 2 (66.7 %), in {1} 1, {2} 1
        overlapping: 0 (0.0 %)
        undecided: 1 (33.3 %), between {1,2} 1
        mean nonspecificity: 0.333
        """
        return describe.summary(self)

    def __repr__(self) -> str:
        sizes = f"n_objects={self.n_objects}, n_clusters={self.n_clusters}"
        return f"EvidentialPartition({sizes}, n_focal_sets={len(self.focal_sets)})"

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(max_rows=10, max_cols=20, float_format="{:.3f}".format)
        return f"<pre>{escape(self.summary())}</pre>\n{table}"

    def __reduce__(self) -> tuple[Any, ...]:
        # By the constructor: a copied or unpickled partition has read-only arrays too.
        build = partial(type(self), cluster_names=self.cluster_names, index=self.index)
        return build, (self.masses, self.focal_sets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EvidentialPartition):
            return NotImplemented
        return (
            np.array_equal(self.masses, other.masses)
            and np.array_equal(self.focal_sets, other.focal_sets)
            and self.cluster_names == other.cluster_names
            and _index_content(self.index) == _index_content(other.index)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file to `path`, without pickle and whole or not at all; see `load`."""
        index = npz.encode_index(self.index)
        about = {"layout": LAYOUT, "cluster_names": self.cluster_names, "index": index}
        npz.write_npz(Path(path), about, masses=self.masses, focal_sets=self.focal_sets)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the partition that `save` wrote to `path`.

        >>> import tempfile
        >>> partition = EvidentialPartition.from_hard([0, 1], index=["a", "b"])
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     partition.save(directory + "/partition.npz")
        ...     EvidentialPartition.load(directory + "/partition.npz") == partition
        True
        """
        with npz.one_error(path, "EvidentialPartition.save"):
            about, arrays = npz.read_npz(Path(path), LAYOUT, _check_sizes)
            index, names = npz.decode_index(about["index"]), about["cluster_names"]
            return cls(arrays["masses"], arrays["focal_sets"], cluster_names=names, index=index)


RULES: Mapping[str, Callable[[EvidentialPartition], BoolArray]] = {
    "mass": lambda partition: partition.focal_sets[partition.set_labels],
    "dominance": lambda partition: partition.nondominated,
}


def _check_sizes(about: Mapping[str, Any], headers: Mapping[str, npz.Header]) -> None:
    """Raise ValueError if the arrays that a file declares cannot be those of a partition."""
    masses, sets = headers["masses"], headers["focal_sets"]
    good = len(headers) == 2 and (masses.dtype.kind, sets.dtype.kind) == ("f", "b")
    if not good or len(masses.shape) != 2 or masses.shape[1:] != sets.shape[:1]:
        raise ValueError(f"masses of shape {masses.shape} on sets of shape {sets.shape}")


def _index_content(index: Any) -> tuple[Any, ...]:
    """Return what makes two indices equal."""
    return () if index is None else (tuple(index), tuple(getattr(index, "names", ())))
