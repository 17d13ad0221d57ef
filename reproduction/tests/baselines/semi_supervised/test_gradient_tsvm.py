"""The gradient TSVM against other optimisers, and its margin loss against finite differences."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from paper_support.baseline_problems import X, Y, labelled_problem
from ravine_paper.baselines import GradientTSVM
from ravine_paper.baselines.semi_supervised.margin_descent import MOST_TRIALS, MarginLoss, _search_line, anneal


def loss_of(rng, p=3, n=40, d=4, bend=np.inf):
    return MarginLoss(
        labelled=rng.standard_normal((6, d)), signs=np.where(np.arange(6) % 2, 1.0, -1.0),
        unlabelled=rng.standard_normal((n, d)), ridge=rng.uniform(0.5, 2.0, (p, d)) * ([1.0] * (d - 1) + [0.0]),
        costs=rng.uniform(0.0, 3.0, (p, 6)), unlabelled_costs=rng.uniform(0.1, 1.0, p),
        offsets=rng.uniform(-0.2, 0.2, p), bend=bend,
    )  # fmt: skip


def plain_objective(problem, k, w):
    """Compute the objective of problem k, one row at a time."""
    total = 0.5 * float(np.sum(problem.ridge[k] * w**2))
    for z, y, cost in zip(problem.labelled, problem.signs, problem.costs[k], strict=True):
        gap = max(0.0, 1.0 - y * (w @ z + problem.offsets[k]))
        total += cost * (gap**2 if gap < problem.bend else problem.bend * (2.0 * gap - problem.bend))
    for z in problem.unlabelled:
        total += problem.unlabelled_costs[k] * np.exp(-3.0 * (w @ z + problem.offsets[k]) ** 2)
    return total


@pytest.mark.parametrize("bend", [np.inf, 0.3])
def test_gradients_of_the_tsvm_are_those_of_finite_differences(rng, bend):
    problem = loss_of(rng, bend=bend)
    W = rng.standard_normal((3, 4))
    values, gradients = problem.evaluate(W)
    for k in range(3):
        assert values[k] == pytest.approx(plain_objective(problem, k, W[k]), rel=1e-12)
        numeric = scipy.optimize.approx_fprime(W[k], lambda w, k=k: plain_objective(problem, k, w), 1e-7)
        assert_allclose(gradients[k], numeric, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_simultaneous_problems_are_solved_as_separate_ones(seed):
    problem = loss_of(np.random.default_rng(seed), p=5)
    factors = np.geomspace(0.01, 1.0, 11)
    settings = {"tol": 1e-9, "path_tol": 1e-9, "max_iter": 1000}
    together, converged, _ = anneal(problem, np.zeros((5, 4)), factors, **settings)
    assert converged.all()
    assert np.abs(problem.evaluate(together)[1]).max() < 1e-6
    for k in range(5):
        w = np.zeros(4)
        for factor in factors:  # the annealing of the paper, with another optimiser
            costs = problem.unlabelled_costs * factor

            def objective(w, k=k, costs=costs):
                stage = MarginLoss(
                    problem.labelled, problem.signs, problem.unlabelled, problem.ridge[[k]], problem.costs[[k]],
                    costs[[k]], problem.offsets[[k]],
                )  # fmt: skip
                value, gradient = stage.evaluate(w[None])
                return float(value[0]), gradient[0]

            w = scipy.optimize.minimize(objective, w, jac=True, method="BFGS", options={"gtol": 1e-9}).x
        assert_allclose(together[k], w, atol=1e-5)


def test_failed_line_search_returns_the_losses_of_its_step():
    """A row at no cost bounds the curvature, and the minimum is too far away for the number of trials."""
    rows, one = np.array([[1e5], [1e-5]]), np.ones(1)
    problem = MarginLoss(
        rows, np.ones(2), np.zeros((0, 1)), np.zeros((1, 1)), np.ones((1, 2)), np.zeros(1), np.zeros(1)
    )
    w, every = np.ones((1, 1)), np.arange(1)
    value, gradient = problem.evaluate(w)
    here, along = problem.project(w), problem.project(-gradient)
    t, parts = _search_line(problem, every, w, -gradient, here, along, value, -(gradient[0] ** 2))
    assert t == 4.0 ** (MOST_TRIALS - 2) * one  # the last trial is the best step so far
    again = problem.evaluate_loss(every, (here[0] + t[:, None] * along[0], here[1] + t[:, None] * along[1]))
    for part, expected in zip(parts, again, strict=True):
        assert_allclose(part, expected, rtol=1e-15)
    assert problem.add_ridge(every, w - t[:, None] * gradient, parts)[0] < value


# ----------------------------------------------------------------------------------------------- estimator


def test_mean_decision_of_unlabelled_rows_is_the_mean_label():
    X, y, _ = labelled_problem(n=80)
    y[np.flatnonzero(y == 1)[:2]] = -1
    found = GradientTSVM(C=1.0).fit(X, y)
    mean_label = np.mean(2.0 * y[y >= 0] - 1.0)
    assert found.decision_function(X[y < 0]).mean() == pytest.approx(mean_label, abs=1e-9)


def test_tsvm_is_stationary_and_does_not_depend_on_units():
    X, y, signs = labelled_problem(n=80)
    found = GradientTSVM(C=10.0, tol=1e-10).fit(X, y)
    labelled, unlabelled = X[y >= 0], X[y < 0]
    b = found.decision_function(unlabelled.mean(axis=0)[None])[0]
    C = 10.0 / X.var(axis=0).sum()

    def objective(w):
        f_l, f_u = ((rows - unlabelled.mean(axis=0)) @ w + b for rows in (labelled, unlabelled))
        gaps = np.maximum(0.0, 1.0 - signs[y >= 0] * f_l)
        return 0.5 * w @ w + C * np.sum(gaps**2) + C * np.sum(np.exp(-3.0 * f_u**2))

    w = found.coef_[0]
    assert_allclose(scipy.optimize.approx_fprime(w, objective, 1e-7), 0.0, atol=1e-4)
    again = GradientTSVM(C=10.0, tol=1e-10).fit(1e3 * X + 7.0, y)
    assert_allclose(again.decision_function(1e3 * X + 7.0), found.decision_function(X), atol=1e-5)


def test_annealing_finds_a_gap_that_the_labels_miss():
    rng = np.random.default_rng(1)
    truth = np.arange(400) % 2
    X = np.column_stack([rng.standard_normal(400) * 3.0, np.where(truth, 2.0, -2.0) + 0.3 * rng.standard_normal(400)])
    y = np.full(400, -1)
    y[[0, 1]] = 0, 1
    X[0], X[1] = (-2.0, -2.0), (2.0, 2.0)
    labels_alone = GradientTSVM(C=1.0, unlabelled_weight=0.0).fit(X, y)
    assert np.mean(labels_alone.transduction_ != truth) > 0.05
    assert np.mean(GradientTSVM(C=1.0).fit(X, y).transduction_ != truth) < 0.01


def test_unconverged_descent_warns():
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        GradientTSVM(max_iter=1, C=100.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GradientTSVM(random_state=0).fit(X, Y)
