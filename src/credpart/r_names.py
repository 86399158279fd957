"""The pipeline under the names of the R package evclust, for those who come from it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credpart._arrays import Array
from credpart._checks import check_choice, check_fraction, check_integer
from credpart.clustering import CalibratedClustering
from credpart.errors import InputError
from credpart.mixture import MixtureFit
from credpart.partition import EvidentialPartition

FOCAL_SETS: Mapping[str, str] = {"simple": "singletons", "pairs": "pairs", "full": "full"}
MCLUST: Mapping[str, str] = {"G": "n_clusters", "modelNames": "model"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bootclus:
    """What `bootclus` found, under the names that R gives it.

    Attributes
    ----------
    model : CalibratedClustering
        The fitted estimator: all that R's result lacks, such as ``predict_masses``.

    Examples
    --------
    >>> from credpart import bootclus
    >>> from credpart.datasets import load_butterfly
    >>> result = bootclus(load_butterfly().X, B=100, param={"G": 2, "modelNames": "EII"})
    >>> result.CI.shape, result.BelPl.shape
    ((2, 11, 11), (2, 11, 11))
    """

    model: CalibratedClustering

    def __repr__(self) -> str:
        return f"Bootclus({self.clus.model}, {self.Clus!r})"

    @property
    def clus(self) -> MixtureFit:
        """The fitted mixture; R has an object of class Mclust."""
        return self.model.mixture_

    @property
    def Clus(self) -> EvidentialPartition:
        """The partition; R has an object of class credpart."""
        return self.model.partition_

    @property
    def CI(self) -> Array:
        """Lower and upper confidence bounds on the pairwise probabilities, (2, n, n)."""
        return np.stack(self.model.intervals_.square())

    @property
    def BelPl(self) -> Array:
        """Pairwise belief and plausibility, (2, n, n)."""
        return np.stack(self.model.partition_.pairwise())

    @property
    def Time(self) -> dict[str, float]:
        """Seconds of each stage."""
        return dict(self.model.timings_)


def bootclus(
    x: Any,
    conf: float = 0.9,
    B: int = 500,
    param: Mapping[str, Any] | None = None,
    type: str = "pairs",  # noqa: A002
    Omega: bool = False,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Bootclus:
    """Cluster as R's ``evclust::bootclus`` does, with its names of the arguments.

    As in R, and in the paper, the model is chosen once and then taken as known, which makes the
    intervals too short if it was uncertain: `CalibratedClustering` chooses again in each
    replicate by default.  Unlike R, EM converges tightly, Omega may be a focal set, and two
    clusters, one feature and well-separated clusters work.

    Parameters
    ----------
    x : array or DataFrame of shape (n, d)
        The objects.
    conf : float
        Confidence level, ``level`` elsewhere.
    B : int
        Number of bootstrap samples, ``n_replicates`` elsewhere.
    param : dict, optional
        Arguments of R's ``Mclust``: "G", a number of clusters or several (1 to 9 by default), and
        "modelNames", a model or several (all 14 by default).
    type : {"simple", "pairs", "full"}
        Singletons, singletons and pairs, or all sets of clusters as focal sets.
    Omega : bool
        Whether the set of all clusters may carry mass too.
    random_state : int, RandomState, Generator or None
        Seed of the bootstrap; R has ``set.seed``.
    n_jobs : int, optional
        Jobs, as in joblib.

    Returns
    -------
    Bootclus
        With ``clus``, ``Clus``, ``CI``, ``BelPl`` and ``Time`` as in R, and the estimator.

    Examples
    --------
    >>> from credpart import bootclus
    >>> from credpart.datasets import load_iris
    >>> fit = bootclus(load_iris().X, B=100, param={"G": 3, "modelNames": "VEV"}, random_state=0)
    >>> fit.clus.model, fit.Clus
    ('VEV', EvidentialPartition(n_objects=150, n_clusters=3, n_focal_sets=6))
    """
    level = check_fraction("conf", conf)
    B = check_integer("B", B, at_least=math.ceil(2.0 / (1.0 - level) * (1.0 - 1e-12)))
    kind = FOCAL_SETS[check_choice("type", type, FOCAL_SETS)]
    model = CalibratedClustering(
        **_mclust_arguments(param),
        selection="once",
        n_replicates=B,
        level=level,
        pairs="all",
        focal_sets=kind,
        omega=Omega,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return Bootclus(model.fit(x))


def _mclust_arguments(param: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of Mclust under our names; what R calls NULL is our default."""
    given = {} if param is None else param
    if not isinstance(given, Mapping):
        raise InputError("param", "be a dict of arguments of Mclust", param)
    names = [MCLUST[check_choice("param", name, MCLUST)] for name in given]
    return {
        name: value for name, value in zip(names, given.values(), strict=True) if value is not None
    }
