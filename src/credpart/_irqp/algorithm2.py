"""The evidential partition that fits pairwise intervals: Algorithm 2 (IRQP), Eq. (8)-(19) of [D20].

n objects, f focal sets, c clusters; ``M`` (n, f) holds the masses.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credpart._arrays import Array, BoolArray, IntArray, sums_by
from credpart._checks import check_choice, check_fraction, check_integer, check_weights, in_row
from credpart._irqp.descent import AllPairs
from credpart._irqp.new_objects import best_rows
from credpart._irqp.restarts import best_descent
from credpart._irqp.starting_masses import INITIALISATIONS, certain_masses
from credpart._messages import Message, Name
from credpart._progress import Progress
from credpart._random import random_generator
from credpart._threads import one_blas_thread
from credpart.errors import ConvergenceWarning, InputError, InputTypeError, warn_caller
from credpart.focal import check_focal_sets, check_non_empty, disjoint_matrix, same_matrix, within
from credpart.intervals import PairwiseIntervals
from credpart.partition import EvidentialPartition
from credpart.partition.special import check_masses


@dataclass(frozen=True, slots=True, eq=False)
class IRQPResult:
    """What `irqp` found.

    Attributes
    ----------
    partition : EvidentialPartition
        The masses.
    objective : float
        J of Eq. (9), weighted if weights were given.
    n_sweeps : int
        Number of passes over all objects.
    history : array of shape (n_sweeps,)
        J of Eq. (9) after each sweep; it never rises.  [D20] accumulates another J^(t) in
        Algorithm 2, of rows that still change: it is not computed here.
    converged : bool
        False if `max_sweeps` ended the search.
    n_starts : int
        Number of starts that were tried; the other attributes are those of the best.

    Examples
    --------
    >>> from credpart import PairwiseIntervals, focal_sets, irqp
    >>> intervals = PairwiseIntervals([0.9, 0.0, 0.1], [1.0, 0.1, 0.2], level=0.9)
    >>> irqp(intervals, focal_sets(2)).partition
    EvidentialPartition(n_objects=3, n_clusters=2, n_focal_sets=3)
    """

    partition: EvidentialPartition
    objective: float
    n_sweeps: int
    history: Array
    converged: bool
    n_starts: int


def irqp(
    intervals: PairwiseIntervals,
    focal_sets: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    objects: ArrayLike | None = None,
    allowed: ArrayLike | None = None,
    start: str | ArrayLike = "prototypes",
    n_starts: int | str = "auto",
    tol: float = 1e-15,
    max_sweeps: int = 1000,
    random_state: Any = 0,
    noise: bool = False,
    progress: Progress | None = None,
) -> IRQPResult:
    """Find the evidential partition whose pairwise belief and plausibility fit intervals best.

    Minimises ``J = sum_{i<j} (Bel_ij - lower_ij)^2 + (Pl_ij - upper_ij)^2``, Eq. (8)-(9), by
    exact quadratic programs, one for each object (Algorithm 2 of [D20]).

    Parameters
    ----------
    intervals : PairwiseIntervals
        Bounds on the probability that two objects are in the same cluster.
    focal_sets : array of shape (f, c)
        The sets that may carry mass, as `focal_sets` returns them; the empty set only with
        ``noise``.
    sample_weight : array of shape (n,), optional
        Weights of the objects.  A weight of 2 is the object twice: see the notes.  An object of
        weight 0 has no influence on the others, and gets masses as a new object does.
    objects : array of int, shape (n,), optional
        Numbers of the objects, from 0, if some of the n rows are copies of one object: they count
        as one, of the weight of all of them, and have the same masses.  The order of the numbers
        is that in which objects are worked on; that of the rows changes nothing.  Of the copies
        of an object the first has the bounds, the start and the sets that count.
    allowed : array of bool, shape (n, f), optional
        The sets that may carry mass of each object, at least one; None is all of them.  A start in
        which an object has mass elsewhere is cut to these.
    start : {"prototypes", "random"} or array of shape (n,) or (n, f)
        "prototypes" assigns each object to the nearest of c objects that are found by
        successive projections.  "random" is the start of [D20].  An array holds 0-based clusters,
        or masses: the clusters of the partition are then numbered as in this array.
    n_starts : int or "auto"
        Number of starts, of which the best result is kept; those after the first are random.
        With "auto", starts are tried until two of them have led to the lowest J, at most 6; but
        one is enough if the mean length of the intervals is at most 0.2, or if `start` is an array
        and the focal sets do not treat all clusters alike.
    tol : float
        Threshold epsilon on the running mean of relative changes of J, Eq. (19).  The search
        also ends, and mostly does, when every row meets the KKT conditions of its program to
        1e-10.  As (19) halves at best, a stop by it takes log2(1 / tol) sweeps: with 1e-5 the
        answer is rough, and the default means that J does not change any more.
    max_sweeps : int
        Limit on the passes over all objects from one start; a warning says if it is reached.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed of the random starts.
    noise : bool
        Whether objects may belong to no cluster, which mass on the empty set says.  It is then one
        of the sets that share no cluster with any other: two outliers are not in the same cluster.
    progress : callable, optional
        Called with "partition" and, roughly, the fraction of the work that is done.

    Returns
    -------
    IRQPResult
        Its `partition`, `objective`, `n_sweeps`, `history`, `converged` and `n_starts`.

    Notes
    -----
    With weights w, J is the sum over i < j of ``w_i w_j`` times the squared errors, as for
    repeated objects.  An object of weight above 1 also makes ``w_i (w_i - 1) / 2`` pairs of two
    copies, whose bounds are ``intervals.own_lower`` and ``intervals.own_upper``.  A weight below 1
    is less than one copy, and makes no such pair.  Without ``objects``, copies in several rows are
    objects that happen to have the same bounds: J is the same, but the path to its minimum is
    another one, and so may be the minimum if there are several.

    Rows are solved in blocks, together; a block that would raise J is halved.  Every other
    sweep, an extrapolation of the last ones (Anderson's) is tried, and taken as far as it
    lowers J.  Neither changes what is minimised.

    A later start may lead to the clusters of a given array in another order.  They are then
    renumbered, by the assignment with the largest agreement, if the focal sets allow it.  Chosen
    pairs of clusters may not: such a start is left out.

    Examples
    --------
    >>> from credpart.focal import focal_sets
    >>> intervals = PairwiseIntervals([0.9, 0.0, 0.1], [1.0, 0.1, 0.2], level=0.9)
    >>> result = irqp(intervals, focal_sets(2, "pairs"))
    >>> result.partition.labels
    array([0, 0, 1])
    >>> round(result.objective, 4)
    0.0039
    """
    n = _check_intervals(intervals)
    first_row, place = _check_objects(objects, n)
    weights = sums_by(place, check_weights("sample_weight", sample_weight, n))
    _check_own_bounds(intervals, weights, first_row)
    focal = _check_focal_sets(focal_sets, may_be_empty=noise)
    inside = None if allowed is None else _check_allowed(allowed, n, len(focal))[first_row]
    chosen = _check_start(start, n, focal)
    limit = _check_n_starts(n_starts)
    tol = check_fraction("tol", tol)
    max_sweeps = check_integer("max_sweeps", max_sweeps, at_least=1)
    rng = random_generator(random_state)
    counted = weights > 0.0
    with one_blas_thread():
        values = _values(intervals, weights, first_row)
        pairs = _pairs(values, focal, weights)
        if isinstance(chosen, str):
            first = INITIALISATIONS[chosen](pairs, focal, rng)
        else:
            first = chosen[first_row[counted]]
        mine = None if inside is None else inside[counted]
        found, n_tried = best_descent(
            pairs,
            focal,
            first if mine is None else within(first, mine),
            rng,
            n_starts=limit,
            keep_numbers=not isinstance(chosen, str),
            tol=tol,
            max_sweeps=max_sweeps,
            progress=progress,
            allowed=mine,
        )
        masses = np.empty((len(weights), len(focal)))
        masses[counted] = found.masses
        lower, apart = values[:, ~counted][:, :, counted]
        others = None if inside is None else inside[~counted]
        masses[~counted] = best_rows(
            found.masses, focal, weights[counted], lower, 1.0 - apart, others
        )
    if not found.converged:
        ended = f"IRQP had not converged after {max_sweeps} sweeps; raise "
        rougher = " or, for a rougher answer, "
        warn_caller(ConvergenceWarning(ended, Name("max_sweeps"), rougher, Name("tol"), "."))
    found.history.setflags(write=False)
    return IRQPResult(
        EvidentialPartition(masses[place], focal),
        found.objective,
        len(found.history),
        found.history,
        found.converged,
        n_tried,
    )


def _values(intervals: PairwiseIntervals, weights: Array, rows: IntArray) -> Array:
    """Return ``m*_ij`` of the objects in some rows: lower bounds and 1 - upper ones, (2, m, m).

    The diagonal is for two copies of an object.  It is 0 where there is no second copy.
    """
    n, m, copied = intervals.n_objects, len(rows), weights > 1.0
    values = np.zeros((2, m, m))
    for k in range(m - 1):  # row by row: `squareform` would need the memory of a third square
        i, j = np.minimum(rows[k], rows[k + 1 :]), np.maximum(rows[k], rows[k + 1 :])
        pair = i * n - i * (i + 1) // 2 + j - i - 1
        values[0, k, k + 1 :] = values[0, k + 1 :, k] = intervals.lower[pair]
        values[1, k, k + 1 :] = values[1, k + 1 :, k] = 1.0 - intervals.upper[pair]
    if intervals.own_lower is not None and intervals.own_upper is not None:
        values[0, copied, copied] = intervals.own_lower[rows[copied]]
        values[1, copied, copied] = 1.0 - intervals.own_upper[rows[copied]]
    return values


def _pairs(values: Array, focal: BoolArray, weights: Array) -> AllPairs:
    """Return J as a function of the masses of the objects that have a weight."""
    counted = weights > 0.0
    if not counted.all():
        # products of another order in memory have other last bits
        values = np.ascontiguousarray(values[:, counted][:, :, counted])
    return AllPairs(
        np.stack([same_matrix(focal), disjoint_matrix(focal)]), values, weights[counted]
    )


def _check_start(start: str | ArrayLike, n: int, focal: BoolArray) -> str | Array:
    """Return the name of an initialisation, or masses (n, f)."""
    if isinstance(start, str):
        return check_choice("start", start, INITIALISATIONS)
    f, c = focal.shape
    given = np.asarray(start)
    if given.ndim == 1:
        return certain_masses(_check_labels(given, n, c), focal)
    masses = check_masses("start", given).values
    if masses.shape != (n, f):
        raise InputError("start", f"have shape ({n},) or ({n}, {f})", masses.shape)
    return masses


def _check_allowed(allowed: ArrayLike, n: int, f: int) -> BoolArray:
    """Return which of f sets may carry mass of each of n objects."""
    given = np.asarray(allowed)
    if given.shape != (n, f) or given.dtype != np.bool_:
        got = Message(f"shape {given.shape} of {given.dtype}")
        raise InputError("allowed", f"be bools of shape ({n}, {f})", got)
    stuck = np.flatnonzero(~given.any(axis=1))
    if len(stuck):
        raise InputError("allowed", "hold a set for each object", in_row("none", stuck[0]))
    return given


def _check_n_starts(value: object) -> int | None:
    """Return the number of starts, or None for "auto"."""
    if value == "auto":
        return None
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InputError("n_starts", "be 'auto' or an integer >= 1", value)
    return int(value)


def _check_labels(labels: NDArray[Any], n: int, c: int) -> IntArray:
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        got = Message(f"{len(labels)} of {labels.dtype}")
        raise InputError("start", f"be {n} integers if it is 1-D", got)
    bad = np.flatnonzero((labels < 0) | (labels >= c))
    if len(bad):
        raise InputError("start", f"be in 0..{c - 1}", in_row(f"{labels[bad[0]]}", bad[0]))
    return labels.astype(np.intp)


def _check_intervals(value: object) -> int:
    """Return the number of rows that have intervals."""
    if not isinstance(value, PairwiseIntervals):
        raise InputTypeError(
            "intervals",
            "be a PairwiseIntervals",
            Message(type(value).__name__),
            "Make one of any bounds with `PairwiseIntervals(lower, upper, level)`.",
        )
    return value.n_objects


def _check_objects(objects: ArrayLike | None, n: int) -> tuple[IntArray, IntArray]:
    """Return the first row of each object, and the object of each of n rows."""
    if objects is None:
        return np.arange(n), np.arange(n)
    given = np.asarray(objects)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        got = Message(f"shape {given.shape} of {given.dtype}")
        raise InputError("objects", f"be {n} integers", got)
    numbers, first = np.unique(given, return_index=True)
    if len(numbers) and (numbers[0] != 0 or numbers[-1] != len(numbers) - 1):
        got = Message(f"{len(numbers)} numbers from {numbers[0]} to {numbers[-1]}")
        raise InputError("objects", "number the objects from 0, without a gap", got)
    return first, given.astype(np.intp)


def _check_own_bounds(intervals: PairwiseIntervals, weights: Array, rows: IntArray) -> None:
    """Refuse intervals without the bounds of copies, if an object of these rows has some."""
    copied = np.flatnonzero(weights > 1.0)
    if len(copied) and intervals.own_lower is None:
        raise InputError(
            "intervals",
            Message(
                "have ",
                Name("own_lower"),
                " and ",
                Name("own_upper"),
                ", the bounds of an object and a copy of itself, if a weight exceeds 1",
            ),
            in_row(f"none and a weight of {weights[copied[0]]:g}", rows[copied[0]]),
            "`pairwise_intervals` computes them.",
        )


def _check_focal_sets(value: ArrayLike, *, may_be_empty: bool) -> BoolArray:
    focal = check_focal_sets(value)
    return focal if may_be_empty else check_non_empty(focal)
