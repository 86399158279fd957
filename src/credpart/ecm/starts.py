"""Centres to begin with."""

from collections.abc import Callable, Mapping

import numpy as np

from credpart._arrays import Array
from credpart.ecm.spaces import Space

N_SEEDINGS = 10  # of which the best starts k-means
MAX_LLOYD = 100


def kmeans_start(space: Space, n: int, c: int, rng: np.random.Generator) -> Array:
    """Return the centres of k-means, from the best of several seedings."""
    each = np.eye(c)
    seedings = [random_start(space, n, c, rng) for _ in range(N_SEEDINGS)]
    inertia = [space.squared_distances(V, each).min(axis=1).sum() for V in seedings]
    centers, labels = seedings[int(np.argmin(inertia))], np.full(n, -1)
    for _ in range(MAX_LLOYD):
        before, labels = labels, space.squared_distances(centers, each).argmin(axis=1)
        if (labels == before).all():
            break
        members = each[labels]
        sizes = members.sum(axis=0)
        means = space.sums(members) / np.maximum(sizes, 1.0)[:, None]
        centers = np.where(sizes[:, None] > 0.0, means, centers)
    return centers


def random_start(space: Space, n: int, c: int, rng: np.random.Generator) -> Array:
    """Return c objects, each drawn in proportion to its squared distance to those before."""
    chosen = [int(rng.integers(n))]
    nearest = np.full(n, np.inf)
    for _ in range(c - 1):
        last = space.objects(np.array(chosen[-1:]))
        d2 = np.maximum(space.squared_distances(last, np.eye(1))[:, 0], 0.0)
        nearest = np.minimum(nearest, d2)
        chosen.append(int(rng.choice(n, p=nearest / nearest.sum())))
    return space.objects(np.array(chosen))


STARTS: Mapping[str, Callable[[Space, int, int, np.random.Generator], Array]] = {
    "kmeans": kmeans_start,
    "random": random_start,
}
