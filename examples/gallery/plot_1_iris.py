"""
Iris: which flowers are between two species?
============================================

The data have three species; two of them overlap.  The partition says which flowers can be told,
which cannot, and between which clusters these are.
"""

# %%
# The model, the number of clusters and the confidence level are the only choices.
from credpart import CalibratedClustering, plot
from credpart.datasets import load_iris

iris = load_iris()
model = CalibratedClustering(3, model="VEV", n_replicates=200, random_state=0).fit(iris.X)
print(model.partition_.summary())

# %%
# Solid lines surround the lower approximations of the clusters, the flowers whose set of maximum
# mass is one cluster; broken lines surround the upper approximations, those whose set contains the
# cluster.  Symbols are the true species, which the fit did not see.
plot.partition(model.partition_, iris.X, features=("petal_length", "petal_width"), classes=iris.y)

# %%
# The mass functions of the least specific flowers.  Hatched mass is mass of "one of these two".
plot.memberships(model.partition_, most=40)
