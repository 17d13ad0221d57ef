"""Proposals of partitions, and what they are compared by, next to loops and dense matrices."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.boundaries import measure_contact
from ravine.tree.graph import NeighbourGraph
from ravine.tree.partitions import (
    Partition,
    compare_partitions,
    cut_cells,
    find_weakest,
    fit_means,
    fit_mixture,
    list_neighbours,
    map_neighbours,
    propose_partitions,
    weigh_partition,
)
from ravine.validity.contacts import N_NEIGHBOURS
from support.shape_data import draw_rings

CENTERS = np.array([[0.0, 0.0, 0.0, 0.0], [8.0, 0.0, 0.0, 0.0], [0.0, 9.0, 0.0, 0.0]])
LABELS = np.repeat([0, 1, 2], [70, 50, 60])
X = CENTERS[LABELS] + np.random.default_rng(0).normal(size=(180, 4))


def make_graph(rows, seed=0):
    return NeighbourGraph.of(as_rows(rows), np.random.default_rng(seed))


def cut(graph, n_sets=2, seed=0):
    return cut_cells(graph, n_sets, 3, np.random.default_rng(seed))


GRAPH = make_graph(X)
TRUTH = LABELS[GRAPH.indices]


# ----------------------------------------------------------------------------------------------- proposals


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_means_and_mixtures_find_blobs(scale):
    x = make_graph(scale * X).rows.x
    means = fit_means(x, 3, np.random.default_rng(0))
    start = np.where(np.arange(180) % 9 == 0, (means + 1) % 3, means)
    for labels in (means, fit_mixture(x, start, True), fit_mixture(x, start, False)):
        assert adjusted_rand_score(TRUTH, labels) == 1.0


def test_fewer_different_rows_than_clusters_have_no_means():
    x = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]], 8, axis=0)
    assert len(np.unique(fit_means(x, 3, np.random.default_rng(0)))) == 3
    assert fit_means(x, 4, np.random.default_rng(0)) is None


def test_mixture_needs_rows_and_variance():
    start = np.arange(180) % 3
    assert fit_mixture(np.ones((180, 4)), start, True) is None
    few = np.arange(0, 180, 6)
    assert fit_mixture(X[few], LABELS[few], True) is not None
    assert fit_mixture(X[few], LABELS[few], False) is None  # 30 rows, 3 matrices of 4 features


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("name", ["blobs", "ties", "copies", "one feature", "outliers", "few rows"])
def test_every_proposal_has_the_number_of_clusters(name, k):
    rng = np.random.default_rng(1)
    rows = {
        "blobs": X,
        "ties": rng.integers(0, 4, size=(150, 3)).astype(float),
        "copies": np.repeat(rng.normal(size=(25, 3)), 6, axis=0),
        "one feature": X[:, :1],
        "outliers": np.concatenate([X, 1e6 * np.eye(4)]),
        "few rows": X[::15],
    }[name]
    graph = make_graph(rows)
    found = list(propose_partitions(graph, k, np.random.default_rng(0), cut(graph)))
    assert found
    for partition in found:
        assert_array_equal(np.unique(partition.labels), np.arange(k))


def test_every_set_of_cells_is_a_proposal():
    sets = cut(GRAPH)
    found = propose_partitions(GRAPH, 3, np.random.default_rng(0), sets)
    assert sum(one.cells is not None for one in found) == len(sets) == 2


# ----------------------------------------------------------------------------------------------- eigenvectors


def map_densely(graph, k):
    """Return the leading eigenvectors of the normalised graph, edge by edge and with a dense matrix."""
    m = len(graph)
    matrix = np.zeros((m, m))
    for i, others in enumerate(graph.nearest.tolist()):
        for j in others:
            weight = 1.0 if i in graph.nearest[j] else constants.ONE_SIDED_WEIGHT
            matrix[i, j] += weight
            matrix[j, i] += weight
    degrees = matrix.sum(axis=1)
    values, vectors = np.linalg.eigh(matrix / np.sqrt(np.outer(degrees, degrees)))
    return values, vectors[:, -k:] / np.linalg.norm(vectors[:, -k:], axis=1, keepdims=True)


@pytest.mark.parametrize(("n", "tolerance"), [(60, 1e-8), (120, 0.05)])
def test_map_spans_the_leading_eigenvectors(n, tolerance):
    """The products of the rows of a map do not depend on a rotation of the eigenvectors."""
    rows = np.repeat(2.2 * CENTERS / 8.0, n, axis=0) + 0.5 * np.random.default_rng(2).normal(size=(3 * n, 4))
    graph = make_graph(rows)
    assert (len(graph) <= constants.FEW_GRAPH_ROWS) == (n == 60)
    values, expected = map_densely(graph, 3)
    assert values[-4] < values[-3] - 0.02
    found = map_neighbours(graph, 3)
    assert_allclose(found @ found.T, expected @ expected.T, atol=tolerance)


def test_map_of_separate_clusters_has_one_point_for_each():
    graph = make_graph(20.0 * CENTERS[LABELS] + X)
    found, truth = map_neighbours(graph, 3), LABELS[graph.indices]
    assert_allclose(found @ found.T, (truth[:, None] == truth).astype(float), atol=1e-6)


def test_map_needs_more_rows_than_clusters():
    graph = make_graph(X[:6])
    assert map_neighbours(graph, 5) is None
    assert map_neighbours(graph, 4).shape == (6, 4)


# ----------------------------------------------------------------------------------------------- cells


def test_cells_need_two_features_and_enough_rows():
    assert cut(make_graph(X[:, :1])) == []
    assert cut(make_graph(X[: 2 * constants.FEWEST_CELL_ROWS - 1])) == []
    assert len(cut(make_graph(X[: 2 * constants.FEWEST_CELL_ROWS]))) == 2


def test_cells_are_the_leaves_of_their_tree():
    for cells in cut(GRAPH):
        leaves = np.sort(cells.tree.leaves())
        assert_array_equal(leaves[cells.cell_of_row], cells.tree.apply(GRAPH.points))
        assert np.bincount(cells.cell_of_row).min() >= constants.FEWEST_CELL_ROWS


@pytest.mark.parametrize("k", [None, 1, 2, 5])
def test_joined_cells_are_unions_of_cells(k):
    rows, rings = draw_rings()
    graph = make_graph(rows)
    for cells in cut(graph):
        partition = cells.join(k, 40.0)
        tree, cluster = partition.cells
        assert_array_equal(cluster[tree.apply(graph.points)], partition.labels)
        assert partition.labels.max() + 1 == (2 if k is None else k)
        assert partition.is_separated == (k in (None, 1, 2))
        if k in (None, 2):
            assert adjusted_rand_score(rings[graph.indices], partition.labels) > 0.95


def test_small_groups_of_cells_are_joined():
    for cells in cut(GRAPH):
        assert np.bincount(cells.join(None, 55.0).labels).min() >= 55
        assert np.bincount(cells.join(None, 10.0).labels).min() < 55


# ----------------------------------------------------------------------------------------------- criterion


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_neighbours_are_those_with_the_most_edges(share):
    for seed in range(20):
        half = np.random.default_rng(seed).integers(0, 4, size=(6, 6)).astype(float)
        edges = half + half.T
        expected = set()
        for i in range(6):
            most = max(edges[i, j] for j in range(6) if j != i)
            expected |= {(min(i, j), max(i, j)) for j in range(6) if j != i and edges[i, j] >= share * most > 0.0}
        assert list_neighbours(edges, share) == sorted(expected)
    assert list_neighbours(np.diag([3.0, 2.0])) == []


@pytest.mark.parametrize("name", ["truth", "random", "one small"])
def test_weight_is_the_inverse_of_the_cut(name):
    labels = {"truth": TRUTH, "random": np.arange(180) % 3, "one small": np.where(np.arange(180) < 4, 2, TRUTH // 2)}[
        name
    ]
    sources, shares = np.repeat(np.arange(180), N_NEIGHBOURS), []
    ends = list(zip(labels[sources], labels[GRAPH.nearest.ravel()], GRAPH.edge_weights.ravel(), strict=True))
    for k in range(3):
        volume = sum(w * [a, b].count(k) for a, b, w in ends)
        shares.append(sum(w for a, b, w in ends if (a == k) != (b == k)) / volume)
    edges = GRAPH.count_edges(labels, 3)
    pairs = list_neighbours(edges)
    weakest = min((measure_contact(GRAPH, labels == i, labels == j) for i, j in pairs), default=math.inf)
    assert find_weakest(GRAPH, labels, edges) == weakest
    for is_separated, factor in ((False, 1.0), (True, constants.CLEAR)):
        partition = Partition(labels, is_separated=is_separated)
        assert weigh_partition(GRAPH, partition, 3) == pytest.approx(factor / (sum(shares) + constants.LEAST_CUT))


def test_agreement_is_the_adjusted_rand_index():
    rng = np.random.default_rng(4)
    for n, k in ((2, 2), (30, 3), (200, 7)):
        first, second = rng.integers(k, size=(2, n))
        for other in (second, first, (first + 1) % k, np.zeros(n, dtype=np.intp), np.arange(n) % k):
            expected = adjusted_rand_score(first, other)
            assert compare_partitions(first, other, k) == pytest.approx(expected, abs=1e-12)
    assert compare_partitions(np.zeros(5, dtype=np.intp), np.zeros(5, dtype=np.intp), 1) == 1.0
