"""Pictures of fits, selections, replicates, intervals and partitions, with matplotlib.

Every function draws on ``ax``, or on a new figure, and returns the Axes.  Values know nothing
of their pictures.  Colours can be told apart by colour-blind people, and symbols or names say
what they say once more.  What is left out of a picture, it says.  Displays draw fitted
estimators, by scikit-learn's convention.
"""

import credpart._matplotlib  # noqa: F401  (first)
from credpart.plot.bars import memberships
from credpart.plot.curves import selection
from credpart.plot.densities import density
from credpart.plot.displays import (
    ApproximationDisplay,
    MembershipsDisplay,
    PartitionDisplay,
    SelectionDisplay,
)
from credpart.plot.doubt_map import doubt
from credpart.plot.grid import scatter_matrix
from credpart.plot.heat import profile
from credpart.plot.line import one_column
from credpart.plot.object_maps import classification, partition, uncertainty
from credpart.plot.pairwise import approximation, calibration, pair_histogram, relational

__all__ = [
    "ApproximationDisplay",
    "MembershipsDisplay",
    "PartitionDisplay",
    "SelectionDisplay",
    "approximation",
    "calibration",
    "classification",
    "density",
    "doubt",
    "memberships",
    "one_column",
    "pair_histogram",
    "partition",
    "profile",
    "relational",
    "scatter_matrix",
    "selection",
    "uncertainty",
]
