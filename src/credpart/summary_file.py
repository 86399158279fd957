"""What summary.json says of every result, whether its objects were in memory or in partitions."""

from typing import Any

from credpart import __version__
from credpart.result import CalibratedResult


def mixture_and_replicates(result: CalibratedResult) -> dict[str, Any]:
    """The mixture, how it was chosen, its replicates, and with what seed and version."""
    mixture, options, replicates = result.mixture, result.options, result.replicates
    return {
        "n_clusters": mixture.n_clusters,
        "model": mixture.model,
        "loglik": mixture.loglik,
        "bic": mixture.bic,
        "criterion": options.criterion,
        "level": options.level,
        "nominal_level": options.nominal_level,
        "replicates": replicates.counts(),
        "replicate_models": replicates.chosen(),
        "weakening": result.weakening if options.weaken else None,
        "n_compared": len(result.sample.rows),
        "seed": options.seed,
        "version": __version__,
    }
