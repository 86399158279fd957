"""What is in the clusters: their sizes, their columns, and the columns that set them apart.

An object counts in the cluster of its label, with its weight; one whose highest mass is on the
empty set counts in none.  Missing cells do not count.

The standardised difference of a column j in a cluster k is ``(mean_kj - mean_j) / sd_j``, with mean
and standard deviation of all clusters together: the mean of the standardised column.  Within a
cluster, its absolute value orders the columns as a one-way analysis of variance of this cluster
against the others does; and its mean square over the objects,

    ``eta^2_j = sum_k (n_k / n) difference_kj^2``,

is the share of the variance that lies between the clusters, by which a one-way analysis of variance
of all clusters orders the columns.  Both hold exactly if no cell is missing.

Of categories l with shares p_kl the difference is ``sqrt(sum_l (p_kl - p_l)^2 / p_l)``, which has
no sign; for two categories this is the standardised difference of their indicator.  Its mean
square, divided by the largest value that it can have, is the square of Cramer's V.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table
from credpart.partition import EvidentialPartition

if TYPE_CHECKING:
    import pandas as pd

# Standardised differences from it on are called medium (Cohen, 1988): high, low, and what sets a
# cluster apart.
NOTABLE = 0.5
LEAST_WITHIN = 1e-4  # share of the variance within clusters, of which rounding may leave nothing
MOST_DECIMALS = 6  # of numbers that are written without an exponent
LARGEST_PLAIN = 1e12  # largest number written without an exponent when its spread is known
ROUNDING = 1e-12  # relative error of sums of weights


class Sizes(NamedTuple):
    """How large the clusters are; each array has shape (c,)."""

    objects: Array  # total weight of the objects with this label
    share: Array  # of mass: mean pignistic probability of the cluster
    low: Array  # mean belief
    high: Array  # mean plausibility


class ColumnProfile(NamedTuple):
    """A column within each cluster."""

    name: str
    separation: float  # share of its variance between the clusters, from 0 to 1
    differences: Array  # (c,) standardised; of categories without a sign; NaN: no cell was seen
    figures: dict[str, Array]  # (c,) each: mean, sd and median, or the share of each category
    overall: dict[str, float]  # the same of all clusters together
    categories: tuple[str, ...] | None  # None: numbers

    def text(self, value: float) -> str:
        """A mean or a standard deviation of these numbers, with the decimals of all of them.

        Two digits of the standard deviation within clusters are told, and no more.
        """
        within = np.sqrt(max(1.0 - self.separation, LEAST_WITHIN))
        return figure(value, float(self.overall["sd"] * within))

    def words(self, k: int) -> str:
        """What the column is like in cluster k, in a few words."""
        if self.categories is None:
            side = "high" if self.differences[k] > 0.0 else "low"
            return f"{self.name} {side} {self.text(self.figures['mean'][k])}"
        shares = np.array([values[k] for values in self.figures.values()])
        overall = np.array(list(self.overall.values()))
        excess = (shares - overall) / np.sqrt(np.where(overall > 0.0, overall, 1.0))
        most = int(excess.argmax())
        return f"{self.name} {self.categories[most]} {shares[most]:.0%}"


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """The profiles of c clusters: columns that separate them best come first."""

    clusters: Sequence[str | int]  # names, or numbers from 1, in the order of the partition
    sizes: Sizes
    columns: list[ColumnProfile]
    scope: str = ""  # a sentence that says of which objects they are; empty: of all

    @property
    def by_size(self) -> IntArray:
        """The clusters from 0, the largest first."""
        return np.argsort(-self.sizes.objects, kind="stable")

    def set_apart(self, k: int) -> list[ColumnProfile]:
        """Columns in which cluster k differs from all objects, the largest difference first."""
        gaps = np.array([abs(column.differences[k]) for column in self.columns])
        order = np.argsort(-np.nan_to_num(gaps), kind="stable")
        return [self.columns[j] for j in order if gaps[j] >= NOTABLE]

    def to_frame(self) -> "pd.DataFrame":
        """Clusters by columns, as `CalibratedResult.profile` describes."""
        import pandas as pd

        objects = self.sizes.objects
        whole = bool((objects == np.round(objects)).all())
        table: dict[tuple[str, str], Any] = {
            ("cluster", "objects"): objects.astype(np.int64) if whole else objects,
            ("cluster", "share"): self.sizes.share,
            ("cluster", "share_low"): self.sizes.low,
            ("cluster", "share_high"): self.sizes.high,
            ("cluster", "set_apart_by"): [
                ", ".join(column.name for column in self.set_apart(k))
                for k in range(len(self.clusters))
            ],
        }
        for column in self.columns:
            named = {(column.name, name): values for name, values in column.figures.items()}
            table |= named | {(column.name, "difference"): column.differences}
        frame = pd.DataFrame(table, index=pd.Index(self.clusters, name="cluster"))
        frame.columns = pd.MultiIndex.from_tuples(table)
        return frame.iloc[self.by_size]


def figure(value: float, spread: float = 0.0) -> str:
    """A number as people write it: with two digits of its spread, or else three of its own.

    >>> figure(1.462), figure(12345.6), figure(-3.2e40), figure(0.0)
    ('1.46', '12,346', '-3.2e+40', '0')
    >>> figure(-0.004, 0.68), figure(3.756, 0.43), figure(8.2, 43.0), figure(1.46, np.nan)
    ('0.00', '3.76', '8', '1.46')
    """
    decimals = 1 - np.floor(np.log10(spread)) if spread > 0.0 else np.inf
    if decimals <= MOST_DECIMALS and abs(value) < LARGEST_PLAIN:
        places = int(max(0.0, decimals))
        return f"{round(value, places) + 0.0:,.{places}f}"  # so that there is no negative zero
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"


def find_profiles(
    data: Table, names: Sequence[str], weights: Array, partition: EvidentialPartition
) -> Profiles:
    """The profiles of the clusters of a partition of these data.

    >>> data = Table(np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 3.0]]), None, None)
    >>> partition = EvidentialPartition.from_hard([0, 0, 1])
    >>> profiles = find_profiles(data, ["a", "b"], np.ones(3), partition)
    >>> [column.name for column in profiles.columns], profiles.columns[1].figures["mean"]
    (['b', 'a'], array([1., 7.]))
    """
    is_member = _members(partition)
    levels = data.levels or [None] * len(names)
    columns = [
        _column(name, values, known, weights, is_member)
        for name, values, known in zip(names, data.values.T, levels, strict=True)
    ]
    columns.sort(key=lambda column: -column.separation)  # a stable order
    clusters = partition.cluster_names or range(1, partition.n_clusters + 1)
    return Profiles(clusters, find_sizes(partition, weights), columns)


def find_sizes(partition: EvidentialPartition, weights: Array) -> Sizes:
    """Sizes of the clusters, with the bounds that the masses leave.

    The cluster of each object may have any probability from its belief to its plausibility.  The
    mean probability of a cluster then lies between the means of these, and can be either of them.
    """
    sizes = partition.focal_sets.sum(axis=1, keepdims=True)
    pignistic = partition.masses @ (partition.focal_sets / np.maximum(sizes, 1))
    each = weights / weights.sum()
    return Sizes(
        weights @ _members(partition),
        *(each @ degrees for degrees in (pignistic, partition.belief(), partition.plausibility())),
    )


def _members(partition: EvidentialPartition) -> BoolArray:
    """Which objects count in which cluster, shape (n, c): each in one, or as outliers in none."""
    is_clustered = partition.focal_sets[partition.set_labels].any(axis=1, keepdims=True)
    hard: BoolArray = np.eye(partition.n_clusters, dtype=bool)[partition.labels]
    return hard & is_clustered


def _column(
    name: str, values: Array, levels: Sequence[Any] | None, weights: Array, is_member: BoolArray
) -> ColumnProfile:
    """One column in all clusters; objects whose cell is missing are left out."""
    counts = is_member.any(axis=1) & (weights > 0.0) & ~np.isnan(values)
    values, resp = values[counts], weights[counts, None] * is_member[counts]
    if levels is None:
        return _numbers(name, values, resp)
    texts = [str(level) for level in levels]
    if len(set(texts)) < len(texts):  # such as the number 1 and the text "1"
        texts = [repr(level) for level in levels]
    return _categories(name, values, texts, resp)


@np.errstate(invalid="ignore", divide="ignore")  # a cluster without a cell has NaN
def _numbers(name: str, values: Array, resp: Array) -> ColumnProfile:
    sizes, weights = resp.sum(axis=0), resp.sum(axis=1)
    center = _mean(values, weights)
    unit = float(np.abs(values - center).max(initial=0.0)) or 1.0
    scaled = (values - center) / unit  # so that squares neither overflow nor vanish
    means = resp.T @ scaled / sizes
    variances = (resp * (scaled[:, None] - means) ** 2).sum(axis=0) / sizes
    overall = _mean(scaled, weights)
    spread = float(np.sqrt(_mean((scaled - overall) ** 2, weights)))
    differences = (means - overall) / (spread or 1.0)
    figures = {
        "mean": center + unit * means,
        "sd": unit * np.sqrt(variances),
        "median": np.array([weighted_median(values, each) for each in resp.T]),
    }
    whole = {
        "mean": center + unit * overall,
        "sd": unit * spread,
        "median": weighted_median(values, weights),
    }
    return ColumnProfile(name, _separation(differences, sizes), differences, figures, whole, None)


@np.errstate(invalid="ignore", divide="ignore")
def _categories(name: str, codes: Array, levels: list[str], resp: Array) -> ColumnProfile:
    is_level = codes[:, None] == np.arange(len(levels))
    sizes = resp.sum(axis=0)
    shares = resp.T @ is_level / sizes[:, None]  # (c, levels)
    overall = (resp.sum(axis=1) @ is_level) / sizes.sum()
    parts = (shares - overall) ** 2 / np.where(overall > 0.0, overall, 1.0)
    differences = np.sqrt(parts.sum(axis=1))
    largest = max(1, min(len(levels), int((sizes > 0.0).sum())) - 1)
    separation = _separation(differences, sizes) / largest
    names = [f"share of {level}" for level in levels]
    figures = dict(zip(names, shares.T, strict=True))
    whole = dict(zip(names, overall.tolist(), strict=True))
    return ColumnProfile(name, separation, differences, figures, whole, tuple(levels))


def _mean(values: Array, weights: Array) -> float:
    total = weights.sum()
    return float(values @ weights / total) if total > 0.0 else np.nan


def _separation(differences: Array, sizes: Array) -> float:
    """The mean square of the differences over the objects."""
    total = sizes.sum()
    return float(np.nansum(sizes * differences**2) / total) if total > 0.0 else 0.0


def weighted_median(values: Array, weights: Array) -> float:
    """The median of values that count as often as their weights say; NaN of none.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    1.5
    """
    seen = weights > 0.0
    order = np.argsort(values[seen], kind="stable")
    if not len(order):
        return np.nan
    ordered, sums = values[seen][order], np.cumsum(weights[seen][order])
    half = sums[-1] / 2.0
    low = np.searchsorted(sums, half * (1.0 - ROUNDING))
    high = np.searchsorted(sums, half * (1.0 + ROUNDING), side="right")
    return float(ordered[low] / 2.0 + ordered[min(high, len(ordered) - 1)] / 2.0)
