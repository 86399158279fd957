"""The paper's data sets, and generators that know the true pairwise probabilities."""

from credpart.datasets.generators import (
    GaussianTruth,
    Sample,
    make_example3,
    make_mixture1,
    make_mixture2,
    make_mixture3,
)
from credpart.datasets.loaders import (
    DATASETS,
    Dataset,
    load,
    load_butterfly,
    load_diabetes,
    load_gvhd,
    load_iris,
)
from credpart.datasets.skewed import SkewTruth, make_skew_t
from credpart.datasets.survey import SurveyTruth, make_survey

__all__ = [
    "DATASETS",
    "Dataset",
    "GaussianTruth",
    "Sample",
    "SkewTruth",
    "SurveyTruth",
    "load",
    "load_butterfly",
    "load_diabetes",
    "load_gvhd",
    "load_iris",
    "make_example3",
    "make_mixture1",
    "make_mixture2",
    "make_mixture3",
    "make_skew_t",
    "make_survey",
]
