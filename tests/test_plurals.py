"""Counts with their nouns, lists of names and P-values."""

import pytest
from scipy.special import ndtr

from ravine._plurals import count, format_pvalue, join_counts, join_names
from ravine.validity.results import HIGHEST, Tally


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


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.04149, "P = 0.041"), (1.0, "P = 1"), (2.7e-12, "P = 2.7e-12"), (0.0, "P < 1e-300"), (float("nan"), "no P")],
)
def test_p_values_have_two_digits_a_floor_and_a_word_for_none(p, text):
    assert format_pvalue(p) == text


def test_the_floor_of_the_pooled_test_is_shown_as_a_bound():
    assert Tally(0, 10**6, 5e5).score == HIGHEST
    assert format_pvalue(float(ndtr(-HIGHEST))) == "P < 1e-300"
