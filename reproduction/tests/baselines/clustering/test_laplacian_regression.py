"""Regression with the Laplacian loss against libsvm, linear programming and its duality gap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.svm import SVR

from ravine_paper.baselines.clustering.laplacian_regression import LaplacianRegression, Regression


def problem(seed, n=60, d=4):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    return rows - rows.mean(axis=0), np.where(rows[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def objective(rows, targets, C, w, b):
    return 0.5 * w @ w + C * np.abs(targets - rows @ w - b).sum()


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(60, 4), (20, 30), (200, 1), (3, 2)], ids=str)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_regression_is_as_good_as_that_of_libsvm(seed, shape, C):
    rows, targets = problem(seed, *shape)
    found = LaplacianRegression(rows, C, 1e-8).solve(targets)
    svr = SVR(kernel="linear", C=C, epsilon=0.0, tol=1e-9, max_iter=200_000).fit(rows, targets)
    slow = objective(rows, targets, C, svr.coef_[0], float(svr.intercept_[0]))
    assert objective(rows, targets, C, found.weights, found.intercept) <= slow * (1 + 1e-6) + 1e-11 * C
    assert found.gap <= 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_little_ridge_gives_least_absolute_deviations(seed):
    rows, targets = problem(seed, 40, 3)
    n, d = rows.shape
    design = np.hstack([rows, np.ones((n, 1))])
    cost = np.concatenate([np.zeros(d + 1), np.ones(2 * n)])  # residual = upper - lower part
    program = linprog(
        cost,
        A_eq=np.hstack([design, np.eye(n), -np.eye(n)]),
        b_eq=targets,
        bounds=[(None, None)] * (d + 1) + [(0, None)] * (2 * n),
    )
    found = LaplacianRegression(rows, 1e7, 1e-7).solve(targets)
    assert_allclose(np.abs(targets - rows @ found.weights - found.intercept).sum(), program.fun, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_gap_bounds_the_error(seed):
    rows, targets = problem(seed)
    best = LaplacianRegression(rows, 1.0, 1e-10).solve(targets)
    lowest = objective(rows, targets, 1.0, best.weights, best.intercept)
    for tol in (0.3, 1e-2, 1e-4):
        found = LaplacianRegression(rows, 1.0, tol).solve(targets)
        value = objective(rows, targets, 1.0, found.weights, found.intercept)
        assert (value - lowest) / value <= found.gap <= tol


def test_warm_start_gives_the_same():
    rows, targets = problem(0, 300, 5)
    flipped = np.where(np.arange(300) % 17 == 0, -targets, targets)
    solver = LaplacianRegression(rows, 1.0, 1e-7)
    cold, warm = solver.solve(flipped), solver.solve(flipped, solver.solve(targets))
    for start in (cold, warm, solver.solve(flipped, Regression(np.full(5, 1e3), -50.0, 0.0))):
        assert start.gap <= 1e-7
        value = objective(rows, flipped, 1.0, start.weights, start.intercept)
        assert_allclose(value, objective(rows, flipped, 1.0, cold.weights, cold.intercept), rtol=1e-6)


@pytest.mark.parametrize("kind", ["one class", "zero rows", "repeated columns", "duplicates"])
def test_regression_of_degenerate_problems_reaches_its_tolerance(kind):
    rows, targets = problem(0)
    if kind == "one class":
        targets = np.ones(60)
    elif kind == "zero rows":
        rows = np.zeros((60, 4))
    elif kind == "repeated columns":
        rows = np.repeat(rows[:, :1], 4, axis=1)
    else:
        rows = np.repeat(rows[:6], 10, axis=0)
    found = LaplacianRegression(rows, 1.0, 1e-6).solve(targets)
    assert found.gap <= 1e-6
    assert np.isfinite(found.weights).all()
