"""Coordinates in which the parameters of location-scale families are free to move.

A scale matrix is ``U exp(D) U'`` with U unit lower triangular and D diagonal.  In the entries of
U and D ten of the covariance structures are linear: volume is the mean of D, shape the rest of
it, and U is free, common, or the identity.  So a gradient is brought into a structure by means
over components: one letter of the structure's name each.

Shapes: ``scales`` (b, k, d, d), coordinates (b, k, q).
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from credpart.mixture.covariance.matrices import factor

Array = NDArray[np.float64]
Present = NDArray[np.bool_]


def _common(part: Array, present: Present) -> Array:
    mask = present[..., None]
    mean = np.where(mask, part, 0.0).sum(axis=1, keepdims=True) / mask.sum(axis=1, keepdims=True)
    return np.where(mask, mean, 0.0)


SHARES: Mapping[str, Callable[[Array, Present], Array]] = {
    "E": _common,
    "V": lambda part, present: part,
    "I": lambda part, present: np.zeros_like(part),
}

LINEAR = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVV", "VVV")
LETTERS = {**{name: name for name in LINEAR}, "E": "EII", "V": "VII"}


def encode_scales(scales: Array) -> Array:
    """Entries of D, then those of U below its diagonal."""
    b, k, d, _ = scales.shape
    half = np.moveaxis(factor(scales.reshape(-1, d, d).T)[0], -1, 0)
    L = np.linalg.inv(half)
    diagonal = np.einsum("mdd->md", L)
    U = L / diagonal[:, None, :]
    i, j = np.tril_indices(d, -1)
    result: Array = np.hstack([2.0 * np.log(diagonal), U[:, i, j]]).reshape(b, k, d + len(i))
    return result


def decode_scales(coordinates: Array, d: int) -> Array:
    """``U exp(D) U'``."""
    U = _triangular(coordinates, d)
    result: Array = (U * np.exp(coordinates[..., None, :d])) @ U.mT
    return result


def pull_back(G: Array, coordinates: Array) -> Array:
    """Gradient in the coordinates of a function whose differential is ``tr(G dSigma)``."""
    d = G.shape[-1]
    i, j = np.tril_indices(d, -1)
    U = _triangular(coordinates, d)
    turned = 2.0 * (G @ U) * np.exp(coordinates[..., None, :d])
    diagonal = 0.5 * np.einsum("bkij,bkij->bkj", U, turned)
    return np.concatenate([diagonal, turned[..., i, j]], axis=-1)


def project(gradient: Array, d: int, structure: str, present: Present) -> Array:
    """What a structure leaves of a gradient in the coordinates of scale matrices."""
    volume, shape, orientation = (SHARES[letter] for letter in LETTERS[structure])
    diagonal = gradient[..., :d]
    mean = diagonal.mean(axis=-1, keepdims=True)
    kept = volume(mean, present) + shape(diagonal - mean, present)
    return np.concatenate([kept, orientation(gradient[..., d:], present)], axis=-1)


def scale_spread(coordinates: Array, precisions: Array) -> Array:
    """Inverse information that one object with known component gives of each coordinate."""
    d = precisions.shape[-1]
    i, j = np.tril_indices(d, -1)
    information = np.exp(coordinates[..., j]) * precisions[..., i, i]
    return np.concatenate([np.full_like(coordinates[..., :d], 2.0), 1.0 / information], axis=-1)


def _triangular(coordinates: Array, d: int) -> Array:
    i, j = np.tril_indices(d, -1)
    U = np.zeros((*coordinates.shape[:2], d, d))
    U[...] = np.eye(d)
    U[..., i, j] = coordinates[..., d:]
    return U
