"""The convergence criterion of EM, and how EM ended."""

from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart._checks import check_integer, check_positive

MCLUST_TOLERANCE = 1e-5  # where mclust stops
DEFAULT_TOLERANCE = 1e-9
MAX_ITERATIONS = 2000
# A relative fall of the likelihood that rounding may cause, where components are nearly singular;
# an iteration that falls by more does not maximise anything.
ROUNDING_FALL = 1e-6


class Status(IntEnum):
    """How EM ended for a mixture; NOT_CONVERGED also while it runs.  Callers set REGULARISED."""

    OK = 0
    REGULARISED = 1
    DEGENERATE = 2
    NOT_CONVERGED = 3

    @property
    def label(self) -> str:
        """The status in plain words."""
        return self.name.lower().replace("_", " ")


class Limits(NamedTuple):
    """When to stop: at a relative gain below ``tol``, or after ``max_iter`` iterations."""

    tol: float = DEFAULT_TOLERANCE
    max_iter: int = MAX_ITERATIONS

    @classmethod
    def check(cls, tol: float, max_iter: int) -> Self:
        """Limits, after both values are checked."""
        return cls(check_positive("tol", tol), check_integer("max_iter", max_iter, at_least=1))


def relative_gain(new: Array, old: Array) -> Array:
    """What an iteration gains, ``(new - old) / (1 + |new|)``, as mclust measures it."""
    with np.errstate(invalid="ignore"):  # either may be infinite
        return np.asarray((new - old) / (1.0 + np.abs(new)))


def is_small_gain(gain: Array, tol: float) -> BoolArray:
    """Whether EM has converged, by its relative gains: below ``tol``, and no real fall."""
    return np.asarray((gain < tol) & (gain > -max(tol, ROUNDING_FALL)))


def resolution(loglik: Array, tol: float) -> Array:
    """Log-likelihoods closer than this cannot be told apart at this tolerance.

    EM that stops at a gain of ``tol`` is below its maximum by several times as much, since gains
    shrink slowly: nine times where each is nine tenths of the one before.
    """
    return np.asarray(10.0 * tol * (1.0 + np.abs(loglik)))
