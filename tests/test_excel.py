"""Sheets of Excel files as tables."""

import time
from datetime import date

import numpy as np
import pandas as pd
import pytest

from credpart.datasets import load_iris
from credpart.tables import TextFormat, read_objects

openpyxl = pytest.importorskip("openpyxl")
IRIS = load_iris()


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def rows_of(frame):
    return [list(frame), *frame.astype(object).to_numpy().tolist()]


def test_numbers_come_back_to_the_last_bit(tmp_path):
    x = np.random.default_rng(0).standard_normal((40, 3)) * 10.0 ** np.arange(-20, 40, 20)
    x = np.vectorize(lambda value: float(f"{value:.15g}"))(x)  # the digits that Excel keeps
    frame = pd.DataFrame(x, columns=list("abc"))
    found = read_objects(book(tmp_path / "a.xlsx", data=rows_of(frame)))
    assert found.X.to_numpy().tobytes() == x.tobytes()


def test_names_classes_and_missing_cells(tmp_path):
    frame = IRIS.X.astype(object).assign(kind=IRIS.y, name=[f"00{i}" for i in range(150)])
    frame.iloc[4, 1] = None
    path = book(tmp_path / "a.xlsx", data=rows_of(frame))
    found = read_objects(path, label_column="kind", missing="drop")
    assert found.X.shape == (149, 4)
    assert found.ids[0] == "000"
    assert found.classes[0] == "setosa"


def test_a_table_may_begin_anywhere_in_the_sheet(tmp_path):
    rows = [[], [], [None, "x", "y"], *[[None, i * 0.5, i % 3 + 0.25] for i in range(9)], []]
    found = read_objects(book(tmp_path / "a.xlsx", data=rows, empty=[]))
    assert list(found.X) == ["x", "y"]
    assert len(found.X) == 9


def test_of_several_sheets_one_is_named(tmp_path):
    rows = [["x", "y"], [1.5, 2.5], [3.5, 4.25]]
    path = book(tmp_path / "a.xlsx", first=rows, second=[["z"], [1.5], [2.5]])
    with pytest.raises(ValueError, match=r"'first', 'second'\. Say which, as in .*sheet='first'"):
        read_objects(path)
    assert list(read_objects(path, text_format=TextFormat(sheet="second")).X) == ["z"]
    with pytest.raises(ValueError, match="must have the sheet 'x', got the sheets 'first'"):
        read_objects(path, text_format=TextFormat(sheet="x"))
    with pytest.raises(ValueError, match=r"`sheet` must be given for \.xlsx and \.h5ad files only"):
        read_objects("iris", text_format=TextFormat(sheet="x"))
    with pytest.raises(ValueError, match="`delimiter` must be given for text files only"):
        read_objects(path, text_format=TextFormat(delimiter=";"))


REFUSED = {
    "no header": ([[1.5, 2.5], [2.5, 3.5]], "which looks like an object. Say"),
    "formula": ([["x", "y"], [1.5, "=A2*2"], [2.5, 1]], r"none for '=A2\*2' in cell B2"),
    "error": ([["x", "y"], [1.5, 2.5], [3.5, "#DIV/0!"], [2.5, 1]], r"na_values=\['#DIV/0!'\]"),
    "date": (
        [["x", "day"], *[[i * 0.5, date(2021, 3, i % 4 + 1)] for i in range(9)]],
        "'2021-03-01' in column 'day', row 0, which is a date",
    ),
    "empty": ([], "must be a table with a header row, got sheets without cells"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_plain_is_asked_about(case, tmp_path):
    rows, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        read_objects(book(tmp_path / "a.xlsx", data=rows))


@pytest.mark.parametrize("content", [b"", b"no", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_excel_file_is_refused(content, tmp_path):
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.xlsx' must be an Excel file"):
        read_objects(tmp_path / "a.xlsx")


def test_a_cell_far_away_makes_no_row_wider(tmp_path):
    path = book(tmp_path / "a.xlsx", data=[["x", "y"], *[[i * 0.5, i % 3] for i in range(9)]])
    made = openpyxl.load_workbook(path)
    made["data"].cell(3000, 16_384).number_format = "0.00"  # a format without a value
    made.save(path)
    began = time.process_time()
    found = read_objects(path)
    # All 3000 rows with 16 384 cells each would take minutes.
    assert time.process_time() - began < 10.0
    assert list(found.X) == ["x", "y"]
    assert len(found.X) == 9
