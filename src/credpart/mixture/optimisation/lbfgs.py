"""From the foot of a hill to its top: quasi-Newton steps where EM would crawl.

EM finds the region of a maximum fast and then slows down, the more so the less an object tells
of its latent variables: degrees of freedom, skewness.  A family that has coordinates gets there
by the BFGS method with limited memory [N80]_.  Its E-step gives the exact gradient of the
log-likelihood (Fisher's identity), so a step costs what an iteration of EM costs; and the
likelihood never falls.

References
----------
.. [N80] Nocedal: Updating quasi-Newton matrices with limited storage.  Mathematics of
   Computation 35, 1980.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.optimisation.em import (
    DEFAULT_TOLERANCE,
    MAX_ITERATIONS,
    EMResult,
    Family,
    Status,
    e_step,
    em,
    take,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

FOOT = 1e-3  # relative gain of an iteration of EM from where on quasi-Newton steps are better
MEMORY = 32  # pairs of steps and changes of the gradient that are remembered
LONGEST = 2.0  # change of a coordinate in a step
ARMIJO = 1e-4  # share of the promised gain that a step must bring
HALVINGS = 10
HIDDEN = 0.01  # least share of the complete data's information that objects may seem to have


class Charted(Family, Protocol):
    """A family with coordinates (b, k, q) in which its parameters are free."""

    def encode(self, params: Any) -> Array:
        """Coordinates of parameters."""

    def decode(self, coordinates: Array) -> Any:
        """Parameters at any coordinates."""

    def gradient(self, statistics: Array, params: Any, variant: Rows) -> Array:
        """Gradient of the log-likelihood and log prior, from the expected statistics."""

    def project(self, gradient: Array, params: Any, variant: Rows) -> Array:
        """What is left of a gradient or direction by structures and bounds."""

    def spread(self, params: Any) -> Array:
        """Inverse of the information that one object, all known, gives of each coordinate."""


def is_charted(family: Any) -> bool:
    """The family has coordinates."""
    return hasattr(family, "decode")


class Metric(NamedTuple):
    """Information of mixtures, inverted, in units of the complete data's: (m, p, p)."""

    inverse: Array
    which: Rows  # (b,): whose information a replicate starts with

    def take(self, rows: Rows) -> "Metric":
        """The metric of some replicates."""
        return Metric(self.inverse, self.which[rows])


def units(family: Charted, params: Any, weights: Array) -> Array:
    """Standard deviations (b, p) of the coordinates, were everything known."""
    sizes = weights.sum(axis=-1)[:, None] * params[0]
    spread = family.spread(params) / np.maximum(sizes, 1.0)[..., None]
    result: Array = np.sqrt(spread).reshape(len(spread), -1)
    return result


def observed_metric(
    family: Charted, features: Array, weights: Array, params: Any, variant: Rows
) -> Array:
    """The inverse information (p, p) at one mixture's parameters, by differences of gradients."""
    x = family.encode(params)
    unit = units(family, params, weights)
    p, k = unit.shape[1], x.shape[1]
    same = np.zeros(p, dtype=np.intp)
    steps = np.eye(p) * unit
    steps = family.project(steps.reshape(p, k, -1), take(params, same), variant[same])
    step = 1e-3
    ends = []
    for side in (step, -step):
        there = family.decode(x + side * steps)
        statistics = e_step(
            family, features, np.broadcast_to(weights, (p, weights.shape[-1])), there
        )[1]
        ends.append(family.gradient(statistics, there, variant[same]).reshape(p, p))
    change = (ends[1] - ends[0]) / (2.0 * step)
    information = change @ steps.reshape(p, p).T
    information = 0.5 * (information + information.T)
    dead = ~np.any(change, axis=1)
    information[dead, dead] = 1.0
    values, axes = np.linalg.eigh(np.nan_to_num(information))
    result: Array = (axes / np.clip(values, HIDDEN, None)) @ axes.T
    return result


class Curvature:
    """Limited memory of steps and changes of gradients, for every replicate on its own."""

    def __init__(self, unit: Array, metric: Metric | None) -> None:
        b, p = unit.shape
        self.unit, self.metric = unit, metric
        self.steps, self.changes = np.zeros((b, MEMORY, p)), np.zeros((b, MEMORY, p))
        self.inverse = np.zeros((b, MEMORY))  # 1 / (step . change): 0 in slots without a pair
        self.count = np.zeros(b, dtype=np.intp)

    def learn(self, rows: Rows, step: Array, change: Array) -> None:
        """Remember pairs along which the function is concave."""
        product = (step * change).sum(axis=1)
        size = np.sqrt((step**2).sum(axis=1) * (change**2).sum(axis=1))
        bent = product > 1e-8 * size
        rows, slots = rows[bent], self.count[rows[bent]] % MEMORY
        self.steps[rows, slots], self.changes[rows, slots] = step[bent], change[bent]
        self.inverse[rows, slots] = 1.0 / product[bent]
        self.count[rows] += 1

    def forget(self, rows: Rows) -> None:
        """Start anew for some replicates."""
        self.inverse[rows], self.count[rows] = 0.0, 0

    def direction(self, rows: Rows, gradient: Array) -> Array:
        """The two loops of L-BFGS; slots without a pair do nothing."""
        used = np.arange(min(MEMORY, self.count[rows].max(initial=0)))
        slots = (self.count[rows] - 1 - used[:, None]) % MEMORY
        q, alphas = gradient.copy(), []
        for slot in slots:
            alpha = self.inverse[rows, slot] * (self.steps[rows, slot] * q).sum(axis=1)
            q -= alpha[:, None] * self.changes[rows, slot]
            alphas.append(alpha)
        q = self._first(rows, q)
        for slot, alpha in zip(slots[::-1], alphas[::-1], strict=True):
            beta = self.inverse[rows, slot] * (self.changes[rows, slot] * q).sum(axis=1)
            q += (alpha - beta)[:, None] * self.steps[rows, slot]
        return q

    def _first(self, rows: Rows, q: Array) -> Array:
        """Apply the inverse Hessian that is known before any step."""
        q = q * self.unit[rows]
        if self.metric is not None:
            which = self.metric.which[rows]
            for code in np.unique(which):
                q[which == code] = q[which == code] @ self.metric.inverse[code]
        return q * self.unit[rows]


class Climb:
    """Where replicates stand, and where each tries to go next."""

    def __init__(
        self, family: Charted, found: EMResult, variant: Rows, unit: Array, metric: Metric | None
    ) -> None:
        b = len(found.loglik)
        self.family, self.variant = family, variant
        self.params = type(found.params)(*(field.copy() for field in found.params))
        self.statistics, self.loglik = found.statistics.copy(), found.loglik.copy()
        self.x = family.encode(found.params).reshape(b, -1)
        self.gradient = family.gradient(found.statistics, found.params, variant).reshape(b, -1)
        self.curvature = Curvature(unit, metric)
        self.direction, self.slope = np.zeros_like(self.x), np.zeros(b)
        self.length, self.tries = np.ones(b), np.zeros(b, dtype=np.intp)

    def aim(self, rows: Rows) -> None:
        """Choose directions: uphill, within the structure, and not too far."""
        params, shape = take(self.params, rows), (len(rows), self.params[0].shape[1], -1)
        direction = self.curvature.direction(rows, self.gradient[rows])
        if len(rows):
            direction = self.family.project(direction.reshape(shape), params, self.variant[rows])
        direction = direction.reshape(self.x[rows].shape)
        longest = np.abs(direction).max(axis=1, initial=LONGEST)
        direction *= (LONGEST / longest)[:, None]
        self.direction[rows] = direction
        self.slope[rows] = (direction * self.gradient[rows]).sum(axis=1)
        self.length[rows], self.tries[rows] = 1.0, 0

    def trial(self, rows: Rows) -> Any:
        """Parameters that are tried next."""
        x = self.x[rows] + self.length[rows, None] * self.direction[rows]
        return self.family.decode(x.reshape(len(rows), self.params[0].shape[1], -1))

    def accept(self, rows: Rows, params: Any, loglik: Array, statistics: Array) -> None:
        """Go there, and learn from the step."""
        x = self.family.encode(params).reshape(self.x[rows].shape)
        gradient = self.family.gradient(statistics, params, self.variant[rows]).reshape(x.shape)
        self.curvature.learn(rows, x - self.x[rows], self.gradient[rows] - gradient)
        self.x[rows], self.gradient[rows] = x, gradient
        self.loglik[rows], self.statistics[rows] = loglik, statistics
        for kept, new in zip(self.params, params, strict=True):
            kept[rows] = new
        self.aim(rows)

    def shorten(self, rows: Rows, loglik: Array) -> Rows:
        """Shorten steps that failed, to the top of a parabola; return who has no way left."""
        length, slope = self.length[rows], self.slope[rows]
        with np.errstate(all="ignore"):
            top = 0.5 * slope * length**2 / (self.loglik[rows] + slope * length - loglik)
        top = np.where(np.isfinite(top), top, 0.0)
        self.length[rows] = np.clip(top, 0.1 * length, 0.5 * length)
        self.tries[rows] += 1
        lost = rows[self.tries[rows] > HALVINGS]
        stuck: Rows = lost[self.curvature.count[lost] == 0]
        self.curvature.forget(lost)
        self.aim(lost)
        return stuck


def ascend(
    family: Charted,
    features: Array,
    weights: Array,
    found: EMResult,
    variant: Rows,
    metric: Metric | None = None,
    *,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
) -> EMResult:
    """Climb from where EM has got until a step gains less than ``tol (1 + |loglik|)`` twice."""
    weights = np.broadcast_to(weights, (len(found.loglik), features.shape[-2]))
    with np.errstate(all="ignore"):  # degenerate replicates do not take part
        unit = units(family, found.params, weights)
        climb = Climb(family, found, variant, unit, metric)
    status = np.where(found.status == Status.DEGENERATE, found.status, Status.NOT_CONVERGED)
    n_iter, is_calm = found.n_iter.copy(), np.zeros(len(status), dtype=bool)
    active = np.flatnonzero((status != Status.DEGENERATE) & (n_iter < max_iter))
    climb.aim(active)
    while len(active):
        with np.errstate(all="ignore"):  # a trial may be no mixture at all
            params = climb.trial(active)
            part = features if features.ndim == 2 else features[active]
            value, statistics = e_step(family, part, weights[active], params)
            value = value + family.log_prior(params)
            flat = family.is_degenerate(params)
        n_iter[active] += 1
        promised = ARMIJO * climb.length[active] * climb.slope[active]
        rises = np.isfinite(value) & (value >= climb.loglik[active] + promised)
        status[active[rises & flat]] = Status.DEGENERATE
        good = rises & ~flat
        calm = good & (value - climb.loglik[active] < tol * (1.0 + np.abs(value)))
        status[active[calm & is_calm[active]]] = Status.OK
        is_calm[active[good]] = calm[good]
        climb.accept(active[good], take(params, good), value[good], statistics[good])
        status[climb.shorten(active[~rises], value[~rises])] = Status.OK
        active = active[(status[active] == Status.NOT_CONVERGED) & (n_iter[active] < max_iter)]
    return EMResult(climb.params, climb.statistics, climb.loglik, n_iter, status)


def maximise(
    family: Any,
    features: Array,
    weights: Array,
    statistics: Array,
    variant: Rows,
    previous: Any = None,
    metric: Metric | None = None,
    *,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    **options: Any,
) -> EMResult:
    """EM from expected statistics; for families with coordinates, the rest by `ascend`."""
    has_chart = is_charted(family) and tol < FOOT
    first = FOOT if has_chart else tol
    given = family, features, weights
    options |= {"tol": first, "max_iter": max_iter, "is_exact": has_chart}  # the climb goes on
    found = em(*given, statistics, variant, previous, **options)
    if not has_chart:
        return found
    return ascend(*given, found, variant, metric, tol=tol, max_iter=max_iter)
