"""Thin scikit-learn classes: validate, call one function, store."""

from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.clusterer import MinimumDensityHyperplane, NoSplitWarning, minimum_density_hyperplane
from ravine.estimators.frame import PathStep
from ravine.estimators.settings import paper_settings

__all__ = [
    "MinimumDensityClassifier",
    "MinimumDensityHyperplane",
    "NoSplitWarning",
    "PathStep",
    "minimum_density_hyperplane",
    "paper_settings",
]
