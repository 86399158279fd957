"""
A survey: respondents between classes
=====================================

Eight questions with answers in categories, some of them missing, from three latent classes of
respondents.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from credpart import CalibratedClustering, plot
from credpart.datasets import make_survey

survey = make_survey(300, random_state=0, missing=0.05)
model = CalibratedClustering(3, model="latent-class", n_replicates=200, random_state=0)
model.fit(survey.X)
print(model.partition_.summary())

# %%
# Every respondent as a bar.  Only those on the right are sure of their class.
plot.memberships(model.partition_, most=None)
plt.show()

# %%
# What the classes are: the probability of "yes" to each of the five questions that have it.
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
yes = model.mixture_.params.probabilities[:, :5, 1]
image = ax.imshow(yes, cmap="cividis", vmin=0, vmax=1)
ax.set_xticks(range(5), survey.X.columns[:5])
ax.set_yticks(range(3), ["class 1", "class 2", "class 3"])
for (k, j), value in np.ndenumerate(yes):
    ax.text(
        j, k, f"{value:.2f}", ha="center", va="center", color="white" if value < 0.6 else "black"
    )
figure.colorbar(image, ax=ax, label='probability of "yes"')
plt.show()
