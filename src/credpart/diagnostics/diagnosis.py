"""The verdict on a fit, and how it is shown."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from credpart._audit import LEAST_DATA_SETS, Audit, in_tenths
from credpart._audit import audit as make_audit
from credpart._checks import check_integer
from credpart._columns import missing_cells
from credpart._messages import Call, Message, Setting, Vocabulary, in_words
from credpart._progress import Progress
from credpart._rivals import Rivals
from credpart._rivals import rivals as find_rivals
from credpart.diagnostics.findings import (
    CHECKS,
    MARGIN,
    SEVERITIES,
    Evidence,
    Finding,
    coverage,
)
from credpart.diagnostics.normality import normality_by_cluster
from credpart.errors import CredpartWarning, DataError, InputError, UnsupportedError
from credpart.focal import set_names
from credpart.intervals import PairwiseIntervals, replicates_needed
from credpart.mixture.distinct import distinct
from credpart.partition import EvidentialPartition
from credpart.partition.describe import word_lines
from credpart.partition.relational import upper_blocks
from credpart.result import CalibratedResult, Fitted, result_of

if TYPE_CHECKING:
    import pandas as pd

GRADES = dict(zip(SEVERITIES, ("good", "good", "caution", "poor"), strict=True))
LEADS = {
    "good": "Nothing that was checked speaks against this fit",
    "caution": "Trust this fit with care",
    "poor": "Do not trust the level of these intervals",
}
COLOURS = {"ok": "#117733", "note": "#555555", "caution": "#b35900", "problem": "#aa1144"}
LISTS = ("findings", "advice")  # fields that are lists of findings
URGENT = ("caution", "problem")  # severities whose advice is given
DATA_SETS = LEAST_DATA_SETS  # of a quick audit, whose standard error the finding says
ASKED_FOR = Setting("audit", DATA_SETS, "diagnose", is_quoted=True)
REPLICATES = 200  # of each of them, at most
# Objects up to which a diagnosis takes seconds with an audit, and with rivals.  A fit with few
# replicates is a first look, which need not be judged.
AUDITED, COMPARED, FEW_REPLICATES = 5000, 20_000, 200


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diagnosis:
    """What to know before trusting a fit.

    Attributes
    ----------
    verdict : str
        Whether the fit can be trusted, and if not what to do.
    grade : {"good", "caution", "poor"}
        The verdict in a word.
    findings : tuple of Finding
        One for each topic, the most important topics first.
    advice : tuple of Finding
        Those with something to do, the most urgent first.  No two of them change the same setting.
    normality : DataFrame or None
        One row for each cluster: the statistic of Henze and Zirkler, its p-value, the p-value
        adjusted by Holm's rule, the effective size, and the number of rows that were tested.
        None where the model does not say that clusters are normal.
    rmse : float
        Root mean square distance between the bounds of [Bel, Pl] and of the intervals:
        ``sqrt(J / (n (n - 1)))``, with J of Eq. (9).
    covered : float
        Share of the pairs with ``Bel <= lower + 0.05`` and ``Pl >= upper - 0.05``.
    statuses : dict
        Number of replicates by status.
    models : dict
        Number of replicates by model, most frequent first.
    audit : Audit or None
        The audit that the finding on the level rests on; None where none was made.
    rivals : Rivals or None
        The other models that were compared; None where none were.

    Examples
    --------
    >>> from credpart import CalibratedClustering, diagnose
    >>> from credpart.datasets import load_iris
    >>> model = CalibratedClustering(3, model="VEV", n_replicates=40, random_state=0)
    >>> found = diagnose(model.fit(load_iris().X), audit=0, rivals=False)
    >>> print(found.verdict)
    Do not trust the level of these intervals: 2 of 40 replicates lie beyond each bound of a
    90 % interval.
    >>> print(found.advice[0].change)
    model.set_params(n_replicates=200).fit(X)
    """

    verdict: str
    grade: str
    findings: tuple[Finding, ...]
    advice: tuple[Finding, ...]
    normality: "pd.DataFrame | None"
    rmse: float
    covered: float
    statuses: dict[str, int]
    models: dict[str, int]
    audit: Audit | None = None
    rivals: Rivals | None = None

    def summary(self) -> str:
        """The verdict and the findings as text, each on a line of its own."""
        lines = [f"{f.severity:8} {f.topic}: {f}" for f in self.findings]
        return "\n".join([f"{self.grade.upper()}. {self.verdict}", *lines, *self.what_to_do()])

    def what_to_do(self) -> list[Message]:
        """Lines of advice, each with what to type."""
        if not self.advice:
            return []
        steps = [
            Message(f"{k}. ", f.advice, *(("\n   ", f.change) if f.change else ()))
            for k, f in enumerate(self.advice, 1)
        ]
        return [Message("What to do:"), *steps]

    def in_words(self, words: Vocabulary) -> "Diagnosis":
        """The same diagnosis, as another vocabulary has it."""
        return replace(
            self,
            verdict=in_words(self.verdict, words),
            findings=tuple(finding.in_words(words) for finding in self.findings),
            advice=tuple(finding.in_words(words) for finding in self.advice),
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it in values that JSON has."""
        table = self.normality
        return {
            "verdict": self.verdict,
            "grade": self.grade,
            **{name: [asdict(finding) for finding in getattr(self, name)] for name in LISTS},
            "normality": None if table is None else _records(table),
            "rmse": self.rmse,
            "covered": self.covered,
            "statuses": dict(self.statuses),
            "models": dict(self.models),
            **{name: value and value.to_dict() for name, value in self._looked_at().items()},
        }

    def _looked_at(self) -> dict[str, Audit | Rivals | None]:
        return {"audit": self.audit, "rivals": self.rivals}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Diagnosis":
        """The diagnosis that `to_dict` gave; a ValueError if it gave another one."""
        import pandas as pd

        table = values["normality"]
        lists = {name: tuple(Finding(**one) for one in values[name]) for name in LISTS}
        found = [finding for several in lists.values() for finding in several]
        texts = [values["verdict"], *(part for one in found for part in asdict(one).values())]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("findings that are no texts")
        if not {finding.severity for finding in found} <= {*SEVERITIES}:
            raise ValueError("findings of an unknown severity")
        if values["grade"] not in LEADS:
            raise ValueError(f"the grade {values['grade']!r}")
        normality = None if table is None else pd.DataFrame(table).set_index("cluster")
        looked_at = {
            name: kind.from_dict(told)
            for name, kind in (("audit", Audit), ("rivals", Rivals))
            if (told := values.get(name)) is not None
        }
        return cls(**{**values, **lists, "normality": normality, **looked_at})

    def __repr__(self) -> str:
        return f"Diagnosis({self.grade}: {self.verdict})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="color:{COLOURS[f.severity]};font-weight:bold">{escape(f.severity)}'
            f'</td><td style="text-align:left;white-space:nowrap">{escape(f.topic)}</td>'
            f'<td style="text-align:left">{escape(str(f))}</td></tr>'
            for f in self.findings
        )
        return (
            f"<p><strong>{escape(self.grade.capitalize())}.</strong> {escape(self.verdict)}</p>\n"
            f"<table>{rows}</table>"
        )


def diagnose(
    model: CalibratedResult | Fitted,
    *,
    audit: int | str | Audit = "auto",
    rivals: bool | str | Rivals = "auto",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Return what a user should know before trusting a fit.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        A fitted estimator, or its result.
    audit : int, "auto" or Audit
        Number of data sets of a quick audit, each with at most 200 replicates; 0 leaves it out.
        "auto" is 8, or 0 above 5000 objects and below 200 replicates.  An audit that was made
        before is taken as it is.
    rivals : bool, "auto" or Rivals
        Whether other models and numbers of clusters are compared.  "auto" is True, but False above
        20 000 objects and below 200 replicates.  What `rivals` found before is taken as it is.
    n_jobs : int, optional
        Number of parallel jobs, as in joblib.  The result does not depend on it.
    progress : callable, optional
        Called with "audit" or "select", and the share that is done.

    Returns
    -------
    Diagnosis
        A verdict in plain words, the findings it rests on, and what to do.

    Notes
    -----
    The verdict looks at consequences: whether intervals made like these hold their level on data
    drawn from the mixture (`credpart.audit`), whether other models that are as plausible give other
    answers (`credpart.rivals`), whether the number of clusters is the largest that was tried, how
    the replicates ended, how well belief and plausibility match the intervals, replicates against
    the level, and copies of objects.  Normality of the clusters (Henze and Zirkler's test weighted
    by posteriors, adjusted by Holm's rule) is information: at some hundred objects every real
    cluster departs from it, and whether that matters is what rivals tell.

    Examples
    --------
    >>> from credpart import CalibratedClustering, diagnose
    >>> from credpart.datasets import load_iris
    >>> model = CalibratedClustering(3, model="VEV", n_replicates=200, random_state=0)
    >>> diagnosis = diagnose(model.fit(load_iris().X), audit=0)
    >>> diagnosis.grade, diagnosis.findings[1].topic
    ('caution', 'rival models')
    >>> diagnosis.normality[["p_value", "size"]].round(2)
             p_value   size
    cluster
    {1}         0.05  50.00
    {2}         0.48  46.57
    {3}         0.59  56.56
    """
    result = result_of(model)
    audited = _audited(result, audit, n_jobs, progress)
    compared = _compared_rivals(result, rivals, n_jobs, progress)
    return judge(gather_evidence(result, audited, compared))


def judge(seen: Evidence) -> Diagnosis:
    """The findings, the worst of them as a verdict, and what to do about them."""
    findings = tuple(check(seen) for check in CHECKS)
    worst = max(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    grade = GRADES[worst.severity]
    return Diagnosis(
        verdict=_verdict(grade, worst, seen),
        grade=grade,
        findings=findings,
        advice=ranked(findings),
        normality=seen.normality,
        rmse=seen.rmse,
        covered=seen.covered,
        statuses=seen.replicates.counts(),
        models=seen.replicates.chosen(),
        audit=seen.audit if isinstance(seen.audit, Audit) else None,
        rivals=seen.rivals if isinstance(seen.rivals, Rivals) else None,
    )


def ranked(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings with advice, the most urgent first; a setting is changed by one of them only.

    Of two that are as urgent, one that asks for another fit comes first, as what is said of this
    one may not hold of that; and one that names nothing to type comes last.
    """
    urgent = [finding for finding in findings if finding.advice and finding.severity in URGENT]
    urgent.sort(key=lambda one: (-SEVERITIES.index(one.severity), _effort(one)))
    changed: set[str] = set()
    kept = []
    for finding in urgent:
        settings = {setting.name for call in _calls(finding) for setting in call.settings}
        if not settings & changed:
            kept.append(finding)
            changed |= settings
    return tuple(kept)


def _calls(finding: Finding) -> list[Call]:
    parts = finding.change.parts if isinstance(finding.change, Message) else ()
    return [part for part in parts if isinstance(part, Call)]


def _effort(finding: Finding) -> int:
    methods = [call.method for call in _calls(finding)]
    return 2 if not methods else int("fit" not in methods)


def _audited(
    result: CalibratedResult, audit: int | str | Audit, n_jobs: int | None, progress: Any
) -> Audit | str:
    """The audit, or why there is none."""
    if isinstance(audit, Audit):
        return audit
    if audit == "auto":
        left_out = _left_out(result, AUDITED)
        if left_out:
            return Message(left_out, ", by ", ASKED_FOR)
        audit = DATA_SETS
    if check_integer("audit", audit, at_least=0) == 0:
        return Message("it was not asked for; ", ASKED_FOR, " makes one")
    level, B = result.options.level, len(result.replicates)
    enough = max(replicates_needed(level), min(REPLICATES, B))
    try:
        with warnings.catch_warnings(action="ignore", category=CredpartWarning):
            return make_audit(
                result,
                int(audit),
                n_replicates=enough,
                contenders=True,
                # A level that an audit gave would seem to hold on the data sets it was read off.
                random_state=int(result.options.nominal_level is not None),
                n_jobs=n_jobs,
                progress=progress,
            )
    except (UnsupportedError, InputError, DataError) as error:  # the fit has none: that is a note
        # What is wrong with an argument of `audit` means nothing to who did not call it.
        reason = str(getattr(error, "remedy", "") or error).rstrip(".")
        return reason[:1].lower() + reason[1:]


def _left_out(result: CalibratedResult, most_objects: int) -> str:
    """Why a fit is not looked at as closely as others, unless that is asked for; or nothing."""
    if result.n_objects > most_objects:
        return f"above {most_objects} objects it has to be asked for"
    few = len(result.replicates) < FEW_REPLICATES
    return f"below {FEW_REPLICATES} replicates it has to be asked for" if few else ""


def _compared_rivals(
    result: CalibratedResult, rivals: bool | str | Rivals, n_jobs: int | None, progress: Any
) -> Rivals | str:
    """Other models of the same data, or why there are none."""
    if isinstance(rivals, Rivals):
        return rivals
    left_out = _left_out(result, COMPARED)
    if rivals == "auto" and left_out:
        return left_out
    if not isinstance(rivals, bool) and rivals != "auto":
        raise InputError("rivals", "be True, False, 'auto' or what `rivals` found", rivals)
    if not rivals:
        return "it was not asked for"
    return find_rivals(result, n_jobs=n_jobs, progress=progress)


def summarise(result: CalibratedResult) -> str:
    """What was found, and whether to trust it, on one screen."""
    found, partition = diagnose(result, audit=0, rivals=False), result.partition
    decision, c = result.replicates.decision, partition.n_clusters
    return "\n".join(
        [
            f"{partition.n_objects} objects, {c} cluster{'s' * (c != 1)}: "
            f"model {result.mixture.model}, "
            f"{level_in_words(result.intervals.level, result.options.nominal_level)} "
            f"from {len(result.replicates)} replicates{_compared(result)}",
            *word_lines(partition),
            *([f"{missing}."] if (missing := missing_cells(result.data)) else []),
            *numbers_chosen(result),
            *([] if decision is None else [f"{decision}."]),
            f"{found.grade.upper()}. {found.verdict}",
        ]
    )


def level_in_words(level: float, nominal: float | None) -> str:
    """The level of the intervals, and after an audit the one that was asked for."""
    if nominal is None:
        return f"{100.0 * level:.4g} % intervals"
    return f"{100.0 * nominal:g} % intervals (recalibrated to level {level:.4g})"


def numbers_chosen(result: CalibratedResult) -> list[str]:
    """How often replicates chose each number of clusters, if they chose several."""
    numbers, B = result.replicates.chosen_numbers(), len(result.replicates)
    if len(numbers) == 1:
        return []
    shares = ", ".join(f"{number}: {100.0 * count / B:.3g} %" for number, count in numbers.items())
    return [f"clusters of the replicates: {shares}"]


def _compared(result: CalibratedResult) -> str:
    if not result.is_sampled or result.landmarks is None:
        return ""
    return f", {len(result.landmarks.weights)} landmarks"


def summary_html(result: CalibratedResult) -> str:
    """The summary for a notebook."""
    return f'<pre style="white-space: pre-wrap">{escape(summarise(result))}</pre>'


def gather_evidence(
    result: CalibratedResult, audit: Audit | str = "", rivals: Rivals | str = ""
) -> Evidence:
    """What the findings are drawn from."""
    partition, posteriors, weights = result.partition, result.posteriors, result.weights
    names = set_names(np.eye(partition.n_clusters, dtype=bool), partition.cluster_names)
    normality, is_whole = None, ~np.isnan(result.data.values).any(axis=1)
    if result.mixture.family.is_normal:
        X, resp, w = result.data.values[is_whole], posteriors[is_whole], weights[is_whole]
        normality = normality_by_cluster(X, resp, w, names)
    return Evidence(
        mixture=result.mixture,
        selection=result.selection,
        replicates=result.replicates,
        partition=partition,
        level=result.intervals.level,
        nominal_level=result.options.nominal_level or result.intervals.level,
        is_chosen_once=result.options.selection == "once",
        sizes=weights @ posteriors,
        normality=normality,
        rmse=result.rmse,
        covered=_covered(result.compared, result.intervals),
        length=float(result.intervals.length.mean()),
        copies=_share_of_copies(result),
        audit=audit,
        rivals=rivals,
        max_iter=result.options.limits.max_iter,
        has_missing=not is_whole.all() and result.data.levels is None,
        n_groups=_number_of_groups(result),
        is_weakened=result.options.weaken,
    )


def _number_of_groups(result: CalibratedResult) -> int | None:
    """How many groups of several objects were drawn; None if objects were drawn one by one."""
    if result.groups is None:
        return None
    number = len(np.unique(result.groups))
    return number if number < result.n_objects else None


def _share_of_copies(result: CalibratedResult) -> float:
    """Share of the objects that equal an earlier one; categories repeat, and do not count."""
    if result.mixture.family.projectable(result.mixture.internal) is None:
        return 0.0
    objects = distinct(result.data.values, result.weights)
    return 1.0 - len(objects.X) / np.count_nonzero(objects.place >= 0)


def _covered(partition: EvidentialPartition, intervals: PairwiseIntervals) -> float:
    """Share of the pairs whose interval lies within [Bel, Pl], to within `MARGIN`."""
    count = first = 0
    for belief, plausibility in upper_blocks(partition.masses, partition.focal_sets):
        pairs = slice(first, first + len(belief))
        below = belief <= intervals.lower[pairs] + MARGIN
        count += int(np.count_nonzero(below & (plausibility >= intervals.upper[pairs] - MARGIN)))
        first = pairs.stop
    return count / first


def _verdict(grade: str, worst: Finding, seen: Evidence) -> Message:
    if grade != "good":
        return Message(f"{LEADS[grade]}: ", worst.text, ".")
    if isinstance(seen.audit, str):
        level = "; whether its intervals hold their level was not checked (no audit)"
    elif (found := coverage(seen)).severity == "ok":
        right = f"{seen.audit.origin} is true"
        if seen.audit.is_own:
            right = "the model is right"
        elif len(seen.audit.truths) > 1:
            right = "one of the mixtures of the audit is true"
        level = f": if {right}, its intervals can be taken at their level"
        if seen.audit.is_partition_short:
            share = in_tenths(seen.audit.coverage_partition)
            level += f", while belief to plausibility cover {share} of the pairs"
    else:
        level = f"; {found.text}"
    rivals = "; other models were not compared" if isinstance(seen.rivals, str) else ""
    # An audit that was refused cannot be asked for.
    can_ask = ASKED_FOR in getattr(seen.audit, "parts", ())
    asked = (" To check it: ", ASKED_FOR, ".") if can_ask else ()
    return Message(f"{LEADS[grade]}{level}{rivals}.", *asked)


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    rows = table.astype(object).where(table.notna(), None).reset_index()
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.to_numpy().tolist()]
