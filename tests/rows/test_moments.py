"""Moments known by their products agree with those of the stored covariance."""

import numpy as np
import pytest

from ravine.rows import ProductMoments, StoredMoments


@pytest.fixture
def covariance(rng):
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    return (basis * [9.0, 4.0, 1.0, 0.5, 0.1, 0.0]) @ basis.T


@pytest.fixture(params=["stored", "products"])
def moments(request, covariance):
    if request.param == "stored":
        return StoredMoments(50.0, covariance)
    return ProductMoments(50.0, lambda v: covariance @ v, float(np.trace(covariance)), 6)


def test_moments_describe_the_covariance(moments, covariance, rng):
    v = rng.standard_normal(6)
    assert (moments.total, moments.n_features) == (50.0, 6)
    assert moments.trace == pytest.approx(14.6)
    np.testing.assert_allclose(moments.times(v), covariance @ v, atol=1e-13)
    assert moments.variance_along(v) == pytest.approx(v @ covariance @ v)


def test_axes_are_eigenvectors_with_variance(moments, covariance):
    values, directions = moments.principal_axes(5)
    np.testing.assert_allclose(values, [9.0, 4.0, 1.0, 0.5, 0.1], rtol=1e-9)
    np.testing.assert_allclose(directions @ covariance, values[:, None] * directions, atol=1e-8)
    value, axis = moments.leading_axis()
    assert value == pytest.approx(9.0)
    assert abs(axis @ directions[0]) == pytest.approx(1.0)


def test_moments_across_an_axis_are_without_it(moments):
    _, directions = moments.principal_axes(2)
    across = moments.across(directions[0])
    assert across.trace == pytest.approx(5.6)
    assert across.variance_along(directions[0]) == pytest.approx(0.0, abs=1e-8)
    value, axis = across.leading_axis()
    assert value == pytest.approx(4.0)
    assert abs(axis @ directions[1]) == pytest.approx(1.0)


def test_ridge_is_added_before_the_inverse(moments, covariance, rng):
    v = rng.standard_normal(6)
    found = moments.solve_ridge(0.1, v)
    np.testing.assert_allclose(covariance @ found + 0.1 * found, v, atol=1e-8)


def test_only_stored_moments_have_a_matrix(moments, covariance):
    if moments.is_stored:
        assert moments.covariance is covariance
    else:
        with pytest.raises(TypeError, match="covariance"):
            moments.covariance  # noqa: B018
