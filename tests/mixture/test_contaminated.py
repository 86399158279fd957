"""Contaminated normal mixtures: densities, estimates, and what noise makes of outlying parts."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from credpart import fit_mixture, select_mixture
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.families.contaminated import (
    OUTLYING,
    REGULAR,
    Contaminated,
    ContaminatedWithNoise,
)
from credpart.mixture.optimisation.em import iterate

from .problems import ALL, begin, on, responsibilities

MEANS = np.array([[0.0, 0.0], [9.0, 3.0]])
COVARIANCES = np.array([[[1.0, 0.5], [0.5, 2.0]], [[2.0, -0.4], [-0.4, 1.0]]])
SHARE, INFLATION = 0.1, 40.0


def draw(n, seed=0):
    """Objects, their components, and which are from outlying parts."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    is_outlying = rng.random(n) < SHARE
    spread = np.sqrt(np.where(is_outlying, INFLATION, 1.0))[:, None]
    e = np.einsum("nde,ne->nd", np.linalg.cholesky(COVARIANCES)[labels], rng.normal(size=(n, 2)))
    return MEANS[labels] + spread * e, labels, is_outlying


@pytest.fixture(scope="module")
def sample():
    return draw(200)


def parts(params, X):
    """Joint densities (n, c) of the regular and of the outlying parts, by scipy.

    ``params.proportions`` are those of the components, as they are without noise.
    """
    found = np.empty((2, len(X), len(params.means)))
    for k, (mean, sigma) in enumerate(zip(params.means, params.covariances, strict=True)):
        alpha, eta = params.regular[k], params.inflation[k]
        for row, share, scale in ((0, alpha, 1.0), (1, 1.0 - alpha, eta)):
            density = multivariate_normal(mean, scale * sigma).pdf(X)
            found[row, :, k] = params.proportions[k] * share * density
    return found


@pytest.mark.parametrize("model", ["contaminated", "contaminated-VEI"])
def test_densities_are_those_of_scipy_in_the_units_of_the_data(sample, model):
    X = sample[0] * [100.0, 0.1] + [3.0, -7.0]
    fit = fit_mixture(X, 2, model)
    joint = parts(fit.params, X).sum(axis=0)
    density = joint.sum(axis=1)
    np.testing.assert_allclose(fit.log_density(X), np.log(density), atol=1e-8)
    assert fit.loglik == pytest.approx(np.log(density).sum(), rel=1e-10)
    np.testing.assert_allclose(fit.posteriors(X), joint / density[:, None], atol=1e-7)


def test_noise_is_the_outlying_part_of_every_cluster(sample):
    X, _, is_outlying = sample
    plain, fit = fit_mixture(X, 2, "contaminated"), fit_mixture(X, 2, "VVV", noise="contaminated")
    assert fit.model == "contaminated+noise"
    # Both inflations are above the bound, so that the estimates are the same.
    assert plain.params.inflation.min() > OUTLYING
    assert fit.loglik == pytest.approx(plain.loglik, rel=1e-8)
    assert fit.n_parameters == plain.n_parameters == fit_mixture(X, 2, "VVV").n_parameters + 4
    p = fit.params
    assert p.proportions.sum() + fit.noise == pytest.approx(1.0)
    regular, outlying = parts(p._replace(proportions=p.proportions / p.regular), X)
    density = regular.sum(axis=1) + outlying.sum(axis=1)
    np.testing.assert_allclose(fit.posteriors(X), regular / density[:, None], atol=1e-7)
    far = outlying.sum(axis=1) > 0.5 * density
    assert np.array_equal(fit.predict(X) == -1, far)
    assert is_outlying[far].mean() > 0.8


@pytest.mark.parametrize("kind", [Contaminated, ContaminatedWithNoise])
def test_likelihoods_of_all_structures_never_fall(kind, sample):
    X, labels, _ = sample
    problem = on(kind.of(X, tuple(STRUCTURES)), X)
    statistics = problem.statistics(0.5 + 0.4 * (responsibilities(labels, 2)[0] - 0.5))
    mixtures = begin(problem, np.repeat(statistics, 14, axis=0), ALL)
    for _ in range(25):
        last, mixtures = mixtures, iterate(problem, mixtures)
        assert not mixtures.is_degenerate.any()
        assert (mixtures.objective >= last.objective - 1e-9 * np.abs(last.objective)).all()


def test_parameters_are_recovered():
    X, labels, _ = draw(6000, seed=1)
    params = fit_mixture(X, 2, "contaminated", start=labels).params
    # About five standard errors each.
    np.testing.assert_allclose(params.means, MEANS, atol=0.15)
    np.testing.assert_allclose(params.covariances, COVARIANCES, atol=0.3)
    np.testing.assert_allclose(params.regular, 1.0 - SHARE, atol=0.03)
    np.testing.assert_allclose(params.inflation, INFLATION, rtol=0.3)


def test_objects_that_are_drawn_have_the_shares_of_the_fit(sample):
    fit = fit_mixture(sample[0], 2, "VVV", noise="contaminated")
    X, labels = fit.sample(4000, random_state=0)
    assert (labels == -1).mean() == pytest.approx(fit.noise, abs=0.025)
    again = fit_mixture(X, 2, "VVV", noise="contaminated", start=np.maximum(labels, 0))
    order = np.argsort(again.params.means[:, 0])
    first = np.argsort(fit.params.means[:, 0])
    np.testing.assert_allclose(again.params.means[order], fit.params.means[first], atol=0.3)
    assert again.noise == pytest.approx(fit.noise, abs=0.03)


def test_clean_data_have_no_outlying_part():
    # A lower inflation than `OUTLYING` would divide each cluster into two parts nearly alike.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0.0, 1.0, (60, 2)), rng.normal(6.0, 2.0, (60, 2))])
    fit, normal = fit_mixture(X, 2, "VVV", noise="contaminated"), fit_mixture(X, 2, "VVV")
    assert fit.noise < 0.01
    assert (fit.predict(X) >= 0).all()
    assert fit.loglik >= normal.loglik - 1e-3  # reached only in the limit
    assert any("no outlying part" in remark for remark in fit.remarks)


def test_a_nested_model_is_never_better(sample):
    names = ["EEE", "VVV", "contaminated-EEE", "contaminated", "contaminated+noise"]
    fits = select_mixture(sample[0], 2, names).fits
    loglik = {name: fits[2, name].loglik for name in names}
    assert loglik["EEE"] <= loglik["contaminated-EEE"] <= loglik["contaminated"] + 1e-6
    assert loglik["VVV"] <= loglik["contaminated+noise"] <= loglik["contaminated"] + 1e-6


def test_one_column_has_its_own_models():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 60), rng.normal(9, 1, 60), [60.0, -50.0]])[:, None]
    selection = select_mixture(x, 2, noise="contaminated")
    assert selection.models == ("contaminated-E+noise", "contaminated-V+noise")
    assert selection.best.predict(x)[-2:].tolist() == [-1, -1]


def test_shares_and_inflations_stay_within_their_bounds(sample):
    X = sample[0]
    family = ContaminatedWithNoise.of(X, ["VVV"])
    problem = on(family, X)
    statistics = problem.statistics(responsibilities(sample[1], 2)[0])
    wild = statistics * np.random.default_rng(0).uniform(-1.0, 3.0, (20, *statistics.shape[1:]))
    with np.errstate(all="ignore"):
        params = family.m_step(wild, np.full(20, ALL[-1]), None)
    kept = ~family.is_degenerate(params)
    assert kept.any()
    for values, (least, most) in ((params.regular, REGULAR), (params.inflation, (OUTLYING, 1e10))):
        assert (values[kept] >= least).all()
        assert (values[kept] <= most).all()
