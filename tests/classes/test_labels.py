"""Labels of some rows: one convention for marks, text, numbers and weights."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ravine.classes import UNLABELLED, compare_labels, drop_weightless, encode_labels, make_signs


def encode(y):
    return encode_labels(y, len(y), "Test")


@given(st.lists(st.integers(-1, 3), min_size=3, max_size=30))
def test_codes_are_the_places_of_the_labels_among_the_classes(y):
    known = sorted(set(y) - {-1})
    if len(known) < 2:
        return
    classes, codes = encode(np.array(y))
    assert classes.tolist() == known
    assert [UNLABELLED if label == -1 else known.index(label) for label in y] == codes.tolist()


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, -1, 1]),
        np.array([0.0, 1.0, np.nan, 1.0]),
        np.array([0, 1, None, 1], dtype=object),
        pd.Series([0, 1, None, 1], dtype="Int64"),
        np.ma.masked_array([0, 1, 5, 1], mask=[False, False, True, False]),
        [0, 1, -1, 1],
    ],
    ids=["-1", "NaN", "None", "pandas NA", "masked", "list"],
)
def test_every_mark_means_unlabelled(y):
    classes, codes = encode(y)
    assert classes.tolist() == [0, 1]
    assert_array_equal(codes, [0, 1, -1, 1])


def test_text_is_sorted_and_kept_as_text():
    classes, codes = encode(np.array(["b", None, "a", "b"], dtype=object))
    assert classes.tolist() == ["a", "b"]
    assert_array_equal(codes, [1, -1, 0, 1])


def test_minus_and_plus_one_are_two_classes_with_a_warning():
    with pytest.warns(UserWarning, match="-1"):
        classes, codes = encode(np.array([-1, 1, 1]))
    assert classes.tolist() == [-1, 1]
    assert_array_equal(codes, [0, 1, 1])


@pytest.mark.parametrize("y", [[-1, -1], [0, -1], [None, None], ["-1", "a", "b"], [b"a", b"b"]], ids=repr)
def test_labels_that_cannot_be_learned_are_refused(y):
    with pytest.raises(ValueError, match=r"^y |label"):
        encode(np.array(y, dtype=object))


def test_signs_are_those_of_a_pair():
    assert_array_equal(make_signs(np.array([0, 1, 2, -1]), (0, 2)), [-1.0, 0.0, 1.0, 0.0])


def test_labels_without_weight_are_dropped_and_classes_renumbered():
    classes, codes = drop_weightless(
        np.array(["a", "b", "c"]), np.array([0, 1, 2, -1]), np.array([True, False, True, True])
    )
    assert classes.tolist() == ["a", "c"]
    assert_array_equal(codes, [0, -1, 1, -1])
    with pytest.raises(ValueError, match="sample_weight"):
        drop_weightless(np.array(["a", "b"]), np.array([0, 1]), np.array([True, False]))


def test_comparison_ignores_unlabelled_rows():
    labelled, correct = compare_labels([0, -1, 1, 1], np.array([0, 1, 0, 1]), np.array([0, 1]))
    assert_array_equal(labelled, [True, False, True, True])
    assert_array_equal(correct, [True, False, True])
    with pytest.raises(ValueError, match="classes"):
        compare_labels(["a", "b"], np.array([0, 1]), np.array([0, 1]))
