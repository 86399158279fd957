"""The lowest versions that are tested are those that are declared."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def test_the_lowest_set_is_the_declared_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [Requirement(line) for line in (*project["dependencies"], *extras["dask"])]
    declared += [Requirement(line) for line in extras["io"]]
    lines = (ROOT / ".ci" / "lowest.txt").read_text().splitlines()
    pinned = [Requirement(line) for line in lines if not line.startswith("#")]
    lowest = {
        one.name: Version(next(iter(one.specifier)).version)
        for one in pinned
        if one.marker is None or one.marker.evaluate({"python_version": "3.11"})
    }
    bounds = {one.name: Version(next(iter(one.specifier)).version) for one in declared}
    assert {next(iter(one.specifier)).operator for one in declared} == {">="}
    assert bounds == lowest
