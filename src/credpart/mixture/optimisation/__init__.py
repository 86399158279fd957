"""How the likelihood of mixtures is maximised; functions stand in the modules of their names."""

from credpart.mixture.optimisation.convergence import (
    DEFAULT_TOLERANCE,
    MAX_ITERATIONS,
    Limits,
    Status,
)
from credpart.mixture.optimisation.mixtures import Mixtures, Problem, Samples

__all__ = ["DEFAULT_TOLERANCE", "MAX_ITERATIONS", "Limits", "Mixtures", "Problem", "Samples"]
__all__ += ["Status"]
