"""The tree of modes against connected components of every level set."""

import itertools

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine_paper.baselines.clustering.mode_tree import build_mode_tree, find_cores


def slow_tree(density, edges, n_grid):
    """Compute the modes that each row joins, births and numbers of components from every level set separately."""
    n = len(density)
    label, births, counts = [None] * n, [], []
    ordered = np.sort(density)[::-1]
    for level in range(n_grid):
        least = next(k for k in range(1, n + 1) if k * (n_grid + 1) >= (level + 1) * n)
        above = [i for i in range(n) if density[i] >= ordered[least - 1]]
        graph = nx.Graph()
        graph.add_nodes_from(above)
        graph.add_edges_from([(i, j) for i, j in edges.tolist() if i in graph and j in graph])
        parts = [part for part in nx.connected_components(graph) if len(part) > 1]
        counts.append(len(parts))
        for part in sorted(parts, key=lambda p: min((-density[i], i) for i in p)):
            held = sorted({m for i in part if label[i] is not None for m in label[i]})
            if not held:
                held = [len(births)]
                births.append(level)
            for i in part:
                if label[i] is None:
                    label[i] = tuple(held)
    return [entry or () for entry in label], births, counts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tied", [False, True])
def test_tree_of_modes_is_that_of_brute_force(seed, tied):
    rng = np.random.default_rng(seed)
    n = 40
    density = rng.integers(0, 6, n).astype(float) if tied else rng.standard_normal(n)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.01, 0.05, 0.1])].reshape(-1, 2)
    tree, joined = build_mode_tree(density, edges, 13)
    slow_joined, births, counts = slow_tree(density, edges, 13)
    assert_array_equal(tree.n_components, counts)
    assert_array_equal(tree.births, births)
    assert joined == slow_joined


@pytest.mark.parametrize("seed", range(5))
def test_merges_have_the_density_of_the_saddle(seed):
    """The saddle is the lowest row on the best path between two modes."""
    rng = np.random.default_rng(seed)
    density, n = rng.standard_normal(50), 50
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)  # on a line there is only one path
    tree, joined = build_mode_tree(density, edges, 49)
    assert tree.n_modes - 1 >= len(tree.merges) > 0
    first = {m: min(i for i in range(n) if joined[i] == (m,)) for m in range(tree.n_modes)}
    for merge in tree.merges:
        gaps = [
            density[min(first[a], first[b]) : max(first[a], first[b]) + 1].min()
            for a in merge.modes[0]
            for b in merge.modes[1]
        ]
        assert merge.log_density == max(gaps)
    assert (np.diff([merge.log_density for merge in tree.merges]) <= 0).all()


def test_the_tree_is_cut_at_its_lowest_saddle_first():
    #         mode 0, saddle 5, mode 2 | saddle 1 | mode 1
    density = np.array([7.0, 9.0, 8.5, 5.0, 6.0, 6.5, 1.0, 7.5, 8.0, 0.5])
    edges = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    tree, joined = build_mode_tree(density, edges, 9)
    assert tree.n_modes == 3
    assert_array_equal(tree.groups(3), [0, 1, 2])
    assert_array_equal(tree.groups(2), [0, 1, 0])
    assert_array_equal(tree.groups(1), [0, 0, 0])
    assert_array_equal(find_cores(joined, tree.groups(3)), [0, 0, 0, -1, 2, 2, -1, 1, 1, -1])
    assert_array_equal(find_cores(joined, tree.groups(2)), [0, 0, 0, 0, 0, 0, -1, 1, 1, -1])
