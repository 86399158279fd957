"""What audits take for true: part of the way from the chosen fit to a wider one."""

import numpy as np
import pytest

from credpart import CalibratedClustering, select_mixture
from credpart._truths import between, plausible_truths, share_of_the_way, widest
from credpart.datasets import load_iris, make_mixture1, make_mixture3, make_skew_t, make_survey
from credpart.mixture.fit import MixtureFit

SAMPLE = make_mixture3(150, random_state=1)
WEIGHTS = np.ones(150)
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


@pytest.fixture(scope="module", params=PAIRS)
def pair(request):
    X, narrow, wide = PAIRS[request.param]
    missing = "model" if np.isnan(X).any() else "error"
    fits = select_mixture(X, 3, [narrow, wide], missing=missing, n_jobs=1).fits
    return X, fits[3, narrow], fits[3, wide]


def result_of(X, **options):
    options = {"n_replicates": 10, "level": 0.8, "random_state": 0, "n_jobs": 1} | options
    return CalibratedClustering(**options).fit(X).result_


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_both_ends_of_the_way_are_the_fits(pair):
    X, chosen, wider = pair
    for way, end in ((0.0, chosen), (1.0, wider)):
        mixture = between(chosen, wider, way, X, WEIGHTS)
        joint = mixture.posteriors_of(X) @ mixture.posteriors_of(X).T
        expected = end.posteriors_of(X) @ end.posteriors_of(X).T
        np.testing.assert_allclose(joint, expected, rtol=0, atol=1e-9)
        assert mixture.loglik == pytest.approx(end.loglik, rel=1e-9)


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_half_the_way_is_a_mixture_that_explains_the_data_between_the_two(pair):
    X, chosen, wider = pair
    mixture = between(chosen, wider, 0.5, X, WEIGHTS)
    assert chosen.loglik < mixture.loglik < wider.loglik
    assert np.isfinite(mixture.sample(50, 0)[0]).all()


def test_components_are_matched_whatever_their_order():
    fits = select_mixture(SAMPLE.X, 3, ["EVE", "VVV"], n_jobs=1).fits
    chosen, wider = fits[3, "EVE"], fits[3, "VVV"]
    kind, order = type(wider.internal), [2, 0, 1]
    turned = MixtureFit(
        **{name: getattr(wider, name) for name in wider.__slots__}
        | {"internal": kind(*(field[:, order] for field in wider.internal))}
    )
    expected = between(chosen, wider, 0.4, SAMPLE.X, WEIGHTS)
    found = between(chosen, turned, 0.4, SAMPLE.X, WEIGHTS)
    np.testing.assert_allclose(found.params.means, expected.params.means, rtol=1e-12)


def test_the_way_is_that_of_the_formula():
    fits = select_mixture(SAMPLE.X, 3, ["EVE", "VVV"], n_jobs=1).fits
    chosen, wider = fits[3, "EVE"], fits[3, "VVV"]
    n, k, K = 150, chosen.n_parameters, wider.n_parameters
    ratio = 2 * (wider.loglik - chosen.loglik)
    # AIC's penalty is twice the number of parameters, that of AICc 2 k n / (n - k - 1).
    by_chance = K * n / (n - K - 1) - k * n / (n - k - 1)
    assert by_chance == pytest.approx(K - k, rel=0.3)
    assert share_of_the_way(chosen, wider) == pytest.approx(np.sqrt(1 - by_chance / ratio))
    assert share_of_the_way(chosen, chosen) == 0.0


def test_data_drawn_from_it_have_the_ratio_of_the_data():
    fits = select_mixture(SAMPLE.X, 3, ["EVE", "VVV"], n_jobs=1).fits
    chosen, wider = fits[3, "EVE"], fits[3, "VVV"]

    def ratio(fits):
        return 2.0 * (fits[3, "VVV"].loglik - fits[3, "EVE"].loglik)

    truth = between(chosen, wider, share_of_the_way(chosen, wider), SAMPLE.X, WEIGHTS)
    drawn = [truth.sample(150, seed)[0] for seed in range(30)]
    ratios = [ratio(select_mixture(X, 3, ["EVE", "VVV"], n_jobs=1).fits) for X in drawn]
    # Its standard deviation is 5, so that of the mean is .9; that of the wider fit has 12.
    assert np.mean(ratios) == pytest.approx(ratio(fits), abs=2.5)


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
