"""Bad inputs, by number: what each must get.  None may crash, hang or answer wrongly in silence."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from credpart import CalibratedClustering
from credpart.datasets import load_iris, make_mixture1
from credpart.errors import DataWarning, DegeneracyWarning

FRAME = load_iris().X.iloc[::2]
X = FRAME.to_numpy()
RNG = np.random.default_rng(0)


def cluster(data, n_clusters=3, model="VVI", **options):
    options = {"n_replicates": 40, "random_state": 0} | options
    return CalibratedClustering(n_clusters, model=model, **options).fit(data)


def changed(row, column, value, kind=float):
    data = FRAME.astype(kind)
    data.iloc[row, column] = value
    return data


REFERENCE = cluster(X).partition_.masses

ERRORS = {  # number: data, arguments, message
    "1 NaN": (changed(4, 2, np.nan), {}, "1 NaN .* the first in column 'petal_length', row 4"),
    "2 inf": (changed(4, 2, np.inf).to_numpy(), {}, "1 inf values, the first in column 2, row 4"),
    "2 -inf": (changed(4, 2, -np.inf).to_numpy(), {}, "1 inf values, the first in column 2, row 4"),
    "3 NA": (changed(7, 1, pd.NA, "Float64"), {}, "the first in column 'sepal_width', row 7"),
    "4 text column": (FRAME.assign(kind="x"), {}, "got 'x' in column 'kind', row 0"),
    "5 text cell": (changed(5, 1, "7", object), {}, "got '7' in column 'sepal_width', row 5"),
    "6 date": (FRAME.assign(day=pd.Timestamp(0)), {}, "column 'day' is of type .*date.*row 0"),
    "7 category": (
        FRAME.assign(kind=pd.Categorical(["u"] * len(X))),
        {},
        r"column 'kind' is of type [Cc]ateg.*row 0: 'u'",
    ),
    "11 identical rows": (np.ones((20, 2)), {}, "1 distinct row.* of 20"),
    "12 too few distinct rows": (np.repeat(X[::30], 9, axis=0), {}, "3 distinct row.* of 27"),
    "13 n < c": (X[:2], {}, r"\(n = 2\) for n_clusters=3; at least 4 are needed"),
    "14 n == c": (X[::30], {}, r"\(n = 3\) for n_clusters=3; at least 4 are needed"),
    "15 one row": (X[:1], {}, r"at least 2 rows, got 1 sample \(shape=\(1, 4\)\)"),
    "16 no row": (X[:0], {}, r"at least 2 rows, got 0 sample\(s\) \(shape=\(0, 4\)\)"),
    "17 no column": (X[:, :0], {}, r"0 feature\(s\) \(shape=\(75, 0\)\)"),
    "18 3-D": (X[None], {}, r"must be 2-D, got shape \(1, 75, 4\)"),
    "19 scalar": (3.0, {}, "must be a 2-D array or a DataFrame, got 3.0"),
    "19 None": (None, {}, "must be a 2-D array or a DataFrame, got None"),
    "21 1-D": (X[:, 0], {}, r"`X.reshape\(-1, 1\)` if it is one feature"),
    "24 c = 0": (X, {"n_clusters": 0}, "`n_clusters` must be an integer >= 1, got 0"),
    "25 c = -1": (X, {"n_clusters": -1}, "`n_clusters` must be an integer >= 1, got -1"),
    "26 c = 2.5": (X, {"n_clusters": 2.5}, "`n_clusters` must be an integer >= 1, got 2.5"),
    "27 c = '3'": (X, {"n_clusters": "3"}, "`n_clusters` must be an integer >= 1, got '3'"),
    "24 c in 2, 0": (X, {"n_clusters": [2, 0]}, "`n_clusters` must be an integer >= 1, got 0"),
    "24 no c": (X, {"n_clusters": []}, "`n_clusters` must name at least one number"),
    "33 outlier at 1e200": (changed(10, 1, 1e200), {}, "below 1e.150 .* column 'sepal_width', row"),
    "35 wide": (
        RNG.standard_normal((10, 15)),
        {"n_clusters": 2, "model": "VVV"},
        "10 distinct rows cannot carry .* the most general model that fits is 'VVI'",
    ),
    "43 duplicate names": (FRAME.set_axis(list("abcb"), axis=1), {}, "got 'b' more than once"),
    "44 model": (X, {"model": "XYZ"}, "`model` must be one of 'auto', 'EII', .*, got 'XYZ'"),
    "44 models": (X, {"model": ["VVV", "X"]}, "`model` must be one of 'EII', .*, got 'X'"),
    "44 model number": (X, {"model": 5}, "`model` must be one of 'auto', 'EII', .*got 5"),
    "44 focal sets": (X, {"focal_sets": "all"}, "`focal_sets` must be one of .* got 'all'"),
    "44 focal array": (X, {"focal_sets": [[1, 0]]}, r"`focal_sets` must be an \(f, 3\) array"),
    "44 criterion": (X, {"criterion": "dic"}, "`criterion` must be one of 'bic', 'icl', 'aic'"),
    "44 selection": (X, {"selection": "never"}, "`selection` must be one of 'each', 'once'"),
    "44 resampling": (X, {"resampling": "x"}, "`resampling` must be one of 'nonparametric'"),
    "44 regularization": (X, {"regularization": "x"}, "`regularization` must be one of"),
    "44 omega": (X, {"omega": "yes"}, "`omega` must be True or False, got 'yes'"),
    "44 overlap": (X, {"overlap": 0}, "`overlap` must be an integer >= 1, got 0"),
    "45 full, c = 13": (
        X,
        {"n_clusters": 13, "focal_sets": "full"},
        "must be at most 12 .* got 13, which has 2.13 - 1 sets. Use `kind='pairs'`",
    ),
    "46 B = 0": (X, {"n_replicates": 0}, "`n_replicates` must be an integer >= 1, got 0"),
    "46 B = -5": (X, {"n_replicates": -5}, "`n_replicates` must be an integer >= 1, got -5"),
    "46 B = 2.5": (X, {"n_replicates": 2.5}, "`n_replicates` must be an integer >= 1, got 2.5"),
    "46 B small": (X, {"n_replicates": 19}, r"at least 2 / \(1 - level\) = 20 for level 0.9"),
    **{
        f"47 level = {level!r}": (
            X,
            {"level": level},
            rf"open interval \(0, 1\), got {re.escape(repr(level))}",
        )
        for level in (0, 1, 1.5, -0.5, np.nan, "0.9")
    },
    "48 complex": (X + 1j, {}, "must be real, got complex128. Use the real and imaginary parts"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_says_what_and_where(case):
    data, arguments, message = ERRORS[case]
    with pytest.raises(ValueError, match=message):
        cluster(data, **arguments)


@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_48_sparse(container):
    with pytest.raises(TypeError, match=r"must be dense, got a sparse container.*`.toarray\(\)`"):
        cluster(container(X))


# 8-10: columns that some structures cannot take

COLUMNS = {
    "8 constant": (lambda x: 0.0 * x[:, 0] + 1.0, "column 4 is constant", "VII"),
    "9 duplicate": (lambda x: x[:, 0], "column 4 is a linear combination of other", "VVI"),
    "10 dependent": (lambda x: x[:, 0] - 2.0 * x[:, 1], "column 4 is a linear combination", "VVI"),
}


@pytest.mark.filterwarnings("ignore::credpart.errors.DataWarning")
@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_that_the_model_cannot_take_is_named(case):
    column, message, _ = COLUMNS[case]
    with pytest.raises(ValueError, match=f"`model` 'VVV' cannot be fitted: {message}"):
        cluster(np.column_stack([X, column(X)]), model="VVV")


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_that_the_model_can_take_is_told_of(case):
    column, message, model = COLUMNS[case]
    with pytest.warns(DataWarning, match=message):
        fitted = cluster(np.column_stack([X, column(X)]), model=model)
    assert fitted.partition_.n_objects == len(X)


def test_12_many_duplicate_rows_are_counted():
    with pytest.warns(DataWarning, match="60 of 75 rows repeat another row") as told:
        fitted = cluster(np.repeat(X[::5], 5, axis=0), model="EII")
    assert len(told) == 1
    masses = fitted.partition_.masses.reshape(15, 5, -1)
    np.testing.assert_allclose(masses, np.broadcast_to(masses[:, :1], masses.shape), atol=1e-6)


# 20-23: small dimensions are no bad input


def test_20_one_feature():
    data = np.random.default_rng(0).standard_normal((60, 1)) + np.repeat([[0.0], [5.0]], 30, axis=0)
    fitted = cluster(data, "auto", "auto")
    assert (fitted.mixture_.model, fitted.mixture_.n_clusters) == ("E", 2)
    assert fitted.partition_.masses.shape == (60, 3)


def test_22_one_cluster():
    fitted = cluster(X, 1)
    np.testing.assert_allclose(fitted.partition_.masses, np.ones((75, 1)))
    belief, plausibility = fitted.partition_.pairwise()
    np.testing.assert_allclose(belief, 1.0)
    np.testing.assert_allclose(plausibility, 1.0)
    assert fitted.objective_ == pytest.approx(0.0, abs=1e-12)


def test_23_two_clusters_are_at_the_exact_optimum():
    fitted = cluster(X[25:], 2)
    lower, upper = fitted.intervals_.square()
    masses = fitted.partition_.masses
    # m(Omega) does not enter J: a point and the set of both clusters are all there is to move
    belief, plausibility = fitted.partition_.pairwise()
    for i in range(0, 50, 7):
        others = np.arange(50) != i
        for j in range(3):
            moved = 0.999 * masses[i] + 0.001 * np.eye(3)[j]
            trial = masses.copy()
            trial[i] = moved
            same = trial[i, 0] * masses[:, 0] + trial[i, 1] * masses[:, 1]
            apart = trial[i, 0] * masses[:, 1] + trial[i, 1] * masses[:, 0]
            old = (belief[i] - lower[i]) ** 2 + (plausibility[i] - upper[i]) ** 2
            new = (same - lower[i]) ** 2 + (1.0 - apart - upper[i]) ** 2
            assert new[others].sum() >= old[others].sum() - 1e-10


# 28-31: units


@pytest.mark.parametrize(
    ("case", "data"),
    [
        ("28 times 1e12", X * 1e12),
        ("29 times 1e-12", X * 1e-12),
        ("30 columns times 1e6 and 1e-6", X * [1e6, 1e-6, 1.0, 1.0]),
    ],
)
def test_units_change_no_masses(case, data):
    assert np.abs(cluster(data).partition_.masses - REFERENCE).max() < 1e-8


def test_31_an_offset_changes_no_masses():
    data = make_mixture1(75, random_state=0).X
    # adding 1e9 rounds the data to 1.2e-7
    one, two = (cluster(values).partition_.masses for values in (data, data + 1e9))
    assert np.abs(one - two).max() < 1e-6


# 32, 34: outliers and tiny clusters


@pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")
def test_32_an_outlier_is_named():
    with pytest.warns(DataWarning, match="row 10 lies more than 1000 interquartile ranges"):
        fitted = cluster(changed(10, 1, 1e6))
    assert np.isfinite(fitted.partition_.masses).all()


def test_34_a_cluster_of_two_points_is_regularised():
    two = np.vstack([RNG.standard_normal((40, 2)), [[30.0, 30.0], [30.1, 30.0]]])
    with pytest.warns(DegeneracyWarning) as told:
        fitted = cluster(two, 2, "VVV")
    messages = [str(warning.message) for warning in told]
    assert re.match("Maximum likelihood broke down for model 'VVV' with 2 clusters", messages[0])
    assert re.match(r"Of 40 replicates: .* regularised. All were kept", messages[1])
    assert len(messages) == 2
    assert fitted.replicates_.counts()["regularised"] > 0


def test_35_more_columns_than_rows_can_do_with_a_structure_that_fits():
    wide = np.random.default_rng(1).standard_normal((10, 15))
    assert cluster(wide, 2, "EII").partition_.n_objects == 10


# 36-43: the same numbers in other containers


@pytest.mark.parametrize(
    ("case", "data", "tolerance"),
    [
        ("36 integers", np.round(X * 10.0).astype(int), 1e-8),
        ("37 float32", X.astype(np.float32), 1e-5),
        ("39 lists", X.tolist(), 0.0),
        ("40 odd index", FRAME.set_axis([f"é{i}" for i in range(75)]), 0.0),
        ("41 Fortran order", np.asfortranarray(X), 0.0),
        ("43 other names", FRAME.set_axis(["é", "日本", "a b", ""], axis=1), 0.0),
    ],
)
def test_the_container_changes_no_masses(case, data, tolerance):
    fitted = cluster(data)
    assert np.abs(fitted.partition_.masses - REFERENCE).max() <= tolerance
    if isinstance(data, pd.DataFrame):
        assert fitted.partition_.to_frame().index.equals(data.index)
        assert fitted.feature_names_in_.tolist() == data.columns.tolist()


def test_38_booleans_are_numbers():
    data = np.random.default_rng(0).random((60, 8)) < 0.5
    one, two = (cluster(values, 2, "EII").partition_.masses for values in (data, data * 1.0))
    assert one.tobytes() == two.tobytes()


def test_42_read_only_data_stay_as_they_are():
    data = X.copy()
    data.flags.writeable = False
    assert cluster(data).partition_.masses.tobytes() == REFERENCE.tobytes()
    assert data.tobytes() == X.tobytes()


# and weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"`sample_weight` must have shape \(75,\), got \(3,\)"),
        (np.zeros(75), "not all 0, got zeros only"),
        (np.full(75, -1.0), "non-negative and not all 0, got -1.0 in row 0"),
        (np.full(75, 1 / 75), "must sum to more than the 3 clusters, got a sum of 1"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        CalibratedClustering(3, model="EII", n_replicates=20).fit(X, sample_weight=weights)
