"""Attack: does the number of jobs, or the backend, change a byte of a result?

    python -m tests.attacks.combinations --tries 240

Every study is of a random kind (models, focal sets, resampling, selection, criterion, weights).
It is run without any parallel work, and then with one, two and all jobs, by threads, by processes
of loky, and by the workers of a Dask cluster.  Chunks are made small, so that every stage has
several tasks, as it has for large data.
"""

import argparse
import contextlib
import hashlib
import tempfile
import warnings
from itertools import cycle, islice

import joblib
import numpy as np

from credpart import CalibratedClustering
from credpart._bootstrap import algorithm1
from credpart.errors import CredpartError, CredpartWarning
from tests.attacks.small_data import clusters

MODELS = (
    "EII", "VVI", "EEE", "VEV", "VVV", "t", "t-EEE", "skew-normal",
    ["EII", "VII", "VVI"], ["EEE", "VVV", "t"],
)  # fmt: skip
# How a study is run: backend and number of jobs.
WAYS = (
    ("argument", 1), ("argument", 2), ("argument", -1),
    ("threading", 2), ("threading", -1),
    ("loky", 1), ("loky", 2), ("loky", -1),
    ("dask", 2), ("dask", -1),
)  # fmt: skip


def draw(seed):
    """The data, the weights, the number of clusters and the options of a study."""
    rng = np.random.default_rng([seed, 240])
    X, c = clusters(rng, most_columns=3, per_cluster=(8, 25))
    options = {
        "model": MODELS[rng.integers(len(MODELS))],
        "criterion": str(rng.choice(["bic", "icl", "aic"])),
        "resampling": str(rng.choice(["nonparametric", "bayesian", "parametric"])),
        "focal_sets": str(rng.choice(["singletons", "pairs", "overlapping", "full"])),
        "selection": str(rng.choice(["each", "once"])),
        "n_replicates": 48,
        "random_state": int(rng.integers(1000)),
    }
    weights = rng.integers(0, 3, len(X)) if rng.random() < 0.3 else None
    return X, weights, c if rng.random() < 0.6 else [c - 1, c, c + 1], options


def digest(seed, n_jobs=None):
    """A digest of all that a study finds, or the error's text."""
    X, weights, c, options = draw(seed)
    with warnings.catch_warnings(), small_chunks():
        warnings.simplefilter("ignore", CredpartWarning)
        try:
            model = CalibratedClustering(c, n_jobs=n_jobs, **options).fit(X, sample_weight=weights)
        except CredpartError as error:
            return str(error)
        intervals, replicates = model.intervals_, model.replicates_
        arrays = [
            model.partition_.masses, model.partition_.focal_sets, model.result_.posteriors,
            intervals.lower, intervals.upper, intervals.own_lower, intervals.own_upper,
            replicates.models.astype("U20"), replicates.status, replicates.loglik,
            replicates.n_iter, model.selection_.table.to_numpy(), np.array(model.objective_),
            model.predict_masses(X[:5] + 0.1),
        ]  # fmt: skip
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


@contextlib.contextmanager
def small_chunks():
    before = algorithm1.LARGEST, algorithm1.PILOTS
    algorithm1.LARGEST, algorithm1.PILOTS = 16, (32,)
    try:
        yield
    finally:
        algorithm1.LARGEST, algorithm1.PILOTS = before


def run(seed, way):
    """The digest of a study that is run in one way."""
    backend, n_jobs = way
    if backend == "argument":
        return digest(seed, n_jobs)
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        return digest(seed)


@contextlib.contextmanager
def dask_cluster(is_wanted):
    """A Dask cluster of two processes, if some way needs it."""
    if not is_wanted:
        yield
        return
    import distributed

    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",  # any free port
            processes=True,
            local_directory=folder,
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


def failures(tries, seed=0, ways=WAYS, *, is_shown=False):
    """Which of the combinations of studies and ways gave other bytes: (seed, way).

    They can be shown as they are found, with how many were tried after every study.
    """
    bad = []
    with dask_cluster(any(backend == "dask" for backend, _ in ways)):
        combinations = islice(enumerate(cycle(ways)), tries)
        study, expected = -1, ""
        for number, way in combinations:
            if number // len(ways) != study:
                study = number // len(ways)
                expected = digest(seed + study)
                if is_shown:
                    print(f"{len(bad)} of {number} gave other bytes", flush=True)
            if run(seed + study, way) != expected:
                bad.append((seed + study, way))
                if is_shown:
                    print(f"    seed {seed + study}, {way}: {draw(seed + study)[2:]}", flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=240, help="combinations")
    parser.add_argument("--seed", type=int, default=0, help="of the first study")
    options = parser.parse_args()
    bad = failures(options.tries, options.seed, is_shown=True)
    print(f"{len(bad)} of {options.tries} combinations gave other bytes")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
