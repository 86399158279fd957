import dask.dataframe
import numpy as np
import pandas as pd
import pytest

from credpart import (
    CalibratedClustering,
    bootstrap,
    fit_mixture,
    load_model,
    save_model,
    select_mixture,
)
from credpart._columns import Columns, as_cells, as_numbers, read_categories, read_mixed
from credpart.datasets import make_survey
from credpart.datasets.survey import SURVEY
from credpart.errors import DataWarning
from credpart.mixture.optimisation.convergence import Status

SAMPLE = make_survey(200, random_state=0, missing=0.1)
SURVEYED = SAMPLE.X
SMALL = pd.DataFrame(
    {
        "size": [1.5, 2.0, np.nan, 4.0],
        "kind": pd.Categorical(["b", "a", None, "b"], ["b", "a", "never"]),
        "is_new": [True, False, True, True],
    }
)


def test_codes_stand_for_sorted_levels_and_missing_cells_for_themselves():
    table = read_mixed(SMALL)
    assert table.levels == (None, ("a", "b"), (0, 1))
    np.testing.assert_array_equal(
        table.values, [[1.5, 1, 1], [2.0, 0, 0], [np.nan, np.nan, 1], [4.0, 1, 1]]
    )


def test_data_that_come_later_are_read_alike():
    columns = Columns.of(read_mixed(SMALL))
    later = columns.read(SMALL[1:2].assign(kind=["a"]))
    np.testing.assert_array_equal(later.values, [[2.0, 0.0, 0.0]])


@pytest.mark.parametrize("kind", ["polars-like", "object", "int", "float", "bool"])
def test_kinds_of_categories(kind):
    cells = {
        "polars-like": pd.Series(["u", "v", "u", None]),
        "object": pd.Series(["u", "v", "u", None], dtype=object),
        "int": pd.Series([3, 7, 3, None], dtype="Int64"),
        "float": pd.Series([3.0, 7.0, 3.0, np.nan]),
        "bool": pd.Series([False, True, False, None], dtype="boolean"),
    }
    frame = pd.DataFrame({"a": cells[kind], "b": ["x", "x", "y", "y"]})
    np.testing.assert_array_equal(read_categories(frame).values[:, 0], [0, 1, 0, np.nan])


def test_starts_see_indicators():
    seen = as_numbers(read_mixed(SMALL))
    third = [2.5, 1 / 3, 2 / 3, 0.0, 1.0]
    np.testing.assert_allclose(seen[[0, 2]], [[1.5, 0.0, 1.0, 0.0, 1.0], third])


# --- models


def test_latent_classes_of_a_survey_are_found():
    fit = fit_mixture(SURVEYED, 3, "latent-class")
    assert fit.status == Status.OK
    assert "pseudo-observation" in fit.remarks[0]
    assert fit.n_parameters == 2 + 3 * (5 + 2 * 2 + 3)
    # classes in the order of the truth
    order = [fit.posteriors(SURVEYED)[SAMPLE.y == k].mean(axis=0).argmax() for k in range(3)]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(fit.params.proportions[order], SURVEY.proportions, atol=0.15)
    X, labels = fit.sample(50, 0)
    assert X.shape == (50, 8)
    assert labels.max() == 2


def test_codes_and_categories_are_the_same_data():
    codes = np.column_stack(
        [np.where(column.cat.codes < 0, np.nan, column.cat.codes) for _, column in SURVEYED.items()]
    )
    # levels are sorted by name in a frame, by number here: other codes, the same classes
    one, two = (fit_mixture(data, 2, "latent-class") for data in (SURVEYED, codes))
    assert one.loglik == pytest.approx(two.loglik, abs=1e-4)


@pytest.mark.parametrize("resampling", ["nonparametric", "bayesian", "parametric"])
def test_replicates_of_latent_classes(resampling):
    fit = fit_mixture(SURVEYED, 2, "latent-class")
    replicates = bootstrap(SURVEYED, fit, 20, resampling=resampling, random_state=0)
    np.testing.assert_allclose(replicates.posteriors(SURVEYED).sum(axis=2), 1.0)
    assert replicates.counts()["ok"] == 20


def test_auto_takes_latent_classes_for_categories():
    model = CalibratedClustering((2, 3), n_replicates=40, random_state=0).fit(SURVEYED)
    assert model.mixture_.model == "latent-class"
    some = SURVEYED[:5]
    np.testing.assert_allclose(model.predict_masses(some).sum(axis=1), 1.0)
    assert (model.predict(some) == model.labels_[:5]).mean() > 0.5
    assert "latent-class" in model.summary()
    again = model.refit_partition(level=0.8)
    assert again.intervals_.level == 0.8


def test_models_of_categories_can_be_kept(tmp_path):
    model = CalibratedClustering(2, n_replicates=20, random_state=0).fit(SURVEYED)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.predict_masses(SURVEYED).tobytes() == model.predict_masses(SURVEYED).tobytes()
    shown = as_cells(again.result_.data)
    assert ((shown == SURVEYED.to_numpy(dtype=object)) | SURVEYED.isna().to_numpy()).all()


def mixed_data(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return pd.DataFrame(
        {
            "x": rng.normal(3.0 * y),
            "colour": pd.Categorical(np.where(rng.random(n) < 0.2 + 0.6 * y, "red", "blue")),
            "is_new": rng.random(n) < 0.3 + 0.4 * y,
        }
    ), y


def test_auto_takes_mixed_for_numbers_and_categories():
    frame, y = mixed_data()
    model = CalibratedClustering(2, n_replicates=40, random_state=0).fit(frame)
    assert model.mixture_.model == "mixed"
    assert max((model.labels_ == y).mean(), (model.labels_ != y).mean()) > 0.9
    assert model.mixture_.n_parameters == 1 + 2 * (2 + 1 + 1)


def test_auto_on_text_says_so():
    frame, _ = mixed_data()
    texts = frame.assign(colour=frame["colour"].astype(str))
    with pytest.warns(DataWarning, match="The text of 'colour' is read as categories.*'mixed'"):
        selection = select_mixture(texts, 2)
    assert selection.best.loglik == pytest.approx(fit_mixture(frame, 2, "mixed").loglik)


def test_numbers_stay_numbers():
    frame, _ = mixed_data()
    whole = frame.assign(x=np.arange(150) % 7)
    assert fit_mixture(whole, 2, "mixed").columns.levels[0] is None
    with pytest.raises(ValueError, match="column 'colour' is of type category"):
        fit_mixture(frame, 2, "VVV")


# --- bad inputs


def changed(row, column, value):
    frame = SURVEYED.astype(object)
    frame.iloc[row, column] = value
    return frame


BAD = {
    "all-missing column": (SURVEYED.assign(q3=None), "only missing cells in column 'q3'"),
    "all-missing row": (changed(7, slice(None), None), r"only missing cells in row 7 \(1 such"),
    "one level": (SURVEYED.assign(q2="yes"), "two levels .*'yes' only in column 'q2'"),
    "names": (SURVEYED.assign(id=[f"p{i}" for i in range(200)]), "200 different values .*'id'"),
    "fraction": (SURVEYED.assign(q1=np.arange(200) / 4), r"got 0.25 in column 'q1', row 1"),
    "date": (SURVEYED.assign(q1=pd.Timestamp(0)), r"got Timestamp.* in column 'q1', row 0"),
    "one row": (SURVEYED[:1], "at least two levels|more distinct rows"),
    "no rows": (SURVEYED[:0], "only missing cells|at least"),
    "three axes": (np.zeros((2, 2, 2)), r"must be 2-D, got shape \(2, 2, 2\)"),
    "ragged": ([["a", "b"], ["a"]], r"must be 2-D, got shape \(2,\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_categories_are_refused(case):
    data, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        fit_mixture(data, 2, "latent-class")


def test_unseen_level_at_prediction():
    fit = fit_mixture(SURVEYED, 2, "latent-class")
    with pytest.raises(ValueError, match=r"fit has seen \('no', 'yes'\), got 'maybe'.*'q2', row 3"):
        fit.posteriors(changed(3, 1, "maybe"))
    with pytest.raises(ValueError, match="8 columns as in the fit, got 7"):
        fit.posteriors(SURVEYED[[f"q{j}" for j in range(1, 8)]])


def test_mixed_models_need_both_kinds():
    with pytest.raises(ValueError, match=r"none of numbers\. Use model 'latent-class'"):
        fit_mixture(SURVEYED, 2, "mixed")
    with pytest.raises(ValueError, match=r"none of categories\. Use model 'VVI'"):
        fit_mixture(np.random.default_rng(0).random((20, 2)), 2, "mixed")
    frame, _ = mixed_data()
    with pytest.raises(ValueError, match="column 'x' is constant"):
        fit_mixture(frame.assign(x=1.0), 2, "mixed")
    with pytest.raises(ValueError, match="got 'w' among the numbers of column 'x', row 2"):
        fit_mixture(frame.astype({"x": object}).assign(x=[0.5, 1.5, "w"] * 50), 2, "mixed")
    with pytest.raises(ValueError, match="1 inf values, the first in column 'x', row 0"):
        fit_mixture(frame.assign(x=frame["x"].where(frame.index > 0, np.inf)), 2, "mixed")


def test_models_of_numbers_and_of_categories_are_not_compared():
    with pytest.raises(ValueError, match="`models` must be models that read the data alike"):
        select_mixture(SURVEYED, 2, ["VVV", "latent-class"])


# --- frames that are not in memory


@pytest.mark.parametrize("model", ["VVV", "mixed"])
def test_a_frame_that_is_not_computed_is_refused_with_the_way_to_compute_it(model):
    frame, _ = mixed_data()
    lazy = dask.dataframe.from_pandas(frame, npartitions=2)
    message = r"`X` must be a table in memory, got a DataFrame of dask.*Pass `X.compute\(\)`"
    with pytest.raises(TypeError, match=message):
        fit_mixture(lazy, 2, model)
    assert fit_mixture(lazy.compute(), 2, "mixed").status == Status.OK
