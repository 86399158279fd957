"""Errors and warnings: their parts, and how they read in Python and in a shell."""

import ast
import builtins
import copy
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

import credpart
from credpart import errors, fit_mixture, focal_sets
from credpart._checks import check_data
from credpart._messages import Message, Name, RowNumber, Setting
from credpart.cli.app import app
from credpart.cli.vocabulary import OPTIONS, in_shell
from credpart.diagnostics.findings import Finding
from credpart.errors import CredpartError, CredpartWarning, InputError

SOURCE = Path(credpart.__file__).parent
KINDS = [getattr(errors, name) for name in errors.__all__]


def refused(function, *arguments, **options):
    with pytest.raises(CredpartError, match="must") as caught:
        function(*arguments, **options)
    return caught.value


def test_an_error_carries_its_parts():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.nan]})
    error = refused(check_data, frame)
    assert (error.argument, error.requirement) == ("X", "be finite")
    assert (error.row, error.column, error.remedy) == (1, "b", "Drop or impute them.")
    assert error.got == "1 NaN (missing) and 0 inf values, the first in column 'b', row 1"
    assert str(error) == f"`X` must be finite, got {error.got}. Drop or impute them."
    assert refused(check_data, frame.to_numpy()).column == 1


def test_what_was_got_is_the_value_itself():
    value = object()
    error = refused(focal_sets, value)
    assert error.got is value
    assert (error.row, error.column, error.remedy) == (None, None, "")


def test_a_shell_reads_options_and_rows_of_the_file():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.nan]})
    error = refused(check_data, frame)
    start = "The data must be finite, got 1 NaN (missing) and 0 inf values, the first in column 'b'"
    assert in_shell(error) == f"{start}, row 2. Drop or impute them."
    assert in_shell(error, lambda i: RowNumber(7, "b.csv")) == (
        f"{start}, row 8 of 'b.csv'. Drop or impute them."
    )
    full = refused(focal_sets, 13, "full")
    assert in_shell(full) == (
        "--clusters must be at most 12 when --focal-sets is 'full', got 13, which has 2^13 - 1 "
        "sets. Use --focal-sets pairs or 'overlapping'."
    )


@pytest.mark.parametrize(
    ("setting", "python", "shell"),
    [
        (Setting("n_replicates", 200), "n_replicates=200", "--replicates 200"),
        (Setting("omega", True), "omega=True", "--omega"),
        (Setting("selection", "each"), "selection='each'", "--selection each"),
        (Setting("model", ["VVV", "t"]), "model=['VVV', 't']", "--model VVV,t"),
        (
            Setting("focal_sets", "full", method="refit_partition"),
            "refit_partition(focal_sets='full')",
            "--focal-sets full",
        ),
        (Setting("overwrite", True, is_quoted=True), "`overwrite=True`", "--force"),
        (Setting("tol", 1e-3), "tol=0.001", "`tol` 0.001"),
        (Name("predict_masses"), "`predict_masses`", "--fit-rows"),
        (RowNumber(np.int64(4)), "row 4", "row 5"),
    ],
    ids=str,
)
def test_parts_of_messages(setting, python, shell):
    message = Message("Try ", setting, ".")
    assert message == f"Try {python}."
    assert in_shell(message) == f"Try {shell}."


def test_values_that_look_like_templates_are_left_as_they_are():
    error = refused(focal_sets, "{0} `n_clusters` row 3 %s")
    assert in_shell(error) == "--clusters must be an integer >= 1, got '{0} `n_clusters` row 3 %s'."


def test_a_message_is_text_that_can_be_copied_and_joined():
    message = Message("Raise ", Name("n_clusters"), ".")
    for same in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message))):  # noqa: S301
        assert same == message
        assert in_shell(same) == "Raise --clusters."
    assert in_shell(Message("Poor. ", message)) == "Poor. Raise --clusters."
    assert str(Finding("t", "poor", "few", message)) == "Few. Raise `n_clusters`."


def made(kind):
    if kind is errors.UnsupportedError:
        return kind("Gamma", "cannot")
    if kind is errors.FileContentError:
        return kind("source", "a.csv", "hold numbers", "x", "Leave it out.")
    if issubclass(kind, InputError):
        return kind("level", "be a number", "high", "Lower it.")
    return kind("Raise ", Name("level"), ".")


@pytest.mark.parametrize("kind", KINDS)
def test_errors_and_warnings_come_back_from_workers(kind):
    before = made(kind)
    after = pickle.loads(pickle.dumps(before))  # noqa: S301
    assert type(after) is kind
    assert str(after) == str(before)
    assert vars(after) == vars(before)
    assert in_shell(after) == in_shell(before)


def test_the_list_of_errors_is_closed():
    assert {kind for kind in KINDS if issubclass(kind, Warning)} == {
        CredpartWarning,
        *CredpartWarning.__subclasses__(),
    }
    found, new = set(), {CredpartError}
    while new:
        found |= new
        new = {sub for kind in new for sub in kind.__subclasses__()}
    assert found == {kind for kind in KINDS if not issubclass(kind, Warning)}
    assert all(issubclass(kind, CredpartError | CredpartWarning) for kind in KINDS)


def test_a_warning_carries_its_parts():
    X = np.random.default_rng(0).standard_normal((60, 2))
    X[7, 1] = 1e6
    with warnings.catch_warnings(record=True, action="always") as caught:
        fit_mixture(X, 1, "EII")
    (warning,) = caught
    assert "row 7 lies more than" in str(warning.message)
    assert "row 8 lies more than" in in_shell(warning.message)
    assert "row 43 lies more than" in in_shell(warning.message, lambda i: RowNumber(i + 35))


WARNING_CALLS = {"warn_caller", "warnings.warn"}


def raised():
    """All statements of the source that raise an error, or warn, with the file they are in."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield path, node, node.exc
            if isinstance(node, ast.Call) and ast.unparse(node.func) in WARNING_CALLS:
                yield path, node, node


def test_arguments_are_named_by_structured_errors_only():
    for path, node, call in raised():
        name = ast.unparse(call.func)
        texts = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant)]
        is_plain = hasattr(builtins, name) or (name == "warnings.warn" and len(call.args) > 1)
        said = " ".join(text for text in texts if isinstance(text, str))
        assert not (is_plain and "`" in said), f"{path}:{node.lineno}: {ast.unparse(call)}"
        assert not (is_plain and name == "warnings.warn"), f"{path}:{node.lineno}"


def test_rows_are_parts_and_not_text():
    for path, node, call in raised():
        for text in ast.walk(call):
            if isinstance(text, ast.JoinedStr):
                assert not re.search(r"\brow \{", ast.unparse(text)), f"{path}:{node.lineno}"


def test_the_vocabulary_has_every_option_and_no_other():
    commands = typer.main.get_command(app).commands.values()
    options = {name for one in commands for p in one.params for name in p.opts if "--" in name}
    # Of "--kind density" the option is the first word.
    words = {word.split()[0] for word in OPTIONS.values() if word.startswith("--")}
    assert words <= options
    # The others take no value that could be wrong.
    assert options - words == {"--quiet", "--dry-run", "--out-of-core"}
