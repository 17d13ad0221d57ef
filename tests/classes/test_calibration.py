"""Votes and coupled probabilities of classes against their definitions."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit

from ravine.classes import calibration
from ravine.classes.calibration import count_votes, couple_log_probabilities


def list_pairs(n_classes):
    return np.array(list(itertools.combinations(range(n_classes), 2)))


def couple(scores, n_classes):
    log_p = couple_log_probabilities(list_pairs(n_classes), scores, n_classes)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def find_coupled(score, n_classes):
    """Minimise the sum of squares of Wu, Lin & Weng (2004) numerically."""
    r = np.zeros((n_classes, n_classes))
    for (i, j), odds in zip(list_pairs(n_classes).tolist(), score, strict=True):
        r[j, i], r[i, j] = expit(odds), expit(-odds)

    def measure(p):
        return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(n_classes) for j in range(n_classes) if i != j)

    start = np.full(n_classes, 1.0 / n_classes)
    sum_to_one = {"type": "eq", "fun": lambda p: p.sum() - 1.0}
    return minimize(measure, start, constraints=[sum_to_one], method="SLSQP", options={"ftol": 1e-15}).x


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_coupled_probabilities_minimise_the_sum_of_squares(n_classes):
    scores = np.random.default_rng(n_classes).normal(size=(6, len(list_pairs(n_classes))))
    for score, p in zip(scores, couple(scores, n_classes), strict=True):
        assert_allclose(p, find_coupled(score, n_classes), atol=1e-4)


def test_pairs_that_agree_give_their_probabilities():
    p = np.array([0.5, 0.3, 0.2])
    scores = np.array([[np.log(p[j] / p[i]) for i, j in list_pairs(3).tolist()]])
    assert_allclose(couple(scores, 3)[0], p, rtol=1e-6)


def test_blocks_do_not_matter(monkeypatch):
    scores = np.random.default_rng(0).normal(size=(50, 6))
    whole = couple(scores, 4)
    monkeypatch.setattr(calibration, "BLOCK_SIZE", 64)
    assert_array_equal(couple(scores, 4), whole)


def test_certain_pairs_give_finite_probabilities():
    p = couple(np.array([[1e300, -1e300, 1e300], [0.0, 0.0, 0.0]]), 3)
    assert np.isfinite(p).all()
    assert_allclose(p[1], 1.0 / 3.0)


def test_votes_are_counted_and_ties_broken_by_scores():
    scores = np.random.default_rng(0).normal(size=(40, 6))
    votes = count_votes(list_pairs(4), scores, 4)
    for row, found in zip(scores, votes, strict=True):
        slow = np.zeros(4)
        for (i, j), score in zip(list_pairs(4).tolist(), row, strict=True):
            slow[j if score > 0.0 else i] += 1
        assert_array_equal(np.round(found), slow)
    tied = count_votes(list_pairs(3), np.array([[3.0, -1.0, 1.0]]), 3)[0]  # one vote each
    assert tied.argmax() == 1
