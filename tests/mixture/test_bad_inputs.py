"""Rows of the list of bad inputs that concern mixtures; containers of data are in test_checks."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from credpart import fit_mixture, select_mixture
from credpart.datasets import load_iris
from credpart.errors import CredpartWarning, DataWarning, DegeneracyWarning, DegenerateMixtureError
from credpart.mixture.covariance.structures import STRUCTURES
from credpart.mixture.optimisation.convergence import Status

FRAME = load_iris().X
X = FRAME.to_numpy()
START = np.repeat([0, 1, 2], 50)
DIAGONAL = {"EII", "VII", "EEI", "VEI", "EVI", "VVI"}

FUNCTIONS = {
    "fit_mixture": lambda data, c=3, **options: fit_mixture(data, c, "EEE", **options),
    "select_mixture": lambda data, c=3, **options: select_mixture(data, c, ["EEE"], **options),
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


def with_cell(value, dtype=float):
    frame = FRAME.astype({"petal_length": dtype})
    frame.iloc[7, 2] = value
    return frame


HOLE = r"`X` must be finite, got {} values, the first in column 'petal_length', row 7\. Drop or imp"
ROWS = r"{} distinct row\(s\) of {} \(n = {}\) for n_clusters=3; at least 4 are needed. Fit fewer"


@each_function
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_cell(np.nan), HOLE.format(r"1 NaN \(missing\) and 0 inf")),
        (with_cell(np.inf), HOLE.format(r"0 NaN \(missing\) and 1 inf")),
        (with_cell(-np.inf), HOLE.format(r"0 NaN \(missing\) and 1 inf")),
        (with_cell(pd.NA, "Float64"), HOLE.format(r"1 NaN \(missing\) and 0 inf")),
        (FRAME.assign(species=load_iris().y), r"got 'setosa' in column 'species', row 0 "),
        (with_cell("1.4", object), r"got '1.4' in column 'petal_length', row 7 .*not converted"),
        (
            FRAME.assign(day=pd.date_range("2020-01-01", periods=150)),
            r"column 'day' is of type datetime64.* \(row 0: Timestamp\('2020-01-01 .*Leave it out",
        ),
        (
            FRAME.assign(kind=pd.Categorical(load_iris().y)),
            r"column 'kind' is of type category \(row 0: 'setosa'\)",
        ),
        (np.ones((20, 3)), ROWS.format(1, 20, 20)),
        (np.repeat(X[:3], 9, axis=0), ROWS.format(3, 27, 27)),
        (X[:2], ROWS.format(2, 2, 2)),
        (X[:3], ROWS.format(3, 3, 3)),
        (X[:1], ROWS.format(1, 1, 1)),
        (X[:0], ROWS.format(0, 0, 0)),
        (X[:, :0], r"`X` must have columns: .*shape=\(150, 0\)"),
        (X.reshape(50, 3, 4), r"`X` must be 2-D, got shape \(50, 3, 4\)"),
        (5.0, r"`X` must be a 2-D array or a DataFrame, got 5.0"),
        (None, r"`X` must be a 2-D array or a DataFrame, got None"),
        (
            X[:, 0],
            r"`X` must be 2-D, got shape \(150,\).*`X.reshape\(-1, 1\)` if it is one feature",
        ),
        (
            FRAME * 1e-170,
            r"vary by 1e-150 or more.*range of 3\.6e-170 in column 'sepal_length'\. Mul",
        ),
        (with_cell(1e200), r"got 1e\+200 in column 'petal_length', row 7.*rescale the column"),
        (FRAME.set_axis(list("abca"), axis=1), r"distinct column names, got 'a' more than once"),
        (X + 1j, r"Complex data not supported: `X` .*real and imaginary parts as columns"),
    ],
)
def test_data_that_are_refused(name, data, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](data)


@each_function
def test_sparse_data_are_refused(name):
    with pytest.raises(TypeError, match=r"`X` must be dense.*Convert it with `.toarray\(\)`"):
        FUNCTIONS[name](scipy.sparse.csr_array(X))


@each_function
@pytest.mark.parametrize("c", [0, -1, 2.5, "3", None, True])
def test_numbers_of_clusters_that_are_refused(name, c):
    with pytest.raises(ValueError, match=r"`n_clusters` must be an integer >= 1, got "):
        FUNCTIONS[name](X, c)


@each_function
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, r"`tol` must be a positive finite number, got 0.0"),
        ({"tol": "tight"}, r"`tol` must be a positive finite number, got 'tight'"),
        ({"max_iter": 0}, r"`max_iter` must be an integer >= 1, got 0"),
        ({"n_starts": 0}, r"`n_starts` must be an integer >= 1, got 0"),
        ({"random_state": -1}, r"`random_state` must be an integer >= 0, got -1"),
        ({"random_state": "x"}, r"`random_state` must be an integer >= 0, got 'x'"),
        ({"sample_weight": np.ones(3)}, r"`sample_weight` must have shape \(150,\), got \(3,\)"),
        ({"sample_weight": np.zeros(150)}, r"`sample_weight` must be finite.*got zeros only"),
        ({"sample_weight": -START}, r"`sample_weight` must be finite.*got -1.0 in row 50"),
    ],
)
def test_options_that_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](X, **options)


@pytest.mark.parametrize("model", ["XXX", "vvv", "E", None, 3, ["VVV"]])
def test_unknown_model_of_a_fit(model):
    with pytest.raises(ValueError, match=r"`model` must be one of 'EII', 'VII', .*'t', .*got "):
        fit_mixture(X, 3, model)


@pytest.mark.parametrize("models", ["XXX", None, 3, ["VVV", "XXX"], ["auto"], [None]])
def test_unknown_models_of_a_selection(models):
    with pytest.raises(ValueError, match=r"`models` must be one of .*'EII', 'VII', .*'t', .*got "):
        select_mixture(X, 3, models)


def test_no_model_and_no_number_of_clusters():
    with pytest.raises(ValueError, match=r"`models` must name at least one model, got none"):
        select_mixture(X, 3, [])
    with pytest.raises(ValueError, match=r"`n_clusters` must name at least one number of clusters"):
        select_mixture(X, [])


def test_unknown_names():
    with pytest.raises(
        ValueError, match=r"`criterion` must be one of 'bic', 'icl', 'aic', got 'b'"
    ):
        select_mixture(X, 3, criterion="b")
    with pytest.raises(ValueError, match=r"`regularization` must be one of 'fallback', 'none', 'p"):
        fit_mixture(X, 3, regularization="ridge")
    with pytest.raises(
        ValueError, match=r"`criterion` must be one of 'bic', 'icl', 'aic', got 'B'"
    ):
        select_mixture(X, 1, ["EII"]).tabulate("B")


ONE_NEGATIVE = np.full((150, 3), 1 / 3)
ONE_NEGATIVE[7] = [1.5, -0.5, 0.0]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (START[:-1], r"`start` must have shape \(150,\) or \(150, 3\), got \(149,\)"),
        (np.ones((150, 2)), r"`start` must have shape \(150,\) or \(150, 3\), got \(150, 2\)"),
        (
            START + 1,
            r"`start` must hold the labels 0 to 2, each at least once, got array\(\[1, 2, 3",
        ),
        (np.minimum(START, 1), r"`start` must hold the labels 0 to 2, each at least once"),
        (load_iris().y, r"`start` must hold the labels 0 to 2, each at least once"),
        (np.full((150, 3), 0.5), r"`start` must have non-negative rows summing to 1, got \[0.5 0"),
        (np.full((150, 3), np.nan), r"`start` must be finite, got 450 NaN"),
        (
            np.tile([0.5, 0.0, 0.5], (150, 1)),
            r"`start` must give each cluster a part of some object, got none for cluster 1",
        ),
        (np.tile([2.0, -1.0, 0.0], (150, 1)), r"`start` must have non-negative rows summing to 1"),
        (ONE_NEGATIVE, r"non-negative rows summing to 1, got \[ 1.5 -0.5  0. \] in row 7"),
        (np.full((150, 3), "a"), r"`start` must hold numbers, got 'a' in column 0, row 0"),
    ],
)
def test_starts_that_are_refused(start, message):
    with pytest.raises(ValueError, match=message):
        fit_mixture(X, 3, start=start)


def test_labels_of_objects_without_weight_are_no_start():
    message = r"`start` must hold the labels 0 to 2, each at least once where weights are positive,"
    with pytest.raises(ValueError, match=message + r" got array\(\[0, 1\]\)"):
        fit_mixture(X, 3, start=START, sample_weight=1.0 * (START < 2))


DEGENERATE_COLUMNS = {
    "constant": (FRAME.assign(k=3.0), r"column 'k' is constant", {"EII", "VII"}),
    "duplicate": (
        FRAME.assign(k=FRAME["sepal_width"]),
        r"column 'k' is a linear combination of other columns",
        DIAGONAL,
    ),
    "dependent": (
        FRAME.assign(k=FRAME["sepal_width"] - 2 * FRAME["petal_width"] + 5),
        r"column 'k' is a linear combination of other columns",
        DIAGONAL,
    ),
}


@pytest.mark.parametrize("kind", DEGENERATE_COLUMNS)
def test_columns_that_full_covariances_cannot_take(kind):
    data, reason, carried = DEGENERATE_COLUMNS[kind]
    for model in STRUCTURES:
        if model in carried:
            with pytest.warns(DataWarning, match=f"The data: {reason}"):
                assert fit_mixture(data, 3, model, start=START).status == Status.OK
        else:
            message = f"`model` '{model}' cannot be fitted: {reason}. Leave columns out"
            with pytest.raises(ValueError, match=message):
                fit_mixture(data, 3, model, start=START)


@pytest.mark.parametrize("kind", DEGENERATE_COLUMNS)
def test_selection_leaves_out_what_columns_forbid(kind):
    data, reason, carried = DEGENERATE_COLUMNS[kind]
    with pytest.warns(DataWarning, match=f"The data: {reason}") as caught:
        chosen = select_mixture(data, 2)
    assert len(caught) == 1
    assert {model for _, model in chosen.fits} == carried
    assert set(chosen.missing) == {(2, model) for model in STRUCTURES if model not in carried}
    assert all(why.startswith("column 'k' is") for why in chosen.missing.values())
    with pytest.raises(ValueError, match=f"None of the models can be fitted: {reason}"):
        select_mixture(data, 2, ["EEE", "VVV"])


@each_function
def test_many_duplicate_rows_give_one_warning(name):
    data = np.repeat(X[::5], 5, axis=0)
    distinct = len(np.unique(data, axis=0))
    with pytest.warns(
        DataWarning, match=f"{150 - distinct} of 150 rows repeat another row"
    ) as seen:
        FUNCTIONS[name](data)
    assert len(seen) == 1


def test_more_columns_than_rows():
    data = np.random.default_rng(0).standard_normal((12, 20))
    message = (
        r"`model` 'VVV' cannot be fitted: 12 distinct rows cannot carry a full covariance of 20 "
        r"columns with 2 clusters \(at least 22\); the most general model that fits is 'VVI'"
    )
    with pytest.raises(ValueError, match=message):
        fit_mixture(data, 2)
    chosen = select_mixture(data, 2)
    assert {model for _, model in chosen.fits} == DIAGONAL


@each_function
@pytest.mark.parametrize("c", [1, 2])
def test_one_and_two_clusters(name, c):
    result = FUNCTIONS[name](X, c)
    posteriors = getattr(result, "best", result).posteriors(X)
    assert posteriors.shape == (150, c)
    assert_allclose(posteriors.sum(axis=1), 1.0)


@pytest.mark.parametrize("model", ["E", "V", "VVV"])
def test_one_feature(model):
    data = X[:, [2]] + 1e-3 * np.arange(150)[:, None]  # no ties
    assert fit_mixture(data, 2, model).posteriors(data).shape == (150, 2)


def test_far_outlier_is_named():
    # the index is the place in the data, rows without weight included
    data = np.vstack([X, [[1e6, 3.0, 1.0, 1.0]]])
    with pytest.warns(DataWarning, match=r"row 150 lies more than 1000 .* of column 0 \(1 such"):
        fit = fit_mixture(data, 3, "EEE")
    assert fit.status == Status.OK
    weights = np.r_[0.0, np.ones(150)]
    with pytest.warns(DataWarning, match=r"row 150 lies more than 1000"):
        fit_mixture(data, 3, "EEE", sample_weight=weights)
    named = pd.DataFrame(data, columns=FRAME.columns)
    with pytest.warns(DataWarning, match=r"of column 'sepal_length'"):
        select_mixture(named, 2, ["EII"])


def test_outlier_leaves_the_other_clusters_as_they_are():
    # four clusters, one of them the outlier: the other three are those of the data without it
    data = np.vstack([X, [[1e6, 3.0, 1.0, 1.0]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredpartWarning)
        fit = fit_mixture(data, 4, "VVV", start=np.r_[START, 3])
    assert fit.status == Status.REGULARISED
    alone = fit_mixture(X, 3, "VVV", start=START)
    assert (fit.predict(X) == alone.predict(X)).mean() > 0.97


def test_cluster_of_two_points():
    data = np.vstack([X[:100], [[50.0, 50.0, 50.0, 50.0], [50.1, 50.3, 50.0, 50.2]]])
    with pytest.warns(DegeneracyWarning, match=r"one pseudo-observation of the pooled covariance"):
        fit = fit_mixture(data, 3, "VVV")
    assert fit.status == Status.REGULARISED
    assert np.bincount(fit.predict(data)).min() == 2


KINDS = {
    "list": lambda data: data.tolist(),
    "Fortran order": np.asfortranarray,
    "read-only": lambda data: np.frombuffer(data.tobytes()).reshape(data.shape),
    "object": lambda data: data.astype(object),
    "frame": lambda data: pd.DataFrame(data),
    "odd index": lambda data: pd.DataFrame(data, index=np.arange(150)[::-1] // 2),
    "names": lambda data: pd.DataFrame(data, columns=["длина", "largeur à", "花", "\N{SNOWMAN}"]),
    "Float64": lambda data: pd.DataFrame(data).astype("Float64"),
    "view": lambda data: np.repeat(data, 2, axis=1)[:, ::2],
}


@cache
def plain(name):
    return FUNCTIONS[name](X)


@each_function
@pytest.mark.parametrize("kind", KINDS)
def test_same_numbers_same_bytes(name, kind):
    results = plain(name), FUNCTIONS[name](KINDS[kind](X))
    one, other = (getattr(result, "best", result) for result in results)
    assert one.loglik == other.loglik
    assert_array_equal(one.posteriors(X), other.posteriors(KINDS[kind](X)))


@pytest.mark.parametrize("dtype", [np.int64, np.int16, "Int64", np.float32, "Float32"])
def test_other_types_of_numbers(dtype):
    tenths = pd.DataFrame((10 * X).round())
    data = tenths.astype(dtype)
    fit, same = fit_mixture(tenths, 3, "EEE"), fit_mixture(data, 3, "EEE")
    assert_array_equal(fit.posteriors(tenths), same.posteriors(data))


def test_single_precision():
    single = X.astype(np.float32)
    for model in ("EEE", "VVV"):
        fit, other = (fit_mixture(data, 3, model, start=START) for data in (X, single))
        assert_allclose(other.posteriors(single), fit.posteriors(X), atol=1e-5)


def test_binary_data_that_split_without_spread_are_an_error():
    data = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 10, axis=0)
    with (
        pytest.warns(DataWarning, match="36 of 40 rows repeat another row"),
        pytest.raises(
            DegenerateMixtureError, match=r"singular. Fit fewer clusters or a more.*model\."
        ),
    ):
        fit_mixture(data, 2, "EEE")


def test_booleans():
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.random((80, 2)) < 0.5, rng.random(80) < np.linspace(0, 1, 80)])
    with pytest.warns(DataWarning, match="rows repeat another row"):
        fit = fit_mixture(data, 2, "EII")
    with pytest.warns(DataWarning, match="rows repeat another row"):
        assert fit.loglik == fit_mixture(data.astype(float), 2, "EII").loglik


@pytest.mark.parametrize("value", [1e150, 1e-300])
def test_extreme_units_end_well(value):
    # an error that says so, or the fit of the data in other units; never a wrong number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredpartWarning)
        try:
            fit = fit_mixture(value * X / X.max(), 2, "EEE", start=START > 0)
        except ValueError:
            return
    assert_allclose(
        fit.posteriors(value * X / X.max()), fit_mixture(X, 2, "EEE", start=START > 0).posteriors(X)
    )


@pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")
@pytest.mark.parametrize("model", ["t-EII", "t", "contaminated-EII"])
def test_a_start_with_a_single_object_has_a_regularised_fit(model):
    # The object has no scale matrix of its own, and its weight in the first E-step would be 0 / 0.
    resp = np.zeros((len(X), 2))
    resp[:, 1] = 1.0
    resp[0] = 1.0, 0.0
    fit = fit_mixture(X, 2, model, start=resp, regularization="pooled")
    assert fit.status is Status.REGULARISED
    assert np.isfinite(fit.loglik)
