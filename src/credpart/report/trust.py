"""What the page shows of the audit, and of the rivals of a fit: what the verdict rests on."""

from typing import Any, NamedTuple

import numpy as np

from credpart._audit import Audit
from credpart._rivals import FAR, Rivals

SHOWN_LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
ERRORS = 2.0  # standard errors that a bar reaches to each side
MOST_RIVALS = 12  # rows of the table, unless more are plausible
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
    coverage: str
    error: str
    partition: str
    partition_error: str
    recommended: str
    is_reached: bool
    sense: str  # of the coverage against what is asked for, see `_sense`
    uncertainty: str  # why the data sets do not tell, where they do not
    is_partition_short: bool  # belief to plausibility covers less than is asked for
    n_datasets: int
    n_replicates: int
    origin: str  # what they were drawn from
    remarks: str  # which models they were drawn from, and what failed; may be empty
    by_level: list[CoverageRow]
    by_tenth: list[CoverageRow]


def audit_section(found: Audit) -> AuditSection:
    """The figures of an audit, and how they compare with what is asked for."""
    level, nominal = found.level, found.nominal_level
    shown = [
        float(at)
        for at in found.by_level.index
        if round(float(at), 6) in {*SHOWN_LEVELS, round(level, 6)}
    ]
    return AuditSection(
        level=percent(level),
        nominal=percent(nominal),
        coverage=in_tenths(found.coverage),
        error=in_tenths(found.standard_error),
        partition=in_tenths(found.coverage_partition),
        partition_error=in_tenths(found.standard_error_partition),
        recommended=f"{found.recommended_level:.4g}",
        is_reached=found.is_reached,
        sense=_sense(found),
        uncertainty=f"{found.uncertainty[0].upper()}{found.uncertainty[1:]}",
        is_partition_short=found.is_partition_short,
        n_datasets=found.n_counted,
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


def _sense(found: Audit) -> str:
    """Return "right", "ample", "unknown" or "short", by the rule that the verdict goes by."""
    if found.severity == "ok":
        return "ample" if found.is_generous else "right"
    return "unknown" if found.severity == "note" else "short"


def _row(name: str, pairs: str, row: Any, wanted: float, *, is_own: bool = False) -> CoverageRow:
    coverage, error = float(row["coverage"]), float(row["standard_error"])
    reach = ERRORS * float(np.nan_to_num(error))
    low, high = max(0.0, coverage - reach), min(1.0, coverage + reach)
    return CoverageRow(
        name,
        pairs,
        in_tenths(coverage),
        in_tenths(error),
        f"{row['length']:.3f}",
        f"{100.0 * coverage:.2f}",
        f"{100.0 * low:.2f}",
        f"{100.0 * (high - low):.2f}",
        f"{100.0 * wanted:.2f}",
        is_own,
    )


class RivalRow(NamedTuple):
    """Another mixture of the same data, and what it changes."""

    n_clusters: int
    model: str
    lead: str
    lead_aicc: str  # empty where it is not known
    is_plausible: bool
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


def rivals_section(found: Rivals) -> RivalsSection:
    """The best rivals by BIC: all that are plausible, and others up to a number of rows."""
    table = found.table
    n_plausible = int(table["plausible"].sum())
    best = table.head(max(MOST_RIVALS, n_plausible))
    rows = [
        RivalRow(
            int(row["n_clusters"]),
            str(row["model"]),
            _lead(row["lead"]),
            _lead(row["lead_aicc"]),
            bool(row["plausible"]),
            in_tenths(row["outside"]),
            in_tenths(row["far_outside"]),
            int(row["relabelled"]),
            int(row["left_set"]),
        )
        for _, row in best.iterrows()
    ]
    names = list(dict.fromkeys(map(str, found.objects["object"])))
    return RivalsSection(
        found.model,
        found.n_clusters,
        f"{found.bound:g}",
        len(table),
        n_plausible,
        rows,
        len(table) - len(rows),
        names[:MOST_CHANGED],
        len(names),
        len(found.missing),
        f"{FAR:g}",
    )


def _lead(value: float) -> str:
    """A difference of two criteria; AICc has no bound where parameters outnumber the objects.

    >>> _lead(12.34), _lead(-float("inf")), _lead(float("nan"))
    ('+12.3', '−∞', '')
    """
    if np.isnan(value):
        return ""
    return f"{value:+.1f}" if np.isfinite(value) else "−∞" if value < 0.0 else "+∞"


def percent(share: float) -> str:
    """A share that was chosen, as a percentage.

    >>> percent(0.9), percent(0.9975)
    ('90 %', '99.75 %')
    """
    return f"{100.0 * share:.4g} %"


def in_tenths(share: float) -> str:
    """A share that was measured, in tenths of a percent; nothing where it is not known.

    >>> in_tenths(0.99571), in_tenths(0.0002), in_tenths(0.0), in_tenths(float("nan"))
    ('99.6 %', 'below 0.1 %', '0.0 %', '')
    """
    if np.isnan(share):
        return ""
    return "below 0.1 %" if 0.0 < share < 0.0005 else f"{100.0 * share:.1f} %"
