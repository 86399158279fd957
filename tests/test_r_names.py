"""R's names: the same computation as the estimator's, and R's shapes."""

import numpy as np
import pytest

from credpart import CalibratedClustering, bootclus
from credpart.datasets import load_butterfly, make_mixture1

SAMPLE = make_mixture1(60, random_state=0).X


def test_bootclus_is_the_estimator_with_the_model_chosen_once():
    param = {"G": [2, 3], "modelNames": ["EII", "VII"]}
    result = bootclus(SAMPLE, conf=0.95, B=50, param=param, random_state=1)
    model = CalibratedClustering(
        [2, 3], model=["EII", "VII"], selection="once", n_replicates=50, level=0.95, random_state=1
    ).fit(SAMPLE)
    assert set(result.model.replicates_.models) == {result.clus.model}
    assert result.clus.bic == model.mixture_.bic == model.selection_.best.bic
    np.testing.assert_array_equal(result.Clus.masses, model.partition_.masses)
    assert list(result.Time) == ["select", "bootstrap", "intervals", "partition"]


def test_intervals_have_the_shape_of_r():
    result = bootclus(SAMPLE, B=40, param={"G": 3, "modelNames": "EII"}, random_state=0)
    (low, high), (belief, plausibility) = result.CI, result.BelPl
    for bound in (low, high, belief, plausibility):
        assert bound.shape == (60, 60)
        np.testing.assert_array_equal(bound, bound.T)
    pairs = np.triu_indices(60, 1)
    np.testing.assert_array_equal(low[pairs], result.model.intervals_.lower)
    J = ((belief - low)[pairs] ** 2 + (plausibility - high)[pairs] ** 2).sum()
    assert pytest.approx(result.model.objective_) == J  # Eq. (8)


@pytest.mark.parametrize(
    ("kind", "omega", "n_sets"), [("simple", False, 3), ("simple", True, 4), ("full", True, 7)]
)
def test_types_of_focal_sets(kind, omega, n_sets):
    param = {"G": 3, "modelNames": "EII"}
    result = bootclus(SAMPLE, B=20, param=param, type=kind, Omega=omega, random_state=0)
    assert len(result.Clus.focal_sets) == n_sets


def test_null_of_r_is_none():
    # 11 points carry no rich model; R's default, G = NULL, is 1 to 9 clusters.
    result = bootclus(load_butterfly().X, B=20, param={"G": None, "modelNames": "EII"})
    assert result.model.selection_.numbers == tuple(range(1, 10))
    assert repr(result).startswith("Bootclus(EII, EvidentialPartition(n_objects=11")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conf": 90}, "`conf` must be a number in the open interval"),
        ({"B": 10, "conf": 0.9}, "`B` must be an integer >= 20, got 10"),
        ({"type": "singletons"}, "`type` must be one of 'simple', 'pairs', 'full', got 'singl"),
        ({"param": {"prior": 1}}, "`param` must be one of 'G', 'modelNames', got 'prior'"),
        ({"param": 3}, "`param` must be a dict of arguments of Mclust, got 3"),
        ({"Omega": "yes"}, "`omega` must be True or False, got 'yes'"),
    ],
)
def test_messages(arguments, message):
    with pytest.raises(ValueError, match=message):
        bootclus(SAMPLE, **arguments)
