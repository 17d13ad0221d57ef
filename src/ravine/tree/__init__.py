"""Hyperplanes stacked into a tree. Knows nothing of densities."""

from ravine.tree.grow import Split, Splitter, grow
from ravine.tree.nodes import Tree

__all__ = ["Split", "Splitter", "Tree", "grow"]
