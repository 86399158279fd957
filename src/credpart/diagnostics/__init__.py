"""What a user should know before trusting a fit."""

from credpart.diagnostics.diagnosis import Diagnosis, diagnose
from credpart.diagnostics.findings import Finding
from credpart.diagnostics.normality import NormalityTest, henze_zirkler

__all__ = ["Diagnosis", "Finding", "NormalityTest", "diagnose", "henze_zirkler"]
