"""Data without gaps, for starting partitions only: no likelihood ever sees them."""

from dataclasses import replace
from typing import cast

import numpy as np

from credpart._arrays import Array
from credpart._checks import Table
from credpart._columns import as_numbers
from credpart.mixture.covariance.structures import NAMES
from credpart.mixture.families.base import Family
from credpart.mixture.families.gaussian import GaussianParams
from credpart.mixture.families.missing_cells import GaussianWithMissing
from credpart.mixture.optimisation import Limits, Problem
from credpart.mixture.optimisation.em import first_iteration
from credpart.mixture.optimisation.maximise import maximise

LIMITS = Limits(1e-6, 200)  # starts need no more


def completed(table: Table) -> Array:
    """What starting partitions see: numbers, in which a missing cell has its expectation.

    Missing numbers are expected under one normal distribution, in which a pseudo-observation of
    unit variances keeps the covariance regular; of mixed data, they are the mean of a column.
    """
    if table.levels is not None or not np.isnan(table.values).any():
        return as_numbers(table)
    X = table.values
    family = GaussianWithMissing.of(X, ["VVV"])
    family = replace(family, prior=np.eye(family.d))
    problem = Problem.of(cast(Family, family), X, np.ones((1, len(X))))
    zero, code = np.zeros(1, dtype=np.intp), np.array([NAMES.index("VVV")])
    start = first_iteration(problem, problem.statistics(np.ones((1, len(X)))), code, zero, zero)
    params = cast(GaussianParams, maximise(problem, start, LIMITS).params)
    return family.completed(X, params)
