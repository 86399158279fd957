"""What the experiments with real data share: partitions named for classes, draws of replicates."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from benchmarks.paper import mclust
from benchmarks.paper.bench import Bench, Result, Section
from credpart import CalibratedClustering, EvidentialPartition, fit_mixture, plot
from credpart.datasets import Dataset, load
from credpart.focal import set_names
from credpart.metrics import confusion

Confusion = Mapping[str, Mapping[str, int]]  # counts by set and class

ARMS = {  # how the paper did it, and what the library does by default
    "paper": {"selection": "once"},  # and mclust's tolerance
    "tight": {"selection": "once"},
    "each": {"selection": "each"},
}


def named(partition: EvidentialPartition, classes: Any) -> EvidentialPartition:
    """The partition with its clusters named for the classes, and in their order."""
    names, codes = np.unique(classes, return_inverse=True)
    common = np.zeros((len(names), partition.n_clusters))
    np.add.at(common, (codes, partition.labels), 1)
    _, order = linear_sum_assignment(common, maximize=True)
    index = range(1, partition.n_objects + 1)  # the paper counts objects from 1
    focal = partition.focal_sets[:, order]
    rows = np.lexsort((*(~focal[:, ::-1]).T, focal.sum(axis=1)))  # by size, then by class
    masses = partition.masses[:, rows]
    return EvidentialPartition(masses, focal[rows], cluster_names=names, index=index)


def counts(partition: EvidentialPartition, classes: Any) -> dict[str, dict[str, int]]:
    """Objects of each class in each set, by name."""
    table = confusion(partition, classes)
    return {str(name): column.to_dict() for name, column in table.items()}


def mass_functions(partition: EvidentialPartition, objects: list[int]) -> dict[str, Any]:
    """Masses of some objects (counted from 1), by the name of the set."""
    names = set_names(partition.focal_sets, partition.cluster_names)
    rows = partition.masses[[i - 1 for i in objects]]
    functions = [dict(zip(names, row.tolist(), strict=True)) for row in rows]
    return dict(zip(map(str, objects), functions, strict=True))


def calibrated(dataset: str, model: str, arm: str, seed: int, replicates: int) -> Any:
    """The data set, the fitted estimator and its partition named for the classes."""
    data: Dataset = load(dataset)
    options: dict[str, Any] = {"model": "auto" if arm == "each" else model, **ARMS[arm]}
    if arm == "paper":
        options["tol"] = mclust.tolerance(data.X, fit_mixture(data.X, 3, model).loglik)
    estimator = CalibratedClustering(3, n_replicates=replicates, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # degenerate replicates are counted
        estimator.fit(data.X)
    return data, estimator, named(estimator.partition_, data.y)


def one_draw(
    dataset: str, model: str, arm: str, seed: int, replicates: int, objects: list[int]
) -> Result:
    """One draw of the replicates: confusion, some mass functions, and what else is compared."""
    data, estimator, partition = calibrated(dataset, model, arm, seed, replicates)
    return {
        "confusion": counts(partition, data.y),
        "masses": mass_functions(partition, objects),
        "objective": estimator.objective_,
        "length": float(estimator.intervals_.length.mean()),
        "chosen": estimator.replicates_.chosen(),
        "status": estimator.replicates_.counts(),
    }


def draws(bench: Bench, dataset: str, model: str, objects: list[int]) -> dict[str, list[Result]]:
    """Several draws of the replicates, by arm."""
    seeds = range(bench.size(1, 10))
    replicates = bench.size(40, 1000)
    cases = [
        {
            "dataset": dataset,
            "model": model,
            "arm": arm,
            "seed": seed,
            "replicates": replicates,
            "objects": objects,
        }
        for arm in ARMS
        for seed in seeds
    ]
    results = bench.map(dataset, one_draw, cases)
    return {
        arm: [r for r, case in zip(results, cases, strict=True) if case["arm"] == arm]
        for arm in ARMS
    }


def add_arms(section: Section, found: dict[str, list[Result]]) -> None:
    """Add how many objects are ambiguous and wrong, by arm: the paper has nothing beside it."""
    rows = []
    for arm, results in found.items():
        tables = [result["confusion"] for result in results]
        between = np.mean([_count(table, lambda name, _: "," in name) for table in tables])
        wrong = np.mean([_count(table, _is_wrong) for table in tables])
        length = np.mean([result["length"] for result in results])
        rows.append([arm, f"{between:.1f}", f"{wrong:.1f}", f"{length:.4f}"])
    section.table(["arm", "between clusters", "in a wrong cluster", "mean length of CI"], rows)


def _is_wrong(name: str, kind: str) -> bool:
    return "," not in name and name != f"{{{kind}}}"


def _count(table: Confusion, wanted: Callable[[str, str], bool]) -> int:
    return sum(
        count
        for name, column in table.items()
        for kind, count in column.items()
        if wanted(name, kind)
    )


def standardized(X: pd.DataFrame) -> pd.DataFrame:
    """Columns with mean 0 and standard deviation 1, as R's ``scale`` makes them."""
    return (X - X.mean()) / X.std()


def matrix_of(draw: Any, value: Any, X: Any, **options: Any) -> Figure:
    """The figure of a scatter-plot matrix."""
    plot.scatter_matrix(draw, value, X, **options)
    return plt.gcf()
