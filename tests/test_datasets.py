import hashlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from scipy.special import gamma, softmax
from scipy.stats import multivariate_normal

from credpart import datasets
from credpart.datasets import (
    DATASETS,
    load,
    load_butterfly,
    load_diabetes,
    load_gvhd,
    load_iris,
    skewed,
)
from credpart.datasets.generators import TRUTHS

REFERENCE = Path(__file__).parent / "reference"
MAKERS = {
    "example3": datasets.make_example3,
    "mixture1": datasets.make_mixture1,
    "mixture2": datasets.make_mixture2,
    "mixture3": datasets.make_mixture3,
}


@pytest.mark.parametrize(
    ("name", "shape", "sums"),
    [
        # R 4.2.2, mclust 6.0.0: colSums(iris[1:4]), colSums(diabetes[2:4]), colSums(GvHD.pos),
        # colSums(GvHD.pos[1 + scan("gvhd_sample.txt"), ])
        ("iris", (150, 4), [876.5, 458.6, 563.7, 179.9]),
        ("diabetes", (145, 3), [17688, 78414, 26987]),
        ("gvhd", (9083, 4), [2478924, 1911334, 1778190, 2601481]),
        ("gvhd-sample", (1000, 4), [272457, 213539, 193202, 284089]),
        ("butterfly", (11, 2), [0.0, 0.0]),
    ],
)
def test_shapes_and_sums(name, shape, sums):
    data = load(name)
    assert data.name == name
    assert data.X.shape == shape
    assert (data.X.dtypes == np.float64).all()
    np.testing.assert_allclose(data.X.sum(), sums, rtol=1e-12, atol=1e-12)
    assert data.description in repr(data)


def test_iris_is_the_iris_of_r_and_scikit_learn():
    iris, other = load_iris(), sklearn.datasets.load_iris()
    assert np.array_equal(iris.X.to_numpy(), other.data)
    assert np.array_equal(iris.y, other.target_names[other.target])
    assert list(iris.X) == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    # The two rows in which the copy of the UCI repository departs from Fisher's table.
    assert iris.X.iloc[34].tolist() == [4.9, 3.1, 1.5, 0.2]
    assert iris.X.iloc[37].tolist() == [4.9, 3.6, 1.4, 0.1]


def test_diabetes_keeps_the_flaws_of_the_values_that_the_paper_used():
    diabetes = load_diabetes()
    assert list(diabetes.X) == ["glucose", "insulin", "sspg"]
    assert diabetes.X.iloc[0].tolist() == [80, 356, 124]
    assert diabetes.X["insulin"].iloc[103] == 45
    names, counts = np.unique(diabetes.y, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "Chemical": 36,
        "Normal": 76,
        "Overt": 33,
    }


def test_gvhd_sample_is_a_fixed_part_of_the_whole():
    whole, sample = load_gvhd(), load_gvhd(sample=True)
    assert list(whole.X) == ["CD4", "CD8b", "CD3", "CD8"]
    assert whole.y is None
    assert sample.X.index[:5].tolist() == [15, 19, 26, 36, 39]
    assert sample.X.index.is_unique
    pd.testing.assert_frame_equal(whole.X.loc[sample.X.index], sample.X)


def test_butterfly_is_symmetric():
    points = load_butterfly().X.to_numpy()
    assert (
        {tuple(p) for p in points} == {(-x, y) for x, y in points} == {(x, -y) for x, y in points}
    )


def test_loaded_values_are_frozen():
    iris = load_iris()
    with pytest.raises(ValueError, match="read-only"):
        iris.y[0] = "virginica"
    with pytest.raises(AttributeError, match="cannot assign"):
        iris.name = "other"


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"`name` must be one of 'iris', .* got 'irish'"):
        load("irish")
    assert list(DATASETS) == ["iris", "diabetes", "gvhd", "gvhd-sample", "butterfly"]


def test_truths_are_those_of_the_paper():
    assert TRUTHS["example3"].means.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert TRUTHS["mixture1"].means.tolist() == [[0, 0], [0, 3], [3, 0]]
    assert TRUTHS["mixture2"].means.tolist() == [[0, 0], [0, 2.5], [2.5, 0]]
    assert TRUTHS["mixture3"].means.tolist() == [[0, 0], [0, 3], [3, 0]]
    assert TRUTHS["example3"].covariances.tolist() == [[[0.1, 0], [0, 0.1]]] * 3
    assert TRUTHS["mixture1"].covariances.tolist() == [[[1, 0], [0, 1]]] * 3
    assert TRUTHS["mixture2"].covariances.tolist() == [[[1, 0.5], [0.5, 1]]] * 3
    assert TRUTHS["mixture3"].covariances.tolist() == [
        [[1, 0.5], [0.5, 1]],
        [[1.5, -0.75], [-0.75, 1.5]],
        [[1, 0], [0, 1]],
    ]
    for truth in TRUTHS.values():
        assert truth.proportions.tolist() == [1 / 3] * 3


@pytest.mark.parametrize(
    ("name", "n"), [("example3", 30), *((f"mixture{i}", 300) for i in (1, 2, 3))]
)
def test_default_sizes(name, n):
    sample = MAKERS[name](random_state=0)
    assert sample.X.shape == (n, 2)
    assert sample.y.shape == (n,)
    assert sample.truth is TRUTHS[name]
    assert repr(sample) == f"Sample({n} objects x 2, 3 components)"


@pytest.mark.parametrize("name", MAKERS)
def test_posteriors_are_bayes_theorem(name):
    sample = MAKERS[name](50, random_state=1)
    densities = np.column_stack(
        [p * multivariate_normal(m, S).pdf(sample.X) for p, m, S in zip(*sample.truth, strict=True)]
    )
    expected = densities / densities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(sample.posteriors, expected, rtol=1e-10)
    np.testing.assert_allclose(
        sample.pairwise, (expected @ expected.T)[np.triu_indices(50, 1)], rtol=1e-10
    )


@pytest.mark.parametrize("name", MAKERS)
def test_large_samples_have_the_moments_of_the_truth(name):
    n = 60_000
    sample = MAKERS[name](n, random_state=2)
    truth = sample.truth
    for k, (proportion, mean, covariance) in enumerate(zip(*truth, strict=True)):
        own = sample.X[sample.y == k]
        scale = np.sqrt(covariance.diagonal())
        # Five Monte Carlo standard errors: of a share, of means, and of covariances, whose
        # variance is at most 2 (s_d s_e)^2 / n_k for normal data.
        assert abs(len(own) / n - proportion) < 5 * np.sqrt(proportion * (1 - proportion) / n)
        assert (np.abs(own.mean(axis=0) - mean) < 5 * scale / np.sqrt(len(own))).all()
        error = np.abs(np.cov(own.T) - covariance)
        assert (error < 5 * np.sqrt(2 / len(own)) * np.outer(scale, scale)).all()


CALIBRATED = {**MAKERS, "skew_t": datasets.make_skew_t, "survey": datasets.make_survey}


@pytest.mark.parametrize("name", CALIBRATED)
def test_posteriors_are_calibrated(name):
    # E[1(y = k) - posterior_k | X] = 0, so weighted by any function of X it averages to 0; the
    # posterior itself is such a function.  Five standard errors with a variance of at most 1/4.
    n = 60_000
    sample = CALIBRATED[name](n, random_state=3)
    excess = np.eye(3)[sample.y] - sample.posteriors
    assert np.abs(excess.mean(axis=0)).max() < 5 * 0.5 / np.sqrt(n)
    assert np.abs((excess * sample.posteriors).mean(axis=0)).max() < 5 * 0.5 / np.sqrt(n)


def test_same_seed_same_bytes():
    first, second = (datasets.make_mixture3(random_state=7) for _ in range(2))
    assert first.X.tobytes() == second.X.tobytes()
    assert first.y.tobytes() == second.y.tobytes()
    generator = np.random.default_rng(7)
    assert datasets.make_mixture3(random_state=generator).X.tobytes() == first.X.tobytes()
    assert datasets.make_mixture3(random_state=generator).X.tobytes() != first.X.tobytes()


def test_samples_are_frozen():
    sample = datasets.make_mixture1(random_state=0)
    for array in (sample.X, sample.y, sample.posteriors, *sample.truth):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("n", [0, -5, 2.5, "30"])
def test_sizes_that_are_no_counts_are_refused(n):
    with pytest.raises(ValueError, match="`n` must be an integer >= 1, got"):
        datasets.make_example3(n)


def test_skew_t_posteriors_agree_with_the_reference():
    # densities of EMMIXskew, at points that it drew
    table = pd.read_csv(REFERENCE / "skew_t_sample.csv")
    logs = table[["logdens1", "logdens2", "logdens3"]].to_numpy() + np.log([0.3, 0.3, 0.4])
    found = skewed._posteriors(table[["x1", "x2"]].to_numpy(), skewed.SKEWED)
    np.testing.assert_allclose(found, softmax(logs, axis=1), atol=1e-8)


def test_skew_t_has_the_means_of_the_truth():
    n = 60_000
    sample = datasets.make_skew_t(n, random_state=0)
    proportions, locations, _, skewness, dof = sample.truth
    for k in range(3):
        own = sample.X[sample.y == k]
        assert abs(len(own) / n - proportions[k]) < 0.01
        # E |z| E w^(-1/2), for w of mean 1 with a gamma law of shape nu / 2
        half = dof[k] / 2
        factor = np.sqrt(2 * half / np.pi) * gamma(half - 0.5) / gamma(half)
        expected = locations[k] + factor * skewness[k]
        np.testing.assert_allclose(own.mean(axis=0), expected, atol=0.25)


def test_survey_has_the_shares_of_the_truth():
    sample = datasets.make_survey(30_000, random_state=0, missing=0.2)
    assert not sample.X["q1"].isna().any()
    assert sample.X["q2"].isna().mean() == pytest.approx(0.2, abs=0.02)
    for j, table in enumerate(sample.truth.probabilities):
        answers = sample.X[f"q{j + 1}"]
        for k in range(3):
            shares = answers[sample.y == k].value_counts(normalize=True, sort=False)
            np.testing.assert_allclose(shares.to_numpy(), table[k], atol=0.04)


def test_survey_posteriors_are_bayes_theorem():
    sample = datasets.make_survey(40, random_state=1, missing=0.3)
    for i in range(40):
        joint = sample.truth.proportions.copy()
        for j, table in enumerate(sample.truth.probabilities):
            code = sample.X[f"q{j + 1}"].cat.codes.iloc[i]
            joint *= table[:, code] if code >= 0 else 1.0
        np.testing.assert_allclose(sample.posteriors[i], joint / joint.sum(), rtol=1e-10)
    with pytest.raises(ValueError, match=r"`missing` must be in \[0, 1\), got 1.5"):
        datasets.make_survey(5, missing=1.5)


def test_the_files_are_those_whose_origin_is_described():
    folder = files("credpart.datasets")
    text = folder.joinpath("README.md").read_text()
    names = {path.name for path in folder.iterdir() if path.suffix in (".csv", ".txt")}
    for name in names:
        digest = hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest()
        assert f"{digest}  {name}" in text
        assert f"| `{name}` |" in text
