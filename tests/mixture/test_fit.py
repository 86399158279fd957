import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from credpart import CalibratedClustering, fit_mixture, select_mixture
from credpart.datasets import load, load_diabetes, load_iris, make_mixture1, make_mixture3
from credpart.errors import (
    ConvergenceWarning,
    DataWarning,
    DegeneracyWarning,
    DegenerateMixtureError,
)
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.models import MODELS, taking_part
from credpart.mixture.optimisation.convergence import Status

from .reference import DATA, mclust

# Where EM from mclust's own start ends higher than mclust: its loop for the common axes stops
# early.  All other structures end where mclust does.
HIGHER = {("iris", "VVE"), ("diabetes", "VVE"), ("gvhd", "VVE")}


@pytest.fixture(scope="module")
def cloud():
    return make_mixture3(120, random_state=0).X


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("data", DATA)
def test_fits_reach_those_of_mclust(data, name):
    figures = mclust(data)
    expected = figures["fits"][name]
    fit = fit_mixture(
        load(DATA[data]).X, figures["n_clusters"], name, start=figures["start_labels"]
    )
    assert fit.status == Status.OK
    assert fit.n_parameters == expected["n_parameters"]
    gain = (fit.loglik - expected["loglik"]) / abs(expected["loglik"])
    assert gain >= -1e-6
    assert (gain > 1e-6) == ((data, name) in HIGHER)
    if (data, name) not in HIGHER:
        scale = np.sqrt(np.diagonal(expected["covariances"], axis1=1, axis2=2))
        assert_allclose(fit.params.proportions, expected["proportions"], atol=2e-3)
        assert (abs(fit.params.means - expected["means"]) < 0.02 * scale).all()


def test_iris_is_the_papers():
    data = load_iris()
    fit = fit_mixture(data.X, 3, "VEV")
    labels = fit.predict(data.X)
    table = pd.crosstab(data.y, labels)
    assert adjusted_rand_score(data.y, labels) == pytest.approx(0.90, abs=5e-3)
    usual = {species: table.loc[species].idxmax() for species in table.index}
    assert len(set(usual.values())) == 3
    errors = np.flatnonzero(labels != [usual[species] for species in data.y])
    assert (errors + 1).tolist() == [69, 71, 73, 78, 84]


@pytest.mark.parametrize("from_mclust", [False, True])
def test_diabetes_is_the_papers_table_9(from_mclust):
    # The default search ends in the optimum of mclust and the paper, loglik -2303.4918.
    data = load_diabetes()
    start = mclust("diabetes")["start_labels"] if from_mclust else None
    fit = fit_mixture(data.X, 3, "VVV", start=start)
    assert fit.loglik == pytest.approx(-2303.4918, abs=1e-3)
    labels = fit.predict(data.X)
    assert adjusted_rand_score(data.y, labels) == pytest.approx(0.66, abs=5e-3)
    table = pd.crosstab(data.y, labels).loc[["Chemical", "Normal", "Overt"]]
    columns = [int(table.loc[name].idxmax()) for name in table.index]
    assert table[columns].to_numpy().tolist() == [[26, 9, 1], [4, 72, 0], [6, 0, 27]]


def test_one_component_is_the_sample(cloud):
    fit = fit_mixture(cloud, 1, "VVV")
    assert_allclose(fit.params.proportions, [1.0])
    assert_allclose(fit.params.means[0], cloud.mean(axis=0))
    assert_allclose(fit.params.covariances[0], np.cov(cloud.T, bias=True))
    assert_array_equal(fit.posteriors(cloud), 1.0)
    assert fit.icl == pytest.approx(fit.bic)


@pytest.mark.parametrize("name", ["E", "V", "EII", "VVV"])
def test_one_column(name):
    X = np.concatenate([np.linspace(0, 1, 30), np.linspace(10, 14, 40)])[:, None]
    fit = fit_mixture(X, 2, name)
    assert_allclose(np.sort(fit.params.means[:, 0]), [0.5, 12.0], atol=1e-6)
    assert sorted(np.bincount(fit.predict(X)).tolist()) == [30, 40]
    assert fit.n_parameters == (4 if name in ("E", "EII") else 5)


def test_criteria_are_their_formulas(cloud):
    fit = fit_mixture(cloud, 3, "VEI")
    n, k = 120, (3 - 1) + 3 * 2 + (3 + 2 - 1)
    largest = fit.posteriors(cloud).max(axis=1)
    assert fit.n_parameters == k
    assert fit.loglik == pytest.approx(fit.log_density(cloud).sum())
    assert fit.bic == pytest.approx(2 * fit.loglik - k * np.log(n))
    assert fit.aic == pytest.approx(2 * fit.loglik - 2 * k)
    # entropy of the hard partition: the log posterior of the cluster that is assigned
    assert fit.icl == pytest.approx(fit.bic + 2 * np.log(largest).sum())
    assert fit.criterion("icl") == fit.icl
    with pytest.raises(ValueError, match=r"`name` must be one of 'bic', 'icl', 'aic', got 'dic'"):
        fit.criterion("dic")


@pytest.mark.parametrize("name", ["VEI", "EVE", "VVV"])
def test_weights_are_repeated_rows(name, cloud):
    weights = np.random.default_rng(0).integers(0, 3, len(cloud))
    weighted = fit_mixture(cloud, 3, name, sample_weight=weights)
    repeated = fit_mixture(np.repeat(cloud, weights, axis=0), 3, name)
    assert weighted.loglik == pytest.approx(repeated.loglik, rel=1e-7)
    assert weighted.n_objects == repeated.n_objects == weights.sum()
    for criterion in ("bic", "icl", "aic"):
        assert weighted.criterion(criterion) == pytest.approx(
            repeated.criterion(criterion), rel=1e-4
        )


def test_weights_of_one_are_no_weights(cloud):
    one, none = (fit_mixture(cloud, 3, "VEI", sample_weight=w) for w in (np.ones(120), None))
    assert one.loglik == none.loglik
    assert_array_equal(one.posteriors(cloud), none.posteriors(cloud))


def test_rows_without_weight_have_no_influence(cloud):
    extra = np.vstack([cloud, [[40.0, -3.0], [1e3, 0.0]]])
    weights = np.repeat([1.0, 0.0], [120, 2])
    fit = fit_mixture(extra, 3, sample_weight=weights)
    assert fit.loglik == pytest.approx(fit_mixture(cloud, 3).loglik, rel=1e-8)


def test_same_arguments_same_bytes(cloud):
    fits = [fit_mixture(cloud, 4, "VEE", n_starts=6, random_state=7) for _ in range(2)]
    for one, other in zip(fits[0].internal, fits[1].internal, strict=True):
        assert_array_equal(one, other)
    assert fits[0].loglik == fits[1].loglik


def test_start_by_labels_is_start_by_responsibilities(cloud):
    labels = np.arange(120) % 3
    hard = fit_mixture(cloud, 3, start=labels)
    assert hard.loglik == fit_mixture(cloud, 3, start=np.eye(3)[labels]).loglik
    soft = np.random.default_rng(0).dirichlet(np.ones(3), 120)
    # from almost no partition at all EM takes longer, to some optimum
    assert fit_mixture(cloud, 3, start=soft).loglik > fit_mixture(cloud, 1).loglik
    assert hard.loglik == fit_mixture(cloud, 3, start=labels.tolist()).loglik
    assert hard.loglik == fit_mixture(cloud, 3, start=pd.Series(labels)).loglik


def test_own_starts_are_at_least_as_good_as_a_given_one(cloud):
    own = fit_mixture(cloud, 3).loglik
    for seed in range(3):
        start = np.random.default_rng(seed).integers(3, size=120)
        assert own >= fit_mixture(cloud, 3, start=start).loglik - 1e-6


def test_new_objects(cloud):
    fit = fit_mixture(cloud, 3)
    new = make_mixture3(50, random_state=1).X
    posteriors = fit.posteriors(new)
    assert posteriors.shape == (50, 3)
    assert_allclose(posteriors.sum(axis=1), 1.0)
    assert_array_equal(fit.predict(new), posteriors.argmax(axis=1))
    far = fit.posteriors(np.full((1, 2), 1e8))  # all densities underflow
    assert np.isfinite(far).all()
    with pytest.raises(ValueError, match=r"`X` must have 2 columns as in the fit, got 3"):
        fit.posteriors(np.zeros((4, 3)))


def test_sample(cloud):
    fit = fit_mixture(cloud, 3)
    X, labels = fit.sample(5000, 0)
    assert X.shape == (5000, 2)
    assert_array_equal(X, fit.sample(5000, np.random.default_rng(0))[0])
    shares = np.bincount(labels) / 5000
    assert_allclose(shares, fit.params.proportions, atol=4 * np.sqrt(0.25 / 5000))
    assert_allclose(X.mean(axis=0), cloud.mean(axis=0), atol=0.15)
    with pytest.raises(ValueError, match=r"`n` must be an integer >= 1, got 0"):
        fit.sample(0)


def test_fit_is_frozen(cloud):
    fit = fit_mixture(cloud, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.loglik = 0.0
    space = fit.family.standardisation
    for array in (*fit.params, *fit.internal, space.center, space.scale):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_repr(cloud):
    assert repr(fit_mixture(cloud, 1, "EII")).startswith("MixtureFit(EII, n_clusters=1, loglik=-")


def test_nested_structures():
    def parts(name):
        return list(taking_part({name: MODELS[name]}))

    assert parts("EII") == ["EII"]
    assert parts("VEE") == ["EII", "VII", "EEI", "VEI", "EEE", "VEE"]
    assert parts("VVV") == list(STRUCTURES)
    assert parts("V") == ["E", "V"]
    assert parts("t-EEI") == ["EII", "EEI", "t-EEI"]
    assert parts("skew-t") == [*STRUCTURES, "t", "t-EEE", "skew-t", "skew-t-EEE"]


PAIR = np.vstack([make_mixture1(30, random_state=0).X, [[40.0, 40.0], [41.0, 40.5]]])
PAIR_LABELS = np.repeat([0, 1], [30, 2])


def test_singular_component_falls_back_on_the_pooled_pseudo_observation():
    with pytest.warns(DegeneracyWarning, match=r"Maximum likelihood broke down for model 'VVV'"):
        fit = fit_mixture(PAIR, 2, start=PAIR_LABELS)
    assert fit.status == Status.REGULARISED
    pooled = fit_mixture(PAIR, 2, start=PAIR_LABELS, regularization="pooled")
    assert pooled.status == Status.REGULARISED
    assert fit.loglik == pooled.loglik
    # the likelihood is that of the data alone
    assert fit.loglik == pytest.approx(fit.log_density(PAIR).sum())


def test_own_starts_fall_back_too():
    with pytest.warns(DegeneracyWarning, match="one pseudo-observation of the pooled covariance"):
        fit = fit_mixture(PAIR[-6:], 2, "VVV")
    assert fit.status == Status.REGULARISED


def test_plain_maximum_likelihood_stays_available():
    with pytest.raises(DegenerateMixtureError, match=r"2 components with model 'VVV'.*singular"):
        fit_mixture(PAIR, 2, start=PAIR_LABELS, regularization="none")
    with pytest.raises(DegenerateMixtureError, match=r"use regularization='pooled'"):
        fit_mixture(PAIR, 2, start=PAIR_LABELS, regularization="none")
    assert fit_mixture(PAIR, 2, "EEE", regularization="none").status == Status.OK


def test_fit_that_does_not_converge_says_so(cloud):
    with pytest.warns(ConvergenceWarning, match=r"EM did not converge in 3 iterations"):
        fit = fit_mixture(cloud, 3, start=np.arange(120) % 3, max_iter=3)
    assert fit.status == Status.NOT_CONVERGED
    assert fit.n_iter == 3


def test_selection_whose_best_fit_does_not_converge_says_so(cloud):
    with pytest.warns(ConvergenceWarning, match=r"EM did not converge in 3 iterations") as told:
        selection = select_mixture(cloud, [3], ["VVV", "EEE"], max_iter=3)
    assert selection.best.status == Status.NOT_CONVERGED
    assert len(told) == 1
    assert told[0].filename == __file__


def test_warnings_point_at_the_caller():
    with pytest.warns(DegeneracyWarning) as caught:
        fit_mixture(PAIR, 2, start=PAIR_LABELS)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "call",
    [
        lambda X: fit_mixture(X, 2, "EII"),
        lambda X: select_mixture(X, 2, ["EII", "VII"]),
        lambda X: CalibratedClustering(2, model="EII", n_replicates=20, random_state=0).fit(X),
    ],
)
def test_warnings_about_the_data_point_at_the_caller(call, cloud):
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(np.column_stack([cloud, np.ones(len(cloud))]))
    assert {warning.category for warning in caught} == {DataWarning}
    assert {warning.filename for warning in caught} == {__file__}


def test_mixtures_coincide_if_only_their_names_differ():
    X = np.random.default_rng(0).normal(size=(60, 2))
    one = {name: fit_mixture(X, 1, name) for name in ("EEI", "VVI", "EEE")}
    assert one["EEI"].coincides_with(one["VVI"])
    assert not one["EEI"].coincides_with(one["EEE"])
    # As many parameters, and likelihoods that differ by little of a large number.
    near = dataclasses.replace(one["EEI"], loglik=one["EEI"].loglik * (1.0 + 1e-6))
    assert not near.coincides_with(one["EEI"])
