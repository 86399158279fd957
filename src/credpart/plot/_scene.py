"""Clustered objects in a plane: what the pictures of objects start from and end with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Patch
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError

from credpart._arrays import Array, BoolArray, IntArray
from credpart._checks import check_integer
from credpart.errors import InputError
from credpart.focal import check_cluster_names
from credpart.plot._canvas import (
    MOST_CLUSTERS_IN_LEGEND,
    MOST_SYMBOLS,
    beside,
    cluster_keys,
    cluster_patches,
    draw_objects,
    drawn_rows,
    marker_area,
    marker_key,
    name_places,
    new_axes,
    note,
    object_names,
    plain,
)
from credpart.plot._palette import GREY, OUTLIER_SYMBOL, SYMBOLS, colours, symbols
from credpart.plot._plane import Plane, check_view, class_codes, plane

Features = Sequence[int | str] | None
MOST_CLASSES = 6  # as for clusters: more symbols beside more colours are told apart by nobody
FEWEST = 8  # points from which on some can be called far from the others
HALO = withStroke(linewidth=3.0, foreground="white")  # else objects of its colour hide a line
NEAR_EDGE = 0.75  # share of the width and of the height from which on names stand on the other side
FENCE = 15.0  # of normal points fewer than 1 in 10 000 are further from the middle


@dataclass(frozen=True, slots=True)
class Scene:
    """Objects with their places, clusters and perhaps true classes, on an Axes."""

    ax: Axes
    view: Plane
    points: Array  # (n, 2)
    labels: IntArray  # (n,) clusters; -1 for outliers
    palette: Array  # (c, 3)
    names: Sequence[str]  # of the clusters
    classes: Sequence[str]  # names of the true classes, if any
    codes: IntArray  # (n,) what symbols stand for: classes, or else clusters

    @classmethod
    def of(
        cls,
        X: Any,
        labels: IntArray,
        names: Sequence[str] | int,
        *,
        features: Features,
        classes: ArrayLike | None = None,
        ax: Axes | None,
    ) -> Self:
        """Check the data and choose places, colours and symbols."""
        table = check_view(X, len(labels))
        view = plane(table, features)
        if isinstance(names, int):
            names = check_cluster_names(None, names)
        own = np.where(labels < 0, OUTLIER_SYMBOL, labels)
        known, codes = class_codes(classes, len(labels)) if classes is not None else ([], own)
        n_left_out = len(known) if len(known) > MOST_CLASSES else 0
        if n_left_out:
            known, codes = [], own
        if not known and len(labels) > MOST_SYMBOLS:
            codes = np.zeros_like(labels)
        points, palette = view.project(table.values), colours(len(names))
        ax = new_axes(ax)
        if n_left_out:
            note(ax, f"the {n_left_out:,} known classes are too many to have symbols")
        return cls(ax, view, points, labels, palette, names, known, codes)

    def draw(self, area: ArrayLike | None = None, depth: ArrayLike = 1.0) -> None:
        """Draw the objects: clusters as colours, true classes (or clusters again) as symbols.

        Colours have a depth from 0, white, to 1; outliers are grey.
        """
        depth = np.broadcast_to(depth, len(self.labels))[:, None]
        with_grey = np.vstack([self.palette, to_rgb(GREY)])  # the last, so that -1 is grey
        colour = 1.0 - depth * (1.0 - with_grey[self.labels])
        draw_objects(self.ax, self.points, colour, self.codes, area)

    def ring(self, chosen: BoolArray) -> None:
        """Draw a ring around those of the drawn objects that are chosen."""
        rows = drawn_rows(len(self.points))
        rows = rows[chosen[rows]]
        self.ax.scatter(
            self.points[rows, 0],
            self.points[rows, 1],
            s=3.0 * marker_area(len(self.points)),
            facecolors="none",
            edgecolors="black",
            linewidths=float(np.clip(300.0 / len(self.points), 0.4, 0.6)),
            alpha=float(np.clip(1500.0 / len(self.points), 0.35, 1.0)),  # many hide the objects
        )

    def annotate(self, rows: Iterable[int], index: Any) -> None:
        """Write the names of some objects beside them."""
        n = len(self.points)
        for row in rows:
            i = check_integer("annotate", row, at_least=0)
            if i >= n:
                raise InputError("annotate", f"hold rows in 0..{n - 1}", i)
            (name,) = object_names(index, [i])
            place = self.ax.transAxes.inverted().transform(
                self.ax.transData.transform(self.points[i])
            )
            is_right, is_high = place > NEAR_EDGE  # a name beyond the frame would be cut off
            self.ax.annotate(
                name,
                self.points[i],
                xytext=(-4 if is_right else 4, -3 if is_high else 3),
                textcoords="offset points",
                ha="right" if is_right else "left",
                va="top" if is_high else "bottom",
                fontsize="small",
                path_effects=[withStroke(linewidth=2.0, foreground="white")],
            )

    def finish(self, keys: Sequence[Any]) -> Axes:
        """Label the axes, name clusters, classes and what ``keys`` stand for, return the Axes."""
        by_colour = bool(self.classes) or self.dotted  # then symbols are not those of clusters
        entries: list[Any] = []
        if len(self.names) <= MOST_CLUSTERS_IN_LEGEND:
            make_keys = cluster_patches if by_colour else cluster_keys
            entries = [*make_keys(self.names, self.palette)]
            for k in np.setdiff1d(np.arange(len(entries)), self.labels):
                # It may have a hull or an ellipse nevertheless, of this colour.
                label = f"{entries[k].get_label()} (no objects)"
                entries[k] = Line2D([], [], color=self.palette[k], label=label)
        entries += [
            marker_key(f"class {plain(name)}", SYMBOLS[code], GREY)
            for name, code in zip(self.classes, symbols(np.arange(len(self.classes))), strict=True)
        ]
        if (self.labels < 0).any():
            outlier = marker_key("outlier", SYMBOLS[OUTLIER_SYMBOL], GREY)
            entries.append(Patch(facecolor=GREY, label="outlier") if by_colour else outlier)
        beside(self.ax, [*entries, *keys])
        if self.named:
            present = np.unique(self.labels[self.labels >= 0])
            places = [np.median(self.points[self.labels == k], axis=0) for k in present]
            names = [plain(self.names[k]) for k in present]
            name_places(self.ax, names, np.array(places), "x-small")
        self.ax.set(xlabel=plain(self.view.labels[0]), ylabel=plain(self.view.labels[1]))
        return self.ax

    @property
    def dotted(self) -> bool:
        """Whether all objects have the same symbol: then colours alone tell the clusters."""
        return not self.classes and len(self.points) > MOST_SYMBOLS

    @property
    def named(self) -> bool:
        """Whether clusters have their names written where they are."""
        by_colour_alone = MOST_CLASSES if self.classes else MOST_CLUSTERS_IN_LEGEND
        return self.dotted or len(self.names) > by_colour_alone


def hull(points: Array) -> Array:
    """Return the corners (m, 2) of the convex hull, closed; of points on a line its two ends.

    >>> hull(np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]]))
    array([[0., 0.],
           [2., 2.]])
    """
    if len(points) < 3:
        return points
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:  # all on a line
        along = (points - points[0]) @ np.linalg.svd(points - points.mean(axis=0))[2][0]
        return points[[along.argmin(), along.argmax()]]
    return np.vstack([corners, corners[:1]])


def central(points: Array) -> BoolArray:
    """Which points (m, 2) belong to the bulk, so that one outlier does not decide a region.

    Distances are those of Mahalanobis from the median, with the covariance of the nearer half; a
    point is out if its squared distance is more than `FENCE` times the median one.  Of few points
    all belong to it.

    >>> central(np.array([[k % 3, k // 3] for k in range(9)] + [[90, 90]])).tolist()
    [True, True, True, True, True, True, True, True, True, False]
    """
    if len(points) < FEWEST:
        return np.ones(len(points), dtype=bool)
    gaps = points - np.median(points, axis=0)
    unit = np.median(np.abs(gaps), axis=0)
    unit = np.where(unit > 0.0, unit, np.abs(gaps).max(axis=0))
    gaps = gaps / np.where(unit > 0.0, unit, 1.0)
    near = np.argsort((gaps**2).sum(axis=1), kind="stable")[: (len(points) + 1) // 2]
    scatter = gaps[near].T @ gaps[near] / len(near)
    scatter += 1e-3 * np.trace(scatter) * np.eye(2)  # points may lie on a line
    squares = np.einsum("nd,de,ne->n", gaps, np.linalg.inv(scatter), gaps)
    return np.asarray(squares <= FENCE * np.median(squares))


def ellipse(mean: Array, covariance: Array, radius: float, colour: Any) -> Ellipse:
    """Return the ellipse of a Mahalanobis distance from the mean."""
    variances, directions = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
    narrow, wide = 2.0 * radius * np.sqrt(variances)
    return Ellipse(
        (float(mean[0]), float(mean[1])), wide, narrow, angle=angle, fill=False,
        edgecolor=colour, linewidth=1.5, path_effects=[HALO], zorder=2.5,
    )  # fmt: skip
