"""Bias-corrected and accelerated intervals: the bounds, and the influence of objects."""

import warnings
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from credpart import (
    CalibratedClustering,
    bootstrap,
    cluster_dataset,
    fit_mixture,
    load_model,
    pairwise_intervals,
    save_model,
)
from credpart._bootstrap import influence as influence_module
from credpart._bootstrap.influence import find_influence
from credpart._bootstrap.units import Design
from credpart.cli import main
from credpart.datasets import make_mixture1, make_mixture2
from credpart.errors import DataWarning, InputError
from credpart.intervals import Influence, cross_intervals
from credpart.mixture.distinct import distinct
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Samples
from credpart.mixture.optimisation.e_step import normalise
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import map_params

TIGHT = {"tol": 1e-14, "max_iter": 20_000}
SAMPLE = make_mixture2(90, random_state=1)
X, LABELS = SAMPLE.X, SAMPLE.y
FIT = fit_mixture(X, 3, "EEE", start=LABELS, **TIGHT)


def influence_of(fit, X, weights=None, groups=None, strata=None):
    weights = np.ones(len(X)) if weights is None else weights
    objects = distinct(X, weights)
    design = Design(groups, strata)
    return objects, find_influence(fit, objects, design.units(objects, weights), 0)


def literal_bca(values, P, a, level):
    """Efron (1987), word for word."""
    normal, share = NormalDist(), np.mean(values < P)
    z0 = normal.inv_cdf(share)
    bounds = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = z0 + normal.inv_cdf(tail)
        bounds.append(np.quantile(values, normal.cdf(z0 + z / (1 - a * z))))
    return bounds


# --- the bounds


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_a_mean_are_those_of_scipy(level, seed):
    # P_ij of an object with the mean as its probability and of one that is certain is the mean.
    x = np.random.default_rng(seed).beta(0.4, 2.0, size=25)
    found = scipy_bootstrap(
        (x,), np.mean, n_resamples=999, confidence_level=level, method="BCa", random_state=seed
    )
    means, certain = found.bootstrap_distribution, np.ones(999)
    objects = np.stack([np.stack([means, 1.0 - means], 1), np.stack([certain, 0 * certain], 1)], 1)
    estimate = np.array([[x.mean(), 1.0 - x.mean()], [1.0, 0.0]])
    moves = np.zeros((2, 2, len(x)), dtype=np.float32)
    moves[0, 0], moves[0, 1] = x - x.mean(), x.mean() - x
    influence = Influence(moves, np.ones(len(x), dtype=np.float32))
    options = {"method": "bca", "estimate": estimate}
    intervals = pairwise_intervals(objects, level, influence=influence, **options)
    expected = found.confidence_interval
    assert intervals.lower[0] == pytest.approx(expected.low, abs=1e-6)
    assert intervals.upper[0] == pytest.approx(expected.high, abs=1e-6)
    plain = pairwise_intervals(objects, level, **options)
    assert abs(plain.upper[0] - expected.high) > 1e-4  # the acceleration matters


def test_bounds_are_those_of_the_literal_form_at_several_levels():
    rng = np.random.default_rng(0)
    posteriors, estimate = rng.dirichlet([1, 2, 3], (199, 6)), rng.dirichlet([9, 9, 9], 6)
    moves = rng.standard_normal((6, 3, 40)).astype(np.float32) ** 3
    w = rng.uniform(0.5, 2.0, 40).astype(np.float32)
    levels = [0.5, 0.9]
    found = pairwise_intervals(
        posteriors, levels, method="bca", estimate=estimate, influence=Influence(moves, w)
    )
    pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    for level, intervals in zip(levels, found, strict=True):
        for place, (i, j) in enumerate(pairs):
            l = moves[i].T @ estimate[j] + moves[j].T @ estimate[i]  # noqa: E741
            a = (w * l**3).sum() / (6 * (w * l**2).sum() ** 1.5)
            values = (posteriors[:, i] * posteriors[:, j]).sum(axis=1)
            expected = literal_bca(values, estimate[i] @ estimate[j], a, level)
            np.testing.assert_allclose(
                [intervals.lower[place], intervals.upper[place]], expected, atol=1e-5
            )
        l = 2 * np.einsum("nkm,nk->nm", moves, estimate)  # noqa: E741 - of an object and its copy
        a = (w * l**3).sum(axis=1) / (6 * (w * l**2).sum(axis=1) ** 1.5)
        own = np.square(posteriors).sum(axis=2)
        for i in range(6):
            expected = literal_bca(own[:, i], np.square(estimate[i]).sum(), a[i], level)
            np.testing.assert_allclose(
                [intervals.own_lower[i], intervals.own_upper[i]], expected, atol=1e-5
            )
    lower, upper = cross_intervals(
        posteriors[:, :2],
        posteriors[:, 2:],
        0.9,
        method="bca",
        estimate_new=estimate[:2],
        estimate=estimate[2:],
        influence_new=Influence(moves[:2], w),
        influence=Influence(moves[2:], w),
    )
    known = [pairs.index((i, j)) for i in range(2) for j in range(2, 6)]
    np.testing.assert_array_equal(lower.ravel(), found[1].lower[known])
    np.testing.assert_array_equal(upper.ravel(), found[1].upper[known])


def test_replicates_all_beyond_the_estimate_still_give_bounds():
    p = np.random.default_rng(0).uniform(0.6, 0.7, (60, 2))
    posteriors, estimate = np.stack([p, 1 - p], axis=2), np.array([[0.05, 0.95], [0.9, 0.1]])
    found = pairwise_intervals(posteriors, 0.9, method="bca", estimate=estimate)
    values = (posteriors[:, 0] * posteriors[:, 1]).sum(axis=1)
    assert values.min() <= found.lower[0] <= found.upper[0] <= np.quantile(values, 0.2)


def test_what_is_missing_or_of_other_objects_is_refused():
    rng = np.random.default_rng(0)
    posteriors = rng.dirichlet([1, 1], (40, 3))
    with pytest.raises(InputError, match="`estimate` must be given"):
        pairwise_intervals(posteriors, method="bca")
    moves = Influence(np.zeros((3, 3, 5), "f4"), np.ones(5, "f4"))
    with pytest.raises(InputError, match=r"`influence` must have moves of shape \(3, 2, 5\)"):
        pairwise_intervals(posteriors, method="bca", estimate=posteriors[0], influence=moves)


# --- the influence


@pytest.mark.parametrize("kind", ["objects", "weights", "groups", "strata"])
def test_influence_is_the_derivative_of_the_posteriors(kind):
    weights = np.where(np.arange(90) % 3 == 0, 2.0, 1.0) if kind == "weights" else np.ones(90)
    groups = np.arange(90) % 12 if kind in ("groups", "strata") else None
    strata = np.arange(90) % 2 if kind == "strata" else None
    fit = fit_mixture(X, 3, "EEE", start=LABELS, sample_weight=weights, **TIGHT)
    objects, found = influence_of(fit, X, weights, groups, strata)
    moves, w = found.on(X)
    m, step = 4, 1e-3
    if groups is None:
        changed = np.flatnonzero(objects.place == m)
        others = np.arange(90)
        assert w[m] == weights[changed].sum()
    else:
        names = np.unique(groups if strata is None else 100 * strata + groups)
        mine = (groups if strata is None else 100 * strata + groups) == names[m]
        changed = np.flatnonzero(mine)
        others = np.flatnonzero(strata == strata[changed[0]]) if kind == "strata" else np.arange(90)
    share = np.zeros(90)
    share[changed] = weights[changed] / (weights[changed].sum() if groups is None else 1.0)
    if kind == "strata":  # one more draw of a group is one less of the others of its stratum
        share[others] -= 1.0 / len(np.unique(groups[others]))

    def posteriors(size):
        again = fit_mixture(
            X, 3, "EEE", start=fit.posteriors(X), sample_weight=weights + size * share, **TIGHT
        )
        return again.posteriors(X)

    slope = (posteriors(step) - posteriors(-step)) / (2 * step)
    ratio = (slope * moves[..., m]).sum() / np.square(slope).sum()  # moves have any scale
    np.testing.assert_allclose(
        moves[..., m], ratio * slope, atol=2e-3 * np.abs(moves[..., m]).max()
    )
    scales = []
    for other in (0, 7):
        if groups is None:
            share = np.zeros(90)
            at = np.flatnonzero(objects.place == other)
            share[at] = weights[at] / weights[at].sum()
            slope = (posteriors(step) - posteriors(-step)) / (2 * step)
            scales.append((slope * moves[..., other]).sum() / np.square(slope).sum())
    np.testing.assert_allclose(scales, ratio, rtol=5e-3)  # the same scale for all


def refitted_posteriors(fit, X, weights):
    """Posteriors (b, n, c) of refits to the same objects with weights (b, n), from the fit."""
    problem = Problem(fit.family, Samples(fit.family.features(X), weights))
    each = np.arange(len(weights))
    start = map_params(lambda field: np.repeat(field, len(each), axis=0), fit.internal)
    begun = Mixtures.at(start, np.full(len(each), fit.structure_code), each, each, n_iter=0)
    refits = maximise(problem, evaluate(problem, begun), Limits(1e-13, 5000))
    joint = fit.family.log_joint(fit.family.features(X), refits.params)
    normalise(joint)
    return joint.transpose(0, 2, 1)


def test_acceleration_is_near_that_of_the_jackknife_by_refits():
    n = 90
    _, found = influence_of(FIT, X)
    fitted, few = FIT.posteriors(X), np.arange(0, n, 5)
    i, j = few[np.array(np.triu_indices(len(few), 1))]

    def accelerations(values):
        return (values**3).sum(axis=0) / (6 * (values**2).sum(axis=0) ** 1.5)

    def probabilities(weights):
        p = refitted_posteriors(FIT, X, weights)
        return (p[:, i] * p[:, j]).sum(axis=2)

    left_out = probabilities(1.0 - np.eye(n))
    twice = probabilities(1.0 + np.eye(n))
    moves, _ = found.on(X)
    moved = np.einsum("pkm,pk->mp", moves[i], fitted[j])
    moved += np.einsum("pkm,pk->mp", moves[j], fitted[i])
    a = accelerations(moved)
    # Leaving one of 30 objects of a cluster out is no small change: the derivative lies between it
    # and having the object twice.
    central = twice - left_out
    central = accelerations(central - central.mean(axis=0))
    assert np.corrcoef(a, central)[0, 1] > 0.99
    assert np.abs(a - central).mean() < 0.1 * np.abs(central).mean()
    jackknife = accelerations(left_out.mean(axis=0) - left_out)
    assert np.corrcoef(a, jackknife)[0, 1] > 0.8


def test_a_sample_of_objects_has_nearly_the_acceleration_of_all(monkeypatch):
    big = make_mixture1(1200, random_state=0)
    fit = fit_mixture(big.X, 3, "EII", start=big.y)
    replicates = bootstrap(big.X, fit, 60, random_state=0)
    few = big.X[:40]

    def bounds():
        _, found = influence_of(fit, big.X)
        moves = found.on(few)
        assert moves.weights.sum() == pytest.approx(1200.0)
        options = {"estimate": fit.posteriors(few), "influence": moves}
        return pairwise_intervals(replicates.posteriors(few), 0.9, method="bca", **options)

    every = bounds()
    monkeypatch.setattr(influence_module, "MOST_JACKKNIFED", 400)
    some = bounds()
    length = every.length.mean()
    assert 0.0 < np.abs(every.upper - some.upper).mean() < 0.02 * length


# --- the pipeline


@pytest.mark.parametrize("pairs", ["all", 12])
def test_bca_reaches_the_partition_new_objects_and_files(pairs, tmp_path):
    options = {"model": "EEE", "n_replicates": 60, "random_state": 0, "pairs": pairs}
    model = CalibratedClustering(3, method="bca", **options).fit(X)
    found = model.result_.influence_for("bca")
    expected = pairwise_intervals(
        model.replicates_.posteriors(X),
        method="bca",
        estimate=model.mixture_.posteriors(X),
        influence=found.on(X),
    )
    assert model.intervals_.lower.tobytes() == expected.lower.tobytes()
    plain = CalibratedClustering(3, **options).fit(X)
    assert plain.intervals(method="bca").upper.tobytes() == expected.upper.tobytes()
    assert np.abs(expected.upper - plain.intervals_.upper).mean() > 1e-3
    masses = model.predict_masses(X)
    # Each object against the others and its own copy: not the same problem, but nearly.
    assert np.abs(masses - model.partition_.masses).mean() < 0.02
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.predict_masses(X).tobytes() == masses.tobytes()
    two = CalibratedClustering(3, method="bca", n_jobs=2, **options).fit(X)
    assert two.partition_.masses.tobytes() == model.partition_.masses.tobytes()
    assert model.refit_partition(level=0.8).intervals_.level == 0.8


def test_weights_are_copies():
    twice = np.concatenate([X, X[:20]])
    weights = np.where(np.arange(90) < 20, 2.0, 1.0)
    options = {"model": "EEE", "n_replicates": 40, "random_state": 0, "method": "bca"}
    weighted = CalibratedClustering(3, pairs="all", **options).fit(X, sample_weight=weights)
    repeated = CalibratedClustering(3, pairs="all", **options).fit(twice)
    lower, upper = repeated.intervals_.square()
    expected, high = weighted.intervals_.square()
    np.testing.assert_allclose(lower[:90, :90], expected, atol=1e-6)
    np.testing.assert_allclose(upper[:90, :90], high, atol=1e-6)


def test_a_family_without_influence_is_corrected_for_bias_alone():
    options = {"model": "t-EEE", "n_replicates": 20, "random_state": 0}
    text = "corrected for bias and not for acceleration: how objects influence a mixture of model t"
    with pytest.warns(DataWarning, match=text):
        model = CalibratedClustering(3, method="bca", **options).fit(X)
    estimate = model.mixture_.posteriors(X)
    expected = pairwise_intervals(model.replicates_.posteriors(X), method="bca", estimate=estimate)
    assert model.intervals_.lower.tobytes() == expected.lower.tobytes()


def test_data_in_partitions_have_no_bca(tmp_path):
    text = "`method` must be 'percentile' or 'simultaneous' for data in partitions, got 'bca'"
    with pytest.raises(InputError, match=text):
        cluster_dataset(X, tmp_path / "out", 3, model="EEE", method="bca")


def test_bca_on_the_command_line(tmp_path):
    out = tmp_path / "out"
    options = ["--clusters", "3", "--model", "EEE", "--replicates", "20", "--quiet"]
    with pytest.raises(SystemExit) as ended:
        main(["fit", "iris", *options, "--method", "bca", "--out", str(out)])
    assert ended.value.code == 0
    assert load_model(out / "model.npz").method == "bca"


def test_groups_have_an_acceleration_of_their_own():
    groups = np.arange(90) % 15
    options = {"model": "EEE", "n_replicates": 40, "random_state": 0, "method": "bca"}
    with warnings.catch_warnings(action="error"):
        result = CalibratedClustering(3, **options).fit(X, groups=groups).result_
    assert len(result.influence_for("bca").weights) == 15
