"""L-BFGS in a vector space: exact solutions, tolerance, preconditioner."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine.optimise import CurvaturePairs, minimise_by_lbfgs, run


def quadratic(matrix, target):
    def evaluate(u):
        return 0.5 * (u - target) @ matrix @ (u - target), matrix @ (u - target)
        yield

    return evaluate


def minimise(evaluate, u, solve=lambda g: g, max_iter=500, tolerance=1e-11, pairs=None):
    pairs = CurvaturePairs() if pairs is None else pairs
    return run(minimise_by_lbfgs(evaluate, u, solve, max_iter=max_iter, tolerance=tolerance, pairs=pairs))


def rosenbrock(u):
    x, y = u
    value = (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2
    return value, np.array([-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)])
    yield


def test_solution_is_exact_beyond_the_resolution_of_values(rng):
    A = rng.standard_normal((12, 12))
    matrix, target = A @ A.T + 0.1 * np.eye(12), rng.standard_normal(12)
    found = minimise(quadratic(matrix, target), rng.standard_normal(12))
    assert found.converged
    assert_allclose(found.u, target, rtol=1e-9)


def test_exact_preconditioner_needs_very_few_steps(rng):
    A = rng.standard_normal((12, 12))
    matrix, target = A @ A.T + 0.01 * np.eye(12), rng.standard_normal(12)
    inverse = np.linalg.inv(matrix)
    found = minimise(
        quadratic(matrix, target), np.zeros(12), lambda g: inverse @ g, pairs=CurvaturePairs(has_scale=True)
    )
    assert found.n_iter <= 3
    assert_allclose(found.u, target, rtol=1e-8)


def test_curved_valley_is_followed_to_its_end():
    found = minimise(rosenbrock, np.array([-1.2, 1.0]))
    assert found.converged
    assert_allclose(found.u, 1.0, rtol=1e-8)


def test_too_few_iterations_are_not_called_converged():
    assert not minimise(rosenbrock, np.array([-1.2, 1.0]), max_iter=3).converged


def test_value_never_increases():
    values = [minimise(rosenbrock, np.array([-1.2, 1.0]), max_iter=k).value for k in range(0, 30, 3)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("most", [1, 5])
def test_few_pairs_suffice(most, rng):
    matrix, target = np.diag(np.linspace(1.0, 30.0, 10)), rng.standard_normal(10)
    assert_allclose(minimise(quadratic(matrix, target), np.ones(10), pairs=CurvaturePairs(most)).u, target, rtol=1e-8)


def test_pairs_of_another_problem_are_forgotten(rng):
    """Curvature pairs that do not fit lead uphill, or to no decrease: the search starts again without them."""
    target = np.array([1.0, -2.0])
    for scale in (1e-12, 1e12):
        pairs = CurvaturePairs()
        for step in np.eye(2):
            pairs.push(step, scale * step)
        found = minimise(quadratic(np.eye(2), target), np.zeros(2), pairs=pairs)
        assert found.converged
        assert_allclose(found.u, target, rtol=1e-8)


def test_a_function_without_decrease_ends_unconverged():
    def evaluate(u):
        return float(u[0] == 0.0) - 1.0, np.array([1.0])  # its gradient is wrong
        yield

    found = minimise(evaluate, np.array([0.5]))
    assert not found.converged
    assert found.u == 0.5


def test_pairs_without_positive_curvature_are_ignored():
    pairs = CurvaturePairs()
    pairs.push(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    assert not pairs
