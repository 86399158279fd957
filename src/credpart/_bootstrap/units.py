"""What a bootstrap sample draws: single objects, or whole groups of them, perhaps within strata.

Objects of one group, such as cells of one donor, are not independent of each other, but groups are:
so whole groups are drawn.  Strata, such as the arms of a trial, keep their sizes: draws are made
within each of them.

There may be few units.  A sample of as many as there are varies too little: deviations are from the
mean of the sample, which is nearer to its units than the true mean is, so that the variance is low
by the factor (N - 1) / N.  The functions that draw the weights of units make up for it [RW88].
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import in_row
from credpart._messages import Message, Name
from credpart.errors import DataWarning, InputError, warn_caller
from credpart.mixture.distinct import DistinctObjects

# How often objects or units were seen in the data -> their weights in a bootstrap sample.
Weigh = Callable[[Array, Generator], Array]

FEWEST_GROUPS = 10  # intervals from fewer are hardly to be trusted


class Units(NamedTuple):
    """Units that are drawn with replacement, those of one stratum after those of another."""

    content: Any  # (u, m), sparse: weights of the distinct objects in one draw of a unit
    frequency: Array  # (u,): how often each unit was seen
    strata: tuple[slice, ...]  # units of each stratum

    def draw(self, weigh_units: Weigh, rng: Generator) -> Array:
        """Weights of units (u,) in a sample, each stratum on its own."""
        return np.concatenate([weigh_units(self.frequency[units], rng) for units in self.strata])

    @property
    def variances(self) -> Array:
        """Variances (u,) of weights around those of a stratum's mean: ``N / (N - 1)`` a unit."""
        found = self.frequency.copy()
        for units in self.strata:
            total = self.frequency[units].sum()
            if total >= 2.0:
                found[units] /= 1.0 - 1.0 / total
        return found

    def weights(self, drawn: Array, total: float) -> Array:
        """Weights (b, m) of distinct objects, with this total, where units (b, u) were drawn.

        Groups differ in size, and so do samples of them: the total is that of the data in all, so
        that their likelihoods can be compared.
        """
        weights = np.asarray(drawn @ self.content)
        return weights * (total / weights.sum(axis=1, keepdims=True))


class Design(NamedTuple):
    """Which objects are drawn together, and within which strata: codes (n,), or None."""

    groups: IntArray | None = None
    strata: IntArray | None = None

    @classmethod
    def check(
        cls, groups: ArrayLike | None, strata: ArrayLike | None, weights: Array, *, is_new: bool
    ) -> Self:
        """Refuse what cannot be resampled; ``is_new`` says that samples are new objects."""
        given = {"groups": groups, "strata": strata}
        found = {
            name: _coded(name, value, len(weights))
            for name, value in given.items()
            if value is not None
        }
        if found and is_new:
            raise needs_weights(next(iter(found)))
        if groups is not None:
            _check_groups(found["groups"].codes[weights > 0.0])
        if len(found) == 2:
            _check_nested(**found)
        if strata is not None:
            _check_strata(found["strata"], found.get("groups"), weights > 0.0)
        return cls(**{name: column.codes for name, column in found.items()})

    def units(self, objects: DistinctObjects, weights: Array) -> Units | None:
        """The units of objects with these weights (n,); None where they are the objects alone.

        That is so where every group has one object with a weight of 1, and there is one stratum.
        """
        rows = np.flatnonzero(weights > 0.0)
        place, w = objects.place[rows], weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        if groups is not None and len(np.unique(groups)) == len(rows) and (w == 1.0).all():
            groups = None
        strata = np.zeros(len(rows), dtype=np.intp) if self.strata is None else self.strata[rows]
        if groups is None and len(np.unique(strata)) == 1:
            return None
        keys = np.column_stack([strata, place if groups is None else groups])
        found, unit = np.unique(keys, axis=0, return_inverse=True)
        unit = unit.ravel()
        shape = len(found), len(objects.X)
        if groups is None:
            frequency = np.bincount(unit, w).astype(float)
            content = csr_array((np.ones(len(found)), (np.arange(len(found)), found[:, 1])), shape)
        else:
            frequency = np.ones(len(found))
            content = csr_array((w, (unit, place)), shape)
        ends = [*np.flatnonzero(np.diff(found[:, 0])) + 1, len(found)]
        return Units(content, frequency, tuple(map(slice, [0, *ends[:-1]], ends)))


def needs_weights(given: str) -> InputError:
    """The error for groups, strata or labels of objects where samples are new objects."""
    return InputError(
        "resampling",
        Message("draw weights where ", Name(given), " are given"),
        "parametric",
        f"Samples from a mixture have no {given}: take 'nonparametric' or 'bayesian'.",
    )


class _Coded(NamedTuple):
    """Codes (n,) of names in their order, and the names."""

    codes: IntArray
    names: Any


def _coded(name: str, value: ArrayLike, n: int) -> _Coded:
    import pandas as pd

    given = np.asarray(value, dtype=object)
    if given.shape != (n,):
        raise InputError(name, f"have shape ({n},)", given.shape)
    column = pd.Series(given.tolist(), dtype=object)
    missing = np.flatnonzero(column.isna())
    if len(missing):
        got = in_row("a missing value", missing[0])
        raise InputError(name, "be known for all objects", got)
    codes, names = pd.factorize(column, sort=True)
    return _Coded(codes.astype(np.intp), names)


def _check_groups(codes: IntArray) -> None:
    number = len(np.unique(codes))
    if number < 2:
        alone = Message("one group")
        raise InputError("groups", "name at least 2 groups", alone, "Leave the groups out.")
    if number < FEWEST_GROUPS:
        text = f"Only {number} groups are resampled: intervals from fewer than {FEWEST_GROUPS} "
        warn_caller(DataWarning(text, "are too short, and vary much."))


def _check_strata(strata: _Coded, groups: _Coded | None, is_seen: BoolArray) -> None:
    """Refuse strata of one object or group each: every sample would be the data."""
    rows = np.flatnonzero(is_seen)
    units = rows if groups is None else groups.codes[rows]
    drawn = np.unique(np.column_stack([strata.codes[rows], units]), axis=0)
    if len(np.unique(drawn[:, 0])) == len(drawn):
        what = "objects" if groups is None else "groups"
        got = Message("one in each, so that every sample is the data")
        raise InputError("strata", f"have several {what}", got, "Leave the strata out.")


def _check_nested(groups: _Coded, strata: _Coded) -> None:
    """Refuse a group that is in two strata."""
    order = np.lexsort([strata.codes, groups.codes])
    group, stratum = groups.codes[order], strata.codes[order]
    differs = np.flatnonzero((group[1:] == group[:-1]) & (stratum[1:] != stratum[:-1]))
    if len(differs):
        i = differs[0]
        both = f"{strata.names[stratum[i]]!r} and {strata.names[stratum[i + 1]]!r}"
        got = Message(f"{both} in group {groups.names[group[i]]!r}")
        raise InputError("strata", "be the same for all objects of a group", got)
