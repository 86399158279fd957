"""Focal sets as an (f, c) boolean matrix, and the matrices of Eq. (11)-(12).

Row ``F_k`` marks the clusters in the k-th set; the empty set, where a method needs it, is
an all-False row.  This module knows nothing of objects or partitions.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import check_choice, check_integer, check_weights, in_row, is_writable
from credpart._messages import Message, Name, Setting
from credpart.errors import InputError

Scalar = TypeVar("Scalar", bound=np.generic)

EMPTY = "∅"  # the name of the empty set
MOST_CLUSTERS_IN_FULL = 12  # 2^12 - 1 = 4095 sets; C alone then takes 134 MB


class FocalRequest(NamedTuple):
    """What a kind of focal sets may draw on."""

    n_clusters: int
    pairs: ArrayLike | None
    similarity: ArrayLike | None
    overlap: int


def _no_larger_sets(request: FocalRequest) -> BoolArray:
    return np.zeros((0, request.n_clusters), dtype=bool)


def _pairs(request: FocalRequest) -> BoolArray:
    c = request.n_clusters
    if request.pairs is None:
        return _rows(combinations(range(c), 2), c)
    return _rows(_check_pairs(request.pairs, c), c)


def _overlapping(request: FocalRequest) -> BoolArray:
    c = request.n_clusters
    if request.similarity is None:
        raise InputError(
            "similarity",
            Message(f"be a ({c}, {c}) array when ", Name("kind"), " is 'overlapping'"),
            None,
            "Compute it with `cluster_similarity(posteriors)`.",
        )
    similarity = _check_similarity(request.similarity, c)
    return _rows(overlapping_pairs(similarity, request.overlap), c)


def _full(request: FocalRequest) -> BoolArray:
    c = request.n_clusters
    if c > MOST_CLUSTERS_IN_FULL:
        pairs = Setting("kind", "pairs", is_quoted=True)
        raise InputError(
            "n_clusters",
            Message(f"be at most {MOST_CLUSTERS_IN_FULL} when ", Name("kind"), " is 'full'"),
            Message(f"{c}, which has 2^{c} - 1 sets"),
            Message("Use ", pairs, " or 'overlapping'."),
        )
    return (np.arange(1, 2**c)[:, None] >> np.arange(c) & 1).astype(bool)


class Kind(NamedTuple):
    """Which sets a kind adds to the singletons."""

    larger_sets: Callable[[FocalRequest], BoolArray]
    takes_pairs: bool = False


KINDS: Mapping[str, Kind] = {
    "singletons": Kind(_no_larger_sets),
    "pairs": Kind(_pairs, takes_pairs=True),
    "overlapping": Kind(_overlapping),
    "full": Kind(_full),
}


def focal_sets(
    n_clusters: int,
    kind: str | ArrayLike = "pairs",
    *,
    omega: bool = False,
    empty: bool = False,
    pairs: ArrayLike | None = None,
    similarity: ArrayLike | None = None,
    overlap: int = 2,
) -> BoolArray:
    """Return the sets of clusters that may carry mass, one a row.

    Parameters
    ----------
    n_clusters : int
        The number c of clusters.
    kind : {"singletons", "pairs", "overlapping", "full"} or array of shape (f, c)
        "pairs" is all singletons and pairs, "overlapping" the singletons and the pairs of
        clusters that overlap (Section 4.2 of [D20]), "full" all 2^c - 1 non-empty sets
        (c <= 12).  An array of 0 and 1 is taken as it is.
    omega : bool
        Add the set of all clusters, unless it is already there.
    empty : bool
        Add the empty set, as the first row.
    pairs : array of shape (p, 2), optional
        For "pairs", the pairs to take, as 0-based clusters; all by default.
    similarity : array of shape (c, c), optional
        For "overlapping", which needs it: see `cluster_similarity`.
    overlap : int
        For "overlapping", the number K of mutual nearest neighbours.

    Returns
    -------
    bool array of shape (f, c), read-only
        By size and then lexicographically, so the singletons stand in the order of the
        clusters, the empty set is first and the set of all clusters last.  An array given
        as `kind` keeps its own order.

    Examples
    --------
    >>> focal_sets(3, "pairs", omega=True).astype(int)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1],
           [1, 1, 0],
           [1, 0, 1],
           [0, 1, 1],
           [1, 1, 1]])
    """
    c = check_integer("n_clusters", n_clusters, at_least=1)
    ends = np.ones((int(omega), c), dtype=bool), np.zeros((int(empty), c), dtype=bool)
    if not isinstance(kind, str):
        _check_no_pairs(pairs, "an array")
        return _read_only(_with_ends(_check_given(kind, c), *ends))
    chosen = KINDS[check_choice("kind", kind, KINDS)]
    if not chosen.takes_pairs:
        _check_no_pairs(pairs, repr(kind))
    K = check_integer("overlap", overlap, at_least=1)
    larger = chosen.larger_sets(FocalRequest(c, pairs, similarity, K))
    return _read_only(canonical_order(np.vstack([np.eye(c, dtype=bool), larger, *ends])))


def canonical_order(sets: BoolArray) -> BoolArray:
    """Return the distinct rows, by size and then lexicographically.

    >>> canonical_order(np.array([[1, 1], [0, 1], [0, 0], [0, 1]], dtype=bool)).astype(int)
    array([[0, 0],
           [0, 1],
           [1, 1]])
    """
    # Descending as binary words, so that {1, 2} precedes {1, 3}; the stable sort keeps this.
    distinct = np.unique(sets, axis=0)[::-1]
    return distinct[np.argsort(distinct.sum(axis=1), kind="stable")]


def cluster_similarity(posteriors: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
    """Return how much clusters overlap, ``s_kl = sum_i w_i pi_k(x_i) pi_l(x_i)``, shape (c, c).

    Parameters
    ----------
    posteriors : array of shape (n, c)
        Probabilities of the clusters, or plausibilities.
    sample_weight : array of shape (n,), optional
        Weights w of the objects, by default all 1.

    Examples
    --------
    >>> cluster_similarity([[1.0, 0.0], [0.5, 0.5]])
    array([[1.25, 0.25],
           [0.25, 0.25]])
    """
    values = np.asarray(posteriors, dtype=np.float64)
    if values.ndim != 2:
        raise InputError("posteriors", "have shape (n, c)", values.shape)
    weighted = np.sqrt(check_weights("sample_weight", sample_weight, len(values)))[:, None] * values
    return weighted.T @ weighted


def overlapping_pairs(similarity: ArrayLike, overlap: int = 2) -> IntArray:
    """Return the pairs of clusters that are mutual K nearest neighbours [D20, Section 4.2].

    Parameters
    ----------
    similarity : array of shape (c, c)
        Symmetric and non-negative; the diagonal is not used.
    overlap : int
        The number K of neighbours.

    Returns
    -------
    int array of shape (p, 2)
        0-based pairs k < l in lexicographic order.  Clusters of similarity 0 are never
        neighbours; ties go to the lowest cluster.

    Examples
    --------
    >>> overlapping_pairs([[9, 3, 1], [3, 9, 2], [1, 2, 9]], overlap=1)
    array([[0, 1]])
    """
    s = _check_similarity(similarity).copy()
    K = check_integer("overlap", overlap, at_least=1)
    np.fill_diagonal(s, 0.0)
    nearest = np.argsort(-s, axis=1, kind="stable")[:, :K]
    near = np.zeros(s.shape, dtype=bool)
    np.put_along_axis(near, nearest, True, axis=1)
    near &= s > 0.0
    return np.argwhere(np.triu(near & near.T))


def same_matrix(focal: BoolArray) -> Array:
    """Return S of Eq. (11): 1 on the diagonal at the singletons, shape (f, f).

    >>> same_matrix(focal_sets(2, "pairs"))
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    return _read_only(np.diag((focal.sum(axis=1) == 1).astype(np.float64)))


def disjoint_matrix(focal: BoolArray) -> Array:
    """Return C of Eq. (12): 1 where two sets share no cluster, shape (f, f).

    The empty set is disjoint from every set, itself included: its mass is conflict.

    >>> disjoint_matrix(focal_sets(2, "pairs"))
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    members = focal.astype(np.float64)
    return _read_only((members @ members.T == 0.0).astype(np.float64))


def inclusion_matrix(focal: BoolArray, sets: BoolArray) -> Array:
    """Return 1 where a non-empty focal set lies within a set, shape (f, s).

    >>> focal = focal_sets(2, "pairs")
    >>> inclusion_matrix(focal, focal[:1])[:, 0]
    array([1., 0., 0.])
    """
    outside = focal.astype(np.float64) @ (~sets).astype(np.float64).T
    nonempty = np.any(focal, axis=1, keepdims=True)
    return np.where((outside == 0.0) & nonempty, 1.0, 0.0)


def intersection_matrix(focal: BoolArray, sets: BoolArray) -> Array:
    """Return 1 where a focal set shares a cluster with a set, shape (f, s).

    >>> focal = focal_sets(2, "pairs")
    >>> intersection_matrix(focal, focal[:1])[:, 0]
    array([1., 0., 1.])
    """
    return (focal.astype(np.float64) @ sets.astype(np.float64).T > 0.0).astype(np.float64)


def set_names(focal: BoolArray, cluster_names: Iterable[str] | None = None) -> list[str]:
    """Return a name for people for each set.

    Without `cluster_names` clusters are numbered from 1, as in the paper, although arrays
    count them from 0.

    >>> set_names(focal_sets(2, "pairs", empty=True))
    ['∅', '{1}', '{2}', '{1,2}']
    >>> set_names(focal_sets(2, "pairs"), ["no", "ch"])
    ['{no}', '{ch}', '{no,ch}']
    """
    names = np.array(check_cluster_names(cluster_names, focal.shape[1]), dtype=object)
    return ["{" + ",".join(names[row]) + "}" if row.any() else EMPTY for row in focal]


def check_cluster_names(value: Iterable[str] | None, n_clusters: int) -> tuple[str, ...]:
    """Return distinct names of the clusters; None means "1", "2", ...

    >>> check_cluster_names(None, 3)
    ('1', '2', '3')
    """
    if value is None:
        return tuple(str(k + 1) for k in range(n_clusters))
    names = () if isinstance(value, str) else tuple(str(name) for name in value)
    if len(names) != n_clusters or len(set(names)) != n_clusters:
        raise InputError("cluster_names", f"be {n_clusters} distinct names", value)
    if not all(is_writable(name) for name in names):
        raise InputError("cluster_names", "be text that UTF-8 can say", value)
    return names


def check_focal_sets(
    value: Any, *, n_clusters: int | None = None, name: str = "focal_sets"
) -> BoolArray:
    """Return ``value`` as distinct sets of clusters: a read-only (f, c) boolean matrix.

    >>> check_focal_sets([[1, 0], [1, 1]])
    array([[ True, False],
           [ True,  True]])
    """
    wanted = f"be an (f, {n_clusters or 'c'}) array of 0 and 1, one row for each set"
    raw = _array(value)
    if raw.ndim != 2 or 0 in raw.shape or (n_clusters or raw.shape[1]) != raw.shape[1]:
        raise InputError(name, wanted, Message(f"shape {raw.shape}") if raw.ndim else value)
    good = np.isin(raw, (0, 1)) if raw.dtype.kind in "biuf" else np.zeros(raw.shape, dtype=bool)
    if not good.all():
        row, column = np.argwhere(~good)[0]
        raise InputError(name, wanted, in_row(f"{raw[row, column]}", row))
    sets = raw.astype(bool)
    _, first, inverse = np.unique(sets, axis=0, return_index=True, return_inverse=True)
    twice = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(len(sets)))
    if len(twice):
        again = f"the set {set_names(sets[twice[:1]])[0]} again"
        raise InputError(name, "have distinct rows", in_row(again, twice[0]))
    return _read_only(sets)


def check_non_empty(sets: BoolArray) -> BoolArray:
    """Refuse the empty set, where objects have to belong to some cluster."""
    empty = np.flatnonzero(~sets.any(axis=1))
    if len(empty):
        raise InputError(
            "focal_sets",
            "be non-empty sets",
            in_row("the empty set", empty[0]),
            Message("Leave it out, or take ", Setting("noise", "auto"), ", which adds it."),
        )
    return sets


def check_sets(name: str, value: Any, n_clusters: int) -> BoolArray:
    """Return one set (c,) or several (s, c) as a boolean mask.

    Booleans are read as masks, integers as the 0-based clusters of one set.

    >>> check_sets("sets", {0, 2}, 3)
    array([ True, False,  True])
    """
    raw = _array(list(value) if isinstance(value, Set) else value)
    if raw.dtype == bool and raw.ndim in (1, 2) and raw.shape[-1] == n_clusters:
        return raw
    good = raw.ndim == 1 and (raw.dtype.kind in "iu" or not raw.size)
    if not good or not ((raw >= 0) & (raw < n_clusters)).all():
        raise InputError(
            name,
            f"be clusters in 0..{n_clusters - 1}, or a boolean array of shape "
            f"({n_clusters},) or (s, {n_clusters})",
            value,
        )
    return np.isin(np.arange(n_clusters), raw)


def _check_given(value: ArrayLike, c: int) -> BoolArray:
    """Refuse sets that leave a cluster out: no object could be in it."""
    if value is None or np.isscalar(value):
        listed = ", ".join(map(repr, KINDS))
        raise InputError("kind", f"be one of {listed} or an (f, {c}) array", value)
    sets = check_focal_sets(value, n_clusters=c, name="kind")
    missing = np.flatnonzero(~sets.any(axis=0))
    if len(missing):
        raise InputError(
            "kind",
            "have every cluster in some set",
            Message(f"none with cluster {missing[0]} (0-based)"),
            Message("Add a set, or lower ", Name("n_clusters"), "."),
        )
    return sets


def _with_ends(sets: BoolArray, omega: BoolArray, empty: BoolArray) -> BoolArray:
    """Put the empty set first and all clusters last, unless they are there already."""
    omega = omega[: int(not sets.all(axis=1).any())]
    empty = empty[: int(sets.any(axis=1).all())]
    return np.vstack([empty, sets, omega])


def _check_no_pairs(pairs: ArrayLike | None, kind: str) -> None:
    if pairs is not None:
        requirement = Message("be None when ", Name("kind"), f" is {kind}")
        remedy = Message("Use ", Setting("kind", "pairs", is_quoted=True), ".")
        raise InputError("pairs", requirement, pairs, remedy)


def _check_pairs(value: ArrayLike, c: int) -> IntArray:
    raw = _array(value)
    if raw.size == 0:
        return np.zeros((0, 2), dtype=np.intp)
    good = raw.ndim == 2 and raw.shape[1] == 2 and raw.dtype.kind in "iu"
    if not good or raw.min() < 0 or raw.max() >= c or (raw[:, 0] == raw[:, 1]).any():
        raise InputError("pairs", f"be pairs of distinct clusters in 0..{c - 1}", value)
    return raw.astype(np.intp)


def _check_similarity(value: ArrayLike, c: int | None = None) -> Array:
    s = np.asarray(value, dtype=np.float64)
    size = s.shape[0] if c is None and s.ndim else c
    if s.shape != (size, size):
        raise InputError("similarity", f"have shape ({c or 'c'}, {c or 'c'})", s.shape)
    if not np.isfinite(s).all() or s.min() < 0.0:
        bad = s[~(np.isfinite(s) & (s >= 0.0))][0]
        raise InputError("similarity", "be finite and non-negative", float(bad))
    if not np.allclose(s, s.T, rtol=1e-8, atol=1e-12 * s.max()):
        raise InputError("similarity", "be symmetric", Message("an array that is not"))
    return s


def _rows(sets: Iterable[Iterable[int]], c: int) -> BoolArray:
    """Boolean rows of pairs of clusters."""
    members = np.array([tuple(pair) for pair in sets], dtype=np.intp).reshape(-1, 2)
    rows = np.zeros((len(members), c), dtype=bool)
    np.put_along_axis(rows, members, True, axis=1)
    return rows


def _array(value: Any) -> NDArray[Any]:
    """Rows of unequal lengths become a 0-d array, which no check takes for rows."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array(None)


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.setflags(write=False)
    return array


def within(shares: Array, allowed: BoolArray) -> Array:
    """Rows of shares (n, k) on what is allowed (n, k); a row that has none there is spread evenly.

    >>> within(np.array([[0.5, 0.2, 0.3], [1.0, 0.0, 0.0]]), np.array([[0, 1, 1]] * 2) > 0)
    array([[0. , 0.4, 0.6],
           [0. , 0.5, 0.5]])
    """
    kept = np.where(allowed, shares, 0.0)
    kept = np.where(kept.any(axis=1, keepdims=True), kept, allowed)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
