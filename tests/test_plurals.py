"""Counts with their nouns, and lists of names."""

import pytest

from ravine._plurals import count, join_counts, join_names


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 classes"), (1, "1 class"), (2, "2 classes"), (10**6, "1000000 classes")]
)
def test_only_one_is_singular(n, text):
    assert count(n, "class", "classes") == text


def test_plurals_end_with_s_by_default():
    assert count(1, "row") == "1 row"
    assert count(3, "row") == "3 rows"


def test_long_lists_end_with_the_number_of_those_left_out():
    assert join_names(["a"]) == "'a'"
    assert join_names("abcd", 2) == "'a', 'b' and 2 more"
    assert join_counts({"a": 3, "b": 1}) == "'a' 3, 'b' 1"
