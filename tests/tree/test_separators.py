"""Hyperplanes between two groups: every method separates what can be separated, in any units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine.tree.separators import (
    measure_overlap,
    separate_by_discriminant,
    separate_by_logistic_regression,
    separate_by_svm,
)

METHODS = {
    "logistic": separate_by_logistic_regression,
    "svm": lambda x, on_right: separate_by_svm(x, on_right, np.ones(len(x))),
    "discriminant": separate_by_discriminant,
}
each_method = pytest.mark.parametrize("separate", METHODS.values(), ids=METHODS)


@pytest.fixture
def sides(rng):
    on_right = np.arange(60) % 2 == 1
    return rng.normal(size=(60, 3)) + 8.0 * on_right[:, None] * [1.0, 1.0, 0.0], on_right


@each_method
def test_separable_groups_are_separated(separate, sides):
    x, on_right = sides
    plane = separate(x, on_right)
    assert_allclose(np.linalg.norm(plane.normal), 1.0)
    assert (plane.on_positive_side(x) == on_right).all()


@each_method
@pytest.mark.parametrize(("scale", "shift"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e6)])
def test_scale_and_place_do_not_matter(separate, sides, scale, shift):
    x, on_right = sides
    plane, moved = separate(x, on_right), separate(scale * x + shift, on_right)
    assert_allclose(moved.normal, plane.normal, atol=1e-4)


@each_method
@pytest.mark.parametrize("on_right", [[True] * 4, [False] * 4], ids=["right", "left"])
def test_one_side_is_not_separated(separate, on_right):
    assert separate(np.arange(8.0).reshape(4, 2), np.array(on_right)) is None


@pytest.mark.parametrize("separate", [METHODS["logistic"], METHODS["svm"]], ids=["logistic", "svm"])
def test_equal_rows_are_not_separated(separate):
    assert separate(np.ones((4, 2)), np.arange(4) > 1) is None


def test_overlap_is_zero_for_far_groups_and_a_half_for_equal_ones(sides, rng):
    x, on_right = sides
    assert measure_overlap(x, on_right) == 0.0
    assert 0.3 < measure_overlap(rng.normal(size=(2000, 3)), np.arange(2000) % 2 == 1) < 0.6
