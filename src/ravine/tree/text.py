"""Trees as text, and as HTML for notebooks: a table of the clusters and a drawing of the shape."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine._html import make_section, make_table
from ravine._plurals import count, format_pvalue
from ravine.checks import check_feature_names

if TYPE_CHECKING:
    from ravine.tree.nodes import Tree

# Largest number of nodes that are drawn.
MAX_NODES = 60
# Limits of the table and of the drawing.
MAX_CLUSTERS, MAX_LEAVES = 12, 256
# Sizes in pixels; LEAF is the height of the largest leaf.
WIDTH, HEIGHT, LEAF = 420.0, 130.0, 26.0


def draw(tree: Tree) -> str:
    """Draw the tree as indented text."""
    lines = [write_title(tree)]
    waiting = [(0, "", "")]
    while waiting and len(lines) <= MAX_NODES:
        k, above, branch = waiting.pop()
        lines.append(f"{above}{branch}{_describe_node(tree, k)}")
        if tree.left[k] >= 0:
            below = above + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            waiting += [(int(tree.right[k]), below, "└─ "), (int(tree.left[k]), below, "├─ ")]
    if waiting:
        lines.append(f"... and {len(tree) - MAX_NODES} more nodes")
    return "\n".join(lines)


def write_title(tree: Tree) -> str:
    """Write a title with the numbers of clusters and rows."""
    leaves = "" if tree.n_leaves == tree.n_clusters else f" in {tree.n_leaves} leaves"
    return f"Tree of {count(tree.n_clusters, 'cluster')} ({count(tree.size[0], 'row')}{leaves})"


def _count_leaves(tree: Tree, n_leaves: int) -> str:
    """Return the number of leaves that form a cluster: "4 joined leaves"."""
    return f"{n_leaves} {'merged' if tree.joins is None else 'joined'} leaves"


def _note_union(tree: Tree, leaf: int) -> str:
    """Return that a leaf is one of several of its cluster; empty if it is not."""
    n_leaves = int((tree.cluster == tree.cluster[leaf]).sum())
    return f"one of {_count_leaves(tree, n_leaves)}" if n_leaves > 1 else ""


def _describe_node(tree: Tree, k: int) -> str:
    """Describe a node in one line."""
    pvalue = float(tree.pvalue[k])
    tested = "" if np.isnan(pvalue) else f", {format_pvalue(pvalue)}"
    if tree.left[k] < 0:
        notes = "; ".join(filter(None, [_note_union(tree, k), f"no split{tested}" if tested else ""]))
        return f"[{k}] cluster {tree.cluster[k]}: {count(tree.size[k], 'row')}" + (f" ({notes})" if notes else "")
    return f"[{k}] {tree.size[k]} rows, relative depth {tree.relative_depth[k]:.3g}{tested}"


# Returns the left side of the inequality of a split, as text, and its right side.
Express = Callable[[int], tuple[str, float]]


def describe_path(tree: Tree, leaf: int, express: Express) -> str:
    """Describe the splits that lead to a node."""
    conditions = _list_conditions(tree, leaf, express)
    union = _note_union(tree, leaf) if tree.left[leaf] < 0 else ""
    target = f"cluster {tree.cluster[leaf]}" if tree.left[leaf] < 0 else f"node {leaf}"
    if union:
        target = f"leaf {leaf} of {target}"
    if not conditions:
        return f"All {tree.size[0]} rows belong to {target}."
    end = f", {union}, if" if union else " if"
    return "\n".join([f"A row belongs to {target} ({tree.size[leaf]} of {tree.size[0]} rows){end}", *conditions])


def describe_cluster(tree: Tree, cluster: int, express: Express) -> str:
    """Describe the splits that lead to each leaf of a cluster."""
    leaves = [leaf for leaf in tree.leaves() if tree.cluster[leaf] == cluster]
    if len(leaves) == 1:
        return describe_path(tree, leaves[0], express)
    size = sum(int(tree.size[leaf]) for leaf in leaves)
    lines = [
        f"A row belongs to cluster {cluster} ({size} of {tree.size[0]} rows) if it is in one of "
        f"{_count_leaves(tree, len(leaves))}"
    ]
    for leaf in leaves:
        lines += [f"leaf {leaf} ({count(tree.size[leaf], 'row')}):", *_list_conditions(tree, leaf, express)]
    return "\n".join(lines)


def express_splits(tree: Tree, feature_names: Any, n_features: Any) -> Express:
    """Return a function that writes a split in terms of the features of largest weight."""
    names = check_feature_names(feature_names, tree.normal.shape[1])
    if isinstance(n_features, bool) or not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"n_features must be an integer >= 1, got {n_features!r}.")

    def express(k: int) -> tuple[str, float]:
        normal = tree.normal[k]
        order = np.argsort(-np.abs(normal), kind="stable")[:n_features]
        terms = " ".join(f"{normal[j]:+.2f}·{names[j]}" for j in order)
        rest = f" (and {len(normal) - len(order)} smaller terms)" if len(normal) > len(order) else ""
        return f"{terms}{rest}", float(tree.offset[k])

    return express


def _list_conditions(tree: Tree, leaf: int, express: Express) -> list[str]:
    """Return the inequalities of the splits that lead to a node, the root first."""
    lines = []
    for k, child in pairwise(tree.ancestry(leaf)):
        terms, threshold = express(k)
        lines.append(f"  {terms} {'>' if child == tree.right[k] else '<='} {threshold:.4g}")
    return lines


def draw_html(tree: Tree) -> str:
    """Return a table of the cluster sizes and a drawing of the tree, in which the height of a leaf shows its size."""
    clusters = np.bincount(tree.cluster[tree.cluster >= 0], weights=tree.size[tree.cluster >= 0]).astype(int)
    n_leaves = np.bincount(tree.cluster[tree.cluster >= 0])
    rows: list[tuple[object, object]] = [
        (f"cluster {k}", count(n, "row") + (f" in {_count_leaves(tree, n_leaves[k])}" if n_leaves[k] > 1 else ""))
        for k, n in enumerate(clusters[:MAX_CLUSTERS])
    ]
    if len(clusters) > MAX_CLUSTERS:
        rows.append((f"and {len(clusters) - MAX_CLUSTERS} more", count(clusters[MAX_CLUSTERS:].sum(), "row")))
    title = write_title(tree)
    if tree.n_leaves > MAX_LEAVES:
        return make_section(title, make_table(rows) + f"<div>{tree.n_leaves} leaves are too many to draw_html</div>")
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
