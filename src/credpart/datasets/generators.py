"""Samples of the paper's mixtures, with their true posteriors and pairwise probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import softmax

from credpart._arrays import Array, IntArray
from credpart._checks import check_integer
from credpart._random import random_generator
from credpart.intervals import pairwise_probabilities

RandomState = int | np.random.Generator | None


class GaussianTruth(NamedTuple):
    """The parameters of a Gaussian mixture.

    Examples
    --------
    >>> from credpart.datasets import make_mixture1
    >>> make_mixture1(random_state=0).truth.proportions.round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    proportions: Array  # (c,)
    means: Array  # (c, d)
    covariances: Array  # (c, d, d)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """Independent draws from a mixture, and what is true of them.

    Attributes
    ----------
    X : array or DataFrame of shape (n, d)
        The draws.
    y : array of shape (n,)
        The component that each came from, counted from 0.
    posteriors : array of shape (n, c)
        True probabilities of the components given ``X``.
    truth : GaussianTruth, SkewTruth or SurveyTruth
        The parameters of the mixture.

    Examples
    --------
    >>> from credpart.datasets import make_mixture1
    >>> sample = make_mixture1(5, random_state=0)
    >>> sample.X.shape, sample.y.tolist(), sample.posteriors.shape
    ((5, 2), [1, 0, 0, 0, 2], (5, 3))
    """

    X: Any
    y: IntArray
    posteriors: Array
    truth: Any

    def __post_init__(self) -> None:
        for array in (self.X, self.y, self.posteriors):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def __repr__(self) -> str:
        (n, d), c = self.X.shape, self.posteriors.shape[1]
        return f"Sample({n} objects x {d}, {c} components)"

    @property
    def pairwise(self) -> Array:
        """True ``P_ij`` of Eq. (4) for each pair i < j, condensed."""
        return pairwise_probabilities(self.posteriors)


def _truth(means: list[list[float]], *covariances: list[list[float]]) -> GaussianTruth:
    """Equal proportions; one covariance matrix serves all components."""
    c, d = np.shape(means)
    truth = GaussianTruth(
        np.full(c, 1.0 / c),
        np.array(means),
        np.broadcast_to(np.array(covariances), (c, d, d)).copy(),
    )
    for array in truth:
        array.flags.writeable = False
    return truth


CORNERS = [[0.0, 0.0], [0.0, 3.0], [3.0, 0.0]]
SPHERE = [[1.0, 0.0], [0.0, 1.0]]
ELLIPSE = [[1.0, 0.5], [0.5, 1.0]]

TRUTHS: Mapping[str, GaussianTruth] = {  # Section 3.2, Example 3, and Section 4.1
    "example3": _truth([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.1, 0.0], [0.0, 0.1]]),
    "mixture1": _truth(CORNERS, SPHERE),
    "mixture2": _truth([[0.0, 0.0], [0.0, 2.5], [2.5, 0.0]], ELLIPSE),
    "mixture3": _truth(CORNERS, ELLIPSE, [[1.5, -0.75], [-0.75, 1.5]], SPHERE),
}


def make_example3(n: int = 30, random_state: RandomState = None) -> Sample:
    """Draw from the mixture of the paper's Example 3: three spherical clusters that overlap.

    Parameters
    ----------
    n : int
        Number of draws.  Components are drawn too, so their sizes are random.
    random_state : int, Generator or None
        Seed of `numpy.random.default_rng`.

    Returns
    -------
    Sample

    Examples
    --------
    >>> from credpart.datasets import make_example3
    >>> sample = make_example3(random_state=0)
    >>> sample
    Sample(30 objects x 2, 3 components)
    >>> sample.pairwise.shape
    (435,)
    """
    return _draw("example3", n, random_state)


def make_mixture1(n: int = 300, random_state: RandomState = None) -> Sample:
    """Draw from Mixture 1 of the paper's Section 4.1: spheres of equal volume (EII).

    Parameters and result are those of `make_example3`.

    Examples
    --------
    >>> from credpart.datasets import make_mixture1
    >>> make_mixture1(random_state=0).truth.means.tolist()
    [[0.0, 0.0], [0.0, 3.0], [3.0, 0.0]]
    """
    return _draw("mixture1", n, random_state)


def make_mixture2(n: int = 300, random_state: RandomState = None) -> Sample:
    """Draw from Mixture 2 of the paper's Section 4.1: equal ellipsoids (EEE).

    Parameters and result are those of `make_example3`.

    Examples
    --------
    >>> from credpart.datasets import make_mixture2
    >>> make_mixture2(random_state=0).truth.covariances[0].tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return _draw("mixture2", n, random_state)


def make_mixture3(n: int = 300, random_state: RandomState = None) -> Sample:
    """Draw from Mixture 3 of the paper's Section 4.1: an ellipsoid for each cluster (VVV).

    Parameters and result are those of `make_example3`.

    Examples
    --------
    >>> from credpart.datasets import make_mixture3
    >>> make_mixture3(random_state=0).truth.covariances[1].tolist()
    [[1.5, -0.75], [-0.75, 1.5]]
    """
    return _draw("mixture3", n, random_state)


def _draw(name: str, n: int, random_state: RandomState) -> Sample:
    size, rng = check_integer("n", n, at_least=1), random_generator(random_state)
    truth = TRUTHS[name]
    c, d = truth.means.shape
    y = rng.choice(c, size=size, p=truth.proportions)
    factors = np.linalg.cholesky(truth.covariances)
    X = truth.means[y] + np.einsum("nde,ne->nd", factors[y], rng.standard_normal((size, d)))
    return Sample(X, y, _posteriors(X, truth), truth)


def _posteriors(X: Array, truth: GaussianTruth) -> Array:
    """Bayes' theorem, in the log domain: no draw is so far out that all densities vanish."""
    log_joint = np.empty((len(X), len(truth.proportions)))
    for k, (proportion, mean, covariance) in enumerate(zip(*truth, strict=True)):
        factor = np.linalg.cholesky(covariance)
        residuals = solve_triangular(factor, (X - mean).T, lower=True)
        log_det = np.log(factor.diagonal()).sum()
        log_joint[:, k] = np.log(proportion) - log_det - 0.5 * (residuals**2).sum(axis=0)
    return softmax(log_joint, axis=1)
