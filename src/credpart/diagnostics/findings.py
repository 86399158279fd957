"""What can be wrong with a fit: one pure function for each topic, from evidence to a finding.

The thresholds stand here, each with its reason; ``docs/diagnostics.md`` explains the findings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from credpart._arrays import Array
from credpart._audit import GREAT_SHORTFALL, LEAST_DATA_SETS, Audit
from credpart._bootstrap import Replicates
from credpart._messages import Call, Message, Name, Setting, Vocabulary, in_words
from credpart._rivals import FAR, Rivals, distinct_rivals
from credpart.diagnostics.normality import MOST_ROWS
from credpart.focal import set_names
from credpart.mixture.fit import MixtureFit
from credpart.mixture.models import MODELS, special_cases
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.search.selection import Selection
from credpart.partition import EvidentialPartition

if TYPE_CHECKING:
    import pandas as pd

# Share of the objects that are exact copies of others, from which it is asked where they come from.
COPIES = 0.2
LEAST_P = 1e-4  # p-values below it are not told apart
REJECTED = 0.05  # p-value, adjusted, below which a cluster is said not to be normal
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
# A cluster with less than half of its share of the objects, and this many times as wide as the
# others, is more often scattered outliers than one that is dense.
SMALL, WIDE = 0.5, 5.0
COVERED, HARDLY_COVERED = 0.9, 0.5
# Kass and Raftery's scale of 2 log Bayes factors, which differences of BIC approximate: from 6 on
# the evidence is strong.
STRONG = 6.0
MUCH_SIMPLER = 0.8  # of the parameters: with more of them, too few objects stay too few
FEW_RELABELLED = 0.05  # of the objects, which a plausible rival may have in another cluster
FULL = 5  # clusters up to which all sets of them are advised
OMEGA, WEAKEN = Setting("omega", True), Setting("weaken", True)
LONGER = 2.0  # times those of an audit are intervals of which it says little
RECALIBRATE, EACH = Setting("recalibrate", True), Setting("selection", "each")

NOTHING_SIMPLER = (
    "By BIC no simpler mixture explains the data as well, and no setting helps: gather more "
)
NO_OTHER_MASSES = "No other masses help: read the intervals beside them."
CHOOSE_AGAIN = "Choose the model again in each replicate."
# Groups that are drawn: with fewer than these, samples vary too little, whatever their weights.
GROUPS, FEW_GROUPS = 10, 5

SEVERITIES = (
    "ok",
    "note",
    "caution",
    "problem",
)  # a note informs, and speaks neither for nor against


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know before trusting a fit.

    Attributes
    ----------
    topic : str
        What was looked at.
    severity : {"ok", "note", "caution", "problem"}
        How much it matters; a note informs, and has no part in the verdict.
    text : str
        What was found, a clause without a full stop.
    advice : str
        What to try, a sentence; empty where there is nothing to do.
    change : str
        What to type to follow the advice, ready to paste; empty where there is nothing.

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
    change: str = ""

    def in_words(self, words: Vocabulary) -> "Finding":
        """The same finding, as another vocabulary has it."""
        told = (in_words(text, words) for text in (self.text, self.advice, self.change))
        return Finding(self.topic, self.severity, *told)

    def __str__(self) -> str:
        return f"{self.text[:1].upper()}{self.text[1:]}. {self.advice}".strip()


class Evidence(NamedTuple):
    """What the findings are drawn from."""

    mixture: MixtureFit
    selection: Selection
    replicates: Replicates
    partition: EvidentialPartition
    level: float
    nominal_level: float  # the coverage asked for, which is lower where an audit raised the level
    is_chosen_once: bool
    sizes: Array  # (c,): effective numbers of objects of the clusters
    normality: "pd.DataFrame | None"
    rmse: float
    covered: float
    length: float  # of the intervals, on average
    copies: float  # share of the objects that equal another one, where columns hold numbers
    audit: Audit | str  # or why there is none
    rivals: Rivals | str  # or why there are none
    max_iter: int  # of EM
    has_missing: bool = False  # some numbers are missing
    n_groups: int | None = None  # groups that were drawn, if there are any
    is_weakened: bool = False  # the masses were weakened

    @property
    def is_model_taken_for_granted(self) -> bool:
        """Whether a model was chosen among several, and every replicate has it."""
        c = self.mixture.n_clusters
        return self.is_chosen_once and sum(cell[0] == c for cell in self.selection.fits) > 1

    @property
    def is_audited(self) -> bool:
        """Whether it was measured what the size of the sample and the choice of a model do."""
        return isinstance(self.audit, Audit)


def coverage(seen: Evidence) -> Finding:
    """Whether intervals made like these hold their level, on data drawn from the mixture."""
    topic, found = "level", seen.audit
    if isinstance(found, str):
        return Finding(topic, "note", Message("no audit was made: ", found), "")
    wanted = found.nominal_level
    B = found.n_replicates
    fewer = f", with {B} replicates each" if len(seen.replicates) > B else ""
    text = (
        f"on {found.n_counted} data set{'s' * (found.n_counted != 1)} drawn from "
        f"{found.origin}{fewer}, {_percent(found.level)} intervals cover {found.covered}: "
        f"{found.sense}"
    )
    severity = found.severity
    if severity in ("ok", "note"):
        limits = _limits(seen, found)
        severity = "note" if limits else severity
        more = Setting("audit", found.n_to_draw, "diagnose", is_quoted=True)
        advice = Message("More would tell: ", more, ".") if found.more_would_tell else ""
        return Finding(topic, severity, "; ".join([text, *limits]), advice)
    if seen.is_model_taken_for_granted:
        return Finding(topic, severity, text, CHOOSE_AGAIN, change_of((EACH,)))
    if not found.is_reached:
        advice, change = _simpler(seen)
        text += (
            f", and no level up to {found.recommended_level:.4g}, the largest that "
            f"{found.n_replicates} replicates allow, makes up for it"
        )
        return Finding(topic, severity, text, advice, change)
    recalibrate = Message(Call((RECALIBRATE,), "recalibrate", "diagnosis.audit"))
    advice = (
        f"On these data sets intervals of level {found.recommended_level:.4g} would have covered "
        f"{_percent(wanted)}."
    )
    return Finding(topic, severity, text, advice, recalibrate)


def _limits(seen: Evidence, found: Audit) -> list[str]:
    """Why an audit in which the level holds says less of these data."""
    limits = []
    if seen.copies > COPIES:
        limits.append("their objects are independent, which copies may not be")
    if _is_longer(seen, found):
        limits.append(
            f"this fit's intervals are longer ({length_in_words(seen.length)} on average against "
            f"{length_in_words(found.length)}), and the audit says little of such intervals"
        )
    if seen.n_groups is not None:
        limits.append(
            "their groups differ only in how many objects of each cluster they have, while "
            "clusters of the data may also be shifted from group to group"
        )
    return limits


def _is_longer(seen: Evidence, found: Audit) -> bool:
    """Whether intervals are so much longer than those of an audit that it says little of them."""
    return seen.length > LONGER * found.length


def rival_models(seen: Evidence) -> Finding:
    """Whether other models and numbers of clusters, as plausible as these, give other answers."""
    topic, found = "rival models", seen.rivals
    if isinstance(found, str):
        return Finding(topic, "note", f"other models were not compared: {found}", "")
    plausible = found.plausible
    best = objecting_rival(found, seen.nominal_level)
    if best is None:
        n, rivals = len(distinct_rivals(plausible)), len(distinct_rivals(found.table))
        are, them = ("is", "it") if n == 1 else ("are", "them")
        text = (
            f"{n} of {rivals} other models {are} as plausible (BIC higher, or at most "
            f"{found.bound:g} lower)"
        )
        if n:
            most = "" if n == 1 else "at most "
            text += (
                f", and under {them} {most}{_percent(plausible['outside'].max())} of the pairs are "
                "outside their intervals"
            )
        return _nested_rival(plausible, text, seen.partition.n_objects)
    c, model = int(best["n_clusters"]), str(best["model"])
    text = _objection_text(best, seen.mixture.n_clusters)
    if best["is_better"]:
        severity = "problem" if best["is_other"] else "caution"
        return Finding(topic, severity, text, *_fit_the_better(seen, best, plausible))
    change = change_of((Setting("n_clusters", c), Setting("model", model)))
    own, tried = seen.mixture, seen.selection
    numbers, models = f"{own.n_clusters} and {c} clusters", f"{own.model} and {model}"
    two = models if c == own.n_clusters else numbers
    is_tried = (c, model) in tried.fits and not seen.is_chosen_once
    if c != own.n_clusters or is_tried:
        advice = f"The data do not decide between {two}, and no setting does: report both answers."
        return Finding(topic, "caution", text, advice, change)
    wider = Setting("model", [*dict.fromkeys([*tried.models, own.model, model])])
    settings = (wider, EACH) if seen.is_chosen_once else (wider,)
    advice = f"The data do not decide between {two}: let each replicate choose."
    return Finding(topic, "caution", text, advice, change_of(settings))


def objecting_rival(found: Rivals, level: float) -> "pd.Series | None":
    """The rival that speaks most against a fit whose intervals are to have a coverage.

    ``is_other`` says whether it gives other answers, ``is_better`` whether BIC and AICc prefer it.
    """
    # A special case of the fit does not contradict it: where the one is true, so is the other.
    others = found.plausible[~found.plausible["nested"]]
    is_preferred = others["lead"] >= STRONG
    # Where a rival is true, the intervals cover the pairs that it leaves inside.  Small misses
    # count: of 10 fits of wrong models whose intervals cover .40 to .77 of the pairs, this rule
    # finds 10, and if only misses by more than .05 counted, 5.
    is_other = others["outside"] > 1.0 - (level - GREAT_SHORTFALL)
    # BIC prefers a simple model until there are many objects, even if it leaves out something
    # that matters.  Where AICc would not leave it out, the data do not decide.
    is_better = is_preferred & ~(others["lead_aicc"] < 0.0)
    others = others.assign(is_other=is_other, is_better=is_better)[is_other | is_preferred]
    if others.empty:
        return None
    order = ["is_other", "is_better", "lead"]
    return others.sort_values(order, ascending=False, kind="stable").iloc[0]


def _fit_the_better(
    seen: Evidence, best: "pd.Series", plausible: "pd.DataFrame"
) -> tuple[str, Message | str]:
    """Advice to fit a rival that is better, unless the next verdict would speak against it."""
    c, model = int(best["n_clusters"]), str(best["model"])
    ratio = _most_objects_per_parameter(seen, c, model)
    if _severity_of_smallest(seen, ratio) == "problem":
        fewer = "cluster fewer columns, or " if seen.mixture.columns.n_columns > 1 else ""
        advice = (
            f"The objects are too few for {_mixture(model, c)}, at most {ratio:.1f} for each "
            f"parameter, where {OBJECTS:g} are wanted: {fewer}gather more {_units(seen)}."
        )
        return advice, ""
    numbers: Any = c
    advice = "Fit that model."
    if edge(seen).severity == "caution" and c >= seen.mixture.n_clusters:
        numbers, advice = _numbers_around(c), "Fit that model, with more clusters too."
    change = change_of((Setting("n_clusters", numbers), Setting("model", model)))
    first = plausible.sort_values("lead_aicc", ascending=False, kind="stable").iloc[0]
    if first["lead_aicc"] - best["lead_aicc"] < STRONG:
        return advice, change
    preferred = _mixture(str(first["model"]), int(first["n_clusters"]))
    return f"{advice} AICc prefers {preferred}: fit it too, and report both answers.", change


def _mixture(model: str, c: int) -> str:
    return f"{model} with {c} cluster{'s' * (c != 1)}"


def _units(seen: Evidence) -> str:
    """What to gather more of."""
    return "objects" if seen.n_groups is None else "groups"


def _objection_text(rival: "pd.Series", own: int) -> str:
    """A rival, how well it explains the data, and what it would change."""
    c, lead, is_better = int(rival["n_clusters"]), float(rival["lead"]), bool(rival["is_better"])
    compared = f"its BIC is {abs(lead):,.1f} {'higher' if lead > 0 else 'lower'}"
    is_split = lead >= STRONG and not is_better  # BIC and AICc disagree
    compared += ", but its AICc, with another penalty for parameters, is lower" if is_split else ""
    how = "better" if is_better else "better by BIC alone" if is_split else "as well"
    if c == own:
        claim = f"model {rival['model']} explains the data {how} ({compared})"
    else:
        fitting = f"{c} clusters fit" if c != 1 else "1 cluster fits"
        than = f"{how} as" if how == "as well" else f"{how} than"
        claim = f"{fitting} the data {than} {own} (model {rival['model']}: {compared})"
    linked = "but" if rival["is_other"] and not is_better else "and"
    far = rival["far_outside"]
    by = "" if np.isnan(far) else f" ({_percent(far)} by more than {FAR:g})"
    return (
        f"{claim}, {linked} under that model {_percent(rival['outside'])} of all pairs of objects "
        f"have a probability of belonging together outside the intervals of this fit{by}"
    )


def _nested_rival(plausible: "pd.DataFrame", text: str, n_objects: int) -> Finding:
    """No objection; but labels may differ, or a special case of the model may be enough."""
    relabelled = int(plausible["relabelled"].max()) if len(plausible) else 0
    severity = "ok"
    if relabelled > FEW_RELABELLED * n_objects:  # intervals that are wide leave no pair outside
        severity = "note"
        text += f"; but {relabelled:,} of {n_objects:,} objects are in another cluster"
    simple = plausible[plausible["nested"] & (plausible["lead"] >= STRONG)]
    if simple.empty:
        return Finding("rival models", severity, text, "")
    best = simple.sort_values("lead", ascending=False, kind="stable").iloc[0]
    text += f"; model {best['model']}, a special case, has a BIC that is {best['lead']:,.1f} higher"
    change = change_of((Setting("model", str(best["model"])),))
    return Finding("rival models", "note", text, "Intervals may be shorter with it.", change)


def edge(seen: Evidence) -> Finding:
    """Whether the chosen number of clusters is the largest that was tried."""
    topic, c, tried = "range of the search", seen.mixture.n_clusters, seen.selection.numbers
    if len(tried) == 1:
        is_compared = isinstance(seen.rivals, Rivals)
        how = "others were fitted only to compare" if is_compared else "no other number was tried"
        return Finding(topic, "note", f"{_clusters_of(c)} given: {how}", "")
    if c < max(tried):
        text = f"{c} lies within the {min(tried)} to {max(tried)} clusters that were tried"
        return Finding(topic, "ok", text, "")
    text = f"{_clusters_of(c)} the largest number that was tried"
    if _objects_per_parameter(seen) < FEW_OBJECTS:  # these clusters are too small already
        return Finding(topic, "caution", text, "")
    change = change_of((Setting("n_clusters", _numbers_around(c)),))
    return Finding(topic, "caution", text, "Try more clusters.", change)


def _numbers_around(c: int) -> list[int]:
    """Numbers of clusters to try where c was the largest."""
    return list(range(max(1, c - 2), c + 5))


def copies(seen: Evidence) -> Finding:
    """Whether many objects are copies of others, which count as new evidence."""
    share = seen.copies
    text = f"{_percent(share)} of the objects are exact copies of others"
    if share <= COPIES:
        return Finding("copies", "ok", text, "")
    text += ": if they are one object measured again, the intervals are too short"
    advice = Message("Leave copies out, or name what belongs together by ", Name("groups"), ".")
    return Finding("copies", "caution", text, advice)


def groups(seen: Evidence) -> Finding:
    """Whether there are enough groups to draw from."""
    topic, n = "groups", seen.n_groups
    if n is None:
        text = "no groups of several objects were given: objects are taken as independent"
        return Finding(topic, "note", text, "")
    text = f"{n} groups were drawn"
    severity = _graded(n, GROUPS, FEW_GROUPS)
    if severity == "ok":
        return Finding(topic, severity, text, "")
    text += f": intervals from fewer than {GROUPS} are too short, and an audit cannot see it"
    advice = "Gather more groups: more objects of the same ones do not help."
    return Finding(topic, severity, text, advice)


def normality(seen: Evidence) -> Finding:
    """Whether each cluster is normal, where the model says so: for information.

    At some hundred objects every real cluster is rejected.  What a departure does to the answer
    is what `rival_models` says.
    """
    topic, table = "normality", seen.normality
    if table is None:
        text = f"model {seen.mixture.model} does not say that clusters are normal: not tested"
        return Finding(topic, "ok", text, "")
    rejected = table.index[table["adjusted"] < REJECTED].tolist()
    untested = table.index[table["adjusted"].isna()].tolist()
    is_part = (table["rows"] == MOST_ROWS).any()
    some = f" (on {MOST_ROWS} random rows, weighted)" if is_part else ""
    some = " (on objects without missing cells)" if seen.has_missing else some
    if not rejected and not untested:
        lowest = _p(table["adjusted"].min())
        text = f"no departure from normality was found, lowest adjusted p {lowest}{some}"
        return Finding(topic, "ok", text, "")
    if not rejected:
        text = f"{_clusters(untested)} too small or too flat for a test of normality"
        return Finding(topic, "note", text, "")
    distances = table.loc[rejected, "distance"]
    far = f"{distances.max():.2g}"
    text = f"{_clusters(rejected)} not normal, lowest p {_p(table['adjusted'].min())}{some}; "
    if len(rejected) > 1:
        text += f"{distances.idxmax()} is farthest from it, at a distance of {far}"
    else:
        text += f"its distance from it is {far}"
    advice = "Skewed columns may be transformed (log, asinh; --transform on the command line)."
    return Finding(topic, "note", text, advice)


def replicates(seen: Evidence) -> Finding:
    """How the refits ended."""
    counts = {name: count for name, count in seen.replicates.counts().items() if count}
    B, is_sound = len(seen.replicates), seen.mixture.status == Status.OK
    off = B - counts.get(Status.OK.label, 0)
    broken = off - counts.get(Status.REGULARISED.label, 0)
    decision = seen.replicates.decision
    how = "" if decision is None else f"; {decision}"
    if decision is not None and decision.is_doubtful:
        change = change_of((Setting("refit", "auto"),))
        return Finding("replicates", "problem", str(decision), "Refit where it is needed.", change)
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
    if severity == "ok":
        return Finding("replicates", severity, text, "")
    if 2 * counts.get(Status.NOT_CONVERGED.label, 0) > off:
        change = change_of((Setting("max_iter", 5 * seen.max_iter),))
        return Finding("replicates", severity, text, "Allow EM more iterations.", change)
    return Finding("replicates", severity, text, *_simpler(seen))


def smallest_cluster(seen: Evidence) -> Finding:
    """Whether the smallest cluster can carry its share of the parameters."""
    c, k = seen.mixture.n_clusters, int(np.argmin(seen.sizes))
    size, needed = float(seen.sizes[k]), seen.mixture.n_parameters / c
    text = (
        f"the smallest cluster {_names(seen)[k]} has, by probabilities, {_objects(size)} for the "
        f"{needed:.1f} parameters of a cluster of {seen.mixture.model}"
    )
    ratio = _objects_per_parameter(seen)
    if _graded(ratio, OBJECTS, FEW_OBJECTS) == "ok":
        return Finding("smallest cluster", "ok", text, "")
    text += f": {ratio:.1f} for each, where {OBJECTS:g} are wanted"
    severity = _severity_of_smallest(seen, ratio)
    if severity == "note":
        text += "; the audit has measured what that does"
        return Finding("smallest cluster", severity, text, "")
    return Finding("smallest cluster", severity, text, *_simpler(seen))


def _has_measured(audit: Audit | str) -> TypeGuard[Audit]:
    """Whether there is an audit of enough data sets to tell what something does to coverage."""
    return isinstance(audit, Audit) and audit.n_counted >= LEAST_DATA_SETS


def _severity_of_smallest(seen: Evidence, ratio: float) -> str:
    """How much so few objects for each parameter matter, if an audit does not measure it."""
    severity = _graded(ratio, OBJECTS, FEW_OBJECTS)
    # An audit of enough data sets measures it, unless its intervals are far shorter than these.
    is_measured = _has_measured(seen.audit) and not _is_longer(seen, seen.audit)
    return "note" if severity != "ok" and is_measured and ratio >= 1.0 else severity


def _objects_per_parameter(seen: Evidence) -> float:
    """Objects of the smallest cluster, for each parameter of a cluster."""
    return float(seen.sizes.min()) * seen.mixture.n_clusters / seen.mixture.n_parameters


def _most_objects_per_parameter(seen: Evidence, c: int, model: str) -> float:
    """The same of another model, if its clusters were of equal size: with others it is less."""
    row = MODELS.get(model)
    if row is None:  # a family of one's own
        return np.inf
    return float(seen.sizes.sum()) / row.n_parameters(seen.mixture.family, c)


def structure(seen: Evidence) -> Finding:
    """How often the replicates chose each model."""
    topic, chosen, name = "structure", seen.replicates.chosen(), seen.mixture.model
    if seen.is_model_taken_for_granted:
        text = f"model {name} was chosen once: the intervals do not allow for another choice"
        text += ", and an audit sees only a part of that" if seen.is_audited else ""
        return Finding(topic, "caution", text, CHOOSE_AGAIN, change_of((EACH,)))
    B = len(seen.replicates)
    listed = ", ".join(f"{model}: {count}" for model, count in list(chosen.items())[:5])
    listed += f" and {len(chosen) - 5} others" if len(chosen) > 5 else ""
    if name not in chosen:
        text = f"model {name} was selected, but no replicate chose it: {listed}"
        change = change_of((Setting("model", next(iter(chosen))),))
        return Finding(topic, "caution", text, "The choice is fragile: compare the two.", change)
    if len(chosen) == 1:
        if len(seen.selection.models) == 1:
            compared = "; see rival models" if isinstance(seen.rivals, Rivals) else ""
            return Finding(topic, "note", f"{name} was given{compared}", "")
        return Finding(topic, "ok", f"all {B} replicates have model {name}", "")
    which = ", with any number of clusters" if len(seen.replicates.chosen_numbers()) > 1 else ""
    text = f"{chosen[name]} of {B} replicates chose model {name} too{which} ({listed})"
    most = next(iter(chosen))
    if chosen[name] < chosen[most]:
        text += f": more chose {most}, which the intervals allow for"
        return Finding(topic, "note", text, "")
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
        is_compared = isinstance(seen.rivals, Rivals)
        how = "; see rival models for others" if is_compared else ", and not checked"
        return Finding(topic, "note", f"{c} was given{how}", "")
    rival = max(others, key=lambda k: others[k])
    lead = best[c] - others[rival]
    text = f"{c} leads {rival} by {lead:.1f} of {name.upper()}"
    text += "" if lead >= STRONG else ", which is not strong evidence"
    numbers = seen.replicates.chosen_numbers()
    if len(numbers) > 1:
        listed = ", ".join(f"{number}: {count}" for number, count in numbers.items())
        text += f"; {numbers.get(c, 0)} of {len(seen.replicates)} replicates chose {c} too"
        text = f"{text} ({listed})"
    if lead >= STRONG:
        return Finding(topic, "ok", text, "")
    change = change_of((Setting("n_clusters", rival),))
    if len(numbers) > 1:
        advice = f"The intervals allow for it; the partition has {c} clusters all the same."
        return Finding(topic, "note", text, advice, change)
    advice = f"The intervals take {c} for granted: compare the two."
    return Finding(topic, "caution", text, advice, change)


def fit_to_intervals(seen: Evidence) -> Finding:
    """How well belief and plausibility match the intervals."""
    topic = "fit to the intervals"
    text = (
        f"belief and plausibility reach both ends of the interval, to within {MARGIN:g}, for "
        f"{_floored(seen.covered)} of the pairs (RMSE {seen.rmse:.3f})"
    )
    severity = _graded(seen.covered, COVERED, HARDLY_COVERED)
    if severity == "ok":
        return _short_in_the_audit(seen, text)
    c, sets = seen.partition.n_clusters, seen.partition.focal_sets
    if c == 1:
        return _one_cluster(seen)
    others = {k: count for k, count in seen.replicates.chosen_numbers().items() if k != c}
    number, count = max(others.items(), key=lambda item: item[1], default=(c, 0))
    is_divided = count >= 0.5 * (1.0 - seen.level) * len(seen.replicates)  # enough to set a bound
    if is_divided:
        text += f"; {count} of {len(seen.replicates)} replicates have {number} clusters"
        if seen.partition.doubt_counts()["undecided"]:
            text += (
                ", so that much of what is called undecided is doubt about the number of clusters, "
                f"and not between the {c} of this fit"
            )
        advice = (
            f"No setting lets {c} clusters show that there may be {number}: fit these too, and "
            "report both answers."
        )
        change = change_of((Setting("n_clusters", number),))
        return Finding(topic, severity, text, advice, change)
    if isinstance(seen.audit, Audit):
        if _has_measured(seen.audit):
            severity = "caution" if seen.audit.is_partition_short else "note"
        text += f";{_held_in_the_audit(seen.audit)}"
    if sets.sum(axis=1).max() == 1:
        wider = Setting("focal_sets", "full") if c <= FULL else OMEGA
        change = change_of((wider,), "refit_partition")
        return Finding(topic, severity, text, "Allow sets of several clusters.", change)
    if seen.is_weakened:
        return Finding(topic, severity, text, NO_OTHER_MASSES)
    advice = "Weaken the masses, which then hold as much as the intervals do."
    return Finding(topic, severity, text, advice, change_of((WEAKEN,), "refit_partition"))


def _one_cluster(seen: Evidence) -> Finding:
    """With one cluster there is nothing to match: the doubt is how many there are."""
    topic, B = "fit to the intervals", len(seen.replicates)
    several = B - seen.replicates.chosen_numbers().get(1, 0)
    text = "with one cluster all objects are in it by definition"
    if not several:
        return Finding(topic, "ok", text, "")
    text += f", though {several} of {B} replicates have several clusters"
    advice = "The data do not decide whether there are several clusters: report both answers."
    most = next(number for number in seen.replicates.chosen_numbers() if number != 1)
    return Finding(topic, "caution", text, advice, change_of((Setting("n_clusters", most),)))


def _short_in_the_audit(seen: Evidence, text: str) -> Finding:
    """Masses that match the intervals; but small misses add up where pairs are all but certain.

    What is called sure rests on the masses, so that a large shortfall is said in the verdict.
    """
    topic = "fit to the intervals"
    if not isinstance(seen.audit, Audit) or not seen.audit.is_partition_short:
        return Finding(topic, "ok", text, "")
    severity = "caution" if seen.audit.severity_partition == "problem" else "note"
    text += f"; but{_held_in_the_audit(seen.audit)}"
    if seen.is_weakened:
        return Finding(topic, severity, text, NO_OTHER_MASSES)
    advice = "Quote the intervals of pairs, or weaken the masses, which then hold as much."
    return Finding(topic, severity, text, advice, change_of((WEAKEN,), "refit_partition"))


def _held_in_the_audit(audit: Audit) -> str:
    """How often [Bel, Pl] holds the truth, and by how much it misses it."""
    told = f" on data sets drawn from {audit.origin} they cover {audit.covered_partition}: "
    told += audit.sense_partition
    missed = 1.0 - audit.coverage_partition
    if not audit.is_partition_short or np.isnan(audit.far_partition) or not missed:
        return told
    small = max(0.0, 1.0 - audit.far_partition / missed)
    return f"{told} ({_percent(small)} of the misses are by less than {MARGIN:g})"


def scattered_cluster(seen: Evidence) -> Finding:
    """Whether a small cluster is so wide that its objects may be outliers of no cluster."""
    topic, mixture, c = "scattered cluster", seen.mixture, seen.mixture.n_clusters
    scales = mixture.family.cluster_scales(mixture.internal)
    if c == 1 or mixture.has_noise or scales is None:
        why = f"model {mixture.model} does not say how wide they are"
        why = "outliers are in none of them" if mixture.has_noise else why
        why = "there is only one" if c == 1 else why
        return Finding(topic, "note", f"widths of clusters were not compared: {why}", "")
    d = scales.shape[-1]
    widths = np.exp(np.linalg.slogdet(scales)[1] / (2.0 * d))  # geometric means of sds
    ratios = np.array([widths[k] / np.median(np.delete(widths, k)) for k in range(c)])
    is_small = seen.sizes < SMALL * seen.sizes.sum() / c
    k = int(np.argmax(np.where(is_small, ratios, 0.0)))
    if not is_small[k] or ratios[k] < WIDE:
        return Finding(topic, "ok", "no small cluster is far wider than the others", "")
    text = (
        f"cluster {_names(seen)[k]}, of about {_objects(seen.sizes[k])}, is {ratios[k]:.2g} times "
        "as wide as the median of the others, by geometric means over all directions: they may be "
        "outliers that belong to no cluster"
    )
    change = change_of((Setting("noise", "auto"),))
    return Finding(topic, "caution", text, "Let the data say whether they are.", change)


def precision(seen: Evidence) -> Finding:
    """Whether there are enough replicates for the level."""
    B = len(seen.replicates)
    tail = 0.5 * (1.0 - seen.level) * B
    text = f"{tail:g} of {B} replicates lie beyond each bound of a {100 * seen.level:g} % interval"
    severity = _graded(tail * (1.0 + 1e-9), TAIL, SHORT_TAIL)
    needed = int(np.ceil(2.0 * TAIL / (1.0 - seen.level) * (1.0 - 1e-9)))
    if severity == "ok":
        return Finding("precision", severity, text, "")
    change = change_of((Setting("n_replicates", needed),))
    advice = f"Take {needed} replicates or more, or a lower level."
    return Finding("precision", severity, text, advice, change)


def ambiguity(seen: Evidence) -> Finding:
    """How many objects are not sure: what the data say, and no fault of the fit."""
    partition, names = seen.partition, _names(seen)
    n, counts = partition.n_objects, partition.doubt_counts()
    sure = counts.pop("sure")
    parts = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    text = f"{n - sure:,} of {n:,} objects ({_percent(1.0 - sure / n)}) are not sure"
    text += f": {parts}" if parts else ""
    is_held = np.asarray(partition.lower_approximation().any(axis=0))
    empty = [name for name, has in zip(names, is_held, strict=True) if not has]
    if not empty:
        return Finding("ambiguity", "note" if parts else "ok", text, "")
    text += f"; none has its highest mass on {', '.join(empty[:5])} alone"
    advice = Message("Read ", Name("set_label"), " and not ", Name("label"), ".")
    return Finding("ambiguity", "note", text, advice)


CHECKS: tuple[Callable[[Evidence], Finding], ...] = (
    coverage,
    rival_models,
    number_of_clusters,
    edge,
    fit_to_intervals,
    smallest_cluster,
    replicates,
    structure,
    scattered_cluster,
    precision,
    copies,
    groups,
    normality,
    ambiguity,
)


def change_of(settings: tuple[Setting, ...], method: str = "fit") -> Message:
    """What to type to change settings."""
    return Message(Call(settings, method))


def _graded(value: float, good: float, bad: float) -> str:
    return "ok" if value >= good else "caution" if value >= bad else "problem"


def _names(seen: Evidence) -> list[str]:
    singles = np.eye(seen.partition.n_clusters, dtype=bool)
    return set_names(singles, seen.partition.cluster_names)


def _clusters(names: list[str]) -> str:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
    return f"cluster {shown} is" if len(names) == 1 else f"clusters {shown} are"


def _clusters_of(c: int) -> str:
    return f"{c} cluster{'s were' if c != 1 else ' was'}"


def _simpler(seen: Evidence) -> tuple[str, str]:
    """Advice to fit something simpler that the data do not speak against, and what to type.

    Simpler are mixtures with fewer clusters or a special case of the model.  They are known from
    the selection and as rivals, with their BIC relative to that of the fit.
    """
    chosen, what = seen.mixture, _units(seen)
    nested = special_cases(chosen.model)
    leads = {
        cell: fit.bic - chosen.bic
        for cell, fit in seen.selection.fits.items()
        if fit.is_determined or cell == chosen.cell
    }
    if isinstance(seen.rivals, Rivals):
        table = seen.rivals.table[seen.rivals.table["lead_aicc"] != -np.inf]
        rows = table[["n_clusters", "model", "lead"]].itertuples(index=False)
        leads = {(int(c), str(model)): float(lead) for c, model, lead in rows} | leads
    untried = []
    if chosen.n_clusters > 1 and all(c >= chosen.n_clusters for c, _ in leads):
        untried.append("fewer clusters")
    if nested and all(cell == chosen.cell for cell in leads if cell[0] == chosen.n_clusters):
        untried.append("a more constrained model")
    # Behind the best of all by less than strong evidence: else the next verdict would object.
    least = max(leads.values()) - STRONG
    simpler = {
        (c, model): lead
        for (c, model), lead in leads.items()
        if lead > least
        and (c < chosen.n_clusters or (c == chosen.n_clusters and model in nested))
        and _is_much_simpler(chosen, c, model)
    }
    if untried and not simpler:
        return f"Fit {' or '.join(untried)}, or gather more {what}.", ""
    if not simpler:
        fewer = ", or cluster fewer columns" if chosen.columns.n_columns > 1 else ""
        return f"{NOTHING_SIMPLER}{what}{fewer}.{_simpler_by_aicc(seen)}", ""
    c, model = max(simpler, key=lambda cell: simpler[cell])
    change = change_of((Setting("n_clusters", c), Setting("model", model)))
    return f"Fit a simpler mixture that explains the data as well, or gather more {what}.", change


def _simpler_by_aicc(seen: Evidence) -> str:
    """The simpler mixture that AICc prefers to the fit and to all others, if there is one."""
    if not isinstance(seen.rivals, Rivals):
        return ""
    table = seen.rivals.table[seen.rivals.table["lead_aicc"] >= STRONG]
    if table.empty:
        return ""
    best = table.sort_values("lead_aicc", ascending=False, kind="stable").iloc[0]
    c, model, own = int(best["n_clusters"]), str(best["model"]), seen.mixture
    is_simpler = c < own.n_clusters or best["nested"]
    if not is_simpler or not _is_much_simpler(own, c, model):
        return ""
    return f" AICc prefers {_mixture(model, c)}: fit it too, and report both answers."


def _is_much_simpler(chosen: MixtureFit, c: int, model: str) -> bool:
    """Whether a mixture has so many parameters fewer that it matters."""
    own, row = MODELS.get(chosen.model), MODELS.get(model)
    if own is None or row is None or row.family != own.family:
        return False
    return row.n_parameters(chosen.family, c) <= MUCH_SIMPLER * chosen.n_parameters


def _objects(size: float) -> str:
    return f"{size:.0f} object{'s' if round(size) != 1 else ''}"


def _floored(share: float) -> str:
    """In percent, never rounded up to a threshold that was not reached."""
    return f"{np.floor(1000.0 * share + 1e-9) / 10.0:g} %"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def length_in_words(value: float) -> str:
    """The length of an interval, as in tables.

    >>> length_in_words(0.0839), length_in_words(3.3e-8)
    ('0.084', 'below 0.001')
    """
    return "below 0.001" if 0.0 < value < 0.0005 else f"{value:.3f}"


def _p(value: float) -> str:
    """A p-value after its sign; it is never zero.

    >>> _p(0.153), _p(1e-300)
    ('= 0.15', '< 0.0001')
    """
    return f"= {value:.2g}" if value >= LEAST_P else f"< {LEAST_P:g}"
