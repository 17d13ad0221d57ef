"""Trees of hyperplanes: growth, cells and their joins, constraints, sizes and editing."""

from ravine.tree.grow import Split, Splitter, grow
from ravine.tree.nodes import LeafJoins, Tree, Visit, descend

__all__ = ["LeafJoins", "Split", "Splitter", "Tree", "Visit", "descend", "grow"]
