"""Projection indices: value, minimisers and gradient of φ."""

from ravine.index.clustering import ClusteringIndex, Separation

__all__ = ["ClusteringIndex", "Separation"]
