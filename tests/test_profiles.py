"""Profiles of clusters: what is in them, and which columns set them apart."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, f_oneway
from sklearn.datasets import load_wine

from credpart import CalibratedClustering, EvidentialPartition, from_replicates
from credpart._checks import Table
from credpart.datasets import load, make_survey
from credpart.errors import NoMixtureError
from credpart.profiles import find_profiles, find_sizes, weighted_median

WINE = load_wine(as_frame=True).data


def profiles(X, labels, weights=None, levels=None):
    """Profiles of a hard partition."""
    X = np.asarray(X, dtype=float)
    names = [f"x{j}" for j in range(X.shape[1])]
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    partition = EvidentialPartition.from_hard(labels)
    return find_profiles(Table(X, names, None, levels), names, weights, partition)


@pytest.mark.parametrize(
    ("X", "c"),
    [(load("iris").X, 3), (load("diabetes").X, 3), (load("gvhd-sample").X.iloc[::2], 4), (WINE, 3)],
    ids=["iris", "diabetes", "gvhd", "wine"],
)
def test_columns_are_ranked_as_a_one_way_analysis_of_variance_ranks_them(X, c):
    model = CalibratedClustering(c, model="VVI", n_replicates=20, random_state=0).fit(X)
    profile, labels = model.profile(), model.labels_
    F = {name: f_oneway(*(x[labels == k] for k in range(c))).statistic for name, x in X.items()}
    ranked = profile.columns.get_level_values(0).drop("cluster").unique()
    assert ranked.tolist() == sorted(F, key=lambda name: -F[name])
    for k in profile.index:  # one cluster against the others
        inside = labels == k - 1
        F = {name: f_oneway(x[inside], x[~inside]).statistic for name, x in X.items()}
        apart = profile.loc[k, ("cluster", "set_apart_by")].split(", ")
        assert apart == sorted(F, key=lambda name: -F[name])[: len(apart)]


def test_figures_are_those_of_pandas():
    iris = load("iris")
    labels = pd.Categorical(iris.y).codes.astype(int)
    found = profiles(iris.X, labels).to_frame()
    groups = iris.X.set_axis([f"x{j}" for j in range(4)], axis=1).groupby(labels + 1)
    for name, (ours, expected) in {
        "mean": ("mean", groups.mean()),
        "sd": ("sd", groups.std(ddof=0)),
        "median": ("median", groups.median()),
    }.items():
        shown = found.xs(ours, axis=1, level=1)[expected.columns].loc[expected.index]
        np.testing.assert_allclose(shown, expected, err_msg=name)
    assert found["cluster"]["objects"].tolist() == [50, 50, 50]


def test_the_largest_cluster_comes_first_with_its_own_number():
    found = profiles([[0.0], [5.0], [6.0], [7.0]], [0, 1, 1, 1]).to_frame()
    assert found.index.tolist() == [2, 1]
    assert found.loc[2, ("x0", "mean")] == 6.0


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=12), st.integers(0, 9))
def test_a_weight_is_the_object_as_often(weights, seed):
    rng = np.random.default_rng(seed)
    weights = np.array([1, 1, *weights[2:]])
    X, labels = np.round(rng.normal(size=(12, 2)), 1), np.arange(12) % 2
    X[3, 1] = np.nan
    X[:, 0] = rng.integers(0, 3, 12)
    levels = (("a", "b", "c"), None)
    once = profiles(X, labels, weights, levels).to_frame()
    rows = np.repeat(np.arange(12), weights)
    again = profiles(X[rows], labels[rows], levels=levels).to_frame()
    pd.testing.assert_frame_equal(once, again[once.columns])


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=9))
def test_weighted_median_is_that_of_the_repeated_values(pairs):
    values, weights = np.array(pairs, dtype=float).T
    repeated = np.median(np.repeat(values, weights.astype(int)))
    assert weighted_median(values, weights / 7.0) == pytest.approx(repeated)


def test_differences_of_categories_are_those_of_a_chi_squared_test():
    answers = make_survey(120, random_state=0).X
    model = CalibratedClustering(3, model="latent-class", n_replicates=20, random_state=0)
    found = model.fit(answers).result_.profiles()
    labels = model.labels_
    for column in found.columns:
        table = pd.crosstab(labels, answers[column.name])
        phi2 = chi2_contingency(table, correction=False).statistic / len(answers)
        assert column.separation == pytest.approx(phi2 / (min(table.shape) - 1))
        shares = table.div(table.sum(axis=1), axis=0)
        for level in shares:
            np.testing.assert_allclose(column.figures[f"share of {level}"], shares[level])
        inside = pd.crosstab(labels == 0, answers[column.name])
        n, k = len(answers), int((labels == 0).sum())
        phi2 = chi2_contingency(inside, correction=False).statistic / n
        assert column.differences[0] ** 2 * k / (n - k) == pytest.approx(phi2)
    assert max(found.columns, key=lambda column: column.separation) is found.columns[0]


def test_two_categories_differ_as_their_indicator_does():
    codes, labels = np.array([[0.0], [1.0], [1.0], [1.0], [0.0]]), [0, 0, 1, 1, 1]
    (as_category,) = profiles(codes, labels, levels=(("n", "y"),)).columns
    (as_number,) = profiles(codes, labels).columns
    np.testing.assert_allclose(as_category.differences, np.abs(as_number.differences))
    assert as_category.separation == pytest.approx(as_number.separation)
    assert as_category.words(1) == "x0 y 67%"


def test_shares_lie_between_mean_belief_and_mean_plausibility():
    masses = [[1.0, 0.0, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0], [0.0, 0.1, 0.0, 0.9]]
    partition = EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1], [0, 0]])
    sizes = find_sizes(partition, np.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(sizes.low, [(1.0 + 2 * 0.2) / 4, (2 * 0.3 + 0.1) / 4])
    np.testing.assert_allclose(sizes.high, [(1.0 + 2 * 0.7) / 4, (2 * 0.8 + 0.1) / 4])
    np.testing.assert_allclose(sizes.share, (sizes.low + sizes.high) / 2)  # two clusters
    # The third object is an outlier: it counts in no cluster.
    assert sizes.objects.sum() == 3.0


def test_a_cluster_without_objects_and_a_constant_column_are_no_errors():
    partition = EvidentialPartition.from_hard([0, 0, 1], n_clusters=3)
    X = np.array([[1.0, 1e140], [1.0, -1e140], [1.0, 0.0]])
    found = find_profiles(Table(X, None, None), ["constant", "huge"], np.ones(3), partition)
    frame = found.to_frame()
    assert frame.index.tolist() == [1, 2, 3]
    assert np.isnan(frame.loc[3, ("huge", "mean")])
    assert frame["constant"]["difference"].iloc[:2].tolist() == [0.0, 0.0]
    assert np.isfinite(frame.loc[1, ("huge", "sd")])


def test_draws_without_data_have_no_profile():
    posteriors = np.random.default_rng(0).dirichlet([1.0, 1.0], size=(40, 6))
    with pytest.raises(NoMixtureError, match="There is no table of data"):
        from_replicates(posteriors, random_state=0).profile()


def test_figures_of_a_row_have_the_decimals_of_its_standard_deviation():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    X = np.c_[0.5 * rng.standard_normal(300), 1000.0 * rng.standard_normal(300), np.full(300, 2.5)]
    X[:, :2] += np.c_[labels, 5e4 * labels]
    column = {column.name: column for column in profiles(X, labels).columns}
    shown = [column["x0"].text(value) for value in (0.00616, 0.682, 3.756, 1.2, -0.001)]
    assert shown == ["0.01", "0.68", "3.76", "1.20", "0.00"]
    assert column["x1"].text(48_123.4) == "48,123"
    assert column["x1"].text(0.4) == "0"
    assert column["x2"].text(2.5) == "2.5"  # constant: there is no standard deviation
    assert column["x0"].text(np.nan) == "nan"
    # Clusters without any spread of their own leave that of all objects.
    (exact,) = profiles(labels[:, None] / 7.0, labels).columns
    assert exact.text(2 / 7) == "0.2857"
