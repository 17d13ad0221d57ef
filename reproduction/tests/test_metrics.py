"""Scores of partitions against slow reference implementations and values computed by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import v_measure_score

from ravine_paper import metrics
from support import scoring

THREE = np.repeat(["a", "b", "c"], [4, 4, 4])
SCORES = [metrics.success_ratio, metrics.binary_v_measure]
partitions = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n), st.lists(st.integers(0, 1), min_size=n, max_size=n)
    )
)


@settings(max_examples=300, deadline=None)
@given(partitions)
def test_scores_equal_slow_reference_implementations(partition):
    truth, labels = partition
    assert metrics.success_ratio(truth, labels) == pytest.approx(scoring.success_ratio(truth, labels), abs=1e-12)
    assert metrics.binary_v_measure(truth, labels) == pytest.approx(scoring.v_measure(truth, labels), abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(partitions, st.permutations(range(5)), st.randoms(use_true_random=False))
def test_scores_are_invariant_and_lie_in_the_unit_interval(partition, names, random):
    truth, labels = map(np.array, partition)
    # Between sides of equal size the labels break ties, so exchanging the sides changes the problem.
    even = 2 * labels.sum() == len(labels)
    order = np.array(random.sample(range(len(truth)), len(truth)))
    for score in SCORES:
        value = score(truth, labels)
        assert 0.0 <= value <= 1.0
        assert score(np.array(names)[truth][order], labels[order]) == pytest.approx(value, abs=1e-12)
        if not even:
            assert score(truth, 1 - labels) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.repeat([0, 1, 1], 4), 1.0),
        (np.repeat(["right", "left", "left"], 4), 1.0),
        (np.zeros(12, dtype=int), 0.0),
        (np.tile([False, False, False, True], 3), 0.0),
    ],
    ids=["whole clusters", "text", "one side", "no cluster separated"],
)
def test_extreme_partitions(score, labels, expected):
    assert score(THREE, labels) == expected


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("share", [2, 3, 5])
def test_uninformative_partition_scores_zero(score, share):
    """Both sides have the proportions of clusters of the whole: ties assign all clusters to the same side."""
    truth = np.repeat(np.arange(4), [30, 60, 90, 120])
    labels = (np.arange(300) % share == 0).astype(int)
    assert score(truth, labels) == pytest.approx(0.0, abs=1e-9)


def test_success_ratio_by_hand():
    """Side 1 has 4 a and 1 b, side 0 has 3 b and 4 c: E = 1 and S = min(4, 7)."""
    labels = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
    assert metrics.success_ratio(THREE, labels) == pytest.approx(4 / 5)


def test_tied_clusters_go_to_the_smaller_side_then_smaller_label():
    labels = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0])
    assert_array_equal(metrics.merge_clusters(THREE, labels), [1] * 4 + [0] * 4 + [1] * 4)
    assert_array_equal(metrics.merge_clusters(THREE, 1 - labels), [0] * 4 + [1] * 4 + [0] * 4)
    assert_array_equal(metrics.merge_clusters(["a", "a", "b", "c"], ["y", "x", "x", "y"]), ["x", "x", "x", "y"])


def test_v_measure_equals_scikit_learn_on_merged_clusters():
    rng = np.random.default_rng(0)
    for _ in range(20):
        truth, labels = rng.integers(0, 5, 200), rng.integers(0, 2, 200)
        expected = v_measure_score(metrics.merge_clusters(truth, labels), labels)
        assert metrics.binary_v_measure(truth, labels) == pytest.approx(expected, abs=1e-12)


def test_regret_is_the_distance_to_the_best_method():
    scores = np.array([[0.2, 0.9, np.nan], [1.0, 1.0, 0.5]])
    assert_allclose(metrics.regret(scores), [[0.7, 0.0, np.nan], [0.0, 0.0, 0.5]])
    assert_allclose(metrics.regret(scores.T, axis=0), metrics.regret(scores).T)
    assert np.isnan(metrics.regret([np.nan, np.nan])).all()


@pytest.mark.parametrize("function", [metrics.merge_clusters, *SCORES])
@pytest.mark.parametrize(
    ("truth", "labels", "message"),
    [
        ([0, 1, 1], [0, 1], "3 and 2"),
        ([], [], "empty"),
        ([0, 1, 2], [0, 1, 2], "got 3"),
        ([[0, 1]], [0, 1], "y_true"),
        ([0, 1], [[0], [1]], "labels"),
        ([0.0, np.nan], [0, 1], "y_true contains NaN"),
    ],
    ids=["lengths", "empty", "three sides", "2-D truth", "2-D labels", "NaN"],
)
def test_invalid_partitions_raise(function, truth, labels, message):
    with pytest.raises(ValueError, match=message):
        function(truth, labels)


def test_regret_of_a_scalar_raises():
    with pytest.raises(ValueError, match="score"):
        metrics.regret(1.0)


@pytest.mark.parametrize("truth", [["a", "a", None, None], [1, 1, "b", "b"], [None, None, (1, 2), (1, 2)]])
def test_labels_may_have_any_type(truth):
    labels = np.empty(4, dtype=object)
    labels[:] = truth
    assert metrics.success_ratio(labels, [0, 0, 1, 1]) == 1.0
    assert metrics.binary_v_measure([0, 0, 1, 1], labels) == 1.0
