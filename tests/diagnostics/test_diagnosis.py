import json
import re
import warnings
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from credpart import (
    ECM,
    CalibratedClustering,
    EvidentialPartition,
    _audit,
    audit,
    diagnose,
    fit_mixture,
    rivals,
    select_mixture,
)
from credpart._messages import Setting, in_words
from credpart._rivals import Rivals
from credpart.cli.vocabulary import ShellVocabulary
from credpart.datasets import load_iris, make_mixture1, make_mixture3, make_skew_t, make_survey
from credpart.diagnostics import Diagnosis, Finding, findings, henze_zirkler
from credpart.diagnostics.diagnosis import gather_evidence, ranked
from credpart.diagnostics.normality import holm, normality_by_cluster
from credpart.errors import CredpartWarning
from credpart.mixture.models import MODELS, model_names
from credpart.mixture.optimisation.convergence import Status

pingouin = pytest.importorskip("pingouin")

GOOD = make_mixture1(150, random_state=0).X
SKEW_T = pd.read_csv(Path(__file__).parents[1] / "reference/skew_t_sample.csv")[["x1", "x2"]]


def quick(model):
    return diagnose(model, audit=0, rivals=False)


def fitted(X, n_clusters=3, model="EII", **options):
    options = {"n_replicates": 200, "random_state": 0, "tol": 1e-6} | options
    return CalibratedClustering(n_clusters, model=model, **options).fit(X)


@pytest.fixture(scope="module")
def good():
    return fitted(GOOD)


@pytest.fixture(scope="module")
def skewed():
    return fitted(SKEW_T, model="EVV")


@pytest.fixture(scope="module")
def evidence(good):
    return gather_evidence(good.result_)


# --- the value


def test_the_right_model_is_good(good):
    found = quick(good)
    assert found.grade == "good"
    assert found.verdict == (
        "Nothing that was checked speaks against this fit; whether its intervals hold their level "
        "was not checked (no audit); other models were not compared. To check it: "
        "`diagnose(audit=8)`."
    )
    assert {f.severity for f in found.findings} == {"ok", "note"}
    assert found.advice == ()
    said = {f.topic: f for f in found.findings}
    assert said["level"].text == (
        "no audit was made: it was not asked for; `diagnose(audit=8)` makes one"
    )
    assert said["number of clusters"].text == "3 was given, and not checked"
    assert said["range of the search"].severity == "note"
    typed = found.in_words(ShellVocabulary())
    assert typed.findings[0].text == "no audit was made: it was not asked for; --audit 8 makes one"
    assert found.statuses == good.replicates_.counts()
    assert found.models == {"EII": 200}


def test_numbers_are_what_they_say(good):
    found = quick(good)
    belief, plausibility = good.partition_.pairwise_condensed()
    lower, upper = good.intervals_.lower, good.intervals_.upper
    gaps = np.concatenate([belief - lower, plausibility - upper])
    assert found.rmse == pytest.approx(np.sqrt(np.mean(gaps**2)))
    covers = (belief <= lower + 0.05) & (plausibility >= upper - 0.05)
    assert found.covered == pytest.approx(covers.mean())


def test_henze_zirkler_rejects_all_clusters_of_the_skew_t_example_under_a_gmm(skewed):
    # [D20], Section 4.1.3: p-values 3.2e-5, 4.0e-7 and 3.9e-5 for other draws of the same mixture
    found = quick(skewed)
    assert (found.normality["p_value"] < 0.01).all()
    assert (found.normality["adjusted"] < 0.05).all()
    named = {f.topic: f for f in found.findings}["normality"]
    assert named.severity == "note"  # whether it matters is what rivals say
    assert named.text.startswith("clusters {1}, {2}, {3} are not normal, lowest p < 0.0001")


def test_a_better_family_that_gives_other_answers_makes_a_fit_poor(skewed):
    found = diagnose(skewed, audit=0)
    assert found.grade == "poor"
    assert re.search("explains the data better|fit the data better than 3", found.verdict)
    first = found.advice[0]
    assert first.topic == "rival models"
    assert re.fullmatch(
        r"model\.set_params\(n_clusters=\d, model='[\w-]+'\)\.fit\(X\)", first.change
    )


def test_an_audit_that_falls_short_is_the_verdict_and_its_level_the_advice(good):
    found = diagnose(good, audit=2, rivals=False)
    said = {f.topic: f for f in found.findings}["level"]
    assert said.text.startswith("on 2 data sets drawn from the mixture, 90 % intervals cover")
    made = audit(good, 2, n_replicates=200)
    level = {"recommended_level": 0.96, "is_reached": True, "n_datasets": 8}
    short = replace(made, coverage=0.8, standard_error=0.04, **level)
    judged = diagnose(good, audit=short, rivals=False)
    assert judged.grade == "poor"
    assert judged.advice[0].change == "model.recalibrate(diagnosis.audit)"
    for coverage, error in ((0.86, 0.01), (0.83, 0.03)):  # it may be .85 or more
        near = replace(short, coverage=coverage, standard_error=error, n_datasets=50)
        assert diagnose(good, audit=near, rivals=False).grade == "caution"
    without = replace(short, is_reached=False)
    assert diagnose(good, audit=without, rivals=False).advice[0].change == ""


@pytest.mark.parametrize(
    ("coverage", "error", "n_datasets", "expected", "told"),
    [
        (
            0.9,
            0.03,
            8,
            "ok",
            "(standard error 3.0 %, judged as 3.5 %): that agrees with the 90 % asked for",
        ),
        (0.9, 0.03, 7, "note", ": that is too few data sets to tell"),
        (
            0.9,
            0.06,
            8,
            "note",
            ": the data sets differ too much to say that the level holds",
        ),  # it may be .84
        (0.9, np.nan, 1, "note", ": that is too few data sets to tell"),
        (
            0.86,
            0.001,
            8,
            "note",
            ": the difference from 90 % may be chance",
        ),  # that they agree is chance
        (0.87, 0.02, 50, "note", ": the difference from 90 % may be chance"),
        (0.77, 0.02, 2, "note", ": that is too few data sets to tell"),  # within two errors of .1
        (0.8, 0.06, 8, "note", ": the difference from 90 % may be chance"),
        (0.8, np.nan, 1, "note", ": that is too few data sets to tell"),
        (0.99, 0.01, 29, "ok", "judged as 1.9 %): that is not below the 90 % asked for"),
        (
            0.99,
            0.01,
            30,
            "ok",
            ": that is more than the 90 % asked for, which does not show that they are too long "
            "for these data",
        ),
        (0.99, 0.01, 3, "note", ": that is too few data sets to tell"),
    ],
)
def test_an_audit_says_that_a_level_holds_if_it_is_large_enough(
    good, coverage, error, n_datasets, expected, told
):
    made = audit(good, 1, n_replicates=200)
    made = replace(made, coverage=coverage, standard_error=error, n_datasets=n_datasets)
    found = diagnose(good, audit=made, rivals=False)
    assert found.findings[0].severity == expected
    assert found.findings[0].text.endswith(told)
    assert ("its intervals can be taken at their level" in found.verdict) == (expected == "ok")
    number = "data set" if n_datasets == 1 else "data sets"
    assert found.findings[0].text.startswith(f"on {n_datasets} {number} drawn from the mixture, ")
    more = {50: 200}.get(n_datasets, 50)
    advice = f"More would tell: `diagnose(audit={more})`." if expected == "note" else ""
    assert found.findings[0].advice == advice


@pytest.mark.parametrize(
    ("truths", "told"),
    [
        ({"EII": 8}, "if the model is right, "),
        ({"a mixture between EII and VVV": 8}, "if a mixture between EII and VVV is true, "),
        ({"EII": 5, "the fit of t": 3}, "if one of the mixtures of the audit is true, "),
    ],
)
def test_a_good_verdict_says_what_it_takes_for_true(good, truths, told):
    made = replace(audit(good, 1), coverage=0.9, standard_error=0.03, n_datasets=8, truths=truths)
    short = replace(made, coverage_partition=0.82, standard_error_partition=0.02)
    taken = f"{told}its intervals can be taken at their level"
    assert f": {taken}; other models" in diagnose(good, audit=made, rivals=False).verdict
    but = f": {taken}, while belief to plausibility cover 82.0 % of the pairs; other models"
    assert but in diagnose(good, audit=short, rivals=False).verdict


def test_one_gaussian_with_three_clusters_is_never_good():
    X = np.random.default_rng(1).normal(size=(200, 2))
    for model in ("EII", "EEE"):
        assert diagnose(fitted(X, model=model, n_replicates=100), audit=0).grade != "good"


def test_a_given_model_is_held_against_others():
    found = diagnose(fitted(load_iris().X, 3, "EEE"), audit=0)
    assert found.grade != "good"
    text = {f.topic: f for f in found.findings}["rival models"].text
    assert re.search("explains the data better|fit the data better than 3", text)


@pytest.fixture(scope="module")
def compared(good):
    return rivals(good)


def with_rival(evidence, compared, **changes):
    """The finding on one rival: VEI with 3 clusters, or as the changes say."""
    columns = {"n_clusters": 3, "model": "VEI", "lead": 10.0, "plausible": True, "outside": 0.16}
    columns |= {"far_outside": 0.03, "lead_aicc": 10.0, "nested": False, **changes}
    rival = compared.table.head(1).assign(**columns)
    return findings.rival_models(evidence._replace(rivals=replace(compared, table=rival)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "problem"),  # were it true, 84 % of the pairs would be covered
        ({"outside": 0.14}, "caution"),
        ({"lead": 5.0}, "caution"),
        ({"lead": 5.0, "outside": 0.14}, "ok"),
        ({"lead_aicc": -1.0}, "caution"),  # simpler, and something is missing
        ({"lead_aicc": -1.0, "outside": 0.0}, "caution"),
        ({"nested": True}, "note"),  # were it true, the fit would be true as well
        ({"nested": True, "lead": 5.0}, "ok"),
        ({"plausible": False, "lead": -5.0, "outside": 1.0}, "ok"),
    ],
)
def test_a_rival(evidence, compared, changes, expected):
    assert with_rival(evidence, compared, **changes).severity == expected


def test_what_a_rival_would_change_is_said(evidence, compared):
    changed = (
        " under that model 16 % of all pairs of objects have a probability of belonging together "
        "outside the intervals of this fit"
    )
    assert with_rival(evidence, compared).text == (
        "model VEI explains the data better (its BIC is 10.0 higher), and"
        f"{changed} (3 % by more than 0.05)"
    )
    assert with_rival(evidence, compared, n_clusters=2, lead=-0.8).text == (
        "2 clusters fit the data as well as 3 (model VEI: its BIC is 0.8 lower), but"
        f"{changed} (3 % by more than 0.05)"
    )
    stored = with_rival(evidence, compared, n_clusters=1, far_outside=np.nan)
    assert stored.text == (
        f"1 cluster fits the data better than 3 (model VEI: its BIC is 10.0 higher), and{changed}"
    )


def test_a_better_rival_that_the_objects_cannot_carry_is_not_advised(evidence, compared):
    few = evidence._replace(sizes=np.array([12.0, 9.0, 12.0]))  # VEI: 12 parameters
    assert with_rival(few, compared).advice == (
        "The objects are too few for VEI with 3 clusters, at most 2.8 for each parameter, where 6 "
        "are wanted: cluster fewer columns, or gather more objects."
    )
    assert with_rival(few, compared).change == ""
    enough = few._replace(sizes=np.array([12.0, 9.0, 15.0]))
    assert with_rival(enough, compared).advice == "Fit that model."
    one = with_rival(few, compared, n_clusters=1)  # 5 parameters for 33 objects
    assert one.advice == "Fit that model."


def test_a_better_rival_is_compared_with_the_others(evidence, compared):
    columns = {"nested": False, "plausible": True, "outside": 0.5, "far_outside": 0.1}
    table = compared.table.head(2).assign(
        n_clusters=[3, 1], model=["VEI", "EEE"], lead=[20.0, 8.0], lead_aicc=[10.0, 17.0], **columns
    )
    seen = evidence._replace(rivals=replace(compared, table=table))
    found = findings.rival_models(seen)
    preferred = "AICc prefers EEE with 1 cluster: fit it too, and report both answers."
    assert found.advice == f"Fit that model. {preferred}"
    assert found.change == "model.set_params(n_clusters=3, model='VEI').fit(X)"
    near = replace(compared, table=table.assign(lead_aicc=[10.0, 15.0]))
    assert findings.rival_models(evidence._replace(rivals=near)).advice == "Fit that model."
    # BIC means nothing for a mixture with as many parameters as objects.
    unknown = replace(compared, table=table.assign(lead_aicc=[-np.inf, 17.0]))
    text = findings.rival_models(evidence._replace(rivals=unknown)).text
    assert text.startswith("1 cluster fits the data better than 3 (model EEE")


def test_what_a_rival_may_leave_outside_depends_on_the_coverage_asked_for(evidence, compared):
    # Half of the pairs are outside 50 % intervals, even of a fit that is right.
    half = evidence._replace(nominal_level=0.5)
    assert with_rival(half, compared, outside=0.54).severity == "caution"
    assert with_rival(half, compared, outside=0.56).severity == "problem"


def test_rivals_that_the_data_do_not_decide_between(evidence, compared):
    choose = with_rival(evidence, compared, lead=0.0)
    assert choose.change == "model.set_params(model=['EII', 'VEI']).fit(X)"
    change = "model.set_params(model=['EII', 'VEI'], selection='each').fit(X)"
    tried = {**evidence.selection.fits, (3, "VEI"): evidence.mixture}
    chosen = evidence._replace(selection=replace(evidence.selection, fits=tried))
    once = chosen._replace(is_chosen_once=True)
    assert with_rival(once, compared, lead=0.0).change == change
    # A search is made wider, not narrower.
    several = replace(evidence.selection, models=("EEE", "EII", "VVV"))
    wider = with_rival(evidence._replace(selection=several), compared, lead=0.0)
    assert wider.change == "model.set_params(model=['EEE', 'EII', 'VVV', 'VEI']).fit(X)"
    for found in (
        with_rival(chosen, compared, lead=0.0),  # each replicate has chosen between them
        with_rival(evidence, compared, lead=0.0, n_clusters=2),
    ):
        assert "no setting does: report both answers" in found.advice


def test_a_level_that_an_audit_recommends_stays_with_other_sets():
    model = fitted(GOOD, n_replicates=60)
    found = audit(model, 2)
    model.recalibrate(replace(found, recommended_level=0.95)).refit_partition(focal_sets="full")
    assert (model.intervals_.level, model.result_.options.nominal_level) == (0.95, 0.9)
    assert gather_evidence(model.result_).nominal_level == 0.9
    assert model.refit_partition(level=0.8).refit_partition().intervals_.level == 0.9


def test_the_largest_number_tried_is_said(evidence):
    found = findings.edge(evidence._replace(selection=replace(evidence.selection, numbers=[2, 3])))
    assert found.severity == "caution"
    assert found.change == "model.set_params(n_clusters=[1, 2, 3, 4, 5, 6, 7]).fit(X)"


def test_clusters_that_are_too_small_are_not_to_be_more(evidence):
    tried = replace(evidence.selection, numbers=[2, 3])
    mixture = fit_mixture(GOOD, 3, "VVV")
    small = np.array([70.0, 15.0, 65.0])  # 17 parameters, 5.67 a cluster
    seen = evidence._replace(selection=tried, mixture=mixture, sizes=small)
    assert findings.edge(seen).severity == "caution"
    assert findings.edge(seen).advice == ""
    found = findings.smallest_cluster(seen)
    assert found.severity == "problem"
    # EII, which the objects were drawn from, is nested in VVV and has a higher BIC.
    assert found.change == "model.set_params(n_clusters=3, model='EII').fit(X)"
    assert findings.edge(seen._replace(sizes=np.full(3, 50.0))).advice == "Try more clusters."


def test_advice_is_ranked_and_changes_a_setting_once():
    def one(topic, severity, change):
        return Finding(topic, severity, topic, "Do it.", change)

    fewer, more = (findings.change_of((Setting("n_clusters", c),)) for c in (2, 5))
    given = [one("a", "caution", fewer), one("b", "problem", more), one("c", "note", "")]
    assert [f.topic for f in ranked([*given, one("d", "caution", "")])] == ["b", "d"]
    # What is said of this fit may not hold of another one, which comes first.
    rebuilt = one("e", "problem", findings.change_of((Setting("omega", True),), "refit_partition"))
    assert [f.topic for f in ranked([rebuilt, one("f", "problem", ""), *given])] == ["b", "e", "f"]


def test_what_to_type_is_in_the_words_of_the_shell(good):
    short = replace(audit(good, 1, n_replicates=200), coverage=0.6, recommended_level=0.96)
    command = ["credpart", "fit", "a b.csv", "--level=0.9", "--clusters", "3", "--out", "out-2"]
    found = diagnose(good, audit=short, rivals=False).in_words(ShellVocabulary(command=command))
    again = "credpart fit 'a b.csv' --level=0.9 --clusters 3 --out out-2-recalibrate --recalibrate"
    assert found.advice[0].change == again


def test_two_pieces_of_advice_have_folders_of_their_own():
    words = ShellVocabulary(command=["credpart", "fit", "a.csv", "--out", "out"])
    settings = Setting("n_clusters", 4), Setting("model", ["VEV", "EEE"])
    one = in_words(findings.change_of(settings[:1]), words)
    two = in_words(findings.change_of(settings[1:]), words)
    assert one == "credpart fit a.csv --out out-clusters-4 --clusters 4"
    assert two == "credpart fit a.csv --out out-model-VEV-EEE --model VEV,EEE"


def test_simpler_mixtures_are_advised_only_if_the_data_do_not_speak_against_them(
    evidence, compared
):
    X = load_iris().X.to_numpy()
    names = ["EEI", "VEV", "VVV"]
    selection = select_mixture(X, [1, 2, 3], names)
    seen = evidence._replace(selection=selection, mixture=selection.fits[3, "VEV"])
    advice, change = findings._simpler(seen)
    assert advice.startswith("Fit a simpler mixture")
    assert change == "model.set_params(n_clusters=2, model='VEV').fit(X)"
    # Of two clusters VEV is the best, and EEI is behind by hundreds.
    seen = seen._replace(mixture=selection.fits[2, "VEV"])
    told = f"{findings.NOTHING_SIMPLER}objects, or cluster fewer columns."
    assert findings._simpler(seen) == (told, "")
    # AICc may prefer a simpler one all the same.
    table = compared.table.head(2).assign(
        n_clusters=[1, 2], model=["VEV", "VEV"], lead=-50.0, lead_aicc=[5.9, 3.0], nested=False
    )
    for lead_aicc, more in (
        ([5.9, 3.0], ""),
        ([6.1, 3.0], " AICc prefers VEV with 1 cluster: fit it too, and report both answers."),
        ([6.1, 7.0], ""),  # the one it prefers is not simpler
    ):
        rivals_ = replace(compared, table=table.assign(lead_aicc=lead_aicc))
        assert findings._simpler(seen._replace(rivals=rivals_)) == (f"{told}{more}", "")
    in_groups = findings._simpler(seen._replace(n_groups=12))[0]
    assert in_groups == f"{findings.NOTHING_SIMPLER}groups, or cluster fewer columns."
    alone = replace(selection, fits={(2, "VEV"): selection.fits[2, "VEV"]})
    advice, change = findings._simpler(seen._replace(selection=alone))
    assert advice.startswith("Fit fewer clusters or a more constrained model, or gather")
    assert change == ""


def test_replicates_that_did_not_converge_want_more_iterations(evidence):
    slow = replace(evidence.replicates, status=np.full(200, Status.NOT_CONVERGED))
    found = findings.replicates(evidence._replace(replicates=slow))
    assert found.severity == "problem"
    assert found.change == "model.set_params(max_iter=10000).fit(X)"


@pytest.mark.parametrize(
    ("coverage", "expected"), [(0.7, "caution"), (0.82, "note"), (0.84, "ok"), (0.9, "ok")]
)
def test_masses_that_an_audit_finds_short_are_told(evidence, good, coverage, expected):
    made = replace(
        audit(good, 8, n_replicates=200),
        coverage_partition=coverage,
        standard_error_partition=0.02,
        far_partition=0.01,
    )
    finding = findings.fit_to_intervals(evidence._replace(covered=0.95, audit=made))
    assert finding.severity == expected
    if expected == "ok":
        return
    small = {0.7: "96.7", 0.82: "94.4"}[coverage]  # of the misses; 1 % of the pairs misses by more
    told = (
        f"but on data sets drawn from the mixture they cover {100 * coverage:.1f} % of the pairs "
        "(standard error 2.0 %, judged as 3.5 %): that is less than the 90 % asked for "
        f"({small} % of the misses are by less than 0.05)"
    )
    assert finding.text.endswith(told)
    assert finding.change == "model.refit_partition(weaken=True)"
    weakened = evidence._replace(covered=0.95, audit=made, is_weakened=True)
    again = findings.fit_to_intervals(weakened)
    assert (again.advice, again.change) == (findings.NO_OTHER_MASSES, "")
    stored = evidence._replace(covered=0.95, audit=replace(made, far_partition=np.nan))
    assert "of the misses" not in findings.fit_to_intervals(stored).text


def test_data_sets_on_which_any_level_covers_enough_test_little(good):
    made = replace(audit(good, 8, n_replicates=200), coverage=0.99, standard_error=0.01)
    flat = replace(made, by_level=made.by_level.assign(coverage=0.99))
    found = diagnose(good, audit=flat, rivals=False).findings[0]
    assert (found.severity, found.advice) == ("note", "")
    assert found.text.endswith("are near 0 or 1 there, so that these data sets test little")
    many = replace(flat, n_datasets=50)  # the lowest level would be enough for them
    assert not many.asks_for_another_level
    assert replace(made, n_datasets=50).asks_for_another_level
    assert many.verdict.endswith("so that these data sets test little.")
    assert replace(flat, coverage=0.6).severity == "problem"


def test_few_replicates_are_judged_only_if_that_is_asked_for():
    found = diagnose(fitted(GOOD, n_replicates=40))
    assert "below 200 replicates" in {f.topic: f for f in found.findings}["level"].text
    with pytest.raises(ValueError, match="`audit` must be an integer >= 0"):
        diagnose(fitted(GOOD, n_replicates=40), audit=-1)
    with pytest.raises(ValueError, match="`rivals` must be True, False"):
        diagnose(fitted(GOOD, n_replicates=40), rivals="no")


def test_copies(evidence):
    assert severity(findings.copies, evidence, copies=0.3) == "caution"
    twice = fitted(np.repeat(GOOD[::3], 2, axis=0), n_replicates=40)
    assert gather_evidence(twice.result_).copies == 0.5


def draw_skew_t(n, rng):
    """The mixture of [D20]; its weights are those of EMMIXskew, as the printed ones sum to 1.2."""
    k = rng.choice(3, size=n, p=[0.3, 0.3, 0.4])
    location = np.array([[3, -4], [3.5, 4], [2, 2]])[k]
    skewness = np.array([[3, 3], [1, 5], [-3, 1]])[k]
    dof = np.array([3, 5, 5])[k]
    scale = np.linalg.cholesky(np.array([[[1, -0.1], [-0.1, 1]], np.eye(2), np.eye(2)]))[k]
    w = rng.chisquare(dof) / dof
    normal = (scale @ rng.standard_normal((n, 2, 1)))[:, :, 0]
    z = np.abs(rng.standard_normal((n, 1)))
    return location + (skewness * z + normal) / np.sqrt(w)[:, None]


@pytest.mark.parametrize("seed", [2, 11, 12])
def test_other_draws_of_the_skew_t_example(seed):
    X = draw_skew_t(300, np.random.default_rng(seed))
    posteriors = fit_mixture(X, 3, "EVV", tol=1e-6).posteriors(X)
    found = normality_by_cluster(X, posteriors, np.ones(300), ["1", "2", "3"])
    assert (found["adjusted"] < 0.001).all()
    for k in range(3):
        members = X[posteriors.argmax(axis=1) == k]
        expected = pingouin.multivariate_normality(members)
        assert henze_zirkler(members).p_value == pytest.approx(expected.pval, abs=1e-6)


def test_text_json_and_html_tell_the_same(skewed):
    found = diagnose(skewed, audit=0)
    text, html = found.summary(), found._repr_html_()
    assert text.splitlines()[0] == f"POOR. {found.verdict}"
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["grade"] == found.grade
    assert again["normality"][0]["cluster"] == "{1}"
    lines = text.splitlines()[1 : len(found.findings) + 1]
    for finding, line, record in zip(found.findings, lines, again["findings"], strict=True):
        assert finding.topic in line
        assert str(finding) in line
        assert record["text"] == finding.text
        assert finding.topic in html
    assert again["rivals"]["table"][0]["bic"] == found.rivals.table["bic"][0]
    same = Diagnosis.from_dict(again)
    pd.testing.assert_frame_equal(same.rivals.table, found.rivals.table)
    assert same.rivals.missing == found.rivals.missing
    assert same.to_dict() == found.to_dict()
    assert same.summary() == text
    assert repr(found) == f"Diagnosis(poor: {found.verdict})"


def test_json_has_no_nan():
    table = pd.DataFrame({"p_value": [np.nan, 0.5]}, index=pd.Index(["{1}", "{2}"], name="cluster"))
    found = Diagnosis("", "good", (), (), table, 0.0, 1.0, {}, {})
    assert found.to_dict()["normality"][0] == {"cluster": "{1}", "p_value": None}


def test_html_is_escaped():
    bad = "<script>alert(1)</script>"
    finding = Finding(bad, "ok", bad, bad)
    html = Diagnosis(bad, bad, (finding,), (finding,), None, 0.0, 1.0, {}, {})._repr_html_()
    assert "<script" not in html.lower()


def test_a_diagnosis_is_frozen(good):
    with pytest.raises(FrozenInstanceError):
        quick(good).grade = "good"


@pytest.mark.parametrize("model", [CalibratedClustering(), ECM(2).fit(GOOD), None])
def test_what_has_no_replicates_cannot_be_judged(model):
    with pytest.raises(ValueError, match="`model` must be a fitted CalibratedClustering, got"):
        quick(model)


def test_one_cluster_and_weights():
    weights = np.random.default_rng(0).integers(0, 3, len(GOOD)).astype(float)
    model = CalibratedClustering(1, model="EII", n_replicates=40, random_state=0)
    found = quick(model.fit(GOOD, sample_weight=weights))
    assert found.covered == 1.0
    repeated = henze_zirkler(GOOD.repeat(weights.astype(int), axis=0))
    np.testing.assert_allclose(found.normality.loc["{1}", list(repeated._fields)], repeated)


# --- each finding, tripped


def severity(check, evidence, **changes):
    return check(evidence._replace(**changes)).severity


def table(*adjusted):
    names = [f"{{{k + 1}}}" for k in range(len(adjusted))]
    return pd.DataFrame({"adjusted": adjusted, "distance": 0.1, "rows": 50}, index=names)


@pytest.mark.parametrize(
    ("adjusted", "expected"),
    [
        ((0.2, 1.0, 0.06), "ok"),
        ((0.2, 0.04, 0.06), "note"),
        ((0.2, 0.0009, 0.06), "note"),
        ((0.2, np.nan, 0.06), "note"),
    ],
)
def test_normality(evidence, adjusted, expected):
    assert severity(findings.normality, evidence, normality=table(*adjusted)) == expected


def test_families_that_are_not_normal_are_not_tested():
    found = quick(fitted(SKEW_T[::2], 2, "t", n_replicates=40))
    assert found.normality is None
    named = {f.topic: f for f in found.findings}["normality"]
    assert named.severity == "ok"
    assert named.text == "model t does not say that clusters are normal: not tested"
    assert found.models == {"t": 40}


class Replicates:
    """Replicates of given statuses."""

    decision = None

    def __init__(self, *counts, models=None, numbers=None):
        self.numbers = numbers or {}
        self.statuses = dict(zip([s.label for s in Status], counts, strict=False))
        self.models = models or {"EII": sum(counts)}

    def __len__(self):
        return sum(self.statuses.values())

    def counts(self):
        return self.statuses

    def chosen(self):
        return self.models

    def chosen_numbers(self):
        return self.numbers


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1000, 0, 0, 0), "ok"),
        ((995, 5, 0, 0), "ok"),
        ((990, 10, 0, 0), "caution"),
        ((900, 100, 0, 0), "caution"),
        ((950, 0, 50, 0), "problem"),  # as many as lie beyond a bound of a 90 % interval
        ((950, 0, 25, 25), "problem"),
        ((951, 0, 0, 49), "caution"),
    ],
)
def test_replicates(evidence, counts, expected):
    assert severity(findings.replicates, evidence, replicates=Replicates(*counts)) == expected


def test_a_fit_that_is_regularised_itself(evidence):
    mixture = replace(evidence.mixture, status=Status.REGULARISED)
    found = findings.replicates(evidence._replace(mixture=mixture))
    assert found.severity == "caution"
    assert found.text.startswith("the fit itself is regularised")


@pytest.mark.parametrize(("smallest", "expected"), [(18, "ok"), (17, "caution"), (8, "problem")])
def test_smallest_cluster(evidence, smallest, expected):
    # EII with 3 clusters in 2 dimensions: 9 parameters, 3 a cluster
    found = findings.smallest_cluster(evidence._replace(sizes=np.array([70.0, smallest, 80.0])))
    assert found.severity == expected
    assert "the smallest cluster {2} has, by probabilities," in found.text
    assert "3.0 parameters" in found.text


def test_an_audit_measures_what_a_small_cluster_does_unless_its_intervals_are_shorter(
    evidence, good
):
    few = audit(good, 1, n_replicates=200)
    made = replace(few, n_datasets=8)
    seen = evidence._replace(sizes=np.array([70.0, 8.0, 80.0]), audit=made)
    found = findings.smallest_cluster(seen)
    assert (found.severity, found.advice) == ("note", "")
    assert findings.smallest_cluster(seen._replace(audit=few)).severity == "problem"
    assert found.text.endswith("where 6 are wanted; the audit has measured what that does")
    shorter = findings.smallest_cluster(seen._replace(length=3.0 * made.length))
    assert shorter.severity == "problem"
    assert "measured" not in shorter.text


def test_what_is_advised_is_not_far_behind_the_best(evidence):
    X = load_iris().X.to_numpy()
    selection = select_mixture(X, [2, 3], ["VEV", "VVV"])
    chosen, simpler, best = (selection.fits[cell] for cell in ((3, "VEV"), (2, "VEV"), (3, "VVV")))

    def with_leads(simple, other):
        fits = {
            (3, "VEV"): chosen,
            (2, "VEV"): replace(simpler, loglik=simpler.loglik + (simple - simpler.bic) / 2),
            (3, "VVV"): replace(best, loglik=best.loglik + (other - best.bic) / 2),
        }
        return evidence._replace(selection=replace(selection, fits=fits), mixture=chosen)

    assert findings._simpler(with_leads(chosen.bic - 4, chosen.bic + 1))[1] != ""
    assert findings._simpler(with_leads(chosen.bic - 4, chosen.bic + 3))[1] == ""


def test_fewer_clusters_than_one_are_not_advised(evidence):
    mixture = replace(fit_mixture(GOOD, 1, "EII"), status=Status.REGULARISED)
    one = evidence._replace(mixture=mixture, sizes=np.ones(1), normality=table(np.nan))
    for check in (findings.replicates, findings.smallest_cluster):
        assert check(one).advice.startswith(findings.NOTHING_SIMPLER)
    assert "by probabilities, 1 object for" in findings.smallest_cluster(one).text


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({"EII": 200}, "ok"),
        ({"VII": 199, "EII": 1}, "note"),
        ({"VII": 200}, "caution"),
    ],
)
def test_structure(evidence, models, expected):
    replicates = Replicates(200, models=models)
    two = replace(evidence.selection, models=("EII", "VII"))
    found = findings.structure(evidence._replace(replicates=replicates, selection=two))
    assert found.severity == expected
    assert (found.advice == "") == (expected != "caution")
    assert ("more chose VII" in found.text) == (expected == "note")


def test_a_model_that_was_given_is_no_finding(evidence, compared):
    found = findings.structure(evidence)
    assert (found.severity, found.text) == ("note", "EII was given")
    against = findings.structure(evidence._replace(rivals=compared))
    assert against.text == "EII was given; see rival models"


def test_a_model_that_was_chosen_once(evidence):
    fits = dict.fromkeys(((3, "EII"), (3, "VII")), evidence.mixture)
    several = replace(evidence.selection, fits=fits)
    found = findings.structure(evidence._replace(selection=several, is_chosen_once=True))
    assert found.severity == "caution"
    assert found.change == "model.set_params(selection='each').fit(X)"
    numbers = replace(evidence.selection, fits={(2, "EII"): None, (3, "EII"): None})
    for selection in (evidence.selection, numbers):  # no model to choose
        changes = {"selection": selection, "is_chosen_once": True}
        assert severity(findings.structure, evidence, **changes) == "note"


@pytest.mark.parametrize(
    ("kind", "expected"), [("full", "ok"), ("pairs", "ok"), ("singletons", "problem")]
)
def test_fit_to_the_intervals(kind, expected):
    found = quick(fitted(GOOD, n_replicates=60, focal_sets=kind))
    named = {f.topic: f for f in found.findings}["fit to the intervals"]
    assert named.severity == expected
    assert ("focal_sets='full'" in named.change) == (expected != "ok")


@pytest.mark.parametrize(("covered", "expected"), [(0.9, "ok"), (0.6, "caution"), (0.4, "problem")])
def test_covered(evidence, covered, expected):
    assert severity(findings.fit_to_intervals, evidence, covered=covered) == expected


def test_an_audit_says_what_belief_and_plausibility_hold(evidence, good):
    made = audit(good, 2, n_replicates=200)
    divided = Replicates(200, numbers={4: 20, 3: 180})
    for held, expected in ((0.89, "note"), (0.84, "caution"), (0.7, "caution")):
        found = replace(made, coverage_partition=held, standard_error_partition=0.02, n_datasets=50)
        changes = {"covered": 0.6, "audit": found}
        assert severity(findings.fit_to_intervals, evidence, **changes) == expected
        # an audit draws from a mixture of 3 clusters, and does not know of a fourth
        changes["replicates"] = divided
        assert severity(findings.fit_to_intervals, evidence, **changes) == "caution"


def test_shares_are_not_rounded_up_to_a_threshold(evidence):
    text = findings.fit_to_intervals(evidence._replace(covered=0.89996)).text
    assert "reach both ends of the interval, to within 0.05, for 89.9 % of the pairs" in text
    assert "of a 99.95 % interval" in findings.precision(evidence._replace(level=0.9995)).text


def test_other_masses_are_advised_where_they_help(evidence):
    pairs = EvidentialPartition([[0.5, 0.2, 0.3]], [[1, 0], [0, 1], [1, 1]])
    replicates = Replicates(200, numbers={2: 200})
    seen = evidence._replace(covered=0.6, partition=pairs, replicates=replicates)
    assert findings.fit_to_intervals(seen).change == "model.refit_partition(weaken=True)"
    weakened = findings.fit_to_intervals(seen._replace(is_weakened=True))
    assert (weakened.advice, weakened.change) == (findings.NO_OTHER_MASSES, "")
    # replicates with three clusters hold apart what a partition into two cannot
    divided = seen._replace(replicates=Replicates(200, numbers={3: 110, 2: 90}))
    found = findings.fit_to_intervals(divided)
    assert "fit these too, and report both answers" in found.advice
    assert found.change == "model.set_params(n_clusters=3).fit(X)"
    assert "of what is called undecided is doubt about the number of clusters" in found.text
    decided = EvidentialPartition([[1.0, 0.0, 0.0]], pairs.focal_sets)
    found = findings.fit_to_intervals(divided._replace(partition=decided))
    assert found.text.endswith("110 of 200 replicates have 3 clusters")
    singles = divided._replace(partition=EvidentialPartition([[1.0, 0.0]], np.eye(2)))
    assert findings.fit_to_intervals(singles).change == found.change  # no more sets are advised
    few = evidence._replace(covered=0.6, replicates=Replicates(200))
    for c, change in ((2, "focal_sets='full'"), (7, "omega=True")):
        alone = few._replace(partition=EvidentialPartition(np.eye(c)[:1], np.eye(c)))
        assert findings.fit_to_intervals(alone).change == f"model.refit_partition({change})"


def test_with_one_cluster_there_is_nothing_to_match(evidence):
    one = EvidentialPartition([[1.0]], [[1]])
    seen = evidence._replace(
        covered=0.1, partition=one, replicates=Replicates(200, numbers={1: 200})
    )
    assert findings.fit_to_intervals(seen).severity == "ok"
    divided = seen._replace(replicates=Replicates(200, numbers={1: 150, 3: 40, 2: 10}))
    found = findings.fit_to_intervals(divided)
    assert found.severity == "caution"
    assert "though 50 of 200 replicates have several clusters" in found.text
    assert found.change == "model.set_params(n_clusters=3).fit(X)"


@pytest.mark.parametrize(
    ("number", "expected"),
    [(None, "note"), (10, "ok"), (9, "caution"), (5, "caution"), (4, "problem")],
)
def test_few_groups_are_told(evidence, number, expected):
    found = findings.groups(evidence._replace(n_groups=number))
    assert found.severity == expected
    assert ("Gather more groups" in found.advice) == (number is not None and number < 10)


def test_groups_are_counted_where_they_hold_several_objects():
    X = make_mixture1(60, random_state=0).X
    model = CalibratedClustering(3, model="EII", n_replicates=20, level=0.8, random_state=0)
    with warnings.catch_warnings(action="ignore", category=CredpartWarning):
        few = diagnose(model.fit(X, groups=np.arange(60) % 4), audit=0, rivals=False)
    assert "4 groups were drawn" in {f.topic: f.text for f in few.findings}["groups"]
    alone = diagnose(model.fit(X, groups=np.arange(60)), audit=0, rivals=False)
    told = {f.topic: f for f in alone.findings}["groups"]
    assert told.severity == "note"
    assert "no groups of several objects" in told.text


def test_a_model_that_was_taken_for_granted_is_chosen_again_in_an_audit(monkeypatch):
    X = make_mixture3(80, random_state=1).X
    model = CalibratedClustering(
        3, selection="once", n_replicates=40, level=0.8, random_state=0
    ).fit(X)
    seen = []
    judge = _audit.judge
    monkeypatch.setattr(
        _audit, "judge", lambda *given: seen.append(given[0].models) or judge(*given)
    )
    found = diagnose(model, audit=1, rivals=False)
    assert len(seen[0]) == 14
    assert {f.topic: f.severity for f in found.findings}["structure"] == "caution"
    short = replace(found.audit, n_datasets=8, coverage=0.5, standard_error=0.01, is_reached=False)
    advice = diagnose(model, audit=short, rivals=False).advice
    assert advice[0].change == "model.set_params(selection='each').fit(X)"


def test_a_rival_with_as_many_parameters_as_objects_is_no_objection(good):
    found = rivals(good)
    table = found.table.assign(plausible=True, outside=0.9, lead=900.0, nested=False)
    far = replace(found, table=table.assign(lead_aicc=900.0))
    assert diagnose(good, audit=0, rivals=far).grade == "poor"
    none = replace(found, table=table.assign(lead_aicc=-np.inf))
    assert diagnose(good, audit=0, rivals=none).grade == "good"


def test_an_audit_of_one_cluster_says_nothing(good):
    made = replace(audit(good, 1, n_replicates=200), n_clusters=1, n_datasets=50)
    assert made.severity == "note"
    assert "With one cluster that says nothing" in made.verdict
    found = diagnose(good, audit=made, rivals=False).findings[0]
    assert found.severity == "note"


def test_copies_are_not_what_an_audit_draws(evidence, good):
    held = replace(
        audit(good, 1, n_replicates=200), coverage=0.9, standard_error=0.01, n_datasets=8
    )
    seen = evidence._replace(audit=held)
    assert findings.coverage(seen).severity == "ok"
    found = findings.coverage(seen._replace(copies=0.5))
    assert found.severity == "note"
    assert "their objects are independent, which copies may not be" in found.text


@pytest.mark.parametrize(
    ("level", "expected"), [(0.9, "ok"), (0.5, "ok"), (0.95, "caution"), (0.98, "problem")]
)
def test_precision(evidence, level, expected):
    found = findings.precision(evidence._replace(level=level))
    assert found.severity == expected
    if expected != "ok":
        assert f"n_replicates={round(20 / (1 - level))})" in found.change


def test_number_of_clusters():
    found = findings.number_of_clusters(
        gather_evidence(fitted(load_iris().X, range(1, 4), "VEV").result_)
    )
    assert found.text.startswith("2 leads 3 by 0.8 of BIC, which is not strong evidence; ")
    assert found.text.endswith("of 200 replicates chose 2 too (3: 109, 2: 91)")
    assert found.severity == "note"  # the intervals allow for it
    clear = findings.number_of_clusters(gather_evidence(fitted(GOOD, range(2, 4)).result_))
    assert clear.severity == "ok"
    assert clear.text.startswith("3 leads 2 by")


@pytest.mark.parametrize(
    ("sets", "severity", "told"),
    [
        ([[1, 0]] * 6 + [[0, 1]] * 3, "ok", "0 of 9 objects (0 %) are not sure"),
        (
            [[1, 0]] * 6 + [[0, 1]] * 3 + [[1, 1]] * 3,
            "note",
            "3 of 12 objects (25 %) are not sure: 3 undecided",
        ),
        (
            [[1, 0]] * 9 + [[1, 1]],
            "note",
            "1 of 10 objects (10 %) are not sure: 1 undecided; "
            "none has its highest mass on {2} alone",
        ),
    ],
)
def test_ambiguity(evidence, sets, severity, told):
    partition = EvidentialPartition.from_rough(sets)
    found = findings.ambiguity(evidence._replace(partition=partition))
    assert (found.severity, found.text) == (severity, told)


# --- normality of clusters


def test_holm_is_the_literal_rule():
    p = np.array([0.04, 0.01, np.nan, 0.03, 0.9])
    expected = [max(0.04 * 2, 0.03 * 3), 0.04, np.nan, 0.09, 0.9]
    np.testing.assert_allclose(holm(p), expected)


def test_large_clusters_are_tested_on_the_same_subset(monkeypatch, evidence):
    monkeypatch.setattr("credpart.diagnostics.normality.MOST_ROWS", 40)
    monkeypatch.setattr("credpart.diagnostics.findings.MOST_ROWS", 40)
    posteriors, ones = evidence.mixture.posteriors(GOOD), np.ones(len(GOOD))
    one, two = (normality_by_cluster(GOOD, posteriors, ones, list("abc")) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert (one["rows"] == 40).all()
    text = findings.normality(evidence._replace(normality=one)).text
    assert "(on 40 random rows, weighted)" in text


def test_a_component_without_objects_has_no_test():
    posteriors = np.column_stack([np.ones(150), np.zeros(150)])
    found = normality_by_cluster(GOOD, posteriors, np.ones(150), ["a", "b"])
    assert np.isnan(found.loc["b", "adjusted"])
    assert found.loc["a", "adjusted"] == found.loc["a", "p_value"]


def test_a_small_cluster_that_is_far_wider_than_the_others_may_be_outliers(evidence):
    rng = np.random.default_rng(0)
    clusters = np.concatenate([rng.normal(centre, 1.0, (60, 2)) for centre in (0.0, 8.0)])
    X = np.concatenate([clusters, rng.uniform(-60.0, 60.0, (10, 2))])

    def judged(X, c, model):
        mixture = fit_mixture(X, c, model)
        sizes = mixture.posteriors(X).sum(axis=0)
        return findings.scattered_cluster(evidence._replace(mixture=mixture, sizes=sizes))

    found = judged(X, 3, "VVI")
    assert found.severity == "caution"
    assert "times as wide as the median of the others, by geometric means over" in found.text
    assert found.change == "model.set_params(noise='auto').fit(X)"
    assert judged(X, 3, "contaminated-VVI").severity == "caution"
    assert judged(clusters, 2, "VVI").severity == "ok"


@pytest.mark.parametrize(
    ("n_clusters", "model", "why"),
    [
        (1, "VVI", "there is only one"),
        (2, "VVI+noise", "outliers are in none of them"),
        (2, "latent-class", "model latent-class does not say how wide they are"),
    ],
)
def test_where_widths_were_not_compared_that_is_said(evidence, n_clusters, model, why):
    X = make_survey(120, random_state=0).X if model == "latent-class" else GOOD
    found = findings.scattered_cluster(evidence._replace(mixture=fit_mixture(X, n_clusters, model)))
    assert (found.severity, found.text) == (
        "note",
        f"widths of clusters were not compared: {why}",
    )


# The first model of each family; those that have a form for missing cells are fitted to gaps too.
ONE_OF_EACH_FAMILY = {MODELS[name].family: name for name in reversed(model_names(2))}.values()
WITH_GAPS = [name for name in ONE_OF_EACH_FAMILY if MODELS[name].can_miss]
NUMBERS, ANSWERS = make_mixture3(120, random_state=1).X, make_survey(120, random_state=0).X
IS_GAP = np.arange(240).reshape(120, 2) % 17 == 0
DATA = {"latent-class": ANSWERS, "mixed": ANSWERS.assign(x=NUMBERS[:, 0])}


@pytest.mark.parametrize(
    ("model", "has_gaps", "labels"),
    [
        *((name, False, None) for name in ONE_OF_EACH_FAMILY),
        *((name, True, None) for name in WITH_GAPS),
        ("contaminated-EII", False, [0, 1] + [None] * 118),
    ],
)
@pytest.mark.filterwarnings("ignore::credpart.errors.CredpartWarning")
def test_a_fit_of_every_family_is_judged(model, has_gaps, labels):
    X = np.where(IS_GAP, np.nan, NUMBERS) if has_gaps else DATA.get(model, NUMBERS)
    how = {"level": 0.8, "missing": "model" if has_gaps else "error", "n_jobs": 1}
    estimator = CalibratedClustering(2, model=model, n_replicates=10, random_state=0, **how)
    estimator.fit(X, labels=labels)
    judged = quick(estimator)
    assert len(judged.findings) == len(findings.CHECKS)
    assert judged.verdict.removesuffix(".") in estimator.summary()


def test_a_better_model_at_the_edge_of_the_search_comes_with_more_clusters(evidence):
    X = make_skew_t(150, random_state=0).X
    model = CalibratedClustering([1, 2], model="EII", n_replicates=20, level=0.8, random_state=0)
    result = model.fit(X).result_
    compared = rivals(result)
    seen = gather_evidence(result, rivals=compared)
    found = findings.rival_models(seen)
    best = compared.table.iloc[0]
    assert result.mixture.n_clusters == 2
    assert best["n_clusters"] >= 2
    assert found.advice == "Fit that model, with more clusters too."
    number = int(best["n_clusters"])
    numbers = list(range(max(1, number - 2), number + 5))
    assert found.change == (
        f"model.set_params(n_clusters={numbers}, model={best['model']!r}).fit(X)"
    )


def test_the_level_of_grouped_data_is_a_note(evidence, good):
    audited = audit(good, 8, n_replicates=200)
    held = replace(audited, coverage=0.9, standard_error=0.01)
    assert severity(findings.coverage, evidence, audit=held, length=held.length) == "ok"
    grouped = evidence._replace(audit=held, length=held.length, n_groups=12)
    found = findings.coverage(grouped)
    assert found.severity == "note"
    assert "clusters of the data may also be shifted from group to group" in found.text


def test_rivals_that_relabel_objects_without_leaving_the_intervals_are_a_note(evidence):
    columns = {"plausible": True, "outside": 0.0, "far_outside": 0.0, "nested": False}
    columns |= {"n_clusters": 2, "model": "EII", "bic": 0.0, "lead": -0.5, "lead_aicc": 0.0}
    for relabelled, expected in ((0, "ok"), (30, "note")):
        table = pd.DataFrame([columns | {"relabelled": relabelled, "left_set": 0}])
        found = Rivals(table, pd.DataFrame(), {}, 10, 2.0, "EII", 3, 0.0)
        told = findings.rival_models(evidence._replace(rivals=found))
        assert told.severity == expected
        assert told.text.startswith(
            "1 of 1 other models is as plausible (BIC higher, or at most 2 lower), and under it 0 "
        )
        assert ("30 of" in told.text) == (expected == "note")
