"""The pipeline from rows to a tested tree."""

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree
from ravine.rows import as_rows
from ravine.search import SearchSettings
from ravine.tree import constants
from ravine.tree.choice import join_unseparated
from ravine.tree.constraints import SizeLimits
from ravine.tree.editing import find_new_nodes, keep_significant_splits
from ravine.tree.fit import TreeSettings, fit_tree
from ravine.tree.graph import NeighbourGraph
from ravine.tree.nodes import NONE
from ravine.validity.cluster_test import judge_sides


def draw_thin(seed):
    """Draw two pairs of clusters; the clusters of a pair overlap."""
    centers = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 3.8], [12.0, 3.8]])
    X, _ = make_blobs([40] * 4, centers=np.column_stack([centers, np.zeros((4, 2))]), random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture(scope="module", params=[12, 22])
def thin(request):
    X = draw_thin(request.param)
    return X, MinimumDensityTree(random_state=0).fit(X)


def test_thin_evidence_suggests_a_cluster(thin):
    X, mdt = thin
    assert (mdt.n_shown_, mdt.n_clusters_) == (2, 3)
    found = mdt.tree_.pvalue[mdt.tree_.left != NONE]
    assert ((found <= 0.05) == [True, False]).all()
    assert found.max() <= constants.SUPPORTED
    assert len(set(mdt.cut("shown"))) == 2
    assert len(set(MinimumDensityTree("shown", random_state=0).fit(X).labels_)) == 2


def refit(X):
    """Return the tree of a fit, its graph and the cluster of each row of the graph."""
    settings = TreeSettings(None, SearchSettings(), SizeLimits(5), test="pooled")
    fit = fit_tree(as_rows(X), settings=settings, rng=np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rng.integers(2**31)  # the first draw of a fit
    graph = NeighbourGraph.of(as_rows(X), rng, drop_copies=True)
    return fit.tree, graph, fit.tree.cluster[fit.leaves[graph.indices]]


def test_p_of_a_split_is_that_of_its_closest_pair_or_larger(thin):
    tree, graph, labels = refit(thin[0])
    edges = graph.count_edges(labels, tree.n_clusters)
    for node in np.flatnonzero(tree.left != NONE):
        left, right = (tree.cluster[tree.leaves(int(side))] for side in (tree.left[node], tree.right[node]))
        pairs = [(min(i, j), max(i, j)) for i in left for j in right]
        found = {(i, j): judge_sides(graph.rows, labels == i, labels == j, 0.05) for i, j in pairs}
        assert tree.pvalue[node] in found.values()
        assert tree.pvalue[node] >= found[max(found, key=lambda pair: edges[pair])]


def test_shown_clusters_are_joined_neighbours_without_valley(thin):
    tree, graph, labels = refit(thin[0])
    groups = join_unseparated(graph, labels, tree.n_clusters, 0.05)
    shown = keep_significant_splits(tree, 0.05)
    leaf = {int(tree.cluster[leaf]): leaf for leaf in tree.leaves()}
    of_cluster = shown.cluster[find_new_nodes(tree, shown)[[leaf[k] for k in range(tree.n_clusters)]]]
    together = set(zip(groups.tolist(), of_cluster[labels].tolist(), strict=True))
    assert len(together) == len(set(groups.tolist())) == shown.n_clusters > 1


def test_one_cloud_has_a_large_p_and_one_cluster():
    mdt = MinimumDensityTree(random_state=0).fit(np.random.default_rng(0).normal(size=(200, 3)))
    assert mdt.n_clusters_ == mdt.n_shown_ == 1
    assert -ndtri(mdt.pvalue_) < 1.0


@pytest.mark.parametrize("share", [0.03, 0.13, 0.3])
def test_far_clusters_are_two_whatever_their_shares(share):
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(400, 3))
        X[: int(share * 400), 0] += 25.0
        mdt = MinimumDensityTree(random_state=seed).fit(X)
        assert mdt.n_clusters_ == mdt.n_shown_ == 2
        assert mdt.labels_[:12].max() == mdt.labels_[:12].min() != mdt.labels_[-1]
