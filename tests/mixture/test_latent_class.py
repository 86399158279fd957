import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from credpart.mixture.families.latent_class import LatentClass
from credpart.mixture.families.mixed import Mixed

from .families import CASES
from .problems import begin, begin_from, on, responsibilities, run

stepmix = pytest.importorskip("stepmix")
LEVELS = CASES["latent-class"].family.levels


def survey(share, n=500):
    family, params, _ = CASES["latent-class"]
    X, _ = family.sample(params, n, np.random.default_rng(0))
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize(
    ("share", "measurement"), [(0.0, "categorical"), (0.15, "categorical_nan")]
)
def test_fit_agrees_with_stepmix(share, measurement):
    X = survey(share)
    other = stepmix.StepMix(
        2, measurement=measurement, abs_tol=1e-13, rel_tol=1e-13, max_iter=5000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.set_params(verbose=0, progress_bar=0).fit(X)
        expected, resp = other.score(X) * len(X), other.predict_proba(X).T[None]
    family = LatentClass.of(X, LEVELS, pseudo=0.0)
    problem = on(family, X)
    found = run(problem, begin_from(problem, resp, 0), tol=1e-13)
    assert found.objective[0] == pytest.approx(expected, abs=1e-6)
    known = other.get_parameters()
    np.testing.assert_allclose(found.params.proportions[0], known["weights"], atol=1e-5)
    table = family.to_data_units(found.params).probabilities[0]
    pis = known["measurement"]["pis"].reshape(2, len(LEVELS), -1)
    np.testing.assert_allclose(np.nan_to_num(table), pis, atol=1e-4)


def test_density_is_the_product_over_seen_cells():
    X = survey(0.3, n=20)
    family, params, _ = CASES["latent-class"]
    table = family.to_data_units(params)
    expected = np.zeros((2, len(X)))
    for k in range(2):
        for i, row in enumerate(X):
            expected[k, i] = np.log(table.proportions[0, k]) + sum(
                np.log(table.probabilities[0, k, j, int(code)])
                for j, code in enumerate(row)
                if not np.isnan(code)
            )
    np.testing.assert_allclose(family.log_joint(family.features(X), params)[0], expected)


def test_prior_keeps_probabilities_off_the_boundary():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, np.nan]])
    resp = np.array([[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]])
    family = LatentClass.of(X, (2, 2), pseudo=1.0)
    params = family.m_step(family.statistics(family.features(X), resp), np.array([0]), None)
    # (count + frequency) / (cells seen + 1)
    expected = [[2.5 / 3, 0.5 / 3, 4 / 9, 5 / 9], [0.5 / 3, 2.5 / 3, 1 / 6, 5 / 6]]
    np.testing.assert_allclose(params.probabilities[0], expected)
    logs = np.log(expected) @ [0.5, 0.5, 1 / 3, 2 / 3]
    assert family.log_prior(params)[0] == pytest.approx(logs.sum())


def test_columns_never_seen_in_a_class_without_prior_get_the_frequencies():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, np.nan], [1.0, np.nan]])
    resp = np.array([[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]])
    family = LatentClass.of(X, (2, 2), pseudo=0.0)
    params = family.m_step(family.statistics(family.features(X), resp), np.array([0]), None)
    np.testing.assert_allclose(
        params.probabilities[0], [[1.0, 0.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.5]]
    )


def test_mixed_density_is_the_product_of_its_columns():
    family, params, _ = CASES["mixed"]
    X, _ = family.sample(params, 30, np.random.default_rng(0))
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    shown = family.to_data_units(params)
    expected = np.log(shown.proportions[0])[:, None] + np.zeros((2, 30))
    for j, column in enumerate(family.numeric):
        parts = norm.logpdf(
            X[:, column], shown.means[0, :, j, None], np.sqrt(shown.variances[0, :, j, None])
        )
        expected += np.nan_to_num(parts)
    for j, column in enumerate(family.categorical):
        for i in np.flatnonzero(~np.isnan(X[:, column])):
            expected[:, i] += np.log(shown.probabilities[0, :, j, int(X[i, column])])
    found = family.log_joint(family.features(X), params)[0] - family.log_unit
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_missing_cells_at_random_leave_the_answer_within_sampling_error():
    family, params, _ = CASES["mixed"]
    X, labels = family.sample(params, 20_000, np.random.default_rng(0))
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    problem = on(family, X)
    found = run(problem, begin_from(problem, responsibilities(labels, 2), 0))
    truth = logsumexp(family.log_joint(problem.data.features, params)[0], axis=0).sum()
    gain = 2.0 * (found.objective - truth - family.log_prior(params))[0]
    assert 0.0 < gain < 100.0  # chi-squared with 25 degrees of freedom
    np.testing.assert_allclose(found.params.means, params.means, atol=0.05)
    np.testing.assert_allclose(found.params.probabilities, params.probabilities, atol=0.05)


def test_mixed_without_spread_is_degenerate_and_a_pseudo_observation_mends_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(40), rng.integers(0, 2, 40)]).astype(float)
    X[:20, 0] = 1.0
    family = Mixed.of(X, (0, 2))
    resp = responsibilities(1 * (np.arange(40) >= 20), 2)
    statistics = family.statistics(family.features(X), resp)
    assert family.is_degenerate(family.m_step(statistics, np.array([0]), None))[0]
    mended = family.regularised(statistics[0])
    problem = on(mended, X)
    start = begin(problem, statistics, 0)
    assert not mended.is_degenerate(start.params)[0]
    assert np.isfinite(mended.log_prior(start.params)).all()
    assert np.isfinite(run(problem, start).objective).all()
