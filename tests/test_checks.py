"""Generators from every kind of ``random_state``."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from ravine.checks import check_number, check_weights, make_generator


@pytest.mark.parametrize("seed", [0, 1, np.int32(7), 2**32 - 1])
def test_equal_seeds_give_equal_generators_of_their_own(seed):
    expected = np.random.default_rng(check_random_state(seed).randint(0, 2**31, size=4)).random(5)
    for _ in range(2):
        np.testing.assert_array_equal(make_generator(seed).random(5), expected)


def test_state_that_is_given_goes_on():
    state = np.random.RandomState(3)
    one, two = make_generator(state).random(), make_generator(state).random()
    assert one != two
    assert make_generator(np.random.RandomState(3)).random() == one
    generator = np.random.default_rng(0)
    assert make_generator(generator) is generator


@pytest.mark.parametrize("bad", [-1, 2**32, "seed", 0.5])
def test_other_seeds_are_refused(bad):
    with pytest.raises(ValueError, match="random_state"):
        make_generator(bad)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1e101, 1.0], r"1e\+101"),
        ([1.0, 1e-101], "1e-101"),
    ],
)
def test_weights_of_extreme_size_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, 2)
    assert check_weights([1e-99, 0.0, 1.0], 3).tolist() == [1e-99, 0.0, 1.0]


def test_an_integer_beyond_all_floats_is_refused():
    with pytest.raises(ValueError, match=r"alpha .*1000"):
        check_number("alpha", 10**400, low=0.0)
