"""The result as a value: frozen, computed once, and read by all consumers alike."""

import pickle
from dataclasses import FrozenInstanceError, fields

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
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
    "diagnosis": lambda model: diagnose(model).summary(),
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
