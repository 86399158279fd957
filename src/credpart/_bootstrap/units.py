"""What a bootstrap sample draws: single objects, or whole groups of them, perhaps within strata.

Objects of one group, such as cells of one donor, are not independent of each other, but groups are:
so whole groups are drawn.  Strata, such as the arms of a trial, keep their sizes: draws are made
within each of them.
"""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import in_row
from credpart._messages import Message, Name
from credpart.errors import DataWarning, InputError
from credpart.mixture.distinct import DistinctObjects

FEWEST_GROUPS = 10  # intervals from fewer are hardly to be trusted


class Units(NamedTuple):
    """Units that are drawn with replacement, those of one stratum after those of another."""

    content: Any  # (u, m), sparse: weights of the distinct objects in one draw of a unit
    frequency: Array  # (u,): how often each unit was seen
    strata: tuple[slice, ...]  # units of each stratum

    def counts(self, rng: Generator) -> Array:
        """How often units are drawn, in as many draws as there are units in a stratum."""
        return self._by_stratum(lambda seen: multinomial(seen, rng))

    def dirichlet(self, rng: Generator) -> Array:
        """Dirichlet weights of units, with the total of their stratum."""
        return self._by_stratum(lambda seen: gamma(seen, rng))

    def weights(self, drawn: Array, total: float) -> Array:
        """Weights (b, m) of distinct objects, with this total, where units (b, u) were drawn.

        Groups differ in size, and so do samples of them: the total is that of the data in all, so
        that their likelihoods can be compared.
        """
        weights = np.asarray(drawn @ self.content)
        return weights * (total / weights.sum(axis=1, keepdims=True))

    def _by_stratum(self, draw: Any) -> Array:
        return np.concatenate([draw(self.frequency[units]) for units in self.strata])


def multinomial(seen: Array, rng: Generator) -> Array:
    """Counts of as many draws with replacement as units were seen, with the same total."""
    total = seen.sum()
    size = max(1, round(total))
    return rng.multinomial(size, seen / total) * (total / size)


def gamma(seen: Array, rng: Generator) -> Array:
    """Dirichlet weights of units, with the total of how often they were seen."""
    drawn = np.asarray(rng.standard_gamma(seen))
    return np.asarray(drawn * (seen.sum() / drawn.sum()))


class Design(NamedTuple):
    """Which objects are drawn together, and within which strata: codes (n,), or None."""

    groups: IntArray | None = None
    strata: IntArray | None = None

    @classmethod
    def check(
        cls, groups: ArrayLike | None, strata: ArrayLike | None, weights: Array, *, is_new: bool
    ) -> Self:
        """Refuse what cannot be resampled; ``is_new`` says that samples are new objects."""
        design = cls()
        for name, given in (("groups", groups), ("strata", strata)):
            if given is None:
                continue
            codes, names = _codes(name, given, len(weights))
            if is_new:
                raise InputError(
                    "resampling",
                    Message("draw weights where ", Name(name), " are given"),
                    "parametric",
                    "Samples from a mixture have no groups: take 'nonparametric' or 'bayesian'.",
                )
            design = design._replace(**{name: codes})
            if name == "groups":
                _check_groups(codes[weights > 0.0])
            elif design.groups is not None:
                _check_nested(
                    design.groups, codes, _codes("groups", groups, len(weights))[1], names
                )
        if design.strata is not None:
            _check_strata(design.strata, design.groups, weights > 0.0)
        return design

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


def _codes(name: str, value: ArrayLike | None, n: int) -> tuple[IntArray, Any]:
    """Codes (n,) of names in their order, and the names."""
    import pandas as pd

    given = pd.Series(np.asarray(value, dtype=object).tolist(), dtype=object)
    shape = np.shape(np.asarray(value, dtype=object))
    if shape != (n,):
        raise InputError(name, f"have shape ({n},)", shape)
    missing = np.flatnonzero(given.isna())
    if len(missing):
        got = in_row("a missing value", missing[0])
        raise InputError(name, "be known for all objects", got)
    codes, names = pd.factorize(given, sort=True)
    return codes.astype(np.intp), names


def _check_groups(codes: IntArray) -> None:
    number = len(np.unique(codes))
    if number < 2:
        alone = Message("one group")
        raise InputError("groups", "name at least 2 groups", alone, "Leave the groups out.")
    if number < FEWEST_GROUPS:
        text = f"Only {number} groups are resampled: intervals from fewer than {FEWEST_GROUPS} "
        warnings.warn(DataWarning(text, "are too short, and vary much."), stacklevel=4)


def _check_strata(strata: IntArray, groups: IntArray | None, is_seen: BoolArray) -> None:
    """Refuse strata of one object or group each: every sample would be the data."""
    rows = np.flatnonzero(is_seen)
    units = rows if groups is None else groups[rows]
    drawn = np.unique(np.column_stack([strata[rows], units]), axis=0)
    if len(np.unique(drawn[:, 0])) == len(drawn):
        what = "objects" if groups is None else "groups"
        got = Message("one in each, so that every sample is the data")
        raise InputError("strata", f"have several {what}", got, "Leave the strata out.")


def _check_nested(groups: IntArray, strata: IntArray, names: Any, strata_names: Any) -> None:
    """Refuse a group that is in two strata."""
    order = np.lexsort([strata, groups])
    same = groups[order][1:] == groups[order][:-1]
    differs = np.flatnonzero(same & (strata[order][1:] != strata[order][:-1]))
    if len(differs):
        i, j = order[differs[0]], order[differs[0] + 1]
        both = f"{strata_names[strata[i]]!r} and {strata_names[strata[j]]!r}"
        got = Message(f"{both} in group {names[groups[i]]!r}")
        raise InputError("strata", "be the same for all objects of a group", got)
