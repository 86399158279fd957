import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import t

from credpart.mixture.families.t_tail import log_norm, slope, tail

mpmath.mp.dps = 40
X = np.concatenate([-np.logspace(-6, 8, 43), [0.0], np.logspace(-6, 3, 28)])


def log_cdf(x, dof):
    """``log T_r(x)`` for x (..., n) and degrees of freedom r (...), at least 1.

    The error, relative to the larger of 1 and the result, is below 1e-12.
    """
    half = 0.5 * np.asarray(dof, dtype=float)
    s = x / np.sqrt(2.0 * half)[..., None]
    log_z = -np.log1p(s**2)
    shape = tail(np.abs(s), half).shape
    log_tail = np.log(shape) + half[..., None] * log_z - log_norm(half)[..., None]
    with np.errstate(under="ignore"):
        return np.where(s < 0.0, log_tail, np.log1p(-np.exp(log_tail)))


def exact_log_cdf(x, dof):
    x, dof = mpmath.mpf(float(x)), mpmath.mpf(float(dof))
    below = mpmath.betainc(dof / 2, 0.5, 0, dof / (dof + x * x), regularized=True) / 2
    return mpmath.log(below) if x < 0 else mpmath.log1p(-below)


@pytest.mark.parametrize("dof", [1.0, 1.3, 2.0, 3.7, 7.0, 20.0, 77.7, 202.0, 250.0])
def test_log_cdf_agrees_with_mpmath_far_out(dof):
    exact = np.array([float(exact_log_cdf(x, dof)) for x in X])
    # also where the logarithm is nearly 0: the upper tail keeps its digits
    np.testing.assert_allclose(log_cdf(X, np.array(dof)), exact, rtol=2e-13)


@pytest.mark.parametrize("dof", [300.0, 900.0, 5000.0])
def test_many_degrees_of_freedom_get_a_larger_table(dof):
    exact = np.array([float(exact_log_cdf(x, dof)) for x in X[::4]])
    np.testing.assert_allclose(log_cdf(X[::4], np.array(dof)), exact, rtol=1e-10)


@example(1.0, [1.4323129849858295e-08])
@given(st.floats(1.0, 250.0), st.lists(st.floats(-30.0, 30.0), min_size=1, max_size=20))
@settings(deadline=None, max_examples=100)
def test_log_cdf_agrees_with_scipy(dof, x):
    x = np.array(x)
    # near 0 scipy's own t.cdf loses digits, and the incomplete beta function does not
    middle = 0.5 + 0.5 * np.sign(x) * betainc(0.5, dof / 2.0, x**2 / (dof + x**2))
    expected = np.where(np.abs(x) < 1.0, middle, t.cdf(x, dof))
    np.testing.assert_allclose(np.exp(log_cdf(x, np.array(dof))), expected, rtol=1e-10)


def test_shapes_are_those_of_components():
    rng = np.random.default_rng(0)
    x, dof = rng.standard_normal((4, 3, 7)), rng.uniform(1.0, 50.0, (4, 3))
    whole = log_cdf(x, dof)
    assert whole.shape == x.shape
    np.testing.assert_allclose(whole[2, 1], log_cdf(x[2, 1], dof[2, 1]), rtol=1e-12)


@pytest.mark.parametrize("a", [0.6, 2.0, 30.0, 101.0])
def test_slope_is_the_derivative_of_the_shape(a):
    s = np.array([0.0, 1e-3, 0.1, 1.0, 10.0, 1e4])
    found = tail(s, np.array(a))

    def exact_log_shape(half, point):
        z = 1 / (1 + mpmath.mpf(float(point)) ** 2)
        return mpmath.log(half * mpmath.betainc(half, 0.5, 0, z)) - half * mpmath.log(z)

    exact = [float(mpmath.diff(lambda half, p=p: exact_log_shape(half, p), a)) for p in s]
    np.testing.assert_allclose(slope(found, np.array(a)), exact, rtol=1e-7, atol=1e-12)
    shape = [float(mpmath.exp(exact_log_shape(mpmath.mpf(a), p))) for p in s]
    np.testing.assert_allclose(found.shape, shape, rtol=1e-12)
