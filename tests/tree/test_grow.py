"""Growth of trees in several threads."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine.tree import grow
from support.tree_twin import ARRAYS, RandomSplitter, assert_consistent

X = np.random.default_rng(0).normal(size=(96, 3))


class SlowSplitter(RandomSplitter):
    """Splitter whose larger nodes take longer, so that threads overtake each other."""

    def split(self, X, rows, rng):
        time.sleep(1e-4 * len(rows))
        return super().split(X, rows, rng)


def grow_fully(splitter, n_threads, n_clusters=None, notify=None):
    settings = {"n_clusters": n_clusters, "priority": None, "min_cluster_size": 3, "seed": 1}
    return grow(X, splitter, n_threads=n_threads, notify=notify, **settings)


@pytest.mark.parametrize("n_clusters", [None, 20])
@pytest.mark.parametrize("n_threads", [2, 5])
def test_tree_and_notifications_do_not_depend_on_threads(n_clusters, n_threads):
    sizes, others = [], []
    tree, leaves = grow_fully(SlowSplitter(), 1, n_clusters, lambda tree: sizes.append(tree.size.tolist()))
    other, other_leaves = grow_fully(
        SlowSplitter(), n_threads, n_clusters, lambda tree: others.append(tree.size.tolist())
    )
    assert_consistent(tree, X)
    assert sizes == others
    assert_array_equal(leaves, other_leaves)
    for name in ARRAYS:
        assert_array_equal(getattr(tree, name), getattr(other, name))


def test_children_do_not_wait_for_slower_nodes_of_their_level():
    """The larger child of the root waits until a grandchild below the smaller one has been fitted."""
    deeper = threading.Event()

    class Splitter(RandomSplitter):
        calls = 0

        def split(self, X, rows, rng):
            self.calls += 1
            if self.calls == 2:  # the first child
                assert deeper.wait(20.0)
            elif len(rows) < 40:
                deeper.set()
            return super().split(X, rows, rng)

    tree, _ = grow_fully(Splitter(), 2)
    assert_consistent(tree, X)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_error_of_a_splitter_ends_all_threads(n_threads):
    class Splitter(SlowSplitter):
        def split(self, X, rows, rng):
            if len(rows) < 20:
                raise ArithmeticError("cannot split")
            return super().split(X, rows, rng)

    before = threading.active_count()
    with pytest.raises(ArithmeticError, match="cannot split"):
        grow_fully(Splitter(), n_threads)
    assert threading.active_count() == before


def test_error_of_a_callback_cancels_waiting_nodes():
    seen = []

    class Splitter(SlowSplitter):
        def split(self, X, rows, rng):
            seen.append(len(rows))
            return super().split(X, rows, rng)

    def stop(tree):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grow_fully(Splitter(), 2, notify=stop)
    assert len(seen) < 15  # of 31
