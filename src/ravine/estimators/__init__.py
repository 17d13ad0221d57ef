"""The scikit-learn estimators, and the same as functions."""

from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.functions import bandwidth_path, minimum_density_hyperplane, stationarity, valley_test
from ravine.estimators.hyperplane import MinimumDensityHyperplane, NoSplitWarning
from ravine.estimators.maximum_margin import MaximumMarginHyperplane
from ravine.estimators.settings import paper_settings
from ravine.estimators.tree import MinimumDensityTree
from ravine.hyperplane import PathStep
from ravine.theory.bandwidth_path import BandwidthPath, BandwidthStep
from ravine.theory.stationarity import Stationarity
from ravine.validity import HalfTest, ValleyTest

__all__ = [
    "BandwidthPath",
    "BandwidthStep",
    "HalfTest",
    "MaximumMarginHyperplane",
    "MinimumDensityClassifier",
    "MinimumDensityHyperplane",
    "MinimumDensityTree",
    "NoSplitWarning",
    "PathStep",
    "Stationarity",
    "ValleyTest",
    "bandwidth_path",
    "minimum_density_hyperplane",
    "paper_settings",
    "stationarity",
    "valley_test",
]
