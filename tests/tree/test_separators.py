"""Hyperplanes between groups separate what can be separated, in any units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ravine.rows import as_rows
from ravine.tree.separators import find_margin, halve_rows, list_separators


def measure_mixture(right, labels):
    """Return the Gini impurity of both sides, times their numbers of rows."""
    return sum(
        side.sum() - sum((labels[side] == k).sum() ** 2 for k in np.unique(labels)) / side.sum()
        for side in (right, ~right)
    )


def list_planes(x, labels):
    return list_separators(as_rows(x), np.arange(len(x)), labels)


@pytest.fixture
def sides(rng):
    on_right = np.arange(60) % 2 == 1
    return rng.normal(size=(60, 3)) + 8.0 * on_right[:, None] * [1.0, 1.0, 0.0], on_right


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e150, 0.0), (1e-150, 0.0), (1.0, 1e6)])
def test_separable_groups_are_separated_in_any_units(sides, scale, shift):
    x, on_right = scale * sides[0] + shift, sides[1]
    plane = list_planes(x, on_right.astype(np.intp))[0]
    assert_allclose(np.linalg.norm(plane.normal), 1.0)
    assert measure_mixture(plane.on_positive_side(x), on_right) == 0.0


def test_purest_hyperplane_is_first(rng):
    x, labels = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    found = [measure_mixture(plane.on_positive_side(x), labels) for plane in list_planes(x, labels)]
    assert len(found) == 5
    assert_allclose(found, sorted(found))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3))
def test_no_cut_of_a_feature_is_purer(seed, n, d):
    rng = np.random.default_rng(seed)
    x, labels = rng.integers(0, 4, (n, d)).astype(float), rng.permutation(n) % 3
    cuts = [x[:, j] > value for j in range(d) for value in np.unique(x[:, j])[:-1]]
    found = list_planes(x, labels)
    assert bool(found) == bool(cuts)
    if cuts:
        best = min(measure_mixture(right, labels) for right in cuts)
        assert measure_mixture(found[0].on_positive_side(x), labels) <= best + 1e-9


def test_neighbouring_numbers_are_separated():
    x = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    sides = [plane.on_positive_side(x).tolist() for plane in list_planes(x, np.array([0, 1]))]
    assert [False, True] in sides


def test_rows_are_halved_along_their_first_component(rng):
    x = rng.random((200, 3)) * [5.0, 1.0, 1.0] + 1e3
    plane = halve_rows(as_rows(x), np.arange(200), np.ones(200), rng)
    assert abs(plane.normal[0]) > 0.99
    assert plane.on_positive_side(x).sum() == 100
    weights = np.where(x[:, 0] > np.median(x[:, 0]), 3.0, 1.0)
    plane = halve_rows(as_rows(x), np.arange(200), weights, rng)
    goes_right = plane.on_positive_side(x)
    assert weights[goes_right].sum() == pytest.approx(weights[~goes_right].sum(), abs=3.0)


def test_equal_rows_are_not_halved(rng):
    assert halve_rows(as_rows(np.ones((9, 2))), np.arange(9), np.ones(9), rng) is None


def test_margin_separates_what_can_be_separated():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) * [2.0, 1.0, 1.0] + 1e3
    on_right = x[:, 2] > 1e3
    normal = find_margin(x, on_right)
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    projected = x @ normal
    wrong = min(np.sum((projected > t) != on_right) for t in projected)
    assert wrong <= 4


@pytest.mark.parametrize("on_right", [np.zeros(5, dtype=bool), np.ones(5, dtype=bool)])
def test_rows_on_one_side_have_no_margin(on_right):
    assert find_margin(np.arange(10.0).reshape(5, 2), on_right) is None
    assert find_margin(np.ones((5, 2)), np.arange(5) > 2) is None
