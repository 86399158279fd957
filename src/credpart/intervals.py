"""Confidence intervals on the pairwise probabilities (Algorithm 1, lines 4-11).

``P_ij = sum_k pi_ik pi_jk``, Eq. (4), is the probability that objects i and j are in the same
cluster.  Its interval at level ``1 - alpha`` runs between the ``alpha / 2`` and ``1 - alpha / 2``
quantiles of its replicates (R's type 7), or is made of them by another method of `METHODS`.  Only
products within one replicate enter, so clusters need no matching from one replicate to the next,
and any sampler of posteriors can feed it.

B replicates, n objects, c clusters.  The n x n x B values never stand in memory together: they
are made and reduced tile by tile.  The size of a tile depends on the problem alone and every
value is a sum in the order of k, so the result does not depend on the number of jobs.

P_ij is computed in single precision.  This moves it by 2e-7 at most, far less than another seed
of the bootstrap does, and the products take half the time of double precision.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isqrt
from statistics import NormalDist
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import squareform
from scipy.special import ndtr, ndtri

from credpart._arrays import Array, BoolArray, IntArray, Single
from credpart._checks import check_choice, check_fraction, check_weights
from credpart._messages import Message, Name
from credpart._order_statistics import quantiles
from credpart._parallel import run_tasks
from credpart._progress import Progress
from credpart.errors import InputError

ROUNDING = 1e-12  # bounds that leave [0, 1], or cross, by less are moved back
SUM_TOLERANCE = 1e-6  # how far the posteriors of one object may be above a sum of 1
TILE_ROWS = 16  # objects on the short side of a tile
TILE_VALUES = 2**19  # values in a tile: long work for one call, and little memory to look at twice
ROUNDING_OF_ODDS = 1e-9  # of a probability whose logit was taken and undone
SETTLED = 1e-6  # replicates of a pair that differ by less need no quantiles
EXTREME = 1e-6  # a probability closer to 0 or 1 has the logit of this one, and a bound is 0 or 1
NEGLIGIBLE = 1e-15  # posteriors below are 0: in single precision their products would underflow


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairwiseIntervals:
    """Intervals on the probabilities that two objects are in the same cluster.

    Parameters
    ----------
    lower, upper : array-like of shape (n (n - 1) / 2,)
        Bounds of each pair i < j, row by row, as `scipy.spatial.distance.squareform` orders them.
    level : float
        Confidence level ``1 - alpha``, in (0, 1).
    own_lower, own_upper : array-like of shape (n,), optional
        Bounds of each object and a copy of itself, ``P_ii = sum_k pi_ik^2``: two objects with the
        same values need not be in the same cluster.  They are needed only where a weight says
        that there are copies; `pairwise_intervals` computes them.
    pointwise_level : float, optional
        Level of each interval on its own, where ``level`` is that of all of them together: the
        method "simultaneous".

    Examples
    --------
    >>> intervals = PairwiseIntervals([0.7, 0.0, 0.1], [0.9, 0.2, 0.1], level=0.9)
    >>> intervals
    PairwiseIntervals(n_objects=3, level=0.9, mean length 0.1333)
    >>> intervals.contains([0.8, 0.3, 0.1])
    array([ True, False,  True])
    """

    lower: Array
    upper: Array
    level: float
    own_lower: Array | None = None
    own_upper: Array | None = None
    pointwise_level: float | None = None

    def __post_init__(self) -> None:
        level = check_fraction("level", self.level)
        pairs = {name: _condensed(name, getattr(self, name)) for name in ("lower", "upper")}
        _put_in_order(pairs, "pair")
        bounds = pairs | self._own_bounds(_n_objects(len(pairs["lower"])))
        for bound in bounds.values():
            bound.flags.writeable = False
        for name, value in (*bounds.items(), ("level", level)):
            object.__setattr__(self, name, value)

    def _own_bounds(self, n: int) -> dict[str, Array]:
        """Return the checked bounds of objects and their copies by name, if they were given."""
        given = {"own_lower": self.own_lower, "own_upper": self.own_upper}
        own = {name: _of_objects(name, b, n) for name, b in given.items() if b is not None}
        if len(own) == 1:
            (missing,) = given.keys() - own.keys()
            raise InputError(missing, Message("be given with ", Name(min(own))), None)
        if own:
            _put_in_order(own, "object")
        return own

    def __repr__(self) -> str:
        mean = f", mean length {self.length.mean():.4g}" if len(self.lower) else ""
        return f"PairwiseIntervals(n_objects={self.n_objects}, level={self.level:g}{mean})"

    @property
    def n_objects(self) -> int:
        """Number of objects, n."""
        return _n_objects(len(self.lower))

    @property
    def length(self) -> Array:
        """Length of each interval, condensed."""
        return self.upper - self.lower

    def square(self) -> tuple[Array, Array]:
        """Return both bounds as symmetric (n, n) arrays; an object is with itself for certain."""
        bounds = squareform(self.lower, checks=False), squareform(self.upper, checks=False)
        for bound in bounds:
            np.fill_diagonal(bound, 1.0)
        return bounds

    def contains(self, P: ArrayLike) -> BoolArray:
        """Return which pairs have their value of ``P`` (condensed or square) within the bounds."""
        values = np.asarray(P, dtype=np.float64)
        n = self.n_objects
        if values.shape not in ((n, n), self.lower.shape):
            raise InputError("P", f"have shape {self.lower.shape} or {(n, n)}", values.shape)
        if values.ndim == 2:
            values = squareform(values, checks=False)
        return (self.lower <= values) & (values <= self.upper)


@overload
def pairwise_intervals(
    posteriors: ArrayLike,
    level: float = ...,
    *,
    method: str = ...,
    estimate: ArrayLike | None = ...,
    influence: "Influence | None" = ...,
    sample_weight: ArrayLike | None = ...,
    n_jobs: int | None = ...,
    progress: Any = ...,
) -> PairwiseIntervals: ...
@overload
def pairwise_intervals(
    posteriors: ArrayLike,
    level: Sequence[float],
    *,
    method: str = ...,
    estimate: ArrayLike | None = ...,
    influence: "Influence | None" = ...,
    sample_weight: ArrayLike | None = ...,
    n_jobs: int | None = ...,
    progress: Any = ...,
) -> list[PairwiseIntervals]: ...
def pairwise_intervals(
    posteriors: ArrayLike,
    level: float | Sequence[float] = 0.9,
    *,
    method: str = "percentile",
    estimate: ArrayLike | None = None,
    influence: "Influence | None" = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> PairwiseIntervals | list[PairwiseIntervals]:
    """Return confidence intervals on the pairwise probabilities of Eq. (4).

    Parameters
    ----------
    posteriors : array-like of shape (B, n, c)
        Cluster probabilities of each object in each replicate.  Clusters may be numbered
        differently from one replicate to the next.  They are copied once, in single precision.
        Where they sum to less than 1, the rest is the probability of being in no cluster.
    level : float or sequence of floats
        Confidence level ``1 - alpha``; several share one pass.  At least ``2 / alpha`` replicates
        are needed.
    method : {"percentile", "basic", "normal", "bca", "simultaneous"}
        How bounds are made of replicates.  "percentile": between their quantiles, as in the paper.
        "basic": the quantiles reflected about the estimate, on the logit scale.  "normal": the
        estimate and a multiple of the standard deviation of the replicates, on the logit scale.
        "bca": between quantiles that are corrected for the bias of the replicates and for the
        acceleration of their standard error [E87]_.  "simultaneous": between quantiles so far out
        that a share ``level`` of the replicates lies within the bounds of all pairs at once.
    estimate : array-like of shape (n, c), optional
        Cluster probabilities of the same objects in the fit, which "basic", "normal" and "bca"
        need.  Its clusters need not be those of the replicates, in number or order.
    influence : Influence, optional
        How each object that the mixture was fitted to moves the estimate, from which "bca" finds
        the acceleration.  Without it the acceleration is 0: bounds are corrected for bias alone.
    sample_weight : array of shape (n,), optional
        Weights of the objects, by which "simultaneous" knows its pairs: those of an object without
        weight do not count, and one of weight above 1 makes a pair with its copy.
    n_jobs : int, optional
        Number of threads, as in joblib; `joblib.parallel_config` is respected.  The result does
        not depend on it.
    progress : callable, optional
        Called with "intervals" and the fraction of the work that is done.

    Returns
    -------
    PairwiseIntervals, or a list of them if ``level`` is a sequence

    References
    ----------
    .. [E87] Efron: Better bootstrap confidence intervals.  Journal of the American Statistical
       Association 82, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta([8, 8, 1], [1, 1, 8], size=(100, 3))  # two objects alike, one apart
    >>> intervals = pairwise_intervals(np.stack([p, 1 - p], axis=2), level=0.9)
    >>> intervals.upper.round(2)
    array([0.95, 0.39, 0.41])
    """
    bound = _method(method)
    known = scores(by_object("posteriors", posteriors), bound, estimate, influence)
    levels = _levels(level)
    _check_replicates(levels, known.replicates.shape[2])
    weights = check_weights("sample_weight", sample_weight, len(known.replicates))
    pointwise = bound.pointwise(known.replicates, levels, n_jobs, weights)
    slabs = []
    for slab in _slabs(known, known, pointwise, bound, n_jobs=n_jobs, within=True):
        slabs.append(_above_diagonal(slab))
        if progress is not None:
            left = max(0.0, 1.0 - len(slabs) * TILE_ROWS / len(known.replicates))
            progress("intervals", 1.0 - left**2)  # what is left has pairs within itself only
    empty = np.empty((len(levels), 2, 0))
    bounds = np.concatenate([empty, *slabs], axis=2)
    own = _bounds_of_copies(known, pointwise, bound)
    results = [
        PairwiseIntervals(
            lower=bounds[r, 0],
            upper=bounds[r, 1],
            level=one,
            own_lower=own[r, 0],
            own_upper=own[r, 1],
            pointwise_level=alone if alone != one else None,
        )
        for r, (one, alone) in enumerate(zip(levels, pointwise, strict=True))
    ]
    return results if isinstance(level, Iterable) else results[0]


def cross_intervals(
    posteriors_new: ArrayLike,
    posteriors: ArrayLike,
    level: float = 0.9,
    *,
    method: str = "percentile",
    estimate_new: ArrayLike | None = None,
    estimate: ArrayLike | None = None,
    influence_new: "Influence | None" = None,
    influence: "Influence | None" = None,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Return the bounds between new and known objects, as two (m, n) arrays.

    Parameters
    ----------
    posteriors_new, posteriors : array-like of shape (B, m, c) and (B, n, c)
        Cluster probabilities in the same replicates, with the same numbering of clusters.
    estimate_new, estimate : array-like of shape (m, c) and (n, c), optional
        Cluster probabilities in the fit, which "basic", "normal" and "bca" need.
    influence_new, influence : Influence, optional
        How these are moved by the same fitted objects, for "bca".
    level, method, n_jobs
        As in `pairwise_intervals`.  The bounds of "simultaneous" are as far out as those of all
        pairs of known objects.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.dirichlet([1, 1, 1], (50, 4)), rng.dirichlet([1, 1, 1], (50, 2))
    >>> lower, upper = cross_intervals(new, known, level=0.9)
    >>> lower.shape, bool((lower < upper).all())
    ((2, 4), True)
    """
    left = by_object("posteriors_new", posteriors_new)
    right = by_object("posteriors", posteriors)
    if left.shape[1:] != right.shape[1:]:
        c, B = right.shape[1:]
        as_known = Message(f"have {B} replicates and {c} clusters as ", Name("posteriors"), " has")
        got = Message(f"{left.shape[2]} and {left.shape[1]}")
        raise InputError("posteriors_new", as_known, got)
    level, bound = check_fraction("level", level), _method(method)
    _check_replicates([level], right.shape[2])
    new = scores(left, bound, estimate_new, influence_new, "estimate_new")
    known = scores(right, bound, estimate, influence)
    if new.estimate.shape[1] != known.estimate.shape[1]:
        as_known = Message(f"have {known.estimate.shape[1]} clusters as ", Name("estimate"), " has")
        raise InputError("estimate_new", as_known, new.estimate.shape[1])
    if new.influence.weights.shape != known.influence.weights.shape:
        moved = Message(f"be of {len(known.influence.weights)} objects as ", Name("influence"))
        raise InputError("influence_new", moved, len(new.influence.weights))
    (pointwise,) = bound.pointwise(right, [level], n_jobs, np.ones(len(right)))
    return bounds_between(new, known, pointwise, bound, n_jobs=n_jobs)


class Influence(NamedTuple):
    """How M fitted objects, or groups of them, move cluster probabilities in the fit.

    Examples
    --------
    The mean of three values, as the probability of one of two clusters:

    >>> values = np.array([0.1, 0.2, 0.6])
    >>> moves = np.stack([values - values.mean(), values.mean() - values])[None]
    >>> Influence(moves.astype(np.float32), np.ones(3, dtype=np.float32)).moves.shape
    (1, 2, 3)
    """

    moves: Single  # (n, c, M): derivatives of the probabilities by the weight of each
    weights: Single  # (M,): how often each was seen


class Scores(NamedTuple):
    """Cluster probabilities of objects, in single precision."""

    replicates: Single  # (n, c, B), as `by_object` returns them
    extremes: Single  # (n, c, 2): the least and the largest replicate
    estimate: Single  # (n, c) in the fit; without columns if the method needs none
    influence: Influence  # on the estimate; of no objects if it is unknown or not needed


def scores(
    replicates: Single,
    method: "Method",
    estimate: ArrayLike | None,
    influence: Influence | None = None,
    name: str = "estimate",
) -> Scores:
    """Check the estimate, or that the method needs none."""
    n, none = len(replicates), np.empty(0, dtype=np.float32)
    extremes = np.stack([replicates.min(axis=2), replicates.max(axis=2)], axis=2)
    if not method.needs_estimate:
        empty = np.empty((n, 0), dtype=np.float32)
        return Scores(replicates, extremes, empty, Influence(empty[..., None][..., :0], none))
    if estimate is None:
        raise InputError(
            name,
            "be given: this method starts from the probabilities of the fit",
            None,
            Message("Give ", Name(name), " (n, c), or take the method 'percentile'."),
        )
    values = np.asarray(estimate)
    if values.ndim != 2 or len(values) != n:
        raise InputError(name, f"have shape ({n}, c), one row for each object", values.shape)
    checked = by_object(name, values[None])[..., 0]
    if influence is None or not method.needs_influence:
        return Scores(
            replicates, extremes, checked, Influence(np.empty((*values.shape, 0), "f4"), none)
        )
    shape = (*values.shape, len(influence.weights))
    if influence.moves.shape != shape:
        raise InputError("influence", f"have moves of shape {shape}", influence.moves.shape)
    return Scores(replicates, extremes, checked, influence)


def bounds_between(
    left: Scores, right: Scores, level: float, bound: "Method", *, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """`cross_intervals` of checked probabilities, at the level of each interval on its own."""
    slabs = _slabs(left, right, [level], bound, n_jobs=n_jobs, within=False)
    empty = np.empty((1, 2, 0, len(right.replicates)))
    lower, upper = np.concatenate([empty, *slabs], axis=2)[0]
    return lower, upper


def pairwise_probabilities(posteriors: ArrayLike) -> Array:
    """Return ``P_ij`` of Eq. (4) for each pair i < j, condensed, from posteriors (n, c).

    Examples
    --------
    >>> pairwise_probabilities([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    array([0.5, 0. , 0.5])
    """
    values = np.asarray(posteriors, dtype=np.float64)
    if values.ndim != 2:
        raise InputError("posteriors", "have shape (n, c)", values.shape)
    _check_probabilities("posteriors", _check_shape("posteriors", values[None])[0, ..., None], 0)
    by_cluster = values.T.copy()
    rows = (  # a row of pairs at a time: the square is never formed, and BLAS is not called
        np.einsum("k,kn->n", by_cluster[:, i], by_cluster[:, i + 1 :]) for i in range(len(values))
    )
    return np.concatenate([np.empty(0), *rows])


class Point(NamedTuple):
    """What is known of m pairs besides their replicates."""

    P: Single  # (m,): the estimate; 0 if the method needs none
    acceleration: Array  # (m,): 0 if it is unknown or not needed


def percentile(values: Single, point: Point, levels: Sequence[float]) -> Array:
    """Quantiles at ``alpha / 2`` and ``1 - alpha / 2``, as in [D20]."""
    return quantiles(values, levels)


def basic(values: Single, point: Point, levels: Sequence[float]) -> Array:
    """Quantiles reflected about the estimate: ``2 logit P - logit q``, the other end first."""
    reflected = 2.0 * logit(point.P) - logit(percentile(values, point, levels)[:, ::-1])
    return expit(reflected)


def normal(values: Single, point: Point, levels: Sequence[float]) -> Array:
    """``logit P -+ z s``, where s is the standard deviation of the replicates of logit P."""
    deviation = logit(values).std(axis=1, ddof=1)
    z = np.array([NormalDist().inv_cdf(0.5 + level / 2.0) for level in levels])
    reach = z[:, None] * deviation
    return expit(np.stack([logit(point.P) - reach, logit(point.P) + reach], axis=1))


def bca(values: Single, point: Point, levels: Sequence[float]) -> Array:
    """Quantiles at ``Phi(z0 + (z0 + z) / (1 - a (z0 + z)))``, bias-corrected and accelerated [E87].

    z0 is the normal quantile of the share of replicates below the estimate, a the acceleration and
    z that of ``alpha / 2`` or ``1 - alpha / 2``.  Replicates that are equal to the estimate count
    half.  If all are beyond it, the share is taken as if half of one were not.
    """
    B, P = values.shape[1], point.P[:, None]
    below = (np.count_nonzero(values < P, axis=1) + np.count_nonzero(values <= P, axis=1)) / (2 * B)
    z0 = ndtri(np.clip(below, 0.5 / B, 1.0 - 0.5 / B))
    tails = np.array([[(1.0 - level) / 2.0, (1.0 + level) / 2.0] for level in levels])
    moved = z0 + ndtri(tails)[..., None]
    slack = 1.0 - point.acceleration * moved
    with np.errstate(divide="ignore"):
        probability = ndtr(z0 + moved / np.maximum(slack, 0.0))  # no slack: all or none are below
    values.view(np.int32).sort(axis=1)  # numbers >= 0 are in the order of their bits
    h = (B - 1) * probability  # R's type 7
    low = np.minimum(h.astype(np.intp), B - 1)
    rows = np.arange(len(values))
    inner, outer = values[rows, low], values[rows, np.minimum(low + 1, B - 1)]
    return inner + (h - low) * (outer.astype(np.float64) - inner)


def _accelerations(moves: Single, weights: Single) -> Array:
    """Acceleration of m values that fitted objects move: a sixth of the skewness of ``moves``.

    ``sum w l^3 / (6 (sum w l^2)^1.5)`` for moves l (m, M) of objects with weights w (M,).  Moves
    are divided by the largest of a row: cubes of small ones would underflow.
    """
    if not len(weights):
        return np.zeros(len(moves))
    largest = np.abs(moves).max(axis=1, keepdims=True)
    l = moves / np.maximum(largest, np.finfo(np.float32).tiny)  # noqa: E741 - as in [E87]
    squares = np.square(l)
    variance = np.einsum("pm,m->p", squares, weights, dtype=np.float64)
    third = np.einsum("pm,pm,m->p", squares, l, weights, dtype=np.float64)
    return np.asarray(third / (6.0 * np.where(variance > 0.0, variance, 1.0) ** 1.5))


def logit(P: NDArray[Any]) -> Array:
    """Log odds; 0 and 1 have those of `EXTREME`, so that they are finite."""
    inner = np.clip(P.astype(np.float64), EXTREME, 1.0 - EXTREME)
    return np.log(inner) - np.log1p(-inner)


def expit(odds: Array) -> Array:
    """The probability with these log odds; beyond those of `EXTREME` it is 0 or 1."""
    P = 1.0 / (1.0 + np.exp(-odds))
    margin = EXTREME * (1.0 + ROUNDING_OF_ODDS)
    return np.where(margin >= P, 0.0, np.where(1.0 - margin <= P, 1.0, P))


def as_given(
    known: Single, levels: Sequence[float], n_jobs: int | None, weights: Array
) -> list[float]:
    """Each interval on its own has the level."""
    return list(levels)


def simultaneous_levels(
    known: Single, levels: Sequence[float], n_jobs: int | None, weights: Array
) -> list[float]:
    """The levels of single intervals such that replicates lie within those of all pairs.

    Pairs are those of objects that have a weight; one of weight above 1 has a copy.

    The depth of a replicate is the number of replicates beyond it, in the pair and at the end
    where they are fewest.  Bounds that leave out k replicates at each end of each pair hold, in
    all pairs at once, the replicates of depth k or more; k is the largest number such that their
    share is the level.  Values are compared pair by pair and only the depths are kept.
    """
    counted = weights > 0.0
    known, copied = (known if counted.all() else known[counted]), weights[counted] > 1.0
    n, _, B = known.shape
    tasks = [(known, range(i, min(i + TILE_ROWS, n)), copied) for i in range(0, n, TILE_ROWS)]
    found = run_tasks(_depths, tasks, n_jobs)
    depths = np.sort(np.min([np.full(B, (B - 1) // 2), *found], axis=0))[::-1]
    kept = [ceil(level * B * (1.0 - ROUNDING)) for level in levels]
    return [1.0 - 2.0 * float(depths[number - 1]) / (B - 1) for number in kept]


def _depths(known: Single, rows: range, copied: BoolArray) -> NDArray[np.intp]:
    """The least depth (B,) of each replicate among the pairs of ``rows`` with later objects.

    An object that is copied also has a pair with its copy.
    """
    B = known.shape[2]
    least = np.full(B, B)
    width = max(1, TILE_VALUES // B)
    for i in rows:
        for j in range(i if copied[i] else i + 1, len(known), width):
            P = np.einsum("jkb,kb->jb", known[j : j + width], known[i])  # Eq. (4)
            P = P[P.max(axis=1) - P.min(axis=1) > SETTLED]
            if len(P):
                np.minimum(least, _depths_within(P).min(axis=0), out=least)
    return least


def _depths_within(P: Single) -> NDArray[np.intp]:
    """Numbers of values of the same row that are smaller, or larger, whichever are fewer.

    A value that is tied with others has the larger depth of them: it lies within bounds that
    are equal to it.
    """
    order = P.argsort(axis=1)
    ascending = np.take_along_axis(P, order, axis=1)
    places = np.arange(P.shape[1])
    new = ascending[:, 1:] != ascending[:, :-1]
    edge = np.ones((len(P), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, new]), places, 0), axis=1)
    last = np.where(np.hstack([new, edge]), places, P.shape[1])[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    depths = np.empty(P.shape, dtype=np.intp)
    np.put_along_axis(depths, order, np.minimum(last, P.shape[1] - 1 - first), axis=1)
    return depths


class Method(NamedTuple):
    """How bounds are made of replicates."""

    # Replicates of m pairs (m, B), whose order within a row may be changed, what else is known of
    # the pairs, and levels -> bounds (levels, 2, m).
    bounds: Callable[[Single, Point, Sequence[float]], Array]
    needs_estimate: bool = False
    needs_influence: bool = False
    within_extremes: bool = False  # no bound lies beyond the least or the largest replicate
    allows_delta: bool = False  # the delta method may stand for it in large samples
    # Posteriors (n, c, B) of all objects and levels -> levels of each interval on its own.
    pointwise: Callable[[Single, Sequence[float], int | None, Array], list[float]] = as_given


METHODS: Mapping[str, Method] = {
    "percentile": Method(percentile, within_extremes=True, allows_delta=True),
    "basic": Method(basic, needs_estimate=True),
    "normal": Method(normal, needs_estimate=True),
    "bca": Method(bca, needs_estimate=True, needs_influence=True, within_extremes=True),
    "simultaneous": Method(percentile, within_extremes=True, pointwise=simultaneous_levels),
}


def _method(name: object) -> Method:
    return METHODS[check_choice("method", name, METHODS)]


def replicates_needed(level: float) -> int:
    """Number of replicates such that one, at least, lies beyond each bound: ``2 / alpha``."""
    return ceil(2.0 / (1.0 - level) * (1.0 - ROUNDING))


def _check_replicates(levels: Sequence[float], B: int) -> None:
    for level in levels:
        if replicates_needed(level) > B:
            raise InputError(
                "posteriors",
                f"hold at least {replicates_needed(level)} replicates for level {level:g} "
                "(B >= 2 / alpha)",
                B,
                "Draw more replicates, or lower the level.",
            )


def _slabs(
    left: Scores,
    right: Scores,
    levels: Sequence[float],
    bound: Method,
    *,
    n_jobs: int | None,
    within: bool,
) -> Iterator[Array]:
    """Bounds by slabs of rows; if ``within``, both sides are the same objects, and i < j."""
    m = len(left.replicates) - within
    size = TILE_ROWS if within else max(TILE_ROWS, TILE_VALUES // right.replicates[:, 0].size)
    tasks = [
        (left, right, slice(i, min(i + size, m)), (i + 1) * within, levels, bound)
        for i in range(0, m, size)
    ]
    return run_tasks(_slab, tasks, n_jobs)


def _slab(
    some: Scores, others: Scores, rows: slice, first: int, levels: Sequence[float], bound: Method
) -> Array:
    """Bounds (levels, 2, rows, n - first) of pairs of ``some[rows]`` with ``others[first:]``."""
    ends = np.einsum("jkb,ikb->ijb", others.extremes[first:], some.extremes[rows])
    unknown = ~_settled(ends, bound)
    i, j = np.flatnonzero(unknown.any(axis=1)), np.flatnonzero(unknown.any(axis=0))
    left, own = some.replicates[rows][i], _estimates(some, rows).take(i)
    right, their = others.replicates[first:], _estimates(others, slice(first, None))
    if len(j) < len(right):
        right, their = right[j], their.take(j)
    m, n, B = len(left), len(right), left.shape[2]
    width = max(1, TILE_VALUES // max(1, m * max(B, some.influence.moves.shape[2])))
    memory = np.empty(m * min(n, width) * B, dtype=np.float32)
    found = np.empty((len(levels), 2, m, n))
    for tile in (slice(start, min(start + width, n)) for start in range(0, n, width)):
        P = memory[: m * (tile.stop - tile.start) * B].reshape(m, -1, B)
        np.einsum("jkb,ikb->ijb", right[tile], left, out=P)  # Eq. (4)
        point = _points(own, their.take(tile), some.influence.weights)
        in_tile = bound.bounds(P.reshape(-1, B), point, levels)
        found[..., tile] = in_tile.reshape(*found.shape[:3], -1)
    bounds = np.empty((len(levels), 2, *unknown.shape))
    bounds[:] = np.moveaxis(ends, -1, 0)
    bounds[..., unknown] = found[..., unknown[np.ix_(i, j)]]
    return np.clip(bounds, 0.0, 1.0, out=bounds)


def _settled(ends: Single, bound: Method) -> BoolArray:
    """Which pairs have bounds that are as good as known from the least and largest P_ij (..., 2).

    Sums of products of extremes bound P_ij before a replicate of it is formed.  On Iris, where one
    cluster lies apart, this is enough for 54 % of the pairs.
    """
    return bound.within_extremes & (ends[..., 1] - ends[..., 0] <= SETTLED)


class _Estimates(NamedTuple):
    """Cluster probabilities in the fit, and how fitted objects move them."""

    P: Single  # (m, c)
    moves: Single  # (m, c, M)

    def take(self, rows: IntArray | slice) -> "_Estimates":
        return _Estimates(self.P[rows], self.moves[rows])


def _estimates(some: Scores, rows: slice) -> _Estimates:
    return _Estimates(some.estimate[rows], some.influence.moves[rows])


def _points(left: _Estimates, right: _Estimates, weights: Single) -> Point:
    """The estimates of P_ij and their accelerations, for pairs of ``left`` and ``right``, by rows.

    An object that moves posteriors by d moves P_ij by ``sum_k d_ik p_jk + p_ik d_jk``.
    """
    P = np.einsum("jk,ik->ij", right.P, left.P)
    moves = np.einsum("jk,ikm->ijm", right.P, left.moves)
    moves += np.einsum("ik,jkm->ijm", left.P, right.moves)
    return Point(P.ravel(), _accelerations(moves.reshape(P.size, -1), weights))


def _bounds_of_copies(known: Scores, levels: Sequence[float], bound: Method) -> Array:
    """Bounds (levels, 2, n) of each object and a copy of itself."""
    own, weights = known.replicates, known.influence.weights
    size = max(1, TILE_VALUES // own.shape[2])
    bounds = []
    for rows in (slice(i, i + size) for i in range(0, len(own), size)):
        P = np.einsum("nkb,nkb->nb", own[rows], own[rows])
        at = _estimates(known, rows)
        moves = 2.0 * np.einsum("nk,nkm->nm", at.P, at.moves)
        point = Point(np.square(at.P).sum(axis=1), _accelerations(moves, weights))
        bounds.append(bound.bounds(P, point, levels))
    ends = np.einsum("nkb,nkb->nb", known.extremes, known.extremes)
    found = np.where(_settled(ends, bound), ends.T, np.concatenate(bounds, axis=2))
    return np.clip(found, 0.0, 1.0)


def _above_diagonal(slab: Array) -> Array:
    """Keep the pairs i < j of a slab whose first column is the object after its first row."""
    m, n = slab.shape[2:]
    return slab[:, :, np.arange(n) >= np.arange(m)[:, None]]


def by_object(name: str, posteriors: ArrayLike) -> Single:
    """Check posteriors and return them as a C-ordered (n, c, B) array: replicates side by side."""
    values = _check_shape(name, posteriors).transpose(1, 2, 0)
    single = np.empty(values.shape, dtype=np.float32)
    for first in range(0, len(values), 64):  # blocks, since the sums alone could fill memory
        block = np.ascontiguousarray(values[first : first + 64])
        _check_probabilities(name, block, first)
        single[first : first + 64] = np.where(block < NEGLIGIBLE, 0.0, block)
    return single


def _check_shape(name: str, posteriors: ArrayLike) -> NDArray[Any]:
    values = np.asarray(posteriors)
    if values.ndim != 3 or 0 in values.shape:
        raise InputError(name, "have shape (B, n, c), none of them 0", values.shape)
    if values.dtype.kind not in "biuf":
        raise InputError(name, "hold real numbers", Message(f"dtype {values.dtype}"))
    return values


def _check_probabilities(name: str, block: NDArray[Any], first: int) -> None:
    """Refuse posteriors (n, c, B) that are none; ``first`` is the number of the first object."""
    good = block.sum(axis=1) <= 1.0 + SUM_TOLERANCE  # with noise, an object may be in no cluster
    if not good.all() or not block.min() >= 0.0:
        i, b = np.argwhere(~(good & (block.min(axis=1) >= 0.0)))[0]
        raise _no_probabilities(name, block[i, :, b], f"replicate {b}, object {first + i}")


def _no_probabilities(name: str, row: Array, where: str) -> InputError:
    if not np.isfinite(row).all():
        got = Message(f"{row.tolist()} in {where}")
        return InputError(name, "be finite", got, "Leave the replicate out.")
    return InputError(
        name,
        "be probabilities that sum to 1 over the clusters",
        Message(f"{row.tolist()} (sum {row.sum():g}) in {where}"),
        "Is the order of the axes (replicate, object, cluster)?",
    )


def _levels(level: object) -> list[float]:
    several = isinstance(level, Iterable) and not isinstance(level, str | bytes)
    levels = [check_fraction("level", one) for one in (level if several else [level])]  # type: ignore[attr-defined]
    if not levels:
        raise InputError("level", "be one number or several", Message("none"))
    return levels


def _n_objects(n_pairs: int) -> int:
    return (1 + isqrt(1 + 8 * n_pairs)) // 2


def _condensed(name: str, value: ArrayLike) -> Array:
    bound = np.array(value, dtype=np.float64)
    if bound.ndim != 1:
        raise InputError(
            name,
            "be condensed, one value for each pair i < j",
            Message(f"shape {bound.shape}"),
            "Turn a square array into one with `scipy.spatial.distance.squareform`.",
        )
    n = _n_objects(len(bound))
    if n * (n - 1) // 2 != len(bound):
        pairs = f"({n} objects have {n * (n - 1) // 2} pairs, {n + 1} have {n * (n + 1) // 2})"
        got = Message(f"{len(bound)} {pairs}")
        raise InputError(name, "have n (n - 1) / 2 values for some n", got)
    _check_finite(name, bound, "pair")
    return bound


def _of_objects(name: str, value: ArrayLike, n: int) -> Array:
    bound = np.array(value, dtype=np.float64)
    if bound.shape != (n,):
        raise InputError(name, f"have shape ({n},), one value for each object", bound.shape)
    _check_finite(name, bound, "object")
    return bound


def _check_finite(name: str, bound: Array, what: str) -> None:
    if not np.isfinite(bound).all():
        first = int(np.flatnonzero(~np.isfinite(bound))[0])
        raise InputError(name, "be finite", Message(f"{float(bound[first])} for {what} {first}"))


def _put_in_order(bounds: Mapping[str, Array], what: str) -> None:
    """Check ``0 <= lower <= upper <= 1`` and take rounding errors away, in place."""
    (name, lower), (name_of_upper, upper) = bounds.items()
    if lower.shape != upper.shape:
        got = Message(f"{len(lower)} and {len(upper)}")
        raise InputError(name, Message("be of the same length as ", Name(name_of_upper)), got)
    bad = (lower < -ROUNDING) | (lower > upper + ROUNDING) | (upper > 1.0 + ROUNDING)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        got = Message(f"[{lower[first]:g}, {upper[first]:g}] for {what} {first}")
        raise InputError(name, "satisfy 0 <= lower <= upper <= 1", got)
    np.clip(lower, 0.0, 1.0, out=lower)
    np.clip(upper, lower, 1.0, out=upper)
