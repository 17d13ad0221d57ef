"""Boundary displays show the density across the boundary between two clusters."""

import numpy as np
import pytest

from ravine import MinimumDensityTree
from ravine.plotting import BoundaryDisplay
from support import reference
from support.plotted import QUICK_TREE
from support.shape_data import draw_ring

RNG = np.random.default_rng(3)
X = np.concatenate([draw_ring(RNG, 150, radius) for radius in (0.8, 1.8, 2.8)])


@pytest.fixture(scope="module")
def rings():
    return MinimumDensityTree(3, random_state=0).fit(X)


def test_line_is_the_density_of_the_coordinates(rings):
    display = BoundaryDisplay.from_estimator(rings, X)
    contact = display.boundary.contact
    expected = reference.density(contact.coordinates, contact.bandwidth, display.points)
    np.testing.assert_allclose(display.line_.get_ydata(), expected, rtol=1e-6, atol=1e-12)
    assert set(display.valley_line_.get_xdata()) == {contact.at}
    assert contact.at in display.points
    assert [len(points.get_offsets()) for points in display.points_] == np.bincount(contact.is_second).tolist()


def test_valley_line_is_at_the_lowest_density_between_the_medians(rings):
    contact = BoundaryDisplay.from_estimator(rings, X).boundary.contact
    medians = [np.median(contact.coordinates[contact.is_second == side]) for side in (False, True)]
    grid = np.linspace(*medians, 500)
    lowest = grid[reference.density(contact.coordinates, contact.bandwidth, grid).argmin()]
    assert abs(contact.at - lowest) < 0.5 * contact.bandwidth


def test_weakest_boundary_is_the_default(rings):
    joins = rings.tree_.joins
    weakest = int(joins.boundary_evidence.argmin())
    display = BoundaryDisplay.from_estimator(rings, X)
    assert [display.boundary.first, display.boundary.second] == joins.boundaries[weakest].tolist()
    assert f"z = {joins.boundary_evidence[weakest]:.1f}" in display.ax_.get_title(loc="left")


def test_pair_is_found_in_any_order(rings):
    a, b = rings.tree_.joins.boundaries[0].tolist()
    for pair in ((a, b), [b, a]):
        assert BoundaryDisplay.from_estimator(rings, X, pair=pair).boundary.first == a


def test_bad_input_for_boundaries(rings, mdh):
    with pytest.raises(ValueError, match=r"pair.*\(0, 7\)"):
        rings.plot(X, kind="boundary", pair=(0, 7))
    with pytest.raises(TypeError, match="MinimumDensityTree"):
        BoundaryDisplay.from_estimator(mdh, X)
    with pytest.raises(TypeError, match="Tree"):
        BoundaryDisplay.from_tree(rings, X)
    with pytest.raises(ValueError, match=r"X .*2 features"):
        BoundaryDisplay.from_tree(rings.tree_, X[:, :1])
    with pytest.raises(ValueError, match="one cluster"):
        MinimumDensityTree(1, **QUICK_TREE).fit(X).plot(X, kind="boundary")
    with pytest.raises(ValueError, match="kind"):
        rings.plot(X, kind="leaves")


def test_clusters_far_apart_have_no_boundary_to_draw():
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0, 0], [1e6, 0]], 100, axis=0)
    with pytest.raises(ValueError, match="far apart"):
        MinimumDensityTree(2, random_state=0).fit(rows).plot(rows, kind="boundary")
