"""The density of a mixture: a curve over one feature, contours over two."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from credpart._arrays import Array
from credpart._checks import check_data
from credpart._messages import Message, Name
from credpart.errors import InputError, UnsupportedError
from credpart.mixture.fit import MixtureFit
from credpart.plot._canvas import (
    MOST_CLUSTERS_IN_LEGEND,
    beside,
    draw_objects,
    new_axes,
    note,
    plain,
)
from credpart.plot._components import along, check_numbers, densities, joint_densities
from credpart.plot._palette import GREY, colours
from credpart.plot._plane import Plane, check_view, feature_names, plane
from credpart.plot._scene import Features

GRID = 160  # points along an axis
SHARES = (0.9, 0.75, 0.5, 0.25, 0.1)  # of the mixture, within the contours
N_SAMPLE = 20_000  # objects drawn from the mixture, that give the levels of the contours
NOTABLE = 0.1  # difference between a share of the mixture and that of the objects
GROUND = (0.05, 0.45)  # of a scale of greys: the lowest and the highest fill between contours
WIDTHS = (0.8, 2.2)  # of the lowest and of the highest contour


def density(fit: MixtureFit, X: Any, *, features: Features = None, ax: Axes | None = None) -> Axes:
    """Draw the density of a mixture, in a plane as contours that hold given shares of it.

    Parameters
    ----------
    fit : MixtureFit
        The mixture.  Of more features than two, the density is that of the mixture's projection;
        a family without `MixtureFamily.projectable` can be drawn with one or two features, within
        the range of the objects.
    X, features, ax
        As in `partition`; one column is drawn as a curve over a histogram.

    Returns
    -------
    Axes
        The ground is the darker, and a contour the wider, the higher the density.  Where a contour
        holds another share of the objects, by more than 10 points and more than chance, a note says
        so: then the mixture does not fit the objects.  Of a family without `MixtureFamily.sample`
        the shares are those of the objects.

    Examples
    --------
    >>> from credpart import fit_mixture, plot
    >>> from credpart.datasets import make_mixture1
    >>> first = make_mixture1(random_state=0).X[:, :1]
    >>> ax = plot.density(fit_mixture(first, 2, "V"), first)
    >>> ax.get_ylabel()
    'density'
    """
    check_numbers(fit)
    draw = _curve if check_data(X).values.shape[1] == 1 else _contours
    return draw(fit, X, features, new_axes(ax))


def _curve(fit: MixtureFit, X: Any, features: Features, ax: Axes) -> Axes:
    table = check_data(X)
    values = table.values[:, 0]
    places = np.linspace(*_range(fit, values), 2 * GRID)
    parts = joint_densities(fit, places[:, None])
    ax.hist(values, bins="auto", density=True, color="#DDDDDD", label="objects")
    ax.plot(places, parts.sum(axis=1), color="black", label="mixture")
    clusters, noise = parts.T[: fit.n_clusters], parts.T[fit.n_clusters :]
    names = _cluster_keys(fit.n_clusters)
    for part, colour, name in zip(clusters, colours(fit.n_clusters), names, strict=True):
        ax.plot(places, part, "--", color=colour, linewidth=1.5, label=name)
    for part in noise:
        ax.plot(places, part, ":", color=GREY, linewidth=1.5, label="outliers")
    ax.set(xlabel=plain(feature_names(table)[0]), ylabel="density")
    ax.legend(frameon=False, fontsize="small")
    return ax


def _cluster_keys(c: int) -> list[str | None]:
    """Names of clusters in a legend; of many only what all of them are.

    >>> _cluster_keys(2)
    ['cluster 1', 'cluster 2']
    """
    if c <= MOST_CLUSTERS_IN_LEGEND:
        return [f"cluster {k}" for k in range(1, c + 1)]
    return ["clusters", *[None] * (c - 1)]


def _contours(fit: MixtureFit, X: Any, features: Features, ax: Axes) -> Axes:
    table = check_view(X)
    view = plane(table, features)
    points = view.project(table.values)
    x, y = (np.linspace(*_range(fit, side), GRID) for side in points.T)
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    reference, whose = _reference(fit, points, view)
    heights, at_objects, at_reference = (
        _density_in(fit, view, where) for where in (places, points, reference)
    )
    shares = np.array(SHARES)
    levels = np.quantile(at_reference, 1.0 - shares)
    heights = heights.reshape(GRID, GRID)
    ground = colormaps["Greys"](np.linspace(*GROUND, len(levels)))
    ax.contourf(x, y, heights, [*levels, np.inf], colors=ground, zorder=0)
    grey = np.full((len(points), 3), 0.35)
    draw_objects(ax, points, grey, np.zeros(len(points), dtype=np.intp))
    shades = colormaps["cividis"](np.linspace(0.6, 0.0, len(levels)))
    widths = np.linspace(*WIDTHS, len(levels))
    ax.contour(x, y, heights, levels, colors=shades, linewidths=widths, zorder=2)
    keys = [
        Patch(facecolor=fill, edgecolor=shade, linewidth=width, label=f"{100.0 * share:.0f} %")
        for share, fill, shade, width in zip(shares, ground, shades, widths, strict=True)
    ]
    beside(ax, keys, f"of the {whose}\nwithin the contour:")
    in_clusters = fit.posteriors(X).sum(axis=1)  # less than 1 with noise
    n = in_clusters.sum()
    held = (at_objects >= levels[:, None]) @ in_clusters / n
    by_chance = 2.0 * np.sqrt(shares * (1.0 - shares) / n)
    far = np.abs(held - shares)
    # Objects that were weighted in the fit are not here: then their shares may differ.
    is_comparable = np.isclose(fit.n_objects, len(points))
    if is_comparable and (far > np.maximum(NOTABLE, by_chance)).any():
        k = int(far.argmax())
        note(
            ax,
            f"the {100.0 * shares[k]:.0f} % contour holds {100.0 * held[k]:.0f} % of the objects",
        )
    ax.set(xlabel=plain(view.labels[0]), ylabel=plain(view.labels[1]))
    return ax


def _reference(fit: MixtureFit, points: Array, view: Plane) -> tuple[Array, str]:
    """Places whose shares the contours hold: a sample of the mixture, else the objects."""
    try:
        sample, components = fit.sample(N_SAMPLE, random_state=0)
    except UnsupportedError:  # a family of one's own
        return points, "objects"
    return view.project(sample[components >= 0]), "mixture"


def _density_in(fit: MixtureFit, view: Plane, places: Array) -> Array:
    """The density of the mixture at places (m, 2) of a plane."""
    components = fit.components
    if components is not None:
        parts = along(components, view.center, view.axes)
        return densities(parts, places) @ parts.proportions
    if len(view.axes) > 2:
        raise InputError(
            "fit",
            "be of at most 2 columns to be drawn, as the family of its model does not say how to "
            "project it",
            Message(f"{len(view.axes)} columns and model {fit.model!r}"),
            Message("Fit two columns, or give the family a method ", Name("projectable"), "."),
        )
    return np.asarray(joint_densities(fit, places @ view.axes.T).sum(axis=1))


def _range(fit: MixtureFit, values: Array) -> tuple[float, float]:
    """Where the density is drawn: of other families it may be defined among the objects only."""
    low, high = float(values.min()), float(values.max())
    margin = 0.0 if fit.components is None else 0.08 * (high - low) or 1.0
    return low - margin, high + margin
