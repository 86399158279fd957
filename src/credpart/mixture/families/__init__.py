"""Families of component distributions."""

from credpart.mixture.families.base import Components, Family, MixtureFamily, Parameters
from credpart.mixture.families.contaminated import Contaminated, ContaminatedWithNoise
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.latent_class import LatentClass
from credpart.mixture.families.location_scale import LAWS, LocationScale
from credpart.mixture.families.missing_cells import (
    ContaminatedWithMissing,
    ContaminatedWithNoiseAndMissing,
    GaussianWithMissing,
    LocationScaleWithMissing,
)
from credpart.mixture.families.mixed import Mixed
from credpart.mixture.families.noise import GaussianWithNoise, LocationScaleWithNoise

__all__ = ["LAWS", "Components", "Contaminated", "ContaminatedWithMissing", "ContaminatedWithNoise"]
__all__ += ["ContaminatedWithNoiseAndMissing", "Family", "Gaussian", "GaussianWithMissing"]
__all__ += ["GaussianWithNoise", "LatentClass", "LocationScale", "LocationScaleWithMissing"]
__all__ += ["LocationScaleWithNoise", "Mixed", "MixtureFamily", "Parameters"]
