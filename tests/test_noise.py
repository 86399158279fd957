"""Noise: a component for outliers, from the family to the partition."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from credpart import (
    CalibratedClustering,
    MixtureFamily,
    PairwiseIntervals,
    fit_mixture,
    focal_sets,
    irqp,
    load_model,
    plot,
    save_model,
    select_mixture,
)
from credpart._checks import Table, WeightedTable
from credpart._irqp.starting_masses import from_posteriors
from credpart.cli import main
from credpart.errors import DataError, InputError
from credpart.intervals import pairwise_probabilities
from credpart.mixture.families.noise import LEAST, box_of
from credpart.mixture.models import MODELS
from credpart.mixture.optimisation import Problem, Samples
from credpart.mixture.optimisation.em import first_iteration, iterate
from credpart.mixture.search.initialisation import responsibilities
from credpart.mixture.search.outliers import find_outliers, starts_without_outliers

N_CLEAN = 120
FAR = np.array([[30.0, -40.0], [-35.0, 20.0], [25.0, 45.0], [-50.0, -30.0], [2.0, 60.0]])


@pytest.fixture(scope="module")
def clean():
    """Two clusters of 60 objects."""
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0.0, 1.0, (60, 2)), rng.normal(6.0, 1.0, (60, 2))])


@pytest.fixture(scope="module")
def X(clean):
    """Two clusters, and five objects far from both and from each other."""
    return np.vstack([clean, FAR])


@pytest.fixture(scope="module")
def model(X):
    options = {"n_replicates": 40, "random_state": 0}
    return CalibratedClustering(2, model="EII", noise=True, **options).fit(X)


def test_the_box_holds_all_objects_and_follows_the_units(X):
    along = X @ np.array([[1.0, 1.0], [-0.02, 0.02]])  # the principal components are the diagonals
    for data in (X, along):
        box = box_of(data)
        inside = np.linalg.solve(box.edges.T, (data - box.corner).T)
        assert inside.min() > -1e-9
        assert inside.max() < 1.0 + 1e-9
        assert box.log_volume <= np.log(np.ptp(data, axis=0)).sum() + 1e-12
        units = np.array([1e3, 1e-2])
        moved = box_of(data * units + 5.0).log_volume
        assert moved == pytest.approx(box.log_volume + np.log(units).sum(), abs=1e-9)
    assert box_of(along).log_volume < np.log(np.ptp(along, axis=0)).sum() - 1.0


def test_the_likelihood_is_that_of_scipy_in_the_units_of_the_data(X):
    data = X * [100.0, 0.1] + [3.0, -7.0]
    volume = np.exp(box_of(data).log_volume)
    fit = fit_mixture(data, 2, "VVV", noise=True)
    p = fit.params
    parts = zip(p.proportions, p.means, p.covariances, strict=True)
    density = sum(pi * multivariate_normal(mu, sigma).pdf(data) for pi, mu, sigma in parts)
    direct = np.log(density + fit.noise / volume).sum()
    assert fit.loglik == pytest.approx(direct, rel=1e-10)
    assert p.proportions.sum() + fit.noise == pytest.approx(1.0)
    fit = fit_mixture(data, 2, "t", noise=True)
    p = fit.params
    parts = zip(p.proportions, p.locations, p.scales, p.dof, strict=True)
    density = sum(pi * multivariate_t(mu, s, nu).pdf(data) for pi, mu, s, nu in parts)
    direct = np.log(density + fit.noise / volume).sum()
    assert fit.loglik == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("name", ["EII+noise", "VVV+noise", "t+noise", "skew-normal+noise"])
def test_em_never_lowers_the_likelihood(X, name):
    row = MODELS[name]
    data = WeightedTable(Table(X, None, None), np.ones(len(X)))
    family = row.make(data, [row.structure])
    problem = Problem(family, Samples(family.features(X), np.ones((1, len(X)))))
    labels = np.random.default_rng(1).integers(0, 3, len(X))
    statistics = problem.statistics(responsibilities(labels, 3))
    code = np.array([list(MODELS).index(row.structure)])  # structures come first in the table
    zero = np.zeros(1, dtype=np.intp)
    mixtures = first_iteration(problem, statistics, code, zero, zero)
    for _ in range(30):
        before, mixtures = mixtures, iterate(problem, mixtures)
        assert mixtures.objective[0] >= before.objective[0] - 1e-9 * abs(before.objective[0])
        assert mixtures.statistics[..., -2:].sum() == pytest.approx(len(X))


def test_outliers_are_found_and_noise_counts_as_one_parameter(X):
    fit, plain = fit_mixture(X, 2, "EII", noise=True), fit_mixture(X, 2, "EII")
    assert fit.n_clusters == plain.n_clusters == 2
    assert fit.n_parameters == plain.n_parameters + 1
    assert fit.noise == pytest.approx(5 / len(X), rel=0.1)
    assert fit.predict(X)[N_CLEAN:].tolist() == [-1] * 5
    assert (fit.predict(X)[:N_CLEAN] >= 0).all()
    rest = 1.0 - fit.posteriors(X).sum(axis=1)
    assert rest[N_CLEAN:].min() > 0.99
    assert rest[:N_CLEAN].max() < 0.1
    assert fit.bic > plain.bic + 100.0


@pytest.mark.parametrize("name", ["EEE", "VVV"])
@pytest.mark.parametrize("data", ["clean", "X"])
def test_a_mixture_without_noise_is_never_better(request, name, data):
    values = request.getfixturevalue(data)
    fits = select_mixture(values, 2, name, noise="auto").fits
    # The likelihood of no noise is reached only in the limit.
    assert fits[2, f"{name}+noise"].loglik >= fits[2, name].loglik - 1e-3


def test_other_units_and_weights_change_nothing_else(X):
    fit = fit_mixture(X, 2, "VVV", noise=True)
    units = np.array([1e3, 1e-2])
    other = fit_mixture(X * units, 2, "VVV", noise=True)
    assert other.loglik == pytest.approx(fit.loglik - len(X) * np.log(units).sum(), rel=1e-9)
    np.testing.assert_allclose(other.posteriors(X * units), fit.posteriors(X), atol=1e-6)
    weights = np.where(np.arange(len(X)) < 20, 2.0, 1.0)
    repeated = fit_mixture(np.vstack([X, X[:20]]), 2, "VVV", noise=True)
    weighted = fit_mixture(X, 2, "VVV", noise=True, sample_weight=weights)
    assert weighted.loglik == repeated.loglik


def test_draws_have_the_noise_share_and_lie_in_the_box(X):
    fit = fit_mixture(X, 2, "EII", noise=True)
    drawn, labels = fit.sample(5000, random_state=0)
    assert (labels == -1).mean() == pytest.approx(fit.noise, abs=0.02)
    family = fit.family
    places = np.linalg.solve(family.edges.T, (drawn[labels == -1] - family.corner).T)
    assert places.min() >= -1e-9
    assert places.max() <= 1.0 + 1e-9


def test_starts_leave_out_objects_far_from_others(X):
    is_outlier = find_outliers(X)
    assert is_outlier[N_CLEAN:].all()
    assert is_outlier.mean() < 0.3
    (partition,) = starts_without_outliers(X, [2], 1, 0, [_halves])
    assert (partition[2][N_CLEAN:] == -1).all()
    assert set(partition[2][~is_outlier]) == {0, 1}


def _halves(X, numbers):
    return {c: (X[:, 0] > 3.0).astype(np.intp) for c in numbers}


def test_the_empty_set_takes_what_belongs_to_no_cluster():
    # If the bounds are exact, masses are the posteriors, and noise is what these lack to 1.
    rng = np.random.default_rng(0)
    posteriors = rng.dirichlet([0.3, 0.3, 0.3, 0.3], 40)[:, :3]
    P = pairwise_probabilities(posteriors)
    sets = focal_sets(3, "pairs", empty=True)
    start = from_posteriors(rng.permutation(posteriors), sets)
    found = irqp(PairwiseIntervals(P, P, 0.9), sets, start=start, noise=True, n_starts=1)
    assert found.objective < 1e-8
    belief, plausibility = found.partition.pairwise_condensed()
    np.testing.assert_allclose(belief, P, atol=1e-4)
    np.testing.assert_allclose(plausibility, P, atol=1e-4)
    np.testing.assert_allclose(
        found.partition.masses[:, 0], 1.0 - posteriors.sum(axis=1), atol=1e-3
    )


def test_two_outliers_are_not_in_the_same_cluster(model, X):
    _, upper = model.intervals_.square()
    off = ~np.eye(5, dtype=bool)
    assert upper[N_CLEAN:, N_CLEAN:][off].max() < 0.01
    belief, plausibility = model.partition_.pairwise()
    assert plausibility[N_CLEAN:, N_CLEAN:][off].max() < 0.05
    assert (belief <= plausibility + 1e-12).all()


def test_the_partition_says_who_belongs_nowhere(model, X):
    partition = model.partition_
    assert not partition.focal_sets[0].any()
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1.0)
    assert partition.masses[N_CLEAN:, 0].min() > 0.9
    assert partition.masses[:N_CLEAN, 0].mean() < 0.05
    assert partition.counts()["∅"] == 5
    assert model.labels_[N_CLEAN:].tolist() == [-1] * 5
    assert model.labels_[:N_CLEAN].min() == 0
    assert "outlying: 5 (4.0 %)" in model.summary()
    assert partition.to_frame()["label"].tolist()[-1] == -1
    again = model.result_.refit_partition(level=0.8, focal_sets="singletons").partition
    assert again.masses.shape == (len(X), 3)
    assert again.counts()["∅"] == 5


def test_new_objects_may_belong_nowhere(model):
    new = np.array([[500.0, 500.0], [0.0, 0.0]])
    assert model.predict(new).tolist()[0] == -1 != model.predict(new).tolist()[1]
    masses = model.predict_masses(new)
    assert masses[0, 0] > 0.9
    assert masses[1, 0] < 0.1


def test_noise_is_chosen_by_the_criterion(clean, X):
    options = {"model": "EII", "noise": "auto", "n_replicates": 20, "random_state": 0}
    without = CalibratedClustering(2, **options).fit(clean)
    assert without.mixture_.model == "EII"
    assert without.mixture_.noise == 0.0
    assert without.partition_.focal_sets.any(axis=1).all()
    found = CalibratedClustering(2, **options).fit(X)
    assert found.mixture_.model == "EII+noise"
    assert found.selection_.models == ("EII", "EII+noise")
    assert found.result_.parameters()["noise"] == "auto"
    assert (found.labels_ == -1).sum() == 5


def test_without_noise_nothing_is_different(clean):
    options = {"model": "EII", "n_replicates": 20, "random_state": 0}
    one = CalibratedClustering(2, **options).fit(clean)
    other = CalibratedClustering(2, noise=False, **options).fit(clean)
    assert one.partition_.masses.tobytes() == other.partition_.masses.tobytes()
    assert one.mixture_.has_noise is False
    assert "∅" not in one.partition_.counts()


@pytest.mark.parametrize("resampling", ["bayesian", "parametric"])
def test_landmarks_resampling_and_jobs(X, resampling):
    options = {"model": "EII", "noise": True, "n_replicates": 20, "random_state": 0}
    options |= {"resampling": resampling, "pairs": 20}
    one = CalibratedClustering(2, **options).fit(X)
    two = CalibratedClustering(2, n_jobs=2, **options).fit(X)
    assert one.partition_.masses.tobytes() == two.partition_.masses.tobytes()
    assert (one.labels_[N_CLEAN:] == -1).all()


def test_models_with_noise_are_saved(model, X, tmp_path):
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.predict_masses(X).tobytes() == model.predict_masses(X).tobytes()
    assert again.mixture_.noise == model.mixture_.noise
    assert again.noise is True


@pytest.mark.filterwarnings("ignore:The data")
@pytest.mark.parametrize("noise", ["uniform", "contaminated"])
def test_both_kinds_of_noise_stand_beside_missing_cells(X, noise, tmp_path):
    holes = X.copy()
    holes[::7, 0] = np.nan
    options = {"model": "EII", "noise": noise, "missing": "model", "n_replicates": 20}
    model = CalibratedClustering(2, **options, random_state=0).fit(holes)
    assert (model.labels_[N_CLEAN:] == -1).all()
    assert (model.labels_[:N_CLEAN] >= 0).all()
    assert model.result_.parameters()["noise"] == noise
    assert model.result_.parameters()["model"] == model.mixture_.model
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.predict_masses(holes).tobytes() == model.predict_masses(holes).tobytes()
    assert model.predict([[np.nan, 500.0]]).tolist() == [-1]


def test_contaminated_noise_goes_through_the_pipeline(X):
    options = {"model": "EII", "noise": "contaminated", "n_replicates": 20, "random_state": 0}
    one = CalibratedClustering(2, **options, resampling="parametric").fit(X)
    two = CalibratedClustering(2, **options, resampling="parametric", n_jobs=2).fit(X)
    assert one.mixture_.model == "contaminated-EII+noise"
    assert one.partition_.masses.tobytes() == two.partition_.masses.tobytes()
    assert one.partition_.counts()["∅"] == 5
    assert "outlying: 5 (4.0 %)" in one.summary()
    again = CalibratedClustering(**one.result_.parameters()).fit(X)
    assert again.partition_.masses.tobytes() == one.partition_.masses.tobytes()


def test_the_density_of_one_column_shows_noise(X):
    x = np.concatenate([X[:, 0], X[:, 1]])[:, None]
    ax = plot.density(fit_mixture(x, 2, "V", noise=True), x)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "outliers"


def test_pictures_show_outliers(model, X):
    ax = plot.partition(model.partition_, X)
    assert "outlier" in [text.get_text() for text in ax.get_legend().get_texts()]
    ax = plot.classification(model.mixture_, X)
    assert "outlier" in [text.get_text() for text in ax.get_legend().get_texts()]
    plot.relational(model.partition_)


def test_an_empty_noise_component_is_said(clean):
    fit = fit_mixture(clean, 2, "EII", noise=True)
    shares = fit.internal._replace(noise=np.full_like(fit.internal.noise, LEAST))
    assert fit.family.remarks(shares) == ["the noise component is empty: no object is an outlier"]


class Own(MixtureFamily):
    """A family of one's own, with nothing in it."""

    def log_joint(self, features, params):
        """No density."""

    def m_step(self, statistics, structure, previous):
        """No parameters."""

    def n_free(self, c):
        """None."""


CATEGORIES = pd.DataFrame({"a": pd.Categorical(list("abab") * 10)})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": "yes"}, "`noise` must be False, True, .* or 'auto', got 'yes'"),
        ({"noise": 1}, "`noise` must be False, True, .* or 'auto', got 1"),
        ({"noise": True, "model": Own}, "`noise` must be False for the model 'Own', got True"),
        ({"noise": "contaminated", "model": "t"}, "be False for the model 't', got 'contaminated'"),
        ({"focal_sets": [[0, 0], [1, 0], [0, 1]]}, "non-empty sets, got the empty set in row 0"),
    ],
)
def test_bad_requests_are_refused(X, arguments, message):
    with pytest.raises(InputError, match=message):
        CalibratedClustering(2, **{"model": "EII", "n_replicates": 20} | arguments).fit(X)


def test_data_without_a_volume_are_refused(X):
    with pytest.raises(InputError, match="must be False for the model 'latent-class'"):
        fit_mixture(CATEGORIES, 2, "latent-class", noise=True)
    flat = np.column_stack([X, np.ones(len(X))])
    with pytest.raises(DataError, match=r"fill no volume .*: column 2 is constant"):
        fit_mixture(flat, 2, "EII", noise=True)
    with pytest.raises(
        InputError, match=r"`noise` must be False, True, 'uniform' or .*, got 'auto'"
    ):
        fit_mixture(X, 2, noise="auto")


@pytest.mark.parametrize("noise", ["yes", "contaminated"])
def test_the_command_line_writes_the_empty_set(X, noise, tmp_path):
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "x.csv", index=False)
    options = ["--clusters", "2", "--model", "EII", "--replicates", "20", "--noise", noise]
    options += ["--audit", "0", "--quiet"]
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(tmp_path / "x.csv"), *options, "--out", str(tmp_path / "out")])
    assert ended.value.code == 0
    masses = pd.read_csv(tmp_path / "out" / "masses.csv")
    assert masses["m∅"].tail(5).min() > 0.9
    assert masses["label"].tail(5).tolist() == [-1] * 5
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "the mass of no cluster at all" in page
