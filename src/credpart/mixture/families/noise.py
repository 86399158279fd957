"""Mixtures with a component for outliers: uniform over the volume of the data [FR98]_.

Noise is no cluster.  An object of a family with noise is an outlier with probability ``nu``, the
noise share, and then has the density 1 / V, where V is the volume of the data; otherwise it comes
from a mixture of the family without noise.  So the likelihood of complete data is a product, and
an M-step is one of that family and a proportion.

V is the volume of the smaller of two boxes: the one along the columns, and the one along the
principal components of the standardised columns.  Both follow the units of the columns.  V is
known before EM begins and does not count as a parameter.  Beyond the box the density is the same:
an object far from all others, new or not, is an outlier.  Of an object with missing cells, V is
the volume of the columns that it has.

References
----------
.. [FR98] Fraley, Raftery: How many clusters?  Which clustering method?  Answers via model-based
   cluster analysis.  The Computer Journal 41, 1998.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.random import Generator

from credpart._arrays import Array, BoolArray, IntArray, make_read_only
from credpart._checks import Table
from credpart.mixture.families.base import (
    OUTLIER,
    Components,
    Family,
    MixtureFamily,
    Parameters,
)
from credpart.mixture.families.gaussian import Gaussian, GaussianParams, MixtureParams
from credpart.mixture.families.location_scale import LocationScale, LocationScaleParams

FIRST = 0.05  # noise share before the first M-step, and of a mixture without noise that is embedded
# A share of 0 would stay 0 in EM, also where it was reached by an extrapolation.
LEAST = 1e-10
NO_WIDTH = 1e-12  # variance along a component, relative to the largest, that is rounding


def _with_noise_share(params: Any, name: str) -> Any:
    """The NamedTuple with the fields of another one and the noise share."""
    return namedtuple(name, (*params._fields, "noise"), module=__name__)


NoisyGaussianParams = _with_noise_share(GaussianParams, "NoisyGaussianParams")
NoisyLocationScaleParams = _with_noise_share(LocationScaleParams, "NoisyLocationScaleParams")
# In the units of the data.  Proportions are those of the clusters among all objects, so that they
# and the noise share sum to 1.
NoisyMixtureParams = _with_noise_share(MixtureParams, "NoisyMixtureParams")
NoisyComponents = _with_noise_share(Components, "NoisyComponents")
WITHOUT_NOISE: Mapping[type, type[Parameters]] = {
    NoisyGaussianParams: GaussianParams,
    NoisyLocationScaleParams: LocationScaleParams,
}


class Box(NamedTuple):
    """A parallelepiped: a corner (d,), and its edges (d, d) as rows."""

    corner: Array
    edges: Array

    @property
    def log_volume(self) -> float:
        """Logarithm of its volume; minus infinity if an edge is missing."""
        return float(np.linalg.slogdet(self.edges)[1])


def box_of(X: Array) -> Box:
    """The smaller of the boxes around objects (n, d) along columns and principal components.

    Where cells are missing it is that along the columns: given the cells that are seen, an object
    of this box is uniform over the box of their columns.  So it is where the objects fill
    no volume along the components, since there are too few of them.

    >>> line = np.array([[0.0, 0.0], [1.0, 1.1], [2.0, 2.0], [3.0, 2.9]])
    >>> bool(np.exp(box_of(line).log_volume) < 3.0 * 2.9)
    True
    """
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    along_columns = Box(low, np.diag(high - low))
    if np.isnan(X).any():
        return along_columns
    center = X.mean(axis=0)
    scale = (X - center).std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    Z = (X - center) / scale
    eigenvalues, axes = np.linalg.eigh(Z.T @ Z)
    if not eigenvalues[0] > NO_WIDTH * eigenvalues[-1]:
        return along_columns
    axes = axes.T
    scores = Z @ axes.T
    low, high = scores.min(axis=0), scores.max(axis=0)
    along_components = Box(center + scale * (low @ axes), (high - low)[:, None] * axes * scale)
    return min(along_columns, along_components, key=lambda box: box.log_volume)


@dataclass(frozen=True, slots=True)
class WithNoise(MixtureFamily[Parameters]):
    """A family, and noise.  Parameters are those of the family and the noise share (b, k).

    The noise share is repeated for each component, so that parameters of some of the components
    have it too.  `log_joint` has a row more than there are components, the last one, for noise.
    Statistics have two columns more: the size of each component, and in the row of the first one
    that of the noise.
    """

    base: Family  # without noise
    corner: Array  # (d,), of the box
    edges: Array  # (d, d)
    log_height: float = field(init=False)  # log density of noise, in the family's units

    has_noise: ClassVar[bool] = True
    params_type: ClassVar[type[Parameters]]
    base_type: ClassVar[type]
    clusters_type: ClassVar[type[Parameters]]  # the parameters of the family without noise
    shown_type: ClassVar[type[Parameters]]  # in the units of the data

    def __post_init__(self) -> None:
        make_read_only(self.corner, self.edges)
        log_volume = Box(self.corner, self.edges).log_volume
        object.__setattr__(self, "log_height", self.base.log_unit - log_volume)

    @classmethod
    def of(cls, base: Family, X: Array) -> Self:
        """The family with noise in the box of the objects."""
        return cls(base, *box_of(X))

    def with_components(self, change: Callable[[Family], Family]) -> Family:
        """The family with other components, and the same noise."""
        return cast(Family, replace(self, base=self.base.with_components(change)))

    def log_heights(self, features: Array) -> Array | float:
        """Log densities of noise (..., n), in the family's units.

        Of an object with missing cells it is that over the columns that are seen.
        """
        seen = self.base.seen_cells(features)
        if seen is None:
            return self.log_height
        of_columns = self.base.log_unit - seen @ np.log(np.abs(self.edges).sum(axis=0))
        return np.where(seen.all(axis=-1), self.log_height, of_columns)

    # What EM asks

    def features(self, X: Array) -> Array:
        """What the family reads of the data."""
        return self.base.features(X)

    def log_joint(self, features: Array, params: Parameters) -> Array:
        """Log joint densities of the components and, last, of noise: shape (b, k + 1, n)."""
        clusters, share = self.base.log_joint(features, self._clusters(params)), _share(params)
        b, k, n = clusters.shape
        joint = np.empty((k + 1, b, n)).transpose(1, 0, 2)  # components first, as in linear_forms
        np.add(clusters, np.log1p(-share)[:, None, None], out=joint[:, :k])
        joint[:, k] = np.log(share)[:, None] + self.log_heights(features)
        return joint

    def statistics(self, features: Array, resp: Array, params: Parameters | None = None) -> Array:
        """Statistics of the clusters and of noise.

        Before the first M-step ``resp`` has no row for noise, which gets a fixed share.
        """
        if params is None:
            inner, clusters = None, resp
            outside = FIRST / (1.0 - FIRST) * resp.sum(axis=(1, 2))
        else:
            inner, clusters = self._clusters(params), resp[:, :-1]
            outside = resp[:, -1].sum(axis=-1)
        extra = np.zeros((*clusters.shape[:2], 2))
        extra[..., 0], extra[:, 0, 1] = clusters.sum(axis=-1), outside
        return np.concatenate([self.base.statistics(features, clusters, inner), extra], axis=-1)

    def m_step(
        self, statistics: Array, structure_code: IntArray, previous: Parameters | None
    ) -> Parameters:
        """The M-step of the clusters, and the share of noise."""
        before = None if previous is None else self._clusters(previous)
        clusters = self.base.m_step(statistics[..., :-2], structure_code, before)
        inside, outside = np.moveaxis(statistics[..., -2:].sum(axis=1), -1, 0)
        return self._joined(clusters, outside / (inside + outside))

    def log_prior(self, params: Parameters) -> Array | float:
        """The prior of the clusters."""
        return self.base.log_prior(self._clusters(params))

    # What the choice of a model asks

    def n_free(self, c: int) -> int:
        """Number of free parameters: the noise share is one more."""
        return self.base.n_free(c) + 1

    def n_parameters(self, structure: str, c: int) -> int:
        """Number of free parameters under a covariance structure."""
        return self.base.n_parameters(structure, c) + 1

    @property
    def log_unit(self) -> float:
        """What to subtract from a log density to convert it to the units of the data."""
        return self.base.log_unit

    def embed(self, params: Parameters) -> Parameters:
        """A mixture of a nested family, with noise or without, as one of this family."""
        inner, share = params, np.full(len(params[0]), FIRST)
        if type(params) in WITHOUT_NOISE:
            inner, share = WITHOUT_NOISE[type(params)](*params[:-1]), _share(params)
        if not isinstance(inner, self.clusters_type):
            inner = self.base.embed(inner)
        return self._joined(inner, share)

    # What may be wrong with parameters, and what is done about it

    def is_degenerate(self, params: Parameters) -> BoolArray:
        """The clusters are degenerate, or there is nothing but noise."""
        is_all = ~(_share(params) < 1.0 - LEAST)
        return np.asarray(self.base.is_degenerate(self._clusters(params)) | is_all)

    def is_flat(self, params: Parameters) -> BoolArray:
        """Components (b, k) that would be spurious if they had few objects."""
        return self.base.is_flat(self._among_all(params))

    def is_spurious(self, params: Parameters, n: float) -> BoolArray:
        """Components (b, k) that are artefacts of the n objects."""
        return self.base.is_spurious(self._among_all(params), n)

    def describe_spurious(self, params: Parameters, k: int, n: float) -> str:
        """What is wrong with the spurious component k of the first mixture."""
        return self.base.describe_spurious(self._among_all(params), k, n)

    def regularised(self, statistics: Array) -> Self:
        """The family with the prior of the clusters."""
        return replace(self, base=self.base.regularised(statistics[..., :-2]))

    # What people read

    def to_data_units(self, params: Parameters) -> Parameters:
        """Parameters in the units of the data; the proportions and the noise share sum to 1."""
        shown = self.base.to_data_units(self._among_all(params))
        return self.shown_type(*(*shown, _share(params)[:, None]))

    def remarks(self, params: Parameters) -> list[str]:
        """The remarks on the clusters, and whether there is any noise."""
        found = self.base.remarks(self._clusters(params))
        if _share(params)[0] <= 10.0 * LEAST:
            found.append("the noise component is empty: no object is an outlier")
        return found

    def sample(self, params: Parameters, n: int, rng: Generator) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures; outliers have the label -1."""
        is_noise = rng.random(n) < _share(params)[0]
        X = self.corner + rng.random((n, len(self.corner))) @ self.edges
        labels = np.full(n, OUTLIER)
        inside = np.flatnonzero(~is_noise)
        if len(inside):
            X[inside], labels[inside] = self.base.sample(self._clusters(params), len(inside), rng)
        return X, labels

    def projectable(self, params: Parameters) -> Components | None:
        """The clusters; noise has no form that is kept under linear maps."""
        return self.base.projectable(self._among_all(params))

    # How it is checked when it comes out of a file

    def check_columns(self, table: Table) -> None:
        """Raise ValueError if the family cannot be one of these data."""
        if not isinstance(self.base, self.base_type):
            raise ValueError("noise beside another family")
        self.base.check_columns(table)
        d = table.values.shape[1]
        if self.corner.shape != (d,) or self.edges.shape != (d, d):
            raise ValueError("a box that is not one of the columns")
        if not np.isfinite(self.corner).all() or not np.isfinite(self.log_height):
            raise ValueError("a box without a volume")

    def derived(self, params: Parameters) -> Parameters:
        """Parameters of the clusters anew; one noise share for all of them."""
        return self._joined(self.base.derived(self._clusters(params)), _share(params))

    # Parameters with and without noise

    def _clusters(self, params: Parameters) -> Parameters:
        """The parameters of the mixture without noise."""
        return self.clusters_type(*params[:-1])

    def _among_all(self, params: Parameters) -> Parameters:
        """`_clusters` with proportions among all objects, outliers included."""
        share = (1.0 - _share(params))[:, None]
        return self.clusters_type(share * params[0], *params[1:-1])

    def _joined(self, clusters: Parameters, share: Array) -> Parameters:
        """Parameters of clusters and noise shares (b,); an extrapolation may leave their range."""
        kept = np.clip(share, LEAST, 1.0)[:, None]
        noise = np.array(np.broadcast_to(kept, clusters[0].shape))
        return self.params_type(*(*clusters, noise))


def _share(params: Parameters) -> Array:
    """Noise shares (b,)."""
    return params[-1][:, 0]


@dataclass(frozen=True, slots=True)
class GaussianWithNoise(WithNoise):
    """Gaussian mixtures and noise."""

    is_normal: ClassVar[bool] = True
    params_type: ClassVar[type[Parameters]] = NoisyGaussianParams
    base_type: ClassVar[type] = Gaussian
    clusters_type: ClassVar[type[Parameters]] = GaussianParams
    shown_type: ClassVar[type[Parameters]] = NoisyMixtureParams


@dataclass(frozen=True, slots=True)
class LocationScaleWithNoise(WithNoise):
    """Mixtures of t or skew components and noise."""

    has_slow_em: ClassVar[bool] = True
    params_type: ClassVar[type[Parameters]] = NoisyLocationScaleParams
    base_type: ClassVar[type] = LocationScale
    clusters_type: ClassVar[type[Parameters]] = LocationScaleParams
    shown_type: ClassVar[type[Parameters]] = NoisyComponents
