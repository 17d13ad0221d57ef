"""Trees of hyperplanes: arrays, views, and consistency after edits."""

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage

from ravine import Hyperplane
from support.tree_twin import ARRAYS, assert_consistent, grow_random_tree, halve_rows, have_same_groups

X = np.random.default_rng(0).normal(size=(60, 3))


def grown(n_clusters):
    return grow_random_tree(X, n_clusters)


@pytest.fixture(scope="module")
def tree():
    return grown(8)


# ----------------------------------------------------------------------------------------------- soundness


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 8, 25])
def test_grown_tree_is_consistent(n_clusters):
    tree = grown(n_clusters)
    assert tree.n_clusters == tree.n_leaves == n_clusters
    assert_consistent(tree, X)
    assert_array_equal(tree.cluster[tree.leaves()], np.arange(n_clusters))
    assert len(tree.apply(X[:0])) == 0
    assert tree.decision_path(X[:0]).shape == (0, len(tree))


def test_rows_on_a_hyperplane_go_left():
    tree = grown(1).split(0, Hyperplane(np.array([1.0, 0.0, 0.0]), 2.0), (30, 30))
    assert_array_equal(tree.apply(np.array([[2.0, 5.0, 5.0], [2.1, 5.0, 5.0]])), [tree.left[0], tree.right[0]])


def test_nodes_are_views_of_the_arrays(tree):
    nodes = list(tree)
    assert [node.number for node in nodes] == list(range(len(tree)))
    for k, node in enumerate(nodes):
        assert (node.depth, node.size, node.cluster) == (tree.depth[k], tree.size[k], tree.cluster[k])
        assert_array_equal(node.pvalue, tree.pvalue[k])
        assert (node.hyperplane is None) == tree.is_leaf(k)
        if node.hyperplane is not None:
            assert_array_equal(node.hyperplane.normal, tree.normal[k])
            assert (node.hyperplane.offset, node.hyperplane.relative_depth) == (tree.offset[k], 2.0)


def test_leaves_below_a_node_have_it_as_ancestor(tree):
    for k in range(len(tree)):
        assert tree.leaves(k) == [leaf for leaf in tree.leaves() if k in tree.ancestry(leaf)]
        assert tree.ancestry(k)[0] == 0
        assert tree.ancestry(k)[-1] == k


def test_pickled_tree_is_equal(tree):
    copy = pickle.loads(pickle.dumps(tree))
    for name in ARRAYS:
        assert_array_equal(getattr(copy, name), getattr(tree, name))


# ----------------------------------------------------------------------------------------------- views


def test_data_frame_has_a_row_for_each_node(tree):
    frame = tree.to_pandas()
    assert frame.index.tolist() == list(range(len(tree)))
    for name in frame.columns:
        assert_array_equal(frame[name], getattr(tree, name))
    assert {"parent", "left", "right", "depth", "size", "density", "relative_depth", "pvalue"} <= set(frame.columns)


def test_graph_goes_from_parents_to_children(tree):
    networkx = pytest.importorskip("networkx")
    graph = tree.to_networkx()
    assert networkx.is_arborescence(graph)
    assert set(graph.edges) == {(int(p), k) for k, p in enumerate(tree.parent) if p != -1}
    assert [graph.nodes[k]["size"] for k in range(len(tree))] == tree.size.tolist()


def test_to_networkx_without_networkx_raises_a_clear_error(tree, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="networkx"):
        tree.to_networkx()


def test_linkage_is_valid_for_scipy(tree):
    linkage = tree.to_linkage()
    assert is_valid_linkage(linkage)
    assert (np.diff(linkage[:, 2]) > 0).all()
    assert linkage[-1, 3] == tree.n_leaves
    assert dendrogram(linkage, no_plot=True)["leaves"] == list(range(tree.n_leaves))
    # The two sides of the root are joined last.
    sides = dendrogram(linkage, no_plot=True, truncate_mode="lastp", p=2)["ivl"]
    assert sorted(sides) == sorted(f"({len(tree.leaves(int(k)))})" for k in (tree.left[0], tree.right[0]))
    assert grown(1).to_linkage().shape == (0, 4)


def test_text_has_a_line_for_each_node(tree):
    lines = repr(tree).splitlines()
    assert lines[0] == "Tree of 8 clusters (60 rows)"
    assert len(lines) == 1 + len(tree)
    assert sum("cluster " in line for line in lines[1:]) == 8
    assert "[0] 60 rows, relative depth 2, P = 0.6" in lines[1]
    assert repr(grown(1)).splitlines() == ["Tree of 1 cluster (60 rows)", "[0] cluster 0: 60 rows"]


def test_large_tree_is_truncated_in_text():
    large = grown(50)
    assert " 39 more" in repr(large)
    assert len(repr(large).splitlines()) == 62


def test_rules_describe_the_path_to_a_leaf(tree):
    for leaf in tree.leaves():
        first, *conditions = tree.rules(leaf, ["mass", "age", "height"], n_features=2).splitlines()
        assert first == f"A row belongs to cluster {tree.cluster[leaf]} ({tree.size[leaf]} of 60 rows) if"
        assert len(conditions) == tree.depth[leaf]
        for k, child, words in zip(tree.ancestry(leaf), tree.ancestry(leaf)[1:], conditions, strict=False):
            heaviest = ["mass", "age", "height"][int(np.argmax(np.abs(tree.normal[k])))]
            assert words.split()[0].endswith(heaviest)
            assert "(and 1 smaller terms)" in words
            assert f"{'>' if child == tree.right[k] else '<='} {tree.offset[k]:.4g}" in words
    assert "x0" in tree.rules(tree.leaves()[0])
    assert "60 rows" in grown(1).rules(0)


def test_rules_with_wrong_number_of_names_raise(tree):
    with pytest.raises(ValueError, match="feature_names"):
        tree.rules(tree.leaves()[0], ["mass"])


# ----------------------------------------------------------------------------------------------- cuts


@pytest.mark.parametrize("n_clusters", range(1, 9))
def test_cut_to_a_number_keeps_the_first_splits(tree, n_clusters):
    cut = tree.cut(n_clusters)
    assert_consistent(cut, X)
    assert cut.n_clusters == n_clusters
    kept = np.sort(cut.offset[cut.order >= 0])
    assert_array_equal(kept, np.sort(tree.offset[(tree.order >= 0) & (tree.order < n_clusters - 1)]))


@pytest.mark.parametrize("level", [0.0, 0.05, 0.15, 0.3, 0.6, 1.0])
def test_cut_at_a_level_keeps_significant_splits(tree, level):
    raised = tree.with_arrays(pvalue=np.where(np.arange(len(tree)) == tree.left[0], 0.9, tree.pvalue))
    cut = raised.cut(significance=level)
    assert_consistent(cut, X)
    inner = np.flatnonzero(raised.left != -1)
    shown = [k for k in inner if all(raised.pvalue[a] <= level for a in raised.ancestry(k))]
    assert_array_equal(np.sort(cut.offset[cut.left != -1]), np.sort(raised.offset[shown]))


def test_cut_of_merged_leaves_has_the_requested_clusters(tree):
    leaves = tree.leaves()
    merged = tree.merge(leaves[0], leaves[-1]).merge(leaves[1], leaves[-2])
    for n_clusters in range(1, 7):
        cut = merged.cut(n_clusters)
        assert cut.n_clusters == n_clusters
        assert_consistent(cut, X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n_clusters and significance"),
        ({"n_clusters": 2, "significance": 0.1}, "n_clusters and significance"),
        ({"n_clusters": 9}, "n_clusters=9.*8"),
        ({"n_clusters": 0}, "n_clusters .*got 0"),
        ({"n_clusters": True}, "n_clusters .*True"),
        ({"n_clusters": 2.0}, "n_clusters .*2.0"),
        ({"significance": -0.1}, "significance .*-0.1"),
        ({"significance": np.nan}, "significance .*nan"),
        ({"significance": True}, "significance .*True"),
        ({"significance": "all"}, "significance .*'all'"),
    ],
)
def test_invalid_cut_raises(tree, arguments, message):
    with pytest.raises(ValueError, match=message):
        tree.cut(**arguments)


def test_cut_at_a_level_keeps_splits_without_a_test(tree):
    untested = tree.with_arrays(pvalue=np.full(len(tree), np.nan))
    assert untested.cut(significance=0.05).n_clusters == tree.n_clusters
    assert grown(1).cut(significance=0.05).n_clusters == 1


# ----------------------------------------------------------------------------------------------- single edits


def test_pruned_node_is_a_leaf_and_a_leaf_stays_one(tree):
    node = int(tree.right[0])
    pruned = tree.prune(node)
    assert_consistent(pruned, X)
    assert pruned.n_leaves == tree.n_leaves - len(tree.leaves(node)) + 1
    below = np.isin(tree.apply(X), tree.leaves(node))
    assert len(set(pruned.predict(X)[below])) == 1
    assert have_same_groups(pruned.predict(X)[~below], tree.predict(X)[~below])
    assert_array_equal(tree.prune(tree.leaves()[2]).predict(X), tree.predict(X))
    assert len(tree.prune(0)) == 1


def test_pruning_keeps_leaves_merged_across_subtrees_together(tree):
    inside, outside = tree.leaves(int(tree.left[0]))[0], tree.leaves(int(tree.right[0]))[-1]
    merged = tree.merge(inside, outside)
    assert_consistent(merged, X)
    assert merged.n_clusters == 7
    pruned = merged.prune(int(merged.left[0]))
    assert_consistent(pruned, X)
    old, new = tree.apply(X), pruned.predict(X)
    together = np.isin(old, [*tree.leaves(int(tree.left[0])), outside])
    assert len(set(new[together])) == 1
    assert not set(new[together]) & set(new[~together])


def test_left_side_of_a_split_stays_in_the_merged_cluster(tree):
    a, b = tree.leaves()[0], tree.leaves()[4]
    merged = tree.merge(a, b)
    inside = tree.apply(X) == b
    plane = halve_rows(X[inside], np.array([1.0, 2.0, 3.0]))
    beyond = inside & (plane.distance(X) > 0)
    split = merged.split(b, plane, (int((inside & ~beyond).sum()), int(beyond.sum())), 0.25)
    assert_consistent(split, X)
    assert split.pvalue[b] == 0.25
    labels = split.predict(X)
    assert set(labels[inside & ~beyond]) == set(labels[tree.apply(X) == a])
    assert not set(labels[beyond]) & set(labels[~beyond])


@pytest.mark.parametrize("edit", ["prune", "leaves", "is_leaf", "node", "hyperplane", "rules", "ancestry"])
@pytest.mark.parametrize(
    ("node", "error", "message"),
    [
        (15, ValueError, "node 15"),
        (-1, ValueError, "node -1"),
        (True, TypeError, "node .*True"),
        (1.0, TypeError, "node .*1.0"),
        (None, TypeError, "node .*None"),
    ],
)
def test_unknown_node_raises(tree, edit, node, error, message):
    with pytest.raises(error, match=message):
        getattr(tree, edit)(node)
    for use in (lambda: tree.merge(node, tree.leaves()[0]), lambda: tree.split(node, tree.hyperplane(0), (1, 1))):
        with pytest.raises(error, match=message):
            use()


def test_inner_nodes_can_be_neither_merged_nor_split(tree):
    a = tree.leaves()[0]
    with pytest.raises(ValueError, match="node 0"):
        tree.merge(a, 0)
    with pytest.raises(ValueError, match=f"leaf {a}"):
        tree.merge(a, a)
    with pytest.raises(ValueError, match="node 0"):
        tree.split(0, tree.hyperplane(0), (30, 30))


def bad_splits():
    right, n = np.array([1.0, 0.0, 0.0]), 7
    return {
        "sizes that do not add up": (Hyperplane(right, 0.0), (3, 5)),
        "negative size": (Hyperplane(right, 0.0), (-1, n + 1)),
        "empty side": (Hyperplane(right, 0.0), (0, n)),
        "one column": (Hyperplane(np.array([1.0]), 0.0), (3, 4)),
        "two columns": (Hyperplane(np.array([1.0, 0.0]), 0.0), (3, 4)),
        "at infinity": (Hyperplane.at_infinity(right), (3, 4)),
    }


@pytest.mark.parametrize(("plane", "sizes"), bad_splits().values(), ids=bad_splits())
def test_invalid_split_raises(tree, plane, sizes):
    leaf = next(k for k in tree.leaves() if tree.size[k] == 7)
    with pytest.raises(ValueError, match=r"rows|side|column|hyperplane"):
        tree.split(leaf, plane, sizes)


def test_large_trees_are_shortened_in_notebooks(monkeypatch):
    tree = grow_random_tree(np.random.default_rng(0).normal(size=(90, 2)), 12)
    assert "more" not in tree._repr_html_()
    monkeypatch.setattr("ravine.tree.text.MAX_CLUSTERS", 3)
    monkeypatch.setattr("ravine.tree.text.MAX_LEAVES", 4)
    html = tree._repr_html_()
    assert f"and {tree.n_clusters - 3} more" in html
    assert f"{tree.n_leaves} leaves" in html


def test_wrong_arguments_of_a_tree_are_named():
    tree = grow_random_tree(np.random.default_rng(0).normal(size=(30, 2)), 3)
    assert tree.node(0).size == tree.size[0]
    with pytest.raises(ValueError, match=r"\(3, 9\)"):
        tree.apply(np.ones((3, 9)))
    with pytest.raises(ValueError, match="n_features"):
        tree.rules(cluster=0, n_features=0)
