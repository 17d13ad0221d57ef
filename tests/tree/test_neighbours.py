"""The graph of nearest neighbours: what hyperplanes cut, and which one is chosen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ravine import Hyperplane, MinimumDensityTree, RowBlocks
from ravine.density import measure_evidence
from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.neighbours import NeighbourGraph

RNG = np.random.default_rng(0)
MEANS = np.repeat([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 7.0, 0.0]], [60, 40, 50], axis=0)
X = MEANS + RNG.normal(size=(150, 3))


def make_graph(rows, n_clusters=3, seed=0, **options):
    return NeighbourGraph(as_rows(rows), n_clusters, np.random.default_rng(seed), **options)


def count_edges(rows, n_neighbours):
    """Count, for all pairs of rows, how often one is among the nearest neighbours of the other."""
    distances = np.linalg.norm(rows[:, None] - rows, axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :n_neighbours]
    edges = np.zeros((len(rows), len(rows)))
    for i, others in enumerate(nearest):
        for j in others:
            edges[i, j] += 1
            edges[j, i] += 1
    return edges


def list_edges(graph):
    """Return the matrix of edges of a graph."""
    edges = np.zeros((len(graph.indices),) * 2)
    for i, others in enumerate(graph.nearest):
        edges[i, others] += 1
        edges[others, i] += 1
    return edges


def sum_shares(edges, clusters):
    """Sum the shares of edges that leave each cluster, one edge at a time."""
    total = 0.0
    for k in np.unique(clusters):
        inside = sum(edges[i, j] for i in np.flatnonzero(clusters == k) for j in np.flatnonzero(clusters == k))
        total += 1.0 - inside / edges[clusters == k].sum()
    return total


def make_planes(n=12):
    normals = np.random.default_rng(1).normal(size=(n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return [Hyperplane(v, float(np.median(X[:60] @ v)) + 0.1 * k, bandwidth=0.5) for k, v in enumerate(normals)]


def test_edges_are_those_of_the_nearest_neighbours():
    graph = make_graph(X)
    assert_array_equal(list_edges(graph), count_edges(X, 25))
    assert_array_equal(graph.degrees, count_edges(X, 25).sum(axis=1))


@pytest.mark.parametrize("plane", make_planes())
def test_cut_is_the_increase_of_the_sum_over_clusters(plane):
    graph = make_graph(X)
    first = (X[:, 0] > 3.0).astype(int)
    node = np.flatnonzero(first == 0)
    after = first.copy()
    after[node] = 2 * (plane.distance(X[node]) > 0.0)
    few = count_edges(X, min(25, max(1, min(np.sum(after == 0), np.sum(after == 2)) // 2)))
    assert_allclose(graph.measure_cut(node, plane), sum_shares(few, after) - sum_shares(few, first), atol=1e-12)
    assert_allclose(graph.sum_cut(after), sum_shares(count_edges(X, 10), after), atol=1e-12)


def test_repeated_values_are_spread_over_their_cells():
    rng = np.random.default_rng(2)
    rare = np.repeat([7.0, 0.0], [2, 198])
    rows = np.column_stack([rng.integers(0, 4, 200), 10.0 * rng.integers(0, 2, 200), rare, rng.normal(size=200)])
    graph = make_graph(rows, spread=True)
    spread = rows.copy()
    for j, width in enumerate([1.0, 10.0, 7.0]):
        shifts = graph.shifts[0][j]
        assert -width / 2 <= shifts.min() < -0.4 * width < 0.4 * width < shifts.max() <= width / 2
        spread[:, j] += shifts * min(1.0, 6.0 * rows[:, j].std() / width)
    assert np.ptp(spread[2:, 2]) < 6.0 * rare.std() < 7.0
    q = graph.nearest.shape[1]
    assert_array_equal(list_edges(graph), count_edges(spread, q))
    assert np.abs(list_edges(make_graph(1e200 * rows, spread=True)) - count_edges(spread, q)).sum() <= 20
    assert_array_equal(make_graph(X, spread=True).nearest, make_graph(X).nearest)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("column", [0.1 + 1.4e-17 * (np.arange(60) % 2), 5e-324 * (np.arange(60) % 3)])
def test_cells_of_neighbouring_numbers_are_not_spread(column):
    rows = np.column_stack([column, RNG.normal(size=60)])
    graph = make_graph(rows, n_clusters=2, spread=True)
    assert_array_equal(graph.nearest, make_graph(rows, n_clusters=2).nearest)


def test_boundaries_between_repeated_values_cut_neighbours():
    """Copies of a row are not its only neighbours: the cut between yes and no depends on the other features."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 1500)
    answers = np.where(rng.random((1500, 4)) < 0.05, 1 - group[:, None], group[:, None])
    rows = np.column_stack([answers, rng.integers(0, 2, 1500)]).astype(float)
    graph = make_graph(rows, n_clusters=2, spread=True)
    assert 0.0 < 3.0 * graph.sum_cut(group) < graph.sum_cut(rows[:, 4])


def test_choice_is_the_smallest_cut_for_its_evidence():
    graph, edges, planes = make_graph(X), count_edges(X, 25), make_planes()
    scores = []
    for plane in planes:
        sides = plane.distance(X) > 0.0
        fewest = min(sides.sum(), (~sides).sum())
        evidence = min(measure_evidence(plane.distance(X), plane.bandwidth, 0.0))
        scores.append(sum_shares(edges, sides) / max(evidence, 0.1) if fewest >= 5 else np.inf)
    best, chosen = planes[int(np.argmin(scores))], graph.choose_hyperplane(np.arange(len(X)), planes, 5)
    assert abs(chosen.normal @ best.normal) == pytest.approx(1.0)
    assert (chosen.distance(X) > 0.0).sum() <= len(X) / 2


def test_a_gap_without_evidence_is_not_chosen():
    """The boundary between two repeated values cuts nothing; the valley between two clusters cuts something."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([100.0 * rng.integers(0, 2, 600), rng.normal(size=600) + 5.0 * (np.arange(600) % 2)])
    gap, valley = Hyperplane(np.eye(2)[0], 50.0, bandwidth=10.0), Hyperplane(np.eye(2)[1], 2.5, bandwidth=0.5)
    graph = make_graph(rows, n_clusters=2)
    assert graph.sum_cut(rows[:, 0]) == 0.0 < graph.sum_cut(valley.distance(rows) > 0.0)
    assert abs(graph.choose_hyperplane(np.arange(600), [gap, valley], 5).normal[1]) == 1.0


def test_small_sides_are_not_chosen():
    far = Hyperplane(np.array([1.0, 0.0, 0.0]), float(np.sort(X[:, 0])[-2]), bandwidth=0.5)
    assert make_graph(X).choose_hyperplane(np.arange(len(X)), [far], 5) is None
    assert make_graph(X).choose_hyperplane(np.arange(len(X)), [], 5) is None


def test_sample_of_many_rows_stands_for_all(monkeypatch):
    monkeypatch.setattr(constants, "MOST_NEIGHBOUR_ROWS", 90)
    assert len(make_graph(X, n_clusters=None).indices) == 150
    monkeypatch.setattr(constants, "ROWS_PER_CLUSTER", 1)
    graph = make_graph(X, n_clusters=None)
    assert len(graph.indices) == 90
    node = np.flatnonzero(X[:, 0] < 3.0)
    members = graph.find_members(node)
    assert set(graph.indices[members]) == set(graph.indices) & set(node.tolist())


@pytest.mark.parametrize("kind", [np.float32, csr_array, RowBlocks, lambda x: x * 1e200, lambda x: x + 1e9])
def test_every_kind_of_rows_has_the_same_graph(kind):
    rows = RowBlocks([X[:70], X[70:]]) if kind is RowBlocks else kind(X)
    edges = list_edges(make_graph(X))
    difference = np.abs(list_edges(make_graph(rows)) - edges)
    assert difference.sum() <= 0.002 * edges.sum()  # rounding may exchange two neighbours


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_or_equal_rows_have_a_graph(n):
    for rows in (X[:n], np.ones((n, 3))):
        graph = make_graph(rows, n_clusters=2)
        assert len(graph.nearest) == n
        assert np.isfinite(graph.measure_cut(np.arange(n), make_planes()[0]))


def test_small_clusters_far_away_are_found():
    rng = np.random.default_rng(0)
    means = np.repeat([[0.0, 0.0], [15.0, 0.0], [0.0, 15.0], [20.0, 20.0]], [200, 200, 200, 10], axis=0)
    rows = means + rng.normal(size=(610, 2))
    assert sorted(np.bincount(MinimumDensityTree(4, random_state=0).fit(rows).labels_)) == [10, 200, 200, 200]
