"""Masses from pairwise intervals: Algorithm 2 (IRQP), Eq. (8)-(19) of [D20].

n objects, f focal sets, c clusters; ``M`` (n, f) holds the masses.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import squareform

from credpart._arrays import Array, BoolArray
from credpart._checks import check_choice, check_fraction, check_integer, in_row
from credpart._messages import Message, Name
from credpart._progress import Progress
from credpart._random import random_generator
from credpart._threads import one_blas_thread
from credpart.errors import ConvergenceWarning, InputError, InputTypeError
from credpart.focal import check_focal_sets, disjoint_matrix, same_matrix
from credpart.intervals import PairwiseIntervals
from credpart.masses.descent import AllPairs, descend
from credpart.masses.starts import STARTS, certain_masses
from credpart.partition import EvidentialPartition
from credpart.partition.special import check_masses
from credpart.simplex_qp import simplex_qp

CHUNK = 256  # new objects solved together


@dataclass(frozen=True, slots=True, eq=False)
class IRQPResult:
    """What `irqp` found.

    Attributes
    ----------
    partition : EvidentialPartition
        The masses.
    objective : float
        J of Eq. (9).
    n_sweeps : int
        Number of passes over all objects.
    history : array of shape (n_sweeps,)
        J of Eq. (9) after each sweep; it never rises.  [D20] accumulates another J^(t) in
        Algorithm 2, of rows that still change: it is not computed here.
    converged : bool
        False if `max_sweeps` ended the search.

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


def irqp(
    intervals: PairwiseIntervals,
    focal_sets: ArrayLike,
    *,
    start: str | ArrayLike = "prototypes",
    tol: float = 1e-15,
    max_sweeps: int = 1000,
    random_state: Any = None,
    progress: Progress | None = None,
) -> IRQPResult:
    """Find the evidential partition whose pairwise belief and plausibility fit intervals best.

    Minimises ``sum_{i<j} (Bel_ij - lower_ij)^2 + (Pl_ij - upper_ij)^2``, Eq. (8)-(9), by exact
    quadratic programs, one an object (Algorithm 2 of [D20]).

    Parameters
    ----------
    intervals : PairwiseIntervals
        Bounds on the probability that two objects are in the same cluster.
    focal_sets : array of shape (f, c)
        The sets that may carry mass, as `focal_sets` returns them; not the empty set.
    start : {"prototypes", "random"} or array of shape (n,) or (n, f)
        "prototypes" assigns each object to the nearest of c objects that are found by
        successive projections; it draws no random number and, if the focal sets treat all
        clusters alike, seldom ends above the best of several random starts.  "random" is that
        of [D20].  An array holds 0-based clusters, or masses: give the clusters of the mixture
        if the focal sets are chosen pairs of them.
    tol : float
        Threshold epsilon on the running mean of relative changes of J, Eq. (19).  The search
        also ends, and mostly does, when every row meets the KKT conditions of its program to
        1e-10.  As (19) halves at best, a stop by it takes log2(1 / tol) sweeps: with 1e-5 the
        answer is rough, and the default means that J does not change any more.
    max_sweeps : int
        Limit on the passes over all objects; a warning tells if it is reached.
    random_state : int, Generator, RandomState or None
        For the random start.
    progress : callable, optional
        Called with "partition" and, roughly, the share that is done.

    Returns
    -------
    IRQPResult
        Its `partition`, `objective`, `n_sweeps`, `history` and `converged`.

    Notes
    -----
    Rows are solved in blocks, together; a block that would raise J is halved.  Every other
    sweep, an extrapolation of the last ones (Anderson's) is tried, and taken as far as it
    lowers J.  Neither changes what is minimised.

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
    _check_intervals(intervals)
    focal = _check_focal_sets(focal_sets)
    tol = check_fraction("tol", tol)
    max_sweeps = check_integer("max_sweeps", max_sweeps, at_least=1)
    rng = random_generator(random_state)
    with one_blas_thread():
        same, apart = _square(intervals)
        M = _start(start, same, apart, focal, rng)
        targets = [AllPairs(same_matrix(focal), same), AllPairs(disjoint_matrix(focal), apart)]
        found = descend(targets, M, tol=tol, max_sweeps=max_sweeps, progress=progress)
    if not found.converged:
        ended = f"IRQP had not converged after {max_sweeps} sweeps; raise "
        rougher = " or, for a rougher answer, "
        warnings.warn(
            ConvergenceWarning(ended, Name("max_sweeps"), rougher, Name("tol"), "."), stacklevel=2
        )
    found.history.setflags(write=False)
    return IRQPResult(
        EvidentialPartition(found.masses, focal),
        float(found.history[-1]),
        len(found.history),
        found.history,
        found.converged,
    )


def row_masses(partition: EvidentialPartition, lower: ArrayLike, upper: ArrayLike) -> Array:
    """Return the masses (m, f) of new objects that fit their intervals with known ones best.

    One quadratic program (16)-(17) an object, against the fixed masses of the partition; they
    share ``Q``, so the work is linear in m.

    Parameters
    ----------
    partition : EvidentialPartition
        Masses of n known objects.
    lower, upper : array of shape (m, n)
        Bounds on the probability that new object i and known object j are in the same cluster.

    Examples
    --------
    >>> known = EvidentialPartition([[1, 0, 0], [0, 1, 0]], [[1, 0], [0, 1], [1, 1]])
    >>> row_masses(known, [[0.0, 0.7]], [[0.3, 1.0]]).round(6)
    array([[0. , 0.7, 0.3]])
    """
    M, focal = partition.masses, partition.focal_sets
    bounds = _check_bounds("lower", lower, len(M)), _check_bounds("upper", upper, len(M))
    S, C = same_matrix(focal), disjoint_matrix(focal)
    with one_blas_thread():
        gram = M.T @ M
        Q = S @ gram @ S + C @ gram @ C  # (18a)
        u = -2.0 * (bounds[0] @ M @ S + (M.sum(axis=0) - bounds[1] @ M) @ C)  # (18b)
        vertices = np.eye(len(focal))[(np.diagonal(Q) + u).argmin(axis=1)]
        chunks = [slice(i, i + CHUNK) for i in range(0, len(u), CHUNK)]
        rows = [simplex_qp(Q, u[chunk], vertices[chunk]) for chunk in chunks]
    return np.concatenate([np.empty_like(u[:0]), *rows])


def _square(intervals: PairwiseIntervals) -> tuple[Array, Array]:
    """Return ``m*_ij``, the lower bounds and 1 - the upper ones, as (n, n) with zero diagonals."""
    same = squareform(intervals.lower, checks=False)
    apart = squareform(intervals.upper, checks=False)
    np.subtract(1.0, apart, out=apart)
    np.fill_diagonal(apart, 0.0)
    return same, apart


def _start(
    start: str | ArrayLike, same: Array, apart: Array, focal: BoolArray, rng: np.random.Generator
) -> Array:
    if isinstance(start, str):
        return STARTS[check_choice("start", start, STARTS)](same, apart, focal, rng)
    (f, c), n = focal.shape, len(same)
    given = np.asarray(start)
    if given.ndim == 1:
        return certain_masses(_check_labels(given, n, c), focal)
    masses = check_masses("start", given).values
    if masses.shape != (n, f):
        raise InputError("start", f"have shape ({n},) or ({n}, {f})", masses.shape)
    return masses


def _check_labels(labels: NDArray[Any], n: int, c: int) -> NDArray[np.intp]:
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        got = Message(f"{len(labels)} of {labels.dtype}")
        raise InputError("start", f"be {n} integers if it is 1-D", got)
    bad = np.flatnonzero((labels < 0) | (labels >= c))
    if len(bad):
        raise InputError("start", f"be in 0..{c - 1}", in_row(f"{labels[bad[0]]}", bad[0]))
    return labels.astype(np.intp)


def _check_intervals(value: object) -> None:
    if not isinstance(value, PairwiseIntervals):
        raise InputTypeError(
            "intervals",
            "be a PairwiseIntervals",
            Message(type(value).__name__),
            "Make one of any bounds with `PairwiseIntervals(lower, upper, level)`.",
        )


def _check_focal_sets(value: ArrayLike) -> BoolArray:
    focal = check_focal_sets(value)
    empty = np.flatnonzero(~focal.any(axis=1))
    if len(empty):
        raise InputError(
            "focal_sets",
            "be non-empty sets",
            in_row("the empty set", empty[0]),
            "Leave it out: Eq. (2) is for normalised masses.",
        )
    return focal


def _check_bounds(name: str, value: ArrayLike, n: int) -> Array:
    bounds = np.asarray(value, dtype=np.float64)
    if bounds.ndim != 2 or bounds.shape[1] != n:
        raise InputError(name, f"have shape (m, {n})", bounds.shape)
    if not ((bounds >= 0.0) & (bounds <= 1.0)).all():
        i, j = np.argwhere(~((bounds >= 0.0) & (bounds <= 1.0)))[0]
        raise InputError(name, "be in [0, 1]", in_row(f"{bounds[i, j]:g}", i))
    return bounds
