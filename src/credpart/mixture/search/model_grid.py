"""Runs of EM for cells: a model and a number of clusters each, side by side in batches.

A mixture with fewer components is padded with absent ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credpart._checks import Table
from credpart.mixture.models import Model
from credpart.mixture.optimisation.em import EMResult, Status, Step, take
from credpart.mixture.optimisation.lbfgs import maximise

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Cell = tuple[int, str]  # number of clusters, model

BATCH = 1 << 20  # values of the joint density in a batch of cells
WARM = 5  # iterations before a start may give up
PATIENCE = 60.0  # iterations like the last that it may take to catch up
PATIENCE_OF_FIRST = 240.0  # since its order of the clusters is kept, if it is as good


class Setting(NamedTuple):
    """A family on the data, and its models that are fitted."""

    family: Any
    features: Array
    weights: Array
    models: Mapping[str, Model]


def set_up(models: Mapping[str, Model], table: Table, weights: Array) -> list[Setting]:
    """The families of the models, on the data."""
    settings = []
    for name in dict.fromkeys(row.family for row in models.values()):
        rows = {model: row for model, row in models.items() if row.family == name}
        structures = [row.structure for row in rows.values() if row.structure is not None]
        family = next(iter(rows.values())).make(table, weights, structures)
        settings.append(Setting(family, family.features(table.values), weights, rows))
    return settings


class Source(NamedTuple):
    """Where runs may start, one a row."""

    statistics: Array  # (b, k, p)
    params: Any = None  # that the statistics come from


class Candidate(NamedTuple):
    """Where a run of a cell starts."""

    cell: Cell
    source: Source | EMResult
    place: int = 0  # in the source
    is_first: bool = False  # from the first start
    n_iter: int = 0  # iterations before


class Outcome(NamedTuple):
    """Where it has come to."""

    cell: Cell
    source: EMResult
    place: int  # in the source
    is_first: bool
    n_iter: int
    loglik: float
    status: Status
    flaw: str  # why the outcome is refused; empty if it is not

    @property
    def mixture(self) -> Any:
        """The parameters of the mixture, arrays (1, k, ...), without absent components."""
        return take(self.source.params, (slice(self.place, self.place + 1), slice(self.cell[0])))


Run = Candidate | Outcome  # an outcome may go on


def gather(runs: Sequence[Run], k: int) -> tuple[Array, Any]:
    """Statistics (b, k, p) of runs and the parameters they come from, if these are known.

    Source by source: runs that go on come from few.
    """
    rows: dict[int, list[int]] = defaultdict(list)
    for i, one in enumerate(runs):
        rows[id(one.source)].append(i)
    first = runs[0].source
    stacks = [np.zeros((len(runs), k, *field.shape[2:])) for field in arrays_of(first)]
    for some in rows.values():
        source, places = runs[some[0]].source, [runs[i].place for i in some]
        for stack, field in zip(stacks, arrays_of(source), strict=True):
            width = min(k, field.shape[1])
            stack[some, :width] = field[places, :width]
    statistics, *params = stacks
    return statistics, type(first.params)(*params) if params else None


def arrays_of(source: Source | EMResult) -> list[Array]:
    """The arrays of a source."""
    return [source.statistics, *(() if source.params is None else source.params)]


def batches(candidates: Sequence[Run], n: int) -> Iterator[list[Run]]:
    """Batches of similar numbers of clusters whose size depends on the problem only.

    Those of a cell stay together: they race.
    """
    batch: list[Run] = []
    for cell, runs in groupby(sorted(candidates, key=lambda run: run.cell), lambda run: run.cell):
        same = list(runs)
        if batch and (len(batch) + len(same)) * cell[0] * n > BATCH:
            yield batch
            batch = []
        batch += same
    if batch:
        yield batch


def run(
    setting: Setting, candidates: Sequence[Run], *, is_race: bool = False, **limits: Any
) -> list[Outcome]:
    """EM from every candidate; in a race, candidates of a cell that fall behind give up."""
    family, features, weights, models = setting
    outcomes, n = [], float(weights.sum())
    for batch in batches(candidates, len(features)):
        k = max(candidate.cell[0] for candidate in batch)
        statistics, previous = gather(batch, k)
        variant = np.array([models[candidate.cell[1]].variant for candidate in batch])
        given = family, features, weights[None], statistics, variant, previous
        give_up = Race(setting, batch) if is_race else None
        result = maximise(*given, give_up=give_up, **limits)
        flaws = find_flaws(family, result, n)
        numbers = (field.tolist() for field in (result.n_iter, result.loglik, result.status))
        for i, (old, n_iter, loglik, status) in enumerate(zip(batch, *numbers, strict=True)):
            end = old.n_iter + n_iter, loglik, Status(status), flaws.get(i, "")
            outcomes.append(Outcome(old.cell, result, i, old.is_first, *end))
    return outcomes


class Race:
    """Runs of the same cell: one that is too far behind to catch up gives up."""

    def __init__(self, setting: Setting, runs: Sequence[Run]) -> None:
        self.family, self.n, self.n_steps = setting.family, float(setting.weights.sum()), 0
        cells = {cell: i for i, cell in enumerate(dict.fromkeys(new.cell for new in runs))}
        self.cells = np.array([cells[new.cell] for new in runs])
        is_first = np.array([new.is_first for new in runs])
        self.patience = np.where(is_first, PATIENCE_OF_FIRST, PATIENCE)
        self.best = np.full(len(cells), -np.inf)

    def __call__(self, rows: Rows, step: Step, gains: Array) -> Mask:
        """Which rows give up; not because of what is a spike by now."""
        self.n_steps += 1
        cells = self.cells[rows]
        spoilt = ~step.valid | self.family.is_spurious(step.params, self.n).any(axis=1)
        np.maximum.at(self.best, cells, np.where(spoilt, -np.inf, step.loglik))
        is_late = self.best[cells] - step.loglik > self.patience[rows] * gains
        result: Mask = is_late & (self.n_steps >= WARM)
        return result


def find_flaws(family: Any, result: EMResult, n: float) -> dict[int, str]:
    """Why some mixtures of a batch are no answer."""
    params = result.params
    flaws = {}
    for i, k in np.argwhere(family.is_spurious(params, n))[::-1]:  # the first component stays
        size, variance = n * params.proportions[i, k], 1.0 / params.flatness[i, k]
        what = f"{size:.1f} objects, relative variance {variance:.1g}"
        flaws[int(i)] = f"a component is a spurious spike ({what})"
    for i in np.flatnonzero(result.status == Status.DEGENERATE):
        flaws[int(i)] = "a component became singular"
    return flaws


def best(outcomes: Iterable[Outcome], tol: float) -> dict[Cell, Outcome]:
    """The likeliest outcome of each cell, of equals the first; flawed ones for want of others."""
    found: dict[Cell, Outcome] = {}
    for outcome in outcomes:
        rival = found.get(outcome.cell)
        if rival is None or improves(outcome, rival, tol):
            found[outcome.cell] = outcome
    return found


def rank(outcome: Outcome) -> tuple[bool, float]:
    """What is better: first no flaw, then the log-likelihood."""
    return not outcome.flaw, outcome.loglik


def improves(new: Outcome, old: Outcome, tol: float) -> bool:
    """Better by more than what the stopping rule leaves open."""
    return rank(new) > (rank(old)[0], old.loglik + 10.0 * tol * (1.0 + abs(old.loglik)))
