"""Mixtures of one family side by side, and the data that they are fitted to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart._arrays import Array, BoolArray, IntArray
from credpart.mixture.families.base import MixtureFamily, P
from credpart.mixture.optimisation.convergence import Status

Stack = NDArray[Any]  # with the mixtures first


class Data(NamedTuple):
    """Weights (m, n) of m samples, and features (n, p) that these share, or (m, n, p)."""

    features: Array
    weights: Array


@dataclass(frozen=True, slots=True)
class Problem(Generic[P]):
    """A family on its data: what is maximised."""

    family: MixtureFamily[P]
    data: Data

    @property
    def n_objects(self) -> float:
        """The total weight of a sample, which all samples have."""
        return float(self.data.weights[0].sum())


@dataclass(frozen=True, slots=True)
class Mixtures(Generic[P]):
    """A batch of b mixtures of one family with k components, under way or ended.

    A mixture with fewer than k components has absent ones at its end, with no proportion.
    """

    params: P  # arrays (b, k, ...)
    statistics: Array  # (b, k, s): expected at the parameters
    loglik: Array  # (b,): log-likelihood plus log prior
    n_iter: IntArray  # (b,)
    status: IntArray  # (b,): NOT_CONVERGED while a mixture is under way
    structure: IntArray  # (b,): code of the covariance structure
    sample: IntArray  # (b,): which sample of the data it is fitted to
    slot: IntArray  # (b,): what it is a candidate for: a cell of a selection, or a replicate

    def __len__(self) -> int:
        return len(self.loglik)

    @property
    def is_degenerate(self) -> BoolArray:
        """Mixtures that broke down."""
        return np.asarray(self.status == Status.DEGENERATE)

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

    def under_way(self) -> Self:
        """The batch before more iterations: all but the degenerate go on."""
        status = np.where(self.is_degenerate, self.status, Status.NOT_CONVERGED)
        return replace(self, status=status)

    def _map(self, function: Callable[..., Stack], *others: Self) -> Self:
        """The batch whose arrays are functions of those of batches."""
        batches = (self, *others)
        fields = zip(*(batch.params for batch in batches), strict=True)
        params = made_like(self.params, [function(*arrays) for arrays in fields])
        names = ("statistics", "loglik", "n_iter", "status", "structure", "sample", "slot")
        changed: dict[str, Any] = {
            name: function(*(getattr(batch, name) for batch in batches)) for name in names
        }
        return replace(self, params=params, **changed)


def made_like(params: P, arrays: Sequence[Stack]) -> P:
    """Parameters of the same kind from other arrays."""
    return type(params)(*arrays)


def take_params(params: P, rows: IntArray | slice | tuple[slice, slice]) -> P:
    """Parameters of some mixtures, or of some of their components."""
    return made_like(params, [field[rows] for field in params])
