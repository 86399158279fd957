"""Bootstrap replicates of a mixture (Algorithm 1, lines 1-3)."""

from credpart.replicates.fitting import bootstrap
from credpart.replicates.value import Replicates

__all__ = ["Replicates", "bootstrap"]
