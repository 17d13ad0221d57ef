"""L-BFGS on the sphere, for functions whose minima are known."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ravine import MinimumDensityHyperplane, PathSettings
from ravine.optimise import (
    OPTIMISERS,
    FunctionObjective,
    Memory,
    TiltedObjective,
    minimise_on_sphere,
    register_optimiser,
    run,
    transport,
)
from ravine.optimise.line_search import CURVATURE, LARGEST_ANGLE, SUFFICIENT_DECREASE, search_weak_wolfe
from support import reference as ref
from support.sphere_functions import NONSMOOTH, SMOOTH, linear, rayleigh, start, start_in_basin


def minimised(problem, v, **options):
    objective = FunctionObjective(problem.function, problem.gradient)
    return run(minimise_on_sphere(objective, v, **{"max_iter": 500, "tolerance": 1e-14} | options))


# ------------------------------------------------------------------------------------------------- minima


@pytest.mark.parametrize("d", [2, 3, 10, 50])
@pytest.mark.parametrize("family", SMOOTH)
def test_smooth_functions_are_minimised_to_rounding(family, d, rng):
    for _ in range(5):
        problem = family(rng, d)
        result = minimised(problem, start(rng, d))
        assert result.converged
        assert result.value == pytest.approx(problem.minimum, rel=1e-12)
        assert abs(result.v @ problem.minimiser) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("family", NONSMOOTH)
def test_nonsmooth_functions_are_minimised_to_a_few_digits(family, d, rng):
    for _ in range(10):
        problem = family(rng, d)
        result = minimised(problem, start_in_basin(rng, d, problem))
        assert result.value == pytest.approx(problem.minimum, abs=1e-3)
        assert result.v @ problem.minimiser > 0.999


@pytest.mark.parametrize("family", [*SMOOTH, *NONSMOOTH])
def test_result_is_a_unit_vector_and_not_above_the_start(family, rng):
    for max_iter in (0, 1, 2, 5, 100):
        problem, v = family(rng, 7), start(rng, 7)
        result = minimised(problem, v, max_iter=max_iter)
        assert result.n_iter <= max_iter
        assert np.linalg.norm(result.v) == pytest.approx(1.0, abs=1e-14)
        assert abs(result.gradient @ result.v) <= 1e-12 * (1.0 + np.linalg.norm(result.gradient))
        assert result.value == pytest.approx(problem.function(result.v), abs=1e-12)
        assert result.value <= problem.function(v)


def test_zero_iterations_return_the_start(rng):
    problem, v = rayleigh(rng, 5), start(rng, 5)
    result = minimised(problem, v, max_iter=0)
    np.testing.assert_array_equal(result.v, v)
    assert (result.n_iter, result.n_trials, result.converged) == (0, 0, False)


def test_start_at_the_minimum_stays_there(rng):
    problem = rayleigh(rng, 6)
    result = minimised(problem, problem.minimiser.copy())
    assert (result.n_iter, result.n_trials, result.converged) == (0, 0, True)


@pytest.mark.parametrize("v", [[1.0], [-1.0]])
def test_one_dimension_converges_at_once(v):
    result = minimised(SimpleNamespace(function=lambda v: 3.0 * v[0], gradient=lambda v: np.array([3.0])), np.array(v))
    assert (result.n_iter, result.converged, result.value) == (0, True, 3.0 * v[0])


def test_function_without_decrease_stalls(rng):
    """The gradient promises a decrease that does not exist, as at a kink."""
    lying = SimpleNamespace(function=lambda v: 1.0, gradient=lambda v: np.array([1.0, 2.0, 3.0]))
    result = minimised(lying, start(rng, 3))
    assert result.stalled
    assert not result.converged
    assert result.n_iter == 0


def test_trials_are_counted(rng):
    problem = rayleigh(rng, 8)
    objective = FunctionObjective(problem.function, problem.gradient)
    result = run(minimise_on_sphere(objective, start(rng, 8), max_iter=50))
    assert result.n_trials == objective.n_trials >= result.n_iter > 0


# ------------------------------------------------------------------------------------------------- memory


def test_transport_is_an_isometry_between_tangent_spaces(rng):
    for t in (0.0, 1e-8, 0.3, 1.5, math.pi):
        v = start(rng, 9)
        u = ref.tangent(rng, v)
        x = rng.standard_normal((5, 9))
        x -= np.outer(x @ v, v)
        moved = transport(x, v, u, t)
        np.testing.assert_allclose(moved @ ref.circle(v, u, t), 0.0, atol=1e-14)
        np.testing.assert_allclose(moved @ moved.T, x @ x.T, atol=1e-13)


def test_memory_is_transported_with_all_its_pairs(rng):
    v = start(rng, 6)
    u, memory = ref.tangent(rng, v), Memory(size=4)
    for _ in range(6):
        s = ref.tangent(rng, v)
        memory.push(s, 2.0 * s)
    assert len(memory) == 4
    before = [memory.descend(s) for s in memory.steps]
    memory.transport(v, u, 0.7)
    for s, expected in zip(memory.steps, before, strict=True):
        np.testing.assert_allclose(memory.descend(s), transport(expected, v, u, 0.7), atol=1e-13)


def test_memory_stays_tangent(rng):
    memory, problem = Memory(), rayleigh(rng, 8)
    result = minimised(problem, start(rng, 8), max_iter=12, memory=memory)
    assert len(memory) > 5
    np.testing.assert_allclose([s @ result.v for s in memory.steps], 0.0, atol=1e-13)
    np.testing.assert_allclose([y @ result.v for y in memory.changes], 0.0, atol=1e-10)


def test_memory_without_descent_is_cleared(rng):
    """According to the memory a direction almost orthogonal to the gradient has almost no curvature."""
    problem, v, memory = linear(rng, 5), start(rng, 5), Memory()
    g = ref.unit(problem.gradient(v) - (problem.gradient(v) @ v) * v)
    across = ref.tangent(rng, v)
    across = ref.unit(across - (across @ g) * g) + 1e-9 * g
    memory.push(g, g)
    memory.push(across, 1e-16 * across)
    direction = ref.unit(memory.descend(g))
    assert -1e-6 < direction @ g < 0.0
    result = minimised(problem, v, memory=memory)
    assert result.converged
    assert result.value == pytest.approx(problem.minimum, rel=1e-12)


def test_memory_ignores_pairs_without_curvature(rng):
    memory, s = Memory(), rng.standard_normal(4)
    for change in (-s, np.zeros(4), rng.permutation([1.0, 0.0, 0.0, 0.0]) * np.nan):
        memory.push(s, change)
    assert len(memory) == 0


def test_memory_of_a_quadratic_gives_newton_step(rng):
    """With as many conjugate steps as dimensions the approximate inverse Hessian is exact."""
    A = np.diag([1.0, 4.0, 9.0])
    memory = Memory()
    for e in np.eye(3):
        memory.push(e, A @ e)
    g = rng.standard_normal(3)
    np.testing.assert_allclose(memory.descend(g), -np.linalg.solve(A, g), rtol=1e-12)


def test_copy_of_a_memory_is_independent(rng):
    memory, s = Memory(), rng.standard_normal(3)
    memory.push(s, s)
    copy = memory.copy()
    memory.clear()
    assert (len(memory), len(copy)) == (0, 1)


def test_reused_memory_helps_on_a_similar_problem(rng):
    iterations = []
    for _ in range(10):
        problem, v, memory = rayleigh(rng, 20), start(rng, 20), Memory()
        halfway = minimised(problem, v, max_iter=15, memory=memory)
        assert len(memory) > 0
        carried = minimised(problem, halfway.v, memory=memory, tolerance=1e-10)
        fresh = minimised(problem, halfway.v, tolerance=1e-10)
        assert carried.value == pytest.approx(problem.minimum, abs=1e-8)
        iterations.append((carried.n_iter, fresh.n_iter))
    carried, fresh = np.sum(iterations, axis=0)
    assert carried <= fresh


@pytest.mark.parametrize("family", [*SMOOTH, *NONSMOOTH])
def test_misleading_memory_does_not_prevent_convergence(family, rng):
    problem, memory = family(rng, 6), Memory()
    v = start_in_basin(rng, 6, problem)
    for _ in range(5):
        s = ref.tangent(rng, v)
        memory.push(s, 1e-6 * s + 1e-8 * ref.tangent(rng, v))
    result = minimised(problem, v, memory=memory)
    assert result.value == pytest.approx(problem.minimum, abs=1e-3)


# ------------------------------------------------------------------------------------------------- line search


@pytest.mark.parametrize("first", [1e-6, 1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("family", [*SMOOTH, *NONSMOOTH])
def test_steps_satisfy_the_weak_wolfe_conditions(family, first, rng):
    for _ in range(10):
        problem, v = family(rng, 5), start(rng, 5)
        g = problem.gradient(v) - (problem.gradient(v) @ v) * v
        u, slope, value = -ref.unit(g), -np.linalg.norm(g), problem.function(v)
        objective = FunctionObjective(problem.function, problem.gradient)
        run(objective.begin(v))
        run(objective.set_tangent(u))
        step = run(search_weak_wolfe(objective, value, slope, first, 1e-14))
        assert 0.0 < step.angle <= LARGEST_ANGLE
        assert step.value == pytest.approx(problem.function(ref.circle(v, u, step.angle)), abs=1e-14)
        assert step.value <= value + SUFFICIENT_DECREASE * slope * step.angle
        assert run(objective.differentiate(step.angle)) >= CURVATURE * slope or step.angle == LARGEST_ANGLE


class NeverFlat(FunctionObjective):
    """Function that falls up to the angle 0.1 and jumps there; only the resolution ends a search."""

    def evaluate(self, t):
        self.last_trial = t
        return -t if t < 0.1 else 1.0
        yield

    def differentiate(self, t):
        assert t == self.last_trial
        return -1.0
        yield


@pytest.mark.parametrize("first", [0.01, 0.03, 0.05, 0.099, 0.2, 1.0])
def test_line_search_ends_at_last_trial_without_wolfe_point(first):
    objective = NeverFlat(None, None)
    step = run(search_weak_wolfe(objective, 0.0, -1.0, first, 1e-4))
    assert step.angle == objective.last_trial
    assert step.value == -step.angle
    assert 0.09 < step.angle < 0.1


# ------------------------------------------------------------------------------------------------- helpers


def test_run_raises_for_a_question():
    def curious():
        answer = yield "what is the density?"
        return answer

    with pytest.raises(RuntimeError, match="what is the density"):
        run(curious())


def test_run_returns_the_result_of_a_generator():
    def content():
        return 7
        yield

    assert run(content()) == 7


# ------------------------------------------------------------------------------------------------- limits and tilts


@pytest.mark.parametrize("largest_angle", [0.01, 0.2, 1.0])
def test_no_step_is_made_beyond_the_largest_angle(largest_angle, rng):
    problem, v = rayleigh(rng, 10), start(rng, 10)
    result = minimised(problem, v, largest_angle=largest_angle)
    assert math.acos(min(float(result.v @ v), 1.0)) <= 2.0 * largest_angle + 1e-6
    assert result.value < problem.function(v)


def test_a_tilt_adds_a_linear_function(rng):
    problem, v, tilt = rayleigh(rng, 6), start(rng, 6), 0.1 * rng.standard_normal(6)
    tilted = TiltedObjective(FunctionObjective(problem.function, problem.gradient), tilt)
    both = FunctionObjective(lambda v: problem.function(v) + tilt @ v, lambda v: problem.gradient(v) + tilt)
    found, expected = (run(minimise_on_sphere(f, v, max_iter=500, tolerance=1e-14)) for f in (tilted, both))
    assert found.n_iter == expected.n_iter
    np.testing.assert_allclose(found.v, expected.v, atol=1e-7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e150, 1e200, 1e300])
def test_gradients_whose_squares_overflow_end_without_a_warning(size):
    """Deep valleys with kinks have such gradients; the compiled stages stop at them, too."""
    kink = FunctionObjective(
        lambda v: 1e-3 * abs(v[0]) + float(v[1]), lambda v: np.array([size * np.sign(v[0]), 1.0, size * 1e-9])
    )
    v = np.array([0.6, 0.8, 0.0])
    result = run(minimise_on_sphere(kink, v, max_iter=20, tolerance=1e-9))
    assert np.isfinite(result.v).all()
    memory = Memory()
    memory.push(np.array([1e-3, 0.0, 0.0]), np.array([size, 1.0, size]))
    assert len(memory) == (size == 1e150)
    assert not np.isnan(memory.descend(np.array([1e3, 1.0, -1.0]))).any()
    memory.descend(np.array([size, size, size]))


def test_estimators_use_a_registered_optimiser(rng):
    called = []

    def optimise(objective, v, **options):
        called.append(v)
        return (yield from minimise_on_sphere(objective, v, **options))

    register_optimiser("mine", optimise)
    try:
        X = rng.standard_normal((60, 2)) + np.repeat([[0.0, 0.0], [7.0, 0.0]], 30, axis=0)
        labels = MinimumDensityHyperplane(path=PathSettings(optimiser="mine"), n_init=1).fit(X).labels_
        with pytest.raises(ValueError, match="mine"):
            register_optimiser("mine", minimise_on_sphere)
    finally:
        del OPTIMISERS["mine"]
    np.testing.assert_array_equal(labels == labels[0], np.arange(60) < 30)
    assert called
