"""A fitted mixture, and the function that fits one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from credpart._arrays import Array, IntArray, make_read_only
from credpart._checks import WeightedTable, check_choice, check_integer
from credpart._columns import Columns
from credpart._messages import Name
from credpart._random import RandomState, random_generator, seed_sequence
from credpart._threads import one_blas_thread
from credpart.errors import (
    ConvergenceWarning,
    DataError,
    DegeneracyWarning,
    DegenerateMixtureError,
    warn_caller,
)
from credpart.mixture.completed_data import completed
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.distinct import average, gathered
from credpart.mixture.families.base import Components, Family, Parameters
from credpart.mixture.families.standardisation import middle
from credpart.mixture.known_labels import NOTHING, KnownLabels
from credpart.mixture.models import (
    ONE_MODEL,
    Model,
    read,
    structure_code,
    taking_part,
    with_noise,
)
from credpart.mixture.notebook import fit_html
from credpart.mixture.optimisation import DEFAULT_TOLERANCE, MAX_ITERATIONS, Limits, Status
from credpart.mixture.optimisation.mixtures import take_params
from credpart.mixture.posteriors import log_certainty, most_probable, score
from credpart.mixture.screening import screen
from credpart.mixture.search.grid_search import Answer, Cell, FamilySearch, model_sets
from credpart.mixture.search.initialisation import (
    UNIT_FREE,
    WITH_UNITS,
    check_start,
    responsibilities,
    starting_partitions,
)
from credpart.mixture.search.outliers import starts_without_outliers
from credpart.mixture.search.subsample import Search, subsample

N_STARTS = 4
ROUNDING = 1e-9  # relative difference of log-likelihoods that do not differ


class Regularization(NamedTuple):
    """When components get a pseudo-observation, and what else an error may suggest."""

    is_asked: bool  # from the start
    is_fallback: bool  # if maximum likelihood breaks down
    remedy: str = ""


REGULARIZATIONS: Mapping[str, Regularization] = {
    "fallback": Regularization(False, True),
    "none": Regularization(False, False, ", or use regularization='pooled'"),
    "pooled": Regularization(True, False),
}


class SearchOptions(NamedTuple):
    """How mixtures are searched for: checked arguments of `fit_mixture` and `select_mixture`."""

    limits: Limits
    n_starts: int
    seed: int  # of the k-means starts, and of the subsample of large data
    n_jobs: int | None = None

    @classmethod
    def check(
        cls, limits: Limits, n_starts: int, random_state: RandomState, n_jobs: int | None = None
    ) -> Self:
        """The options, after all arguments are checked."""
        n_starts = check_integer("n_starts", n_starts, at_least=1)
        return cls(limits, n_starts, int(seed_sequence(random_state).generate_state(1)[0]), n_jobs)


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """A fitted mixture.

    Attributes
    ----------
    model : str
        Name of the model, such as "VVV".
    n_clusters : int
        Number of components; noise is none of them.
    noise : float
        Share of objects that belong to no component; 0 in a mixture without noise.
    params : NamedTuple
        Parameters in the data's units.  Of Gaussian mixtures: ``proportions`` (c,), ``means``
        (c, d) and ``covariances`` (c, d, d); of t and skew mixtures: ``proportions``,
        ``locations``, ``scales`` (c, d, d), ``skewness`` (c, d) and ``dof`` (c,); of contaminated
        ones those of Gaussian ones, of the regular parts, with the shares ``regular`` (c,) of these
        and the ``inflation`` (c,) of the outlying parts' covariances.  With noise, ``proportions``
        sum to 1 less the noise share.
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

    family: Family
    internal: Parameters  # one mixture, in the family's units
    model: str
    structure: str | None  # of the scale matrices, where there are any
    n_parameters: int
    loglik: float
    log_certainty: float  # sum over objects of the log of the largest posterior, for ICL
    n_objects: float
    n_iter: int
    status: Status
    columns: Columns  # how data are read

    def __post_init__(self) -> None:
        make_read_only(*self.internal)

    @property
    def n_clusters(self) -> int:
        """Number of components."""
        return int(self.internal[0].shape[1])

    @property
    def cell(self) -> Cell:
        """Number of components and model."""
        return self.n_clusters, self.model

    @property
    def has_noise(self) -> bool:
        """Whether there is a component for outliers."""
        return self.family.has_noise

    @property
    def noise(self) -> float:
        """Share of objects that belong to no component."""
        return float(self.params.noise[0]) if self.has_noise else 0.0

    @property
    def structure_code(self) -> int:
        """The code of the structure inside the family."""
        return structure_code(self.structure)

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, if they had any."""
        return None if self.columns.names is None else list(self.columns.names)

    @property
    def params(self) -> Any:
        """Parameters in the units of the data: a NamedTuple of the family's own kind."""
        shown = self.family.to_data_units(self.internal)
        params = take_params(shown, 0)
        make_read_only(*params)
        return params

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the parameters: bounds that were reached, priors that were used."""
        return tuple(self.family.remarks(self.internal))

    @property
    def components(self) -> Components | None:
        """The components in the units of the data, if they keep their form under linear maps."""
        return self.family.projectable(self.internal)

    def criterion(self, name: str) -> float:
        """The value of a criterion by its name: larger is better."""
        value = CRITERIA[check_choice("name", name, CRITERIA)]
        numbers = self.loglik, self.n_parameters, self.log_certainty
        loglik, n_parameters, certainty = map(np.array, numbers)
        return float(value(loglik, n_parameters, self.n_objects, lambda: certainty))

    @property
    def is_determined(self) -> bool:
        """Whether objects outnumber parameters by more than one, as AICc asks."""
        return self.n_parameters < self.n_objects - 1.0

    def coincides_with(self, other: "MixtureFit") -> bool:
        """Whether this is the same mixture under another name, as for many with one cluster."""
        mine, its = ((fit.n_clusters, fit.n_parameters) for fit in (self, other))
        gap = abs(self.loglik - other.loglik)
        return mine == its and gap <= ROUNDING * (1.0 + abs(other.loglik))

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

    @property
    def aicc(self) -> float:
        """AIC for small samples [HT89]_: larger is better.

        It is minus infinity unless objects outnumber parameters by more than one.

        References
        ----------
        .. [HT89] Hurvich, Tsai: Regression and time series model selection in small samples.
           Biometrika 76, 1989.
        """
        if not self.is_determined:
            return -np.inf
        k, left = self.n_parameters, self.n_objects - self.n_parameters - 1.0
        return self.aic - 2.0 * k * (k + 1.0) / left

    def posteriors(self, X: Any) -> Array:
        """Posterior probabilities of the components, shape (n, c).

        In a mixture with noise a row sums to less than 1: what is missing is the probability that
        the object is an outlier, and belongs to no component.
        """
        return self.posteriors_of(self.columns.read(X).values)

    def posteriors_of(self, values: Array) -> Array:
        """`posteriors` of checked values (n, d), in which categories are codes."""
        return score(self.family, self.internal, values)[0]

    def predict(self, X: Any) -> IntArray:
        """Most probable component of each object; -1 if it is more probably an outlier."""
        return most_probable(self.posteriors(X))

    def log_density(self, X: Any) -> Array:
        """Log density of each object under the mixture."""
        return score(self.family, self.internal, self.columns.read(X).values)[1]

    def sample(
        self, n: int, random_state: int | np.random.Generator | None = None
    ) -> tuple[Array, IntArray]:
        """Draw n objects; return them and the components they came from, -1 for an outlier."""
        n = check_integer("n", n, at_least=1)
        return self.family.sample(self.internal, n, random_generator(random_state))

    def __repr__(self) -> str:
        return (
            f"MixtureFit({self.model}, n_clusters={self.n_clusters}, loglik={self.loglik:.3f}, "
            f"bic={self.bic:.3f}, status={self.status.name.lower()})"
        )

    def _repr_html_(self) -> str:
        return fit_html(repr(self), self.params, self.names)


def as_fit(
    answer: Answer, name: str, model: Model, data: WeightedTable, status: Status, columns: Columns
) -> MixtureFit:
    """The public value of an answer."""
    family, params, weights = answer.problem.family, answer.mixture.params, data.weights
    posteriors, log_density = score(family, params, data.values)
    return MixtureFit(
        family=family,
        internal=params,
        model=name,
        structure=model.structure,
        n_parameters=model.n_parameters(family, posteriors.shape[1]),
        loglik=float(weights @ log_density),
        log_certainty=float(weights @ log_certainty(posteriors)),
        n_objects=float(weights.sum()),
        n_iter=int(answer.mixture.n_iter[0]),
        status=status,
        columns=columns,
    )


def fit_mixture(
    X: Any,
    n_clusters: int,
    model: Any = "VVV",
    *,
    start: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    labels: Any = None,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    regularization: str = "fallback",
    noise: bool | str = False,
    n_starts: int = N_STARTS,
    random_state: RandomState = 0,
    missing: str = "error",
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
        VEV EVV VVV, or in one dimension E or V.  "t", "contaminated", "skew-normal" or "skew-t",
        with a scale matrix for each component, or with a structure as in "t-EEE".  "latent-class"
        for categories, "mixed" for numbers and categories, in both of which cells may be missing.
        Or a family of your own, see `MixtureFamily`.
    start : array, optional
        Labels (n,) or responsibilities (n, c) to start from.  By default the best of several
        partitions is used, and the fits of all nested structures are tried as starts too: a
        nested structure is not better, unless every run from it ends in a spurious spike.  For a
        model that does not depend on the units of the columns, these are fitted to scaled columns.
    sample_weight : array of shape (n,), optional
        Weights of the objects; an integer weight does what repeating the row does.
    labels : sequence of length n, optional
        What is known already of the cluster of each object: None or -1 for nothing, a cluster from
        0, or a set of clusters.  Or names of clusters: "A", "A|B", "!C" for any but C; they are
        numbered in alphabetical order.  Component k is then the cluster of label k, and the
        likelihood of an object is the sum over the components that it may belong to.
    tol : float
        EM ends when the log-likelihood rises by less than ``tol (1 + |loglik|)``.  mclust uses
        1e-5; the default is tight because under-converged fits give intervals that are too short.
    max_iter : int
        Limit on the iterations of a run of EM.
    regularization : {"fallback", "none", "pooled"}
        "none" is maximum likelihood, and an error if it does not exist.  "pooled" adds to every
        component one pseudo-observation with the pooled within-cluster covariance.  "fallback"
        does so only if maximum likelihood breaks down, and says so in ``status`` and a warning.
    noise : {False, True, "uniform", "contaminated"}
        Whether there is also a place for outliers, which is no cluster.  True or "uniform" adds a
        component that is uniform over the volume of the data; the model is then called "VVV+noise",
        say, and can be given by this name.  "contaminated" gives each Gaussian component an
        outlying part, whose objects are in no cluster; the model is then "contaminated+noise" for
        VVV, "contaminated-EEE+noise" for EEE.
    n_starts : int
        Number of starting partitions: model-based agglomeration, and Ward's method on scaled data,
        on sphered data, and on the data as they are or, for models that do not depend on the units
        of the columns, halfway between scaled and sphered; then k-means from k-means++ seeds.
        With noise, also as many partitions of the objects that do not look like outliers.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed of the k-means starts, used only if ``n_starts`` is above 4, and of the subsample that
        a search of more than 20 000 objects begins with; the others are deterministic.
    missing : {"error", "model"}
        What to do with numbers that are missing (NaN).  "model" fits Gaussian, "t" and
        "contaminated" mixtures to the cells that are seen, and takes the others as missing at
        random; new objects may then have missing cells too.

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
    table, chosen = read(X, "model", model, several=False, missing=missing)
    chosen = with_noise(chosen, noise, ONE_MODEL)
    c = check_integer("n_clusters", n_clusters, at_least=1)
    options = SearchOptions.check(Limits.check(tol, max_iter), n_starts, random_state)
    check_choice("regularization", regularization, REGULARIZATIONS)
    data = WeightedTable.check(table, sample_weight)
    known = KnownLabels.check(labels, len(data.weights))
    known.numbers([c], is_auto=False)
    resp = None if start is None else check_start(start, data.weights, c)
    return fit_one(data, c, chosen, options, regularization, resp, known)


def fit_one(
    data: WeightedTable,
    c: int,
    chosen: Mapping[str, Model],
    options: SearchOptions,
    regularization: str,
    resp: Array | None = None,
    known: KnownLabels = NOTHING,
) -> MixtureFit:
    """`fit_mixture` with checked arguments; ``resp`` (c, n) are responsibilities to start from."""
    ((name, model),) = chosen.items()
    screening, cell = screen(data, chosen, [c]), (c, name)
    if cell in screening.refused:
        refused = f" {name!r} cannot be fitted: {screening.refused[cell]}. "
        remedy = "Leave columns out, or fit a more constrained model."
        raise DataError(Name("model"), refused, remedy)
    screening.warn()
    rule = REGULARIZATIONS[regularization]
    weights, columns = data.weights, Columns.of(data.table)
    data, place = gathered(known.attach_weighted(data))
    resp = None if resp is None else average(known.restricted(resp), weights, place)
    with one_blas_thread():
        if resp is None:
            # The prior of "pooled" is made of the responsibilities of all objects.
            measured = known.detach(data.table)
            part = data if rule.is_asked else subsample(data, options.seed, measured)
            search = begin_search(data, part, [c], chosen, options, known)
            first = responsibilities(search.starts[0][c], c)
        else:
            search = Search(model_sets(known.models(chosen), data, chosen), data, data, [])
            first = resp
        # Sets are in the order of the table of models: the last is the chosen model's, the others
        # only provide starts.
        *smaller, last = search.sets
        plain = last.problem
        if rule.is_asked:
            last = last.regularised(first)
            search = search._replace(sets=[*smaller, last])
        if resp is None:  # one cell: the criterion does not matter
            answer = search.run([cell], "bic", options.limits).answers[cell]
        else:
            answer = FamilySearch(last, [c], options.limits).run_alone(cell, first)
        is_broken = bool(answer.mixture.is_degenerate[0] or (resp is None and answer.flaw))
        if is_broken and rule.is_fallback:
            answer = search.run_regularised(cell, first, options.limits)
    if (is_broken and not rule.is_fallback) or answer.mixture.is_degenerate[0]:
        raise DegenerateMixtureError(
            f"No mixture of {c} components with model {name!r} can be fitted: {answer.flaw}. "
            f"Fit fewer clusters or a more constrained model{rule.remedy}."
        )
    status = Status.REGULARISED if rule.is_asked or is_broken else answer.status
    # The fit has the family without the prior: each replicate decides whether it needs one.
    fit = as_fit(answer._replace(problem=plain), name, model, data, status, columns)
    warn_user(fit, answer, is_asked=rule.is_asked)
    return fit


def begin_search(
    data: WeightedTable,
    part: WeightedTable,
    numbers: Sequence[int],
    chosen: Mapping[str, Model],
    options: SearchOptions,
    known: KnownLabels,
) -> Search:
    """The search among models that starts on a part of distinct objects with what is known of them.

    Models that link the chosen ones by nesting are fitted too, so that no nested one is better.
    """
    X = completed(known.detach_weighted(part).table)
    X = X - middle(X)  # exact: sums over data far from the origin would lose digits
    is_unit_free = all(model.is_unit_free for model in chosen.values())
    how = numbers, options.n_starts, options.seed, UNIT_FREE if is_unit_free else WITH_UNITS
    starts = starting_partitions(X, *how)
    if any(model.has_noise for model in chosen.values()):
        starts += starts_without_outliers(X, *how)
    sets = model_sets(known.models(taking_part(chosen)), data, chosen)
    return Search(sets, data, part, known.starts(starts, part))


def warn_user(fit: MixtureFit, answer: Answer, *, is_asked: bool) -> None:
    """Warn once of what a user should know of a fit."""
    if fit.status == Status.REGULARISED and not is_asked:
        warning = DegeneracyWarning(
            f"Maximum likelihood broke down for model {fit.model!r} with {fit.n_clusters} "
            "clusters (a component became singular, a spurious spike, or empty); one "
            "pseudo-observation of the pooled covariance was added to each component."
        )
        warn_caller(warning)
    elif answer.flaw:
        warn_caller(DegeneracyWarning(f"In this fit {answer.flaw}."))
    warn_unless_converged(answer.status, fit.n_iter)


def warn_unless_converged(status: Status, n_iter: int) -> None:
    """Warn of a fit whose EM stopped at its limit."""
    if status == Status.NOT_CONVERGED:
        stopped = f"EM did not converge in {n_iter} iterations; raise "
        warn_caller(ConvergenceWarning(stopped, Name("max_iter"), "."))
