"""Hyperplanes between pairs of classes and their joint predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from ravine import Hyperplane
from ravine.classes.pairs import PairModel, PairSettings, fit_pairs
from ravine.rows import as_rows
from ravine.search import LabelSettings, SearchSettings

X = np.random.default_rng(0).normal(size=(30, 2))


def make_model(n_classes, voting="soft", bandwidth=0.5):
    pairs = np.stack(np.triu_indices(n_classes, 1), axis=1)
    angles = np.linspace(0.3, 2.0, len(pairs))
    planes = tuple(Hyperplane([np.cos(a), np.sin(a)], 0.1 * k, bandwidth=bandwidth) for k, a in enumerate(angles))
    return PairModel(n_classes, pairs, planes, np.linspace(1.0, 2.0, len(pairs)), voting)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_prediction_is_the_class_of_largest_probability(n_classes, voting):
    model = make_model(n_classes, voting)
    proba = model.predict_proba(X)
    assert proba.shape == (30, n_classes)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.predict_codes(X), proba.argmax(axis=1))


def test_log_odds_are_slopes_times_distances_in_bandwidths():
    model = make_model(3)
    for plane, slope, odds in zip(model.hyperplanes, model.slopes, model.compute_log_odds(X).T, strict=True):
        assert_allclose(odds, slope * plane.distance(X) / 0.5)
    two = make_model(2)
    assert_allclose(two.predict_proba(X)[:, 1], expit(two.compute_log_odds(X)[:, 0]))
    assert_array_equal(two.compute_scores(X), two.measure_distances(X)[:, 0])


def test_log_odds_of_tiny_bandwidths_are_finite():
    assert np.isfinite(make_model(2, bandwidth=5e-324).compute_log_odds(X)).all()


def fit(codes, rows, **settings):
    search = SearchSettings(init=("svm",), gammas=(0.1, 1.0), select="final", labels=LabelSettings("relative", 1.5))
    return fit_pairs(
        as_rows(rows), codes, None, codes.max() + 1, PairSettings(search, **settings), np.random.default_rng(0)
    )


@pytest.mark.parametrize("n_rounds", [0, 1, 2])
def test_every_pair_of_classes_has_a_hyperplane(n_rounds):
    truth = np.arange(90) % 3
    rows = np.random.default_rng(1).normal(size=(90, 2)) + 7.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    model, separators = fit(np.where(np.arange(90) < 15, truth, -1), rows, n_rounds=n_rounds)
    assert model.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert len(separators) == len(model.hyperplanes) == 3
    assert_array_equal(model.predict_codes(rows), truth)


def test_rounds_leave_out_the_rows_of_other_classes():
    truth = np.arange(90) % 3
    rows = np.random.default_rng(1).normal(size=(90, 2)) + 7.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    codes = np.where(np.arange(90) < 15, truth, -1)
    for n_rounds, seen in ((0, 85), (2, 60)):  # all but the 5 labels of the third class; only rows of the two classes
        _, separators = fit(codes, rows, n_rounds=n_rounds)
        assert {step.n_rows for separator in separators for step in separator.path} == {seen}
