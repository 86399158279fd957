"""Whether the intervals of a fit hold their level: the same pipeline on data with a known truth.

The fitted mixture stands for the truth.  Data sets of the same size are drawn from it, and each
goes through the whole pipeline with the same options: selection of the model and of the number of
clusters, bootstrap, intervals, partition.  The mixture gives the true P_ij of the drawn objects, so
it is known how often the intervals, and [Bel, Pl], contain it.  Intervals at several levels come
from the same replicates, so the level that has the coverage asked for is read off a curve.

Where the model was chosen, the truth may be on the way to a wider one: `credpart._truths` says
which mixtures data sets are drawn from.

An audit knows nothing of a model that is wrong and was not tried.  `rivals` asks that.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence

from credpart._arrays import Array, IntArray
from credpart._bootstrap.units import Design
from credpart._checks import Table, check_integer
from credpart._memory import check_pairs
from credpart._messages import Message, Setting
from credpart._progress import Progress, silent
from credpart._random import RandomState, integer_seed, random_rows, seed_sequence
from credpart._truths import Truth, plausible_truths
from credpart.calibration_options import CalibrationOptions
from credpart.errors import (
    CredpartError,
    CredpartWarning,
    DataError,
    DegeneracyWarning,
    InputError,
    UnsupportedError,
    warn_caller,
)
from credpart.intervals import pairwise_intervals, pairwise_probabilities, replicates_needed
from credpart.mixture.fit import MixtureFit
from credpart.mixture.models import MODELS, rows_of
from credpart.partition.relational import pairwise_condensed
from credpart.pipeline import calibrate
from credpart.result import CalibratedResult, Fitted, result_of

if TYPE_CHECKING:
    import pandas as pd

# Levels at which coverage is measured; between them it is interpolated.
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98, 0.99, 0.995, 0.998, 0.999)
TENTHS = 10  # of the scale of the true P
MOST_OBJECTS = 600  # of a data set whose pairs are counted: 179 700 pairs
DECIMALS = 3  # of the recommended level: no audit is worth more
ROUNDING = 1e-9  # by which a probability may miss a bound
LEAST_CHOSEN = 0.02  # share of the replicates that chose a contender
# How far below its level coverage may be before it is said, and before it is a problem.  The pairs
# of a data set stand or fall together, so that 8 data sets measure coverage to within .05 or so: a
# problem has to be larger than that by more than the standard error, else a fit that holds its
# level would be one in every fifth audit.
SHORTFALL, GREAT_SHORTFALL = 0.02, 0.05
ERRORS = 2.0  # standard errors within which a coverage may be the one asked for
# Standard deviation of the coverage between data sets, at the least: eight may agree by chance.
LEAST_DEVIATION = 0.1
LEAST_DATA_SETS = 8  # of an audit that can say that a level holds
# Where an audit does not tell, so many are to be drawn at least, which measure coverage to within
# .01 to .03; or MORE_DATA_SETS times those that there were, which halve the standard error.
ENOUGH_DATA_SETS, MORE_DATA_SETS = 50, 4
LEAST_GENEROUS = 30  # of one that can say that intervals cover more than was asked for
# Where coverage changes by less between the lowest and the highest level, a tenth of what it should
# change by, intervals are so short that the level plays no part.
LEAST_CHANGE = 0.05
FAR = 0.05  # by which [Bel, Pl] misses the truth to be counted apart
GOLDEN_RATIO = 0.5 * (1.0 + 5.0**0.5)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit:
    """How often intervals made as in a fit contain the truth, if a mixture like it is true.

    Coverage is the share of pairs whose true P_ij lies in the interval.  Standard errors are
    those of Monte Carlo: from one drawn data set to the next.  As a few data sets may agree by
    chance, coverage is judged as if it varied between data sets with a standard deviation of 0.1 at
    least: by standard errors of no less than .035 with 8 data sets, .014 with 50.

    Attributes
    ----------
    coverage, standard_error : float
        Coverage of the intervals at ``level``.
    coverage_partition, standard_error_partition : float
        Coverage of [Bel, Pl].
    length, length_partition : float
        Their mean lengths.
    level : float
        Level of the intervals of the fit.
    nominal_level : float
        The coverage that is asked for: ``level``, unless the fit was recalibrated before.
    recommended_level : float
        The level at which intervals have the coverage asked for; it lies between 0.5 and the
        largest level that the replicates allow, ``1 - 2 / B``.
    is_reached : bool
        Whether the recommended level has that coverage; False if even the largest has not.
    by_decile : DataFrame
        One row for each tenth of the scale of the true P: the share of the pairs in it, coverage
        and mean length of the intervals and of [Bel, Pl], with standard errors.
    by_level : DataFrame
        Coverage, its standard error, and mean length at each level that was tried.
    n_datasets : int
        Data sets that were drawn, those that failed included.
    failures : mapping
        How many of them could not be clustered, by the reason; they count nowhere else.
    n_objects, n_pairs, n_replicates : int
        Objects of a data set, the pairs of it that were counted, and its replicates.
    model, n_clusters, loglik
        The fitted mixture.
    truths : mapping
        How many data sets were drawn from each mixture: the fitted one, by the name of its model,
        or one between it and a wider model, and the best fits of other families.
    lowest, highest : float
        Coverage of the intervals on the data sets with the least and the most of it.
    far_partition : float
        Share of the pairs that [Bel, Pl] misses by more than 0.05.  NaN, as ``lowest`` and
        ``highest``, of an audit that was stored without it.

    Examples
    --------
    >>> from credpart import CalibratedClustering, audit
    >>> from credpart.datasets import make_mixture1
    >>> model = CalibratedClustering(3, model="EII", n_replicates=100, random_state=0)
    >>> found = audit(model.fit(make_mixture1(60, random_state=0).X), n_datasets=5)
    >>> found.by_decile.shape, found.is_reached
    ((10, 7), True)
    """

    coverage: float
    standard_error: float
    coverage_partition: float
    standard_error_partition: float
    length: float
    length_partition: float
    level: float
    nominal_level: float
    recommended_level: float
    is_reached: bool
    by_decile: "pd.DataFrame"
    by_level: "pd.DataFrame"
    n_datasets: int
    failures: Mapping[str, int]
    n_objects: int
    n_pairs: int
    n_replicates: int
    model: str
    n_clusters: int
    loglik: float
    truths: Mapping[str, int]
    lowest: float = float("nan")
    highest: float = float("nan")
    far_partition: float = float("nan")

    @property
    def n_failed(self) -> int:
        """Data sets that could not be clustered."""
        return sum(self.failures.values())

    @property
    def n_counted(self) -> int:
        """Data sets that could be clustered."""
        return self.n_datasets - self.n_failed

    @property
    def n_to_draw(self) -> int:
        """Data sets to draw where these do not tell."""
        return max(ENOUGH_DATA_SETS, MORE_DATA_SETS * self.n_counted)

    @property
    def severity(self) -> str:
        """Whether the intervals hold their level.

        It is "note" if the data sets do not tell, or hardly test the level, "caution" if the
        intervals cover less than was asked for, by more than two standard errors, "problem" if it
        is also by more than .05 after one standard error, else "ok".  A standard error counts as if
        coverage varied between data sets with a standard deviation of 0.1 at least.
        """
        return self._held(self.coverage, self._judged(self.standard_error))

    @property
    def severity_partition(self) -> str:
        """The same of [Bel, Pl]."""
        return self._held(self.coverage_partition, self._judged(self.standard_error_partition))

    @property
    def is_partition_short(self) -> bool:
        """Whether [Bel, Pl] covers less than was asked for."""
        return self.severity_partition in ("caution", "problem")

    @property
    def is_generous(self) -> bool:
        """Whether the intervals cover more than was asked for, by more than two standard errors."""
        is_more = self._is_more(self.coverage, self._judged(self.standard_error))
        return self.n_counted >= LEAST_GENEROUS and is_more and not self.is_untested

    @property
    def is_untested(self) -> bool:
        """Whether coverage is high enough at any level, and so says little of this one."""
        measured = self.by_level["coverage"]
        is_flat = bool(measured.max() - measured.min() < LEAST_CHANGE)
        return is_flat and self.coverage >= self.nominal_level - SHORTFALL

    @property
    def more_would_tell(self) -> bool:
        """Whether more data sets may tell what these do not."""
        is_final = self.is_trivial or (self.is_untested and self.n_counted >= LEAST_DATA_SETS)
        return self.severity == "note" and not is_final

    def _is_more(self, coverage: float, error: float) -> bool:
        """Whether a coverage is above the one asked for, by more than what may be chance."""
        return coverage - ERRORS * error > self.nominal_level

    @property
    def is_trivial(self) -> bool:
        """Whether every true P_ij is 1, as with one cluster and no outliers."""
        row = MODELS.get(self.model)
        return self.n_clusters == 1 and not (row is not None and row.has_noise)

    def _judged(self, error: float) -> float:
        """A standard error, which may be NaN, as it is judged with."""
        return float(np.fmax(error, LEAST_DEVIATION / np.sqrt(self.n_counted)))

    def _held(self, coverage: float, error: float) -> str:
        """Whether a coverage is the one asked for."""
        wanted = self.nominal_level
        if self.is_trivial:
            return "note"
        if coverage >= wanted - SHORTFALL:
            is_told = coverage - error >= wanted - GREAT_SHORTFALL and not self.is_untested
            return "ok" if is_told and self.n_counted >= LEAST_DATA_SETS else "note"
        if coverage + ERRORS * error >= wanted:
            return "note"
        return "problem" if coverage + error < wanted - GREAT_SHORTFALL else "caution"

    @property
    def uncertainty(self) -> str:
        """Why the data sets do not tell whether the level holds, where they do not."""
        return self._uncertainty(self.coverage)

    def _uncertainty(self, coverage: float) -> str:
        if self.is_trivial:
            return "with one cluster that says nothing, as any two objects belong together"
        if self.n_counted < LEAST_DATA_SETS:
            return "that is too few data sets to tell"
        wanted = self.nominal_level
        if self.is_untested and coverage >= wanted - SHORTFALL:
            near = "all true probabilities are near 0 or 1 there"
            return f"{near}, so that these data sets test little"
        if coverage >= wanted:
            return "the data sets differ too much to say that the level holds"
        return f"the difference from {_percent(wanted)} may be chance"

    @property
    def sense(self) -> str:
        """How the coverage of the intervals compares with the one asked for, in a clause."""
        return self._compared(self.coverage, self._judged(self.standard_error))

    @property
    def sense_partition(self) -> str:
        """The same of [Bel, Pl]."""
        return self._compared(self.coverage_partition, self._judged(self.standard_error_partition))

    def _compared(self, coverage: float, error: float) -> str:
        severity, wanted = self._held(coverage, error), f"the {_percent(self.nominal_level)}"
        if severity == "note":
            return self._uncertainty(coverage)
        if severity != "ok":
            return f"that is less than {wanted} asked for"
        if not self._is_more(coverage, error):
            return f"that agrees with {wanted} asked for"
        if self.n_counted < LEAST_GENEROUS:
            return f"that is not below {wanted} asked for"
        too_long = "which does not show that they are too long for these data"
        return f"that is more than {wanted} asked for, {too_long}"

    @property
    def asks_for_another_level(self) -> bool:
        """Whether coverage is not the one asked for, by more than what may be chance."""
        return self.severity in ("caution", "problem") or self.is_generous

    @property
    def covered(self) -> str:
        """The coverage and its standard errors, as measured and as judged with."""
        return self._covered(self.coverage, self.standard_error)

    @property
    def covered_partition(self) -> str:
        """The same of [Bel, Pl]."""
        return self._covered(self.coverage_partition, self.standard_error_partition)

    def _covered(self, coverage: float, error: float) -> str:
        share = f"{in_tenths(coverage)} of the pairs"
        if np.isnan(error):  # of one data set
            return share
        measured, judged = in_tenths(error), in_tenths(self._judged(error))
        least = "" if measured == judged else f", judged as {judged}"
        return f"{share} (standard error {measured}{least})"

    @property
    def verdict(self) -> Message:
        """What the audit says, in two sentences."""
        found = f"{self.premise}, {_percent(self.level)} intervals cover {self.covered}. "
        wanted = f"for a coverage of {_percent(self.nominal_level)}"
        sense = f"{self.sense[0].upper()}{self.sense[1:]}"
        if self.is_trivial:
            return Message(found, sense, ".")
        if not self.is_reached:
            highest = f"{self.recommended_level:.4g}, the largest level for "
            replicates = Setting("n_replicates", self.n_replicates)
            reached = f", does not suffice {wanted}. Take more replicates, or a simpler model."
            return Message(found, highest, replicates, reached)
        if self.n_counted < LEAST_DATA_SETS:
            few = "These data sets are too few to recommend a level: draw "
            return Message(found, few, Setting("n_datasets", LEAST_DATA_SETS), " or more.")
        level = Setting("level", self.recommended_level)
        if self.is_generous:
            longer = "They are longer than they had to be: on these data sets "
            return Message(found, longer, level, f" was enough {wanted}.")
        if self.more_would_tell:
            return Message(found, sense, ": draw ", Setting("n_datasets", self.n_to_draw), ".")
        if self.severity in ("ok", "note"):
            return Message(found, sense, ".")
        return Message(found, "On these data sets, use ", level, f" {wanted}.")

    def is_of(self, mixture: MixtureFit) -> bool:
        """Whether it audits intervals of a fitted mixture."""
        about = (self.model, self.n_clusters, self.loglik)
        return about == (mixture.model, mixture.n_clusters, mixture.loglik)

    @property
    def is_own(self) -> bool:
        """Whether all data sets were drawn from the fitted mixture."""
        return set(self.truths) == {self.model}

    @property
    def origin(self) -> str:
        """Where the data sets are from."""
        if self.is_own:
            return "the mixture"
        if len(self.truths) == 1:
            return next(iter(self.truths))
        return f"{len(self.truths)} kinds of plausible mixtures"

    @property
    def premise(self) -> str:
        """What is taken for true."""
        if len(self.truths) == 1:
            return f"If {self.origin} is true"
        return f"On average over {self.origin}"

    def summary(self) -> str:
        """The verdict, and what it rests on, as text."""
        rows = [
            ("intervals", self.coverage, self.standard_error, self.length),
            (
                "[Bel, Pl]",
                self.coverage_partition,
                self.standard_error_partition,
                self.length_partition,
            ),
        ]
        lines = [
            f"{name}: coverage {coverage:.3f} ({error:.3f}), mean length {length:.3f}"
            for name, coverage, error, length in rows
        ]
        worst = self.by_decile["coverage"].astype(float)
        if worst.notna().any():
            lines.append(f"worst tenth: P in {worst.idxmin()}, coverage {worst.min():.3f}")
        return "\n".join([self.verdict, *lines, self.basis])

    @property
    def basis(self) -> str:
        """What was drawn, and what failed."""
        size = (
            f"{self.n_datasets} data set{'s' * (self.n_datasets != 1)} of {self.n_objects} "
            f"objects, {self.n_replicates} replicates and {self.n_pairs} pairs each"
        )
        return "; ".join([size, *self.remarks])

    @property
    def remarks(self) -> list[str]:
        """What was drawn from, if there are several mixtures, and what failed."""
        found = []
        if len(self.truths) > 1:
            listed = ", ".join(
                f"{'the mixture' if name == self.model else name} ({count})"
                for name, count in self.truths.items()
            )
            found.append(f"drawn from {listed}")
        if self.n_failed:
            most = max(self.failures, key=lambda reason: self.failures[reason])
            found.append(f"{self.n_failed} could not be clustered and are left out: {most}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it in values that JSON has."""
        tables = {name: _records(getattr(self, name)) for name in ("by_decile", "by_level")}
        plain = {name: _plain(getattr(self, name)) for name in self.__slots__ if name not in tables}
        counts = {"failures": dict(self.failures), "truths": dict(self.truths)}
        return plain | counts | tables

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Audit":
        """The audit that `to_dict` gave."""
        kinds = {name: kind for name, kind in cls.__annotations__.items() if kind in PLAIN}
        # Audits that do not say it were drawn from the fit alone.
        told = {"truths": {values["model"]: values["n_datasets"]}, **UNKNOWN, **values}
        plain = {name: PLAIN[kind](told[name]) for name, kind in kinds.items()}
        failures, truths = (
            {str(key): int(count) for key, count in told[name].items()}
            for name in ("failures", "truths")
        )
        by_decile = _table(values["by_decile"], "P")
        by_level = _table(values["by_level"], "level")
        by_level.index = by_level.index.astype(float)
        counts = {"failures": failures, "truths": truths}
        return cls(**plain | counts, by_decile=by_decile, by_level=by_level)

    def __repr__(self) -> str:
        return (
            f"Audit({self.n_counted} data sets: coverage {self.coverage:.3f} "
            f"({self.standard_error:.3f}) at level {self.level:g}, recommended level "
            f"{self.recommended_level:.4g}{'' if self.is_reached else ', not enough'})"
        )


class Tally(NamedTuple):
    """Sums over the pairs of a data set, by tenth of the true P."""

    pairs: Array  # (10,)
    covered: Array  # (levels, 10)
    length: Array  # (levels, 10)
    covered_partition: Array  # (10,)
    length_partition: Array  # (10,)
    far_partition: Array  # (10,): misses by more than FAR


class UnitsByComponent(NamedTuple):
    """How the objects of each component are divided between groups, or strata, of the data."""

    distributions: Array  # (u, c), or (u, c + 1) with noise, which comes last; columns sum to 1
    codes: Design  # of the units, (u,)

    @classmethod
    def of(cls, result: CalibratedResult, mixture: MixtureFit) -> "UnitsByComponent | None":
        """Those of a fit to the data of a result; None where objects were drawn one by one."""
        given = [codes for codes in (result.groups, result.strata) if codes is not None]
        if not given:
            return None
        _, first, unit = np.unique(
            np.column_stack(given), axis=0, return_index=True, return_inverse=True
        )
        if len(first) == result.n_objects:  # each object is a group
            return None
        resp = mixture.posteriors_of(result.mixture_values)
        if mixture.has_noise:
            resp = np.column_stack([resp, 1.0 - resp.sum(axis=1)])
        columns = (result.weights[:, None] * resp).T
        sizes = np.stack([np.bincount(unit.ravel(), column) for column in columns], axis=1)
        distributions = sizes / np.maximum(sizes.sum(axis=0), np.finfo(float).tiny)
        codes = (None if all_ is None else all_[first] for all_ in (result.groups, result.strata))
        return cls(distributions, Design(*codes))

    def assign(self, labels: IntArray, rng: Generator) -> Design:
        """Groups and strata of new objects of these components; -1 is noise."""
        unit = np.zeros(len(labels), dtype=np.intp)
        n_units = len(self.distributions)
        for k in np.unique(labels):
            rows = np.flatnonzero(labels == k)
            unit[rows] = rng.choice(n_units, len(rows), p=self.distributions[:, k])
        return Design(*(None if codes is None else codes[unit] for codes in self.codes))


class TruthWithUnits(NamedTuple):
    """Where data sets are drawn from."""

    truth: Truth
    units: UnitsByComponent | None  # groups and strata, if the fit has them


class AuditDesign(NamedTuple):
    """What every data set of an audit has in common."""

    mixture: MixtureFit  # the fitted one
    sources: Sequence[TruthWithUnits]
    models: Sequence[Any]  # names, or classes of families
    options: CalibrationOptions
    levels: Sequence[float]
    data: Table  # those that were fitted, for the names of columns and for missing cells
    object_weights: Array  # (n,), sum 1
    n: int  # objects to draw

    def source_of(self, i: int) -> TruthWithUnits:
        """The source of data set i: of any number of first ones each has its share, nearly.

        Multiples of the golden ratio are spread evenly over the fractions between 0 and 1.

        >>> shares = {"a": 0.6, "b": 0.3, "c": 0.1}
        >>> truths = [Truth(name, None, share) for name, share in shares.items()]
        >>> sources = [TruthWithUnits(truth, None) for truth in truths]
        >>> design = AuditDesign(None, sources, *[None] * 6)
        >>> "".join(design.source_of(i).truth.name for i in range(10))
        'aabacaabaa'
        """
        place = (0.5 + i * GOLDEN_RATIO) % 1.0
        ends = np.cumsum([source.truth.share for source in self.sources])
        return self.sources[int(np.searchsorted(ends[:-1], place))]

    def draw(self, source: TruthWithUnits, rng: Generator) -> tuple[Table, Design]:
        """A data set from a mixture, with its groups and strata.

        As many cells are missing as in the data.
        """
        mixture, units = source.truth.mixture, source.units
        values, labels = mixture.family.sample(mixture.internal, self.n, rng)
        is_missing = np.isnan(self.data.values)
        if is_missing.any():
            like = rng.choice(len(is_missing), self.n, p=self.object_weights)
            values = np.where(is_missing[like], np.nan, values)
        design = Design() if units is None else units.assign(labels, rng)
        return self.data._replace(values=values, index=None), design


def audit(
    model: CalibratedResult | Fitted,
    n_datasets: int = 50,
    *,
    n_replicates: int | None = None,
    contenders: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Find out on simulated data whether the intervals of a fit hold their level.

    Data sets are drawn from the fitted mixture, or from others that are plausible where the model
    was chosen, and each goes through the same pipeline as the data did.  So an audit takes as long
    as ``n_datasets`` fits: about 2 s of processor time for each data set of 300 objects with one
    model, and more where models are chosen.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        A fitted estimator, or its result, of a family that can sample.
    n_datasets : int
        Number of data sets to draw.
    n_replicates : int, optional
        Number of replicates for each of them; by default as many as the fit has.  The recommended
        level is at most ``1 - 2 / n_replicates``.
    contenders : bool
        Whether only models and numbers of clusters that some of the replicates chose, or that data
        sets are drawn from, are tried on the data sets.  This is several times as fast where many
        were tried, and hides how often a model without a chance would be chosen after all.  Where
        the replicates took over the choice of the fit, all models are tried.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed.  Each data set has a stream of its own.
    n_jobs : int, optional
        Number of data sets that are worked on at the same time, as in joblib: processes, or the
        backend of `joblib.parallel_config`.  The result does not depend on it.
    progress : callable, optional
        Called with "audit" and the share that is done.

    Returns
    -------
    Audit
        Coverage of the intervals and of [Bel, Pl], and the level that has the coverage asked for;
        ``model.recalibrate`` takes it.

    Notes
    -----
    A data set has as many objects as the weights of the fitted ones sum to, each of weight 1.
    Cells are missing as in rows of the data, drawn at random.  Of data sets of more than 600
    objects, all of which are clustered, the pairs of 600 random ones are counted.  A data set that
    cannot be clustered is left out, counted in ``failures``, and warned of once.

    If the fit has groups, so have the data sets: an object of a component is in each group with the
    share of the component that the group has in the data.  So groups differ in how many objects of
    each cluster they have, as they do in the data; that clusters of one group may be shifted from
    those of another, the mixture does not know, and an audit does not see.

    If the model was chosen among several, a wider one, of which it is a special case, may be the
    truth: BIC prefers models that leave something out until the sample proves it, and drawn from
    its choice, data sets would not show what that does to coverage.  So they are drawn from
    mixtures at several places on the way from the chosen fit to that of the widest model that
    contains it, as far as the likelihood ratio of the two allows; where chance explains the ratio,
    most are drawn from the chosen fit itself.  The places are quantiles of the confidence
    distribution of the distance [XS13]_: that of the noncentrality of the chi-square variable that
    the ratio is, in units of its mean under the chosen model, half the difference of the penalties
    of AICc.  If other families were tried, the best fit of each is drawn from too, for its Akaike
    weight exp(AICc / 2) [BA02]_.  ``truths`` says how many data sets were drawn from each kind of
    mixture.  It is cautious where the chosen model is right: some data sets come from wider ones.

    The audit takes these mixtures for true.  It sees what a small sample, a choice among models or
    too few objects for the parameters do to coverage, but not what a model does that is wrong and
    was not tried: see `rivals`.

    References
    ----------
    .. [BA02] Burnham, Anderson: Model selection and multimodel inference.  Springer, 2002.
    .. [XS13] Xie, Singh: Confidence distribution, the frequentist distribution estimator of a
       parameter.  International Statistical Review 81, 2013.

    Examples
    --------
    >>> from credpart import CalibratedClustering, audit
    >>> from credpart.datasets import make_mixture1
    >>> model = CalibratedClustering(3, model="EII", n_replicates=100, random_state=0)
    >>> found = audit(model.fit(make_mixture1(60, random_state=0).X), n_datasets=5)
    >>> found.nominal_level, 0.5 < found.coverage < 1.0
    (0.9, True)
    """
    result = result_of(model)
    if result.known_labels is not None:
        raise InputError(
            "model",
            "be fitted without labels",
            Message("a fit with them"),
            "Data sets drawn from a mixture have no labels: an audit would say nothing of "
            "intervals that labels shorten.",
        )
    count = check_integer("n_datasets", n_datasets, at_least=1)
    design = make_design(result, _check_replicates(result, n_replicates))
    sources = [design.source_of(i) for i in range(count)]
    if contenders and result.options.selection == "each":
        design = _with_contenders(design, result, sources)
    seeds = seed_sequence(random_state).spawn(count)
    tallies, failures = [], Counter[str]()
    report = progress or silent
    # Here too: with threads, contexts of several threads may end in any order.
    with warnings.catch_warnings(action="ignore", category=CredpartWarning):
        for done, found in enumerate(_judge_all(design, sources, seeds, n_jobs)):
            if isinstance(found, str):
                failures[found] += 1
            else:
                tallies.append(found)
            report("audit", (done + 1) / count)
    if not tallies:
        reason = failures.most_common(1)[0][0]
        raise DataError(f"None of the {count} data sets drawn could be clustered: {reason}")
    drawn = Counter(source.truth.name for source in sources)
    found_out = summarise_tallies(design, tallies, drawn, dict(failures))
    if failures:
        warn_caller(DegeneracyWarning(f"Audit of {found_out.basis}"))
    return found_out


def make_design(result: CalibratedResult, n_replicates: int) -> AuditDesign:
    """What the data sets of an audit have in common; an error if none can be drawn."""
    mixture, options = result.mixture, result.options
    if mixture is None:  # results that are made of replicates alone
        remedy = "Fit a CalibratedClustering: an audit draws data sets from its mixture."
        raise InputError("model", "have a fitted mixture", None, remedy)
    try:
        mixture.family.sample(mixture.internal, 1, np.random.default_rng(0))
    except UnsupportedError as error:
        reason = f"{error.reason}, so that no data sets can be drawn for an audit"
        raise UnsupportedError(error.family, reason) from error
    total = result.weights.sum()
    n = max(2, round(total))
    c = min(options.n_clusters)
    check_pairs(options.pairs_for(n, c).n_sampled or n, n_replicates, c)
    # A family of one's own that fitted nothing has only its name left, and plays no part here.
    models = [one for one in result.models if not isinstance(one, str) or one in MODELS]
    return AuditDesign(
        mixture=mixture,
        sources=[
            TruthWithUnits(truth, UnitsByComponent.of(result, truth.mixture))
            for truth in plausible_truths(result)
        ],
        models=models,
        options=replace(options, n_replicates=n_replicates),
        levels=levels_to_try(options.level, min(n_replicates, len(result.replicates))),
        data=result.data,
        object_weights=result.weights / total,
        n=n,
    )


def _with_contenders(
    design: AuditDesign, result: CalibratedResult, sources: Sequence[TruthWithUnits]
) -> AuditDesign:
    """The design with the models and numbers of clusters that enough of the replicates chose.

    Models that data sets are drawn from are tried too.
    """
    B, fit = len(result.replicates), result.mixture
    numbers = result.replicates.chosen_numbers()
    names = result.replicates.chosen()
    enough = LEAST_CHOSEN * B
    kept = {fit.n_clusters, *(c for c, count in numbers.items() if count >= enough)}
    models = {fit.model, *(name for name, count in names.items() if count >= enough)}
    models |= {source.truth.mixture.model for source in sources}
    options = design.options
    return design._replace(
        models=[one for one in design.models if getattr(one, "__name__", one) in models],
        options=replace(options, n_clusters=tuple(c for c in options.n_clusters if c in kept)),
    )


def _check_replicates(result: CalibratedResult, n_replicates: int | None) -> int:
    if n_replicates is None:
        return result.options.n_replicates
    level = result.options.level
    needed = replicates_needed(level)
    B = check_integer("n_replicates", n_replicates, at_least=1)
    if needed > B:
        enough = f"be at least 2 / (1 - level) = {needed} for level {level:g}"
        raise InputError("n_replicates", enough, B)
    return B


def levels_to_try(level: float, n_replicates: int) -> list[float]:
    """Levels up to the largest that so many replicates allow, with the one of the fit.

    >>> levels_to_try(0.75, 40)
    [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95]
    """
    largest = 1.0 - 2.0 / n_replicates
    allowed = {one for one in LEVELS if replicates_needed(one) <= n_replicates}
    if replicates_needed(largest) <= n_replicates:
        allowed.add(largest)
    return sorted({*allowed, level})


def _judge_all(
    design: AuditDesign,
    sources: Sequence[TruthWithUnits],
    seeds: Sequence[SeedSequence],
    n_jobs: int | None,
) -> Iterator[Tally | str]:
    """The tally of every data set in turn, or why it has none."""
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    shared = design._replace(sources=())  # each task has its own
    tasks = (
        delayed(judge)(shared, source, seed) for source, seed in zip(sources, seeds, strict=True)
    )
    yield from parallel(tasks)


def judge(design: AuditDesign, source: TruthWithUnits, seed: SeedSequence) -> Tally | str:
    """Draw a data set, run the pipeline on it, and compare; or say why it could not be done."""
    drawing, fitting, sampling = seed.spawn(3)
    options = replace(design.options, seed=integer_seed(fitting))
    data, units = design.draw(source, np.random.default_rng(drawing))
    try:
        with warnings.catch_warnings(action="ignore", category=CredpartWarning):
            models = rows_of(design.models)
            result = calibrate(data, np.ones(design.n), models, options, units, n_jobs=1)
    except CredpartError as error:
        return str(error)
    rows = random_rows(design.n, MOST_OBJECTS, sampling)
    truth = pairwise_probabilities(source.truth.mixture.posteriors_of(data.values[rows]))
    return tally(result, rows, truth, design.levels)


def tally(result: CalibratedResult, rows: Any, truth: Array, levels: Sequence[float]) -> Tally:
    """Count the pairs of some objects whose true probabilities are within their bounds."""
    values, method = result.data.values[rows], result.options.method
    posteriors = result.replicates.posteriors_of(values, n_jobs=1)
    with warnings.catch_warnings(action="ignore", category=CredpartWarning):
        moved = result.influence_for(method)
    found = pairwise_intervals(
        posteriors,
        levels,
        method=method,
        estimate=result.posteriors[rows],
        influence=None if moved is None else moved.on(values),
        n_jobs=1,
    )
    masses, sets = result.partition.masses[rows], result.partition.focal_sets
    bounds = [(one.lower, one.upper) for one in found]
    bounds.append(pairwise_condensed(masses, sets))
    tenths = np.minimum((TENTHS * truth).astype(np.intp), TENTHS - 1)

    def by_tenth(values: Array | None = None) -> Array:
        return np.bincount(tenths, values, minlength=TENTHS).astype(float)

    covered = np.array([by_tenth(_within(lower, truth, upper)) for lower, upper in bounds])
    length = np.array([by_tenth(upper - lower) for lower, upper in bounds])
    belief, plausibility = bounds[-1]
    far = by_tenth(1.0 - _within(belief, truth, plausibility, FAR))
    return Tally(by_tenth(), covered[:-1], length[:-1], covered[-1], length[-1], far)


def _within(lower: Array, P: Array, upper: Array, margin: float = ROUNDING) -> Array:
    return ((lower <= P + margin) & (upper + margin >= P)).astype(float)


def summarise_tallies(
    design: AuditDesign,
    tallies: Sequence[Tally],
    truths: Mapping[str, int],
    failures: Mapping[str, int],
) -> Audit:
    """The audit of all data sets; ``truths`` counts the data sets of each mixture."""
    all_sets = Tally(*(np.array(field) for field in zip(*tallies, strict=True)))
    overall = Tally(*(field.sum(axis=-1) for field in all_sets))  # all tenths together
    options, mixture, levels = design.options, design.mixture, list(design.levels)
    place = levels.index(options.level)
    coverage, errors = ratio_and_error(overall.covered, overall.pairs[:, None])
    of_partition = ratio_and_error(overall.covered_partition, overall.pairs)
    lengths = ratio_and_error(overall.length, overall.pairs[:, None])[0]
    nominal = options.level if options.nominal_level is None else options.nominal_level
    recommended, is_reached = level_for(nominal, levels, coverage)
    recommended = min(round(recommended, DECIMALS), levels[-1])
    of_each = overall.covered[:, place] / overall.pairs
    return Audit(
        coverage=float(coverage[place]),
        standard_error=float(errors[place]),
        coverage_partition=float(of_partition[0]),
        standard_error_partition=float(of_partition[1]),
        length=float(lengths[place]),
        length_partition=float(ratio_and_error(overall.length_partition, overall.pairs)[0]),
        level=options.level,
        nominal_level=nominal,
        recommended_level=recommended,
        is_reached=is_reached,
        by_decile=_by_decile(all_sets, place),
        by_level=_by_level(levels, coverage, errors, lengths),
        n_datasets=sum(truths.values()),
        failures=failures,
        n_objects=design.n,
        n_pairs=int(overall.pairs[0]),
        n_replicates=options.n_replicates,
        model=mixture.model,
        n_clusters=mixture.n_clusters,
        loglik=mixture.loglik,
        truths=dict(truths),
        lowest=float(of_each.min()),
        highest=float(of_each.max()),
        far_partition=float(overall.far_partition.sum() / overall.pairs.sum()),
    )


def ratio_and_error(sums: Array, counts: Array) -> tuple[Array, Array]:
    """Ratios of sums to counts over data sets (the first axis), and their standard errors.

    The error of a ratio is that of the mean of ``sums - ratio * counts``; it is NaN for one data
    set, and where nothing was counted both are NaN.

    >>> ratio_and_error(np.array([1.0, 3.0]), np.array([4.0, 4.0]))
    (np.float64(0.5), np.float64(0.25))
    """
    s, total = len(sums), counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sums.sum(axis=0) / total
        if s == 1:
            return ratio, np.full_like(ratio, np.nan)
        squares = ((sums - ratio * counts) ** 2).sum(axis=0)
        return ratio, np.sqrt(s / (s - 1.0) * squares) / total


def level_for(wanted: float, levels: Sequence[float], coverage: Array) -> tuple[float, bool]:
    """The lowest level with the coverage wanted, and whether any has it.

    Longer intervals cover more, so coverage is taken not to fall from one level to the next; it is
    interpolated between them.

    >>> level_for(0.9, [0.8, 0.9, 0.95], np.array([0.75, 0.85, 0.95]))
    (0.925, True)
    >>> level_for(0.9, [0.8, 0.9], np.array([0.75, 0.85]))
    (0.9, False)
    """
    curve = np.maximum.accumulate(coverage)
    if curve[-1] < wanted:
        return float(levels[-1]), False
    i = int(np.searchsorted(curve, wanted))
    if i == 0:
        return float(levels[0]), True
    part = (wanted - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(levels[i - 1] + part * (levels[i] - levels[i - 1])), True


def _by_decile(sets: Tally, place: int) -> "pd.DataFrame":
    import pandas as pd

    coverage, errors = ratio_and_error(sets.covered[:, place], sets.pairs)
    coverage_partition, errors_partition = ratio_and_error(sets.covered_partition, sets.pairs)
    bounds = [f"{k / TENTHS:.1f}-{(k + 1) / TENTHS:.1f}" for k in range(TENTHS)]
    columns = {
        "pairs": sets.pairs.sum(axis=0) / sets.pairs.sum(),
        "coverage": coverage,
        "standard_error": errors,
        "coverage_partition": coverage_partition,
        "standard_error_partition": errors_partition,
        "length": ratio_and_error(sets.length[:, place], sets.pairs)[0],
        "length_partition": ratio_and_error(sets.length_partition, sets.pairs)[0],
    }
    return pd.DataFrame(columns, index=pd.Index(bounds, name="P"))


def _by_level(
    levels: Sequence[float], coverage: Array, errors: Array, lengths: Array
) -> "pd.DataFrame":
    import pandas as pd

    columns = {"coverage": coverage, "standard_error": errors, "length": lengths}
    return pd.DataFrame(columns, index=pd.Index(levels, name="level"))


def _percent(value: float) -> str:
    return f"{100.0 * value:.3g} %"


def in_tenths(share: float) -> str:
    """A share that was measured, in tenths of a percent; nothing where it is not known.

    >>> in_tenths(0.99571), in_tenths(0.0002), in_tenths(0.0), in_tenths(float("nan"))
    ('99.6 %', 'below 0.1 %', '0.0 %', '')
    """
    if np.isnan(share):
        return ""
    return "below 0.1 %" if 0.0 < share < 0.0005 else f"{100.0 * share:.1f} %"


def _plain(value: Any) -> Any:
    """A number that JSON has: it has no NaN."""
    return None if isinstance(value, float) and np.isnan(value) else value


def _number(value: Any) -> float:
    """The number that `_plain` gave."""
    return float("nan") if value is None else float(value)


# Of audits that were stored without these fields.
UNKNOWN = {"lowest": None, "highest": None, "far_partition": None}
PLAIN: Mapping[Any, Any] = {float: _number, int: int, bool: bool, str: str}  # how fields are read


def _table(records: Sequence[Mapping[str, Any]], index: str) -> "pd.DataFrame":
    """The table that `_records` gave."""
    import pandas as pd

    return pd.DataFrame(list(records)).set_index(index).astype(float)


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    rows = table.reset_index()
    names = [str(name) for name in rows]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in rows.to_numpy().tolist()]
