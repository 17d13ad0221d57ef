"""Every row with a constraint has a cluster that meets them all, and hyperplanes put it there."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ravine.rows import as_rows
from ravine.tree.constraints import make_constraints
from ravine.tree.linked_splits import _colour, _cut_feature, complete_constraints


def can_be_coloured(apart, n_colours):
    """Try all colourings."""
    return any(
        all(colours[a] != colours[b] for a, others in enumerate(apart) for b in others)
        for colours in product(range(n_colours), repeat=len(apart))
    )


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.floats(0.1, 0.9))
def test_colours_are_found_exactly_if_there_are_some(seed, n, n_colours, share):
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.random((n, n)) < share, 1)
    apart = [set(np.flatnonzero(row).tolist()) for row in matrix | matrix.T]
    known = int(rng.integers(1, n_colours + 1))
    found = _colour(apart, rng.random((n, known)), n_colours, None)
    assert (found is not None) == can_be_coloured(apart, n_colours)
    if found is not None:
        assert found.min() >= 0
        assert found.max() < n_colours
        assert all(found[a] != found[b] for a, others in enumerate(apart) for b in others)


def test_groups_stay_in_their_cluster_if_they_can():
    rows = as_rows(np.arange(12.0)[:, np.newaxis])
    clusters = np.repeat([0, 1], 6)
    found = complete_constraints(make_constraints(12, None, [(0, 1), (8, 9)], [(1, 8), (8, 10)]), rows, clusters, 3)
    assert found.group.tolist() == [0, 0, -1, -1, -1, -1, -1, -1, 1, 1, 0, -1]
    assert found.apart == {(0, 1)}


def test_more_clusters_are_used_only_if_necessary():
    rows, leaves = as_rows(np.arange(4.0)[:, np.newaxis]), np.zeros(4, dtype=np.intp)
    triangle = make_constraints(4, None, None, [(0, 1), (1, 2), (0, 2)])
    assert len(np.unique(complete_constraints(triangle, rows, leaves, 2).group[:3])) == 3
    path = make_constraints(4, None, None, [(0, 1), (1, 2), (2, 3)])
    assert complete_constraints(path, rows, leaves, 2).group.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3))
def test_a_feature_is_cut_where_groups_are_least_mixed(seed, n, d):
    rng = np.random.default_rng(seed)
    x, label = rng.integers(0, 4, (n, d)).astype(float), rng.permutation(n) % 3

    def measure(right):
        return sum(
            side.sum() - sum((label[side] == k).sum() ** 2 for k in range(3)) / side.sum() for side in (right, ~right)
        )

    cuts = [x[:, j] > value for j in range(d) for value in np.unique(x[:, j])[:-1]]
    plane = _cut_feature(x, label)
    assert (plane is not None) == bool(cuts)
    if cuts:
        np.testing.assert_allclose(measure(plane.on_positive_side(x)), min(map(measure, cuts)))


def test_neighbouring_numbers_are_separated():
    x = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert _cut_feature(x, np.array([0, 1])).on_positive_side(x).tolist() == [False, True]
