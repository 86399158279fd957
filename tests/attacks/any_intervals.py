"""Attack: does IRQP minimise J for intervals that no mixture would give?

    python -m tests.attacks.any_intervals --tries 300

Intervals are random, contradictory, all empty, all full, or have values of 0 and 1 only; focal sets
are of every kind, or random; some objects have no weight or many copies.  The objective must be the
J of Eq. (9) by its definition, a sum over pairs of copies; it must never rise; and no object may
lower it by moving towards any focal set while the others stay.
"""

import argparse
import warnings

import numpy as np

from credpart import PairwiseIntervals, focal_sets, irqp
from credpart.errors import ConvergenceWarning

LOWER = 1e-7  # gain of a step that is still called none, relative to 1 + J
STEP = 1e-3


def draw(rng):
    """Intervals, focal sets and weights."""
    n, c = int(rng.integers(2, 14)), int(rng.integers(1, 5))
    m = n * (n - 1) // 2
    kind = rng.integers(6)
    low, high = np.sort(rng.random((2, m)), axis=0)
    own_low, own_high = np.sort(rng.random((2, n)), axis=0)
    if kind == 0:
        low = high = rng.random(m)  # points
    elif kind == 1:
        low = high = np.round(rng.random(m))  # a relation that need not be transitive
    elif kind == 2:
        low, high = np.zeros(m), np.ones(m)  # nothing is known
    elif kind == 3:
        low, high = np.round(low), np.ones(m)
    elif kind == 4:
        low, high = low * 1e-300, 1.0 - low * 1e-16
    kinds = ["singletons", "pairs", "full"]
    focal = focal_sets(c, str(rng.choice(kinds)))
    if rng.random() < 0.3:
        focal = np.unique(rng.random((int(rng.integers(1, 6)), c)) < 0.6, axis=0)
        focal = focal[focal.any(axis=1)] if focal.any() else np.ones((1, c), dtype=bool)
    weights = rng.integers(0, 4, n).astype(float) if rng.random() < 0.5 else np.ones(n)
    if not weights.any():
        weights[0] = 1.0
    return PairwiseIntervals(low, high, 0.9, own_low, own_high), focal, weights


def objective(masses, focal, intervals, weights):
    """J by its definition: a loop over pairs of copies."""
    same = np.array([[A.sum() == B.sum() == 1 and (A & B).any() for B in focal] for A in focal])
    meet = np.array([[(A & B).any() for B in focal] for A in focal])
    n, total, pair = len(masses), 0.0, 0
    for i in range(n):
        for j in range(i + 1, n):
            belief, plausibility = masses[i] @ same @ masses[j], masses[i] @ meet @ masses[j]
            errors = (belief - intervals.lower[pair]) ** 2
            errors += (plausibility - intervals.upper[pair]) ** 2
            total += weights[i] * weights[j] * errors
            pair += 1
        belief, plausibility = masses[i] @ same @ masses[i], masses[i] @ meet @ masses[i]
        errors = (belief - intervals.own_lower[i]) ** 2
        errors += (plausibility - intervals.own_upper[i]) ** 2
        total += weights[i] * max(weights[i] - 1.0, 0.0) / 2.0 * errors
    return total


def attempt(seed):
    """What is wrong with the answer; empty if nothing is."""
    rng = np.random.default_rng([seed, 19])
    intervals, focal, weights = draw(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = irqp(intervals, focal, sample_weight=weights, random_state=seed)
    masses = found.partition.masses
    if not np.isfinite(masses).all() or masses.min() < 0.0:
        return "masses are not valid"
    if np.abs(masses.sum(axis=1) - 1.0).max() > 1e-9:
        return "masses do not sum to 1"
    J = objective(masses, focal, intervals, weights)
    if abs(J - found.objective) > 1e-9 * (1.0 + J):
        return f"the objective is {found.objective:.12g}, J is {J:.12g}"
    if (np.diff(found.history) > 1e-12 * (1.0 + J)).any():
        return "J rises"
    for i in np.flatnonzero(weights == 1.0):  # copies move together: their steps are others
        for corner in np.eye(len(focal)):
            trial = masses.copy()
            trial[i] = (1.0 - STEP) * masses[i] + STEP * corner
            if objective(trial, focal, intervals, weights) < J - LOWER * (1.0 + J):
                return f"object {i} can lower J"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.tries)
    bad = {seed: text for seed in seeds if (text := attempt(seed))}
    print(f"{len(bad)} of {options.tries} failed")
    for seed, text in bad.items():
        print(f"    seed {seed}: {text}")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
