"""The one harness: what every family has to do."""

import numpy as np
import pytest
from scipy.stats import chi2

from credpart.mixture.covariance.structures import NAMES
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.optimisation.e_step import normalise
from credpart.mixture.optimisation.em import iterate
from credpart.mixture.optimisation.mixtures import take_params

from .families import CASES
from .problems import begin_from, on_features, penalised_loglik, responsibilities, run

pytestmark = pytest.mark.parametrize("name", CASES)


def draw(case, n, seed=0):
    X, labels = case.family.sample(case.params, n, np.random.default_rng(seed))
    return case.family.features(X), responsibilities(labels, 2)


def fit(case, features, resp, weights=None, **limits):
    """Maximise from responsibilities (1, k, n), for weights (b, n)."""
    problem = on_features(case.family, features, weights)
    return run(problem, begin_from(problem, resp, case.structure), **limits)


def value(case, features, params):
    """Penalised log-likelihoods (b,) with unit weights."""
    return penalised_loglik(on_features(case.family, features), params)


def test_sample_is_fitted_within_sampling_error(name):
    case = CASES[name]
    features, resp = draw(case, 20_000)
    result = fit(case, features, resp)
    assert result.status[0] == Status.OK
    # twice the gain over the truth is chi-squared: one degree of freedom a parameter
    gain = 2.0 * (result.objective - value(case, features, case.params))[0]
    structure = NAMES[case.structure]
    assert 0.0 < gain < chi2.isf(1e-4, case.family.n_parameters(structure, 2))
    joint = case.family.log_joint(features, take_params(result.params, [0]))
    truth = case.family.log_joint(features, case.params)
    normalise(joint), normalise(truth)
    assert np.abs(joint - truth).mean() < 0.01
    # five standard errors of a share of 20 000 objects
    assert result.params[0] == pytest.approx(case.params[0], abs=5 * np.sqrt(0.25 / 20_000) * 2)


def test_gradient_vanishes_at_the_answer(name):
    case = CASES[name]
    features, resp = draw(case, 2000)
    result = fit(case, features, resp)
    point = result.statistics
    # statistics are coordinates of every family: a unit is about one standard deviation of each
    unit = np.sqrt(np.abs(point) + 1.0)
    flat = np.eye(point[0].size).reshape(-1, *point.shape[1:]) * unit * 1e-3
    ends = []
    for side in (flat, -flat):
        params = case.family.m_step(point + side, np.full(len(flat), case.structure), None)
        ends.append(value(case, features, params))
    slopes = (ends[0] - ends[1]) / 2e-3
    assert np.abs(slopes).max() < 0.02  # a unit costs about 0.5 by curvature


def test_weights_do_what_repeated_rows_do(name):
    case = CASES[name]
    features, resp = draw(case, 300)
    weights = np.random.default_rng(1).multinomial(300, np.full(300, 1 / 300))
    often = np.repeat(np.arange(300), weights)
    one = fit(case, features, resp, weights[None].astype(float), tol=1e-11)
    other = fit(case, features[often], resp[..., often], tol=1e-11)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-9)
    np.testing.assert_allclose(one.params[0], other.params[0], atol=1e-4)


def test_replicates_together_are_replicates_apart(name):
    case = CASES[name]
    features, resp = draw(case, 300)
    weights = np.random.default_rng(2).multinomial(300, np.full(300, 1 / 300), size=5) * 1.0
    together = fit(case, features, resp, weights)
    for b in range(5):
        apart = fit(case, features, resp, weights[b : b + 1])
        np.testing.assert_allclose(together.objective[b], apart.objective[0], rtol=1e-9)
        np.testing.assert_allclose(together.params[0][b], apart.params[0][0], atol=1e-4)


def test_data_of_their_own_are_data_shared(name):
    case = CASES[name]
    features, resp = draw(case, 200)
    params = take_params(case.params, [0, 0])
    own = np.stack([features, features])
    np.testing.assert_allclose(
        case.family.log_joint(own, params), case.family.log_joint(features, params), rtol=1e-12
    )
    both = np.concatenate([resp, resp[:, ::-1]])
    np.testing.assert_allclose(
        case.family.statistics(own, both, params),
        case.family.statistics(features, both, params),
        rtol=1e-9,
        atol=1e-9,
    )


def test_likelihood_never_falls(name):
    case = CASES[name]
    features, resp = draw(case, 150)
    # from a poor start, so that there is a way to go
    resp = 0.5 + 0.4 * (resp - 0.5)
    ends = [fit(case, features, resp, max_iter=m) for m in range(1, 60, 4)]
    values = np.array([end.objective[0] for end in ends])
    assert np.diff(values).min() >= -1e-9 * np.abs(values[-1])


def test_absent_component_changes_nothing(name):
    case = CASES[name]
    features, resp = draw(case, 300)
    padded = np.concatenate([resp, np.zeros((1, 1, 300))], axis=1)
    one = fit(case, features, resp)
    other = fit(case, features, padded)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-8)
    assert other.params[0][0, 2] == 0.0


def test_statistics_outside_the_cone_are_found_out(name):
    case = CASES[name]
    features, resp = draw(case, 100)
    statistics = case.family.statistics(features, resp)
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((50, *statistics.shape[1:])) * 10.0 * np.abs(statistics)
    with np.errstate(all="ignore"):
        params = case.family.m_step(statistics + noise, np.full(50, case.structure), None)
        worth = value(case, features, params)
        broken = case.family.is_degenerate(params) | ~np.isfinite(worth)
    assert broken.shape == (50,)
    assert np.isfinite(worth[~broken]).all()


def test_one_iteration_is_a_fixed_point_at_the_answer(name):
    case = CASES[name]
    features, resp = draw(case, 500)
    found = fit(case, features, resp, tol=1e-12)
    again = iterate(on_features(case.family, features), found)
    np.testing.assert_allclose(again.objective, found.objective, rtol=1e-9)
    np.testing.assert_allclose(again.params[0], found.params[0], atol=1e-4)
