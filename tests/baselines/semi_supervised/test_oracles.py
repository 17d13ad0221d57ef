"""The semi-supervised baselines against slow twins, written from the equations of their papers."""

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from ravine.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM, neighbour_graph
from ravine.baselines.semi_supervised.coordinates import fit_linear_map, fit_nystrom_map
from ravine.baselines.semi_supervised.cross_validation import split_labels
from ravine.baselines.semi_supervised.laplacian_svm import _decide_held_out
from ravine.baselines.semi_supervised.margin_descent import MOST_TRIALS, MarginLoss, _search_line, anneal
from ravine.baselines.semi_supervised.neighbour_graph import compute_laplacian
from ravine.baselines.semi_supervised.sssl import _fit_nested
from ravine.baselines.semi_supervised.xnv import find_canonical_axes
from support.simulate import two_clusters


def problem(n=60, d=4, of_each=6, seed=0, separation=2.0):
    """Standardised rows, labels with -1 for unlabelled rows, and the labels as signs with 0."""
    X, truth = two_clusters(n, d, seed, separation=separation)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:of_each]] = c
    return X, y, np.where(y == -1, 0.0, 2.0 * y - 1.0)


# ----------------------------------------------------------------------------------------------- LaplacianSVM


def kernel_dual(K, signs, L, g_A, g_I):
    """Expansion coefficients and b of the kernel LapSVM, from its dual; g_I stands for γ_I / (l + u)²."""
    n, labelled = len(K), np.flatnonzero(signs)
    y, n_labels = signs[labelled], len(labelled)
    J = np.eye(n)[labelled]
    spread = np.linalg.solve(2.0 * g_A * np.eye(n) + 2.0 * g_I * L @ K, J.T * y)
    Q = y[:, None] * (J @ K @ spread)
    Q = 0.5 * (Q + Q.T)
    found = scipy.optimize.minimize(
        lambda b: (0.5 * b @ Q @ b - b.sum()) * n_labels, np.full(n_labels, 0.5 / n_labels),
        jac=lambda b: (Q @ b - 1.0) * n_labels, method="SLSQP",
        bounds=[(0.0, 1.0 / n_labels)] * n_labels,
        constraints={"type": "eq", "fun": lambda b: b @ y, "jac": lambda b: y},
        options={"ftol": 1e-15, "maxiter": 2000},
    )  # fmt: skip
    beta = found.x
    inside = (beta > 1e-4 / n_labels) & (beta < (1.0 - 1e-4) / n_labels)
    assert inside.any()
    # Knowing which labels lie on the margin, y f = 1 there and Σ β y = 0 are linear equations in these β and b.
    beta[~inside] = np.round(beta[~inside] * n_labels) / n_labels
    system = np.block([[Q[np.ix_(inside, inside)], y[inside, None]], [y[None, inside], np.zeros((1, 1))]])
    right = np.append(1.0 - Q[np.ix_(inside, ~inside)] @ beta[~inside], -y[~inside] @ beta[~inside])
    *beta[inside], b = np.linalg.solve(system, right)
    return spread @ beta, b


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("ratio", [0.0, 9.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_laplacian_svm_solves_the_dual_of_its_paper(kernel, ratio, normalised):
    X, y, signs = problem(n=40)
    penalty = 0.002
    found = LaplacianSVM(
        penalty=penalty, manifold_ratio=ratio, kernel=kernel, kernel_gamma=0.3,
        laplacian="normalised" if normalised else "unnormalised",
    ).fit(X, y)  # fmt: skip
    L = compute_laplacian(neighbour_graph(X), normalised=normalised).toarray()
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.3)
    if normalised:  # this Laplacian sees constants: the penalty is on the coordinates centred over all rows
        centring = np.eye(len(X)) - 1.0 / len(X)
        L = centring @ L @ centring
    total = compute_laplacian(neighbour_graph(X), normalised=normalised).diagonal().sum()
    alpha, b = kernel_dual(K, signs, L, penalty, ratio * penalty / total)
    assert_allclose(found.decision_function(X), K @ alpha + b, atol=1e-6)


def test_linear_laplacian_svm_is_an_svm_in_rescaled_axes():
    X, y, signs = problem()
    penalty, ratio = 0.05, 9.0
    L = compute_laplacian(neighbour_graph(X), normalised=False).toarray()
    A = penalty * (np.eye(4) + ratio * X.T @ L @ X / np.trace(L))
    values, vectors = np.linalg.eigh(A)
    Z = X @ (vectors / np.sqrt(values)) @ vectors.T
    labelled = signs != 0.0
    svm = SVC(kernel="linear", C=1.0 / (2.0 * labelled.sum()), tol=1e-10).fit(Z[labelled], signs[labelled])
    found = LaplacianSVM(penalty=penalty, manifold_ratio=ratio).fit(X, y)
    assert_allclose(found.decision_function(X), svm.decision_function(Z), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_search_of_the_laplacian_svm_agrees_with_exact_machines(seed):
    X, _, signs = problem(n=80, d=5, of_each=12, seed=seed, separation=1.0)
    labelled = signs != 0.0
    rows, t = X[labelled], signs[labelled]
    roughness = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    folds = split_labels(t, np.random.default_rng(seed))
    grid = [(9.0, 0.01), (0.0, 1e-3), (100.0, 0.1), (1.0, 1.0)]
    found = _decide_held_out(rows, t, folds, grid, roughness)
    agree = []
    for k, (train, test) in enumerate(folds):
        for j, (ratio, penalty) in enumerate(grid):
            Z = rows / np.sqrt(1.0 + ratio * roughness)
            svm = SVC(kernel="linear", C=1.0 / (2.0 * len(train) * penalty), tol=1e-8).fit(Z[train], t[train])
            agree.append(np.sign(found[test, k, j]) == np.sign(svm.decision_function(Z[test])))
    assert np.mean(np.concatenate(agree)) > 0.95


def test_laplacian_svm_does_not_depend_on_how_the_graph_is_given():
    X, y, _ = problem()
    graph = neighbour_graph(X, 4, weights="heat")
    settings = {"penalty": 0.01, "manifold_ratio": 100.0}
    inside = LaplacianSVM(n_neighbors=4, edge_weights="heat", **settings).fit(X, y)
    for given in (graph, graph.toarray()):
        assert_allclose(LaplacianSVM(graph=given, **settings).fit(X, y).coef_, inside.coef_, rtol=1e-9)
    other = LaplacianSVM(graph=neighbour_graph(X, 20), **settings).fit(X, y)
    assert np.abs(other.coef_ - inside.coef_).max() > 1e-4


def test_neighbour_graph_is_that_of_the_definition(rng):
    X = rng.standard_normal((30, 3))
    lengths = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(lengths, np.inf)
    nearest = np.argsort(lengths, axis=1)[:, :5]
    t = np.mean(np.take_along_axis(lengths, nearest, axis=1)) ** 2
    joined = np.zeros((30, 30), dtype=bool)
    np.put_along_axis(joined, nearest, True, axis=1)
    joined |= joined.T
    assert_allclose(neighbour_graph(X, 5).toarray(), joined)
    heat = np.where(joined, np.exp(-(lengths**2) / (4.0 * t)), 0.0)
    assert_allclose(neighbour_graph(X, 5, weights="heat").toarray(), heat, atol=1e-12)


# ----------------------------------------------------------------------------------------------- SSSL


@pytest.mark.parametrize("s", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sssl_is_least_squares_on_eigenfunctions(kernel, s, rng):
    X, y, signs = problem()
    new = rng.standard_normal((7, 4))

    def k(a, b):
        return a @ b.T if kernel == "linear" else rbf_kernel(a, b, gamma=0.2)

    values, vectors = np.linalg.eigh(k(X, X))
    values, vectors = values[::-1][:s], vectors[:, ::-1][:, :s]
    labelled = signs != 0.0
    at_data = np.sqrt(values) * vectors
    c = np.linalg.lstsq(at_data[labelled], signs[labelled], rcond=None)[0]
    found = SSSL(n_components=s, kernel=kernel, kernel_gamma=0.2).fit(X, y)
    assert_allclose(found.decision_function(new), (k(new, X) @ vectors / np.sqrt(values)) @ c, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_linear_sssl_is_principal_component_regression(intercept):
    X, y, signs = problem(seed=3)
    X = X + np.array([0.5, -1.0, 0.0, 2.0])
    rows = X - X.mean(axis=0) if intercept else X
    scores = rows @ np.linalg.svd(rows, full_matrices=False)[2][:3].T
    design = np.column_stack([np.ones(len(X)), scores]) if intercept else scores
    labelled = signs != 0.0
    c = np.linalg.lstsq(design[labelled], signs[labelled], rcond=None)[0]
    found = SSSL(n_components=3, fit_intercept=intercept).fit(X, y)
    assert_allclose(found.decision_function(X), design @ c, atol=1e-10)


@pytest.mark.parametrize("dependent", [False, True])
def test_nested_fits_are_least_squares_for_each_number_of_columns(rng, dependent):
    design, y = rng.standard_normal((12, 6)), rng.standard_normal(12)
    if dependent:
        design[:, 3] = design[:, 0]
    fits = _fit_nested(design, y)
    for s in range(1, 7):
        assert_allclose(fits[:s, s - 1], np.linalg.lstsq(design[:, :s], y, rcond=None)[0], atol=1e-10)
        assert_allclose(fits[s:, s - 1], 0.0, atol=0.0)


# ----------------------------------------------------------------------------------------------- XNV


def slow_cca(first, second):
    """Canonical directions of the first view and correlations, from the generalised eigenproblem."""
    n, r = len(first), first.shape[1]
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    S11, S22, S12 = a.T @ a / n, b.T @ b / n, a.T @ b / n
    squares, directions = scipy.linalg.eigh(S12 @ np.linalg.solve(S22, S12.T), S11)
    return directions[:, ::-1][:, : min(r, b.shape[1])], np.sqrt(np.clip(squares[::-1], 0.0, 1.0))


def views_of(X, n_landmarks, seed, kernel):
    """The two views as XNV draws them, by the formula D^(-1/2) V' [k(x, landmark)]."""
    from ravine.checks import make_generator

    drawn = make_generator(seed).permutation(len(X))
    out = []
    for rows in (drawn[:n_landmarks], drawn[n_landmarks : 2 * n_landmarks]):
        values, vectors = np.linalg.eigh(kernel(X[rows], X[rows]))
        kept = values > 1e-8 * values.max()
        out.append(kernel(X, X[rows]) @ vectors[:, kept] / np.sqrt(values[kept]))
    return out


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("name", "m"), [("linear", 2), ("linear", 3), ("linear", 10), ("rbf", 5)])
def test_xnv_is_regression_penalised_by_canonical_correlations(name, m, intercept):
    X, y, signs = problem()

    def kernel(a, b):
        return a @ b.T if name == "linear" else rbf_kernel(a, b, gamma=0.2)

    first, second = views_of(X, m, 5, kernel)
    directions, correlations = slow_cca(first, second)
    correlations = np.maximum(correlations, 1e-6)
    coordinates = (first - first.mean(axis=0)) @ directions
    labelled, g = signs != 0.0, 0.03
    coordinates = np.column_stack([coordinates, np.full(len(X), float(intercept))])
    Z, t = coordinates[labelled], signs[labelled]
    penalty = np.diag(np.append((1.0 - correlations) / correlations + g, 0.0 if intercept else 1.0))
    beta = np.linalg.solve(Z.T @ Z / len(t) + penalty, Z.T @ t / len(t))
    found = XNV(penalty=g, n_landmarks=m, kernel=name, kernel_gamma=0.2, fit_intercept=intercept, random_state=5).fit(
        X, y
    )
    assert_allclose(found.correlations_[0], correlations, atol=1e-6)
    assert_allclose(found.decision_function(X), coordinates @ beta, atol=1e-5)


def test_linear_xnv_is_ridge_regression_on_whitened_features():
    X, y, signs = problem(n=80, d=5)
    found = XNV(penalty=0.1, random_state=0).fit(X, y)
    assert_allclose(found.correlations_[0], np.ones(5), atol=1e-12)
    values, vectors = np.linalg.eigh(X.T @ X / len(X))
    Z = X @ (vectors / np.sqrt(values))
    labelled = signs != 0.0
    A, t = Z[labelled], signs[labelled]
    beta = np.linalg.solve(A.T @ A / len(t) + 0.1 * np.eye(5), A.T @ t / len(t))
    assert_allclose(found.decision_function(X), Z @ beta, atol=1e-9)


@pytest.mark.parametrize("settings", [{"n_landmarks": 4}, {"views": "features"}, {"kernel": "rbf"}])
def test_other_views_of_xnv_differ(settings):
    X, y, _ = problem(n=80, d=6)
    found = XNV(penalty=0.1, random_state=0, **settings).fit(X, y)
    assert found.correlations_[0].min() < 0.9


def test_features_of_one_view_are_half_of_the_columns():
    X, y, _ = problem(n=80, d=6)
    found = XNV(views="features", random_state=0).fit(X, y)
    assert (np.abs(found.coef_[0]) > 1e-12).sum() == 3


def test_canonical_view_has_unit_covariance(rng):
    first, second = rng.standard_normal((50, 4)) * [1.0, 0.1, 10.0, 1.0], rng.standard_normal((50, 3))
    axes, correlations = find_canonical_axes(first, second)
    Z = (first - first.mean(axis=0)) @ axes
    assert_allclose(Z.T @ Z / 50, np.eye(3), atol=1e-8)
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    assert_allclose(np.sort(np.cos(subspace_angles(a, b))), np.sort(correlations), atol=1e-8)


# ----------------------------------------------------------------------------------------------- GradientTSVM


def loss_of(rng, p=3, n=40, d=4, bend=np.inf):
    return MarginLoss(
        labelled=rng.standard_normal((6, d)), signs=np.where(np.arange(6) % 2, 1.0, -1.0),
        unlabelled=rng.standard_normal((n, d)), ridge=rng.uniform(0.5, 2.0, (p, d)) * ([1.0] * (d - 1) + [0.0]),
        costs=rng.uniform(0.0, 3.0, (p, 6)), unlabelled_costs=rng.uniform(0.1, 1.0, p),
        offsets=rng.uniform(-0.2, 0.2, p), bend=bend,
    )  # fmt: skip


def plain_objective(problem, k, w):
    """Of problem number k, one row at a time."""
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
def test_problems_side_by_side_are_solved_as_one_by_one(seed):
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


def test_mean_decision_of_unlabelled_rows_is_the_mean_label():
    X, y, _ = problem(n=80)
    y[np.flatnonzero(y == 1)[:2]] = -1
    found = GradientTSVM(C=1.0).fit(X, y)
    mean_label = np.mean(2.0 * y[y >= 0] - 1.0)
    assert found.decision_function(X[y < 0]).mean() == pytest.approx(mean_label, abs=1e-9)


def test_tsvm_has_no_gradient_left_and_depends_on_no_unit():
    X, y, signs = problem(n=80)
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


def test_annealing_finds_a_gap_that_the_labels_do_not_show():
    rng = np.random.default_rng(1)
    truth = np.arange(400) % 2
    X = np.column_stack([rng.standard_normal(400) * 3.0, np.where(truth, 2.0, -2.0) + 0.3 * rng.standard_normal(400)])
    y = np.full(400, -1)
    y[[0, 1]] = 0, 1
    X[0], X[1] = (-2.0, -2.0), (2.0, 2.0)
    labels_alone = GradientTSVM(C=1.0, unlabelled_weight=0.0).fit(X, y)
    assert np.mean(labels_alone.transduction_ != truth) > 0.05
    assert np.mean(GradientTSVM(C=1.0).fit(X, y).transduction_ != truth) < 0.01


# ----------------------------------------------------------------------------------------------- coordinates


def test_coordinates_of_all_rows_have_the_kernel_as_inner_products(rng):
    X = 5.0 + 3.0 * rng.standard_normal((30, 4))
    Z = fit_nystrom_map(X, 0.05, None)(X)
    assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.05), atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_linear_coordinates_have_mean_variance_one(rng, unit, offset):
    X = (rng.standard_normal((50, 3)) * [1.0, 2.0, 3.0] + offset) * unit
    Z = fit_linear_map(X)(X)
    assert_allclose(Z.mean(axis=0), 0.0, atol=1e-7)
    assert np.mean(Z.var(axis=0)) == pytest.approx(1.0)


def test_rows_of_more_columns_than_rows_keep_their_inner_products(rng):
    X = rng.standard_normal((8, 30))
    map_ = fit_linear_map(X)
    Z, centred = map_(X), X - X.mean(axis=0)
    assert Z.shape == (8, 7)
    assert_allclose(Z @ Z.T * map_.scale**2, centred @ centred.T, atol=1e-10)
    normal, intercept = map_.express_in_features(np.arange(7.0), 0.5)
    assert_allclose(X @ normal + intercept, Z @ np.arange(7.0) + 0.5, atol=1e-10)


def test_a_line_search_without_success_gives_the_parts_of_its_step():
    """A row that costs nothing bounds the curvature, and the way to the minimum is too far for the trials."""
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
