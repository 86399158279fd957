"""Ours beside the printed numbers, with a verdict."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.bench import PRINTED, Section

VERDICTS = ("agrees", "closer to nominal", "within noise", "differs")
NOISE = 2.5  # standard errors of a difference that chance explains


def judge_number(
    ours: float, printed: float, tolerance: float, error: float = 0.0, nominal: float | None = None
) -> str:
    """Return how a number agrees: with the printed one, or better with the nominal one.

    ``error`` is the standard error of the difference.
    """
    if abs(ours - printed) <= tolerance + 1e-9:
        return "agrees"
    if nominal is not None and abs(ours - nominal) < abs(printed - nominal):
        return "closer to nominal"
    if abs(ours - printed) <= NOISE * error:
        return "within noise"
    return "differs"


def deviation(values: Sequence[float]) -> float:
    """Standard deviation over data sets or draws; of one it is not known."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def standard_error(values: Sequence[float]) -> float:
    """Standard error of a mean over data sets or draws."""
    return deviation(values) / math.sqrt(len(values))


def count_table(
    section: Section, key: str, draws: Sequence[Mapping[str, Mapping[str, int]]], tolerance: int
) -> None:
    """Add a confusion table: printed counts beside the mean and spread of ours over draws.

    ``draws`` hold counts by set and class; sets that the paper does not list are added.
    """
    printed = PRINTED[key]
    expected = pd.DataFrame(printed["counts"], index=printed["classes"], columns=printed["sets"])
    frames = [pd.DataFrame(draw) for draw in draws]
    other = sorted({name for frame in frames for name in frame} - set(expected), key=len)
    sets = [*printed["sets"], *other]
    stack = np.array(
        [f.reindex(index=expected.index, columns=sets).fillna(0).to_numpy() for f in frames]
    )
    mean, low, high = stack.mean(axis=0), stack.min(axis=0), stack.max(axis=0)
    rows = []
    for i, name in enumerate(expected.index):
        cells = [name]
        for j, column in enumerate(sets):
            value = float(expected.iloc[i, j]) if column in expected else 0.0
            verdict = section.judge(
                _judge_count(value, mean[i, j], low[i, j], high[i, j], tolerance)
            )
            spread = "" if low[i, j] == high[i, j] else f" ({low[i, j]:.0f} to {high[i, j]:.0f})"
            mark = "" if verdict != "differs" else " **!**"
            cells.append(f"{mean[i, j]:.4g}{spread}; paper {value:.0f}{mark}")
        rows.append(cells)
    how = f" Mean of {len(frames)} draws (smallest to largest)." if len(frames) > 1 else ""
    section.text(f"**{printed['where']}.**{how} A count agrees within {tolerance} of the mean.")
    section.table(["class", *sets], rows)


def _judge_count(printed: float, mean: float, low: float, high: float, tolerance: int) -> str:
    if low <= printed <= high or abs(printed - mean) <= tolerance:
        return "agrees"
    return "differs"


def fact(
    section: Section, what: str, ours: Any, printed: Any, *, tolerance: float = 0.0, shown: str = ""
) -> list[Any]:
    """A row of a table of facts, with its verdict: equal, or numbers within a tolerance."""
    number = isinstance(printed, int | float)
    agrees = abs(ours - printed) <= tolerance if number else ours == printed
    text = shown or (f"{ours:.3f}" if isinstance(ours, float) else ours)
    return [what, text, printed, section.judge("agrees" if agrees else "differs")]


FACTS = ["what", "ours", "paper", "verdict"]
