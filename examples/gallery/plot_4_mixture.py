"""
The mixture behind the clusters
===============================

The four pictures that users of mclust know: how the model was chosen, which component each object
belongs to, where this is uncertain, and the density.  The data are of 145 adults, healthy or with
one of two kinds of diabetes.
"""

# %%
# Six of the 14 covariance structures with one to five clusters.  Larger is better.
import matplotlib.pyplot as plt

from credpart import plot, select_mixture
from credpart.datasets import load_diabetes

diabetes = load_diabetes()
models = ["EII", "VVI", "EEE", "VEV", "EVV", "VVV"]
selection = select_mixture(diabetes.X, range(1, 6), models)
plot.selection(selection)
plt.show()

# %%
# The best of them.  Colours are components, symbols the diagnoses, which the fit did not see.
plot.scatter_matrix(plot.classification, selection.best, diabetes.X, classes=diabetes.y)
plt.show()

# %%
# Large and deep: uncertain.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot.uncertainty(selection.best, diabetes.X, features=("glucose", "sspg"), ax=left)
plot.density(selection.best, diabetes.X, features=("glucose", "sspg"), ax=right)
plt.show()
