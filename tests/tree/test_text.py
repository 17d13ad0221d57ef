"""Text about trees whose clusters are unions of leaves."""

import numpy as np
import pytest

from ravine import MinimumDensityTree
from support.shape_data import draw_rings

X, _ = draw_rings()


@pytest.fixture(scope="module")
def tree():
    return MinimumDensityTree(2, random_state=0).fit(X).tree_


@pytest.fixture(scope="module")
def ring(tree):
    """Return the cluster with the most leaves, and these."""
    cluster = int(np.bincount(tree.cluster[tree.cluster >= 0]).argmax())
    return cluster, [leaf for leaf in tree.leaves() if tree.cluster[leaf] == cluster]


def test_text_says_which_leaves_are_joined(tree, ring):
    cluster, leaves = ring
    lines = str(tree).splitlines()
    assert lines[0] == f"Tree of 2 clusters (450 rows in {tree.n_leaves} leaves)"
    for leaf in leaves:
        assert any(
            f"[{leaf}] cluster {cluster}: {tree.size[leaf]} rows (one of {len(leaves)} joined leaves)" in line
            for line in lines
        )
    assert str(tree).count("joined leaves") == sum(
        np.count_nonzero(tree.cluster == tree.cluster[leaf]) > 1 for leaf in tree.leaves()
    )


def test_leaves_that_were_merged_by_hand_are_not_called_joined(tree, ring):
    merged = tree.merge(*ring[1][:2])
    assert "joined" not in str(merged)
    assert "merged leaves" in str(merged)
    assert "merged leaves" in merged._repr_html_()


def test_html_counts_the_leaves_of_each_cluster(tree, ring):
    size = int(tree.size[ring[1]].sum())
    assert f"{size} rows in {len(ring[1])} joined leaves" in tree._repr_html_()


def test_rules_of_a_cluster_hold_for_its_rows_only(tree, ring):
    cluster, leaves = ring
    text = tree.rules(cluster=cluster)
    assert text.splitlines()[0] == (
        f"A row belongs to cluster {cluster} ({tree.size[leaves].sum()} of 450 rows) if it is in one of "
        f"{len(leaves)} joined leaves"
    )
    for leaf in leaves:
        assert f"\nleaf {leaf} ({tree.size[leaf]} rows):\n" in text
        own = tree.rules(leaf)
        assert own.startswith(f"A row belongs to leaf {leaf} of cluster {cluster}")
        assert "\n".join(own.splitlines()[1:]) in text
    assert sum(line.startswith("  ") for line in text.splitlines()) == sum(len(tree.ancestry(k)) - 1 for k in leaves)


def test_rules_of_a_cluster_of_one_leaf_are_those_of_the_leaf():
    tree = MinimumDensityTree(2, random_state=0).fit(X).tree_
    assert tree.rules(cluster=0) == tree.rules(tree.leaves()[0])


def test_rules_need_one_leaf_or_one_cluster(tree):
    with pytest.raises(ValueError, match=r"leaf=1 .*cluster=0"):
        tree.rules(1, cluster=0)
    with pytest.raises(ValueError, match=r"cluster .*2"):
        tree.rules(cluster=2)
    with pytest.raises(TypeError, match="cluster"):
        tree.rules(cluster=True)
