"""Families of component distributions."""

from credpart.mixture.families.base import Components, Family, MixtureFamily, Parameters
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.latent_class import LatentClass
from credpart.mixture.families.location_scale import LAWS, LocationScale
from credpart.mixture.families.missing_cells import GaussianWithMissing, LocationScaleWithMissing
from credpart.mixture.families.mixed import Mixed
from credpart.mixture.families.noise import GaussianWithNoise, LocationScaleWithNoise

__all__ = ["LAWS", "Components", "Family", "Gaussian", "GaussianWithMissing", "GaussianWithNoise"]
__all__ += ["LatentClass", "LocationScale", "LocationScaleWithMissing", "LocationScaleWithNoise"]
__all__ += ["Mixed", "MixtureFamily", "Parameters"]
