"""Maximise the likelihood of mixtures: plain EM far from the maximum, accelerated EM near it.

EM finds the region of a maximum in few iterations and then slows down.  Far from the maximum,
exponentials in single precision are accurate enough and take half the time.  Mixtures that end in
this first phase keep a log-likelihood that is accurate to a relative 1e-8.
"""

import numpy as np

from credpart.mixture.optimisation.convergence import MCLUST_TOLERANCE, Limits, Status
from credpart.mixture.optimisation.em import StoppingRule, em, evaluate
from credpart.mixture.optimisation.mixtures import Mixtures, Problem

# Relative gain below which EM is accelerated, by the family's ``has_slow_em``.
ACCELERATE_BELOW = {False: MCLUST_TOLERANCE, True: 1e-3}
SINGLE_FROM = 1 << 13  # joint densities in a batch from which on single precision saves time


def maximise(
    problem: Problem, mixtures: Mixtures, limits: Limits, early_stopping: StoppingRule | None = None
) -> Mixtures:
    """Run the mixtures that have not converged: plain EM, then accelerated EM to ``limits.tol``.

    ``early_stopping`` applies to plain EM only; what it stops stays NOT_CONVERGED.
    """
    tol, max_iter = limits
    first = Limits(max(tol, ACCELERATE_BELOW[problem.family.has_slow_em]), max_iter)
    n_values = mixtures.params[0].size * problem.data.features.shape[-2]
    in_single = n_values >= SINGLE_FROM
    found = em(problem, mixtures, first, in_single=in_single, early_stopping=early_stopping)
    rows = np.flatnonzero((found.status == Status.OK) & (mixtures.status != Status.OK))
    if tol >= first.tol or not len(rows):
        return found
    near = evaluate(problem, found.take(rows))
    return found.put(rows, em(problem, near, limits, is_accelerated=True))
