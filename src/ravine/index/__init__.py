"""Projection indices: functions of a direction that the search minimises."""

from ravine.index.base import ProjectionIndex, Separation, describe_hyperplane
from ravine.index.clustering import ClusteringIndex, measure_reach
from ravine.index.compiled import CompiledClusteringIndex, CompiledIndex, CompiledSemiSupervisedIndex
from ravine.index.relative_density import DensityRatio, RelativeDensity
from ravine.index.semi_supervised import LabelledRows, LabelPenalty, SemiSupervisedIndex

__all__ = [
    "ClusteringIndex",
    "CompiledClusteringIndex",
    "CompiledIndex",
    "CompiledSemiSupervisedIndex",
    "DensityRatio",
    "LabelPenalty",
    "LabelledRows",
    "ProjectionIndex",
    "RelativeDensity",
    "SemiSupervisedIndex",
    "Separation",
    "describe_hyperplane",
    "measure_reach",
]
