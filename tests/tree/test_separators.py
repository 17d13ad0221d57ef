"""Hyperplanes between two groups separate what can be separated, in any units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine.tree.separators import find_margin, separate_by_svm


def separate(x, on_right):
    return separate_by_svm(x, on_right, np.ones(len(x)))


@pytest.fixture
def sides(rng):
    on_right = np.arange(60) % 2 == 1
    return rng.normal(size=(60, 3)) + 8.0 * on_right[:, None] * [1.0, 1.0, 0.0], on_right


def test_separable_groups_are_separated(sides):
    x, on_right = sides
    plane = separate(x, on_right)
    assert_allclose(np.linalg.norm(plane.normal), 1.0)
    assert (plane.on_positive_side(x) == on_right).all()


@pytest.mark.parametrize(("scale", "shift"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e6)])
def test_scale_and_place_do_not_matter(sides, scale, shift):
    x, on_right = sides
    plane, moved = separate(x, on_right), separate(scale * x + shift, on_right)
    assert_allclose(moved.normal, plane.normal, atol=1e-4)


@pytest.mark.parametrize("on_right", [[True] * 4, [False] * 4], ids=["right", "left"])
def test_one_side_is_not_separated(on_right):
    assert separate(np.arange(8.0).reshape(4, 2), np.array(on_right)) is None


def test_equal_rows_are_not_separated():
    assert separate(np.ones((4, 2)), np.arange(4) > 1) is None


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
