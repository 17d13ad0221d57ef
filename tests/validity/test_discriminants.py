"""Linear discriminants with a shrunk covariance, compared with that of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf

from ravine.validity.discriminants import find_discriminant, solve_shrunk


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize(("n", "d"), [(60, 1), (60, 4), (25, 60)])
def test_discriminant_is_that_of_a_shrunk_covariance(n, d, scale):
    x, on_right = np.random.default_rng(d).normal(size=(n, d)) * np.linspace(1, 3, d), np.arange(n) % 3 == 0
    means = x[~on_right].mean(axis=0), x[on_right].mean(axis=0)
    covariance = ledoit_wolf(x - np.array(means)[on_right.astype(int)], assume_centered=True)[0]
    expected = np.linalg.solve(covariance, means[1] - means[0])
    found = find_discriminant(scale * x, on_right)
    assert_allclose(found, expected / np.linalg.norm(expected), rtol=1e-7, atol=1e-9)


def test_discriminant_needs_two_rows_and_a_difference():
    x = np.random.default_rng(0).normal(size=(10, 2))
    assert find_discriminant(x, np.arange(10) == 0) is None
    assert find_discriminant(np.ones((10, 2)), np.arange(10) < 5) is None


@pytest.mark.parametrize("shape", [(80, 5), (30, 60), (40, 40)])
def test_solution_uses_the_covariance_of_ledoit_and_wolf(shape):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=shape) * np.linspace(0.5, 3.0, shape[1])
    difference = rng.normal(size=shape[1])
    S = ledoit_wolf(Z, assume_centered=True)[0]
    assert_allclose(solve_shrunk(Z, difference), np.linalg.solve(S, difference) * np.abs(Z).max() ** 2, rtol=1e-6)


def test_rows_without_variation_within_the_sides_give_the_difference():
    difference = np.array([1.0, 2.0])
    assert_array_equal(solve_shrunk(np.zeros((10, 2)), difference), difference)
