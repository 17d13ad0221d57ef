"""Text about trees whose clusters are unions of leaves."""

import numpy as np
import pytest

from ravine import MinimumDensityTree
from ravine.tree import describe_test, find_shown_splits
from ravine.tree.grow import make_stump
from ravine.tree.text import describe_tests, list_splits
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


# ----------------------------------------------------------------------------------------------- tests of splits


@pytest.fixture(scope="module")
def tested():
    """Return a tree of five clusters in a row, with P-values of every kind."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 1)) + np.repeat([[0.0], [12.0], [24.0], [36.0], [48.0]], 40, axis=0)
    tree = MinimumDensityTree(5, random_state=0).fit(points).tree_
    pvalue, inner = np.full(len(tree), np.nan), np.argsort(tree.order)[-4:]
    pvalue[inner] = [1e-8, 0.2, 0.003, np.nan]
    return tree.with_arrays(pvalue=pvalue, level=0.05)


def test_shown_splits_are_those_that_a_cut_at_the_level_keeps(tested):
    is_shown, kept = find_shown_splits(tested), tested.cut(significance=0.05)
    assert 1 <= is_shown.sum() <= 2
    for k in np.flatnonzero(tested.left >= 0).tolist():
        path = tested.pvalue[tested.ancestry(k)]
        assert is_shown[k] == (not (path > 0.05).any() and not np.isnan(path[-1]))
    for p in tested.pvalue[is_shown]:
        assert p in kept.pvalue
    assert not find_shown_splits(tested.with_arrays(level=np.nan)).any()


def test_each_split_has_its_p_value_and_is_shown_or_suggested(tested):
    lines = str(tested).splitlines()
    assert lines[0].endswith("tested at the level 0.05")
    is_shown = find_shown_splits(tested)
    for k in np.flatnonzero(tested.left >= 0).tolist():
        (line,) = [line for line in lines if f"[{k}] " in line]
        if np.isnan(tested.pvalue[k]):
            assert line.endswith("no P")
        else:
            status = "shown" if is_shown[k] else "suggested"
            assert line.endswith(f"P = {tested.pvalue[k]:.2g}, {status}")
    assert [split["text"] in str(tested) for split in list_splits(tested)] == [True] * 4


def test_untested_trees_do_not_mention_tests():
    tree = MinimumDensityTree(2, random_state=0).fit(np.r_[np.zeros((9, 1)), np.ones((9, 1))]).tree_
    assert "P" not in str(tree)
    assert describe_tests(tree) == []
    assert list_splits(tree)[0]["shown"] is None


def test_a_leaf_says_why_it_is_not_split():
    stump = make_stump(30, 2)
    assert describe_test(stump, 0) == ""
    failed = stump.with_arrays(pvalue=np.array([0.2]), level=0.05)
    assert describe_test(failed, 0) == "no split, P = 0.2 at the level 0.05"
    passed = stump.with_arrays(pvalue=np.array([0.041]), level=0.05)
    assert describe_test(passed, 0).startswith("no split, although P = 0.041 at the level 0.05: ")
    assert describe_tests(passed) == [describe_test(passed, 0)]
    for one in (failed, passed):
        assert f"<div>{describe_test(one, 0)}</div>" in one._repr_html_()


def test_joined_cells_of_one_cluster_have_no_p():
    tree = MinimumDensityTree(random_state=0).fit(X).tree_
    assert tree.n_leaves > tree.n_clusters
    untested = [k for k in np.flatnonzero(tree.left >= 0).tolist() if np.isnan(tree.pvalue[k])]
    assert [describe_test(tree, k) for k in untested] == ["no P"] * len(untested)
    assert len(untested) >= tree.n_leaves - tree.n_clusters
    assert "no P" in " ".join(describe_tests(tree))


def test_long_lists_of_splits_end_with_their_number():
    points = np.repeat(np.arange(30.0)[:, None], 5, axis=0)
    tree = MinimumDensityTree(30, random_state=0).fit(points).tree_
    tree = tree.with_arrays(pvalue=np.where(tree.left >= 0, 0.01, np.nan), level=0.05)
    assert describe_tests(tree)[-1] == "  and 19 more"


def test_the_drawing_shows_depth_test_and_cluster_numbers(tested):
    html = tested._repr_html_()
    for k in np.flatnonzero(tested.left >= 0).tolist():
        assert f">depth {tested.relative_depth[k]:.2g}</text>" in html
        assert f">{describe_test(tested, k, find_shown_splits(tested)[k])}</text>" in html
    assert all(f">cluster {k}</text>" in html for k in range(5))
    assert html.count("stroke-dasharray") == list_splits(tested).__repr__().count("suggested")
