"""Whether an answer is the model's or the data's: other mixtures that explain the data as well.

Rivals are the mixtures that the fit was chosen from, other families and covariance structures, and
other numbers of clusters.  BIC says which of them are plausible.  What counts is whether it
matters: under a plausible rival, which share of the pairs has its P_ij outside the interval, and
which objects are in another cluster?

References
----------
.. [KR95] Kass, Raftery: Bayes factors.  Journal of the American Statistical Association 90, 1995.
.. [HT89] Hurvich, Tsai: Regression and time series model selection in small samples.
   Biometrika 76, 1989.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from credpart._arrays import Array, IntArray
from credpart._checks import WeightedTable, check_positive
from credpart._columns import sortable
from credpart._progress import Progress
from credpart._random import random_rows
from credpart.errors import CredpartError, CredpartWarning, InputError
from credpart.focal import set_names
from credpart.intervals import PairwiseIntervals, pairwise_intervals, pairwise_probabilities
from credpart.mixture.covariance.structures import ONE_DIMENSION, STRUCTURES
from credpart.mixture.families.base import OUTLIER
from credpart.mixture.fit import MixtureFit, SearchOptions
from credpart.mixture.known_labels import NOTHING
from credpart.mixture.models import MODELS, Model, rows_of, special_cases
from credpart.mixture.posteriors import most_probable
from credpart.mixture.search.grid_search import Cell
from credpart.mixture.search.selection import select
from credpart.result import CalibratedResult, Fitted, result_of

if TYPE_CHECKING:
    import pandas as pd

# A rival is plausible if its BIC is at most so much lower.  A difference of BIC approximates twice
# the logarithm of a Bayes factor, and up to 2 it is "not worth more than a bare mention" [KR95]_.
# It was chosen beside 6, "strong" evidence, on 42 samples of the paper's Mixtures 1-3: 6 would hold
# a wrong number of clusters as plausible in 11 of them, 2 does in 4.
PLAUSIBLE = 2.0
FAMILIES = ("t", "skew-t")  # with the structure of the fit, and with the most general one
MUCH = 0.2  # share of pairs outside that a user should know of
MOST_OBJECTS = 1000  # whose pairs are counted: 499 500 pairs
ROUNDING = 1e-9  # by which a probability may miss a bound
# Many pairs are all but certain to be together, or apart: their intervals are so short that a rival
# misses them by a millionth.  That counts where the level is in question, so that `outside` has
# them; but a reader wants to know how many answers are different, and these miss by more than this.
FAR = 0.05
KINDS = {
    "n_clusters": int,
    "model": str,
    "bic": float,
    "lead": float,
    "plausible": bool,
    "outside": float,
    "far_outside": float,
    "relabelled": int,
    "left_set": int,
    "lead_aicc": float,
    "nested": bool,
}
COLUMNS = tuple(KINDS)
# Of results that were stored without these columns.
UNKNOWN = {"lead_aicc": float("nan"), "nested": False, "far_outside": float("nan")}
CHANGES = ("n_clusters", "model", "object", "label", "set_label", "rival_label")
OWN = ("model", "n_clusters", "bic")  # what is said of the fit itself


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rivals:
    """Other mixtures of the same data, and what they change.

    Attributes
    ----------
    table : DataFrame
        One row for each rival, the largest BIC first.  ``lead`` is its BIC less that of the fit;
        it is ``plausible`` if that is at least ``-bound``.  ``outside`` is the share of pairs whose
        P_ij under the rival lies outside the interval of the fit, by however little;
        ``far_outside`` is the share that misses it by more than 0.05.  ``relabelled`` counts the
        objects that are in another cluster, ``left_set`` those whose cluster is not even in the
        set of clusters that has their highest mass.  ``lead_aicc`` is the lead by AIC, corrected
        for small samples, which asks less of a model with more parameters; ``nested`` says whether
        the rival has as many clusters and a model that is a special case of the fitted one.
    objects : DataFrame
        One row for each object that a plausible rival relabels: its name, its label and its set of
        highest mass in the fit, and its label under the rival, counted from 1; 0 is a cluster that
        corresponds to none of the fit.
    missing : mapping
        Why a rival could not be fitted, by number of clusters and model.
    n_pairs : int
        Number of pairs that were counted.
    bound : float
        How much lower the BIC of a plausible rival may be.
    model, n_clusters, bic
        The fit itself.

    Examples
    --------
    >>> from credpart import CalibratedClustering, rivals
    >>> from credpart.datasets import load_iris
    >>> model = CalibratedClustering(3, model="VEV", n_replicates=100, random_state=0)
    >>> found = rivals(model.fit(load_iris().X))
    >>> found.table[["n_clusters", "model", "plausible"]].head(2)
       n_clusters model  plausible
    0           2   VEV       True
    1           2   VVV      False
    """

    table: "pd.DataFrame"
    objects: "pd.DataFrame"
    missing: Mapping[Cell, str]
    n_pairs: int
    bound: float
    model: str
    n_clusters: int
    bic: float

    @property
    def plausible(self) -> "pd.DataFrame":
        """The rivals that BIC does not rule out, the one that changes most first.

        BIC means nothing for a mixture with as many parameters as there are objects, whose AICc is
        minus infinity: it is left out.
        """
        rows = self.table[self.table["plausible"] & (self.table["lead_aicc"] != -np.inf)]
        return rows.sort_values("outside", ascending=False, kind="stable")

    def matters(self, share: float = MUCH) -> bool:
        """Whether under a plausible rival more than a share of the pairs is outside.

        A rival that AICc rules out, by more than the same bound, does not count: BIC prefers a
        simple model until there are many objects, even if it leaves out something that is there.
        """
        few = self.plausible
        is_ruled_out = few["lead_aicc"] < -self.bound
        return bool(((few["outside"] > share) & ~is_ruled_out).any())

    def summary(self) -> str:
        """How many rivals are plausible, and the one that changes most, in plain words."""
        few = self.plausible
        start = (
            f"{len(distinct_rivals(few))} of {len(distinct_rivals(self.table))} rivals of "
            f"{_named(self.model, self.n_clusters)} are plausible (BIC higher, or at most "
            f"{self.bound:g} lower)"
        )
        if few.empty:
            return f"{start}."
        worst = few.iloc[0]
        return (
            f"{start}. The one that changes most is {_named(worst['model'], worst['n_clusters'])}: "
            f"its BIC is {abs(worst['lead']):,.1f} {'higher' if worst['lead'] > 0 else 'lower'}, "
            f"{worst['outside']:.0%} of the pairs are outside their intervals, "
            f"{worst['far_outside']:.0%} by more than {FAR:g}, and "
            f"{worst['relabelled']:,} objects are in another cluster."
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it in values that JSON has."""
        plain = {name: getattr(self, name) for name in ("n_pairs", "bound", *OWN)}
        objects = self.objects.assign(object=self.objects["object"].map(str))
        tables = {
            name: [dict(zip(table, row, strict=True)) for row in table.to_numpy(object).tolist()]
            for name, table in (("table", self.table), ("objects", objects))
        }
        missing = [[c, model, str(why)] for (c, model), why in self.missing.items()]
        return plain | tables | {"missing": missing}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Rivals":
        """The rivals that `to_dict` gave."""
        import pandas as pd

        return cls(
            table=pd.DataFrame(
                [UNKNOWN | row for row in values["table"]], columns=list(COLUMNS)
            ).astype(KINDS),
            objects=pd.DataFrame(values["objects"], columns=list(CHANGES)),
            missing={(int(c), str(model)): str(why) for c, model, why in values["missing"]},
            n_pairs=int(values["n_pairs"]),
            bound=float(values["bound"]),
            model=str(values["model"]),
            n_clusters=int(values["n_clusters"]),
            bic=float(values["bic"]),
        )

    def __repr__(self) -> str:
        few = self.plausible
        most = f", at most {few['outside'].max():.3f} of the pairs outside" if len(few) else ""
        numbers = len(distinct_rivals(self.table)), len(distinct_rivals(few))
        return f"Rivals({numbers[0]} rivals, {numbers[1]} plausible{most})"


def distinct_rivals(table: "pd.DataFrame") -> "pd.DataFrame":
    """A table of rivals with mixtures that coincide in one row, which has the names of all.

    With one cluster many models are the same mixture.
    """
    rows = table.sort_values("bic", ascending=False, kind="stable")
    figures = rows[["n_clusters", "bic", "lead_aicc", "outside", "relabelled"]].to_numpy(float)
    is_new = ~np.isclose(figures[1:], figures[:-1], rtol=ROUNDING, equal_nan=True).all(axis=1)
    group = np.append([0], np.cumsum(is_new))[: len(rows)]
    names = rows["model"].groupby(group).agg(", ".join)
    first = np.unique(group, return_index=True)[1]
    return rows.iloc[first].assign(model=names.to_numpy())


def rivals(
    model: CalibratedResult | Fitted,
    *,
    bound: float = PLAUSIBLE,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Rivals:
    """Fit other mixtures to the same data, and report what the plausible ones change.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        A fitted estimator, or its result.
    bound : float
        How much lower than that of the fit the BIC of a plausible rival may be.  Up to 2 the
        evidence against it is hardly worth a mention, from 6 on it is strong, above 10 very strong.
    n_jobs : int, optional
        Number of parallel jobs, as in joblib.  The result does not depend on it.
    progress : callable, optional
        Called with "select" and the share of a search that is done.

    Returns
    -------
    Rivals
        A table with one row for each rival, and the objects that plausible ones relabel.

    Notes
    -----
    Fitted are, with the number of clusters of the fit: all models that were tried, all covariance
    structures of Gaussian mixtures, and the families t and skew-t, with the structure of the fit
    and with the most general one.  With one cluster alone, with one less and one more than the
    fit has, and than the least and the largest number that were tried: the models that were tried,
    and all structures.  Of data with categories, only the models that were tried.  Searches start
    from the clusters of the fit, or from one partition for another number of clusters, and from
    nested models; fits that the selection has found are taken over.

    Rivals that are not plausible do not count, however different they are.  Pairs count as often
    as their objects' weights say; of more than 1000 objects, the pairs of 1000 random ones are
    counted.

    Examples
    --------
    >>> from credpart import CalibratedClustering, rivals
    >>> from credpart.datasets import make_skew_t
    >>> model = CalibratedClustering(3, model="VVV", n_replicates=100, random_state=0)
    >>> found = rivals(model.fit(make_skew_t(200, random_state=0).X))
    >>> found.matters()
    True
    """
    result = result_of(model)
    bound = check_positive("bound", bound)
    if result.mixture is None:  # results that are made of replicates alone
        remedy = "Fit a CalibratedClustering: rivals are compared with its mixture."
        raise InputError("model", "have a fitted mixture", None, remedy)
    fits, missing = fit_rivals(result, n_jobs, progress)
    return compare_rivals(result, fits, missing, bound)


def fit_rivals(
    result: CalibratedResult, n_jobs: int | None = None, progress: Progress | None = None
) -> tuple[dict[Cell, MixtureFit], dict[Cell, str]]:
    """All rivals by number of clusters and model, and why others are missing."""
    chosen, options = result.mixture, result.options
    data, known = WeightedTable(result.data, result.weights), result.known_labels or NOTHING
    most = len(np.unique(sortable(data.seen), axis=0)) - 1  # clusters that the data can carry
    most = min(most, int(np.ceil(data.weights.sum())) - 1)
    c, tried = chosen.n_clusters, result.selection.numbers
    fewest = max(1, known.n_named)
    # One cluster is always among them: objects without any clusters can be cut into several.
    compared = {1, c - 1, c + 1, min(tried) - 1, max(tried) + 1} - {c}
    others = sorted(k for k in compared & set(range(fewest, most + 1)) if known.may_be(k))
    given = rows_of(one for one in result.models if not isinstance(one, str) or one in MODELS)
    structures, families = comparable_models(chosen, given)
    search = SearchOptions.check(options.limits, 1, options.seed, n_jobs)
    found: dict[Cell, MixtureFit] = {}
    missing: dict[Cell, str] = {}
    with warnings.catch_warnings(action="ignore", category=CredpartWarning):
        for numbers, models in (
            ([c], given | structures | families),
            (others, given | structures),
        ):
            if not numbers:
                continue
            try:
                selection = select(data, numbers, models, search, "bic", progress, chosen, known)
            except CredpartError as error:  # no model could be fitted
                missing |= {(k, name): str(error) for k in numbers for name in models}
                continue
            found |= selection.fits
            missing |= selection.missing
    for cell, fit in result.selection.fits.items():
        if cell not in found or fit.loglik >= found[cell].loglik:
            found[cell] = fit
    own = c, chosen.model
    return (
        {cell: fit for cell, fit in found.items() if cell != own},
        {cell: why for cell, why in missing.items() if cell != own and cell not in found},
    )


def comparable_models(
    chosen: MixtureFit, given: Mapping[str, Model]
) -> tuple[dict[str, Model], dict[str, Model]]:
    """Gaussian structures, and models of other families, that read the data as the fit does."""
    read = given[chosen.model].read
    can = chosen.columns.may_miss
    alike = {n: row for n, row in MODELS.items() if row.read is read and row.can_miss >= can}
    names = ONE_DIMENSION if chosen.columns.n_columns == 1 else STRUCTURES
    structures = {name: alike[name] for name in names if name in alike}
    families = {
        name: row
        for name, row in alike.items()
        if row.family in FAMILIES and (row.is_listed or row.structure == chosen.structure)
    }
    return structures, families


def compare_rivals(
    result: CalibratedResult,
    fits: Mapping[Cell, MixtureFit],
    missing: Mapping[Cell, str],
    bound: float,
) -> Rivals:
    """The tables of rivals that were fitted."""
    import pandas as pd

    chosen, partition, values = result.mixture, result.partition, result.mixture_values
    rows = random_rows(result.n_objects, MOST_OBJECTS, result.options.seed)
    pairs = CountedPairs(intervals_among(result, rows), result.weights[rows])
    in_set = partition.focal_sets[partition.set_labels]  # (n, c)
    names = np.array(set_names(partition.focal_sets, partition.cluster_names), dtype=object)
    ids = np.array(result.ids, dtype=object)
    nested = special_cases(chosen.model)
    table, objects = [], []
    for (c, model), fit in sorted(fits.items(), key=lambda item: -item[1].bic):
        if fit.coincides_with(chosen):  # another name for the same mixture
            continue
        posteriors = fit.posteriors_of(values)
        labels = matched_labels(result.posteriors, posteriors, result.weights)
        labels = np.where(most_probable(posteriors) < 0, OUTLIER, labels)
        is_other = labels != result.labels
        has_left = np.where(labels < 0, in_set.any(axis=1), ~in_set[np.arange(len(labels)), labels])
        lead = fit.bic - chosen.bic
        is_plausible = bool(lead >= -bound)
        outside = pairs.share_outside(posteriors[rows]), pairs.share_outside(posteriors[rows], FAR)
        counts = int(is_other.sum()), int(has_left.sum())
        is_nested = c == chosen.n_clusters and model in nested
        others = fit.aicc - chosen.aicc, is_nested
        table.append((c, model, fit.bic, lead, is_plausible, *outside, *counts, *others))
        for i in np.flatnonzero(is_other) if is_plausible and fit.aicc != -np.inf else ():
            label, sets = result.labels[i] + 1, names[partition.set_labels[i]]
            objects.append((c, model, ids[i], label, sets, labels[i] + 1))
    return Rivals(
        table=pd.DataFrame(table, columns=list(COLUMNS)),
        objects=pd.DataFrame(objects, columns=list(CHANGES)),
        missing=missing,
        n_pairs=len(pairs.intervals.lower),
        bound=bound,
        model=chosen.model,
        n_clusters=chosen.n_clusters,
        bic=chosen.bic,
    )


def intervals_among(result: CalibratedResult, rows: IntArray) -> PairwiseIntervals:
    """The intervals of all pairs of some objects."""
    if len(rows) == result.n_objects == result.intervals.n_objects:
        return result.intervals
    values, method = result.mixture_values[rows], result.options.method
    moved = result.influence_for(method)
    return pairwise_intervals(
        result.replicates.posteriors_of(values),
        result.options.level,
        method=method,
        estimate=result.posteriors[rows],
        influence=None if moved is None else moved.on(values),
    )


class CountedPairs:
    """Pairs of objects with their intervals; a pair counts as often as there are copies of it."""

    def __init__(self, intervals: PairwiseIntervals, weights: Array) -> None:
        self.intervals = intervals
        first, second = np.triu_indices(len(weights), 1)
        self.counts = weights[first] * weights[second]
        self.copies = weights * np.maximum(weights - 1.0, 0.0) / 2.0  # pairs of two copies

    def share_outside(self, posteriors: Array, margin: float = ROUNDING) -> float:
        """The share of pairs whose P_ij, under posteriors (n, c), is outside by a margin."""
        bounds, P = self.intervals, pairwise_probabilities(posteriors)
        outside = self.counts @ _is_outside(bounds.lower, P, bounds.upper, margin)
        total = self.counts.sum()
        if bounds.own_lower is not None and bounds.own_upper is not None:
            own = (posteriors**2).sum(axis=1)
            outside += self.copies @ _is_outside(bounds.own_lower, own, bounds.own_upper, margin)
            total += self.copies.sum()
        return float(outside / total)


def _is_outside(lower: Array, P: Array, upper: Array, margin: float) -> Array:
    return ((lower > P + margin) | (upper + margin < P)).astype(float)


def matched_labels(posteriors: Array, others: Array, weights: Array) -> IntArray:
    """Labels (n,) under other posteriors (n, c'), named after the clusters that they match best.

    Clusters are matched one to one, such that as much weight as possible is in the same cluster
    under both; where others are more numerous, -1 stands for those that match none.

    >>> old, new = np.eye(2)[[0, 0, 1]], np.eye(3)[[2, 2, 0]]
    >>> matched_labels(old, new, np.ones(3)).tolist()
    [0, 0, 1]
    """
    shared = posteriors.T @ (weights[:, None] * others)
    mine, theirs = linear_sum_assignment(shared, maximize=True)
    names = np.full(others.shape[1], -1)
    names[theirs] = mine
    return np.asarray(names[others.argmax(axis=1)])


def _named(model: Any, n_clusters: Any) -> str:
    return f"{model} with {n_clusters} cluster{'s' * int(n_clusters != 1)}"
