"""Runs of EM for cells: a model and a number of clusters each, side by side in batches.

A mixture with fewer components is padded with absent ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credpart._checks import Table
from credpart.mixture.ascent import maximise
from credpart.mixture.em import EMResult, Status, Step, take
from credpart.mixture.models import Model

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


class Candidate(NamedTuple):
    """Where a run of a cell starts."""

    cell: Cell
    statistics: Array  # (k, p)
    params: Any = None  # that the statistics come from
    is_first: bool = False  # from the first start
    n_iter: int = 0  # iterations before


class Outcome(NamedTuple):
    """Where it has come to."""

    cell: Cell
    batch: EMResult
    place: int  # in the batch
    is_first: bool
    n_iter: int
    loglik: float
    status: Status
    flaw: str  # why the outcome is refused; empty if it is not

    @property
    def statistics(self) -> Array:
        """Expected statistics (k, p), without absent components."""
        result: Array = self.batch.statistics[self.place, : self.cell[0]]
        return result

    @property
    def params(self) -> Any:
        """Parameters of the mixture, without absent components."""
        return take(self.batch.params, (self.place, slice(self.cell[0])))

    @property
    def mixture(self) -> Any:
        """The same as the parameters of one mixture: arrays (1, k, ...)."""
        return take(self.batch.params, (slice(self.place, self.place + 1), slice(self.cell[0])))


Run = Candidate | Outcome  # an outcome may go on


def stack(arrays: Sequence[Array], k: int) -> Array:
    """Arrays (k_i, ...) on top of each other, with absent components up to k."""
    out = np.zeros((len(arrays), k, *arrays[0].shape[1:]))
    for row, array in zip(out, arrays, strict=True):
        row[: len(array)] = array
    return out


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
        statistics = stack([candidate.statistics for candidate in batch], k)
        variant = np.array([models[candidate.cell[1]].variant for candidate in batch])
        previous = None
        if batch[0].params is not None:
            fields = zip(*(candidate.params for candidate in batch), strict=True)
            previous = type(batch[0].params)(*(stack(field, k) for field in fields))
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
