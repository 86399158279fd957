"""Searches of large data: a stratified subsample first, then all objects."""

import numpy as np
import pytest

from credpart import fit_mixture, select_mixture
from credpart._checks import WeightedTable, check_data
from credpart.datasets import make_mixture2, make_mixture3
from credpart.errors import DegeneracyWarning
from credpart.mixture.distinct import gathered
from credpart.mixture.search import subsample as module
from credpart.mixture.search.subsample import LARGE, stratified, subsample

SAMPLE = make_mixture2(3000, random_state=0)
MODELS = ["EII", "EEE", "VVV"]


@pytest.fixture
def large(monkeypatch):
    """Three thousand objects count as large."""
    monkeypatch.setattr(module, "LARGE", 1000)
    monkeypatch.setattr(module, "SUBSAMPLE", 600)
    monkeypatch.setattr(module, "N_MICROCLUSTERS", 32)


def table_of(X, weights=None):
    return gathered(WeightedTable.check(check_data(X), weights))[0]


def test_few_objects_are_their_own_subsample():
    data = table_of(SAMPLE.X)
    assert subsample(data, 0) is data


def test_repeated_objects_do_not_make_data_large():
    repeated = np.tile(SAMPLE.X, (1 + LARGE // 3000, 1))
    assert len(repeated) > LARGE
    data = table_of(repeated)
    assert subsample(data, 0) is data


@pytest.mark.usefixtures("large")
def test_a_subsample_stands_for_all_objects():
    part = subsample(table_of(SAMPLE.X), 0)
    assert 600 <= len(part.values) <= 700
    assert part.weights.sum() == pytest.approx(len(part.values))
    # Means of all objects, to a few standard errors of six hundred.
    mean = part.weights @ part.values / part.weights.sum()
    error = SAMPLE.X.std(axis=0) / np.sqrt(600)
    assert (np.abs(mean - SAMPLE.X.mean(axis=0)) < 3.0 * error).all()


@pytest.mark.usefixtures("large")
def test_small_clusters_are_in_a_subsample():
    far = [40.0, 40.0] + 0.1 * np.random.default_rng(0).standard_normal((20, 2))
    part = subsample(table_of(np.vstack([SAMPLE.X, far])), 0)
    is_far = part.values[:, 0] > 30.0
    assert is_far.sum() >= 10  # a random sample would have four
    assert part.weights[is_far].sum() == pytest.approx(20.0 * len(part.values) / 3020.0)


@pytest.mark.usefixtures("large")
def test_weights_do_what_repeated_rows_do_in_any_order():
    weights = np.random.default_rng(0).integers(1, 4, 3000)
    repeated = np.repeat(SAMPLE.X, weights, axis=0)
    shuffled = np.random.default_rng(1).permutation(repeated)
    weighted = subsample(table_of(SAMPLE.X, weights.astype(float)), 3)
    again = subsample(table_of(shuffled), 3)
    np.testing.assert_array_equal(weighted.values, again.values)
    np.testing.assert_allclose(weighted.weights, again.weights, rtol=1e-12)


@pytest.mark.usefixtures("large")
def test_units_change_no_row():
    units, origin = np.array([1000.0, 0.3]), np.array([5.0, -70.0])
    part, other = (subsample(table_of(X), 1) for X in (SAMPLE.X, origin + units * SAMPLE.X))
    np.testing.assert_allclose(origin + units * part.values, other.values)
    np.testing.assert_array_equal(part.weights, other.weights)


def test_strata_have_their_shares():
    strata = np.repeat([0, 1, 2], [8000, 1900, 100])
    rows = stratified(strata, 1000, np.random.default_rng(0))
    # half in proportion, half of all alike; the last stratum is there as a whole
    np.testing.assert_array_equal(np.bincount(strata[rows]), [567, 262, 100])
    assert len(np.unique(rows)) == len(rows)


@pytest.mark.usefixtures("large")
def test_the_best_model_is_that_of_a_search_of_all_objects(monkeypatch):
    part = select_mixture(SAMPLE.X, [2, 3, 4], MODELS, n_starts=2)
    monkeypatch.setattr(module, "LARGE", 10_000)
    whole = select_mixture(SAMPLE.X, [2, 3, 4], MODELS, n_starts=2)
    assert part.best.model == whole.best.model == "EEE"
    assert part.best.n_clusters == whole.best.n_clusters == 3
    assert part.best.loglik == pytest.approx(whole.best.loglik, abs=1e-3)
    # the best of each number of clusters is there, and what is not says why
    assert {c for c, _ in part.fits} == {2, 3, 4}
    assert set(part.fits) | set(part.missing) == set(whole.fits)
    assert (2, "EII") in part.missing
    for (c, name), why in part.missing.items():
        assert whole.best.bic - whole.table.loc[c, name] > 100.0
        assert why.startswith("it was not fitted to all objects: by")


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("model", ["EEE", "VEV", "t-EEE"])
def test_a_fit_ends_where_one_from_all_objects_does(model):
    fit = fit_mixture(SAMPLE.X, 3, model)
    near = fit_mixture(SAMPLE.X, 3, model, start=SAMPLE.y)
    assert fit.loglik >= near.loglik - 0.05  # normal tails: degrees of freedom hardly matter
    assert fit.n_objects == 3000.0


@pytest.mark.usefixtures("large")
def test_jobs_and_seeds():
    one, two = (select_mixture(SAMPLE.X, [2, 3], MODELS, n_jobs=jobs) for jobs in (1, 2))
    assert {k: v.loglik for k, v in one.fits.items()} == {k: v.loglik for k, v in two.fits.items()}
    other = fit_mixture(SAMPLE.X, 3, "EEE", random_state=1)
    assert other.loglik == pytest.approx(one.fits[3, "EEE"].loglik, abs=1e-3)


@pytest.mark.usefixtures("large")
def test_a_fit_that_breaks_down_is_regularised_on_all_objects():
    # Two columns that are the same in one cluster: its covariance is singular.
    X = make_mixture3(2500, random_state=0).X.copy()
    line = np.random.default_rng(0).standard_normal(500)
    X = np.vstack([X, np.column_stack([30.0 + line, 30.0 + line])])
    with pytest.warns(DegeneracyWarning, match="Maximum likelihood broke down"):
        fit = fit_mixture(X, 4, "VVV")
    assert fit.status.label == "regularised"
    assert np.sort(np.bincount(fit.predict(X)))[0] == 500


def test_what_is_known_of_objects_does_not_change_which_are_drawn():
    data = table_of(SAMPLE.X)
    known = np.arange(len(data.values)) % 7.0
    attached = data._replace(table=data.table._replace(values=np.c_[data.values, known]))
    part = subsample(attached, 0, data.table)
    np.testing.assert_array_equal(part.values[:, :-1], subsample(data, 0).values)
