"""The evidence page: its simulated data, rival tests, stored results and tables."""

import numpy as np
import pytest

from mixtures import SHAPES, simulate_hard_mixture


@pytest.mark.parametrize("seed", range(4))
def test_hard_mixtures_have_the_stated_sizes(seed):
    X, y = simulate_hard_mixture(seed)
    n, d = X.shape
    assert 300 <= n <= 1500
    assert 2 <= d <= 20
    assert 3 <= len(np.unique(y)) <= 8
    assert len(y) == n


def test_hard_mixtures_depend_on_the_seed_only():
    np.testing.assert_array_equal(simulate_hard_mixture(5)[0], simulate_hard_mixture(5)[0])
    assert not np.array_equal(simulate_hard_mixture(5)[0], simulate_hard_mixture(9)[0])


@pytest.mark.parametrize("seed", [0, 4, 16, 28])
def test_closest_balls_are_separated_as_stated(seed):
    assert SHAPES[seed % len(SHAPES)] == "balls"
    X, y = simulate_hard_mixture(seed)
    groups = [X[y == j] for j in np.unique(y)]
    means = np.array([group.mean(axis=0) for group in groups])
    variances = np.array([group.var(axis=0).mean() for group in groups])
    i, j = np.triu_indices(len(groups), 1)
    closest = (np.linalg.norm(means[i] - means[j], axis=1) / np.sqrt((variances[i] + variances[j]) / 2.0)).min()
    assert 2.4 < closest < 4.4
