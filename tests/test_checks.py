import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from credpart._checks import (
    check_choice,
    check_cluster_numbers,
    check_data,
    check_fraction,
    check_integer,
    check_positive,
    check_weights,
)

VALUES = np.arange(12.0).reshape(4, 3)
FRAME = pd.DataFrame(VALUES, columns=["a", "b", "c"])


def with_cell(value, row=2, column="b", dtype=object):
    frame = FRAME.astype({column: dtype})
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize("value", [0, -1, 2.5, 3.0, "3", None, True, np.nan, [3], np.array(3)])
def test_what_is_no_integer_in_range(value):
    with pytest.raises(ValueError, match=r"`size` must be an integer >= 1, got "):
        check_integer("size", value, at_least=1)


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1)])
def test_integers(value):
    assert check_integer("size", value, at_least=1) == 1
    assert type(check_integer("size", value, at_least=1)) is int


@pytest.mark.parametrize("value", [0, 1, 1.5, -0.5, np.nan, np.inf, "0.9", None, True, [0.5]])
def test_what_is_no_fraction(value):
    with pytest.raises(ValueError, match=r"`level` must be a number in the open interval \(0, 1\)"):
        check_fraction("level", value)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_fractions(value):
    assert check_fraction("level", value) == 0.5


@pytest.mark.parametrize("value", [0, -1e-9, np.nan, np.inf, "1", None, True])
def test_what_is_not_positive(value):
    with pytest.raises(ValueError, match=r"`tol` must be a positive finite number, got "):
        check_positive("tol", value)
    assert check_positive("tol", np.float64(1e-9)) == 1e-9


@pytest.mark.parametrize("value", ["c", "A", "", None, 1, ["a"]])
def test_what_is_no_choice(value):
    with pytest.raises(ValueError, match=r"`kind` must be one of 'a', 'b', got "):
        check_choice("kind", value, ("a", "b"))
    assert check_choice("kind", "b", {"a": 1, "b": 2}) == "b"


def test_numbers_of_clusters():
    assert check_cluster_numbers(3) == [3]
    assert check_cluster_numbers([4, 2, 2, np.int64(3)]) == [2, 3, 4]
    assert check_cluster_numbers(range(1, 4)) == [1, 2, 3]
    assert check_cluster_numbers("auto", auto=range(1, 3)) == [1, 2]


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", "auto", None, [1, 0], [2, "3"], True])
def test_what_is_no_number_of_clusters(value):
    with pytest.raises(ValueError, match=r"`n_clusters` must be an integer >= 1, got "):
        check_cluster_numbers(value)


def test_no_number_of_clusters():
    with pytest.raises(ValueError, match=r"`n_clusters` must name at least one number of clusters"):
        check_cluster_numbers([])


def test_weights():
    assert_array_equal(check_weights("w", None, 3), [1.0, 1.0, 1.0])
    assert_array_equal(check_weights("w", [0, 2, 1], 3), [0.0, 2.0, 1.0])
    assert_array_equal(check_weights("w", pd.Series([True, False]), 2), [1.0, 0.0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], r"`w` must have shape \(3,\), got \(2,\)"),
        ([[1.0], [2.0], [3.0]], r"`w` must have shape \(3,\), got \(3, 1\)"),
        (1.0, r"`w` must have shape \(3,\), got \(\)"),
        ([1.0, -2.0, 0.0], r"`w` must be finite, non-negative and not all 0, got -2.0 in row 1"),
        ([1.0, 2.0, np.nan], r"`w` must be finite, .* got nan in row 2"),
        ([np.inf, 2.0, 1.0], r"`w` must be finite, .* got inf in row 0"),
        ([0, 0, 0], r"`w` must be finite, .* got zeros only"),
        ([1e15, 1.0, 1.0], r"`w` must sum to at most 1e\+15, got a sum of 1e\+15. A weight says"),
        ([1e308, 1e308, 1e308], r"`w` must sum to at most 1e\+15, got a sum of inf"),
        (["a", "b", "c"], r"`w` must hold numbers, got dtype <U1"),
        ([1, None, 2], r"`w` must hold numbers, got dtype object"),
        ([1j, 1, 2], r"`w` must hold numbers, got dtype complex128"),
    ],
)
def test_bad_weights(value, message):
    with pytest.raises(ValueError, match=message):
        check_weights("w", value, 3)


@pytest.mark.parametrize(
    "data",
    [
        VALUES,
        VALUES.astype(int),
        VALUES.astype(np.float32),
        VALUES.astype(np.float16),
        VALUES.astype(np.uint8),
        VALUES.astype(object),
        VALUES.tolist(),
        [tuple(row) for row in VALUES],
        np.asfortranarray(VALUES),
        VALUES[::-1][::-1],
        FRAME,
        FRAME.astype("Float64"),
        FRAME.astype("Int64"),
        FRAME.astype({"a": "Int8", "b": np.float32, "c": object}),
        FRAME.set_axis([7, 7, -1, 0]),
        np.ma.masked_array(VALUES),
    ],
    ids=str,
)
def test_the_same_data_in_any_container(data):
    table = check_data(data)
    assert table.values.dtype == np.float64
    assert_array_equal(table.values, VALUES)


def test_booleans_are_zeros_and_ones():
    expected = [[1.0, 0.0], [0.0, 1.0]]
    raw = np.array(expected, dtype=bool)
    assert_array_equal(check_data(raw).values, expected)
    assert_array_equal(check_data(pd.DataFrame(raw)).values, expected)
    assert_array_equal(check_data(pd.DataFrame(raw, dtype="boolean")).values, expected)


def test_names_and_index_are_kept():
    frame = FRAME.set_axis(["größe", "重さ", "c d"], axis=1).set_axis(list("wxyz"))
    table = check_data(frame)
    assert table.names == ["größe", "重さ", "c d"]
    assert list(table.index) == list("wxyz")
    assert table.label(1) == "column '重さ'"
    assert check_data(VALUES)[1:] == (None, None, None, False)
    assert check_data(VALUES).label(1) == "column 1"
    assert check_data(FRAME.set_axis([10, 20, 30], axis=1)).names == ["10", "20", "30"]


def test_data_are_not_changed():
    read_only = VALUES.copy()
    read_only.flags.writeable = False
    assert_array_equal(check_data(read_only).values, VALUES)
    source = VALUES.copy()
    check_data(source).values[:] = 0.0
    assert_array_equal(source, VALUES)
    frame = FRAME.copy()
    check_data(frame).values[:] = 0.0
    pd.testing.assert_frame_equal(frame, FRAME)


MISSING = r"got 1 NaN \(missing\) and 0 inf values, the first in column 'b', row 2\. Drop or impute"


@pytest.mark.parametrize(
    "data",
    [
        with_cell(np.nan, dtype=float),
        with_cell(np.nan),
        with_cell(None),
        with_cell(pd.NA),
        with_cell(pd.NA, dtype="Float64"),
        with_cell(pd.NA, dtype="Int64"),
    ],
    ids=["float", "object", "None", "NA", "Float64", "Int64"],
)
def test_missing_values(data):
    with pytest.raises(ValueError, match=MISSING):
        check_data(data)


def test_missing_values_of_arrays():
    holes = VALUES.copy()
    holes[[1, 3, 3], [2, 0, 1]] = np.nan, np.inf, -np.inf
    message = (
        r"`Y` must be finite, got 1 NaN \(missing\) and 2 inf values, the first in column 2, row 1"
    )
    with pytest.raises(ValueError, match=message):
        check_data(holes, name="Y")
    masked = np.ma.masked_array(VALUES, mask=VALUES == 4.0)
    for data in (masked, np.ma.masked_array(VALUES.astype(int), mask=VALUES == 4.0)):
        with pytest.raises(ValueError, match=r"1 NaN \(missing\).* column 1, row 1"):
            check_data(data)


def test_too_large_values():
    with pytest.raises(
        ValueError, match=r"stay below 1e\+150 .* got -1e\+200 in column 'b', row 2.*rescale"
    ):
        check_data(with_cell(-1e200, dtype=float))
    assert check_data(VALUES * 1e148).values.max() == 11e148


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (FRAME.assign(d=list("wxyz")), r"got 'w' in column 'd', row 0 .*not converted"),
        (FRAME.assign(d=pd.array(list("wxyz"), dtype="string")), r"got 'w' in column 'd', row 0"),
        (with_cell("abc"), r"got 'abc' in column 'b', row 2"),
        (with_cell("3.5"), r"got '3.5' in column 'b', row 2 .*even of a number"),
        (with_cell(b"3"), r"got b'3' in column 'b', row 2"),
        (np.array([["1", "2"]]), r"got '1' in column 0, row 0"),
        ([[1.0, 2.0], [3.0, "x"]], r"got .* in column 0, row 0"),  # NumPy turns all into text
        (np.array([[1.0, 2.0], [3.0, "x"]], dtype=object), r"got 'x' in column 1, row 1"),
        (FRAME.assign(d=pd.date_range("2020", periods=4)), r"column 'd' is of type datetime64"),
        (FRAME.assign(d=pd.to_timedelta(range(4))), r"column 'd' is of type timedelta64"),
        (
            FRAME.assign(d=pd.Categorical(list("wxyz"))),
            r"column 'd' is of type category \(row 0: 'w'\).*encode it as numbers",
        ),
        (FRAME.assign(d=pd.Categorical([1, 2, 3, 1])), r"column 'd' is of type category"),
        (FRAME.assign(d=FRAME["a"] + 1j), r"column 'd' is of type complex128"),
        (VALUES + 1j, r"Complex data not supported: `X` must be real, got complex128"),
    ],
)
def test_what_is_no_number(data, message):
    with pytest.raises(ValueError, match=message):
        check_data(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            with_cell(datetime.date(2020, 1, 1)),
            r"got datetime.date\(2020, 1, 1\) in column 'b', row 2",
        ),
        (np.full((2, 2), np.datetime64("2020-01-01")), r"got datetime.date.* in column 0, row 0"),
        (with_cell([1.0]), r"got \[1.0\] in column 'b', row 2"),
        (with_cell(1j), r"got 1j in column 'b', row 2"),
        (scipy.sparse.csr_matrix(VALUES), r"`X` must be dense.*`.toarray\(\)`"),
        (scipy.sparse.coo_array(VALUES), r"`X` must be dense.*`.toarray\(\)`"),
        (FRAME.astype(pd.SparseDtype(float)), r"`X` must be dense.*`.sparse.to_dense\(\)`"),
    ],
)
def test_what_is_of_no_use(data, message):
    with pytest.raises(TypeError, match=message):
        check_data(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, r"`X` must be a 2-D array or a DataFrame, got None"),
        (3.0, r"`X` must be a 2-D array or a DataFrame, got 3.0"),
        ("iris", r"`X` must be a 2-D array or a DataFrame, got 'iris'"),
        (np.array(3.0), r"`X` must be 2-D, got shape \(\)"),
        (
            VALUES[0],
            r"`X` must be 2-D, got shape \(3,\).*`X.reshape\(-1, 1\)` if it is one feature",
        ),
        (FRAME["a"], r"`X` must be 2-D, got shape \(4,\).*`X.reshape\(-1, 1\)`"),
        (VALUES.reshape(2, 2, 3), r"`X` must be 2-D, got shape \(2, 2, 3\)"),
        ([[1.0, 2.0], [3.0]], r"`X` must be a 2-D array, got rows of unequal lengths"),
        (VALUES[:, :0], r"`X` must have columns.*shape=\(4, 0\)"),
        (FRAME.iloc[:, :0], r"`X` must have columns.*shape=\(4, 0\)"),
        (VALUES[:0], r"`X` must have at least 1 rows, got 0 sample\(s\) \(shape=\(0, 3\)\)"),
        (FRAME.iloc[:0], r"`X` must have at least 1 rows, got 0 sample\(s\)"),
        (
            FRAME.set_axis(["a", "b", "a"], axis=1),
            r"`X` must have distinct column names, got 'a' more than once. Rename",
        ),
        (FRAME.set_axis([1, "1", 2], axis=1), r"distinct column names, got '1' more than once"),
    ],
)
def test_what_is_no_table(data, message):
    with pytest.raises(ValueError, match=message):
        check_data(data)


def test_least_number_of_rows():
    with pytest.raises(ValueError, match=r"`X` must have at least 3 rows, got 1 sample \(shape="):
        check_data(VALUES[:1], at_least=3)
    assert check_data(VALUES[:0], at_least=0).values.shape == (0, 3)
