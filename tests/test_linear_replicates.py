"""Replicates without refits: the derivative of EM, the draws, the guard, and what falls back."""

from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.sparse import csr_array

from credpart import (
    CalibratedClustering,
    bootstrap,
    diagnose,
    fit_mixture,
    load_model,
    pairwise_intervals,
    save_model,
    select_mixture,
)
from credpart._bootstrap import algorithm1, guard, large_samples
from credpart._bootstrap.block_sums import RowsInMemory
from credpart._bootstrap.deviations import (
    DrawnUnits,
    IndependentObjects,
    IndependentWeights,
    weighted_products,
)
from credpart._bootstrap.draws import RESAMPLING, counts_of_units
from credpart._bootstrap.guard import paired_refits, resampled_e_step
from credpart._bootstrap.large_samples import (
    attempt_in_memory,
    fits_that_may_be_chosen,
    stratified_rows,
)
from credpart._bootstrap.linear import JointLinearisation, contributions_to_sums
from credpart._bootstrap.refits import Plan
from credpart._bootstrap.units import Design, Units
from credpart.cli import main
from credpart.datasets import make_mixture1, make_mixture2, make_mixture3
from credpart.errors import InputError
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.distinct import distinct
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Samples
from credpart.mixture.optimisation.e_step import e_step
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import map_params

TIGHT = {"tol": 1e-13, "max_iter": 20_000}
POISSON = RESAMPLING["nonparametric"].weigh_alone


def three_columns(n=500):
    """Three columns, of which structures that differ in orientation make something different."""
    sample = make_mixture3(n, random_state=0)
    noise = np.random.default_rng(0).standard_normal(n)
    return np.column_stack([sample.X, 0.3 * sample.X[:, 0] + noise]), sample.y


X3, LABELS = three_columns()
FITS = {name: fit_mixture(X3, 3, name, start=LABELS, **TIGHT) for name in ("EEE", "VVV")}


def rows_of(X, weights=None, n_jobs=None):
    return RowsInMemory(X, np.ones(len(X)) if weights is None else weights, n_jobs)


def linearised(X, *fits, weights=None):
    return JointLinearisation.of(rows_of(X, weights), fits, IndependentObjects.deviations)


def plan_of(X, *fits, weights=None, resampling="nonparametric", criterion="bic"):
    objects = distinct(X, np.ones(len(X)) if weights is None else weights)
    how = resampling, criterion, "fallback", Limits(1e-9, 2000)
    return Plan(objects, fits, *how, is_choice=len(fits) > 1)


def attempt(X, *fits, B=200, **options):
    return attempt_in_memory(plan_of(X, *fits, **options), SeedSequence(0).spawn(B), None)


def em_map(X, fit, part, statistics):
    """E(M(s)) of statistics (b, k, p)."""
    problem = Problem(fit.family, Samples(fit.family.features(X), np.ones((1, len(X)))))
    params = part.point.m_step(statistics)
    return e_step(problem, params, np.zeros(len(statistics), dtype=np.intp))[1]


# --- the derivative of EM


def check_derivative(X, fit):
    joint = linearised(X, fit)
    (part,), s = joint.parts, joint.parts[0].fixed_point
    h = 1e-4 * np.sqrt(s[:, :1] * np.ones_like(s) * len(X)).ravel() * 0.1
    moves = np.diag(h).reshape(-1, *s.shape)
    images = em_map(X, fit, part, np.concatenate([s + moves, s - moves]))
    images = images.reshape(2, len(h), -1)
    literal = ((images[0] - images[1]) / (2.0 * h[:, None])).T
    # Axes that components share are found to an angle of 1e-5 or so: differences show it.
    np.testing.assert_allclose(part.H @ part.N, literal, atol=1e-4 * np.abs(literal).max())
    assert part.rate < 1.0
    assert joint.distance < 1e-3  # standard errors: the fit had converged


@pytest.mark.parametrize("name", STRUCTURES)
def test_derivative_of_em_equals_its_central_differences(name):
    check_derivative(X3, fit_mixture(X3, 3, name, start=LABELS, **TIGHT))


@pytest.mark.parametrize("name", ["E", "V"])
def test_derivative_of_em_in_one_dimension(name):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, 300), rng.normal(4, 1.5, 200)])[:, None]
    check_derivative(X, fit_mixture(X, 2, name, **TIGHT))


def test_products_hold_statistics_and_information():
    # The literal sums of facts that the products K are said to contain.
    X, fit = X3[:40], FITS["VVV"]
    (part,) = linearised(X3, fit).parts
    (products,) = weighted_products(
        partial(contributions_to_sums, [part.point]), X, np.full(40, 2.0), 0
    )
    phi, r = fit.family.features(X), fit.posteriors(X)
    k, p = r.shape[1], phi.shape[1]
    K = np.zeros((k * p, k * p))
    D = np.zeros((k, p, p))
    for i in range(40):
        v = np.kron(r[i], phi[i])
        K += 2.0 * np.outer(v, v)
        D += 2.0 * r[i][:, None, None] * np.outer(phi[i], phi[i])
    np.testing.assert_allclose(products[: k * p, : k * p], K, atol=1e-10)
    np.testing.assert_allclose(K.reshape(k, p, k, p).sum(axis=2), D, atol=1e-10)
    density = fit.log_density(X) + fit.family.log_unit
    np.testing.assert_allclose(products[-1, -2], 2.0 * density.sum())
    np.testing.assert_allclose(products[-1, : k * p], 2.0 * np.einsum("nk,np->kp", r, phi).ravel())


@pytest.mark.parametrize("name", ["EEE", "VVV"])
def test_the_m_step_does_not_depend_on_the_total(name):
    # Twice the statistics are the same mixture, so N s = 0: the total weight of a sample is free.
    (part,) = linearised(X3, FITS[name]).parts
    assert np.abs(part.N @ part.statistics.ravel()).max() < 1e-6 * np.abs(part.point.natural).max()


@pytest.mark.parametrize("name", STRUCTURES)
def test_mean_statistics_are_inverted_by_the_m_step(name):
    fit = fit_mixture(X3, 3, name, start=LABELS)
    statistics = 100.0 * fit.family.mean_statistics(fit.internal)
    params = fit.family.m_step(statistics, np.array([fit.structure_code]), None)
    # an iterated M-step ends within 1e-5 of its axes
    np.testing.assert_allclose(params.natural, fit.internal.natural, rtol=1e-4, atol=1e-4)


def test_sums_over_blocks_are_those_over_all_rows(monkeypatch):
    monkeypatch.setattr("credpart._bootstrap.block_sums.BLOCK_ROWS", 64)
    (part,) = linearised(X3, FITS["EEE"]).parts
    kernel = partial(weighted_products, partial(contributions_to_sums, [part.point]))
    (whole,) = kernel(X3, np.ones(len(X3)), 0)
    (one,), (two,) = (rows_of(X3, n_jobs=jobs).sum_over_blocks(kernel) for jobs in (1, 2))
    np.testing.assert_allclose(one, whole, rtol=1e-12, atol=1e-9)
    assert one.tobytes() == two.tobytes()


# --- the draws


def test_covariance_is_that_of_counts():
    joint, fit = linearised(X3, FITS["EEE"]), FITS["EEE"]
    phi, r = fit.family.features(X3), fit.posteriors(X3)
    v = np.einsum("nk,np->nkp", r, phi).reshape(len(X3), -1)
    counts = np.random.default_rng(0).multinomial(len(X3), np.full(len(X3), 1 / len(X3)), 20_000)
    sums = counts @ v
    C = joint.C[joint.places[0], joint.places[0]]
    scale = np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    # standard errors of 20 000 correlations are below .01
    np.testing.assert_allclose(np.cov(sums.T) / scale, C / scale, atol=0.04)
    drawn = joint.deviations.draw(SeedSequence(0).spawn(20_000))
    np.testing.assert_allclose(np.cov(drawn[:, joint.places[0]].T) / scale, C / scale, atol=0.04)


def test_refits_of_the_guard_are_those_of_em():
    X = make_mixture2(3000, random_state=0).X
    fit = fit_mixture(X, 3, "EEE", start=make_mixture2(3000, random_state=0).y, tol=1e-12)
    joint, seeds = linearised(X, fit), SeedSequence(0).spawn(5)
    (part,), (place,) = joint.parts, joint.places
    samples = IndependentWeights(POISSON, seeds)
    pairs = paired_refits(rows_of(X), part, joint.C[place, place], samples)
    assert pairs.is_found.all()
    weights = np.array(
        [
            POISSON(np.ones(len(X)), np.random.default_rng(SeedSequence(0, spawn_key=(b, 0))))
            for b in range(5)
        ]
    )
    problem = Problem(fit.family, Samples(fit.family.features(X), weights))
    each = np.arange(5)
    start = map_params(lambda field: np.repeat(field, 5, axis=0), fit.internal)
    begun = Mixtures.at(start, np.full(5, fit.structure_code), each, each, n_iter=0)
    refits = maximise(problem, evaluate(problem, begun), Limits(1e-13, 5000))
    spread = np.abs(refits.params.means - fit.internal.means).mean()
    # Newton's method stops at .02 standard deviations of a replicate
    np.testing.assert_allclose(pairs.true.params.means, refits.params.means, atol=0.03 * spread)
    np.testing.assert_allclose(pairs.true_loglik, refits.objective, atol=0.01)
    np.testing.assert_allclose(pairs.predicted_loglik, refits.objective, atol=0.5)


def test_weights_of_the_guard_are_drawn_block_by_block():
    (part,) = linearised(X3, FITS["EEE"]).parts
    seeds = SeedSequence(3).spawn(2)
    params = map_params(lambda field: np.repeat(field, 2, axis=0), part.point.params)
    kernel = partial(
        resampled_e_step, part.point.family, params, IndependentWeights(POISSON, seeds)
    )
    ones = np.ones(len(X3))
    first, again, other = (kernel(X3, ones, block)[1] for block in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first[0] != other[0]).any()
    assert (first[0] != first[1]).any()


@pytest.mark.parametrize("resampling", ["nonparametric", "bayesian"])
def test_linear_replicates_do_not_depend_on_jobs(resampling, monkeypatch):
    monkeypatch.setattr("credpart._bootstrap.block_sums.BLOCK_ROWS", 128)
    options = {"refit": "linear", "resampling": resampling, "random_state": 1}
    one, two = (bootstrap(X3, FITS["EEE"], 50, n_jobs=jobs, **options) for jobs in (1, 2))
    for a, b in zip(one.parts[0].params, two.parts[0].params, strict=True):
        assert a.tobytes() == b.tobytes()
    assert one.loglik.tobytes() == two.loglik.tobytes()
    assert one.decision == two.decision


def test_weights_do_what_repeated_rows_do():
    weights = np.random.default_rng(0).integers(1, 4, len(X3)).astype(float)
    fit = fit_mixture(X3, 3, "EEE", start=LABELS, sample_weight=weights)
    weighted = attempt(X3, fit, B=20, weights=weights).replicates
    repeated = attempt(np.repeat(X3, weights.astype(int), axis=0)[::-1], fit, B=20).replicates
    for a, b in zip(weighted.parts[0].params, repeated.parts[0].params, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_linear_replicate_is_an_ordinary_one():
    replicates = bootstrap(X3, FITS["EEE"], 40, refit="linear", random_state=0)
    assert repr(replicates) == "Replicates(40 nonparametric, linear: 40 ok)"
    assert (replicates.n_iter == 0).all()
    assert replicates.posteriors(X3).sum(axis=2) == pytest.approx(1.0)
    covariances = replicates.parts[0].family.to_data_units(replicates.parts[0].params).covariances
    np.testing.assert_allclose(covariances, covariances[:, :1].repeat(3, axis=1), rtol=1e-9)  # EEE


def test_a_draw_that_is_no_mixture_keeps_the_fit_and_says_so():
    sample = make_mixture3(90, random_state=1)
    fit = fit_mixture(sample.X, 3, "VVV", start=sample.y)
    with pytest.warns(UserWarning, match="degenerate"):
        replicates = bootstrap(sample.X, fit, 100, refit="linear", random_state=0)
    broken = np.flatnonzero(replicates.status == 2)
    assert len(broken)
    np.testing.assert_array_equal(
        replicates.parts[0].params.means[broken],
        np.repeat(fit.internal.means, len(broken), axis=0),
    )
    assert replicates.decision.is_doubtful
    assert replicates.decision.figures["no_mixture"] == pytest.approx(len(broken) / 100)


# --- the guard


def far_and_small(n=100_000, size=40):
    """Mixture 3 with a small cluster beside it."""
    sample, rng = make_mixture3(n - size, random_state=1), np.random.default_rng(5)
    own = np.mean(sample.X, axis=0) + [6.0, -5.0] + 0.7 * rng.standard_normal((size, 2))
    return np.vstack([sample.X, own]), np.concatenate([sample.y, np.full(size, 3)])


GUARDED = {
    "few objects for each parameter": (lambda: make_mixture3(300, random_state=1), "VVV", False),
    "axes of spheres": (lambda: make_mixture1(20_000, random_state=1), "VEV", False),
    "a small component": (far_and_small, "VVV", False),
    "many objects": (lambda: make_mixture2(20_000, random_state=1), "EEE", True),
}


@pytest.mark.parametrize("case", GUARDED)
def test_the_guard_falls_back_where_theory_says_so(case):
    make, model, is_linear = GUARDED[case]
    made = make()
    X, y = made if isinstance(made, tuple) else (made.X, made.y)
    fit = fit_mixture(X, y.max() + 1, model, start=y)
    _, replicates, decision = attempt(X, fit)
    assert (not decision.reasons) == is_linear
    if is_linear:
        assert decision.figures["error"] < 0.08
        assert replicates.counts()["ok"] == 200


@pytest.mark.parametrize("case", ["axes of spheres", "few objects for each parameter"])
def test_true_refits_alone_would_fall_back(case):
    # Not only the rules on numbers of objects: refits differ from their predictions.
    make, model, _ = GUARDED[case]
    sample = make()
    fit = fit_mixture(sample.X, 3, model, start=sample.y)
    plan, seeds = plan_of(sample.X, fit), SeedSequence(0).spawn(guard.N_REFITS)
    joint, rows = linearised(sample.X, fit), rows_of(sample.X)
    chosen = np.zeros(10, dtype=int)
    figures = large_samples.examine(plan, rows, joint, chosen, IndependentObjects(POISSON), seeds)
    assert figures["error"] > 2.0 * large_samples.LARGEST_ERROR
    assert figures["not_found"] > 0.0


def test_small_samples_are_refitted_as_ever():
    auto, full = (bootstrap(X3, FITS["EEE"], 20, refit=r, random_state=0) for r in ("auto", "full"))
    assert auto.loglik.tobytes() == full.loglik.tobytes()
    assert auto.decision is full.decision is None


def test_what_has_no_linear_replicates_is_refitted(monkeypatch):
    monkeypatch.setattr(algorithm1, "LINEAR_FROM", 100)
    fit = fit_mixture(X3, 3, "t-EEE", start=LABELS)
    replicates = bootstrap(X3, fit, 16, random_state=0)
    assert str(replicates.decision) == (
        "replicates are refits; model t-EEE has no linear replicates"
    )
    full = bootstrap(X3, fit, 16, refit="full", random_state=0)
    assert replicates.loglik.tobytes() == full.loglik.tobytes()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"resampling": "parametric"}, "parametric samples are new objects"),
        ({"regularization": "pooled"}, "every component has a pseudo-observation"),
    ],
)
def test_linear_replicates_that_do_not_exist_are_refused(options, reason):
    with pytest.raises(InputError, match=f"`refit` must be 'auto' or 'full' where {reason}, got"):
        bootstrap(X3, FITS["EEE"], 20, refit="linear", random_state=0, **options)


def test_unknown_refit():
    with pytest.raises(
        InputError, match="`refit` must be one of 'auto', 'full', 'linear', got 'x'"
    ):
        bootstrap(X3, FITS["EEE"], 20, refit="x")


# --- the choice of a model


def test_models_without_a_real_chance_are_left_out():
    sample = make_mixture2(4000, random_state=0)
    fits = [fit_mixture(sample.X, 3, name, start=sample.y) for name in ("EEE", "VEE", "EII", "t")]
    kept = fits_that_may_be_chosen(plan_of(sample.X, *fits), rows_of(sample.X))
    assert [fit.model for fit in kept] == ["EEE", "VEE"]


def test_models_are_chosen_as_often_as_by_refits():
    # AIC hesitates between a model and a larger one.
    sample = make_mixture2(4000, random_state=3)
    names = ("EEE", "VVV")
    fits = [fit_mixture(sample.X, 3, name, start=sample.y, tol=1e-11) for name in names]
    options = {"criterion": "aic", "random_state": 0}
    linear = bootstrap(sample.X, fits, 600, refit="linear", **options)
    full = bootstrap(sample.X, fits, 150, refit="full", **options)
    shares = [replicates.chosen().get("VVV", 0) / len(replicates) for replicates in (linear, full)]
    assert 0.02 < shares[1] < 0.98
    error = np.sqrt(0.25 / 150 + 0.25 / 600)
    assert abs(shares[0] - shares[1]) < 3.0 * error
    assert linear.decision.figures["disagreement"] <= 0.1
    # log-likelihoods of the replicates' own samples: another seed's mean is as far away
    gap = linear.loglik.mean() - full.loglik.mean()
    assert abs(gap) < 4.0 * full.loglik.std() / np.sqrt(150)
    assert linear.loglik.std() == pytest.approx(full.loglik.std(), rel=0.25)


def test_a_criterion_of_posteriors_has_no_expansion():
    fits = [FITS["EEE"], FITS["VVV"]]
    with pytest.raises(InputError, match="where ICL chooses among 2 models"):
        bootstrap(X3, fits, 20, refit="linear", criterion="icl")


# --- beside full refits


@pytest.mark.slow
def test_linear_bounds_differ_from_full_ones_as_those_of_another_seed():
    sample = make_mixture2(20_000, random_state=4)
    fit = fit_mixture(sample.X, 3, "EEE", start=sample.y)
    few = sample.X[:150]

    def bounds(seed, refit):
        replicates = bootstrap(sample.X, fit, 300, refit=refit, random_state=seed)
        found = pairwise_intervals(replicates.posteriors(few), 0.9)
        return np.concatenate([found.lower, found.upper])

    def distance(pairs):
        return np.mean([np.abs(one - other).mean() for one, other in pairs])

    full = [bounds(seed, "full") for seed in range(3)]
    linear = [bounds(seed, "auto") for seed in range(10, 16)]
    assert bootstrap(sample.X, fit, 300, random_state=10).decision.kind == "linear"
    # Distances of single seeds vary by a third: means of them by a tenth.
    assert distance(product(linear, full)) < 1.3 * distance(combinations(full, 2))


def donors(n=6000, number=60, effect=0.3):
    """Objects of donors, whose clusters differ a little."""
    sample, rng = make_mixture2(n, random_state=4), np.random.default_rng(0)
    groups = rng.integers(number, size=n)
    return (
        sample.X + effect * rng.standard_normal((number, 3, 2))[groups, sample.y],
        groups,
        sample.y,
    )


@pytest.mark.parametrize("resampling", ["nonparametric", "bayesian"])
@pytest.mark.parametrize("is_grouped", [True, False])
def test_deviations_of_groups_and_strata_are_those_of_the_samples_of_refits(resampling, is_grouped):
    X, groups, labels = donors(200, 12)
    weights = np.tile([1.0, 2.5], 100)
    fit = fit_mixture(X, 3, "EEE", start=labels, sample_weight=weights)
    objects = distinct(X, weights)
    design = Design.check(groups if is_grouped else None, groups % 2, weights, is_new=False)
    units, row = design.units(objects, weights), RESAMPLING[resampling]
    plan = replace(plan_of(X, fit, weights=weights, resampling=resampling), units=units)
    sampling, seeds = large_samples.sampling_of(plan), SeedSequence(0).spawn(400)
    joint = JointLinearisation.of(rows_of(objects.X, objects.weights), [fit], sampling.deviations)
    drawn = row.draw(objects, fit, [np.random.default_rng(s) for s in seeds], units).weights
    np.testing.assert_allclose(drawn[:5], sampling.weights(seeds[:5])(objects.weights, 0))
    U = contributions_to_sums([joint.parts[0].point], objects.X)[:, :-1]
    literal = (drawn - objects.weights) @ U
    deviations = joint.deviations.draw(seeds)
    np.testing.assert_allclose(deviations, literal, atol=1e-8 * np.abs(literal).max())
    # The standard error of a variance of 400 draws is .07.
    ratio = deviations.var(axis=0) / np.diagonal(joint.C)
    assert np.median(ratio) == pytest.approx(1.0, abs=0.2)


def test_groups_of_one_object_have_the_covariance_of_independent_objects():
    joint = linearised(X3, FITS["EEE"])
    objects, ones = distinct(X3, np.ones(len(X3))), np.ones(len(X3))
    content = csr_array(np.eye(len(objects.X)) * objects.weights)
    units = Units(content, np.ones(len(objects.X)), (slice(0, len(objects.X)),))
    sampling = DrawnUnits(objects.X, float(ones.sum()), units, counts_of_units)
    rows = rows_of(objects.X, objects.weights)
    grouped = JointLinearisation.of(rows, [FITS["EEE"]], sampling.deviations)
    larger = joint.C * len(X3) / (len(X3) - 1.0)  # one unit less is drawn
    np.testing.assert_allclose(grouped.C, larger, atol=1e-9 * np.abs(joint.C).max())


def test_linear_bounds_of_groups_are_nearer_to_those_of_refits_than_another_seed(monkeypatch):
    monkeypatch.setattr(algorithm1, "LINEAR_FROM", 1000)
    X, groups, labels = donors()
    fit = fit_mixture(X, 3, "EEE", start=labels)

    def bounds(seed, refit, **options):
        replicates = bootstrap(X, fit, 100, refit=refit, random_state=seed, **options)
        found = pairwise_intervals(replicates.posteriors(X[:60]), 0.9)
        return np.concatenate([found.lower, found.upper]), replicates.decision

    full, _ = bounds(0, "full", groups=groups)
    another, _ = bounds(1, "full", groups=groups)
    linear, decision = bounds(0, "auto", groups=groups)
    alone, _ = bounds(0, "full")
    assert decision.kind == "linear"
    # The same groups are drawn, so that only the approximation differs.
    assert np.abs(linear - full).mean() < 0.5 * np.abs(another - full).mean()
    pairs = len(full) // 2
    assert (full[pairs:] - full[:pairs]).mean() > 1.3 * (alone[pairs:] - alone[:pairs]).mean()


def test_each_replicate_of_groups_may_choose_a_model(monkeypatch):
    monkeypatch.setattr(algorithm1, "LINEAR_FROM", 1000)
    X, groups, labels = donors()
    fits = [fit_mixture(X, 3, name, start=labels) for name in ("EEE", "VVV", "EII")]
    found = bootstrap(X, fits, 60, groups=groups, random_state=0)
    full = bootstrap(X, fits, 60, groups=groups, refit="full", random_state=0)
    assert found.decision is not None
    assert (found.models == full.models).mean() > 0.8  # from the same samples


def test_a_subsample_is_shrunk_to_the_spread_of_all(monkeypatch):
    sample = make_mixture2(4000, random_state=0)
    fit = fit_mixture(sample.X, 3, "EEE", start=sample.y)
    full = bootstrap(sample.X, fit, 200, refit="full", random_state=0)
    monkeypatch.setattr(algorithm1, "LINEAR_FROM", 100)
    monkeypatch.setattr(algorithm1, "FULL_ROWS", 2000)
    monkeypatch.setattr(large_samples, "FULL_ROWS", 2000)
    monkeypatch.setattr(large_samples, "LARGEST_ERROR", 0.0)  # so that it falls back
    shrunk = bootstrap(sample.X, fit, 200, random_state=0)
    assert shrunk.decision.kind == "subsample"
    assert "refits of 2000 objects, shrunk to the size of the data" in str(shrunk.decision)
    spreads = [one.parts[0].params.means.std(axis=0) for one in (shrunk, full)]
    # standard errors of 200 replicates are 5 %, of half the rows as much again
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=0.25)
    gap = shrunk.parts[0].params.means.mean(axis=0) - fit.internal.means[0]
    assert (np.abs(gap) < 0.5 * spreads[1]).all()


def test_rows_of_a_subsample_have_the_shares_of_all():
    labels = np.repeat([0, 1, 2], [900, 90, 10])
    rows = stratified_rows(labels, 100, np.random.default_rng(0))
    assert len(np.unique(rows)) == 100
    np.testing.assert_array_equal(np.bincount(labels[rows]), [90, 9, 1])


# --- what is kept and shown


@pytest.fixture
def linear_model():
    sample = make_mixture2(600, random_state=0)
    options = {"model": "EEE", "n_replicates": 100, "random_state": 0}
    return CalibratedClustering(3, refit="linear", **options).fit(sample.X)


def test_summary_and_diagnosis_say_how_replicates_were_found(linear_model):
    decision = linear_model.replicates_.decision
    assert decision.kind == "linear"
    assert f"{decision}." in linear_model.summary()
    found = diagnose(linear_model, audit=0, rivals=False).findings
    finding = next(one for one in found if one.topic == "replicates")
    assert str(decision) in finding.text
    assert (finding.severity == "problem") == decision.is_doubtful


def test_the_decision_is_saved(linear_model, tmp_path):
    save_model(linear_model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.replicates_.decision == linear_model.replicates_.decision
    assert again.refit == "linear"


def test_selection_in_each_replicate_with_linear_ones(monkeypatch):
    monkeypatch.setattr(algorithm1, "LINEAR_FROM", 1000)
    sample = make_mixture2(6000, random_state=0)
    selection = select_mixture(sample.X, 3, ["EEE", "EII", "EEI"], n_starts=1)
    fits = [selection.best, *(f for f in selection.fits.values() if f is not selection.best)]
    replicates = bootstrap(sample.X, fits, 100, random_state=0)
    assert replicates.decision.kind == "linear"
    assert replicates.chosen() == {"EEE": 100}


def test_the_command_line_has_the_option(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["fit", "butterfly", "--clusters", "2", "--refit", "quick", "--quiet"])
    error = "--refit must be one of 'auto', 'full', 'linear', got 'quick'"
    assert error in " ".join(capsys.readouterr().err.split())
