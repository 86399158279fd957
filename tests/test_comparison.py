import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credpart import ECM, EVCLUS, RECM, CalibratedClustering, compare
from credpart.comparison import METHODS
from credpart.datasets import load_butterfly, load_iris
from credpart.metrics import adjusted_rand, credal_rand, misplaced, nonspecificity


@pytest.fixture(scope="module")
def iris():
    return load_iris()


@pytest.fixture(scope="module")
def found(iris):
    methods = {
        "calibrated": CalibratedClustering(3, model="VEV", n_replicates=40, random_state=0),
        "ecm": ECM(3, delta=100, focal_sets="overlapping", random_state=0),
        "evclus": make_pipeline(StandardScaler(), EVCLUS(3, n_neighbors=50, random_state=0)),
    }
    return compare(iris.X, methods, y=iris.y)


def test_a_row_a_method_with_the_metrics_of_its_partition(found, iris):
    assert list(found.table.index) == ["calibrated", "ecm", "evclus"]
    for name, row in found.table.iterrows():
        partition = found.partitions[name]
        assert row["focal_sets"] == len(partition.focal_sets)
        assert row[["sure", "overlapping", "undecided", "outlying"]].sum() == pytest.approx(1.0)
        assert row["nonspecificity"] == nonspecificity(partition)
        assert row["adjusted_rand"] == adjusted_rand(partition, iris.y)
        assert row["credal_rand"] == credal_rand(partition, iris.y)
        assert row["misplaced"] == misplaced(partition, iris.y)
        assert row["seconds"] > 0.0
    assert repr(found) == "Comparison(calibrated, ecm, evclus)"


def test_the_model_based_partition_is_best_on_iris_as_in_the_paper(found):
    assert found.table["adjusted_rand"].idxmax() == "calibrated"
    assert found.table["misplaced"].idxmax() == "evclus"


def test_agreement_is_symmetric_with_ones(found):
    agreement = found.agreement.to_numpy()
    np.testing.assert_array_equal(agreement, agreement.T)
    np.testing.assert_array_equal(np.diagonal(agreement), 1.0)
    expected = credal_rand(found.partitions["ecm"], found.partitions["evclus"])
    assert found.agreement.loc["ecm", "evclus"] == expected


def test_named_methods_and_no_classes():
    X = load_butterfly().X
    found = compare(X, ["ecm", "recm", "evclus"], n_clusters=2, random_state=0)
    assert "misplaced" not in found.table
    assert found.agreement.to_numpy().min() > 0.5
    again = compare(X, "ecm", n_clusters=2, random_state=0)
    np.testing.assert_array_equal(again.partitions["ecm"].masses, found.partitions["ecm"].masses)
    assert isinstance(METHODS["calibrated"](2, 0), CalibratedClustering)


def test_given_estimators_are_not_fitted():
    model = RECM(2, random_state=0)
    compare(load_butterfly().X, {"mine": model})
    assert not hasattr(model, "partition_")


def test_bad_arguments_are_refused():
    X = load_butterfly().X
    with pytest.raises(ValueError, match="`methods` must be one of 'calibrated', 'ecm'"):
        compare(X, ["kmeans"], n_clusters=2)
    with pytest.raises(ValueError, match="`n_clusters` must be an integer >= 1, got None"):
        compare(X)
    with pytest.raises(ValueError, match="`methods` must name at least one method"):
        compare(X, [], n_clusters=2)
    with pytest.raises(TypeError, match="must have a `partition_` once fitted, got KMeans for 'k'"):
        compare(X, {"k": KMeans(2, n_init=1)})
    with pytest.raises(ValueError, match="`X` must be finite"):
        compare([[np.nan], [1.0]], ["ecm"], n_clusters=1)
