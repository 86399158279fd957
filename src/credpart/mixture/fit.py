"""A fitted mixture, and the function that fits one."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credpart._checks import (
    Table,
    check_choice,
    check_data,
    check_integer,
    check_positive,
    check_weights,
)
from credpart._columns import Columns, as_numbers
from credpart._errors import ConvergenceWarning, DegeneracyWarning, DegenerateMixtureError
from credpart._random import random_generator
from credpart._threads import one_blas_thread
from credpart.mixture.models import read, taking_part
from credpart.mixture.notebook import fit_html
from credpart.mixture.optimisation.em import (
    DEFAULT_TOLERANCE,
    MAX_ITERATIONS,
    Status,
    normalise,
    row_blocks,
)
from credpart.mixture.screening import Screening, screen
from credpart.mixture.search.initialisation import starting_partitions
from credpart.mixture.search.model_grid import (
    Candidate,
    Cell,
    Outcome,
    Setting,
    Source,
    run,
    set_up,
)
from credpart.mixture.search.multistart import search_all

Array = NDArray[np.float64]

REGULARIZATIONS = ("fallback", "none", "pooled")
REMEDIES = {"none": ", or use regularization='pooled'", "fallback": "", "pooled": ""}
N_STARTS = 4

# Functions of log-likelihoods, numbers of parameters, n, and (called only if it is needed) what
# returns the sums of log largest posteriors.
CRITERIA: Mapping[str, Callable[[Any, Any, float, Callable[[], Any]], Any]] = {
    "bic": lambda loglik, k, n, certainty: 2.0 * loglik - k * np.log(n),
    "icl": lambda loglik, k, n, certainty: 2.0 * (loglik + certainty()) - k * np.log(n),
    "aic": lambda loglik, k, n, certainty: 2.0 * (loglik - k),
}


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """A fitted mixture.

    Attributes
    ----------
    model : str
        Name of the model, such as "VVV".
    n_clusters : int
        Number of components.
    params : NamedTuple
        Parameters in the data's units.  Of Gaussian mixtures: ``proportions`` (c,), ``means``
        (c, d) and ``covariances`` (c, d, d); of t and skew mixtures: ``proportions``,
        ``locations``, ``scales`` (c, d, d), ``skewness`` (c, d) and ``dof`` (c,).
    loglik : float
        Log-likelihood of the data.
    n_parameters : int
        Number of free parameters.
    n_objects : float
        Sum of the weights of the objects.
    n_iter : int
        Iterations of the run of EM that led to this fit.
    status : Status
        How the fit ended: ok, regularised or not converged.
    remarks : tuple of str
        What to know of the parameters: degrees of freedom at their cap, pseudo-counts.

    Examples
    --------
    >>> from credpart import fit_mixture
    >>> from credpart.datasets import load_iris
    >>> fit = fit_mixture(load_iris().X, 3, "VEV")
    >>> fit.n_parameters, round(fit.loglik, 1), round(fit.bic, 1)
    (38, -186.1, -562.6)
    """

    family: Any
    internal: Any  # one mixture, in the family's units
    model: str
    variant: int  # of the family
    n_parameters: int
    loglik: float
    log_certainty: float  # sum over objects of the log of the largest posterior, for ICL
    n_objects: float
    n_iter: int
    status: Status
    columns: Columns  # how data are read

    def __post_init__(self) -> None:
        for array in self.internal:
            array.flags.writeable = False

    @property
    def n_clusters(self) -> int:
        """Number of components."""
        result: int = self.internal[0].shape[1]
        return result

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, if they had any."""
        return None if self.columns.names is None else list(self.columns.names)

    @property
    def params(self) -> Any:
        """Parameters in the units of the data."""
        shown = self.family.reveal(self.internal)
        params = type(shown)(*(field[0] for field in shown))
        for array in params:
            array.flags.writeable = False
        return params

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the parameters: bounds that were reached, priors that were used."""
        return tuple(self.family.remarks(self.internal))

    def criterion(self, name: str) -> float:
        """The value of a criterion by its name: larger is better."""
        value = CRITERIA[check_choice("name", name, CRITERIA)]
        k, n = self.n_parameters, self.n_objects
        return float(value(self.loglik, k, n, lambda: self.log_certainty))

    @property
    def bic(self) -> float:
        """``2 loglik - n_parameters log n``, as in mclust: larger is better."""
        return self.criterion("bic")

    @property
    def icl(self) -> float:
        """BIC plus twice the log posteriors of the assigned clusters: larger is better."""
        return self.criterion("icl")

    @property
    def aic(self) -> float:
        """``2 loglik - 2 n_parameters``: larger is better."""
        return self.criterion("aic")

    def posteriors(self, X: Any) -> Array:
        """Posterior probabilities of the components, shape (n, c)."""
        return self._score(X)[0]

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Most probable component of each object."""
        result: NDArray[np.intp] = self.posteriors(X).argmax(axis=1)
        return result

    def log_density(self, X: Any) -> Array:
        """Log density of each object under the mixture."""
        return self._score(X)[1]

    def sample(
        self, n: int, random_state: int | np.random.Generator | None = None
    ) -> tuple[Array, NDArray[np.intp]]:
        """Draw n objects; return them and the components they came from."""
        n = check_integer("n", n, at_least=1)
        rng = random_generator(random_state)
        drawn: tuple[Array, NDArray[np.intp]] = self.family.sample(self.internal, n, rng)
        return drawn

    def _score(self, X: Any) -> tuple[Array, Array]:
        values, features = self.columns.read(X).values, self.family.features
        return score(self.family, self.internal, len(values), lambda rows: features(values[rows]))

    def __repr__(self) -> str:
        return (
            f"MixtureFit({self.model}, n_clusters={self.n_clusters}, loglik={self.loglik:.3f}, "
            f"bic={self.bic:.3f}, status={self.status.name.lower()})"
        )

    def _repr_html_(self) -> str:
        return fit_html(repr(self), self.params, self.names)


def score(
    family: Any, params: Any, n: int, features: Callable[[slice], Array]
) -> tuple[Array, Array]:
    """Posteriors (n, c) and log densities (n,) under one mixture of objects with ``features``."""
    posteriors = np.empty((n, params[0].shape[1]))
    log_density = np.empty(n)
    for rows in row_blocks(n, posteriors.shape[1]):
        joint = family.log_joint(features(rows), params)
        log_density[rows] = normalise(joint)[0] - family.log_unit
        posteriors[rows] = joint[0].T
    return posteriors, log_density


def as_fits(setting: Setting, outcomes: Sequence[Outcome], table: Table) -> list[MixtureFit]:
    """The public values of outcomes that all have the same number of clusters."""
    family, features, weights, models = setting
    (c, _), b, n = outcomes[0].cell, len(outcomes), len(features)
    mixtures = [outcome.mixture for outcome in outcomes]
    log_density, certainty = np.empty((2, b, n))
    for rows in row_blocks(n, c):
        # one by one: a product of larger matrices has other last bits
        joint = np.concatenate([family.log_joint(features[rows], one) for one in mixtures])
        log_density[:, rows] = normalise(joint) - family.log_unit
        certainty[:, rows] = np.log(np.maximum(joint.max(axis=1), np.finfo(float).tiny))
    n_objects, columns = float(weights.sum()), Columns.of(table)
    return [
        MixtureFit(
            family=family,
            internal=mixtures[i],
            model=outcome.cell[1],
            variant=models[outcome.cell[1]].variant,
            n_parameters=models[outcome.cell[1]].n_parameters(family, c),
            loglik=float(weights @ log_density[i]),
            log_certainty=float(weights @ certainty[i]),
            n_objects=n_objects,
            n_iter=outcome.n_iter,
            status=outcome.status,
            columns=columns,
        )
        for i, outcome in enumerate(outcomes)
    ]


def as_candidate(setting: Setting, start: ArrayLike, cell: Cell) -> Candidate:
    """Statistics of a start given as labels (n,) or responsibilities (n, c)."""
    family, features, weights, _ = setting
    c, n = cell[0], len(features)
    given = np.asarray(start)
    if given.shape == (n,):
        if not np.array_equal(np.unique(given), np.arange(c)):
            raise ValueError(
                f"`start` must hold the labels 0 to {c - 1}, each at least once, "
                f"got {np.unique(given)!r}."
            )
        resp = (given == np.arange(c)[:, None]).astype(float)
    elif given.shape == (n, c):
        resp = check_data(given, name="start").values.T
        off = np.abs(resp.sum(axis=0) - 1.0)
        if resp.min() < 0.0 or off.max() > 1e-6:
            raise ValueError(
                "`start` must have non-negative rows summing to 1, "
                f"got {resp[:, off.argmax()]} in row {off.argmax()}."
            )
    else:
        raise ValueError(f"`start` must have shape ({n},) or ({n}, {c}), got {given.shape}.")
    return Candidate(cell, Source(family.statistics(features, (resp * weights)[None])))


def fit_mixture(
    X: Any,
    n_clusters: int,
    model: Any = "VVV",
    *,
    start: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    regularization: str = "fallback",
    n_starts: int = N_STARTS,
    random_state: int | None = 0,
) -> MixtureFit:
    """Fit a mixture with a given model and number of clusters by EM.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    n_clusters : int
        Number of components.
    model : str or family
        Covariance structure of a Gaussian mixture: EII VII EEI VEI EVI VVI EEE VEE EVE VVE EEV
        VEV EVV VVV, or in one dimension E or V.  "t", "skew-normal" or "skew-t", with a scale
        matrix for each component, or with a structure as in "t-EEE".  "latent-class" for
        categories, "mixed" for numbers and categories, in both of which cells may be missing.
        Or a family of your own, see `MixtureFamily`.
    start : array, optional
        Labels (n,) or responsibilities (n, c) to start from.  By default the best of several
        partitions is used, and the fits of all nested structures are tried as starts too: a
        nested structure is not better, unless the way up from it ends in a spike.
    sample_weight : array of shape (n,), optional
        Weights of the objects; an integer weight does what repeating the row does.
    tol : float
        EM ends when the log-likelihood rises by less than ``tol (1 + |loglik|)``.  mclust uses
        1e-5; the default is tight because under-converged fits have too short intervals.
    max_iter : int
        Limit on the iterations of a run of EM.
    regularization : {"fallback", "none", "pooled"}
        "none" is maximum likelihood, and an error if it does not exist.  "pooled" adds to every
        component one pseudo-observation with the pooled within-cluster covariance.  "fallback"
        does so only if maximum likelihood breaks down, and says so in ``status`` and a warning.
    n_starts : int
        Number of starting partitions: model-based agglomeration, Ward on scaled, raw and sphered
        data, then k-means from k-means++ seeds.
    random_state : int or None
        Seed of the k-means starts, None for 0; the others are deterministic.

    Returns
    -------
    MixtureFit
        The fitted mixture.

    Examples
    --------
    >>> from credpart import fit_mixture
    >>> from credpart.datasets import load_iris
    >>> fit = fit_mixture(load_iris().X, 3, "VEV")
    >>> round(fit.loglik, 2), round(fit.bic, 2)
    (-186.07, -562.55)
    >>> fit_mixture(load_iris().X, 3, "t-EEE").params.dof.shape
    (3,)
    """
    table, chosen = read(X, "model", model, several=False)
    c = check_integer("n_clusters", n_clusters, at_least=1)
    (name,) = chosen
    check_choice("regularization", regularization, REGULARIZATIONS)
    limits: dict[str, Any] = {
        "tol": check_positive("tol", tol),
        "max_iter": check_integer("max_iter", max_iter, at_least=1),
    }
    weights = check_weights("sample_weight", sample_weight, len(table.values))
    cell, seed = (c, name), check_seed(random_state)
    screening = screen(table, chosen, [c], weights)
    check_carried(screening, cell)
    screening.warn()

    settings = set_up(taking_part(chosen) if start is None else chosen, table, weights)
    setting = settings[-1]  # the model's own: all others are simpler
    if start is not None:
        first = as_candidate(setting, start, cell)
    else:
        n_starts = check_integer("n_starts", n_starts, at_least=1)
        starts = starting_partitions(as_numbers(table), weights, [c], n_starts, seed)
        first = as_candidate(setting, starts[0][c], cell)
    if regularization == "pooled":
        settings[-1] = setting = pooled(setting, first)
    with one_blas_thread():
        if start is not None:
            outcome = run(setting, [first], **limits)[0]
        else:
            outcome = search_all(settings, starts, **limits)[cell]
        broken = outcome.status == Status.DEGENERATE or (start is None and bool(outcome.flaw))
        if broken and regularization == "fallback":
            outcome = run(pooled(setting, first), [first], **limits)[0]
    if (broken and regularization == "none") or outcome.status == Status.DEGENERATE:
        raise DegenerateMixtureError(
            f"No mixture of {c} components with model {name!r} can be fitted: {outcome.flaw}. "
            f"Fit fewer clusters or a more constrained model{REMEDIES[regularization]}."
        )
    regularised = regularization == "pooled" or broken
    status = Status.REGULARISED if regularised else outcome.status
    (fit,) = as_fits(setting, [outcome._replace(status=status)], table)
    tell(fit, outcome, asked=regularization == "pooled")
    return fit


def check_carried(screening: Screening, cell: Cell) -> None:
    """Refuse a model that the data cannot carry."""
    if cell in screening.refused:
        raise ValueError(
            f"`model` {cell[1]!r} cannot be fitted: {screening.refused[cell]}. "
            "Leave columns out, or fit a more constrained model."
        )


def pooled(setting: Setting, first: Candidate) -> Setting:
    """The setting with a pseudo-observation in every component."""
    return setting._replace(family=setting.family.pooled(first.source.statistics[0]))


def check_seed(random_state: int | None) -> int:
    """A seed of k-means."""
    return 0 if random_state is None else check_integer("random_state", random_state, at_least=0)


def tell(fit: MixtureFit, outcome: Outcome, *, asked: bool) -> None:
    """Warn once of what a user should know of a fit."""
    if fit.status == Status.REGULARISED and not asked:
        warnings.warn(
            f"Maximum likelihood broke down for model {fit.model!r} with {fit.n_clusters} "
            "clusters (a component became singular or a spurious spike); one pseudo-observation "
            "of the pooled covariance was added to each component.",
            DegeneracyWarning,
            stacklevel=3,
        )
    elif outcome.flaw:
        warnings.warn(f"In this fit {outcome.flaw}.", DegeneracyWarning, stacklevel=3)
    if outcome.status == Status.NOT_CONVERGED:
        warnings.warn(
            f"EM did not converge in {outcome.n_iter} iterations; raise `max_iter`.",
            ConvergenceWarning,
            stacklevel=3,
        )
