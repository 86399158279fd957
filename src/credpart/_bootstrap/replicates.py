"""Refitted mixtures as a value: their parameters are kept, so any object can be scored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from credpart._bootstrap.refits import Part
from credpart._checks import Array
from credpart._columns import Columns
from credpart._threads import one_blas_thread
from credpart.mixture.optimisation.em import Status, normalise, take

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
        How each refit ended, a `credpart.mixture.optimisation.em.Status`.
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

    families: tuple[Any, ...]
    parts: tuple[Part, ...]  # one a family: which replicates it has, in its own units
    models: NDArray[np.str_]
    loglik: Array
    n_iter: NDArray[np.intp]
    status: NDArray[np.intp]
    resampling: str
    columns: Columns  # how data are read

    def __post_init__(self) -> None:
        fields = [field for part in self.parts for field in (part.rows, *part.params)]
        for array in (*fields, self.models, self.loglik, self.n_iter, self.status):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        return f"Replicates({len(self)} {self.resampling}: {counts})"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.parts[0].params[0].shape[1])

    @property
    def family(self) -> Any:
        """The family of all replicates; an error if they have several."""
        self._check_one_family()
        return self.families[0]

    @property
    def params(self) -> Any:
        """Parameters of all replicates, in the family's units; an error if it has several."""
        self._check_one_family()
        return self.parts[0].params

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
        values = self.columns.read(X).values
        out = np.empty((len(values), self.n_clusters, len(self)))
        with one_blas_thread():
            for family, part in zip(self.families, self.parts, strict=True):
                features = family.features(values)
                starts = range(0, len(part.rows), BLOCK_REPLICATES)
                Parallel(n_jobs=n_jobs, require="sharedmem")(
                    delayed(_fill)(family, part, features, start, out) for start in starts
                )
        return out.transpose(2, 0, 1)

    def _check_one_family(self) -> None:
        if len(self.families) > 1:
            raise ValueError(
                f"The replicates have {len(self.families)} families with parameters of their own. "
                "Read `families` and `parts`."
            )


def _fill(family: Any, part: Part, features: Array, start: int, out: Array) -> None:
    """Write the posteriors of some replicates into ``out`` (n, c, B)."""
    some = slice(start, start + BLOCK_REPLICATES)
    params, where = take(part.params, some), part.rows[some]
    together = where[-1] - where[0] == len(where) - 1  # a slice is written faster
    replicates = slice(where[0], where[-1] + 1) if together else where
    for start in range(0, len(features), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        joint = family.log_joint(features[rows], params)
        normalise(joint)
        out[rows, :, replicates] = joint.transpose(2, 1, 0)
