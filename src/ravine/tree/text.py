"""Trees as text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ravine.tree.nodes import Tree

__all__ = ["describe_path", "draw", "write_title"]

# Largest number of nodes that are drawn.
MAX_NODES = 60


def draw(tree: Tree) -> str:
    """Draw the tree as indented text."""
    lines = [write_title(tree)]
    waiting = [(0, "", "")]
    while waiting and len(lines) <= MAX_NODES:
        k, above, branch = waiting.pop()
        lines.append(f"{above}{branch}{_describe(tree, k)}")
        if tree.left[k] >= 0:
            below = above + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            waiting += [(int(tree.right[k]), below, "└─ "), (int(tree.left[k]), below, "├─ ")]
    if waiting:
        lines.append(f"... and {len(tree) - MAX_NODES} more nodes")
    return "\n".join(lines)


def write_title(tree: Tree) -> str:
    """Write a title with the numbers of clusters and rows."""
    return f"Tree of {tree.n_clusters} cluster{'s' if tree.n_clusters != 1 else ''} ({tree.size[0]} rows)"


def _describe(tree: Tree, k: int) -> str:
    """Describe a node in one line."""
    tested = "" if np.isnan(tree.pvalue[k]) else f", P = {tree.pvalue[k]:.2g}"
    if tree.left[k] < 0:
        return f"[{k}] cluster {tree.cluster[k]}: {tree.size[k]} rows" + (f" (no split{tested})" if tested else "")
    return f"[{k}] {tree.size[k]} rows, relative depth {tree.relative_depth[k]:.3g}{tested}"


def describe_path(tree: Tree, leaf: int, feature_names: Any, n_features: int) -> str:
    """Describe the splits that lead to a node."""
    names = [f"x{j}" for j in range(tree.normal.shape[1])] if feature_names is None else list(map(str, feature_names))
    if len(names) != tree.normal.shape[1]:
        raise ValueError(f"feature_names must be {tree.normal.shape[1]} names, got {len(names)}.")
    if isinstance(n_features, bool) or not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"n_features must be an integer >= 1, got {n_features!r}.")
    path = tree.ancestry(leaf)
    target = f"cluster {tree.cluster[leaf]}" if tree.left[leaf] < 0 else f"node {leaf}"
    lines = [f"A row belongs to {target} ({tree.size[leaf]} of {tree.size[0]} rows) if"]
    for k, child in pairwise(path):
        normal = tree.normal[k]
        order = np.argsort(-np.abs(normal), kind="stable")[:n_features]
        terms = " ".join(f"{normal[j]:+.2f}·{names[j]}" for j in order)
        rest = f" (and {len(normal) - len(order)} smaller terms)" if len(normal) > len(order) else ""
        sign = ">" if child == tree.right[k] else "<="
        lines.append(f"  {terms}{rest} {sign} {tree.offset[k]:.4g}")
    return "\n".join(lines) if len(path) > 1 else f"All {tree.size[0]} rows belong to {target}."
