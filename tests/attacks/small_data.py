"""Small random data sets for the numerical attacks."""

from typing import NamedTuple

import numpy as np


class SmallData(NamedTuple):
    X: np.ndarray
    n_clusters: int


def clusters(rng, *, most_columns=4, most_clusters=4, per_cluster=(8, 40)):
    """Normal clusters with covariances of their own, well apart or overlapping."""
    d, c = int(rng.integers(1, most_columns + 1)), int(rng.integers(2, most_clusters + 1))
    gap = rng.choice([1.0, 2.0, 4.0, 8.0])
    parts = []
    for _ in range(c):
        root = rng.normal(size=(d, d)) * rng.uniform(0.3, 1.5, size=d)
        size = int(rng.integers(*per_cluster))
        parts.append(rng.normal(0.0, gap, d) + rng.normal(size=(size, d)) @ root)
    return SmallData(np.vstack(parts), c)


def pair_probabilities(posteriors):
    """P_ij of Eq. (4): free of the numbers of the clusters."""
    return posteriors @ posteriors.T
