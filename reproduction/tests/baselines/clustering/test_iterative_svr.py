"""IterativeSVR: objective, balance, kernels and warnings."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from ravine_paper.baselines import IterativeSVR
from ravine_paper.baselines.clustering.label_alternation import compute_smallest_side
from ravine_paper.baselines.clustering.laplacian_regression import LaplacianRegression
from ravine_paper.baselines.clustering.svr_bisection import choose_median_gamma
from support.simulate import two_clusters
from support.tree_twin import have_same_groups

X, Y = two_clusters(120, 3, fraction=0.48)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_objective_is_that_of_the_decision_function(kernel):
    rows = np.random.default_rng(0).standard_normal((80, 3))
    fitted = IterativeSVR(kernel=kernel, C=0.7, random_state=0).fit(rows)
    f = fitted.decision_function(rows)
    if kernel == "linear":
        square = float(fitted.coef_[0] @ fitted.coef_[0])
        assert_allclose(f, rows @ fitted.coef_[0] + fitted.intercept_[0], atol=1e-9)
    else:
        model = fitted._get_model()
        square = float(model.weights @ rbf_kernel(model.support, gamma=fitted.gamma_) @ model.weights)
    assert_allclose(fitted.objective_, 0.5 * square + 0.7 * np.abs(1 - np.abs(f)).sum(), rtol=1e-6)


def test_widest_margin_is_found_from_wrong_two_means():
    """2-means cuts across long parallel clusters; the widest gap lies between them."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    rows = np.column_stack([rng.uniform(-1, 1, 200), rng.uniform(-0.2, 0.2, 200) + 1.6 * truth])
    assert have_same_groups(IterativeSVR(C=10.0, random_state=0).fit(rows).labels_, truth)
    fitted = IterativeSVR(C=10.0, random_state=0).fit(rows)
    assert abs(fitted.coef_[0, 1]) > 10 * abs(fitted.coef_[0, 0])


@pytest.mark.parametrize("max_exact", [5000, 0], ids=["exact", "Nystroem"])
def test_gaussian_kernel_follows_a_curved_gap(max_exact):
    """No line follows the gap between two parabolas, one above the other."""
    x, truth = np.random.default_rng(0).uniform(-1.5, 1.5, 200), np.repeat([0, 1], 100)
    rows = np.column_stack([x, x**2 + 2.0 * truth])
    settings = {"kernel": "rbf", "gamma": 0.5, "max_exact": max_exact, "n_components": 50, "random_state": 0}
    assert have_same_groups(IterativeSVR(**settings).fit(rows).labels_, truth)
    assert not have_same_groups(IterativeSVR(random_state=0).fit(rows).labels_, truth)


def test_all_nystroem_features_give_the_exact_labels():
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


def test_small_cluster_needs_a_larger_balance():
    rows, truth = two_clusters(200, 3, fraction=0.2, separation=12.0)
    assert not have_same_groups(IterativeSVR(random_state=0).fit(rows).labels_, truth)
    assert have_same_groups(IterativeSVR(balance=0.7, random_state=0).fit(rows).labels_, truth)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_more_clusters_split_the_largest(kernel):
    centers, sizes = np.array([[0, 0], [12, 0], [0, 15], [12, 15]]), [43, 41, 42, 40]
    rows = np.repeat(centers, sizes, axis=0) + np.random.default_rng(0).standard_normal((166, 2))
    fitted = IterativeSVR(4, kernel=kernel, random_state=0).fit(rows)
    assert have_same_groups(fitted.labels_, np.repeat(np.arange(4), sizes))
    assert np.bincount(fitted.labels_).tolist() == [43, 42, 41, 40]
    assert_array_equal(fitted.predict(rows[::-1]), fitted.labels_[::-1])
    assert not hasattr(fitted, "coef_")
    assert hasattr(fitted.set_params(n_clusters=2).fit(rows), "coef_") == (kernel == "linear")


def test_first_of_several_splits_is_that_of_two_clusters():
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
def test_extreme_unit_is_refused(scale):
    with pytest.raises(ValueError, match="rescale X"):
        IterativeSVR().fit(X * scale)


def test_too_few_regressions_warn_at_the_line_of_the_call():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ") as caught:
        IterativeSVR(max_iter=1, tol=0.0, random_state=0).fit(np.random.default_rng(0).standard_normal((80, 3)))
    assert caught[0].filename == __file__


def test_open_duality_gap_is_a_warning(monkeypatch):
    solve = LaplacianRegression.solve
    monkeypatch.setattr(LaplacianRegression, "solve", lambda *args: replace(solve(*args), gap=0.5))
    with pytest.warns(ConvergenceWarning, match=r"gap .*0.5"):
        IterativeSVR(random_state=0).fit(X)
