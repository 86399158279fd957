"""Probabilities, columns and tables of new objects."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credpart import ECM, EVCLUS, RECM, CalibratedClustering, EvidentialPartition
from credpart.datasets import load_iris

IRIS = load_iris()
OLD, NEW = IRIS.X.iloc[::2], IRIS.X.iloc[1::2]


@pytest.fixture(scope="module")
def fitted():
    return CalibratedClustering(3, model="EEE", n_replicates=40, random_state=0).fit(OLD)


def ecm():
    return ECM(3, random_state=0).fit(OLD)


@pytest.mark.parametrize("build", [None, ecm])
def test_everything_of_new_objects_is_read_from_their_masses(fitted, build):
    model = fitted if build is None else build()
    partition = EvidentialPartition(model.predict_masses(NEW), model.partition_.focal_sets)
    found = model.predict_partition(NEW)
    assert found.masses.tobytes() == partition.masses.tobytes()
    assert found.index.equals(NEW.index)
    assert model.predict_proba(NEW).tobytes() == partition.pignistic.tobytes()
    assert model.predict(NEW).tobytes() == partition.labels.tobytes()
    assert model.transform(NEW).tobytes() == partition.masses.tobytes()
    assert model.predict_frame(NEW).equals(partition.to_frame().set_axis(NEW.index))


@pytest.mark.parametrize("kind", [ECM, RECM, EVCLUS])
def test_the_belief_of_the_label_says_how_sure_it_is(fitted, kind):
    for model in (fitted, kind(3, random_state=0).fit(OLD)):
        one_by_one = [model.partition_.belief([label])[i] for i, label in enumerate(model.labels_)]
        np.testing.assert_array_equal(model.probabilities_, one_by_one)


def test_columns_are_named_for_the_sets(fitted):
    names = ["m{1}", "m{2}", "m{3}", "m{1,2}", "m{1,3}", "m{2,3}"]
    assert fitted.get_feature_names_out().tolist() == names
    frame = ecm().set_output(transform="pandas").transform(NEW)
    assert list(frame)[:2] == ["m∅", "m{1}"]
    assert frame.index.equals(NEW.index)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        fitted.get_feature_names_out(list("abcd"))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        CalibratedClustering().get_feature_names_out()


def test_the_score_is_the_mean_log_density_of_objects_that_were_held_out(fitted):
    family, held_out = fitted.mixture_, NEW.to_numpy()
    params, densities = family.params, 0.0
    for weight, mean, matrix in zip(
        params.proportions, params.means, params.covariances, strict=True
    ):
        gaps = held_out - mean
        distances = np.einsum("nd,de,ne->n", gaps, np.linalg.inv(matrix), gaps)
        constant = np.sqrt(np.linalg.det(2 * np.pi * matrix))
        densities = densities + weight * np.exp(-distances / 2) / constant
    assert fitted.score(NEW) == pytest.approx(np.log(densities).mean(), abs=1e-8)
    assert fitted.score(NEW + 5.0) < fitted.score(NEW)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.score(NEW.set_axis(list("abcd"), axis=1))


def test_scikit_learn_chooses_the_number_of_clusters_by_the_score():
    # Every second flower, since the three species stand one after the other.
    X = IRIS.X.to_numpy()
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    scores = [
        cross_val_score(
            CalibratedClustering(c, model="EEE", n_replicates=20, random_state=0), X, cv=folds
        )[0]
        for c in (1, 3)
    ]
    assert scores[1] > scores[0]


def test_masses_are_columns_for_the_next_step_of_a_pipeline(fitted):
    cluster = CalibratedClustering(3, model="EEE", n_replicates=40, random_state=0)
    pipe = make_pipeline(StandardScaler(), cluster).set_output(transform="pandas").fit(OLD)
    masses = pipe[-1].predict_masses(pipe[:-1].transform(NEW))
    assert pipe.transform(NEW).to_numpy().tobytes() == masses.tobytes()
    assert list(pipe.transform(NEW)) == cluster.get_feature_names_out().tolist()
    np.testing.assert_allclose(pipe.predict_proba(NEW).sum(axis=1), 1.0)
    assert np.isfinite(pipe.score(NEW))
    # EEE does not depend on the units: scaling first changes nothing.
    np.testing.assert_allclose(masses, fitted.predict_masses(NEW), atol=1e-6)
    classifier = make_pipeline(cluster, LogisticRegression())
    assert classifier.fit(OLD, IRIS.y[::2]).score(NEW, IRIS.y[1::2]) > 0.9


def test_polars_in_polars_out(fitted):
    polars = pytest.importorskip("polars")
    new = polars.DataFrame({name: NEW[name].to_list() for name in NEW})
    frame = fitted.predict_frame(new)
    assert isinstance(frame, polars.DataFrame)
    expected = fitted.predict_frame(NEW)
    assert frame.columns == list(expected)
    assert frame["label"].to_list() == expected["label"].to_list()
    assert frame["m{1}"].to_numpy().tobytes() == expected["m{1}"].to_numpy().tobytes()
    assert fitted.predict_proba(new).tobytes() == fitted.predict_proba(NEW).tobytes()
    old = polars.DataFrame({name: OLD[name].to_list() for name in OLD})
    again = CalibratedClustering(3, model="EEE", n_replicates=40, random_state=0)
    assert isinstance(again.set_output(transform="polars").fit_transform(old), polars.DataFrame)
    assert again.partition_.masses.tobytes() == fitted.partition_.masses.tobytes()


def test_a_table_of_another_library_has_the_index_as_a_column():
    pyarrow = pytest.importorskip("pyarrow")
    partition = EvidentialPartition.from_hard([0, 1], index=["a", "b"])
    table = partition.to_frame("pyarrow")
    assert isinstance(table, pyarrow.Table)
    assert table["id"].to_pylist() == ["a", "b"]
    assert table["label"].to_pylist() == [1, 2]
    assert "id" not in EvidentialPartition.from_hard([0, 1]).to_frame("pyarrow").column_names
    assert isinstance(partition.to_frame("pandas"), pd.DataFrame)
    with pytest.raises(ValueError, match="`backend` must be a library of tables"):
        partition.to_frame("nonsense")
