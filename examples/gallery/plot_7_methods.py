"""
Three evidential clusterings of one data set
============================================

ECM and EVCLUS describe the geometry of the data; only the calibrated partition is meant to be right
about probabilities.  All give the same kind of value, so that they can be set side by side.
"""

# %%
import matplotlib.pyplot as plt

from credpart import ECM, EVCLUS, CalibratedClustering, compare, plot
from credpart.datasets import make_mixture1

sample = make_mixture1(90, random_state=3)
methods = {
    "calibrated": CalibratedClustering(3, model="EII", n_replicates=200, random_state=0),
    "ECM": ECM(3, delta=5, focal_sets="pairs", random_state=0),
    "EVCLUS": EVCLUS(3, random_state=0),
}
comparison = compare(sample.X, methods, y=sample.y)
print(comparison.table.drop(columns="seconds").round(2).T)

# %%
figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, partition) in zip(panels, comparison.partitions.items(), strict=True):
    plot.partition(partition, sample.X, classes=sample.y, ax=ax)
    ax.set_title(name)
    if ax is not panels[-1]:
        ax.get_legend().remove()
plt.show()
