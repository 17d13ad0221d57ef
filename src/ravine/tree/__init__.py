"""Hyperplanes arranged in a tree, independent of densities."""

from ravine.tree.descent import Visit, descend
from ravine.tree.grow import Split, Splitter, grow
from ravine.tree.leaf_joins import LeafJoins
from ravine.tree.nodes import Tree
from ravine.tree.policies import Candidate

__all__ = ["Candidate", "LeafJoins", "Split", "Splitter", "Tree", "Visit", "descend", "grow"]
