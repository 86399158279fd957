"""
A mass function, and the numbers that follow from it
====================================================

Three flowers of the Iris data: one that is sure of its cluster, one that is probably in it, and
one of which nobody can say more than "in cluster 2 or 3".
"""

# %%
# The masses, and from them belief and plausibility of each cluster.  The belief is the mass
# of the cluster alone; the plausibility adds what does not speak against it.  The gap between
# the two is ignorance: a probability has none.
import matplotlib.pyplot as plt
import numpy as np

from credpart import CalibratedClustering
from credpart.datasets import load_iris

iris = load_iris()
model = CalibratedClustering(3, model="VEV", n_replicates=200, random_state=0).fit(iris.X)
partition = model.partition_
flowers, doubt = [0, 56, 70], partition.doubt()

figure, panels = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True, layout="constrained")
for ax, row in zip(panels, flowers, strict=True):
    low, high = partition.belief()[row], partition.plausibility()[row]
    places = np.arange(3)
    ax.bar(places, low, color="#0072B2", label="belief")
    ax.bar(places, high - low, bottom=low, color="white", edgecolor="#0072B2", hatch="////",
           label="plausibility - belief")  # fmt: skip
    ax.plot(places, partition.pignistic[row], "k_", markersize=22, label="pignistic probability")
    ax.set_xticks(places, ["cluster 1", "cluster 2", "cluster 3"])
    told = f"{doubt['verdict'].iloc[row]}, belief {doubt['belief'].iloc[row]:.2f}"
    ax.set_title(f"flower {row}: {told}", fontsize="medium")
panels[0].set_ylabel("degree")
panels[0].legend(fontsize="x-small")
plt.show()

# %%
# The same as numbers.
print(partition.to_frame().iloc[flowers].round(2).T)

# %%
# Two objects: are they in the same cluster?
# ------------------------------------------
# The masses of two objects give a belief and a plausibility that they are in the same cluster.
# This interval is what the method is calibrated for: a 90 % confidence interval for the true
# probability.  Two flowers that are together, two that are apart, and two
# of which the data do not tell:
belief, plausibility = partition.pairwise()
for i, j in [(0, 1), (0, 100), (70, 100)]:
    print(f"flowers {i:3} and {j:3}: between {belief[i, j]:.2f} and {plausibility[i, j]:.2f}")
