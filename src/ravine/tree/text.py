"""Trees as text, and as HTML for notebooks: a table of the clusters and a drawing of the shape."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine._html import make_section, make_table
from ravine._plurals import count, format_pvalue
from ravine.checks import check_feature_names, check_integer

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
    lines = [_write_title(tree)]
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


def _write_title(tree: Tree) -> str:
    """Write a title with the numbers of clusters and rows."""
    leaves = "" if tree.n_leaves == tree.n_clusters else f" in {tree.n_leaves} leaves"
    return f"Tree of {count(tree.n_clusters, 'cluster')} ({count(tree.size[0], 'row')}{leaves})"


def _describe_union(tree: Tree, cluster: int) -> str:
    """Return "4 joined leaves" for a cluster of several leaves, else an empty text."""
    n_leaves = np.count_nonzero(tree.cluster == cluster)
    return f"{n_leaves} {'merged' if tree.joins is None else 'joined'} leaves" if n_leaves > 1 else ""


def _describe_node(tree: Tree, k: int) -> str:
    """Describe a node in one line."""
    tested = "" if np.isnan(tree.pvalue[k]) else f", {format_pvalue(float(tree.pvalue[k]))}"
    if tree.left[k] >= 0:
        return f"[{k}] {tree.size[k]} rows, relative depth {tree.relative_depth[k]:.3g}{tested}"
    union = _describe_union(tree, tree.cluster[k])
    notes = "; ".join(filter(None, [union and f"one of {union}", tested and f"no split{tested}"]))
    return f"[{k}] cluster {tree.cluster[k]}: {count(tree.size[k], 'row')}" + (f" ({notes})" if notes else "")


# Returns the left side of the inequality of a split, as text, and its right side.
Express = Callable[[int], tuple[str, float]]


def describe_path(tree: Tree, node: int, express: Express) -> str:
    """Describe the splits that lead to a node."""
    cluster = int(tree.cluster[node])
    union = _describe_union(tree, cluster) if cluster >= 0 else ""
    target = f"cluster {cluster}" if cluster >= 0 else f"node {node}"
    if node == 0:
        return f"All {tree.size[0]} rows belong to {target}."
    target = f"leaf {node} of {target}" if union else target
    end = f", one of {union}, if" if union else " if"
    title = f"A row belongs to {target} ({tree.size[node]} of {tree.size[0]} rows){end}"
    return "\n".join([title, *_list_conditions(tree, node, express)])


def describe_cluster(tree: Tree, cluster: int, express: Express) -> str:
    """Describe the splits that lead to each leaf of a cluster."""
    leaves = [leaf for leaf in tree.leaves() if tree.cluster[leaf] == cluster]
    if len(leaves) == 1:
        return describe_path(tree, leaves[0], express)
    of_all, union = f"{tree.size[leaves].sum()} of {tree.size[0]} rows", _describe_union(tree, cluster)
    lines = [f"A row belongs to cluster {cluster} ({of_all}) if it is in one of {union}"]
    for leaf in leaves:
        lines += [f"leaf {leaf} ({count(tree.size[leaf], 'row')}):", *_list_conditions(tree, leaf, express)]
    return "\n".join(lines)


def express_splits(tree: Tree, feature_names: Any, n_features: Any) -> Express:
    """Return a function that writes a split in terms of the features of largest weight."""
    names = check_feature_names(feature_names, tree.normal.shape[1])
    n_features = check_integer("n_features", n_features, low=1)

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
    is_leaf = tree.cluster >= 0
    clusters = np.bincount(tree.cluster[is_leaf], weights=tree.size[is_leaf]).astype(int)
    unions = [_describe_union(tree, k) for k in range(len(clusters))]
    rows: list[tuple[object, object]] = [
        (f"cluster {k}", count(n, "row") + (unions[k] and f" in {unions[k]}"))
        for k, n in enumerate(clusters[:MAX_CLUSTERS])
    ]
    if len(clusters) > MAX_CLUSTERS:
        rows.append((f"and {len(clusters) - MAX_CLUSTERS} more", count(clusters[MAX_CLUSTERS:].sum(), "row")))
    too_many = f"<div>{tree.n_leaves} leaves are too many to draw</div>"
    shape = too_many if tree.n_leaves > MAX_LEAVES else _draw_shape(tree)
    return make_section(_write_title(tree), make_table(rows) + shape)


def _draw_shape(tree: Tree) -> str:
    leaves = tree.leaves()
    depth, step = tree.depth, WIDTH / len(leaves)
    level = (HEIGHT - LEAF - 8.0) / max(int(depth.max()), 1)
    x, y = np.empty(len(tree)), 6.0 + level * depth
    x[leaves] = step * (np.arange(len(leaves)) + 0.5)
    for k in reversed(range(len(tree))):  # children come after their parents
        if tree.left[k] >= 0:
            x[k] = 0.5 * (x[tree.left[k]] + x[tree.right[k]])
    largest = float(tree.size[leaves].max())
    parts = []
    for k in range(len(tree)):
        text = escape(_describe_node(tree, k))
        if tree.left[k] < 0:
            height = max(LEAF * float(tree.size[k]) / largest, 1.5)
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
