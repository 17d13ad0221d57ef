"""Hyperplanes arranged in a tree, independent of densities."""

from ravine.tree.grow import Candidate, Split, Splitter, grow
from ravine.tree.nodes import LeafJoins, Tree, Visit, descend

__all__ = ["Candidate", "LeafJoins", "Split", "Splitter", "Tree", "Visit", "descend", "grow"]
