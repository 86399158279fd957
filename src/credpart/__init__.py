"""Clustering that says, with a statistical guarantee, how sure it is.

The public names are loaded on first use, so that ``import credpart`` is cheap.  Type checkers read
the imports below, which are never run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credpart._audit import audit
    from credpart._bootstrap import bootstrap
    from credpart._irqp import irqp
    from credpart._rivals import rivals
    from credpart.clustering import CalibratedClustering
    from credpart.comparison import compare
    from credpart.diagnostics import diagnose
    from credpart.ecm import ECM, RECM
    from credpart.evclus import EVCLUS
    from credpart.focal import focal_sets
    from credpart.intervals import PairwiseIntervals, pairwise_intervals
    from credpart.mixture import MixtureFamily, fit_mixture, select_mixture
    from credpart.out_of_core import cluster_dataset
    from credpart.partition import EvidentialPartition
    from credpart.posterior_draws import from_replicates
    from credpart.r_names import bootclus
    from credpart.result import CalibratedResult
    from credpart.storage import load_model, save_model

__version__ = "0.1.0"

_HOME = {
    "fit_mixture": "credpart.mixture",
    "select_mixture": "credpart.mixture",
    "MixtureFamily": "credpart.mixture",
    "focal_sets": "credpart.focal",
    "EvidentialPartition": "credpart.partition",
    "PairwiseIntervals": "credpart.intervals",
    "pairwise_intervals": "credpart.intervals",
    "irqp": "credpart._irqp",
    "bootstrap": "credpart._bootstrap",
    "CalibratedClustering": "credpart.clustering",
    "CalibratedResult": "credpart.result",
    "ECM": "credpart.ecm",
    "RECM": "credpart.ecm",
    "EVCLUS": "credpart.evclus",
    "diagnose": "credpart.diagnostics",
    "audit": "credpart._audit",
    "rivals": "credpart._rivals",
    "compare": "credpart.comparison",
    "cluster_dataset": "credpart.out_of_core",
    "bootclus": "credpart.r_names",
    "from_replicates": "credpart.posterior_draws",
    "save_model": "credpart.storage",
    "load_model": "credpart.storage",
}

__all__ = [
    "ECM",
    "EVCLUS",
    "RECM",
    "CalibratedClustering",
    "CalibratedResult",
    "EvidentialPartition",
    "MixtureFamily",
    "PairwiseIntervals",
    "audit",
    "bootclus",
    "bootstrap",
    "cluster_dataset",
    "compare",
    "diagnose",
    "fit_mixture",
    "focal_sets",
    "from_replicates",
    "irqp",
    "load_model",
    "pairwise_intervals",
    "rivals",
    "save_model",
    "select_mixture",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'credpart' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
