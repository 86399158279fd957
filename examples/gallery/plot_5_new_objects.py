"""
New objects: where could they not be told?
==========================================

New objects get masses of their own, from the intervals between them and the fitted objects.  Here
they are the points of a grid: the map shows the clusters in their sets of maximum mass.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from credpart import CalibratedClustering, EvidentialPartition, plot
from credpart.datasets import make_mixture3

sample = make_mixture3(150, random_state=0)
model = CalibratedClustering(3, model="VVV", n_replicates=100, random_state=1).fit(sample.X)

x, y = np.linspace(-4, 6, 50), np.linspace(-4, 7, 50)
grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
masses = EvidentialPartition(model.predict_masses(grid), model.partition_.focal_sets)

# %%
# Nonspecificity is 0 where all mass is on single clusters, and grows with the mass on pairs.  The
# dark parts are the borders between clusters, and the regions without objects, where the replicates
# do not agree on the cluster.
figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
doubt = masses.nonspecificity.reshape(len(y), len(x))
image = ax.pcolormesh(x, y, doubt, cmap="Greys", vmin=0, vmax=1, shading="gouraud")
figure.colorbar(image, ax=ax, location="left", label="nonspecificity of a new object")
plot.partition(model.partition_, sample.X, ax=ax)
plt.show()
