"""A family of one's own: mixtures of gamma distributions, from fit to prediction.

``docs/own-family.md`` explains the family method by method.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from credpart import CalibratedClustering, MixtureFamily, diagnose, load_model, plot, save_model


class GammaParams(NamedTuple):
    proportions: np.ndarray  # (b, k)
    shapes: np.ndarray  # (b, k, d)
    scales: np.ndarray  # (b, k, d)


class Gamma(MixtureFamily):
    """Columns of positive numbers have gamma distributions, independent given the component."""

    params_type = GammaParams

    def features(self, X):
        return np.hstack([np.ones((len(X), 1)), X, np.log(X)])

    def log_joint(self, features, params):
        _, a, s = params
        constants = self.log_shares(params.proportions) - (gammaln(a) + a * np.log(s)).sum(axis=-1)
        natural = np.concatenate([constants[..., None], -1.0 / s, a - 1.0], axis=-1)
        return natural @ features.mT  # (b, k, n)

    def m_step(self, statistics, structure_code, previous):
        sizes, means = self.sizes_and_means(statistics)
        mean, mean_log = np.split(means, 2, axis=-1)
        gap = np.maximum(np.log(mean) - mean_log, 1e-6)  # near 0 for a spike on equal values
        a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
        for _ in range(3):  # Newton steps for log(a) - psi(a) = gap; the start is within 1.5 %
            a = a - (np.log(a) - digamma(a) - gap) / (1.0 / a - polygamma(1, a))
        return GammaParams(self.shares(sizes), a, mean / a)

    def n_free(self, c):
        return c - 1 + 2 * c * self.n_columns

    def sample(self, params, n, rng):
        labels = rng.choice(params.proportions.shape[1], size=n, p=params.proportions[0])
        return rng.gamma(params.shapes[0, labels], params.scales[0, labels]), labels


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    waits = np.concatenate([rng.gamma(2.0, 1.0, 200), rng.gamma(9.0, 1.2, 100)])[:, None]
    model = CalibratedClustering((1, 2, 3), model=[Gamma, "E", "V"], random_state=0).fit(waits)
    print(model.selection_.table.round(1), model.mixture_.params, model.replicates_, sep="\n")
    print(diagnose(model, audit=0).summary())
    plot.density(model.mixture_, waits).figure.savefig("waits.png")
    save_model(model, "waits.npz")
    print(load_model("waits.npz", families=[Gamma]).predict_masses([[1.0], [6.0], [15.0]]))
