import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credpart.datasets import load_diabetes, load_iris
from credpart.diagnostics import henze_zirkler

pingouin = pytest.importorskip("pingouin")


@pytest.mark.parametrize(
    "X",
    [
        load_iris().X[:50],
        load_iris().X,
        load_diabetes().X,
        np.random.default_rng(0).standard_normal((40, 2)),
        np.random.default_rng(1).standard_t(3, (200, 3)),
    ],
)
def test_henze_zirkler_agrees_with_pingouin(X):
    expected = pingouin.multivariate_normality(X)
    found = henze_zirkler(X)
    assert found.statistic == pytest.approx(expected.hz, abs=1e-6)
    assert found.p_value == pytest.approx(expected.pval, abs=1e-6)
    assert found.size == len(X)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_weights_of_zero_and_one_choose_rows(seed):
    rng = np.random.default_rng(seed)
    X, chosen = rng.standard_normal((60, 2)), rng.random(60) < 0.5
    np.testing.assert_allclose(
        henze_zirkler(X, chosen.astype(float)), henze_zirkler(X[chosen]), rtol=1e-9
    )


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_affine_maps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((50, 3)), rng.random(50)
    A = rng.standard_normal((3, 3)) + 3.0 * np.eye(3)
    np.testing.assert_allclose(henze_zirkler(X @ A + 1e3, w), henze_zirkler(X, w), rtol=1e-6)


def test_blocks_of_rows_change_nothing(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 2))
    whole = henze_zirkler(X)
    monkeypatch.setattr("credpart.diagnostics.normality.BLOCK", 700)
    np.testing.assert_allclose(henze_zirkler(X), whole, rtol=1e-10)


def test_level_is_kept_with_posterior_weights():
    # uniform weights are independent of the objects: p-values are about uniform
    rng = np.random.default_rng(0)
    p = [henze_zirkler(rng.standard_normal((150, 2)), rng.random(150)).p_value for _ in range(200)]
    assert np.mean(np.array(p) < 0.1) == pytest.approx(0.1, abs=0.07)


def test_rounding_is_no_departure_from_normality():
    # In 150 dimensions the law of the statistic is narrower than the rounding of its value.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 150))
    assert 0.05 < henze_zirkler(X).p_value < 0.95
    assert henze_zirkler(X / np.sqrt(rng.chisquare(3, (400, 1)))).p_value < 1e-3


FLAT = np.c_[np.random.default_rng(0).standard_normal(40), np.full(40, 0.1)]


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.outer(np.arange(6.0), [1.0, 2.0]), FLAT])
def test_objects_on_a_plane_have_no_test(X):
    found = henze_zirkler(X, np.linspace(0.1, 0.9, len(X)))
    assert np.isnan(found.statistic)
    assert np.isnan(found.p_value)
