"""The best fit of every cell, a model and a number of clusters, from many starts.

After short runs from every start the best of each cell goes on, and cells exchange what they find:
once a run of it has ended, a cell tries where the structures nested in it, and those it is nested
in, have ended with as many clusters, and goes on from there if that is ahead of all it has.  So in
the end no nested structure is better than its parent, unless the ways up from it end in refused
spikes.

Families come one after the other, from the smaller to the larger: a larger one also starts from
the clusters that those nested in it have found, and from their very answers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.models import Model
from credpart.mixture.optimisation.em import MCLUST_TOLERANCE, PAYS, Status, e_step, normalise
from credpart.mixture.optimisation.lbfgs import is_charted
from credpart.mixture.search.model_grid import (
    Candidate,
    Cell,
    Outcome,
    Setting,
    Source,
    best,
    improves,
    rank,
    run,
)

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

SHORT = 20  # iterations after which only the best start of a cell goes on
CRAWL = 2e-4  # gains from which on steps are accelerated, of runs that are longer than a window


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
                statistics = setting.family.statistics(setting.features, resp)
                clusters.append(Candidate((c, model), Source(statistics)))
                answers.append(embed(setting, old, model))
    return Given(clusters, answers)


def responsibilities(setting: Setting, outcome: Outcome) -> Array:
    """Weights times posteriors (1, k, n) of an outcome."""
    joint: Array = setting.family.log_joint(setting.features, outcome.mixture)
    normalise(joint)
    joint *= setting.weights
    return joint


def embed(setting: Setting, outcome: Outcome, model: str) -> Candidate:
    """The outcome of a smaller family as a mixture of this one."""
    params = setting.family.embed(outcome.mixture)
    statistics = e_step(setting.family, setting.features, setting.weights[None], params)[1]
    return Candidate((outcome.cell[0], model), Source(statistics, params))


def from_partitions(
    setting: Setting, starts: Sequence[Mapping[int, Labels]]
) -> Iterator[Candidate]:
    """What starting partitions are to every model."""
    family, features, weights, models = setting
    for place, c, labels in distinct(starts):
        resp = np.where(labels == np.arange(c)[:, None], weights, 0.0)
        source = Source(family.statistics(features, resp[None]))
        for model in models:
            yield Candidate((c, model), source, is_first=place == 0)


def search(
    setting: Setting,
    starts: Sequence[Mapping[int, Labels]],
    given: Given = NOTHING,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[str, float], None] | None = None,
) -> dict[Cell, Outcome]:
    """The best outcome of every model and number of clusters that the starts have.

    Where mclust would stop, cells have found their regions: only the best goes on from there.
    """
    has_chart = is_charted(setting.family)
    stages = 2 if tol < PAYS * MCLUST_TOLERANCE and not has_chart else 1
    loose = MCLUST_TOLERANCE if stages == 2 else tol

    done = 0.0

    def report(share: float) -> None:
        nonlocal done
        done = max(done, share / stages)  # a cell may set off again
        if progress is not None:
            progress("select", done)

    candidates, limit = [*from_partitions(setting, starts), *given.clusters], min(SHORT, max_iter)
    short = run(setting, candidates, is_race=not has_chart, tol=loose, max_iter=limit)
    leading = best(short, loose)
    # The first start goes to its end even where another one is ahead now, unless it gave up.
    going = [new for new in short if new is leading[new.cell] or is_spare(new, limit)]
    chosen = set(map(id, going))
    others = [new for new in short if id(new) not in chosen and not new.flaw]
    # Quasi-Newton steps learn from those before them: they are not interrupted.  Where they are
    # used, likelihoods have saddles and plateaus: what is better may be worse at first.
    window, trial = (max_iter, SHORT) if has_chart else (SHORT, 1)
    limits = {"trial": trial, "max_iter": max_iter}
    exchange = Exchange(setting.models, loose, given.answers, others)
    follow(setting, exchange, going, report, window=window, **limits)
    found = exchange.answers()
    if stages == 1:
        return found
    others = [end for end in exchange.ended if end is not found[end.cell] and not end.flaw]
    exchange = Exchange(setting.models, tol, reserve=others)
    going = [new._replace(status=Status.NOT_CONVERGED) for new in found.values()]
    follow(setting, exchange, going, lambda share: report(1.0 + share), window=max_iter, **limits)
    return exchange.answers()


def is_spare(new: Outcome, limit: int) -> bool:
    """The run of a first start that has not given up before the limit."""
    gave_up = new.status == Status.NOT_CONVERGED and new.n_iter < limit
    return new.is_first and not new.flaw and not gave_up


def follow(
    setting: Setting,
    exchange: "Exchange",
    going: list[Outcome],
    report: Callable[[float], None],
    *,
    window: int,
    trial: int,
    max_iter: int,
) -> None:
    """All runs to their ends, and cells on from there as long as others have better answers.

    Answers are exchanged once in a window of iterations; so many as a trial has tell whether one
    is better.
    """
    n_cells, slow = len({new.cell for new in going}), MCLUST_TOLERANCE
    while going:
        # What has not ended does not count yet: it may be on its way to a spike.
        ended, going = divide(going, max_iter)
        exchange.settle(ended)
        report((1 + len(exchange.found)) / (1 + n_cells))
        trials = run(setting, exchange.offers(), tol=exchange.tol, max_iter=trial)
        exchange.weigh(new._replace(n_iter=0) for new in trials)
        going += exchange.ways(going)
        oldest = max((new.n_iter for new in going), default=0)
        window = max(window, oldest // 2)  # few in all, however long the way of the oldest
        limit = min(window, max_iter - oldest)
        going = run(setting, going, tol=exchange.tol, max_iter=limit, slow=slow)
        slow = CRAWL


class Exchange:
    """What cells have found, and what they make of each other's answers."""

    def __init__(
        self,
        models: Mapping[str, Model],
        tol: float,
        answers: Iterable[Candidate] = (),  # of others, for cells to try
        reserve: Iterable[Outcome] = (),  # where cells go on, anew, if what they have is refused
    ) -> None:
        self.tol, self.kin = tol, kin(models)
        self.found: dict[Cell, Outcome] = {}
        self.ended: list[Outcome] = []
        self.untried: dict[Cell, list[Candidate]] = defaultdict(list)
        self.tried: dict[Cell, list[Outcome]] = defaultdict(list)
        for answer in answers:
            self.untried[answer.cell].append(answer)
        self.weigh(new._replace(n_iter=0) for new in reserve)

    def settle(self, ended: Sequence[Outcome]) -> None:
        """Take in where runs have ended; what is new is offered to related models."""
        self.ended += ended
        before, self.found = self.found, best([*self.found.values(), *ended], self.tol)
        for (c, model), new in self.found.items():
            if new is not before.get(new.cell) and not new.flaw:
                for other in self.kin[model]:
                    self.untried[c, other].append(Candidate((c, other), new.source, new.place))

    def answers(self) -> dict[Cell, Outcome]:
        """What cells have found; of equals that of the first start, whatever ended earlier."""
        firsts = {end.cell: end for end in self.ended if end.is_first and not end.flaw}
        return self.found | {
            cell: end
            for cell, end in firsts.items()
            if not improves(self.found[cell], end, self.tol)
        }

    def offers(self) -> list[Candidate]:
        """Answers of others for cells to try that have found one."""
        return [candidate for cell in self.found for candidate in self.untried.pop(cell, ())]

    def weigh(self, outcomes: Iterable[Outcome]) -> None:
        """Take in where cells may go on from."""
        for outcome in outcomes:
            self.tried[outcome.cell].append(outcome)

    def ways(self, going: Iterable[Outcome]) -> list[Outcome]:
        """Where cells go on from: the best they have tried, if it is ahead of all they have.

        Where that ends in a refused fit, the next best gets its turn.
        """
        chosen, ahead = [], best([*self.found.values(), *going], self.tol)
        for cell, found in self.found.items():
            rivals = [new for new in self.tried[cell] if improves(new, found, self.tol)]
            rivals.sort(key=rank)
            if rivals and improves(rivals[-1], ahead[cell], self.tol):
                chosen.append(rivals.pop())
            self.tried[cell] = rivals
        return chosen


def divide(runs: Iterable[Outcome], max_iter: int) -> tuple[list[Outcome], list[Outcome]]:
    """Runs that have ended, and those that have not."""
    parts: tuple[list[Outcome], list[Outcome]] = [], []
    for outcome in runs:
        is_going = outcome.status == Status.NOT_CONVERGED and outcome.n_iter < max_iter
        parts[is_going].append(outcome)
    return parts


def distinct(starts: Sequence[Mapping[int, Labels]]) -> Iterator[tuple[int, int, Labels]]:
    """Place, number of clusters and labels of each partition; the same one comes once."""
    seen = set()
    for place, start in enumerate(starts):
        for c, labels in start.items():
            _, first, names = np.unique(labels, return_index=True, return_inverse=True)
            key = c, np.argsort(np.argsort(first))[names].tobytes()
            if key not in seen:
                seen.add(key)
                yield place, c, labels


def kin(models: Mapping[str, Model]) -> dict[str, list[str]]:
    """The models that are nested in each one, or that it is nested in."""
    return {
        one: [name for name, row in models.items() if one in row.nested or name in own.nested]
        for one, own in models.items()
    }
