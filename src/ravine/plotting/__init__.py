"""Displays of hyperplanes, paths and trees, as in scikit-learn; matplotlib is imported when one is drawn."""

from ravine.plotting.direction import DirectionDisplay
from ravine.plotting.hyperplane import HyperplaneDisplay
from ravine.plotting.path import PathDisplay
from ravine.plotting.tree import TreeDisplay

__all__ = ["DirectionDisplay", "HyperplaneDisplay", "PathDisplay", "TreeDisplay"]
