"""The components of a mixture along some directions: their densities, centres and ellipses.

Normal, t, skew-normal and skew-t laws stay what they are under linear maps of their parameters, so
that the density of a projection is exact.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, stdtr

from credpart._arrays import Array
from credpart._messages import Message
from credpart.errors import InputError
from credpart.mixture.families.gaussian import MixtureParams
from credpart.mixture.families.location_scale import SkewParams
from credpart.mixture.fit import MixtureFit


class Components(NamedTuple):
    """Laws of ``mu + (delta |z| + e) / sqrt(w)``, e ~ N(0, Sigma), w ~ Gamma(dof / 2, dof / 2)."""

    proportions: Array  # (c,)
    locations: Array  # (c, m): mu
    scales: Array  # (c, m, m): Sigma
    skewness: Array  # (c, m): delta
    dof: Array  # (c,)

    def along(self, center: Array, axes: Array) -> "Components":
        """The same laws of ``(x - center) @ axes``."""
        return self._replace(
            locations=(self.locations - center) @ axes,
            scales=axes.T @ self.scales @ axes,
            skewness=self.skewness @ axes,
        )


def _normal(params: MixtureParams) -> Components:
    means = params.means
    return Components(*params, np.zeros_like(means), np.full(len(means), np.inf))


READ: Mapping[type, Callable[[Any], Components]] = {
    MixtureParams: _normal,
    SkewParams: lambda params: Components(*params),
}


def components(fit: MixtureFit) -> Components:
    """Return the components of a mixture of continuous laws."""
    params = fit.params
    if type(params) not in READ:
        raise InputError(
            "fit",
            "be a mixture of continuous laws to be drawn in a plane",
            Message(f"the model {fit.model!r}"),
            "Use `plot.memberships`, which draws any partition.",
        )
    return READ[type(params)](params)


def densities(parts: Components, places: Array) -> Array:
    """Return the densities (n, c) of the components at places (n, m)."""
    return np.stack([_density(places, *part) for part in zip(*parts[1:], strict=True)], axis=1)


def _density(places: Array, location: Array, scale: Array, delta: Array, dof: float) -> Array:
    m, gaps = places.shape[1], places - location
    factor = np.linalg.cholesky(scale + np.outer(delta, delta))
    white, slope = np.linalg.solve(factor, gaps.T), np.linalg.solve(factor, delta)
    eta, y = (white**2).sum(axis=0), slope @ white / np.sqrt(1.0 - slope @ slope)
    log_det = np.log(factor.diagonal()).sum()
    if np.isinf(dof):
        log_kernel, tail = -0.5 * (eta + m * np.log(2.0 * np.pi)), ndtr(y)
    else:
        log_unit = gammaln((dof + m) / 2) - gammaln(dof / 2) - 0.5 * m * np.log(dof * np.pi)
        log_kernel = log_unit - 0.5 * (dof + m) * np.log1p(eta / dof)
        tail = stdtr(dof + m, y * np.sqrt((dof + m) / (dof + eta)))
    return np.asarray(2.0 * tail * np.exp(log_kernel - log_det))


def moments(fit: MixtureFit, X: Array, posteriors: Array) -> tuple[Array, Array]:
    """Return centres (c, d) and covariances (c, d, d): those of normal laws, or of the objects.

    Other laws need not have any: then they are those of the objects, weighted by posteriors.
    """
    parts = components(fit)
    if np.isinf(parts.dof).all() and not parts.skewness.any():
        return parts.locations, parts.scales
    shares = posteriors / posteriors.sum(axis=0)
    means = shares.T @ X
    gaps = X[:, None] - means
    return means, np.einsum("nk,nkd,nke->kde", shares, gaps, gaps)
