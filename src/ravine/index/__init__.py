"""Projection indices: value, minimisers and gradient of φ."""

from ravine.index.clustering import ClusteringIndex, Separation
from ravine.index.semi_supervised import LabelledRows, LabelPenalty, SemiSupervisedIndex

__all__ = ["ClusteringIndex", "LabelPenalty", "LabelledRows", "SemiSupervisedIndex", "Separation"]
