"""Trees as text, and as HTML for notebooks: a table of the clusters and a drawing of the shape."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine._html import make_section, make_table
from ravine._plurals import Lines, count, format_pvalue
from ravine._typing import Array
from ravine.checks import check_feature_names, check_integer
from ravine.tree.editing import find_shown_splits

if TYPE_CHECKING:
    from ravine.tree.nodes import Tree

# Largest number of nodes that are drawn.
MAX_NODES = 60
# Largest number of splits that are described in lines.
MAX_SPLITS = 10
# Limits of the table and of the drawing.
MAX_CLUSTERS, MAX_LEAVES = 12, 256
# Sizes in pixels: width of a leaf and height of a level, those of a drawing without text, height of the largest leaf
# and of a line of text, and room for the text beside the last node.
STEP, LEVEL, WIDTH, HEIGHT, LEAF, LINE, BESIDE = 84.0, 58.0, 420.0, 104.0, 26.0, 13.0, 84.0
# Largest number of leaves of a drawing with text; the nodes of others are described by tooltips only.
MOST_DESCRIBED = 8


def draw(tree: Tree) -> str:
    """Draw the tree as indented text."""
    lines = [_write_title(tree)]
    is_shown = find_shown_splits(tree)
    waiting = [(0, "", "")]
    while waiting and len(lines) <= MAX_NODES:
        k, above, branch = waiting.pop()
        lines.append(f"{above}{branch}{describe_node(tree, k, is_shown[k])}")
        if tree.left[k] >= 0:
            below = above + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            waiting += [(int(tree.right[k]), below, "└─ "), (int(tree.left[k]), below, "├─ ")]
    if waiting:
        lines.append(f"... and {len(tree) - MAX_NODES} more nodes")
    return "\n".join(lines)


def _write_title(tree: Tree) -> str:
    """Write a title with the numbers of clusters and rows."""
    leaves = "" if tree.n_leaves == tree.n_clusters else f" in {tree.n_leaves} leaves"
    tested = "" if np.isnan(tree.pvalue).all() or np.isnan(tree.level) else f", tested at the level {tree.level:g}"
    return f"Tree of {count(tree.n_clusters, 'cluster')} ({count(tree.size[0], 'row')}{leaves}){tested}"


def describe_test(tree: Tree, k: int, is_shown: bool = False) -> str:
    """Describe the test of a node: its P-value, and whether its split is shown; why a leaf is not split.

    Empty if the fit did not test.
    """
    p, is_leaf, at_level = float(tree.pvalue[k]), tree.left[k] < 0, not np.isnan(tree.level)
    if np.isnan(p) and (is_leaf or not at_level):
        return ""
    if not is_leaf:
        status = ", shown" if is_shown else ", suggested"
        return format_pvalue(p) + ("" if np.isnan(p) or not at_level else status)
    level = f" at the level {tree.level:g}" if at_level else ""
    if p <= tree.level:
        return f"no split, although {format_pvalue(p)}{level}: no two groups with a valley between them were found"
    return f"no split, {format_pvalue(p)}{level}"


def _describe_union(tree: Tree, cluster: int) -> str:
    """Return "4 joined leaves" for a cluster of several leaves, else an empty text."""
    n_leaves = np.count_nonzero(tree.cluster == cluster)
    return f"{n_leaves} {'merged' if tree.joins is None else 'joined'} leaves" if n_leaves > 1 else ""


def describe_node(tree: Tree, k: int, is_shown: bool) -> str:
    """Describe a node in one line: rows, depth and test of a split, or rows of a cluster."""
    tested = describe_test(tree, k, is_shown)
    if tree.left[k] >= 0:
        depth = f"relative depth {tree.relative_depth[k]:.3g}"
        return f"[{k}] {', '.join(filter(None, [f'{tree.size[k]} rows', depth, tested]))}"
    union = _describe_union(tree, tree.cluster[k])
    notes = "; ".join(filter(None, [union and f"one of {union}", tested]))
    return f"[{k}] cluster {tree.cluster[k]}: {count(tree.size[k], 'row')}" + (f" ({notes})" if notes else "")


def list_splits(tree: Tree) -> list[dict[str, Any]]:
    """Return rows, depth and P-value of each split, in the order of the splits, and whether the test shows it."""
    is_shown = find_shown_splits(tree)
    return [
        {
            "node": k,
            "rows": int(tree.size[k]),
            "sides": [int(tree.size[side]) for side in (tree.left[k], tree.right[k])],
            "relative_depth": None if np.isnan(tree.relative_depth[k]) else float(tree.relative_depth[k]),
            "pvalue": None if np.isnan(tree.pvalue[k]) else float(tree.pvalue[k]),
            "shown": None if np.isnan(tree.level) else bool(is_shown[k]),
            "text": describe_node(tree, k, is_shown[k]),
        }
        for k in np.argsort(tree.order).tolist()
        if tree.left[k] >= 0
    ]


def describe_tests(tree: Tree) -> list[str]:
    """Describe the splits of a tested tree in lines, with depth and P-value of each, or why there is none."""
    if np.isnan(tree.level):
        return []
    if len(tree) == 1:
        return list(filter(None, [describe_test(tree, 0)]))
    if np.isnan(tree.pvalue).all():
        return ["no P: clusters that are not convex are judged by the evidence at their boundaries"]
    lines = [f"  {split['text']}" for split in list_splits(tree)]
    more = [f"  and {len(lines) - MAX_SPLITS} more"] if len(lines) > MAX_SPLITS else []
    return [f"Splits, tested at the level {tree.level:g}:", *lines[:MAX_SPLITS], *more]


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
    return Lines("\n".join([title, *_list_conditions(tree, node, express)]))


def describe_cluster(tree: Tree, cluster: int, express: Express) -> str:
    """Describe the splits that lead to each leaf of a cluster."""
    leaves = [leaf for leaf in tree.leaves() if tree.cluster[leaf] == cluster]
    if len(leaves) == 1:
        return describe_path(tree, leaves[0], express)
    of_all, union = f"{tree.size[leaves].sum()} of {tree.size[0]} rows", _describe_union(tree, cluster)
    lines = [f"A row belongs to cluster {cluster} ({of_all}) if it is in one of {union}"]
    for leaf in leaves:
        lines += [f"leaf {leaf} ({count(tree.size[leaf], 'row')}):", *_list_conditions(tree, leaf, express)]
    return Lines("\n".join(lines))


def express_splits(
    tree: Tree, feature_names: Any, n_features: Any, units: tuple[Array, Array] | None = None
) -> Express:
    """Return a function that writes a split in terms of the features of largest weight.

    With units, which are center and scale of the features, splits are written in the original units.
    """
    names = check_feature_names(tree.feature_names if feature_names is None else feature_names, tree.normal.shape[1])
    n_features = check_integer("n_features", n_features, low=1)

    def express(k: int) -> tuple[str, float]:
        normal = tree.normal[k]
        order = np.argsort(-np.abs(normal), kind="stable")[:n_features]
        weights, threshold, form = normal, float(tree.offset[k]), "+.2f"
        if units is not None:
            weights = normal / units[1]
            threshold, form = threshold + float(weights @ units[0]), "+.3g"
        terms = " ".join(f"{weights[j]:{form}}·{names[j]}" for j in order)
        rest = f" (and {len(normal) - len(order)} smaller terms)" if len(normal) > len(order) else ""
        return f"{terms}{rest}", threshold

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
    rows = [
        (f"cluster {k}", count(n, "row") + (unions[k] and f" in {unions[k]}"))
        for k, n in enumerate(clusters[:MAX_CLUSTERS])
    ]
    if len(clusters) > MAX_CLUSTERS:
        rows.append((f"and {len(clusters) - MAX_CLUSTERS} more", count(clusters[MAX_CLUSTERS:].sum(), "row")))
    reason = describe_test(tree, 0) if len(tree) == 1 else ""
    reason = f"<div>{escape(reason)}</div>" if reason else ""
    too_many = f"<div>{tree.n_leaves} leaves are too many to draw</div>"
    shape = too_many if tree.n_leaves > MAX_LEAVES else _draw_shape(tree)
    return make_section(_write_title(tree), make_table(rows) + reason + shape)


def _draw_shape(tree: Tree) -> str:
    """Draw the splits with their depths and tests, dashed unless the test shows them, and the clusters as bars."""
    leaves, is_shown = tree.leaves(), find_shown_splits(tree)
    is_described, depth = len(leaves) <= MOST_DESCRIBED, tree.depth
    step, level = WIDTH / len(leaves), HEIGHT / max(int(depth.max()), 1)
    top = beside = 6.0
    if is_described:
        step, level, top, beside = STEP, LEVEL, 2.0 * LINE + 6.0, BESIDE
    width, height = step * len(leaves) + beside, top + level * int(depth.max()) + LEAF + LINE + 6.0
    x, y = np.empty(len(tree)), top + level * depth
    x[leaves] = step * (np.arange(len(leaves)) + 0.5)
    for k in reversed(range(len(tree))):  # children come after their parents
        if tree.left[k] >= 0:
            x[k] = 0.5 * (x[tree.left[k]] + x[tree.right[k]])
    largest = float(tree.size[leaves].max())
    parts, texts = [], []
    for k in range(len(tree)):
        title = f"<title>{escape(describe_node(tree, k, is_shown[k]))}</title>"
        if tree.left[k] < 0:
            tall = max(LEAF * float(tree.size[k]) / largest, 1.5)
            parts.append(
                f'<rect x="{x[k] - 0.4 * step:.1f}" y="{y[k]:.1f}" width="{0.8 * step:.1f}" height="{tall:.1f}" '
                f'fill="currentColor" opacity="0.6">{title}</rect>'
            )
            texts.append(_write_text(x[k], y[k] + tall + LINE, f"cluster {tree.cluster[k]}", "middle"))
            continue
        a, b = int(tree.left[k]), int(tree.right[k])
        tested = describe_test(tree, k, is_shown[k])
        dashed = ' stroke-dasharray="4 3"' if tested.endswith("suggested") else ""
        parts.append(
            f'<path d="M{x[a]:.1f} {y[a]:.1f}V{y[k]:.1f}H{x[b]:.1f}V{y[b]:.1f}" fill="none" stroke="currentColor" '
            f'opacity="0.6"{dashed}/><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="3" fill="currentColor">{title}</circle>'
        )
        lines = [f"depth {tree.relative_depth[k]:.2g}", *filter(None, [tested])]
        texts += [_write_text(x[k] + 6.0, y[k] - 6.0 - LINE * place, line) for place, line in enumerate(lines[::-1])]
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'style="max-width:100%" aria-label="the tree">{"".join([*parts, *texts] if is_described else parts)}</svg>'
    )


def _write_text(x: float, y: float, text: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="11" fill="currentColor">{escape(text)}</text>'
