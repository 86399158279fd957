"""A mixture of every family, with known parameters: what the one harness runs on."""

from typing import Any, NamedTuple

import numpy as np

from credpart.mixture.covariance.structures import NAMES
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.families.contaminated import Contaminated, ContaminatedWithNoise
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.latent_class import LatentClass
from credpart.mixture.families.location_scale import LocationScale
from credpart.mixture.families.mixed import Mixed
from credpart.mixture.families.skew import SKEW_NORMAL, SKEW_T
from credpart.mixture.families.standardisation import Standardisation
from credpart.mixture.families.student import T
from examples.gamma_family import Gamma, GammaParams

PROPORTIONS = np.array([[0.4, 0.6]])
LOCATIONS = np.array([[[-1.0, 0.0], [1.0, 0.5]]])
SCALES = np.array([[[[0.3, 0.1], [0.1, 0.2]], [[0.2, -0.1], [-0.1, 0.4]]]])
SKEWNESS = np.array([[[-1.0, 0.6], [0.8, 0.4]]])
DOF = np.array([[4.0, 8.0]])
REGULAR = np.array([[0.8, 0.9]])
INFLATION = np.array([[20.0, 12.0]])
SPACE = Standardisation(
    np.array([3.0, -2.0]), np.array([2.0, 0.5]), np.triu_indices(2), np.full(2, 2.0**-33)
)


class Case(NamedTuple):
    """A family, one mixture of it, and the code of the mixture's structure."""

    family: MixtureFamily[Any]
    params: Any
    structure: int


def gaussian() -> Case:
    family = Gaussian(SPACE)
    second = SCALES + LOCATIONS[..., :, None] * LOCATIONS[..., None, :]
    i, j = SPACE.pairs
    rows = np.concatenate([np.ones((1, 2, 1)), LOCATIONS, second[..., i, j]], axis=-1)
    code = NAMES.index("VVV")
    params = family.m_step(PROPORTIONS[..., None] * rows, np.array([code]), None)
    return Case(family, params, code)


def location_scale(law: Any, structure: str = "VVV") -> Case:
    family = LocationScale(SPACE, law)
    skewness = SKEWNESS * law.is_skew
    dof = DOF if law.bounds else np.full_like(DOF, np.inf)
    scales = SCALES if structure == "VVV" else np.repeat(SCALES[:, :1], 2, axis=1)
    params = family.complete(PROPORTIONS, LOCATIONS, scales, skewness, dof)
    return Case(family, params, NAMES.index(structure))


def contaminated(kind: Any = Contaminated, structure: str = "VVV") -> Case:
    family = kind(SPACE)
    scales = SCALES if structure == "VVV" else np.repeat(SCALES[:, :1], 2, axis=1)
    params = family.complete(PROPORTIONS, LOCATIONS, scales, REGULAR, INFLATION)
    return Case(family, params, NAMES.index(structure))


def latent_class() -> Case:
    levels = (2, 3, 4, 2, 2)
    rng = np.random.default_rng(5)
    counts = np.stack(
        [np.concatenate([rng.dirichlet(np.full(m, 0.7)) for m in levels]) for _ in range(2)]
    )
    family = LatentClass(levels, counts.mean(axis=0), pseudo=1.0)
    rows = np.concatenate([np.ones((1, 2, 1)), counts[None]], axis=-1)
    statistics = 1e9 * PROPORTIONS[..., None] * rows  # so many that the prior is not felt
    return Case(family, family.m_step(statistics, np.array([0]), None), 0)


def mixed() -> Case:
    classes = latent_class()
    family = Mixed(
        SPACE.center, SPACE.scale, np.array([0, 3]), np.array([1, 2, 4, 5, 6]), classes.family
    )
    variances = np.einsum("bkdd->bkd", SCALES)
    rows = [
        np.ones((1, 2, 1)),
        classes.params.probabilities,
        np.ones((1, 2, 2)),
        LOCATIONS,
        variances + LOCATIONS**2,
    ]
    statistics = 1e9 * PROPORTIONS[..., None] * np.concatenate(rows, axis=-1)
    return Case(family, family.m_step(statistics, np.array([0]), None), 0)


def gamma() -> Case:
    shapes = np.array([[[2.0, 9.0], [6.0, 3.0]]])
    scales = np.array([[[1.0, 0.5], [1.5, 2.0]]])
    return Case(Gamma(shapes[0]), GammaParams(PROPORTIONS, shapes, scales), 0)


CASES = {
    "VVV": gaussian(),
    "t": location_scale(T),
    "t-EEE": location_scale(T, "EEE"),
    "skew-normal": location_scale(SKEW_NORMAL),
    "skew-t": location_scale(SKEW_T),
    "skew-t-EEE": location_scale(SKEW_T, "EEE"),
    "contaminated": contaminated(),
    "contaminated-EEE": contaminated(structure="EEE"),
    "contaminated+noise": contaminated(ContaminatedWithNoise),
    "latent-class": latent_class(),
    "mixed": mixed(),
    "own": gamma(),
}
