"""
Few objects, and many
=====================

Twelve round clusters on a grid touch their neighbours.  An object in doubt is undecided if the data
do not tell yet, and overlapping if it lies between two clusters whatever the data.
"""

# %%
# With 120 objects half of them are undecided; with 3000 the clusters are as good as known, and
# nearly all doubt that is left is overlap.
import matplotlib.pyplot as plt
import numpy as np

from credpart import CalibratedClustering, plot

grid = np.array([(i, j) for i in range(4) for j in range(3)], dtype=float)
figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
for n, ax in zip((120, 3000), panels, strict=True):
    rng = np.random.default_rng(0)
    X = 4.0 * grid[rng.integers(12, size=n)] + rng.standard_normal((n, 2))
    model = CalibratedClustering(12, model="EII", n_replicates=200, random_state=0).fit(X)
    plot.doubt(model.partition_, ax=ax)
    # The line below the title is for the note.
    ax.set_title(f"{n} objects of twelve touching clusters\n", fontsize="medium")
    print(n, model.partition_.doubt_counts())
plt.show()
