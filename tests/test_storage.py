"""Models as files: the same bytes come back, and nothing but values of the closed lists."""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from credpart import CalibratedClustering, MixtureFamily, load_model, save_model
from credpart.datasets import load_iris
from credpart.partition.npz import read_npz, write_npz
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
