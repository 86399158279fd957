"""Missing numbers through the whole pipeline."""

import json

import numpy as np
import pandas as pd
import pytest

from credpart import CalibratedClustering, diagnose, load_model, rivals, save_model
from credpart.cli.run import main
from credpart.datasets import make_mixture1
from credpart.errors import DataWarning
from credpart.mixture.families.missing_cells import GaussianWithMissing
from credpart.report import to_html

N = 60
OPTIONS = {"model": "EII", "n_replicates": 20, "missing": "model", "random_state": 0}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = make_mixture1(N, random_state=0).X.copy()
    rows = rng.choice(N, 20, replace=False)
    X[rows, rng.integers(2, size=20)] = np.nan
    return pd.DataFrame(X, columns=["x", "y"], index=[f"s{i}" for i in range(N)])


@pytest.fixture(scope="module")
def fitted(frame):
    with pytest.warns(DataWarning, match="20 of 120 cells are missing") as caught:
        model = CalibratedClustering(3, **OPTIONS).fit(frame)
    assert len(caught) == 1
    return model


def test_every_object_has_masses(fitted, frame):
    assert isinstance(fitted.mixture_.family, GaussianWithMissing)
    masses = fitted.partition_.masses
    assert masses.shape[0] == N
    np.testing.assert_allclose(masses.sum(axis=1), 1.0)
    assert list(fitted.partition_.index) == list(frame.index)


def test_new_objects_may_have_missing_cells(fitted):
    new = pd.DataFrame({"x": [np.nan, 3.0], "y": [3.0, np.nan]})
    masses = fitted.predict_masses(new)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0)
    alone = fitted.predict_masses(new[:1])  # one row, an empty column
    np.testing.assert_allclose(alone, masses[:1], atol=1e-10)  # rounding of products of matrices
    with pytest.raises(ValueError, match="only missing cells in row 1"):
        fitted.predict_masses(pd.DataFrame({"x": [1.0, np.nan], "y": [1.0, np.nan]}))


def test_new_objects_with_missing_cells_need_the_option():
    X = make_mixture1(N, random_state=0).X
    model = CalibratedClustering(3, **OPTIONS).fit(X)
    assert np.isfinite(model.predict_masses([[np.nan, 1.0]])).all()
    model = CalibratedClustering(3, **{**OPTIONS, "missing": "error"}).fit(X)
    with pytest.raises(ValueError, match=r"1 NaN \(missing\)"):
        model.predict_masses([[np.nan, 1.0]])


def test_what_is_assumed_is_said(fitted):
    said = "20 of 120 cells are missing (column 'x' "
    assert said in fitted.summary()
    assert "and taken as missing at random." in fitted.summary()
    assert "missing at random" in fitted.mixture_.remarks[0]
    findings = {
        found.topic: str(found) for found in diagnose(fitted, audit=0, rivals=False).findings
    }
    assert "(on objects without missing cells)" in findings["normality"]


def test_rows_without_any_value_are_named(frame):
    empty = frame.copy()
    empty.loc["s7"] = np.nan
    with pytest.raises(ValueError, match=r"only missing cells in row 7 \(id s7\) \(1 such row"):
        CalibratedClustering(3, **OPTIONS).fit(empty)


def test_a_saved_model_is_the_same(fitted, frame, tmp_path):
    save_model(fitted, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.missing == "model"
    assert again.predict_masses(frame).tobytes() == fitted.predict_masses(frame).tobytes()
    from_result = CalibratedClustering(**fitted.result_.parameters())
    assert from_result.missing == "model"


def test_reports_have_empty_cells(fitted):
    html = to_html(fitted)
    assert "missing='model'" in html or "missing=&#39;model&#39;" in html


def test_rivals_are_models_that_have_a_form_for_missing_cells(fitted):
    found = rivals(fitted)
    assert {"VVV", "t"} <= set(found.table["model"])
    assert not any("skew" in name for name in found.table["model"])


def test_the_tag_of_scikit_learn_follows_the_option():
    tags = [CalibratedClustering(missing=m).__sklearn_tags__() for m in ("error", "model")]
    assert [tag.input_tags.allow_nan for tag in tags] == [False, True]


@pytest.mark.filterwarnings("ignore:The data")
def test_t_mixtures_and_choices_of_models(frame):
    options = OPTIONS | {"model": ["EII", "t-EII"]}
    model = CalibratedClustering(3, **options, tol=1e-6).fit(frame)
    assert set(model.selection_.models) == {"EII", "t-EII"}
    np.testing.assert_allclose(model.partition_.masses.sum(axis=1), 1.0)


def test_the_command_line(frame, tmp_path, capsys):
    path, out = tmp_path / "holes.csv", tmp_path / "out"
    frame.to_csv(path, index_label="id")
    options = ["--id-column", "id", "--clusters", "3", "--model", "EII", "--replicates", "20"]
    with pytest.raises(SystemExit):
        main(["fit", str(path), *options, "--out", str(out)])
    assert "Or take them as missing at random: --missing model." in capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(path), *options, "--missing", "model", "--out", str(out)])
    assert "Note: The data: 20 of 120 cells are missing" in capsys.readouterr().err
    summary = json.loads((out / "summary.json").read_text())
    assert any("missing at random" in remark for remark in summary["remarks"])
    with pytest.raises(SystemExit, match="0"):
        main(
            ["predict", str(out), str(path), "--id-column", "id", "--out", str(tmp_path / "p.csv")]
        )
    assert len(pd.read_csv(tmp_path / "p.csv")) == N
    with pytest.raises(SystemExit, match="0"):
        main(["plot", str(out), "--out", str(tmp_path / "p.png")])
    assert "20 objects with missing cells are not drawn" in capsys.readouterr().err
