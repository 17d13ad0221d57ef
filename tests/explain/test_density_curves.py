"""Summaries of densities are finite, bounded and those of the rows within them."""

import numpy as np
import pytest

from ravine import ProjectedDensity
from ravine.explain import place_points, summarise_density


def test_far_rows_leave_the_picture_and_are_counted(rng):
    distance = np.concatenate([rng.standard_normal(9998) - 3.0, [1e7, -1e9]])
    curve = summarise_density(distance, 0.1, 400)
    assert curve.below == 1 + (distance[:9998] < curve.low).sum()
    assert curve.above == 1 + (distance[:9998] > curve.high).sum()
    assert curve.high < 1e3
    np.testing.assert_allclose(
        curve.density, ProjectedDensity(distance[:9998], 0.1)(curve.points) * 0.9998, rtol=1e-6, atol=1e-9
    )


def test_too_small_a_bandwidth_is_widened_and_said(rng):
    curve = summarise_density(rng.uniform(-1, 1, 300), 1e-6, 400)
    assert not curve.has_fitted_bandwidth
    assert curve.bandwidth == pytest.approx((curve.high - curve.low) / 399)
    curve = summarise_density(rng.uniform(-1, 1, 300), np.nan, 400)
    assert not curve.has_fitted_bandwidth
    assert np.isfinite(curve.density).all()


@pytest.mark.parametrize("distance", [np.zeros(5), np.array([1e-300]), np.array([-3.0, -3.0]), np.array([1e200, 0.0])])
@pytest.mark.parametrize("bandwidth", [np.nan, 0.0, 1e-3, 1.0])
def test_curves_of_odd_distances_are_finite(distance, bandwidth):
    curve = summarise_density(distance, bandwidth, 400)
    assert np.isfinite([curve.low, curve.high]).all()
    assert np.isfinite(curve.density).all()
    assert summarise_density(distance[:0], bandwidth, 400) is None


def test_points_are_increasing_and_include_the_offset(rng):
    points = place_points(-1.0, 2.0, 0.1, include=[0.123456, np.inf])
    assert (np.diff(points) > 0).all()
    assert 0.123456 in points
    assert points[0] == pytest.approx(-1.3)
    assert points[-1] == pytest.approx(2.3)
    assert len(place_points(-1.0, 2.0, 1e-9)) == 4096
