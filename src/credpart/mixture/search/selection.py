"""The number of clusters and the model, by BIC, ICL or AIC."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from credpart._checks import WeightedTable, check_choice, check_cluster_numbers
from credpart._columns import Columns
from credpart._progress import Progress, silent
from credpart._random import RandomState
from credpart.errors import DataError, DegenerateMixtureError
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.distinct import gathered
from credpart.mixture.fit import (
    N_STARTS,
    MixtureFit,
    SearchOptions,
    as_fit,
    begin_search,
    warn_unless_converged,
)
from credpart.mixture.known_labels import NOTHING, KnownLabels
from credpart.mixture.models import Model, read, with_noise
from credpart.mixture.notebook import selection_html
from credpart.mixture.optimisation import DEFAULT_TOLERANCE, MAX_ITERATIONS, Limits
from credpart.mixture.screening import screen
from credpart.mixture.search.grid_search import Cell
from credpart.mixture.search.subsample import subsample

if TYPE_CHECKING:
    import pandas as pd

AUTO = range(1, 10)
# Criteria closer than this count as equal: with one cluster several structures give the same
# covariance.
EQUAL = 1e-6


@dataclass(frozen=True, slots=True)
class Selection:
    """Fits of all models and numbers of clusters that were tried.

    Attributes
    ----------
    fits : dict
        `MixtureFit` by (number of clusters, model).
    missing : dict
        Why a cell has no fit, by (number of clusters, model).
    criterion : str
        The criterion that ``table`` shows and ``best`` maximises: larger is better.

    Examples
    --------
    >>> from credpart import select_mixture
    >>> from credpart.datasets import load_iris
    >>> select_mixture(load_iris().X, [2, 3], ["EEE", "VEV"])
    Selection(4 fits, 0 missing; best by bic: VEV, n_clusters=2)
    """

    fits: Mapping[Cell, MixtureFit]
    missing: Mapping[Cell, str]
    criterion: str
    numbers: tuple[int, ...]
    models: tuple[str, ...]

    @classmethod
    def of_one(cls, fit: MixtureFit, criterion: str) -> "Selection":
        """The selection of a fit where there was nothing to choose."""
        return cls({fit.cell: fit}, {}, criterion, (fit.n_clusters,), (fit.model,))

    @property
    def best(self) -> MixtureFit:
        """The fit with the largest criterion; of equals the one with fewest parameters."""
        values = {cell: fit.criterion(self.criterion) for cell, fit in self.fits.items()}
        largest = max(values.values())
        equals = [fit for cell, fit in self.fits.items() if values[cell] >= largest - EQUAL]
        return min(equals, key=lambda fit: fit.n_parameters)  # the first of the smallest

    @property
    def table(self) -> "pd.DataFrame":
        """The criterion: one row for each number of clusters, one column for each model."""
        return self.tabulate(self.criterion)

    def tabulate(self, criterion: str) -> "pd.DataFrame":
        """The table of another criterion."""
        import pandas as pd

        check_choice("criterion", criterion, CRITERIA)
        values = {cell: fit.criterion(criterion) for cell, fit in self.fits.items()}
        rows = [[values.get((c, model), np.nan) for model in self.models] for c in self.numbers]
        index = pd.Index(self.numbers, name="n_clusters")
        return pd.DataFrame(rows, index=index, columns=list(self.models))

    def __repr__(self) -> str:
        best = self.best
        return (
            f"Selection({len(self.fits)} fits, {len(self.missing)} missing; best by "
            f"{self.criterion}: {best.model}, n_clusters={best.n_clusters})"
        )

    def _repr_html_(self) -> str:
        return selection_html(repr(self), self.table, self.best.cell, self.missing)


def select_mixture(
    X: Any,
    n_clusters: int | Iterable[int] | str = AUTO,
    models: Any = "auto",
    criterion: str = "bic",
    *,
    sample_weight: ArrayLike | None = None,
    noise: bool | str = False,
    labels: Any = None,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    n_starts: int = N_STARTS,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    missing: str = "error",
) -> Selection:
    """Fit mixtures for several numbers of clusters and models, and choose by a criterion.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    n_clusters : int, iterable of int, or "auto"
        Numbers of clusters to try; "auto" is 1 to 9, or with labels at least as many as these name.
    models : str or sequence of str
        Names of models as in `fit_mixture`, of any families side by side, as in ``("VVV", "t",
        "skew-t")``, and families of your own.  "auto" is all 14 Gaussian covariance structures,
        or E and V in one dimension; for a DataFrame with columns of type category, bool or text
        it is "latent-class" or "mixed".
    criterion : {"bic", "icl", "aic"}
        What to maximise, with the sign of mclust.
    noise : {False, True, "uniform", "contaminated", "auto"}
        Whether mixtures have a place for outliers, as in `fit_mixture`.  "auto" fits each model
        without and with uniform noise, as "VVV" and "VVV+noise", and the criterion chooses.
    sample_weight, labels, tol, max_iter, n_starts, random_state
        As in `fit_mixture`.
    n_jobs : int, optional
        Number of parallel jobs, as in joblib.  The result does not depend on it.
    progress : callable, optional
        Called with the name of a stage and the share of it that is done.
    missing : {"error", "model"}
        What to do with numbers that are missing, as in `fit_mixture`.

    Returns
    -------
    Selection
        The fits, the table of the criterion, the best fit, and why a cell is missing.

    Notes
    -----
    A component that collapses onto too few objects has a likelihood without bound.  A fit is
    refused if a component is singular relative to the pooled within-cluster covariance, or is a
    spurious spike: flat (relative variance below 1e-3) and so small that chance explains it.  A
    fit is also refused if a component has no objects.
    All models also start from what the models nested in them found, so that a nested model
    never has a higher likelihood, unless every run that starts from it ends in a refused fit.  For
    t and skew mixtures this holds up to some hundredths of log-likelihood, since the degrees of
    freedom are capped.  For skew mixtures it holds for the penalised likelihood, which is what
    they maximise.

    More than 20 000 distinct objects are searched in two stages: on a stratified subsample of some
    10 000, and then on all objects for the best model of each number of clusters and for all
    models that have a real chance to be chosen.  The others are missing, and say why.

    Examples
    --------
    >>> from credpart import select_mixture
    >>> from credpart.datasets import load_iris
    >>> selection = select_mixture(load_iris().X, 3)
    >>> selection.best.model
    'VEV'
    >>> selection.table.loc[3, ["VEV", "VVV"]].round(1).tolist()
    [-562.6, -580.8]
    """
    table, chosen = read(X, "models", models, missing=missing)
    chosen = with_noise(chosen, noise)
    numbers = check_cluster_numbers(n_clusters, auto=AUTO)
    check_choice("criterion", criterion, CRITERIA)
    data = WeightedTable.check(table, sample_weight)
    known = KnownLabels.check(labels, len(data.weights))
    numbers = known.numbers(numbers, is_auto=isinstance(n_clusters, str) or n_clusters is AUTO)
    options = SearchOptions.check(Limits.check(tol, max_iter), n_starts, random_state, n_jobs)
    selection = select(data, numbers, chosen, options, criterion, progress, known=known)
    warn_unless_converged(selection.best.status, selection.best.n_iter)
    return selection


def select(
    data: WeightedTable,
    numbers: Sequence[int],
    chosen: Mapping[str, Model],
    options: SearchOptions,
    criterion: str,
    progress: Progress | None = None,
    like: MixtureFit | None = None,
    known: KnownLabels = NOTHING,
) -> Selection:
    """`select_mixture` with checked arguments.

    The clusters of the fit ``like`` take the place of the first partition to start from, if each
    of them is the most probable one of some object.
    """
    screening = screen(data, chosen, numbers)
    refused = screening.refused
    cells = [cell for cell in product(numbers, chosen) if cell not in refused]
    if not cells:
        raise DataError(
            f"None of the models can be fitted: {next(iter(refused.values()))}. "
            "Leave columns out, or try more constrained models."
        )
    screening.warn()
    columns = Columns.of(data.table)
    data, _ = gathered(known.attach_weighted(data))

    carried = {model for _, model in cells}
    fitted = {name: row for name, row in chosen.items() if name in carried}
    part = subsample(data, options.seed, known.detach(data.table))
    search = begin_search(data, part, numbers, fitted, options, known)
    if like is not None and like.n_clusters in numbers:
        labels = like.posteriors_of(part.values).argmax(axis=1)
        if len(np.unique(labels)) == like.n_clusters:  # an empty cluster would stay empty
            search.starts[0][like.n_clusters] = labels
    found, left_out = search.run(
        cells, criterion, options.limits, options.n_jobs, progress or silent
    )
    flaws = {cell: found[cell].flaw for cell in cells if cell in found and found[cell].flaw}
    missing = refused | left_out | flaws
    fits = {
        (c, name): as_fit(found[c, name], name, chosen[name], data, found[c, name].status, columns)
        for c, name in cells
        if (c, name) not in missing
    }
    if not fits:
        raise DegenerateMixtureError(
            f"No model could be fitted; for example {cells[0]}: {missing[cells[0]]}. "
            "Fit fewer clusters, or a more constrained model."
        )
    return Selection(fits, missing, criterion, tuple(numbers), tuple(chosen))
