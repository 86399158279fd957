"""Replicates from anywhere: posterior draws of any sampler in place of refitted mixtures.

Whatever draws the parameters of a mixture (a Gibbs sampler, PyMC, NumPyro, Stan, an ensemble) gives
cluster probabilities of each object in each draw.  P_ij of Eq. (4) is a sum over the clusters of
one draw, so clusters may have any order, and draws any numbers of clusters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credpart._arrays import Array, IntArray, Single, make_read_only
from credpart._bootstrap import Replicates
from credpart._checks import Table, WeightedTable, check_fraction
from credpart._columns import Columns
from credpart._memory import check_pairs
from credpart._messages import Message
from credpart._progress import shown
from credpart._random import RandomState
from credpart._threads import one_blas_thread
from credpart.clustering import CalibratedClustering
from credpart.errors import InputError, NoMixtureError
from credpart.intervals import METHODS, NEGLIGIBLE, SUM_TOLERANCE, replicates_needed
from credpart.mixture.fit import MixtureFit
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.search.selection import Selection
from credpart.partition.describe import word_lines
from credpart.result import (
    CalibratedResult,
    PartitionInputs,
    find_intervals,
    find_partition,
    find_sample,
)

HARD = 0.99  # share of rows of 0 and 1 only from which draws are taken to be sampled labels
REFERENCE_OBJECTS = 1000  # objects whose pairs tell which draw is nearest to the mean
PLACE = "row"  # the one column of the data: the place of an object in the draws


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PosteriorDraws(Replicates):
    """Replicates that were given by their posteriors, and so know their own objects only.

    Attributes
    ----------
    draws : array of shape (n, c, B)
        Cluster probabilities; a draw with fewer clusters has columns of zeros.
    numbers : array of int, shape (B,)
        Number of clusters of each draw.
    estimate : array of shape (n, c) or None
        The reference that was given, which methods for intervals may start from.
    """

    draws: Single = field(kw_only=True)
    numbers: IntArray = field(kw_only=True)
    estimate: Array | None = field(kw_only=True)

    def __post_init__(self) -> None:
        Replicates.__post_init__(self)
        make_read_only(self.draws, self.numbers)

    def __repr__(self) -> str:
        return f"PosteriorDraws({len(self)} of {len(self.draws)} objects)"

    @property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each draw, shape (B,)."""
        return self.numbers

    def posteriors_of(self, values: Array, *, n_jobs: int | None = None) -> Array:
        """The draws (B, m, c) of objects, ``values`` (m, 1) being their places."""
        places = values[:, 0].astype(np.intp)
        return self.draws[places].astype(np.float64).transpose(2, 0, 1)


class DrawsResult(CalibratedResult):
    """What `from_replicates` found: a `CalibratedResult` without mixture and selection.

    ``posteriors`` are those of the reference, whose clusters the masses are about, and ``data``
    have one column, the place of each object in the draws.  What needs a mixture (`diagnose`,
    reports, files, masses of new objects) raises `credpart.errors.NoMixtureError`.
    """

    __slots__ = ()

    def __init__(self, **parts: Any) -> None:
        defaults = {one.name: one.default for one in fields(self) if one.default is not MISSING}
        for name, value in (defaults | parts).items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _result_of_parts, (self._parts(),)

    def __repr__(self) -> str:
        return (
            f"DrawsResult(n_objects={self.n_objects}, n_clusters={self.partition.n_clusters}, "
            f"level={self.intervals.level:g}, n_replicates={len(self.replicates)})"
        )

    @property
    def mixture(self) -> MixtureFit:
        """There is none."""
        return _refuse("mixture")

    @property
    def selection(self) -> Selection:
        """There is none."""
        return _refuse("selection")

    @property
    def estimate(self) -> Array | None:
        """The reference, if it was given: a draw is no estimate."""
        draws = self.replicates
        return draws.estimate if isinstance(draws, PosteriorDraws) else None

    def influence_for(self, method: str) -> None:
        """There is no mixture that objects could move."""
        return

    def predict_masses(
        self, X: Any, *, labels: Any = None, n_jobs: int | None = None, verbose: int = 0
    ) -> NoReturn:
        """Refused: draws say nothing about other objects."""
        _refuse("mixture")

    def profiles(self) -> NoReturn:
        """Draws come without data that could describe clusters."""
        _refuse("table of data")

    def summary(self) -> str:
        """Return, as text, what was found; draws give no grounds for a verdict.

        Examples
        --------
        >>> import numpy as np
        >>> from credpart import from_replicates
        >>> p = np.random.default_rng(0).beta([9, 9, 1], [1, 1, 9], size=(50, 3))
        >>> print(from_replicates(np.stack([p, 1 - p], axis=2)).summary())
        3 objects, 2 clusters: 90 % intervals from 50 posterior draws
        sure: 0 (0.0 %)
        overlapping: 0 (0.0 %)
        undecided: 3 (100.0 %), between {1,2} 3
        """
        numbers, c = self.replicates.n_clusters, self.partition.n_clusters
        several = (
            f" with {numbers.min()} to {numbers.max()} clusters"
            if numbers.min() < numbers.max()
            else ""
        )
        return "\n".join(
            [
                f"{self.n_objects} objects, {c} cluster{'s' * (c != 1)}: "
                f"{100.0 * self.intervals.level:g} % intervals from {len(self.replicates)} "
                f"posterior draws{several}",
                *word_lines(self.partition),
            ]
        )

    def _with(self, **changes: Any) -> "DrawsResult":
        return DrawsResult(**self._parts() | changes)

    def _parts(self) -> dict[str, Any]:
        absent = ("mixture", "selection")
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in absent}


def _result_of_parts(parts: dict[str, Any]) -> DrawsResult:
    return DrawsResult(**parts)


def _refuse(what: str) -> NoReturn:
    raise NoMixtureError(
        f"There is no {what}: this result was made of posterior draws by `from_replicates`. "
        "Fit a CalibratedClustering for what needs one."
    )


def from_replicates(
    posteriors: ArrayLike | Sequence[ArrayLike],
    level: float = 0.9,
    focal_sets: str | ArrayLike = "pairs",
    *,
    reference: ArrayLike | None = None,
    omega: bool = False,
    overlap: int = 2,
    weaken: bool = False,
    method: str = "percentile",
    pairs: str | int = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CalibratedResult:
    """Return a calibrated clustering made of posterior draws of any sampler.

    Parameters
    ----------
    posteriors : array of shape (B, n, c) or (chains, draws, n, c), or sequence of (n, c_b) arrays
        Probabilities of the clusters for each object, given the parameters of each draw.  Clusters
        may have another order in each draw, and a sequence may have another number of them in each.
        Chains, as ArviZ has them, are put one after the other.  Sampled labels (rows of 0 and 1)
        are refused: P_ij would be 0 or 1 in each draw, and every interval vacuous.
    level, focal_sets, omega, overlap, weaken, method, pairs
        As in `CalibratedClustering`.  The methods "basic", "normal" and "bca" need a ``reference``;
        draws do not tell the acceleration of "bca", which is 0.
    reference : array of shape (n, c), optional
        Probabilities in the clustering whose clusters the masses are about, such as those of a
        fit.  By default it is the draw whose P_ij are nearest to their means over all draws, in
        the least-squares sense [D06]_; clusters without any probability are left out.
    random_state : int, RandomState, Generator or None
        Seed of the sample of objects, if there are so many that not all pairs are compared.
    n_jobs, verbose
        As in `CalibratedClustering`.

    Returns
    -------
    CalibratedResult
        Without mixture and selection; what needs them raises `credpart.errors.NoMixtureError`.

    References
    ----------
    .. [D06] Dahl: Model-based clustering for expression data via a Dirichlet process mixture model.
       In: Bayesian Inference for Gene Expression and Proteomics, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from credpart import from_replicates
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta([9, 9, 4, 1], [1, 1, 4, 9], size=(100, 4))  # one object in between
    >>> draws = np.stack([p, 1 - p], axis=2)
    >>> draws[::2] = draws[::2, :, ::-1]  # clusters may change places
    >>> result = from_replicates(draws, level=0.9)
    >>> result.partition
    EvidentialPartition(n_objects=4, n_clusters=2, n_focal_sets=3)
    >>> result.intervals_at(0.5).level
    0.5
    """
    draws, numbers = _as_draws(posteriors)
    n, _, B = draws.shape
    needed = replicates_needed(check_fraction("level", level))
    if needed > B:
        enough = f"hold at least {needed} draws for level {level:g} (B >= 2 / alpha)"
        raise InputError("posteriors", enough, B, "Draw more, or lower the level.")
    given = None if reference is None else _checked_reference(reference, n)
    frame = _nearest_to_mean(draws) if given is None else given
    c = frame.shape[1]
    estimator = CalibratedClustering(
        c,
        level=level,
        method=method,
        pairs=pairs,
        focal_sets=focal_sets,
        omega=omega,
        overlap=overlap,
        weaken=weaken,
        n_replicates=B,
        random_state=random_state,
    )
    options = estimator._options(n_models=1)
    if METHODS[options.method].needs_estimate and given is None:
        names = [repr(name) for name, row in METHODS.items() if row.needs_estimate]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        estimate = f"be given for the methods {listed}, which start from an estimate"
        raise InputError("reference", estimate, None, "Give the posteriors of a fit.")
    check_pairs(options.pairs_for(n, c).n_sampled or n, B, c)
    data = Table(np.arange(n, dtype=np.float64)[:, None], [PLACE], None)
    weights = np.ones(n)
    replicates = PosteriorDraws(
        parts=(),
        models=np.full(B, "posterior draw"),
        loglik=np.full(B, np.nan),
        n_iter=np.zeros(B, dtype=np.intp),
        status=np.full(B, int(Status.OK)),
        resampling="posterior",
        columns=Columns.of(data),
        draws=draws,
        numbers=numbers,
        estimate=given,
    )
    timings: dict[str, float] = {}
    with shown("intervals", verbose, timings) as progress:
        sample = find_sample(frame, weights, options)
        intervals = find_intervals(replicates, data, sample, options, n_jobs, progress, given)
    with shown("partition", verbose, timings) as progress:
        weighted, sets = WeightedTable(data, weights), options.sets_for(frame, weights)
        inputs = PartitionInputs(replicates, weighted, frame, sample, intervals, sets, options)
        found = find_partition(inputs, n_jobs, progress)
    return DrawsResult(
        data=data,
        weights=weights,
        options=options,
        posteriors=frame,
        replicates=replicates,
        sample=sample,
        intervals=intervals,
        timings=timings,
        groups=None,
        strata=None,
        **found._asdict(),
    )


def _as_draws(posteriors: Any) -> tuple[Single, IntArray]:
    """Check the draws; return them as (n, c, B), padded with zeros, and their cluster numbers."""
    several = _separate(posteriors)
    n, c, B = len(several[0]), max(draw.shape[1] for draw in several), len(several)
    draws, numbers, hard = np.zeros((n, c, B), dtype=np.float32), np.empty(B, dtype=np.intp), 0
    for b, draw in enumerate(several):
        if len(draw) != n:
            got = Message(f"{len(draw)} in draw {b}")
            raise InputError("posteriors", f"have {n} objects in each draw, as in the first", got)
        _check_rows("posteriors", draw, f"draw {b}, ")
        hard += int(np.count_nonzero(((draw == 0.0) | (draw == 1.0)).all(axis=1)))
        draws[:, : draw.shape[1], b] = np.where(draw < NEGLIGIBLE, 0.0, draw)
        numbers[b] = np.count_nonzero(draw.any(axis=0))
    if c > 1 and hard >= HARD * n * B:
        raise InputError(
            "posteriors",
            "be probabilities of the clusters given the parameters of each draw",
            Message(f"sampled labels: {hard} of {n * B} rows hold 0 and 1 only"),
            "From labels P_ij is 0 or 1 in each draw, and every interval vacuous: compute the "
            "probabilities from the drawn proportions and densities.",
        )
    return draws, numbers


def _separate(posteriors: Any) -> list[NDArray[Any]]:
    """The draws one by one, each an array (n, c) of real numbers."""
    shape = "have shape (B, n, c) or (chains, draws, n, c), or be a sequence of (n, c) arrays"
    if not isinstance(posteriors, Iterable) or isinstance(posteriors, str | bytes):
        raise InputError("posteriors", shape, posteriors)
    is_array = hasattr(posteriors, "__array__")
    whole = np.asarray(posteriors) if is_array else None
    if whole is not None and whole.ndim == 4:
        whole = whole.reshape(-1, *whole.shape[2:])
    if whole is not None and whole.ndim != 3:
        raise InputError("posteriors", shape, Message(f"shape {whole.shape}"))
    several = [np.asarray(draw) for draw in (posteriors if whole is None else whole)]
    if not several:
        raise InputError("posteriors", "hold at least one draw", Message("none"))
    for b, draw in enumerate(several):
        if draw.ndim != 2 or 0 in draw.shape:
            raise InputError("posteriors", shape, Message(f"shape {draw.shape} of draw {b}"))
        if draw.dtype.kind not in "biuf":
            got = Message(f"dtype {draw.dtype} in draw {b}")
            raise InputError("posteriors", "hold real numbers", got)
    return several


def _check_rows(name: str, rows: NDArray[Any], where: str) -> None:
    """Refuse rows that are no probabilities; the message names the first."""
    with np.errstate(invalid="ignore"):
        good = np.abs(rows.sum(axis=1, dtype=np.float64) - 1.0) <= SUM_TOLERANCE
        good &= rows.min(axis=1) >= 0.0
    if not good.all():
        i = int(np.flatnonzero(~good)[0])
        got = f"{rows[i].tolist()} (sum {rows[i].sum():g}) in {where}row {i}"
        requirement = "be probabilities that sum to 1 over the clusters"
        remedy = "Is the order of the axes (draw, object, cluster)?" if where else ""
        raise InputError(name, requirement, Message(got), remedy)


def _checked_reference(reference: ArrayLike, n: int) -> Array:
    values = np.array(reference, dtype=np.float64)
    if values.ndim != 2 or len(values) != n or not values.size:
        shape = f"have shape ({n}, c), one row for each object"
        raise InputError("reference", shape, values.shape)
    _check_rows("reference", values, "")
    return values[:, values.any(axis=0)]


def _nearest_to_mean(draws: Single) -> Array:
    """Posteriors (n, c) of the draw whose P_ij are nearest to their means, as in [D06].

    The squares are summed over the pairs i < j of at most `REFERENCE_OBJECTS` objects, evenly
    spread over the rows.  With R the posteriors of a draw and M the means, the sum over all i and
    j is ``|R'R|^2 - 2 <R, M R> + |M|^2``, so that P_ij of one draw are never formed.
    """
    n, _, B = draws.shape
    rows = np.unique(np.linspace(0, n - 1, min(n, REFERENCE_OBJECTS)).astype(np.intp))
    some = draws[rows].astype(np.float64)
    with one_blas_thread():
        flat = some.reshape(len(rows), -1)
        M = flat @ flat.T / B
        crossed = (some * (M @ flat).reshape(some.shape)).sum(axis=(0, 1))
        by_draw = np.ascontiguousarray(some.transpose(2, 1, 0))
        inner = by_draw @ by_draw.transpose(0, 2, 1)
    own = np.square(some).sum(axis=1)  # P_ii, which are not among the pairs
    own_distance = np.square(own - np.diagonal(M)[:, None]).sum(axis=0)
    distances = np.square(inner).sum(axis=(1, 2)) - 2.0 * crossed - own_distance
    nearest = draws[:, :, int(distances.argmin())].astype(np.float64)
    return nearest[:, nearest.any(axis=0)]
