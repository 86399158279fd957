"""The command line, in process: what it writes, what it says, what it leaves."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from credpart import CalibratedClustering, load_model
from credpart.cli import main
from credpart.cli.folder import FILES
from credpart.datasets import load_iris

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


def test_masses_are_those_of_the_library_to_the_byte(fitted):
    model = CalibratedClustering(3, model="VVI", n_replicates=20, random_state=1)
    model.fit(load_iris().X)
    table = pd.read_csv(fitted / "masses.csv", index_col="id")
    masses = table.filter(regex=r"^m\{").to_numpy()
    assert masses.tobytes() == model.partition_.masses.tobytes()
    np.testing.assert_array_equal(table["label"], model.labels_ + 1)
    assert load_model(fitted / "model.npz").partition_.masses.tobytes() == masses.tobytes()


def test_summary_says_what_was_done(fitted):
    summary = json.loads((fitted / "summary.json").read_text())
    wanted = {"n", "n_clusters", "model", "loglik", "bic", "level", "replicates", "objective"}
    assert wanted | {"timings", "seed", "version"} <= summary.keys()
    assert {path.name for path in fitted.iterdir()} == set(FILES)
    assert (summary["n"], summary["n_clusters"], summary["seed"]) == (150, 3, 1)
    assert summary["confusion"]["setosa"]["{setosa}"] == 50


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
