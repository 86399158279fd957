"""The verdict on a fit, and how it is shown."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from credpart._messages import Message
from credpart.diagnostics.findings import CHECKS, MARGIN, SEVERITIES, Evidence, Finding
from credpart.diagnostics.normality import normality_by_cluster
from credpart.focal import set_names
from credpart.intervals import PairwiseIntervals
from credpart.partition import EvidentialPartition
from credpart.partition.describe import kind_lines
from credpart.partition.relational import upper_blocks
from credpart.result import CalibratedResult, Fitted, result_of

if TYPE_CHECKING:
    import pandas as pd

GRADES = dict(zip(SEVERITIES, ("good", "caution", "poor"), strict=True))
LEADS = {
    "good": "This fit passes every check: its intervals can be taken at their level",
    "caution": "Trust this fit with care",
    "poor": "Do not trust the level of these intervals",
}
COLOURS = {"ok": "#117733", "caution": "#b35900", "problem": "#aa1144"}


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

    Examples
    --------
    >>> from credpart import CalibratedClustering, diagnose
    >>> from credpart.datasets import load_iris
    >>> model = CalibratedClustering(3, model="VEV", n_replicates=40, random_state=0)
    >>> print(diagnose(model.fit(load_iris().X)).verdict)
    Do not trust the level of these intervals: 2 of 40 replicates lie beyond each bound of a
    90 % interval. Take n_replicates=200 or more, or a lower level.
    """

    verdict: str
    grade: str
    findings: tuple[Finding, ...]
    normality: "pd.DataFrame | None"
    rmse: float
    covered: float
    statuses: dict[str, int]
    models: dict[str, int]

    def summary(self) -> str:
        """The verdict and the findings as text, each on a line of its own."""
        lines = [f"{f.severity:8} {f.topic}: {f}" for f in self.findings]
        return "\n".join([f"{self.grade.upper()}. {self.verdict}", *lines])

    def to_dict(self) -> dict[str, Any]:
        """All of it in values that JSON has."""
        table = self.normality
        return {
            "verdict": self.verdict,
            "grade": self.grade,
            "findings": [
                {name: getattr(finding, name) for name in Finding.__slots__}
                for finding in self.findings
            ],
            "normality": None if table is None else _records(table),
            "rmse": self.rmse,
            "covered": self.covered,
            "statuses": dict(self.statuses),
            "models": dict(self.models),
        }

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


def diagnose(model: CalibratedResult | Fitted) -> Diagnosis:
    """Return what a user should know before trusting a fit.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        A fitted estimator, or its result.

    Returns
    -------
    Diagnosis
        A verdict in plain words, the findings it rests on with what to try, and the numbers.

    Notes
    -----
    Looked at are: normality of the clusters (Henze and Zirkler's test weighted by posteriors,
    adjusted by Holm's rule), how the replicates ended, the smallest cluster against its
    parameters, how often the replicates chose each model, how well belief and plausibility match
    the intervals, replicates against the level, rival numbers of clusters, and ambiguity.

    Examples
    --------
    >>> from credpart import CalibratedClustering, diagnose
    >>> from credpart.datasets import load_iris
    >>> model = CalibratedClustering(3, model="VEV", n_replicates=200, random_state=0)
    >>> diagnosis = diagnose(model.fit(load_iris().X))
    >>> diagnosis.grade, diagnosis.findings[2].severity  # 45 objects for 13 parameters
    ('caution', 'caution')
    >>> diagnosis.normality[["p_value", "size"]].round(2)
             p_value   size
    cluster
    {1}         0.05  50.00
    {2}         0.48  46.57
    {3}         0.59  56.56
    """
    seen = gather_evidence(result_of(model))
    findings = tuple(check(seen) for check in CHECKS)
    worst = max(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    grade = GRADES[worst.severity]
    return Diagnosis(
        verdict=_verdict(grade, worst, seen),
        grade=grade,
        findings=findings,
        normality=seen.normality,
        rmse=seen.rmse,
        covered=seen.covered,
        statuses=seen.replicates.counts(),
        models=seen.replicates.chosen(),
    )


def summarise(result: CalibratedResult) -> str:
    """What was found, and whether to trust it, on one screen."""
    found, partition = diagnose(result), result.partition
    lines, decision = kind_lines(partition), result.replicates.decision
    return "\n".join(
        [
            f"{partition.n_objects} objects, {partition.n_clusters} clusters: "
            f"model {result.mixture.model}, {_level_in_words(result)} "
            f"from {len(result.replicates)} replicates{_compared(result)}",
            lines["certain"],
            lines["ambiguous"],
            *numbers_chosen(result),
            *([] if decision is None else [f"{decision}."]),
            f"{found.grade.upper()}. {found.verdict}",
        ]
    )


def _level_in_words(result: CalibratedResult) -> str:
    """The level of the intervals, and after an audit the one that was asked for."""
    nominal, level = result.options.nominal_level, result.intervals.level
    if nominal is None:
        return f"{100.0 * level:g} % intervals"
    return f"{100.0 * nominal:g} % intervals (recalibrated to level {level:.4g})"


def numbers_chosen(result: CalibratedResult) -> list[str]:
    """How often replicates chose each number of clusters, if they chose several."""
    numbers, B = result.replicates.chosen_numbers(), len(result.replicates)
    if len(numbers) == 1:
        return []
    shares = ", ".join(f"{number} {100.0 * count / B:.3g} %" for number, count in numbers.items())
    return [f"clusters of the replicates: {shares}"]


def _compared(result: CalibratedResult) -> str:
    if not result.is_sampled or result.landmarks is None:
        return ""
    return f", {len(result.landmarks.weights)} landmarks"


def summary_html(result: CalibratedResult) -> str:
    """The summary for a notebook."""
    return f'<pre style="white-space: pre-wrap">{escape(summarise(result))}</pre>'


def gather_evidence(result: CalibratedResult) -> Evidence:
    """What the findings are drawn from."""
    partition, posteriors, weights = result.partition, result.posteriors, result.weights
    names = set_names(np.eye(partition.n_clusters, dtype=bool), partition.cluster_names)
    normality = None
    if result.mixture.family.is_normal:
        normality = normality_by_cluster(result.data.values, posteriors, weights, names)
    return Evidence(
        mixture=result.mixture,
        selection=result.selection,
        replicates=result.replicates,
        partition=partition,
        level=result.intervals.level,
        is_chosen_once=result.options.selection == "once",
        sizes=weights @ posteriors,
        normality=normality,
        rmse=result.rmse,
        covered=_covered(result.compared, result.intervals),
    )


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
    if grade == "good":
        untested = f", if clusters follow model {seen.mixture.model}, which was not tested"
        return Message(f"{LEADS[grade]}{untested if seen.normality is None else ''}.")
    advice = (" ", worst.advice) if worst.advice else ()
    return Message(f"{LEADS[grade]}: ", worst.text, ".", *advice)


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    rows = table.astype(object).where(table.notna(), None).reset_index()
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.to_numpy().tolist()]
