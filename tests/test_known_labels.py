"""What is known already: labels in the fit, in the replicates and in the masses."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from credpart import (
    CalibratedClustering,
    PairwiseIntervals,
    audit,
    bootstrap,
    fit_mixture,
    focal_sets,
    irqp,
    load_model,
    save_model,
    select_mixture,
)
from credpart._checks import WeightedTable, check_data
from credpart.cli import main
from credpart.datasets import load_iris, make_mixture1, make_mixture3, make_survey
from credpart.errors import InputError
from credpart.mixture.families.labelled import Labelled
from credpart.mixture.known_labels import KnownLabels, matched
from credpart.mixture.models import rows_of
from credpart.mixture.optimisation.em import first_iteration, iterate
from credpart.mixture.search.grid_search import model_sets
from credpart.report import to_html
from credpart.simplex_qp import simplex_qp

IRIS = load_iris()
X, Y = IRIS.X.to_numpy(), np.unique(IRIS.y, return_inverse=True)[1]
# Every seventh object has a label: in turn its cluster, and a set with another one.
SOME = [None if i % 7 else int(y) if i % 2 else {int(y), (int(y) + 1) % 3} for i, y in enumerate(Y)]


def calibrated(labels, data=X, n_clusters=3, model="EEE", **options):
    options = {"n_replicates": 40, "random_state": 0} | options
    estimator = CalibratedClustering(n_clusters, model=model, **options)
    return estimator.fit(data, labels=labels)


def allowed_by(labels, c):
    """The clusters that labels allow, one object after the other."""
    rows = []
    for label in labels:
        clusters = range(c) if label is None else {label} if isinstance(label, int) else label
        rows.append([k in clusters for k in range(c)])
    return np.array(rows)


def literal_em(data, allowed, resp, n_iter):
    """EM in which forbidden responsibilities are 0, written out component by component."""
    for _ in range(n_iter):
        joint = np.full(allowed.shape, -np.inf)
        params = []
        for k in range(allowed.shape[1]):
            size = resp[:, k].sum()
            mean = resp[:, k] @ data / size
            centred = data - mean
            covariance = (resp[:, k, None] * centred).T @ centred / size
            log_p = multivariate_normal(mean, covariance).logpdf(data)
            joint[:, k] = np.where(allowed[:, k], np.log(size / len(data)) + log_p, -np.inf)
            params.append((size / len(data), mean, covariance))
        loglik = logsumexp(joint, axis=1)
        resp = np.exp(joint - loglik[:, None])
    return loglik.sum(), resp, params


def test_the_fit_is_em_with_the_responsibilities_of_labels_fixed():
    sets = allowed_by(SOME, 3)
    start = sets / sets.sum(axis=1, keepdims=True)
    start[np.arange(150), Y] += 1.0
    start /= start.sum(axis=1, keepdims=True)
    loglik, resp, params = literal_em(X, sets, start, 400)
    fit = fit_mixture(X, 3, "VVV", start=start, labels=SOME, tol=1e-13)
    assert fit.loglik == pytest.approx(loglik, abs=1e-6)
    for k, (share, mean, covariance) in enumerate(params):
        assert fit.params.proportions[k] == pytest.approx(share, abs=1e-5)
        np.testing.assert_allclose(fit.params.means[k], mean, atol=1e-4)
        np.testing.assert_allclose(fit.params.covariances[k], covariance, atol=1e-4)
    known = KnownLabels.check(SOME, 150)
    posteriors = fit.posteriors_of(known.attach(check_data(X)).values)
    np.testing.assert_allclose(posteriors, resp, atol=1e-4)
    assert (posteriors[~sets] == 0.0).all()


@pytest.mark.parametrize("model", ["VVV", "EII", "t", "skew-normal"])
def test_no_iteration_lowers_the_likelihood(model):
    known = KnownLabels.check(SOME, 150)
    data = known.attach_weighted(WeightedTable.check(check_data(X), None))
    rows = rows_of([model])
    (models,) = model_sets(known.models(rows), data, rows)
    resp = known.restricted(np.random.default_rng(0).dirichlet(np.ones(3), 150).T)
    one = np.zeros(1, dtype=np.intp)
    statistics = models.problem.statistics(resp)
    mixture = first_iteration(models.problem, statistics, one + 13, one, one)
    for _ in range(60):
        following = iterate(models.problem, mixture)
        assert following.objective[0] >= mixture.objective[0] - 1e-9
        mixture = following


def test_all_objects_labelled_is_discriminant_analysis():
    fit = fit_mixture(X, 3, "VVV", labels=Y)
    for k in range(3):
        np.testing.assert_allclose(fit.params.means[k], X[k == Y].mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(
            fit.params.covariances[k], np.cov(X[k == Y].T, bias=True), rtol=1e-7
        )
    assert isinstance(fit.family, Labelled)
    new = fit.posteriors(X)  # of these, nothing is known
    densities = [
        multivariate_normal(fit.params.means[k], fit.params.covariances[k]).pdf(X) for k in range(3)
    ]
    joint = np.array(densities).T / 3.0
    np.testing.assert_allclose(new, joint / joint.sum(axis=1, keepdims=True), atol=1e-8)


@pytest.mark.parametrize(
    "nothing", [[None] * 150, [-1] * 150, [""] * 150, np.full(150, np.nan), pd.array([pd.NA] * 150)]
)
def test_nothing_known_changes_no_byte(nothing):
    plain, told = calibrated(None, n_replicates=20), calibrated(nothing, n_replicates=20)
    assert told.result_.known_labels is None
    assert told.partition_.masses.tobytes() == plain.partition_.masses.tobytes()
    assert told.replicates_.loglik.tobytes() == plain.replicates_.loglik.tobytes()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2]])
def test_clusters_are_numbered_by_their_labels(order):
    labels = [None if i % 10 else order[y] for i, y in enumerate(Y)]
    selection = select_mixture(X, 3, ["EEE", "VEV"], labels=labels)
    for fit in selection.fits.values():
        agree = fit.predict(X) == np.array(order)[Y]
        assert agree.mean() > 0.9
    model = calibrated(labels)
    assert (model.labels_ == np.array(order)[Y]).mean() > 0.9


def test_masses_stand_inside_the_labels():
    model = calibrated(SOME)
    sets = model.partition_.focal_sets
    allowed = allowed_by(SOME, 3)
    inside = np.array([[not (row & ~one).any() for row in sets] for one in allowed])
    for found in (model.result_, model.result_.refit_partition(focal_sets="full", omega=True)):
        sets = found.partition.focal_sets
        inside = np.array([[not (row & ~one).any() for row in sets] for one in allowed])
        assert (found.partition.masses[~inside] == 0.0).all()
    singles = [i for i, label in enumerate(SOME) if isinstance(label, int)]
    for i in singles:
        assert model.partition_.belief()[i, SOME[i]] == 1.0
    assert (model.result_.posteriors[~allowed] == 0.0).all()
    replicates = model.replicates_.posteriors_of(model.result_.mixture_values)
    assert (replicates[:, ~allowed] == 0.0).all()


def test_landmarks_and_objects_without_weight_respect_labels(monkeypatch):
    monkeypatch.setattr("credpart.pairs.SAMPLED", 60)
    data = make_mixture1(150, random_state=0).X
    labels = [{0, 1} if i % 3 == 0 else 2 if i % 50 == 1 else None for i in range(150)]
    weights = np.where(np.arange(150) % 10 == 0, 0.0, 1.0)
    allowed = allowed_by(labels, 3)
    for pairs in ("all", 15):
        model = CalibratedClustering(3, model="EII", n_replicates=20, pairs=pairs, random_state=0)
        model.fit(data, labels=labels, sample_weight=weights)
        assert model.result_.is_sampled == (pairs == 15)
        assert (model.partition_.plausibility()[~allowed] == 0.0).all()


def test_a_weight_of_two_is_the_labelled_object_twice():
    twice = np.concatenate([np.arange(150), [0, 7, 8]])
    weights = np.ones(150)
    weights[[0, 7, 8]] = 2.0
    one = fit_mixture(X, 3, "VVV", labels=SOME, sample_weight=weights)
    other = fit_mixture(X[twice], 3, "VVV", labels=[SOME[i] for i in twice])
    assert one.loglik == other.loglik
    assert one.params.means.tobytes() == other.params.means.tobytes()


def test_jobs_and_order_of_rows_change_nothing():
    order = np.random.default_rng(0).permutation(150)
    one = calibrated(SOME, n_replicates=20)
    two = calibrated(SOME, n_replicates=20, n_jobs=2)
    assert one.partition_.masses.tobytes() == two.partition_.masses.tobytes()
    moved = calibrated([SOME[i] for i in order], X[order], n_replicates=20)
    assert moved.mixture_.loglik == one.mixture_.loglik
    assert moved.replicates_.loglik.tobytes() == one.replicates_.loglik.tobytes()


def test_auto_starts_at_the_number_of_clusters_that_labels_name():
    labels = [None if i % 10 else int(y) for i, y in enumerate(Y)]
    model = calibrated(labels, n_clusters="auto", model="EII", n_replicates=20)
    assert model.result_.options.n_clusters == tuple(range(3, 10))
    assert model.replicates_.n_clusters.min() >= 3
    assert calibrated(Y, n_clusters="auto", n_replicates=20).mixture_.n_clusters == 3
    # "Neither 0 nor 1" asks for a third cluster.
    not_two = ["A", "B", "!A|B", *[""] * 147]
    assert KnownLabels.check(not_two, 150).numbers(range(1, 5), is_auto=True) == [3, 4]
    assert KnownLabels.check(not_two, 150).numbers(range(1, 2), is_auto=True) == [3]


def test_names_are_clusters_in_alphabetical_or_numerical_order():
    names = [None if i % 10 else ("setosa", "versicolor", "virginica")[y] for i, y in enumerate(Y)]
    numbers = [None if i % 10 else int(y) for i, y in enumerate(Y)]
    by_name, by_number = calibrated(names, n_replicates=20), calibrated(numbers, n_replicates=20)
    assert by_name.result_.known_labels.names == ("setosa", "versicolor", "virginica")
    assert by_name.partition_.masses.tobytes() == by_number.partition_.masses.tobytes()
    assert KnownLabels.check(["10", "9|10", "!2"], 3).names == ("2", "9", "10")
    assert KnownLabels.check([{"a|b", "c"}, "c"], 2).names == ("a|b", "c")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([set(), *[None] * 149], "sets of at least one cluster, got none in row 0"),
        ([None, 3, *[None] * 148], "from 0 to 2 for 3 clusters, got cluster 3 in row 1"),
        ([None, {0, 5}, *[None] * 148], "from 0 to 2 for 3 clusters, got cluster 5 in row 1"),
        (["a", "b", "c", "!a|b|c", *[""] * 146], "at least one of the 3 clusters, got none in row"),
        (["a", "b", "c", "d", *[""] * 146], "name at most the 3 clusters, got 'a', 'b', 'c', 'd'"),
        ([0, "a", *[None] * 148], "all numbers or all names, got 'a' in row 1"),
        ([0, {0, "a"}, *[None] * 148], "all numbers or all names"),
        (["a||b", *[""] * 149], r"names of clusters, got 'a\|\|b' in row 0"),
        (["!", *[""] * 149], "names of clusters, got '!' in row 0"),
        ([-2, *[None] * 149], "a cluster from 0, or a set of clusters.*got -2 in row 0"),
        ([0.5, *[None] * 149], "got 0.5 in row 0"),
        ([True, *[None] * 149], "got True in row 0"),
        ([0, 60, *[None] * 148], "clusters below 52, got 60 in row 1"),
        ([0, 1], "an entry for each of the 150 objects, got 2"),
        ("setosa", "for each object, got 'setosa'"),
        (3, "for each object, got 3"),
        ([0] * 149 + [2], "leave objects for each of 3 clusters, got none for cluster 1"),
    ],
)
def test_labels_that_contradict_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        calibrated(labels)
    with pytest.raises(InputError, match=message):
        fit_mixture(X, 3, "EEE", labels=labels)


def test_other_stages_refuse_what_they_cannot_respect():
    model = calibrated(SOME, n_replicates=20)
    with pytest.raises(InputError, match="fitted without labels"):
        audit(model)
    with pytest.raises(InputError, match="draw weights where `labels` are given"):
        calibrated(SOME, resampling="parametric")
    with pytest.raises(InputError, match="a set inside what `labels` allow each object"):
        calibrated(SOME, focal_sets=[[1, 1, 0], [0, 0, 1]])
    with pytest.raises(InputError, match="those that the fit was given"):
        bootstrap(X, model.mixture_, 5)
    with pytest.raises(InputError, match="draw weights where `labels` are given"):
        bootstrap(X, model.mixture_, 5, labels=SOME, resampling="parametric")
    with pytest.raises(InputError, match="be None for a model that was fitted without"):
        calibrated(None, n_replicates=20).result_.predict_masses(X[:1], labels=[0])


def test_stages_one_by_one_take_labels():
    fit = fit_mixture(X, 3, "EEE", labels=SOME)
    replicates = bootstrap(X, fit, 40, labels=SOME, random_state=0)
    model = calibrated(SOME)
    assert replicates.loglik.tobytes() == model.replicates_.loglik.tobytes()
    masses = model.result_.predict_masses(X[:3], labels=[1, {1, 2}, None])
    assert masses[0].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert masses[1, model.partition_.focal_sets[:, 0]].sum() == 0.0
    assert masses[2].tobytes() == model.predict_masses(X[2:3]).tobytes()


def test_families_of_categories_take_labels():
    survey = make_survey(150, random_state=0)
    truth = np.asarray(survey.y)
    labels = [None if i % 3 else int(y) for i, y in enumerate(truth)]
    fit = fit_mixture(survey.X, 3, "latent-class", labels=labels)
    assert (fit.predict(survey.X) == truth).mean() > 0.6


def test_a_saved_model_keeps_what_was_known(tmp_path):
    names = [None if i % 10 else ("a", "b", "c")[y] for i, y in enumerate(Y)]
    model = calibrated(names, n_replicates=20)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.result_.known_labels.names == ("a", "b", "c")
    assert again.predict_masses(X).tobytes() == model.predict_masses(X).tobytes()
    other = again.result_.refit_partition(focal_sets="full")
    same = model.result_.refit_partition(focal_sets="full")
    assert other.partition.masses.tobytes() == same.partition.masses.tobytes()


def test_an_object_stays_in_a_cluster_that_a_replicate_has_lost():
    fit = fit_mixture(X, 3, "VVI", labels=SOME)
    lost = fit.internal._replace(
        proportions=np.array([[0.5, 0.5, 0.0]]), natural=fit.internal.natural.copy()
    )
    lost.natural[0, 2, 0] += fit.family.log_shares(np.zeros(1))[0]
    known = KnownLabels.check([2, None], 2)
    features = fit.family.features(known.attach(check_data(X[:2])).values)
    joint = fit.family.log_joint(features, lost)[0]
    assert joint.argmax(axis=0).tolist() == [2, 0]
    assert np.isfinite(joint).all()


def test_a_report_says_that_labels_were_known():
    assert "labels of 22 of 150 objects" in to_html(calibrated(SOME, n_replicates=20).result_)


def test_a_start_keeps_every_cluster_that_can_have_objects():
    labels, Z = np.array([0, 0, 0, 1, 1, 1]), np.arange(6.0)[:, None]
    allowed = np.array([[1, 0], [1, 0], [1, 1], [1, 0], [1, 0], [1, 1]]) > 0
    found = matched(labels, allowed, np.ones(6), Z)
    assert set(found[[2, 5]].tolist()) >= {1}
    assert (found[[0, 1, 3, 4]] == 0).all()


def test_a_program_with_closed_variables_is_the_smaller_program():
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((30, 6, 6))
    Q, u = roots.mT @ roots, rng.standard_normal((30, 6))
    allowed = rng.random((30, 6)) < 0.5
    allowed[:, 0] |= ~allowed.any(axis=1)
    start = allowed / allowed.sum(axis=1, keepdims=True)
    found = simplex_qp(Q, u, start, allowed)
    assert (found[~allowed] == 0.0).all()
    for i, kept in enumerate(allowed):
        part = simplex_qp(Q[i][np.ix_(kept, kept)][None], u[i, kept][None], start[i, kept][None])
        np.testing.assert_allclose(found[i, kept], part[0], atol=1e-9)


def test_irqp_keeps_to_the_sets_that_are_allowed():
    rng = np.random.default_rng(0)
    lower = 0.5 * rng.random(45)
    intervals = PairwiseIntervals(lower, lower + 0.5, level=0.9)
    sets = focal_sets(3, "full")
    allowed = rng.random((10, len(sets))) < 0.6
    allowed[:, 0] |= ~allowed.any(axis=1)
    result = irqp(intervals, sets, allowed=allowed, n_starts=4)
    assert (result.partition.masses[~allowed] == 0.0).all()
    assert (np.diff(result.history) <= 0.0).all()
    with pytest.raises(InputError, match="hold a set for each object, got none in row 0"):
        irqp(intervals, sets, allowed=np.zeros_like(allowed))
    with pytest.raises(InputError, match=r"bools of shape \(10, 7\)"):
        irqp(intervals, sets, allowed=[[True]])


def test_labels_shorten_intervals():
    data = make_mixture3(150, random_state=1)
    labels = [None if i % 5 else int(y) for i, y in enumerate(np.asarray(data.y))]
    plain = calibrated(None, data.X, n_clusters=3, model="VVV")
    told = calibrated(labels, data.X, n_clusters=3, model="VVV")

    def length(model):
        return (model.intervals_.upper - model.intervals_.lower).mean()

    assert length(told) < length(plain)


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def test_a_column_of_labels_on_the_command_line(tmp_path, capsys):
    frame = IRIS.X.assign(species=IRIS.y, known="")
    frame.loc[::15, "known"] = frame.loc[::15, "species"].astype(str)
    frame.loc[51, "known"], frame.loc[52, "known"] = "versicolor|virginica", "!setosa"
    frame.to_csv(tmp_path / "iris.csv", index=False)

    options = ("--model", "EEE", "--replicates", "20", "--seed", "1", "--quiet")
    columns = ("--label-column", "species", "--known-column", "known")
    where = ("--out", tmp_path / "out", "--force")
    assert run("fit", tmp_path / "iris.csv", *columns, *options, *where, "--clusters", "3") == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["label_names"] == ["setosa", "versicolor", "virginica"]
    assert summary["n_labelled"] == 12
    assert "known" not in summary["columns"]
    masses = pd.read_csv(tmp_path / "out" / "masses.csv")
    assert masses.loc[0, "m{1}"] == 1.0
    assert (masses.loc[[51, 52], "pl{1}"] == 0.0).all()
    labels = frame["known"].to_numpy(dtype=object)
    model = calibrated(labels, IRIS.X, n_replicates=20, random_state=1)
    again = load_model(tmp_path / "out" / "model.npz")
    assert again.partition_.masses.tobytes() == model.partition_.masses.tobytes()
    capsys.readouterr()
    assert run("fit", tmp_path / "iris.csv", *columns, *options, *where, "--clusters", "2") == 2
    assert "--known-column must name at most the 2 clusters" in capsys.readouterr().err
    assert run("compare", tmp_path / "iris.csv", *columns, "--clusters", "3") == 2
    assert "--known-column must not be given for a comparison" in capsys.readouterr().err


@pytest.mark.parametrize("noise", ["uniform", "contaminated"])
def test_an_outlier_is_one_beside_labels_too(noise):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(8.0, 1.0, size=(30, 2)), [[4.0, 300.0]]])
    labels = [0] * 5 + [None] * 56
    options = {"model": "EII", "n_replicates": 20, "random_state": 0}
    model = CalibratedClustering(2, noise=noise, **options).fit(X, labels=labels)
    assert model.labels_[-1] == -1
    assert (model.labels_[:5] == 0).all()


def test_outliers_of_a_starting_partition_stay_outliers_unless_their_cluster_is_known():
    allowed = np.array([[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [0, 1]]) > 0
    Z = np.array([[0.0], [1.0], [8.0], [9.0], [99.0], [88.0]])
    labels = np.array([0, 0, 1, 1, -1, -1])
    assert matched(labels, allowed, np.ones(6), Z).tolist() == [0, 0, 1, 1, -1, 1]
