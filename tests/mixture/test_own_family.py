"""A user's own family; `test_families` has its laws."""

from inspect import getsource
from pathlib import Path

import numpy as np
import pytest

from credpart import CalibratedClustering, MixtureFamily, bootstrap, fit_mixture, select_mixture
from examples.poisson_family import Poisson

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    return np.vstack([rng.poisson([2, 9, 4], (60, 3)), rng.poisson([5, 4, 4], (40, 3))])


def test_the_page_has_the_code_and_it_is_short():
    code = getsource(Poisson)
    assert code.rstrip() in (ROOT / "docs" / "own-family.md").read_text()
    assert len(code.splitlines()) < 40


@pytest.mark.parametrize("resampling", ["nonparametric", "bayesian", "parametric"])
def test_own_family_runs_through_the_whole_pipeline(counts, resampling):
    model = CalibratedClustering(
        (1, 2, 3), model=Poisson, n_replicates=40, resampling=resampling, random_state=0
    ).fit(counts)
    assert model.mixture_.model == "Poisson"
    assert model.mixture_.n_clusters == 2
    assert model.mixture_.n_parameters == 7
    assert model.replicates_.counts()["ok"] == 40
    truth = np.repeat([0, 1], [60, 40])
    assert max((model.labels_ == truth).mean(), (model.labels_ != truth).mean()) > 0.85
    np.testing.assert_allclose(model.predict_masses(counts[:3]).sum(axis=1), 1.0)


def test_an_object_or_a_class_or_several(counts):
    one, two = (fit_mixture(counts, 2, family) for family in (Poisson, Poisson(counts)))
    assert one.loglik == two.loglik
    names = list(select_mixture(counts, 2, [Poisson, "EEE"]).table.columns)
    assert names == ["Poisson", "EEE"]


def test_units_of_own_families_count_in_the_choice(counts):
    # densities in the data's units: a family without units beside one with them
    fits = list(select_mixture(counts, 2, [Poisson, "EEE"]).fits.values())
    better = max(fits, key=lambda fit: fit.bic).model
    replicates = bootstrap(counts, fits, 30, random_state=0)
    assert next(iter(replicates.chosen())) == better


def test_what_a_family_lacks_is_said(counts):
    class Empty(MixtureFamily):
        def __init__(self, X):
            pass

    with pytest.raises(
        NotImplementedError, match="Empty must have `log_joint`, `m_step`, `n_free`"
    ):
        fit_mixture(counts, 2, Empty)
