"""Choice of a plan among the proposals, and of the number of clusters."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.choice import (
    choose_number,
    choose_plan,
    find_curved_clusters,
    measure_curvature,
    measure_support,
)
from ravine.tree.graph import NeighbourGraph
from ravine.tree.hyperplanes import plan_splits
from ravine.tree.partitions import Partition, cut_cells, list_neighbours, propose_partitions, weigh_partition
from ravine.validity.cluster_test import measure_boundary
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
    return graph, cut_cells(graph, 3, 3, np.random.default_rng(1), None)


# ----------------------------------------------------------------------------------------------- given numbers


@pytest.mark.parametrize("fewest", [1.0, 12.0])
@pytest.mark.parametrize("name", INPUTS)
def test_plan_has_the_number_of_clusters_or_is_none(name, fewest):
    graph, sets = make_graph(INPUTS[name])
    n_found = 0
    for k in (2, 3, 6):
        for any_shape in (True, False):
            plan = choose_plan(graph, k, fewest, np.random.default_rng(2), sets, any_shape)
            if plan is not None:
                n_found += 1
                sizes = np.bincount(plan.labels)
                assert plan.n_clusters == len(sizes) == k
                assert sizes.min() >= fewest
    is_possible = name not in ("equal rows", "two rows") and (fewest == 1.0 or name != "few rows")
    assert (n_found > 0) == is_possible  # a discriminant needs two rows on each side


@pytest.mark.parametrize("any_shape", [True, False])
@pytest.mark.parametrize("name", ["blobs", "one cloud", "ties", "rings"])
def test_plan_agrees_most_with_all_proposals(name, any_shape):
    graph, sets = make_graph(INPUTS[name])
    for k, fewest in ((2, 1.0), (4, 15.0)):
        proposals = list(propose_partitions(graph, k, np.random.default_rng(3), sets, any_shape))
        weights = [weigh_partition(graph, one, k, any_shape) for one in proposals]
        largest, best = -np.inf, None
        for partition in proposals:
            plan = plan_splits(graph, partition)
            is_possible = plan.n_clusters == k and np.bincount(plan.labels, minlength=k).min() >= fewest
            scores = [adjusted_rand_score(partition.labels, other.labels) for other in proposals]
            agreement = sum(w * score for w, score in zip(weights, scores, strict=True))
            if is_possible and agreement > largest + 1e-9:
                largest, best = agreement, plan
        chosen = choose_plan(graph, k, fewest, np.random.default_rng(3), sets, any_shape)
        assert (chosen is None) == (best is None)
        if best is not None:
            assert_array_equal(chosen.labels, best.labels)


def test_clusters_that_are_too_large_to_exist_are_not_found():
    graph, sets = make_graph(X)
    assert choose_plan(graph, 3, 55.0, np.random.default_rng(0), sets) is not None
    assert choose_plan(graph, 3, 76.0, np.random.default_rng(0), sets) is None


def test_more_clusters_than_different_rows_are_not_found():
    graph, sets = make_graph(np.repeat([[0.0, 0.0], [1.0, 5.0], [7.0, 1.0]], 4, axis=0))
    assert choose_plan(graph, 3, 1.0, np.random.default_rng(0), sets).n_clusters == 3
    assert choose_plan(graph, 4, 1.0, np.random.default_rng(0), sets) is None


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
def test_clusters_of_any_shape_are_found(draw):
    rows, labels = draw()
    graph, sets = make_graph(rows)
    scores = [
        adjusted_rand_score(
            labels[graph.indices], choose_plan(graph, 2, 5.0, np.random.default_rng(0), sets, any_shape).labels
        )
        for any_shape in (True, False)
    ]
    assert scores[1] < 0.8 < 0.95 < scores[0]


# ----------------------------------------------------------------------------------------------- number of clusters


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_number_is_that_of_clear_blobs(scale):
    for seed in range(3):
        rows = scale * (CENTERS[LABELS] + np.random.default_rng(seed).normal(size=(225, 3)))
        graph, sets = make_graph(rows)
        plan = choose_number(graph, 5.0, np.random.default_rng(seed), sets)
        assert plan.n_clusters == 3
        assert adjusted_rand_score(LABELS[graph.indices], plan.labels) == 1.0


@pytest.mark.parametrize("name", ["blobs", "ties", "copies", "rings"])
def test_number_is_the_same_for_permuted_rows(name):
    rows, plans = INPUTS[name], []
    for order in (np.arange(len(rows)), np.random.default_rng(4).permutation(len(rows))):
        graph, sets = make_graph(rows[order])
        plan = choose_number(graph, 5.0, np.random.default_rng(0), sets)
        plans.append(None if plan is None else [tuple(row) for row in np.c_[plan.labels, rows[order][graph.indices]]])
    assert plans[0] == plans[1]


def test_number_respects_the_smallest_size():
    graph, sets = make_graph(X)
    plan = choose_number(graph, 70.0, np.random.default_rng(0), sets)
    assert plan is None or np.bincount(plan.labels).min() >= 70
    assert choose_number(graph, 120.0, np.random.default_rng(0), sets) is None


def test_one_cloud_has_no_number():
    for seed in range(3):
        graph, sets = make_graph(np.random.default_rng(seed).normal(size=(200, 3)))
        assert choose_number(graph, 5.0, np.random.default_rng(seed), sets) is None


def test_support_is_the_evidence_of_the_weakest_boundary():
    graph, _ = make_graph(X)
    labels = LABELS[graph.indices]
    halved = np.where((labels == 0) & (graph.rows.x[:, 2] > np.median(graph.rows.x[labels == 0, 2])), 3, labels)
    for given, k in ((labels, 3), (halved, 4)):
        rng, found = np.random.default_rng(0), []
        for i, j in list_neighbours(graph.count_edges(given, k), constants.CLOSE_SHARE):
            members = np.flatnonzero((given == i) | (given == j))
            found.append(measure_boundary(graph.rows, members, given[members] == j, rng))
            if found[-1] < constants.SUPPORTED:
                break
        assert measure_support(graph, given, k, np.random.default_rng(0)) == min(found, default=np.inf)
        assert (min(found, default=np.inf) > 2.0) == (k == 3)
    assert measure_support(graph, np.zeros(225, dtype=np.intp), 1, np.random.default_rng(0)) == np.inf


# ----------------------------------------------------------------------------------------------- curved clusters


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
def test_curved_clusters_are_found(draw):
    rows, labels = draw(400)
    graph, sets = make_graph(rows)
    plan = find_curved_clusters(graph, sets, 5.0, 0.05)
    assert plan.n_clusters == 2
    assert adjusted_rand_score(labels[graph.indices], plan.labels) > 0.95


def test_other_clusters_are_not_curved():
    for rows in (X, np.random.default_rng(0).normal(size=(300, 2))):
        graph, sets = make_graph(rows)
        assert find_curved_clusters(graph, sets, 5.0, 0.05) is None
        assert find_curved_clusters(graph, [], 5.0, 0.05) is None


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
