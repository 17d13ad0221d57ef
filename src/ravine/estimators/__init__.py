"""Thin scikit-learn classes: validate, call one function, store."""

from ravine.estimators.certificate import Stationarity, stationarity
from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.functions import minimum_density_hyperplane, valley_test
from ravine.estimators.hyperplane import MinimumDensityHyperplane, NoSplitWarning
from ravine.estimators.margin_path import BandwidthPath, BandwidthStep, bandwidth_path
from ravine.estimators.maximum_margin import MaximumMarginHyperplane
from ravine.estimators.settings import paper_settings
from ravine.estimators.tree import MinimumDensityTree
from ravine.search.space import PathStep
from ravine.validity.valley_test import HalfTest, ValleyTest

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
