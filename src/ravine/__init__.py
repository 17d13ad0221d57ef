"""Minimum density hyperplanes: find the low-density ravines between clusters.

Public names are imported when they are first used (PEP 562). ``__init__.pyi`` lists them for type checkers.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "ravine.density": [
        "ProjectedDensity",
        "Valley",
    ],
    "ravine.estimators": [
        "HalfTest",
        "MinimumDensityClassifier",
        "MinimumDensityHyperplane",
        "MinimumDensityTree",
        "NoSplitWarning",
        "PathSettings",
        "PathStep",
        "ValleyTest",
        "minimum_density_hyperplane",
        "paper_settings",
        "valley_test",
    ],
    "ravine.explain": [
        "FeatureTests",
        "compare_clusters",
    ],
    "ravine.hyperplane": [
        "Hyperplane",
    ],
    "ravine.models": [
        "load",
        "save",
    ],
    "ravine.plotting": [
        "BoundaryDisplay",
        "CellDisplay",
        "DirectionDisplay",
        "HyperplaneDisplay",
        "PathDisplay",
        "TreeDisplay",
    ],
    "ravine.rows": [
        "ClusterError",
        "ClusterRows",
        "RowBlocks",
    ],
    "ravine.tables": [
        "Consensus",
        "MixedScaler",
        "MultipleImputer",
        "fit_consensus",
    ],
    "ravine.tree": [
        "Split",
        "Tree",
    ],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ravine' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
