"""Evidential c-means: of attributes (ECM) and of dissimilarities (RECM)."""

from credpart.ecm.estimators import ECM, RECM

__all__ = ["ECM", "RECM"]
