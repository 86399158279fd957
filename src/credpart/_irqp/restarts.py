"""Several starts of Algorithm 2, of which the best result is kept.

Where the intervals are long J has local minima.  `docs/design-notes.md` says how often, and what
the constants below are taken from.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from credpart._arrays import Array, BoolArray, IntArray
from credpart._irqp.descent import AllPairs, Descent, descend
from credpart._irqp.starting_masses import random_start
from credpart._progress import Progress
from credpart.focal import within
from credpart.partition.measures import pignistic

CLEAR = 0.2  # mean length of the intervals up to which one start is enough
MOST = 6  # starts that are tried, at most, if their number is not given
STALL = 1e-6  # a later start is judged when a sweep lowers J by less than this, relative to J
SAME = 1e-4  # relative difference of J up to which two starts have led to the same minimum


def best_descent(
    pairs: AllPairs,
    focal: BoolArray,
    start: Array,
    rng: np.random.Generator,
    *,
    n_starts: int | None,
    keep_numbers: bool,
    tol: float,
    max_sweeps: int,
    progress: Progress | None,
    allowed: BoolArray | None = None,
) -> tuple[Descent, int]:
    """Return the best of several descents, and the number of starts.

    The descent from ``start`` (n, f) is kept unless another is better.  Later ones start from
    random masses, and are followed only until it is seen where they lead; one that leads to a
    lower J is then run to its end.

    If ``n_starts`` is None, starts are tried until two of them have led to the lowest J; but one is
    enough where the intervals are clear.  With ``keep_numbers`` the clusters are numbered as in
    ``start``, and a start whose clusters cannot be numbered so is left out.  As this happens to
    most if the focal sets do not treat all clusters alike, one start is then all that is tried.

    ``allowed`` (n, f) says which masses may be positive.  It fixes the numbers of clusters too: a
    start that leads to others is left out.
    """
    renumbering = is_symmetric(focal) or not keep_numbers
    limit = n_starts or (MOST if renumbering and mean_length(pairs) > CLEAR else 1)
    to_end = partial(descend, pairs, tol=tol, max_sweeps=max_sweeps, allowed=allowed)
    best = to_end(start, progress=_part(progress, 0, limit))
    n_tried = 1
    while n_tried < limit:
        masses = random_start(pairs, focal, rng)
        if allowed is not None:
            masses = within(masses, allowed)
        part = _part(progress, n_tried, limit)
        rough = to_end(masses, stall=STALL, progress=part)
        n_tried += 1
        if rough.objective < (1.0 - SAME) * best.objective:
            same = list(range(len(focal)))
            columns: list[int] | None = same
            if keep_numbers:
                columns = matching_columns(rough.masses, focal, start, pairs.weights)
            if columns is not None and (allowed is None or columns == same):
                best = to_end(masses[:, columns])
        elif n_starts is None and rough.objective <= (1.0 + SAME) * best.objective:
            break
    if progress is not None:
        progress("partition", 1.0)
    return best, n_tried


def mean_length(pairs: AllPairs) -> float:
    """Return the mean length of the intervals over pairs of copies; 0 if there is no pair."""
    w = pairs.weights
    selves = w * np.minimum(w, 1.0)
    n_pairs = w.sum() ** 2 - selves.sum()
    certain = sum(w @ T @ w - selves @ np.diagonal(T) for T in pairs.values)
    return float(1.0 - certain / n_pairs) if n_pairs > 0.0 else 0.0


def matching_columns(
    masses: Array, focal: BoolArray, like: Array, weights: Array
) -> list[int] | None:
    """Return the order of the columns of masses (n, f) in which clusters are numbered as in others.

    ``masses[:, columns]`` are the masses after the renumbering of the clusters that makes them most
    like the masses ``like``.  J does not depend on the numbers if the renumbered focal sets are the
    same family of sets.  Chosen pairs of clusters may become other pairs: the result is then None.

    >>> focal = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    >>> masses, like = np.array([[0.1, 0.7, 0.2]]), np.array([[1.0, 0.0, 0.0]])
    >>> matching_columns(masses, focal, like, np.ones(1))
    [1, 0, 2]
    """
    sets = focal.any(axis=1)  # the empty set says nothing of clusters
    mine, others = pignistic(like[:, sets], focal[sets]), pignistic(masses[:, sets], focal[sets])
    agreement = (weights[:, None] * mine).T @ others
    _, order = linear_sum_assignment(agreement, maximize=True)
    return _columns_after(order, focal)


def is_symmetric(focal: BoolArray) -> bool:
    """Return whether every renumbering of the clusters gives the same family of focal sets.

    It is enough to exchange neighbours, which gives all renumberings.

    >>> is_symmetric(np.eye(3, dtype=bool)), is_symmetric(np.eye(3, dtype=bool)[:2])
    (True, False)
    """
    c = focal.shape[1]
    exchanges = [[*range(k), k + 1, k, *range(k + 2, c)] for k in range(c - 1)]
    return all(_columns_after(exchange, focal) is not None for exchange in exchanges)


def _columns_after(order: Sequence[int] | IntArray, focal: BoolArray) -> list[int] | None:
    """The order of columns of masses for an order of clusters; None if it gives other sets."""
    place = {tuple(row): f for f, row in enumerate(focal[:, order].tolist())}
    sets = [tuple(row) for row in focal.tolist()]
    return [place[one] for one in sets] if place.keys() == set(sets) else None


def _part(progress: Progress | None, number: int, total: int) -> Progress | None:
    """The progress of one start among several."""
    if progress is None or total == 1:
        return progress
    return lambda stage, share: progress(stage, (number + share) / total)
