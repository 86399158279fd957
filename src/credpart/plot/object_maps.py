"""Objects in a plane: the partition with its approximations, and mclust's pictures of a fit.

All take a value, the data and ``features``: two columns, by name or number, or None for the
only two, or for the first two principal components (of the scaled features) of more.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from credpart._arrays import Array, BoolArray
from credpart._checks import check_data, check_positive
from credpart.focal import check_cluster_names
from credpart.mixture.fit import MixtureFit
from credpart.mixture.posteriors import largest_posterior, most_probable
from credpart.partition import EvidentialPartition
from credpart.partition.describe import partition_doubt
from credpart.partition.doubt import THRESHOLD
from credpart.plot._canvas import marker_area, marker_key, note, plain, tell_doubt
from credpart.plot._components import check_numbers, moments
from credpart.plot._palette import GREY
from credpart.plot._scene import HALO, Features, Scene, central, ellipse, hull

PALEST = 0.45  # share of the colour that is left where there is no doubt
LEAST_DOUBT = 0.05  # the largest marker stands for the largest doubt, but for no less than this
CENTRE = r"$\oplus$"  # no cluster has this symbol
BEHIND = 0.55  # share of the colour of dots that ellipses are drawn on
SHARES = (0.5, 0.9)  # of a normal cluster in its ellipses, as in ellipses.js
MOST_TOLD = 3  # clusters of which a note says what their ellipses hold
NOTABLE = 0.1  # difference between a share of the model and that of the objects
SOLID: dict[str, Any] = {"linestyle": "-", "linewidth": 1.2}
LOWER = {
    "mass": "lower approximation:\nmost mass on this cluster,\nsure or not",
    "dominance": "lower approximation",
}
# Hulls of neighbours share edges: dashes that begin at different places, with wide gaps, leave
# the colours of both to be seen.
DASH, GAP = 4, 8


def partition(
    partition: EvidentialPartition,
    X: Any,
    *,
    features: Features = None,
    classes: ArrayLike | None = None,
    rule: str = "mass",
    annotate: Iterable[int] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw a partition: lower and upper approximations of its clusters as convex hulls.

    Parameters
    ----------
    partition : EvidentialPartition
        The partition.
    X : array or DataFrame of shape (n, d)
        The objects.
    features : two columns, optional
        By name or number; None takes the only two, or the first two principal components.
    classes : array of shape (n,), optional
        True classes, drawn as symbols; colours are the clusters of maximum plausibility.
        Without them, or if they are more than six, symbols say the clusters once more; with them,
        more than six clusters have their names in the picture.
    rule : {"mass", "dominance"}
        As in `EvidentialPartition.lower_approximation`.
    annotate : iterable of int
        Rows of objects whose names are written beside them.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        With hulls, solid around the lower and broken around the upper approximations of all
        objects but those far from the others of their cluster; objects that are not sure, as in
        `EvidentialPartition.doubt`, have a ring, outliers are grey.  Notes say how many objects
        are not sure, and how many the hulls leave out.  Of more than 20 000 objects a random
        sample is drawn, and a note says so.

    Examples
    --------
    >>> from credpart import EvidentialPartition, plot
    >>> X = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4], [2, 2]]
    >>> rough = EvidentialPartition.from_rough([[1, 0]] * 3 + [[0, 1]] * 2 + [[1, 1]])
    >>> ax = plot.partition(rough, X)
    >>> ax.get_xlabel()
    'feature 0'
    """
    names = check_cluster_names(partition.cluster_names, partition.n_clusters)
    lower, upper = partition.lower_approximation(rule), partition.upper_approximation(rule)
    labels = partition.labels_or_outlier
    scene = Scene.of(X, labels, names, features=features, classes=classes, ax=ax)
    scene.draw()
    left_out = np.zeros(len(labels), dtype=bool)
    for k, colour in enumerate(scene.palette):
        inner = _bulk(scene.points, lower[:, k])
        # Sure objects that the inner hull leaves out do not widen the outer one.
        outer = _bulk(scene.points, upper[:, k] & ~(lower[:, k] & ~inner)) | inner
        left_out |= (upper[:, k] & ~outer) | (lower[:, k] & ~inner)
        for members, style in ((outer, _dashed(k)), (inner, SOLID)):
            scene.ax.plot(*hull(scene.points[members]).T, color=colour, **style)
    keys = [
        Line2D([], [], color=GREY, label=LOWER[rule], **SOLID),
        Line2D([], [], color=GREY, label="upper approximation", **_dashed(0)),
    ]
    in_doubt = partition_doubt(partition).belief < THRESHOLD
    if in_doubt.any():
        scene.ring(in_doubt)
        keys.append(marker_key("not sure", "o", "black", fillstyle="none"))
    tell_doubt(scene.ax, in_doubt)
    if far := int(left_out.sum()):
        note(scene.ax, f"hulls leave out {far:,} object{'s' * (far != 1)} far from their cluster")
    scene.annotate(annotate, partition.index)
    return scene.finish(keys)


def _bulk(points: Array, members: BoolArray) -> BoolArray:
    """The members that are not far from the others."""
    bulk = members.copy()
    bulk[members] = central(points[members])
    return bulk


def _dashed(k: int) -> dict[str, Any]:
    """The line around the upper approximation of cluster k."""
    return {"linestyle": (DASH * k, (DASH, GAP)), "linewidth": 0.8}


def classification(
    fit: MixtureFit,
    X: Any,
    *,
    features: Features = None,
    classes: ArrayLike | None = None,
    radius: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the most probable component of each object, with centres and covariance ellipses.

    Parameters
    ----------
    fit : MixtureFit
        The mixture.
    X, features, classes, ax
        As in `partition`.
    radius : float, optional
        Mahalanobis distance of the ellipses from their centres; mclust has 1.  By default there
        are two, as in the report, which hold 50 % and 90 % of a normal cluster in the plane; others
        hold ``1 - exp(-radius^2 / 2)``.  Centres and covariances are those of normal components,
        else those of the objects by posteriors.

    Returns
    -------
    Axes
        The ellipses are those of the fitted mixture.  Where they hold another share of the objects
        than the model says, by more than 10 points and more than chance, a note says how many.

    Examples
    --------
    >>> from credpart import fit_mixture, plot
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris().X
    >>> ax = plot.classification(fit_mixture(iris, 3, "VEV"), iris)
    >>> ax.get_xlabel()
    'principal component 1 (73 %)'
    """
    check_numbers(fit)
    shares: tuple[float, ...] = SHARES
    if radius is not None:  # chi-squared with two degrees of freedom
        shares = (float(-np.expm1(-(check_positive("radius", radius) ** 2) / 2.0)),)
    values, posteriors = check_data(X).values, fit.posteriors(X)
    labels = most_probable(posteriors)
    scene = Scene.of(X, labels, fit.n_clusters, features=features, classes=classes, ax=ax)
    scene.draw(depth=BEHIND if scene.named else 1.0)
    means, covariances = moments(fit, values, posteriors)
    axes = scene.view.axes
    means, covariances = scene.view.project(means), axes.T @ covariances @ axes
    for mean, covariance, colour in zip(means, covariances, scene.palette, strict=True):
        for share in shares:
            reach = float(np.sqrt(-2.0 * np.log1p(-share)))
            scene.ax.add_patch(ellipse(mean, covariance, reach, colour))
    told = [
        f"hold{'s' * (len(shares) == 1)} {percents} of the objects of cluster {plain(name)}"
        for k, name in enumerate(scene.names)
        # Objects that were weighted in the fit are not here: then their shares may differ.
        if np.isclose(fit.n_objects, len(values))
        and (
            percents := _unexpected_shares(
                _squares(scene.points, means[k], covariances[k]), posteriors[:, k], shares
            )
        )
    ]
    plural = "s" * (len(shares) > 1)
    for text in told[:MOST_TOLD]:
        note(scene.ax, f"ellipse{plural} {text}")
    if len(told) > MOST_TOLD:
        note(scene.ax, f"and other shares than expected of {len(told) - MOST_TOLD} more")
    label = f"ellipse{plural}: {_percents(shares)} of the\nfitted cluster, if normal"
    keys = [Line2D([], [], color=GREY, linewidth=1.5, label=label)]
    if scene.named:  # a name would hide the centre that it stands on
        return scene.finish(keys)
    centres = scene.ax.plot(*means.T, linestyle="", marker=CENTRE, color="black", markersize=9)
    plt.setp(centres, markeredgewidth=0.6, path_effects=[HALO])
    return scene.finish([marker_key("centre", CENTRE, "black", 8.0), *keys])


def _squares(points: Array, mean: Array, covariance: Array) -> Array:
    """Squared Mahalanobis distances (m,) of points (m, 2) from a centre."""
    gaps = points - mean
    return np.asarray((gaps * np.linalg.solve(covariance, gaps.T).T).sum(axis=1))


def _unexpected_shares(squares: Array, weights: Array, shares: Sequence[float]) -> str:
    """What ellipses hold of the objects with these distances; nothing if it is as expected.

    Objects count by their posterior probabilities: labels would cut off where clusters overlap.
    As `unexpectedShares` of ellipse-shapes.js has it.

    >>> _unexpected_shares(np.zeros(100), np.ones(100), [0.5, 0.9])
    '100 % and 100 %'
    """
    n = weights.sum()
    inside = [float(weights @ (squares <= -2.0 * np.log1p(-share))) / n for share in shares]
    by_chance = [2.0 * np.sqrt(share * (1.0 - share) / n) for share in shares]
    is_other = any(
        abs(held - share) > max(NOTABLE, chance)
        for held, share, chance in zip(inside, shares, by_chance, strict=True)
    )
    return _percents(inside) if is_other else ""


def _percents(shares: Sequence[float]) -> str:
    return " and ".join(f"{100.0 * share:.0f} %" for share in shares)


def uncertainty(
    fit: MixtureFit, X: Any, *, features: Features = None, ax: Axes | None = None
) -> Axes:
    """Draw objects the larger, the less probable their most probable component is.

    This is the doubt of the single fit, which takes its parameters for the true ones; `doubt` has
    what the replicates add.

    Parameters
    ----------
    fit : MixtureFit
        The mixture.
    X, features, ax
        As in `partition`.

    Examples
    --------
    >>> from credpart import fit_mixture, plot
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris().X
    >>> ax = plot.uncertainty(fit_mixture(iris, 3, "VEV"), iris, features=[2, 3])
    >>> ax.get_ylabel()
    'petal_width'
    """
    values = check_data(X).values
    posteriors = fit.posteriors(values)
    highest = largest_posterior(posteriors)
    order = np.argsort(-highest, kind="stable")  # the uncertain ones on top
    doubt = 1.0 - highest[order]
    sorted_X = X.iloc[order] if hasattr(X, "iloc") else values[order]
    labels = most_probable(posteriors)[order]
    scene = Scene.of(sorted_X, labels, fit.n_clusters, features=features, ax=ax)
    largest = max(LEAST_DOUBT, float(doubt.max()))
    depth = PALEST + (1.0 - PALEST) * np.sqrt(doubt / largest)
    scene.draw(uncertain_area(doubt / largest, len(values)), depth)
    shares = np.array([0.0, 0.5, 1.0])
    keys = [
        marker_key(f"{share * largest:.2g}", "o", GREY, float(np.sqrt(size)))
        for share, size in zip(shares, uncertain_area(shares, len(X)), strict=True)
    ]
    note(scene.ax, "of the single fit, without replicates; for doubt see the map of doubt")
    head = Line2D([], [], linestyle="", label="1 − largest posterior\nprobability of the fit:")
    return scene.finish([head, *keys])


def uncertain_area(share: Array, n: int) -> Array:
    """Area of a marker of n, in points: it grows with the share of the largest doubt."""
    largest = float(np.clip(60_000.0 / n, 12.0, 220.0))
    return marker_area(n) / 2.0 + largest * share
