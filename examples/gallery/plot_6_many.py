"""
Many clusters, many objects
===========================

Pictures stay legible: of more than 5000 objects colours alone tell the clusters, which have their
names beside them; of more than 20 000 a sample is drawn; and what is left out, a note says.
"""

# %%
# A hundred clusters.  With "overlapping" focal sets only neighbouring clusters share mass.
import matplotlib.pyplot as plt
import numpy as np

from credpart import EvidentialPartition, fit_mixture, focal_sets, plot
from credpart.focal import cluster_similarity

rng = np.random.default_rng(0)
centres = 5 * np.stack(np.meshgrid(np.arange(10), np.arange(10)), axis=-1).reshape(-1, 2)
labels = np.repeat(np.arange(100), 60)
X = centres[labels] + rng.normal(size=(100, 2))[labels] + rng.standard_normal((6000, 2))
fit = fit_mixture(X, 100, "EII", start=labels)
plot.classification(fit, X)
plt.show()

# %%
# Posteriors as masses: what two neighbours share is put on the pair.
posteriors = fit.posteriors(X)
sets = focal_sets(100, "overlapping", similarity=cluster_similarity(posteriors))
masses = np.hstack([posteriors, np.zeros((len(X), len(sets) - 100))])
for column, pair in enumerate(sets[100:], start=100):
    shared = masses[:, :100][:, pair].min(axis=1)
    masses[:, :100][:, pair] -= shared[:, None]
    masses[:, column] = 2 * shared
partition = EvidentialPartition(masses / masses.sum(axis=1, keepdims=True), sets)
plot.partition(partition, X)
plt.show()

# %%
plot.memberships(partition)
plt.show()
