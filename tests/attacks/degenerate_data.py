"""Attack: what do degenerate data get?

    python -m tests.attacks.degenerate_data --tries 1700

Random data of every kind of `KINDS` go to every clustering of `METHODS`.  Each must get an error
of the library with a text, or a valid result: masses that are finite and sum to 1, ordered
intervals, finite likelihoods.  No other error, no warning of NumPy or another library, and no run
of more than `PATIENCE` seconds.
"""

import argparse
import signal
import traceback
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

from credpart import (
    ECM,
    EVCLUS,
    RECM,
    CalibratedClustering,
    bootstrap,
    diagnose,
    fit_mixture,
    pairwise_intervals,
    select_mixture,
)
from credpart.errors import CredpartError, CredpartWarning

PATIENCE = 60  # seconds
MODELS = ("EII", "VII", "EEI", "VVI", "EEE", "VEE", "VVE", "EEV", "VVV", "t", "skew-normal")


class Sample(NamedTuple):
    """Data, a number of clusters, and weights or none."""

    X: np.ndarray
    c: int
    weights: np.ndarray | None = None


# --- degenerate data: functions of a random generator


def ordinary(rng, n=None, d=None):
    n, d = n or int(rng.integers(6, 40)), d or int(rng.integers(1, 5))
    return rng.normal(size=(n, d)) + 4.0 * rng.integers(0, 3, (n, 1))


def constant_columns(rng):
    X = ordinary(rng, d=int(rng.integers(2, 5)))
    X[:, rng.random(X.shape[1]) < 0.5] = rng.choice([0.0, 1.0, -3e8, 1e-12])
    return Sample(X, 2)


def nearly_constant_column(rng):
    X = ordinary(rng, d=2)
    X[:, 0] = 1.0
    X[0, 0] = np.nextafter(1.0, 2.0) if rng.random() < 0.5 else 1.0 + 1e-9
    return Sample(X, 2)


def equal_rows(rng):
    return Sample(np.tile(rng.normal(size=(1, 3)), (int(rng.integers(1, 20)), 1)), 2)


def few_distinct_rows(rng):
    rows = ordinary(rng, n=int(rng.integers(2, 8)))
    return Sample(rows[rng.integers(0, len(rows), 40)], int(rng.integers(1, 5)))


def tiny(rng):
    return Sample(ordinary(rng, n=int(rng.integers(1, 6))), int(rng.integers(1, 5)))


def as_many_clusters_as_objects(rng):
    X = ordinary(rng, n=int(rng.integers(3, 10)))
    return Sample(X, max(1, len(X) - int(rng.integers(-1, 4))))


def more_columns_than_rows(rng):
    return Sample(ordinary(rng, n=int(rng.integers(4, 10)), d=int(rng.integers(8, 20))), 2)


def collinear(rng):
    X = ordinary(rng, d=3)
    X[:, 2] = (
        X[:, 0] + 2.0 * X[:, 1] + rng.choice([0.0, 1e-12, 1e-9, 1e-7]) * rng.normal(size=len(X))
    )
    return Sample(X, 2)


def on_a_line(rng):
    return Sample(np.outer(np.arange(20.0), [1.0, 2.0]) + rng.choice([0.0, 1e9]), 3)


def huge(rng):
    return Sample(ordinary(rng) * 10.0 ** rng.uniform(100, 300), 2)


def minute(rng):
    return Sample(ordinary(rng) * 10.0 ** -rng.uniform(100, 322), 2)


def mixed_scales(rng):
    X = ordinary(rng, d=3)
    return Sample(X * 10.0 ** rng.uniform(-140, 140, 3), 3)


def far_from_the_origin(rng):
    return Sample(ordinary(rng) + 10.0 ** rng.uniform(9, 17), 2)


def ties(rng):
    return Sample(np.round(ordinary(rng), int(rng.integers(-1, 2))), int(rng.integers(2, 4)))


def integer_grid(rng):
    side = int(rng.integers(2, 6))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
    return Sample(grid.astype(float), int(rng.integers(1, 5)))


def binary_columns(rng):
    return Sample((rng.random((30, int(rng.integers(1, 5)))) < 0.5).astype(float), 2)


def one_outlier(rng):
    X = ordinary(rng)
    X[rng.integers(len(X)), 0] = 10.0 ** rng.uniform(2, 200)
    return Sample(X, 2)


def point_mass_and_noise(rng):
    X = ordinary(rng, n=30, d=2)
    X[: int(rng.integers(3, 25))] = 0.0
    return Sample(X, 2)


def two_far_points(rng):
    X = ordinary(rng, d=2)
    X[:2] = 1e4 + rng.choice([0.0, 1e-8, 1.0]) * rng.normal(size=(2, 2))
    return Sample(X, 2)


def geometric(rng):
    return Sample(rng.uniform(1.5, 30.0) ** np.arange(25.0)[:, None], 3)


def circle(rng):
    angle = np.linspace(0.0, 2.0 * np.pi, int(rng.integers(5, 30)), endpoint=False)
    return Sample(np.column_stack([np.cos(angle), np.sin(angle)]), int(rng.integers(2, 5)))


def mirrored(rng):
    X = ordinary(rng, n=12, d=2)
    return Sample(np.vstack([X, -X]), 2)


def simplex_corners(rng):
    d = int(rng.integers(2, 7))
    return Sample(np.repeat(np.eye(d), 4, axis=0), d - 1)


def mostly_without_weight(rng):
    X = ordinary(rng, n=30)
    weights = (rng.random(30) < rng.choice([0.0, 0.1, 0.3])).astype(float)
    return Sample(X, 2, weights)


def extreme_weights(rng):
    X = ordinary(rng, n=20)
    return Sample(
        X, 2, 10.0 ** rng.uniform(*rng.choice([[-300, 0], [0, 5], [0, 300], [-3, 3]]), 20)
    )


def one_heavy_object(rng):
    X = ordinary(rng, n=20)
    weights = np.ones(20)
    weights[0] = 10.0 ** rng.uniform(2, 6)
    return Sample(X, 2, weights)


def fractional_weights(rng):
    return Sample(ordinary(rng, n=20), 2, np.full(20, rng.choice([1e-3, 0.05, 0.11, 0.4])))


def negative_zeros(rng):
    X = np.round(ordinary(rng))
    return Sample(np.where(X == 0.0, -0.0, X), 2)


def extreme_skewness(rng):
    return Sample(np.exp(rng.normal(0.0, rng.uniform(2, 40), (30, 2))), 2)


def heavy_tails(rng):
    return Sample(np.clip(rng.standard_cauchy((40, 2)) ** 3, -1e140, 1e140), 2)


KINDS = (
    constant_columns, nearly_constant_column, equal_rows, few_distinct_rows, tiny,
    as_many_clusters_as_objects, more_columns_than_rows, collinear, on_a_line, huge, minute,
    mixed_scales, far_from_the_origin, ties, integer_grid, binary_columns, one_outlier,
    point_mass_and_noise, two_far_points, geometric, circle, mirrored, simplex_corners,
    mostly_without_weight, extreme_weights, one_heavy_object, fractional_weights, negative_zeros,
    extreme_skewness, heavy_tails,
)  # fmt: skip


# --- what they are given to: functions of a sample and a random generator


def check_partition(partition):
    masses = partition.masses
    assert np.isfinite(masses).all()
    assert (masses >= 0.0).all()
    assert np.abs(masses.sum(axis=1) - 1.0).max() < 1e-9


def check_intervals(intervals):
    lower, upper = intervals.lower, intervals.upper
    assert ((lower >= 0.0) & (lower <= upper) & (upper <= 1.0)).all()
    assert (intervals.own_lower <= intervals.own_upper).all()


def check_fit(fit, X):
    assert np.isfinite(fit.loglik)
    assert np.isfinite(fit.bic)
    posteriors = fit.posteriors(X)
    assert np.isfinite(posteriors).all()
    assert np.abs(posteriors.sum(axis=1) - 1.0).max() < 1e-9
    fields = fit.params._asdict()
    dof = fields.pop("dof", np.ones(1))  # of normal tails, infinite
    assert (dof > 0.0).all()
    assert all(np.isfinite(field).all() for field in fields.values())


def whole(sample, rng):
    """The whole pipeline with one model."""
    X, c, weights = sample
    model = CalibratedClustering(
        c,
        model=str(rng.choice(MODELS)),
        focal_sets=str(rng.choice(["singletons", "pairs", "full"])),
        resampling=str(rng.choice(["nonparametric", "bayesian", "parametric"])),
        regularization=str(rng.choice(["fallback", "fallback", "none", "pooled"])),
        n_replicates=20,
        random_state=0,
    ).fit(X, sample_weight=weights)
    check_fit(model.mixture_, X)
    check_intervals(model.intervals_)
    check_partition(model.partition_)
    new = model.predict_masses(X + 0.5 * np.ptp(X, axis=0))
    assert np.abs(new.sum(axis=1) - 1.0).max() < 1e-9
    str(diagnose(model, audit=0, rivals=False))


def chosen(sample, rng):
    """The whole pipeline with the number of clusters and the model chosen."""
    X, c, weights = sample
    model = CalibratedClustering(
        [max(1, c - 1), c],
        model=["EII", "VVI", "EEE", "VVV"],
        selection=str(rng.choice(["each", "once"])),
        n_replicates=20,
        random_state=0,
    ).fit(X, sample_weight=weights)
    check_fit(model.mixture_, X)
    check_intervals(model.intervals_)
    check_partition(model.partition_)


def stages(sample, rng):
    """A selection over all structures, then a bootstrap of one fit."""
    X, c, weights = sample
    selection = select_mixture(X, c, sample_weight=weights)
    for fit in selection.fits.values():
        check_fit(fit, X)
    replicates = bootstrap(X, selection.best, 20, sample_weight=weights, random_state=0)
    check_intervals(pairwise_intervals(replicates.posteriors(X)))


def started(sample, rng):
    """A fit from given labels."""
    X, c, weights = sample
    labels = np.arange(len(X)) % c
    check_fit(fit_mixture(X, c, str(rng.choice(MODELS)), start=labels, sample_weight=weights), X)


def rival(sample, rng):
    """The other evidential clusterings, which take no weights."""
    X, c, _ = sample
    method = [
        lambda: ECM(c, random_state=0),
        lambda: RECM(c, random_state=0),
        lambda: EVCLUS(c, random_state=0),
    ][rng.integers(3)]
    check_partition(method().fit(X).partition_)


METHODS = (whole, whole, chosen, stages, started, rival)


class Outcome(NamedTuple):
    """ "result", "error" (of the library) or "failure", with its text."""

    kind: str
    text: str = ""


def attempt(seed):
    """One data set under one method."""
    rng = np.random.default_rng([seed, 1700])
    kind, method = KINDS[seed % len(KINDS)], METHODS[seed // len(KINDS) % len(METHODS)]
    sample = kind(rng)

    def too_long(number, frame):
        raise TimeoutError(f"more than {PATIENCE} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", CredpartWarning)
            method(sample, rng)
        return Outcome("result")
    except CredpartError as error:
        return Outcome("error" if len(str(error)) > 20 else "failure", str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{where.filename.rsplit('/', 1)[-1]}:{where.lineno}"
        return Outcome("failure", f"{kind.__name__}, {method.__name__}: {error!r} at {place}")
    finally:
        signal.alarm(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=1700)
    parser.add_argument("--seed", type=int, default=0, help="of the first data set")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.tries)
    counts, failed = Counter(), 0
    for seed in seeds:
        outcome = attempt(seed)
        counts[outcome.kind] += 1
        if outcome.kind == "failure":
            failed += 1
            print(f"    seed {seed}: {outcome.text}", flush=True)
        if counts.total() % 100 == 0:
            print(f"{failed} of {counts.total()} failed", flush=True)
    print(f"{failed} of {options.tries} failed; {dict(counts)}")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
