"""The covariance structures of Celeux and Govaert [CG95]_, and their estimates in literal form.

The covariance of component k is ``Sigma_k = lam_k D_k A_k D_k'``: volume, orientation and shape.
The three letters of a name stand for the volume, the shape and the orientation, in this order: each
is Equal for all components, Varies, or is that of the Identity matrix.

An estimate depends on the data only through the scatter matrices ``W_k`` and the sizes ``n_k`` of
the components.  Each structure is two choices.  Its orientation says in which axes the scatter
matrices are expressed, and which of their entries are used.  Its rule estimates covariances in
these axes, with equal or own volumes and equal or own shapes.  For full matrices, "shape" in the
name of a rule means shape and orientation together.

The functions of this module estimate one mixture and are meant to be read beside the paper.  The
program uses `credpart.mixture.covariance.batched`, which estimates many mixtures at once and fast;
tests compare the two.

Shapes: ``W`` or ``scatter`` (k, d, d), ``n`` or ``sizes`` (k,).

References
----------
.. [CG95] Celeux, Govaert: Gaussian parsimonious clustering models.  Pattern Recognition 28, 1995.
.. [FG86] Flury, Gautschi: An algorithm for simultaneous orthogonal transformation of several
   positive definite symmetric matrices to nearly diagonal form.  SIAM Journal on Scientific and
   Statistical Computing 7, 1986.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from credpart._arrays import Array

Rule = Callable[[Array, Array], Array]  # (W, n) -> covariances
# (W, n, rule) -> axes, and W in these; only common axes depend on n and the rule
Orientation = Callable[[Array, Array, Rule], tuple[Array, Array]]

MAX_ALTERNATIONS = 5000  # of the two estimates that have no closed form
CONVERGED = 1e-11  # change in the last iteration


def estimate_one(name: str, scatter: Array, sizes: Array) -> Array:
    """Covariances (k, d, d) of one mixture that maximise its likelihood under a structure.

    For common axes, the maximum is a local one.

    Examples
    --------
    >>> scatter = np.array([np.diag([2.0, 4.0]), np.diag([2.0, 12.0])])
    >>> estimate_one("VII", scatter, np.array([2.0, 8.0])).tolist()
    [[[1.5, 0.0], [0.0, 1.5]], [[0.875, 0.0], [0.0, 0.875]]]
    """
    orientation, rule = TABLE[name][:2]
    D, W_in_axes = orientation(scatter, sizes, rule)
    return D @ rule(W_in_axes, sizes) @ D.mT


# Orientations


def spheres(W: Array, n: Array, rule: Rule) -> tuple[Array, Array]:
    """Spherical: the mean of the diagonal, times the identity."""
    eye = np.eye(W.shape[1])
    return eye, np.array([np.diag(W_k).mean() * eye for W_k in W])


def column_axes(W: Array, n: Array, rule: Rule) -> tuple[Array, Array]:
    """Axes parallel to the coordinates: only the diagonal of each matrix."""
    eye = np.eye(W.shape[1])
    return eye, W * eye


def full_matrices(W: Array, n: Array, rule: Rule) -> tuple[Array, Array]:
    """The full matrices, not rotated: orientations are equal or own, as shapes are."""
    return np.eye(W.shape[1]), W


def own_axes(W: Array, n: Array, rule: Rule) -> tuple[Array, Array]:
    """The axes of each component are its eigenvectors, in the order of the eigenvalues."""
    values, D = np.linalg.eigh(W)
    return D, np.array([np.diag(v) for v in values])


def common_axes(W: Array, n: Array, rule: Rule) -> tuple[Array, Array]:
    """The axes D that serve all components best: ``diag(D' W_k D)``.

    Given precisions ``p_k`` along the axes, the cost ``sum_k tr(diag(p_k) D' W_k D)`` is minimised
    in the plane of each pair of axes in turn [FG86]_.  In the plane of axes i and j it is, up to a
    constant, ``d_i' (sum_k (p_ki - p_kj) W_k) d_i``: least where ``d_i`` is the eigenvector
    of the smallest eigenvalue.
    """
    eye = np.eye(W.shape[1])
    D = np.linalg.eigh(W.sum(axis=0))[1]
    for _ in range(MAX_ALTERNATIONS):
        before = D.copy()
        for i, j in combinations(range(len(D)), 2):
            p = [1.0 / np.diag(S_k) for S_k in rule(D.T @ W @ D * eye, n)]
            M = sum((p_k[i] - p_k[j]) * W_k for p_k, W_k in zip(p, W, strict=True))
            plane = D[:, [i, j]]
            D[:, [i, j]] = plane @ np.linalg.eigh(plane.T @ M @ plane)[1]
        if np.allclose(np.abs(before.T @ D), eye, rtol=0.0, atol=CONVERGED):
            break
    return D, D.T @ W @ D * eye


# Rules


def equal_volume_equal_shape(W: Array, n: Array) -> Array:
    """``C = sum_k W_k / n``."""
    return np.array([W.sum(axis=0) / n.sum() for _ in n])


def own_volume_equal_shape(W: Array, n: Array) -> Array:
    """``lam_k C``: given the volumes ``lam_k`` the best C is known, and the reverse."""
    volumes, d = np.ones(len(n)), W.shape[1]
    for _ in range(MAX_ALTERNATIONS):
        C = sum(W_k / volume for W_k, volume in zip(W, volumes, strict=True)) / n.sum()
        before, volumes = volumes, np.trace(np.linalg.solve(C, W), axis1=1, axis2=2) / (d * n)
        if np.allclose(volumes, before, rtol=CONVERGED, atol=0.0):
            break
    return np.array([volume * C for volume in volumes])


def equal_volume_own_shape(W: Array, n: Array) -> Array:
    """``lam C_k``: each ``C_k`` is proportional to ``W_k`` and has determinant 1."""
    volumes = np.linalg.det(W) ** (1.0 / W.shape[1])
    return np.array([volumes.sum() / n.sum() * W_k / v for W_k, v in zip(W, volumes, strict=True)])


def own_volume_own_shape(W: Array, n: Array) -> Array:
    """``lam_k C_k = W_k / n_k``."""
    return np.array([W_k / n_k for W_k, n_k in zip(W, n, strict=True)])


# The table


class Structure(NamedTuple):
    """How a covariance structure is estimated, and how many parameters it has."""

    orientation: Orientation
    rule: Rule
    n_free: Callable[[int, int], int]  # (c, d) -> number of free covariance parameters
    nested: tuple[str, ...]  # structures that are special cases of it, direct ones only

    @property
    def is_unit_free(self) -> bool:
        """Whether rescaling columns rescales the covariances and changes nothing else."""
        return self.orientation in (column_axes, full_matrices)

    @property
    def diagonal(self) -> bool:
        """Covariances are diagonal matrices."""
        return self.orientation in (spheres, column_axes)

    @property
    def spherical(self) -> bool:
        """Covariances are multiples of the identity."""
        return self.orientation is spheres


def _n_angles(d: int) -> int:
    return d * (d - 1) // 2


EE, VE = equal_volume_equal_shape, own_volume_equal_shape
EV, VV = equal_volume_own_shape, own_volume_own_shape
# fmt: off
STRUCTURES: Mapping[str, Structure] = {
    "EII": Structure(spheres, EE, lambda c, d: 1, ()),
    "VII": Structure(spheres, VV, lambda c, d: c, ("EII",)),
    "EEI": Structure(column_axes, EE, lambda c, d: d, ("EII",)),
    "VEI": Structure(column_axes, VE, lambda c, d: c + d - 1, ("VII", "EEI")),
    "EVI": Structure(column_axes, EV, lambda c, d: 1 + c * (d - 1), ("EEI",)),
    "VVI": Structure(column_axes, VV, lambda c, d: c * d, ("VEI", "EVI")),
    "EEE": Structure(full_matrices, EE, lambda c, d: d + _n_angles(d), ("EEI",)),
    "VEE": Structure(full_matrices, VE, lambda c, d: c + d - 1 + _n_angles(d), ("VEI", "EEE")),
    "EVE": Structure(common_axes, EV, lambda c, d: 1 + c * (d - 1) + _n_angles(d), ("EVI", "EEE")),
    "VVE": Structure(common_axes, VV, lambda c, d: c * d + _n_angles(d), ("VVI", "VEE", "EVE")),
    "EEV": Structure(own_axes, EE, lambda c, d: d + c * _n_angles(d), ("EEE",)),
    "VEV": Structure(own_axes, VE, lambda c, d: c + d - 1 + c * _n_angles(d), ("VEE", "EEV")),
    "EVV": Structure(
        full_matrices, EV, lambda c, d: 1 + c * (d - 1 + _n_angles(d)), ("EVE", "EEV")
    ),
    "VVV": Structure(full_matrices, VV, lambda c, d: c * (d + _n_angles(d)), ("VVE", "VEV", "EVV")),
}
# fmt: on
ONE_DIMENSION: Mapping[str, Structure] = {
    "E": Structure(column_axes, EE, lambda c, d: 1, ()),
    "V": Structure(column_axes, VV, lambda c, d: c, ("E",)),
}
TABLE: Mapping[str, Structure] = {**STRUCTURES, **ONE_DIMENSION}
# The place of a structure is its code while the program runs.  Codes are not stored: names are.
NAMES: tuple[str, ...] = tuple(TABLE)
