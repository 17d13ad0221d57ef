"""All optimisers, for functions whose minima on the sphere are known."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, PathSettings
from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.optimise import OPTIMISERS, FunctionObjective, run
from ravine.rows import DenseSample
from ravine.search import drive
from ravine_paper.optimise import (
    check_gradient,
    find_hull_gap,
    find_min_norm_weights,
    minimise_by_sampling,
    sample_near,
    transport_to,
)
from ravine_paper.optimise.charts import compute_angle_gradient, compute_angles, compute_vector
from support import reference as ref
from support.sphere_functions import NONSMOOTH, SMOOTH, largest_coordinate, rayleigh, start, start_in_basin

NAMES = sorted(OPTIMISERS)
SAMPLING = ["gradient_sampling", "adaptive_gradient_sampling"]


def counted(problem):
    """Return the problem, and the distinct points at which it was evaluated."""
    seen = set()

    def function(v):
        seen.add(np.round(v, 11).tobytes())
        return problem.function(v)

    def gradient(v):
        seen.add(np.round(v, 11).tobytes())
        return problem.gradient(v)

    return SimpleNamespace(function=function, gradient=gradient, seen=seen)


def minimised(name, problem, v, **options):
    objective = FunctionObjective(problem.function, problem.gradient)
    return run(OPTIMISERS[name](objective, v, **{"max_iter": 500, "tolerance": 1e-13} | options))


# ------------------------------------------------------------------------------------------------- minima


@pytest.mark.parametrize("d", [2, 3, 12])
@pytest.mark.parametrize("family", SMOOTH)
@pytest.mark.parametrize("name", NAMES)
def test_smooth_functions_are_minimised(name, family, d, rng):
    for _ in range(3):
        problem = family(rng, d)
        result = minimised(name, problem, start(rng, d))
        assert result.value == pytest.approx(problem.minimum, rel=1e-6)
        assert abs(result.v @ problem.minimiser) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("family", NONSMOOTH)
@pytest.mark.parametrize("name", NAMES)
def test_kinks_are_minimised(name, family, d, rng):
    digits = 1e-5 if name in SAMPLING else 1e-3
    for _ in range(5):
        problem = family(rng, d)
        result = minimised(name, problem, start_in_basin(rng, d, problem))
        assert result.value == pytest.approx(problem.minimum, abs=digits)
        assert result.v @ problem.minimiser > 0.999


@pytest.mark.parametrize("name", NAMES)
def test_result_is_a_unit_vector_with_tangent_gradient(name, rng):
    for family, max_iter in itertools.product([*SMOOTH, *NONSMOOTH], (0, 1, 2, 5, 60)):
        problem, v = family(rng, 7), start(rng, 7)
        objective = FunctionObjective(problem.function, problem.gradient)
        result = run(OPTIMISERS[name](objective, v, max_iter=max_iter))
        assert result.n_iter <= max_iter
        assert np.linalg.norm(result.v) == pytest.approx(1.0, abs=1e-13)
        assert abs(result.gradient @ result.v) <= 1e-12 * (1.0 + np.linalg.norm(result.gradient))
        assert result.value == pytest.approx(problem.function(result.v), abs=1e-12)
        assert result.value <= problem.function(v) + 1e-15
        np.testing.assert_array_equal(objective.v, result.v)  # the objective is at the result


@pytest.mark.parametrize("name", NAMES)
def test_evaluations_are_counted(name, rng):
    for family in (rayleigh, largest_coordinate):
        problem = counted(family(rng, 8))
        result = minimised(name, problem, start(rng, 8), max_iter=25)
        # Returning to a point costs an evaluation, but the point is not new.
        assert len(problem.seen) <= result.n_evaluations <= 1.5 * len(problem.seen) + 2 * result.n_iter + 2


@pytest.mark.parametrize("v", [[1.0], [-1.0]])
@pytest.mark.parametrize("name", NAMES)
def test_one_dimension_converges_at_once(name, v):
    problem = SimpleNamespace(function=lambda v: 3.0 * v[0], gradient=lambda v: np.array([3.0]))
    result = minimised(name, problem, np.array(v))
    assert (result.n_iter, result.converged, result.value) == (0, True, 3.0 * v[0])


@pytest.mark.parametrize("name", NAMES)
def test_function_without_decrease_ends(name, rng):
    lying = SimpleNamespace(function=lambda v: 1.0, gradient=lambda v: np.array([1.0, 2.0, 3.0]))
    result = minimised(name, lying, start(rng, 3), max_iter=100)
    assert result.value == 1.0
    assert not result.converged or name in SAMPLING


@pytest.mark.parametrize("name", SAMPLING)
def test_sampling_is_reproducible_and_converges_at_a_kink(name, rng):
    problem = largest_coordinate(rng, 5)
    v = start(rng, 5)
    first, second = (minimised(name, problem, v) for _ in range(2))
    np.testing.assert_array_equal(first.v, second.v)
    assert first.converged
    assert np.linalg.norm(first.gradient) > 0.1  # at a kink the gradient does not vanish


def test_number_of_samples(rng):
    problem, d = rayleigh(rng, 6), 6
    one = minimised("gradient_sampling", problem, start(rng, d), max_iter=1)
    assert one.n_samples == 2 * (d - 1) + 1  # and back to v
    objective = FunctionObjective(problem.function, problem.gradient)
    few = run(minimise_by_sampling(objective, start(rng, d), max_iter=1, n_samples=3))
    assert few.n_samples == 4


# ------------------------------------------------------------------------------------------------- coordinates


def spherical_twin(angles):
    """Compute eq. (21) literally."""
    d = len(angles) + 1
    v = [np.cos(angles[i]) * np.prod([np.sin(angles[j]) for j in range(i)]) for i in range(d - 1)]
    return np.array([*v, np.prod([np.sin(a) for a in angles])])


@pytest.mark.parametrize("d", [2, 3, 8])
def test_spherical_coordinates_are_those_of_the_paper(d, rng):
    for v in [*(start(rng, d) for _ in range(20)), *np.eye(d), *-np.eye(d)]:
        angles = compute_angles(v)
        np.testing.assert_allclose(compute_vector(angles), spherical_twin(angles), atol=1e-15)
        np.testing.assert_allclose(compute_vector(angles), v, atol=1e-12)
        assert (angles[:-1] >= 0.0).all()
        assert (angles[:-1] <= math.pi).all()


def test_angle_gradient_equals_finite_differences(rng):
    for d in (2, 3, 7):
        g, angles = rng.standard_normal(d), rng.uniform(0, math.pi, d - 1)
        angles[0] = 0.0  # a pole, where dividing by the sine would fail
        step = 1e-6 * np.eye(d - 1)
        numeric = [g @ (spherical_twin(angles + s) - spherical_twin(angles - s)) / 2e-6 for s in step]
        np.testing.assert_allclose(compute_angle_gradient(angles, g), numeric, atol=1e-8)


def test_sample_near_fills_the_ball_of_the_radius(rng):
    v = start(rng, 4)
    points = sample_near(v, 0.3, 2000, rng)
    angles = np.arccos(np.clip(points @ v, -1.0, 1.0))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-14)
    assert angles.max() <= 0.3 + 1e-12
    assert np.mean(angles < 0.15) == pytest.approx(0.5**3, abs=0.03)


def test_transport_to_a_point_is_an_isometry_onto_its_tangents(rng):
    v, point = start(rng, 6), start(rng, 6)
    x, y = rng.standard_normal((2, 6))
    tx, ty = (t - (t @ point) * point for t in (x, y))
    cx, cy = transport_to(v, point, x), transport_to(v, point, y)
    assert cx @ v == pytest.approx(0.0, abs=1e-14)
    assert cx @ cy == pytest.approx(tx @ ty, abs=1e-13)
    np.testing.assert_allclose(transport_to(v, v, x), x - (x @ v) * v)


# ------------------------------------------------------------------------------------------------- min-norm points


def brute_force_norm(points):
    """Compute the norm of the shortest vector of the hull: the least affine minimum that lies inside its face."""
    best, d = np.inf, points.shape[1]
    for size in range(1, min(len(points), d + 1) + 1):
        for rows in itertools.combinations(range(len(points)), size):
            P = points[list(rows)]
            if size == 1:
                best = min(best, np.linalg.norm(P[0]))
                continue
            along = np.linalg.lstsq((P[1:] - P[0]).T, -P[0], rcond=None)[0]
            weights = np.append(1.0 - along.sum(), along)
            if (weights >= -1e-12).all():
                best = min(best, np.linalg.norm(weights @ P))
    return best


@pytest.mark.parametrize("m", [1, 2, 5, 9])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_min_norm_point_equals_brute_force(m, d, rng):
    for shift in (0.0, 0.3, 3.0):
        points = rng.standard_normal((m, d)) + shift
        weights = find_min_norm_weights(points)
        assert (weights >= 0.0).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.linalg.norm(weights @ points) == pytest.approx(brute_force_norm(points), abs=1e-12)


def test_min_norm_point_is_optimal_in_many_dimensions(rng):
    for m, d, shift in [(60, 40, 0.5), (200, 30, 0.0), (30, 80, 1.0), (500, 5, 2.0)]:
        points = rng.standard_normal((m, d)) + shift
        x = find_min_norm_weights(points) @ points
        assert (points @ x).min() >= x @ x - 1e-10
        # The same by non-negative least squares, with a heavy row for the sum of the weights.
        twin = nnls(np.vstack([points.T, np.full(m, 1e5)]), np.append(np.zeros(d), 1e5), maxiter=10_000)[0]
        assert np.linalg.norm(x) <= np.linalg.norm((twin / twin.sum()) @ points) + 1e-9


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_min_norm_point_is_equivariant_and_allows_duplicates(scale, rng):
    base = rng.standard_normal((4, 3)) + 1.0
    points = np.repeat(base, 3, axis=0) * scale
    assert np.linalg.norm(find_min_norm_weights(points) @ (points / scale)) == pytest.approx(brute_force_norm(base))
    np.testing.assert_allclose(find_min_norm_weights(np.zeros((3, 2))).sum(), 1.0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_hull_gap_is_shortest_vector_of_all_differences(d, rng):
    for shift in (0.0, 2.0, 5.0):
        a, c = rng.standard_normal((5, d)) + shift, rng.standard_normal((4, d))
        gap = find_hull_gap(a, c)
        differences = (a[:, None] - c[None]).reshape(-1, d)
        assert gap.distance == pytest.approx(brute_force_norm(differences), abs=1e-12)
        if gap.distance > 1e-6:
            u = gap.vector / gap.distance
            assert (a @ u).min() - (c @ u).max() == pytest.approx(gap.distance, rel=1e-12)
            np.testing.assert_allclose(a[gap.first] @ u, (a @ u).min(), atol=1e-12)
            np.testing.assert_allclose(c[gap.second] @ u, (c @ u).max(), atol=1e-12)


def test_hull_gap_is_exact_in_many_dimensions_and_far_away(rng):
    a, c = rng.standard_normal((300, 50)) + 1.0, rng.standard_normal((200, 50)) - 1.0
    near, far = find_hull_gap(a, c), find_hull_gap(a + 1e8, c + 1e8)
    u = near.vector / near.distance
    assert (a @ u).min() - (c @ u).max() == pytest.approx(near.distance, rel=1e-10)
    assert far.distance == pytest.approx(near.distance, rel=1e-6)
    solved = minimize(  # approximate solution of the dual by another method
        lambda z: 0.5 * z[:-1] @ z[:-1],
        np.append(u / near.distance * 2.0, 0.0),
        jac=lambda z: np.append(z[:-1], 0.0),
        constraints=[{"type": "ineq", "fun": lambda z: np.append(a @ z[:-1] - z[-1] - 1, z[-1] - c @ z[:-1] - 1)}],
        method="SLSQP",
        options={"maxiter": 3},
    )
    assert 2.0 / np.linalg.norm(solved.x[:-1]) <= near.distance * (1 + 1e-6)


# ------------------------------------------------------------------------------------------------- in the search


def two_groups(rng, n=150, d=4):
    X = rng.standard_normal((n, d))
    X[: n // 3] += ref.unit(rng.standard_normal(d)) * 7.0
    return X


@pytest.mark.parametrize("name", NAMES)
def test_every_optimiser_finds_the_same_index(name, rng):
    X = two_groups(rng)
    sample = DenseSample(X)
    index = ClusteringIndex(sample, sample.moments(), 0.2, BalancePenalty(), 0.8)
    v = np.linalg.eigh(sample.moments().covariance)[1][:, -1]
    (result,) = drive(sample, [OPTIMISERS[name](index, v, max_iter=300, tolerance=1e-8)])
    assert index.n_evaluations == result.n_evaluations
    assert index.minima.log_index == pytest.approx(result.value, abs=1e-12)
    other = ClusteringIndex(sample, sample.moments(), 0.2, BalancePenalty(), 0.8)
    (best,) = drive(sample, [OPTIMISERS["lbfgs"](other, v, max_iter=300, tolerance=1e-10)])
    assert result.value == pytest.approx(best.value, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_estimators_accept_every_optimiser(name, rng):
    X = two_groups(rng, d=3)
    labels = MinimumDensityHyperplane(n_init=2, path=PathSettings(optimiser=name, n_alpha=4)).fit(X).labels_
    np.testing.assert_array_equal(labels, np.arange(150) < 50)
    y = np.full(150, -1)
    y[[0, 100]] = [0, 1]
    transduction = (
        MinimumDensityClassifier(hyperplane=MinimumDensityHyperplane(path=PathSettings(optimiser=name, n_alpha=3)))
        .fit(X, y)
        .transduction_
    )
    np.testing.assert_array_equal(transduction, np.arange(150) >= 50)


def test_unknown_optimiser_raises(rng):
    with pytest.raises(ValueError, match="optimiser"):
        MinimumDensityHyperplane(path=PathSettings(optimiser="newton")).fit(two_groups(rng))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("optimiser", ["gradient_sampling", "adaptive_gradient_sampling"])
def test_all_columns_are_for_lbfgs(optimiser, monkeypatch):
    """Gradient sampling would draw twice as many gradients as there are features in every step."""
    monkeypatch.setattr("ravine.rows.sparse.STORED_FEATURES", 0)  # as if there were too many to store the covariance
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30)) * np.linspace(1.5, 1.0, 30)
    X += np.where(rng.random(20_000) < 0.5, 0.65, -0.65)[:, None]
    model = MinimumDensityHyperplane(init="pca", n_init=1, subsample=None, path=PathSettings(n_alpha=2, max_iter=2))
    found = {}
    for name in ("lbfgs", optimiser):
        last = model.set_params(path__optimiser=name).fit(sp.csr_array(X)).path_[-1]
        assert last.polished
        found[name] = last
    assert found[optimiser].n_iter == found["lbfgs"].n_iter == 2
    assert found[optimiser].n_evaluations == found["lbfgs"].n_evaluations
    assert found[optimiser].hyperplane.density == pytest.approx(found["lbfgs"].hyperplane.density, rel=1e-3)


# ------------------------------------------------------------------------------------------------- check of gradients


@pytest.mark.parametrize("d", [2, 5, 30])
def test_check_gradient_accepts_a_correct_gradient(d, rng):
    problem = rayleigh(rng, d)
    check = check_gradient(problem.function, problem.gradient, start(rng, d))
    assert check
    assert check.error < 1e-8


@pytest.mark.parametrize(
    "wrong",
    [lambda g: 1.001 * g, lambda g: -g, lambda g: g + 1e-3 * np.linalg.norm(g) * np.eye(len(g))[0], np.zeros_like],
)
def test_check_gradient_rejects_a_wrong_gradient(wrong, rng):
    problem = rayleigh(rng, 5)
    check = check_gradient(problem.function, lambda v: wrong(problem.gradient(v)), start(rng, 5))
    assert not check
    assert check.error > 1e-5


def test_check_gradient_ignores_the_part_along_the_normal(rng):
    problem = rayleigh(rng, 5)
    assert check_gradient(problem.function, lambda v: problem.gradient(v) + 7.0 * v, start(rng, 5))


def test_check_gradient_shows_errors_of_second_order(rng):
    problem = rayleigh(rng, 5)
    check = check_gradient(problem.function, problem.gradient, start(rng, 5))
    assert check.errors[0] / check.errors[2] == pytest.approx(100.0, rel=0.1)  # steps 0.1 and 0.01
    assert check.steps[0] / check.steps[2] == pytest.approx(10.0)
