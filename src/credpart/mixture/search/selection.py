"""The number of clusters and the model, by BIC, ICL or AIC."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from credpart._checks import (
    Table,
    check_choice,
    check_cluster_numbers,
    check_integer,
    check_positive,
    check_weights,
)
from credpart._columns import as_numbers
from credpart._errors import DegenerateMixtureError
from credpart._progress import Progress
from credpart._threads import one_blas_thread
from credpart.mixture.fit import (
    CRITERIA,
    N_STARTS,
    MixtureFit,
    as_fits,
    check_seed,
)
from credpart.mixture.models import read, taking_part
from credpart.mixture.notebook import selection_html
from credpart.mixture.optimisation.em import DEFAULT_TOLERANCE, MAX_ITERATIONS
from credpart.mixture.screening import screen
from credpart.mixture.search.initialisation import starting_partitions
from credpart.mixture.search.model_grid import Cell, Outcome, Setting, set_up
from credpart.mixture.search.multistart import search_all

if TYPE_CHECKING:
    import pandas as pd

AUTO = range(1, 10)
EQUAL = 1e-6  # difference of criteria that is rounding: with one cluster, structures coincide


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

    @property
    def best(self) -> MixtureFit:
        """The fit with the largest criterion; of equals the one with fewest parameters."""
        values = {cell: fit.criterion(self.criterion) for cell, fit in self.fits.items()}
        largest = max(values.values())
        equals = [fit for cell, fit in self.fits.items() if values[cell] >= largest - EQUAL]
        return min(equals, key=lambda fit: fit.n_parameters)  # the first of the smallest

    @property
    def table(self) -> "pd.DataFrame":
        """The criterion: a row a number of clusters, a column a model; NaN is not fitted."""
        return self.tabulate(self.criterion)

    def tabulate(self, criterion: str) -> "pd.DataFrame":
        """The table of another criterion."""
        import pandas as pd

        check_choice("criterion", criterion, CRITERIA)
        values = {
            model: [
                self.fits[c, model].criterion(criterion) if (c, model) in self.fits else np.nan
                for c in self.numbers
            ]
            for model in self.models
        }
        return pd.DataFrame(values, index=pd.Index(self.numbers, name="n_clusters"))

    def __repr__(self) -> str:
        best = self.best
        return (
            f"Selection({len(self.fits)} fits, {len(self.missing)} missing; best by "
            f"{self.criterion}: {best.model}, n_clusters={best.n_clusters})"
        )

    def _repr_html_(self) -> str:
        cell = self.best.n_clusters, self.best.model
        return selection_html(repr(self), self.table, cell, self.missing)


def select_mixture(
    X: Any,
    n_clusters: int | Iterable[int] | str = AUTO,
    models: Any = "auto",
    criterion: str = "bic",
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = DEFAULT_TOLERANCE,
    max_iter: int = MAX_ITERATIONS,
    n_starts: int = N_STARTS,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> Selection:
    """Fit mixtures for several numbers of clusters and models, and choose by a criterion.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    n_clusters : int, iterable of int, or "auto"
        Numbers of clusters to try; "auto" is 1 to 9.
    models : str or sequence of str
        Names of models as in `fit_mixture`, of any families side by side, as in ``("VVV", "t",
        "skew-t")``, and families of your own.  "auto" is all 14 Gaussian covariance structures,
        or E and V in one dimension; for a DataFrame with columns of type category, bool or text
        it is "latent-class" or "mixed".
    criterion : {"bic", "icl", "aic"}
        What to maximise, with the sign of mclust.
    sample_weight, tol, max_iter, n_starts, random_state
        As in `fit_mixture`.
    progress : callable, optional
        Called with the name of a stage and the share of it that is done.

    Returns
    -------
    Selection
        The fits, the table of the criterion, the best fit, and why a cell is missing.

    Notes
    -----
    A component that collapses onto too few objects has a likelihood without bound.  A fit is
    refused if a component is singular relative to the pooled within-cluster covariance, or is a
    spurious spike: flat (relative variance below 1e-3) and so small that chance explains it.
    All models also start from what the models nested in them found, so that a nested model
    never has a higher likelihood, unless the way up from it ends in a refused fit.  Of t and skew
    mixtures this is so up to what the cap on degrees of freedom costs normal tails, some hundredths
    of log-likelihood; skew mixtures maximise a penalised likelihood, and the law holds for that.

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
    table, rows = read(X, "models", models)
    numbers = check_cluster_numbers(n_clusters, auto=AUTO)
    check_choice("criterion", criterion, CRITERIA)
    weights = check_weights("sample_weight", sample_weight, len(table.values))
    n_starts = check_integer("n_starts", n_starts, at_least=1)
    limits: dict[str, Any] = {
        "tol": check_positive("tol", tol),
        "max_iter": check_integer("max_iter", max_iter, at_least=1),
        "progress": progress,
    }
    seed = check_seed(random_state)
    screening = screen(table, rows, numbers, weights)
    refused = screening.refused
    cells = [cell for cell in product(numbers, rows) if cell not in refused]
    if not cells:
        raise ValueError(
            f"None of the models can be fitted: {next(iter(refused.values()))}. "
            "Leave columns out, or try more constrained models."
        )
    screening.warn()

    # models in between take part, so that no nested one is better
    carried = {model for _, model in cells}
    fitted = {name: row for name, row in rows.items() if name in carried}
    with one_blas_thread():
        settings = set_up(taking_part(fitted), table, weights)
        starts = starting_partitions(as_numbers(table), weights, numbers, n_starts, seed)
        found = search_all(settings, starts, **limits)
    missing = refused | {cell: found[cell].flaw for cell in cells if found[cell].flaw}
    fits = all_fits(settings, [found[cell] for cell in cells if cell not in missing], table)
    if not fits:
        raise DegenerateMixtureError(
            f"No model could be fitted; for example {cells[0]}: {missing[cells[0]]}. "
            "Fit fewer clusters, or a more constrained model."
        )
    return Selection(fits, missing, criterion, tuple(numbers), tuple(rows))


def all_fits(
    settings: Sequence[Setting], outcomes: Sequence[Outcome], table: Table
) -> dict[Cell, MixtureFit]:
    """The public values of outcomes, in their order; those of one shape are made together."""
    homes = {model: i for i, setting in enumerate(settings) for model in setting.models}
    shapes: dict[tuple[int, int], list[Outcome]] = {}
    for outcome in outcomes:
        c, model = outcome.cell
        shapes.setdefault((homes[model], c), []).append(outcome)
    made = [as_fits(settings[home], alike, table) for (home, _), alike in shapes.items()]
    fits = {(fit.n_clusters, fit.model): fit for fit in chain.from_iterable(made)}
    return {outcome.cell: fits[outcome.cell] for outcome in outcomes}
