"""The guarantee: an interval of level .90 holds the true P_ij for 90 % of the pairs of objects.

The claim is tested where it should hold: on data sets drawn from Mixtures 1 to 3 of [D20],
Section 4.1, whose true P_ij are known, under the model that they were drawn from.

**How many data sets.**  The pairs of one data set share its fit, so they are right or wrong
together.  The coverage of a data set is therefore one number, and its standard deviation over
data sets is .10 to .16, whatever the number of pairs.  80 data sets from each mixture give
coverage, averaged over the mixtures, with a standard error of .009.  It must be within .035 of the
level, and what must be noticed is not:

- Intervals that are 15 % too short cover .84 if they are those of a lower level, and .75 if they
  are shortened around their middle.
- Where a bound lies one bootstrap standard error too far in, coverage is .65 or less.
- Where it lies one standard error too far out, coverage is .93, which is within.  But the truth
  lies beyond that bound for .014 of the pairs and not .05, and the standard error of this rate is
  .004.  Hence the rates of misses below and above are tested too.  They are taken over pairs with
  .05 < P_ij < .95, since the intervals of other pairs lie next to 0 or 1.

**How sure the answer is.**  Percentile intervals are not exact at n = 300: over 260 data sets from
each mixture, coverage was .879 (standard error .010), .880 (.009) and .930 (.006), on average .896.
So one mixture is tested less sharply than the average.  Of 20 000 studies of 80 data sets drawn
from those 260, the test refused .0004.  It refused .996 with intervals of a lower level, and all
with any other mutant below.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from credpart import bootstrap, fit_mixture, focal_sets, irqp, pairwise_intervals
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.intervals import pairwise_probabilities

pytestmark = pytest.mark.slow

MIXTURES = {"EII": make_mixture1, "EEE": make_mixture2, "VVV": make_mixture3}
LEVEL, N, B = 0.9, 300, 200
DATA_SETS = 80  # from each mixture
PARTITIONS = 20  # data sets from each mixture of which [Bel, Pl] is tested too
OBJECTS = 60  # of each data set, whose pairs are looked at
SHORTER = 0.838  # level at which a normal interval has .85 of the length that it has at .90
ROUNDING = 1e-12  # the truth and a bound may both be 0 or 1
Z = 3.3  # with probability .999 a normal deviate is within this many standard deviations

Bounds = tuple[np.ndarray, np.ndarray]


class DataSet(NamedTuple):
    """The true P_ij of some pairs, condensed, and what was found about them."""

    P: np.ndarray
    interval: Bounds
    shorter_interval: Bounds  # of the level `SHORTER`
    standard_error: np.ndarray  # standard deviation of P_ij over the replicates
    bel_pl: Bounds | None


Study = dict[str, list[DataSet]]


def draw_and_fit(model: str, number: int) -> DataSet:
    """Draw a data set, and treat it with the functions that users call."""
    sample = MIXTURES[model](N, random_state=np.random.default_rng([*model.encode(), number]))
    # The search for the maximum of the likelihood has tests of its own.
    fit = fit_mixture(sample.X, 3, model, start=sample.y)
    replicates = bootstrap(sample.X, fit, B, random_state=number)
    posteriors = replicates.posteriors(sample.X[:OBJECTS])
    interval, shorter = pairwise_intervals(posteriors, [LEVEL, SHORTER])
    draws = np.einsum("bik,bjk->ijb", posteriors, posteriors)[np.triu_indices(OBJECTS, 1)]
    bel_pl = None
    if number < PARTITIONS:
        result = irqp(interval, focal_sets(3, "pairs"), random_state=0)
        bel_pl = result.partition.pairwise_condensed()
    return DataSet(
        pairwise_probabilities(sample.posteriors[:OBJECTS]),
        (interval.lower, interval.upper),
        (shorter.lower, shorter.upper),
        draws.std(axis=1),
        bel_pl,
    )


@pytest.fixture(scope="module")
def study() -> Study:
    return {model: [draw_and_fit(model, i) for i in range(DATA_SETS)] for model in MIXTURES}


class Rates(NamedTuple):
    """Shares of the pairs of one data set."""

    coverage: float
    below: float  # the truth lies below the interval, of pairs with .05 < P_ij < .95
    above: float


def rates(P: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Rates:
    below, above = lower - P > ROUNDING, P - upper > ROUNDING
    inner = (P > 0.05) & (P < 0.95)
    return Rates(1.0 - (below | above).mean(), below[inner].mean(), above[inner].mean())


NOMINAL = Rates(LEVEL, (1.0 - LEVEL) / 2.0, (1.0 - LEVEL) / 2.0)
TOLERANCES = Rates(0.035, 0.025, 0.025)  # of averages over the mixtures
TOLERANCE_OF_A_MIXTURE = 0.09  # of its coverage
TOLERANCE_OF_PARTITIONS = 0.06  # [Bel, Pl] only comes as close to the intervals as it can


def all_rates(study: Study, bounds: Callable[[DataSet], Bounds]) -> np.ndarray:
    """Rates of all data sets, shape (mixture, data set, rate)."""
    return np.array([[rates(s.P, *bounds(s)) for s in study[model]] for model in MIXTURES])


def failures(study: Study, bounds: Callable[[DataSet], Bounds]) -> list[str]:
    """What is wrong with intervals: nothing, if they hold their level."""
    by_mixture = all_rates(study, bounds).mean(axis=1)
    coverages = zip(MIXTURES, by_mixture[:, 0], strict=True)
    averages = zip(Rates._fields, by_mixture.mean(axis=0), NOMINAL, TOLERANCES, strict=True)
    return [
        f"{name}: {mean:.3f} and not {nominal:.3f}"
        for name, mean, nominal, tolerance in [
            *((model, mean, LEVEL, TOLERANCE_OF_A_MIXTURE) for model, mean in coverages),
            *averages,
        ]
        if abs(mean - nominal) > tolerance
    ]


def test_intervals_hold_their_level(study: Study) -> None:
    assert failures(study, lambda s: s.interval) == []


def test_tolerances_make_room_for_chance(study: Study) -> None:
    found = all_rates(study, lambda s: s.interval)
    variances = found.var(axis=1, ddof=1) / DATA_SETS  # of means over data sets
    assert Z * np.sqrt(variances[:, 0].max()) < TOLERANCE_OF_A_MIXTURE
    assert (Z * np.sqrt(variances.sum(axis=0)) / len(MIXTURES) < TOLERANCES).all()


def test_belief_and_plausibility_hold_the_level(study: Study) -> None:
    coverage = [
        rates(s.P, *s.bel_pl).coverage
        for data_sets in study.values()
        for s in data_sets
        if s.bel_pl is not None
    ]
    assert np.mean(coverage) == pytest.approx(LEVEL, abs=TOLERANCE_OF_PARTITIONS)


def moved(lower: int, upper: int) -> Callable[[DataSet], Bounds]:
    """Bounds moved by so many bootstrap standard errors."""
    return lambda s: (
        s.interval[0] + lower * s.standard_error,
        s.interval[1] + upper * s.standard_error,
    )


def shortened(s: DataSet) -> Bounds:
    """Intervals of .85 of their length around the same middle."""
    middle, half = sum(s.interval) / 2.0, np.subtract(*s.interval[::-1]) / 2.0
    return middle - 0.85 * half, middle + 0.85 * half


MUTANTS: dict[str, Callable[[DataSet], Bounds]] = {
    "lower bound one standard error too low": moved(-1, 0),
    "lower bound one standard error too high": moved(1, 0),
    "upper bound one standard error too low": moved(0, -1),
    "upper bound one standard error too high": moved(0, 1),
    "both bounds one standard error too low": moved(-1, -1),
    "both bounds one standard error too high": moved(1, 1),
    "15 % too short around the middle": shortened,
    "15 % too short by a lower level": lambda s: s.shorter_interval,
}


def test_wrong_intervals_would_be_noticed(study: Study) -> None:
    unnoticed = [name for name, bounds in MUTANTS.items() if not failures(study, bounds)]
    assert unnoticed == []
