"""Examples 1 and 2: the butterfly by ECM, and its relational representation (Figures 1-2)."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from benchmarks.paper.bench import PRINTED, Bench, Section
from benchmarks.paper.compare import judge_number
from credpart import ECM, EvidentialPartition, plot
from credpart.datasets import load_butterfly

MATRICES = ("same", "apart", "unknown", "plausibility")
ROUNDING = 0.001  # of numbers made from masses that were rounded to three digits
UNCONVERGED = 0.004  # the printed masses are those of a run that had not converged fully


def butterfly() -> EvidentialPartition:
    """The normalised partition by ECM; cluster 1 is on the right, as in the paper."""
    X = load_butterfly().X
    model = ECM(2, delta=100, random_state=0).fit(X)
    partition = model.partition_.normalize()
    order = np.argsort(-model.centers_[:, 0])
    index = range(1, len(X) + 1)
    return EvidentialPartition(partition.masses, partition.focal_sets[:, order], index=index)


def run(bench: Bench) -> Section:
    """Examples 1 and 2."""
    section = bench.section("Examples 1 and 2: the butterfly (Figures 1-2)")
    printed, partition = PRINTED["example 2"], butterfly()
    sizes = partition.focal_sets.sum(axis=1)
    columns = [
        int(np.flatnonzero((partition.focal_sets == row).all(axis=1))[0])
        for row in ([True, False], [False, True], [True, True])
    ]
    rows = []
    for i, key in ((4, "m4"), (5, "m5")):
        for name, column, value in zip(("{1}", "{2}", "{1,2}"), columns, printed[key], strict=True):
            ours = partition.masses[i - 1, column]
            verdict = section.judge(judge_number(ours, value, UNCONVERGED))
            rows.append([f"m_{i}({name})", f"{ours:.4f}", value, verdict])
    pair = EvidentialPartition([printed["m4"], printed["m5"]], [[1, 0], [0, 1], [1, 1]])
    masses = pair.relational()
    belief, plausibility = (degree[0, 1] for degree in pair.pairwise())
    for name, ours in (
        ("same", masses.same[0, 1]),
        ("apart", masses.apart[0, 1]),
        ("unknown", masses.unknown[0, 1]),
        ("belief", belief),
        ("plausibility", plausibility),
    ):
        verdict = section.judge(judge_number(ours, printed[name], ROUNDING))
        rows.append([f"{name}, from the printed masses", f"{ours:.4f}", printed[name], verdict])
    section.text(
        "ECM with alpha = 1, beta = 2 and delta = 100 on the first 11 rows; the 12th of "
        "other copies is an outlier that the paper leaves out.",
        "Objects 4 and 5, as in Example 2. The printed plausibility .908 adds two rounded masses; "
        "exactly it is .909. The printed masses are those of a run that stopped early: ours are "
        f"at the minimum, within {UNCONVERGED}.",
    )
    section.table(["number", "ours", "paper", "verdict"], rows)
    between = partition.set_labels[5]
    section.text(
        f"Object 6, between the clusters, has mass {partition.masses[5].max():.3f} on a set of "
        f"{sizes[between]} clusters; object 9 has {partition.masses[8].max():.3f} on one cluster."
    )
    section.figure(
        "figure-1",
        lambda: figure_1(partition),
        "Figure 1: the butterfly, and the masses of its objects by ECM with two clusters.",
    )
    section.figure(
        "figure-2",
        lambda: figure_2(partition),
        "Figure 2: the relational representation: masses of 'in the same cluster', of its "
        "negation, of both together, and the plausibility of 'in the same cluster'.",
    )
    return section


def figure_1(partition: EvidentialPartition) -> Figure:
    """The data, and the masses."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    objects = range(partition.n_objects)
    plot.partition(partition, load_butterfly().X, annotate=objects, ax=left)
    plot.memberships(partition, order="index", ax=right)
    return figure


def figure_2(partition: EvidentialPartition) -> Figure:
    """The four matrices."""
    figure, axes = plt.subplots(2, 2, figsize=(8.0, 6.4), layout="constrained")
    for ax, mass in zip(axes.flat, MATRICES, strict=True):
        plot.relational(partition, mass, ax=ax).label_outer()
    return figure
