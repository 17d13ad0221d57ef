"""Trees of random hyperplanes, and a check of all properties of a tree, row by row and node by node."""

import dataclasses

import numpy as np
from numpy.testing import assert_array_equal

from ravine import Hyperplane, Split
from ravine.tree import Tree, grow

ARRAYS = [field.name for field in dataclasses.fields(Tree) if field.default is dataclasses.MISSING]
HYPERPLANE_ARRAYS = ["normal", "point", "offset", "bandwidth", "alpha", "density", "relative_depth"]


def halve_rows(rows, direction):
    """Return the hyperplane with half of the rows on each side."""
    normal = direction / np.linalg.norm(direction)
    p = np.sort(rows @ normal)
    return Hyperplane(normal, float(p[[(len(p) - 1) // 2, len(p) // 2 + (len(p) % 2)]].mean()), 0.5, 2.0, 0.1, 1.0)


class RandomSplitter:
    """Splitter that halves the rows along random directions, with P-values of 0.01 times the number of rows."""

    def split(self, X, rows, rng):
        return Split(halve_rows(X[rows], rng.normal(size=X.shape[1])), 0.01 * len(rows))


def grow_random_tree(rows, n_clusters):
    return grow(rows, RandomSplitter(), n_clusters=n_clusters, seed=1)[0]


def trace_path(tree, x):
    """Return the nodes that one row passes."""
    path = [0]
    while tree.left[path[-1]] != -1:
        k = path[-1]
        path.append(int(tree.right[k] if tree.normal[k] @ (x - tree.point[k]) > 0 else tree.left[k]))
    return path


def assert_consistent(tree, rows):
    """Assert all properties of a tree."""
    inner = np.flatnonzero(tree.left != -1)
    leaves = tree.leaves()
    assert all(len(getattr(tree, name)) == len(tree) == 2 * tree.n_leaves - 1 for name in ARRAYS)
    assert sorted(leaves) == np.flatnonzero(tree.left == -1).tolist() == np.flatnonzero(tree.right == -1).tolist()
    assert tree.parent[0] == -1
    for k in range(1, len(tree)):
        assert 0 <= tree.parent[k] < k
        assert (tree.left[tree.parent[k]] == k) != (tree.right[tree.parent[k]] == k)
        assert tree.depth[k] == tree.depth[tree.parent[k]] + 1
    assert_array_equal(tree.size[inner], tree.size[tree.left[inner]] + tree.size[tree.right[inner]])
    assert sorted(tree.order[inner]) == list(range(len(inner)))
    assert all(tree.order[tree.parent[k]] < tree.order[k] for k in inner if k > 0)
    assert_array_equal(tree.order[leaves], -1)
    for name in HYPERPLANE_ARRAYS:
        assert np.isnan(getattr(tree, name)[leaves]).all()
    firsts = list(dict.fromkeys(tree.cluster[leaves].tolist()))
    assert firsts == list(range(tree.n_clusters))
    assert_array_equal(tree.cluster[inner], -1)

    paths = [trace_path(tree, x) for x in rows]
    reached = tree.apply(rows)
    assert_array_equal(reached, [path[-1] for path in paths])
    assert_array_equal(tree.predict(rows), tree.cluster[reached])
    passed = tree.decision_path(rows).toarray()
    assert_array_equal(passed, [[k in path for k in range(len(tree))] for path in paths])
    assert_array_equal(passed.sum(axis=0), tree.size)


def have_same_groups(one, other):
    return (
        len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(set(one.tolist())) == len(set(other.tolist()))
    )
