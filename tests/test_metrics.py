"""Contingency tables and the adjusted Rand index against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from ravine import metrics


def test_adjusted_rand_index_equals_scikit_learn(rng):
    for _ in range(20):
        a, b = rng.integers(0, 3, 12), rng.integers(0, 4, 12)
        got = metrics.adjusted_rand_index(metrics.contingency_table(a, b))
        assert got == pytest.approx(adjusted_rand_score(a, b))
    assert metrics.adjusted_rand_index([[5]]) == 1.0
    assert metrics.adjusted_rand_index(np.zeros((2, 2))) == 1.0


def test_table_equals_scikit_learn(rng):
    truth, labels = rng.integers(0, 3, 30), rng.integers(0, 4, 30)
    np.testing.assert_array_equal(metrics.contingency_table(truth, labels), contingency_matrix(labels, truth))


@pytest.mark.parametrize("truth", [["a", "a", None, None], [1, 1, "b", "b"], [None, None, (1, 2), (1, 2)]])
def test_labels_may_have_any_type(truth):
    labels = np.empty(4, dtype=object)
    labels[:] = truth
    assert metrics.contingency_table(labels, [0, 0, 1, 1]).tolist() == [[2, 0], [0, 2]]


@pytest.mark.parametrize(
    ("truth", "labels", "message"),
    [
        ([0, 1, 1], [0, 1], "3 and 2"),
        ([], [], "empty"),
        ([[0, 1]], [0, 1], "y_true"),
        ([0, 1], [[0], [1]], "labels"),
        ([0.0, np.nan], [0, 1], "y_true contains NaN"),
    ],
    ids=["lengths", "empty", "2-D truth", "2-D labels", "NaN"],
)
def test_invalid_partitions_raise(truth, labels, message):
    with pytest.raises(ValueError, match=message):
        metrics.contingency_table(truth, labels)
