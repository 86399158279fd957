"""Finite mixtures, fitted by one batched weighted EM."""

from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.fit import MixtureFit, fit_mixture
from credpart.mixture.search.selection import Selection, select_mixture

__all__ = ["MixtureFamily", "MixtureFit", "Selection", "fit_mixture", "select_mixture"]
