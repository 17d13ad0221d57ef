"""Labels of any type are numbered by one rule."""

import numpy as np
import pytest

from ravine.explain import encode_any_labels


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
    with pytest.raises(ValueError, match="one label for each of the 3 rows"):
        encode_any_labels([1, 2], 3)
