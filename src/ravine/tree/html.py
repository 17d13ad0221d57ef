"""Tree as HTML for notebooks: a table of its clusters and a drawing of its shape."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ravine._html import format_number, make_section, make_table
from ravine._plurals import count
from ravine.tree.text import note_union, write_title

if TYPE_CHECKING:
    from ravine.tree.nodes import Tree

__all__ = ["draw"]

# Limits of the table and of the drawing.
MAX_CLUSTERS, MAX_LEAVES = 12, 256
# Sizes in pixels; LEAF is the height of the largest leaf.
WIDTH, HEIGHT, LEAF = 420.0, 130.0, 26.0


def draw(tree: Tree) -> str:
    """Return a table of the cluster sizes and a drawing of the tree, in which the height of a leaf shows its size."""
    clusters = np.bincount(tree.cluster[tree.cluster >= 0], weights=tree.size[tree.cluster >= 0]).astype(int)
    n_leaves = np.bincount(tree.cluster[tree.cluster >= 0])
    word = "merged" if tree.joins is None else "joined"
    rows: list[tuple[object, object]] = [
        (f"cluster {k}", count(n, "row") + (f" in {n_leaves[k]} {word} leaves" if n_leaves[k] > 1 else ""))
        for k, n in enumerate(clusters[:MAX_CLUSTERS])
    ]
    if len(clusters) > MAX_CLUSTERS:
        rows.append((f"and {len(clusters) - MAX_CLUSTERS} more", count(clusters[MAX_CLUSTERS:].sum(), "row")))
    title = write_title(tree)
    if tree.n_leaves > MAX_LEAVES:
        return make_section(title, make_table(rows) + f"<div>{tree.n_leaves} leaves are too many to draw</div>")
    return make_section(title, make_table(rows) + _draw_shape(tree))


def _draw_shape(tree: Tree) -> str:
    leaves = tree.leaves()
    depth, step = tree.depth, WIDTH / len(leaves)
    level = (HEIGHT - LEAF - 8.0) / max(int(depth.max()), 1)
    x, y = np.empty(len(tree)), 6.0 + level * depth
    x[leaves] = step * (np.arange(len(leaves)) + 0.5)
    for k in reversed(range(len(tree))):  # children come after their parents
        if tree.left[k] >= 0:
            x[k] = 0.5 * (x[tree.left[k]] + x[tree.right[k]])
    largest = max(int(tree.size[leaf]) for leaf in leaves)
    parts = []
    for k in range(len(tree)):
        text = escape(_describe_node(tree, k))
        if tree.left[k] < 0:
            height = max(LEAF * float(tree.size[k]) / max(largest, 1), 1.5)
            parts.append(
                f'<rect x="{x[k] - 0.4 * step:.1f}" y="{y[k]:.1f}" width="{0.8 * step:.1f}" height="{height:.1f}" '
                f'fill="currentColor" opacity="0.75"><title>{text}</title></rect>'
            )
            continue
        a, b = int(tree.left[k]), int(tree.right[k])
        parts.append(
            f'<path d="M{x[a]:.1f} {y[a]:.1f}V{y[k]:.1f}H{x[b]:.1f}V{y[b]:.1f}" fill="none" stroke="currentColor" '
            f'opacity="0.6"/><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="3" fill="currentColor">'
            f"<title>{text}</title></circle>"
        )
    return (
        f'<svg width="{WIDTH:.0f}" height="{HEIGHT:.0f}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'style="max-width:100%" aria-label="the tree">{"".join(parts)}</svg>'
    )


def _describe_node(tree: Tree, k: int) -> str:
    tested = "" if np.isnan(tree.pvalue[k]) else f", P = {tree.pvalue[k]:.2g}"
    if tree.left[k] < 0:
        union = note_union(tree, k)
        return f"node {k}, cluster {tree.cluster[k]}: {count(tree.size[k], 'row')}{union and f' ({union})'}{tested}"
    return f"node {k}: {tree.size[k]} rows, relative depth {format_number(float(tree.relative_depth[k]))}{tested}"
