"""Hyperplanes stacked into a tree. Knows nothing of densities."""

from ravine.tree.descent import Visit, descend
from ravine.tree.grow import Candidate, Split, Splitter, grow
from ravine.tree.nodes import Tree

__all__ = ["Candidate", "Split", "Splitter", "Tree", "Visit", "descend", "grow"]
