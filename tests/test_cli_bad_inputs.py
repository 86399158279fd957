"""Bad inputs through the command line, by number: one line, code 2, no traceback, no file left."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from credpart import _memory
from credpart.cli import main
from credpart.datasets import load_iris

FRAME = load_iris().X
RNG = np.random.default_rng(0)
QUICK = {"--model": "VVI", "--clusters": "3", "--replicates": "40"}


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def fit(source, folder, **options):
    given = QUICK | {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    words = [word for item in given.items() for word in item if word is not None]
    return run("fit", source, *words, "--out", folder / "out")


def changed(row, column, value, frame=FRAME, kind=object):
    data = frame.astype(kind)
    data.iloc[row, column] = value
    return data


def parquet(frame):
    def write(path):
        frame.to_parquet(path / "data.parquet")
        return path / "data.parquet"

    return write


def csv(frame):
    def write(path):
        frame.to_csv(path / "data.csv", index=False)
        return path / "data.csv"

    return write


def text(content, name="data.csv"):
    def write(path):
        (path / name).write_bytes(content)
        return path / name

    return write


IRIS = csv(FRAME)
TEXTS = {"Donor #": "d1", "a,b": "x", " c": "y"}  # columns, by names that need quotes
DEPENDENT = FRAME.assign(more=FRAME.iloc[:, 0] - 2.0 * FRAME.iloc[:, 1])

ERRORS = {  # number: file, options, message
    "1 NaN": (csv(changed(4, 2, "")), {}, "1 NaN .* first in column 'petal_length', row 5"),
    "2 inf": (csv(changed(4, 2, "inf")), {}, "1 inf values, the first in column 'petal_length'"),
    "2 -inf": (csv(changed(4, 2, "-inf")), {}, "1 inf values, the first in column 'petal_length'"),
    "3 NA": (
        parquet(changed(7, 1, pd.NA, kind="Float64")),
        {},
        "the first in column 'sepal_width', row 8",
    ),
    "4 text column": (
        csv(FRAME.assign(kind="x")),
        {},
        "got 'x' in column 'kind', row 1. Leave the column out with --drop kind, name it as "
        r"--id-column, --label-column \(known classes\) or --group-column \(such as donors\), or "
        "take its categories with --model mixed.$",
    ),
    "4 text columns": (
        csv(FRAME.assign(**TEXTS)),
        {},
        'row 1. Leave such columns out with --drop \'Donor #,"a,b"," c"\', name one as --id-col',
    ),
    "4 text columns, typed": (
        parquet(FRAME.assign(**TEXTS)),
        {},
        'row 1. Leave such columns out with --drop \'Donor #,"a,b"," c"\', name one as --id-col',
    ),
    "5 text cell": (csv(changed(5, 1, "3,5")), {}, "got '3,5' in column 'sepal_width', row 6"),
    "5 NA": (
        csv(changed(5, 1, "NA")),
        {},
        "got 'NA' in column 'sepal_width', row 6. Say --na-values NA if it stands for a missing",
    ),
    "5 blank cell": (csv(changed(5, 1, " ")), {}, "row 6. Say --na-values ' ' if it stands for"),
    "5 NA said": (
        csv(changed(5, 1, "NA")),
        {"na_values": "null,NA"},
        "1 NaN .* first in column 'sepal_width', row 6",
    ),
    "no header": (
        text(b"5.1,3.5\n4.9,3.0\n"),
        {},
        "Say --no-header if it is an object, or --header if these are the names of the columns",
    ),
    "blank line in one column": (text(b"x\n1\n2\n\n4\n"), {}, "first in column 'x', row 3"),
    "delimiter": (IRIS, {"delimiter": "ab"}, "--delimiter must be one character"),
    "encoding": (IRIS, {"encoding": "x"}, "--encoding must be an encoding that Python knows"),
    "5 number as text": (
        parquet(FRAME.astype({"sepal_width": str})),
        {},
        "got '3.5' in column 'sepal_width', row 1",
    ),
    "6 date": (csv(FRAME.assign(day="2020-01-01")), {}, "got '2020-01-01' in column 'day', row 1"),
    "6 date, typed": (
        parquet(FRAME.assign(day=pd.Timestamp(0))),
        {},
        "column 'day' is of type .*date.*row 1",
    ),
    "7 category": (
        parquet(FRAME.assign(kind=pd.Categorical(["u"] * 150))),
        {},
        "column 'kind' is of type [Cc]ateg.*row 1: 'u'",
    ),
    "8 constant": (csv(FRAME.assign(more=1.0)), {"model": "VVV"}, "column 'more' is constant"),
    "9 duplicate": (
        csv(FRAME.assign(more=FRAME.iloc[:, 0])),
        {"model": "VVV"},
        "column 'more' is a linear combination of other columns",
    ),
    "10 dependent": (csv(DEPENDENT), {"model": "VVV"}, "column 'more' is a linear combination"),
    "11 identical rows": (csv(FRAME.iloc[[0] * 20]), {}, "1 distinct row.* of 20"),
    "12 too few distinct rows": (csv(FRAME.iloc[[0, 60, 120] * 9]), {}, "3 distinct row.* of 27"),
    "13 n < c": (csv(FRAME[:2]), {}, r"\(n = 2\) for .*3; at least 4 are needed"),
    "14 n == c": (csv(FRAME[::50]), {}, r"\(n = 3\) for .*3; at least 4 are needed"),
    "15 one row": (csv(FRAME[:1]), {}, "at least 2 rows, got 1 sample"),
    "16 no row": (csv(FRAME[:0]), {}, "at least 2 rows, got 0 sample"),
    "17 no column": (csv(FRAME[["petal_width"]]), {"id_column": "petal_width"}, "0 feature"),
    "17 empty file": (text(b""), {}, "must be a table with a header"),
    "24 c = 0": (IRIS, {"clusters": "0"}, "--clusters must be an integer >= 1, got 0"),
    "25 c = -1": (IRIS, {"clusters": "-1"}, "--clusters must be an integer >= 1, got -1"),
    "26 c = 2.5": (IRIS, {"clusters": "2.5"}, "--clusters must be an integer >= 1, got 2.5"),
    "27 c = three": (IRIS, {"clusters": "three"}, "--clusters must be .*, got 'three'"),
    "24 c in 5-2": (IRIS, {"clusters": "5-2"}, "--clusters must name at least one number"),
    "33 outlier": (csv(changed(10, 1, 1e200)), {}, "below 1e.150 .* 'sepal_width', row 11"),
    "35 wide": (
        csv(pd.DataFrame(RNG.standard_normal((10, 15)), columns=[f"x{i}" for i in range(15)])),
        {"clusters": "2", "model": "VVV"},
        "10 distinct rows cannot carry .* the most general model that fits is 'VVI'",
    ),
    "43 duplicate names": (csv(FRAME.set_axis(list("abcb"), axis=1)), {}, "got 'b' more than once"),
    "44 model": (IRIS, {"model": "XYZ"}, "--model must be one of 'auto', 'EII', .*got 'XYZ'"),
    "44 models": (IRIS, {"model": "VVV,X"}, "--model must be one of 'EII', .*got 'X'"),
    "44 focal sets": (IRIS, {"focal_sets": "all"}, "--focal-sets must be one of .* got 'all'"),
    "44 criterion": (IRIS, {"criterion": "dic"}, "--criterion must be one of 'bic', 'icl', 'aic'"),
    "44 selection": (IRIS, {"selection": "never"}, "--selection must be one of 'each', 'once'"),
    "44 resampling": (IRIS, {"resampling": "x"}, "--resampling must be one of 'nonparametric'"),
    "44 overlap": (IRIS, {"overlap": "0"}, "--overlap must be an integer >= 1, got 0"),
    "44 transform": (IRIS, {"transform": "log"}, "--transform must be one of 'none', 'asinh'"),
    "45 full, c = 13": (
        IRIS,
        {"clusters": "13", "focal_sets": "full"},
        "must be at most 12 .* got 13, which has 2.13 - 1 sets. Use --focal-sets pairs",
    ),
    **{
        f"46 B = {B}": (IRIS, {"replicates": B}, f"--replicates must be .*, got {B}")
        for B in ("0", "-5", "2.5", "19")
    },
    **{
        f"47 level = {level}": (
            IRIS,
            {"level": level},
            r"--level must be a number in the open interval \(0, 1\), got",
        )
        for level in ("0", "1", "1.5", "-0.5", "nan", "high")
    },
    "48 complex": (csv(changed(3, 0, "1+2j")), {}, "got '1.2j' in column 'sepal_length', row 4"),
    "no file": (lambda path: path / "data.csv", {}, "SOURCE must be a file, got .*no such file"),
    "a folder": (
        lambda path: path,
        {},
        r"SOURCE must name at least one file, got ",
    ),
    "another kind": (
        text(b"", "data.xls"),
        {},
        r"ends in .csv, .tsv, .txt, .parquet, .xlsx, .h5ad, .fcs, such a file as",
    ),
    "no FCS file": (text(b"no", "data.fcs"), {}, "data.fcs' must be an FCS file"),
    "no Parquet file": (text(b"no", "data.parquet"), {}, "data.parquet' must be a Parquet file"),
    "ragged": (text(b"a,b\n1,2\n3,4,5\n"), {}, "must be a table with a header .*line 3"),
    "too few names": (text(b"a,b\n1,2,3\n3,4,5\n"), {}, "must be a table with a header"),
    "not UTF-8": (text(b"a,\xff\n1,2\n"), {}, "must be text in UTF-8"),
    "unknown column": (IRIS, {"columns": "sepal_width,x"}, "--columns must be in .*, got 'x'. Its"),
    "column twice": (IRIS, {"columns": "sepal_width,sepal_width"}, "must be distinct, got 'sepal_"),
    "unknown id": (IRIS, {"id_column": "x"}, "--id-column must be in .*, got 'x'. Its columns are"),
    "unknown label": (IRIS, {"label_column": "x"}, "--label-column must be in .*, got 'x'"),
    "label missing": (
        csv(FRAME.assign(kind=["u", None, *"v" * 148])),
        {"label_column": "kind"},
        "--label-column must be known for all objects, got none in column 'kind' .*row 2",
    ),
    "seed": (IRIS, {"seed": "x"}, "--seed must be an integer >= 0, got 'x'"),
    "fit rows": (IRIS, {"fit_rows": "1"}, "--fit-rows must be an integer >= 2, got 1"),
    "fit rows and seed": (IRIS, {"fit_rows": "50", "seed": "-1"}, "--seed must be an integer >= 0"),
    "jobs": (IRIS, {"jobs": "two"}, "--jobs must be an integer other than 0, got 'two'"),
    "cofactor": (IRIS, {"cofactor": "0"}, "--cofactor must be a positive finite number, got 0"),
    "logicle": (IRIS, {"logicle": "1,2,x,4"}, "--logicle must be four finite numbers"),
    "unknown option": (IRIS, {"cluster": "3"}, "No such option: --cluster"),
    "no folder": (IRIS, {"out": "/no/such/folder"}, "--out must be in an existing folder"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_one_line_and_leaves_nothing(case, tmp_path, capsys, recwarn):
    write, options, message = ERRORS[case]
    source = write(tmp_path)
    before = sorted(tmp_path.iterdir())
    options = dict(options)
    folder = tmp_path / options.pop("out", "")
    assert fit(source, folder, **options) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 1, shown.err
    assert lines[0].startswith("credpart: ")
    assert re.search(message, lines[0]), lines[0]
    assert sorted(tmp_path.iterdir()) == before
    assert not recwarn.list


# What is no error, but worth a note

NOTES = {  # number: file, options, note
    "8 constant": (csv(FRAME.assign(more=1.0)), {"model": "VII"}, "column 'more' is constant"),
    "10 dependent": (csv(DEPENDENT), {}, "column 'more' is a linear combination of other columns"),
    "12 duplicate rows": (
        csv(FRAME.loc[FRAME.index[::5].repeat(5)]),
        {"model": "EII"},
        "120 of 150 rows repeat another row",
    ),
    "32 outlier": (
        csv(changed(10, 1, 1e6)),
        {},
        "row 11 lies more than .* of column 'sepal_width'",
    ),
}


@pytest.mark.parametrize("case", NOTES)
def test_a_note_is_told_once_in_plain_words(case, tmp_path, capsys):
    write, options, message = NOTES[case]
    assert fit(write(tmp_path), tmp_path, **options) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if re.search(message, line)]
    assert len(notes) == 1
    assert notes[0].startswith("Note: ")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert re.search(message, " ".join(summary["remarks"]))


def masses(frame, folder, write=csv, **options):
    assert fit(write(frame)(folder), folder, quiet=None, force=None, **options) == 0
    table = pd.read_csv(folder / "out" / "masses.csv", index_col="id")
    return table.filter(regex=r"^m\{").to_numpy()


def test_columns_of_text_are_left_out_as_the_error_says(tmp_path, capsys):
    source = csv(FRAME.assign(**TEXTS))(tmp_path)
    assert fit(source, tmp_path) == 2
    advised = re.search("with (--drop .*), name", capsys.readouterr().err)[1]
    option, value = shlex.split(advised)
    assert fit(source, tmp_path, **{option.removeprefix("--"): value}) == 0


def test_20_22_23_small_dimensions(tmp_path):
    one = masses(FRAME[["petal_width"]], tmp_path, model="V", clusters="2")
    assert one.shape == (150, 3)
    np.testing.assert_array_equal(masses(FRAME, tmp_path, clusters="1"), np.ones((150, 1)))


def test_28_43_other_units_types_and_names_change_nothing(tmp_path):
    reference = masses(FRAME, tmp_path)
    np.testing.assert_allclose(masses(FRAME * 1e12, tmp_path), reference, atol=1e-8)
    np.testing.assert_allclose(masses(FRAME * 1e-12, tmp_path), reference, atol=1e-8)
    np.testing.assert_allclose(masses(FRAME + 1e9, tmp_path), reference, atol=1e-6)
    tenths = (FRAME * 10).round()
    whole = masses(tenths.astype(int), tmp_path)
    np.testing.assert_array_equal(masses(tenths, tmp_path), whole)
    single = masses(FRAME.astype("float32"), tmp_path, parquet)
    np.testing.assert_allclose(single, reference, atol=1e-5)
    named = FRAME.set_axis(["größe", "a,b", "<b>", "[bold]"], axis=1)
    np.testing.assert_array_equal(masses(named, tmp_path), reference)


# Processes


def started(*arguments, folder):
    command = [sys.executable, "-m", "credpart", *map(str, arguments)]
    return subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_error_of_the_process(tmp_path):
    ended = started("fit", "iris", "--level", "2", "--out", "out", folder=tmp_path)
    out, err = ended.communicate(timeout=300)
    assert (ended.returncode, out, len(err.splitlines())) == (2, "", 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_leaves_nothing(tmp_path):
    process = started("fit", "gvhd", "--out", "out", folder=tmp_path)
    time.sleep(3.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "Interrupted; nothing was written."
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_files_are_written(tmp_path, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("credpart.cli.folder.dump_model", interrupted)
    assert fit("butterfly", tmp_path, clusters="2", model="EII") == 130
    assert not list(tmp_path.iterdir())


def test_a_bug_says_that_it_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("credpart.cli.fitting.describe", lambda *arguments: 1 / 0)
    assert fit("butterfly", tmp_path, clusters="2", model="EII") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "ZeroDivisionError" in last
    assert "--debug shows where" in last
    assert not list(tmp_path.iterdir())


def test_debug_shows_where(tmp_path):
    with pytest.raises(ValueError, match="`level` must be"):
        main(["fit", "iris", "--level", "2", "--out", str(tmp_path / "out"), "--debug"])


# Folders


def test_force_replaces_only_what_credpart_made(tmp_path, capsys):
    options = {"clusters": "2", "model": "EII", "replicates": "20"}
    assert fit("butterfly", tmp_path, **options) == 0
    assert fit("butterfly", tmp_path, **options) == 2
    assert fit("butterfly", tmp_path, **options, force=None) == 0
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert fit("butterfly", tmp_path, **options, force=None) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "must hold nothing but what credpart made, got 'mine.txt'" in last
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_too_many_pairs_are_refused_before_anything_is_computed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_memory, "free_memory", lambda: 1e5)
    assert fit("iris", tmp_path) == 2
    told = capsys.readouterr().err
    assert "must have at most about 48 rows" in told
    assert "score the others with --fit-rows" in told
    assert fit("iris", tmp_path, fit_rows="45", model="EII", clusters="2") == 0
    table = pd.read_csv(tmp_path / "out" / "masses.csv")
    assert len(table) == 150
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["n"], summary["n_fitted"]) == (150, 45)


def test_rows_of_a_sample_are_named_by_their_place_in_the_file(tmp_path, capsys):
    data = csv(changed(10, 1, 1e4))(tmp_path)
    assert fit(data, tmp_path, fit_rows="149") == 0
    told = capsys.readouterr().err
    assert "row 11 lies more than" in told


@pytest.mark.parametrize(
    ("cell", "options", "message"),
    [
        ("", [], "NaN (missing) and 0 inf values, the first in column 'x', row 4 of '{b}'"),
        ("", ["--fit-rows", "20"], "the first in column 'x', row 4 of '{b}'"),
        ("inf", ["--missing", "drop"], "1 inf values, the first in column 'x', row 4 of '{b}'"),
        ("abc", [], "'{b}' must hold numbers, got 'abc' in column 'x', row 4"),
        ("1", ["--label-column", "kind"], "got none in column 'kind', row 6 of '{b}'"),
    ],
)
def test_of_several_files_an_error_names_the_file_and_its_own_row(
    cell, options, message, tmp_path, capsys
):
    rng = np.random.default_rng(0)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        frame = pd.DataFrame(rng.normal(size=(15, 2)).round(3), columns=["x", "y"]).astype(object)
        frame["kind"] = "p"
        if path.name == "b.csv":
            frame.loc[3, "x"], frame.loc[5, "kind"] = cell, ""
        frame.to_csv(path, index=False)
    apart = [] if "--label-column" in options else ["--drop", "kind"]
    assert run("fit", *paths, *apart, *options, "--out", tmp_path / "out") == 2
    assert message.format(b=paths[1]) in capsys.readouterr().err


def test_of_several_files_notes_name_the_file_and_its_own_row(tmp_path, capsys):
    rng = np.random.default_rng(0)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        frame = pd.DataFrame(rng.normal(size=(40, 2)).round(3), columns=["x", "y"])
        if path.name == "b.csv":
            frame.loc[3, "x"], frame.loc[10, "y"] = np.nan, 1e4
        frame.to_csv(path, index=False)
    quick = ["--clusters", 1, "--model", "VVI", "--replicates", 20, "--missing", "drop"]
    assert run("fit", *paths, *quick, "--out", tmp_path / "out") == 0
    told = capsys.readouterr().err
    assert f"Note: Left out 1 row with missing cells (row 4 of '{paths[1]}')." in told
    assert f"row 11 of '{paths[1]}' lies more than" in told
