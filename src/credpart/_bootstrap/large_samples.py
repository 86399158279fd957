"""Replicates of large samples: linear ones where nothing speaks against it.

What may speak against it is known before (a family that declares no linearisation), or seen in the
linearisation (few objects for each parameter, a slow EM, draws that are no mixtures), or found by
the true refits of `guard`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from credpart._arrays import Array, BoolArray, IntArray
from credpart._bootstrap.block_sums import BlockwiseObjects, RowsInMemory
from credpart._bootstrap.deviations import (
    DrawnUnits,
    IndependentObjects,
    Sampling,
    covariance,
    weighted_products,
)
from credpart._bootstrap.draws import RESAMPLING
from credpart._bootstrap.guard import N_REFITS, ambiguous_objects, paired_refits, relative_errors
from credpart._bootstrap.linear import NEAR_FIXED_POINT, ExpansionPoint, JointLinearisation
from credpart._bootstrap.refits import Plan, RefittedChunk, join
from credpart._bootstrap.replicates import RefitDecision, Replicates
from credpart._threads import one_blas_thread
from credpart.errors import InputError
from credpart.mixture.criteria import CRITERIA, chosen_by, contributions, may_be_chosen
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.fit import REGULARIZATIONS, MixtureFit
from credpart.mixture.optimisation import Mixtures, Problem, Status
from credpart.mixture.optimisation.em import evaluate
from credpart.mixture.optimisation.maximise import maximise
from credpart.mixture.optimisation.mixtures import take_params
from credpart.mixture.posteriors import score

LINEAR_FROM = 10_000  # distinct objects: fewer are refitted in seconds
FULL_ROWS = 100_000  # distinct objects: of more, a subsample of this size is refitted
# Predictions may be off by this share of the spread of refits.  Bounds of 1000 replicates are
# themselves uncertain by .07 standard deviations, and errors of single replicates average out.
LARGEST_ERROR = 0.15
NO_SPREAD = 1e-4  # of posteriors: errors in proportion to less are of no consequence
FEWEST_OBJECTS = 30.0  # of the smallest cluster, for each parameter of a cluster
SLOWEST = 1.0 - 1e-4  # rate of convergence of EM
DISAGREEMENT = 0.1  # share of refits that may choose another model than predicted


class Attempt(NamedTuple):
    """What came of linear replicates."""

    plan: Plan  # with the models that have a real chance
    replicates: Replicates | None  # None if there cannot be any
    decision: RefitDecision

    def required(self) -> Replicates:
        """The replicates, whatever speaks against them; an error if there cannot be any."""
        if self.replicates is None:
            where = f"be 'auto' or 'full' where {' and '.join(self.decision.reasons)}"
            raise InputError("refit", where, "linear")
        return self.replicates


def attempt_in_memory(plan: Plan, seeds: Sequence[SeedSequence], n_jobs: int | None) -> Attempt:
    """`attempt` on the objects of the plan."""
    return attempt(plan, RowsInMemory(plan.objects.X, plan.objects.weights, n_jobs), seeds)


def attempt(plan: Plan, rows: BlockwiseObjects, seeds: Sequence[SeedSequence]) -> Attempt:
    """Draw linear replicates of objects, and find out what speaks against them.

    The objects of the plan may be some of them, at which posteriors are compared.  Where something
    speaks against linear replicates with several numbers of clusters, as it does where the data
    hardly determine a mixture with one cluster too many, the number of the first fit is kept:
    refits of so many objects under all of them would take hours.
    """
    plan = replace(plan, fits=fits_that_may_be_chosen(plan, rows))
    found = attempt_all_fits(plan, rows, seeds)
    kept = tuple(fit for fit in plan.fits if fit.n_clusters == plan.fits[0].n_clusters)
    if len(kept) == len(plan.fits) or not found.decision.reasons:
        return found
    numbers = {fit.n_clusters for fit in plan.fits}
    plan, replicates, decision = attempt_all_fits(replace(plan, fits=kept), rows, seeds)
    decision = replace(decision, figures={**decision.figures, "left_out": len(numbers) - 1.0})
    if replicates is not None:
        replicates = replace(replicates, decision=decision)
    return Attempt(plan, replicates, decision)


def attempt_all_fits(plan: Plan, rows: BlockwiseObjects, seeds: Sequence[SeedSequence]) -> Attempt:
    """`attempt` with all fits of the plan."""
    obstacles, sampling = find_obstacles(plan), sampling_of(plan)
    if obstacles or sampling is None:
        return Attempt(plan, None, RefitDecision("full", tuple(obstacles), {}))
    with one_blas_thread():
        joint = JointLinearisation.of(rows, plan.fits, sampling.deviations)
        rate, distance = max(part.rate for part in joint.parts), joint.distance
        if not rate < SLOWEST:
            reason = f"the data hardly determine the mixture (EM converges at rate {rate:.5f})"
            return Attempt(plan, None, RefitDecision("full", (reason,), {"rate": rate}))
        found = draw_linear_replicates(plan, joint, seeds)
        figures = {
            "rate": rate,
            "distance": distance,
            "objects_per_parameter": objects_per_parameter(joint),
            "no_mixture": 1.0 - float(found.is_sound.mean()),
        }
        reasons = list(doubts(figures))
        if not reasons:
            figures |= examine(plan, rows, joint, found.models, sampling, seeds[:N_REFITS])
            reasons = list(doubts(figures))
    decision = RefitDecision("linear", tuple(reasons), figures)
    replicates = replace(join(plan, [found.refits]), decision=decision)
    return Attempt(plan, replicates, decision)


def sampling_of(plan: Plan) -> Sampling | None:
    """What is drawn from the objects; None where samples are new objects."""
    row, (X, weights, _) = RESAMPLING[plan.resampling], plan.objects
    if row.weigh_units is None or row.weigh_alone is None:
        return None
    if plan.units is None:
        return IndependentObjects(row.weigh_alone)
    return DrawnUnits(X, float(weights.sum()), plan.units, row.weigh_units)


def value_of(plan: Plan, loglik: Array, n_parameters: int, n: float) -> Array:
    """What replicates choose by, where it does not depend on posteriors."""
    value = chosen_by(plan.criterion, plan.optimism)
    return value(loglik, np.array(n_parameters), n, lambda: np.zeros(loglik.shape))


# Which models are drawn


def contributions_under(fits: Sequence[MixtureFit], criterion: str, X: Array) -> Array:
    """What each object contributes to the criterion under each fit, and 1."""
    columns = [contributions(criterion, fit.family, fit.internal, X) for fit in fits]
    return np.column_stack([*columns, np.ones(len(X))])


def fits_that_may_be_chosen(plan: Plan, rows: BlockwiseObjects) -> tuple[MixtureFit, ...]:
    """The fits whose models replicates may choose.

    A model is left out by `may_be_chosen`: by what bootstrap samples change in the difference of
    criteria at the fits, and by what refits gain.  Where groups are drawn, sums vary more than
    those of independent objects, and so do refits: the scale of their gain is the design effect,
    the ratio of the variances of the criteria.  The first fit is always kept.
    """
    sampling = sampling_of(plan)
    if len(plan.fits) == 1 or sampling is None:
        return plan.fits
    contribute = partial(contributions_under, plan.fits, plan.criterion)
    (products,) = rows.sum_over_blocks(partial(weighted_products, contribute))
    C = sampling.deviations(contribute, products).C
    alone = np.maximum(np.diagonal(covariance(products)), np.finfo(float).tiny)
    design_effect = max(1.0, float((np.diagonal(C) / alone).max()))
    n_parameters = np.array([fit.n_parameters for fit in plan.fits])
    values = np.array([fit.criterion(plan.criterion) for fit in plan.fits])
    best = int(values.argmax())
    variances = np.maximum(np.diagonal(C) - 2.0 * C[best] + C[best, best], 0.0)
    deficits = values[best] - values
    is_kept = may_be_chosen(deficits, np.sqrt(variances), n_parameters, design_effect)
    is_kept[0] = True
    return tuple(plan.fits[i] for i in np.flatnonzero(is_kept))


def find_obstacles(plan: Plan) -> list[str]:
    """What rules linear replicates out before anything is computed."""
    found = []
    if RESAMPLING[plan.resampling].is_new:
        found.append(f"{plan.resampling} samples are new objects")
    if REGULARIZATIONS[plan.regularization].is_asked:
        found.append("every component has a pseudo-observation")
    for fit in plan.fits:
        if not fit.family.is_linearisable:
            found.append(f"model {fit.model} has no linear replicates")
        elif fit.status != Status.OK:
            found.append(f"the fit of model {fit.model} is {fit.status.label}")
    if len(plan.fits) > 1 and _asks_for_certainty(plan.criterion):
        found.append(f"{plan.criterion.upper()} chooses among {len(plan.fits)} models")
    return found


def _asks_for_certainty(criterion: str) -> bool:
    """Whether a criterion depends on the posteriors, of which there is no expansion here."""
    zero = np.zeros(1)
    return bool(CRITERIA[criterion](zero, zero, 1.0, lambda: np.ones(1))[0])


# The draws


class Drawn(NamedTuple):
    """Linear replicates, one of the models in each."""

    refits: RefittedChunk
    models: IntArray  # (b,): which fit's
    is_sound: BoolArray  # (b,): whether it is a mixture


def draw_linear_replicates(
    plan: Plan, joint: JointLinearisation, seeds: Sequence[SeedSequence]
) -> Drawn:
    """Draw replicates of all models from the same samples, and choose in each by the criterion."""
    differences = joint.deviations.draw(seeds)
    first_density = differences.shape[1] - len(joint.parts)
    moved, values, logliks, sound = [], [], [], []
    for m, (part, place, fit) in enumerate(zip(joint.parts, joint.places, plan.fits, strict=True)):
        own = differences[:, place]
        there = part.moved(own)
        loglik = part.loglik + differences[:, first_density + m] + part.gain(own)
        loglik -= joint.n * fit.family.log_unit
        is_spurious = fit.family.is_spurious(there.params, joint.n).any(axis=1)
        is_sound = there.is_sound & ~(is_spurious & plan.is_choice)
        value = value_of(plan, loglik, fit.n_parameters, joint.n)
        moved.append(there)
        logliks.append(loglik)
        sound.append(is_sound)
        values.append(np.where(is_sound, value, -np.inf))
    models = np.argmax(values, axis=0)  # of equals the first
    winners = {}
    for m, (there, fit) in enumerate(zip(moved, plan.fits, strict=True)):
        mine = np.flatnonzero(models == m)
        params = take_params(there.params, mine)
        codes = np.full(len(mine), fit.structure_code)
        some = Mixtures.at(params, codes, mine, mine, n_iter=0)
        status = np.where(sound[m][mine], Status.OK, Status.DEGENERATE)
        winners[fit.cell] = replace(some, status=status)
    each = models, np.arange(len(seeds))
    refits = RefittedChunk(winners, np.array(logliks)[each])
    return Drawn(refits, models, np.array(sound)[each])


# What speaks against them


def objects_per_parameter(joint: JointLinearisation) -> float:
    """Objects of the smallest cluster for each parameter of a cluster, in the worst model."""
    return min(
        float(part.statistics[:, 0].min()) * len(part.statistics) / part.point.fit.n_parameters
        for part in joint.parts
    )


def examine(
    plan: Plan,
    rows: BlockwiseObjects,
    joint: JointLinearisation,
    models: IntArray,
    sampling: Sampling,
    seeds: Sequence[SeedSequence],
) -> dict[str, float]:
    """What true refits say of the models that were chosen."""
    error, is_found = 0.0, np.ones(len(seeds), dtype=bool)
    C, samples = joint.C, sampling.weights(seeds)
    predicted: list[Array] = []
    true: list[Array] = []
    for m in np.unique(models):
        part, place, fit = joint.parts[m], joint.places[m], plan.fits[m]
        pairs = paired_refits(rows, part, C[place, place], samples)
        is_found &= pairs.is_found
        posteriors = score(fit.family, part.point.params, plan.objects.X)[0]
        rng = np.random.default_rng(0)  # the same objects whatever the seed
        objects = ambiguous_objects(plan.objects.X, posteriors, plan.objects.weights, rng)
        if len(objects):
            errors, spread = relative_errors(part, pairs, objects)
            error = max(error, float(errors[spread > NO_SPREAD].max(initial=0.0)))
        for into, loglik in ((predicted, pairs.predicted_loglik), (true, pairs.true_loglik)):
            loglik = loglik - joint.n * fit.family.log_unit
            into.append(value_of(plan, loglik, fit.n_parameters, joint.n))
    figures = {
        "refits": float(len(seeds)),
        "error": error,
        "not_found": 1.0 - float(is_found.mean()),
    }
    if len(predicted) > 1:
        differs = np.argmax(predicted, axis=0) != np.argmax(true, axis=0)
        figures["disagreement"] = float(differs.mean())
    return figures


class Objection(NamedTuple):
    """A figure that speaks against linear replicates if it is out of bounds, and how to say so."""

    figure: str
    is_bad: Callable[[float], bool]
    text: str


OBJECTIONS = (
    Objection(
        "objects_per_parameter",
        lambda value: value < FEWEST_OBJECTS,
        "the smallest cluster has {:.0f} objects for each of its parameters",
    ),
    Objection(
        "distance",
        lambda value: not value <= NEAR_FIXED_POINT,
        "the fit is {:.1g} standard errors from its maximum",
    ),
    Objection(
        "no_mixture", lambda value: value > 0.0, "{:.2%} of the linear draws are no mixtures"
    ),
    Objection(
        "not_found", lambda value: value > 0.0, "{:.0%} of true refits are far from linear ones"
    ),
    Objection(
        "error",
        lambda value: not value <= LARGEST_ERROR,
        f"more than {LARGEST_ERROR:g} is too much",
    ),
    Objection(
        "disagreement",
        lambda value: value > DISAGREEMENT,
        "{:.0%} of true refits choose another model than linear ones",
    ),
)


def doubts(figures: dict[str, float]) -> list[str]:
    """What the figures that there are say against linear replicates."""
    return [
        doubt.text.format(figures[doubt.figure])
        for doubt in OBJECTIONS
        if doubt.figure in figures and doubt.is_bad(figures[doubt.figure])
    ]


# Refits of a subsample


def can_shrink(plan: Plan) -> bool:
    """Whether refits of a subsample may stand for refits of all objects."""
    fit = plan.fits[0]
    is_plain = not REGULARIZATIONS[plan.regularization].is_asked and fit.status == Status.OK
    is_alone = len(plan.fits) == 1 and plan.units is None
    return is_alone and fit.family.is_linearisable and is_plain


def shrunken_refits(
    plan: Plan, refit: Callable[[Plan], Replicates], seed: SeedSequence
) -> Replicates:
    """Refits of `FULL_ROWS` of the objects, whose deviations are shrunk to the size of the data.

    In the space of statistics of one object, a replicate deviates from the fit of the subsample by
    ``sqrt(n / m)`` times what it would deviate from the fit of all n objects.
    """
    (fit,), (X, weights, _) = plan.fits, plan.objects
    labels = score(fit.family, fit.internal, X)[0].argmax(axis=1)
    child = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0))  # replicate 0 has the seed
    rows = stratified_rows(labels, FULL_ROWS, np.random.default_rng(child))
    objects = DistinctObjects(X[rows], weights[rows], np.arange(len(rows)))
    return shrunken(replace(plan, objects=objects), float(weights.sum()), refit)


def shrunken(plan: Plan, total: float, refit: Callable[[Plan], Replicates]) -> Replicates:
    """Refits of some objects, shrunk to the size of data of a total weight that the fit is of."""
    (fit,), objects = plan.fits, plan.objects
    with one_blas_thread():
        problem = Problem.of(fit.family, objects.X, objects.weights[None])
        zero = np.zeros(1, dtype=np.intp)
        start = Mixtures.at(fit.internal, np.array([fit.structure_code]), zero, zero, n_iter=0)
        near = maximise(problem, evaluate(problem, start), plan.limits)
    part_fit = replace(fit, internal=near.params, n_objects=float(objects.weights.sum()))
    found = refit(replace(plan, fits=(part_fit,)))
    (part,), family = found.parts, fit.family
    deviations = family.mean_statistics(part.params) - family.mean_statistics(near.params)
    shrink = np.sqrt(objects.weights.sum() / total)
    statistics = family.mean_statistics(fit.internal) + shrink * deviations
    with one_blas_thread():
        moved = ExpansionPoint(fit, fit.internal).moved_to(total * statistics)
    return replace(
        found,
        parts=(replace(part, params=moved.params),),
        loglik=np.full(len(found), np.nan),
        status=np.where(moved.is_sound, found.status, Status.DEGENERATE),
    )


def stratified_rows(labels: IntArray, m: int, rng: np.random.Generator) -> IntArray:
    """Rows of a random sample of m rows or so, in which every label has its share."""
    order = np.lexsort([rng.random(len(labels)), labels])
    places = np.floor(np.arange(m) * (len(labels) / m)).astype(np.intp)
    return np.sort(order[places])
