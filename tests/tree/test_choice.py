"""Choice of a plan among the proposals, and of the number of clusters."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.choice import (
    Proposals,
    choose_plan,
    choose_separated,
    find_joined_cells,
    find_separated,
    join_unseparated,
    measure_curvature,
)
from ravine.tree.graph import NeighbourGraph
from ravine.tree.hyperplanes import plan_splits
from ravine.tree.partitions import Partition, cut_cells, list_neighbours, propose_partitions, weigh_partition
from ravine.validity.cluster_test import judge_sides
from ravine.validity.discriminants import find_discriminant
from support.shape_data import draw_moons, draw_rings

CENTERS = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
LABELS = np.repeat([0, 1, 2], [90, 60, 75])
X = CENTERS[LABELS] + np.random.default_rng(0).normal(size=(225, 3))
RNG = np.random.default_rng(1)
INPUTS = {
    "blobs": X,
    "one cloud": RNG.normal(size=(120, 2)),
    "ties": RNG.integers(0, 4, size=(120, 3)).astype(float),
    "copies": np.repeat(RNG.normal(size=(20, 2)), 5, axis=0),
    "one feature": X[:, :1],
    "constant feature": np.column_stack([X[:, 0], np.ones(225), X[:, 1]]),
    "outliers": np.concatenate([X, 1e6 * np.eye(3)]),
    "tiny": 1e-150 * X,
    "huge": 1e150 * X,
    "rings": draw_rings()[0],
    "few rows": X[::20],
    "two rows": X[:2],
    "equal rows": np.ones((30, 2)),
}


def make_graph(rows):
    graph = NeighbourGraph.of(as_rows(rows), np.random.default_rng(0))
    return graph, cut_cells(graph, 3, 3, np.random.default_rng(1))


# ----------------------------------------------------------------------------------------------- given numbers


@pytest.mark.parametrize("name", INPUTS)
def test_plan_has_the_number_of_clusters_or_fewer(name):
    graph, sets = make_graph(INPUTS[name])
    for k in (2, 3, 6):
        plan = choose_plan(Proposals(graph, np.random.default_rng(2), sets), k, 1.0)
        found = 1 if plan is None else plan.n_clusters
        assert found == k or (found < k and name in ("few rows", "two rows", "equal rows"))


@pytest.mark.parametrize("name", ["blobs", "one cloud", "ties", "rings"])
def test_plan_agrees_most_with_all_proposals(name):
    graph, sets = make_graph(INPUTS[name])
    for k, fewest in ((2, 1.0), (4, 15.0), (4, 1e6)):
        proposals = list(propose_partitions(graph, k, np.random.default_rng(3), sets))
        weights = [weigh_partition(graph, one, k) for one in proposals]
        largest, best = (False, -np.inf), None
        for partition in proposals:
            plan = plan_splits(graph, partition)
            is_large = plan.n_clusters == k and np.bincount(plan.labels, minlength=k).min() >= fewest
            scores = [adjusted_rand_score(partition.labels, other.labels) for other in proposals]
            agreement = round(sum(w * score for w, score in zip(weights, scores, strict=True)), 9)
            if (is_large, agreement) > largest:
                largest, best = (is_large, agreement), plan
        chosen = choose_plan(Proposals(graph, np.random.default_rng(3), sets), k, fewest)
        assert_array_equal(chosen.labels, best.labels)


def test_separated_clusters_are_preferred_to_agreement():
    rng = np.random.default_rng(400)
    is_second = np.arange(400) % 3 == 0
    coins = np.column_stack([rng.integers(0, 2, 400), rng.normal(size=400) + 8.0 * is_second])
    graph, sets = make_graph((coins - coins.mean(axis=0)) / coins.std(axis=0))
    truth = Partition(is_second[graph.indices].astype(np.intp))
    separated = choose_separated(Proposals(graph, np.random.default_rng(0), sets), truth, 5.0, 0.05)
    assert adjusted_rand_score(truth.labels, separated.labels) > 0.95
    first = propose_partitions(graph, 2, np.random.default_rng(0), sets)
    assert min(adjusted_rand_score(truth.labels, one.labels) for one in first) < 0.1  # the coin is proposed, too


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
def test_clusters_of_any_shape_are_found(draw):
    rows, labels = draw()
    graph, sets = make_graph(rows)
    found = choose_plan(Proposals(graph, np.random.default_rng(0), sets), 2, 5.0)
    convex = choose_plan(Proposals(graph, np.random.default_rng(0), []), 2, 5.0)
    scores = [adjusted_rand_score(labels[graph.indices], plan.labels) for plan in (found, convex)]
    assert scores[1] < 0.8 < 0.95 < scores[0]


# ----------------------------------------------------------------------------------------------- number of clusters


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_clear_blobs_are_separated(scale):
    for seed in range(3):
        graph, sets = make_graph(scale * (CENTERS[LABELS] + np.random.default_rng(seed).normal(size=(225, 3))))
        found = find_separated(Proposals(graph, np.random.default_rng(seed), sets), 5.0, 0.05)
        assert adjusted_rand_score(LABELS[graph.indices], found) == 1.0


@pytest.mark.parametrize("name", ["blobs", "ties", "copies", "rings"])
def test_separated_groups_are_the_same_for_permuted_rows(name):
    rows, groups = INPUTS[name], []
    for order in (np.arange(len(rows)), np.random.default_rng(4).permutation(len(rows))):
        graph, sets = make_graph(rows[order])
        found = find_separated(Proposals(graph, np.random.default_rng(0), sets), 5.0, 0.05)
        groups.append([tuple(row) for row in np.c_[found, rows[order][graph.indices]]])
    assert groups[0] == groups[1]


def test_separated_groups_have_the_smallest_size():
    graph, sets = make_graph(X)
    assert np.bincount(find_separated(Proposals(graph, np.random.default_rng(0), sets), 70.0, 0.05)).min() >= 70
    assert find_separated(Proposals(graph, np.random.default_rng(0), sets), 120.0, 0.05).max() == 0


def test_one_cloud_is_not_separated():
    for seed in range(3):
        graph, sets = make_graph(np.random.default_rng(seed).normal(size=(200, 3)))
        assert find_separated(Proposals(graph, np.random.default_rng(seed), sets), 5.0, 0.05).max() == 0


def test_neighbours_without_a_valley_are_joined():
    graph, _ = make_graph(X)
    labels = LABELS[graph.indices]
    halved = np.where((labels == 0) & (graph.rows.x[:, 2] > np.median(graph.rows.x[labels == 0, 2])), 3, labels)
    for given, k in ((labels, 3), (halved, 4), (np.zeros(225, dtype=np.intp), 1)):
        groups = {i: {i} for i in range(k)}
        for i, j in list_neighbours(graph.count_edges(given, k), constants.CLOSE_SHARE):
            if judge_sides(graph.rows, given == i, given == j, 0.05) > 0.05:
                union = groups[i] | groups[j]
                groups.update(dict.fromkeys(union, union))
        expected = [min(groups[k]) for k in given.tolist()]
        found = join_unseparated(graph, given, k, 0.05)
        assert adjusted_rand_score(expected, found) == 1.0
        assert found.max() + 1 == min(k, 3)


# ----------------------------------------------------------------------------------------------- joined cells


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
def test_joined_cells_are_clusters_of_any_shape(draw):
    rows, labels = draw(400)
    graph, sets = make_graph(rows)
    found = find_joined_cells(graph, sets, 5.0, 0.05)
    assert adjusted_rand_score(labels[graph.indices], found.labels) > 0.95
    assert measure_curvature(graph, found) >= constants.CURVED


def test_joined_cells_need_a_majority_of_sets():
    graph, sets = make_graph(draw_rings(400)[0])
    cloud = make_graph(np.random.default_rng(0).normal(size=(300, 2)))
    assert find_joined_cells(*cloud, 5.0, 0.05) is None
    assert find_joined_cells(graph, [], 5.0, 0.05) is None
    assert find_joined_cells(graph, [*sets, *cut_cells(graph, 3, 3, np.random.default_rng(2))], 350.0, 0.05) is None


@pytest.mark.parametrize("name", ["blobs", "rings", "one cloud"])
def test_curvature_is_the_share_on_the_wrong_side(name):
    graph, _ = make_graph(INPUTS[name])
    truth = {"blobs": LABELS, "rings": draw_rings()[1], "one cloud": np.arange(120) % 3}[name][graph.indices]
    largest = 0.0
    for i in range(truth.max() + 1):
        for j in range(i):
            a, b = graph.points[truth == j], graph.points[truth == i]
            direction = find_discriminant(np.concatenate([a, b]), np.arange(len(a) + len(b)) >= len(a))
            middle = 0.5 * ((a @ direction).mean() + (b @ direction).mean())
            wrong = sum(p > middle for p in a @ direction) / len(a) + sum(p <= middle for p in b @ direction) / len(b)
            largest = max(largest, 0.5 * wrong)
    assert measure_curvature(graph, Partition(truth)) == pytest.approx(largest)
    assert (largest > constants.CURVED) == (name != "blobs")
