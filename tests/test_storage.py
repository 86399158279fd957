"""Models as files: the same bytes come back, and nothing but values of the closed lists."""

import gc
import io
import json
import os
import re
import struct
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from credpart import CalibratedClustering, MixtureFamily, load_model, save_model
from credpart.datasets import load_iris
from credpart.errors import FileAccessError, FileContentError, MissingFileError
from credpart.partition.npz import NewArchive, read_npz, write_npz
from credpart.storage import LAYOUT, load_with_notes

IRIS = load_iris().X
OPTIONS = {"n_replicates": 20, "random_state": 0}

MODELS = {
    "one structure": CalibratedClustering(3, model="VVI", **OPTIONS).fit(IRIS),
    "several": CalibratedClustering([2, 3], model=["EII", "VVI", "VVV"], **OPTIONS).fit(IRIS),
    "families side by side": CalibratedClustering(2, model=["EEE", "t"], **OPTIONS).fit(IRIS),
    "skew": CalibratedClustering(2, model="skew-t-EEE", **OPTIONS).fit(IRIS),
    "an array": CalibratedClustering(2, model="EEE", resampling="bayesian", **OPTIONS).fit(
        IRIS.to_numpy()
    ),
    "names of rows": CalibratedClustering(
        2, model="EEE", focal_sets=[[1, 0], [0, 1]], **OPTIONS
    ).fit(IRIS.set_axis([f"flower {i}" for i in range(len(IRIS))])),
}

RESULTS = {
    "masses": lambda model: model.partition_.masses,
    "masses of new objects": lambda model: model.predict_masses(IRIS.to_numpy()[:7] + 0.1),
    "intervals": lambda model: model.intervals_.upper,
    "intervals at another level": lambda model: model.intervals(0.8).lower,
    "another partition": lambda model: (
        CalibratedClustering.refit_partition(model, level=0.8, omega=True).partition_.masses
    ),
    "posteriors": lambda model: model.mixture_.posteriors(IRIS.to_numpy()),
    "density": lambda model: model.mixture_.log_density(IRIS.to_numpy()),
    "table": lambda model: model.selection_.table.to_numpy(),
    "labels": lambda model: model.labels_,
    "models": lambda model: model.replicates_.models,
}


@pytest.fixture(scope="module", params=MODELS)
def both(request, tmp_path_factory):
    model = MODELS[request.param]
    path = tmp_path_factory.mktemp("storage") / "model.npz"
    save_model(model, path)
    return model, load_model(path)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("result", RESULTS)
def test_a_loaded_model_gives_the_same_bytes(both, result):
    before, after = (RESULTS[result](model) for model in both)
    assert before.dtype == after.dtype
    assert before.tobytes() == after.tobytes()


def test_a_loaded_model_is_the_same_otherwise(both):
    before, after = both
    assert vars(before).keys() == vars(after).keys()
    assert repr(before.get_params()) == repr(after.get_params())
    assert repr(before.mixture_) == repr(after.mixture_)
    assert any(fit is after.mixture_ for fit in after.selection_.fits.values())
    assert before.partition_ == after.partition_
    assert not after.partition_.masses.flags.writeable


def test_columns_are_checked_after_loading(tmp_path):
    save_model(MODELS["one structure"], tmp_path / "model.npz")
    model = load_model(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="feature names"):
        model.predict_masses(IRIS.rename(columns={"petal_width": "width"}))


def test_notes_stand_beside_the_model(tmp_path):
    notes = {"source": "iris", "classes": ["a", "é"]}
    save_model(MODELS["one structure"], tmp_path / "model.npz", notes=notes)
    assert load_with_notes(tmp_path / "model.npz")[1] == notes


def test_notes_without_end_are_refused(tmp_path):
    deep = 0
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="`notes` must have at most 99 levels of lists in lists"):
        save_model(MODELS["one structure"], tmp_path / "model.npz", notes={"deep": deep})
    assert not list(tmp_path.iterdir())


def test_a_generator_is_not_kept(tmp_path):
    model = CalibratedClustering(2, model="EII", n_replicates=20)
    model.set_params(random_state=np.random.default_rng(0)).fit(IRIS)
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").random_state is None


def test_only_a_fitted_model_is_saved(tmp_path):
    with pytest.raises(TypeError, match="`model` must be a CalibratedClustering, got DataFrame"):
        save_model(pd.DataFrame(), tmp_path / "model.npz")
    with pytest.raises(ValueError, match="not fitted"):
        save_model(CalibratedClustering(), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_two_models_of_a_seed_make_one_file(tmp_path):
    for name in "ab":
        model = CalibratedClustering(2, model="EII", **OPTIONS).fit(IRIS)
        assert model.timings_
        save_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert load_model(tmp_path / "a").timings_ == {}


# Families of one's own


class WaitParams(NamedTuple):
    proportions: np.ndarray
    means: np.ndarray


class Wait(MixtureFamily):
    """Exponential waiting times, in units of the longest one."""

    params_type = WaitParams

    def __init__(self, X):
        self.longest = float(X.max())

    def features(self, X):
        return np.hstack([np.ones((len(X), 1)), X / self.longest])

    def log_joint(self, features, params):
        logs = self.log_shares(params.proportions) - np.log(params.means)
        return np.stack([logs, -1.0 / params.means], axis=-1) @ features.mT

    def m_step(self, statistics, structure, previous):
        sizes, sums = np.moveaxis(statistics, -1, 0)
        present = sizes > 0.0
        means = np.where(present, sums, 1.0) / np.where(present, sizes, 1.0)
        return WaitParams(self.shares(sizes), means)

    def n_free(self, c):
        return 2 * c - 1


class Undeclared(Wait):
    params_type = None


RNG = np.random.default_rng(0)
WAITS = np.concatenate([RNG.exponential(1.0, 50), RNG.exponential(50.0, 30)])[:, None]


@pytest.fixture(scope="module")
def waits():
    return CalibratedClustering(2, model=Wait, **OPTIONS).fit(WAITS)


@pytest.mark.parametrize("saved", [lambda model: model, lambda model: model.result_])
def test_a_family_of_ones_own_is_kept(waits, saved, tmp_path):
    path = tmp_path / "model.npz"
    save_model(saved(waits), path)
    again = load_model(path, families=[Wait])
    assert again.model is Wait
    assert isinstance(again.mixture_.family, Wait)
    assert isinstance(again.mixture_.internal, WaitParams)
    assert again.mixture_.family.longest == WAITS.max()
    assert again.predict_masses(WAITS).tobytes() == waits.predict_masses(WAITS).tobytes()
    assert clone(again).fit(WAITS).partition_ == waits.partition_


def test_a_family_of_ones_own_has_to_be_named(waits, tmp_path):
    save_model(waits, tmp_path / "model.npz")
    with pytest.raises(ValueError, match=r"Call `load_model\(path, families=\[Wait\]\)`"):
        load_model(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="must hold classes that inherit MixtureFamily, got <cl"):
        load_model(tmp_path / "model.npz", families=[dict])


def test_a_family_has_to_say_what_its_parameters_are(tmp_path):
    model = CalibratedClustering(2, model=Undeclared, **OPTIONS).fit(WAITS)
    with pytest.raises(ValueError, match="Set its `params_type` to the NamedTuple"):
        save_model(model, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_result_is_kept_as_its_estimator(tmp_path):
    before = MODELS["several"]
    save_model(before.result_, tmp_path / "model.npz")
    after = load_model(tmp_path / "model.npz")
    assert (after.n_clusters, after.model) == ([2, 3], ["EII", "VVI", "VVV"])
    assert after.partition_ == before.partition_
    assert after.feature_names_in_.tolist() == before.feature_names_in_.tolist()


def test_structures_are_stored_by_name(tmp_path):
    save_model(MODELS["skew"], tmp_path / "model.npz")
    about = read_npz(tmp_path / "model.npz", LAYOUT)[0]
    fits = [one["fields"] for one in about["content"]["objects"] if "structure" in one["fields"]]
    assert [fields["structure"] for fields in fits] == ["EEE"]
    laws = [one["fields"]["law"] for one in about["content"]["objects"] if "law" in one["fields"]]
    assert laws == ["skew-t"]


# A file that somebody else wrote


@pytest.fixture
def forged(tmp_path):
    """A saved model whose JSON text is changed."""

    def forge(change):
        path = tmp_path / "model.npz"
        save_model(MODELS["one structure"], path)
        about, arrays = read_npz(path, LAYOUT)
        text = json.loads(json.dumps(about))
        change(text)
        write_npz(path, text, **arrays)
        return path

    return forge


def add_parameter(name, value):
    return lambda about: about["content"]["parameters"]["items"].append({"tuple": [name, value]})


FORGERIES = {
    "a class of its own": lambda about: about["content"]["objects"][0].update(
        {"kind": {"value": "Popen"}}
    ),
    "a family of its own": lambda about: about["content"]["objects"][0].update(
        {"kind": {"own_family": "Popen"}}
    ),
    "a method": add_parameter("predict", 1),
    "an attribute": add_parameter("result_", 1),
    "a kind of its own": add_parameter("x", {"call": 1}),
    "fields of its own": lambda about: about["content"]["objects"][0]["fields"].update({"x": 1}),
    "no parameters": lambda about: about["content"]["parameters"].update({"items": []}),
    "no result": lambda about: about["content"].update({"result": None}),
    "another layout": lambda about: about.update({"layout": "x"}),
    "an array that is not there": add_parameter("x", {"array": 10**6}),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused(forged, forgery):
    with pytest.raises(ValueError, match="`path` must be a file written by `save_model`, got"):
        load_model(forged(FORGERIES[forgery]))


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 half a zip"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(ValueError, match="`path` must be a file written by `save_model`, got"):
        load_model(tmp_path / "model.npz")


def test_pickled_arrays_are_refused(tmp_path):
    about = np.array(json.dumps({"layout": LAYOUT}))
    np.savez(tmp_path / "model.npz", about=about, x=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match=r"an array with the header .*'\|O'"):
        load_model(tmp_path / "model.npz")


def test_a_folder_a_pipe_and_nothing_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match=r"`path` must be a file that exists, got .*none"):
        load_model(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(FileAccessError, match=r"`path` must be a file, got .* which is none"):
            load_model(path)


def test_a_file_without_content_that_claims_a_terabyte_is_refused(tmp_path):
    size, of_directory = 10**12, 2**32 - 2
    path = tmp_path / "model.npz"
    with path.open("wb") as stream:  # it takes no room on the disk
        stream.truncate(size)
        stream.seek(size - 22)
        stream.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, of_directory, 0, 0))
    with pytest.raises(FileContentError, match=r"of memory that are free, got a file of 1e\+03 GB"):
        load_model(path)


def test_a_model_that_does_not_fit_in_memory_is_refused(tmp_path, monkeypatch):
    save_model(MODELS["one structure"], tmp_path / "model.npz")
    monkeypatch.setattr("credpart.partition.npz.free_memory", lambda: 2e5)
    refused = (
        r"model.npz' must fit in the 0.0002 GB of memory that are free, got arrays of "
        r"0.000\d+ GB. Read it on a machine with more memory."
    )
    with pytest.raises(FileContentError, match=refused):
        load_model(tmp_path / "model.npz")


def test_arrays_that_a_file_cannot_keep_are_refused_before_writing(tmp_path):
    model = CalibratedClustering(2, model=Wait, **OPTIONS).fit(WAITS)
    model.mixture_.family.day = np.array(["2020-01-01"], dtype="datetime64[D]")
    with pytest.raises(TypeError, match="`model` must hold arrays, numbers and text to be saved"):
        save_model(model, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


# Forgeries with the right digest: whoever writes a file can compute it.


def first(about, kind):
    """The fields of the first object of a kind."""
    return next(
        one["fields"] for one in about["content"]["objects"] if one["kind"] == {"value": kind}
    )


def change(kind, field, new):
    """Change an array of an object."""

    def forge(about, arrays):
        place = str(first(about, kind)[field]["array"])
        arrays[place] = new(arrays[place].copy())

    return forge


def change_parameters(field, new):
    """Change a parameter of the mixture, which is the first of all parameters."""

    def forge(about, arrays):
        objects = about["content"]["objects"]
        fields = next(one["fields"] for one in objects if "parameters" in one["kind"])
        place = str(fields[field]["array"])
        arrays[place] = new(arrays[place].copy())

    return forge


def put(kind, field, value):
    return lambda about, arrays: first(about, kind).update({field: value})


def set_cell(value):
    def new(array):
        array.flat[0] = value
        return array

    return new


WRONG = {
    "masses that do not sum to 1": (
        change("EvidentialPartition", "masses", lambda a: a / 2),
        "`masses` must have rows summing to 1",
    ),
    "masses of fewer objects": (
        change("EvidentialPartition", "masses", lambda a: a[:-1]),
        "must have 149 labels, one for each object",
    ),
    "sets of other clusters": (
        change("EvidentialPartition", "focal_sets", lambda a: a[:, :-1]),
        "which no other array has",
    ),
    "intervals of fewer pairs": (
        change("PairwiseIntervals", "lower", lambda a: a[:-1]),
        "which no other array has",
    ),
    "bounds that cross": (
        change("PairwiseIntervals", "lower", lambda a: np.ones_like(a)),
        "`lower` must",
    ),
    "data of another type": (
        change("Table", "values", lambda a: a.astype("f4")),
        "values is an array of float32",
    ),
    "data that are not finite": (
        change("Table", "values", set_cell(np.nan)),
        "`X` must be finite",
    ),
    "other data": (
        change("Table", "values", lambda a: a[::-1]),
        "posterior probabilities that are not those of the mixture",
    ),
    "negative weights": (
        change("CalibratedResult", "weights", set_cell(-1.0)),
        "`weights` must be finite, non-negative",
    ),
    "proportions that do not sum to 1": (
        change_parameters("proportions", lambda a: a * 2),
        "proportions that are negative or do not sum to 1",
    ),
    "matrices that are not positive definite": (
        change_parameters("natural", lambda a: -a),
        "that do not follow from other parameters",
    ),
    "other means": (
        change_parameters("means", lambda a: a + 1),
        "natural that do not follow from other parameters",
    ),
    "an unknown status": (
        change("Replicates", "status", set_cell(9)),
        "an unknown status",
    ),
    "replicates that are there twice": (
        change("FamilyReplicates", "rows", lambda a: a * 0),
        "replicates that are there twice",
    ),
    "an unknown model": (put("MixtureFit", "model", "XYZ"), "a model of another family"),
    "another model": (put("MixtureFit", "model", "EEE"), "that is not one of model 'EEE'"),
    "another level": (put("CalibrationOptions", "level", 0.7), "intervals at another level"),
    "an impossible level": (put("CalibrationOptions", "level", 2), "`level` must be a number in"),
    "a likelihood that is none": (put("MixtureFit", "loglik", "x"), "a likelihood of none"),
    "another likelihood": (put("MixtureFit", "loglik", 1.0), "another likelihood"),
    "names of other columns": (
        put("Table", "names", {"list": ["a"]}),
        "names of other columns",
    ),
}


@pytest.mark.parametrize("forgery", WRONG)
def test_a_model_that_does_not_hold_together_is_refused(forgery, tmp_path):
    forge, reason = WRONG[forgery]
    path = tmp_path / "model.npz"
    save_model(MODELS["one structure"], path)
    about, arrays = read_npz(path, LAYOUT)
    forge(about, arrays)
    write_npz(path, about, **arrays)
    refused = "`path` must be a file written by `save_model`, got"
    with pytest.raises(ValueError, match=f"{refused}.*{re.escape(reason)}"):
        load_model(path)


def test_an_archive_that_an_interruption_left_open_says_nothing(capsys):
    stream = io.BytesIO()
    archive = NewArchive(stream, "w")
    stream.close()
    del archive
    gc.collect()
    assert capsys.readouterr().err == ""
