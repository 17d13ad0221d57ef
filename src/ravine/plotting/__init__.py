"""Displays of hyperplanes, paths, trees and boundaries, as in scikit-learn; matplotlib is imported when one draws."""

from ravine.plotting.boundary import BoundaryDisplay
from ravine.plotting.cells import CellDisplay
from ravine.plotting.direction import DirectionDisplay
from ravine.plotting.hyperplane import HyperplaneDisplay
from ravine.plotting.path import PathDisplay
from ravine.plotting.tree import TreeDisplay

__all__ = [
    "BoundaryDisplay",
    "CellDisplay",
    "DirectionDisplay",
    "HyperplaneDisplay",
    "PathDisplay",
    "TreeDisplay",
]
