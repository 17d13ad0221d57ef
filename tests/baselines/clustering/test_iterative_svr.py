"""Iterative SVR: the regression, the cut and the turns against slow twins and known answers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from ravine.baselines import IterativeSVR
from ravine.baselines.clustering.label_alternation import compute_smallest_side, find_best_cut, maximise_margin
from ravine.baselines.clustering.laplacian_regression import LaplacianRegression, Regression
from ravine.baselines.clustering.svr_bisection import choose_median_gamma
from support.simulate import two_clusters
from support.tree_twin import same_groups

X, Y = two_clusters(120, 3, fraction=0.48)


def problem(seed, n=60, d=4):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    return rows - rows.mean(axis=0), np.where(rows[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def objective(rows, targets, C, w, b):
    return 0.5 * w @ w + C * np.abs(targets - rows @ w - b).sum()


# ----------------------------------------------------------------------------------------------- regression


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
def test_regression_with_little_ridge_is_least_absolute_deviations(seed):
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


# ----------------------------------------------------------------------------------------------- cut


def slow_cut(values, fewest):
    """Every middle between two neighbouring values, one by one: O(n²)."""
    best = None
    ordered = np.sort(values)
    for lower, upper in pairwise(ordered):
        c = (lower + upper) / 2
        below = int((values <= lower).sum())
        if lower == upper or min(below, len(values) - below) < fewest:
            continue
        loss = sum(abs(1 - abs(v - c)) for v in values)
        if best is None or loss < best[1] - 1e-12:
            best = c, loss
    return best


@pytest.mark.parametrize("seed", range(30))
def test_cut_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    values = [
        rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3),
        rng.integers(-2, 3, n).astype(float),
        rng.integers(-8, 8, n) / 4.0 + 1e6,
    ][seed % 3]
    fewest = int(rng.integers(1, max(2, n // 4)))
    expected = slow_cut(values, fewest)
    if expected is None:
        return
    cut, loss = find_best_cut(values, fewest)
    assert_allclose(loss, expected[1], rtol=1e-9, atol=1e-9)
    assert_allclose(sum(abs(1 - abs(v - cut)) for v in values), loss, rtol=1e-9, atol=1e-7)
    assert min((values > cut).sum(), (values <= cut).sum()) >= fewest


def test_cut_of_equal_values_is_none_and_of_few_values_the_most_balanced():
    assert find_best_cut(np.full(5, 2.0), 1) is None
    cut, _ = find_best_cut(np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]), 4)
    assert 1.0 <= cut < 2.0


def test_cut_between_neighbouring_floats_separates_them():
    values = np.array([1.0, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0)])
    cut, _ = find_best_cut(values, 2)
    assert_array_equal(values > cut, [False, False, True, True])
    cut, _ = find_best_cut(-values, 2)
    assert_array_equal(-values > cut, [True, True, False, False])


@pytest.mark.parametrize("n", [2, 3, 10, 11, 699])
@pytest.mark.parametrize("balance", [0.0, 0.03, 0.05, 0.3, 1.0])
def test_fewest_is_the_smallest_side_that_the_balance_allows(n, balance):
    allowed = [k for k in range(1, n // 2 + 1) if n - 2 * k <= balance * n + 1e-9] or [n // 2]
    assert compute_smallest_side(n, balance) == allowed[0]


# ----------------------------------------------------------------------------------------------- turns


class Scripted:
    """A machine whose values are written down."""

    def __init__(self, *values):
        self.values, self.asked = [np.asarray(v, dtype=float) for v in values], []

    def regress(self, targets):
        self.asked.append(targets.copy())
        k = (len(self.asked) - 1) % len(self.values)
        return self.values[k], 0.0, k

    def contrast(self, targets):
        return np.arange(len(targets), dtype=float)


START = np.array([1.0, -1.0, -1.0, 1.0])


def turn(machine, start=START, **options):
    return maximise_margin(machine, start, **{"C": 1.0, "fewest": 1, "max_iter": 50, "tol": 0.0, **options})


def test_labels_that_repeat_end_the_turns():
    machine = Scripted([-1, -1, 1, 1])
    found = turn(machine)
    assert found.converged
    assert found.n_iter == 2
    assert_array_equal(machine.asked[1], [-1, -1, 1, 1])


def test_cycle_ends_and_the_best_is_kept():
    machine = Scripted([-1.5, -1, 1, 1], [-1, 1, -1, 1], [-1.2, 1, 1, 1])
    found = turn(machine)
    assert found.converged
    assert found.objective == 0.0
    assert found.solution == 1
    opposite = Scripted([-1, -1, 1, 1], [1.5, 1, -1, -1])  # the opposite labels are the same problem
    assert turn(opposite).n_iter == 2


def test_turns_end_at_the_last_one():
    values = np.random.default_rng(0).standard_normal((20, 30))
    found = turn(Scripted(*values), np.where(np.arange(30) % 2, 1.0, -1.0), max_iter=5)
    assert not found.converged
    assert found.n_iter == 5


def test_constant_regression_starts_again_from_a_balanced_cut():
    start = np.array([-1.0] * 9 + [1.0])
    machine = Scripted(np.zeros(10), np.arange(10.0))
    turn(machine, start, fewest=4, max_iter=1)
    assert_array_equal(machine.asked[1], [-1] * 6 + [1] * 4)
    assert turn(Scripted(np.zeros(10)), start) is None


# ----------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_objective_is_that_of_the_decision_function(kernel):
    rows = np.random.default_rng(0).standard_normal((80, 3))
    fitted = IterativeSVR(kernel=kernel, C=0.7, random_state=0).fit(rows)
    f = fitted.decision_function(rows)
    if kernel == "linear":
        square = float(fitted.coef_[0] @ fitted.coef_[0])
        assert_allclose(f, rows @ fitted.coef_[0] + fitted.intercept_[0], atol=1e-9)
    else:
        model = fitted._model()
        square = float(model.weights @ rbf_kernel(model.support, gamma=fitted.gamma_) @ model.weights)
    assert_allclose(fitted.objective_, 0.5 * square + 0.7 * np.abs(1 - np.abs(f)).sum(), rtol=1e-6)


def test_widest_margin_is_found_where_two_means_is_misled():
    """Long parallel clusters: 2-means cuts across them, the widest gap lies between."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    rows = np.column_stack([rng.uniform(-1, 1, 200), rng.uniform(-0.2, 0.2, 200) + 1.6 * truth])
    assert same_groups(IterativeSVR(C=10.0, random_state=0).fit(rows).labels_, truth)
    fitted = IterativeSVR(C=10.0, random_state=0).fit(rows)
    assert abs(fitted.coef_[0, 1]) > 10 * abs(fitted.coef_[0, 0])


@pytest.mark.parametrize("max_exact", [5000, 0], ids=["exact", "Nystroem"])
def test_gaussian_kernel_follows_a_curved_gap(max_exact):
    """Two parabolas, one above the other, whose gap no line follows."""
    x, truth = np.random.default_rng(0).uniform(-1.5, 1.5, 200), np.repeat([0, 1], 100)
    rows = np.column_stack([x, x**2 + 2.0 * truth])
    settings = {"kernel": "rbf", "gamma": 0.5, "max_exact": max_exact, "n_components": 50, "random_state": 0}
    assert same_groups(IterativeSVR(**settings).fit(rows).labels_, truth)
    assert not same_groups(IterativeSVR(random_state=0).fit(rows).labels_, truth)


def test_all_nystroem_features_give_the_labels_of_the_exact_kernel():
    rows = make_moons(150, noise=0.08, random_state=0)[0]
    settings = {"kernel": "rbf", "gamma": 0.5, "random_state": 0}
    exact = IterativeSVR(**settings).fit(rows)
    approximate = IterativeSVR(**settings, max_exact=0, n_components=150).fit(rows)
    assert np.mean(exact.labels_ != approximate.labels_) in (0.0, 1.0)
    assert_allclose(approximate.objective_, exact.objective_, rtol=1e-2)


@pytest.mark.parametrize("balance", [0.0, 0.05, 0.3, 0.8])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sides_are_balanced(balance, kernel):
    rows, _ = two_clusters(101, 3, fraction=0.2)
    fitted = IterativeSVR(kernel=kernel, balance=balance, random_state=0).fit(rows)
    counts = np.bincount(fitted.labels_)
    assert counts.min() >= compute_smallest_side(101, balance)
    assert counts[1] <= counts[0]


def test_small_cluster_needs_room():
    rows, truth = two_clusters(200, 3, fraction=0.2, separation=12.0)
    assert not same_groups(IterativeSVR(random_state=0).fit(rows).labels_, truth)
    assert same_groups(IterativeSVR(balance=0.7, random_state=0).fit(rows).labels_, truth)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_more_clusters_split_the_largest(kernel):
    centers, sizes = np.array([[0, 0], [12, 0], [0, 15], [12, 15]]), [43, 41, 42, 40]
    rows = np.repeat(centers, sizes, axis=0) + np.random.default_rng(0).standard_normal((166, 2))
    fitted = IterativeSVR(4, kernel=kernel, random_state=0).fit(rows)
    assert same_groups(fitted.labels_, np.repeat(np.arange(4), sizes))
    assert np.bincount(fitted.labels_).tolist() == [43, 42, 41, 40]
    assert_array_equal(fitted.predict(rows[::-1]), fitted.labels_[::-1])
    assert not hasattr(fitted, "coef_")
    assert hasattr(fitted.set_params(n_clusters=2).fit(rows), "coef_") == (kernel == "linear")


def test_first_of_several_splits_is_the_only_one_of_two():
    rows = np.random.default_rng(0).standard_normal((90, 3))
    two, three = (IterativeSVR(k, random_state=0).fit(rows) for k in (2, 3))
    halves = {tuple(np.unique(two.labels_[three.labels_ == k])) for k in range(3)}
    assert halves == {(0,), (1,)}


def test_gamma_is_from_the_median_distance():
    rows = np.random.default_rng(0).standard_normal((50, 3))
    distances = [np.linalg.norm(a - b) for k, a in enumerate(rows) for b in rows[:k]]
    expected = 0.5 / np.median(distances) ** 2
    assert_allclose(IterativeSVR(kernel="rbf", random_state=0).fit(rows).gamma_, expected)
    assert_allclose(IterativeSVR(kernel="rbf", max_exact=0, random_state=0).fit(rows).gamma_, expected)
    many = np.random.default_rng(0).standard_normal((3000, 3))
    assert_allclose(choose_median_gamma(many, np.random.default_rng(1)), expected, rtol=0.2)
    assert choose_median_gamma(np.repeat([[0.0], [1.0]], [9, 1], axis=0), None) > 0.5  # most distances are zero


def test_unit_matters_only_through_c_and_gamma():
    rows = np.random.default_rng(0).standard_normal((80, 3))
    one = IterativeSVR(C=1.0, random_state=0).fit(rows)
    other = IterativeSVR(C=1.0 / 64**2, random_state=0).fit(rows * 64)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.coef_, other.coef_ * 64, rtol=1e-6)
    gaussian = [IterativeSVR(kernel="rbf", random_state=0).fit(rows * s).labels_ for s in (1, 64)]
    assert_array_equal(*gaussian)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_unit_beyond_all_numbers_is_refused(scale):
    with pytest.raises(ValueError, match=r"X has a spread of about .*rescale X"):
        IterativeSVR().fit(X * scale)


def test_too_few_turns_are_a_warning_at_the_line_of_the_call():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ") as caught:
        IterativeSVR(max_iter=1, tol=0.0, random_state=0).fit(np.random.default_rng(0).standard_normal((80, 3)))
    assert caught[0].filename == __file__


def test_gap_that_stays_open_is_a_warning(monkeypatch):
    solve = LaplacianRegression.solve
    monkeypatch.setattr(LaplacianRegression, "solve", lambda *args: replace(solve(*args), gap=0.5))
    with pytest.warns(ConvergenceWarning, match="duality gap of 0.5"):
        IterativeSVR(random_state=0).fit(X)
