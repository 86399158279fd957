"""What audits take for true: part of the way from the chosen fit to a wider one."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from credpart import CalibratedClustering, _truths, fit_mixture, select_mixture
from credpart._truths import (
    N_PLACES,
    between,
    maximum_from,
    places_on_the_way,
    plausible_truths,
    ratio_by_chance,
    widest,
)
from credpart.datasets import load_iris, make_mixture1, make_mixture3, make_skew_t, make_survey
from credpart.errors import CredpartWarning
from credpart.mixture.optimisation import Limits, Status
from credpart.mixture.optimisation.mixtures import map_params

LIMITS = Limits(1e-9, 1000)
SAMPLE = make_mixture3(150, random_state=1)
WEIGHTS = np.ones(150)
NEAR = make_mixture3(300, random_state=1004)  # EVE is nearly as good as VVV
# Data, a model and a wider one of the same family.
PAIRS = {
    "Gaussian": (SAMPLE.X, "EVE", "VVV"),
    "noise": (SAMPLE.X, "EVE+noise", "VVV+noise"),
    "t": (SAMPLE.X, "t-EII", "t"),
    "skew": (make_skew_t(150, random_state=0).X, "skew-t-EII", "skew-t"),
    "contaminated": (SAMPLE.X, "contaminated-EII", "contaminated"),
    "missing": (
        np.where([False, True] & (np.arange(150) % 7 == 0)[:, None], np.nan, SAMPLE.X),
        "EVE",
        "VVV",
    ),
}


def ends_of(X, narrow, wide):
    """The fit of the narrow model, and the maximum of the wide one that EM reaches from there."""
    missing = "model" if np.isnan(X).any() else "error"
    fits = select_mixture(X, 3, [narrow, wide], missing=missing, n_jobs=1).fits
    chosen, wider = fits[3, narrow], fits[3, wide]
    return chosen, maximum_from(chosen, wider, X, np.ones(len(X)), LIMITS)


@pytest.fixture(scope="module", params=PAIRS)
def pair(request):
    X, narrow, wide = PAIRS[request.param]
    with warnings.catch_warnings(action="ignore", category=CredpartWarning):
        return X, *ends_of(X, narrow, wide)


def result_of(X, **options):
    options = {"n_replicates": 10, "level": 0.8, "random_state": 0, "n_jobs": 1} | options
    return CalibratedClustering(**options).fit(X).result_


def test_both_ends_of_the_way_are_the_mixtures(pair):
    X, chosen, end = pair
    for way, mixture in ((0.0, chosen), (1.0, end)):
        found = between(chosen, end, way, X, WEIGHTS)
        expected = mixture.posteriors_of(X)
        np.testing.assert_allclose(found.posteriors_of(X), expected, rtol=0, atol=1e-9)
        assert found.loglik == pytest.approx(mixture.loglik, rel=1e-9)
        assert found.log_certainty == pytest.approx(mixture.log_certainty, rel=1e-9, abs=1e-9)


def test_half_the_way_is_a_mixture_that_explains_the_data_between_the_two(pair):
    X, chosen, end = pair
    mixture = between(chosen, end, 0.5, X, WEIGHTS)
    assert chosen.loglik < mixture.loglik < end.loglik
    assert np.isfinite(mixture.sample(50, 0)[0]).all()


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_the_end_is_a_maximum_of_the_wider_model(pair):
    X, chosen, end = pair
    assert end.model != chosen.model
    posteriors = end.posteriors_of(X)
    start = posteriors.argmax(axis=1) if end.has_noise else posteriors
    missing = "model" if np.isnan(X).any() else "error"
    again = fit_mixture(X, 3, end.model, start=start, missing=missing, tol=LIMITS.tol)
    # A run without any iteration ends 4 to 24 below; EM of skew clusters creeps at the end.
    assert again.loglik == pytest.approx(end.loglik, abs=5e-3)
    assert end.status == Status.OK


def test_the_likelihood_on_the_way_is_a_parabola():
    chosen, end = ends_of(NEAR.X, "EVE", "VVV")
    ratio = 2.0 * (end.loglik - chosen.loglik)
    for way in (0.2, 0.5, 0.8):
        gain = 2.0 * (between(chosen, end, way, NEAR.X, np.ones(300)).loglik - chosen.loglik)
        assert gain == pytest.approx(ratio * (1.0 - (1.0 - way) ** 2), abs=0.1 * ratio)


@pytest.mark.parametrize(
    ("make", "narrow", "n", "seed"),
    [
        (make_mixture3, "VII", 100, 1002),
        (make_mixture1, "EII", 300, 1000),
    ],
)
def test_data_drawn_from_it_have_the_ratio_of_the_data(make, narrow, n, seed):
    X = make(n, random_state=seed).X
    chosen, end = ends_of(X, narrow, "VVV")
    seen = 2.0 * (end.loglik - chosen.loglik)
    way = np.sqrt(1.0 - ratio_by_chance(chosen, end) / seen)
    assert way > 0.4
    truth = between(chosen, end, way, X, np.ones(n))
    drawn = []
    for replicate in range(80):
        here, there = ends_of(truth.sample(n, replicate)[0], narrow, "VVV")
        drawn.append(2.0 * (there.loglik - here.loglik))
    # Means of 80 ratios have a standard deviation of .6 or so.  They would be larger by 8 if drawn
    # from the wider maximum, and by 2.4 or more with the difference in parameters in place of E.
    assert np.mean(drawn) == pytest.approx(seen, abs=2.0)


@pytest.mark.parametrize("df", [1, 4, 9])
@pytest.mark.parametrize("ratio", [0.5, 4.0, 30.0])
def test_places_are_quantiles_of_the_confidence_distribution(df, ratio):
    # By definition: a noncentrality delta has the probability of a larger ratio as its level.
    chance = 1.2 * df
    scaled = ratio * df / chance
    ways = places_on_the_way(ratio, chance, df)
    assert len(ways) == N_PLACES
    for k, way in enumerate(ways):
        level = (k + 0.5) / N_PLACES
        if way == 0.0:
            assert chi2.sf(scaled, df) >= level
        elif way < 1.0:
            assert ncx2.sf(scaled, df, way**2 * scaled) == pytest.approx(level, abs=1e-6)
        else:
            assert ncx2.sf(scaled, df, scaled) <= level + 1e-9


def test_truths_stand_on_the_way_and_share_the_data_sets(monkeypatch):
    result = result_of(NEAR.X, n_clusters=3, model=["EVE", "VVV"], selection="once")
    assert result.mixture.model == "EVE"
    truths = plausible_truths(result)
    assert sum(truth.share for truth in truths) == pytest.approx(1.0)
    between_them = [truth for truth in truths if truth.mixture is not result.mixture]
    assert {truth.name for truth in between_them} == {"a mixture between EVE and VVV"}
    logliks = [truth.mixture.loglik for truth in between_them]
    assert len(logliks) > 2
    assert logliks == sorted(logliks)
    assert logliks[0] > result.mixture.loglik
    exchanged = lambda field: field[:, [1, 2, 0]]  # noqa: E731

    def other_clusters(*args):
        end = maximum_from(*args)
        return replace(end, internal=map_params(exchanged, end.internal))

    # Where the likelihood is no parabola on the way, the chosen fit is the only truth.
    monkeypatch.setattr(_truths, "maximum_from", other_clusters)
    (truth,) = plausible_truths(result)
    assert truth == ("EVE", result.mixture, 1.0)


def test_the_widest_model_that_contains_the_chosen_one_is_taken():
    fits = select_mixture(SAMPLE.X, 3, ["EEE", "EVE", "VVE", "VEV", "t"], n_jobs=1).fits
    others = list(fits.values())
    assert widest(fits[3, "EVE"], others) is fits[3, "VVE"]  # VEV does not contain EVE
    assert widest(fits[3, "VVE"], others) is None
    assert widest(fits[3, "t"], others) is None  # of another family than the others


def test_other_families_are_truths_by_their_weights():
    result = result_of(SAMPLE.X, n_clusters=3, model=["VVV", "t-EII", "t"], selection="once")
    own, other = plausible_truths(result)
    assert own.mixture is result.mixture
    assert own.name == result.mixture.model
    fits = [fit for fit in result.selection.fits.values() if fit.family is not own.mixture.family]
    assert other.mixture is max(fits, key=lambda fit: fit.aicc)
    ratio = np.exp(0.5 * (other.mixture.aicc - own.mixture.aicc))
    assert other.share / own.share == pytest.approx(ratio)
    assert own.share + other.share == pytest.approx(1.0)


def test_a_right_model_is_the_truth():
    X = make_mixture1(300, random_state=3).X  # the ratio of VVV is 3.1, for 8 parameters
    result = result_of(X, n_clusters=3, model=["EII", "EEE", "VVV"])
    (truth,) = plausible_truths(result)
    assert truth == ("EII", result.mixture, 1.0)


def test_a_fit_with_as_many_parameters_as_objects_has_no_wider_truth():
    X = load_iris().X.to_numpy()[::5]
    result = result_of(X, n_clusters=3, selection="once")
    assert result.mixture.n_parameters >= 29
    (truth,) = plausible_truths(result)
    assert truth.mixture is result.mixture


def test_classes_of_categories_have_the_only_model_as_their_truth():
    survey = make_survey(120, random_state=0)
    result = result_of(survey.X, n_clusters=3, model="latent-class")
    (truth,) = plausible_truths(result)
    assert truth.mixture is result.mixture
