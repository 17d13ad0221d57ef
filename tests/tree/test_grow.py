"""Growth of trees with any splitter."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine import Split
from ravine.tree import grow
from support.tree_twin import RandomSplitter, assert_consistent

X = np.random.default_rng(0).normal(size=(96, 3))


class CountingSplitter(RandomSplitter):
    """Splitter that counts the rows of each node that it splits."""

    def __init__(self):
        self.sizes = []

    def split(self, X, rows, rng):
        self.sizes.append(len(rows))
        return super().split(X, rows, rng)


def test_every_leaf_is_split_without_a_number():
    tree, leaves = grow(X, RandomSplitter(), n_clusters=None, min_cluster_size=3)
    assert_consistent(tree, X)
    assert_array_equal(tree.apply(X), leaves)
    sizes = tree.size[tree.leaves()]
    assert sizes.min() >= 3
    assert sizes.max() < 6


def test_largest_leaf_is_split_next_and_no_other_is_looked_at():
    splitter, seen = CountingSplitter(), []
    tree, _ = grow(X, splitter, n_clusters=7, notify=lambda tree: seen.append(tree.n_leaves))
    assert splitter.sizes == tree.size[np.argsort(np.where(tree.order < 0, 99, tree.order))][:6].tolist()
    assert seen == [2, 3, 4, 5, 6, 7]
    assert tree.size[tree.leaves()].max() <= min(splitter.sizes)


def test_split_of_largest_priority_is_split_next():
    tree, _ = grow(X, RandomSplitter(), n_clusters=7, priority=lambda split: -split.pvalue)
    inner = np.flatnonzero(tree.left >= 0)
    for k in inner[tree.order[inner] > 0]:
        waiting = [j for j in inner if tree.order[j] > tree.order[k] and tree.order[tree.parent[j]] < tree.order[k]]
        assert all(tree.pvalue[k] <= tree.pvalue[j] for j in waiting)


def test_node_has_its_own_generator():
    """The hyperplane of a node does not depend on the order of the splits."""
    by_size, _ = grow(X, RandomSplitter(), n_clusters=20)
    by_priority, _ = grow(X, RandomSplitter(), n_clusters=None, min_cluster_size=2, priority=lambda split: split.pvalue)
    planes = {tuple(normal) for normal in by_priority.normal}
    assert all(tuple(normal) in planes for normal in by_size.normal[by_size.left >= 0])


def test_pvalue_of_a_leaf_is_that_of_the_rejected_split():
    class Never:
        def split(self, X, indices, rng):
            return Split(None, 0.7)

    tree, leaves = grow(X, Never(), n_clusters=None)
    assert tree.pvalue.tolist() == [0.7]
    assert not leaves.any()


def test_priority_without_a_value_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        grow(X, RandomSplitter(), n_clusters=2, priority=lambda split: np.nan)
