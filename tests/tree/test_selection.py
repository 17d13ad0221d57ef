"""Every row with a constraint has a cluster that meets them all, and large clusters are divided."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ravine.rows import as_rows
from ravine.search import SearchSettings
from ravine.tree import grow
from ravine.tree.constraints import SizeLimits, make_constraints
from ravine.tree.selection import Selection, assign_groups, color_groups
from ravine.tree.splitter import DensitySplitter
from support.tree_twin import RandomSplitter, assert_consistent


def can_be_coloured(apart, n_colors):
    """Try all colourings."""
    return any(
        all(colors[a] != colors[b] for a, others in enumerate(apart) for b in others)
        for colors in product(range(n_colors), repeat=len(apart))
    )


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.floats(0.1, 0.9))
def test_colours_are_found_exactly_if_there_are_some(seed, n, n_colors, share):
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.random((n, n)) < share, 1)
    apart = [set(np.flatnonzero(row).tolist()) for row in matrix | matrix.T]
    known = int(rng.integers(1, n_colors + 1))
    found = color_groups(apart, rng.random((n, known)), n_colors)
    assert (found is not None) == can_be_coloured(apart, n_colors)
    if found is not None:
        assert found.min() >= 0
        assert found.max() < n_colors
        assert all(found[a] != found[b] for a, others in enumerate(apart) for b in others)


def test_groups_stay_in_their_cluster_if_they_can():
    rows = as_rows(np.arange(12.0)[:, np.newaxis])
    constraints = make_constraints(12, None, [(0, 1), (8, 9)], [(1, 8), (8, 10)])
    assert assign_groups(constraints, rows, np.repeat([0, 1], 6), 3).tolist() == [0, 0, 1, 1, 0]


def test_more_clusters_are_used_only_if_necessary():
    rows, labels = as_rows(np.arange(4.0)[:, np.newaxis]), np.zeros(4, dtype=np.intp)
    triangle = make_constraints(4, None, None, [(0, 1), (1, 2), (0, 2)])
    assert len(np.unique(assign_groups(triangle, rows, labels, 2))) == 3
    path = make_constraints(4, None, None, [(0, 1), (1, 2), (2, 3)])
    assert assign_groups(path, rows, labels, 2).tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_equal_rows_are_assigned_to_one_cluster():
    rows = as_rows(np.array([[0.0], [0.0], [0.0], [5.0], [6.0]]))
    constraints = make_constraints(5, None, [(0, 3), (1, 4)], [(1, 2)])
    of_row = assign_groups(constraints, rows, np.zeros(5, dtype=np.intp), None)
    assert of_row[0] == of_row[1] == of_row[3] == of_row[4] != of_row[2]


def draw_selection(seed, n_clusters, limits, n=80):
    """Return the selection of a random tree, some leaves of which are merged."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    tree, leaves = grow(X, RandomSplitter(), n_clusters=n_clusters + 3, seed=seed)
    while tree.n_clusters > n_clusters:
        tree = tree.merge(*rng.choice(tree.leaves(), 2, replace=False).tolist())
    return X, Selection(as_rows(X), None, tree, leaves, limits)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_of_several_leaves_are_divided_below_the_limit(seed):
    X, selection = draw_selection(seed, 2, SizeLimits(3, 25))
    selection.limit_sizes(DensitySplitter(SearchSettings(init="pca", n_init=1)), np.random.default_rng(seed))
    assert_consistent(selection.tree, X)
    sizes = np.bincount(selection.labels)
    assert sizes.min() >= 3
    assert sizes.max() <= 25


@pytest.mark.parametrize("seed", range(5))
def test_joined_clusters_are_not_apart_and_within_the_limit(seed):
    X, selection = draw_selection(seed, 8, SizeLimits(1, 60))
    apart = make_constraints(len(X), None, None, [(0, 1), (2, 3), (4, 5)])
    were_apart = [(i, j) for _, i, j, _ in apart.links if selection.labels[i] != selection.labels[j]]
    selection.join_clusters(3, apart)
    assert_consistent(selection.tree, X)
    assert selection.tree.n_clusters == 3
    assert all(selection.labels[i] != selection.labels[j] for i, j in were_apart)
    assert np.bincount(selection.labels).max() <= 60
