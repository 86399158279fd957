"""Covariances of many mixtures at once, of different structures side by side.

The closed forms are those of `credpart.mixture.covariance.structures`, vectorised: the mixtures
are the axis that is contiguous in memory, and structures with the same orientation or rule share
one call.  The two iterative estimates have the same objective but faster algorithms (`volumes`,
`common_axes`).  Without previous covariances they run to convergence, and for common axes may
find a better local maximum than the literal form.  Within EM they take one step from the previous
covariances, as in generalised EM.

Shapes: ``scatter`` and ``W`` (b, k, d, d), ``sizes`` and ``n`` (b, k), ``codes`` (b,).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Self, TypeVar

import numpy as np

from credpart._arrays import Array, IntArray
from credpart.mixture.covariance import structures
from credpart.mixture.covariance.common_axes import in_axes, rotate, rotate_to_convergence
from credpart.mixture.covariance.matrices import (
    eigh,
    inverse,
    log_determinant,
    matrices_contiguous,
    stack_contiguous,
)
from credpart.mixture.covariance.structures import NAMES, TABLE
from credpart.mixture.covariance.volumes import own_volume_equal_shape

SomeMixtures = IntArray | slice
# (W, n, codes, previous axes matrices) -> axes (b, k or 1, d, d), or None, and W in these.  One
# signature serves all orientations: only common axes use all arguments.
RotateScatter = Callable[[Array, Array, IntArray, Array | None], tuple[Array | None, Array]]
ApplyRule = Callable[[Array, Array, Array | None], Array]  # (W, n, previous volumes) -> covariances
Function = TypeVar("Function", RotateScatter, ApplyRule)

# Size of a component without observations: everything stays finite, and no other component changes.
ABSENT = 1e-290


class Previous(NamedTuple):
    """The previous covariances, as far as the iterative estimates start from them."""

    volumes: Array  # (b, k), up to a factor
    # (b, d, d): any matrix whose eigenvectors are the common axes and that rescales as a precision.
    # `of` inverts a sum of covariances, `Gaussian._previous` sums precisions.
    axes_matrix: Array

    @classmethod
    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def of(cls, covariances: Array, proportions: Array) -> Self:
        """Of covariances (b, k, d, d); components without a proportion are absent."""
        volumes = np.exp(log_determinant(covariances) / covariances.shape[-1])
        sums = np.einsum("bk,bkij->bij", unequal_weights(proportions), covariances)
        return cls(volumes, inverse(sums)[0])


def unequal_weights(proportions: Array) -> Array:
    """Weights (b, k) of the components that are present, for a sum that has their common axes.

    Its eigenvectors are the axes.  With equal weights its eigenvalues could coincide, as for
    diag(1, 2) + diag(2, 1), and leave the axes undetermined.
    """
    return (proportions > 0.0) / np.arange(1.0, proportions.shape[1] + 1.0)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # singular matrices become NaN
def update(
    scatter: Array,
    sizes: Array,
    codes: IntArray,
    previous: Previous | None = None,
    units: Array | None = None,
) -> Array:
    """Covariances (b, k, d, d) of each mixture under the structure that its code stands for.

    Without ``previous`` they maximise the likelihood.  With it, an iterative estimate takes one
    step that does not lower the expected log-likelihood of the complete data, as generalised EM
    requires.
    Components of size 0 have no influence on the others, and finite covariances.

    Spheres, own axes and common axes depend on the scales of the columns.  If the data are
    standardised, ``units`` (d,) are the original scales: the structure is imposed in these, and
    the covariances are returned in standardised units.
    """
    products = 1.0 if units is None else units[:, None] * units  # of the units of two columns
    matrices = stack_contiguous(scatter * products)
    absent = sizes <= ABSENT
    if absent.any():
        sizes = np.where(absent, ABSENT, sizes)
        matrices[absent] = ABSENT * np.eye(scatter.shape[-1])
    sizes = stack_contiguous(sizes)

    # Express the scatter matrices in the axes of each orientation, estimate covariances there by
    # the rule, and rotate these back.
    rotated = []
    for rotate_scatter, rows in _rows_by_function(ORIENTATIONS, codes):
        start = None if previous is None else previous.axes_matrix[rows] / products
        W, n = _take(matrices, rows), _take(sizes, rows)
        axes, matrices[rows] = rotate_scatter(W, n, codes[rows], start)
        if axes is not None:
            rotated.append((rows, stack_contiguous(axes)))
    for apply_rule, rows in _rows_by_function(RULES, codes):
        start = None if previous is None else previous.volumes[rows]
        matrices[rows] = apply_rule(_take(matrices, rows), _take(sizes, rows), start)
    for rows, axes in rotated:
        scaled_axes = axes * np.einsum("bkdd->bkd", _take(matrices, rows))[..., None, :]
        matrices[rows] = np.einsum("bkil,bkjl->bkij", scaled_axes, axes, order="F")
    matrices /= products
    return matrices


def _rows_by_function(
    table: Mapping[Callable[..., object], Function], codes: IntArray
) -> Iterator[tuple[Function, SomeMixtures]]:
    """Each function of a table that is needed, with the mixtures whose structures need it."""
    for kind, function in table.items():
        is_needed = CODES_WITH[kind][codes]
        if is_needed.any():
            yield function, slice(None) if is_needed.all() else np.flatnonzero(is_needed)


def _take(stack: Array, rows: SomeMixtures) -> Array:
    """Some mixtures of a stack, in the same memory layout."""
    return stack if isinstance(rows, slice) else stack.T.take(rows, axis=-1).T


def _spheres(W: Array, n: Array, codes: IntArray, start: Array | None) -> tuple[None, Array]:
    d = W.shape[-1]
    return None, (np.einsum("bkdd->bk", W) / d)[..., None, None] * np.eye(d)


def _column_axes(W: Array, n: Array, codes: IntArray, start: Array | None) -> tuple[None, Array]:
    return None, W * np.eye(W.shape[-1])


def _own_axes(W: Array, n: Array, codes: IntArray, start: Array | None) -> tuple[Array, Array]:
    eye, present = np.eye(W.shape[-1]), n > ABSENT
    if present.all():
        values, axes = eigh(W)
    else:
        values, axes = np.full(W.shape[:-1], ABSENT), np.tile(eye, (*n.shape, 1, 1))
        values[present], axes[present] = eigh(W[present])
    return axes, np.maximum(values, 0.0)[..., None] * eye  # rounding may make values negative


def _common_axes(W: Array, n: Array, codes: IntArray, start: Array | None) -> tuple[Array, Array]:
    W, n = matrices_contiguous(W), matrices_contiguous(n)
    if start is None:
        axes = np.empty(W[:, 0].shape)
        for code in np.unique(codes):
            rows = codes == code
            axes[rows] = _best_axes(W[rows], n[rows], int(code))
    else:
        axes = rotate(W, n, CODES_WITH[structures.EV][codes], eigh(start)[1])[0]
    return axes[:, None], in_axes(W, axes) * np.eye(W.shape[-1])


def _best_axes(W: Array, n: Array, code: int) -> Array:
    """Common axes (b, d, d) under one structure, from the best of several starts.

    The estimates of the nested structures are the starts, so that none of these is ever better.
    """
    has_equal_volume = np.full(len(W), CODES_WITH[structures.EV][code])
    found = []
    for name in TABLE[NAMES[code]].nested:
        nested = update(W, n, np.full(len(W), NAMES.index(name)))
        start = eigh(Previous.of(nested, np.where(n > ABSENT, n, 0.0)).axes_matrix)[1]
        found.append(rotate_to_convergence(W, n, has_equal_volume, start))
    best = np.argmax([np.nan_to_num(loglik, nan=-np.inf) for _, loglik in found], axis=0)
    return np.stack([axes for axes, _ in found])[best, np.arange(len(W))]


def _equal_volume_equal_shape(W: Array, n: Array, start: Array | None) -> Array:
    return W.sum(axis=1, keepdims=True) / n.sum(axis=1)[:, None, None, None]


def _equal_volume_own_shape(W: Array, n: Array, start: Array | None) -> Array:
    volumes = np.exp(log_determinant(W) / W.shape[-1])
    volumes *= n.sum(axis=1, keepdims=True) / volumes.sum(axis=1, keepdims=True)
    return W / volumes[..., None, None]


def _own_volume_own_shape(W: Array, n: Array, start: Array | None) -> Array:
    return W / n[..., None, None]


# `structures.full_matrices` needs no function: the matrices are taken as they are.
ORIENTATIONS: Mapping[Callable[..., object], RotateScatter] = {
    structures.spheres: _spheres,
    structures.column_axes: _column_axes,
    structures.own_axes: _own_axes,
    structures.common_axes: _common_axes,
}
RULES: Mapping[Callable[..., object], ApplyRule] = {
    structures.EE: _equal_volume_equal_shape,
    structures.VE: own_volume_equal_shape,
    structures.EV: _equal_volume_own_shape,
    structures.VV: _own_volume_own_shape,
}
# For each orientation and rule, a mask over codes: whether the structure has it.
CODES_WITH = {
    kind: np.array([kind in row for row in TABLE.values()]) for kind in (*ORIENTATIONS, *RULES)
}
