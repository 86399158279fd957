"""One EM loop for every mixture family: batched over replicates, weighted by object.

EM is seen as a map on the expected sufficient statistics of the complete data: an M-step takes
statistics to parameters, an E-step parameters to statistics.  Statistics live in a linear
space, so the loop can accelerate every family and covariance structure in the same way.

Shapes: b replicates, k components, n objects, p features, s statistics.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.optimisation.anderson import Acceleration

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

MCLUST_TOLERANCE = 1e-5  # where mclust stops; below it, acceleration sets in
PAYS = 0.1  # share of the gain where it sets in that the tolerance must be below
DEFAULT_TOLERANCE = 1e-9
MAX_ITERATIONS = 2000
MEMORY = 6  # differences that the acceleration remembers
BLOCK = 1 << 16  # values of the joint density worked on at a time: they stay in the cache
FEW = 1 << 13  # values from which on single precision pays, if no step is accelerated
ROWS = 256  # rows in a block, at least
UNDERFLOW = -705.0  # exponents below take several times as long, for results that do not count


class Status(IntEnum):
    """How the fit of one replicate ended."""

    OK = 0
    REGULARISED = 1
    DEGENERATE = 2
    NOT_CONVERGED = 3

    @property
    def label(self) -> str:
        """The status in plain words."""
        return self.name.lower().replace("_", " ")


class Family(Protocol):
    """What `em` asks of a mixture family.

    Parameters are a NamedTuple of (b, k, ...) arrays, proportions first.  ``variant`` (b,) says
    which variant of the family a replicate has (for Gaussians the covariance structure):
    replicates of different variants may stand side by side.
    """

    def features(self, X: Array) -> Array:
        """What the family reads of the data, shape (n, p): computed once.

        Where every replicate has data of its own, the other methods get shape (b, n, p).
        """

    def log_joint(self, features: Array, params: Any) -> Array:
        """``log pi_k + log p_k(x_i)``, shape (b, k, n)."""

    def statistics(self, features: Array, resp: Array, params: Any) -> Array:
        """Expected sufficient statistics (b, k, s), linear in ``resp`` (b, k, n).

        ``params`` is None before the first M-step.
        """

    def m_step(self, statistics: Array, variant: Rows, previous: Any) -> Any:
        """Parameters that maximise the expected likelihood; ``previous`` may be None."""

    def log_prior(self, params: Any) -> Array | float:
        """Log prior density up to a constant, shape (b,): 0 for maximum likelihood."""

    def is_degenerate(self, params: Any) -> NDArray[np.bool_]:
        """Replicates whose parameters the data cannot carry, shape (b,)."""


class EMResult(NamedTuple):
    """Where the replicates ended."""

    params: Any
    statistics: Array  # expected at the parameters
    loglik: Array  # plus the log prior, if the family has one
    n_iter: Rows
    status: Rows


def take(params: Any, rows: Any) -> Any:
    """The parameters of some replicates."""
    return type(params)(*(field[rows] for field in params))


def normalise(joint: Array) -> Array:
    """Turn log joint densities (b, k, n) into posteriors, in place; return ``log p(x)`` (b, n)."""
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    result: Array = (np.log(total) + top)[:, 0]
    return result


def row_blocks(n: int, width: int) -> list[slice]:
    """Slices of rows such that ``width`` values a row make about a cacheful."""
    size = max(ROWS, BLOCK // width)
    return [slice(start, start + size) for start in range(0, n, size)]


def blocks(b: int, k: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Slices of replicates and of rows whose joint densities make about a cacheful.

    Few replicates with many rows, rather than the reverse: arrays without the axis k, of which
    there are several, stay so small that the allocator keeps their pages.
    """
    for rows in row_blocks(n, b * k):
        size = max(1, BLOCK // (k * (min(rows.stop, n) - rows.start)))
        for start in range(0, b, size):
            yield slice(start, start + size), rows


def e_step(
    family: Family,
    features: Array,
    weights: Array,
    params: Any,
    members: Rows | None = None,
    *,
    is_coarse: bool = False,
) -> tuple[Array, Array]:
    """Log-likelihoods (b,) and expected statistics (b, k, s) at ``params``.

    ``members`` (b,) says which replicates of the weights (and features) the parameters are of.
    A coarse step takes exponentials in single precision, which is twice as fast in all: it has
    log-likelihoods to 1e-8 and posteriors to 1e-6 of themselves.
    """
    b, k = params[0].shape[:2]
    members = np.arange(b) if members is None else members
    precision = np.float32 if is_coarse else float
    is_shared = weights.strides[0] == 0  # all replicates have the same weights
    # absent components come last; k for what is no mixture
    widths = k - (params[0] > 0.0)[:, ::-1].argmax(axis=1)
    loglik = np.zeros(b)
    statistics: Any = None
    for some, rows in blocks(b, k, features.shape[-2]):
        weight = weights[:1, rows] if is_shared else weights[members[some], rows]
        part = features[rows] if features.ndim == 2 else features[members[some], rows]
        present = widths[some].max()
        those = take(params, (some, slice(present)))
        joint = family.log_joint(part, those)
        top = joint.max(axis=1, keepdims=True)
        joint -= top
        if not is_coarse:  # single precision has no slow exponents
            np.maximum(joint, UNDERFLOW, out=joint)
        ratios = joint.astype(precision, copy=False)
        np.exp(ratios, out=ratios)
        total = ratios.sum(axis=1, keepdims=True)
        logs = np.log(total).astype(float, copy=False) + top
        loglik[some] += np.vecdot(logs[:, 0], weight)
        ratios *= weight[:, None].astype(precision, copy=False) / total
        joint = ratios.astype(float, copy=False)  # posteriors times weights
        found = family.statistics(part, joint, those)
        if statistics is None:
            statistics = np.zeros((b, k, found.shape[-1]))
        statistics[some, :present] += found
    return loglik, statistics


def _expect(
    family: Family,
    features: Array,
    weights: Array,
    params: Any,
    members: Rows,
    is_near: Any,
    least: float,
) -> tuple[Array, Array]:
    """`e_step`, coarse for replicates that are not near their end: if there are enough values."""
    size = params[0].size * features.shape[-2]
    if is_near.all() or size < (max(BLOCK, least) if is_near.any() else least):
        return e_step(family, features, weights, params, members)
    if not is_near.any():
        return e_step(family, features, weights, params, members, is_coarse=True)
    near, far = np.flatnonzero(is_near), np.flatnonzero(~is_near)
    parts = [
        e_step(family, features, weights, take(params, rows), members[rows], is_coarse=is_coarse)
        for rows, is_coarse in ((near, False), (far, True))
    ]
    back = np.argsort(np.concatenate([near, far]))
    loglik, statistics = (np.concatenate(pair)[back] for pair in zip(*parts, strict=True))
    return loglik, statistics


def log_certainty(family: Family, features: Array, weights: Array, params: Any) -> Array:
    """Weighted sum over objects of the log of the largest posterior, shape (b,)."""
    b, k = params[0].shape[:2]
    total = np.zeros(b)
    for some, rows in blocks(b, k, features.shape[-2]):
        part = features[rows] if features.ndim == 2 else features[some, rows]
        joint = family.log_joint(part, take(params, some))
        normalise(joint)
        largest = np.log(np.maximum(joint.max(axis=1), np.finfo(float).tiny))
        total[some] += np.einsum("bn,bn->b", largest, weights[some, rows])
    return total


class Step(NamedTuple):
    """What a step has come to."""

    params: Any
    loglik: Array  # plus the log prior
    images: Array  # expected statistics, flat
    valid: Mask  # the parameters are those of a mixture


class Runs(NamedTuple):
    """Replicates on their way: where they are and what they have found."""

    rows: Rows  # their places in the batch
    params: Any  # None before the first step
    points: Array  # statistics that the next step starts from
    images: Array  # expected statistics at the parameters
    loglik: Array
    is_plain: Mask  # the next step is not accelerated
    is_calm: Mask  # the last step raised the likelihood by next to nothing
    is_slow: Mask  # a step has gained little

    @classmethod
    def of(cls, statistics: Array) -> Self:
        """All replicates, at their start."""
        b = len(statistics)
        points, no = statistics.reshape(b, -1), np.zeros(b, dtype=bool)
        return cls(np.arange(b), None, points, points, np.full(b, -np.inf), ~no, no, no)

    def some(self, chosen: Mask) -> Self:
        """Some of them."""
        # positions are faster than a mask, and for large fields ndarray.take than brackets
        rows = np.flatnonzero(chosen)
        params = type(self.params)(*(field.take(rows, axis=0) for field in self.params))
        images = self.images.take(rows, axis=0)
        points = images if self.points is self.images else self.points.take(rows, axis=0)
        flags = (flag[rows] for flag in (self.is_plain, self.is_calm, self.is_slow))
        return type(self)(self.rows[rows], params, points, images, self.loglik[rows], *flags)

    def after(self, step: Step, good: Mask, gain: Array, tol: float, slow: float) -> Self:
        """Where they are after a step; those for whom it is no good stay where they were."""
        params, loglik, images, _ = step
        is_calm, is_slow = gain < tol, self.is_slow | (good & (gain < slow))
        if not good.all():
            if self.params is not None:
                pairs = zip(params, self.params, strict=True)
                params = type(params)(*(_keep(good, new, old) for new, old in pairs))
            images, loglik = _keep(good, images, self.images), _keep(good, loglik, self.loglik)
            is_calm = _keep(good, is_calm, self.is_calm)
        all_plain = self.is_plain | True
        return type(self)(self.rows, params, images, images, loglik, all_plain, is_calm, is_slow)

    def accelerated(self, faster: Acceleration, last: Array, quick: Mask) -> Self:
        """The same, but that some go on from where the steps up to ``last`` point to."""
        points = self.images.copy()
        points[quick] = faster.next(self.rows[quick], last[quick], self.images[quick])
        return self._replace(points=points, is_plain=~quick)


# Which replicates give up, by their places in the batch, what a step has come to, and its gains.
GiveUp = Callable[[Rows, Step, Array], Mask]


def _keep(good: Mask, new: Any, old: Any) -> Any:
    """The new values of replicates that are good, the old ones of the others."""
    return np.where(good.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _end(gone: Runs, shape: Sequence[int], n_iter: int, status: Rows) -> tuple[Rows, EMResult]:
    """Replicates that leave, and the results of these."""
    statistics = gone.images.reshape(-1, *shape)
    n_iters = np.full(len(status), n_iter)
    return gone.rows, EMResult(gone.params, statistics, gone.loglik, n_iters, status)


def _gather(ends: Sequence[tuple[Rows, EMResult]]) -> EMResult:
    """The results of replicates that ended at different times, in their order."""
    back = np.argsort(np.concatenate([rows for rows, _ in ends]))
    params, *others = zip(*(result for _, result in ends), strict=True)
    fields = (np.concatenate(parts)[back] for parts in zip(*params, strict=True))
    return EMResult(type(params[0])(*fields), *(np.concatenate(parts)[back] for parts in others))


def _step(
    family: Family,
    features: Array,
    weights: Array,
    shape: Sequence[int],
    variant: Rows,
    start: Any,
    runs: Runs,
    least: float,
) -> Step:
    """An M-step and an E-step of replicates whose statistics have that shape."""
    params = family.m_step(runs.points.reshape(-1, *shape), variant, start)
    value, image = _expect(family, features, weights, params, runs.rows, runs.is_slow, least)
    value = value + family.log_prior(params)
    valid = np.isfinite(value) & ~family.is_degenerate(params)
    return Step(params, value, image.reshape(len(value), -1), valid)


def em(
    family: Family,
    features: Array,
    weights: Array,
    statistics: Array,
    variant: Rows,
    previous: Any = None,
    *,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    memory: int = MEMORY,
    slow: float = MCLUST_TOLERANCE,
    give_up: GiveUp | None = None,
    is_exact: bool = False,
) -> EMResult:
    """Run EM from expected ``statistics`` (b, k, s) until every replicate has ended.

    A replicate has converged when an iteration raises its log-likelihood by less than
    ``tol (1 + |loglik|)``, the rule of mclust; twice running where steps are accelerated.
    Steps are plain EM until they gain less than ``slow (1 + |loglik|)``, where mclust would stop,
    and from there accelerated if ``tol`` is far below.  An accelerated step that would lower the
    likelihood is taken back, so the likelihood never falls if the family's M-step never lowers it.
    Far from their ends steps may be coarse (see `e_step`), unless they have to be exact.
    """
    b, *shape = statistics.shape
    weights = np.broadcast_to(weights, (b, features.shape[-2]))
    memory = memory if tol < PAYS * slow else 0
    # extrapolations carry roundings on, so they have to be worth it
    least = np.inf if is_exact else BLOCK if memory else FEW
    runs, ends = Runs.of(statistics), []
    faster = Acceleration(memory, b, runs.points.shape[1])
    for iteration in range(1, max_iter + 1):
        start = previous if iteration == 1 else runs.params
        # a singular or extrapolated point may be no mixture at all: what comes out tells
        with np.errstate(all="ignore"):
            step = _step(family, features, weights, shape, variant[runs.rows], start, runs, least)
            gain = (step.loglik - runs.loglik) / (1.0 + np.abs(step.loglik))
        good = step.valid & (runs.is_plain | (step.loglik >= runs.loglik))
        ended = good & (gain < tol) & (runs.is_plain | runs.is_calm)
        broken = runs.is_plain & ~step.valid
        going = ~(ended | broken)
        if give_up is not None:
            going &= ~give_up(runs.rows, step, step.loglik - runs.loglik)

        last, runs = runs.points, runs.after(step, good, gain, tol, slow)
        if memory:
            faster.forget(runs.rows[~good])
            quick = going & good & runs.is_slow
            runs = runs.accelerated(faster, last, quick) if quick.any() else runs
        leave = ~going if iteration < max_iter else going | True
        if leave.any():
            status = np.where(broken, Status.DEGENERATE, Status.NOT_CONVERGED)
            status = np.where(ended, Status.OK, status)[leave]
            ends.append(_end(runs.some(leave), shape, iteration, status))
            if leave.all():
                break
            runs = runs.some(going)
    return _gather(ends)
