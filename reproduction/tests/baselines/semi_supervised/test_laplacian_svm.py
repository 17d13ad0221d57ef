"""The Laplacian SVM against the dual of its paper, and its convergence."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from paper_support.baseline_problems import FIXED, TRUTH3, X3, Y3, labelled_problem
from ravine_paper.baselines import LaplacianSVM, neighbour_graph
from ravine_paper.baselines.semi_supervised import laplacian_svm
from ravine_paper.baselines.semi_supervised.cross_validation import split_labels
from ravine_paper.baselines.semi_supervised.laplacian_svm import _decide_held_out
from ravine_paper.baselines.semi_supervised.neighbour_graph import compute_laplacian


def kernel_dual(K, signs, L, g_A, g_I):
    """Compute expansion coefficients and b of the kernel LapSVM from its dual; g_I stands for γ_I / (l + u)²."""
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
    X, y, signs = labelled_problem(n=40)
    penalty = 0.002
    found = LaplacianSVM(
        penalty=penalty, manifold_ratio=ratio, kernel=kernel, kernel_gamma=0.3,
        laplacian="normalised" if normalised else "unnormalised",
    ).fit(X, y)  # fmt: skip
    L = compute_laplacian(neighbour_graph(X), normalised=normalised).toarray()
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.3)
    if normalised:  # this Laplacian penalises constants: it is applied to centred coordinates
        centring = np.eye(len(X)) - 1.0 / len(X)
        L = centring @ L @ centring
    total = compute_laplacian(neighbour_graph(X), normalised=normalised).diagonal().sum()
    alpha, b = kernel_dual(K, signs, L, penalty, ratio * penalty / total)
    assert_allclose(found.decision_function(X), K @ alpha + b, atol=1e-6)


def test_linear_laplacian_svm_is_an_svm_in_rescaled_axes():
    X, y, signs = labelled_problem()
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
def test_cross_validated_decisions_agree_with_exact_svms(seed):
    X, _, signs = labelled_problem(n=80, d=5, of_each=12, seed=seed, separation=1.0)
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


def test_graph_of_any_type_gives_the_same_fit():
    X, y, _ = labelled_problem()
    graph = neighbour_graph(X, 4, weights="heat")
    settings = {"penalty": 0.01, "manifold_ratio": 100.0}
    inside = LaplacianSVM(n_neighbors=4, edge_weights="heat", **settings).fit(X, y)
    for given in (graph, graph.toarray()):
        assert_allclose(LaplacianSVM(graph=given, **settings).fit(X, y).coef_, inside.coef_, rtol=1e-9)
    other = LaplacianSVM(graph=neighbour_graph(X, 20), **settings).fit(X, y)
    assert np.abs(other.coef_ - inside.coef_).max() > 1e-4


def test_graph_of_all_rows_is_cut_for_gated_pairs():
    given = LaplacianSVM(graph=neighbour_graph(X3), multi_class="gated", random_state=0, **FIXED[LaplacianSVM])
    assert np.mean(given.fit(X3, Y3).transduction_ == TRUTH3) > 0.95


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


# ----------------------------------------------------------------------------------------------- convergence


def overlapping():
    """Return three classes on top of each other, two of them rare."""
    return make_blobs([190, 5, 5], centers=[[0, 0], [0.1, 0], [0.2, 0]], random_state=0)


def test_overlapping_labels_converge_in_few_steps(monkeypatch):
    steps = []

    class CountedSVC(SVC):
        def fit(self, X, y):
            super().fit(X, y)
            steps.extend(self.n_iter_)
            return self

    monkeypatch.setattr(laplacian_svm, "SVC", CountedSVC)
    rows, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # solved to the tolerance
        found = LaplacianSVM(random_state=0).fit(rows, y)
    assert sum(steps) < 1_000_000  # 20 million with the bound of libsvm
    assert np.mean(found.predict(rows) == y) >= 0.95


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_unconverged_svm_warns_with_advice(kernel, monkeypatch):
    monkeypatch.setattr(laplacian_svm, "FIRST_STEPS", 5)
    monkeypatch.setattr(laplacian_svm, "MOST_STEPS", 9)
    monkeypatch.setattr(laplacian_svm, "STEPS_PER_LABEL", 0)
    rows, y = overlapping()
    machine = LaplacianSVM(penalty=1e-4, manifold_ratio=1.0, kernel=kernel, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        machine.fit(rows, y)
    (message,) = {str(w.message) for w in caught}
    assert "penalty=0.0001" in message
    assert "StandardScaler" not in message
    assert [w.filename for w in caught] == [__file__]  # once, at the line of the call


def test_second_stage_of_steps_gives_the_result_of_one_long_fit(monkeypatch):
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((80, 5)), rng.integers(0, 2, 80)
    settings = {"penalty": 1e-3, "manifold_ratio": 1.0, "random_state": 0}
    whole = LaplacianSVM(**settings).fit(rows, y)
    monkeypatch.setattr(laplacian_svm, "FIRST_STEPS", 50)
    assert_array_equal(LaplacianSVM(**settings).fit(rows, y).coef_, whole.coef_)


def test_duality_gap_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    rows, y = rng.standard_normal((40, 3)), np.where(rng.random(40) < 0.5, -1.0, 1.0)
    gaps = []
    for steps in (3, 30, 10_000_000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm = SVC(kernel="linear", C=2.0, tol=1e-10, max_iter=steps).fit(rows, y)
        alpha = np.zeros(40)
        alpha[svm.support_] = svm.dual_coef_[0] * y[svm.support_]
        w = (alpha * y) @ rows
        primal = 0.5 * w @ w + 2.0 * sum(
            max(0.0, 1.0 - t * (w @ x + svm.intercept_[0])) for x, t in zip(rows, y, strict=True)
        )
        dual = alpha.sum() - 0.5 * w @ w
        gap = laplacian_svm._compute_duality_gap(rows, y, 2.0, svm.coef_[0], svm.intercept_[0], svm.dual_coef_)
        assert gap == pytest.approx((primal - dual) / primal, rel=1e-6, abs=1e-12)
        gaps.append(gap)
    assert gaps[0] > gaps[1] > 1e-3
    assert abs(gaps[2]) < 1e-6


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_neighbours_do_not_depend_on_the_scale(scale):
    X = np.random.default_rng(0).standard_normal((30, 3))
    one, other = neighbour_graph(X), neighbour_graph(scale * X)
    assert_array_equal(one.toarray(), other.toarray())


@pytest.mark.filterwarnings("error")
def test_unusable_rows_have_no_neighbours():
    with pytest.raises(ValueError, match="0 feature"):
        neighbour_graph(np.empty((30, 0)))
    with pytest.raises(ValueError, match="0 feature"):
        neighbour_graph(np.empty((1, 0)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        neighbour_graph([[np.nan, 1.0]])
    assert neighbour_graph([[0.0, 1.0]]).toarray().tolist() == [[0.0]]
    with pytest.raises(ValueError, match=r"X .*NaN or infinity"):
        neighbour_graph([[np.inf], [-np.inf], [0.0]])
