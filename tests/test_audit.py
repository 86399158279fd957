"""Audits: coverage counted as the definition says, the level read off the curve, and what fails."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence, default_rng

from credpart import (
    ECM,
    CalibratedClustering,
    MixtureFamily,
    _audit,
    audit,
    load_model,
    pairs,
    save_model,
)
from credpart._audit import level_for, levels_to_try, ratio_and_error
from credpart._random import integer_seed
from credpart._truths import plausible_truths
from credpart.cli import main
from credpart.datasets import make_mixture1, make_mixture3, make_survey
from credpart.errors import (
    CredpartWarning,
    DataError,
    DegeneracyWarning,
    DegenerateMixtureError,
    InputError,
    InputTypeError,
    UnsupportedError,
)
from credpart.storage import load_with_notes

X = make_mixture1(40, random_state=0).X
N_DATASETS = 3


@pytest.fixture(scope="module")
def model():
    return CalibratedClustering(
        [2, 3], model=["EII", "EEE"], n_replicates=40, level=0.8, random_state=0
    ).fit(X)


@pytest.fixture(scope="module")
def found(model):
    return audit(model, N_DATASETS, random_state=5)


def literal_coverage(model, levels):
    """The definition: draw, fit by the public estimator, count the pairs one by one."""
    shares, of_partition, far = [], [], []
    truths = plausible_truths(model.result_)
    shares_up_to = np.cumsum([truth.share for truth in truths])
    for i, seed in enumerate(SeedSequence(5).spawn(N_DATASETS)):
        drawing, fitting, _ = seed.spawn(3)
        place = 0.5 + i * (1 + 5**0.5) / 2
        mixture = truths[(shares_up_to >= place % 1).tolist().index(True)].mixture
        values = mixture.family.sample(mixture.internal, len(X), default_rng(drawing))[0]
        again = CalibratedClustering(
            [2, 3],
            model=["EII", "EEE"],
            n_replicates=40,
            level=0.8,
            random_state=integer_seed(fitting),
        ).fit(values)
        posteriors = mixture.posteriors(values)
        truth = {
            (i, j): posteriors[i] @ posteriors[j] for j in range(len(X)) for i in range(len(X))
        }
        pairs = [(i, j) for i in range(len(X)) for j in range(i + 1, len(X))]
        bounds = [again.intervals(level).square() for level in levels]
        bounds.append(again.partition_.pairwise())
        hits = [
            np.mean([lower[p] - 1e-9 <= truth[p] <= upper[p] + 1e-9 for p in pairs])
            for lower, upper in bounds
        ]
        shares.append(hits[:-1])
        of_partition.append(hits[-1])
        belief, plausibility = bounds[-1]
        far.append(
            np.mean(
                [truth[p] < belief[p] - 0.05 or truth[p] > plausibility[p] + 0.05 for p in pairs]
            )
        )
    return np.array(shares), np.array(of_partition), np.array(far)


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_coverage_is_that_of_the_definition(model, found):
    shares, of_partition, far = literal_coverage(model, [0.8, 0.9])
    assert found.coverage == pytest.approx(shares[:, 0].mean(), abs=1e-12)
    assert found.by_level.loc[0.9, "coverage"] == pytest.approx(shares[:, 1].mean(), abs=1e-12)
    assert found.coverage_partition == pytest.approx(of_partition.mean(), abs=1e-12)
    error = shares[:, 0].std(ddof=1) / np.sqrt(N_DATASETS)
    assert found.standard_error == pytest.approx(error, abs=1e-12)
    assert (found.lowest, found.highest) == (shares[:, 0].min(), shares[:, 0].max())
    assert 0.0 < found.far_partition < 1.0 - found.coverage_partition
    assert found.far_partition == pytest.approx(far.mean(), abs=1e-12)


def test_tenths_add_up_to_the_whole(found):
    table = found.by_decile
    assert table["pairs"].sum() == pytest.approx(1.0)
    for name in ("coverage", "coverage_partition", "length", "length_partition"):
        seen = table["pairs"] > 0.0
        whole = (table["pairs"] * table[name])[seen].sum()
        assert getattr(found, name) == pytest.approx(whole)


def test_longer_intervals_cover_more(found):
    assert found.by_level["coverage"].is_monotonic_increasing
    assert found.by_level["length"].is_monotonic_increasing
    assert found.by_level.index[-1] == 1.0 - 2.0 / 40


def encoded(found):
    return json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_number_of_jobs_and_the_backend_change_no_byte(model, found, backend):
    with joblib.parallel_config(backend=backend):
        assert encoded(audit(model, N_DATASETS, random_state=5, n_jobs=2)) == encoded(found)


def test_a_loaded_model_and_a_result_have_the_same_audit(model, found, tmp_path):
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz").result_
    assert encoded(audit(again, N_DATASETS, random_state=5)) == encoded(found)


def test_the_first_data_sets_of_a_longer_audit_are_the_same(model, monkeypatch):
    seen = []
    judge = _audit.judge
    monkeypatch.setattr(_audit, "judge", lambda *a: seen.append(judge(*a)) or seen[-1])
    audit(model, 1, n_replicates=10, random_state=5)
    audit(model, 2, n_replicates=10, random_state=5)
    np.testing.assert_array_equal(seen[0].covered, seen[1].covered)
    assert not np.array_equal(seen[1].covered, seen[2].covered)


def test_progress_goes_to_the_end_and_an_interrupt_stops(model):
    seen = []

    def progress(stage, part):
        seen.append((stage, part))
        if part > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(model, 4, n_replicates=10, random_state=0, progress=progress)
    assert seen == [("audit", 0.25), ("audit", 0.5), ("audit", 0.75)]


def test_one_data_set_has_no_standard_error(model):
    one = audit(model, 1, n_replicates=10)
    assert np.isnan(one.standard_error)
    assert one.n_replicates == 10
    assert one.to_dict()["standard_error"] is None


def test_the_level_is_interpolated_on_a_curve_that_does_not_fall():
    levels = [0.5, 0.8, 0.9, 0.95]
    assert level_for(0.9, levels, np.array([0.4, 0.85, 0.8, 0.95])) == (pytest.approx(0.925), True)
    assert level_for(0.3, levels, np.array([0.4, 0.8, 0.9, 0.95])) == (0.5, True)
    assert level_for(0.96, levels, np.array([0.4, 0.8, 0.9, 0.95])) == (0.95, False)


@pytest.mark.parametrize("n_replicates", [10, 40, 150, 1000, 99_999, 1_000_000])
def test_levels_are_those_that_the_replicates_allow(n_replicates):
    levels = levels_to_try(0.8, n_replicates)
    assert 0.8 in levels
    assert levels == sorted(levels)
    assert levels[-1] <= 1.0 - 2.0 / n_replicates or levels[-1] == 0.8


def test_the_error_of_a_share_is_that_of_a_ratio():
    # data sets with different numbers of pairs: against the jackknife, equal to first order
    rng = default_rng(0)
    counts = rng.integers(800, 1200, size=400).astype(float)
    sums = rng.binomial(counts.astype(int), rng.beta(20, 5, size=400)).astype(float)
    ratio, error = ratio_and_error(sums, counts)
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    jackknife = np.sqrt(399 / 400 * ((left_out - left_out.mean()) ** 2).sum())
    assert ratio == pytest.approx(sums.sum() / counts.sum())
    assert error == pytest.approx(jackknife, rel=0.01)


def test_recalibration_uses_the_level_and_keeps_what_was_asked_for(model, found):
    result = model.result_.recalibrate(found)
    wanted = model.result_.refit_partition(level=found.recommended_level)
    assert result.intervals.level == result.options.level == found.recommended_level
    assert result.options.nominal_level == 0.8
    assert result.partition.masses.tobytes() == wanted.partition.masses.tobytes()
    assert result.replicates is model.replicates_
    assert result.parameters().keys() == model.get_params().keys() - {"n_jobs", "verbose"}
    assert result.refit_partition(focal_sets="full").options.nominal_level == 0.8
    assert result.refit_partition(level=0.7).options.nominal_level is None


def test_an_estimator_is_recalibrated_and_its_summary_names_both_levels(found, tmp_path):
    model = CalibratedClustering(
        [2, 3], model=["EII", "EEE"], n_replicates=40, level=0.8, random_state=0
    ).fit(X)
    level = found.recommended_level
    assert model.recalibrate(found) is model
    assert model.intervals_.level == level
    assert model.level == 0.8
    line = model.summary().splitlines()[0]
    assert f"80 % intervals (recalibrated to level {level:.4g}) from 40 replicates" in line
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").summary() == model.summary()
    # a recalibrated fit is audited at its own level, for the coverage that was asked for
    second = audit(model, N_DATASETS, random_state=5)
    assert (second.level, second.nominal_level) == (level, 0.8)
    assert second.by_level.loc[level, "coverage"] == second.coverage
    # the curve has one more point, so that it is interpolated a little differently
    assert second.recommended_level == pytest.approx(level, abs=0.02)


def test_an_audit_of_another_fit_is_refused(model, found):
    other = CalibratedClustering(2, model="EII", n_replicates=20, random_state=0).fit(X)
    with pytest.raises(InputError, match="`audit` must be of this fit"):
        other.recalibrate(found)
    with pytest.raises(InputTypeError, match="`audit` must be what `audit` returns, got 'float'"):
        model.result_.recalibrate(0.95)


def test_the_verdict_says_if_no_level_is_enough(found):
    poor = replace(found, is_reached=False, recommended_level=0.95)
    assert "0.95, the largest level for n_replicates=40, does not suffice" in poor.verdict
    assert "not enough" in repr(poor)
    assert "too few to recommend a level: draw n_datasets=8 or more" in found.verdict
    many = replace(found, n_datasets=30, standard_error=0.01)  # judged with .1 / sqrt(30) = .018
    for coverage, said in {
        0.7: f"On these data sets, use level={found.recommended_level} for a coverage of 80 %.",
        0.77: "The difference from 80 % may be chance: draw n_datasets=120.",
        0.79: "That agrees with the 80 % asked for.",
        0.83: "That agrees with the 80 % asked for.",
        0.9: "They are longer than they had to be: on these data sets "
        f"level={found.recommended_level}",
    }.items():
        assert said in replace(many, coverage=coverage).verdict
    scattered = replace(many, coverage=0.82, standard_error=0.09).verdict
    assert "The data sets differ too much to say that the level holds: draw n_data" in scattered


@pytest.mark.parametrize(
    ("coverage", "error", "n_datasets", "severity"),
    [
        (0.64, 0.01, 2, "problem"),
        (0.67, 0.01, 2, "note"),  # within two errors of .1 / sqrt(2) = .07
        (0.70, 0.04, 8, "problem"),
        (0.70, 0.055, 8, "note"),
        (0.75, 0.01, 50, "caution"),
        (0.73, 0.01, 50, "problem"),
    ],
)
def test_a_problem_is_more_than_two_standard_errors(found, coverage, error, n_datasets, severity):
    given = {"coverage": coverage, "standard_error": error}
    judged = replace(found, n_datasets=n_datasets, **given)
    assert judged.severity == severity
    of_partition = {f"{name}_partition": value for name, value in given.items()}
    judged = replace(found, n_datasets=n_datasets, **of_partition)
    assert judged.severity_partition == severity
    assert judged.is_partition_short == (severity != "note")


def test_data_sets_that_fail_are_counted(model, monkeypatch):
    def fails(data, *arguments, calibrate=_audit.calibrate, **options):
        if data.values[0, 0] > np.median(X[:, 0]):
            raise DegenerateMixtureError("No model could be fitted.")
        return calibrate(data, *arguments, **options)

    monkeypatch.setattr(_audit, "calibrate", fails)
    with pytest.warns(DegeneracyWarning, match="could not be clustered and are left out: No model"):
        some = audit(model, 6, n_replicates=10, random_state=0)
    assert 0 < some.n_failed < 6
    assert some.failures == {"No model could be fitted.": some.n_failed}
    assert f"; {some.n_failed} could not be clustered" in some.summary()

    def fails_always(*arguments, **options):
        raise DegenerateMixtureError("No model could be fitted.")

    monkeypatch.setattr(_audit, "calibrate", fails_always)
    with pytest.raises(DataError, match="None of the 2 data sets drawn could be clustered: No mod"):
        audit(model, 2)


def test_of_large_data_sets_the_pairs_of_some_objects_are_counted(model, found, monkeypatch):
    monkeypatch.setattr(_audit, "MOST_OBJECTS", 30)
    some = audit(model, N_DATASETS, random_state=5)
    assert some.n_pairs == 30 * 29 // 2
    assert some.n_objects == len(X)
    assert "435 pairs each" in some.basis
    assert some.coverage == pytest.approx(found.coverage, abs=0.2)  # a part of the same pairs


def test_results_with_a_sample_and_landmarks_are_audited(monkeypatch):
    monkeypatch.setattr(pairs, "MOST_COMPARED", 30)
    monkeypatch.setattr(pairs, "SAMPLED", 25)
    monkeypatch.setattr(pairs, "PER_PAIR_SAMPLED", 2)
    model = CalibratedClustering(2, model="EII", n_replicates=10, level=0.5, random_state=0).fit(X)
    assert model.result_.is_sampled
    seen = audit(model, 2)
    assert seen.n_pairs == 40 * 39 // 2  # all objects have masses, and posteriors in replicates
    assert 0.0 < seen.coverage_partition < 1.0
    assert model.recalibrate(seen).intervals_.level == seen.recommended_level


def test_weights_say_how_many_objects_are_drawn():
    model = CalibratedClustering(2, model="EII", n_replicates=10, level=0.5, random_state=0)
    model.fit(X, sample_weight=np.full(len(X), 1.5))
    assert audit(model, 1).n_objects == 60


@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_data_with_missing_categories_are_drawn_with_missing_cells():
    survey = make_survey(80, random_state=0).X
    survey = survey.mask(default_rng(0).random(survey.shape) < 0.2)
    model = CalibratedClustering(2, model="latent-class", n_replicates=10, level=0.5)
    result = model.fit(survey).result_
    design = _audit.make_design(result, 10)
    drawn = design.draw(design.sources[0], default_rng(1))[0]
    assert drawn.levels == result.data.levels
    share_missing = np.isnan(drawn.values).mean()
    assert share_missing == pytest.approx(np.isnan(result.data.values).mean(), abs=0.05)
    assert 0.0 <= audit(model, 2).coverage <= 1.0


class Params(NamedTuple):
    proportions: np.ndarray
    means: np.ndarray


class Exponential(MixtureFamily):
    params_type = Params

    def log_joint(self, features, params):
        logs = self.log_shares(params.proportions) - np.log(params.means)
        return np.stack([logs, -1.0 / params.means], axis=-1) @ features.mT

    def m_step(self, statistics, structure, previous):
        sizes, means = self.sizes_and_means(statistics)
        return Params(self.shares(sizes), means[..., 0])

    def n_free(self, c):
        return 2 * c - 1


class Drawn(Exponential):
    def sample(self, params, n, rng):
        y = rng.choice(params.proportions.shape[1], n, p=params.proportions[0])
        return rng.exponential(params.means[0, y])[:, None], y


def test_a_family_of_ones_own_is_audited_if_it_can_sample():
    waits = np.concatenate([default_rng(0).exponential(s, 30) for s in (1.0, 50.0)])[:, None]
    options = {"n_replicates": 10, "level": 0.5, "random_state": 0}
    able = CalibratedClustering(2, model=Drawn, **options).fit(waits)
    assert 0.0 <= audit(able, 2).coverage <= 1.0
    unable = CalibratedClustering(2, model=Exponential, **options).fit(waits)
    with pytest.raises(UnsupportedError, match="Exponential has no method `sample`, so that no da"):
        audit(unable)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_datasets": 0}, "`n_datasets` must be an integer >= 1, got 0"),
        ({"n_replicates": 9}, "`n_replicates` must be at least .* = 10 for level 0.8, got 9"),
        ({"n_replicates": 2.5}, "`n_replicates` must be an integer >= 1, got 2.5"),
    ],
)
def test_wrong_arguments_are_refused(model, options, message):
    with pytest.raises(InputError, match=message):
        audit(model, **options)


def test_what_has_no_mixture_is_refused(model):
    ecm = ECM(2, random_state=0).fit(X)
    with pytest.raises(InputError, match="`model` must be a fitted CalibratedClustering"):
        audit(ecm)
    with pytest.raises(InputError, match="`model` must have a fitted mixture"):
        audit(replace(model.result_, mixture=None))


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


@pytest.fixture
def folder(tmp_path):
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "data.csv", index=False)
    options = ("--clusters", "2", "--model", "EII", "--replicates", "20", "--quiet")
    assert run("fit", tmp_path / "data.csv", *options, "--out", tmp_path / "out") == 0
    return tmp_path / "out"


def test_the_command_writes_and_shows_an_audit(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run("audit", folder, "--datasets", "2", "--seed", "3") == 0
    shown = capsys.readouterr().out
    *lines, to_copy = shown.splitlines()
    assert max(map(len, lines)) <= 80
    head, command = to_copy.split(": ")
    assert head == "Next, a report with this audit"
    program, *arguments = shlex.split(command)
    assert program == "credpart"
    assert run(*arguments) == 0
    assert 'id="audit"' in (folder / "report.html").read_text()
    assert "0.9-1.0" in shown
    assert "Use --level" in shown or "the largest level for --replicates 20" in shown
    written = json.loads((folder / "audit.json").read_text())
    found = audit(load_model(folder / "model.npz"), 2, random_state=3)
    assert {name: written[name] for name in found.to_dict()} == json.loads(encoded(found))
    assert run("audit", folder, "--datasets", "2") == 2
    message = capsys.readouterr().err
    assert "`audit.json` must be a new file" in message
    assert "Use --force to replace it." in message
    assert run("audit", folder / "model.npz", "--datasets", "1", "--force", "-q") == 0
    assert json.loads((folder / "audit.json").read_text())["n_datasets"] == 1


def test_a_report_that_is_written_again_has_the_audit_of_its_folder(folder):
    before = (folder / "report.html").read_text()
    assert 'id="audit"' not in before
    assert run("audit", folder, "--datasets", "3", "--quiet") == 0
    assert run("report", folder) == 0
    page = (folder / "report.html").read_text()
    assert 'id="audit"' in page
    assert "On 3 data sets" in page
    # An audit of another fit, or a file that is none, is left aside.
    told = json.loads((folder / "audit.json").read_text())
    others = [json.dumps(told | change) for change in ({"loglik": 0.0}, {"level": 0.5})]
    for content in (*others, "{}", "[1]", "no JSON"):
        (folder / "audit.json").write_text(content)
        assert run("report", folder) == 0
        assert 'id="audit"' not in (folder / "report.html").read_text()


def test_a_report_with_an_audit_says_why_rivals_were_left_out(folder):
    # As the first one: the fit has too few replicates for them.
    told = "below 200 replicates it has to be asked for"
    page = (folder / "report.html").read_text()
    assert f"other models were not compared: {told}" in page
    assert run("audit", folder, "--datasets", "2", "--quiet") == 0
    assert run("report", folder) == 0
    page = (folder / "report.html").read_text()
    assert 'id="audit"' in page
    assert f"other models were not compared: {told}" in page


def test_an_audit_is_taken_where_the_first_diagnosis_cannot_be_read(folder):
    assert run("audit", folder, "--datasets", "2", "--quiet") == 0
    model, notes = load_with_notes(folder / "model.npz")
    save_model(model, folder / "model.npz", notes=notes | {"diagnosis": {}})
    assert run("report", folder) == 0
    assert 'id="audit"' in (folder / "report.html").read_text()


def test_the_audit_of_a_folder_is_read_as_utf_8(folder):
    assert run("audit", folder, "--datasets", "2", "--quiet") == 0
    told = json.loads((folder / "audit.json").read_text())
    told["failures"] = {"a group \N{GREEK SMALL LETTER MU} too small": 1}
    text = json.dumps(told, ensure_ascii=False)
    (folder / "audit.json").write_text(text, encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "credpart", "report", folder]
    subprocess.run(command, env=os.environ | ascii_only, check=True)  # noqa: S603
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "a group \N{GREEK SMALL LETTER MU} too small" in page


def test_a_new_fit_replaces_a_folder_with_an_audit(folder, tmp_path):
    assert run("audit", folder, "--datasets", "1", "--quiet") == 0
    again = ("--clusters", "2", "--model", "EII", "--replicates", "20", "--quiet", "--force")
    assert run("fit", tmp_path / "data.csv", *again, "--out", folder) == 0
    assert not (folder / "audit.json").exists()  # it was of the fit before


def test_an_interrupted_command_leaves_nothing(folder, capsys, monkeypatch):
    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)  # the signal comes meanwhile

    monkeypatch.setattr(_audit, "calibrate", interrupted)
    before = sorted(path.name for path in folder.iterdir())
    assert run("audit", folder, "--datasets", "2", "--quiet") == 130
    assert "Interrupted; nothing was written." in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_warnings_of_the_data_sets_do_not_reach_the_user(recwarn):
    few = CalibratedClustering(3, model="VVV", n_replicates=10, level=0.5, random_state=0)
    audit(few.fit(make_mixture1(25, random_state=0).X), 2)
    during = [one for one in recwarn if issubclass(one.category, CredpartWarning)]
    assert len(during) <= 1  # that of the fit itself


def grouped_fit(**design):
    sample = make_mixture1(240, random_state=0)
    model = CalibratedClustering(3, model="EII", n_replicates=40, level=0.8, random_state=0)
    return sample, model.fit(sample.X, **{name: make(sample) for name, make in design.items()})


def uneven(sample):
    """Twelve groups, most objects of which are of one cluster."""
    rng = default_rng(1)
    return np.where(rng.random(240) < 0.8, 4 * sample.y, 0) + rng.integers(4, size=240)


def test_drawn_objects_are_in_groups_that_differ_as_those_of_the_data():
    sample, model = grouped_fit(groups=uneven)
    units = _audit.UnitsByComponent.of(model.result_, model.mixture_)
    labels = np.repeat([0, 1, 2], 20_000)
    drawn = units.assign(labels, default_rng(0)).groups
    groups, posteriors = uneven(sample), model.result_.posteriors
    for g in range(12):
        for k in range(3):
            share = posteriors[groups == g, k].sum() / posteriors[:, k].sum()
            found = (drawn[labels == k] == g).mean()
            assert found == pytest.approx(share, abs=0.02)  # four standard errors are .014


def test_data_sets_with_groups_have_intervals_that_allow_for_them():
    _, alone = grouped_fit()
    _, model = grouped_fit(groups=uneven)
    assert audit(model, 3).length > 1.2 * audit(alone, 3).length


def test_groups_of_one_object_are_audited_as_no_groups():
    _, alone = grouped_fit()
    _, model = grouped_fit(groups=lambda sample: np.arange(240))
    assert audit(model, 2).to_dict() == audit(alone, 2).to_dict()


def test_strata_are_drawn_too():
    _, model = grouped_fit(groups=uneven, strata=lambda sample: uneven(sample) % 2)
    design = _audit.make_design(model.result_, 40)
    drawn = design.draw(design.sources[0], default_rng(0))[1]
    assert len(drawn.groups) == len(drawn.strata) == 240
    pairs_seen = set(zip(drawn.groups.tolist(), drawn.strata.tolist(), strict=True))
    assert len(pairs_seen) == len(set(drawn.groups.tolist()))  # a group is in one stratum
    assert audit(model, 2).n_failed == 0


def test_data_sets_are_drawn_from_what_the_likelihood_ratio_says():
    X = make_mixture3(300, random_state=1004).X
    model = CalibratedClustering([2, 3], n_replicates=40, level=0.8, random_state=0).fit(X)
    found = audit(model, 3, contenders=True)
    chosen = model.mixture_.model
    between = f"a mixture between {chosen} and VVV"
    assert set(found.truths) == {chosen, between}
    assert found.truths[between] > found.truths[chosen]  # chance does not explain the ratio
    assert sum(found.truths.values()) == found.n_datasets == 3
    assert f"drawn from {between} (2), the mixture (1)" in found.basis
    assert found.verdict.startswith("On average over 2 kinds of plausible mixtures, ")
    assert _audit.Audit.from_dict(json.loads(json.dumps(found.to_dict()))).truths == found.truths


def test_one_model_is_the_only_truth():
    _, model = grouped_fit()
    assert audit(model, 2).truths == {model.mixture_.model: 2}


def test_a_truth_that_is_not_the_fitted_mixture_is_named(found):
    other = replace(found, truths={"the fit of t": 8}, model="EII", n_clusters=3)
    assert other.verdict.startswith("If the fit of t is true, ")
    several = replace(other, truths={"EII": 5, "the fit of t": 3})
    assert several.verdict.startswith("On average over 2 kinds of plausible mixtures, ")
    assert "; drawn from the mixture (5), the fit of t (3)" in several.basis
    own = replace(found, truths={"EII": 8}, model="EII")
    assert own.verdict.startswith("If the mixture is true, ")
    assert own.remarks == []


def test_audits_that_do_not_name_truths_were_drawn_from_the_fit(found):
    told = json.loads(encoded(found))
    for name in ("truths", "lowest", "highest", "far_partition"):
        del told[name]
    stored = _audit.Audit.from_dict(told)
    assert stored.truths == {found.model: found.n_datasets}
    assert np.isnan([stored.lowest, stored.highest, stored.far_partition]).all()


def test_a_standard_error_that_is_not_known_is_not_told(found):
    assert "nan" not in replace(found, standard_error=float("nan")).verdict
