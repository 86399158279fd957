"""Pictures: what stands in them is what the values say.  Nothing is compared pixel by pixel."""

import html
import io
from types import SimpleNamespace
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from scipy.spatial import ConvexHull
from scipy.spatial.distance import squareform
from scipy.stats import chi2, multivariate_normal
from sklearn.exceptions import NotFittedError

from credpart import (
    CalibratedClustering,
    EvidentialPartition,
    MixtureFamily,
    PairwiseIntervals,
    bootstrap,
    fit_mixture,
    focal_sets,
    irqp,
    pairwise_intervals,
    plot,
    select_mixture,
)
from credpart.datasets import load_iris, make_mixture2, make_survey
from credpart.plot._canvas import LONGEST, MOST_MARKERS, shortened
from credpart.plot._components import along, densities, joint_densities, moments
from credpart.plot._palette import GREY, SYMBOLS, colours, set_styles, symbols
from credpart.plot._plane import principal_plane
from credpart.plot._scene import hull
from credpart.plot.curves import spread
from credpart.plot.pairwise import condensed_row
from tests.selections import selection_of

IRIS = load_iris()
SAMPLE = make_mixture2(60, random_state=0)
ROUGH = EvidentialPartition.from_rough(
    [[1, 0]] * 3 + [[0, 1]] * 3 + [[1, 1]], cluster_names=["a", "b"], index=list("tuvwxyz")
)
PLACES = np.array([[0, 0], [2, 0], [0, 2], [5, 5], [7, 5], [5, 7], [3, 3]], dtype=float)


@pytest.fixture(scope="module")
def fitted():
    """Stages of the pipeline on a small sample."""
    fit = fit_mixture(SAMPLE.X, 3, "EEE")
    replicates = bootstrap(SAMPLE.X, fit, 40, random_state=0)
    intervals = pairwise_intervals(replicates.posteriors(SAMPLE.X), level=0.9)
    return fit, replicates, intervals, irqp(intervals, focal_sets(3)).partition


@pytest.fixture(scope="module")
def iris_fit():
    return fit_mixture(IRIS.X, 3, "VEV")


def drawn(ax):
    """Places of all markers, with their colours."""
    places = [c.get_offsets() for c in ax.collections if len(c.get_facecolor())]
    faces = [
        np.broadcast_to(c.get_facecolor()[:, :3], (len(c.get_offsets()), 3))
        for c in ax.collections
        if len(c.get_facecolor())
    ]
    return np.vstack(places), np.vstack(faces)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines(ax, style):
    return [line.get_xydata() for line in ax.lines if line.get_linestyle() == style]


def polygon(points):
    return {tuple(point) for point in points}


def test_partition_draws_every_object_in_the_colour_of_its_cluster():
    places, faces = drawn(plot.partition(ROUGH, PLACES))
    order = np.lexsort(places.T), np.lexsort(PLACES.T)
    np.testing.assert_array_equal(places[order[0]], PLACES[order[1]])
    np.testing.assert_allclose(faces[order[0]], colours(2)[ROUGH.labels[order[1]]])


def test_partition_draws_hulls_of_both_approximations():
    ax = plot.partition(ROUGH, PLACES)
    assert [polygon(line) for line in lines(ax, "-")] == [polygon(PLACES[:3]), polygon(PLACES[3:6])]
    # The point between clusters is a corner of neither triangle's hull but its own side's.
    for line, members in zip(lines(ax, "--"), ([0, 1, 2, 6], [3, 4, 5, 6]), strict=True):
        corners = PLACES[members][ConvexHull(PLACES[members]).vertices]
        assert polygon(line) == polygon(corners)
    rings = [c for c in ax.collections if not len(c.get_facecolor())]
    np.testing.assert_array_equal(rings[0].get_offsets(), PLACES[[6]])


def test_partition_says_what_is_what():
    classes = ["p", "p", "p", "q", "q", "q", "p"]
    ax = plot.partition(ROUGH, PLACES, classes=classes, annotate=[6])
    assert legend(ax) == [
        *("cluster a", "cluster b", "class p", "class q"),
        "lower approximation:\nmost mass on this cluster,\nsure or not",
        *("upper approximation", "not sure"),
    ]
    # A square would be the symbol of a class.
    assert [type(key) for key in ax.get_legend().legend_handles[:2]] == [Rectangle] * 2
    assert [text.get_text() for text in ax.texts] == ["z"]
    assert ax.get_title("right") == "1 of 7 objects is not sure (belief below 0.9)"


@pytest.mark.parametrize("n_classes", [6, 7])
def test_more_than_six_classes_have_no_symbols(n_classes):
    X = np.random.default_rng(0).standard_normal((84, 2))
    hard = EvidentialPartition.from_hard(np.arange(84) % 12)
    ax = plot.partition(hard, X, classes=np.arange(84) % n_classes)
    drawn = [name for name in legend(ax) if name.startswith("class ")]
    assert len(drawn) == (6 if n_classes == 6 else 0)
    told = "the 7 known classes are too many to have symbols"
    assert (told in ax.get_title("right")) == (n_classes == 7)
    if n_classes == 7:  # it looks as if no classes were given
        assert legend(ax) == legend(plot.partition(hard, X))


@pytest.mark.parametrize("draw", [plot.partition, plot.classification])
def test_more_than_six_clusters_have_their_names_where_symbols_are_classes(draw):
    labels = np.arange(70) % 7
    X = np.random.default_rng(0).standard_normal((70, 2)) + 9.0 * np.c_[labels % 3, labels // 3]
    fit = fit_mixture(X, 7, "EII", random_state=0)
    hard = EvidentialPartition.from_hard(labels)
    ax = draw({plot.partition: hard, plot.classification: fit}[draw], X, classes=labels % 2)
    assert {text.get_text() for text in ax.texts} == set("1234567")
    assert "class 1" in legend(ax)
    assert not draw(fit if draw is plot.classification else hard, X).texts  # symbols tell them


def test_a_cluster_without_objects_has_no_symbol_in_the_legend():
    X = np.random.default_rng(0).standard_normal((20, 2))
    ax = plot.partition(EvidentialPartition.from_hard(np.arange(20) % 2, n_clusters=3), X)
    assert legend(ax)[:3] == ["cluster 1", "cluster 2", "cluster 3 (no objects)"]
    marks = [key.get_marker() for key in ax.get_legend().legend_handles[:3]]
    assert marks == ["o", "^", "None"]


def test_centres_have_the_symbol_of_no_cluster(iris_fit):
    ax = plot.classification(iris_fit, IRIS.X)
    (centres,) = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert centres.get_marker() not in SYMBOLS


@pytest.mark.parametrize("rule", ["mass", "dominance"])
def test_objects_with_a_ring_are_those_that_are_not_sure(rule):
    # The set of most mass is a single cluster, in which belief is low.
    fuzzy = EvidentialPartition.from_fuzzy([[0.6, 0.4]] * 2000 + [[0.05, 0.95]] * 1000)
    X = np.random.default_rng(0).standard_normal((3000, 2))
    ax = plot.partition(fuzzy, X, rule=rule)
    assert "2,000 of 3,000 objects are not sure (belief below 0.9)" in ax.get_title("right")
    (rings,) = [c for c in ax.collections if not len(c.get_facecolor())]
    np.testing.assert_array_equal(rings.get_offsets(), X[:2000])
    assert rings.get_linewidth()[0] >= 0.4
    assert legend(ax)[-1] == "not sure"
    sure = plot.partition(EvidentialPartition.from_hard([0] * 3 + [1] * 4), PLACES)
    assert "not sure" not in legend(sure)


def test_names_of_objects_stay_within_the_frame():
    ax = plot.partition(ROUGH, PLACES, annotate=range(7))
    ax.figure.draw_without_rendering()
    frame = ax.get_window_extent()
    for text in ax.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


def test_dashes_of_clusters_begin_at_different_places():
    ax = plot.partition(ROUGH, PLACES)
    upper = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len({line._dash_pattern[0] for line in upper}) == 2


def test_symbols_are_the_true_classes():
    classes = np.array(["p", "q", "p", "q", "p", "q", "p"])
    ax = plot.partition(ROUGH, PLACES, classes=classes)
    groups = [c.get_offsets() for c in ax.collections if len(c.get_facecolor())]
    assert [polygon(group) for group in groups] == [
        polygon(PLACES[classes == "p"]),
        polygon(PLACES[classes == "q"]),
    ]


@settings(deadline=None, max_examples=40)
@given(arrays(float, st.tuples(st.integers(1, 20), st.just(2)), elements=st.integers(-3, 3)))
def test_hull_contains_all_points_and_has_only_points(points):
    corners = hull(points)
    assert polygon(corners) <= polygon(points)
    for direction in np.random.default_rng(0).standard_normal((20, 2)):
        assert (corners @ direction).max() == pytest.approx((points @ direction).max())


def test_more_than_two_features_are_projected(iris_fit):
    ax = plot.classification(iris_fit, IRIS.X)
    scaled = (IRIS.X - IRIS.X.mean()) / IRIS.X.std(ddof=0)
    _, sizes, axes = np.linalg.svd(scaled, full_matrices=False)
    places, _ = drawn(ax)
    expected = np.abs(scaled @ axes[:2].T).to_numpy()
    np.testing.assert_allclose(
        np.sort(np.abs(places), axis=0), np.sort(expected, axis=0), atol=1e-9
    )
    share = 100 * sizes[0] ** 2 / (sizes**2).sum()
    assert ax.get_xlabel() == f"principal component 1 ({share:.0f} %)"


@pytest.mark.parametrize("features", [(2, 3), ["petal_length", "petal_width"]])
def test_ellipses_are_the_covariances(iris_fit, features):
    ax = plot.classification(iris_fit, IRIS.X, features=features, radius=2.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("petal_length", "petal_width")
    for patch, mean, covariance in zip(
        ax.patches, iris_fit.params.means, iris_fit.params.covariances, strict=True
    ):
        rim = patch.get_patch_transform().transform(patch.get_path().vertices) - mean[2:]
        distances = np.einsum("nd,de,ne->n", rim, np.linalg.inv(covariance[2:, 2:]), rim)
        # Bezier curves are circles to 3e-4; control points lie outside.
        assert distances.min() == pytest.approx(4.0, rel=1e-3)


def test_ellipses_that_do_not_hold_their_shares_say_so():
    # Columns are not independent within the one cluster, as EEI has it.
    x, left, right = np.random.default_rng(0).standard_normal((3, 300))
    X = np.column_stack([x, x + 0.1 * left, x - 0.1 * right])
    fit = fit_mixture(X, 1, "EEI")
    ax = plot.classification(fit, X)
    view = principal_plane(X)
    gaps = view.project(X) - view.project(fit.params.means)
    covariance = view.axes.T @ fit.params.covariances[0] @ view.axes
    squares = np.einsum("nd,de,ne->n", gaps, np.linalg.inv(covariance), gaps)
    held = [100 * np.mean(squares <= chi2(2).ppf(share)) for share in (0.5, 0.9)]
    assert max(abs(held[0] - 50), abs(held[1] - 90)) > 10
    told = f"ellipses hold {held[0]:.0f} % and {held[1]:.0f} % of the objects of cluster 1"
    assert ax.get_title("right") == told
    assert not plot.classification(fit_mixture(X, 1, "VVV"), X).get_title("right")


def test_overlap_is_no_reason_why_ellipses_would_not_hold_their_shares():
    # Nearly all that is labelled 1 lies within the ellipse, but the cluster goes on beyond.
    X = np.random.default_rng(0).standard_normal((600, 2)) + np.repeat(
        [[0.0, 0.0], [1.8, 0.0]], 300, axis=0
    )
    fit = fit_mixture(X, 2, "EII")
    assert not plot.classification(fit, X).get_title("right")


def test_the_legend_says_how_much_of_a_cluster_an_ellipse_holds(iris_fit):
    assert legend(plot.classification(iris_fit, IRIS.X))[-1] == (
        "ellipses: 50 % and 90 % of the\nfitted cluster, if normal"
    )
    for radius in (0.5, 1.0, 2.0):
        ax = plot.classification(iris_fit, IRIS.X, radius=radius)
        share = 100.0 * chi2(2).cdf(radius**2)  # of squared distances in a plane
        assert legend(ax)[-1].split() == (
            f"ellipse: {share:.0f} % of the fitted cluster, if normal".split()
        )


def test_uncertain_objects_are_large(fitted):
    fit = fitted[0]
    ax = plot.uncertainty(fit, SAMPLE.X)
    doubt = 1.0 - fit.posteriors(SAMPLE.X).max(axis=1)
    sizes = np.concatenate([c.get_sizes() for c in ax.collections])
    places = np.vstack([c.get_offsets() for c in ax.collections])
    back = [int(np.flatnonzero((place == SAMPLE.X).all(axis=1))[0]) for place in places]
    assert np.corrcoef(sizes, doubt[back])[0, 1] == pytest.approx(1.0)
    assert legend(ax)[3].startswith("1 − largest posterior")
    assert float(legend(ax)[-1]) == pytest.approx(doubt.max(), rel=0.05)  # two digits
    assert "without replicates" in ax.get_title("right")


def test_density_is_that_of_the_projected_mixture(fitted):
    fit = fitted[0]
    means, covariances = fit.params.means, fit.params.covariances
    ours = densities(fit.components, SAMPLE.X)
    for k in range(3):
        law = multivariate_normal(means[k], covariances[k])
        np.testing.assert_allclose(ours[:, k], law.pdf(SAMPLE.X))
    ax = plot.density(fit, SAMPLE.X)
    # Contours hold their shares of the mixture: here of a sample, which differs by chance.
    at_sample = np.exp(fit.log_density(fit.sample(20_000, random_state=0)[0]))
    shares = [np.mean(at_sample >= level) for level in ax.collections[-1].levels]
    np.testing.assert_allclose(shares, [0.9, 0.75, 0.5, 0.25, 0.1], atol=0.015)
    assert legend(ax) == ["90 %", "75 %", "50 %", "25 %", "10 %"]
    assert not ax.get_title("right")


def test_contours_that_hold_other_shares_of_the_objects_say_so():
    # Columns are not independent within the one cluster, as EEI has it.
    x, left, right = np.random.default_rng(0).standard_normal((3, 300))
    X = np.column_stack([x, x + 0.1 * left, x - 0.1 * right])
    fit, view = fit_mixture(X, 1, "EEI"), principal_plane(X)
    ax = plot.density(fit, X)
    parts = along(fit.components, view.center, view.axes)
    at_objects = densities(parts, view.project(X)) @ parts.proportions
    held = np.mean(at_objects >= ax.collections[-1].levels[:, None], axis=1)
    k = np.abs(held - [0.9, 0.75, 0.5, 0.25, 0.1]).argmax()
    told = f"the {legend(ax)[k]} contour holds {100 * held[k]:.0f} % of the objects"
    assert ax.get_title("right") == told
    assert not plot.density(fit_mixture(X, 1, "VVV"), X).get_title("right")


def test_the_ground_is_darker_where_the_density_is_higher(fitted):
    ground, contours = plot.density(fitted[0], SAMPLE.X).collections[::2]
    assert (np.diff(ground.get_facecolor()[:, 0]) < 0.0).all()  # valleys are no peaks
    np.testing.assert_allclose(ground.levels[:-1], contours.levels)


@pytest.mark.parametrize("model", ["VVV", "t", "skew-normal", "skew-t"])
def test_densities_of_every_family_are_those_of_the_fit_and_of_its_projection(model):
    X = IRIS.X[50:].to_numpy()[:, :2]
    fit = fit_mixture(X, 2, model)
    parts = fit.components
    ours = densities(parts, X) @ parts.proportions
    np.testing.assert_allclose(ours, np.exp(fit.log_density(X)), rtol=1e-7)
    np.testing.assert_allclose(joint_densities(fit, X), densities(parts, X) * parts.proportions)
    # Along a direction, the density is what is left when the other one is integrated out.
    axes = np.array([[0.8], [0.6]])
    across = np.array([-0.6, 0.8])
    steps = np.linspace(-30.0, 30.0, 20_001)
    place = X.mean(axis=0)
    line = np.exp(fit.log_density(place + steps[:, None] * across))
    projected = along(parts, place, axes)
    ours = densities(projected, np.zeros((1, 1))) @ projected.proportions
    assert ours[0] == pytest.approx(np.trapezoid(line, steps), rel=1e-3)


@pytest.mark.parametrize("model", ["t", "skew-t"])
def test_fits_of_other_families_are_drawn(model):
    X = IRIS.X[50:]
    fit = fit_mixture(X[["petal_length", "petal_width"]], 2, model)
    X = X[["petal_length", "petal_width"]]
    means, _ = moments(fit, X.to_numpy(), fit.posteriors(X))
    np.testing.assert_allclose(means, (fit.posteriors(X).T @ X) / fit.posteriors(X).sum(0)[:, None])
    ax = plot.classification(fit, X)
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), means)
    assert plot.density(fit, X).get_xlabel() == "petal_length"


def test_density_of_one_feature_is_a_curve():
    X = SAMPLE.X[:, :1]
    ax = plot.density(fit_mixture(X, 2, "V"), X)
    x, y = ax.lines[0].get_data()
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.02)  # tails are cut
    assert legend(ax) == ["objects", "mixture", "cluster 1", "cluster 2"]


class ExponentialParams(NamedTuple):
    proportions: np.ndarray
    means: np.ndarray  # (b, k, d)


class Exponential(MixtureFamily):
    """Columns are exponential, independent given the component: only positive numbers are read."""

    def __init__(self, X):
        self.d = X.shape[1]

    def features(self, X):
        assert (X > 0.0).all()
        return np.hstack([np.ones((len(X), 1)), X])

    def log_joint(self, features, params):
        logs = self.log_shares(params.proportions) - np.log(params.means).sum(axis=-1)
        natural = np.concatenate([logs[..., None], -1.0 / params.means], axis=-1)
        return natural @ features.mT

    def m_step(self, statistics, structure, previous):
        sizes, sums = statistics[..., :1], statistics[..., 1:]
        present = sizes > 0.0
        means = np.where(present, sums, 1.0) / np.where(present, sizes, 1.0)
        return ExponentialParams(self.shares(sizes[..., 0]), means)

    def n_free(self, c):
        return c - 1 + c * self.d


@pytest.fixture(scope="module")
def waits():
    rng = np.random.default_rng(0)
    return np.vstack([rng.exponential(1.0, (60, 3)), rng.exponential(30.0, (40, 3))])


def test_a_family_of_ones_own_is_drawn_among_the_objects(waits):
    one = waits[:, :1]
    fit = fit_mixture(one, 2, Exponential)
    x, y = plot.density(fit, one).lines[0].get_data()
    np.testing.assert_allclose(y, np.exp(fit.log_density(x[:, None])))
    assert (x[0], x[-1]) == (one.min(), one.max())
    two = waits[:, :2]
    fit = fit_mixture(two, 2, Exponential)
    ax = plot.density(fit, two, features=[1, 0])
    assert ax.get_legend().get_title().get_text() == "of the objects\nwithin the contour:"
    shares = [np.mean(np.exp(fit.log_density(two)) >= each) for each in ax.collections[-1].levels]
    np.testing.assert_allclose(shares, [0.9, 0.75, 0.5, 0.25, 0.1], atol=1.5 / 100)
    assert len(plot.classification(fit, two).patches) == 4


def test_a_family_that_cannot_be_projected_is_drawn_in_two_columns_only(waits):
    with pytest.raises(ValueError, match=r"must be of at most 2 columns.*a method `projectable`"):
        plot.density(fit_mixture(waits, 2, Exponential), waits)


@pytest.mark.parametrize("draw", [plot.classification, plot.density])
def test_categories_have_no_place_in_a_plane(draw):
    answers = make_survey(60, random_state=0).X
    fit = fit_mixture(answers, 2, "latent-class")
    with pytest.raises(ValueError, match="must be a mixture of continuous laws"):
        draw(fit, answers)


@pytest.mark.parametrize("draw", [plot.classification, plot.uncertainty, plot.density])
def test_scatter_matrix_has_each_pair_of_features_once(iris_fit, draw):
    axes = plot.scatter_matrix(draw, iris_fit, IRIS.X, features=[0, 2, 3])
    assert axes.shape == (2, 2)
    assert axes[0, 1] is None
    assert axes[1, 1].get_xlabel() == "petal_length"
    assert axes[1, 0].get_ylabel() == "petal_width"
    assert all(ax.get_legend() is None for ax in axes.flat if ax is not None)
    assert len(axes[0, 0].figure.axes[0].get_legend().get_texts()) >= 3


def test_scatter_matrix_of_two_columns_is_the_one_picture():
    axes = plot.scatter_matrix(plot.partition, ROUGH, PLACES)
    assert axes.shape == (1, 1)
    assert axes[0, 0].figure.axes == [axes[0, 0]]
    assert axes[0, 0].axison
    assert legend(axes[0, 0]) == legend(plot.partition(ROUGH, PLACES))


def test_scatter_matrix_says_which_notes_are_of_some_panels():
    X = np.random.default_rng(0).standard_normal((60, 3))
    X[0, 2] = 60.0  # in two of three panels
    axes = plot.scatter_matrix(plot.partition, EvidentialPartition.from_hard([0] * 60), X)
    told = axes[0, 0].figure.axes[0].get_title("right")
    assert told == "2 of 3 panels: hulls leave out some objects far from their cluster"


def test_scatter_matrix_divides_a_given_axes():
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    axes = plot.scatter_matrix(
        plot.partition,
        EvidentialPartition.from_hard((IRIS.y == "setosa").astype(int)),
        IRIS.X,
        ax=right,
    )
    assert {ax.figure for ax in axes.flat if ax is not None} == {figure}
    figure.canvas.draw()
    assert all(
        ax.get_position().x0 > left.get_position().x1 - 1e-9 for ax in axes.flat if ax is not None
    )
    other = plt.figure().add_axes((0.5, 0.5, 0.4, 0.4))
    assert plot.scatter_matrix(plot.partition, ROUGH, PLACES, ax=other).shape == (1, 1)


def test_pair_histogram_marks_interval_belief_and_truth(fitted):
    _, replicates, intervals, partition = fitted
    pair, row = (40, 7), condensed_row(7, 40, 60)
    truth = SAMPLE.pairwise[row]
    ax = plot.pair_histogram(
        replicates, SAMPLE.X, pair, intervals=intervals, partition=partition, truth=truth
    )
    belief, plausibility = partition.pairwise()
    marked = [line.get_xdata()[0] for line in ax.lines]
    expected = [intervals.lower[row], intervals.upper[row], belief[pair], plausibility[pair], truth]
    np.testing.assert_allclose(marked, expected, atol=1e-12)
    assert sum(patch.get_height() for patch in ax.patches) == 40
    assert legend(ax) == [
        *("90 % confidence interval", "[Bel, Pl], its approximation", "true probability")
    ]
    assert ax.get_title() == "objects 7 and 40"


def test_a_pair_that_is_sure_has_an_axis_of_probabilities_not_of_rounding_errors():
    posteriors = np.array([[[1.0, 0.0], [1.0 - 1e-13 * b, 1e-13 * b]] for b in range(40)])
    replicates = SimpleNamespace(posteriors=lambda X: posteriors)
    ax = plot.pair_histogram(replicates, np.zeros((2, 1)), (0, 1))
    edges = [edge for bar in ax.patches for edge in (bar.get_x(), bar.get_x() + bar.get_width())]
    assert (min(edges), max(edges)) == (pytest.approx(0.8), pytest.approx(1.0))
    assert sum(bar.get_height() for bar in ax.patches) == 40


def test_pair_histogram_of_categories():
    answers = make_survey(80, random_state=0).X
    replicates = bootstrap(answers, fit_mixture(answers, 2, "latent-class"), 20, random_state=0)
    ax = plot.pair_histogram(replicates, answers, (0, 1))
    posteriors = replicates.posteriors(answers.iloc[:2])
    same = (posteriors[:, 0] * posteriors[:, 1]).sum(axis=1)
    edges = [bar.get_x() for bar in ax.patches] + [
        ax.patches[-1].get_x() + ax.patches[-1].get_width()
    ]
    assert edges[-1] - edges[0] == pytest.approx(0.2)  # replicates lie nearer to each other
    assert np.ptp(same) < 0.2
    expected, _ = np.histogram(same, bins=40, range=(edges[0], edges[-1]))
    assert [patch.get_height() for patch in ax.patches] == expected.tolist()


@pytest.mark.parametrize("n", [2, 5])
def test_condensed_row_is_that_of_squareform(n):
    square = squareform(np.arange(n * (n - 1) // 2) + 1)
    for i in range(n):
        for j in range(i + 1, n):
            assert square[i, j] == condensed_row(i, j, n) + 1


def test_approximation_draws_all_pairs(fitted):
    _, _, intervals, partition = fitted
    belief, plausibility = partition.pairwise_condensed()
    for bound, x, y in [
        ("lower", intervals.lower, belief),
        ("upper", intervals.upper, plausibility),
    ]:
        ax = plot.approximation(partition, intervals, bound)
        np.testing.assert_array_equal(ax.lines[1].get_xydata(), np.column_stack([x, y]))
        assert "90 %" in ax.get_xlabel()
        rmse = np.sqrt(np.mean((x - y) ** 2))
        assert ax.get_title("right") == f"RMSE of this bound: {rmse:.3f}"


def test_calibration_counts_the_pairs_on_the_right_side(fitted):
    partition, truth = fitted[3], SAMPLE.pairwise
    belief, plausibility = partition.pairwise_condensed()
    lower = plot.calibration(partition, squareform(truth))
    upper = plot.calibration(partition, truth, "upper")
    assert f"{100 * np.mean(belief <= truth + 1e-9):.1f} %" in lower.get_title("right")
    assert f"{100 * np.mean(plausibility >= truth - 1e-9):.1f} %" in upper.get_title("right")


def test_many_pairs_are_drawn_as_a_density_of_all():
    n = 100
    intervals = PairwiseIntervals(np.zeros(n * (n - 1) // 2), np.ones(n * (n - 1) // 2), level=0.9)
    partition = EvidentialPartition.from_hard(np.arange(n) % 2)
    ax = plot.approximation(partition, intervals)
    assert ax.collections[0].get_array().sum() == n * (n - 1) // 2


@pytest.mark.parametrize("mass", ["same", "apart", "unknown", "plausibility"])
def test_relational_shows_the_matrix(mass):
    masses = ROUGH.relational()._asdict()
    masses["plausibility"] = masses["same"] + masses["unknown"]
    ax = plot.relational(ROUGH, mass)
    np.testing.assert_array_equal(ax.images[0].get_array(), masses[mass])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list("tuvwxyz")


def test_relational_sorts_many_objects_by_cluster(fitted):
    partition = fitted[3]
    order = np.argsort(partition.labels, kind="stable")
    shown = plot.relational(partition, "same").images[0].get_array()
    np.testing.assert_allclose(shown, partition.pairwise()[0][np.ix_(order, order)], atol=1e-12)


@pytest.mark.parametrize("threshold", [0.9, 0.6])
def test_the_map_of_doubt_has_every_object_at_its_parts(threshold):
    masses = [[0.95, 0.05, 0, 0], [0.5, 0.4, 0.1, 0], [0.2, 0.1, 0.6, 0.1], [0, 0, 0, 1]]
    partition = EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1], [0, 0]])
    ax = plot.doubt(partition, threshold=threshold)
    drawn = np.vstack([np.asarray(dot.get_offsets()) for dot in ax.collections])
    expected = partition.doubt()[["overlap", "undecided"]].to_numpy()[:3]
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, expected.tolist()))
    # The last object would lie in the corner of the sure ones.
    assert ax.get_title("right") == "without the 1 outlying object"
    assert legend(ax) == ["cluster 1", "cluster 2"]
    assert "sure" in [text.get_text() for text in ax.texts]
    counts = partition.doubt_counts(threshold)
    told = ax.texts[-1].get_text().splitlines()
    assert told == [f"{word}: {count} ({count / 4:.1%})" for word, count in counts.items()]
    assert ax.lines[1].get_xdata()[1] == pytest.approx(1.0 - threshold)


def test_the_map_of_doubt_with_many_objects_and_clusters_says_what_it_leaves_out():
    rng = np.random.default_rng(0)
    few = plot.doubt(EvidentialPartition.from_fuzzy(rng.dirichlet(np.ones(20), size=300)))
    assert few.get_title(loc="right") == "the 20 clusters are too many to have colours"
    assert few.get_legend() is None
    dots = few.collections[0]  # no cluster's colour
    faces = dots.get_facecolor()[:, :3]
    np.testing.assert_allclose(faces, [to_rgb(GREY)] * len(dots.get_offsets()))
    # Of many, cells hold all of them.
    many = EvidentialPartition.from_fuzzy(rng.dirichlet(np.ones(3), size=21_000))
    ax = plot.doubt(many)
    counts = ax.collections[0].get_array()
    assert counts.sum() == 21_000
    overlap = many.doubt()["overlap"].to_numpy()
    expected, _ = np.histogram(overlap, bins=40, range=(0.0, 1.0))
    np.testing.assert_array_equal(counts.filled(0).reshape(40, 40)[0], expected)
    assert ax.get_title(loc="right") == "cells, as more than 500 objects would hide each other"
    with pytest.raises(ValueError, match="`threshold` must be a number above 0"):
        plot.doubt(ROUGH, threshold=0)


def test_memberships_stack_the_masses_least_sure_first(fitted):
    partition = fitted[3]
    ax = plot.memberships(partition, most=10)
    rows = [int(tick.get_text()) for tick in ax.get_xticklabels()]
    belief = partition.doubt()["belief"].to_numpy()
    np.testing.assert_allclose(belief[rows], np.sort(belief)[:10])
    np.testing.assert_allclose(ax.patches[-1].get_data().values, 1.0)
    heights = {p.get_label(): p.get_data().values - p.get_data().baseline for p in ax.patches}
    np.testing.assert_allclose(heights["{1}"], partition.masses[rows, 0])
    counts = partition.doubt_counts()
    words = [f"{k} {word}" for word, k in counts.items() if k and word != "sure"]
    told = f"{60 - counts['sure']} not sure: {', '.join(words)}"
    assert ax.get_title("right").split("\n") == ["10 of 60 objects", told]
    sure = plot.memberships(EvidentialPartition.from_hard([0, 1]))
    assert sure.get_title("right") == "all 2 objects"


def test_every_bar_of_very_many_objects_is_one_object():
    # Neighbours in the order are of different clusters: a mean of them is the mass of no object.
    partition = EvidentialPartition.from_hard(np.arange(6000) % 5)
    ax = plot.memberships(partition, order="index", most=None)
    bars = np.array([p.get_data().values - p.get_data().baseline for p in ax.patches]).T
    edges = ax.patches[0].get_data().edges
    assert bars.shape == (600, 5)
    assert (edges[0], edges[-1]) == (-0.5, 5999.5)
    ranks = np.linspace(0, 5999, 600).round().astype(int)
    np.testing.assert_allclose(bars, partition.masses[ranks], atol=1e-12)
    # Each bar stands at the rank of its object.
    assert (edges[:-1] <= ranks).all()
    assert (ranks <= edges[1:]).all()
    told = "600 of 6,000 objects, evenly spaced in this order"
    assert ax.get_title("right") == told
    some = plot.memberships(partition, most=700).get_title("right")
    assert some == "600 of the first 700 of 6,000 objects, evenly spaced in this order"


def test_single_clusters_and_sets_of_several_without_a_filling_stay_apart():
    sets = focal_sets(20, "pairs", empty=True)
    masses = np.random.default_rng(0).dirichlet(np.ones(len(sets)), size=40)
    partition = EvidentialPartition(masses, sets)
    ax = plot.memberships(partition, order="index")
    layers = {p.get_label(): p.get_data().values - p.get_data().baseline for p in ax.patches}
    np.testing.assert_allclose(sum(layers.values()), 1.0)
    rest = np.argsort(-masses.sum(axis=0))[12:]
    sizes = sets.sum(axis=1)[rest]
    single, several = rest[sizes == 1], rest[sizes > 1]
    assert len(single)
    told = f"{len(single)} other single clusters", f"{len(several)} other sets of several"
    for name, members in zip(told, (single, several), strict=True):
        np.testing.assert_allclose(layers[name], masses[:, members].sum(axis=1))
    styles = {p.get_label(): (p.get_facecolor(), p.get_hatch()) for p in ax.patches}
    assert len({styles[name] for name in told}) == 2
    assert len(layers) == 14 + (sizes == 0).any()
    # A light empty set is neither of them.
    for share, last in (
        (0.02, "∅ (no cluster)"),
        (0.001, "8 other single clusters"),
    ):  # too light to be seen
        light = np.column_stack([np.full(40, share), (1 - share) * np.eye(20)[np.arange(40) % 20]])
        ax = plot.memberships(EvidentialPartition(light, sets[:21]))
        assert legend(ax)[-1] == last
        np.testing.assert_allclose(ax.patches[-1].get_data().values, 1.0)


def test_selection_draws_the_table_and_names_every_line():
    selection = select_mixture(IRIS.X, range(1, 4), ["EII", "VEV", "VVV"])
    ax = plot.selection(selection)
    for line, (model, values) in zip(ax.lines[:3], selection.table.items(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
        assert line.get_label() == model
    assert [text.get_text() for text in ax.texts] == ["EII", "VEV", "VVV"]
    best = selection.best
    assert ax.lines[3].get_xydata().tolist() == [[best.n_clusters, best.bic]]
    assert plot.selection(selection, "aic").get_ylabel() == "AIC (larger is better)"
    (c, model), (next_c, next_model) = selection.table.stack().nlargest(2).index
    first, second = selection.table.stack().nlargest(2)
    assert ax.get_title("left") == (
        f"highest BIC: {model} with {c} clusters;\nnext {next_model} with {next_c}, "
        f"{first - second:.1f} lower"
    )
    alone = plot.selection(select_mixture(IRIS.X * 1e40, 1, "EII"))
    alone.figure.canvas.draw()
    assert alone.xaxis.get_offset_text().get_text() == ""  # values stand as they are
    alone = plot.selection(select_mixture(IRIS.X, 1, "EII"))
    assert alone.get_title("left") == "only fit: EII with 1 cluster"
    (tick,) = alone.get_xticklabels()  # its value, and no scale around it
    assert tick.get_text() == f"{alone.lines[0].get_xdata()[0]:,.1f}"


def test_poor_models_do_not_squash_the_others():
    selection = select_mixture(IRIS.X * [1, 1, 1, 1000], [2, 3], ["EII", "VEV", "VVV", "EEE"])
    ax = plot.selection(selection)
    low, high = ax.get_ylim()
    shown = selection.table.drop(columns="EII").to_numpy()
    assert low < shown.min() < shown.max() < high
    assert selection.table["EII"].max() < low
    assert high - low < 1.2 * np.ptp(shown)  # no part of the axis is empty
    assert ax.get_title("right") == "1 model below the picture, in grey"
    # One number of clusters: names are ticks, the best above, and the poor one says its value.
    ax = plot.selection(select_mixture(IRIS.X * [1, 1, 1, 1000], 3, ["EII", "VEV", "VVV", "EEE"]))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["EII", "EEE", "VVV", "VEV"]
    assert ax.texts[0].get_text().endswith("further to the left")
    assert ax.get_xlim()[0] > selection.table["EII"].max()


def test_lines_that_leave_the_picture_are_told():
    selection = selection_of({"EII": [-9000, -100], "VEV": [-120, -90], "VVV": [-110, -95]})
    ax = plot.selection(selection)
    assert -9000.0 < ax.get_ylim()[0] < -120.0
    assert ax.get_title("right") == "lower values of 1 model not drawn"


def test_one_outlier_does_not_decide_a_hull():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 2)) + 8.0 * labels[:, None]
    X[0] = [60.0, 60.0]
    ax = plot.partition(EvidentialPartition.from_hard(labels), X)
    for k, line in enumerate(lines(ax, "-")):
        members = X[1:][labels[1:] == k]
        inside = ConvexHull(members).vertices
        assert polygon(line) == polygon(members[inside])
    places, _ = drawn(ax)
    assert [60.0, 60.0] in places.tolist()  # the object itself is drawn
    assert ax.get_title("right") == "hulls leave out 1 object far from their cluster"


def test_what_the_lower_hull_holds_the_upper_one_holds_too():
    # Far from most members of the upper approximation, but not from those of the lower one.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 2)), rng.standard_normal((300, 2)) / 20.0 + 9.0])
    rough = EvidentialPartition.from_rough([[1, 0]] * 40 + [[1, 1]] * 300)
    ax = plot.partition(rough, X)
    (lower, *_), (upper, *_) = lines(ax, "-"), lines(ax, "--")
    around = np.vstack([upper, lower])
    assert polygon(around[ConvexHull(around).vertices]) == polygon(upper)


def test_what_the_lower_hull_leaves_out_does_not_widen_the_upper_one():
    # The far objects are sure, and the objects in doubt spread so wide that they are not far.
    rng = np.random.default_rng(0)
    near, far = rng.standard_normal((40, 2)), [[14.0, 0.0]]
    doubtful = rng.uniform(-9.0, 9.0, (300, 2))
    rough = EvidentialPartition.from_rough([[1, 0]] * 41 + [[1, 1]] * 300)
    X = np.vstack([near, far, doubtful])
    ax = plot.partition(rough, X)
    assert "hulls leave out 1 object far from their cluster" in ax.get_title("right")
    for line in (lines(ax, "-")[0], lines(ax, "--")[0]):
        assert (14.0, 0.0) not in polygon(line)
    # One that is in doubt does widen it.
    in_doubt = EvidentialPartition.from_rough([[1, 0]] * 40 + [[1, 1]] * 301)
    assert (14.0, 0.0) in polygon(lines(plot.partition(in_doubt, X), "--")[0])


def test_keys_of_a_matrix_of_pairs_differ_in_grey():
    masses = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    every = EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1], [0, 0]])
    keys = plot.relational(every).get_legend().get_patches()
    grey = np.array([np.dot(key.get_facecolor()[:3], [0.299, 0.587, 0.114]) for key in keys])
    assert len(grey) == 7
    assert np.diff(np.sort(grey[:4])).min() > 0.09  # those that are no mixtures


def test_names_of_columns_that_begin_alike_stay_apart(calibrated):
    names = [f"gene expression level of marker {k} (log2)" for k in (1, 15, 16)]
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), columns=names)
    X += 5.0 * (np.arange(60) % 2)[:, None]
    hard = EvidentialPartition.from_hard(np.arange(60) % 2)
    axes = plot.scatter_matrix(plot.partition, hard, X)
    shown = {axes[1, 0].get_xlabel(), axes[1, 1].get_xlabel(), axes[1, 0].get_ylabel()}
    assert len(shown) == 3
    assert all(name.endswith("(log2)") for name in shown)
    model = CalibratedClustering(2, model="VVI", n_replicates=20, random_state=0).fit(X)
    ticks = [tick.get_text() for tick in plot.profile(model).get_yticklabels()]
    assert len(set(ticks)) == 3
    # The names differ neither at the beginning nor at the end.
    inner = [
        f"the weight of the {side} lung of this patient in grams" for side in ("left", "right")
    ]
    assert len(set(shortened(inner))) == 2
    assert max(map(len, shortened(inner))) == LONGEST


def test_relational_tells_unknown_from_apart():
    rough = EvidentialPartition.from_rough([[1, 0], [0, 1], [1, 1]])
    ax = plot.relational(rough)
    image = ax.images[0].get_array()
    same, apart, unknown = image[0, 0], image[0, 1], image[0, 2]
    assert len({tuple(np.round(colour, 3)) for colour in (same, apart, unknown)}) == 3
    assert legend(ax) == [
        *("same cluster", "different clusters", "unknown", "half same, half different"),
        *("half same, half unknown", "half different, half unknown"),
    ]
    assert ax.images[0].get_interpolation() == "antialiased"  # else rows are dropped
    half = EvidentialPartition([[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]])
    ax_of_half = plot.relational(half)
    key = ax_of_half.get_legend().get_patches()[3]
    np.testing.assert_allclose(key.get_facecolor()[:3], ax_of_half.images[0].get_array()[0, 1])
    # An outlier is none of them, and the legend says so.
    with_outlier = EvidentialPartition([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0], [0, 1], [0, 0]])
    ax = plot.relational(with_outlier)
    assert legend(ax)[3] == "no cluster: an outlier"
    empty = ax.images[0].get_array()[0, 2]
    assert np.abs(np.array([same, apart, unknown]) - empty).max(axis=1).min() > 0.3


def test_scatter_matrix_of_many_columns_takes_those_that_separate():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    X = rng.standard_normal((80, 13))
    useful = [1, 3, 4, 7, 9, 12]
    X[:, useful] += 6.0 * labels[:, None]
    axes = plot.scatter_matrix(plot.partition, EvidentialPartition.from_hard(labels), X)
    assert axes.shape == (5, 5)
    assert [ax.get_xlabel() for ax in axes[-1]] == [f"feature {j}" for j in useful[:-1]]
    assert "6 of 13 columns" in axes[0, 0].figure.axes[0].get_title("right")


def test_one_column_has_a_band_for_each_cluster():
    ax = plot.one_column(ROUGH, PLACES[:, :1])
    order = np.argsort(PLACES[:, 0], kind="stable")
    for k in range(2):
        belief, plausibility = (line.get_ydata() for line in ax.lines[2 * k : 2 * k + 2])
        np.testing.assert_array_equal(belief, ROUGH.belief()[order, k])
        np.testing.assert_array_equal(plausibility, ROUGH.plausibility()[order, k])
    assert legend(ax) == ["cluster a", "cluster b", "belief to plausibility", "not sure"]
    rings = ax.collections[-1]
    np.testing.assert_array_equal(rings.get_offsets()[:, 0], PLACES[[6], 0])
    assert ax.get_title("right") == "1 of 7 objects is not sure (belief below 0.9)"
    with_outlier = EvidentialPartition([[1, 0], [0, 1]], [[1], [0]])
    ax = plot.one_column(with_outlier, [[0.0], [5.0]])
    assert legend(ax) == ["cluster 1", "belief to plausibility", "not sure", "outlier"]
    np.testing.assert_allclose(ax.collections[-2].get_offsets()[:, 0], [5.0])
    with pytest.raises(ValueError, match="`feature` must be one column, by name or number, of"):
        plot.one_column(ROUGH, PLACES)


def test_one_of_several_columns_has_a_line_for_each_object_and_cluster():
    ax = plot.one_column(ROUGH, PLACES, feature=0)
    order = np.argsort(PLACES[:, 0], kind="stable")
    for k, drawn_lines in enumerate(ax.collections[:4:2]):  # between them are marks
        is_drawn = ROUGH.plausibility()[order, k] > 0.0
        ends = np.array([path.vertices for path in drawn_lines.get_paths()])
        np.testing.assert_array_equal(ends[:, 0, 0], PLACES[order, 0][is_drawn])
        for side, degrees in enumerate((ROUGH.belief(), ROUGH.plausibility())):
            # A line of no length is drawn as a dot.
            np.testing.assert_allclose(ends[:, side, 1], degrees[order, k][is_drawn], atol=0.0041)
        assert (ends[:, 1, 1] > ends[:, 0, 1]).all()


def test_many_objects_without_names_have_their_ranks_below():
    rough = EvidentialPartition.from_rough([[1, 0]] * 70 + [[1, 1]] * 10)
    named, ranked = plot.memberships(rough, most=5), plot.memberships(rough, most=None)
    assert named.get_xlabel().startswith("object, the least sure")
    assert ranked.get_xlabel() == "rank of the object, the least sure first"
    assert plot.memberships(rough, most=None, order="index").get_xlabel() == "object"


def test_profile_shows_the_largest_cluster_and_the_best_column_first(calibrated):
    ax = plot.profile(calibrated)
    frame = calibrated.profile()
    ranked = frame.columns.get_level_values(0).drop("cluster").unique()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ranked.tolist()
    shown = np.array([frame[name]["difference"] for name in ranked])
    np.testing.assert_allclose(ax.images[0].get_array(), shown)
    heads = [tick.get_text().split("\n") for tick in ax.get_xticklabels()]
    assert heads == [[str(k), str(n)] for k, n in frame["cluster"]["objects"].items()]
    assert len(ax.texts) == shown.size
    told = "in the cells: mean; ▲ ▼: 0.5 or more above or below all objects"
    assert ax.get_xlabel().endswith(told)
    marks = np.array([text.get_text()[-1] for text in ax.texts]).reshape(shown.shape)
    assert (shown >= 0.5).any()
    np.testing.assert_array_equal(marks == "▲", shown >= 0.5)
    np.testing.assert_array_equal(marks == "▼", shown <= -0.5)
    one = plot.profile(calibrated, most=1)
    assert one.get_title("right").startswith("1 column")
    label = one.figure.axes[-1].yaxis.label
    one.figure.draw_without_rendering()
    assert label.get_window_extent().y0 >= 0.0  # it is not cut off
    assert label.get_window_extent().y1 <= one.figure.bbox.y1


@pytest.mark.parametrize("c", [12, 20])
def test_colours_and_symbols_of_many_clusters_part(c):
    palette = colours(c)
    gaps = np.linalg.norm(palette[:, None] - palette, axis=-1) + 9.0 * np.eye(c)
    assert gaps.min() > 0.1
    marks = symbols(np.arange(c))
    alike = gaps < 0.3
    assert not (alike & (marks[:, None] == marks)).any()


@settings(deadline=None, max_examples=50)
@given(arrays(float, st.integers(1, 14), elements=st.floats(0, 1)))
def test_spread_keeps_order_and_gap(heights):
    moved = spread(heights, 0.05)
    order = np.argsort(heights, kind="stable")
    assert (np.diff(moved[order]) >= 0.05 - 1e-9).all()
    assert moved.min() >= -1e-9
    assert moved.max() <= 1.0 + 1e-9


@pytest.mark.parametrize("c", [3, 7, 20, 60])
def test_colours_differ_and_are_seen_on_white(c):
    palette, marks = colours(c), symbols(np.arange(c))
    assert len(np.unique(palette.round(6), axis=0)) == min(c, 20)
    assert len(np.unique(np.column_stack([palette.round(6), marks]), axis=0)) == c
    assert (palette @ [0.2126, 0.7152, 0.0722] < 0.75).all()


def test_many_objects_and_clusters_stay_legible():
    rng = np.random.default_rng(0)
    labels = rng.integers(100, size=25_000)
    X = rng.uniform(0, 50, (100, 2))[labels] + rng.standard_normal((25_000, 2))
    ax = plot.partition(EvidentialPartition.from_hard(labels), X)
    assert sum(len(c.get_offsets()) for c in ax.collections) == MOST_MARKERS
    assert "20,000 of 25,000 objects drawn, at random" in ax.get_title("right").split("\n")
    assert len(ax.texts) == 100  # clusters are named where they are
    assert len(lines(ax, "-")) == 100
    assert all(c.get_rasterized() for c in ax.collections if len(c.get_offsets()) > 2000)
    corners = {tuple(corner) for line in lines(ax, "-") for corner in line}
    assert corners <= {tuple(row) for row in X}  # of all objects, drawn or not
    shown = {tuple(place) for c in ax.collections for place in c.get_offsets()}
    assert not corners <= shown


def test_dots_are_drawn_in_random_order_with_the_names_of_clusters():
    labels = np.repeat([0, 1], 3_000)
    X = np.random.default_rng(0).standard_normal((6_000, 2))
    ax = plot.partition(EvidentialPartition.from_hard(labels), X)
    dots = ax.collections[0]
    assert len(ax.collections) == 1  # one symbol: a second one would lie on top of the first
    faces = dots.get_facecolor()[:, :3]
    first = np.isclose(faces, colours(2)[0]).all(axis=1)
    assert 0.4 < first[:3_000].mean() < 0.6
    assert {text.get_text() for text in ax.texts} == {"1", "2"}
    assert legend(ax)[:2] == ["cluster 1", "cluster 2"]


def test_certain_objects_are_pale(fitted):
    fit = fitted[0]
    ax = plot.uncertainty(fit, SAMPLE.X)
    doubt = 1.0 - fit.posteriors(SAMPLE.X).max(axis=1)
    places = np.vstack([c.get_offsets() for c in ax.collections])
    faces = np.vstack([c.get_facecolor()[:, :3] for c in ax.collections])
    back = [int(np.flatnonzero((place == SAMPLE.X).all(axis=1))[0]) for place in places]
    full = colours(3)[fit.predict(SAMPLE.X)][back]
    depth = ((1 - faces) / (1 - full)).mean(axis=1)
    np.testing.assert_allclose(depth, 0.45 + 0.55 * np.sqrt(doubt[back] / doubt.max()))


def test_sets_of_many_clusters_have_different_fillings():
    for focal in (focal_sets(20, "pairs")[20:32], np.eye(25, dtype=bool)):
        styles = [(tuple(style["facecolor"]), style["hatch"]) for style in set_styles(focal)]
        assert len(set(styles)) == len(focal)
    # A cluster alone has the colour that it has in every other picture.
    faces = np.array([style["facecolor"] for style in set_styles(np.eye(12, dtype=bool))])
    np.testing.assert_array_equal(faces, colours(12))


def test_text_of_a_density_of_pairs_lies_within_the_figure():
    n = 250
    intervals = PairwiseIntervals(np.zeros(n * (n - 1) // 2), np.ones(n * (n - 1) // 2), level=0.9)
    ax = plot.approximation(EvidentialPartition.from_hard(np.arange(n) % 2), intervals)
    ax.figure.draw_without_rendering()
    (beside,) = ax.child_axes
    for text in (ax.yaxis.label, beside.yaxis.label, ax.xaxis.label):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.x1
    assert beside.get_window_extent().height == pytest.approx(ax.get_window_extent().height)


@pytest.fixture(scope="module")
def calibrated():
    model = CalibratedClustering([2, 3], model="EII", n_replicates=20, random_state=0)
    return model.fit(SAMPLE.X)


@pytest.mark.parametrize(
    ("display", "arguments", "draw"),
    [
        (plot.PartitionDisplay, (SAMPLE.X,), lambda m: plot.partition(m.partition_, SAMPLE.X)),
        (plot.MembershipsDisplay, (), lambda m: plot.memberships(m.partition_)),
        (plot.SelectionDisplay, (), lambda m: plot.selection(m.selection_)),
        (plot.ApproximationDisplay, (), lambda m: plot.approximation(m.partition_, m.intervals_)),
    ],
)
def test_displays_draw_what_the_functions_draw(calibrated, display, arguments, draw):
    shown, expected = display.from_estimator(calibrated, *arguments), draw(calibrated)
    assert shown.ax_.get_title("right") == expected.get_title("right")
    for ours, theirs in zip(shown.ax_.lines, expected.lines, strict=True):
        np.testing.assert_array_equal(ours.get_xydata(), theirs.get_xydata())
    _, ax = plt.subplots()
    assert shown.plot(ax=ax) is shown
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    with pytest.raises(NotFittedError):
        display.from_estimator(CalibratedClustering(), *arguments)


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot.partition(ROUGH, PLACES, ax=ax),
        lambda ax: plot.relational(ROUGH, ax=ax),
        lambda ax: plot.memberships(ROUGH, ax=ax),
        lambda ax: plot.calibration(ROUGH, np.full(21, 0.5), ax=ax),
    ],
)
def test_functions_draw_on_a_given_axes_and_return_it(draw):
    figure, ax = plt.subplots()
    assert draw(ax) is ax
    assert plt.get_fignums() == [figure.number]
    assert isinstance(ax, Axes)
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_cluster_colours_are_those_of_okabe_and_ito():
    np.testing.assert_allclose(colours(2), [to_rgb("#0072B2"), to_rgb("#D55E00")])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.partition(ROUGH, PLACES[:3]), "`X` must have a row for each of the 7 obj"),
        (lambda: plot.partition(ROUGH, PLACES[:, :1]), "`X` must have at least 2 columns to be"),
        (lambda: plot.partition(ROUGH, PLACES, features=[0, 2]), "`features` must be 2 distinct"),
        (lambda: plot.partition(ROUGH, PLACES, classes=[1]), r"`classes` must have shape \(7,\)"),
        (lambda: plot.partition(ROUGH, PLACES, annotate=[7]), "`annotate` must hold rows in 0..6"),
        (lambda: plot.relational(ROUGH, "none"), "`mass` must be one of 'same'"),
        (lambda: plot.memberships(ROUGH, order="x"), "`order` must be one of 'ambiguity'"),
        (lambda: plot.calibration(ROUGH, [0.5]), r"`truth` must have shape \(21,\) or \(7, 7\)"),
        (
            lambda: plot.approximation(ROUGH, PairwiseIntervals([0.0], [1.0], level=0.9)),
            "`intervals` must be of the partition's 7 objects, got 2",
        ),
        (
            lambda: plot.scatter_matrix(plot.partition, ROUGH, PLACES, features=[0]),
            "`features` must be at least 2 distinct columns",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pair_must_be_two_objects(fitted):
    with pytest.raises(ValueError, match=r"`pair` must be two rows in 0..59, got \(3, 3\)"):
        plot.pair_histogram(fitted[1], SAMPLE.X, (3, 3))


# --- names that a user chose

DOLLARS = ["price in $", "$\\frac{$", r"a\$b", "$x$ and $y$", "100 % _of_ {$}^"]


def as_svg(axes):
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        axes.figure.savefig(stream, format="svg")
    return html.unescape(stream.getvalue())


def test_dollar_signs_in_names_are_shown_as_they_are():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=DOLLARS[:2])
    labels = np.arange(30) % 2
    index = [f"{name} {i}" for i, name in enumerate(DOLLARS * 6)]
    partition = EvidentialPartition.from_hard(labels, index=index)
    named = EvidentialPartition.from_hard(labels, cluster_names=DOLLARS[2:4], index=index)
    classes = np.array(DOLLARS)[np.arange(30) % 5]
    drawn = {
        "axes": (plot.partition(partition, X, classes=classes, annotate=[0, 3]), DOLLARS),
        "clusters": (plot.partition(named, X), DOLLARS[2:4]),
        "objects": (plot.memberships(named), index),
        "matrix": (plot.relational(partition), index),
        "density": (plot.density(fit_mixture(X, 1), X), DOLLARS[:2]),
        "curve": (plot.density(fit_mixture(X[[DOLLARS[0]]], 1, "V"), X[[DOLLARS[0]]]), DOLLARS[:1]),
    }
    for axes, names in drawn.values():
        shown = as_svg(axes)
        for name in names:
            assert name in shown
