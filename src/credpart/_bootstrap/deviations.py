"""How sums over a bootstrap sample deviate from those over the data.

Each object contributes a row of numbers, the last of which is 1.  A bootstrap sample has other
weights, and so other sums of the contributions.

Where objects are drawn one by one, their products say how these sums vary, and sums over many
objects are normal: so normal vectors are drawn instead of weights.  Where groups of objects are
drawn, or objects within strata, there may be few units, whose sums are not normal.  What their
objects contribute is summed by unit, and the units are drawn as they are for refits: so a deviation
is that of the very sample to which the mixture would be refitted.

u units, b replicates, w contributions.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import SeedSequence

from credpart._arrays import Array
from credpart._bootstrap.block_sums import BLOCK_ROWS, Sums
from credpart._bootstrap.units import Units, Weigh

CONTRIBUTION_VALUES = 1 << 19  # contributions of the objects whose products are added together
SMALLEST_BLOCK = 256  # objects whose products are added together

# objects (n, d) -> what each contributes (n, w); the last column is 1
Contribute = Callable[[Array], Array]


class Deviations(Protocol):
    """Deviations of sums over bootstrap samples."""

    @property
    def C(self) -> Array:
        """Their covariance (w - 1, w - 1)."""

    def draw(self, seeds: Sequence[SeedSequence]) -> Array:
        """Deviations (b, w - 1) of some samples."""


class SampleWeights(Protocol):
    """The weights of objects in b bootstrap samples, which are the same at each call."""

    def __len__(self) -> int:
        """The number of samples."""

    def __call__(self, weights: Array, block: int) -> Array:
        """Weights (b, rows) of a block of objects that have ``weights`` in the data."""


# From the contributions, and their weighted products (w, w).
FindDeviations = Callable[[Contribute, Array], Deviations]


class Sampling(Protocol):
    """What is drawn."""

    def deviations(self, contribute: Contribute, products: Array) -> Deviations:
        """Deviations of sums, from the contributions and their weighted products (w, w)."""

    def weights(self, seeds: Sequence[SeedSequence]) -> SampleWeights:
        """The weights of objects in some samples."""


class NormalDeviations(NamedTuple):
    """Normal vectors with a covariance."""

    C: Array

    def draw(self, seeds: Sequence[SeedSequence]) -> Array:
        """Deviations (b, w - 1) of some samples."""
        values, axes = np.linalg.eigh(self.C)
        root = axes * np.sqrt(np.maximum(values, 0.0))  # C has no full rank
        normal = [np.random.default_rng(seed).standard_normal(len(root)) for seed in seeds]
        return np.array(normal) @ root.T


class IndependentWeights(NamedTuple):
    """Weights of objects that are drawn independently of each other.

    Each replicate and block has a stream of its own: so weights are never all in memory.
    """

    weigh: Weigh
    seeds: Sequence[SeedSequence]

    def __len__(self) -> int:
        return len(self.seeds)

    def __call__(self, weights: Array, block: int) -> Array:
        """Weights (b, rows) of a block of objects that have ``weights`` in the data."""
        keys = [(*seed.spawn_key, block) for seed in self.seeds]
        streams = [
            np.random.default_rng(SeedSequence(seed.entropy, spawn_key=key))
            for seed, key in zip(self.seeds, keys, strict=True)
        ]
        return np.array([self.weigh(weights, rng) for rng in streams], dtype=float)


class IndependentObjects(NamedTuple):
    """Objects are drawn one by one."""

    weigh: Weigh

    @staticmethod
    def deviations(contribute: Contribute, products: Array) -> NormalDeviations:
        """From the products alone."""
        return NormalDeviations(covariance(products))

    def weights(self, seeds: Sequence[SeedSequence]) -> IndependentWeights:
        """The weights of objects in some samples."""
        return IndependentWeights(self.weigh, seeds)


def weighted_products(contribute: Contribute, X: Array, weights: Array, block: int) -> Sums:
    """Weighted products (w, w) of what objects contribute; the last row of these are the sums."""
    width = contribute(X[:1]).shape[1]
    size = max(SMALLEST_BLOCK, CONTRIBUTION_VALUES // width)
    products = np.zeros((width, width))
    for first in range(0, len(X), size):
        rows = slice(first, first + size)
        U = contribute(X[rows])
        products += (weights[rows, None] * U).T @ U
    return (products,)


def covariance(products: Array) -> Array:
    """Covariance of sums over samples of independent objects, from the weighted products (w, w)."""
    sums = products[-1]
    return (products - np.outer(sums, sums) / sums[-1])[:-1, :-1]


def unit_sums(X: Array, units: Units, contribute: Contribute) -> Array:
    """What the objects of each unit contribute, summed, in one draw of it: shape (u, w)."""
    content = units.content.tocsc()
    sums = np.zeros((content.shape[0], contribute(X[:1]).shape[1]))
    for first in range(0, len(X), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        some = content[:, rows]
        touched = np.unique(some.indices)
        sums[touched] += some.tocsr()[touched] @ contribute(X[rows])
    return sums


def beyond_the_mean(sums: Array, units: Units) -> Array:
    """How one more draw of a unit changes the sums (u, w) of a sample, to first order.

    ``sums`` (u, w) are those of each unit.  A sample has the total weight of the data, whatever
    units were drawn: so a unit counts by what it contributes beyond the mean of the data times its
    own weight, and beyond the mean of its stratum.
    """
    total = units.frequency @ sums
    beyond = sums - np.outer(sums[:, -1], total / total[-1])
    for stratum in units.strata:
        beyond[stratum] -= np.average(beyond[stratum], axis=0, weights=units.frequency[stratum])
    return beyond


class UnitDeviations(NamedTuple):
    """Deviations of sums over samples of units."""

    sums: Array  # (u, w): what the objects of a unit contribute
    units: Units
    weigh_units: Weigh

    @property
    def C(self) -> Array:
        """Covariance of the deviations, to first order."""
        beyond = beyond_the_mean(self.sums, self.units)
        return ((self.units.variances[:, None] * beyond).T @ beyond)[:-1, :-1]

    def draw(self, seeds: Sequence[SeedSequence]) -> Array:
        """Deviations (b, w - 1) of the samples that refits with these seeds have."""
        total = self.units.frequency @ self.sums
        found = np.empty((len(seeds), len(total)))
        for b, seed in enumerate(seeds):
            sums = self.units.draw(self.weigh_units, np.random.default_rng(seed)) @ self.sums
            found[b] = sums * (total[-1] / sums[-1]) - total
        return found[:, :-1]


class GivenWeights(NamedTuple):
    """Weights (b, n) of all objects."""

    drawn: Array

    def __len__(self) -> int:
        return len(self.drawn)

    def __call__(self, weights: Array, block: int) -> Array:
        """Weights (b, rows) of a block of objects."""
        first = block * BLOCK_ROWS
        return self.drawn[:, first : first + len(weights)]


class DrawnUnits(NamedTuple):
    """Units of objects (n, d) with a total weight are drawn."""

    X: Array
    total: float
    units: Units
    weigh_units: Weigh

    def deviations(self, contribute: Contribute, products: Array) -> UnitDeviations:
        """From what objects contribute, summed by unit."""
        sums = unit_sums(self.X, self.units, contribute)
        return UnitDeviations(sums, self.units, self.weigh_units)

    def weights(self, seeds: Sequence[SeedSequence]) -> GivenWeights:
        """The weights of objects in some samples."""
        streams = map(np.random.default_rng, seeds)
        drawn = [self.units.draw(self.weigh_units, rng) for rng in streams]
        return GivenWeights(self.units.weights(np.array(drawn), self.total))
