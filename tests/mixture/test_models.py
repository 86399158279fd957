"""Families as models: by name through the whole pipeline."""

import pickle

import numpy as np
import pandas as pd
import pytest

from credpart import (
    CalibratedClustering,
    bootstrap,
    fit_mixture,
    pairwise_intervals,
    select_mixture,
)
from credpart.datasets import make_mixture3
from credpart.mixture.covariance.structures import STRUCTURES, TABLE
from credpart.mixture.models import MODELS, below, model_names
from credpart.mixture.optimisation.convergence import Status

from .test_skew import SAMPLE, X

LAWS = ("t", "skew-normal", "skew-t")
CAP = 0.05  # of log-likelihood, that tails at 200 degrees of freedom cost normal ones here


@pytest.fixture(scope="module")
def selection():
    return select_mixture(X, 3, ["EEE", "VVV", "t-EEE", *LAWS, "skew-t-EEE"])


def test_names_say_family_and_structure():
    for law in LAWS:
        assert MODELS[law].structure == "VVV"
        for structure in list(STRUCTURES)[:-1]:
            assert MODELS[f"{law}-{structure}"].structure == structure
        assert f"{law}-VVV" not in MODELS
    in_one = {"E", "V", "contaminated-E", "contaminated-V"}
    names = in_one | {f"{name}+noise" for name in in_one}
    assert set(model_names(1)) - set(model_names(2)) == names


def test_nested_models_are_special_cases():
    for name, row in MODELS.items():
        for other in row.nested:
            structure = MODELS[other].structure
            assert structure == row.structure or structure in below(row.structure)
            assert not MODELS[other].family.startswith("skew") or row.family.startswith("skew")
        assert set(row.simpler) <= set(row.nested), name


def test_larger_family_is_not_below_a_nested_one(selection):
    # skew families maximise a penalised likelihood: their own is larger still
    value = {
        model: fit.loglik + np.sum(fit.family.log_prior(fit.internal))
        for (_, model), fit in selection.fits.items()
    }
    for model, fit in {model: fit for (_, model), fit in selection.fits.items()}.items():
        assert fit.status == Status.OK
        for nested in set(MODELS[model].nested) & set(value):
            assert value[model] > value[nested] - CAP, (model, nested)


def test_numbers_of_parameters(selection):
    counts = {model: fit.n_parameters for (_, model), fit in selection.fits.items()}
    assert counts == {
        "EEE": 11,
        "VVV": 17,
        "t-EEE": 14,
        "t": 20,
        "skew-normal": 23,
        "skew-t": 26,
        "skew-t-EEE": 20,
    }


def test_heavy_tails_and_skewness_are_found(selection):
    assert selection.best.model == "skew-t-EEE"
    share = pd.crosstab(selection.best.predict(X), SAMPLE["component"]).max().sum() / len(X)
    assert share > 0.93


def test_parameters_are_in_the_units_of_the_data(selection):
    start = selection.fits[3, "skew-t"].posteriors(X)
    shift = np.array([1e6, 1e-3])
    fit, other = (
        fit_mixture(data, 3, "skew-t", start=start) for data in (X, X * shift + [5.0, 0.1])
    )
    assert other.loglik == pytest.approx(fit.loglik - len(X) * np.log(shift).sum(), abs=1e-4)
    np.testing.assert_allclose(other.params.skewness, fit.params.skewness * shift, rtol=0.05)
    np.testing.assert_allclose(other.params.dof, fit.params.dof, rtol=0.05)


def test_a_sample_of_a_fit_is_a_sample_of_its_density():
    fit = fit_mixture(X, 3, "skew-t-EEE")
    drawn, labels = fit.sample(4000, 0)
    # the mean log density of draws is minus the entropy, which other draws estimate too
    more, _ = fit.sample(4000, 1)
    one, other = fit.log_density(drawn).mean(), fit.log_density(more).mean()
    assert one == pytest.approx(other, abs=0.1)
    assert one == pytest.approx(fit.loglik / len(X), abs=0.2)
    np.testing.assert_allclose(np.bincount(labels) / 4000, fit.params.proportions, atol=0.03)


def test_families_stand_side_by_side_in_replicates(selection):
    fits = [selection.fits[3, name] for name in ("t", "skew-t-EEE", "VVV")]
    # tight: together, a replicate converges in two rounds, and EM of these families is slow
    options = {"random_state": 0, "tol": 1e-10}
    together = bootstrap(X, fits, 24, **options)
    assert len(together.parts) > 1
    assert sorted(np.concatenate([part.rows for part in together.parts])) == list(range(24))
    posteriors = together.posteriors(X)
    np.testing.assert_allclose(posteriors.sum(axis=2), 1.0)
    alone = {fit.model: bootstrap(X, fit, 24, **options) for fit in fits}
    for model, count in together.chosen().items():
        mine = together.models == model
        assert count == mine.sum()
        np.testing.assert_allclose(posteriors[mine], alone[model].posteriors(X)[mine], atol=4e-3)
    values = np.array(
        [2.0 * alone[fit.model].loglik - np.log(len(X)) * fit.n_parameters for fit in fits]
    )
    names = np.array([fit.model for fit in fits])
    assert (together.models != names[values.argmax(axis=0)]).sum() <= 1


@pytest.mark.parametrize("resampling", ["bayesian", "parametric"])
def test_other_resampling_of_other_families(resampling, selection):
    fit = selection.fits[3, "skew-t-EEE"]
    replicates = bootstrap(X, fit, 20, resampling=resampling, random_state=0)
    intervals = pairwise_intervals(replicates.posteriors(X), level=0.9)
    assert (replicates.status == Status.OK).sum() >= 18
    assert 0.0 < intervals.length.mean() < 0.5


def test_calibrated_clustering_selects_across_families():
    sample = X[::2]
    models = ("VVV", "t", "skew-t")
    model = CalibratedClustering(3, model=models, n_replicates=40, random_state=0).fit(sample)
    assert tuple(model.selection_.table.columns) == models
    assert set(model.replicates_.chosen()) <= set(models)
    assert model.predict_masses(X[1:8:2]).shape == (4, 6)
    once = CalibratedClustering(
        3, model=models, selection="once", n_replicates=40, random_state=0, n_jobs=2
    ).fit(sample)
    assert list(once.replicates_.chosen()) == [once.mixture_.model]


def test_one_job_or_two_give_the_same_bytes(monkeypatch):
    from credpart._bootstrap import algorithm1

    monkeypatch.setattr(algorithm1, "LARGEST", 16)
    fit = fit_mixture(X, 3, "t", start=SAMPLE["component"] - 1)
    one, two = (bootstrap(X, fit, 40, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert one.posteriors(X).tobytes() == two.posteriors(X).tobytes()


def test_normal_data_have_no_need_of_a_larger_family():
    sample = make_mixture3(200, random_state=0).X
    assert select_mixture(sample, 3, ["VVV", "t", "skew-t"]).best.model == "VVV"


def test_one_dimension():
    one = make_mixture3(150, random_state=0).X[:, :1]
    fit = fit_mixture(one, 2, "t")
    assert fit.n_parameters == 1 + 2 * 3
    assert fit.loglik > fit_mixture(one, 2, "V").loglik - CAP
    assert TABLE["V"].n_free(2, 1) == TABLE["VVV"].n_free(2, 1)


def test_with_one_cluster():
    fit = fit_mixture(X, 1, "skew-t")
    assert fit.posteriors(X).shape == (300, 1)
    assert bootstrap(X, fit, 20, random_state=0).counts()["ok"] == 20


@pytest.mark.parametrize("model", ["t", "skew-normal", "skew-t"])
def test_fits_and_replicates_can_be_pickled(model):
    fit = fit_mixture(X, 3, model, start=SAMPLE["component"] - 1)
    again = pickle.loads(pickle.dumps(fit))  # noqa: S301
    assert again.posteriors(X).tobytes() == fit.posteriors(X).tobytes()
    replicates = bootstrap(X, fit, 2, random_state=0)
    copy = pickle.loads(pickle.dumps(replicates))  # noqa: S301
    assert copy.posteriors(X).tobytes() == replicates.posteriors(X).tobytes()


def test_degrees_of_freedom_at_the_cap_are_told():
    Z = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))  # no tails at all
    fit = fit_mixture(Z, 1, "t")
    assert fit.params.dof[0] == pytest.approx(200.0)
    assert fit.remarks == (
        "component 1 has 200 degrees of freedom, a bound: its tails are normal for all purposes",
    )


def test_penalised_skewness_stays_finite():
    # at the edge of a half-normal law the likelihood of skewness rises for ever
    rng = np.random.default_rng(1)
    Z = np.column_stack([np.abs(rng.standard_normal(60)), rng.standard_normal(60)])
    fit = fit_mixture(Z, 1, "skew-normal")
    assert fit.status == Status.OK
    assert np.isfinite(fit.params.skewness).all()
    assert fit.internal.tau.min() > 1e-3
