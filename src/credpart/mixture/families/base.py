"""The contract of a mixture family, which built-in families and a user's own both inherit.

Shapes: b mixtures, k components, n objects, d columns, p features, s statistics.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import Table
from credpart.errors import UnsupportedError
from credpart.mixture.covariance.batched import ABSENT as ABSENT

Parameters = tuple[Array, ...]  # a NamedTuple of arrays (b, k, ...), the proportions first
P = TypeVar("P", bound=Parameters)

OUTLIER = -1  # the label of an object that belongs to no component, as scikit-learn has it


class Components(NamedTuple):
    """Component distributions that stay what they are under linear maps, for pictures.

    There is one mixture, or a batch of these with one more axis at the front.  A component is the
    distribution of ``mu + (delta |z| + e) / sqrt(w)`` with ``e ~ N(0, Sigma)``,
    ``z`` standard normal and ``w ~ Gamma(dof / 2, dof / 2)``: normal, t, skew normal or skew t.
    """

    proportions: Array  # (c,)
    locations: Array  # (c, d): mu
    scales: Array  # (c, d, d): Sigma
    skewness: Array  # (c, d): delta
    dof: Array  # (c,)


class MixtureFamily(ABC, Generic[P]):
    """A family of component distributions, which `fit_mixture` and all that follows can fit.

    Write a subclass and give it, or an instance, as ``model``.  Its constructor takes the distinct
    objects (n, d), which are numbers, and may refuse them; how often each was seen is in the
    weights of the statistics.  (Built-in families are made by ``of(X, structures)`` instead.)
    Parameters are a NamedTuple of arrays (b, k, ...), of which the first is ``proportions`` (b, k).
    Three methods are required:

    - ``log_joint(features, params)``: ``log pi_k + log p_k(x_i)``, shape (b, k, n).
    - ``m_step(statistics, structure_code, previous)``: the parameters that maximise the expected
      likelihood, from the statistics (b, k, s); ``structure_code`` and ``previous`` can be ignored.
    - ``n_free(c)``: the number of free parameters of a mixture of c components, for BIC.

    Everything else has a default, and the docstring of a method says what it is.  EM works with:

    - ``features``, ``statistics`` and ``log_prior``: by default a one and the columns, the sums of
      these weighted by responsibilities, and no penalty.
    - ``has_slow_em``: whether EM converges slowly, so that acceleration starts early.

    What a family can do is what it declares:

    - ``sample``: without it there are neither parametric replicates nor `MixtureFit.sample`.
    - ``params_type``: the NamedTuple; with it, fitted models can be saved.  ``state`` and
      ``from_state`` are what a saved model keeps of the family; ``check_columns`` and ``derived``
      check it when it is loaded.
    - ``is_normal``: components are normal, so `diagnose` tests the clusters for normality.
    - ``projectable``: components that can be drawn in any plane.
    - ``cluster_scales``: how wide clusters are; by default as ``projectable`` says.
    - ``natural_parameters``: if there are any, the report can carry the replicates.
    - ``embed``: takes a mixture of a nested family as one of this family.
    - ``has_noise``: `log_joint` has one row more than there are components, for objects that belong
      to none of them: see `families.noise`.
    - ``is_linearisable``: replicates of large samples may be found without refits.  This needs
      natural parameters, statistics that are weighted sums of the features, of which the first is
      1, no prior, an M-step that is smooth, and ``mean_statistics``.

    What it says about parameters:

    - ``is_degenerate``, ``is_flat``, ``is_spurious`` and ``describe_spurious``: which cannot be
      used, and why.
    - ``regularised``: the family with a prior, for data on which it breaks down.
    - ``to_data_units``, ``log_unit`` and ``remarks``: how they are shown.
    - ``n_parameters``: ``n_free``, for families with covariance structures.
    - ``innermost`` and ``with_components``: for a family that adds something to another, such as
      what is known of clusters.
    - ``seen_cells``: which cells are there, in families of data with missing cells.

    Three functions make M-steps and densities short: ``sizes_and_means(statistics)``,
    ``shares(sizes)`` and ``log_shares(proportions)``; they know of components that are absent.

    Examples
    --------
    Exponential waiting times; ``docs/own-family.md`` has gamma mixtures.

    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> from credpart import MixtureFamily, fit_mixture
    >>> class Params(NamedTuple):
    ...     proportions: np.ndarray
    ...     means: np.ndarray
    >>> class Exponential(MixtureFamily):
    ...     def log_joint(self, features, params):
    ...         logs = self.log_shares(params.proportions) - np.log(params.means)
    ...         return np.stack([logs, -1.0 / params.means], axis=-1) @ features.mT
    ...     def m_step(self, statistics, structure_code, previous):
    ...         sizes, means = self.sizes_and_means(statistics)
    ...         return Params(self.shares(sizes), means[..., 0])
    ...     def n_free(self, c):
    ...         return 2 * c - 1
    >>> rng = np.random.default_rng(0)
    >>> waits = np.concatenate([rng.exponential(1.0, 150), rng.exponential(50.0, 100)])[:, None]
    >>> fit_mixture(waits, 2, Exponential).params.means.round().tolist()
    [1.0, 57.0]
    """

    is_normal: ClassVar[bool] = False
    has_slow_em: ClassVar[bool] = False
    is_linearisable: ClassVar[bool] = False
    has_noise: ClassVar[bool] = False
    params_type: ClassVar[type[Parameters] | None] = None

    def __init__(self, X: Array) -> None:
        self.n_columns = X.shape[1]

    @property
    def innermost(self) -> "Family":
        """The family itself; of one that adds something to another, that of the components."""
        return self  # type: ignore[return-value]

    def with_components(self, change: "Callable[[Family], Family]") -> "Family":
        """The family with other components, which ``change`` makes of the family that has them."""
        return change(self)  # type: ignore[arg-type]

    # What EM asks

    def seen_cells(self, features: Array) -> Array | None:
        """Which cells of the objects are seen, (..., n, d); None if none can be missing."""
        return None

    def features(self, X: Array) -> Array:
        """What the family reads of the data (n, d), shape (n, p): computed once.

        The other methods get (b, n, p) if every mixture has data of its own.
        """
        return np.hstack([np.ones((len(X), 1)), X])

    @abstractmethod
    def log_joint(self, features: Array, params: P) -> Array:
        """``log pi_k + log p_k(x_i)``, shape (b, k, n), in the family's units."""

    def statistics(self, features: Array, resp: Array, params: P | None = None) -> Array:
        """Expected sufficient statistics (b, k, s), linear in ``resp`` (b, k, n).

        ``params`` is None before the first M-step.
        """
        return weighted_sums(resp, features)

    @abstractmethod
    def m_step(self, statistics: Array, structure_code: IntArray, previous: P | None) -> P:
        """Parameters that maximise the expected likelihood; ``structure_code`` has shape (b,)."""

    def log_prior(self, params: P) -> Array | float:
        """Log prior density up to a constant, shape (b,): 0 for maximum likelihood."""
        return 0.0

    # What the choice of a model asks

    @abstractmethod
    def n_free(self, c: int) -> int:
        """Number of free parameters of a mixture of c components."""

    def n_parameters(self, structure: str, c: int) -> int:
        """Number of free parameters under a covariance structure, for families that have these."""
        return self.n_free(c)

    @property
    def log_unit(self) -> float:
        """What to subtract from a log density to convert it to the units of the data."""
        return 0.0

    def embed(self, params: Parameters) -> P:
        """A mixture of a family that is nested in this one, as a mixture of this one."""
        raise UnsupportedError(type(self).__name__, "contains no smaller family")

    # What may be wrong with parameters, and what is done about it

    def is_degenerate(self, params: P) -> BoolArray:
        """Mixtures (b,) whose parameters are not valid; by default, if a number is not finite."""
        b = len(params[0])
        finite = [np.isfinite(field).reshape(b, -1).all(axis=1) for field in params]
        return np.asarray(~np.all(finite, axis=0))

    def is_flat(self, params: P) -> BoolArray:
        """Components (b, k) that would be spurious if they had few objects.

        In replicates, whose samples repeat objects, `is_spurious` is asked of these once more
        without the copies.
        """
        return np.zeros(params[0].shape, dtype=bool)

    def is_spurious(self, params: P, n: float) -> BoolArray:
        """Components (b, k) that are artefacts of the n objects, such as a spike on a few.

        Mixtures with one are not chosen.
        """
        return np.zeros(params[0].shape, dtype=bool)

    def describe_spurious(self, params: P, k: int, n: float) -> str:
        """What is wrong with the spurious component k of the first mixture."""
        return f"component {k + 1} of {n * params[0][0, k]:.1f} objects is spurious"

    def regularised(self, statistics: Array) -> Self:
        """The family with a prior that keeps components from breaking down.

        ``statistics`` (k, s) are those of a mixture on the whole data, which the prior is made of.
        """
        return self

    # What people read

    def to_data_units(self, params: P) -> Parameters:
        """Parameters in the units of the data, as a NamedTuple."""
        return params

    def remarks(self, params: P) -> list[str]:
        """What a user should know of the parameters: bounds that were reached, priors."""
        return []

    def sample(self, params: P, n: int, rng: np.random.Generator) -> tuple[Array, IntArray]:
        """Draw n objects from the first of the mixtures, and their components."""
        raise UnsupportedError(type(self).__name__, "has no method `sample`")

    def natural_parameters(self, params: P) -> Array | None:
        """Coefficients (b, k, p) whose products with the features are the log joint densities.

        None where log joint densities are not such products.
        """
        return None

    def mean_statistics(self, params: P) -> Array:
        """Statistics (b, k, s) of an object that the mixture expects; the M-step inverts this."""
        raise UnsupportedError(type(self).__name__, "has no method `mean_statistics`")

    def projectable(self, params: P) -> Components | None:
        """Components of the first mixture, if they keep their form under linear maps.

        Pictures of other families are made from `log_joint`, for at most two columns and within
        the range of the data.
        """
        return None

    def cluster_scales(self, params: P) -> Array | None:
        """Scale matrices (c, d, d) of the clusters of the first mixture, if they have any.

        Of clusters that `projectable` divides into parts, a family gives the part that has most
        objects.
        """
        found = self.projectable(params)
        return None if found is None else found.scales

    # How it is stored

    def state(self) -> dict[str, Any]:
        """What the family has to remember, in terms of arrays, numbers, text and tuples of these.

        By default the fields of a dataclass, or all attributes of another class.
        """
        if is_dataclass(self):
            return {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The family that remembers a state."""
        if is_dataclass(cls):
            return cls(**state)
        family = cls.__new__(cls)
        vars(family).update(state)
        return family

    # How it is checked when it comes out of a file

    def check_columns(self, table: Table) -> None:
        """Raise ValueError if the family cannot be one of these data."""

    def derived(self, params: P) -> P:
        """The parameters, with those that follow from others computed anew.

        A file whose parameters differ from these is refused.  The default is for families whose
        parameters are free of each other.
        """
        return params

    # What makes families easy to write

    @staticmethod
    def sizes_and_means(statistics: Array) -> tuple[Array, Array]:
        """Sizes (b, k), and means (b, k, p - 1) of the features after the first, which is 1.

        An absent component has the means of all objects, so that its parameters are valid.
        """
        pooled = statistics.sum(axis=1, keepdims=True)
        sums = np.where(statistics[..., :1] > ABSENT, statistics, pooled)
        return statistics[..., 0], sums[..., 1:] / sums[..., :1]

    @staticmethod
    def shares(sizes: Array) -> Array:
        """Proportions (b, k) of sizes; absent components have none."""
        present = np.where(sizes > ABSENT, sizes, 0.0)
        return np.asarray(present / present.sum(axis=1, keepdims=True))

    @staticmethod
    def log_shares(proportions: Array) -> Array:
        """Logarithms of proportions, finite for absent components too."""
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(proportions), -1e300)


# Only a family knows what its parameters are; to all others they are arrays.
Family = MixtureFamily[Parameters]


def linear_forms(coefficients: Array, features: Array) -> Array:
    """Products of coefficients (b, k, p) with features (n, p) or (b, n, p): shape (b, k, n)."""
    if features.ndim == 3:  # every mixture has data of its own
        return coefficients @ features.mT
    # In memory the components come first, so that operations over them are long.
    b, k, p = coefficients.shape
    rows = coefficients.transpose(1, 0, 2).reshape(-1, p)
    return (rows @ features.T).reshape(k, b, -1).transpose(1, 0, 2)


def weighted_sums(resp: Array, features: Array) -> Array:
    """Sums of features weighted by ``resp`` (b, k, n): shape (b, k, p)."""
    if features.ndim == 3:
        return resp @ features
    b, k, n = resp.shape
    rows = resp.transpose(1, 0, 2).reshape(-1, n)
    return (rows @ features).reshape(k, b, -1).transpose(1, 0, 2)
