"""Same seed, same bytes: for any number of jobs, any backend and any order of the tasks."""

import time

import joblib
import numpy as np
import pytest
from joblib import register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from credpart import CalibratedClustering
from credpart._bootstrap import algorithm1
from credpart.datasets import make_mixture3

SAMPLE = make_mixture3(60, random_state=0).X
NEW = make_mixture3(20, random_state=1).X

pytestmark = pytest.mark.filterwarnings("ignore::credpart.errors.DegeneracyWarning")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    # several tasks at every stage, as large data have
    monkeypatch.setattr(algorithm1, "LARGEST", 16)
    monkeypatch.setattr(algorithm1, "PILOTS", (32,))


def result(n_jobs=None):
    model = CalibratedClustering(
        3, model=["EII", "EEV", "VVV"], n_replicates=80, random_state=0, n_jobs=n_jobs
    ).fit(SAMPLE)
    arrays = model.partition_.masses, model.intervals_.lower, model.predict_masses(NEW)
    return b"".join(array.tobytes() for array in arrays)


@pytest.fixture(scope="module")
def expected():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithm1, "LARGEST", 16)
        patch.setattr(algorithm1, "PILOTS", (32,))
        return result()


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_the_number_of_jobs_changes_no_byte(n_jobs, expected):
    assert result(n_jobs) == expected


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_backend_changes_no_byte(backend, expected):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert result() == expected


@pytest.mark.filterwarnings("ignore")  # of the cluster's own
def test_a_dask_cluster_of_two_processes_changes_no_byte(expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(processes=True, local_directory=str(tmp_path), **options) as two,
        distributed.Client(two),
        joblib.parallel_config(backend="dask"),
    ):
        assert result() == expected


class Delayed(ThreadingBackend):
    """Threads that end their tasks in another order than they were given."""

    def __init__(self, order=None, **options):
        super().__init__(**options)
        self.order, self.count = order, 0

    def submit(self, func, callback=None):
        self.count += 1
        pause = 0.02 * self.order(self.count)

        def later():
            time.sleep(pause)
            return func()

        return super().submit(later, callback)


ORDERS = {
    "as given": lambda task: task % 8,
    "backwards": lambda task: -task % 8,
    "at random": lambda task: np.random.default_rng(task).integers(8),
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_the_tasks_changes_no_byte(order, expected):
    register_parallel_backend("delayed", Delayed)
    with joblib.parallel_config(backend="delayed", n_jobs=8, order=ORDERS[order]):
        assert result() == expected
