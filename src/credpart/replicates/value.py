"""Refitted mixtures as a value: their parameters are kept, so any object can be scored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from credpart._checks import Array, check_data
from credpart._threads import one_blas_thread
from credpart.mixture.em import Status, normalise, take
from credpart.mixture.fit import check_columns
from credpart.mixture.gaussian import Gaussian, GaussianParams

BLOCK_ROWS = 512  # objects scored together
BLOCK_REPLICATES = 64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replicates:
    """Mixtures refitted to bootstrap samples.

    Attributes
    ----------
    models : array of str, shape (B,)
        Model of each replicate.
    status : array of int, shape (B,)
        How each refit ended, a `credpart.mixture.em.Status`.
    loglik, n_iter : arrays of shape (B,)
        Log-likelihood of each replicate's own sample (with the log prior, if it was regularised),
        and iterations of EM.

    Examples
    --------
    >>> from credpart import bootstrap, fit_mixture
    >>> from credpart.datasets import make_mixture1
    >>> X = make_mixture1(60, random_state=0).X
    >>> bootstrap(X, fit_mixture(X, 3, "EII"), 20, random_state=0)
    Replicates(20 nonparametric: 20 ok)
    """

    family: Gaussian
    params: GaussianParams  # of all replicates, in the family's units
    models: NDArray[np.str_]
    loglik: Array
    n_iter: NDArray[np.intp]
    status: NDArray[np.intp]
    resampling: str

    def __post_init__(self) -> None:
        for array in (*self.params, self.models, self.loglik, self.n_iter, self.status):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        return f"Replicates({len(self)} {self.resampling}: {counts})"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.params.proportions.shape[1])

    def counts(self) -> dict[str, int]:
        """Number of replicates by status."""
        return {status.label: int((self.status == status).sum()) for status in Status}

    def chosen(self) -> dict[str, int]:
        """Number of replicates by model, most frequent first."""
        names, counts = np.unique(self.models, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {str(names[i]): int(counts[i]) for i in order}

    def posteriors(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Posterior probabilities of any objects in all replicates, shape (B, n, c).

        The result is a view of an array that has the replicates side by side, which
        `pairwise_intervals` reads as it is.
        """
        values = check_data(X).values
        check_columns(values, self.family.frame.d)
        features = self.family.features(values)
        out = np.empty((len(values), self.n_clusters, len(self)))
        starts = range(0, len(self), BLOCK_REPLICATES)
        with one_blas_thread():
            Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(_fill)(self, features, slice(start, start + BLOCK_REPLICATES), out)
                for start in starts
            )
        return out.transpose(2, 0, 1)


def _fill(replicates: Replicates, features: Array, some: slice, out: Array) -> None:
    """Write the posteriors of some replicates into ``out`` (n, c, B)."""
    params = take(replicates.params, some)
    for start in range(0, len(features), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        joint = replicates.family.log_joint(features[rows], params)
        normalise(joint)
        out[rows, :, some] = joint.transpose(2, 1, 0)
