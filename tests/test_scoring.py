"""The paper's two scores of a bi-partition, on cases that can be worked out by hand."""

import numpy as np
import pytest
from sklearn.metrics import v_measure_score

from scoring import aggregate, success_ratio, v_measure

THREE = np.repeat(["a", "b", "c"], [4, 4, 4])


@pytest.mark.parametrize("score", [success_ratio, v_measure])
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.repeat([0, 1, 1], 4), 1.0),
        (np.repeat([1, 0, 0], 4), 1.0),
        (np.zeros(12, dtype=int), 0.0),
        (np.tile([0, 0, 0, 1], 3), 0.0),
    ],
    ids=["whole clusters", "sides exchanged", "one side", "no cluster told apart"],
)
def test_extreme_partitions(score, labels, expected):
    assert score(THREE, labels) == pytest.approx(expected)


def test_success_ratio_by_hand():
    """One of four members of b strays: side 1 holds 4 a and 1 b, side 0 holds 3 b and 4 c. E = 1, S = min(4, 7)."""
    labels = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
    assert success_ratio(THREE, labels) == pytest.approx(4 / 5)


def test_tie_goes_to_the_smaller_side():
    labels = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0])
    assert aggregate(THREE, labels).tolist() == [1] * 4 + [0] * 4 + [1] * 4
    assert aggregate(THREE, 1 - labels).tolist() == [0] * 4 + [1] * 4 + [0] * 4
    assert success_ratio(THREE, labels) == pytest.approx(4 / 7)


@pytest.mark.parametrize("seed", range(5))
def test_v_measure_is_that_of_scikit_learn_on_the_aggregate_clusters(seed):
    rng = np.random.default_rng(seed)
    truth, labels = rng.integers(0, 5, 200), rng.integers(0, 2, 200)
    assert v_measure(truth, labels) == pytest.approx(v_measure_score(aggregate(truth, labels), labels), abs=1e-12)


def test_names_of_clusters_and_sides_do_not_matter():
    rng = np.random.default_rng(0)
    truth, labels = rng.integers(0, 4, 101), rng.integers(0, 2, 101)
    for score in (success_ratio, v_measure):
        assert score(truth, labels) == pytest.approx(score(-truth, labels)) == pytest.approx(score(truth, 1 - labels))
