"""Counts with their nouns."""

import pytest

from ravine._plurals import count


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 classes"), (1, "1 class"), (2, "2 classes"), (10**6, "1000000 classes")]
)
def test_only_one_is_singular(n, text):
    assert count(n, "class", "classes") == text


def test_plurals_end_with_s_by_default():
    assert count(1, "row") == "1 row"
    assert count(3, "row") == "3 rows"
