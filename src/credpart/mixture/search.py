"""The best fit of every cell: a model and a number of clusters, from many starts, in batches.

Cells of different models and numbers of clusters run side by side: a mixture with fewer
components is padded with absent ones.  After short runs from every start, cells exchange what
they found: each tries where the structures nested in it, and those it is nested in, have got
with as many clusters, and goes on from there if that is better.  So in the end no nested
structure is better than its parent, unless the way up from it ends in a refused spike.

Families come one after the other, from the smaller to the larger: a larger one also starts from
the clusters that those nested in it have found, and from their very answers.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credpart._checks import Table
from credpart.mixture.ascent import maximise
from credpart.mixture.em import EMResult, Status, e_step, normalise
from credpart.mixture.models import Model

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Cell = tuple[int, str]  # number of clusters, model

SHORT = 20  # iterations after which only the best start of a cell goes on
ROUNDS = 5  # exchanges at the most
BATCH = 1 << 20  # values of the joint density in a batch of cells


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


class Outcome(NamedTuple):
    """Where it ended."""

    cell: Cell
    statistics: Array
    params: Any
    loglik: float
    n_iter: int
    status: Status
    flaw: str  # why the outcome is refused; empty if it is not
    is_first: bool


def stack(arrays: Sequence[Array], k: int) -> Array:
    """Arrays (k_i, ...) on top of each other, with absent components up to k."""
    out = np.zeros((len(arrays), k, *arrays[0].shape[1:]))
    for row, array in zip(out, arrays, strict=True):
        row[: len(array)] = array
    return out


def batches(candidates: Sequence[Candidate], n: int) -> Iterator[list[Candidate]]:
    """Batches of similar numbers of clusters whose size depends on the problem only."""
    batch: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.cell[0]):
        if batch and (len(batch) + 1) * candidate.cell[0] * n > BATCH:
            yield batch
            batch = []
        batch.append(candidate)
    if batch:
        yield batch


def run(setting: Setting, candidates: Sequence[Candidate], **limits: Any) -> list[Outcome]:
    """EM from every candidate."""
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
        result = maximise(family, features, weights[None], statistics, variant, previous, **limits)
        flaws = find_flaws(family, result, n)
        for i, (cell, *_, is_first) in enumerate(batch):
            params = type(result.params)(*(field[i, : cell[0]] for field in result.params))
            end = float(result.loglik[i]), int(result.n_iter[i]), Status(result.status[i])
            reached = result.statistics[i, : cell[0]]
            outcomes.append(Outcome(cell, reached, params, *end, flaws.get(i, ""), is_first))
    return outcomes


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


def _rank(outcome: Outcome) -> tuple[bool, float]:
    return not outcome.flaw, outcome.loglik


class Given(NamedTuple):
    """What smaller families have found, as starts of a larger one."""

    clusters: Sequence[Candidate] = ()  # their posteriors only
    answers: Sequence[Candidate] = ()  # the same mixtures, in the larger family


NOTHING = Given()


def search_all(
    settings: Sequence[Setting],
    starts: Sequence[Mapping[int, Labels]],
    *,
    progress: Callable[[str, float], None] | None = None,
    **limits: Any,
) -> dict[Cell, Outcome]:
    """`search` of one family after the other, each with what those before it have found."""
    found: dict[Cell, Outcome] = {}
    for i, setting in enumerate(settings):

        def report(stage: str, share: float, done: int = i) -> None:
            if progress is not None:
                progress(stage, (done + share) / len(settings))

        given = carry(settings[:i], setting, found)
        found |= search(setting, starts, given, progress=report, **limits)
    return found


def carry(smaller: Sequence[Setting], setting: Setting, found: Mapping[Cell, Outcome]) -> Given:
    """What the families before have found of models that are nested in this one's."""
    clusters, answers = [], []
    homes = {model: home for home in smaller for model in home.models}
    for model, row in setting.models.items():
        for (c, name), old in found.items():
            if name in row.nested and not old.flaw:
                resp = responsibilities(homes[name], old)
                statistics = setting.family.statistics(setting.features, resp)[0]
                clusters.append(Candidate((c, model), statistics))
                answers.append(embed(setting, old, model))
    return Given(clusters, answers)


def responsibilities(setting: Setting, outcome: Outcome) -> Array:
    """Weights times posteriors (1, k, n) of an outcome."""
    params = type(outcome.params)(*(field[None] for field in outcome.params))
    joint: Array = setting.family.log_joint(setting.features, params)
    normalise(joint)
    joint *= setting.weights
    return joint


def embed(setting: Setting, outcome: Outcome, model: str) -> Candidate:
    """The outcome of a smaller family as a mixture of this one."""
    params = setting.family.embed(type(outcome.params)(*(field[None] for field in outcome.params)))
    statistics = e_step(setting.family, setting.features, setting.weights[None], params)[1]
    fields = type(params)(*(field[0] for field in params))
    return Candidate((outcome.cell[0], model), statistics[0], fields)


def from_partitions(
    setting: Setting, starts: Sequence[Mapping[int, Labels]]
) -> Iterator[Candidate]:
    """What starting partitions are to every model."""
    family, features, weights, models = setting
    for rank, c, labels in distinct(starts):
        resp = np.where(labels == np.arange(c)[:, None], weights, 0.0)
        statistics = family.statistics(features, resp[None])[0]
        for model in models:
            yield Candidate((c, model), statistics, None, rank == 0)


def search(
    setting: Setting,
    starts: Sequence[Mapping[int, Labels]],
    given: Given = NOTHING,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[str, float], None] | None = None,
) -> dict[Cell, Outcome]:
    """The best outcome of every model and number of clusters that the starts have."""
    models = setting.models

    def runs(chosen: Iterable[Outcome | Candidate], limit: int) -> list[Outcome]:
        onwards = [Candidate(new.cell, new.statistics, new.params, new.is_first) for new in chosen]
        return run(setting, onwards, tol=tol, max_iter=limit)

    def report(done: int) -> None:
        if progress is not None:
            progress("select", done / (ROUNDS + 1))

    # A step tells whether another structure's answer is better.  Where a likelihood has saddles
    # and plateaus, what is better in the end may be worse at first.
    trial = SHORT if hasattr(setting.family, "decode") else 1
    short = runs([*from_partitions(setting, starts), *given.clusters], SHORT)
    report(1)
    found = best(short, tol)
    # The first start goes to its end even where another one is ahead now.
    going = [new for new in short if new.is_first and not new.flaw and new is not found[new.cell]]
    changed: Container[Cell] = found
    for i in range(ROUNDS):
        # where skewness is 0 a likelihood has a saddle: other ways come first
        answers = given.answers if i else ()
        tried = runs([*exchanges(models, found, changed), *answers], trial)
        better = improvements(tried, found, tol)
        unfinished = {
            cell: old for cell, old in found.items() if old.status == Status.NOT_CONVERGED
        }
        going += {**unfinished, **better}.values()
        if not going and (i or not given.answers):
            break
        # What has not converged counts by where it ends only: it may be on its way to a spike.
        ended = [old for old in found.values() if old.status != Status.NOT_CONVERGED]
        ends = runs(going, max_iter)
        before, found = found, best([*ended, *ends], tol)
        changed = {cell for cell, new in found.items() if new is not before[cell]}
        # Where the best answer of others led to a refused fit, the next best gets its turn.
        refused = {end.cell for end in ends if end.flaw and end.cell in better}
        others = [new for new in tried if new.cell in refused and new is not better[new.cell]]
        going = [*improvements(others, found, tol).values()]
        report(i + 2)
    report(ROUNDS + 1)
    return found


def improvements(
    outcomes: Iterable[Outcome], found: Mapping[Cell, Outcome], tol: float
) -> dict[Cell, Outcome]:
    """The best outcome of each cell, where it is better than what was found."""
    likeliest = best(outcomes, tol)
    return {cell: new for cell, new in likeliest.items() if improves(new, found[cell], tol)}


def distinct(starts: Sequence[Mapping[int, Labels]]) -> Iterator[tuple[int, int, Labels]]:
    """Rank, number of clusters and labels of each partition; the same one comes once."""
    seen = set()
    for rank, start in enumerate(starts):
        for c, labels in start.items():
            _, first, names = np.unique(labels, return_index=True, return_inverse=True)
            key = c, np.argsort(np.argsort(first))[names].tobytes()
            if key not in seen:
                seen.add(key)
                yield rank, c, labels


def exchanges(
    models: Mapping[str, Model], outcomes: Mapping[Cell, Outcome], changed: Container[Cell]
) -> Iterator[Candidate]:
    """What each cell can try of changed fits of other models with as many clusters."""
    givers = [outcome for outcome in outcomes.values() if outcome.cell in changed]
    for giver in givers:
        for taker in outcomes.values() if not giver.flaw else ():
            if giver.cell[0] == taker.cell[0] and related(models, giver.cell[1], taker.cell[1]):
                yield Candidate(taker.cell, giver.statistics, giver.params)


def related(models: Mapping[str, Model], one: str, other: str) -> bool:
    """One is nested in the other."""
    return one in models[other].nested or other in models[one].nested


def improves(new: Outcome, old: Outcome, tol: float) -> bool:
    """Better by more than what the stopping rule leaves open."""
    return _rank(new) > (_rank(old)[0], old.loglik + 10.0 * tol * (1.0 + abs(old.loglik)))
