"""The multivariate t law: ``x = mu + e / sqrt(w)``, ``w ~ Gamma(nu / 2, nu / 2)``.

Degrees of freedom are kept within `DOF`: from 200 on, tails are normal for all purposes.
"""

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from credpart._arrays import Array
from credpart.mixture.families.latent_law import Expectations, LatentLaw

DOF = 0.5, 200.0
FIRST_DOF = 10.0  # where EM starts
NEWTON = 3  # steps, each squaring the error


def t_log_density(eta: Array, y: Array, dof: Array, d: int) -> Array:
    """``-a log(nu + eta)``, ``a = (nu + d) / 2``."""
    result = np.log(eta + dof[..., None])
    result *= -0.5 * (dof + d)[..., None]
    return result


def t_constant(dof: Array, d: int) -> Array:
    """Logarithm of the constant of a t density, the scale matrix left aside."""
    gammas = gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof)
    return gammas + 0.5 * dof * np.log(dof) - 0.5 * d * np.log(np.pi)


def t_expectations(eta: Array, y: Array, dof: Array, d: int) -> Expectations:
    """Given x, w has a gamma law with shape ``(nu + d) / 2`` and rate ``(nu + eta) / 2``."""
    spread = eta + dof[..., None]
    a = 0.5 * (dof + d)
    log_w = (digamma(a) + np.log(2.0))[..., None] - np.log(spread)
    return Expectations((2.0 * a)[..., None] / spread, None, None, log_w)


def degrees_of_freedom(excess: Array) -> Array:
    """Solve ``log(nu / 2) - psi(nu / 2) = excess``, ``mean w - 1 - mean log w``, within `DOF`.

    The left side falls from infinity to 0, and is nearly ``1 / nu``: Newton's steps for ``2 / nu``
    from the solution of its first two terms converge at once.
    """
    least, most = (np.log(0.5 * dof) - digamma(0.5 * dof) for dof in DOF[::-1])
    target = np.clip(np.nan_to_num(excess), least, most)
    inverse = 4.0 * target / (1.0 + np.sqrt(1.0 + 4.0 / 3.0 * target))
    for _ in range(NEWTON):
        x = 1.0 / inverse
        gap = np.log(x) - digamma(x) - target
        inverse = inverse - gap / ((polygamma(1, x) - inverse) * x**2)
    dof = np.where(target == least, DOF[1], np.where(target == most, DOF[0], 2.0 / inverse))
    return np.asarray(np.clip(dof, *DOF))


T = LatentLaw(
    name="t",
    log_density=t_log_density,
    constant=t_constant,
    expect=t_expectations,
    dof=degrees_of_freedom,
    bounds=DOF,
    first_dof=FIRST_DOF,
)
