"""The result of a calibrated clustering: one frozen value that all consumers read.

Plots, reports, diagnoses and files take this value; the estimator `CalibratedClustering` wraps it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray, IntArray, make_read_only
from credpart._bootstrap import Replicates
from credpart._bootstrap.delta_method import DeltaMethod
from credpart._bootstrap.influence import MixtureInfluence, find_influence
from credpart._bootstrap.units import Design
from credpart._checks import Table, WeightedTable, check_choice
from credpart._columns import as_frame
from credpart._irqp import irqp
from credpart._irqp.starting_masses import from_posteriors
from credpart._messages import Message
from credpart._parallel import run_tasks
from credpart._progress import Progress, shown
from credpart._threads import one_blas_thread
from credpart._weakening import choose_pairs, smallest_amount, weakened_masses
from credpart.calibration_options import CalibrationOptions
from credpart.errors import InputError, InputTypeError
from credpart.intervals import METHODS, PairwiseIntervals, by_object, pairwise_intervals
from credpart.mixture.distinct import copies, distinct
from credpart.mixture.fit import MixtureFit
from credpart.mixture.known_labels import NOTHING, KnownLabels
from credpart.mixture.posteriors import most_probable
from credpart.mixture.search.selection import Selection
from credpart.pairs import (
    Chosen,
    Landmarks,
    SampledObjects,
    bounds_of,
    choose_landmarks,
    distinct_objects,
    estimated_objective,
    stratified_sample,
)
from credpart.partition import EvidentialPartition
from credpart.profiles import Profiles, find_profiles

if TYPE_CHECKING:
    import pandas as pd

NEW_VALUES = 1 << 22  # posteriors and bounds of the new objects that are worked on together
DELTA_COST = 0.015  # of J that intervals by the delta method may cost
FREE_COST = 1e-8  # squared errors of a pair that never matter: of clusters far apart J is rounding
DELTA_ROWS = 256  # objects whose intervals the delta method finds together
DELTA_TASK = 16 * DELTA_ROWS  # objects of one task
# Streams of random numbers that are not a replicate's.
SAMPLE_KEY, PAIRS_KEY = (2**32 - 1,), (2**32 - 2,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibratedResult:
    """All that a calibrated clustering found, with the data that it was found in.

    Attributes
    ----------
    data : Table
        The data as they were read: categories are codes.
    weights : array of shape (n,)
        Weights of the objects.
    options : CalibrationOptions
        The parameters.
    selection : Selection
        All fits that the mixture was chosen from.
    mixture : MixtureFit
        The fitted mixture; cluster k of the partition is its component k.
    posteriors : array of shape (n, c)
        Posterior probabilities of the mixture on its own data.
    replicates : Replicates
        The refitted mixtures.
    sample : SampledObjects
        The objects that were all compared with each other, and their weights: all objects, or a
        sample that stands for them.
    intervals : PairwiseIntervals
        Confidence intervals on the pairwise probabilities of the sample.
    partition : EvidentialPartition
        The mass functions of all objects.
    objective : float
        J of Eq. (9) over all pairs, before masses were weakened; if there is a sample, an estimate
        from its pairs.
    landmarks : Landmarks or None
        The objects that new ones are compared with; None is all fitted objects.
    timings : mapping
        Seconds of each stage: select, bootstrap, intervals, partition.
    groups, strata : array of int, shape (n,), or None
        Codes of the groups and strata in which objects were resampled.
    known_labels : KnownLabels or None
        What was known already of the clusters of objects.
    weakening : float
        What each set gave to the set of all clusters, as in `EvidentialPartition.weaken`; 0 unless
        it was asked for.

    Examples
    --------
    >>> from credpart import CalibratedClustering
    >>> from credpart.datasets import load_butterfly
    >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
    >>> result = model.fit(load_butterfly().X).result_
    >>> result
    CalibratedResult(n_objects=11, n_clusters=2, model=EII, level=0.9, n_replicates=100)
    >>> result.refit_partition(level=0.8, focal_sets="singletons").partition
    EvidentialPartition(n_objects=11, n_clusters=2, n_focal_sets=2)
    """

    data: Table
    weights: Array
    options: CalibrationOptions
    selection: Selection
    mixture: MixtureFit
    posteriors: Array
    replicates: Replicates
    sample: SampledObjects
    intervals: PairwiseIntervals
    partition: EvidentialPartition
    objective: float
    landmarks: Landmarks | None
    timings: Mapping[str, float]
    groups: IntArray | None = None
    strata: IntArray | None = None
    known_labels: KnownLabels | None = None
    weakening: float = 0.0

    def __post_init__(self) -> None:
        codes = [array for array in (self.groups, self.strata) if array is not None]
        make_read_only(self.data.values, self.weights, self.posteriors, *self.sample, *codes)

    def __reduce__(self) -> tuple[Any, ...]:
        # By the constructor: a copied or unpickled result has read-only arrays too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return (
            f"CalibratedResult(n_objects={self.n_objects}, n_clusters={self.mixture.n_clusters}, "
            f"model={self.mixture.model}, level={self.intervals.level:g}, "
            f"n_replicates={len(self.replicates)})"
        )

    @property
    def n_objects(self) -> int:
        """Number of objects, n."""
        return len(self.data.values)

    @property
    def labels(self) -> IntArray:
        """Cluster of maximum plausibility of each object, from 0; -1 for an outlier."""
        return self.partition.labels_or_outlier

    @property
    def has_noise(self) -> bool:
        """Whether objects may belong to no cluster, so that the empty set may carry mass."""
        return self.partition.may_be_outliers

    @property
    def is_sampled(self) -> bool:
        """Whether `intervals` are those of a sample, and J is estimated from it."""
        return len(self.sample.rows) < self.n_objects

    @property
    def compared(self) -> EvidentialPartition:
        """The masses of the objects whose pairs `intervals` holds, in the same order."""
        if not self.is_sampled:
            return self.partition
        rows, index = self.sample.rows, self.partition.index
        return replace(
            self.partition,
            masses=self.partition.masses[rows],
            index=None if index is None else index[rows],
        )

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; columns without names are counted from 1."""
        d = self.data.values.shape[1]
        return self.data.names or [f"column {j + 1}" for j in range(d)]

    @property
    def ids(self) -> list[Any]:
        """Names of the objects; objects without names are counted from 0."""
        return list(range(self.n_objects) if self.data.index is None else self.data.index)

    @property
    def mixture_values(self) -> Array:
        """The data as the mixtures read them: with what is known of the clusters of objects."""
        return (self.known_labels or NOTHING).attach(self.data).values

    @property
    def rmse(self) -> float:
        """Root mean square distance between the bounds of [Bel, Pl] and of the intervals.

        J of Eq. (9) is a sum over n (n - 1) / 2 pairs with two bounds each.  With weights it is
        over pairs of copies, as `irqp` counts them.
        """
        w = self.weights
        n_bounds = w.sum() ** 2 - (w * np.minimum(w, 1.0)).sum()
        return float(np.sqrt(self.objective / n_bounds))

    @property
    def models(self) -> list[Any]:
        """The models that were tried: names, and the classes of families of one's own."""
        families = [type(fit.family.innermost) for fit in self.selection.fits.values()]
        own = {family.__name__: family for family in families}
        return [own.get(name, name) for name in self.selection.models]

    def parameters(self) -> dict[str, Any]:
        """Parameters of a `CalibratedClustering` that finds this result in these data."""
        options = {field.name: getattr(self.options, field.name) for field in fields(self.options)}
        seed, is_auto = options.pop("seed"), options.pop("is_auto")
        options.pop("nominal_level")  # the result has the level that an audit recommended
        return options | {
            "n_clusters": "auto" if is_auto else _one_or_all(self.options.n_clusters),
            "model": _one_or_all(self.models),
            "missing": "model" if self.data.may_miss else "error",
            "random_state": seed,
        }

    def frame(self) -> "pd.DataFrame":
        """The data as a DataFrame, with the categories that the codes stand for."""
        return as_frame(self.data)

    def profiles(self) -> Profiles:
        """What is in the clusters, as a value; `profile` is its table."""
        found = find_profiles(self.data, self.column_names, self.weights, self.partition)
        return replace(found, scope=self._scope())

    def _scope(self) -> str:
        """Of which objects figures are, where the mixture has seen more than the result keeps."""
        n, kept = 0.0 if self.mixture is None else self.mixture.n_objects, self.weights.sum()
        if n <= kept or np.isclose(n, kept):
            return ""
        return f"These are figures of a random sample of {kept:,.0f} of the {n:,.0f} objects."

    def profile(self) -> "pd.DataFrame":
        """What is in the clusters: one row for each, the largest first.

        An object counts in the cluster of its label, with its weight.  Of data in partitions the
        figures are those of the sample that the result keeps, as `profiles().scope` says.

        Returns
        -------
        DataFrame
            The index has the numbers of the clusters, from 1, or their names.  Columns have two
            levels.  First ``("cluster", ...)``: "objects"; "share", the share of mass of the
            cluster, which is its mean pignistic probability, with "share_low" and "share_high", the
            mean belief and plausibility; "set_apart_by", the columns that differ most from all
            objects.  Then each column of the data, those that separate the clusters best first: its
            "mean", "sd" and "median", or the share of each category, and its standardised
            "difference" from all objects.

        Notes
        -----
        A share lies between mean belief and mean plausibility whatever probabilities within
        these bounds the objects have.  This needs no matching of clusters between replicates,
        which may have other numbers of clusters.  The level is that of the intervals on pairs.

        Examples
        --------
        >>> from credpart import CalibratedClustering
        >>> from credpart.datasets import load_iris
        >>> model = CalibratedClustering(3, model="EEE", n_replicates=50, random_state=0)
        >>> profile = model.fit(load_iris().X).profile()
        >>> profile["petal_length"]["mean"].round(2).to_dict()
        {1: 1.46, 2: 4.26, 3: 5.55}
        """
        return self.profiles().to_frame()

    @property
    def estimate(self) -> Array | None:
        """Posteriors (n, c) that methods for intervals may start from; None if there are none."""
        return self.posteriors

    def influence_for(self, method: str) -> MixtureInfluence | None:
        """How objects move the mixture, if a method for intervals asks for it; None if unknown."""
        design = Design(self.groups, self.strata)
        return influence_on(self.mixture, self.data, self.weights, design, self.options, method)

    @overload
    def intervals_at(
        self,
        level: float,
        *,
        method: str | None = ...,
        n_jobs: int | None = ...,
        verbose: int = ...,
    ) -> PairwiseIntervals: ...
    @overload
    def intervals_at(
        self,
        level: Sequence[float],
        *,
        method: str | None = ...,
        n_jobs: int | None = ...,
        verbose: int = ...,
    ) -> list[PairwiseIntervals]: ...
    def intervals_at(
        self,
        level: float | Sequence[float],
        *,
        method: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> PairwiseIntervals | list[PairwiseIntervals]:
        """Intervals of the sample at other levels or by another method, from the same replicates.

        ``method`` is as in `pairwise_intervals`; None is that of the options.
        """
        rows, estimate = self.sample.rows, self.estimate
        values = self.data.values[rows]
        named = check_choice("method", self.options.method if method is None else method, METHODS)
        with shown("intervals", verbose) as progress:
            values = self.mixture_values[rows]
            posteriors = self.replicates.posteriors_of(values, n_jobs=n_jobs)
            influence = self.influence_for(named)
            return pairwise_intervals(
                posteriors,
                level,
                method=named,
                estimate=None if estimate is None else estimate[rows],
                influence=None if influence is None else influence.on(values),
                sample_weight=self.weights[rows],
                n_jobs=n_jobs,
                progress=progress,
            )

    def refit_partition(
        self,
        *,
        level: float | None = None,
        focal_sets: str | ArrayLike | None = None,
        omega: bool | None = None,
        overlap: int | None = None,
        weaken: bool | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> "CalibratedResult":
        """The result with another partition, from the same replicates.

        The arguments that are given replace those of the options.
        """
        options = self.options.replaced(
            self.partition.n_clusters,
            level=level,
            focal_sets=focal_sets,
            omega=omega,
            overlap=overlap,
            weaken=weaken,
        )
        sets = options.sets_for(self.posteriors, self.weights, has_noise=self.has_noise)
        timings = dict(self.timings)
        known = self.known_labels or NOTHING
        data, allowed = known.attach(self.data), known.allowed_sets(sets)
        influence = self.influence_for(options.method)
        with shown("intervals", verbose, timings) as progress:
            intervals = find_intervals(
                self.replicates,
                data,
                self.sample,
                options,
                n_jobs,
                progress,
                self.estimate,
                influence,
                self.weights,
            )
        with shown("partition", verbose, timings) as progress:
            given = PartitionInputs(
                self.replicates,
                WeightedTable(data, self.weights),
                self.posteriors,
                self.sample,
                intervals,
                sets,
                options,
                influence,
                allowed,
            )
            found = find_partition(given, n_jobs, progress)
        return self._with(options=options, intervals=intervals, timings=timings, **found._asdict())

    def _with(self, **changes: Any) -> "CalibratedResult":
        """The result with other parts."""
        return replace(self, **changes)

    def recalibrate(
        self, audit: "Recommendation", *, n_jobs: int | None = None, verbose: int = 0
    ) -> "CalibratedResult":
        """The result at the level that an audit of it recommends, from the same replicates.

        ``options.level`` is then the level of the intervals, ``options.nominal_level`` the one that
        was asked for.

        Examples
        --------
        >>> from credpart import CalibratedClustering, audit
        >>> from credpart.datasets import load_butterfly
        >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
        >>> result = model.fit(load_butterfly().X).result_
        >>> options = result.recalibrate(audit(result, n_datasets=4)).options
        >>> options.nominal_level, options.level > 0.9
        (0.9, True)
        """
        if not isinstance(audit, Recommendation):
            raise InputTypeError("audit", "be what `audit` returns", type(audit).__name__)
        if not audit.is_of(self.mixture):
            mine, its = (
                f"{one.model}, n_clusters={one.n_clusters}, loglik={one.loglik:.3f}"
                for one in (self.mixture, audit)
            )
            got = Message(f"one of {its}")
            raise InputError("audit", f"be of this fit ({mine})", got, "Audit the fit again.")
        found = self.refit_partition(level=audit.recommended_level, n_jobs=n_jobs, verbose=verbose)
        return replace(found, options=replace(found.options, nominal_level=audit.nominal_level))

    def predict_masses(
        self, X: Any, *, labels: Any = None, n_jobs: int | None = None, verbose: int = 0
    ) -> Array:
        """Masses (m, f) of new objects, each against the fitted ones.

        ``labels`` say what is known of their clusters, as in the fit; a fit without labels takes
        none.
        """
        table = self.mixture.columns.read(X)
        if self.known_labels is None and labels is not None:
            raise InputError("labels", "be None for a model that was fitted without", labels)
        names = None if self.known_labels is None else self.known_labels.names
        known = KnownLabels.check(labels, len(table.values), names)
        known.numbers([self.mixture.n_clusters], is_auto=False)
        values, allowed = known.attach(table).values, known.allowed_sets(self.partition.focal_sets)
        return self.masses_of(values, allowed, n_jobs=n_jobs, verbose=verbose)

    def known(
        self, influence: MixtureInfluence | None = None, *, n_jobs: int | None = None
    ) -> Landmarks:
        """The objects that new ones are compared with, which may be all that were fitted."""
        if self.landmarks is not None:
            return self.landmarks
        values = self.mixture_values
        return as_landmarks(
            distinct_objects(values, self.weights),
            self.replicates,
            values,
            self.partition,
            self.options,
            n_jobs,
            self.posteriors,
            self.intervals.pointwise_level,
            influence,
        )

    def masses_of(
        self,
        values: Array,
        allowed: BoolArray | None = None,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Array:
        """`predict_masses` of checked values (m, d), in which categories are codes."""
        influence = self.influence_for(self.options.method)
        known, estimate = self.known(influence, n_jobs=n_jobs), None
        if METHODS[self.options.method].needs_estimate:
            estimate = self.mixture.posteriors_of(values)
        with shown("predict", verbose) as progress:
            masses = masses_from(
                known, self.replicates, values, n_jobs, progress, estimate, influence, allowed
            )
        return weakened_masses(masses, self.partition.focal_sets, self.weakening, allowed)


def influence_on(
    mixture: MixtureFit,
    data: Table,
    weights: Array,
    design: Design,
    options: CalibrationOptions,
    method: str,
) -> MixtureInfluence | None:
    """How objects, or the groups that are drawn, move a mixture, if a method asks for it."""
    if not METHODS[method].needs_influence:
        return None
    objects = distinct(data.values, weights)
    return find_influence(mixture, objects, design.units(objects, weights), options.seed)


def _one_or_all(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def find_sample(posteriors: Array, weights: Array, options: CalibrationOptions) -> SampledObjects:
    """The objects that are all compared with each other; each cluster has its share."""
    n, c = posteriors.shape
    size = options.pairs_for(n, c).n_sampled
    rng = np.random.default_rng(SeedSequence(options.seed, spawn_key=SAMPLE_KEY))
    labels = most_probable(posteriors)
    return stratified_sample(np.where(labels < 0, c, labels), weights, size, rng)


def find_intervals(
    replicates: Replicates,
    data: Table,
    sample: SampledObjects,
    options: CalibrationOptions,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    estimate: Array | None = None,
    influence: MixtureInfluence | None = None,
    weights: Array | None = None,
) -> PairwiseIntervals:
    """Algorithm 1, lines 4-11, for the pairs of a sample, which may be all objects.

    ``estimate`` has the posteriors (n, c) of all objects in the fit, for methods that need them,
    and ``influence`` says how fitted objects move these.  ``weights`` (n,) are those of the data.
    """
    values = data.values[sample.rows]
    posteriors = replicates.posteriors_of(values, n_jobs=n_jobs)
    return pairwise_intervals(
        posteriors,
        options.level,
        method=options.method,
        estimate=None if estimate is None else estimate[sample.rows],
        influence=None if influence is None else influence.on(values),
        sample_weight=None if weights is None else weights[sample.rows],
        n_jobs=n_jobs,
        progress=progress,
    )


class FoundPartition(NamedTuple):
    """The last stage of a result; see `CalibratedResult`."""

    partition: EvidentialPartition
    objective: float
    landmarks: Landmarks | None  # with the masses that were not weakened
    weakening: float = 0.0


class PartitionInputs(NamedTuple):
    """What masses are found from, once Algorithm 1 has given the intervals."""

    replicates: Replicates
    data: WeightedTable
    posteriors: Array  # (n, c): those of the fit
    sample: SampledObjects  # the objects that are all compared with each other, perhaps all
    intervals: PairwiseIntervals  # of the sample
    sets: BoolArray  # (f, c)
    options: CalibrationOptions
    influence: MixtureInfluence | None = None
    allowed: BoolArray | None = None  # (n, f): which focal sets may carry mass, if not all

    def landmarks(self, chosen: Chosen, masses: Array, n_jobs: int | None) -> Landmarks:
        """Some objects of the sample, whose masses are (s, f), as landmarks."""
        return as_landmarks(
            chosen,
            self.replicates,
            self.data.table.values[self.sample.rows],
            EvidentialPartition(masses, self.sets),
            self.options,
            n_jobs,
            self.posteriors[self.sample.rows],
            self.intervals.pointwise_level,
            self.influence,
        )


def find_partition(
    given: PartitionInputs, n_jobs: int | None = None, progress: Progress | None = None
) -> FoundPartition:
    """`fit_masses`, weakened until [Bel, Pl] holds as much as the intervals, if that is asked."""
    found = fit_masses(given, n_jobs, progress)
    if not given.options.weaken:
        return found
    rows, values, allowed = given.sample.rows, given.data.table.values, given.allowed
    masses = found.partition.masses
    objects = distinct_objects(values[rows], given.sample.weights)
    landmarks = found.landmarks
    if landmarks is None:
        chosen = Chosen(objects.places, objects.weights)
        landmarks = given.landmarks(chosen, masses[rows], n_jobs)
    rng = np.random.default_rng(SeedSequence(given.options.seed, spawn_key=PAIRS_KEY))
    amount = smallest_amount(
        EvidentialPartition(masses[rows], given.sets),
        given.intervals,
        choose_pairs(objects, rng),
        lambda some: given.replicates.posteriors_of(values[rows[some]], n_jobs=n_jobs),
        None if allowed is None else allowed[rows],
    )
    weaker = replace(found.partition, masses=weakened_masses(masses, given.sets, amount, allowed))
    return FoundPartition(weaker, found.objective, landmarks, amount)


def fit_masses(
    given: PartitionInputs, n_jobs: int | None = None, progress: Progress | None = None
) -> FoundPartition:
    """Algorithm 2 for a sample, which may be all objects; landmarks give others their masses.

    It starts from the posteriors: so cluster k is component k of the mixture.  Copies of an object
    count as one, and objects are taken in lexicographic order: so neither the order of the rows nor
    whether an object is repeated or has a weight changes a bit of the masses.
    """
    replicates, data, posteriors, sample, intervals, sets, options, influence, allowed = given
    rows, values = sample.rows, data.table.values
    n, c = posteriors.shape
    is_sampled = len(rows) < n
    found = irqp(
        intervals,
        sets,
        sample_weight=sample.weights,
        objects=copies(values[rows])[1],
        allowed=None if allowed is None else allowed[rows],
        start=from_posteriors(posteriors[rows], sets),
        noise=not bool(sets.any(axis=1).all()),
        progress=None if progress is None else _scaled(progress, 0.0, 0.5 if is_sampled else 1.0),
    )
    objects = distinct_objects(values[rows], sample.weights)
    number = options.pairs_for(n if is_sampled else len(objects.places), c).n_landmarks
    landmarks = None
    if is_sampled or number is not None:
        chosen = choose_landmarks(intervals, objects, number, options.seed)
        landmarks = given.landmarks(chosen, found.partition.masses, n_jobs)
    if not is_sampled or landmarks is None:
        return FoundPartition(
            replace(found.partition, index=data.table.index), found.objective, landmarks
        )
    if not data.table.may_miss and _delta_is_accurate(
        landmarks, replicates, values[rows], chosen, intervals, sample
    ):
        landmarks = replace(landmarks, values=values[rows][chosen.places])
    rest = None if progress is None else _scaled(progress, 0.5, 1.0)
    masses = masses_from(
        landmarks, replicates, values, n_jobs, rest, posteriors, influence, allowed
    )
    partition = EvidentialPartition(masses, sets, index=data.table.index)
    compared = EvidentialPartition(masses[rows], sets)
    objective = estimated_objective(intervals, compared, sample, data.weights)
    return FoundPartition(partition, objective, landmarks)


def as_landmarks(
    chosen: Chosen,
    replicates: Replicates,
    values: Array,
    partition: EvidentialPartition,
    options: CalibrationOptions,
    n_jobs: int | None = None,
    estimate: Array | None = None,
    pointwise_level: float | None = None,
    influence: MixtureInfluence | None = None,
) -> Landmarks:
    """Some of the objects with these values, masses and posteriors in the fit as landmarks."""
    some = values[chosen.places]
    posteriors = replicates.posteriors_of(some, n_jobs=n_jobs)
    if not METHODS[options.method].needs_estimate:
        estimate = None
    masses = partition.masses[chosen.places]
    return Landmarks(
        EvidentialPartition(masses, partition.focal_sets),
        chosen.weights,
        by_object("posteriors", posteriors),
        options.level,
        options.method,
        None if estimate is None else estimate[chosen.places],
        pointwise_level,
        None if influence is None else influence.on(some),
    )


def _delta_is_accurate(
    landmarks: Landmarks,
    replicates: Replicates,
    values: Array,
    chosen: Chosen,
    intervals: PairwiseIntervals,
    sample: SampledObjects,
) -> bool:
    """Whether the delta method may stand for the replicates, judged by a sample (s, d).

    Objects of the sample get their masses from their intervals with the landmarks, and from those
    of the delta method.  The latter may have a J that is a little higher, over all pairs of the
    sample.
    """
    if not METHODS[landmarks.method].allows_delta:
        return False
    with one_blas_thread():
        delta = DeltaMethod.of(replicates, values[chosen.places])
    if delta is None:
        return False
    both = bounds_of(intervals, np.arange(len(values)), chosen.places)
    exact = both[:, : len(chosen.places)], both[:, len(chosen.places) :]
    masses = landmarks.masses_within(*exact), _masses_by_delta(landmarks, delta, replicates, values)
    sets, weights = landmarks.partition.focal_sets, sample.weights
    J, J_near = (
        estimated_objective(intervals, EvidentialPartition(one, sets), sample, weights)
        for one in masses
    )
    return J_near <= (1.0 + DELTA_COST) * J + FREE_COST * float(weights.sum()) ** 2


def masses_from(
    landmarks: Landmarks,
    replicates: Replicates,
    values: Array,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    estimate: Array | None = None,
    influence: MixtureInfluence | None = None,
    allowed: BoolArray | None = None,
) -> Array:
    """Masses (m, f) of objects with checked values (m, d), block by block.

    ``estimate`` has their posteriors (m, c) in the fit, for methods that need them, and
    ``influence`` says how fitted objects move these.  ``allowed`` (m, f) says which focal sets may
    carry mass, if not all.
    """
    masses = np.empty((len(values), len(landmarks.partition.focal_sets)))
    delta = None
    if landmarks.values is not None:
        with one_blas_thread():
            delta = DeltaMethod.of(replicates, landmarks.values)
    if delta is not None:
        _fill_by_delta(masses, landmarks, delta, replicates, values, n_jobs, progress, allowed)
        return masses
    n_known, c, B = landmarks.posteriors.shape
    n_moving = 0 if influence is None else len(influence.weights)
    size = max(1, NEW_VALUES // ((B + n_moving) * c + 2 * n_known))
    for first in range(0, len(values), size):
        rows = slice(first, first + size)
        new = replicates.posteriors_of(values[rows], n_jobs=n_jobs)
        point = None if estimate is None else estimate[rows]
        moves = None if influence is None else influence.on(values[rows])
        inside = None if allowed is None else allowed[rows]
        masses[rows] = landmarks.masses(
            new, estimate=point, influence=moves, allowed=inside, n_jobs=n_jobs
        )
        if progress is not None:
            progress("predict", min(1.0, rows.stop / len(values)))
    return masses


def _fill_by_delta(
    masses: Array,
    landmarks: Landmarks,
    delta: DeltaMethod,
    replicates: Replicates,
    values: Array,
    n_jobs: int | None,
    progress: Progress | None,
    allowed: BoolArray | None,
) -> None:
    """Write the masses of objects whose intervals with landmarks the delta method finds."""
    blocks = [slice(i, i + DELTA_TASK) for i in range(0, len(values), DELTA_TASK)]
    tasks = [
        (landmarks, delta, replicates, values[rows], None if allowed is None else allowed[rows])
        for rows in blocks
    ]
    with one_blas_thread():
        for rows, found in zip(blocks, run_tasks(_masses_by_delta, tasks, n_jobs), strict=True):
            masses[rows] = found
            if progress is not None:
                progress("predict", min(1.0, rows.stop / len(values)))


def _masses_by_delta(
    landmarks: Landmarks,
    delta: DeltaMethod,
    replicates: Replicates,
    values: Array,
    allowed: BoolArray | None = None,
) -> Array:
    """Masses by the delta method or, of objects to which it does not apply, by the replicates."""
    masses = np.empty((len(values), landmarks.n_sets))

    def inside(rows: IntArray) -> BoolArray | None:
        return None if allowed is None else allowed[rows]

    with one_blas_thread():
        is_linear = delta.is_linear(values)
        near, far = np.flatnonzero(is_linear), np.flatnonzero(~is_linear)
        if len(near):
            blocks = [near[i : i + DELTA_ROWS] for i in range(0, len(near), DELTA_ROWS)]
            found = [delta.bounds(values[rows], landmarks.level_of_each) for rows in blocks]
            lower, upper = map(np.concatenate, zip(*found, strict=True))
            masses[near] = landmarks.masses_within(lower, upper, inside(near))
        if len(far):
            posteriors = replicates.posteriors_of(values[far])
            masses[far] = landmarks.masses(posteriors, allowed=inside(far))
    return masses


def _scaled(progress: Progress, start: float, stop: float) -> Progress:
    """The progress of a part of the stage "partition"."""
    return lambda stage, share: progress("partition", start + (stop - start) * share)


@runtime_checkable
class Recommendation(Protocol):
    """What an audit says of a fit, as far as a result has to know."""

    @property
    def model(self) -> str:
        """Model of the fitted mixture."""

    @property
    def n_clusters(self) -> int:
        """Its number of clusters."""

    @property
    def loglik(self) -> float:
        """Its log-likelihood."""

    @property
    def nominal_level(self) -> float:
        """The coverage that is asked for."""

    @property
    def recommended_level(self) -> float:
        """The level of intervals that have it."""

    def is_of(self, mixture: MixtureFit) -> bool:
        """Whether it is of this fitted mixture."""


class Fitted(Protocol):
    """A fitted estimator that keeps its result."""

    @property
    def result_(self) -> CalibratedResult:
        """The result."""


def result_of(model: CalibratedResult | Fitted) -> CalibratedResult:
    """The result itself, or that of a fitted estimator."""
    result = getattr(model, "result_", model)
    if not isinstance(result, CalibratedResult):
        raise InputError(
            "model",
            "be a fitted CalibratedClustering",
            type(model).__name__,
            "Call `fit` first; other clusterings have no replicates to judge.",
        )
    return result
