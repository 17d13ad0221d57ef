"""Valleys between rows, and graphs of rows without a valley between them, against slow twins."""

import itertools

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine_paper.baselines.clustering.valley_graph import (
    SEGMENT,
    join_by_order,
    join_delaunay,
    join_without_valley,
    measure_valleys,
)

# ----------------------------------------------------------------------------------------------- the valley measure


def slow_valley_measure(curve):
    """Fill one valley after the other up to the lower of its shoulders, until none is left."""
    filled = list(curve)
    while True:
        for left, right in itertools.combinations(range(len(filled)), 2):
            inside = filled[left + 1 : right]
            level = min(filled[left], filled[right])
            if inside and max(inside) < level:  # an interior valley between two shoulders
                filled[left + 1 : right] = [level] * len(inside)
                break
        else:
            break
    places, area = [0.0], sum(filled)
    for before, after in zip(curve, filled, strict=True):
        if after > before:
            places[-1] += after - before
        else:
            places.append(0.0)
    return max(places) / area if area else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_valley_measure_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    curves = np.vstack([rng.random((60, 10)), rng.integers(0, 4, (60, 10)), np.zeros((1, 10))]).astype(float)
    assert_allclose(measure_valleys(curves.T), [slow_valley_measure(curve) for curve in curves], atol=1e-14)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([1, 2, 3, 2, 1], 0.0),
        ([3, 2, 1, 0, 0], 0.0),
        ([1, 1, 1, 1, 1], 0.0),
        ([1, 0, 0, 0, 1], 3 / 5),
        ([2, 1, 3, 0, 3], 3 / 13),
        ([4, 1, 2, 1, 4], 8 / 20),
    ],
    ids=["peak", "slope", "flat", "one valley", "the larger of two valleys", "a hill in a valley"],
)
def test_valley_measure_of_curves_done_by_hand(curve, expected):
    assert measure_valleys(np.array(curve, dtype=float)[:, None])[0] == pytest.approx(expected)


# ----------------------------------------------------------------------------------------------- graphs


def slow_pair_measures(scaled):
    """Measure the valley of every pair from the density at every point of its segment."""
    measures = {}
    for i, j in itertools.combinations(range(len(scaled)), 2):
        points = [scaled[i] + t * (scaled[j] - scaled[i]) for t in np.linspace(0.0, 1.0, SEGMENT)]
        curve = [np.exp(-0.5 * np.sum((scaled - point) ** 2, axis=1)).sum() for point in points]
        measures[i, j] = slow_valley_measure(curve)
    return measures


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("scale", [0.3, 1.0, 100.0], ids=["flat", "plain", "far apart"])
def test_pairs_without_a_valley_are_those_of_the_slow_twin(d, scale, monkeypatch):
    monkeypatch.setattr("ravine_paper.baselines.clustering.valley_graph.BLOCK", 2000)  # several blocks
    rng = np.random.default_rng(d)
    scaled = scale * rng.standard_normal((40, d))
    scaled[5] = scaled[4]
    scaled[10:20] = scaled[10] + rng.random((10, 1)) * (scaled[11] - scaled[10])  # on a straight line
    measures = slow_pair_measures(scaled)
    for lam in (0.0, 0.1, 0.47):
        expected = [pair for pair, measure in measures.items() if measure <= lam + 1e-9]
        assert_array_equal(join_without_valley(scaled, lam), expected, err_msg=f"lam={lam}")


def test_a_chain_joins_rows_that_are_far_apart():
    """The densities in between are positive where the factors of the product underflow."""
    chain = np.arange(0.0, 121.0)[:, None]
    everything = np.array(list(itertools.combinations(range(121), 2)))
    assert_array_equal(join_without_valley(chain, 0.1), everything)
    ends = chain[[0, 1, 119, 120]]
    assert_array_equal(join_without_valley(ends, 0.1), [[0, 1], [2, 3]])


def test_order_joins_neighbours_of_one_feature():
    assert_array_equal(join_by_order(np.array([3.0, 1.0, 2.0, 1.0])), [[1, 3], [3, 2], [2, 0]])


@pytest.mark.parametrize("d", [2, 3, 5])
def test_delaunay_edges_join_everything_duplicates_included(d):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, d))
    rows[7] = rows[3]
    graph = nx.Graph(join_delaunay(rows).tolist())
    assert set(graph) == set(range(40))
    assert nx.is_connected(graph)
    assert all(i < j for i, j in join_delaunay(rows).tolist())


def test_delaunay_edges_of_a_square_with_its_centre():
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]])
    assert set(map(tuple, join_delaunay(corners).tolist())) == {
        (0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)
    }  # fmt: skip
