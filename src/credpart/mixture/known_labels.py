"""What is known already of the clusters of objects: nothing, one cluster, or a set of clusters.

Labels fix what clusters are called: cluster k is the one that objects with the label k are in.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from credpart._arrays import Array, BoolArray, IntArray, make_read_only
from credpart._checks import Table, WeightedTable, in_row
from credpart._columns import as_numbers
from credpart._messages import Message, Name
from credpart.errors import InputError
from credpart.focal import within
from credpart.mixture.families.base import OUTLIER
from credpart.mixture.families.labelled import MOST_CLUSTERS, Labelled, is_excluded
from credpart.mixture.models import Make, Model
from credpart.mixture.search.initialisation import scale

ALL = (1 << MOST_CLUSTERS) - 1  # every bit: cluster 52 and any after it are excluded together
COLUMN = "what is known of the cluster"
NAMES = "A name, several as in 'A|B', or '!C' for any but C; nothing where nothing is known."
WHAT = "be None, a cluster from 0, or a set of clusters, for each object"


class Entry(NamedTuple):
    """One label: the clusters that an object is in, or is not in."""

    clusters: frozenset[int | str]
    is_not: bool


@dataclass(frozen=True, slots=True, eq=False)
class KnownLabels:
    """The clusters in which each object cannot be; or nothing, of any object.

    Attributes
    ----------
    codes : array of int, shape (n,), or None
        Bit k of a code is 1 if the object cannot be in cluster k; 0 is nothing known.
    n_named : int
        Clusters that labels name: 0 to n_named - 1.
    names : tuple of str or None
        Their names, if labels were given by name.

    Examples
    --------
    >>> known = KnownLabels.check([0, {0, 1}, None], 3)
    >>> known.allowed(3).tolist()
    [[True, False, False], [True, True, False], [True, True, True]]
    >>> KnownLabels.check(["b", "!a", ""], 3).names
    ('a', 'b')
    """

    codes: IntArray | None = None
    n_named: int = 0
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.codes is not None:
            make_read_only(self.codes)

    @classmethod
    def check(cls, labels: Any, n: int, names: Sequence[str] | None = None) -> "KnownLabels":
        """What a user says of n objects; ``names`` are those of the clusters, if they have some."""
        if labels is None:
            return NOTHING
        entries = _entries(labels, n)
        if names is None:
            names = _names(entries)
        numbers = None if names is None else {name: k for k, name in enumerate(names)}
        codes = np.array([_code(entry, row, numbers) for row, entry in enumerate(entries)])
        if not codes.any():
            return NOTHING
        named = [k for entry in entries if entry for k in _numbered(entry, numbers)]
        n_named = len(names) if names is not None else 1 + max(named)
        return cls(codes.astype(np.intp), n_named, None if names is None else tuple(names))

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is known of any object."""
        return self.codes is None

    @property
    def n_labelled(self) -> int:
        """How many objects something is known of."""
        return 0 if self.codes is None else int(np.count_nonzero(self.codes))

    def allowed(self, c: int) -> BoolArray | None:
        """The clusters (n, c) that objects may be in; None if nothing is known."""
        return None if self.codes is None else ~is_excluded(self.codes.astype(float), c).T

    def allowed_sets(self, sets: BoolArray) -> BoolArray | None:
        """The focal sets (n, f) of sets (f, c) that may carry mass: those without other clusters.

        An error if an object has none.
        """
        if self.codes is None:
            return None
        excluded = is_excluded(self.codes.astype(float), sets.shape[1]).astype(np.intp)
        inside = (excluded.T @ sets.T.astype(np.intp)) == 0
        stuck = np.flatnonzero(~inside.any(axis=1))
        if len(stuck):
            raise InputError(
                "focal_sets",
                Message("have a set inside what ", Name("labels"), " allow each object"),
                in_row("none", stuck[0]),
                "Add the single clusters.",
            )
        return np.asarray(inside)

    # Numbers of clusters

    def numbers(self, numbers: Sequence[int], *, is_auto: bool) -> list[int]:
        """The numbers of clusters to try; "auto" starts at the number of clusters with labels."""
        if self.codes is None:
            return list(numbers)
        if is_auto:
            tried = range(self.n_named, max(max(numbers), self.n_named + 1) + 1)
            found = [c for c in tried if self.may_be(c)]
            numbers = found or [self.n_named]
        for c in numbers:
            error = self._refusal(c)
            if error is not None:
                raise error
        return list(numbers)

    def may_be(self, c: int) -> bool:
        """Whether there can be c clusters."""
        return self._refusal(c) is None

    def _refusal(self, c: int) -> InputError | None:
        """Why there cannot be c clusters."""
        if self.codes is None:
            return None
        if c > MOST_CLUSTERS:
            return InputError("n_clusters", f"be at most {MOST_CLUSTERS} with labels", c)
        if self.names is not None and c < self.n_named:
            got = Message(", ".join(map(repr, self.names)))
            return InputError("labels", f"name at most the {c} clusters", got)
        named = np.where(self.codes >> (MOST_CLUSTERS - 1) & 1, ALL ^ self.codes, self.codes)
        above = np.flatnonzero(named >> c)
        if len(above):
            largest = int(named[above[0]]).bit_length() - 1
            got = in_row(f"cluster {largest}", above[0])
            return InputError("labels", f"be from 0 to {c - 1} for {c} clusters", got)
        allowed = ~is_excluded(self.codes.astype(float), c).T
        stuck = np.flatnonzero(~allowed.any(axis=1))
        if len(stuck):
            leave = f"leave each object at least one of the {c} clusters"
            return InputError("labels", leave, in_row("none", stuck[0]))
        empty = np.flatnonzero(~allowed.any(axis=0))
        if len(empty):
            got = Message(f"none for cluster {self.name(int(empty[0]))}")
            remedy = "Fit fewer clusters, or leave some objects without a label."
            return InputError("labels", f"leave objects for each of {c} clusters", got, remedy)
        return None

    def name(self, k: int) -> str:
        """What a cluster is called in labels."""
        is_named = self.names is not None and k < len(self.names)
        return repr(self.names[k]) if is_named and self.names is not None else str(k)

    # What a search is given

    def attach(self, table: Table) -> Table:
        """The data with what is known as one more column."""
        if self.codes is None:
            return table
        return table._replace(
            values=np.column_stack([table.values, self.codes]),
            names=table.names and [*table.names, COLUMN],
            levels=table.levels and (*table.levels, None),
        )

    def detach(self, table: Table) -> Table:
        """The data without this column."""
        if self.codes is None:
            return table
        return table._replace(
            values=np.ascontiguousarray(table.values[:, :-1]),
            names=table.names and table.names[:-1],
            levels=table.levels and table.levels[:-1],
        )

    def attach_weighted(self, data: WeightedTable) -> WeightedTable:
        """`attach` for data with weights."""
        return data._replace(table=self.attach(data.table))

    def detach_weighted(self, data: WeightedTable) -> WeightedTable:
        """`detach` for data with weights."""
        return data._replace(table=self.detach(data.table))

    def models(self, models: Mapping[str, Model]) -> Mapping[str, Model]:
        """The models on data that have the column."""
        if self.codes is None:
            return models
        return {name: model._replace(make=self._make(model)) for name, model in models.items()}

    def _make(self, model: Model) -> Make:
        def make(data: WeightedTable, structures: Sequence[str]) -> Labelled:
            plain = self.detach_weighted(data)
            return Labelled(model.make(plain, structures), plain.values.shape[1])

        return make

    def starts(
        self, starts: Sequence[Mapping[int, IntArray]], data: WeightedTable
    ) -> list[dict[int, IntArray]]:
        """Partitions that respect the labels, for a search on data that have the column.

        These are the given ones, each with its clusters numbered so that labels agree with it best;
        and, where every cluster has an object that is known to be in it, the partition by the
        nearest mean of such objects.
        """
        if self.codes is None:
            return [dict(start) for start in starts]
        Z, codes = scale(as_numbers(self.detach(data.table))), data.values[:, -1]
        allowed = {c: ~is_excluded(codes, c).T for c in starts[0]}
        found = [
            {c: matched(labels, allowed[c], data.weights, Z) for c, labels in start.items()}
            for start in starts
        ]
        seeded = {
            c: seeds
            for c, sets in allowed.items()
            if (seeds := nearest_seeds(sets, data.weights, Z)) is not None
        }
        return [*found, seeded]

    def restricted(self, resp: Array) -> Array:
        """Responsibilities (c, n) without those of clusters in which objects cannot be."""
        allowed = self.allowed(len(resp))
        return resp if allowed is None else within(resp.T, allowed).T


NOTHING = KnownLabels()


def matched(labels: IntArray, allowed: BoolArray, weights: Array, Z: Array) -> IntArray:
    """A partition of objects Z (n, d) that is like another, and in which all are where they may be.

    Outliers of the other partition stay outliers, unless it is known in which cluster they are.

    >>> labels, allowed = np.array([0, 0, 1, 1]), np.array([[0, 1], [1, 1], [1, 1], [1, 0]]) > 0
    >>> matched(labels, allowed, np.ones(4), np.array([[0.0], [1.0], [8.0], [9.0]]))
    array([1, 1, 0, 0])
    """
    n, c = allowed.shape
    counted = np.where(allowed.all(axis=1), 0.0, weights)[:, None]
    shares = counted * within(np.ones(allowed.shape), allowed)
    agreement = 1.0 * (labels == np.arange(c)[:, None]) @ shares
    numbers = linear_sum_assignment(agreement, maximize=True)[1][labels]
    numbers = np.where(labels == OUTLIER, OUTLIER, numbers)
    is_single = allowed.sum(axis=1) == 1
    numbers = np.where(is_single, allowed.argmax(axis=1), numbers)
    is_wrong = ~allowed[np.arange(n), numbers] & (numbers != OUTLIER)
    numbers = np.where(is_wrong, nearest(Z, means(Z, weights, numbers, c), allowed), numbers)
    for k in range(c):
        if not (weights[numbers == k] > 0.0).any():
            numbers = split_for(k, numbers, allowed, weights, Z)
    return numbers


def nearest_seeds(allowed: BoolArray, weights: Array, Z: Array) -> IntArray | None:
    """The partition by the nearest mean of the objects whose cluster is known; None without these.

    >>> allowed = np.array([[1, 0], [1, 1], [1, 1], [0, 1]]) > 0
    >>> nearest_seeds(allowed, np.ones(4), np.array([[0.0], [1.0], [8.0], [9.0]]))
    array([0, 0, 1, 1])
    """
    c = allowed.shape[1]
    seeds = np.where((allowed.sum(axis=1) == 1) & (weights > 0.0), allowed.argmax(axis=1), -1)
    if not np.isin(np.arange(c), seeds).all():
        return None
    return nearest(Z, means(Z, weights, seeds, c), allowed)


def means(Z: Array, weights: Array, labels: IntArray, c: int) -> Array:
    """Weighted means (c, d) of clusters; of one without objects they are infinite."""
    resp = weights * (labels == np.arange(c)[:, None])
    sizes = resp.sum(axis=1, keepdims=True)
    return np.where(sizes > 0.0, resp @ Z / np.where(sizes > 0.0, sizes, 1.0), np.inf)


def nearest(Z: Array, centres: Array, allowed: BoolArray) -> IntArray:
    """The nearest centre that each object may belong to; the first, if none is finite."""
    distances = np.stack([np.square(Z - centre).sum(axis=1) for centre in centres], axis=1)
    distances = np.where(np.isfinite(distances), distances, np.finfo(float).max)
    return np.where(allowed, distances, np.inf).argmin(axis=1)


def split_for(k: int, numbers: IntArray, allowed: BoolArray, weights: Array, Z: Array) -> IntArray:
    """A partition in which the empty cluster k has half of what one of the others can give it.

    It is the half beyond the median along the longest axis.
    """
    is_free = allowed[:, k] & (weights > 0.0)
    in_cluster = numbers[is_free & (numbers != OUTLIER)]
    donor = np.bincount(in_cluster, minlength=allowed.shape[1]).argmax()
    members = np.flatnonzero(is_free & (numbers == donor))
    if len(members) < 2:
        return numbers
    centred = Z[members] - Z[members].mean(axis=0)
    along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    given = members[np.argsort(along, kind="stable")[len(members) // 2 :]]
    return np.asarray(np.where(np.isin(np.arange(len(numbers)), given), k, numbers))


# What people write


def _entries(labels: Any, n: int) -> list[Entry | None]:
    """The label of each object; None where nothing is known."""
    if isinstance(labels, str | bytes | Mapping | AbstractSet) or not isinstance(labels, Iterable):
        raise InputError("labels", WHAT, labels)
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(given) != n:
        raise InputError("labels", f"have an entry for each of the {n} objects", len(given))
    return [_entry(value, row) for row, value in enumerate(given)]


def _entry(value: Any, row: int) -> Entry | None:
    """One label, as it was written."""
    if _is_missing(value):
        return None
    if isinstance(value, str):
        return _read(value, row)
    several = isinstance(value, AbstractSet | list | tuple | np.ndarray)
    clusters = frozenset(_cluster(one, row, value) for one in (value if several else [value]))
    if not clusters:
        remedy = "Give None where nothing is known."
        raise InputError("labels", "be sets of at least one cluster", in_row("none", row), remedy)
    return Entry(clusters, is_not=False)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(value != value or value == -1)


def _cluster(value: Any, row: int, label: Any) -> int | str:
    """A cluster by its number, which may be a float if others are missing, or by its name."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, float | np.floating) and value.is_integer():
        value = int(value)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise InputError("labels", WHAT, in_row(repr(label), row))
    return int(value)


def _read(text: str, row: int) -> Entry:
    """A label by names: ``A``, ``A|B`` or ``!C``.

    >>> sorted(_read("A | B", 0).clusters), _read("!C", 0)
    (['A', 'B'], Entry(clusters=frozenset({'C'}), is_not=True))
    """
    stripped = text.strip()
    parts = [part.strip() for part in stripped.removeprefix("!").split("|")]
    if not all(parts) or any(part.startswith("!") for part in parts):
        raise InputError("labels", "be names of clusters", in_row(repr(text), row), NAMES)
    return Entry(frozenset(parts), is_not=stripped.startswith("!"))


def _names(entries: Sequence[Entry | None]) -> list[str] | None:
    """The names that labels have, in the order of the clusters; None if they are numbers."""
    known = [(row, entry) for row, entry in enumerate(entries) if entry]
    for row, entry in known:
        is_first = {isinstance(one, str) for one in known[0][1].clusters}
        if {isinstance(one, str) for one in entry.clusters} != is_first or len(is_first) > 1:
            got = in_row(", ".join(map(repr, entry.clusters)), row, " beside others")
            raise InputError("labels", "be all numbers or all names", got)
    if not known or not isinstance(next(iter(known[0][1].clusters)), str):
        return None
    names = {str(one) for _, entry in known for one in entry.clusters}
    if all(name.isdecimal() for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def _numbered(entry: Entry, numbers: Mapping[str, int] | None) -> list[int]:
    """The numbers of the clusters of a label."""
    return [int(one) if numbers is None else numbers[str(one)] for one in entry.clusters]


def _code(entry: Entry | None, row: int, numbers: Mapping[str, int] | None) -> int:
    """The code of a label."""
    if entry is None:
        return 0
    unknown = [] if numbers is None else [one for one in entry.clusters if one not in numbers]
    if unknown and numbers is not None:
        listed = ", ".join(map(repr, numbers))
        raise InputError("labels", f"be among {listed}", in_row(repr(unknown[0]), row))
    clusters = _numbered(entry, numbers)
    if max(clusters) >= MOST_CLUSTERS - 1:
        below = f"be clusters below {MOST_CLUSTERS - 1}"
        raise InputError("labels", below, in_row(f"{max(clusters)}", row))
    bits = sum(1 << k for k in set(clusters))
    return bits if entry.is_not else ALL ^ bits
