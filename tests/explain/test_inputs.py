"""Labels of any type are numbered by one rule."""

import numpy as np
import pytest

from ravine.explain import encode_any_labels
from ravine.explain.inputs import encode_classes


def test_labels_of_any_type_are_numbered():
    codes, names = encode_any_labels(["b", "a", None, "b", np.nan], 5)
    assert (codes.tolist(), names) == ([1, 0, -1, 1, -1], ["a", "b"])
    codes, names = encode_any_labels(np.array([3, -1, 7, 3]), 4)
    assert (codes.tolist(), names) == ([0, -1, 1, 0], [3, 7])
    codes, names = encode_any_labels(np.array([-1, 1, 1]), 3)
    assert (codes.tolist(), names) == ([0, 1, 1], [-1, 1])
    codes, names = encode_any_labels(np.array(["x", 2, 1.5, None, True], dtype=object), 5)
    assert codes.tolist().count(-1) == 1
    assert len(names) == 4
    with pytest.raises(ValueError, match="3 rows"):
        encode_any_labels([1, 2], 3)


def test_labels_in_one_column_are_those_of_a_vector():
    assert encode_any_labels(np.array([[3], [7], [3]]), 3)[0].tolist() == [0, 1, 0]


def test_classes_of_several_types_are_found_by_their_value():
    classes, labels = np.array([1, "a", 2.5], dtype=object), np.array(["a", 2.5, 1, "a"], dtype=object)
    assert encode_classes(labels, classes).tolist() == [1, 2, 0, 1]
    assert encode_classes(np.array(["b", "a"]), np.array(["a", "b"])).tolist() == [1, 0]
