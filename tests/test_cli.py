"""The command line, in process: what it writes, what it says, what it leaves."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from credpart import (
    CalibratedClustering,
    audit,
    diagnose,
    load_model,
    save_model,
    select_mixture,
)
from credpart.cli import main
from credpart.cli.commands import RARE, chance_of_lowest, of_low_density
from credpart.cli.folder import FILES
from credpart.cli.pictures import KINDS
from credpart.cli.stored import stored_model
from credpart.datasets import DATASETS, load_butterfly, load_iris, make_mixture1, make_mixture2
from credpart.tables import Objects, read_objects

QUICK = ("--model", "VVI", "--clusters", "3", "--replicates", "20", "--seed", "1")


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "out"
    assert run("fit", "iris", *QUICK, "--out", folder, "--quiet") == 0
    return folder


def read_exactly(path):
    """A table of masses; pandas before 3.1 may change the last bits of numbers."""
    table, text = (pd.read_csv(path, index_col="id", dtype=kind) for kind in (None, str))
    numbers = table.select_dtypes("float").columns
    return table.assign(**{name: [float(cell) for cell in text[name]] for name in numbers})


def test_a_recalibrated_fit_holds_the_level_asked_for(tmp_path, capsys):
    source, folder = tmp_path / "data.csv", tmp_path / "out"
    X = make_mixture2(40, random_state=2).X
    pd.DataFrame(X, columns=["x", "y"]).to_csv(source, index=False)
    options = ("--model", "EEE", "--clusters", "3", "--replicates", "200", "--audit", "16")
    assert run("fit", source, *options, "--recalibrate", "--out", folder, "--quiet") == 0
    summary = json.loads((folder / "summary.json").read_text())
    model = CalibratedClustering(3, model="EEE", n_replicates=200, random_state=0)
    found = audit(model.fit(X), 16, n_replicates=200)
    assert found.asks_for_another_level
    assert summary["level"] == found.recommended_level > 0.9
    assert summary["nominal_level"] == 0.9
    assert summary["diagnosis"]["audit"]["nominal_level"] == 0.9
    model.recalibrate(found)
    assert load_model(folder / "model.npz").labels_.tolist() == model.labels_.tolist()
    capsys.readouterr()
    assert run("fit", "iris", *QUICK, "--recalibrate", "--out", tmp_path / "no") == 2
    assert "--recalibrate must be given with an audit" in capsys.readouterr().err


def test_a_level_that_the_audit_does_not_ask_for_is_not_taken(tmp_path, capsys):
    options = ("--model", "VVI", "--clusters", "3", "--replicates", "40", "--audit", "2")
    folder = tmp_path / "out"
    assert run("fit", "iris", *options, "--recalibrate", "--out", folder) == 0
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["level"] == 0.9
    assert summary["nominal_level"] is None
    told = capsys.readouterr().err
    assert "Note: The level stays as it is: in the audit intervals cover" in told
    assert "; that is too few data sets to tell." in told


def test_masses_are_those_of_the_library_to_the_byte(fitted):
    model = CalibratedClustering(3, model="VVI", n_replicates=20, random_state=1)
    model.fit(load_iris().X)
    table = read_exactly(fitted / "masses.csv")
    masses = table.filter(regex=r"^m\{").to_numpy()
    assert masses.tobytes() == model.partition_.masses.tobytes()
    np.testing.assert_array_equal(table["label"], model.labels_ + 1)
    assert load_model(fitted / "model.npz").partition_.masses.tobytes() == masses.tobytes()
    doubt = model.partition_.doubt()
    assert table["verdict"].tolist() == doubt["verdict"].tolist()
    parts = ["belief", "overlap", "undecided"]
    np.testing.assert_array_equal(table[parts], doubt[parts])
    assert (table.loc[table["verdict"] == "sure", "belief"] >= 0.9).all()


def test_summary_says_what_was_done(fitted):
    summary = json.loads((fitted / "summary.json").read_text())
    wanted = {"n", "n_clusters", "model", "loglik", "bic", "level", "replicates", "objective"}
    assert wanted | {"seed", "version"} <= summary.keys()
    stages = {"select", "bootstrap", "intervals", "partition"}
    assert json.loads((fitted / "timings.json").read_text()).keys() == stages
    assert {path.name for path in fitted.iterdir()} == set(FILES)
    assert (summary["n"], summary["n_clusters"], summary["seed"]) == (150, 3, 1)
    assert max(summary["confusion"]["setosa"].values()) == 50
    of_sets = pd.DataFrame(summary["confusion"]).sum(axis=1)  # named as in the rest of the file
    assert of_sets[of_sets > 0].to_dict() == summary["sets"]


def test_two_runs_of_a_command_differ_in_their_timings_only(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert run("fit", "iris", *QUICK, "--out", "out", "--quiet") == 0
    for name in set(FILES) - {"timings.json"}:
        one, other = ((folder / "out" / name).read_bytes() for folder in folders)
        assert one == other, name


def test_nothing_is_overwritten_without_force(fitted, capsys):
    before = (fitted / "masses.csv").read_bytes()
    assert run("fit", "butterfly", "--out", fitted) == 2
    assert "--out must be a new folder" in capsys.readouterr().err
    assert (fitted / "masses.csv").read_bytes() == before


def test_help_imports_nothing_heavy():
    program = (
        "import sys\n"
        "from credpart.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = 'sklearn scipy numpy pandas bokeh matplotlib'.split()\n"
        "assert not set(heavy) & set(sys.modules), set(heavy) & set(sys.modules)\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    assert "fit" in done.stdout


def test_a_hyphen_is_standard_output(fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("predict", fitted, "iris") == 0
    expected = capsys.readouterr().out
    assert run("predict", fitted, "iris", "--out", "-") == 0
    assert capsys.readouterr().out == expected
    assert run("datasets", "butterfly", "--out", "-") == 0
    assert capsys.readouterr().out.startswith("id,")
    assert run("profile", fitted, "--out", "-") != 0
    assert "--out must name a file, got '-'." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_predict_gives_new_objects_their_masses(fitted, tmp_path, capsys):
    iris = load_iris().X[::10].assign(name=[f"flower {i}" for i in range(15)], species="?")
    iris.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "masses.csv"
    arguments = ("predict", fitted, tmp_path / "new.csv", "--id-column", "name", "--out", out)
    assert run(*arguments) == 0
    assert f"The masses of 15 objects are in {out}" in capsys.readouterr().out
    table = read_exactly(out)
    masses = load_model(fitted / "model.npz").predict_masses(load_iris().X[::10])
    assert table.filter(regex=r"^m\{").to_numpy().tobytes() == masses.tobytes()
    assert table.index[14] == "flower 14"
    assert run(*arguments) == 2
    assert "--out must be a new file" in capsys.readouterr().err
    assert run("predict", fitted / "model.npz", tmp_path / "new.csv", "-q") == 0
    assert capsys.readouterr().out.startswith("id,label,set_label,m{1}")


@pytest.mark.parametrize("option", [(), ("--id-column", "flower_id")])
def test_new_objects_are_named_by_the_column_that_named_those_of_the_fit(option, tmp_path, capsys):
    names = [f"f{i}" for i in range(150)]
    load_iris().X.assign(flower_id=names).to_csv(tmp_path / "iris.csv", index=False)
    fit = ("fit", tmp_path / "iris.csv", *QUICK, *option, "--audit", "0", "--quiet")
    assert run(*fit, "--out", tmp_path / "out") == 0
    new = load_iris().X[:3].assign(flower_id=["a", "b", "c"], other=["x", "y", "z"])
    new.to_csv(tmp_path / "new.csv", index=False)
    predict = ("predict", tmp_path / "out", tmp_path / "new.csv")
    told = "Note: Column 'flower_id' names the objects, as in the fit; --id-column changes it."
    for options, ids, notes in (
        ((), ["a", "b", "c"], [told]),
        (("--id-column", "other"), ["x", "y", "z"], []),
    ):
        capsys.readouterr()
        assert run(*predict, *options, "--out", tmp_path / "masses.csv", "--force") == 0
        notes_told = [x for x in capsys.readouterr().err.splitlines() if x.startswith("Note")]
        assert (list(read_exactly(tmp_path / "masses.csv").index), notes_told) == (ids, notes)
    new.drop(columns="flower_id").to_csv(tmp_path / "new.csv", index=False)
    assert run(*predict, "--out", tmp_path / "masses.csv", "--force") == 0
    assert list(read_exactly(tmp_path / "masses.csv").index) == [1, 2, 3]


def test_new_objects_of_low_density_are_told(fitted, tmp_path, capsys):
    new = load_iris().X.iloc[::10].copy()
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", fitted, tmp_path / "new.csv", "--out", tmp_path / "a.csv") == 0
    assert "density" not in capsys.readouterr().err
    new.iloc[4] *= 100.0
    new.iloc[9] *= 200.0
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", fitted, tmp_path / "new.csv", "--out", tmp_path / "b.csv") == 0
    told = (
        "2 of 15 objects have a lower density under the mixture than every fitted object (the "
        "lowest is row 10), which their masses do not show. By chance fewer than one of 15 would."
    )
    assert told in " ".join(capsys.readouterr().err.split())
    # The guide's own computation.
    mixture = load_model(fitted / "model.npz").mixture_
    strange = mixture.log_density(new) < mixture.log_density(load_iris().X).min()
    assert list(np.flatnonzero(strange)) == [4, 9]


def test_low_densities_that_chance_explains_are_not_told():
    model = CalibratedClustering(3, model="EII", n_replicates=10, level=0.5, random_state=0)
    result = model.fit(make_mixture1(100, random_state=6).X).result_
    new = make_mixture1(1000, random_state=1).X
    is_low = result.mixture.log_density(new) < result.mixture.log_density(result.data.values).min()
    m, n = 1000, 100
    assert m / (n + 1) < is_low.sum()  # more than on average, as happens by chance

    def told(k):
        """What is said of k objects of low density and m - k others, none of them far off."""
        rows = np.concatenate([np.resize(np.flatnonzero(~is_low), m - k),
                               np.resize(np.flatnonzero(is_low), k)])  # fmt: skip
        frame = pd.DataFrame(new[rows], columns=result.data.names)
        return [str(message) for message in of_low_density(result, Objects(frame, None, None))]

    most = next(k for k in range(m) if chance_of_lowest(k, m, n) < RARE) - 1
    assert told(int(is_low.sum())) == told(most) == []
    (note,) = told(most + 1)
    assert note.startswith(f"{most + 1} of {m} objects have a lower density under the mixture")
    assert note.endswith(f"By chance about {m / (n + 1):.0f} of {m} would.")


def test_chance_that_new_objects_rank_lowest_is_that_of_all_orders():
    n, m = 4, 3
    orders = list(combinations(range(n + m), m))  # ranks of the new objects
    n_lowest = [next((k for k in range(m) if ranks[k] != k), m) for ranks in orders]
    for k in range(m + 1):
        literal = np.mean([found >= k for found in n_lowest])
        assert chance_of_lowest(k, m, n) == pytest.approx(literal)


def test_objects_with_missing_values_are_not_compared_by_density(tmp_path, capsys):
    X = load_iris().X.astype(float)
    X.iloc[::7, 0] = np.nan
    X.to_csv(tmp_path / "iris.csv", index=False)
    fit = ("fit", tmp_path / "iris.csv", *QUICK, "--missing", "model", "--audit", "0", "--quiet")
    assert run(*fit, "--out", tmp_path / "out") == 0
    new = X.iloc[[0, 1, 2]].copy()
    new.iloc[[0, 2], 1] = 1e3
    new.to_csv(tmp_path / "new.csv", index=False)
    predict = ("predict", tmp_path / "out", tmp_path / "new.csv", "--missing", "model")
    capsys.readouterr()
    assert run(*predict, "--out", tmp_path / "a.csv") == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "1 of 2 objects without missing values has a lower density" in told
    assert "than every fitted object (row 3), which its masses do not show." in told


def test_an_option_of_a_list_may_be_repeated(fitted, tmp_path, capsys):
    columns = ("--columns", "petal_length", "--columns", "sepal_length,sepal_width")
    out = tmp_path / "out"
    assert run("fit", "iris", *QUICK, *columns, "--drop", "sepal_length", "--drop", "petal_width",
               "--audit", "0", "--out", out, "--quiet") == 0  # fmt: skip
    assert stored_model(out).result.data.names == ["petal_length", "sepal_width"]
    choice = ("--clusters", "2-3", "--clusters", "5", "--model", "EII", "--model", "VII")
    assert run("select", "iris", *choice, "--out", tmp_path / "bic.csv") == 0
    table = pd.read_csv(tmp_path / "bic.csv", index_col="n_clusters")
    assert (list(table.index), list(table)) == ([2, 3, 5], ["EII", "VII"])
    capsys.readouterr()
    unknown = ("--kind", "classification", "--columns", "petal_length", "--columns", "x")
    assert run("plot", fitted, *unknown, "--out", tmp_path / "a.png") == 2
    assert "got ['petal_length', 'x']" in capsys.readouterr().err


def test_select_shows_and_writes_the_table(tmp_path, capsys):
    out = tmp_path / "bic.csv"
    arguments = ("--clusters", "1-3", "--model", "EII,VVI", "--out", out)
    assert run("select", "iris", *arguments) == 0
    shown = capsys.readouterr().out
    assert "best: VVI, 3" in shown
    assert "lower" not in shown  # 2 clusters are far behind
    wanted = select_mixture(load_iris().X, [1, 2, 3], ["EII", "VVI"]).table
    pd.testing.assert_frame_equal(pd.read_csv(out, index_col="n_clusters"), wanted)


def test_compare_puts_methods_side_by_side(tmp_path, capsys):
    out = tmp_path / "methods.csv"
    arguments = ("--clusters", "2", "--methods", "ecm,evclus", "--out", out)
    assert run("compare", "butterfly", *arguments) == 0
    assert "nonspecificity" in capsys.readouterr().out
    assert list(pd.read_csv(out)["method"]) == ["ecm", "evclus"]


def test_plot_draws_both_bounds(fitted):
    axes = KINDS["approximation"](stored_model(fitted), None)
    assert [ax.get_ylabel().split()[0] for ax in axes] == ["belief", "plausibility"]


def test_a_picture_that_one_column_has_not_names_those_that_it_has(tmp_path, capsys):
    data, out = tmp_path / "one.csv", tmp_path / "one"
    load_iris().X[["petal_width"]].to_csv(data, index=False)
    assert run("fit", data, "--clusters", "2", "--model", "V", "--replicates", "20", "--audit",
               "0", "--out", out, "--quiet") == 0  # fmt: skip
    assert run("plot", out, "--kind", "classification", "--out", tmp_path / "x.png") != 0
    assert capsys.readouterr().err.endswith("Use --kind partition or --kind density.\n")
    assert run("plot", out, "--kind", "partition", "--out", tmp_path / "x.png") == 0


def test_plot_draws_every_kind(fitted, tmp_path):
    for kind in KINDS:
        out = tmp_path / f"{kind}.svg"
        assert run("plot", fitted, "--kind", kind, "--out", out) == 0
        assert out.stat().st_size > 5000
    assert len(list(tmp_path.iterdir())) == len(KINDS)


def test_report_is_made_again(fitted, tmp_path):
    page = (fitted / "report.html").read_text()
    (fitted / "report.html").unlink()
    assert run("report", fitted) == 0
    assert len((fitted / "report.html").read_text()) == len(page)
    assert run("report", fitted, "--out", tmp_path / "page.html") == 0
    assert run("report", fitted, "--out", tmp_path / "page.html") == 2


@pytest.mark.parametrize(
    "typed", [("fit", "iris"), ("fit", "iris", "--dry-run"), ("report", "FOLDER")]
)
def test_what_is_a_folder_or_a_page_does_not_go_to_standard_output(
    typed, fitted, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = [fitted if word == "FOLDER" else word for word in typed]
    assert run(*words, "--out", "-") == 2
    assert "--out must name a f" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_folder_named_as_a_data_set_hides_it_only_by_its_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("fit", "iris", *QUICK, "--out", "iris", "--quiet") == 0
    assert run("select", "iris", "--model", "VVI", "--clusters", "3", "--quiet") == 0
    assert run("fit", "iris", *QUICK, "--out", "again", "--quiet") == 0
    assert Path("iris/masses.csv").read_bytes() == Path("again/masses.csv").read_bytes()
    assert run("fit", "./iris", *QUICK, "--out", "other", "--quiet") == 2
    assert "masses.csv" in capsys.readouterr().err


def test_a_data_set_that_is_not_there_is_named_as_the_help_names_it(capsys):
    assert run("datasets", "nothing") == 2
    assert capsys.readouterr().err.startswith("credpart: NAME must be one of 'iris'")


def test_a_report_has_no_folder_of_the_data(tmp_path, monkeypatch):
    folder = tmp_path / "of ada"
    folder.mkdir()
    load_iris().X.to_csv(folder / "flowers.csv", index=False)
    typed = ["fit", str(folder / "flowers.csv"), *QUICK, "--out", str(folder / "out")]
    monkeypatch.setattr(sys, "argv", ["credpart", *typed])
    assert run(*typed, "--quiet") == 0
    pages = [(folder / "out" / "report.html").read_text(encoding="utf-8")]
    assert run("report", folder / "out") == 0
    pages.append((folder / "out" / "report.html").read_text(encoding="utf-8"))
    for page in pages:
        assert "of ada" not in page
        assert "credpart fit flowers.csv" in page
        assert "--replicates 200" in re.sub("<[^>]+>", "", page)  # what to do
        assert tmp_path.name not in page
    assert "of ada" in (folder / "out" / "summary.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    ["", "fit", "select", "predict", "compare", "plot", "profile", "report", "audit", "datasets"],
)
def test_help_fits_a_terminal_of_80_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(*command.split(), "--help") == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    assert "…" not in "".join(shown)  # nothing is cut


def test_datasets_are_listed_and_printed(capsys, tmp_path):
    assert run("datasets") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DATASETS)
    assert run("datasets", "iris", "--out", tmp_path / "iris.csv") == 0
    objects = read_objects(tmp_path / "iris.csv", id_column="id", label_column="class")
    pd.testing.assert_frame_equal(objects.X, load_iris().X)
    np.testing.assert_array_equal(objects.classes, load_iris().y)


def test_columns_of_groups_and_strata_are_left_out_and_resampled(tmp_path, capsys):
    iris, donors = load_iris().X, np.repeat(np.arange(30), 5)
    table = iris.assign(donor=[f"d{i}" for i in donors], arm=donors % 2)
    table.to_csv(tmp_path / "cells.csv", index=False)
    columns = ("--group-column", "donor", "--strata-column", "arm")
    options = (*QUICK, "--out", tmp_path / "out", "--quiet")
    assert run("fit", tmp_path / "cells.csv", *columns, *options) == 0
    model = CalibratedClustering(3, model="VVI", n_replicates=20, random_state=1)
    model.fit(iris, groups=table["donor"], strata=table["arm"])
    again = load_model(tmp_path / "out" / "model.npz")
    assert again.partition_.masses.tobytes() == model.partition_.masses.tobytes()
    np.testing.assert_array_equal(again.result_.groups, model.result_.groups)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["n_groups"], summary["n_strata"]) == (30, 2)
    assert summary["columns"] == list(iris)
    capsys.readouterr()
    table.assign(arm=np.arange(150) % 2).to_csv(tmp_path / "cells.csv", index=False)
    assert run("fit", tmp_path / "cells.csv", *columns, *QUICK, "--quiet") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "--strata-column must be the same for all objects of a group, got '0' and '1'" in error


def test_a_log_file_gets_a_line_a_stage(tmp_path, capsys):
    options = ("--model", "EII", "--clusters", "2", "--out", tmp_path / "out")
    assert run("fit", "butterfly", *options) == 0
    stages = [line.split(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert stages == ["select", "bootstrap", "intervals", "partition", "diagnosis"]


def test_shells_complete_commands_and_options():
    wanted = {
        "credpart ": ["fit", "select", "datasets"],
        "credpart fit iris --foc": ["--focal-sets"],
    }
    for typed, completions in wanted.items():
        done = subprocess.run(
            [sys.executable, "-m", "credpart"],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "_CREDPART_COMPLETE": "complete_bash",
                "COMP_WORDS": typed,
                "COMP_CWORD": str(typed.count(" ")),
            },
        )
        assert set(completions) <= set(done.stdout.split())


def test_the_summary_is_one_screen_and_says_whether_to_trust_it(tmp_path, capsys):
    assert run("fit", "iris", *QUICK, "--out", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 24
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    for words in ("150 objects, 3 clusters, model VVI", "setosa"):
        assert words in shown
    verdicts = summary["verdicts"]
    assert [*verdicts] == ["sure", "overlapping", "undecided"]
    for word, share in verdicts.items():
        line = rf"^{word} +{round(150 * share)} +{share:.1%}"
        assert bool(re.search(line, shown, re.M)) == (share > 0.0)
    assert f"{summary['diagnosis']['grade'].upper()}  " in shown
    assert "n_replicates" not in shown  # advice is in options
    for name, count in summary["sets"].items():
        assert f"{name} {count}" in shown


def test_a_transform_says_on_which_scale_means_are(tmp_path, capsys):
    told = "Columns were transformed: means and spreads are on the scale asinh(x / 5)."
    options = (*QUICK, "--transform", "asinh", "--cofactor", "5")
    assert run("fit", "iris", *options, "--out", tmp_path / "out") == 0
    assert f"Note: {told}" in capsys.readouterr().err
    assert told in json.loads((tmp_path / "out" / "summary.json").read_text())["remarks"]
    assert run("fit", "iris", *QUICK, "--out", tmp_path / "plain") == 0
    assert "transformed" not in capsys.readouterr().err


def test_a_file_may_have_a_name_that_is_no_text(tmp_path):
    source = tmp_path / os.fsdecode(b"b\xff.csv")
    load_iris().X.to_csv(source, index=False)
    assert run("fit", source, *QUICK, "--out", tmp_path / "out", "--quiet") == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n"] == 150


# Models that Python saved


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("python") / "mine.npz"
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    save_model(model.fit(load_butterfly().X.to_numpy()), path)
    return path


def test_a_model_that_python_saved_has_a_report_and_pictures(saved, tmp_path):
    assert run("report", saved, "--out", tmp_path / "page.html") == 0
    assert "11 objects in 2 clusters" in (tmp_path / "page.html").read_text()
    assert run("plot", saved, "--out", tmp_path / "page.png") == 0
    data = tmp_path / "new.csv"
    load_butterfly().X.to_csv(data, index=False)
    assert run("predict", saved, data, "--out", tmp_path / "masses.csv", "--quiet") == 0
    assert len(pd.read_csv(tmp_path / "masses.csv")) == 11


def test_a_report_beside_a_model_that_python_saved_is_not_replaced(saved, capsys):
    page = saved.parent / "report.html"
    assert run("report", saved) == 0
    page.write_text("mine")
    assert run("report", saved) == 2
    assert "--out must be a new file" in capsys.readouterr().err
    assert page.read_text() == "mine"
    assert run("report", saved, "--force") == 0


# Faults


def test_a_folder_that_a_killed_run_left_under_a_hidden_name_is_found(fitted, tmp_path):
    hidden = tmp_path / ".out.0123abcd.complete"
    shutil.copytree(fitted, hidden)
    assert run("report", tmp_path / "out") == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(FILES)
    assert not hidden.exists()


def test_what_appears_in_the_folder_during_the_fit_stays_and_the_result_is_kept(
    tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"

    def slow(*arguments, **options):
        out.mkdir()
        (out / "mine.txt").write_text("mine")
        return read_objects(*arguments, **options)

    monkeypatch.setattr("credpart.cli.fitting.read_objects", slow)
    assert run("fit", "iris", *QUICK, "--out", out, "--quiet", "--force") == 2
    assert "and was kept as" in capsys.readouterr().err
    assert (out / "mine.txt").read_text() == "mine"
    (kept,) = tmp_path.glob("out-*")
    assert {path.name for path in kept.iterdir()} == set(FILES)


def test_a_table_that_appears_during_the_run_stays_and_the_result_is_kept(
    fitted, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "masses.csv"

    def slow(*arguments, **options):
        out.write_text("mine")
        return read_objects(*arguments, **options)

    monkeypatch.setattr("credpart.cli.fitting.read_objects", slow)
    assert run("predict", fitted, "iris", "--out", out, "--quiet") == 2
    assert "and was kept as" in capsys.readouterr().err
    assert out.read_text() == "mine"
    (kept,) = tmp_path.glob("masses-*.csv")
    assert len(pd.read_csv(kept)) == 150


def test_a_folder_that_is_moved_during_the_fit_does_not_lose_the_result(
    tmp_path, monkeypatch, capsys
):
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    results = tmp_path / "results"
    results.mkdir()

    def slow(*arguments, **options):
        results.rename(tmp_path / "moved")
        return read_objects(*arguments, **options)

    monkeypatch.setattr("credpart.cli.fitting.read_objects", slow)
    assert run("fit", "iris", *QUICK, "--out", results / "out", "--quiet") == 2
    assert "and was kept as" in capsys.readouterr().err
    (kept,) = elsewhere.rglob("out")
    assert {path.name for path in kept.iterdir()} == set(FILES)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_that_a_library_drops_comes_again(name, tmp_path, monkeypatch, capsys):
    number = getattr(signal, name)

    class Drops:
        def __del__(self):
            os.kill(os.getpid(), number)
            time.sleep(0)  # here the handler runs, and Python drops its exception

    def slow(*arguments, **options):
        Drops()
        time.sleep(20)  # the signal comes again meanwhile

    monkeypatch.setattr("credpart.cli.fitting.read_objects", slow)
    before, around = signal.default_int_handler, signal.getsignal(number)
    signal.signal(number, before)  # a signal that is ignored, as by nohup, stays ignored
    began = time.monotonic()
    try:
        assert run("fit", "iris", *QUICK, "--out", tmp_path / "out") == 128 + number
        assert signal.getsignal(number) is before
    finally:
        signal.signal(number, around)
    assert time.monotonic() - began < 10
    assert capsys.readouterr().err == "Interrupted; nothing was written.\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_that_a_library_turns_into_another_error_is_still_one(
    tmp_path, monkeypatch, capsys
):
    def turned(*arguments, **options):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0)
        except BaseException:  # noqa: S110
            pass
        raise TypeError("Cannot compare")

    monkeypatch.setattr("credpart.cli.fitting.read_objects", turned)
    assert run("fit", "iris", *QUICK, "--out", tmp_path / "out") == 143
    assert capsys.readouterr().err == "Interrupted; nothing was written.\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_when_the_files_are_complete_is_said_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        "credpart.cli.screen.show_fit", lambda *told: os.kill(os.getpid(), signal.SIGTERM)
    )
    out = tmp_path / "out"
    assert run("fit", "iris", *QUICK, "--out", out) == 143
    assert capsys.readouterr().err.endswith(f"Interrupted. The result in '{out}' is complete.\n")
    assert {path.name for path in out.iterdir()} == set(FILES)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
@pytest.mark.parametrize("attack", ["closed_streams", "interrupted_runs"])
def test_attacks_in_short(attack):
    short = {"closed_streams": ["--short"], "interrupted_runs": ["--moments", "1", "--short"]}
    command = [sys.executable, "-m", f"tests.attacks.{attack}", *short[attack]]
    root = Path(__file__).parents[1]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True)  # noqa: S603
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 failures in" in ended.stdout


@pytest.mark.parametrize("backend", ["nonsense", "module://nowhere.backend"])
def test_a_backend_that_is_not_there_does_not_matter(backend, tmp_path):
    program = (
        "from credpart import EvidentialPartition, plot\n"
        "from credpart.report import to_html\n"
        "ax = plot.memberships(EvidentialPartition.from_hard([0, 1]))\n"
        "ax.figure.savefig('picture.png')\n"
    )
    environment = os.environ | {"MPLBACKEND": backend}
    command = [sys.executable, "-c", program]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)  # noqa: S603
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_commands_draw_without_windows(fitted, tmp_path):
    program = "from credpart.cli import main\nmain()"
    command = [sys.executable, "-c", program, "plot", str(fitted), "--out", "picture.png"]
    environment = os.environ | {"MPLBACKEND": "nonsense"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)  # noqa: S603
    assert (tmp_path / "picture.png").exists()


@pytest.mark.parametrize(
    "note",
    [
        {"source": ["a"]},
        {"command": 5},
        {"classes": ["a"]},
        {"classes": [1] * 11},
        {"table": {"transform": {"name": "system"}}},
        {"table": []},
        {"table": {"transform": {}, "id_column": ["a"]}},
    ],
)
def test_notes_that_no_fit_writes_are_refused(note, tmp_path, capsys):
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    save_model(model.fit(load_butterfly().X), tmp_path / "model.npz", notes=note)
    assert run("report", tmp_path / "model.npz") == 2
    assert "must be a file written by" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_diagnosis_that_cannot_be_read_is_made_anew(tmp_path):
    model = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0)
    told = diagnose(model.fit(load_butterfly().X), audit=0, rivals=False).to_dict()
    told["findings"][0]["text"] = {"not": "never said"}
    save_model(model, tmp_path / "model.npz", notes={"diagnosis": told})
    assert run("report", tmp_path / "model.npz") == 0
    assert "never said" not in (tmp_path / "report.html").read_text(encoding="utf-8")
