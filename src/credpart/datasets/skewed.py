"""The paper's mixture of skew t distributions, with true posteriors."""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import multivariate_t
from scipy.stats import t as student

from credpart._arrays import Array
from credpart._checks import check_integer
from credpart.datasets.generators import RandomState, Sample


class SkewTruth(NamedTuple):
    """The parameters of a mixture of skew t distributions.

    Examples
    --------
    >>> from credpart.datasets import make_skew_t
    >>> make_skew_t(random_state=0).truth.dof.tolist()
    [3.0, 5.0, 5.0]
    """

    proportions: Array  # (c,)
    locations: Array  # (c, d)
    scales: Array  # (c, d, d)
    skewness: Array  # (c, d)
    dof: Array  # (c,)


SKEWED = SkewTruth(
    np.array([0.3, 0.3, 0.4]),  # the paper prints 0.4 for each
    np.array([[3.0, -4.0], [3.5, 4.0], [2.0, 2.0]]),
    np.array([[[1.0, -0.1], [-0.1, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]),
    np.array([[3.0, 3.0], [1.0, 5.0], [-3.0, 1.0]]),
    np.array([3.0, 5.0, 5.0]),
)
for _array in SKEWED:
    _array.flags.writeable = False


def make_skew_t(n: int = 300, random_state: RandomState = None) -> Sample:
    """Draw from the paper's three skew t components: heavy tails, each skewed its own way.

    An object is ``x = mu + (delta |z| + e) / sqrt(w)`` with z standard normal, e normal with
    covariance Sigma, and ``w ~ Gamma(nu / 2, nu / 2)``.  The proportions are .3, .3 and .4: those
    that the paper prints do not sum to 1.

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
    >>> from credpart.datasets import make_skew_t
    >>> sample = make_skew_t(random_state=0)
    >>> sample
    Sample(300 objects x 2, 3 components)
    >>> sample.truth.skewness.tolist()
    [[3.0, 3.0], [1.0, 5.0], [-3.0, 1.0]]
    """
    size, rng = check_integer("n", n, at_least=1), np.random.default_rng(random_state)
    proportions, locations, scales, skewness, dof = SKEWED
    y = rng.choice(len(proportions), size=size, p=proportions)
    w = rng.gamma(dof[y] / 2.0, 2.0 / dof[y])[:, None]
    noise = np.einsum("nde,ne->nd", np.linalg.cholesky(scales)[y], rng.standard_normal((size, 2)))
    lift = skewness[y] * np.abs(rng.standard_normal((size, 1)))
    X = locations[y] + (lift + noise) / np.sqrt(w)
    return Sample(X, y, _posteriors(X, SKEWED), SKEWED)


def _posteriors(X: Array, truth: SkewTruth) -> Array:
    """Bayes' theorem with the density ``2 t_d(x; mu, Omega, nu) T_{nu+d}(.)``."""
    n, d = X.shape
    joint = np.empty((n, len(truth.proportions)))
    for k, (proportion, mu, sigma, delta, nu) in enumerate(zip(*truth, strict=True)):
        omega = sigma + np.outer(delta, delta)
        inverse = np.linalg.inv(omega)
        eta = np.einsum("nd,de,ne->n", X - mu, inverse, X - mu)
        slant = (X - mu) @ inverse @ delta / np.sqrt(1.0 - delta @ inverse @ delta)
        cut = slant * np.sqrt((nu + d) / (nu + eta))
        density = multivariate_t.logpdf(X, mu, omega, nu) + student.logcdf(cut, nu + d)
        joint[:, k] = np.log(proportion) + density
    return softmax(joint, axis=1)
