"""The guarantee: an interval of level .90 holds the true P_ij for 90 % of the pairs of objects.

The claim is tested where it should hold: on data sets drawn from Mixtures 1 to 3 of [D20],
Section 4.1, whose true P_ij are known, under the model that they were drawn from.

**How many data sets.**  The pairs of one data set share its fit, so they are right or wrong
together.  The coverage of a data set is therefore one number, and its standard deviation over
data sets is .11 to .15, whatever the number of pairs.  100 data sets from each mixture give
coverage, averaged over the mixtures, with a standard error of .008.  This is enough for what must
be noticed:

- Intervals that are 15 % too short cover .84 if they are short on both sides alike, as those of a
  lower level are, and .75 if they are shortened around their middle.
- Where a bound lies one bootstrap standard error too far in, coverage is .65 or less.
- Where it lies one standard error too far out, coverage is .92 to .93 only.  But the truth lies
  beyond that bound for .015 of the pairs and not .05, and this has a standard error of .002.
  Hence the rates of misses below and above are tested too.  They are taken over pairs with
  .05 < P_ij < .95, since the intervals of other pairs lie next to 0 or 1.

**How much may be missing.**  A rate must be within `Z` standard errors of its nominal value, after
an allowance: percentile intervals are not exact at n = 300.
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
ALLOWANCE = 0.01
ALLOWANCE_OF_A_MIXTURE = 0.03
ALLOWANCE_OF_PARTITIONS = 0.02  # [Bel, Pl] only comes as close to the intervals as it can

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
    draws = np.array([pairwise_probabilities(replicate) for replicate in posteriors])
    bel_pl = None
    if number < PARTITIONS:
        result = irqp(interval, focal_sets(3, "pairs"), random_state=0)
        bel_pl = result.partition.pairwise_condensed()
    return DataSet(
        pairwise_probabilities(sample.posteriors[:OBJECTS]),
        (interval.lower, interval.upper),
        (shorter.lower, shorter.upper),
        draws.std(axis=0),
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


def is_far(sample: np.ndarray, nominal: float, allowance: float) -> bool:
    """Whether the mean over data sets is away from its nominal value, beyond chance."""
    standard_error = sample.std(ddof=1) / np.sqrt(len(sample))
    return bool(abs(sample.mean() - nominal) > allowance + Z * standard_error)


def failures(study: Study, bounds: Callable[[DataSet], Bounds]) -> list[str]:
    """What is wrong with intervals: nothing, if they hold their level."""
    found = np.array([[rates(s.P, *bounds(s)) for s in study[model]] for model in MIXTURES])
    wrong = [
        f"coverage of {model}: {coverage.mean():.3f}"
        for model, coverage in zip(MIXTURES, found[:, :, 0], strict=True)
        if is_far(coverage, LEVEL, ALLOWANCE_OF_A_MIXTURE)
    ]
    # Data sets of the three mixtures are independent: any three of them can be averaged.
    averages = zip(Rates._fields, found.mean(axis=0).T, NOMINAL, strict=True)
    return wrong + [
        f"{name}: {sample.mean():.3f}"
        for name, sample, nominal in averages
        if is_far(sample, nominal, ALLOWANCE)
    ]


def test_intervals_hold_their_level(study: Study) -> None:
    assert failures(study, lambda s: s.interval) == []


def test_belief_and_plausibility_hold_the_level(study: Study) -> None:
    coverage = [
        [rates(s.P, *s.bel_pl).coverage for s in study[model] if s.bel_pl is not None]
        for model in MIXTURES
    ]
    assert not is_far(np.mean(coverage, axis=0), LEVEL, ALLOWANCE_OF_PARTITIONS)


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
