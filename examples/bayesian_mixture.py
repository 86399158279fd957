"""Posterior draws of a Bayesian mixture in place of bootstrap replicates.

A Gibbs sampler of a Gaussian mixture, in NumPy only, stands for any sampler (PyMC, NumPyro, Stan):
`from_replicates` takes the probabilities of the clusters that its draws of the parameters give.
At n = 2000 they and the bootstrap should agree: ``python examples/bayesian_mixture.py``.
"""

import numpy as np

from credpart import CalibratedClustering, from_replicates
from credpart.datasets import make_mixture3

N, CLUSTERS, DRAWS, BURN_IN = 2000, 3, 1000, 500


def log_densities(X, means, precisions):
    """Log densities (n, c) of normal components, without the constant."""
    columns = []
    for mean, precision in zip(means, precisions, strict=True):
        centred = X - mean
        squared = np.einsum("nd,de,ne->n", centred, precision, centred)
        columns.append(0.5 * (np.linalg.slogdet(precision)[1] - squared))
    return np.column_stack(columns)


def draw_wishart(degrees, scale, rng):
    """A Wishart matrix, by Bartlett's decomposition."""
    d = len(scale)
    lower = np.tril(rng.standard_normal((d, d)), -1)
    lower[np.diag_indices(d)] = np.sqrt(rng.chisquare(degrees - np.arange(d)))
    root = np.linalg.cholesky(scale) @ lower
    return root @ root.T


def gibbs(X, labels, n_draws, rng, burn_in=BURN_IN):
    """Probabilities of the clusters (draws, n, c) under vague conjugate priors.

    Proportions have a flat Dirichlet prior, means and precisions a normal-Wishart prior that counts
    as a hundredth of an object for the means and as d + 2 for the precisions.
    """
    (n, d), c = X.shape, labels.max() + 1
    strength, degrees, centre = 0.01, d + 2.0, X.mean(axis=0)
    spread = np.cov(X.T) / c ** (2.0 / d)
    means, precisions = np.empty((c, d)), np.empty((c, d, d))
    draws = np.empty((n_draws, n, c))
    for step in range(burn_in + n_draws):
        sizes = np.bincount(labels, minlength=c)
        proportions = rng.dirichlet(1.0 + sizes)
        for k in range(c):
            own, m = X[labels == k], sizes[k]
            average = own.mean(axis=0) if m else centre
            gap = average - centre
            scatter = spread + (own - average).T @ (own - average)
            scatter += strength * m / (strength + m) * np.outer(gap, gap)
            precisions[k] = draw_wishart(degrees + m, np.linalg.inv(scatter), rng)
            middle = (strength * centre + m * average) / (strength + m)
            root = np.linalg.cholesky(np.linalg.inv(precisions[k]) / (strength + m))
            means[k] = middle + root @ rng.standard_normal(d)
        joint = np.log(proportions) + log_densities(X, means, precisions)
        posteriors = np.exp(joint - joint.max(axis=1, keepdims=True))
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        labels = (posteriors.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=c - 1)
        if step >= burn_in:
            draws[step - burn_in] = posteriors
    return draws


def main(n=N, n_draws=DRAWS):
    """Print the mean bounds of both, and how far they are apart."""
    X = make_mixture3(n, random_state=0).X
    options = {"model": "VVV", "n_replicates": n_draws, "random_state": 0}
    bootstrap = CalibratedClustering(CLUSTERS, **options).fit(X)
    start = bootstrap.mixture_.posteriors(X).argmax(axis=1)
    bayesian = from_replicates(gibbs(X, start, n_draws, np.random.default_rng(0)))
    print(bayesian.summary())
    for name, found in {"bootstrap": bootstrap.intervals_, "Bayesian": bayesian.intervals}.items():
        print(f"{name}: mean bounds {found.lower.mean():.4f} and {found.upper.mean():.4f}")
    return bootstrap.result_, bayesian


if __name__ == "__main__":
    main()
