"""Searches of large data: on some of the objects first, then on all of them where it matters.

The search among starts, models and numbers of clusters runs on a stratified subsample.  What it
finds is then refined on all objects, one pass for each iteration of EM, for every model that has a
real chance to be chosen and for the best model of every number of clusters.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table, WeightedTable
from credpart._parallel import run_tasks
from credpart._progress import Progress, silent
from credpart._threads import one_blas_thread
from credpart.mixture.completed_data import completed
from credpart.mixture.criteria import CRITERIA, contributions, may_be_chosen
from credpart.mixture.optimisation import Limits, Mixtures, Problem
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.search.grid_search import (
    Answer,
    Cell,
    FamilySearch,
    ModelSet,
    RelatedStarts,
    grid_search,
)
from credpart.mixture.search.initialisation import MAX_FITTED, microclusters, scale
from credpart.mixture.search.multistart import Policy, best_first

LARGE = 20_000  # distinct objects above which searches start on a subsample
SUBSAMPLE = 10_000  # distinct objects in it
N_MICROCLUSTERS = 256  # strata of the subsample


class SearchResult(NamedTuple):
    """Answers on all objects, and why there are none for other cells."""

    answers: dict[Cell, Answer]
    left_out: dict[Cell, str]


class Search(NamedTuple):
    """Models on all objects, and where a search among them starts: perhaps on a part of these."""

    sets: list[ModelSet]
    data: WeightedTable  # all objects
    part: WeightedTable  # those that the search starts on: the data themselves, or a subsample
    starts: list[dict[int, IntArray]]  # partitions of the part, by number of clusters

    def run(
        self,
        wanted: Collection[Cell],
        criterion: str,
        limits: Limits,
        n_jobs: int | None = None,
        progress: Progress = silent,
    ) -> SearchResult:
        """`grid_search`; of a part of the data first, and then on all of them where it matters."""
        if self.part is self.data:
            found = grid_search(self.sets, self.starts, limits, n_jobs, progress)
            return SearchResult(found, {})
        on_parts = [on_part(model_set, self.part) for model_set in self.sets]
        found = grid_search(
            on_parts, self.starts, limits, n_jobs, lambda stage, share: progress(stage, 0.5 * share)
        )
        kept, left_out = cells_to_refine(on_parts, found, wanted, criterion, self)
        answers = {cell: found[cell] for cell in wanted if found[cell].flaw}
        tasks = [
            (model_set, {cell: found[cell] for cell in cells}, limits)
            for model_set in self.sets
            for c in sorted({c for c, _ in kept})
            if (cells := [cell for cell in kept if cell[0] == c and cell[1] in model_set.models])
        ]
        for done, refined in enumerate(run_tasks(refine_on_all, tasks, n_jobs)):
            answers |= refined
            progress("select", 0.5 + 0.5 * (done + 1) / len(tasks))
        return SearchResult(answers, left_out)

    def run_regularised(self, cell: Cell, resp: Array, limits: Limits) -> Answer:
        """The mixture with pseudo-observations, from responsibilities (c, n) of the part."""
        # Sets are in the order of the table of models: the last is the chosen model's, the others
        # only provide starts.
        model_set, is_all = self.sets[-1], self.part is self.data
        begun = (model_set if is_all else on_part(model_set, self.part)).regularised(resp)
        answer = FamilySearch(begun, [cell[0]], limits).run_alone(cell, resp)
        if is_all:
            return answer
        problem = model_set.problem._replace(family=begun.problem.family)
        return refine_on_all(model_set._replace(problem=problem), {cell: answer}, limits)[cell]


def on_part(model_set: ModelSet, part: WeightedTable) -> ModelSet:
    """The same models and family on a part of the data."""
    problem = Problem.of(model_set.problem.family, part.values, part.weights[None])
    return model_set._replace(problem=problem)


def subsample(data: WeightedTable, seed: int, measured: Table | None = None) -> WeightedTable:
    """A weighted subsample of distinct objects that represents all of them; the data, if few.

    Half of them are spread over microclusters in equal numbers, so that small clusters are there
    too; their weights make up for it.  Weights add up to the number of objects in the subsample, so
    that criteria and standard errors are those of a sample of that size.
    ``measured`` are the objects without columns that are no measurements, if there are such.
    """
    if len(data.values) <= LARGE:
        return data
    rng = np.random.default_rng(seed)
    Z = scale(completed(data.table if measured is None else measured))
    some = Z[np.sort(rng.permutation(len(Z))[:MAX_FITTED])]
    strata = microclusters(Z, some, N_MICROCLUSTERS, seed=int(rng.integers(2**31)))
    rows = stratified(strata, SUBSAMPLE, rng)
    totals, own = data.weights, strata[rows]
    represented = np.bincount(own, totals[rows], strata.max() + 1).clip(np.finfo(float).tiny)
    weights = totals[rows] * (np.bincount(strata, totals) / represented)[own]
    weights *= len(rows) / weights.sum()
    return WeightedTable(data.table._replace(values=data.values[rows]), weights)


def stratified(strata: IntArray, m: int, rng: np.random.Generator) -> IntArray:
    """Rows of about m objects, half in proportion to the strata, and half of all strata alike."""
    sizes = np.bincount(strata)
    wanted = np.ceil(0.5 * m * (sizes / len(strata) + 1.0 / len(sizes))).astype(np.intp)
    order = np.lexsort([rng.random(len(strata)), strata])
    rank = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[rank < wanted[strata[order]]])


def cells_to_refine(
    sets: Sequence[ModelSet],
    found: dict[Cell, Answer],
    wanted: Collection[Cell],
    criterion: str,
    search: Search,
) -> tuple[list[Cell], dict[Cell, str]]:
    """Which cells to refine on all objects, by their answers on a part; and why not the others.

    Beside those with a real chance these are the best one of each number of clusters.
    """
    cells = [cell for cell in wanted if not found[cell].flaw]
    if not cells:
        return [], {}
    models = {name: model for model_set in sets for name, model in model_set.models.items()}
    U, n_parameters = [], []
    for c, name in cells:
        family, params = found[c, name].problem.family, found[c, name].mixture.params
        U.append(contributions(criterion, family, params, search.part.values))
        n_parameters.append(float(models[name].n_parameters(family, c)))
    weights, total = search.part.weights, float(search.data.weights.sum())
    chances = chances_on_all(criterion, np.array(U), np.array(n_parameters), weights, total)
    numbers = np.array([c for c, _ in cells])
    leads = [np.flatnonzero(numbers == c) for c in np.unique(numbers)]
    is_kept = chances.may_be_chosen.copy()
    is_kept[[of_c[chances.values[of_c].argmax()] for of_c in leads]] = True
    kept = [cells[i] for i in np.flatnonzero(is_kept)]
    return kept, {cells[i]: chances.why_not[i] for i in np.flatnonzero(~is_kept)}


class Chances(NamedTuple):
    """How m models compare on all objects, by their fits to a part of these."""

    values: Array  # (m,): the criterion
    may_be_chosen: BoolArray  # (m,): whether a model may be the best
    why_not: list[str]  # (m,): a clause


def chances_on_all(
    criterion: str, U: Array, n_parameters: Array, weights: Array, total: float
) -> Chances:
    """The chances of m models, from what each of n objects contributes to each, U (m, n).

    The difference of two criteria on all objects is a sum over objects.  The part gives its mean
    and standard error.  The penalties are subtracted, and so is the optimism of a likelihood that
    was maximised on the part: on average 1 per parameter.
    """
    ratio, zeros = total / weights.sum(), np.zeros(len(n_parameters))
    penalties = CRITERIA[criterion](zeros, n_parameters, total, lambda: zeros)
    values = ratio * (U @ weights - n_parameters) + penalties
    best = int(values.argmax())
    gaps = weights * (U - U[best])
    errors = np.sqrt(((gaps - gaps.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))
    deficits = values[best] - values
    is_candidate = may_be_chosen(deficits, ratio * errors, n_parameters, ratio)
    which = f"by {len(weights)} of them, its {criterion.upper()}"
    why_not = [
        f"it was not fitted to all objects: {which} is about {gap:.0f} below the best"
        for gap in deficits
    ]
    return Chances(values, is_candidate, why_not)


def refine_on_all(
    model_set: ModelSet, found: dict[Cell, Answer], limits: Limits
) -> dict[Cell, Answer]:
    """The answers of models of one family and number of clusters on all objects."""
    c = next(iter(found))[0]  # the same for all cells
    models = {name: model for name, model in model_set.models.items() if (c, name) in found}
    search = FamilySearch(model_set._replace(models=models), [c], limits)
    with one_blas_thread():
        slots = np.arange(len(search.cells))
        params = Mixtures.concatenate([found[cell].mixture for cell in search.cells]).params
        begun = Mixtures.at(params, search.codes, np.zeros_like(slots), slots, n_iter=0)
        candidates = maximise(model_set.problem, evaluate(model_set.problem, begun), limits)
        policy = Policy(search.is_sound, more_starts=RelatedStarts(search))
        answers, _ = best_first(model_set.problem, candidates, policy, limits)
    return {cell: search.answer(answers, slot) for slot, cell in enumerate(search.cells)}
