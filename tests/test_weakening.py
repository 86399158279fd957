"""[Bel, Pl] that holds as many of the replicates as the intervals do."""

import numpy as np
import pytest

from credpart import CalibratedClustering, EvidentialPartition, load_model, save_model
from credpart._weakening import AMOUNTS, weakened_masses
from credpart.intervals import pairwise_probabilities


def clusters(n, c, seed):
    """Spherical clusters in three dimensions, most of them far apart."""
    rng = np.random.default_rng(seed)
    return 3.0 * rng.normal(size=(c, 3))[rng.integers(c, size=n)] + rng.normal(size=(n, 3))


def held(lower, P, upper):
    """The share of P (B, pairs) within bounds."""
    return ((lower - 1e-9 <= P) & (upper + 1e-9 >= P)).mean()


X = clusters(90, 6, 0)  # 4005 pairs, so that all of them count


@pytest.fixture(scope="module")
def plain():
    options = {"model": "EII", "n_replicates": 60, "random_state": 0, "n_jobs": 1}
    return CalibratedClustering(6, **options).fit(X).result_


@pytest.fixture(scope="module")
def weak(plain):
    return plain.refit_partition(weaken=True)


def test_the_amount_is_the_smallest_that_holds_as_much_as_the_intervals(plain, weak):
    P = np.array([pairwise_probabilities(R) for R in plain.replicates.posteriors(X)])
    goal = held(plain.intervals.lower, P, plain.intervals.upper)
    fitted = plain.refit_partition(omega=True).partition  # what is weakened
    place = AMOUNTS.index(weak.weakening)
    belief, plausibility = weak.partition.pairwise_condensed()
    assert held(belief, P, plausibility) >= goal
    belief, plausibility = fitted.weaken(AMOUNTS[place - 1]).pairwise_condensed()
    assert held(belief, P, plausibility) < goal
    np.testing.assert_allclose(weak.partition.masses, fitted.weaken(weak.weakening).masses)


def test_what_is_fitted_is_not_weakened_twice_for_new_objects(plain, weak):
    again = plain.refit_partition(omega=True)
    expected = again.partition.weaken(weak.weakening)
    assert not np.allclose(expected.masses, again.partition.masses, atol=1e-7)
    new = EvidentialPartition(again.predict_masses(Y := clusters(5, 6, 1)), expected.focal_sets)
    np.testing.assert_allclose(weak.predict_masses(Y), new.weaken(weak.weakening).masses)


def test_a_stored_model_weakens_new_objects_too(weak, tmp_path):
    save_model(weak, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.weaken is True
    assert loaded.predict_masses(X[:5]).tobytes() == weak.predict_masses(X[:5]).tobytes()


def test_nothing_is_weakened_unless_asked_and_with_one_cluster(plain):
    assert plain.weakening == 0.0
    one = CalibratedClustering(1, model="EII", n_replicates=20, weaken=True, random_state=0).fit(X)
    assert one.result_.weakening == 0.0
    assert (one.partition_.masses == 1.0).all()


def test_objects_of_known_clusters_keep_their_masses():
    labels = [None] * 90
    labels[:3] = [0, 1, 2]
    options = {"model": "EII", "n_replicates": 40, "random_state": 0, "weaken": True}
    result = CalibratedClustering(6, **options).fit(X, labels=labels).result_
    assert result.weakening > 0.0
    assert result.partition.masses[:3].max(axis=1).tolist() == [1.0, 1.0, 1.0]
    assert (result.partition.masses[3:, -1] > 0.0).all()


@pytest.mark.parametrize("unknown", [45, 0])
def test_objects_that_are_not_weakened_do_not_count_as_weakened(unknown):
    # Half of the objects, or all of them, are known to be in one of two clusters: the first ones
    # cannot hold more of the replicates than before, whatever the amount.
    truth = np.random.default_rng(0).integers(6, size=90)
    labels = [None] * unknown + [{k, (k + 1) % 6} for k in truth[unknown:].tolist()]
    options = {"model": "EII", "n_replicates": 40, "random_state": 0, "omega": True}
    plain = CalibratedClustering(6, **options).fit(X, labels=labels).result_
    weak = plain.refit_partition(weaken=True)
    sets = plain.partition.focal_sets
    allowed = plain.known_labels.allowed_sets(sets)
    replicates = plain.replicates.posteriors_of(plain.mixture_values)
    P = np.array([pairwise_probabilities(R) for R in replicates])

    def held_at(amount):
        masses = weakened_masses(plain.partition.masses, sets, amount, allowed)
        belief, plausibility = EvidentialPartition(masses, sets).pairwise_condensed()
        return held(belief, P, plausibility)

    goal = min(held(plain.intervals.lower, P, plain.intervals.upper), held_at(1.0))
    expected = next(amount for amount in AMOUNTS if held_at(amount) >= goal)
    assert weak.weakening == expected
    assert (weak.weakening > 0.0) == (unknown > 0)
