"""XNV against the generalised eigenproblem of canonical correlations."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.metrics.pairwise import rbf_kernel

from paper_support.baseline_problems import X, Y, labelled_problem
from ravine.checks import make_generator
from ravine_paper.baselines import XNV
from ravine_paper.baselines.semi_supervised.xnv import find_canonical_axes


def slow_cca(first, second):
    """Compute canonical directions of the first view and correlations from the generalised eigenproblem."""
    n, r = len(first), first.shape[1]
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    S11, S22, S12 = a.T @ a / n, b.T @ b / n, a.T @ b / n
    squares, directions = scipy.linalg.eigh(S12 @ np.linalg.solve(S22, S12.T), S11)
    return directions[:, ::-1][:, : min(r, b.shape[1])], np.sqrt(np.clip(squares[::-1], 0.0, 1.0))


def views_of(X, n_landmarks, seed, kernel):
    """Compute the two views that XNV draws by the formula D^(-1/2) V' [k(x, landmark)]."""

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
    X, y, signs = labelled_problem()

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
    X, y, signs = labelled_problem(n=80, d=5)
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
    X, y, _ = labelled_problem(n=80, d=6)
    found = XNV(penalty=0.1, random_state=0, **settings).fit(X, y)
    assert found.correlations_[0].min() < 0.9


def test_feature_view_uses_half_of_the_features():
    X, y, _ = labelled_problem(n=80, d=6)
    found = XNV(views="features", random_state=0).fit(X, y)
    assert (np.abs(found.coef_[0]) > 1e-12).sum() == 3


def test_canonical_view_has_unit_covariance(rng):
    first, second = rng.standard_normal((50, 4)) * [1.0, 0.1, 10.0, 1.0], rng.standard_normal((50, 3))
    axes, correlations = find_canonical_axes(first, second)
    Z = (first - first.mean(axis=0)) @ axes
    assert_allclose(Z.T @ Z / 50, np.eye(3), atol=1e-8)
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    assert_allclose(np.sort(np.cos(subspace_angles(a, b))), np.sort(correlations), atol=1e-8)


def test_halves_of_one_feature_are_refused():
    with pytest.raises(ValueError, match="2 features"):
        XNV(views="features").fit(X[:, :1], Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shape", [(20, 3), (6, 30)])
def test_equal_rows_get_the_class_with_more_labels(kernel, shape):
    X, y = np.ones(shape), np.full(shape[0], -1)
    y[:5] = [0, 1, 1, 0, 1]
    assert_array_equal(XNV(kernel=kernel, random_state=0).fit(X, y).predict(X), np.ones(shape[0]))


def test_gaussian_views_do_not_depend_on_the_unit():
    X, y, _ = labelled_problem()
    expected = XNV(kernel="rbf", random_state=0).fit(X, y).transduction_
    for unit in (1e-200, 1e200):
        assert_array_equal(XNV(kernel="rbf", random_state=0).fit(X * unit, y).transduction_, expected)
