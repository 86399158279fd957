import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart.mixture.covariance.structures import NAMES, Previous, update
from credpart.mixture.families import coordinates as chart
from credpart.mixture.optimisation.em import FEW, Status, e_step, em, take
from credpart.mixture.optimisation.lbfgs import Metric, maximise, observed_metric

from .families import CASES

CHARTED = [name for name, case in CASES.items() if hasattr(case.family, "decode")]


def objective(family, features, params):
    weights = np.ones((len(params[0]), len(features)))
    loglik, statistics = e_step(family, features, weights, params)
    return loglik + family.log_prior(params), statistics


@pytest.mark.parametrize("name", CHARTED)
def test_coordinates_go_there_and_back(name):
    family, params, _ = CASES[name]
    again = family.decode(family.encode(params))
    for one, other in zip(params, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CHARTED)
def test_gradient_is_that_of_finite_differences(name):
    family, params, _ = CASES[name]
    X, _ = family.sample(params, 200, np.random.default_rng(0))
    features = family.features(X)
    x = family.encode(params)
    x = x + 0.1 * np.random.default_rng(1).standard_normal(x.shape)
    there = family.decode(x)
    steps = 1e-5 * np.eye(x.size).reshape(-1, *x.shape[1:])
    high = objective(family, features, family.decode(x + steps))[0]
    low = objective(family, features, family.decode(x - steps))[0]
    statistics = objective(family, features, there)[1]
    found = family.gradient(statistics, there, np.array([NAMES.index("VVV")]))
    np.testing.assert_allclose(found.ravel(), (high - low) / 2e-5, atol=1e-5)


@given(st.sampled_from(sorted(chart.LETTERS)), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_structures_are_linear_in_the_coordinates(structure, seed):
    rng = np.random.default_rng(seed)
    d = 1 if len(structure) == 1 else 3
    A = rng.standard_normal((2, 3, d, d))
    sizes = rng.uniform(5.0, 50.0, (2, 3))
    codes = np.full(2, NAMES.index(structure))
    scatter = (A @ A.mT + np.eye(d)) * sizes[..., None, None]
    inside = update(scatter, sizes, codes).covariances()
    x = chart.encode_scales(inside)
    step = chart.project(rng.standard_normal(x.shape), d, structure, np.ones((2, 3), dtype=bool))
    moved = chart.decode_scales(x + 0.3 * step, d)
    again = update(moved * sizes[..., None, None], sizes, codes, Previous.of(moved, sizes))
    np.testing.assert_allclose(again.covariances(), moved, rtol=1e-6, atol=1e-9)


@given(st.sampled_from(sorted(chart.LETTERS)), st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_projection_is_one(structure, seed):
    rng = np.random.default_rng(seed)
    d = 1 if len(structure) == 1 else 3
    present = rng.random((2, 4)) < 0.7
    present[:, 0] = True
    v, w = rng.standard_normal((2, 2, 4, d * (d + 1) // 2)) * present[..., None]
    P = lambda u: chart.project(u, d, structure, present)  # noqa: E731
    np.testing.assert_allclose(P(P(v)), P(v), atol=1e-12)
    np.testing.assert_allclose((P(v) * w).sum(), (v * P(w)).sum(), atol=1e-12)


def bootstrap_case(name, b=12, n=300):
    family, params, variant = CASES[name]
    X, labels = family.sample(params, n, np.random.default_rng(0))
    features, ones = family.features(X), np.ones((1, n))
    resp = (labels == np.arange(2)[:, None])[None].astype(float)
    codes = np.array([variant])
    fit = maximise(family, features, ones, family.statistics(features, resp), codes, tol=1e-11)
    weights = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=b) * 1.0
    return family, features, fit, weights, np.full(b, variant)


@pytest.mark.parametrize("name", CHARTED)
def test_metric_shortens_the_way_and_keeps_the_top(name):
    family, features, fit, weights, variant = bootstrap_case(name, b=6)
    b, ones = len(weights), np.ones((1, len(features)))
    start = take(fit.params, np.zeros(b, dtype=np.intp))
    statistics = e_step(family, features, weights, start)[1]
    known = observed_metric(family, features, ones, fit.params, variant[:1])
    np.testing.assert_allclose(known, known.T)
    metric = Metric(known[None], np.zeros(b, dtype=np.intp))
    given_ = family, features, weights, statistics, variant, start
    plain, quick = maximise(*given_), maximise(*given_, metric)
    slow = em(*given_, tol=1e-10, max_iter=1000)
    assert (plain.status == Status.OK).all()
    assert (quick.status == Status.OK).all()
    assert quick.n_iter.mean() < plain.n_iter.mean() < slow.n_iter.mean()
    # a likelihood may have several tops: a replicate may end at another one
    scale = 1e-6 * np.abs(slow.loglik)
    assert (np.abs(quick.loglik - plain.loglik) < scale).mean() > 0.8
    assert (plain.loglik > slow.loglik - scale).mean() > 0.8


def test_climbs_start_from_exact_steps():
    # from its top there is no way up: a likelihood that was rounded would stay
    family, features, fit, _, variant = bootstrap_case("t", b=1, n=5000)
    assert fit.params[0].size * len(features) > FEW
    ones = np.ones((1, len(features)))
    again = maximise(family, features, ones, fit.statistics, variant, fit.params)
    wanted = objective(family, features, again.params)[0]
    np.testing.assert_allclose(again.loglik, wanted, rtol=1e-13)


def test_degenerate_replicates_stay_degenerate():
    family, features, fit, weights, variant = bootstrap_case("t")
    weights[0] = 0.0
    weights[0, :2] = 150.0  # two points carry everything
    start = take(fit.params, np.zeros(len(weights), dtype=np.intp))
    statistics = e_step(family, features, weights, start)[1]
    found = maximise(family, features, weights, statistics, variant, start)
    assert found.status[0] == Status.DEGENERATE
    assert (found.status[1:] == Status.OK).all()


def test_iterations_are_limited():
    family, features, fit, weights, variant = bootstrap_case("skew-t")
    start = take(fit.params, np.zeros(len(weights), dtype=np.intp))
    statistics = e_step(family, features, weights, start)[1]
    found = maximise(family, features, weights, statistics, variant, start, max_iter=7)
    assert found.n_iter.max() == 7
    assert (found.status == Status.NOT_CONVERGED).any()
