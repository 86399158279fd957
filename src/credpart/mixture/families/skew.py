"""The restricted skew normal and skew t laws [WNM09]_.

An object is ``x = mu + delta u + e / sqrt(w)`` with ``e ~ N(0, Sigma)``, ``u = |z| / sqrt(w)``,
``z`` standard normal, and ``w ~ Gamma(nu / 2, nu / 2)``, or 1 for the skew normal.  With
``Omega = Sigma + delta delta'``, ``eta = (x - mu)' Omega^-1 (x - mu)``,
``tau^2 = 1 / (1 + delta' Sigma^-1 delta)`` and ``y = delta' Omega^-1 (x - mu) / tau`` the density
is ``2 t_d(x; mu, Omega, nu) T_{nu+d}(y sqrt((nu + d) / (nu + eta)))``.

References
----------
.. [WNM09] Wang, Ng, McLachlan: Multivariate skew t mixture models: applications to
   fluorescence-activated cell sorting data.  Digital Image Computing: Techniques and
   Applications, 2009.
"""

import numpy as np
from scipy.special import digamma, erfcx, log_ndtr

from credpart._arrays import Array
from credpart.mixture.families.latent_law import Expectations, LatentLaw
from credpart.mixture.families.student import DOF, FIRST_DOF, degrees_of_freedom, t_constant
from credpart.mixture.families.t_tail import log_norm, log_norm_slope, slope, tail

FAR = -100.0  # from where a series gives E u: the direct form loses digits


def skew_normal_log_density(eta: Array, y: Array, dof: Array, d: int) -> Array:
    """``-eta / 2 + log Phi(y)``."""
    return log_ndtr(y) - 0.5 * eta


def skew_normal_constant(dof: Array, d: int) -> Array:
    """The constant of twice a normal density."""
    return np.full(dof.shape, np.log(2.0) - 0.5 * d * np.log(2.0 * np.pi))


def skew_normal_expectations(eta: Array, y: Array, dof: Array, d: int) -> Expectations:
    """Given x, u is normal with mean tau y and variance tau^2, truncated to u > 0."""
    near = np.maximum(y, FAR)
    u = near + np.sqrt(2.0 / np.pi) / erfcx(-near / np.sqrt(2.0))
    v = 1.0 / np.minimum(y, FAR) ** 2
    rest = v * (2.0 - v * (10.0 - 74.0 * v))
    u = np.where(y < FAR, np.sqrt(v) * (1.0 - rest), u)
    return Expectations(None, u, np.where(y < FAR, rest, 1.0 + near * u), None)


def no_dof(excess: Array) -> Array:
    """There are none to estimate."""
    return np.full(excess.shape, np.inf)


def skew_t_log_density(eta: Array, y: Array, dof: Array, d: int) -> Array:
    """``-a log(nu + eta) + log T_2a``, ``a = (nu + d) / 2``."""
    a = 0.5 * (dof + d)
    spread = eta + dof[..., None]
    s = y / np.sqrt(spread)
    found = tail(np.abs(s), a)
    log_decay = np.log(found.z)
    log_decay *= a[..., None]
    log_decay -= log_norm(a)[..., None]
    lower = s < 0.0
    log_cdf = np.where(lower, found.shape, 1.0 - np.exp(log_decay) * found.shape)
    np.log(log_cdf, out=log_cdf)
    log_cdf += np.where(lower, log_decay, 0.0)
    log_cdf -= a[..., None] * np.log(spread)
    return log_cdf


def skew_t_constant(dof: Array, d: int) -> Array:
    """The constant of twice a t density."""
    return t_constant(dof, d) + np.log(2.0)


def skew_t_expectations(eta: Array, y: Array, dof: Array, d: int) -> Expectations:
    """Given x, ``w^(a-1) exp(-w (nu + eta) / 2) Phi(y sqrt(w))`` is w's density up to a constant.

    Below y = 0 all is written in the tail's shape, so that no digits cancel far out.
    """
    a = 0.5 * (dof + d)
    spread = eta + dof[..., None]
    root = np.sqrt(spread)
    s = y / root
    found = tail(np.abs(s), a)
    log_z, cosine = np.log(found.z), np.sqrt(found.z)
    decay = np.exp(a[..., None] * log_z - log_norm(a)[..., None])
    upper = decay / (1.0 - decay * found.shape)  # z^a over 2a B T(s), for s > 0
    r, lower = 2.0 * a[..., None], s < 0.0

    ratio = np.where(lower, found.z * found.above / found.shape, 1.0 + found.sine * upper)
    rest = r * (1.0 - found.sine * found.above) / found.shape
    wu = np.where(lower, cosine * rest, r * (s * ratio + cosine * upper)) / root
    wuu = np.where(lower, 1.0 - found.sine * rest, 1.0 + y * wu)
    log_w = slope(found, a) + log_z - log_norm_slope(a)[..., None]
    log_w *= np.where(lower, 1.0, -found.shape * upper)  # now d log T / da
    log_w += digamma(a)[..., None] - np.log(0.5 * spread)
    return Expectations(r * ratio / spread, wu, wuu, log_w)


SKEW_NORMAL = LatentLaw(
    name="skew-normal",
    log_density=skew_normal_log_density,
    constant=skew_normal_constant,
    expect=skew_normal_expectations,
    dof=no_dof,
    bounds=None,
    first_dof=np.inf,
    is_skew=True,
)
SKEW_T = LatentLaw(
    name="skew-t",
    log_density=skew_t_log_density,
    constant=skew_t_constant,
    expect=skew_t_expectations,
    dof=degrees_of_freedom,
    bounds=DOF,
    first_dof=FIRST_DOF,
    is_skew=True,
)
