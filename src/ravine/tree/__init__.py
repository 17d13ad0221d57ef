"""Trees of hyperplanes: growth, cells and their joins, constraints, sizes and editing."""

from ravine.tree.editing import find_shown_splits
from ravine.tree.grow import Split, Splitter, grow
from ravine.tree.nodes import LeafJoins, Tree, Visit, descend
from ravine.tree.text import describe_node, describe_test

__all__ = [
    "LeafJoins",
    "Split",
    "Splitter",
    "Tree",
    "Visit",
    "descend",
    "describe_node",
    "describe_test",
    "find_shown_splits",
    "grow",
]
