"""What the page shows of the audit, and of the rivals of a fit: what the verdict rests on."""

from typing import Any, NamedTuple

import numpy as np

from credpart._audit import LEAST_DEVIATION, Audit, in_tenths
from credpart._rivals import FAR, Rivals, distinct_rivals
from credpart.diagnostics import Finding
from credpart.diagnostics.findings import length_in_words, objecting_rival

SHOWN_LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
ERRORS = 2.0  # standard errors that a bar reaches to each side
MOST_RIVALS = 12  # rows of the table, unless more are plausible
NAMES_IN_LINE = 3  # of models that coincide
MOST_CHANGED = 12  # objects that are named


class CoverageRow(NamedTuple):
    """Coverage of some intervals; places are percentages of the width of a bar."""

    name: str
    pairs: str  # the share of the pairs; empty where it is of all of them
    coverage: str
    error: str
    length: str
    place: str
    start: str
    width: str
    wanted: str  # of the coverage that is asked for
    is_own: bool  # whether these are the intervals of the fit


class AuditSection(NamedTuple):
    """What an audit found, as the page shows it."""

    level: str
    nominal: str
    told: str  # what the verdict says of the coverage of the intervals
    advice: str
    of_masses: str  # the coverage of belief to plausibility, and how it compares
    between: str  # how coverage varies between data sets; empty where that is not known
    length: str
    own_length: str  # of the intervals of the fit
    least_error: str  # that a coverage is judged with
    n_replicates: int
    origin: str  # what they were drawn from
    remarks: str  # which models they were drawn from, and what failed; may be empty
    by_level: list[CoverageRow]
    by_tenth: list[CoverageRow]


def audit_section(found: Audit, finding: Finding, own_length: float) -> AuditSection:
    """The figures of an audit, and what the finding on the level says of them."""
    level, nominal = found.level, found.nominal_level
    shown = [
        float(at)
        for at in found.by_level.index
        if round(float(at), 6) in {*SHOWN_LEVELS, round(level, 6)}
    ]
    return AuditSection(
        level=percent(level),
        nominal=percent(nominal),
        told=f"{finding.text[:1].upper()}{finding.text[1:]}",
        advice=finding.advice,
        of_masses=f"{found.covered_partition}: {found.sense_partition}",
        between=_between(found),
        length=length_in_words(found.length),
        own_length=length_in_words(own_length),
        least_error=in_tenths(LEAST_DEVIATION / np.sqrt(found.n_counted)),
        n_replicates=found.n_replicates,
        origin="the fitted mixture" if found.is_own else found.origin,
        remarks="; ".join(found.remarks),
        by_level=[
            _row(percent(at), "", found.by_level.loc[at], at, is_own=bool(np.isclose(at, level)))
            for at in shown
        ],
        by_tenth=[
            _row(str(tenth), in_tenths(row["pairs"]), row, nominal)
            for tenth, row in found.by_decile.iterrows()
            if np.isfinite(row["coverage"])
        ],
    )


def _between(found: Audit) -> str:
    """How the coverage of the intervals varies from data set to data set."""
    if found.n_counted == 1 or np.isnan(found.lowest):
        return ""
    return f"from {in_tenths(found.lowest)} to {in_tenths(found.highest)}"


def _row(name: str, pairs: str, row: Any, wanted: float, *, is_own: bool = False) -> CoverageRow:
    coverage, error = float(row["coverage"]), float(row["standard_error"])
    reach = ERRORS * float(np.nan_to_num(error))
    low, high = max(0.0, coverage - reach), min(1.0, coverage + reach)
    return CoverageRow(
        name,
        pairs,
        in_tenths(coverage),
        in_tenths(error),
        length_in_words(float(row["length"])),
        f"{100.0 * coverage:.2f}",
        f"{100.0 * low:.2f}",
        f"{100.0 * (high - low):.2f}",
        f"{100.0 * wanted:.2f}",
        is_own,
    )


class RivalRow(NamedTuple):
    """Another mixture of the same data, and what it changes."""

    n_clusters: int
    model: list[str]  # the lines of its name, or of the names of several that coincide
    lead: str
    lead_aicc: str  # empty where it is not known
    is_plausible: bool
    is_comparable: bool
    is_meant: bool  # in the verdict
    outside: str
    far_outside: str
    relabelled: int
    left_set: int


class RivalsSection(NamedTuple):
    """The rivals of a fit, as the page shows them."""

    model: str
    n_clusters: int
    bound: str
    n_rivals: int
    n_plausible: int
    rows: list[RivalRow]
    n_left_out: int
    changed: list[str]  # objects that a plausible rival puts into another cluster
    n_changed: int
    n_missing: int  # that could not be fitted
    far: str  # by which a pair misses its interval to be counted apart

    @property
    def has_incomparable(self) -> bool:
        """Whether some rows have too many parameters."""
        return not all(row.is_comparable for row in self.rows)

    @property
    def has_merged(self) -> bool:
        """Whether some rows stand for several models."""
        return any(", " in "".join(row.model) for row in self.rows)


def rivals_section(found: Rivals, level: float) -> RivalsSection:
    """The best rivals by BIC: all that are plausible, and others up to a number of rows.

    ``level`` is the coverage that is asked for, which says what speaks against the fit.
    """
    table, objection = distinct_rivals(found.table), objecting_rival(found, level)
    meant = None if objection is None else (objection["n_clusters"], objection["model"])
    is_comparable = table["lead_aicc"] != -np.inf
    is_plausible = table["plausible"] & is_comparable
    last = int(np.flatnonzero(is_plausible).max(initial=-1)) + 1  # those above it are shown too
    shown = table.head(max(MOST_RIVALS, last)).iterrows()
    rows = [
        RivalRow(
            int(row["n_clusters"]),
            _in_lines(str(row["model"])),
            _lead(row["lead"]),
            _lead(row["lead_aicc"]),
            bool(plausible),
            bool(comparable),
            meant in [(row["n_clusters"], name) for name in str(row["model"]).split(", ")],
            in_tenths(row["outside"]),
            in_tenths(row["far_outside"]),
            int(row["relabelled"]),
            int(row["left_set"]),
        )
        for (_, row), plausible, comparable in zip(shown, is_plausible, is_comparable, strict=False)
    ]
    names = list(dict.fromkeys(map(str, found.objects["object"])))
    return RivalsSection(
        found.model,
        found.n_clusters,
        f"{found.bound:g}",
        len(table),
        int(is_plausible.sum()),
        rows,
        len(table) - len(rows),
        names[:MOST_CHANGED],
        len(names),
        len(found.missing),
        f"{FAR:g}",
    )


def _in_lines(names: str) -> list[str]:
    """Names in lines, so that the table is not too wide.

    >>> _in_lines("EII, VII, EEI, VEI")
    ['EII, VII, EEI,', 'VEI']
    """
    parts = names.split(", ")
    lines = [parts[k : k + NAMES_IN_LINE] for k in range(0, len(parts), NAMES_IN_LINE)]
    return [*(f"{', '.join(line)}," for line in lines[:-1]), ", ".join(lines[-1])]


def _lead(value: float) -> str:
    """A difference of two criteria; AICc has no bound where parameters outnumber the objects.

    >>> _lead(1234.56), _lead(-float("inf")), _lead(float("nan"))
    ('+1,234.6', '-∞', '')
    """
    if np.isnan(value):
        return ""
    return f"{value:+,.1f}" if np.isfinite(value) else "-∞" if value < 0.0 else "+∞"


def percent(share: float) -> str:
    """A share that was chosen, as a percentage.

    >>> percent(0.9), percent(0.9975)
    ('90 %', '99.75 %')
    """
    return f"{100.0 * share:.4g} %"
