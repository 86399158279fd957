"""Defects that were found after the tests of their modules, and must not come back."""

import numpy as np
import pytest

from credpart import CalibratedClustering, bootstrap, fit_mixture, select_mixture
from credpart.errors import DegeneracyWarning

RNG = np.random.default_rng(0)
TWO = np.vstack([RNG.normal(size=(15, 2)), RNG.normal(size=(15, 2)) + 6.0])


@pytest.mark.parametrize("regularization", ["none", "fallback"])
def test_replicates_that_no_structure_fits_do_not_stop_the_bootstrap(regularization):
    X = TWO[[0, 1, 20, 21]]
    fits = list(select_mixture(X, 2, ["VVI", "VII", "VEI"]).fits.values())
    with pytest.warns(DegeneracyWarning, match="Of 3 replicates"):
        replicates = bootstrap(X, fits, 3, regularization=regularization, random_state=0)
    assert np.isfinite(replicates.posteriors(X)).all()


def test_weights_that_would_void_the_penalty_are_refused():
    with pytest.raises(ValueError, match=r"`sample_weight` must sum to more than the 3 clusters"):
        select_mixture(TWO, [1, 2, 3], ["EII"], sample_weight=np.full(30, 1 / 30))


def test_rows_without_weight_do_not_count_wherever_they_lie():
    X = np.vstack([TWO, np.full((31, 2), 1e9)])
    weights = np.repeat([1.0, 0.0], [30, 31])
    fit = fit_mixture(X, 2, "VVV", sample_weight=weights)
    assert fit.loglik == pytest.approx(fit_mixture(TWO, 2, "VVV").loglik, rel=1e-9)


def test_numbers_of_clusters_may_be_a_generator():
    model = CalibratedClustering((c for c in (1, 2)), model="EII", n_replicates=20, random_state=0)
    assert model.fit(TWO).mixture_.n_clusters == 2


def test_structures_that_coincide_are_not_chosen_by_rounding():
    model = CalibratedClustering(1, n_replicates=20, random_state=0).fit(TWO)
    assert model.replicates_.chosen() == {model.mixture_.model: 20}


def test_pooling_is_refused_where_the_model_is_chosen():
    model = CalibratedClustering(2, model=["EII", "VVV"], regularization="pooled", n_replicates=20)
    with pytest.raises(ValueError, match="`regularization` must be 'fallback' or 'none' where"):
        model.fit(TWO)


@pytest.mark.filterwarnings("ignore::credpart.errors.DataWarning")
def test_a_t_distribution_that_falls_onto_a_point_is_degenerate():
    # In one replicate the degrees of freedom become few, and the scale goes to 0 at a point.
    X = np.repeat([0.085, 1.13, 1.772, 3.195], [11, 14, 5, 10])[:, None]
    options = {"resampling": "bayesian", "regularization": "none", "n_replicates": 20}
    model = CalibratedClustering(1, model="t", random_state=0, **options)
    with pytest.warns(DegeneracyWarning, match="1 degenerate"):
        model.fit(X)
    assert model.replicates_.n_iter.max() < 1000  # it took 2000, until the scale was 1e-308
    assert np.isfinite(model.predict_masses(X + 1.5)).all()
