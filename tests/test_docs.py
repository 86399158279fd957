"""The documentation: names it has, names it lacks, and code that runs as printed.

That the pages build without a warning is seen by ``sphinx-build -W`` in ``.ci/run``.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if not {"_build", "gallery", "generated"} & set(page.parts)
)
PUBLIC = ("credpart", "credpart.plot", "credpart.datasets", "credpart.metrics")
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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
    listed, home = {name for where, name in documented() if where == module}, import_module(module)
    assert {name for name in home.__all__ if callable(getattr(home, name))} <= listed


@pytest.mark.parametrize("page", [p for p in PAGES if FENCE.search(p.read_text())], ids=str)
def test_code_of_a_page_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in FENCE.findall(page.read_text()):
        exec(compile(block, str(page.relative_to(ROOT)), "exec"), names)  # noqa: S102
    plt.close("all")


def test_every_page_is_in_a_table_of_contents():
    toctrees = "".join(
        re.findall(r"```{toctree}.*?```", "".join(p.read_text() for p in PAGES), re.S)
    )
    listed = set(re.findall(r"^(?:.*<)?([\w/-]+)>?$", toctrees, re.M))
    for page in PAGES:
        stem = page.relative_to(DOCS).with_suffix("")
        assert str(stem) == "index" or {str(stem), stem.name} & listed, f"{page} is in no toctree"
