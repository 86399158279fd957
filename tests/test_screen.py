"""What commands print: within 80 columns, with nothing dropped, in any locale."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from credpart import _progress
from credpart.cli import main
from credpart.cli.blocks import TextRow, in_blocks
from credpart.cli.screen import new_console
from credpart.datasets import load_iris

QUICK = ("--model", "VVI", "--clusters", "3", "--replicates", "20", "--seed", "1")


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result under a short relative name."""
    place = tmp_path_factory.mktemp("screen")
    before = os.getcwd()
    os.chdir(place)
    try:
        assert run("fit", "iris", *QUICK, "--out", "out", "--quiet") == 0
    finally:
        os.chdir(before)
    return place


COMMANDS = {
    "fit": ("fit", "iris", *QUICK, "--out", "again", "--force"),
    "select": ("select", "iris", "--clusters", "1-9", "--model", "EII,VII,EEI,VVI"),
    "profile": ("profile", "out"),
    "datasets": ("datasets",),
    "one data set": ("datasets", "butterfly"),
    "audit": ("audit", "out", "--datasets", "2", "--replicates", "20", "--force"),
    "report": ("report", "out", "--out", "page.html", "--force"),
    "plot": ("plot", "out", "--kind", "doubt", "--out", "doubt.png", "--force"),
    "weaken": ("fit", "iris", *QUICK, "--weaken", "--out", "weak", "--force"),
    "compare": ("compare", "butterfly", "--clusters", "2", "--methods", "ecm,evclus"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_fits_80_columns(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    assert run(*COMMANDS[name]) == 0
    shown = capsys.readouterr().out
    # Only lines with a command to copy are broken by the terminal itself.
    lines = [line for line in shown.splitlines() if "credpart " not in line]
    assert max(map(len, lines)) <= 80
    assert shown.isascii()


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"}
IN_SHELL = {
    **COMMANDS,
    "help": ("--help",),
    "help of fit": ("fit", "--help"),
    "predict": ("predict", "out", "new.csv"),
    "error": ("predict", "out", "nothing.csv"),
}


@pytest.mark.parametrize("name", IN_SHELL)
def test_commands_work_in_the_c_locale_without_colour_and_piped(name, folder):
    load_iris().X.tail(3).to_csv(folder / "new.csv", index=False)
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", "credpart", *IN_SHELL[name]],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, **PLAIN, "COLUMNS": "80"},
    )
    assert done.returncode == (2 if name == "error" else 0), done.stderr
    for told in (done.stdout, done.stderr):
        assert told.isascii()
        assert b"\x1b" not in told
    # Data for programs are as wide as they are, and commands to copy are not broken.
    is_data = name in ("predict", "one data set")
    lines = [line for line in done.stdout.splitlines() if b"credpart " not in line]
    assert is_data or max(map(len, lines), default=0) <= 80


def test_files_that_are_written_are_named(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert run("report", "out", "--out", "page.html", "--force") == 0
    assert capsys.readouterr().out == "The report is in page.html\n"
    assert run("plot", "out", "--kind", "doubt", "--out", "doubt.png", "--force") == 0
    assert capsys.readouterr().out == "The picture is in doubt.png\n"
    assert run("report", "out") == 0
    assert capsys.readouterr().out.split()[-1] == os.path.join("out", "report.html")


@pytest.mark.parametrize("amount", [0.0, 0.0004])
def test_fit_says_how_much_masses_were_weakened(folder, monkeypatch, capsys, amount):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("credpart.result.smallest_amount", lambda *found: amount)
    assert run("fit", "iris", *QUICK, "--weaken", "--out", "weak", "--force") == 0
    expected = {
        0.0: "Masses were not weakened",
        0.0004: "Masses were weakened: each set gives 0.0004",
    }
    assert expected[amount] in capsys.readouterr().out
    assert json.loads((folder / "weak" / "summary.json").read_text())["weakening"] == amount
    assert run("fit", "iris", *QUICK, "--out", "weak", "--force") == 0
    assert "weakened" not in capsys.readouterr().out
    assert json.loads((folder / "weak" / "summary.json").read_text())["weakening"] is None


@pytest.mark.parametrize("width", ["80", "40"])
def test_select_drops_no_name_and_no_number(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", width)
    models = ["EII", "VII", "EEI"]
    assert run("select", "iris", "--clusters", "1-9", "--model", ",".join(models)) == 0
    shown = capsys.readouterr().out
    blocks = shown.count("EII")
    assert blocks == (1 if width == "80" else 3)
    assert all(shown.count(f"\n{model} ") == blocks for model in models)
    heads = [word for line in shown.splitlines() for word in line.split() if word.isdigit()]
    assert [int(word) for word in heads[:9]] == list(range(1, 10))


def test_select_tells_of_a_number_that_is_nearly_as_good(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run("select", "iris", "--clusters", "1-4", "--model", "VEV") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("3 clusters are only 0.8 lower, which is not strong evidence")


def test_the_empty_set_can_be_read_in_every_locale(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    new_console().print("\N{EMPTY SET} 12 caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    stream.flush()
    assert stream.buffer.getvalue().decode().strip() == "{} 12 caf?"


def test_fit_says_what_to_do_next_and_names_clusters_by_number(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert run("fit", "iris", *QUICK, "--out", "next one") == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].endswith("Next: credpart profile 'next one'")
    (head,) = [line for line in shown.splitlines() if line.startswith("class ")]
    assert head.split()[1:4] == ["{1}", "{2}", "{3}"]
    assert run("profile", "next one", "--out", "profile.csv") == 0
    assert "cluster 3" in capsys.readouterr().out
    text = (folder / "profile.csv").read_text()
    assert text.startswith("cluster,objects,share,share_low,share_high,set_apart_by,petal_")


def test_one_cluster_is_not_said_in_the_plural(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("fit", "butterfly", "--clusters", "1", "--model", "EII", "--replicates", "20") == 0
    shown = capsys.readouterr().out
    assert "11 objects, 1 cluster, model EII" in shown
    assert "1 clusters" not in shown
    assert "nothing by 0.5 s.d." in shown  # sets the only cluster apart


def test_the_c_locale_and_no_colour_work(folder, monkeypatch):
    monkeypatch.chdir(folder)
    data = load_iris().X.head(40).rename(columns={"petal_length": "größe"})
    data.to_csv("umlaut.csv", index=False, encoding="utf-8")
    options = ("--model", "EII", "--clusters", "2", "--replicates", "20", "--quiet")
    assert run("fit", "umlaut.csv", *options, "--out", "umlaut") == 0
    done = subprocess.run(
        [sys.executable, "-m", "credpart", "profile", "umlaut"],
        capture_output=True,
        check=False,
        env={**os.environ, **PLAIN},
    )
    assert done.returncode == 0, done.stderr
    assert b"Means (standard deviations)" in done.stdout
    assert b"\x1b[" not in done.stdout


def test_progress_names_elapsed_and_remaining_time(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr("rich.console.Console", lambda **options: console)
    with _progress.shown("bootstrap", 1) as progress:
        progress("bootstrap", 0.5)
    shown = screen.getvalue()
    assert "elapsed 0:00:0" in shown
    assert "left about" in shown


def test_blocks_hold_every_cell_once_and_repeat_the_first_columns():
    rng = np.random.default_rng(0)
    texts = rng.integers(0, 10**6, (5, 14)).astype(str)
    rows = [TextRow(f"row {i}", ["all", *row]) for i, row in enumerate(texts)]
    heads = ["whole", *(f"column {j}" for j in range(14))]
    console = Console(file=io.StringIO(), width=60)
    for table in in_blocks("", heads, rows, 60, repeated=1):
        console.print(table)
    shown = console.file.getvalue()
    assert all(shown.count(f"column {j} ") + shown.count(f"column {j}\n") == 1 for j in range(14))
    assert shown.count("whole") == shown.count("row 0") > 1
    assert max(map(len, shown.splitlines())) <= 60
    words = shown.split()
    assert all(text in words for text in texts.ravel())


def test_names_cannot_command_the_terminal(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(6, 1, (20, 2))])
    frame = pd.DataFrame(X, columns=["\x1b[2Ja", "b\x1b]0;title\x07" + "long" * 500])
    frame["kind"] = ["\x9b31m\u202e"] * 20 + ["other"] * 20
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    options = ("--clusters", "2", "--model", "EII", "--replicates", "20", "--label-column", "kind")
    assert run("fit", "data.csv", *options, "--out", "out") == 0
    assert run("profile", "out") == 0
    assert run("fit", "data.csv", "--columns", "\x1b[2J") == 2
    told = capsys.readouterr()
    assert r"\x1b[2Ja" in told.out
    assert r"\x9b31m\u202e" in told.out
    assert "long" * 30 not in told.out.replace("\n", "").replace(" ", "")
    assert set("\x1b\x07\x9b\u202e").isdisjoint(told.out + told.err)


def test_a_lack_of_memory_is_said(monkeypatch, capsys):
    def read_objects(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("credpart.cli.fitting.read_objects", read_objects)
    assert run("fit", "iris") == 2
    assert capsys.readouterr().err.startswith("credpart: There is not enough memory for this")


def test_one_cluster_is_no_finding(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = "With one cluster all objects are in it by definition."
    for c, is_told in (("1", True), ("2", False)):
        one = ("fit", "iris", "--model", "VVI", "--clusters", c, "--replicates", "20")
        assert run(*one, "--audit", "0", "--out", f"of-{c}") == 0
        assert (told in capsys.readouterr().out) == is_told


def test_shares_of_clusters_are_called_shares_of_mass(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    assert run("profile", "out") == 0
    first, second, *others = capsys.readouterr().out.splitlines()
    assert first.strip() == "share of mass"
    assert second.split()[:5] == ["cluster", "objects", "(Bel-Pl,", "no", "CI)"]
    assert "Bel to Pl are bounds of these objects' mass, and no confidence limits." in others
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert '<th scope="row">Share of mass</th>' in page
    assert "The share of mass is" in page


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("iris", "Better: adjusted_rand and credal_rand nearer to 1, misplaced nearer to 0."),
        ("butterfly", "Without known classes none of these figures says which method is better."),
    ],
)
def test_compare_has_shares_in_percent_and_says_what_is_better(source, told, capsys):
    assert run("compare", source, "--clusters", "2", "--methods", "ecm") == 0
    shown = capsys.readouterr().out
    assert told in shown.splitlines()
    words = [line.split() for line in shown.splitlines()]
    of = {line[0]: line[1] for line in words if len(line) == 2}
    shares = [of[name] for name in ("sure", "overlapping", "undecided", "outlying")]
    assert all(share.endswith("%") for share in shares)
    assert sum(float(share[:-1]) for share in shares) == pytest.approx(100.0, abs=0.2)
