"""Minimum density hyperplanes: find the low-density ravines between clusters.

Public names are imported when they are first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "BandwidthPath": "ravine.estimators",
    "BandwidthStep": "ravine.estimators",
    "ClusterError": "ravine.rows",
    "ClusterRows": "ravine.rows",
    "DirectionDisplay": "ravine.plotting",
    "GradientCheck": "ravine.optimise",
    "HalfTest": "ravine.estimators",
    "Hyperplane": "ravine.hyperplane",
    "HyperplaneDisplay": "ravine.plotting",
    "MaximumMarginHyperplane": "ravine.estimators",
    "MinimumDensityClassifier": "ravine.estimators",
    "MinimumDensityHyperplane": "ravine.estimators",
    "MinimumDensityTree": "ravine.estimators",
    "NoSplitWarning": "ravine.estimators",
    "PathDisplay": "ravine.plotting",
    "PathStep": "ravine.estimators",
    "ProjectedDensity": "ravine.density",
    "RowBlocks": "ravine.rows",
    "Split": "ravine.tree",
    "Stationarity": "ravine.estimators",
    "Tree": "ravine.tree",
    "TreeDisplay": "ravine.plotting",
    "Valley": "ravine.density",
    "ValleyTest": "ravine.estimators",
    "bandwidth_path": "ravine.estimators",
    "check_gradient": "ravine.optimise",
    "load": "ravine.models",
    "minimum_density_hyperplane": "ravine.estimators",
    "paper_settings": "ravine.estimators",
    "save": "ravine.models",
    "stationarity": "ravine.estimators",
    "valley_test": "ravine.estimators",
}

if TYPE_CHECKING:
    from ravine.density import ProjectedDensity, Valley
    from ravine.estimators import (
        BandwidthPath,
        BandwidthStep,
        HalfTest,
        MaximumMarginHyperplane,
        MinimumDensityClassifier,
        MinimumDensityHyperplane,
        MinimumDensityTree,
        NoSplitWarning,
        PathStep,
        Stationarity,
        ValleyTest,
        bandwidth_path,
        minimum_density_hyperplane,
        paper_settings,
        stationarity,
        valley_test,
    )
    from ravine.hyperplane import Hyperplane
    from ravine.models import load, save
    from ravine.optimise import GradientCheck, check_gradient
    from ravine.plotting import DirectionDisplay, HyperplaneDisplay, PathDisplay, TreeDisplay
    from ravine.rows import ClusterError, ClusterRows, RowBlocks
    from ravine.tree import Split, Tree

__all__ = [
    "BandwidthPath",
    "BandwidthStep",
    "ClusterError",
    "ClusterRows",
    "DirectionDisplay",
    "GradientCheck",
    "HalfTest",
    "Hyperplane",
    "HyperplaneDisplay",
    "MaximumMarginHyperplane",
    "MinimumDensityClassifier",
    "MinimumDensityHyperplane",
    "MinimumDensityTree",
    "NoSplitWarning",
    "PathDisplay",
    "PathStep",
    "ProjectedDensity",
    "RowBlocks",
    "Split",
    "Stationarity",
    "Tree",
    "TreeDisplay",
    "Valley",
    "ValleyTest",
    "bandwidth_path",
    "check_gradient",
    "load",
    "minimum_density_hyperplane",
    "paper_settings",
    "save",
    "stationarity",
    "valley_test",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ravine' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
