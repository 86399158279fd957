"""EVCLUS and k-EVCLUS: masses whose conflicts are like the dissimilarities of the objects."""

from credpart.evclus.estimator import EVCLUS

__all__ = ["EVCLUS"]
