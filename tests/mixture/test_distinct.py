import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credpart import fit_mixture, select_mixture
from credpart.mixture.distinct import average, distinct

ROWS = st.lists(
    st.tuples(st.sampled_from([-1.5, 0.0, 2.0, np.nan]), st.integers(0, 2), st.integers(0, 3)),
    min_size=1,
    max_size=12,
)


@given(rows=ROWS)
def test_distinct_objects_hold_all_weight(rows):
    data = np.array(rows, dtype=float)
    X, weights = data[:, :2], data[:, 2]
    objects = distinct(X, weights)
    assert objects.weights.sum() == weights.sum()
    assert ((objects.place >= 0) == (weights > 0.0)).all()
    seen = objects.place >= 0
    np.testing.assert_array_equal(objects.X[objects.place[seen]], X[seen])
    sums = np.bincount(objects.place[seen], weights[seen], len(objects.X))
    np.testing.assert_array_equal(sums, objects.weights)


@given(rows=ROWS, seed=st.integers(0, 100))
def test_neither_order_nor_repetition_changes_the_distinct_objects(rows, seed):
    data = np.array(rows, dtype=float)
    X, weights = data[:, :2], data[:, 2]
    order = np.repeat(np.arange(len(X)), weights.astype(int))
    np.random.default_rng(seed).shuffle(order)
    one, two = distinct(X, weights), distinct(X[order], np.ones(len(order)))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.weights, two.weights)


def test_responsibilities_of_copies_are_averaged():
    resp = np.array([[1.0, 0.0, 0.5, 0.2], [0.0, 1.0, 0.5, 0.8]])
    found = average(resp, np.array([1.0, 3.0, 2.0, 0.0]), np.array([0, 0, 1, -1]))
    np.testing.assert_allclose(found, [[0.25, 0.5], [0.75, 0.5]])


@pytest.mark.filterwarnings("ignore:The data. .* rows repeat")
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("is_started", [False, True])
def test_weights_and_order_change_no_bit_of_a_fit(seed, is_started):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(m, 1.0, (15, 2)) for m in (0.0, 3.0)])
    weights = rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), weights)
    rng.shuffle(rows)
    start = np.arange(30) % 2 if is_started else None
    model = str(rng.choice(["EII", "VVI", "VVV"]))
    one = fit_mixture(X, 2, model, sample_weight=weights, start=start)
    two = fit_mixture(X[rows], 2, model, start=start if start is None else start[rows])
    assert (one.loglik, one.bic, one.icl) == (two.loglik, two.bic, two.icl)
    for field, other in zip(one.params, two.params, strict=True):
        np.testing.assert_array_equal(field, other)


def test_weights_change_no_bit_of_a_selection():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(40, 3)), rng.integers(1, 3, 40)
    models = ["EII", "EEE", "VVV", "t"]
    one = select_mixture(X, [1, 2], models, sample_weight=weights).table
    two = select_mixture(X.repeat(weights, axis=0), [1, 2], models).table
    np.testing.assert_array_equal(one, two)
