"""Mixtures of one family side by side, and the data that they are fitted to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.families.base import Family, P, Parameters
from credpart.mixture.optimisation.convergence import Status

Stack = NDArray[Any]  # with the mixtures first


class Samples(NamedTuple):
    """Features (n, p) that m samples share, or (m, n, p), and their weights (m, n)."""

    features: Array
    weights: Array


class Problem(NamedTuple):
    """A family and its data, which define the log-likelihood to maximise."""

    family: Family
    data: Samples

    @classmethod
    def of(cls, family: Family, X: Array, weights: Array) -> Self:
        """A family on objects (n, d) that m samples share, with weights (m, n)."""
        return cls(family, Samples(family.features(X), weights))

    @property
    def n_objects(self) -> float:
        """The total weight of a sample, the same for all samples."""
        return float(self.data.weights[0].sum())

    def statistics(self, resp: Array) -> Array:
        """Statistics (1, k, s) of responsibilities (k, n), on the first sample."""
        weighted = (resp * self.data.weights[0])[None]
        with np.errstate(all="ignore"):  # a singular component is detected after the first E-step
            return self.family.statistics(self.data.features, weighted)

    def is_sound(self, mixtures: "Mixtures") -> BoolArray:
        """Which mixtures (b,) are neither degenerate nor have a spurious component."""
        is_spurious = self.family.is_spurious(mixtures.params, self.n_objects)
        return ~mixtures.is_degenerate & ~is_spurious.any(axis=1)


@dataclass(frozen=True, slots=True)
class Mixtures:
    """A batch of b mixtures of one family with k components, under way or ended.

    A mixture with fewer than k components has absent ones at its end, with no proportion.
    """

    params: Parameters  # arrays (b, k, ...)
    statistics: Array  # (b, k, s): expected at the parameters
    objective: Array  # (b,): what EM maximises, the log-likelihood plus the log prior
    n_iter: IntArray  # (b,)
    status: IntArray  # (b,): NOT_CONVERGED while a mixture is under way
    structure_code: IntArray  # (b,)
    sample: IntArray  # (b,): which sample of the data it is fitted to
    slot: IntArray  # (b,): which cell of a selection, or replicate, it competes for

    @classmethod
    def at(
        cls, params: Parameters, codes: IntArray, sample: IntArray, slot: IntArray, n_iter: int
    ) -> Self:
        """Mixtures with these parameters and codes of structures, before an E-step."""
        b = len(slot)
        status = np.full(b, Status.NOT_CONVERGED)
        arrays = np.zeros((b, 0, 0)), np.zeros(b), np.full(b, n_iter), status
        return cls(params, *arrays, codes, sample, slot)

    def __len__(self) -> int:
        return len(self.objective)

    @property
    def is_degenerate(self) -> BoolArray:
        """Mixtures that broke down."""
        return self.status == Status.DEGENERATE

    def take(self, rows: IntArray) -> Self:
        """Some of the mixtures."""
        # For large arrays, `take` is several times as fast as an index in brackets.
        return self._map(lambda array: array.take(rows, axis=0))

    def put(self, rows: IntArray, others: Self) -> Self:
        """The batch with some of its mixtures replaced by others."""

        def replaced(old: Stack, new: Stack) -> Stack:
            result = old.copy()
            result[rows] = new
            return result

        return self._map(replaced, others)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Several batches as one."""
        first, *others = parts
        return first._map(lambda *arrays: np.concatenate(arrays), *others)

    def resumed(self) -> Self:
        """The batch with the status reset to NOT_CONVERGED, except for degenerate mixtures."""
        status = np.where(self.is_degenerate, self.status, Status.NOT_CONVERGED)
        return replace(self, status=status)

    def _map(self, function: Callable[..., Stack], *others: Self) -> Self:
        """The batch whose arrays are functions of those of batches."""
        batches = (self, *others)
        params = map_params(function, *(batch.params for batch in batches))
        names = [field.name for field in fields(self)[1:]]
        arrays = [function(*(getattr(batch, name) for batch in batches)) for name in names]
        return type(self)(params, *arrays)


def map_params(function: Callable[..., Stack], *params: P) -> P:
    """Parameters whose arrays are functions of those of others."""
    return type(params[0])(*(function(*arrays) for arrays in zip(*params, strict=True)))


def take_params(params: P, rows: int | IntArray | slice | tuple[slice, slice]) -> P:
    """Parameters of one or some mixtures, or of some of their components."""
    return map_params(lambda field: field[rows], params)
