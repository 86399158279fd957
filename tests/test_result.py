"""The result as a value: frozen, computed once, and read by all consumers alike."""

import pickle
import sys
from copy import copy
from dataclasses import FrozenInstanceError, fields

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from credpart import CalibratedClustering, CalibratedResult, diagnose, fit_mixture, plot
from credpart.cli import main
from credpart.datasets import make_mixture1, make_survey
from credpart.diagnostics import diagnosis
from credpart.errors import CredpartWarning
from credpart.mixture.fit import MixtureFit
from credpart.report import to_html

SMALL = make_mixture1(60, random_state=0).X
OPTIONS = {"model": "EII", "n_replicates": 40, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return CalibratedClustering([2, 3], **OPTIONS).fit(SMALL)


def arrays(result):
    return {
        "values": result.data.values,
        "weights": result.weights,
        "posteriors": result.posteriors,
        "lower": result.intervals.lower,
        "masses": result.partition.masses,
        "means": result.mixture.params.means,
        "statuses": result.replicates.status,
    }


def test_a_result_is_frozen_and_its_arrays_are_read_only(model):
    for field in fields(CalibratedResult):
        with pytest.raises(FrozenInstanceError):
            setattr(model.result_, field.name, None)
    for name, array in arrays(model.result_).items():
        assert not array.flags.writeable, name


def test_a_copy_is_read_only_too(model):
    again = pickle.loads(pickle.dumps(model.result_))  # noqa: S301
    assert not again.data.values.flags.writeable
    assert again.partition == model.partition_


def test_the_data_of_the_caller_stay_as_they_are():
    X, weights = SMALL.copy(), np.ones(len(SMALL))
    CalibratedClustering(2, **OPTIONS).fit(X, sample_weight=weights)
    X[0], weights[0] = 7.0, 2.0  # neither is read-only now


def test_posteriors_and_labels_are_those_of_the_parts(model):
    result = model.result_
    assert result.posteriors.tobytes() == result.mixture.posteriors(SMALL).tobytes()
    assert result.labels.tobytes() == result.partition.labels.tobytes()
    assert result.mixture is result.selection.best


def test_the_rmse_is_that_of_both_bounds(model):
    belief, plausibility = model.partition_.pairwise_condensed()
    gaps = np.concatenate([belief - model.intervals_.lower, plausibility - model.intervals_.upper])
    assert model.result_.rmse == pytest.approx(np.sqrt(np.mean(gaps**2)))


def test_the_parameters_and_the_seed_give_the_result_again():
    state = np.random.default_rng(3)
    first = CalibratedClustering(2, **OPTIONS).set_params(random_state=state).fit(SMALL)
    again = CalibratedClustering(**first.result_.parameters()).fit(SMALL)
    assert again.partition_ == first.partition_


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_numbers_of_clusters_that_were_open_stay_open():
    few = make_mixture1(8, random_state=0).X
    first = CalibratedClustering("auto", **OPTIONS).fit(few)
    assert first.result_.parameters()["n_clusters"] == "auto"
    assert max(first.selection_.numbers) < 9  # eight objects cannot carry more clusters


def test_a_new_partition_is_a_new_result(model):
    before = model.result_
    after = before.refit_partition(level=0.8, focal_sets="singletons")
    assert after.replicates is before.replicates
    assert (after.options.level, after.intervals.level) == (0.8, 0.8)
    assert (before.options.level, before.options.focal_sets) == (0.9, "pairs")
    assert before.intervals_at(0.8).lower.tobytes() == after.intervals.lower.tobytes()
    again = clone(model).set_params(level=0.8, focal_sets="singletons").fit(SMALL)
    assert again.partition_ == after.partition


def test_masses_of_new_objects_are_those_of_the_estimator(model):
    new = SMALL[:5] + 0.1
    expected = model.predict_masses(new)
    assert model.result_.predict_masses(new).tobytes() == expected.tobytes()


def test_a_frame_has_the_categories_that_were_read():
    survey = make_survey(80, random_state=0).X
    result = CalibratedClustering(2, n_replicates=20, random_state=0).fit(survey).result_
    for name in survey:
        seen = survey[name].notna()
        assert list(result.frame()[name][seen]) == list(survey[name][seen])


# An interrupted fit


@pytest.mark.parametrize("stage", ["fit_one", "run_bootstrap", "find_intervals", "find_partition"])
def test_an_interrupted_fit_leaves_the_earlier_one(monkeypatch, stage):
    model = CalibratedClustering(2, **OPTIONS).fit(SMALL)
    before = dict(vars(model))

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"credpart.pipeline.{stage}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(SMALL[:, :1])
    assert vars(model) == before
    assert model.n_features_in_ == 2


def test_an_interrupted_refit_leaves_the_earlier_partition(monkeypatch):
    model = CalibratedClustering(2, **OPTIONS).fit(SMALL)
    before = model.result_

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("credpart.result.find_partition", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.refit_partition(level=0.8)
    assert model.result_ is before


def interrupted_at(call, action):
    """Run an action, and interrupt it at its ``call``-th call of any function; how many came."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        if event == "call":
            calls += 1
            if calls == call:
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return calls


NAMED = pd.DataFrame(SMALL[:30], columns=["a", "b"])
ACTIONS = {
    "fit": lambda model: model.fit(NAMED),
    "refit_partition": lambda model: model.refit_partition(level=0.8, focal_sets="singletons"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("action", ACTIONS)
def test_an_interruption_at_any_moment_leaves_one_model_or_the_other(action):
    before = CalibratedClustering(2, **OPTIONS).fit(SMALL)
    for _ in range(2):  # once to fill caches
        n_calls = interrupted_at(0, lambda: ACTIONS[action](copy(before)))
    sampled = np.random.default_rng(0).integers(1, n_calls, 6)
    outcomes = []
    for call in (*sampled.tolist(), *range(n_calls - 4, n_calls + 1)):
        model = copy(before)
        interrupted_at(call, lambda model=model: ACTIONS[action](model))
        is_old = vars(model) == vars(before)
        outcomes.append(is_old)
        if not is_old:  # then it is all new
            assert vars(model).keys() == vars(ACTIONS[action](copy(before))).keys()
            assert model.result_ is not before.result_
            assert model.n_features_in_ == model.result_.data.values.shape[1]
            assert len(model.labels_) == len(model.result_.data.values)
        assert len(model.predict(SMALL[:3])) == 3
    assert any(outcomes)
    assert not all(outcomes)  # the last moments are after the assignment


def test_attributes_of_an_unfitted_estimator_are_not_there():
    model = CalibratedClustering()
    names = ("labels", "partition", "mixture", "selection", "replicates", "intervals", "objective")
    for name in (*names, "timings", "n_iter", "result"):
        assert not hasattr(model, f"{name}_")


def test_limits_and_starts_reach_the_fit():
    with pytest.warns(CredpartWarning) as told:
        model = CalibratedClustering(3, **OPTIONS, max_iter=2).fit(SMALL)
    messages = [str(warning.message) for warning in told]
    assert "EM did not converge in 2 iterations" in messages[0]
    assert "Of 40 replicates: 40 not converged" in messages[1]
    assert model.mixture_.n_iter == model.n_iter_ <= 2
    one = CalibratedClustering(3, **OPTIONS, n_starts=1).fit(SMALL)
    assert one.mixture_.loglik == fit_mixture(SMALL, 3, "EII", n_starts=1).loglik
    for name in ("max_iter", "n_starts"):
        with pytest.raises(ValueError, match=f"`{name}` must be an integer >= 1, got 0"):
            CalibratedClustering(3, **OPTIONS, **{name: 0}).fit(SMALL)


# Consumers


CONSUMERS = {
    "diagnosis": lambda model: diagnose(model, audit=0, rivals=False).summary(),
    "report": to_html,
    "memberships": lambda model: plot.MembershipsDisplay.from_estimator(model).partition,
    "partition": lambda model: plot.PartitionDisplay.from_estimator(model, SMALL).partition,
    "selection": lambda model: repr(plot.SelectionDisplay.from_estimator(model).selection),
    "approximation": lambda model: plot.ApproximationDisplay.from_estimator(model).partition,
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_consumers_take_the_estimator_or_its_result(model, consumer):
    assert CONSUMERS[consumer](model) == CONSUMERS[consumer](model.result_)
    plt.close("all")


def counted(monkeypatch, owner, name):
    """The arguments of every call of a function from now on."""
    calls, function = [], getattr(owner, name)

    def count(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, count)
    return calls


def test_a_command_diagnoses_once_and_computes_posteriors_once(monkeypatch, tmp_path):
    diagnoses = counted(monkeypatch, diagnosis, "gather_evidence")
    posteriors = counted(monkeypatch, MixtureFit, "posteriors_of")
    scores = counted(monkeypatch, MixtureFit, "log_density")
    options = ("--model", "EII", "--clusters", "2", "--replicates", "20")
    with pytest.raises(SystemExit) as ended:
        main(["fit", "butterfly", *options, "--out", str(tmp_path / "out")])
    assert ended.value.code == 0
    assert (len(diagnoses), len(posteriors), len(scores)) == (1, 1, 0)
