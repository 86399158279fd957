"""Tables 2-4 beside the printed ones, and what the library's defaults change."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper.bench import PRINTED, Result, Section
from benchmarks.paper.compare import deviation, judge_number, standard_error

LEVELS = ("0.90", "0.95")
KINDS = ("CI", "[Bel, Pl]")
QUANTITIES = ("coverage", "length")
EDGES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)  # bins of the true P_ij
PAPER = ("EII", "EEE", "VVV", "Auto")
AGREE = 0.02  # how close a coverage or a length is to the printed one
LEAST = {"0.90": 0.88, "0.95": 0.93}  # coverage that choosing in each replicate has to reach


class Change(NamedTuple):
    """A default of the library, and what it is compared with."""

    name: str
    new: str
    old: str


CHANGES = (
    Change("tight tolerance, VVV", "VVV, tight", "VVV"),
    Change("structure chosen in each replicate, not once", "each, tight", "Auto, tight"),
    Change("pseudo-observation everywhere, VVV", "VVV, tight, pooled", "VVV, tight"),
)


def values(results: Sequence[Result], arm: str, level: str, kind: str, what: str) -> list[float]:
    """A number of every data set."""
    return [result["arms"][arm][f"{level} {kind}"][what] for result in results]


def add_mixture(section: Section, mixture: int, results: Sequence[Result]) -> None:
    """Add a mixture's table, beside the paper's."""
    printed = PRINTED[f"table {mixture + 1}"]
    section.text(f"### {printed['where']}: Mixture {mixture}")
    section.table(
        [
            *("level", "model", "interval", "coverage", "±", "paper", "verdict"),
            *("length", "±", "paper", "verdict"),
        ],
        [_paper_row(section, printed, results, *row) for row in product(LEVELS, PAPER, KINDS)],
    )
    chosen = [result["arms"]["Auto"]["model"] for result in results]
    section.text(f"Auto chose {_counts(chosen)}.")


def add_beyond(section: Section, mixture: int, results: Sequence[Result]) -> None:
    """Add the arms that the paper does not have, and coverage by bins of the true P_ij."""
    section.text(
        f"Beyond the paper, on the first {len(results)} of these data sets: what the tolerance of "
        "EM, the pseudo-observation, and choosing the structure in each replicate change.",
    )
    columns = list(product(LEVELS, QUANTITIES, KINDS))
    rows = []
    for arm in results[0]["arms"]:
        means = [np.mean(values(results, arm, level, kind, what)) for level, what, kind in columns]
        rows.append([arm, *(f"{mean:.3f}" for mean in means)])
    section.table(["model", *map(" ".join, columns)], rows)
    section.text(_status_text(results))
    _add_bins(section, mixture, results)


def _paper_row(
    section: Section,
    printed: Mapping[str, Any],
    results: Sequence[Result],
    level: str,
    model: str,
    kind: str,
) -> list[str]:
    correct = model in printed["correct"]
    cells = [level, f"**{model}**" if correct else model, kind]
    for what in QUANTITIES:
        found = values(results, model, level, kind, what)
        mean, error = float(np.mean(found)), standard_error(found)
        theirs, spread = printed["levels"][level][what][model][kind]
        nominal = float(level) if correct and what == "coverage" else None
        both = math.hypot(error, spread / 10.0)  # the paper's mean is over 100 data sets too
        verdict = section.judge(judge_number(mean, theirs, AGREE, both, nominal))
        cells += [
            f"{mean:.3f} ({deviation(found):.3f})",
            f"{error:.3f}",
            f"{theirs:g} ({spread:g})",
            verdict,
        ]
    return cells


def _status_text(results: Sequence[Result]) -> str:
    """Replicates of VVV that were not ordinary, by tolerance."""
    parts = []
    for arm in ("VVV", "VVV, tight"):
        total: dict[str, int] = {}
        for result in results:
            for status, count in result["arms"][arm]["status"].items():
                total[status] = total.get(status, 0) + count
        parts.append(f"{arm}: " + ", ".join(f"{n} {status}" for status, n in total.items() if n))
    return f"Replicates by how their refit ended: {'; '.join(parts)}."


def conditional(
    results: Sequence[Result], arm: str, level: str, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Coverage in each bin of the true P_ij, and its standard error over data sets."""
    results = [result for result in results if arm in result["arms"]]
    pairs = np.array([result["pairs"] for result in results], dtype=float)
    hits = np.array(values(results, arm, level, kind, "hits"), dtype=float)
    total = np.maximum(pairs.sum(axis=0), 1.0)
    rate = hits.sum(axis=0) / total
    return rate, np.sqrt(((hits - rate * pairs) ** 2).sum(axis=0)) / total


def _add_bins(section: Section, mixture: int, results: Sequence[Result]) -> None:
    right = PRINTED[f"table {mixture + 1}"]["correct"][0]
    arms = list(
        dict.fromkeys([right, f"{right}, tight", "VVV, tight", "Auto, tight", "each, tight"])
    )
    pairs = np.array([result["pairs"] for result in results]).sum(axis=0)
    columns = [(arm, kind) for arm in arms for kind in KINDS]
    rates = {column: conditional(results, column[0], "0.90", column[1]) for column in columns}
    rows = []
    for b, share in enumerate(pairs / pairs.sum()):
        cells = [
            f"{rates[c][0][b]:.2f} ± {rates[c][1][b]:.2f}" if pairs[b] else "" for c in columns
        ]
        rows.append([f"{EDGES[b]:g} to {EDGES[b + 1]:g}", f"{100 * share:.1f} %", *cells])
    section.text("Coverage at level .90 by bins of the true P_ij (± standard error):")
    section.table(["P_ij", "pairs", *(f"{arm} {kind}" for arm, kind in columns)], rows)


def add_repair(section: Section, results: Sequence[Result]) -> None:
    """Whether choosing the structure in each replicate repairs Auto on Mixture 3."""
    section.text(
        "### Does choosing the structure in each replicate repair Auto?",
        "On Mixture 3, with the default tolerance: coverage at least .88 at .90 and .93 at .95, "
        "with a mean length no larger than VVV's.",
    )
    rows = []
    for level, kind in product(LEVELS, KINDS):
        coverage = float(np.mean(values(results, "each, tight", level, kind, "coverage")))
        once = float(np.mean(values(results, "Auto, tight", level, kind, "coverage")))
        length, most = (
            float(np.mean(values(results, arm, level, kind, "length")))
            for arm in ("each, tight", "VVV, tight")
        )
        holds = section.judge(
            "agrees" if coverage >= LEAST[level] and length <= most else "differs"
        )
        cells = [f"{once:.3f}", f"{coverage:.3f}", LEAST[level], f"{length:.3f}", f"{most:.3f}"]
        rows.append([level, kind, *cells, holds])
    section.table(
        ["level", "interval", "once", "each", "at least", "length", "VVV's length", "verdict"], rows
    )


DEFAULTS = """### The library's defaults, and why

- **EM converges tightly** (1e-9, where mclust stops at 1e-5). Replicates that stop early are too
  much like their start, and so like each other: the intervals come out too short. Beside mclust's
  rule the mean interval is 2.5 % longer on Iris, and 12 % on Diabetes, where the units make that
  rule loosest (below).
- **The structure is chosen in each replicate** (`selection="each"`), not once. Chosen once, and
  then taken as known, it is what makes Auto fail on Mixture 3: [calibration.md](calibration.md) has
  .76 once and .92 in each replicate for intervals of level .90, and a gain on Mixtures 1 and 2 too.
  The price is time, and longer intervals where the choice is unsure.
- **A pseudo-observation only where a replicate is singular** (`regularization="fallback"`). Such
  replicates are kept, since drawing others in their place would leave out the samples that show how
  unsure a small cluster is. With 300 objects they are rare, so that it matters little here;
  `"pooled"` adds the pseudo-observation everywhere, for small clusters."""


def add_defaults(section: Section, by_mixture: Mapping[int, Sequence[Result]]) -> None:
    """Add what each default changes on the same data sets."""
    section.text(
        "Differences on the same data sets and replicates (± standard error), at level .90; the "
        "first two changes are defaults, the third is offered:",
    )
    rows = []
    for change, (mixture, results) in product(CHANGES, by_mixture.items()):
        cells = [change.name, mixture]
        for what, kind in product(QUANTITIES, KINDS):
            new, old = (
                np.array(values(results, arm, "0.90", kind, what))
                for arm in (change.new, change.old)
            )
            error = standard_error(new - old)
            cells += [f"{old.mean():.3f}", f"{np.mean(new - old):+.3f} ± {error:.3f}"]
        rows.append(cells)
    header = [f"{what} {kind}" for what, kind in product(QUANTITIES, KINDS)]
    section.table(
        ["change", "mixture", *(name for cell in header for name in (cell, "changes by"))], rows
    )


def _counts(names: Sequence[str]) -> str:
    order = sorted(set(names), key=lambda name: (-names.count(name), name))
    return ", ".join(f"{name} {names.count(name)} times" for name in order)
