"""Thin scikit-learn classes: validate, call one function, store."""

from ravine.estimators.certificate import Stationarity, stationarity
from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.clusterer import MinimumDensityHyperplane, NoSplitWarning
from ravine.estimators.frame import PathStep
from ravine.estimators.functions import minimum_density_hyperplane, valley_test
from ravine.estimators.margin_path import BandwidthPath, BandwidthStep, bandwidth_path
from ravine.estimators.maximum_margin import MaximumMarginHyperplane
from ravine.estimators.settings import paper_settings
from ravine.estimators.significance import HalfTest, ValleyTest
from ravine.estimators.tree_clusterer import MinimumDensityTree

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
