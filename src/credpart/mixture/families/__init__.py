"""Families of component distributions."""

from credpart.mixture.families.base import Components, Family, MixtureFamily, Parameters
from credpart.mixture.families.gaussian import Gaussian
from credpart.mixture.families.latent_class import LatentClass
from credpart.mixture.families.location_scale import LAWS, LocationScale
from credpart.mixture.families.missing_cells import GaussianWithMissing, LocationScaleWithMissing
from credpart.mixture.families.mixed import Mixed

__all__ = ["LAWS", "Components", "Family", "Gaussian", "GaussianWithMissing", "LatentClass"]
__all__ += ["LocationScale", "LocationScaleWithMissing", "Mixed", "MixtureFamily", "Parameters"]
