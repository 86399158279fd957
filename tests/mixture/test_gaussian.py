import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_normal, special_ortho_group

from credpart import fit_mixture, select_mixture
from credpart.datasets import load_iris, make_mixture3
from credpart.mixture.covariance.structures import ONE_DIMENSION, STRUCTURES
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.standardisation import FLAT, SINGULAR

from .problems import begin, begin_from, codes, on, responsibilities, run

AFFINE = ["EEE", "VEE", "EVV", "VVV"]
DIAGONAL = ["EEI", "VEI", "EVI", "VVI"]  # along the columns, and not the same in all
SPHERICAL = ["EII", "VII"]
ROTATING = [name for name in STRUCTURES if name not in DIAGONAL]


def draw_params(family, name, c, seed=0):
    """Parameters of a structure: an M-step from statistics of c random clusters."""
    rng = np.random.default_rng(seed)
    d = len(family.standardisation.center)
    sizes = 100.0 * rng.dirichlet(np.full(c, 5.0))
    means = rng.normal(0, 3, (c, d))
    roots = rng.normal(0, 0.5, (c, d, d + 2))
    seconds = sizes[:, None, None] * (roots @ roots.mT + means[:, :, None] * means[:, None, :])
    i, j = family.standardisation.pairs
    statistics = np.column_stack([sizes, sizes[:, None] * means, seconds[:, i, j]])
    return family.m_step(statistics[None], codes(name), None)


CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])


def unit_family(d, models=("VVV",)):
    """The family of data with median 0 and deviation 1 in every column."""
    return Gaussian.of(np.vstack([np.eye(d), -np.eye(d)]) * np.sqrt(d), list(models))


@pytest.fixture(scope="module")
def iris():
    """Iris with the species as start: no optimum is chosen, so that fits can be compared."""
    return load_iris().X.to_numpy(), np.repeat([0, 1, 2], 50)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_log_joint_is_the_log_density_plus_the_log_proportion(name, d):
    rng = np.random.default_rng(d)
    X = rng.normal(5, 3, (30, d)) * 10.0 ** np.arange(d)
    family = Gaussian.of(X, [name])
    params = draw_params(family, name, 3)
    joint = family.log_joint(family.features(X), params)[0] - family.log_unit
    proportions, means, covariances = (part[0] for part in family.to_data_units(params))
    for k in range(3):
        density = multivariate_normal(means[k], covariances[k]).logpdf(X)
        np.testing.assert_allclose(joint[k], np.log(proportions[k]) + density, rtol=1e-9)


@pytest.mark.parametrize("name", STRUCTURES)
def test_sample_fit_recover(name):
    n, c, d = 20_000, 3, 3
    family = unit_family(d)
    truth = draw_params(family, name, c, seed=4)
    X, labels = family.sample(truth, n, np.random.default_rng(0))
    fit = fit_mixture(X, c, name, start=labels)
    expected, found = (part[0] for part in family.to_data_units(truth)[:2]), fit.params
    proportions, means = expected
    covariances = family.to_data_units(truth).covariances[0]
    sizes = n * proportions
    # clusters overlap a little: five standard errors of separate samples
    np.testing.assert_array_less(abs(found.proportions - proportions), 5 * np.sqrt(0.25 / n))
    deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    np.testing.assert_array_less(abs(found.means - means), 5 * deviations / np.sqrt(sizes[:, None]))
    spread = deviations[:, :, None] * deviations[:, None, :]
    np.testing.assert_array_less(
        abs(found.covariances - covariances), 5 * spread * np.sqrt(2 / sizes[:, None, None])
    )


@pytest.mark.parametrize("name", ONE_DIMENSION)
def test_sample_fit_recover_in_one_dimension(name):
    family = unit_family(1, [name])
    truth = draw_params(family, name, 2, seed=2)
    X, labels = family.sample(truth, 20_000, np.random.default_rng(0))
    fit = fit_mixture(X, 2, name, start=labels)
    np.testing.assert_allclose(fit.params.means, family.to_data_units(truth).means[0], atol=0.05)
    np.testing.assert_allclose(
        fit.params.covariances, family.to_data_units(truth).covariances[0], rtol=0.1
    )


def compare(X, Y, labels, name, atol, tol=1e-9):
    """Fits of X and of Y, a map of X, have the same posteriors; return both."""
    fits = [fit_mixture(data, 3, name, start=labels, tol=tol) for data in (X, Y)]
    posteriors = [fit.posteriors(data) for fit, data in zip(fits, (X, Y), strict=True)]
    np.testing.assert_allclose(*posteriors, atol=atol)
    return fits


@pytest.mark.parametrize("name", AFFINE)
def test_affine_maps_change_no_posterior(name, iris):
    X, labels = iris
    A = np.random.default_rng(0).normal(size=(4, 4))
    fit, mapped = compare(X, X @ A.T + [1.0, -20.0, 300.0, 0.0], labels, name, 1e-5, tol=1e-13)
    shift = 150 * np.linalg.slogdet(A)[1]
    assert mapped.loglik == pytest.approx(fit.loglik - shift, abs=1e-6)
    expected = A @ fit.params.covariances @ A.T
    np.testing.assert_allclose(mapped.params.covariances, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", AFFINE + DIAGONAL)
def test_scales_of_columns_change_no_posterior(name, iris):
    X, labels = iris
    compare(X, X * [1e3, 0.5, 1.0, 1e-4], labels, name, 1e-8)


@pytest.mark.parametrize("name", ROTATING)
def test_rotations_change_no_posterior(name, iris):
    X, labels = iris
    rotation = special_ortho_group(4, seed=1).rvs()
    # the acceleration takes another way: so to the very end of it
    compare(X, X @ rotation.T, labels, name, 1e-5, tol=1e-13)


@pytest.mark.parametrize("name", STRUCTURES)
def test_translations_change_no_posterior(name, iris):
    X, labels = iris
    compare(X, X + np.array([100.0, -50.0, 3.0, 0.0]), labels, name, 1e-8)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("factor", [1e12, 1e-12])
def test_units_change_no_posterior(name, factor, iris):
    X, labels = iris
    compare(X, factor * X, labels, name, 1e-8)


@pytest.mark.parametrize("name", STRUCTURES)
def test_far_away_data_have_the_same_posteriors(name, iris):
    # at 1e9 the data themselves are rounded to 1e-7
    X, labels = iris
    compare(X, X + 1e9, labels, name, 1e-6)


@pytest.mark.parametrize("name", AFFINE + DIAGONAL)
def test_columns_of_very_different_scales(name, iris):
    X, labels = iris
    compare(X, X * [1e6, 1.0, 1e-6, 1.0], labels, name, 1e-8)


@pytest.mark.parametrize(
    ("change", "models", "atol"),
    [
        (lambda X: X * 1e12, list(STRUCTURES), 1e-8),
        (lambda X: X * 1e-12, list(STRUCTURES), 1e-8),
        (lambda X: X * [1e6, 1.0, 1e-6, 1.0], AFFINE + DIAGONAL, 1e-8),
        (lambda X: X + 1e9, list(STRUCTURES), 1e-6),
    ],
    ids=["x 1e12", "x 1e-12", "columns", "+ 1e9"],
)
def test_own_starts_are_free_of_units_too(change, models, atol, iris):
    X, _ = iris
    before, after = (select_mixture(data, 3, models) for data in (X, change(X)))
    for name in models:
        np.testing.assert_allclose(
            after.fits[3, name].posteriors(change(X)),
            before.fits[3, name].posteriors(X),
            atol=atol,
            err_msg=name,
        )


def test_pooled_regularisation_is_its_formula(iris):
    # Sigma_k = (n_k S_k + S_0) / (n_k + 1) with the pooled covariance S_0 of the start
    X, labels = iris
    family = Gaussian.of(X, ["VVV"])
    features = family.features(X)
    pooled = family.regularised(family.statistics(features, responsibilities(labels, 3))[0])
    resp = np.random.default_rng(0).dirichlet(np.ones(3), 150).T
    params = pooled.m_step(pooled.statistics(features, resp[None]), codes("VVV"), None)
    Z = features[:, 1:5]
    S_0 = sum(np.cov(Z[labels == k].T, bias=True) * 50 for k in range(3)) / 150
    for k in range(3):
        n_k, mean = resp[k].sum(), resp[k] @ Z / resp[k].sum()
        S_k = (resp[k, :, None] * (Z - mean)).T @ (Z - mean) / n_k
        np.testing.assert_allclose(params.covariances[0, k], (n_k * S_k + S_0) / (n_k + 1))
        np.testing.assert_allclose(params.proportions[0, k], n_k / 150)
        np.testing.assert_allclose(params.means[0, k], mean, atol=1e-12)


def test_log_prior_is_the_likelihood_of_the_pseudo_observations(iris):
    # log N(x; mean, Sigma_k) averaged over x with mean at the component's and covariance S_0
    X, labels = iris
    family = Gaussian.of(X, ["VVV"])
    assert family.log_prior(draw_params(family, "VVV", 3)) == 0.0
    start = family.statistics(family.features(X), responsibilities(labels, 3))
    pooled = family.regularised(start[0])
    params = draw_params(pooled, "VVV", 3)
    expected = sum(
        -0.5 * (np.linalg.slogdet(S)[1] + np.trace(np.linalg.solve(S, pooled.prior)))
        for S in params.covariances[0]
    )
    assert pooled.log_prior(params) == pytest.approx([expected])


def test_pooled_regularisation_has_no_singular_fit():
    # two components on 2 and 3 points in 3 dimensions
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((20, 3)), 9 + rng.standard_normal((2, 3))])
    labels = np.repeat([0, 1], [20, 2])
    fit = fit_mixture(X, 2, "VVV", start=labels, regularization="pooled")
    assert (np.linalg.eigvalsh(fit.params.covariances) > 0.01).all()


@pytest.mark.parametrize("name", ["VVV", "EEE", "VEI"])
def test_absent_components_have_no_density(name):
    X = make_mixture3(60, 0).X
    problem = on(Gaussian.of(X, ["VVV"]), X)
    family, features = problem.family, problem.data.features
    resp = np.random.default_rng(0).dirichlet(np.ones(2), 60).T
    two = family.statistics(features, resp[None])
    four = np.concatenate([two, np.zeros_like(two)], axis=1)
    padded, alone = (run(problem, begin(problem, start, codes(name))) for start in (four, two))
    np.testing.assert_allclose(padded.objective, alone.objective, rtol=1e-9)
    np.testing.assert_array_equal(padded.params.proportions[0, 2:], 0.0)
    assert (np.exp(family.log_joint(features, padded.params)[0, 2:]) == 0.0).all()


def test_products_of_columns_are_features_only_where_needed():
    X = make_mixture3(20, 0).X
    assert Gaussian.of(X, ["VVI", "EII"]).features(X).shape == (20, 1 + 2 + 2)
    assert Gaussian.of(X, ["VVI", "EEE"]).features(X).shape == (20, 1 + 2 + 3)


@pytest.mark.parametrize("name", ["EII", "VII", "EEI", "VEI", "EVI", "VVI"])
def test_diagonal_structures_need_no_products(name, iris):
    X, labels = iris
    results = []
    for models in ([name], [name, "VVV"]):
        problem = on(Gaussian.of(X, models), X)
        start = begin_from(problem, responsibilities(labels, 3), codes(name))
        results.append(run(problem, start).objective[0])
    assert results[0] == pytest.approx(results[1], rel=1e-9)


def test_flatness_is_relative_to_the_pooled_covariance():
    family = unit_family(2)
    params = draw_params(family, "VVV", 3)
    pooled = np.einsum("k,kde->de", params.proportions[0], params.covariances[0])
    expected = [np.trace(np.linalg.solve(S, pooled)) / 2 for S in params.covariances[0]]
    np.testing.assert_allclose(params.flatness[0], expected)
    assert not family.is_degenerate(params).any()
    for flatness in (2 * SINGULAR, np.nan, np.inf):
        assert family.is_degenerate(params._replace(flatness=np.array([[1.0, flatness]]))).all()


def test_a_mixture_without_width_is_degenerate_though_its_first_component_is_absent():
    family = unit_family(2)
    features = family.features(np.repeat([[-1.0, 0.0], [1.0, 0.0]], 2, axis=0) + 1e-7 * CORNERS)
    resp = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 2, axis=1)[None]
    params = family.m_step(family.statistics(features, resp), codes("VII"), None)
    assert family.is_degenerate(params).all()


def nearly_dependent(part):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + part * X[:, 2]
    return X


def test_nearly_dependent_columns_are_fitted_by_every_structure():
    X = nearly_dependent(1e-5)
    full = [name for name, row in STRUCTURES.items() if not row.diagonal]
    fits = [fit_mixture(X, 1, name) for name in full]
    np.testing.assert_allclose([fit.loglik for fit in fits], fits[0].loglik, atol=1e-3)
    for fit in fits:  # as exact as the densities
        np.testing.assert_allclose(fit.params.covariances[0], np.cov(X.T, bias=True), atol=1e-4)


def test_columns_that_are_dependent_but_for_rounding_are_refused():
    with pytest.raises(ValueError, match="column 2 is a linear combination"):
        fit_mixture(nearly_dependent(1e-7), 1, "VVV")


@pytest.mark.parametrize(
    ("size", "variance", "is_spurious"),
    [
        (4, 2e-3, False),  # not flat
        (4, 1e-4, True),  # 3921225 subsets of 4 in 100, each so flat with probability 1e-4
        (4, 1e-8, False),  # 1e-8: chance does not explain it
        (30, 1e-4, False),  # so many objects are never flat by chance
        (0, 1e-9, False),
    ],
)
def test_rule_of_the_spurious_spike(size, variance, is_spurious):
    # flat, and C(n, N) v^((N - d) / 2) > 1
    n, d = 100.0, 2
    family = unit_family(d)
    params = draw_params(family, "VVV", 2)._replace(
        proportions=np.array([[1 - size / n, size / n]]),
        flatness=np.array([[1.0, 1 / variance]]),
    )
    subsets = np.exp(gammaln(n + 1) - gammaln(size + 1) - gammaln(n - size + 1))
    literal = variance < FLAT and subsets * variance ** (max(size - d, 0) / 2) > 1
    assert family.is_flat(params).tolist() == [[False, variance < FLAT]]
    assert family.is_spurious(params, n).tolist() == [[False, is_spurious]]
    assert literal == is_spurious or size == 0


@pytest.mark.parametrize("added", [{"noise": True}, {"labels": [0, 1] + [None] * 28}])
def test_a_component_is_flat_whatever_is_added_to_the_family(added):
    fit = fit_mixture(np.random.default_rng(0).standard_normal((30, 2)), 2, "VVV", **added)
    spike = fit.internal._replace(flatness=np.array([[1.0, 2.0 / FLAT]]))
    assert fit.family.is_flat(spike).tolist() == [[False, True]]


def test_numbers_of_parameters():
    # c - 1 proportions, c d means, and the covariances
    assert unit_family(4).n_parameters("VVV", 3) == 2 + 12 + 30
    assert unit_family(4).n_parameters("EII", 3) == 2 + 12 + 1
    assert unit_family(1).n_parameters("V", 3) == 2 + 3 + 3
