"""How each object moves the mixture that is fitted to all: the jackknife, by linear approximation.

The jackknife leaves each object out and fits again.  To first order a small change of the weight
of an object moves the statistics of the fixed point of EM by ``(I - J)^-1 (v_i - s / n)``, as
`linear` has it, and the natural parameters by N times this.  So one pass over the objects gives
what n refits would.  Where groups are drawn, what their objects contribute is summed, and a group
is what is left out.

M objects or groups, n objects whose posteriors move, k clusters, p features.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from credpart._arrays import Array, IntArray, Single
from credpart._bootstrap.block_sums import RowsInMemory
from credpart._bootstrap.deviations import IndependentObjects, beyond_the_mean, unit_sums
from credpart._bootstrap.linear import JointLinearisation, contributions_to_sums
from credpart._bootstrap.units import Units
from credpart._threads import one_blas_thread
from credpart.errors import DataWarning, warn_caller
from credpart.intervals import Influence
from credpart.mixture.distinct import DistinctObjects
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.fit import MixtureFit
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.posteriors import bayes_rule

MOST_JACKKNIFED = 2000  # objects or groups; of more, a sample: acceleration falls as 1 / sqrt(n)
MOVE_VALUES = 1 << 22  # moves of posteriors that are computed together, in double precision


@dataclass(frozen=True, slots=True, eq=False)
class MixtureInfluence:
    """How objects or groups move a mixture, one by one."""

    family: Family
    params: Parameters  # one mixture
    moves: Array  # (M, k, p): derivatives of the natural parameters by the weight of each
    weights: Array  # (M,): how often each was seen

    def on(self, values: Array) -> Influence:
        """How the posteriors of objects (n, d) move."""
        m, k, p = self.moves.shape
        directions = self.moves.transpose(2, 1, 0).reshape(p, k * m)
        found = np.empty((len(values), k, m), dtype=np.float32)
        size = max(1, MOVE_VALUES // (k * m))
        with one_blas_thread():
            for first in range(0, len(values), size):
                rows = slice(first, first + size)
                found[rows] = self._block(self.family.features(values[rows]), directions)
        return Influence(found, self.weights.astype(np.float32))

    def _block(self, features: Array, directions: Array) -> Single:
        """Derivatives (n, k, M) of posteriors: ``p_k (x_k - sum_h p_h x_h)``.

        Here x are the derivatives of the log joint densities.
        """
        posteriors = bayes_rule(self.family, features, self.params)[0][0].T[:, :, None]
        x = (features @ directions).reshape(len(features), *self.moves.shape[1::-1])
        x -= (posteriors * x).sum(axis=1, keepdims=True)
        return np.asarray(posteriors * x, dtype=np.float32)


def find_influence(
    fit: MixtureFit, objects: DistinctObjects, units: Units | None, seed: int
) -> MixtureInfluence | None:
    """The influence of each object, or group, on a mixture; None, with a warning, if unknown."""
    reason = _obstacle(fit)
    if not reason:
        with one_blas_thread():
            found = _linearised(fit, objects, units, seed)
        if found is not None:
            return found
        reason = "the data hardly determine the mixture"
    text = f"Intervals are corrected for bias and not for acceleration: {reason}."
    warn_caller(DataWarning(text))
    return None


def _obstacle(fit: MixtureFit) -> str:
    if not fit.family.is_linearisable:
        return f"how objects influence a mixture of model {fit.model} is not known"
    return "" if fit.status == Status.OK else f"the fit of model {fit.model} is {fit.status.label}"


def _linearised(
    fit: MixtureFit, objects: DistinctObjects, units: Units | None, seed: int
) -> MixtureInfluence | None:
    X, weights, _ = objects
    rows = RowsInMemory(X, weights)
    joint = JointLinearisation.of(rows, [fit], IndependentObjects.deviations)
    (part,) = joint.parts
    contribute, size = partial(contributions_to_sums, [part.point]), part.statistics.size
    if units is None:
        frequency, chosen = weights, _some(len(X), seed)
        beyond = contribute(X[chosen])[:, :size] - part.statistics.ravel() / joint.n
    else:
        sums = unit_sums(X, units, contribute)
        frequency, chosen = units.frequency, _some(len(sums), seed)
        beyond = beyond_the_mean(sums, units)[chosen, :size]
    if not part.rate < 1.0:
        return None
    moves = (beyond @ part.inverse.T @ part.N.T).reshape(-1, *part.statistics.shape)
    share = frequency[chosen].sum() / frequency.sum()
    moves /= np.abs(moves).max(initial=np.finfo(float).tiny)  # their scale does not matter
    return MixtureInfluence(fit.family, part.point.params, moves, frequency[chosen] / share)


def _some(n: int, seed: int) -> IntArray:
    """All of n, or a random sample of them."""
    if n <= MOST_JACKKNIFED:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MOST_JACKKNIFED, replace=False))
