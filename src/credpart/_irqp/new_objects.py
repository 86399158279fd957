"""Masses of new objects, from their intervals with objects whose masses are known."""

import numpy as np
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray
from credpart._checks import check_weights, in_row
from credpart._threads import one_blas_thread
from credpart.errors import InputError
from credpart.focal import disjoint_matrix, same_matrix
from credpart.partition import EvidentialPartition
from credpart.simplex_qp import simplex_qp

CHUNK = 4096  # new objects solved together


def row_masses(
    partition: EvidentialPartition,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """Return the masses (m, f) of new objects that fit their intervals with known ones best.

    There is one quadratic program (16)-(17) for each new object, against the fixed masses of the
    partition.  They share ``Q``, so the work is linear in m.

    Parameters
    ----------
    partition : EvidentialPartition
        Masses of n known objects.
    lower, upper : array of shape (m, n)
        Bounds on the probability that new object i and known object j are in the same cluster.
    sample_weight : array of shape (n,), optional
        Weights of the known objects.  A weight of 2 is the object twice.

    Returns
    -------
    array of shape (m, f)
        The masses of the new objects, on the focal sets of the partition.

    Examples
    --------
    >>> known = EvidentialPartition([[1, 0, 0], [0, 1, 0]], [[1, 0], [0, 1], [1, 1]])
    >>> row_masses(known, [[0.0, 0.7]], [[0.3, 1.0]]).round(6)
    array([[0. , 0.7, 0.3]])
    """
    M = partition.masses
    bounds = _check_bounds("lower", lower, len(M)), _check_bounds("upper", upper, len(M))
    weights = check_weights("sample_weight", sample_weight, len(M))
    with one_blas_thread():
        return best_rows(M, partition.focal_sets, weights, *bounds)


def best_rows(
    M: Array,
    focal: BoolArray,
    weights: Array,
    lower: Array,
    upper: Array,
    allowed: BoolArray | None = None,
) -> Array:
    """Solve (16)-(17) for new objects with bounds (m, n) on their P_ij with weighted known ones.

    ``allowed`` (m, f) says which focal sets may carry mass; None is all of them.
    """
    S, C = same_matrix(focal), disjoint_matrix(focal)
    root, weighted = np.sqrt(weights)[:, None] * M, weights[:, None] * M
    gram = root.T @ root
    Q = S @ gram @ S + C @ gram @ C  # (18a)
    u = -2.0 * (lower @ weighted @ S + (weighted.sum(axis=0) - upper @ weighted) @ C)  # (18b)
    at_vertices = np.diagonal(Q) + u
    if allowed is not None:
        at_vertices = np.where(allowed, at_vertices, np.inf)
    vertices = np.eye(len(focal))[at_vertices.argmin(axis=1)]
    chunks = [slice(i, i + CHUNK) for i in range(0, len(u), CHUNK)]
    rows = [
        simplex_qp(Q, u[chunk], vertices[chunk], None if allowed is None else allowed[chunk])
        for chunk in chunks
    ]
    return np.concatenate([np.empty_like(u[:0]), *rows])


def _check_bounds(name: str, value: ArrayLike, n: int) -> Array:
    bounds = np.asarray(value, dtype=np.float64)
    if bounds.ndim != 2 or bounds.shape[1] != n:
        raise InputError(name, f"have shape (m, {n})", bounds.shape)
    if not ((bounds >= 0.0) & (bounds <= 1.0)).all():
        i, j = np.argwhere(~((bounds >= 0.0) & (bounds <= 1.0)))[0]
        raise InputError(name, "be in [0, 1]", in_row(f"{bounds[i, j]:g}", i))
    return bounds
