"""LDA-k-means: the discriminants and the split of numbers against slow twins, and the alternation."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from ravine_paper.baselines import LDAKMeans
from ravine_paper.baselines.clustering.discriminants import Discriminants, split_in_two_means
from support.tree_twin import have_same_groups


def hidden(n=300, seed=0, ratio=0.4):
    """Return two clusters along the second of two features; the first is wide and does not separate them."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < ratio).astype(int)
    rows = rng.standard_normal((n, 2)) * [3.0, 0.3]
    rows[:, 1] += 3.0 * truth
    return rows, truth


def scatters(rows, labels, weighted):
    """Compute S_w and S_b divided by n, class by class; each class counts in full if not weighted."""
    d = rows.shape[1]
    within, between = np.zeros((d, d)), np.zeros((d, d))
    for label in np.unique(labels):
        part = rows[labels == label]
        gap = (part.mean(axis=0) - rows.mean(axis=0))[:, None]
        between += len(part) / len(rows) * gap @ gap.T
        scatter = (part - part.mean(axis=0)).T @ (part - part.mean(axis=0))
        within += scatter / (len(rows) if weighted else len(part))
    return within, between


def angle(one, other):
    """Compute the sine of the largest angle between two spans."""
    a, b = np.linalg.qr(one)[0], np.linalg.qr(other)[0]
    return np.linalg.norm(a - b @ b.T @ a, ord=2)


# ----------------------------------------------------------------------------------------------- two means of numbers


@pytest.mark.parametrize("seed", range(20))
def test_two_means_is_the_best_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(int(rng.integers(2, 40))) if seed % 2 else rng.integers(0, 4, 25).astype(float)
    labels = split_in_two_means(values)

    def within(side):
        return sum(((values[side == k] - values[side == k].mean()) ** 2).sum() for k in (0, 1))

    cuts = [(values > c).astype(int) for c in np.unique(values)[:-1]]
    assert within(labels) <= min(within(cut) for cut in cuts) * (1 + 1e-12)
    assert values[labels == 0].max() < values[labels == 1].min()


def test_two_means_far_from_zero_and_of_equal_numbers():
    assert_array_equal(split_in_two_means(np.array([0.0, 1.0, 9.0, 10.0, 11.0]) + 1e12), [0, 0, 1, 1, 1])
    assert_array_equal(split_in_two_means(np.full(5, 3.0)), 0)
    assert_array_equal(split_in_two_means(np.array([2.0])), 0)


# ----------------------------------------------------------------------------------------------- discriminants


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_directions_solve_the_generalised_eigenproblem(k, weighted, ridge):
    rng = np.random.default_rng(k)
    rows = rng.standard_normal((80, 6)) @ rng.standard_normal((6, 6))
    rows -= rows.mean(axis=0)
    labels = rng.integers(0, k, 80)
    lda = Discriminants(rows, rows.T @ rows / 80, ridge, weighted)
    within, between = scatters(rows, labels, weighted)
    values, vectors = eigh(between, within + ridge * np.eye(6))
    found = lda.find_directions(labels)
    assert found.shape == (6, k - 1)
    assert angle(found, vectors[:, ::-1][:, : k - 1]) < 1e-7
    assert_allclose(lda.evaluate(found, labels), values[::-1][: k - 1].sum(), rtol=1e-8)
    some = rng.standard_normal((6, 2))
    expected = np.trace(np.linalg.solve(some.T @ (within + ridge * np.eye(6)) @ some, some.T @ between @ some))
    assert_allclose(lda.evaluate(some, labels), expected, rtol=1e-9)


def test_directions_of_two_classes_are_the_closed_form():
    rows, labels = hidden()
    rows = rows - rows.mean(axis=0)
    found = Discriminants(rows, rows.T @ rows / len(rows), 0.0, True).find_directions(labels)[:, 0]
    within = scatters(rows, labels, True)[0]
    u = np.linalg.solve(within, rows[labels == 1].mean(axis=0) - rows[labels == 0].mean(axis=0))
    assert_allclose(abs(found @ u), np.linalg.norm(found) * np.linalg.norm(u), rtol=1e-10)


# ----------------------------------------------------------------------------------------------- alternation


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kmeans", ["exact", "k-means++"])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_across_a_wide_feature_are_found(weighted, kmeans, seed):
    """The first principal component mixes the clusters, but is tilted towards the right direction."""
    rows, truth = hidden(seed=seed)
    rows[:, 0] += 5.0 * truth
    fitted = LDAKMeans(weighted=weighted, kmeans=kmeans, random_state=seed).fit(rows)
    assert have_same_groups(fitted.labels_, truth)
    assert angle(fitted.components_.T, np.array([[0.0], [1.0]])) < 0.05


@pytest.mark.parametrize("seed", range(6))
def test_exact_runs_start_from_one_principal_component_each(seed):
    """The first component does not separate the clusters: only the second start is sure to find them."""
    rows, truth = hidden(seed=seed)
    rows = rows @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    assert have_same_groups(LDAKMeans(n_init=2).fit(rows).labels_, truth)
    assert have_same_groups(LDAKMeans(n_init=9).fit(rows).labels_, truth)  # there are only two components


def test_k_clusters_are_found_in_k_minus_one_dimensions():
    rng = np.random.default_rng(0)
    rows, truth = make_blobs([80, 70, 60], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    rows = np.hstack([rows, 3.0 * rng.standard_normal((210, 3))])
    fitted = LDAKMeans(3, n_init=5, random_state=0).fit(rows)
    assert have_same_groups(fitted.labels_, truth)
    assert np.bincount(fitted.labels_).tolist() == [80, 70, 60]
    assert fitted.transform(rows).shape == (210, 2)
    assert fitted.components_.shape == (2, 5)
    assert fitted.centroids_.shape == (3, 2)


@pytest.mark.parametrize("seed", range(5))
def test_exact_objective_never_decreases(seed):
    rows = np.random.default_rng(seed).standard_normal((100, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        objectives = [LDAKMeans(max_iter=k, tol=0.0, ridge=0.0).fit(rows).objective_ for k in range(1, 12)]
    assert (np.diff(objectives) >= -1e-12).all()
    assert objectives[-1] > objectives[0]
    assert LDAKMeans(ridge=0.0).fit(rows).objective_ >= objectives[-1]


def test_objective_is_that_of_the_labels_along_the_components():
    rows, _ = hidden()
    for weighted in (True, False):
        fitted = LDAKMeans(weighted=weighted, ridge=0.0).fit(rows)
        within, between = scatters(fitted.transform(rows), fitted.labels_, weighted)
        assert_allclose(fitted.objective_, between[0, 0] / within[0, 0], rtol=1e-9)


def test_more_runs_are_never_worse():
    rows = np.random.default_rng(0).standard_normal((60, 6))
    few, many = (LDAKMeans(4, n_init=n, random_state=0).fit(rows).objective_ for n in (1, 8))
    assert many >= few


def test_invertible_linear_maps_change_nothing_but_the_start():
    rows, truth = hidden()
    turn = np.array([[1.0, 0.4], [-0.2, 2.0]])
    one, other = (LDAKMeans(n_init=2, ridge=0.0).fit(x) for x in (rows, rows @ turn))
    assert have_same_groups(one.labels_, truth)
    assert have_same_groups(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-9)


def test_prediction_is_the_nearest_mean_in_the_subspace():
    rows = np.random.default_rng(2).standard_normal((90, 4))
    fitted = LDAKMeans(3, random_state=0).fit(rows)
    places = (rows - fitted.mean_) @ fitted.components_.T
    assert_allclose(fitted.transform(rows), places, atol=1e-12)
    assert_allclose(fitted.mean_, rows.mean(axis=0), atol=1e-12)
    distances = np.linalg.norm(places[:, None] - fitted.centroids_, axis=2)
    assert_array_equal(fitted.predict(rows), distances.argmin(axis=1))
    for k in range(3):
        assert_allclose(fitted.centroids_[k], places[fitted.labels_ == k].mean(axis=0), atol=1e-9)


def test_exact_is_only_for_two():
    with pytest.raises(ValueError, match=r"kmeans='exact'.*n_clusters=2.*n_clusters=3"):
        LDAKMeans(3, kmeans="exact").fit(hidden()[0])


def test_too_few_iterations_warn_at_the_line_of_the_call():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ") as caught:
        LDAKMeans(max_iter=1).fit(hidden()[0])
    assert caught[0].filename == __file__


def test_fewer_distinct_rows_than_clusters_give_fewer_clusters():
    rows = np.repeat([[0.0, 0.0], [5.0, 1.0]], 10, axis=0)
    with pytest.warns(UserWarning, match=r"n_clusters=3 .*only 2"):
        fitted = LDAKMeans(3, random_state=0).fit(rows)
    assert have_same_groups(fitted.labels_, np.repeat([0, 1], 10))


def test_names_of_the_coordinates():
    assert LDAKMeans().fit(hidden()[0]).get_feature_names_out().tolist() == ["ldakmeans0"]
