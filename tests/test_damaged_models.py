"""The short form of the attack on saved files; its full form is a program of its own."""

import subprocess
import sys

from tests.attacks.damaged_models import DAMAGE, FORGERIES, LIES


def test_damaged_and_forged_files_are_refused_or_harmless():
    # In a process of its own, because it limits its memory.
    command = [sys.executable, "-W", "ignore", "-m", "tests.attacks.damaged_models"]
    n_kinds = len(FORGERIES) + len(LIES)
    sizes = ["--damaged", str(4 * len(DAMAGE)), "--forged", str(5 * n_kinds)]
    run = subprocess.run([*command, *sizes], capture_output=True, text=True)  # noqa: S603
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-5000:]
    table = run.stdout.splitlines()
    assert len(table) == 2 + len(DAMAGE) + n_kinds + 1
    assert ", 0 failures, " in table[-1]
