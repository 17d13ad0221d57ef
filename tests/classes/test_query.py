"""Rows whose labels would help most, against plain definitions."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

from ravine.classes import query
from ravine.classes.query import STRATEGIES, choose_rows
from ravine.rows import as_rows

X = np.random.default_rng(0).normal(size=(80, 3))
UNLABELLED = np.arange(10, 80)


def predict_proba(rows):
    odds = 2.0 * rows[:, 0]
    return np.stack([expit(-odds), expit(odds)], axis=1)


def choose(n, strategy, rows=X, indices=UNLABELLED):
    return choose_rows(as_rows(rows), indices, predict_proba, n, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_chosen_rows_are_distinct_and_among_those_given(strategy):
    chosen = choose(12, strategy)
    assert len(set(chosen.tolist())) == 12
    assert set(chosen.tolist()) <= set(UNLABELLED.tolist())


def test_uncertain_rows_have_the_smallest_margin():
    assert_array_equal(choose(9, "uncertainty"), UNLABELLED[np.argsort(np.abs(X[UNLABELLED, 0]), kind="stable")[:9]])


def test_first_diverse_row_is_the_most_uncertain_one():
    assert choose(5, "diverse")[0] == choose(1, "uncertainty")[0]


def test_diverse_rows_are_chosen_greedily(monkeypatch):
    monkeypatch.setattr(query, "CANDIDATES_PER_ROW", 100)
    rows, doubt = X[UNLABELLED], 1.0 - np.abs(np.diff(predict_proba(X[UNLABELLED]), axis=1)[:, 0])
    chosen = [int(np.argmax(doubt))]
    for _ in range(5):
        nearest = np.min([np.linalg.norm(rows - rows[k], axis=1) for k in chosen], axis=0)
        gain = doubt * nearest
        gain[chosen] = -1.0
        chosen.append(int(np.argmax(gain)))
    assert_array_equal(choose(6, "diverse"), UNLABELLED[chosen])


@pytest.mark.parametrize(("n", "strategy"), [(0, "diverse"), (71, "diverse"), (2.5, "density"), (3, "best")])
def test_impossible_choices_are_refused(n, strategy):
    with pytest.raises((ValueError, TypeError), match=r"^(n|strategy)\b"):
        choose(n, strategy)
