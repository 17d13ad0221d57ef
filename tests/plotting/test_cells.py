"""Cell displays show the leaves of a tree of two features, and which of them are joined."""

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.sparse import csr_array

from ravine import MinimumDensityTree, RowBlocks
from ravine.plotting import CellDisplay, style
from ravine.plotting.cells import cut_polygons, find_edges
from support.plotted import QUICK_TREE
from support.shape_data import draw_rings

X, _ = draw_rings()


@pytest.fixture(scope="module")
def rings():
    return MinimumDensityTree(2, random_state=0).fit(X)


@pytest.fixture(scope="module", params=["joined", "many"])
def tree(request, rings):
    if request.param == "joined":
        return rings.tree_
    rng = np.random.default_rng(2)
    rows = np.concatenate([rng.normal(size=(20, 2)) + 12.0 * rng.normal(size=2) for _ in range(12)])
    return MinimumDensityTree(12, **QUICK_TREE).fit(rows).tree_


LOW, HIGH = np.array([-3.0, -2.5]), np.array([2.5, 4.0])


def test_polygons_contain_the_points_of_their_leaves(tree, rng):
    polygons = cut_polygons(tree, LOW, HIGH)
    points = LOW + (HIGH - LOW) * rng.random((2000, 2))
    leaf = tree.apply(points)
    for k in tree.leaves():
        inside = Path(polygons[k]).contains_points(points) if len(polygons[k]) else np.zeros(2000, dtype=bool)
        np.testing.assert_array_equal(inside, leaf == k)


def test_polygons_fill_the_frame(tree):
    polygons = cut_polygons(tree, LOW, HIGH)

    def measure_area(polygon):
        x, y = polygon.T
        return 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))

    areas = [measure_area(polygons[leaf]) for leaf in tree.leaves() if len(polygons[leaf])]
    assert sum(areas) == pytest.approx(np.prod(HIGH - LOW))


def test_edges_have_their_leaves_on_both_sides(tree, rng):
    edges = find_edges(tree, cut_polygons(tree, LOW, HIGH))
    for edge in edges:
        along = edge.ends[1] - edge.ends[0]
        across = np.array([-along[1], along[0]]) * (1e-6 / np.linalg.norm(along))
        for share in rng.uniform(0.01, 0.99, 5):
            place = edge.ends[0] + share * along
            sides = tree.apply(np.array([place - across, place + across]))
            assert set(sides.tolist()) == {edge.first, edge.second}


def test_edges_are_complete(tree):
    """Between two neighbours on a fine grid that are in different leaves, there is an edge of the two."""
    ticks = [np.linspace(low, high, 150) for low, high in zip(LOW, HIGH, strict=True)]
    grid = tree.apply(np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)).reshape(150, 150)
    pairs = np.concatenate(
        [np.c_[a.ravel(), b.ravel()] for a, b in ((grid[:, 1:], grid[:, :-1]), (grid[1:], grid[:-1]))]
    )
    pairs, counts = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0, return_counts=True)
    known = {frozenset((edge.first, edge.second)) for edge in find_edges(tree, cut_polygons(tree, LOW, HIGH))}
    assert {frozenset(pair) for pair, n in zip(pairs.tolist(), counts, strict=True) if n > 2} <= known


def test_joins_are_thin_and_boundaries_have_their_z(rings):
    display = CellDisplay.from_estimator(rings, X)
    tree = rings.tree_
    inside = [edge for edge in display.edges if tree.cluster[edge.first] == tree.cluster[edge.second]]
    assert len(display.joins_.get_segments()) == len(inside) > 0
    assert len(display.boundaries_.get_segments()) == len(display.edges) - len(inside) > 0
    assert display.joins_.get_linewidths()[0] < display.boundaries_.get_linewidths()[0]
    assert display.texts_[0, 1].get_text() == f"z = {tree.joins.boundary_evidence[0]:.1f}"
    display.figure_.canvas.draw()


def test_cells_of_one_cluster_share_its_colour(rings):
    from matplotlib.colors import to_rgb

    display = CellDisplay.from_estimator(rings, X)
    for leaf, patch in display.cells_.items():
        assert patch.get_facecolor()[:3] == to_rgb(style.choose_mark(int(rings.tree_.cluster[leaf]))[0])
    assert [len(points.get_offsets()) for points in display.points_] == np.bincount(rings.labels_).tolist()


def test_text_of_a_boundary_is_near_both_clusters(rings):
    display = CellDisplay.from_estimator(rings, X)
    place = np.array(display.texts_[0, 1].get_position())
    for k in (0, 1):
        assert np.linalg.norm(X[rings.labels_ == k] - place, axis=1).min() < 0.6


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_cells_do_not_depend_on_units(rings, scale):
    small = MinimumDensityTree(2, random_state=0).fit(X * scale)
    edges, expected = (CellDisplay.from_estimator(m, rows).edges for m, rows in ((small, X * scale), (rings, X)))
    assert [(e.first, e.second) for e in edges] == [(e.first, e.second) for e in expected]
    np.testing.assert_allclose(edges[0].ends / scale, expected[0].ends, rtol=1e-6)


def test_trees_without_joins_and_of_one_leaf_are_drawn():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) * [100.0, 1.0]
    display = CellDisplay.from_estimator(MinimumDensityTree(1, **QUICK_TREE).fit(rows), rows)
    assert (len(display.cells_), display.edges, display.texts_) == (1, [], {})
    rows[:100, 0] += 900.0
    display = CellDisplay.from_estimator(MinimumDensityTree(2, **QUICK_TREE).fit(rows), rows, max_rows=50, title="two")
    assert len(display.joins_.get_segments()) == 0
    assert len(display.points) == 50
    display.figure_.canvas.draw()


def test_other_numbers_of_features_are_an_error(mdt, blobs, mdh, rings):
    with pytest.raises(ValueError, match="two features"):
        mdt.plot(blobs, kind="cells")
    with pytest.raises(TypeError, match="MinimumDensityTree"):
        CellDisplay.from_estimator(mdh, blobs)
    with pytest.raises(TypeError, match="Tree"):
        CellDisplay.from_tree(rings, X)
    with pytest.raises(TypeError, match="X"):
        rings.plot(kind="cells")


def test_all_kinds_of_rows_give_the_same_cells(rings, tmp_path):
    np.save(tmp_path / "rings.npy", X)
    expected = CellDisplay.from_estimator(rings, X)
    for rows in (csr_array(X), RowBlocks(str(tmp_path / "rings.npy")), X[:300].tolist() + X[300:].tolist()):
        display = CellDisplay.from_estimator(rings, rows)
        np.testing.assert_allclose(display.points, X)
        np.testing.assert_array_equal(display.labels, rings.labels_)
        assert display.evidence == expected.evidence
