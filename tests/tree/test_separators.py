"""Hyperplanes between two groups separate what can be separated, in any units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine.tree.separators import separate_by_svm


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
