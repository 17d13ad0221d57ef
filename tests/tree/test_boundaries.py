"""Cells, contacts between groups of them, and joins where no valley separates them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from ravine._kernels import measure_contact
from ravine.rows import as_rows
from ravine.tree.boundaries import Join, Joiner, label_cells
from ravine.tree.cells import CutSplitter, grow_cells
from ravine.tree.graph import NeighbourGraph
from ravine.tree.partitions import find_weakest
from ravine.validity import contacts
from ravine.validity.contacts import estimate_dimension
from support.shape_data import draw_ring, draw_rings, draw_spiral
from support.tree_twin import assert_consistent


def make_graph(X, seed=0):
    return NeighbourGraph.of(as_rows(X), np.random.default_rng(seed))


def find_contact(graph, first, second):
    """Measure the contact of two groups of all rows."""
    return contacts.find_contact(
        graph.points, graph.nearest, graph.dimension, first[graph.indices], second[graph.indices]
    )


def make_joiner(X, seed=0):
    graph = make_graph(X, seed)
    leaves = grow_cells(graph, 1, seed)[1]
    return Joiner(graph, np.unique(leaves, return_inverse=True)[1], 10)


def test_graph_has_the_nearest_rows_in_its_coordinates():
    X = np.random.default_rng(0).normal(size=(80, 3)) * 1e6 + 1e9
    graph = make_graph(X)
    rows = X[graph.indices]
    assert_allclose(graph.rows.center + graph.rows.scale * graph.points, rows, rtol=1e-12)
    distances = cdist(rows, rows)
    np.fill_diagonal(distances, np.inf)
    assert_array_equal(np.sort(graph.nearest), np.sort(np.argsort(distances, axis=1)[:, :10]))


@pytest.mark.parametrize(("d", "low", "high"), [(1, 0.8, 1.3), (2, 1.7, 2.4), (5, 3.6, 5.6)])
def test_effective_dimension_is_that_of_a_uniform_cube(d, low, high):
    X = np.random.default_rng(0).random((1000, d)) @ np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))[0][:d]
    assert low < estimate_dimension(measure_contact(X, 500, 5, 10)[3], 10) < high


def test_cut_has_no_more_crossing_edges_than_random_hyperplanes():
    X, _ = draw_rings()
    graph = make_graph(X)
    X = graph.points
    plane = CutSplitter(graph).split(as_rows(X), np.arange(len(X)), np.random.default_rng(0)).hyperplane
    rng = np.random.default_rng(1)

    def cut(normal, offset):
        right = X @ normal > offset
        crossing = (right[graph.nearest] != right[:, None]).sum()
        degrees = 10 + np.bincount(graph.nearest.ravel(), minlength=len(X))
        return crossing / (degrees[right].sum() * degrees[~right].sum())

    for _ in range(50):
        normal = rng.normal(size=2)
        assert cut(plane.normal, plane.offset) < 1.3 * cut(normal, np.quantile(X @ normal, rng.uniform(0.15, 0.85)))


def test_cells_are_a_consistent_tree_of_small_leaves():
    X, _ = draw_rings()
    graph = make_graph(X)
    X = graph.points
    tree, leaves = grow_cells(graph, 1, 0)
    assert tree.n_leaves == len(X) // 25
    assert np.bincount(leaves)[tree.leaves()].min() >= 10
    assert_array_equal(tree.apply(X), leaves)
    assert_consistent(tree.with_arrays(pvalue=np.full(len(tree), np.nan)), X)


def test_coordinates_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    x[40:, 0] += 3.0
    distances = cdist(x, x)
    np.fill_diagonal(distances, np.inf)
    ordered = np.sort(distances, axis=1)[:, :10]
    dimension = 8.0 / np.log(ordered[:, -1:] / ordered[:, :-1]).sum(axis=1).mean()
    weight = np.clip((dimension - 2.0) / 3.0, 0.0, 1.0)
    groups = np.arange(90) >= 40
    signed = []
    for i in range(90):
        other = np.sort(distances[i, groups != groups[i]])[:5].mean()
        own = np.sort(distances[i, groups == groups[i]])[:5].mean()
        expected = ordered[i, 1::2].mean()
        signed.append((1.0 if groups[i] else -1.0) * (other - weight * own - (1.0 - weight) * expected))
    assert_allclose(contacts._compute_coordinates(x, np.arange(40), np.arange(40, 90)), signed, rtol=1e-9)


def test_valley_between_two_groups_is_evident():
    X, y = draw_rings()
    contact = find_contact(make_graph(X), y == 0, y == 1)
    assert contact.evidence > 8
    assert (contact.coordinates[~contact.is_second] < contact.at).mean() > 0.95
    assert (contact.coordinates[contact.is_second] > contact.at).mean() > 0.95


@pytest.mark.parametrize("draw", [draw_spiral, lambda: draw_ring(np.random.default_rng(3), 400)])
def test_halves_of_a_curved_cluster_have_no_valley(draw):
    X = draw()
    graph = make_graph(X)
    for direction in ([1.0, 0.0], [0.6, 0.8]):
        side = X @ direction > np.median(X @ direction)
        assert find_contact(graph, ~side, side).evidence < 3


def test_contact_of_few_rows_is_unknown():
    X, _ = draw_rings()
    few = np.zeros(len(X), dtype=bool)
    few[:2] = True
    assert find_contact(make_graph(X), few, ~few) is None


def test_joined_cells_are_the_rings():
    X, y = draw_rings()
    joiner = make_joiner(X)
    joins = joiner.join(4.0)
    clusters = label_cells(joiner.n_cells, joins)[joiner.cell_of_row]
    assert adjusted_rand_score(y[joiner.graph.indices], clusters) > 0.95
    assert find_weakest(joiner.graph, clusters, joiner.graph.count_edges(clusters, 2)) > 4.0
    assert all(not made.evidence >= 4.0 for made in joins)


def test_joins_continue_across_the_weakest_boundaries():
    X, _ = draw_rings()
    joiner = make_joiner(X)
    made = joiner.join(4.0)
    complete = joiner.complete(made)
    assert complete[: len(made)] == made
    assert len(complete) == joiner.n_cells - 1
    assert complete[-1].evidence > 4.0


def test_groups_that_do_not_touch_are_joined_by_centre():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) + offset for offset in (0.0, 100.0, 140.0)])
    joiner = make_joiner(X)
    complete = joiner.complete(joiner.join(4.0))
    assert [made.evidence for made in complete[-2:]] == [math.inf, math.inf]
    two = np.empty(180, dtype=int)
    two[joiner.graph.indices] = label_cells(joiner.n_cells, complete[:-1])[joiner.cell_of_row]
    assert_array_equal(two, np.repeat([two[0], two[-1]], [60, 120]))


def test_labels_number_groups_by_their_first_cells():
    assert label_cells(5, [Join(3, 1, 0.0), Join(4, 3, 0.0)]).tolist() == [0, 1, 2, 1, 1]
