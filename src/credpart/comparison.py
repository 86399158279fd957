"""Several methods on one data set, in one table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from credpart import metrics
from credpart._checks import check_choice, check_data, check_integer
from credpart._messages import Message, Name
from credpart.clustering import CalibratedClustering
from credpart.ecm import ECM, RECM
from credpart.errors import InputError, InputTypeError
from credpart.evclus import EVCLUS
from credpart.partition import EvidentialPartition

METHODS: Mapping[str, Callable[[int, Any], Any]] = {  # (n_clusters, random_state) -> estimator
    "calibrated": lambda c, seed: CalibratedClustering(c, random_state=seed),
    "ecm": lambda c, seed: _scaled(ECM(c, focal_sets="overlapping", random_state=seed)),
    "recm": lambda c, seed: _scaled(RECM(c, focal_sets="overlapping", random_state=seed)),
    "evclus": lambda c, seed: _scaled(
        EVCLUS(c, n_neighbors=100, focal_sets="overlapping", random_state=seed)
    ),
}
COMMON = ("calibrated", "ecm", "evclus")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    table : DataFrame
        A row a method.  "clusters" and "focal_sets" count them; "sure", "overlapping",
        "undecided" and "outlying" are shares of the objects, by `EvidentialPartition.doubt`;
        "nonspecificity" is the mean one; "seconds" is the time of the fit.  If classes were
        given: "adjusted_rand" of the most plausible clusters, "credal_rand" with the classes, and
        "misplaced", the share of objects whose set of highest mass does not contain their class.
    agreement : DataFrame
        Credal Rand index between each two methods.
    partitions : dict
        The `EvidentialPartition` of each method.

    Examples
    --------
    >>> from credpart import compare
    >>> from credpart.datasets import load_butterfly
    >>> compare(load_butterfly().X, n_clusters=2, methods=["ecm", "evclus"])
    Comparison(ecm, evclus)
    """

    table: pd.DataFrame
    agreement: pd.DataFrame
    partitions: dict[str, EvidentialPartition]

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.partitions)})"


def compare(
    X: Any,
    methods: Iterable[str] | Mapping[str, Any] = COMMON,
    *,
    n_clusters: int | None = None,
    y: ArrayLike | None = None,
    random_state: Any = None,
) -> Comparison:
    """Fit several methods to one data set, and put what they found side by side.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        The objects.
    methods : names, or dict of estimators
        Of "calibrated", "ecm", "recm" and "evclus"; the last three on standardised attributes,
        with singletons and pairs of overlapping clusters, EVCLUS with the set of all clusters
        too and 100 random pairs an object.  Or estimators by any name: they are cloned, and may
        be pipelines that end in one with a ``partition_``.
    n_clusters : int
        Number of clusters of the methods that are named.
    y : labels of shape (n,), optional
        Known classes, which no method sees.
    random_state : int, RandomState, Generator or None
        Seed of the methods that are named.

    Returns
    -------
    Comparison
        Its `table`, `agreement` and `partitions`.

    Examples
    --------
    >>> from credpart import compare
    >>> from credpart.datasets import load_iris
    >>> iris = load_iris()
    >>> found = compare(iris.X, ["ecm", "evclus"], n_clusters=3, y=iris.y, random_state=0)
    >>> found.table[["outlying", "adjusted_rand"]].round(2)
            outlying  adjusted_rand
    method
    ecm         0.00           0.62
    evclus      0.19           0.61
    """
    estimators = _estimators(methods, n_clusters, random_state)
    check_data(X, at_least=2)
    partitions, seconds = {}, {}
    for name, estimator in estimators.items():
        began = perf_counter()
        partitions[name] = _partition(name, estimator.fit(X))
        seconds[name] = perf_counter() - began
    rows = {
        name: _describe(partition, y) | {"seconds": seconds[name]}
        for name, partition in partitions.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return Comparison(table, _agreement(partitions), partitions)


def _scaled(estimator: Any) -> Pipeline:
    return make_pipeline(StandardScaler(), estimator)


def _estimators(
    methods: Iterable[str] | Mapping[str, Any], n_clusters: int | None, random_state: Any
) -> dict[str, Any]:
    """Unfitted estimators by name."""
    if isinstance(methods, Mapping):
        found = {str(name): clone(estimator) for name, estimator in methods.items()}
    else:
        named = [methods] if isinstance(methods, str) else methods
        c = check_integer("n_clusters", n_clusters, at_least=1)
        found = {
            name: METHODS[check_choice("methods", name, METHODS)](c, random_state) for name in named
        }
    if not found:
        raise InputError("methods", "name at least one method", Message("none"))
    return found


def _partition(name: str, model: Any) -> EvidentialPartition:
    last = model[-1] if isinstance(model, Pipeline) else model
    partition = getattr(last, "partition_", None)
    if not isinstance(partition, EvidentialPartition):
        requirement = Message("have a ", Name("partition_"), " once fitted")
        got = Message(f"{type(last).__name__} for {name!r}")
        raise InputTypeError("methods", requirement, got)
    return partition


def _describe(partition: EvidentialPartition, y: ArrayLike | None) -> dict[str, float]:
    """A row of the table."""
    row: dict[str, float] = {
        "clusters": partition.n_clusters,
        "focal_sets": len(partition.focal_sets),
        **metrics.shares(partition)._asdict(),
        "nonspecificity": metrics.nonspecificity(partition),
    }
    if y is None:
        return row
    return row | {
        "adjusted_rand": metrics.adjusted_rand(partition, y),
        "credal_rand": metrics.credal_rand(partition, y),
        "misplaced": metrics.misplaced(partition, y),
    }


def _agreement(partitions: Mapping[str, EvidentialPartition]) -> pd.DataFrame:
    names = list(partitions)
    values = [metrics.credal_rand(partitions[a], partitions[b]) for a, b in product(names, names)]
    rows = [values[i : i + len(names)] for i in range(0, len(values), len(names))]
    return pd.DataFrame(rows, index=pd.Index(names, name="method"), columns=names)
