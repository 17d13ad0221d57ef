"""Kernels of neighbour graphs, compared with loops over all thresholds and all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from ravine import _kernels


def compute_cut(p, edges, threshold):
    """Return the normalised cut of one threshold, edge by edge."""
    right = p > threshold
    crossing = sum(right[a] != right[b] for a, b in edges)
    volumes = [sum(int(right[a] == side) + int(right[b] == side) for a, b in edges) for side in (False, True)]
    return crossing * sum(volumes) / (volumes[0] * volumes[1]) if min(volumes) else np.inf


def sweep_slowly(projections, edges, fewest):
    """Return the least normalised cut over all directions and all thresholds between different values."""
    best = np.inf
    for p in projections:
        values = np.unique(p)
        for threshold in 0.5 * (values[1:] + values[:-1]):
            if min((p > threshold).sum(), (p <= threshold).sum()) >= fewest:
                best = min(best, compute_cut(p, edges, threshold))
    return best


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 25), st.integers(1, 4), st.integers(0, 60), st.integers(1, 6), st.integers(0, 2**31), st.booleans()
)
def test_sweep_finds_the_least_normalised_cut(m, k, n_edges, fewest, seed, ties):
    rng = np.random.default_rng(seed)
    projections = rng.normal(size=(k, m)).round(0 if ties else 9)
    edges = rng.integers(m, size=(n_edges, 2))
    value, direction, threshold = _kernels.sweep_cuts(projections, edges, fewest)
    expected = sweep_slowly(projections, edges, fewest)
    if np.isinf(expected):
        assert (value, direction) == (np.inf, -1)
        return
    p = projections[direction]
    assert min((p > threshold).sum(), (p <= threshold).sum()) >= fewest
    assert_allclose([value, compute_cut(p, edges, threshold)], expected)


def test_sweep_prefers_the_widest_gap_of_equal_cuts():
    p = np.array([[0.0, 1.0, 10.0, 11.0, 13.0, 14.0]])
    value, _, threshold = _kernels.sweep_cuts(p, np.array([[0, 1], [2, 3], [4, 5]]), 2)
    assert (value, threshold) == (0.0, 5.5)


@pytest.mark.parametrize("edges", [[[0, 3]], [[-1, 0]]])
def test_sweep_refuses_edges_to_other_rows(edges):
    with pytest.raises(ValueError, match="edges"):
        _kernels.sweep_cuts(np.zeros((1, 3)), np.array(edges), 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 30), st.integers(1, 4), st.integers(0, 2**31), st.booleans())
def test_contact_has_the_distances_of_all_pairs(m, d, seed, repeats):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, d)).round(0 if repeats else 12)
    first = int(rng.integers(1, m))
    own, other, expected, ratios = _kernels.measure_contact(x, first, 5, 10)
    distances = cdist(x, x)
    group = np.arange(m) < first
    for i in range(m):
        rest = np.arange(m) != i
        near = np.sort(distances[i, rest])[:10]
        same = np.sort(distances[i, rest & (group == group[i])])[:5]
        assert_allclose(own[i], same.mean() if len(same) else near[-1], atol=1e-12)
        assert_allclose(other[i], np.sort(distances[i, group != group[i]])[:5].mean(), atol=1e-12)
        assert_allclose(expected[i], near[1::2].mean() if len(near) > 1 else near[0], atol=1e-12)
        assert_allclose(ratios[i], np.log(near[-1] / near[:-1][near[:-1] > 0]).sum(), atol=1e-9)


@pytest.mark.parametrize("first", [0, 4])
def test_contact_refuses_an_empty_group(first):
    with pytest.raises(ValueError, match="groups"):
        _kernels.measure_contact(np.zeros((4, 2)), first, 5, 10)
