"""Files as people have them: read rightly without an option, or stopped with the option to add."""

import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import typer

from credpart.cli.fitting import read_for
from credpart.cli.reading import reads_a_table
from credpart.cli.vocabulary import in_shell
from credpart.errors import InputError
from tests.files_as_they_come.make import FILES, HERE, TRUTH

PACKAGES = {".xlsx": "openpyxl", ".parquet": "pyarrow"}


def arguments_of(options):
    """What the options of a command line make of a table."""
    app, given = typer.Typer(), []

    @app.command()
    @reads_a_table()
    def read(table: dict):
        given.append(table)

    typer.main.get_command(app).main(shlex.split(options), standalone_mode=False)
    return given[0]


def outcome(file, options):
    """The objects that would be clustered, or the message that stops the command."""
    try:
        objects = read_for(str(HERE / file.name), arguments_of(options), "auto")
    except InputError as error:
        return None, in_shell(error)
    return objects, " ".join(map(in_shell, objects.remarks))


def check_read(file, objects):
    """Every number is the one that was meant, in the row where it was."""
    assert list(objects.X) == list(file.columns)
    by_place = {str(i + 1): name for i, name in enumerate(TRUTH)}
    by_year = {f"200{i + 1}": name for i, name in enumerate(TRUTH)}
    rows = list(file.rows) if objects.rows is None else objects.rows
    assert list(rows) == list(file.rows)
    for column in objects.X:
        meant = TRUTH[{**by_place, **by_year}.get(column, column)].iloc[rows]
        if file.name == "comma_or_thousands.csv" and column == "weight":
            meant = np.floor(meant)
        np.testing.assert_array_equal(objects.X[column], meant)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_read_rightly_or_stopped_with_the_option_to_add(file):
    package = PACKAGES.get(Path(file.name).suffix)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"needs {package}")
    if package is None:  # other packages write other bytes from version to version
        assert (HERE / file.name).read_bytes() == file.make()
    objects, said = outcome(file, "")
    assert file.said in said
    if file.option == "":
        check_read(file, objects)
        return
    assert objects is None
    if file.option is None:
        return
    assert file.option in said
    options = file.option
    if "--na-values" in options:  # what is missing is then asked about
        _, said = outcome(file, options)
        assert "--missing drop" in said
        options += " --missing drop"
    objects, said = outcome(file, options)
    assert objects is not None, said
    check_read(file, objects)


def test_most_of_at_least_fifty_files_need_one_option_at_most():
    assert len(FILES) >= 50
    assert sum(file.option is not None for file in FILES) / len(FILES) >= 0.9
    assert {file.name for file in FILES} == {
        path.name for path in HERE.iterdir() if path.suffix not in (".py", "") and path.is_file()
    }
