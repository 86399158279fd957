"""What can be wrong with a fit: one pure function for each topic, from evidence to a finding.

The thresholds stand here, each with its reason; ``docs/diagnostics.md`` explains the findings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from credpart._arrays import Array
from credpart._bootstrap import Replicates
from credpart._messages import Message, Name, Setting
from credpart.diagnostics.normality import MOST_ROWS
from credpart.focal import set_names
from credpart.mixture.fit import MixtureFit
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.search.selection import Selection
from credpart.partition import EvidentialPartition
from credpart.partition.describe import counts_by_kind

if TYPE_CHECKING:
    import pandas as pd

# Normality is rejected at a family-wise error of REJECTED: of a hundred good fits five are flagged
# in vain.  At REFUTED chance is no explanation any more.
REJECTED, REFUTED = 0.05, 1e-3
# Replicates beyond a bound.  With 10, the level of a 90 % interval is itself uncertain by .02
# (standard error); with 3 by .04.
TAIL, SHORT_TAIL = 10.0, 3.0
# Objects for each free parameter of a cluster.  Simulated with the true model (VVV, two clusters),
# 90 % intervals cover .62 of the pairs at 3 objects a parameter, .74 at 5, .86 at 10 and at 20 in
# two dimensions; .71 at 3 and .90 at 6 in four (standard errors .02 to .05).
OBJECTS, FEW_OBJECTS = 6.0, 3.0
# [Bel, Pl] covers an interval if it does to within MARGIN.  With enough focal sets .92 to 1 of the
# pairs are covered so (Iris, Diabetes, the mixtures of the paper), with singletons .4 to .7.
MARGIN = 0.05
COVERED, HARDLY_COVERED = 0.9, 0.5
# Kass and Raftery's scale of 2 log Bayes factors, which differences of BIC approximate: from 6 on
# the evidence is strong.
STRONG = 6.0
AMBIGUOUS = 0.25  # share of objects: above, sets of clusters are the rule and not the exception

SEVERITIES = ("ok", "caution", "problem")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know before trusting a fit.

    Attributes
    ----------
    topic : str
        What was looked at.
    severity : {"ok", "caution", "problem"}
        How much it matters.
    text : str
        What was found, a clause without a full stop.
    advice : str
        What to try, a sentence; empty where there is nothing to do.

    Examples
    --------
    >>> from credpart.diagnostics import Finding
    >>> print(Finding("replicates", "ok", "all 100 replicates are ok", ""))
    All 100 replicates are ok.
    """

    topic: str
    severity: str
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.text[:1].upper()}{self.text[1:]}. {self.advice}".strip()


class Evidence(NamedTuple):
    """What the findings are drawn from."""

    mixture: MixtureFit
    selection: Selection
    replicates: Replicates
    partition: EvidentialPartition
    level: float
    is_chosen_once: bool
    sizes: Array  # (c,): effective numbers of objects of the clusters
    normality: "pd.DataFrame | None"
    rmse: float
    covered: float


def normality(seen: Evidence) -> Finding:
    """Whether each cluster is normal, where the model says so."""
    topic, table = "normality", seen.normality
    if table is None:
        text = f"model {seen.mixture.model} does not say that clusters are normal: not tested"
        return Finding(topic, "ok", text, "")
    rejected = table.index[table["adjusted"] < REJECTED].tolist()
    untested = table.index[table["adjusted"].isna()].tolist()
    is_part = (table["rows"] == MOST_ROWS).any()
    some = f" (on {MOST_ROWS} random objects of each larger cluster)" if is_part else ""
    if not rejected and not untested:
        text = f"no cluster departs from normality, lowest p = {_p(table['adjusted'].min())}{some}"
        return Finding(topic, "ok", text, "")
    if not rejected:
        text = f"{_clusters(untested)} too small or too flat for a test of normality"
        return Finding(topic, "caution", text, f"{_simpler(seen)}.")
    lowest = table["adjusted"].min()
    text = (
        f"{_clusters(rejected)} not normal, lowest p = {_p(lowest)}{some}, so the intervals may "
        "miss their level"
    )
    advice = Message(
        "Try another family, such as ",
        Setting("model", ["VVV", "t", "skew-t"]),
        "; transform skewed columns (log, asinh); look for outliers; or try more clusters.",
    )
    return Finding(topic, "problem" if lowest < REFUTED else "caution", text, advice)


def replicates(seen: Evidence) -> Finding:
    """How the refits ended."""
    counts = {name: count for name, count in seen.replicates.counts().items() if count}
    B, is_sound = len(seen.replicates), seen.mixture.status == Status.OK
    off = B - counts.get(Status.OK.label, 0)
    broken = off - counts.get(Status.REGULARISED.label, 0)
    decision = seen.replicates.decision
    how = "" if decision is None else f"; {decision}"
    if decision is not None and decision.is_doubtful:
        auto = Message("Take ", Setting("refit", "auto"), ".")
        return Finding("replicates", "problem", str(decision), auto)
    if off == 0 and is_sound:
        return Finding("replicates", "ok", f"all {B} replicates are ok{how}", "")
    text = f"of {B} replicates {', '.join(f'{count} {name}' for name, count in counts.items())}"
    text += how
    if not is_sound:
        text = f"the fit itself is {seen.mixture.status.label}, and {text}"
    # As many broken ones as lie beyond a bound could set it alone; a tenth as many move it by no
    # more than another seed does.
    beyond = 0.5 * (1.0 - seen.level) * B
    severity = "problem" if broken >= beyond - 1e-9 else "ok"
    if severity == "ok" and (off > 0.1 * beyond + 1e-9 or not is_sound):
        severity = "caution"
    advice = f"{_simpler(seen)}; if EM did not converge, scale or transform the columns."
    return Finding("replicates", severity, text, "" if severity == "ok" else advice)


def smallest_cluster(seen: Evidence) -> Finding:
    """Whether the smallest cluster can carry its share of the parameters."""
    c, k = seen.mixture.n_clusters, int(np.argmin(seen.sizes))
    size, needed = float(seen.sizes[k]), seen.mixture.n_parameters / c
    text = (
        f"the smallest cluster, {_names(seen)[k]}, has about {_objects(size)} for the "
        f"{needed:.1f} parameters for each cluster of model {seen.mixture.model}"
    )
    severity = _graded(size / needed, OBJECTS, FEW_OBJECTS)
    advice = f"{_simpler(seen)}, or gather more objects."
    return Finding("smallest cluster", severity, text, "" if severity == "ok" else advice)


def structure(seen: Evidence) -> Finding:
    """How often the replicates chose each model."""
    topic, chosen, name = "structure", seen.replicates.chosen(), seen.mixture.model
    rivals = [fit for fit in seen.selection.fits if fit[0] == seen.mixture.n_clusters]
    if seen.is_chosen_once and len(rivals) > 1:
        text = f"model {name} was chosen once, as if it had been known: the intervals are too short"
        advice = Message("Fit with ", Setting("selection", "each"), ".")
        return Finding(topic, "caution", text, advice)
    B = len(seen.replicates)
    listed = ", ".join(f"{model} {count}" for model, count in list(chosen.items())[:5])
    listed += f" and {len(chosen) - 5} others" if len(chosen) > 5 else ""
    if name not in chosen:
        text = f"model {name} was selected, but no replicate chose it: {listed}"
        other = Setting("model", next(iter(chosen)))
        advice = Message("The choice is fragile: compare with ", other, ".")
        return Finding(topic, "caution", text, advice)
    if len(chosen) == 1:
        return Finding(topic, "ok", f"all {B} replicates have model {name}", "")
    text = f"{chosen[name]} of {B} replicates chose model {name} too ({listed})"
    return Finding(topic, "ok", text, "")


def number_of_clusters(seen: Evidence) -> Finding:
    """Whether another number of clusters is nearly as good."""
    topic, c = "number of clusters", seen.mixture.n_clusters
    name = seen.selection.criterion
    best = {fit.n_clusters: -np.inf for fit in seen.selection.fits.values()}
    for fit in seen.selection.fits.values():
        best[fit.n_clusters] = max(best[fit.n_clusters], fit.criterion(name))
    others = {k: value for k, value in best.items() if k != c}
    if not others:
        return Finding(topic, "ok", f"{c} was given", "")
    rival = max(others, key=lambda k: others[k])
    lead = best[c] - others[rival]
    text = f"{c} leads {rival} by {lead:.1f} of {name.upper()}"
    text += "" if lead >= STRONG else ", which is not strong evidence"
    numbers, assumed = seen.replicates.chosen_numbers(), f"The intervals take {c} for granted"
    if len(numbers) > 1:
        listed = ", ".join(f"{number} {count}" for number, count in numbers.items())
        text += f"; {numbers.get(c, 0)} of {len(seen.replicates)} replicates chose {c} too"
        text, assumed = f"{text} ({listed})", f"The partition has {c} clusters all the same"
    if lead >= STRONG:
        return Finding(topic, "ok", text, "")
    other = Setting("n_clusters", rival)
    return Finding(topic, "caution", text, Message(f"{assumed}: compare with ", other, "."))


def fit_to_intervals(seen: Evidence) -> Finding:
    """How well belief and plausibility match the intervals."""
    text = (
        f"belief and plausibility cover the interval of {_floored(seen.covered)} of the pairs "
        f"to within {MARGIN:g}; RMSE {seen.rmse:.3f}"
    )
    severity = _graded(seen.covered, COVERED, HARDLY_COVERED)
    is_full = len(seen.partition.focal_sets) >= 2**seen.partition.n_clusters - 1
    advice = Message("All sets are allowed already: look for another model, or for more objects.")
    if not is_full:
        full = Setting("focal_sets", "full", method="refit_partition")
        advice = Message("Allow more focal sets: ", full, ", or ", Setting("omega", True), ".")
    return Finding("fit to the intervals", severity, text, "" if severity == "ok" else advice)


def precision(seen: Evidence) -> Finding:
    """Whether there are enough replicates for the level."""
    B = len(seen.replicates)
    tail = 0.5 * (1.0 - seen.level) * B
    text = f"{tail:g} of {B} replicates lie beyond each bound of a {100 * seen.level:g} % interval"
    severity = _graded(tail * (1.0 + 1e-9), TAIL, SHORT_TAIL)
    needed = int(np.ceil(2.0 * TAIL / (1.0 - seen.level) * (1.0 - 1e-9)))
    advice = Message("Take ", Setting("n_replicates", needed), " or more, or a lower level.")
    return Finding("precision", severity, text, "" if severity == "ok" else advice)


def ambiguity(seen: Evidence) -> Finding:
    """How many objects are between clusters, and whether each cluster has sure members."""
    partition, names = seen.partition, _names(seen)
    n, several = partition.n_objects, sum(counts_by_kind(partition)["ambiguous"].values())
    text = f"{several} of {n} objects ({_percent(several / n)}) are ambiguous"
    sure = np.asarray(partition.lower_approximation().any(axis=0))
    empty = [name for name, has in zip(names, sure, strict=True) if not has]
    if several <= AMBIGUOUS * n and not empty:
        return Finding("ambiguity", "ok", text, "")
    if empty:
        text += f", and no object is surely in {', '.join(empty[:5])}"
    read = "Clusters overlap: read ", Name("set_label"), " and not ", Name("label")
    advice = Message(*read, ", and try fewer clusters.")
    return Finding("ambiguity", "caution", text, advice)


CHECKS: tuple[Callable[[Evidence], Finding], ...] = (
    normality,
    replicates,
    smallest_cluster,
    structure,
    fit_to_intervals,
    precision,
    number_of_clusters,
    ambiguity,
)


def _graded(value: float, good: float, bad: float) -> str:
    return "ok" if value >= good else "caution" if value >= bad else "problem"


def _names(seen: Evidence) -> list[str]:
    singles = np.eye(seen.partition.n_clusters, dtype=bool)
    return set_names(singles, seen.partition.cluster_names)


def _clusters(names: list[str]) -> str:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
    return f"cluster {shown} is" if len(names) == 1 else f"clusters {shown} are"


def _simpler(seen: Evidence) -> str:
    fewer = "Fit fewer clusters or a" if seen.mixture.n_clusters > 1 else "Fit a"
    return f"{fewer} more constrained model"


def _objects(size: float) -> str:
    return f"{size:.0f} object{'s' if round(size) != 1 else ''}"


def _floored(share: float) -> str:
    """In percent, never rounded up to a threshold that was not reached."""
    return f"{np.floor(1000.0 * share + 1e-9) / 10.0:g} %"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def _p(value: float) -> str:
    return f"{value:.2g}"
