"""The delta method for P_ij of large samples: against its literal form, and beside replicates."""

from dataclasses import replace

import numpy as np
import pytest

from credpart import CalibratedClustering, bootstrap, fit_mixture
from credpart._bootstrap.delta_method import DeltaMethod
from credpart.datasets import make_mixture1, make_mixture3
from credpart.intervals import METHODS
from credpart.result import masses_from
from credpart.storage import load_model, save_model

SMALL = make_mixture3(150, random_state=0).X


@pytest.fixture(scope="module")
def replicates():
    return bootstrap(SMALL, fit_mixture(SMALL, 3, "VVV"), 60, random_state=0)


def literal_probability(natural, left, right):
    """Eq. (4), of posteriors that are a softmax of linear forms."""

    def posteriors(features):
        weights = np.exp(natural @ features)
        return weights / weights.sum()

    return posteriors(left) @ posteriors(right)


def test_the_variance_is_that_of_the_gradient(replicates):
    delta = DeltaMethod.of(replicates, SMALL[:4])
    features = delta.family.features(SMALL[20:25])
    P, variance = delta.moments(features)
    shape, q = delta.natural.shape, delta.natural.size
    C = delta.covariance.reshape(q, q)
    for i, left in enumerate(features):
        for j, right in enumerate(delta.known):
            assert P[i, j] == pytest.approx(literal_probability(delta.natural, left, right))
            gradient = np.empty(q)  # by central differences, exact to six digits
            for e in range(q):
                step = 1e-6 * np.eye(q)[e].reshape(shape)
                both = (delta.natural + step, delta.natural - step)
                up, down = (literal_probability(natural, left, right) for natural in both)
                gradient[e] = (up - down) / 2e-6
            assert variance[i, j] == pytest.approx(gradient @ C @ gradient, rel=1e-5, abs=1e-14)


def test_both_objects_of_a_pair_count_alike(replicates):
    delta = DeltaMethod.of(replicates, SMALL[:30])
    P, variance = delta.moments(delta.known)
    np.testing.assert_allclose(P, P.T, atol=1e-15)
    np.testing.assert_allclose(variance, variance.T, rtol=1e-7, atol=1e-15)


def test_bounds_are_those_of_replicates_that_stay_near_their_mean(replicates):
    # Replicates with a tiny part of their spread are as good as linear in their parameters.
    (part,) = replicates.parts
    natural = part.params.natural
    near = natural.mean(axis=0) + 1e-4 * (natural - natural.mean(axis=0))
    shrunk = replace(replicates, parts=(replace(part, params=part.params._replace(natural=near)),))
    delta = DeltaMethod.of(shrunk, SMALL[:20])
    lower, upper = delta.bounds(SMALL[20:60], 0.9)
    P = np.einsum("bik,bjk->ijb", shrunk.posteriors(SMALL[20:60]), shrunk.posteriors(SMALL[:20]))
    mean, deviation = P.mean(axis=2), P.std(axis=2, ddof=1)
    z = 1.6448536269514722  # of a level of .9
    tolerance = 0.02 * deviation.max() + 1e-6  # probabilities closer to 0 and 1 are not told apart
    np.testing.assert_allclose(lower, mean - z * deviation, atol=tolerance)
    np.testing.assert_allclose(upper, mean + z * deviation, atol=tolerance)


def test_it_applies_to_sound_replicates_of_one_family_with_natural_parameters(replicates):
    assert DeltaMethod.of(replicates, SMALL) is not None
    few = bootstrap(SMALL, fit_mixture(SMALL, 3, "VVV"), 15, random_state=0)
    assert DeltaMethod.of(few, SMALL) is None  # 18 natural parameters
    broken = replace(replicates, status=np.where(np.arange(60) == 7, 2, replicates.status))
    assert DeltaMethod.of(broken, SMALL) is None
    heavy = bootstrap(SMALL, fit_mixture(SMALL, 3, "t"), 30, random_state=0)
    assert DeltaMethod.of(heavy, SMALL) is None


LARGE = make_mixture1(12_000, random_state=0).X


@pytest.fixture(scope="module")
def large():
    return CalibratedClustering(3, model="EII", n_replicates=1000, random_state=0).fit(LARGE)


def test_masses_of_large_samples_are_those_of_the_replicates(large):
    result = large.result_
    assert result.landmarks.values is not None
    some = LARGE[:500]
    by_replicates = masses_from(replace(result.landmarks, values=None), result.replicates, some)
    moved = 0.5 * np.abs(result.partition.masses[:500] - by_replicates).sum(axis=1)
    assert 0.0 < moved.mean() < 2e-3  # another seed moves them as much
    assert moved.max() < 0.02


def test_objects_far_from_all_others_are_scored_by_the_replicates(large):
    # Their log odds vary as much between replicates as they are long: nothing is linear there.
    result, rng = large.result_, np.random.default_rng(0)
    directions = rng.normal(size=(400, 2))
    far = LARGE.mean(axis=0) + directions * 10.0 ** rng.uniform(0.0, 3.0, (400, 1)) * LARGE.std(
        axis=0
    )
    by_replicates = masses_from(replace(result.landmarks, values=None), result.replicates, far)
    moved = 0.5 * np.abs(large.predict_masses(far) - by_replicates).sum(axis=1)
    assert moved.max() < 0.05
    beyond = LARGE.mean(axis=0) + 1e80 * LARGE.std(axis=0) * [[0.3, 1.0]]
    exact = masses_from(replace(result.landmarks, values=None), result.replicates, beyond)
    np.testing.assert_array_equal(large.predict_masses(beyond), exact)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_masses_of_samples(method):
    X = make_mixture1(2100, random_state=0).X
    model = CalibratedClustering(
        3, model="EII", n_replicates=60, random_state=0, method=method, tol=1e-5
    ).fit(X)
    assert model.result_.is_sampled
    assert METHODS[method].allows_delta or model.result_.landmarks.values is None


def test_clusters_far_apart_need_no_replicates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 2)) + 20.0 * np.repeat(np.eye(3)[:, :2], 700, axis=0)
    model = CalibratedClustering(3, model="EII", n_replicates=60, random_state=0).fit(X)
    assert model.result_.landmarks.values is not None


def test_a_mixture_that_moves_far_is_scored_by_its_replicates():
    X = make_mixture3(2500, random_state=0).X
    model = CalibratedClustering(3, model="VVV", n_replicates=60, random_state=0, tol=1e-5).fit(X)
    assert model.result_.is_sampled
    assert model.result_.landmarks.values is None


def test_fitted_objects_have_the_masses_that_they_would_have_as_new_ones(large, tmp_path):
    rows = slice(4000, 9000)  # not where blocks of the fit begin
    masses = large.predict_masses(LARGE[rows])
    np.testing.assert_allclose(masses, large.partition_.masses[rows], atol=1e-9)
    other = CalibratedClustering(3, model="EII", n_replicates=1000, random_state=0, n_jobs=2)
    assert other.fit(LARGE).partition_.masses.tobytes() == large.partition_.masses.tobytes()
    save_model(large, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz").predict_masses(LARGE[rows])
    assert again.tobytes() == masses.tobytes()
