"""Memberships of a tree: the slope of two normal clusters, and the closest distribution with the label on top."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ravine import Hyperplane
from ravine.explain.memberships import SplitOdds, estimate_slope, lift_own_cluster, sample_nodes
from ravine.rows import as_rows
from ravine.tree.grow import make_split_tree
from support.tree_twin import grow_random_tree


def find_closest(proba, label):
    """Solve the least squares problem by trying every set of others that share the level of the label."""
    k, best = len(proba), None
    others = [j for j in range(k) if j != label]
    for size in range(k):
        for chosen in itertools.combinations(others, size):
            level = (proba[label] + sum(proba[j] for j in chosen)) / (1 + size)
            found = proba.copy()
            found[[label, *chosen]] = level
            if (found <= level + 1e-12).all():
                distance = float(((found - proba) ** 2).sum())
                if best is None or distance < best[0]:
                    best = distance, found
    return best[1]


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_label_is_on_top_of_the_closest_distribution(k, seed):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0])), 7)
    if rng.random() < 0.3:
        proba = np.round(proba * 4) / 4 + 1e-300  # ties
        proba /= proba.sum(axis=1, keepdims=True)
    labels = rng.integers(0, k, 7)
    lifted = lift_own_cluster(proba.T.copy(), labels).T
    assert_array_equal(lifted.argmax(axis=1), labels)
    assert_allclose(lifted.sum(axis=1), 1.0, atol=1e-12)
    assert (lifted >= 0.0).all()
    for row, label, found in zip(proba, labels, lifted, strict=True):
        assert_allclose(found, find_closest(row, label), atol=1e-8)


@pytest.mark.parametrize("mean", [1.5, 2.0, 3.0])
def test_slope_is_that_of_two_normal_clusters(mean):
    # With kernels of width 1, the clusters seem to have the variance s² + 1.
    s, rng = 4.0, np.random.default_rng(0)
    t = np.concatenate([sign * mean * s + s * rng.normal(size=100_000) for sign in (-1.0, 1.0)])
    assert_allclose(estimate_slope(t, np.ones(len(t))), 2.0 * mean * s / (s**2 + 1.0), rtol=0.12)


def test_slope_with_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(0)
    t, weights = rng.normal(size=50) * 3.0, rng.integers(1, 5, 50)
    assert_allclose(estimate_slope(t, weights * 1.0), estimate_slope(np.repeat(t, weights), np.ones(weights.sum())))


@pytest.mark.parametrize("t", [[-1e300, 1e300], [-1e-300, 1e-300], [-50.0, 60.0], [0.0, 0.0], [-1.0, -1.0]])
def test_slope_of_extreme_distances_is_positive(t):
    assert 0.0 < estimate_slope(np.array(t), np.ones(2)) < np.inf


def test_sample_of_a_node_does_not_depend_on_other_nodes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    tree = grow_random_tree(X, 6)
    leaves = tree.apply(X)
    for most in (7, 1000):
        found = sample_nodes(tree, leaves, most)
        for k in range(len(tree)):
            inside = np.flatnonzero(np.isin(leaves, tree.leaves(k)))
            rank = np.random.default_rng(0).integers(2**32, size=40, dtype=np.uint32)
            assert_array_equal(found[k], inside[np.argsort(rank[inside], kind="stable")][:most])


@pytest.mark.parametrize("n", [10_000, 10_001, 30_001, 200_001])
def test_odds_of_a_hyperplane_are_those_of_its_tree(n):
    rng = np.random.default_rng(n)
    X, weights = rng.normal(size=(n, 2)), rng.uniform(size=n)
    plane = Hyperplane(np.array([0.6, 0.8]), offset=0.1, bandwidth=0.2)
    sides = plane.side(X)
    tree = make_split_tree(plane, (int((sides == 0).sum()), int(sides.sum())))
    expected = SplitOdds.of(tree, sides + 1, as_rows(X), weights)
    found = SplitOdds.of_hyperplane(plane, as_rows(X), weights)
    assert_array_equal(found.widths, expected.widths)
    assert_array_equal(found.slopes, expected.slopes)


def test_widths_of_the_smallest_distances_are_positive():
    tiny = 5e-324
    rows, plane = as_rows(np.array([[-tiny], [tiny]] * 50)), Hyperplane(np.ones(1), 0.0)
    odds = SplitOdds.of_hyperplane(plane, rows)
    assert odds.widths[0] > 0.0
    assert odds.slopes[0] > 0.0
