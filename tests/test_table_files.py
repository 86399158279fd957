"""Tables that commands write: kinds of files, and the columns of the data beside the masses."""

import sys

import numpy as np
import pandas as pd
import pytest

from credpart.cli import main
from credpart.cli.table_files import beside, write_annotated, write_excel

HEAD = "id,note,x,label\n"


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """A file with a name, a note, a number as it was written, and a class called "label"."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.0, 1.0, 30), rng.normal(8.0, 1.0, 30)])
    path = tmp_path_factory.mktemp("data") / "flowers.csv"
    rows = [f"f{i:03d},=1+{i},{value:.3e},{'ab'[i // 30]}\n" for i, value in enumerate(x)]
    path.write_text(HEAD + "".join(rows))
    return path


def run(*arguments):
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return end.code
    return 0


FIT = ("--clusters", "2", "--model", "E", "--replicates", "40", "--quiet")
COLUMNS = ("--columns", "x", "--id-column", "id", "--label-column", "label")


@pytest.fixture(scope="module")
def fitted(flowers):
    out = flowers.parent / "out"
    assert run("fit", flowers, *COLUMNS, *FIT, "--keep-columns", "--raw-text", "--out", out) == 0
    return out


def test_the_columns_of_the_data_stand_beside_the_masses_as_they_were_written(fitted, flowers):
    found = pd.read_csv(fitted / "masses.csv", dtype=str, keep_default_na=False)
    data = pd.read_csv(flowers, dtype=str, keep_default_na=False)
    assert list(found)[:6] == ["id", "note", "x", "data_label", "label", "set_label"]
    for theirs, ours in (("id", "id"), ("note", "note"), ("x", "x"), ("label", "data_label")):
        assert found[ours].tolist() == data[theirs].tolist()
    # Clusters count from 1, wherever a person reads them.
    assert set(found["label"]) == {"1", "2"}


def test_cells_that_a_spreadsheet_would_run_are_counted(fitted, flowers, tmp_path, capsys):
    out = tmp_path / "new.csv"
    assert run("predict", fitted, flowers, "--id-column", "id", "--keep-columns", "--out", out) == 0
    said = capsys.readouterr().err
    assert "60 cells of kept columns that a spreadsheet might run as a formula" in said
    assert pd.read_csv(out)["note"][0] == "'=1+0"


def test_tables_are_of_the_kind_that_the_ending_says(fitted, flowers, tmp_path):
    pytest.importorskip("pyarrow")
    arguments = ("predict", fitted, flowers, "--id-column", "id", "--keep-columns", "--quiet")
    for name in ("new.parquet", "new.tsv", "new.csv"):
        assert run(*arguments, "--raw-text", "--out", tmp_path / name) == 0
    typed = pd.read_parquet(tmp_path / "new.parquet")
    text = pd.read_csv(tmp_path / "new.csv")
    assert (tmp_path / "new.tsv").read_text().splitlines()[0].split("\t") == list(text)
    assert list(typed) == list(text)
    assert typed["note"].tolist() == text["note"].tolist()  # no apostrophes: nothing runs it
    assert typed["x"].dtype == np.float64
    # the reader of CSV in pandas 2 is right to the last bit but one
    np.testing.assert_allclose(typed["m{1}"], text["m{1}"], rtol=1e-15)
    assert run("select", flowers, *COLUMNS, *FIT[:4], "--out", tmp_path / "s.parquet", "-q") == 0
    assert pd.read_parquet(tmp_path / "s.parquet").shape == (1, 2)


def test_excel_holds_texts_as_texts_and_the_same_bytes_each_time(fitted, flowers, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    arguments = ("predict", fitted, flowers, "--id-column", "id", "--keep-columns", "--quiet")
    for name in ("a.xlsx", "b.xlsx"):
        assert run(*arguments, "--out", tmp_path / name) == 0
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    rows = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows())
    assert [cell.value for cell in rows[0]][:4] == ["id", "note", "x", "data_label"]
    assert (rows[1][1].value, rows[1][1].data_type) == ("=1+0", "s")
    assert (rows[1][2].data_type, rows[1][4].data_type) == ("n", "n")
    assert len(rows) == 61


def test_excel_has_no_cell_for_what_is_missing_or_no_text(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"x": [np.nan, np.inf], "t": ["a\x07b", None]})
    write_excel(frame.rename_axis("id"), tmp_path / "a.xlsx")
    rows = [[c.value for c in row] for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active]
    assert rows == [["id", "x", "t"], [0, None, "a\ufffdb"], [1, "inf", None]]


@pytest.mark.filterwarnings("ignore")  # of anndata
def test_annotated_data_hold_masses_and_all_else(fitted, flowers, tmp_path):
    anndata = pytest.importorskip("anndata")
    arguments = ("predict", fitted, flowers, "--id-column", "id", "--keep-columns", "--quiet")
    for name in ("new.h5ad", "new.csv"):
        assert run(*arguments, "--out", tmp_path / name) == 0
    found = anndata.read_h5ad(tmp_path / "new.h5ad")
    text = pd.read_csv(tmp_path / "new.csv", dtype={"id": str}).set_index("id")
    masses = [name for name in text if name.startswith("m{")]
    assert found.obs_names.tolist() == text.index.tolist()
    assert [*found.obs, *masses] == [*text.drop(columns=masses), *masses]
    assert found.obs["verdict"].astype(str).tolist() == text["verdict"].tolist()
    np.testing.assert_allclose(found.obsm["credpart_masses"], text[masses], rtol=1e-15)
    with pytest.raises(ValueError, match=r"columns without a slash .* Write \.parquet or \.csv"):
        write_annotated(pd.DataFrame({"km/h": [1.0]}), tmp_path / "a.h5ad")


def test_a_table_that_is_too_long_for_excel_is_refused(tmp_path):
    pytest.importorskip("openpyxl")
    with pytest.raises(ValueError, match=r"at most 1048575 rows .* Write \.parquet or \.csv"):
        write_excel(pd.DataFrame({"x": np.zeros(2**20)}), tmp_path / "a.xlsx")


def test_an_ending_that_says_another_kind_is_refused_at_once(fitted, flowers, tmp_path, capsys):
    for name in ("new.json", "new.csv.gz"):
        assert run("predict", fitted, flowers, "--out", tmp_path / name) == 2
        message = "--out must end in one of .csv, .txt, .tsv, .parquet, .xlsx, .h5ad, got"
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_said_before_anything_is_computed(
    flowers, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert run("select", flowers, *COLUMNS, "--out", tmp_path / "a.xlsx") == 2
    needed = "an .xlsx file needs the package openpyxl: pip install 'credpart[excel]'"
    assert needed in capsys.readouterr().err


def test_names_of_results_are_never_taken_by_columns_of_the_data():
    found = pd.DataFrame({"label": [1], "m{1}": [1.0]}, index=pd.Index(["a"], name="id"))
    kept = pd.DataFrame([[1, 2, 3, 4]], columns=["label", "data_label", "id", "x"])
    assert list(beside(kept, found)) == [
        "data_data_label", "data_label", "data_id", "x", "label", "m{1}"
    ]  # fmt: skip


def test_rows_that_are_left_out_are_left_out_of_kept_columns_too(tmp_path):
    path = tmp_path / "a.csv"
    values = np.r_[np.linspace(0, 1, 20), np.linspace(9, 10, 20)]
    rows = [f"n{i},{'' if i == 3 else x},c{i}" for i, x in enumerate(values)]
    path.write_text("name,x,note\n" + "\n".join(rows) + "\n")
    arguments = ("--columns", "x", "--id-column", "name", "--missing", "drop", "--keep-columns")
    assert run("fit", path, *arguments, *FIT, "--out", tmp_path / "out") == 0
    found = pd.read_csv(tmp_path / "out" / "masses.csv")
    assert len(found) == 39
    assert [name[1:] for name in found["id"]] == [note[1:] for note in found["note"]]
