"""Random rows of every node of a tree, the same whatever the rest of the tree is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ravine.tree.nodes import NONE, Tree

__all__ = ["sample_nodes"]

Indices = NDArray[np.intp]

# Rows of each node, at most.
MOST_ROWS = 10_000


def sample_nodes(tree: Tree, leaves: Indices, most: int = MOST_ROWS) -> dict[int, Indices]:
    """Return the indices of at most ``most`` random rows of each node, in random order.

    All rows have a fixed random rank, and those of the smallest rank represent a node. The choice depends on the rows
    of the node alone, so that it stays the same if the tree is edited elsewhere.

    Parameters
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    most : int
    """
    rank = np.random.default_rng(0).integers(2**32, size=len(leaves), dtype=np.uint32)
    sizes = np.bincount(leaves, minlength=len(tree))
    # Nearly always, all rows that are chosen have such a rank.
    enough = (most + 10.0 * most**0.5) / max(int(sizes[tree.left == NONE].min()), 1)
    low = np.flatnonzero(rank < 2**32 * enough) if enough < 1.0 else np.arange(len(leaves))
    leaf_of_low = leaves[low]
    found: dict[int, Indices] = {}
    for k in reversed(range(len(tree))):  # children have larger numbers than their parents
        if tree.left[k] == NONE:
            members = low[leaf_of_low == k]
            if len(members) < min(most, sizes[k]):
                members = np.flatnonzero(leaves == k)
        else:
            members = np.concatenate([found[int(tree.left[k])], found[int(tree.right[k])]])
        found[k] = members[np.lexsort((members, rank[members]))[:most]]
    return found
