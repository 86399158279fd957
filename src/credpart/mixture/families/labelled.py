"""A family with what is known already: clusters in which an object cannot be have no density.

The likelihood of an object is the sum over the components that it may belong to, so that EM gives
the others no responsibility.  What is known is one more column of the data, after those that the
family itself reads: a whole number whose bit k is 1 if the object cannot be in cluster k.  So it
follows the objects wherever they go: distinct objects, bootstrap samples, blocks.  Data without the
column, such as new objects, are objects of which nothing is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table
from credpart.mixture.families.base import Components, Family, MixtureFamily, Parameters

MOST_CLUSTERS = 53  # bits of a whole number that a float holds exactly
# Added to the log density of a component that is excluded.  It is below the logarithm of the share
# of a component that is absent from a mixture: an object of this component stays one.
EXCLUDED = -1e304


def is_excluded(codes: Array, c: int) -> BoolArray:
    """Which of c clusters objects with these codes (..., n) cannot be in, shape (..., c, n).

    >>> is_excluded(np.array([0.0, 5.0]), 3).T.tolist()
    [[False, False, False], [True, False, True]]
    """
    bits = codes.astype(np.int64)[..., None, :] >> np.arange(c)[:, None]
    return np.asarray(bits & 1 == 1)


@dataclass(frozen=True, slots=True)
class Labelled(MixtureFamily[Parameters]):
    """Mixtures of another family, on objects whose clusters are known in part."""

    family: Family
    n_columns: int  # that the family itself reads

    is_linearisable: ClassVar[bool] = False

    @property
    def is_normal(self) -> bool:  # type: ignore[override]
        """Whether components are normal."""
        return self.family.is_normal

    @property
    def has_slow_em(self) -> bool:  # type: ignore[override]
        """Whether EM converges slowly."""
        return self.family.has_slow_em

    @property
    def has_noise(self) -> bool:  # type: ignore[override]
        """Whether an object may belong to no component; one with a label may too."""
        return self.family.has_noise

    @property
    def params_type(self) -> type[Parameters] | None:  # type: ignore[override]
        """The NamedTuple of the parameters."""
        return self.family.params_type

    @property
    def innermost(self) -> Family:
        """The family of the components."""
        return self.family.innermost

    def with_components(self, change: Callable[[Family], Family]) -> Family:
        """The family with other components."""
        return replace(self, family=self.family.with_components(change))

    # What EM asks

    def features(self, X: Array) -> Array:
        """The features of the family, and the code of what is known: 0 if there is none."""
        codes = X[:, self.n_columns :]
        if not codes.shape[1]:
            codes = np.zeros((len(X), 1))
        return np.hstack([self.family.features(X[:, : self.n_columns]), codes])

    def log_joint(self, features: Array, params: Parameters) -> Array:
        """``log pi_k + log p_k(x_i)``; next to nothing where object i cannot be in cluster k."""
        joint = self.family.log_joint(features[..., :-1], params)
        excluded = is_excluded(features[..., -1], joint.shape[1])
        return joint + np.where(excluded, EXCLUDED, 0.0)

    def statistics(self, features: Array, resp: Array, params: Parameters | None = None) -> Array:
        """Expected sufficient statistics (b, k, s) of the family."""
        return self.family.statistics(features[..., :-1], resp, params)

    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: Parameters | None
    ) -> Parameters:
        """Parameters that maximise the expected likelihood."""
        return self.family.m_step(statistics, structure_code, previous)

    def log_prior(self, params: Parameters) -> Array | float:
        """Log prior density of the family."""
        return self.family.log_prior(params)

    # What the choice of a model asks

    def n_free(self, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        return self.family.n_free(c)

    def n_parameters(self, structure: str, c: int) -> int:
        """Number of free parameters under a covariance structure."""
        return self.family.n_parameters(structure, c)

    @property
    def log_unit(self) -> float:
        """What to subtract from a log density to convert it to the units of the data."""
        return self.family.log_unit

    def embed(self, params: Parameters) -> Parameters:
        """A mixture of a family that is nested in this one, as a mixture of this one."""
        return self.family.embed(params)

    # What may be wrong with parameters, and what is done about it

    def is_degenerate(self, params: Parameters) -> BoolArray:
        """Mixtures (b,) whose parameters are not valid."""
        return self.family.is_degenerate(params)

    def is_flat(self, params: Parameters) -> BoolArray:
        """Components (b, k) that would be spurious if they had few objects."""
        return self.family.is_flat(params)

    def is_spurious(self, params: Parameters, n: float) -> BoolArray:
        """Components (b, k) that are artefacts."""
        return self.family.is_spurious(params, n)

    def describe_spurious(self, params: Parameters, k: int, n: float) -> str:
        """What is wrong with the spurious component k of the first mixture."""
        return self.family.describe_spurious(params, k, n)

    def regularised(self, statistics: Array) -> Self:
        """The family with a prior that keeps components from breaking down."""
        return replace(self, family=self.family.regularised(statistics))

    # What people read

    def to_data_units(self, params: Parameters) -> Parameters:
        """Parameters in the units of the data."""
        return self.family.to_data_units(params)

    def remarks(self, params: Parameters) -> list[str]:
        """What a user should know of the parameters."""
        return self.family.remarks(params)

    def sample(
        self, params: Parameters, n: int, rng: np.random.Generator
    ) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures, of which nothing is known."""
        return self.family.sample(params, n, rng)

    def projectable(self, params: Parameters) -> Components | None:
        """Components of the first mixture, if they keep their form under linear maps."""
        return self.family.projectable(params)

    def cluster_scales(self, params: Parameters) -> Array | None:
        """Scale matrices of the clusters of the first mixture, if they have any."""
        return self.family.cluster_scales(params)

    # How it is checked when it comes out of a file

    def check_columns(self, table: Table) -> None:
        """Raise ValueError if the family cannot be one of these data."""
        d = table.values.shape[1]
        if not isinstance(self.family, MixtureFamily) or self.n_columns != d:
            raise ValueError("labels of other columns")
        self.family.check_columns(table)

    def derived(self, params: Parameters) -> Parameters:
        """The parameters, with those that follow from others computed anew."""
        return self.family.derived(params)
