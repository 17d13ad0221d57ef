"""Projection indices: functions of a direction that the search minimises."""

from ravine.index.base import ProjectionIndex
from ravine.index.clustering import ClusteringIndex, measure_reach
from ravine.index.compiled import CompiledClusteringIndex, CompiledIndex, CompiledSemiSupervisedIndex
from ravine.index.describe import Separation
from ravine.index.joint import JointDensity
from ravine.index.semi_supervised import LabelledRows, LabelPenalty, SemiSupervisedIndex

__all__ = [
    "ClusteringIndex",
    "CompiledClusteringIndex",
    "CompiledIndex",
    "CompiledSemiSupervisedIndex",
    "JointDensity",
    "LabelPenalty",
    "LabelledRows",
    "ProjectionIndex",
    "SemiSupervisedIndex",
    "Separation",
    "measure_reach",
]
