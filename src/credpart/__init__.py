"""Clustering that says, with a statistical guarantee, how sure it is.

The public names are loaded on first use, so that ``import credpart`` is cheap.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "fit_mixture": "credpart.mixture",
    "select_mixture": "credpart.mixture",
    "MixtureFamily": "credpart.mixture",
    "focal_sets": "credpart.focal",
    "EvidentialPartition": "credpart.partition",
    "PairwiseIntervals": "credpart.intervals",
    "pairwise_intervals": "credpart.intervals",
    "irqp": "credpart.masses",
    "bootstrap": "credpart._bootstrap",
    "CalibratedClustering": "credpart.clustering",
    "ECM": "credpart.ecm",
    "RECM": "credpart.ecm",
    "EVCLUS": "credpart.evclus",
    "diagnose": "credpart.diagnostics",
    "compare": "credpart.comparison",
    "bootclus": "credpart.r_names",
    "save_model": "credpart.storage",
    "load_model": "credpart.storage",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'credpart' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
