"""Finite mixtures, fitted by one batched weighted EM."""

from credpart.mixture.fit import MixtureFit, fit_mixture
from credpart.mixture.selection import Selection, select_mixture

__all__ = ["MixtureFit", "Selection", "fit_mixture", "select_mixture"]
