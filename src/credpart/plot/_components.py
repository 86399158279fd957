"""The components of a mixture in pictures: their densities, centres and covariances.

Components that keep their form under linear maps are projected, so that their densities are exact
in any plane.  Of other families only the densities in all columns are known.
"""

import numpy as np
from scipy.special import gammaln, ndtr, stdtr

from credpart._arrays import Array
from credpart._messages import Message, Name
from credpart.errors import InputError
from credpart.mixture.families.base import Components
from credpart.mixture.fit import MixtureFit


def check_numbers(fit: MixtureFit) -> None:
    """Refuse fits of categories, which have no place in a plane."""
    if fit.columns.levels is not None:
        raise InputError(
            "fit",
            "be a mixture of continuous laws to be drawn in a plane",
            Message(f"the model {fit.model!r}"),
            Message("Use ", Name("plot.memberships"), ", which draws any partition."),
        )


def along(parts: Components, center: Array, axes: Array) -> Components:
    """Return the components of ``(x - center) @ axes``."""
    return parts._replace(
        locations=(parts.locations - center) @ axes,
        scales=axes.T @ parts.scales @ axes,
        skewness=parts.skewness @ axes,
    )


def joint_densities(fit: MixtureFit, X: Array) -> Array:
    """Return the densities (n, c) of the components, times their proportions, of any family."""
    log_joint = fit.family.log_joint(fit.family.features(X), fit.internal)[0].T
    return np.asarray(np.exp(log_joint - fit.family.log_unit))


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
    """Return centres (c, d) and covariances (c, d, d): those of normal components, if they are.

    Other components need not have any: then they are those of the objects, weighted by posteriors.
    """
    parts = fit.components
    if parts is not None and fit.family.is_normal:
        return parts.locations, parts.scales
    shares = posteriors / posteriors.sum(axis=0)
    means = shares.T @ X
    gaps = X[:, None] - means
    return means, np.einsum("nk,nkd,nke->kde", shares, gaps, gaps)
