"""The constrained problem in (v, b), by sequential quadratic programming."""

import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from ravine import MinimumDensityHyperplane, NoSplitWarning, PathSettings, minimum_density_hyperplane
from ravine.index import LabelledRows
from ravine.rows import DenseSample, as_rows
from ravine.search import Problem, SearchSettings, drive
from ravine_paper.direct import JointDensity, make_joint_density, solve_directly
from support import reference as ref
from support.index_answers import clusters


def density(X, v, b, h, w=None):
    """eq. (3), over the peak of one kernel."""
    w = np.ones(len(X)) if w is None else w
    return np.log(w @ np.exp(-0.5 * ((b - X @ v) / h) ** 2)) - np.log(w.sum())


def joint_density(X, h, alpha, w=None, labelled=None):
    sample = DenseSample(X, w)
    return JointDensity(sample, sample.moments().covariance, h / sample.unit, alpha, labelled)


def evaluate(joint, v, b):
    return drive(joint.sample, [joint.evaluate(v, b)])[0]


def labelled_problem(X, h, alpha, rows, signs, **settings):
    codes = np.zeros(len(X))
    codes[rows] = signs
    settings = SearchSettings(bandwidth=h, alpha_max=alpha, gammas=(1.0,), select="final", **settings)
    return Problem.of(as_rows(X), None, codes, settings=settings, rng=np.random.default_rng(0))


def solve(X, starts, **settings):
    """Return the hyperplanes of the solutions from unit vectors."""
    settings = SearchSettings(alpha_max=0.9, select="final", **settings)
    problem = Problem.of(as_rows(X), settings=settings, rng=np.random.default_rng(0))
    return [problem.space.make_hyperplane(path.stages[-1]) for path in solve_directly(problem, list(enumerate(starts)))]


# ------------------------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("length", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_joint_derivatives_are_those_of_the_density(length, weighted, rng):
    X = clusters(rng)
    w = rng.random(len(X)) if weighted else None
    joint = joint_density(X, 0.7, 0.9, w)
    Z, h = (X - joint.sample.origin) / joint.sample.unit, joint.bandwidth
    for _ in range(5):
        v, b = length * ref.unit(rng.standard_normal(3)), rng.normal() * 0.5
        value, by_normal, by_offset = evaluate(joint, v, b)
        assert value == pytest.approx(density(Z, v, b, h, w), abs=1e-9)
        numeric = approx_fprime(np.append(v, b), lambda x: density(Z, x[:-1], x[-1], h, w), 1e-6)
        np.testing.assert_allclose(np.append(by_normal, by_offset), numeric, atol=1e-3 * (1 + np.abs(numeric).max()))


def test_joint_density_is_right_where_it_underflows(rng):
    X = clusters(rng, distance=10.0)
    joint = joint_density(X, 0.02, 0.9)
    Z, h, v = (X - joint.sample.origin) / joint.sample.unit, joint.bandwidth, np.array([1.0, 0.0, 0.0])
    value, by_normal, by_offset = evaluate(joint, v, 0.0)
    exponents = -0.5 * ((Z @ v) / h) ** 2
    share = np.exp(exponents - exponents.max())
    share /= share.sum()
    assert value == pytest.approx(np.logaddexp.reduce(exponents) - np.log(len(Z)), rel=1e-12)
    assert value < -10_000
    np.testing.assert_allclose(by_normal, -(share * (Z @ v)) @ Z / h**2, rtol=1e-6, atol=1e-6 * abs(by_offset))
    assert by_offset == pytest.approx(share @ (Z @ v) / h**2, rel=1e-9)


def test_constraints_and_their_derivatives_are_those_of_the_paper(rng):
    X = clusters(rng)
    rows, signs = np.array([3, 7, 150]), np.array([-1.0, -1.0, 1.0])
    sample = DenseSample(X)
    joint = joint_density(X, 0.7, 0.4, labelled=LabelledRows(sample.fetch(rows), signs, np.ones(3)))
    Z = (X - sample.origin) / sample.unit

    def twin(x):
        v, b = x[:-1], x[-1]
        mu, sigma = (Z @ v).mean(), (Z @ v).std()
        return np.array([b - mu + 0.4 * sigma, mu + 0.4 * sigma - b, *(signs * (Z[rows] @ v - b))])  # eq. (14)

    for _ in range(5):
        x = rng.standard_normal(4)
        values, slopes = joint.constraints(x[:-1], x[-1])
        np.testing.assert_allclose(values, twin(x), atol=1e-12)
        numeric = [approx_fprime(x, lambda z, k=k: twin(z)[k], 1e-7) for k in range(5)]
        np.testing.assert_allclose(slopes, numeric, atol=1e-5)


# ------------------------------------------------------------------------------------------------- solutions


def test_solutions_are_feasible_stationary_points(rng):
    """The conditions of Karush, Kuhn and Tucker, with multipliers by least squares."""
    X = clusters(rng, distance=2.0, share=0.3)
    settings = SearchSettings(bandwidth=0.4 * DenseSample(X).unit, alpha_max=0.3, tolerance=1e-12)
    problem = Problem.of(as_rows(X), settings=settings, rng=rng)
    starts = np.array([ref.unit(rng.standard_normal(3)) for _ in range(10)])
    for path in solve_directly(problem, list(enumerate(starts))):
        (stage,) = path.stages
        assert stage.converged
        v, b, joint = stage.normal, stage.separation.b, make_joint_density(problem, 0.3)
        values, slopes = joint.constraints(v, b)
        assert values.min() >= -1e-8
        value, by_normal, by_offset = evaluate(joint, v, b)
        assert stage.log_index == pytest.approx(value, abs=1e-9)
        active = [row for row, left in zip(slopes, values, strict=True) if left < 1e-6]
        normals = np.array([np.append(v, 0.0), *active]).T
        gradient = np.append(by_normal, by_offset)
        multipliers, *_ = np.linalg.lstsq(normals, gradient, rcond=None)
        assert np.linalg.norm(normals @ multipliers - gradient) < 1e-3 * (1 + np.linalg.norm(gradient))
        assert (multipliers[1:] >= -1e-6).all()


def test_on_an_easy_problem_both_methods_agree(rng):
    X = clusters(rng, distance=3.0, d=2)
    start = ref.unit(np.array([1.0, 0.2]))
    mdp2 = minimum_density_hyperplane(
        X,
        hyperplane=MinimumDensityHyperplane(
            alpha_max=0.9, bandwidth=1.0, init=start[None], path=PathSettings(tol=1e-12)
        ),
    )
    (sqp,) = solve(X, start[None], bandwidth=1.0, tolerance=1e-12)
    np.testing.assert_allclose(sqp.normal * np.sign(sqp.normal @ mdp2.normal), mdp2.normal, atol=1e-5)
    assert abs(sqp.offset) == pytest.approx(abs(mdp2.offset), abs=1e-4)
    assert sqp.density == pytest.approx(mdp2.density, rel=1e-6)


def test_labels_are_respected_as_constraints(rng):
    """Three groups along a line: labels decide which of the two gaps it is, however much deeper the other is."""
    X = rng.standard_normal((150, 2)) * 0.5
    X[:, 0] += np.repeat([-6.0, 0.0, 3.0], 50)
    rows = np.array([10, 60, 110])
    offsets = np.linspace(-1.0, 1.0, 6)
    starts = [(k, np.array([1.0, 0.0])) for k in range(6)]
    for signs in np.array([[-1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]):
        problem = labelled_problem(X, 0.3, 1.2, rows, signs, tolerance=1e-10)
        sample = problem.sample
        ends = [path.kept for path in solve_directly(problem, starts, offsets=offsets)]
        best = min((end for end in ends if end.converged), key=lambda end: end.log_index)
        assert (signs * (sample.fetch(rows) @ best.normal - best.separation.b) >= -1e-8).all()
        side = sample.fetch(np.arange(150)) @ best.normal > best.separation.b
        np.testing.assert_array_equal(side, np.repeat(signs > 0.0, 50))


def test_inseparable_labels_have_no_solution(rng):
    X = rng.standard_normal((60, 1))
    rows = np.argsort(X[:, 0])[[5, 25, 50]]
    signs = np.array([1.0, -1.0, 1.0])
    problem = labelled_problem(X, 0.3, 0.9, rows, signs)
    (path,) = solve_directly(problem, [(0, np.ones(1))])
    assert not path.kept.converged


def test_mdp2_is_lower_where_there_are_many_valleys(rng):
    """What the paper says: jointly in (v, b) every valley is a trap."""
    centers = rng.uniform(-10, 10, (12, 2))
    X = (centers[:, None] + rng.standard_normal((12, 40, 2)) * 0.6).reshape(-1, 2)
    angles = np.linspace(0.0, np.pi, 24, endpoint=False)
    starts = np.column_stack([np.cos(angles), np.sin(angles)])
    mdp2 = []
    for v in starts:
        mdh = MinimumDensityHyperplane(init=v[None], alpha_max=0.9, path=PathSettings(select="last"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSplitWarning)
            mdp2.append(mdh.fit(X).path_[-1].hyperplane.density)
    assert np.median(mdp2) < 0.5 * np.median([plane.density for plane in solve(X, starts)])


@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_units_and_origin_do_not_matter(scale, rng):
    X = clusters(rng, distance=5.0)
    starts = np.array([ref.unit(rng.standard_normal(3)) for _ in range(3)])
    for plain, scaled in zip(solve(X, starts), solve(X * scale + 100.0 * scale, starts), strict=True):
        np.testing.assert_allclose(scaled.normal, plain.normal, atol=1e-3)
        assert scaled.density * scale == pytest.approx(plain.density, rel=1e-3)


def test_rows_near_the_smallest_number_cause_no_warning():
    rng = np.random.default_rng(915655)
    rows = rng.uniform(size=(30, 3)) * (rng.uniform(size=(30, 3)) < 0.2) * 1e-308
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(rows, np.eye(3)[:1])
