"""Tables from files: what was written comes back; channels of a cytometer; optional packages."""

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import zipfile

import flowio
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from credpart import fit_mixture
from credpart.cli import main
from credpart.cli.spreadsheet import safe
from credpart.datasets import load_iris
from credpart.errors import FileContentError
from credpart.tables import TextFormat, Transform, read_objects, roles
from tests.attacks import fuzz_tables

IRIS = load_iris()
CHANNELS = ["FSC-A", "FITC-A", "PE-A", "Time"]
EVENTS = np.random.default_rng(0).normal(1000.0, 300.0, (60, 4)).astype(np.float32).astype(float)


@pytest.fixture
def fcs(tmp_path):
    path = tmp_path / "cells.fcs"
    with path.open("wb") as stream:
        markers = ["", "CD4", "", ""]
        flowio.create_fcs(stream, EVENTS.ravel().tolist(), CHANNELS, opt_channel_names=markers)
    return path


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_table_comes_back_as_it_was(kind, tmp_path):
    path = tmp_path / f"iris.{kind}"
    names = [f"flower {i}" for i in range(150)]
    WRITERS[kind](IRIS.X.assign(kind=IRIS.y, name=names), path)
    objects = read_objects(path, id_column="name", label_column="kind")
    pd.testing.assert_frame_equal(objects.X, IRIS.X)
    assert objects.X.to_numpy().tobytes() == IRIS.X.to_numpy().tobytes()
    assert list(objects.ids) == names
    np.testing.assert_array_equal(objects.classes, IRIS.y)


def test_an_index_of_a_parquet_file_can_name_the_objects(tmp_path):
    frame = IRIS.X.set_axis([f"flower {i}" for i in range(150)]).rename_axis("name")
    frame.to_parquet(tmp_path / "iris.parquet")
    objects = read_objects(tmp_path / "iris.parquet", id_column="name")
    assert objects.ids[3] == "flower 3"
    assert list(objects.X) == list(IRIS.X)


def test_an_fcs_file_comes_back_without_its_time(fcs):
    X = read_objects(fcs).X
    assert list(X) == ["FSC-A", "CD4", "PE-A"]
    np.testing.assert_array_equal(X.to_numpy(), EVENTS[:, :3])
    assert list(read_objects(fcs, columns=["Time", "CD4"]).X) == ["Time", "CD4"]


def test_transforms_are_for_fluorescence(fcs):
    X = read_objects(fcs, transform=Transform("asinh", cofactor=5.0)).X.to_numpy()
    np.testing.assert_array_equal(X[:, 0], EVENTS[:, 0])
    np.testing.assert_allclose(np.sinh(X[:, 1:]) * 5.0, EVENTS[:, 1:3])
    logicle = read_objects(fcs, transform=Transform("logicle")).X.to_numpy()
    np.testing.assert_array_equal(logicle[:, 0], EVENTS[:, 0])
    assert (logicle[:, 1].argsort() == EVENTS[:, 1].argsort()).all()


def test_the_logicle_scale_meets_its_definition():
    # Moore and Parks (2012): T is at the top, and the derivative is least at 0.
    scale = Transform("logicle", logicle=(1000.0, 4.0, 1.0, 0.0))
    ends = scale(np.array([[0.0], [1000.0]]))
    np.testing.assert_allclose(ends[:, 0], [1.0 / 4.0, 1.0])


def test_the_command_line_reads_fcs_and_parquet_alike(fcs, tmp_path):
    frame = read_objects(fcs, columns=["CD4", "PE-A"]).X
    frame.to_parquet(tmp_path / "cells.parquet")
    tables = []
    for source in (fcs, tmp_path / "cells.parquet"):
        arguments = "--columns CD4,PE-A --model EII --clusters 2 --replicates 20 -q --out"
        folder = tmp_path / source.suffix[1:]
        with pytest.raises(SystemExit, match="0"):
            main(["fit", str(source), *arguments.split(), str(folder)])
        tables.append((folder / "masses.csv").read_bytes())
    assert tables[0] == tables[1]


def test_predict_transforms_as_the_fit_did(fcs, tmp_path, capsys):
    arguments = "--transform asinh --cofactor 5 --model EII --clusters 2 --replicates 20 -q --out"
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(fcs), *arguments.split(), str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="0"):
        main(["predict", str(tmp_path / "out"), str(fcs), "-q"])
    lines = capsys.readouterr().out.splitlines()
    fitted = (tmp_path / "out" / "masses.csv").read_text().splitlines()
    new, old = (pd.Series([line.split(",")[1] for line in table]) for table in (lines, fitted))
    assert (new == old).all()


def test_the_separator_of_a_csv_file_is_found(tmp_path):
    for mark in ";\t":
        IRIS.X.to_csv(tmp_path / "iris.csv", index=False, sep=mark)
        pd.testing.assert_frame_equal(read_objects(tmp_path / "iris.csv").X, IRIS.X)


def test_names_of_rows_that_r_wrote_are_no_attribute(tmp_path):
    (tmp_path / "r.csv").write_text('"","a","b"\n"1",1,2\n"2",2,3\n')
    objects = read_objects(tmp_path / "r.csv")
    assert list(objects.X) == ["a", "b"]
    assert list(objects.ids) == ["1", "2"]


@pytest.mark.parametrize(
    ("package", "name"), [("flowio", "cells.fcs"), ("pyarrow", "cells.parquet")]
)
def test_a_missing_package_is_named_with_its_remedy(package, name, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs the package {package}: pip install 'credpart"):
        read_objects(tmp_path / name)


def test_text_is_taken_where_categories_are(tmp_path):
    IRIS.X.assign(kind=IRIS.y).to_csv(tmp_path / "iris.csv", index=False)
    objects = read_objects(tmp_path / "iris.csv", categories=True)
    assert objects.X["kind"].iloc[0] == "setosa"
    with pytest.raises(ValueError, match="got 'setosa' in column 'kind', row 0"):
        read_objects(tmp_path / "iris.csv")


# --- text is read as written


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


WORDS = ["None", "NA", "null", "nan", "NaN", "n/a", "", "a"]


def test_only_an_empty_cell_is_missing(tmp_path):
    path = written(tmp_path, "q,x\n" + "".join(f"{word},1\n" for word in WORDS))
    column = read_objects(path, categories=True).X["q"]
    assert [None if cell is None else str(cell) for cell in column] == [w or None for w in WORDS]
    chosen = TextFormat(na_values=["NA", "null"])
    objects = read_objects(path, categories=True, text_format=chosen)
    assert [row for row, cell in enumerate(objects.X["q"]) if cell is None] == [1, 2, 6]
    assert objects.remarks == ("Read as missing by `na_values`: 2 cells of column 'q'.",)


def test_a_word_among_numbers_is_named_with_the_way_out(tmp_path):
    path = written(tmp_path, "x,y\n1,2\n2,NA\n3,4\n")
    with pytest.raises(FileContentError) as caught:
        read_objects(path)
    error = caught.value
    assert (error.row, error.column) == (1, "y")
    assert "got 'NA' in column 'y', row 1. Say `TextFormat(na_values=['NA'])`" in str(error)
    found = read_objects(path, text_format=TextFormat(na_values=["NA"])).X["y"]
    np.testing.assert_array_equal(found, [2.0, np.nan, 4.0])
    # Where there may be categories, such a column might be one of codes: that must be said.
    with pytest.raises(
        FileContentError, match=r"value, `text_columns=\['y'\]` if the column holds"
    ):
        read_objects(path, categories=True)
    assert list(read_objects(path, categories=True, text_columns=["y"]).X["y"]) == ["2", "NA", "4"]


NAMED = "--id-column name --model EII --clusters 2 --replicates 20".split()  # noqa: SIM905
IDS = [
    *("001", "1", "1E2", "100.0", "1.10", "1.1", "123456789012345678", "123456789012345679", ""),
    *(
        " a",
        "a ",
        "\ta",
        'say "a"',
        "a,b",
        "two\nlines",
        "a\rb",
        "a\r\nb",
        "größe",
        "名",
        "'a",
        "NA",
    ),
    *("名", "NA", "🙂", "\u2028", "\ufeff", "0x10", "1_000", "True", "-", "#1"),
]


def as_csv(cells):
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    return "".join(f"{cell},{row % 7},{row % 5}\n" for row, cell in enumerate(quoted))


def test_names_and_classes_are_text_byte_for_byte(tmp_path):
    path = written(tmp_path, "name,x,y\n" + as_csv(IDS))
    assert list(read_objects(path, id_column="name").ids) == IDS
    full = [name or "none" for name in IDS]
    path = written(tmp_path, "name,x,y\n" + as_csv(full))
    assert list(read_objects(path, label_column="name").classes) == full


def test_names_go_out_as_they_came_in(tmp_path, capsys):
    path = written(tmp_path, "name,x,y\n" + as_csv(IDS))
    options = [
        "--id-column",
        "name",
        "--model",
        "EII",
        "--clusters",
        "2",
        "--replicates",
        "20",
        "-q",
    ]
    for more, expected in (([], [safe(name) for name in IDS]), (["--raw-text"], IDS)):
        with pytest.raises(SystemExit, match="0"):
            main(["fit", str(path), *options, *more, "--force", "--out", str(tmp_path / "out")])
        masses = tmp_path / "out" / "masses.csv"
        assert list(read_objects(masses, id_column="id", columns=["m{1}"]).ids) == expected
    assert [name for name in IDS if safe(name) != name] == ["\ta", "-"]


def test_new_objects_keep_their_names(tmp_path, capfd):
    path = written(tmp_path, "name,x,y\n" + as_csv(IDS))
    options = [
        "--id-column",
        "name",
        "--model",
        "EII",
        "--clusters",
        "2",
        "--replicates",
        "20",
        "-q",
    ]
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(path), *options, "-q", "--out", str(tmp_path / "out")])
    new = tmp_path / "new.csv"
    arguments = ["predict", str(tmp_path / "out"), str(path), "--id-column", "name", "--raw-text"]
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "-q", "--out", str(new)])
    assert list(read_objects(new, id_column="id", columns=["m{1}"]).ids) == IDS
    with pytest.raises(SystemExit, match="0"):
        main(["report", str(tmp_path / "out")])


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1+1", "＝1"]
HARMLESS = ["-1.5", "+3", "-1e5", "a=b", "'a", "1", ""]


def test_a_name_that_a_spreadsheet_would_run_is_text_with_an_apostrophe(tmp_path, capsys):
    assert [safe(name) for name in FORMULAS] == [f"'{name}" for name in FORMULAS]
    assert [safe(name) for name in HARMLESS] == HARMLESS
    path = written(tmp_path, "name,x,y\n" + as_csv([*FORMULAS, *HARMLESS]))
    options = NAMED
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(path), *options, "--out", str(tmp_path / "out")])
    assert "Note: 8 names of objects that a spreadsheet might run" in capsys.readouterr().err
    masses = tmp_path / "out" / "masses.csv"
    names = list(read_objects(masses, id_column="id", columns=["m{1}"]).ids)
    assert names == [*(f"'{name}" for name in FORMULAS), *HARMLESS]


def test_names_in_parquet_are_the_text_of_their_type(tmp_path):
    long = [123456789012345678, 123456789012345679, None]
    columns = {
        "name": pa.array(long),
        "price": pa.array(["1.10", "1.1", None]).cast(pa.decimal128(5, 2)),
        "raw": pa.array([b"a", b"\xff", None]),
        "x": [1.0, 2.0, 3.0],
    }
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    path = tmp_path / "data.parquet"
    found = {name: list(read_objects(path, columns=["x"], id_column=name).ids) for name in columns}
    assert found["name"] == ["123456789012345678", "123456789012345679", ""]
    assert found["price"] == ["1.10", "1.10", ""]
    assert found["raw"] == ["a", "\\xff", ""]


def test_numbers_are_read_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 20_000, dtype=np.uint64)
    doubles = [x for x in bits.view(np.float64).tolist() if np.isfinite(x)]
    cells = [
        f"{x:.{digits}{kind}}" for x in doubles[:5000] for digits, kind in ((16, "e"), (17, "g"))
    ]
    cells += [repr(x) for x in doubles]
    digits = rng.integers(0, 10, (5000, 40)).astype(str)
    cells += ["".join(row[:20]) + "." + "".join(row[20:]) for row in digits]
    exponents = rng.integers(-340, 290, 5000)
    cells += [f"{''.join(row[:18])}e{e}" for row, e in zip(digits, exponents, strict=True)]
    # halfway between two doubles, and next to that; the smallest; one that overflows
    cells += ["9007199254740993", "9007199254740992.9999999999999999", "2.4703282292062328e-324"]
    cells += ["2.4703282292062327e-324", "1e400", "-1e-400", "+.5", "5.", " 7 ", "1E+2", "00012"]
    X = read_objects(written(tmp_path, "x\n" + "\n".join(cells) + "\n")).X["x"].to_numpy()
    assert X.tobytes() == struct.pack(f"={len(cells)}d", *map(float, cells))


NOT_NUMBERS = ["1_000", "١٢", "0x10", "1,5", "1 2", "nan", "1e", "--1", " ", "1d3", "½", "∞"]


@pytest.mark.parametrize("cell", NOT_NUMBERS)
def test_what_is_no_number_is_refused(cell, tmp_path):
    path = written(tmp_path, f'x,y\n1,2\n3,4\n5,"{cell}"\n')
    with pytest.raises(FileContentError, match=r"hold numbers, got .* in column 'y', row 2"):
        read_objects(path)


# --- headers, blank lines, delimiters, encodings

HEADERLESS = {
    "numbers": "5.1,3.5\n4.9,3.0\n4.7,3.2\n",
    "numbers and names": "u,5.1,3.5\nv,4.9,3.0\nw,4.7,3.2\n",
    "one column": "1\n2\n3\n",
    "with words": "5.1,3.5\nNA,3.0\n4.7,NA\n2,3\n",
    "repeated": "5.1,5.1\n4.9,3.0\n",
    "categories": "yes,no\nno,no\nyes,yes\nno,yes\n",
    "missing cell": "5.1,\n4.9,3.0\n4.7,3.2\n",
    "a word in the first row": "5.1,NA\n4.9,3.0\n4.7,3.2\n",
    "a single row": "5.1,u\n",
}


@pytest.mark.parametrize("case", HEADERLESS)
def test_a_first_row_that_looks_like_an_object_is_asked_about(case, tmp_path):
    path = written(tmp_path, HEADERLESS[case])
    with pytest.raises(FileContentError, match=r"Say `TextFormat\(header=False\)` if it is an obj"):
        read_objects(path, categories=True)
    chosen = TextFormat(header=False, na_values=["NA"])
    objects = read_objects(path, categories=True, text_format=chosen)
    lines = HEADERLESS[case].splitlines()
    assert objects.X.shape == (len(lines), lines[0].count(",") + 1)
    assert list(objects.X) == [str(j + 1) for j in range(objects.X.shape[1])]


def test_numbers_can_be_names_of_columns(tmp_path):
    path = written(tmp_path, "1990,2000\n4.9,3.0\n4.7,3.2\n")
    objects = read_objects(path, text_format=TextFormat(header=True))
    assert list(objects.X) == ["1990", "2000"]
    assert len(objects.X) == 2


def test_blank_lines(tmp_path):
    single = read_objects(written(tmp_path, "x\n1\n\n3\n\n\n")).X
    np.testing.assert_array_equal(single["x"], [1.0, np.nan, 3.0])
    with pytest.raises(ValueError, match=r"1 NaN .* the first in column 'x', row 1"):
        fit_mixture(single, 1)
    several = read_objects(written(tmp_path, "\nx,y\n1,2\n\n  \n3,4\n\n\n"))
    np.testing.assert_array_equal(several.X, [[1.0, 2.0], [3.0, 4.0]])
    assert several.remarks == ("Left out 2 blank lines between the rows.",)
    assert not read_objects(written(tmp_path, "x,y\n1,2\n3,4\n\n\n")).remarks


UNREADABLE = {
    "short row": ("x,y\n1,2\n3\n", "2 cells in each row, got 1 in line 3"),
    "long row": ("x,y\n1,2\n3,4,5\n", "2 cells in each row, got 3 in line 3"),
    "open quote": ('x,y\n1,2\n"3,4\n5,6\n', "a quote that is not closed in line 4"),
    "after a quote": ('x,y\n1,2\n"3"4,5\n', "text after a closing quote in line 3"),
    "NUL": ("x,y\n1,2\n3,\0\n", "be text, got a NUL character at place 11"),
    "no UTF-8": (b"x,y\n1,2\n3,\xff\n", r"UTF-8, got byte 0xff in line 3. Say .*encoding='cp1252'"),
    "half a UTF-16": (b"\xff\xfex\0,\0y", "be text in UTF-16"),
    "tabs and an open quote": ('x\ty\n1\t2\n3\t"4"5\n', "text after a closing quote in line 3"),
    "no delimiter in the header": ("xy\n1;2\n3;4;5\n", "one cell in each row, got 2 in line 2"),
    "a short row and another delimiter": (
        "a;b,c;d\n1,5;2;3\n2,5;3;4\n3,5;4\n",
        "have one delimiter, got rows that ',' and ';' both",
    ),
    "two delimiters": ("a,b;c,d\n1,2;3,4\n", r"have one delimiter, got rows that ',' and ';' both"),
    "twice": ("x,x\n1,2\n", "distinct column names, got 'x' more than once"),
    "nothing": ("", "an empty file"),
    "blank": ("\n \n\n", "an empty file"),
    "a long cell": ("x,y\n1," + "2" * 140_000 + "\n", "a cell of more than 131072 characters"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_text_that_is_no_table_is_refused(case, tmp_path):
    text, message = UNREADABLE[case]
    with pytest.raises(FileContentError, match=message):
        read_objects(written(tmp_path, text))


def test_what_a_file_does_not_say_can_be_said(tmp_path):
    path = written(tmp_path, "größe|x\n1|2\n".encode("cp1252"))
    objects = read_objects(path, text_format=TextFormat(encoding="cp1252", delimiter="|"))
    assert list(objects.X) == ["größe", "x"]
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        objects = read_objects(written(tmp_path, "größe,x\n1,2\n".encode(encoding)))
        assert list(objects.X) == ["größe", "x"]
    marked = written(tmp_path, "x,y\n1,2\n".encode("utf-8-sig"))
    assert list(read_objects(marked, text_format=TextFormat(encoding="UTF8")).X) == ["x", "y"]


WRONG = {
    "na_values": ("NA", "`na_values` must be a sequence of texts, got 'NA'"),
    "delimiter": ("ab", "`delimiter` must be one character"),
    "encoding": ("rot13", "`encoding` must be an encoding that Python knows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_format_is_checked(name, tmp_path):
    value, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        TextFormat(**{name: value})


def test_a_format_is_for_text(tmp_path):
    with pytest.raises(ValueError, match="`header` must be given for text files only, got True"):
        read_objects("iris", text_format=TextFormat(header=True))


def test_many_rows_are_read_in_blocks(tmp_path):
    n = 25_001
    rows = [f"{i},{i / 7!r},{'ab'[i % 2]}" for i in range(n)]
    path = written(tmp_path, "name,x,kind\n" + "\r\n".join(rows))
    objects = read_objects(path, id_column="name", categories=True)
    assert list(objects.ids) == [str(i) for i in range(n)]
    np.testing.assert_array_equal(objects.X["x"], np.arange(n) / 7)
    assert list(objects.X["kind"][:3]) == ["a", "b", "a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs of POSIX")
@pytest.mark.parametrize("kind", ["csv", "parquet", "fcs"])
def test_a_fifo_is_refused_and_not_waited_for(kind, tmp_path):
    path = tmp_path / f"pipe.{kind}"
    os.mkfifo(path)
    command = [sys.executable, "-m", "credpart", "select", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert ended.returncode == 2
    assert "SOURCE must be a file, got" in ended.stderr
    assert "which is a FIFO" in ended.stderr


def test_text_of_the_fit_is_text_for_new_objects(tmp_path):
    rows = "".join(f"{code},{'uv'[i % 2]}\n" for i, code in enumerate(["1", "2", "x", "y"] * 8))
    options = ["--model", "latent-class", "--clusters", "2", "--replicates", "20", "-q"]
    path = written(tmp_path, "q,r\n" + rows)
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(path), *options, "--text-columns", "q", "--out", str(tmp_path / "out")])
    new = written(tmp_path, "q,r\n1,u\n2,v\n", "new.csv")
    out = str(tmp_path / "masses.csv")
    with pytest.raises(SystemExit, match="0"):
        main(["predict", str(tmp_path / "out"), str(new), "-q", "--out", out])


def test_odd_and_damaged_files_are_read_as_written_or_refused():
    counts, failures = fuzz_tables.attack(400)
    assert not failures, "\n".join(failures[:5])
    assert min(counts["table"], counts["error"]) > 40  # both happen


# --- files as people have them


STYLES = {
    "decimal commas": ("x;y\n1,5;2\n2,25;3\n", [[1.5, 2.0], [2.25, 3.0]], "decimal comma"),
    "with points": ("x;y\n1.234,5;2\n25,0;1.000\n", [[1234.5, 2.0], [25.0, 1000.0]], "by '.'"),
    "with spaces": ("x;y\n1 234,5;2\n25,0;3\n", [[1234.5, 2.0], [25.0, 3.0]], "by ' '"),
    "English groups": ('x,y\n"1,234.5",2\n25,3\n', [[1234.5, 2.0], [25.0, 3.0]], "by ','"),
}


@pytest.mark.parametrize("case", STYLES)
def test_numbers_of_other_countries_are_read_in_the_one_way_that_fits(case, tmp_path):
    text, values, remark = STYLES[case]
    objects = read_objects(written(tmp_path, text))
    np.testing.assert_array_equal(objects.X, values)
    assert remark in objects.remarks[0]
    with pytest.raises(FileContentError, match="hold numbers"):
        read_objects(written(tmp_path, text), text_format=TextFormat(decimal="."))


def test_numbers_that_can_be_read_in_two_ways_are_asked_about(tmp_path):
    path = written(tmp_path, "x;y\n1,234;2\n5,678;3\n")
    with pytest.raises(
        FileContentError, match=r"which may be .*1\.234.* or .*1234\.0.*decimal=','"
    ):
        read_objects(path)
    assert read_objects(path, text_format=TextFormat(decimal=",")).X["x"][0] == 1.234
    assert read_objects(path, text_format=TextFormat(thousands=",")).X["x"][0] == 1234.0


def test_comments_are_left_out(tmp_path):
    text = "# made by a program, on a day\n# in cm\nx,y\n1,2\n3,4\n"
    objects = read_objects(written(tmp_path, text))
    np.testing.assert_array_equal(objects.X, [[1.0, 2.0], [3.0, 4.0]])
    assert objects.remarks == ("Left out 2 lines above the table that begin with '#'.",)
    assert list(read_objects(written(tmp_path, "#x,y\n1,2\n")).X) == ["#x", "y"]
    text = 'id,x\n% no,no\n"two\n% lines",1\n%,3\nb,2\n'
    chosen = TextFormat(comment="%")
    objects = read_objects(written(tmp_path, text), id_column="id", text_format=chosen)
    assert list(objects.ids) == ["two\n% lines", "b"]


def test_a_line_of_a_file_with_comments_is_named_by_its_number(tmp_path):
    path = written(tmp_path, "# one\n# two\nx,y\n1,2\n3\n")
    with pytest.raises(FileContentError, match="got 1 in line 5"):
        read_objects(path)


def test_text_with_spaces_between_cells(tmp_path):
    text = '  x   "y z"\n 1.5  2 \n-3    4\n'
    objects = read_objects(written(tmp_path, text, "data.txt"))
    assert list(objects.X) == ["x", "y z"]
    np.testing.assert_array_equal(objects.X, [[1.5, 2.0], [-3.0, 4.0]])


@pytest.mark.parametrize("kind", ["csv.gz", "CSV.GZ", "zip", "parquet.gz"])
def test_packed_files_are_unpacked(kind, tmp_path):
    path = tmp_path / f"iris.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data/iris.csv", IRIS.X.to_csv(index=False))
            archive.writestr("LICENSE", "as you like")
    else:
        content = (
            IRIS.X.to_csv(index=False).encode() if "csv" in kind.lower() else IRIS.X.to_parquet()
        )
        path.write_bytes(gzip.compress(content))
    pd.testing.assert_frame_equal(read_objects(path).X, IRIS.X)


PACKED = {
    "no gzip": ("a.csv.gz", b"x,y\n1,2\n", "be a gzip file"),
    "half a gzip": ("a.csv.gz", gzip.compress(b"x,y\n" + b"1,2\n" * 99)[:-12], "be a gzip file"),
    "no zip": ("a.zip", b"x,y\n1,2\n", "be a zip file"),
    "nothing inside": ("a.zip", b"PK\x05\x06" + bytes(18), "hold one file .*, got 0 of them"),
}


@pytest.mark.parametrize("case", PACKED)
def test_damaged_packed_files_are_refused(case, tmp_path):
    name, content, message = PACKED[case]
    with pytest.raises(FileContentError, match=message):
        read_objects(written(tmp_path, content, name))


def test_a_packed_file_larger_than_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("credpart.tables.sources.free_memory", lambda: 1e6)
    path = written(tmp_path, gzip.compress(bytes(10_000_000)), "zeros.csv.gz")
    with pytest.raises(FileContentError, match=r"unpack into the 0\.0 GB of memory"):
        read_objects(path)


def test_standard_input(tmp_path, monkeypatch):
    text = IRIS.X.to_csv(index=False).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    pd.testing.assert_frame_equal(read_objects("-").X, IRIS.X)
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match="standard input that is closed"):
        read_objects("-")


# --- which columns and rows


def test_columns_by_pattern(tmp_path):
    IRIS.X.to_csv(tmp_path / "iris.csv", index=False)
    path = tmp_path / "iris.csv"
    assert list(read_objects(path, columns=["petal_*"]).X) == ["petal_length", "petal_width"]
    mixed = read_objects(path, columns=["petal_width", "*_width"]).X
    assert list(mixed) == ["petal_width", "sepal_width"]
    assert list(read_objects(path, drop=["sepal_*"]).X) == ["petal_length", "petal_width"]
    with pytest.raises(ValueError, match=r"`columns` must be in .*, got 'x_\*'. Its columns are"):
        read_objects(path, columns=["x_*"])
    with pytest.raises(ValueError, match=r"`drop` must be in .*, got 'x'"):
        read_objects(path, drop=["x"])


def test_objects_with_missing_cells_can_be_left_out(tmp_path, capsys):
    frame = IRIS.X.assign(kind=IRIS.y)
    frame.loc[[3, 7], "petal_width"] = np.nan
    frame.to_csv(tmp_path / "iris.csv", index=False)
    path = tmp_path / "iris.csv"
    objects = read_objects(path, label_column="kind", missing="drop")
    kept = np.setdiff1d(np.arange(150), [3, 7])
    np.testing.assert_array_equal(objects.X, IRIS.X.iloc[kept])
    np.testing.assert_array_equal(objects.classes, IRIS.y[kept])
    assert objects.remarks == ("Left out 2 rows with missing cells (the first is row 3).",)
    assert objects.named().index.to_list() == (kept + 1).tolist()
    options = "--label-column kind --missing drop --model EII --clusters 2 --replicates 20"
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(path), *options.split(), "--out", str(tmp_path / "out")])
    told = capsys.readouterr().err
    assert "Note: Left out 2 rows with missing cells (the first is row 4)." in told
    with pytest.raises(
        ValueError, match="`missing` must be one of 'error', 'drop', 'model', got 'x'"
    ):
        read_objects(path, missing="x")


def test_errors_of_a_fit_name_rows_of_the_file(tmp_path, capsys):
    frame = IRIS.X.assign(known=["a", "b"] * 75)
    frame.loc[[3, 7], "petal_width"] = np.nan
    frame.loc[20, "known"] = "a||b"
    frame.to_csv(tmp_path / "iris.csv", index=False)
    options = "--known-column known --missing drop --model EII --clusters 2 --replicates 20"
    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(tmp_path / "iris.csv"), *options.split(), "--out", str(tmp_path / "out")])
    assert "row 21" in capsys.readouterr().err


N = 30
MEASURED = [f",{i * 37 % 11 / 8!r}" for i in range(N)]
IDENTIFIERS = {
    "a counter": ("k", [str(i + 1) for i in range(N)], "counts the rows"),
    "long numbers": ("sample_id", [f"{10**25 + i * 7}" for i in range(N)], "named as an identif"),
    "texts": ("flower", [f"flower {i}" for i in range(N)], "holds another text in each row"),
    "days": ("day", [f"2020-01-{i + 1:02d}" for i in range(N)], "holds another text in each row"),
}
MEASUREMENTS = {
    "unique whole numbers": [str(i * 37 % 101) for i in range(N)],
    "a counter with a gap": [str(i + (i > 9)) for i in range(N)],
    "unique decimals": [f"{i}.5" for i in range(N)],
}


def beside_measurements(name, cells):
    rows = [cell + rest for cell, rest in zip(cells, MEASURED, strict=True)]
    return f"{name},x\n" + "\n".join(rows)


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_a_column_that_identifies_objects_is_not_clustered(case, tmp_path):
    name, cells, reason = IDENTIFIERS[case]
    path = written(tmp_path, beside_measurements(name, cells))
    objects = read_objects(path)
    assert list(objects.X) == ["x"]
    assert list(objects.ids) == cells
    assert reason in objects.remarks[0]
    assert "; `columns` can take it in." in objects.remarks[0]
    assert list(read_objects(path, columns=[name, "x"], categories=True).X) == [name, "x"]


@pytest.mark.parametrize("case", MEASUREMENTS)
def test_a_measurement_is_no_identifier(case, tmp_path):
    objects = read_objects(written(tmp_path, beside_measurements("k", MEASUREMENTS[case])))
    assert list(objects.X) == ["k", "x"]
    assert not objects.remarks


def test_a_single_column_is_clustered_whatever_it_holds(tmp_path):
    path = written(tmp_path, "id\n" + "\n".join(str(i) for i in range(N)))
    assert list(read_objects(path).X) == ["id"]


def test_few_whole_numbers_may_be_codes(tmp_path):
    path = written(tmp_path, beside_measurements("q", [str(i % 4) for i in range(N)]))
    (remark,) = read_objects(path).remarks
    assert "Few whole numbers stand in 'q'" in remark
    assert "If they are not measurements, leave them out with `drop=['q']`, or name one" in remark
    assert "of them as `group_column` (such as donors)" in remark
    assert "text_columns=['q']" in remark


ROWS = range(N)
X = [i * 37 % 11 / 8 for i in ROWS]
LEFT_OUT = {
    "constant": ([3] * N, "holds 3.0 in every row"),
    "doubled": (X, "repeats column 'x'"),
    "other units": ([1.8 * x + 32 for x in X], "repeats column 'x' in other units"),
    "turned round": ([-x for x in X], "repeats column 'x' in other units"),
    "empty": ([""] * N, "is empty"),
    "date": ([20210301 + i % 7 for i in ROWS], "holds dates as whole numbers"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_column_that_adds_nothing_is_left_out_and_named(name, tmp_path):
    cells, reason = LEFT_OUT[name]
    y = [i * i % 13 + 0.5 for i in ROWS]
    rows = [f"{a},{b},{c}" for a, b, c in zip(X, cells, y, strict=True)]
    path = written(tmp_path, f"x,{name},y\n" + "\n".join(rows))
    objects = read_objects(path, drop_redundant=True)
    assert list(objects.X) == ["x", "y"]
    (remark,) = objects.remarks
    assert remark == f"Column {name!r} {reason}: it is left out; `columns` can take it in."
    assert list(read_objects(path, columns=["x", name], drop_redundant=True).X) == ["x", name]
    kept = read_objects(path).X  # a model that is named decides about repetitions itself
    assert (name in kept) == (name not in ("empty", "date"))


def test_columns_that_only_resemble_are_clustered(tmp_path):
    rows = [f"{x},{x + (i == 7) * 1e-3},{1900 + i}" for i, x in enumerate(X)]
    objects = read_objects(written(tmp_path, "x,y,day\n" + "\n".join(rows)), drop_redundant=True)
    assert list(objects.X)[:2] == ["x", "y"]
    alone = read_objects(written(tmp_path, "x\n" + "\n".join(["1"] * N)), drop_redundant=True)
    assert list(alone.X) == ["x"]  # nothing else would be left


def test_a_constant_or_doubled_column_does_not_make_clusters(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2)) + np.repeat([[0.0], [9.0]], 100, axis=0)
    frame = pd.DataFrame(x, columns=["x", "y"]).assign(site=7, again=x[:, 0])
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(SystemExit, match="0"):
        main(["select", str(tmp_path / "a.csv"), "--clusters", "1-4"])
    told = capsys.readouterr()
    assert "Column 'site' holds 7.0 in every row: it is left out; --columns can take it" in told.err
    assert "Column 'again' repeats column 'x': it is left out" in told.err
    assert ", 2" in told.out.splitlines()[-1]


def test_dates_are_named_with_the_option_that_leaves_them_out(tmp_path):
    rows = [f"2021-03-{i % 9 + 1:02d},{x}" for i, x in enumerate(X)]
    path = written(tmp_path, "day,x\n" + "\n".join(rows))
    message = r"'2021-03-01' in column 'day', row 0, which is a date\. Leave .* `drop=\['day'\]`"
    with pytest.raises(ValueError, match=message):
        read_objects(path)
    assert list(read_objects(path, drop=["day"]).X) == ["x"]


def test_several_files_with_the_same_columns_are_one_table(tmp_path, capsys):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    half = [f"{i % 15 + 1};{x};{x * x - i}".replace(".", ",") for i, x in enumerate(X)]
    # The second file has its columns in another order, and numbers of another country.
    one.write_text("nr,x,y\n" + "\n".join(row.replace(",", ".").replace(";", ",") for row in half))
    turned = [";".join(row.split(";")[place] for place in (2, 0, 1)) for row in half]
    two.write_text("y;nr;x\n" + "\n".join(turned))
    first, both = read_objects(one, drop=["nr"]).X, read_objects([one, two], drop=["nr"]).X
    pd.testing.assert_frame_equal(both, pd.concat([first, first], ignore_index=True))
    with pytest.raises(ValueError, match="be files with the same columns, got 'z' in only one of"):
        read_objects([one, written(tmp_path, "nr,x,y,z\n1,2,3,4\n2,2,4,5\n")])
    with pytest.raises(ValueError, match="`source` must name at least one file, got none"):
        read_objects([])
    out, options = tmp_path / "out", "--model EII --clusters 2 --replicates 20 --drop nr --quiet"
    with pytest.raises(SystemExit, match="0"):
        main(["fit", str(one), str(two), *options.split(), "--out", str(out)])
    assert len(pd.read_csv(out / "masses.csv")) == 2 * N
    assert json.loads((out / "summary.json").read_text())["source"] == [str(one), str(two)]
    assert "<title>one.csv, two.csv" in (out / "report.html").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(one), str(two), "--out-of-core", "--out", str(tmp_path / "new")])
    assert "SOURCE must be one source for data in partitions, got 2" in capsys.readouterr().err


def test_a_counter_that_begins_again_in_each_file_is_no_measurement(tmp_path):
    names = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path in names:
        path.write_text("nr,x\n" + "\n".join(f"{i + 1},{x}" for i, x in enumerate(X)))
    objects = read_objects(names)
    assert list(objects.X) == ["x"]
    assert "counts the rows" in objects.remarks[0] or "named as an id" in objects.remarks[0]


def test_a_column_is_compared_with_few_others(monkeypatch):
    compared = []
    alike = roles._alike
    monkeypatch.setattr(roles, "_alike", lambda *both: compared.append(1) or alike(*both))
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((20, 500))).rename(columns=str)
    X["again"], X["negative"] = 2.0 * X["7"] + 1.0, -X["8"]
    X.loc[0, ["9", "hole"]] = np.nan
    X["hole"] = 3.0 * X["9"]
    found = roles.why_left_out(X, redundant=True)
    assert found == {
        name: f"repeats column {other!r} in other units"
        for name, other in {"again": "7", "negative": "8", "hole": "9"}.items()
    }
    assert len(compared) < 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"x": 1.5, "y": 2}\n{"x": 2.5, "y": 3}\n', "be a table of cells, got JSON. Save it as"),
        ('[{"x": 1.5},\n {"x": 2.5}]\n', "be a table of cells, got JSON"),
        ("<!DOCTYPE html>\n<p>Not found</p>\n", "be a table of cells, got HTML or XML"),
        ("x,y\n(mm),(kg)\n1,2\n3,5\n", "got '.mm.' in column 'x', row 0.*delete a row of units"),
        ("x,y\n\u22121.5,2\n\u22122.5,3\n", "Write '-' in place of '\u2212'"),
        ("x,y\n7,1.5,2\n3,2.5,3\n", "and 2 cells in each row, got 3 in all rows below line 1"),
    ],
)
def test_what_is_no_table_of_numbers_is_said_as_what_it_is(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_objects(written(tmp_path, content))


def test_numbers_that_often_stand_for_missing_cells_are_asked_about(tmp_path):
    rows = [f"{-999 if i % 6 == 0 else 40 + i},{-999 + i}" for i in range(24)]
    path = written(tmp_path, "x,y\n" + "\n".join(rows) + "\n")
    (told,) = read_objects(path).remarks
    assert "Column 'x' holds -999 in 4 rows, far from its other numbers" in told
    assert "say `na_values=['-999']`" in told
    again = read_objects(path, text_format=TextFormat(na_values=("-999",)), missing="drop")
    assert again.X["x"].min() == 41.0


def test_a_last_row_that_is_named_as_a_total_is_told(tmp_path):
    rows = [f"s{i},{i * i % 7}.5" for i in range(24)]
    path = written(tmp_path, "sample,x\n" + "\n".join([*rows, "Total,84"]) + "\n")
    assert "The last row is named 'Total'" in read_objects(path).remarks[-1]


def test_points_that_may_group_thousands_are_told(tmp_path):
    path = written(tmp_path, "x;y\n1.100;7\n2.215;9\n3.400;4\n")
    (told,) = read_objects(path).remarks
    assert told.startswith("Numbers such as 1.100 are read with a decimal point. If it groups")
    grouped = read_objects(path, text_format=TextFormat(thousands="."))
    assert grouped.X["x"].tolist() == [1100.0, 2215.0, 3400.0]
