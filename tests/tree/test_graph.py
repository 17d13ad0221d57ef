"""The graph of nearest neighbours, compared with loops over all pairs of rows and over all edges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ravine import RowBlocks
from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.graph import NeighbourGraph, measure_cut, repeat_rows
from ravine.validity.contacts import N_NEIGHBOURS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)) + np.repeat([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 7.0, 0.0]], [40, 20, 30], axis=0)
INPUTS = {
    "blobs": X,
    "ties": RNG.integers(0, 4, size=(70, 2)).astype(float),
    "copies": np.repeat(RNG.normal(size=(15, 2)), 4, axis=0),
    "one feature": RNG.normal(size=(50, 1)),
    "constant feature": np.column_stack([np.full(60, 3.0), RNG.normal(size=60)]),
    "tiny": 1e-150 * X,
    "huge": 1e150 * X,
    "outliers": np.concatenate([X, [[1e9, 0.0, 0.0], [0.0, -1e9, 0.0]]]),
    "two rows": np.array([[0.0, 1.0], [2.0, 3.0]]),
    "equal rows": np.ones((20, 2)),
}


def make_graph(rows, seed=0, **options):
    return NeighbourGraph.of(as_rows(rows), np.random.default_rng(seed), **options)


def list_edges(graph):
    """List the edges: a row, one of its neighbours, and the weight, one at a time."""
    nearest = [set(others) for others in graph.nearest.tolist()]
    return [
        (i, j, 1.0 if i in nearest[j] else constants.ONE_SIDED_WEIGHT)
        for i, others in enumerate(nearest)
        for j in others
    ]


@pytest.fixture(params=INPUTS)
def graph(request):
    return make_graph(INPUTS[request.param])


def test_neighbours_are_the_nearest_of_all_rows(graph):
    for i, point in enumerate(graph.points):
        distances = np.sqrt(((graph.points - point) ** 2).sum(axis=1))
        others = np.delete(np.arange(len(graph)), i)
        expected = np.sort(distances[others])[:N_NEIGHBOURS]
        assert i not in graph.nearest[i]
        assert len(set(graph.nearest[i])) == len(expected)
        assert_allclose(np.sort(distances[graph.nearest[i]]), expected, rtol=1e-7, atol=1e-12)


def test_edges_between_groups_are_sums_over_edges(graph):
    labels = np.random.default_rng(1).integers(0, 3, len(graph))
    expected = np.zeros((4, 4))
    for i, j, weight in list_edges(graph):
        expected[labels[i], labels[j]] += weight
        expected[labels[j], labels[i]] += weight
    assert_allclose(graph.count_edges(labels, 4), expected, rtol=1e-12)


def test_cut_equals_a_sum_over_edges(graph):
    labels = np.arange(len(graph)) % 2
    total = 0.0
    for k in (0, 1):
        leaving = sum(weight for i, j, weight in list_edges(graph) if (labels[i] == k) != (labels[j] == k))
        volume = sum(weight * [labels[i], labels[j]].count(k) for i, j, weight in list_edges(graph))
        total += leaving / volume
    assert_allclose(measure_cut(graph.count_edges(labels, 2)), total, rtol=1e-12)


def test_adjacency_contains_every_edge_twice(graph):
    expected = np.zeros((len(graph), len(graph)))
    for i, j, weight in list_edges(graph):
        expected[i, j] += weight
        expected[j, i] += weight
    assert_allclose(graph.adjacency.toarray(), expected)


@pytest.mark.parametrize("name", INPUTS)
def test_coordinates_lead_back_to_the_rows(name):
    rows, graph = INPUTS[name], make_graph(INPUTS[name])
    back = np.tile(graph.rows.center, (len(graph), 1))
    back[:, graph.rows.columns] += graph.rows.scale * graph.rows.x
    assert_allclose(back, rows[graph.indices], rtol=1e-9, atol=1e-12 * np.abs(rows).max())
    assert_array_equal(np.sort(graph.indices), np.arange(len(rows)))


def test_an_edge_to_a_sparse_cluster_counts_little():
    """Rows of a sparse cluster have neighbours in a dense one, which do not have them."""
    rows = np.concatenate([np.linspace(0.0, 0.1, 30), 1.0 + np.arange(5.0)])[:, None]
    graph = make_graph(rows)
    edges = graph.count_edges((graph.rows.x[:, 0] * graph.rows.scale + graph.rows.center > 0.5).astype(int), 2)
    crossing = sum((i < 30) != (j < 30) for i, j, _ in list_edges(graph))
    assert crossing >= 25
    assert_allclose(edges[0, 1], constants.ONE_SIDED_WEIGHT * crossing)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_have_a_graph(n):
    for rows in (X[:n], np.ones((n, 3))):
        graph = make_graph(rows)
        assert graph.nearest.shape == graph.edge_weights.shape == (n, n - 1)
        assert graph.adjacency.sum() == 2 * n * (n - 1)
        assert graph.count_edges(np.zeros(n, dtype=np.intp), 1).tolist() == [[2.0 * n * (n - 1)]]
        assert 0.0 < graph.dimension < np.inf


def test_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(5).permutation(len(X))
    one, other = make_graph(X), make_graph(X[order])
    assert_array_equal(one.nearest, other.nearest)
    assert_array_equal(one.points, other.points)
    assert_array_equal(one.indices, order[other.indices])


@pytest.mark.parametrize("kind", [csr_array, RowBlocks, np.asfortranarray, lambda x: 2.0**400 * x])
def test_every_kind_of_rows_has_the_same_graph(kind):
    rows = RowBlocks([X[:70], X[70:]]) if kind is RowBlocks else kind(X)
    assert_array_equal(make_graph(rows).nearest, make_graph(X).nearest)
    assert_array_equal(make_graph(rows).indices, make_graph(X).indices)


def test_copies_have_neighbours_other_than_copies_of_grids():
    """Values on a grid are spread over their cells: rows of a table of ratings have different neighbours."""
    graph = make_graph(INPUTS["ties"])
    assert len(np.unique(graph.rows.x, axis=0)) <= 16
    assert len(np.unique(graph.points, axis=0)) == 70


# ----------------------------------------------------------------------------------------------- samples and weights


def test_sample_of_many_rows_has_the_rows_of_its_indices(monkeypatch):
    monkeypatch.setattr(constants, "MOST_GRAPH_ROWS", 50)
    monkeypatch.setattr(constants, "ROWS_PER_CLUSTER", 20)
    graph = make_graph(X)
    assert len(graph) == len(set(graph.indices.tolist())) == 50
    assert_allclose(graph.rows.center + graph.rows.scale * graph.rows.x, X[graph.indices], atol=1e-12)
    assert len(make_graph(X, n_clusters=3)) == 60
    assert len(make_graph(X, n_clusters=9)) == 90


def test_integer_weights_are_copies():
    weights = np.random.default_rng(2).integers(0, 4, len(X)).astype(float)
    weighted, copied = make_graph(X, weights=weights), make_graph(np.repeat(X, weights.astype(int), axis=0))
    assert_array_equal(weighted.points, copied.points)
    assert_array_equal(weighted.nearest, copied.nearest)
    assert_array_equal(np.bincount(weighted.indices, minlength=len(X)), weights)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("kind", ["fractions", "many integers", "one heavy row"])
def test_rows_occur_as_often_as_their_weights_say(kind, scale):
    rng = np.random.default_rng(3)
    weights = {
        "fractions": rng.random(40) * (rng.random(40) > 0.3),
        "many integers": rng.integers(0, 50, 40).astype(float),
        "one heavy row": np.append(np.ones(39), 1e6),
    }[kind]
    for most in (25, 10_000 if kind == "fractions" else 30):
        m = min(most, np.count_nonzero(weights))
        for seed in range(5):
            indices = repeat_rows(scale * weights, most, np.random.default_rng(seed))
            counts = np.bincount(indices, minlength=40)
            assert_array_equal(indices, np.sort(indices))
            assert abs(counts.sum() - m) <= 1
            assert np.abs(counts - m * weights / weights.sum()).max() <= 1.0 + 1e-9


def test_systematic_draws_are_right_on_average():
    weights, draws = np.array([0.1, 0.7, 1.3, 0.0, 2.9]), 4000
    rng = np.random.default_rng(4)
    counts = sum(np.bincount(repeat_rows(weights, 3, rng), minlength=5) for _ in range(draws))
    assert_allclose(counts / draws, 3 * weights / weights.sum(), atol=0.04)


@pytest.mark.parametrize("some", [[0], [89], [3, 4, 50], list(range(90))])
def test_members_are_found_by_their_indices(some):
    weights = np.random.default_rng(6).integers(0, 3, len(X)).astype(float)
    for graph in (make_graph(X), make_graph(X, weights=weights)):
        expected = [place for place, index in enumerate(graph.indices.tolist()) if index in set(some)]
        assert graph.find_members(np.array(some)).tolist() == expected
