"""Minimum density hyperplanes: find the low-density ravines between clusters.

Public names are imported when they are first used (PEP 562). ``__init__.pyi`` lists them for type checkers.
"""

from ravine._imports import attach_names

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
        "ScaleWarning",
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
        "describe_rules",
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
__all__, __getattr__, __dir__ = attach_names(__name__, _NAMES, "__version__")
