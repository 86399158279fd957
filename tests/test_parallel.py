"""Tasks in parallel: a worker that is killed costs a retry, and changes no byte."""

import os

import joblib
import pytest

from credpart import CalibratedClustering
from credpart._bootstrap import algorithm1
from credpart._parallel import RETRIES, run_tasks
from credpart.datasets import make_mixture3
from credpart.errors import WorkerError, WorkerWarning

SAMPLE = make_mixture3(60, random_state=0).X

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def deadly(function, folder, times, when=lambda *task: True):
    """A function that kills its worker before it is called, ``times`` times in all.

    It is local, so that workers get it by value and need not import this module.
    """
    import os
    import signal

    def called(*task):
        for count in range(times if when(*task) else 0):
            try:
                os.close(os.open(f"{folder}/{count}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*task)

    return called


def deadly_cube(folder, times):
    return deadly(lambda number: number**3, str(folder), times, lambda number: number == 5)


def model():
    return CalibratedClustering(3, model="EEE", n_replicates=48, random_state=0).fit(SAMPLE)


@posix_only
@pytest.mark.parametrize("times", [1, RETRIES])
def test_a_killed_worker_costs_a_retry(times, tmp_path):
    tasks = [(number,) for number in range(12)]
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.warns(WorkerWarning, match="killed; its tasks are run again") as told,
    ):
        found = list(run_tasks(deadly_cube(tmp_path, times), tasks, None))
    assert found == [number**3 for number in range(12)]
    assert len(list(tmp_path.iterdir())) == times
    assert [warning.category for warning in told] == [WorkerWarning]


@posix_only
@pytest.mark.filterwarnings("ignore::credpart.errors.WorkerWarning")
def test_workers_that_are_killed_every_time_are_an_error(tmp_path):
    tasks = [(number,) for number in range(12)]
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(WorkerError, match=f"killed {RETRIES + 1} times.*smaller `n_jobs`"),
    ):
        list(run_tasks(deadly_cube(tmp_path, 100), tasks, None))


@posix_only
@pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")
def test_a_killed_worker_changes_no_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(algorithm1, "LARGEST", 16)
    expected = model().partition_.masses.tobytes()
    monkeypatch.setattr(algorithm1, "refit_chunk", deadly(algorithm1.refit_chunk, str(tmp_path), 1))
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.warns(WorkerWarning, match="killed"),
    ):
        assert model().partition_.masses.tobytes() == expected
    assert len(list(tmp_path.iterdir())) == 1
