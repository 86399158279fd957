"""A family of one's own: mixtures of independent Poisson counts (docs/own-family.md)."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from credpart import CalibratedClustering, MixtureFamily


class PoissonParams(NamedTuple):
    proportions: np.ndarray  # (b, k)
    rates: np.ndarray  # (b, k, d)


class Poisson(MixtureFamily):
    """Columns are Poisson counts, independent given the component."""

    def __init__(self, X):
        self.d = X.shape[1]

    def features(self, X):  # what the density reads: 1, x, and the sum of log x!
        return np.hstack([np.ones((len(X), 1)), X, gammaln(X + 1.0).sum(axis=1, keepdims=True)])

    def log_joint(self, features, params):
        logs = self.log_shares(params.proportions) - params.rates.sum(axis=-1)
        ones = np.ones((*logs.shape, 1))
        natural = np.concatenate([logs[..., None], np.log(params.rates), -ones], axis=-1)
        return natural @ features.mT  # (b, k, n)

    def m_step(self, statistics, variant, previous):
        sizes, sums = statistics[..., 0], statistics[..., 1 : 1 + self.d]
        present = sizes[..., None] > 0.0
        rates = np.where(present, sums, 0.0) / np.where(present, sizes[..., None], 1.0)
        return PoissonParams(self.shares(sizes), np.where(rates == 0.0, 1e-10, rates))

    def sample(self, params, n, rng):
        labels = rng.choice(params.proportions.shape[1], size=n, p=params.proportions[0])
        return rng.poisson(params.rates[0, labels]).astype(float), labels

    def n_free(self, c):
        return c - 1 + c * self.d


def main():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.poisson([2, 9, 4], (150, 3)), rng.poisson([6, 3, 4], (100, 3))])
    model = CalibratedClustering((1, 2, 3), model=Poisson, random_state=0).fit(X)
    print(model.selection_.table.round(1))
    print(model.mixture_.params.rates.round(2))
    print(model.partition_.summary())


if __name__ == "__main__":
    main()
