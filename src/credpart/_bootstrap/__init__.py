"""Bootstrap replicates of a mixture (Algorithm 1, lines 1-3)."""

from credpart._bootstrap.algorithm1 import bootstrap
from credpart._bootstrap.replicates import Replicates

__all__ = ["Replicates", "bootstrap"]
