"""Two dimensions to draw in: two of the features, or the first principal components."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from credpart._arrays import Array, IntArray
from credpart._checks import Table, check_data
from credpart._messages import Message, Name
from credpart.errors import InputError


class Plane(NamedTuple):
    """A linear view of d features in two dimensions."""

    center: Array  # (d,)
    axes: Array  # (d, 2)
    labels: tuple[str, str]

    def project(self, X: Array) -> Array:
        """Return the places (n, 2) of objects."""
        return (X - self.center) @ self.axes


def check_view(X: Any, n: int | None = None) -> Table:
    """Return the data, of n objects with two features at least."""
    table = check_data(X)
    rows = len(table.values)
    if n not in (None, rows):
        raise InputError("X", f"have a row for each of the {n} objects", rows)
    if table.values.shape[1] < 2:
        raise InputError(
            "X",
            "have at least 2 columns to be drawn in a plane",
            1,
            Message("Use ", Name("plot.one_column"), " or ", Name("plot.density"), "."),
        )
    return table


def feature_names(table: Table) -> list[str]:
    """Names of the features, or what stands for them."""
    return table.names or [f"feature {j}" for j in range(table.values.shape[1])]


def plane(table: Table, features: Sequence[int | str] | None) -> Plane:
    """Return the plane of two features; None takes the only two, or principal components."""
    X, names = table.values, feature_names(table)
    d = X.shape[1]
    if features is None and d > 2:
        return principal_plane(X)
    j, k = (0, 1) if features is None else check_features(features, names, exactly=2)
    return Plane(np.zeros(d), np.eye(d)[:, [j, k]], (names[j], names[k]))


def principal_plane(X: Array) -> Plane:
    """Return the first two principal components of the scaled features."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    variances, directions = np.linalg.eigh(np.cov(((X - center) / scale).T))
    directions = directions[:, :-3:-1]
    strongest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[strongest, [0, 1]])  # else the sign is chance
    shares = 100.0 * variances[:-3:-1] / variances.sum()
    first, second = (f"principal component {k + 1} ({shares[k]:.0f} %)" for k in range(2))
    return Plane(center, directions / scale[:, None], (first, second))


def check_features(
    features: Sequence[int | str], names: Sequence[str], exactly: int | None = None
) -> list[int]:
    """Return distinct features, given by name or number, as numbers from 0."""
    listed = [features] if isinstance(features, str) else list(features)
    known: dict[int | str, int] = {name: j for j, name in enumerate(names)}
    known |= {j: j for j in range(len(names))}
    enough = len(listed) == exactly if exactly else len(listed) >= 2
    if not enough or len(set(listed)) < len(listed) or not set(listed) <= set(known):
        raise InputError(
            "features",
            f"be {exactly or 'at least 2'} distinct columns, by name or number, of "
            f"{', '.join(map(repr, names))}",
            features,
        )
    return [known[feature] for feature in listed]


def class_codes(classes: Any, n: int) -> tuple[list[str], IntArray]:
    """Return the names of the true classes, and which class each of n objects is in."""
    given = np.asarray(classes)
    if given.shape != (n,):
        raise InputError("classes", f"have shape ({n},)", given.shape)
    names, codes = np.unique(given.astype(str), return_inverse=True)
    return names.tolist(), codes.astype(np.intp)
