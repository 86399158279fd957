"""The public surface: names, their types as a type checker sees them, and the version."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import credpart
from credpart import fit_mixture
from credpart.datasets import load_butterfly

ROOT = Path(__file__).parents[1]


def names_for_type_checkers():
    """What the block of imports that only type checkers read has, by module."""
    tree = ast.parse(Path(credpart.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.name: line.module for line in block.body for alias in line.names}


def test_type_checkers_see_the_names_that_are_loaded_on_first_use():
    assert names_for_type_checkers() == credpart._HOME
    assert set(credpart.__all__) == set(credpart._HOME)
    for name, module in credpart._HOME.items():
        assert getattr(credpart, name) is getattr(import_module(module), name)
    assert {*credpart.__all__, "__version__"} == set(dir(credpart))


def test_the_package_says_that_it_has_types():
    assert files("credpart").joinpath("py.typed").is_file()


def test_the_version_stands_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/credpart/__init__.py"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == credpart.__version__


PROGRAM = """
import numpy as np
from credpart import (CalibratedClustering, audit, bootstrap, fit_mixture, focal_sets,
                      from_replicates, irqp, pairwise_intervals, rivals, select_mixture)
X = np.random.default_rng(0).standard_normal((90, 2))
fit = fit_mixture(X, 2, random_state=0)
replicates = bootstrap(X, fit, 100, random_state=np.random.default_rng(0))
intervals = pairwise_intervals(replicates.posteriors(X), level=0.9)
result = irqp(intervals, focal_sets(2, "pairs"), random_state=None)
model = CalibratedClustering(n_clusters=2, n_replicates=100).fit(X)
"""
ARRAY = r"numpy\.ndarray\[.*{}.*\]"
FLOATS = ARRAY.format(r"(float64|floating\[.*64Bit\])")  # the latter before NumPy 2.2
TYPES = {
    "fit": "MixtureFit",
    "select_mixture(X)": "Selection",
    "select_mixture(X).best": "MixtureFit",
    "replicates": "Replicates",
    "replicates.posteriors(X)": FLOATS,
    "intervals": "PairwiseIntervals",
    "pairwise_intervals(replicates.posteriors(X), [0.9, 0.95])": r"list\[.*PairwiseIntervals\]",
    "focal_sets(2)": ARRAY.format("bool"),
    "result": "IRQPResult",
    "result.partition": "EvidentialPartition",
    "model": "CalibratedClustering",
    "model.labels_": ARRAY.format("int"),
    "model.partition_": "EvidentialPartition",
    "model.mixture_": "MixtureFit",
    "model.selection_": "Selection",
    "model.replicates_": "Replicates",
    "model.intervals_": "PairwiseIntervals",
    "model.objective_": "float",
    "model.timings_": r"dict\[str, float\]",
    "model.intervals(level=0.9)": "PairwiseIntervals",
    "model.intervals(level=[0.9, 0.95])": r"list\[.*PairwiseIntervals\]",
    "model.intervals(level=0.9, method='basic')": "PairwiseIntervals",
    "model.refit_partition(level=0.95)": "CalibratedClustering",
    "model.predict_masses(X)": FLOATS,
    "audit(model)": "Audit",
    "model.recalibrate(audit(model.result_))": "CalibratedClustering",
    "rivals(model)": "Rivals",
    "from_replicates(replicates.posteriors(X))": "CalibratedResult",
}


def test_a_type_checker_sees_the_real_types(tmp_path):
    (tmp_path / "program.py").write_text(
        PROGRAM + "\n".join(f"reveal_type({expression})" for expression in TYPES) + "\n"
    )
    # As mypy is run on the project itself: the two share what they have worked out.
    program = str(tmp_path / "program.py")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", program]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env={"MYPYPATH": "src"}, capture_output=True, text=True, check=False
    )
    told = [line for line in done.stdout.splitlines() if line.startswith(program)]
    seen = [re.search(r'Revealed type is "(.*)"$', line) for line in told]
    assert all(seen), done.stdout + done.stderr
    for (expression, expected), found in zip(TYPES.items(), seen, strict=True):
        assert re.fullmatch(rf"(credpart\..*\.)?{expected}", found[1]), f"{expression}: {found[1]}"


@pytest.mark.parametrize(
    "random_state",
    [
        None,
        3,
        np.int64(3),
        np.random.SeedSequence(3),
        np.random.default_rng(3),
        np.random.RandomState(3),
    ],
    ids=lambda state: type(state).__name__,
)
def test_a_mixture_takes_any_random_state(random_state):
    butterfly = load_butterfly().X
    fit = fit_mixture(butterfly, 2, "EII", random_state=random_state)
    assert fit.loglik == pytest.approx(fit_mixture(butterfly, 2, "EII", random_state=0).loglik)
