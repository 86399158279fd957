"""Maximisation of the likelihood of mixtures.  Each function is in the module of its name."""

from credpart.mixture.optimisation.convergence import (
    DEFAULT_TOLERANCE,
    MAX_ITERATIONS,
    Limits,
    Status,
)
from credpart.mixture.optimisation.mixtures import Mixtures, Problem, Samples

__all__ = ["DEFAULT_TOLERANCE", "MAX_ITERATIONS", "Limits", "Mixtures", "Problem", "Samples"]
__all__ += ["Status"]
