"""The documentation: names it has, names it lacks, and code that runs as printed.

That the pages build without a warning is seen by ``sphinx-build -W`` in ``.ci/run``.
"""

import inspect
import json
import re
import shlex
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from credpart import CalibratedClustering, diagnose
from credpart.cli import main
from credpart.cli.folder import FILES
from credpart.datasets import load_butterfly
from credpart.report import to_html

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if not {"_build", "gallery", "generated"} & set(page.parts)
)
# What CI does itself, as the README says.
INSTALLATION = ("python3 -m venv", ".venv/bin/", ". .venv/bin/activate")
PUBLIC = ["credpart"]
PUBLIC += [
    f"credpart.{name}"
    for name in ("datasets", "diagnostics", "errors", "metrics", "plot", "report")
]
STEP = re.compile(r"^```(python|sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = [page for page in [ROOT / "README.md", *PAGES] if STEP.search(page.read_text())]


@pytest.fixture(scope="module")
def calibrated():
    model = CalibratedClustering([2, 3], model="EII", n_replicates=20, random_state=0)
    return model.fit(load_butterfly().X)


def documented():
    """Names that the tables of the API list, as module and name."""
    text = (DOCS / "api.md").read_text()
    tables = re.findall(r"autosummary::\n   :toctree: generated\n\n((?:   .+\n)+)", text)
    return [f"credpart.{name}".rsplit(".", 1) for table in tables for name in table.split()]


@pytest.mark.parametrize(("module", "name"), documented())
def test_every_name_of_the_api_has_an_example(module, name):
    assert ">>>" in (inspect.getdoc(getattr(import_module(module), name)) or "")


@pytest.mark.parametrize("module", PUBLIC)
def test_the_api_lists_every_public_name(module):
    listed = [getattr(import_module(where), name) for where, name in documented()]
    home = import_module(module)
    public = {name: getattr(home, name) for name in home.__all__}
    assert not [name for name, value in public.items() if callable(value) and value not in listed]


def run_python(block, names):
    exec(compile(block, "<page>", "exec"), names)  # noqa: S102


def run_shell(block, names):
    for line in block.replace("\\\n", " ").splitlines():
        if not line.startswith("credpart "):
            assert line.startswith(INSTALLATION), line
            continue
        with pytest.raises(SystemExit) as end:
            main(shlex.split(line)[1:])
        assert end.value.code == 0, line


def run_console(block, capsys):
    """Commands after a dollar sign, each with what it says; it may be an error."""
    for session in block.split("$ ")[1:]:
        command, said = session.split("\n", 1)
        with pytest.raises(SystemExit):
            main(shlex.split(command)[1:])
        told = capsys.readouterr()
        assert " ".join(said.split()) in " ".join((told.out + told.err).split()), command


RUNNERS = {"python": run_python, "sh": run_shell}


@pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")  # of small samples
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_code_of_a_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    text = page.read_text()
    printed = ""
    for language, block in STEP.findall(text):
        if language == "console":
            printed += capsys.readouterr().out
            run_console(block, capsys)
        else:
            RUNNERS[language](block, names)
    plt.close("all")
    printed = " ".join((printed + capsys.readouterr().out).split())
    for output in OUTPUT.findall(text):
        assert " ".join(output.split()) in printed


def test_output_files_are_described(tmp_path, capsys):
    options = ["--clusters", "2", "--model", "EII", "--replicates", "20", "--quiet"]
    with pytest.raises(SystemExit):
        main(["fit", "butterfly", *options, "--out", str(tmp_path / "out")])
    text = (DOCS / "output-files.md").read_text()
    described = set(
        re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    )
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made == set(FILES) == set(re.findall(r"^## (\S+)$", text, re.M))
    with np.load(tmp_path / "out" / "intervals.npz") as arrays:
        assert set(arrays.files) <= described
    assert set(json.loads((tmp_path / "out" / "summary.json").read_text())) <= described
    header = pd.read_csv(tmp_path / "out" / "masses.csv").columns
    assert {name for name in header if "{" not in name or name.endswith("{1}")} <= described


def test_the_guide_names_the_sections_of_the_report_in_their_order(calibrated):
    page = to_html(calibrated, diagnosis=diagnose(calibrated, audit=1, rivals=True))
    headings = [re.sub("<.*?>", "", h) for h in re.findall(r"<h2.*?>(.*?)</h2>", page, re.S)]
    guide = (DOCS / "guides" / "reading-the-report.md").read_text()
    told = re.findall(r"^\*\*(.+)\*\*$", guide, re.M)
    assert [" ".join(heading.split()) for heading in headings][1:] == told[1:]
    assert headings[0].strip().endswith(told[0])


def test_every_page_is_in_a_table_of_contents():
    toctrees = "".join(
        re.findall(r"```{toctree}.*?```", "".join(p.read_text() for p in PAGES), re.S)
    )
    listed = set(re.findall(r"^(?:.*<)?([\w/.-]+)>?$", toctrees, re.M))
    for page in PAGES:
        stem = page.relative_to(DOCS).with_suffix("")
        names = {str(stem), stem.name, f"../{stem.name}"}
        assert str(stem) == "index" or names & listed, f"{page} is in no toctree"


def test_the_map_of_equations_names_what_exists():
    text = (DOCS / "equations.md").read_text()
    places = re.findall(r"`(credpart(?:\.\w+)+)`", text)
    for place in places:
        parts = place.split(".")
        for cut in range(len(parts), 0, -1):
            with suppress(ModuleNotFoundError):
                value = import_module(".".join(parts[:cut]))
                break
        for name in parts[cut:]:
            value = getattr(value, name)
    for number in range(1, 20):
        known = re.findall(r"^\| \((\d+)\)(?:-\((\d+)\))? \|", text, re.M)
        assert any(int(low) <= number <= int(high or low) for low, high in known), number
