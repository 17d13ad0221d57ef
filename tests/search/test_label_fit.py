"""Linear classifier of the labels: the solution of liblinear, and labels that are left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

from ravine.index import LabelledRows
from ravine.search import label_fit
from ravine.search.label_fit import LabelLoss, calibrate, fit_labels
from support.simulate import two_clusters


def make_labels(n=40, d=4, separation=2.0, weights=None):
    rows, truth = two_clusters(n, d, separation=separation)
    return LabelledRows(rows - rows.mean(axis=0), 2.0 * truth - 1.0, np.ones(n) if weights is None else weights)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("d", [1, 4, 60])
def test_solution_is_that_of_liblinear(C, d):
    labels = make_labels(d=d, weights=np.random.default_rng(0).integers(1, 4, 40).astype(float))
    svm = LinearSVC(C=C, dual=False, tol=1e-12, max_iter=10_000)
    svm.fit(labels.rows / 2.0, labels.signs, sample_weight=labels.weights)
    assert_allclose(fit_labels(labels, 2.0, C).u, np.append(svm.coef_[0], svm.intercept_), atol=1e-6)


@pytest.mark.parametrize("d", [4, 60])
def test_solve_is_the_inverse_of_the_hessian(d, rng):
    fit, vector = fit_labels(make_labels(d=d), 1.0, 1.0), rng.standard_normal(d + 1)
    assert_allclose(fit.loss.hessian(fit.u) @ fit.solve(vector), vector, atol=1e-8)


def test_labels_that_are_left_out_are_near_those_of_refits():
    labels = make_labels(60, 3, separation=1.0)
    fit = fit_labels(labels, 1.0, 0.1)
    found = fit.loss.leave_one_out(fit.u, fit.loss.hessian(fit.u))
    for i in range(60):
        others = labels.without(np.arange(60) == i)
        u = fit_labels(others, 1.0, 0.1).u
        assert found[i] == pytest.approx(labels.signs[i] * (fit.loss.rows[i] @ u), abs=0.05)


def test_integer_weights_equal_repetition():
    weights = np.random.default_rng(1).integers(1, 4, 40)
    labels = make_labels(separation=1.0, weights=weights.astype(float))
    repeated = LabelledRows(
        np.repeat(labels.rows, weights, axis=0), np.repeat(labels.signs, weights), np.ones(weights.sum())
    )
    first, second = (fit_labels(given, 1.0, None) for given in (labels, repeated))
    assert first.loss.C == second.loss.C
    assert_allclose(first.u, second.u, atol=1e-10)


def test_labels_that_mean_nothing_choose_a_small_c(rng):
    noise = LabelledRows(rng.standard_normal((80, 30)), np.where(np.arange(80) % 2, 1.0, -1.0), np.ones(80))
    assert fit_labels(noise, 1.0, None).loss.C == 0.01


@pytest.mark.parametrize("seed", range(5))
def test_the_only_label_of_a_class_keeps_the_usual_c(seed):
    rng = np.random.default_rng(seed)
    few = LabelledRows(rng.standard_normal((4, 3)), np.array([1.0, 1.0, 1.0, -1.0]), np.ones(4))
    assert fit_labels(few, 1.0, None).loss.C == 1.0


def test_gradient_is_that_of_finite_differences(rng):
    labels, u = make_labels(), rng.standard_normal(5)
    loss = LabelLoss(np.c_[labels.rows, np.ones(40)], labels.signs, labels.weights, 0.7)
    numeric = [(loss.evaluate(u + 1e-6 * e)[0] - loss.evaluate(u - 1e-6 * e)[0]) / 2e-6 for e in np.eye(5)]
    assert_allclose(loss.evaluate(u)[1], numeric, atol=1e-5)


@pytest.mark.parametrize("margin", [-1e6, -1.0, 0.0, 1.0, 1e6])
def test_calibration_is_finite_and_grows_with_the_margins(margin):
    few, many = (calibrate(np.full(n, margin), np.ones(n)) for n in (1, 1000))
    assert 0.01 < min(few, many) <= max(few, many) < 200.0
    assert many >= few if margin >= 0.0 else many <= few


def test_svm_of_very_many_labels_uses_some_of_them(monkeypatch):
    monkeypatch.setattr(label_fit, "MOST_LABELS", 100)
    X, y = two_clusters(600, 3)
    weights = np.ones(600)
    for given in (None, weights):
        svm = label_fit._fit_linear_svm(X, y, given, 1.0, np.random.default_rng(0))
        assert np.mean(svm.predict(X) == y) > 0.98
