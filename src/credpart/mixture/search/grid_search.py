"""The best mixture of every model and number of clusters.

Every cell, a model with a number of clusters, starts from several partitions of the objects.  Then
each model also tries, as starts, the best mixtures of the models nested in it and of those that
contain it: such a start is run to the end only if it is soon ahead of the best found so far.  So
no model ends with a lower likelihood than a model nested in it, unless all mixtures that start
from the nested one are refused.

Families come one after the other, from the smaller to the larger: a larger one also starts from
the clusters that those nested in it have found, and from the answers themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple, Self

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import WeightedTable
from credpart._parallel import run_tasks
from credpart._progress import Progress, silent
from credpart._threads import one_blas_thread
from credpart.mixture.models import Model, structure_code
from credpart.mixture.optimisation import Limits, Mixtures, Problem, Status
from credpart.mixture.optimisation.e_step import e_step
from credpart.mixture.optimisation.em import first_iteration
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import take_params
from credpart.mixture.posteriors import bayes_rule
from credpart.mixture.search.initialisation import responsibilities
from credpart.mixture.search.multistart import EarlyStopping, Policy, best_first

Cell = tuple[int, str]  # number of clusters, model
Partitions = Mapping[int, IntArray]  # labels by number of clusters

# Iterations after which a start is compared with the best, in families whose EM is slow.  With 10,
# t, contaminated and skew mixtures of three data sets lost up to 3.6 of summed log-likelihood; 80
# and 160 won less than .02 on each, and took a sixth and two fifths more time.
TRIAL = 40
BATCH = 1 << 22  # joint densities of the candidates that are run side by side


class ModelSet(NamedTuple):
    """Models of one family, and the family on the data."""

    problem: Problem
    models: Mapping[str, Model]

    def regularised(self, resp: Array) -> Self:
        """The models with a prior: in each component one pseudo-observation.

        It has the pooled covariance of these responsibilities (c, n).
        """
        family = self.problem.family.regularised(self.problem.statistics(resp)[0])
        return self._replace(problem=self.problem._replace(family=family))


class Answer(NamedTuple):
    """The best mixture of a cell."""

    problem: Problem
    mixture: Mixtures  # one mixture, without absent components
    flaw: str  # why it is refused; empty if it is not

    @property
    def status(self) -> Status:
        """How the mixture ended."""
        return Status(int(self.mixture.status[0]))


def model_sets(
    models: Mapping[str, Model], data: WeightedTable, chosen: Mapping[str, Model]
) -> list[ModelSet]:
    """The families of the models, on the data.

    Some models are fitted only as starts for the chosen ones.  Unless a chosen model depends on
    the units of the columns, all are fitted to standardised columns: a spherical model, for
    example, is then spherical in these.
    """
    structures = [model.structure for model in chosen.values() if model.structure is not None]
    sets = []
    for family_name in dict.fromkeys(model.family for model in models.values()):
        members = {name: model for name, model in models.items() if model.family == family_name}
        family = next(iter(members.values())).make(data, structures)
        sets.append(ModelSet(Problem.of(family, data.values, data.weights[None]), members))
    return sets


def grid_search(
    sets: Sequence[ModelSet],
    starts: Sequence[Partitions],
    limits: Limits,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> dict[Cell, Answer]:
    """The best mixture of every model and number of clusters that the starts have.

    Numbers of clusters are searched in batches of a size that depends on the problem only.
    """
    width = len(starts) * sum(len(one.models) for one in sets) * len(sets[0].problem.data.features)
    batches = batches_of_numbers(sorted(starts[0]), width)
    tasks = [(sets, starts, numbers, limits) for numbers in batches]
    found: dict[Cell, Answer] = {}
    for done, answers in enumerate(run_tasks(_search_batch, tasks, n_jobs)):
        found |= answers
        progress("select", (done + 1) / len(batches))
    return found


def batches_of_numbers(numbers: Sequence[int], width: int) -> list[list[int]]:
    """Numbers of clusters whose candidates, padded to the largest, fill at most `BATCH` values."""
    batches: list[list[int]] = []
    for c in numbers:
        if batches and (len(batches[-1]) + 1) * c * width <= BATCH:
            batches[-1].append(c)
        else:
            batches.append([c])
    return batches


def _search_batch(
    sets: Sequence[ModelSet], starts: Sequence[Partitions], numbers: Sequence[int], limits: Limits
) -> dict[Cell, Answer]:
    """All cells of some numbers of clusters, one family after the other."""
    found: dict[Cell, Answer] = {}
    with one_blas_thread():  # here, since a worker may be a process of its own
        for model_set in sets:
            found |= FamilySearch(model_set, numbers, limits).run(starts, found)
    return found


class FamilySearch:
    """The search among the models of one family, for some numbers of clusters."""

    def __init__(self, model_set: ModelSet, numbers: Sequence[int], limits: Limits) -> None:
        self.problem, self.models = model_set
        self.limits, self.numbers = limits, numbers
        self.cells = list(product(numbers, self.models))  # the slots of candidates
        structures = [self.models[model].structure for _, model in self.cells]
        self.codes = np.array([structure_code(name) for name in structures])
        self.widths = np.array([c for c, _ in self.cells])  # components of a candidate

    def run(
        self, starts: Sequence[Partitions], smaller: Mapping[Cell, Answer]
    ) -> dict[Cell, Answer]:
        """The best mixture of each cell, given the answers of smaller families."""
        candidates = self.begin([*self._partitions(starts), *self._nested_clusters(smaller)])
        embedded = list(self._embedded(smaller))
        related = RelatedStarts(self, self.begin(embedded) if embedded else None)
        early_stopping = EarlyStopping(self.is_sound, len(self.cells))
        candidates = maximise(self.problem, candidates, self.limits, early_stopping)
        policy = Policy(self.is_sound, more_starts=related)
        answers, _ = best_first(self.problem, candidates, policy, self.limits)
        return {cell: self.answer(answers, i) for i, cell in enumerate(self.cells)}

    def run_alone(self, cell: Cell, resp: Array) -> Answer:
        """The mixture that EM reaches in one cell from these responsibilities (c, n).

        There are no other starts.
        """
        started = self.begin([(cell, self.problem.statistics(resp))])
        return self.answer(maximise(self.problem, started, self.limits), 0)

    def is_sound(self, mixtures: Mixtures) -> BoolArray:
        """Which mixtures may be answers: those that are sound and have all their components."""
        is_full = (mixtures.params[0] > 0.0).sum(axis=1) == self.widths[mixtures.slot]
        return np.asarray(self.problem.is_sound(mixtures) & is_full)

    def begin(self, starts: Sequence[tuple[Cell, Array]]) -> Mixtures:
        """Mixtures after one iteration from statistics (1, c, s), each for a cell."""
        slots = np.array([self.cells.index(cell) for cell, _ in starts])
        statistics = np.zeros((len(starts), max(self.numbers), starts[0][1].shape[-1]))
        for row, (_, found) in zip(statistics, starts, strict=True):
            row[: found.shape[1]] = found[0]  # the components after these are absent
        order = np.argsort(slots, kind="stable")  # mixtures with as many components are adjacent
        slots, sample = slots[order], np.zeros(len(slots), dtype=np.intp)
        return first_iteration(self.problem, statistics[order], self.codes[slots], sample, slots)

    def _partitions(self, starts: Sequence[Partitions]) -> Iterator[tuple[Cell, Array]]:
        """Statistics of the partitions of the objects, for every model."""
        for c, labels in distinct_partitions(starts):
            if c in self.numbers:
                statistics = self.problem.statistics(responsibilities(labels, c))
                yield from (((c, model), statistics) for model in self.models)

    def _nested_clusters(self, smaller: Mapping[Cell, Answer]) -> Iterator[tuple[Cell, Array]]:
        """Starts from the clusters of nested models: posteriors, without their parameters."""
        for cell, answer in self._nested_answers(smaller):
            (family, data), params = answer.problem, answer.mixture.params
            resp, _ = bayes_rule(family, data.features, params)
            yield cell, self.problem.statistics(resp[0, : params[0].shape[1]])  # noise left out

    def _embedded(self, smaller: Mapping[Cell, Answer]) -> Iterator[tuple[Cell, Array]]:
        """Statistics expected at the mixtures of nested models, taken as mixtures of this family.

        `begin` applies an M-step to these.
        """
        for cell, answer in self._nested_answers(smaller):
            params = self.problem.family.embed(answer.mixture.params)
            yield cell, e_step(self.problem, params, answer.mixture.sample)[1]

    def _nested_answers(self, smaller: Mapping[Cell, Answer]) -> Iterator[tuple[Cell, Answer]]:
        for (c, nested), answer in smaller.items():
            for model, row in self.models.items():
                if nested in row.nested and not answer.flaw:
                    yield (c, model), answer

    def answer(self, answers: Mixtures, slot: int) -> Answer:
        """The answer of a cell, without absent components, and what is wrong with it."""
        one, k = answers.take(np.array([slot])), self.cells[slot][0]
        params = take_params(one.params, (slice(None), slice(k)))
        one = replace(one, params=params, statistics=one.statistics[:, :k])
        return Answer(self.problem, one, find_flaw(self.problem, one))


class RelatedStarts:
    """More starts for a cell: the best mixtures of models nested in its model, or containing it.

    Each is run for one iteration, or for `TRIAL` if EM is slow and may take long to leave a saddle
    point; its likelihood then shows whether it is ahead.  The first call also returns
    ``embedded``, the mixtures of smaller families, after one iteration.
    """

    def __init__(self, search: FamilySearch, embedded: Mixtures | None = None) -> None:
        self.search, self.embedded = search, embedded
        trial = TRIAL if search.problem.family.has_slow_em else 1
        self.limits = Limits(search.limits.tol, min(trial, search.limits.max_iter))
        # (cells, cells): the cell of the column is nested in that of the row
        is_nested = np.zeros((len(search.cells), len(search.cells)), dtype=bool)
        for row, (c, model) in enumerate(search.cells):
            for nested in search.models[model].nested:
                if (c, nested) in search.cells:
                    is_nested[row, search.cells.index((c, nested))] = True
        self.is_related = is_nested | is_nested.T

    def __call__(self, answers: Mixtures, new: IntArray) -> Mixtures | None:
        """Candidates for cells that are related to those with new answers."""
        target, column = np.nonzero(self.is_related[:, new])
        parts = [] if self.embedded is None else [self.embedded]
        self.embedded = None
        if len(target):
            codes, zeros = self.search.codes[target], np.zeros(len(target), dtype=np.intp)
            start = answers.take(new[column]).resumed()
            start = replace(start, structure_code=codes, slot=target, n_iter=zeros)
            parts.append(maximise(self.search.problem, start, self.limits))
        return Mixtures.concatenate(parts) if parts else None


def find_flaw(problem: Problem, one: Mixtures) -> str:
    """Why a mixture is refused; empty if it is not."""
    if one.is_degenerate[0]:
        return "a component became singular"
    if not one.params[0].all():
        return "a component has no objects"
    family, n = problem.family, problem.n_objects
    spurious = np.flatnonzero(family.is_spurious(one.params, n)[0])
    return family.describe_spurious(one.params, int(spurious[0]), n) if len(spurious) else ""


def distinct_partitions(starts: Sequence[Partitions]) -> Iterator[tuple[int, IntArray]]:
    """Number of clusters and labels of each partition; without repeats."""
    seen = set()
    for start in starts:
        for c, labels in start.items():
            _, first, names = np.unique(labels, return_index=True, return_inverse=True)
            key = c, np.argsort(np.argsort(first))[names].tobytes()
            if key not in seen:
                seen.add(key)
                yield c, labels
