import json
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest

from credpart.mixture.covariance.batched import Previous, update
from credpart.mixture.covariance.structures import NAMES
from credpart.mixture.families.location_scale import LocationScale
from credpart.mixture.families.skew import SKEW_NORMAL, SKEW_T
from credpart.mixture.families.student import DOF, T, degrees_of_freedom
from credpart.mixture.optimisation.convergence import Status

from .families import CASES, SPACE
from .problems import begin_from, codes, on, run, run_em

mpmath.mp.dps = 40
REFERENCE = Path(__file__).parents[1] / "reference"
SAMPLE = pd.read_csv(REFERENCE / "skew_t_sample.csv")
X = SAMPLE[["x1", "x2"]].to_numpy()
RESP = (SAMPLE["component"].to_numpy() == np.arange(1, 4)[:, None])[None].astype(float)

# The paper's mixture of skew t distributions
LOCATIONS = np.array([[3.0, -4.0], [3.5, 4.0], [2.0, 2.0]])
SCALES = np.array([[[1.0, -0.1], [-0.1, 1.0]], np.eye(2), np.eye(2)])
SKEWNESS = np.array([[3.0, 3.0], [1.0, 5.0], [-3.0, 1.0]])
TRUE_DOF = np.array([3.0, 5.0, 5.0])


def internal(family, proportions, locations, scales, skewness, dof):
    center, scale = family.standardisation.center, family.standardisation.scale
    return family.complete(
        np.asarray(proportions)[None],
        ((locations - center) / scale)[None],
        (scales / (scale[:, None] * scale))[None],
        (skewness / scale)[None],
        np.asarray(dof)[None],
    )


def test_densities_agree_with_the_reference():
    family = LocationScale.of(X, ["VVV"], SKEW_T)
    params = internal(family, np.ones(3), LOCATIONS, SCALES, SKEWNESS, TRUE_DOF)
    found = family.log_joint(family.features(X), params)[0].T - family.log_unit
    expected = SAMPLE[["logdens1", "logdens2", "logdens3"]].to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-8, rtol=0.0)


def test_likelihood_of_the_reference_fit():
    fit = json.loads((REFERENCE / "skew_t_fit.json").read_text())
    family = LocationScale.of(X, ["VVV"], SKEW_T)
    proportions, mu, delta = np.array(fit["pro"]), np.array(fit["mu"]).T, np.array(fit["delta"]).T
    sigma = np.moveaxis(np.array(fit["sigma"]), -1, 0)
    params = internal(family, proportions, mu, sigma, delta, np.array(fit["dof"]))
    joint = family.log_joint(family.features(X), params)[0]
    loglik = np.logaddexp.reduce(joint, axis=0).sum() - len(X) * family.log_unit
    assert loglik == pytest.approx(fit["loglik"], abs=1e-4)  # parameters are printed to 11 digits


def test_fit_from_the_true_components_is_as_good_as_the_reference():
    fit = json.loads((REFERENCE / "skew_t_fit.json").read_text())
    problem = on(LocationScale.of(X, ["VVV"], SKEW_T), X)
    family = problem.family
    found = run(problem, begin_from(problem, RESP, codes("VVV")))
    loglik = found.objective - family.log_prior(found.params) - len(X) * family.log_unit
    assert found.status[0] == Status.OK
    assert loglik[0] >= fit["loglik"] - 0.01
    assert found.params.dof.max() <= max(fit["dof"])


def test_accelerated_and_plain_em_end_at_the_same_maximum():
    problem = on(LocationScale.of(X, ["VVV"], SKEW_T), X)
    start = begin_from(problem, RESP, codes("VVV"))
    fast, slow = run(problem, start), run_em(problem, start, tol=1e-11, max_iter=3000)
    assert fast.objective[0] >= slow.objective[0] - 1e-5
    assert fast.n_iter[0] < slow.n_iter[0]


def expectations(eta, y, dof, d=2):
    one = np.ones((1, 1, 1))
    return [part.item() for part in SKEW_T.expect(eta * one, y * one, np.full((1, 1), dof), d)]


@pytest.mark.parametrize("y", [-8.0, 0.7])
@pytest.mark.parametrize(("dof", "eta"), [(0.8, 0.3), (5.0, 20.0)])
def test_skew_t_expectations_are_integrals(y, dof, eta):
    a, beta = mpmath.mpf(dof + 2) / 2, mpmath.mpf(dof + eta) / 2

    def density(w):
        return w ** (a - 1) * mpmath.exp(-beta * w) * mpmath.ncdf(y * mpmath.sqrt(w))

    def u_given_w(w):  # of a normal, mean y and variance 1 / w, truncated to u > 0
        root = mpmath.sqrt(w)
        return y + mpmath.npdf(y * root) / mpmath.ncdf(y * root) / root

    peak = a / beta / (1 + max(0, -y) * abs(y) / (2 * beta))
    ends = [peak * i for i in (0, 0.1, 0.3, 0.6, 1, 1.5, 2, 3, 5, 10, 40)] + [mpmath.inf]

    def mean(power):
        return mpmath.quad(lambda w: power(w) * density(w), ends) / mpmath.quad(density, ends)

    wu = mean(lambda w: w * u_given_w(w))
    exact = [mean(lambda w: w), wu, 1 + y * wu, mean(mpmath.log)]
    # the quadrature is good to 9 digits, of which 1 + y wu loses some
    np.testing.assert_allclose(expectations(eta, y, dof), [float(e) for e in exact], rtol=1e-7)


@pytest.mark.parametrize("y", [-1e6, -500.0, -50.0, -1.0, 0.0, 6.0, 1e4])
@pytest.mark.parametrize("dof", [0.5, 5.0, 200.0])
@pytest.mark.parametrize("eta", [0.0, 20.0, 1e4])
def test_skew_t_expectations_are_exact_far_out(y, dof, eta):
    r, spread = mpmath.mpf(dof) + 2, mpmath.mpf(dof) + eta
    z = 1 / (1 + mpmath.mpf(y) ** 2 / spread)

    def cdf(dof):
        below = mpmath.betainc(dof / 2, mpmath.mpf(1) / 2, 0, z, regularized=True) / 2
        return below if y < 0 else 1 - below

    w = r / spread * cdf(r + 2) / cdf(r)
    peak = z ** ((r + 1) / 2) / mpmath.beta(r / 2, mpmath.mpf(1) / 2)
    wu = y * w + peak / cdf(r) / mpmath.sqrt(spread)
    slope = mpmath.diff(lambda a: mpmath.log(cdf(2 * a)), r / 2)
    log_w = mpmath.digamma(r / 2) - mpmath.log(spread / 2) + slope
    found = expectations(eta, y, dof)
    for value, exact, error in zip(
        found, (w, wu, 1 + y * wu, log_w), (1e-13, 1e-11, 1e-9, 1e-12), strict=True
    ):
        assert value == pytest.approx(float(exact), rel=error)


@pytest.mark.parametrize("y", [-1e6, -101.0, -99.0, -20.0, -3.0, 0.0, 2.0, 30.0])
def test_skew_normal_expectations_agree_with_mpmath(y):
    point = mpmath.mpf(y)
    tail = mpmath.erfc(-point / mpmath.sqrt(2)) / 2 if abs(y) < 1e4 else None
    if tail is None:
        u = -1 / point * (1 - 2 / point**2 + 10 / point**4)
    else:
        u = point + mpmath.npdf(point) / tail
    shape = np.ones((1, 1, 1))
    _, got, squares, _ = SKEW_NORMAL.expect(shape, y * shape, np.full((1, 1), np.inf), 2)
    assert got[0, 0, 0] == pytest.approx(float(u), rel=1e-11)
    assert squares[0, 0, 0] == pytest.approx(float(1 + point * u), rel=1e-7)


def test_densities_integrate_to_one():
    grid = np.linspace(-60.0, 60.0, 601)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    for law, dof in ((T, 6.0), (SKEW_NORMAL, np.inf), (SKEW_T, 6.0)):
        family = LocationScale.of(points, ["VVV"], law)
        skewness = SKEWNESS[:1] * law.is_skew
        params = internal(family, [1.0], np.zeros((1, 2)), SCALES[:1], skewness, [dof])
        density = np.exp(family.log_joint(family.features(points), params)[0, 0] - family.log_unit)
        assert density.sum() * 0.04 == pytest.approx(1.0, abs=1e-4)


def test_degrees_of_freedom_solve_their_equation():
    from scipy.special import digamma

    dof = np.geomspace(*DOF, 100)
    excess = np.log(0.5 * dof) - digamma(0.5 * dof)
    np.testing.assert_allclose(degrees_of_freedom(excess), dof, rtol=1e-11)
    np.testing.assert_array_equal(
        degrees_of_freedom(np.array([-1.0, 0.0, 1e9, np.nan])), [200.0, 200.0, 0.5, 200.0]
    )


def test_normal_data_have_degrees_of_freedom_at_the_cap():
    Z = np.random.default_rng(0).standard_normal((4000, 2))
    Z /= np.sqrt(1.0 + 0.02 * (Z**2).sum(axis=1))[:, None]  # lighter tails than normal
    problem = on(LocationScale.of(Z, ["VVV"], T), Z)
    found = run(problem, begin_from(problem, np.ones((1, 1, len(Z))), codes("VVV")))
    assert found.params.dof.item() == DOF[1]
    assert found.status[0] == Status.OK


@pytest.mark.parametrize("law", [T, SKEW_T, SKEW_NORMAL])
@pytest.mark.parametrize("structure", NAMES[:14])
def test_every_structure_can_be_had(law, structure):
    problem = on(LocationScale.of(X, [structure], law), X)
    start = begin_from(problem, RESP, codes(structure))
    short, found = run_em(problem, start, max_iter=5), run(problem, start)
    assert found.status[0] == Status.OK
    assert found.objective[0] >= short.objective[0]
    scales, sizes = found.params.scales, np.full((1, 3), 100.0)
    previous = Previous.of(scales, found.params.proportions)
    units = problem.family.standardisation.units
    again = update(100.0 * scales, sizes, codes(structure), previous, units)
    np.testing.assert_allclose(again, scales, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("law", [T, SKEW_T, SKEW_NORMAL])
@pytest.mark.parametrize("structure", ["EII", "VVI"])
def test_a_diagonal_structure_alone_ends_where_it_does_beside_a_full_one(law, structure):
    # the scale matrices are diagonal, but the density of a skew component has all products
    ends = []
    for structures in ([structure], [structure, "VVV"]):
        problem = on(LocationScale.of(X, structures, law), X)
        ends.append(run(problem, begin_from(problem, RESP, codes(structure))).objective)
    np.testing.assert_allclose(*ends, rtol=1e-8)


def test_a_normal_mixture_is_the_same_in_a_larger_family():
    normal, larger = CASES["VVV"], LocationScale(SPACE, SKEW_NORMAL)
    embedded = larger.embed(normal.params)
    np.testing.assert_allclose(embedded.scales, normal.params.covariances)
    features = larger.features(np.random.default_rng(0).standard_normal((20, 2)))
    np.testing.assert_allclose(
        larger.log_joint(features, embedded), normal.family.log_joint(features, normal.params)
    )
