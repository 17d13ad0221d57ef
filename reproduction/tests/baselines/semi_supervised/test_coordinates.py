"""Coordinates whose inner products are a kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from ravine_paper.baselines.semi_supervised.coordinates import fit_linear_map, fit_nystrom_map


def test_inner_products_of_coordinates_are_the_kernel(rng):
    X = 5.0 + 3.0 * rng.standard_normal((30, 4))
    Z = fit_nystrom_map(X, 0.05, None)(X)
    assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.05), atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_linear_coordinates_have_mean_variance_one(rng, unit, offset):
    X = (rng.standard_normal((50, 3)) * [1.0, 2.0, 3.0] + offset) * unit
    Z = fit_linear_map(X)(X)
    assert_allclose(Z.mean(axis=0), 0.0, atol=1e-7)
    assert np.mean(Z.var(axis=0)) == pytest.approx(1.0)


def test_wide_rows_keep_their_inner_products(rng):
    X = rng.standard_normal((8, 30))
    map_ = fit_linear_map(X)
    Z, centred = map_(X), X - X.mean(axis=0)
    assert Z.shape == (8, 7)
    assert_allclose(Z @ Z.T * map_.scale**2, centred @ centred.T, atol=1e-10)
    normal, intercept = map_.express_in_features(np.arange(7.0), 0.5)
    assert_allclose(X @ normal + intercept, Z @ np.arange(7.0) + 0.5, atol=1e-10)


@pytest.mark.parametrize("unit", [1e-323, 1e-310, 1e-300])
def test_spread_whose_coefficients_overflow_is_refused(rng, unit):
    with pytest.raises(ValueError, match="standard deviations"):
        fit_linear_map(rng.standard_normal((50, 3)) * unit)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("gamma", [None, 0.3])
def test_kernel_is_finite_at_extreme_scales(rng, unit, gamma):
    X = rng.standard_normal((30, 4)) * unit
    assert np.isfinite(fit_nystrom_map(X, gamma, None)(X)).all()
