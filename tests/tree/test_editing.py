"""Any sequence of edits gives a consistent tree with the expected groups, and does not change the original."""

from functools import cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from support.tree_twin import ARRAYS, assert_consistent, grow_random_tree, halve_rows, have_same_groups

ROWS = np.random.default_rng(3).normal(size=(40, 2))
BLOBS, _ = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6], [9, 9]], random_state=0)
WHICH = st.integers(0, 10**6)


def arrays_of(tree):
    return {name: getattr(tree, name).copy() for name in ARRAYS}


class Edits(RuleBasedStateMachine):
    """Edits, and a model of their effect: one label for each row."""

    def start(self, edited, tree, rows):
        self.edited, self.rows, self.old = edited, rows, None
        self.groups = tree.predict(rows)

    @property
    def tree(self):
        return self.edited

    def leaf(self, which):
        return self.tree.leaves()[which % self.tree.n_leaves]

    def edit(self, make):
        old = self.edited
        before = arrays_of(self.tree)
        self.edited = make(old)
        self.old = (old, before)

    def rows_below(self, node):
        return np.isin(self.tree.apply(self.rows), self.tree.leaves(node))

    @precondition(lambda self: self.tree.n_leaves > 1)
    @rule(one=WHICH, other=WHICH)
    def merge(self, one, other):
        a, b = self.leaf(one), self.leaf(other)
        if a == b:
            return
        first, second = self.groups[self.rows_below(a)][0], self.groups[self.rows_below(b)][0]
        self.groups = np.where(self.groups == second, first, self.groups)
        self.edit(lambda edited: edited.merge(a, b))

    @rule(which=WHICH)
    def prune(self, which):
        node = which % len(self.tree)
        joined = np.unique(self.groups[self.rows_below(node)])
        self.groups = np.where(np.isin(self.groups, joined), joined[0], self.groups)
        self.edit(lambda edited: edited.prune(node))

    @invariant()
    def tree_is_sound(self):
        assert_consistent(self.tree, self.rows)

    @invariant()
    def groups_are_those_of_the_model(self):
        assert have_same_groups(self.tree.predict(self.rows), self.groups)

    @invariant()
    def tree_can_be_cut_to_any_number(self):
        for n_clusters in (1, 1 + self.tree.n_clusters // 2, self.tree.n_clusters):
            assert self.tree.cut(n_clusters).n_clusters == n_clusters

    @invariant()
    def old_tree_is_as_it_was(self):
        if self.old is not None:
            old, before = self.old
            for name, values in before.items():
                assert_array_equal(getattr(getattr(old, "tree_", old), name), values)


class TreeEdits(Edits):
    """Edits of a tree."""

    def __init__(self):
        super().__init__()
        tree = grow_random_tree(ROWS, 3)
        self.start(tree, tree, ROWS)

    @rule(which=WHICH, angle=st.floats(0.0, 6.0), pvalue=st.floats(0.0, 1.0))
    def split(self, which, angle, pvalue):
        leaf = self.leaf(which)
        inside = self.rows_below(leaf)
        if inside.sum() < 2:
            return
        plane = halve_rows(self.rows[inside], np.array([np.cos(angle), np.sin(angle)]))
        beyond = inside & (plane.distance(self.rows) > 0.0)
        self.groups = np.where(beyond, self.groups.max() + 1, self.groups)
        sizes = (int((inside & ~beyond).sum()), int(beyond.sum()))
        self.edit(lambda edited: edited.split(leaf, plane, sizes, pvalue))

    @rule(which=WHICH)
    def cut(self, which):
        n_clusters = 1 + which % self.tree.n_clusters
        self.edit(lambda edited: edited.cut(n_clusters))
        coarser = self.tree.predict(self.rows)
        assert all(len(set(coarser[self.groups == group])) == 1 for group in set(self.groups))
        self.groups = coarser


@cache
def fitted():
    return MinimumDensityTree(
        3,
        random_state=0,
        hyperplane=MinimumDensityHyperplane(init="pca", n_init=1, path=PathSettings(n_alpha=2, polish=False)),
    ).fit(BLOBS)


class EstimatorEdits(Edits):
    """Edits of the estimator, which update the labels and leaves of the training rows."""

    def __init__(self):
        super().__init__()
        self.start(fitted(), fitted().tree_, BLOBS)

    @property
    def tree(self):
        return self.edited.tree_

    @rule(which=WHICH, bandwidth=st.sampled_from([0.2, 0.5]))
    def split(self, which, bandwidth):
        leaf = self.leaf(which)
        try:
            self.edit(lambda edited: edited.split(leaf, self.rows, hyperplane__bandwidth=bandwidth))
        except ValueError as error:
            assert f"leaf {leaf} " in str(error)  # noqa: PT017
            return
        beyond = self.edited.leaves_ == self.tree.right[leaf]
        self.groups = np.where(beyond, self.groups.max() + 1, self.groups)

    @invariant()
    def labels_are_the_prediction(self):
        assert_array_equal(self.edited.leaves_, self.tree.apply(self.rows))
        assert_array_equal(self.edited.labels_, self.edited.predict(self.rows))
        assert self.edited.n_clusters_ == self.tree.n_clusters == len(set(self.edited.labels_))

    @invariant()
    def cut_is_the_prediction_of_the_cut_tree(self):
        n_clusters = 1 + self.edited.n_clusters_ // 2
        assert_array_equal(self.edited.cut(n_clusters), self.tree.cut(n_clusters).predict(self.rows))

    def teardown(self):
        assert self.edited is fitted() or self.edited.get_params() == fitted().get_params()
        assert fitted().n_clusters_ == 3


TestTreeEdits = TreeEdits.TestCase
TestTreeEdits.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
TestEstimatorEdits = EstimatorEdits.TestCase
TestEstimatorEdits.settings = settings(max_examples=12, stateful_step_count=8, deadline=None)
