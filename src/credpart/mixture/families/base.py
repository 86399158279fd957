"""The base of a user's own family: what most families have in common."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.families.standardisation import collect, log_shares, shares
from credpart.mixture.optimisation.em import Rows

Array = NDArray[np.float64]


class MixtureFamily:
    """A family of component distributions that `fit_mixture` and all that follows can fit.

    Write a subclass whose constructor takes the data (n, d), with five methods; give it, or an
    instance, as ``model``.  Shapes: b mixtures, k components, n objects.  Parameters are a
    NamedTuple of arrays (b, k, ...), of which the first is ``proportions`` (b, k).

    - ``features(X)``: what the family reads of the data, (n, p), or (b, n, p) in its other
      methods if every mixture has data of its own.  By default a one and the columns.
    - ``log_joint(features, params)``: ``log pi_k + log p_k(x_i)``, shape (b, k, n).
    - ``m_step(statistics, variant, previous)``: the parameters that maximise the expected
      likelihood, from weighted sums of the features (b, k, p); ``variant`` and ``previous`` can
      be ignored.
    - ``sample(params, n, rng)``: n objects of the first mixture, and their components; only
      parametric replicates and `MixtureFit.sample` need it.
    - ``n_free(c)``: free parameters of a mixture of c components, for BIC.

    Everything else has a default that may be replaced.

    Examples
    --------
    Exponential waiting times; ``docs/own-family.md`` has mixtures of Poisson distributions.

    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> from credpart import MixtureFamily, fit_mixture
    >>> class Params(NamedTuple):
    ...     proportions: np.ndarray
    ...     means: np.ndarray
    >>> class Exponential(MixtureFamily):
    ...     def __init__(self, X):
    ...         pass
    ...     def log_joint(self, features, params):
    ...         logs = self.log_shares(params.proportions) - np.log(params.means)
    ...         return np.stack([logs, -1.0 / params.means], axis=-1) @ features.mT
    ...     def m_step(self, statistics, variant, previous):
    ...         sizes, sums = np.moveaxis(statistics, -1, 0)
    ...         present = sizes > 0.0
    ...         means = np.where(present, sums, 1.0) / np.where(present, sizes, 1.0)
    ...         return Params(self.shares(sizes), means)
    ...     def n_free(self, c):
    ...         return 2 * c - 1
    >>> rng = np.random.default_rng(0)
    >>> waits = np.concatenate([rng.exponential(1.0, 150), rng.exponential(50.0, 100)])[:, None]
    >>> fit_mixture(waits, 2, Exponential).params.means.round().tolist()
    [1.0, 57.0]
    """

    log_unit = 0.0  # what a log density loses when the data go back to their own units

    def features(self, X: Array) -> Array:
        """A one and the columns, shape (n, 1 + d)."""
        return np.hstack([np.ones((len(X), 1)), X])

    def statistics(self, features: Array, resp: Array, params: Any = None) -> Array:
        """Sums of the features weighted by ``resp`` (b, k, n), shape (b, k, p)."""
        return collect(resp, features)

    def log_joint(self, features: Array, params: Any) -> Array:
        """``log pi_k + log p_k(x_i)``, shape (b, k, n)."""
        raise NotImplementedError("A family must have `log_joint`.")

    def m_step(self, statistics: Array, variant: Rows, previous: Any) -> Any:
        """Parameters that maximise the expected likelihood."""
        raise NotImplementedError("A family must have `m_step`.")

    def sample(self, params: Any, n: int, rng: np.random.Generator) -> tuple[Array, Rows]:
        """Draw n objects from the first of the mixtures, and their components."""
        raise NotImplementedError("Parametric replicates need the family's `sample`.")

    def n_free(self, c: int) -> int:
        """Free parameters of a mixture of c components."""
        raise NotImplementedError("A family must have `n_free`, which BIC and AIC need.")

    def n_parameters(self, structure: str | None, c: int) -> int:
        """Free parameters; a family of one's own has no structures."""
        return self.n_free(c)

    def reveal(self, params: Any) -> Any:
        """Parameters in the units of the data."""
        return params

    def log_prior(self, params: Any) -> Array | float:
        """Log prior density (b,), up to a constant."""
        return 0.0

    def pooled(self, statistics: Array, pooling: float = 1.0) -> "MixtureFamily":
        """The family, made safe against components that break down."""
        return self

    def is_degenerate(self, params: Any) -> NDArray[np.bool_]:
        """Mixtures (b,) whose parameters are no numbers."""
        b = len(params[0])
        finite = [np.isfinite(field).reshape(b, -1).all(axis=1) for field in params]
        return np.asarray(~np.all(finite, axis=0))

    def is_spurious(self, params: Any, n: float) -> NDArray[np.bool_]:
        """Components (b, k) that are artefacts."""
        return np.zeros(params[0].shape, dtype=bool)

    def remarks(self, params: Any) -> list[str]:
        """What a user should know of the parameters."""
        return []

    @staticmethod
    def shares(sizes: Array) -> Array:
        """Proportions (b, k) of sizes; absent components have none."""
        return shares(sizes)

    @staticmethod
    def log_shares(proportions: Array) -> Array:
        """Their logarithms, finite for absent components too."""
        return log_shares(proportions)
