from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from credpart import bootstrap, fit_mixture, select_mixture
from credpart._bootstrap.draws import parametric
from credpart._checks import Table
from credpart.datasets import load_iris, make_mixture3
from credpart.errors import DataWarning
from credpart.mixture.completed_data import completed
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.distinct import distinct
from credpart.mixture.families.contaminated import Contaminated
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.location_scale import LAWS, LocationScale
from credpart.mixture.families.missing_cells import (
    ContaminatedWithMissing,
    GaussianWithMissing,
    LocationScaleWithMissing,
    patterns_of,
    scoring,
)
from credpart.mixture.optimisation.em import iterate

from .problems import ALL, begin_from, codes, on, penalised_loglik, responsibilities, run, run_em

T = LAWS["t"]
C = 3


def make_missing(X, share, seed=0):
    """The data without some of their cells; every object keeps one."""
    rng = np.random.default_rng(seed)
    is_missing = rng.random(X.shape) < share
    is_missing[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False
    return np.where(is_missing, np.nan, X)


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    labels = np.unique(data.y, return_inverse=True)[1]
    return make_missing(data.X.to_numpy() * [1.0, 10.0, 0.1, 3.0], 0.25), labels


def gaussian(X, structures=tuple(STRUCTURES)):
    return GaussianWithMissing.of(X, structures)


def student(X, structures=tuple(STRUCTURES)):
    return LocationScaleWithMissing.of(X, structures, T)


def contaminated(X, structures=tuple(STRUCTURES)):
    return ContaminatedWithMissing.of(X, structures)


FAMILIES = pytest.mark.parametrize("make", [gaussian, student, contaminated])


def normal(params, k, seen):
    covariance = params.covariances[k][np.ix_(seen, seen)]
    return multivariate_normal(params.means[k][seen], covariance)


def t(params, k, seen):
    scale = params.scales[k][np.ix_(seen, seen)]
    return multivariate_t(params.locations[k][seen], scale, df=params.dof[k])


class ContaminatedNormal:
    """Two normal parts with one mean."""

    def __init__(self, params, k, seen):
        covariance = params.covariances[k][np.ix_(seen, seen)]
        alpha, eta, mean = params.regular[k], params.inflation[k], params.means[k][seen]
        self.parts = (
            (alpha, multivariate_normal(mean, covariance)),
            (1.0 - alpha, multivariate_normal(mean, eta * covariance)),
        )

    def logpdf(self, x):
        return np.logaddexp(*(np.log(share) + law.logpdf(x) for share, law in self.parts))


LITERAL = [("VVV", normal), ("EEI", normal), ("t", t), ("contaminated", ContaminatedNormal)]


@pytest.mark.parametrize(("model", "law"), LITERAL)
def test_the_likelihood_is_that_of_the_cells_that_are_seen(model, law, iris):
    X, labels = iris
    with pytest.warns(DataWarning, match="missing at random"):
        fit = fit_mixture(X, C, model, start=labels, missing="model", max_iter=2000)
    literal = np.empty((len(X), C))
    for i, x in enumerate(X):
        seen = ~np.isnan(x)
        for k in range(C):
            density = law(fit.params, k, seen).logpdf(x[seen])
            literal[i, k] = np.log(fit.params.proportions[k]) + density
    log_density = np.logaddexp.reduce(literal, axis=1)
    # Absolute errors are those of rounding the standardised data to 2^-33.
    np.testing.assert_allclose(fit.log_density(X), log_density, rtol=0.0, atol=1e-7)
    assert fit.loglik == pytest.approx(log_density.sum(), rel=1e-10)
    posteriors = np.exp(literal - log_density[:, None])
    np.testing.assert_allclose(fit.posteriors(X), posteriors, atol=1e-8)


@FAMILIES
def test_likelihoods_of_all_structures_never_fall(make, iris):
    X, labels = iris
    problem = on(make(X), X)
    mixtures = begin_from(problem, np.repeat(responsibilities(labels, C), 14, 0), ALL[:1])
    mixtures = replace(mixtures.take(np.zeros(14, dtype=np.intp)), structure_code=ALL, slot=ALL)
    last = iterate(problem, mixtures)  # all have their structures after this
    for _ in range(25):
        current = iterate(problem, last)
        slack = 1e-9 * np.abs(last.objective)
        assert not current.is_degenerate.any()
        assert (current.objective >= last.objective - slack).all()
        last = current


def expected_complete_loglik(family, statistics, params):
    """Q of normal components up to a constant, in standardised units, from its definition."""
    d = family.d
    sizes, sums = statistics[..., 0], statistics[..., 1 : 1 + d]
    squares = family.standardisation.matrices(statistics[..., 1 + d :])
    means = params.means
    cross = sums[..., :, None] * means[..., None, :]
    scatter = squares - cross - cross.mT
    scatter = scatter + sizes[..., None, None] * means[..., :, None] * means[..., None, :]
    precisions = np.linalg.inv(params.covariances)
    _, logdet = np.linalg.slogdet(params.covariances)
    traces = np.einsum("bkde,bked->bk", precisions, scatter)
    return (sizes * (np.log(params.proportions) - 0.5 * logdet) - 0.5 * traces).sum(axis=1)


def test_the_m_step_of_every_structure_raises_the_expected_likelihood(iris):
    X, labels = iris
    family = gaussian(X)
    problem = on(family, X)
    start = begin_from(problem, responsibilities(labels, C), ALL[:1])
    start = replace(start.take(np.zeros(14, dtype=np.intp)), structure_code=ALL, slot=ALL)
    first = iterate(problem, start)
    before = expected_complete_loglik(family, first.statistics, first.params)
    after = iterate(problem, first).params
    assert (expected_complete_loglik(family, first.statistics, after) >= before - 1e-8).all()


def test_expected_statistics_are_the_literal_conditional_moments(iris):
    X, labels = iris
    family = gaussian(X, ["VVV"])
    problem = on(family, X)
    params = begin_from(problem, responsibilities(labels, C), codes("VVV")).params
    rng = np.random.default_rng(0)
    resp = rng.random((1, C, len(X)))
    space, (i, j) = family.standardisation, family.standardisation.pairs
    Z = np.round((X - space.center) / space.scale / space.rounding_unit) * space.rounding_unit
    literal = np.zeros((C, 1 + 4 + 10))
    for k in range(C):
        mean, covariance = params.means[0, k], params.covariances[0, k]
        for row, z in enumerate(Z):
            o, m = np.flatnonzero(~np.isnan(z)), np.flatnonzero(np.isnan(z))
            slope = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
            x, spread = z.copy(), np.zeros((4, 4))
            x[m] = mean[m] + slope @ (z[o] - mean[o])
            spread[np.ix_(m, m)] = covariance[np.ix_(m, m)] - slope @ covariance[np.ix_(o, m)]
            products = np.outer(x, x) + spread
            literal[k] += resp[0, k, row] * np.concatenate([[1.0], x, products[i, j]])
    found = family.statistics(problem.data.features, resp, params)[0]
    np.testing.assert_allclose(found, literal, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["EII", "VVI", "EEE", "VEV", "VVV"])
def test_complete_data_are_a_special_case(name, iris):
    X, labels = load_iris().X.to_numpy(), iris[1]
    resp = responsibilities(labels, C)
    plain, same = (
        run(problem, begin_from(problem, resp, codes(name)))
        for problem in (on(family.of(X, [name]), X) for family in (Gaussian, GaussianWithMissing))
    )
    assert same.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_allclose(same.params.means, plain.params.means, atol=1e-8)
    np.testing.assert_allclose(same.params.covariances, plain.params.covariances, atol=1e-8)


def test_complete_data_are_a_special_case_of_t(iris):
    X, labels = load_iris().X.to_numpy(), iris[1]
    resp = responsibilities(labels, C)
    families = (LocationScale, LocationScaleWithMissing)
    plain, same = (
        run_em(problem, begin_from(problem, resp, codes("EEE")), max_iter=30, tol=1e-12)
        for problem in (on(family.of(X, ["EEE"], T), X) for family in families)
    )
    assert same.objective == pytest.approx(plain.objective, rel=1e-8)
    for one, other in zip(same.params[:5], plain.params[:5], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def test_complete_data_are_a_special_case_of_contaminated_ones(iris):
    X, labels = load_iris().X.to_numpy(), iris[1]
    resp = responsibilities(labels, C)
    plain, same = (
        run_em(problem, begin_from(problem, resp, codes("EEE")), max_iter=30, tol=1e-12)
        for problem in (
            on(family.of(X, ["EEE"]), X) for family in (Contaminated, ContaminatedWithMissing)
        )
    )
    assert same.objective == pytest.approx(plain.objective, rel=1e-8)
    for one, other in zip(same.params[:5], plain.params[:5], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)


def test_without_missing_cells_the_fit_is_that_of_complete_data_to_the_byte():
    X = make_mixture3(80, random_state=0).X
    one, other = fit_mixture(X, C, "EEE"), fit_mixture(X, C, "EEE", missing="model")
    assert type(other.family) is Gaussian
    assert one.posteriors(X).tobytes() == other.posteriors(X).tobytes()


@pytest.mark.filterwarnings("ignore:The data")
@pytest.mark.parametrize("model", ["VVV", "VEI", "t-EEE"])
def test_the_order_of_rows_and_columns_does_not_matter(model, iris):
    X, labels = (array[::2] for array in iris)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(4)
    fit = fit_mixture(X, C, model, start=labels, missing="model")
    rows_moved = fit_mixture(X[rows], C, model, start=labels[rows], missing="model")
    assert rows_moved.loglik == fit.loglik
    np.testing.assert_array_equal(rows_moved.posteriors(X), fit.posteriors(X))
    moved = fit_mixture(X[:, columns], C, model, start=labels, missing="model")
    assert moved.loglik == pytest.approx(fit.loglik, rel=1e-8)
    # As far as the tolerance of EM determines posteriors.
    np.testing.assert_allclose(moved.posteriors(X[:, columns]), fit.posteriors(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore:The data")
def test_weights_are_repeated_rows(iris):
    X, labels = iris
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    one = fit_mixture(X, C, "EEE", start=labels, sample_weight=weights, missing="model")
    other = fit_mixture(X[repeated], C, "EEE", start=labels[repeated], missing="model")
    assert one.posteriors(X).tobytes() == other.posteriors(X).tobytes()


@FAMILIES
def test_mixtures_together_are_mixtures_apart(make, iris):
    X, labels = iris
    family = make(X)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, size=(5, len(X))).astype(float)
    problem = on(family, X, weights)
    structure = codes("VVV", "EEE", "VEI", "EII", "EVV")
    together = iterate(problem, begin_from(problem, responsibilities(labels, C), structure))
    for b in range(5):
        one = on(family, X, weights[b : b + 1])
        start = begin_from(one, responsibilities(labels, C), structure[b : b + 1])
        apart = iterate(one, start)
        np.testing.assert_allclose(together.objective[b], apart.objective[0], rtol=1e-10)
        np.testing.assert_allclose(together.statistics[b], apart.statistics[0], atol=1e-8)


def test_many_patterns_in_blocks_change_nothing(iris, monkeypatch):
    X, labels = iris
    problem = on(gaussian(X), X)
    start = begin_from(problem, responsibilities(labels, C), codes("VVV"))
    monkeypatch.setattr("credpart.mixture.families.missing_cells.BLOCK", 1)
    again = begin_from(problem, responsibilities(labels, C), codes("VVV"))
    np.testing.assert_allclose(again.objective, start.objective, rtol=1e-13)
    np.testing.assert_allclose(again.statistics, start.statistics, rtol=1e-10, atol=1e-10)


def test_patterns_of_many_columns_are_told_apart():
    seen = np.random.default_rng(0).random((50, 70)) < 0.98
    found = patterns_of(seen.astype(float))
    assert len(found.rows) == len(np.unique(seen, axis=0))
    for pattern, rows in zip(found.seen, found.rows, strict=True):
        assert (seen[rows] == pattern).all()


@pytest.mark.filterwarnings("ignore:The data")
def test_a_nested_structure_is_never_better(iris):
    X = iris[0][::2]
    fits = select_mixture(X, [3], ["EII", "EEE", "VVV"], missing="model").fits
    logliks = [fits[3, name].loglik for name in ("EII", "EEE", "VVV")]
    assert logliks == sorted(logliks)


@pytest.mark.filterwarnings("ignore:The data")
@pytest.mark.parametrize("resampling", ["nonparametric", "bayesian", "parametric"])
@pytest.mark.parametrize("model", ["EEE", "t-EEE", "contaminated-EEE", "EEE+noise"])
def test_replicates_of_all_resamplings(resampling, model):
    sample = make_mixture3(60, random_state=1)
    X = make_missing(sample.X, 0.2)
    fit = fit_mixture(X, 2, model, start=sample.y % 2, missing="model", tol=1e-7)
    replicates = bootstrap(X, fit, 8, resampling=resampling, tol=1e-6, random_state=0)
    posteriors = replicates.posteriors(X)
    assert np.isfinite(posteriors).all()
    sums = posteriors.sum(axis=2)
    assert sums.max() < 1.0 + 1e-9
    assert fit.has_noise or sums.min() > 1.0 - 1e-9
    assert len(np.unique(replicates.loglik)) == 8


@pytest.mark.filterwarnings("ignore:The data")
def test_parametric_samples_miss_the_cells_of_the_data():
    X = make_missing(make_mixture3(60, random_state=1).X, 0.2)
    objects = distinct(X, np.ones(60))
    fit = fit_mixture(X, 2, "EEE", missing="model")
    draws = parametric(objects, fit, [np.random.default_rng(s) for s in range(3)])
    is_missing = np.isnan(draws.X)
    assert (is_missing == np.isnan(objects.X)).all()


@pytest.mark.filterwarnings("ignore:The data")
def test_sample_fit_recover():
    truth = make_mixture3(4000, random_state=0)
    fit = fit_mixture(make_missing(truth.X, 0.2), 3, "VVV", start=truth.y, missing="model")
    np.testing.assert_allclose(fit.params.means, truth.truth.means, atol=0.15)
    np.testing.assert_allclose(fit.params.covariances, truth.truth.covariances, atol=0.2)


def test_starts_see_regressions_on_one_normal_distribution():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    X = np.column_stack([x, 3.0 * x + 0.1 * rng.normal(size=400)])
    holes = make_missing(X, 0.3)
    filled = completed(Table(holes, None, None))
    assert np.array_equal(filled[~np.isnan(holes)], X[~np.isnan(holes)])
    gaps = np.abs(filled - X)[np.isnan(holes)]
    assert gaps.max() < 0.6  # six times the noise


@pytest.mark.filterwarnings("ignore:The data")
def test_a_family_of_complete_data_scores_objects_with_missing_cells():
    X = make_mixture3(80, random_state=0).X
    fit = fit_mixture(X, 2, "EEE", missing="model")
    assert scoring(fit.family, X) is fit.family
    new = np.array([[np.nan, 1.0], [0.5, np.nan]])
    literal = np.empty((2, 2))
    for i, x in enumerate(new):
        seen = ~np.isnan(x)
        for k in range(2):
            literal[i, k] = fit.params.proportions[k] * normal(fit.params, k, seen).pdf(x[seen])
    expected = literal / literal.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.posteriors(new), expected, rtol=1e-8)
    labelled = fit_mixture(X, 2, "EEE", missing="model", labels=[0, 1] + [None] * 78)
    assert np.isfinite(labelled.posteriors(new)).all()


@pytest.fixture(scope="module")
def far():
    """Two clusters, then five objects far from both."""
    rng = np.random.default_rng(0)
    clusters = [rng.normal(0.0, 1.0, (40, 2)), rng.normal(6.0, 1.0, (40, 2))]
    return np.vstack([*clusters, [[30, -40], [-35, 20], [25, 45], [-50, -30], [2, 60]]])


@pytest.mark.filterwarnings("ignore:The data")
def test_noise_is_uniform_over_the_columns_that_are_seen(far):
    holes = make_missing(far, 0.2)
    fit = fit_mixture(holes, 2, "EEE", missing="model", noise=True)
    ranges = np.nanmax(holes, axis=0) - np.nanmin(holes, axis=0)
    literal = np.empty(len(far))
    for i, x in enumerate(holes):
        seen = ~np.isnan(x)
        parts = [
            fit.params.proportions[k] * normal(fit.params, k, seen).pdf(x[seen]) for k in range(2)
        ]
        literal[i] = np.log(sum(parts) + fit.noise / np.prod(ranges[seen]))
    np.testing.assert_allclose(fit.log_density(holes), literal, atol=1e-7)
    assert fit.loglik == pytest.approx(literal.sum(), rel=1e-10)
    assert np.flatnonzero(fit.predict(holes) == -1).tolist() == [80, 81, 82, 83, 84]
    complete = fit_mixture(far, 2, "EEE", missing="model", noise=True)
    assert complete.predict([[np.nan, 500.0]]).tolist() == [-1]


def test_contaminated_noise_stands_beside_missing_cells(far):
    holes = make_missing(far, 0.2)
    with pytest.warns(DataWarning, match="missing at random"):
        fit = fit_mixture(holes, 2, "EEE", missing="model", noise="contaminated")
    assert np.flatnonzero(fit.predict(holes) == -1).tolist() == [80, 81, 82, 83, 84]
    assert "missing at random" in fit.remarks[0]
    complete = fit_mixture(far, 2, "EEE", missing="model", noise="contaminated")
    assert complete.predict([[np.nan, 500.0]]).tolist() == [-1]


def test_regularised_families_have_their_prior(iris):
    X, labels = iris
    problem = on(gaussian(X), X)
    resp = responsibilities(labels, C)
    family = problem.family.regularised(problem.statistics(resp[0])[0])
    assert type(family) is GaussianWithMissing
    prior = problem._replace(family=family)
    start = begin_from(prior, resp, codes("VVV"))
    after = run(prior, start)
    assert penalised_loglik(prior, after.params) >= penalised_loglik(prior, start.params)


BAD = {
    "refused by default": (
        {},
        [[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]],
        r"1 NaN \(missing\) .* column 1, row 0\. Drop or impute them\. .* missing='model'",
    ),
    "an infinite cell": (
        {"missing": "model"},
        [[1.0, np.inf], [2.0, 3.0], [0.0, np.nan]],
        r"1 inf values, the first in column 1, row 0\. Drop or impute them\.$",
    ),
    "an empty row": (
        {"missing": "model"},
        [[1.0, 2.0], [np.nan, np.nan], [0.0, 1.0]],
        r"value in every row, got only missing cells in row 1 \(1 such row",
    ),
    "an empty column": (
        {"missing": "model"},
        [[1.0, np.nan], [2.0, np.nan], [0.0, np.nan]],
        "value in every column, got only missing cells in column 1",
    ),
    "a skew model": (
        {"missing": "model", "model": "skew-t"},
        [[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]],
        "Gaussian, t and contaminated mixtures can also take them as missing at random",
    ),
    "a typo": ({"missing": "drop"}, [[1.0], [2.0]], "`missing` must be one of 'error', 'model'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_refused(name):
    options, X, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        fit_mixture(np.array(X), 1, **options)


def test_a_column_that_only_objects_without_weight_have_is_refused():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [0.0, np.nan], [3.0, 1.0]])
    with pytest.raises(ValueError, match="only missing cells in column 1"):
        fit_mixture(X, 1, "EII", sample_weight=[1, 1, 1, 0], missing="model")
