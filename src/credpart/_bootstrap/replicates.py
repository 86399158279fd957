"""Refitted mixtures as a value: their parameters are kept, so any object can be scored."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from credpart._arrays import Array, IntArray, make_read_only
from credpart._columns import Columns
from credpart._threads import one_blas_thread
from credpart.mixture.families.base import Family, Parameters
from credpart.mixture.families.missing_cells import scoring
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.optimisation.mixtures import take_params
from credpart.mixture.posteriors import bayes_rule

SCORED_ROWS = 512  # objects scored together
BLOCK_REPLICATES = 64


@dataclass(frozen=True, slots=True, eq=False)
class FamilyReplicates:
    """The replicates of one family with one number of clusters."""

    family: Family
    rows: IntArray  # which replicates
    params: Parameters  # arrays (rows, c, ...), in the family's units


@dataclass(frozen=True, slots=True)
class RefitDecision:
    """How the replicates of a large sample were found, and why.

    Attributes
    ----------
    kind : {"linear", "full", "subsample", "sample"}
        By the linearisation of EM, by refits to samples of all objects, or by refits to samples of
        some objects, whose deviations are shrunk or, where they cannot be, are as they are.
    reasons : tuple of str
        What speaks against linear replicates, each a clause; empty if nothing does.
    figures : mapping
        What was measured: ``error``, the error of linear predictions of true refits in proportion
        to the spread of these, in the worst cluster; ``refits``, how many there were; and more.
    """

    kind: str
    reasons: tuple[str, ...]
    figures: Mapping[str, float]

    @property
    def is_doubtful(self) -> bool:
        """Whether replicates are linear although something speaks against it."""
        return self.kind == "linear" and bool(self.reasons)

    def __str__(self) -> str:
        how = KINDS[self.kind].format(**self.figures)
        checked = CHECKED.format(**self.figures) if "error" in self.figures else ""
        checked += LEFT_OUT.format(**self.figures) if "left_out" in self.figures else ""
        why = f"; {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{how}{checked}{why}"


KINDS: Mapping[str, str] = {
    "linear": "replicates are linear, without refits",
    "full": "replicates are refits",
    "subsample": "replicates are refits of {rows:.0f} objects, shrunk to the size of the data",
    "sample": "replicates are refits of {rows:.0f} objects, as of a study with no more than these",
}
LEFT_OUT = "; all have the number of clusters of the fit, although {left_out:.0f} more had a chance"
CHECKED = "; {refits:.0f} true refits differ from linear ones by {error:.2g} of their spread"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replicates:
    """Mixtures refitted to bootstrap samples.

    Attributes
    ----------
    models : array of str, shape (B,)
        Model of each replicate.
    n_clusters : array of int, shape (B,)
        Number of clusters of each replicate.
    status : array of int, shape (B,)
        How each refit ended, a `credpart.mixture.optimisation.convergence.Status`.  A refit that
        lost a component, of which its sample had no object, may be ok: its proportion is exactly 0,
        and the others are a mixture of fewer components.
    loglik, n_iter : arrays of shape (B,)
        Log-likelihood of each replicate's own sample, in the units of the data as that of the fit,
        and iterations of EM: none in linear replicates.  Shrunken replicates of a subsample have no
        sample of their own, and NaN.
    decision : RefitDecision or None
        How they were found, where the sample is so large that this was a question.

    Examples
    --------
    >>> from credpart import bootstrap, fit_mixture
    >>> from credpart.datasets import make_mixture1
    >>> X = make_mixture1(60, random_state=0).X
    >>> bootstrap(X, fit_mixture(X, 3, "EII"), 20, random_state=0)
    Replicates(20 nonparametric: 20 ok)
    """

    parts: tuple[FamilyReplicates, ...]
    models: NDArray[np.str_]
    loglik: Array
    n_iter: IntArray
    status: IntArray
    resampling: str
    columns: Columns  # how data are read
    decision: RefitDecision | None = None

    def __post_init__(self) -> None:
        fields = [field for part in self.parts for field in (part.rows, *part.params)]
        make_read_only(*fields, self.models, self.loglik, self.n_iter, self.status)

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        how = "" if self.decision is None else f", {self.decision.kind}"
        return f"Replicates({len(self)} {self.resampling}{how}: {counts})"

    @property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each replicate, shape (B,)."""
        result = np.empty(len(self), dtype=np.intp)
        for part in self.parts:
            result[part.rows] = part.params[0].shape[1]
        return result

    def counts(self) -> dict[str, int]:
        """Number of replicates by status."""
        return {status.label: int((self.status == status).sum()) for status in Status}

    def chosen(self) -> dict[str, int]:
        """Number of replicates by model, most frequent first."""
        return dict(Counter(sorted(self.models.tolist())).most_common())

    def chosen_numbers(self) -> dict[int, int]:
        """Number of replicates by number of clusters, most frequent first."""
        return dict(Counter(sorted(self.n_clusters.tolist())).most_common())

    def posteriors(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Posterior probabilities of any objects in all replicates, shape (B, n, c).

        Where replicates have different numbers of clusters, c is the largest; the clusters that a
        replicate does not have are empty, and change no probability that two objects are in the
        same cluster.  With noise, rows sum to less than 1, as in `MixtureFit.posteriors`.

        The result is a view of an array that has the replicates side by side, which
        `pairwise_intervals` reads as it is.
        """
        return self.posteriors_of(self.columns.read(X).values, n_jobs=n_jobs)

    def posteriors_of(self, values: Array, *, n_jobs: int | None = None) -> Array:
        """`posteriors` of checked values (n, d), in which categories are codes."""
        out = np.zeros((len(values), int(self.n_clusters.max()), len(self)))
        with one_blas_thread():
            for part in self.parts:
                family = scoring(part.family, values)
                features = family.features(values)
                starts = range(0, len(part.rows), BLOCK_REPLICATES)
                Parallel(n_jobs=n_jobs, require="sharedmem")(
                    delayed(_fill)(part, family, features, start, out) for start in starts
                )
        return out.transpose(2, 0, 1)


def _fill(part: FamilyReplicates, family: Family, features: Array, start: int, out: Array) -> None:
    """Write the posteriors of some replicates into ``out`` (n, c, B), as a family scores them."""
    some = slice(start, start + BLOCK_REPLICATES)
    params, where = take_params(part.params, some), part.rows[some]
    c = params[0].shape[1]  # noise, if there is any, comes after the clusters
    is_contiguous = where[-1] - where[0] == len(where) - 1  # a slice is written faster
    replicates = slice(where[0], where[-1] + 1) if is_contiguous else where
    for first in range(0, len(features), SCORED_ROWS):
        rows = slice(first, first + SCORED_ROWS)
        posteriors, _ = bayes_rule(family, features[rows], params)
        out[rows, :c, replicates] = posteriors[:, :c].transpose(2, 1, 0)
