"""Rivals: which mixtures are fitted, which are plausible, and what they change."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from credpart import ECM, CalibratedClustering, _rivals, fit_mixture, pairs, rivals
from credpart._rivals import COLUMNS, CountedPairs, intervals_among, matched_labels
from credpart.datasets import make_mixture1, make_skew_t, make_survey
from credpart.errors import InputError
from credpart.mixture.covariance.structures import STRUCTURES

X = make_mixture1(60, random_state=0).X
FRAME = pd.DataFrame(X, index=[f"object {i}" for i in range(60)], columns=["a", "b"])
OPTIONS = {"n_replicates": 40, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return CalibratedClustering(3, model="EII", **OPTIONS).fit(FRAME)


@pytest.fixture(scope="module")
def found(model):
    return rivals(model)


def cells(found):
    return set(zip(found.table["n_clusters"], found.table["model"], strict=True)) | set(
        found.missing
    )


def test_rivals_are_structures_families_and_numbers(found):
    structures = {(c, name) for c in (1, 2, 3, 4) for name in STRUCTURES}
    families = {(3, name) for name in ("t", "t-EII", "skew-t", "skew-t-EII")}
    assert cells(found) == (structures | families) - {(3, "EII")}


def test_the_edges_of_what_was_tried_are_exceeded():
    model = CalibratedClustering(range(2, 6), model="EII", **OPTIONS).fit(X)
    assert model.mixture_.n_clusters == 3
    numbers = {c for c, name in cells(rivals(model)) if name == "EII"}
    assert numbers == {1, 2, 4, 5, 6}


def test_the_table_has_one_row_for_each_rival_best_first(model, found):
    table = found.table
    assert tuple(table.columns) == COLUMNS
    assert table["bic"].is_monotonic_decreasing
    np.testing.assert_allclose(table["lead"], table["bic"] - model.mixture_.bic)
    np.testing.assert_array_equal(table["plausible"], table["lead"] >= -2.0)
    assert table["outside"].between(0.0, 1.0).all()
    assert not table.duplicated(["n_clusters", "model"]).any()


@pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")
def test_special_cases_of_the_fit_are_nested():
    model = CalibratedClustering(3, model="VEI", **OPTIONS).fit(X)
    table = rivals(model).table
    nested = table[table["nested"]]
    assert set(nested["model"]) == {"EII", "VII", "EEI"}
    assert (nested["n_clusters"] == 3).all()
    fits, _ = _rivals.fit_rivals(model.result_)
    own = model.mixture_

    def criterion(fit):
        k, n = fit.n_parameters, len(X)
        return 2.0 * (fit.loglik - k * n / (n - k - 1))  # [HT89]_

    found = [fits[cell] for cell in zip(table["n_clusters"], table["model"], strict=True)]
    expected = [criterion(fit) - criterion(own) for fit in found]
    np.testing.assert_allclose(table["lead_aicc"], expected)
    assert replace(own, n_objects=own.n_parameters + 1.0).aicc == -np.inf


def test_a_table_that_was_stored_without_nested_rivals_is_read(found):
    told = found.to_dict()
    for row in told["table"]:
        del row["nested"], row["lead_aicc"], row["far_outside"]
    table = _rivals.Rivals.from_dict(told).table
    assert not table["nested"].any()
    assert table[["lead_aicc", "far_outside"]].isna().all(axis=None)


def test_a_wider_bound_has_more_plausible_rivals(model, found):
    wide = rivals(model, bound=15.0)
    np.testing.assert_array_equal(wide.table["plausible"], wide.table["lead"] >= -15.0)
    assert len(wide.plausible) > len(found.plausible)
    assert "(BIC higher, or at most 15 lower)" in wide.summary()


def test_the_share_outside_is_that_of_the_definition(model, found):
    row = found.table[(found.table["model"] == "VVV") & (found.table["n_clusters"] == 2)].iloc[0]
    fits, _ = _rivals.fit_rivals(model.result_)
    fit = fits[2, "VVV"]
    assert fit.bic == row["bic"]
    posteriors = fit.posteriors(FRAME)
    lower, upper = model.intervals_.square()
    outside = [
        not lower[i, j] - 1e-9 <= posteriors[i] @ posteriors[j] <= upper[i, j] + 1e-9
        for i, j in combinations(range(60), 2)
    ]
    assert row["outside"] == pytest.approx(np.mean(outside))
    far = [
        not lower[i, j] - 0.05 <= posteriors[i] @ posteriors[j] <= upper[i, j] + 0.05
        for i, j in combinations(range(60), 2)
    ]
    assert row["far_outside"] == pytest.approx(np.mean(far))
    assert 0.0 < row["far_outside"] < row["outside"]
    assert found.n_pairs == len(outside)


def test_a_rival_is_as_good_as_a_fit_from_the_same_clusters(model):
    fits, _ = _rivals.fit_rivals(model.result_)
    alone = fit_mixture(FRAME, 3, "VVV", start=model.mixture_.posteriors(FRAME))
    assert fits[3, "VVV"].loglik >= alone.loglik - 1e-6


def test_fits_of_the_selection_are_taken_over():
    model = CalibratedClustering([2, 3], model=["EII", "VVV"], **OPTIONS).fit(X)
    fits, _ = _rivals.fit_rivals(model.result_)
    for cell, fit in model.selection_.fits.items():
        if fit is not model.mixture_:
            assert fits[cell].loglik >= fit.loglik


def test_a_weight_of_two_is_the_object_twice():
    intervals = CalibratedClustering(3, model="EII", **OPTIONS).fit(X).intervals_
    posteriors = fit_mixture(X, 2, "VVV").posteriors(X)
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    lower, upper = intervals.square()
    np.fill_diagonal(lower, intervals.own_lower)
    np.fill_diagonal(upper, intervals.own_upper)
    copies = np.repeat(np.arange(60), weights.astype(int))
    P = posteriors @ posteriors.T
    is_outside = (lower - 1e-9 > P) | (upper + 1e-9 < P)
    literal = np.mean([is_outside[i, j] for i, j in combinations(copies, 2)])
    assert CountedPairs(intervals, weights).share_outside(posteriors) == pytest.approx(literal)


def test_objects_that_change_are_named(model):
    wide = rivals(model, bound=1000.0)
    counts = wide.objects.groupby(["n_clusters", "model"]).size()
    table = wide.table.set_index(["n_clusters", "model"])["relabelled"]
    for cell, number in table.items():
        assert counts.get(cell, 0) == number
    assert set(wide.objects["object"]) <= set(FRAME.index)
    one = wide.objects.iloc[0]
    place = FRAME.index.get_loc(one["object"])
    assert one["label"] == model.labels_[place] + 1
    assert one["label"] != one["rival_label"]
    assert (wide.table["left_set"] >= 0).all()
    more = wide.objects[wide.objects["n_clusters"] == 4]
    assert (more["rival_label"] == 0).any()  # a cluster that the fit does not have


def test_relabelling_a_rival_changes_nothing():
    rng = np.random.default_rng(0)
    old, new = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(4), 50)
    labels = matched_labels(old, new, np.ones(50))
    np.testing.assert_array_equal(labels, matched_labels(old, new[:, [2, 0, 3, 1]], np.ones(50)))
    np.testing.assert_array_equal(matched_labels(old, old, np.ones(50)), old.argmax(axis=1))


def test_of_many_objects_the_pairs_of_some_are_counted(model, found, monkeypatch):
    monkeypatch.setattr(_rivals, "MOST_OBJECTS", 40)
    some = rivals(model)
    assert some.n_pairs == 40 * 39 // 2
    assert some.table["bic"].equals(found.table["bic"])
    rows = np.arange(0, 60, 2)
    whole = np.ix_(rows, rows)
    expected = model.intervals_.square()[0][whole]
    np.testing.assert_allclose(intervals_among(model.result_, rows).square()[0], expected)


def test_results_with_a_sample_have_rivals(model, found, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_COMPARED", 30)
    monkeypatch.setattr(pairs, "SAMPLED", 40)
    monkeypatch.setattr(pairs, "SAMPLED_FOR_EACH", 1)
    sampled = CalibratedClustering(3, model="EII", **OPTIONS).fit(FRAME)
    assert sampled.result_.is_sampled
    again = rivals(sampled)
    assert again.n_pairs == found.n_pairs
    assert again.table["outside"].equals(found.table["outside"])


def test_skewed_clusters_have_a_rival_that_matters():
    model = CalibratedClustering(3, model="VVV", n_replicates=40, random_state=0)
    seen = rivals(model.fit(make_skew_t(300, random_state=3).X))
    assert seen.matters()
    assert seen.plausible["outside"].iloc[0] > 0.2
    assert re.search(r"pairs are outside their intervals, \d+% by more than 0.05", seen.summary())


@pytest.mark.parametrize(("lead_aicc", "counts"), [(-1.9, True), (-2.1, False), (np.nan, True)])
def test_a_rival_that_aicc_rules_out_does_not_matter(found, lead_aicc, counts):
    table = found.table.assign(plausible=True, outside=0.5, lead_aicc=lead_aicc)
    assert replace(found, table=table).matters() is counts


def test_another_name_of_the_same_mixture_is_no_rival():
    one = rivals(CalibratedClustering(1, model="EII", **OPTIONS).fit(X)).table
    # With one cluster there are spherical, diagonal and full covariances; the first is the fit.
    assert set(one.loc[one["n_clusters"] == 1, "model"]).isdisjoint({"EII", "VII"})


def test_jobs_change_no_byte(model, found):
    again = rivals(model.result_, n_jobs=2)
    assert again.table.equals(found.table)
    assert again.objects.equals(found.objects)


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_of_categories_only_the_models_tried_are_rivals():
    survey = make_survey(80, random_state=0).X
    model = CalibratedClustering(2, model="latent-class", **OPTIONS).fit(survey)
    assert cells(rivals(model)) == {(1, "latent-class"), (3, "latent-class")}


def test_of_one_column_the_structures_are_e_and_v():
    model = CalibratedClustering(2, model="V", **OPTIONS).fit(X[:, :1])
    names = {name for _, name in cells(rivals(model))}
    assert names == {"E", "V", "t", "skew-t"}


@pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")
def test_few_objects_have_few_rivals():
    # 4 distinct objects carry at most 3 clusters
    few = np.array([[0.0, 0.0], [0.1, 1.0], [5.0, 0.3], [5.2, 1.1]])
    model = CalibratedClustering(3, model="EII", n_replicates=20, random_state=0)
    numbers = {c for c, _ in cells(rivals(model.fit(few)))}
    assert numbers == {1, 2, 3}


def test_what_cannot_be_compared_is_refused(model):
    with pytest.raises(InputError, match="`model` must be a fitted CalibratedClustering"):
        rivals(ECM(2, random_state=0).fit(X))
    with pytest.raises(InputError, match="`model` must have a fitted mixture"):
        rivals(replace(model.result_, mixture=None))
    with pytest.raises(InputError, match="`bound` must be"):
        rivals(model, bound=-1)


def test_mixtures_that_coincide_are_counted_once(model):
    wide = rivals(model, bound=1000.0)
    one = _rivals.distinct_rivals(wide.table).query("n_clusters == 1")
    # With one cluster there are spherical, diagonal and full covariances.
    kinds = [{"EII", "VII"}, {"EEI", "VEI", "EVI", "VVI"}]
    kinds.append(set(STRUCTURES) - set.union(*kinds))
    assert sorted(map(len, kinds)) == sorted(len(names.split(", ")) for names in one["model"])
    assert all(set(names.split(", ")) in kinds for names in one["model"])
    number = len(_rivals.distinct_rivals(wide.table))
    assert number <= len(wide.table) - 11
    assert wide.summary().startswith(f"{number} of {number} rivals")
    assert repr(wide).startswith(f"Rivals({number} rivals, {number} plausible")
    assert _rivals.distinct_rivals(wide.table.head(0)).empty


def test_a_rival_with_as_many_parameters_as_objects_is_not_plausible(found):
    table = found.table.assign(plausible=True, outside=0.5, lead_aicc=1.0)
    table.loc[table.index[0], "lead_aicc"] = -np.inf
    assert len(replace(found, table=table).plausible) == len(table) - 1
