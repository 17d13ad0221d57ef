"""Refinement of a tree by all of its clusters at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityHyperplane, MinimumDensityTree, NoSplitWarning, ProjectedDensity, RowBlocks
from ravine.rows import as_rows
from ravine.tree import refine
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.refine import Components

pytestmark = pytest.mark.usefixtures("sparse_samples")


def simulate_overlap(seed, n=600, d=10, k=6, separation=3.6):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(k, d))
    distances = np.linalg.norm(means[:, None] - means, axis=-1)[np.triu_indices(k, 1)]
    y = rng.integers(0, k, n)
    return (means * separation / distances.min())[y] + rng.normal(size=(n, d)), y


def fit(X, flag, k=6, **parameters):
    return MinimumDensityTree(k, refine=flag, shape="convex", random_state=0, **parameters).fit(X)


def test_overlapping_clusters_are_found_better():
    scores = []
    for seed in range(3):
        X, y = simulate_overlap(seed, separation=3.0)
        scores.append([adjusted_rand_score(y, fit(X, refine).labels_) for refine in (False, True)])
    before, after = np.mean(scores, axis=0)
    assert after > before + 0.01


def test_k_means_competes_with_the_tree(monkeypatch):
    X, y = simulate_overlap(3, separation=2.6)
    monkeypatch.setattr(refine, "_fit_mixture", lambda *arguments: None)
    before, after = (adjusted_rand_score(y, fit(X, flag).labels_) for flag in (False, True))
    assert after > before


def test_clusters_of_unequal_spread_get_covariances_of_their_own(monkeypatch):
    X, y = make_blobs(500, cluster_std=[1.0, 2.5, 0.5], random_state=170)
    own = adjusted_rand_score(y, fit(X, True, 3).labels_)
    fit_mixture = refine._fit_mixture
    tied = lambda sample, leaves, kind: fit_mixture(sample, leaves, kind) if kind == "tied" else None  # noqa: E731
    monkeypatch.setattr(refine, "_fit_mixture", tied)
    assert own > adjusted_rand_score(y, fit(X, True, 3).labels_) + 0.05


def test_diagonal_mixtures_need_few_rows():
    rng = np.random.default_rng(0)
    leaves = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 20)) * np.where(leaves, 3.0, 0.3)[:, None] + 0.5 * leaves[:, None]
    assert refine._fit_mixture(X, leaves, "full") is None
    assert adjusted_rand_score(leaves, refine._fit_mixture(X, np.roll(leaves, 3), "diag").of_row) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_yes_and_no_answers_are_found(seed):
    """Four answers tell two groups apart, two are random; there is a valley between yes and no of each of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 1500)
    answers = np.where(rng.random((1500, 4)) < 0.1, 1 - y[:, None], y[:, None])
    X = np.column_stack([answers, rng.integers(0, 2, (1500, 2))]).astype(float)
    assert adjusted_rand_score(y, fit(X, True, 2).labels_) > 0.8


def test_small_leaves_get_no_covariance_of_their_own():
    X = np.random.default_rng(0).normal(size=(100, 5))
    assert refine._fit_mixture(X, np.repeat([0, 1], [86, 14]), "full") is None
    assert refine._fit_mixture(X, np.repeat([0, 1], [85, 15]), "full") is not None


@pytest.mark.parametrize("seed", range(4))
def test_cut_never_increases(seed):
    X, _ = simulate_overlap(seed, n=300, d=4)
    graph = NeighbourGraph(as_rows(X), 6, np.random.default_rng(0))
    before, after = (graph.sum_cut(fit(X, refine).leaves_) for refine in (False, True))
    assert after <= before


def test_refined_tree_is_consistent():
    X, _ = simulate_overlap(1)
    mdt, first = fit(X, True), fit(X, False)
    tree = mdt.tree_
    assert not np.array_equal(mdt.labels_, first.labels_)
    assert_array_equal(mdt.predict(X), mdt.labels_)
    assert_array_equal(tree.apply(X), mdt.leaves_)
    assert mdt.n_clusters_ == 6
    assert_array_equal(np.bincount(mdt.leaves_, minlength=len(tree))[tree.leaves()], tree.size[tree.leaves()])
    assert sorted(tree.order[tree.order >= 0]) == list(range(5))
    assert len(np.unique(mdt.cut(n_clusters=3))) == 3


def test_refined_hyperplanes_are_described_by_their_rows():
    X, _ = simulate_overlap(1)
    plane = fit(X, True).tree_.hyperplane(0)
    std = np.sqrt(np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1])
    assert_allclose(plane.bandwidth, 0.9 * std * len(X) ** -0.2)
    density = ProjectedDensity(X @ plane.normal, plane.bandwidth)
    assert_allclose(plane.density, density(plane.offset), rtol=1e-8)
    assert_allclose(plane.relative_depth, density.relative_depth(plane.offset), rtol=1e-8)


def test_clear_clusters_keep_their_rows():
    X, y = simulate_overlap(0, separation=12.0)
    assert adjusted_rand_score(fit(X, True).labels_, y) == 1.0


def test_tree_stays_unless_its_cut_decreases(monkeypatch):
    X, _ = simulate_overlap(1)
    monkeypatch.setattr(NeighbourGraph, "sum_cut", lambda graph, clusters: 1.0)
    assert_array_equal(fit(X, True).tree_.normal, fit(X, False).tree_.normal)


def test_collapsed_components_leave_the_tree(monkeypatch):
    X, _ = simulate_overlap(1)
    for name in ("mixture.GaussianMixture", "cluster.KMeans"):
        monkeypatch.setattr(f"sklearn.{name}.fit_predict", lambda model, x: np.zeros(len(x), dtype=int))
    assert_array_equal(fit(X, True).tree_.normal, fit(X, False).tree_.normal)


@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({"hyperplane": MinimumDensityHyperplane(test="pooled")}, np.asarray),
        ({"split_next": "size"}, np.asarray),
        ({}, lambda X: X[:19]),
    ],
)
def test_tested_and_few_rows_are_not_refined(parameters, rows):
    X, _ = simulate_overlap(1, n=200)
    one, two = (fit(rows(X), refine, k=3, min_cluster_size=2, **parameters) for refine in (False, True))
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.tree_.normal, two.tree_.normal)


def test_leaves_are_not_smaller_than_allowed():
    X, _ = simulate_overlap(2, n=150)
    assert np.bincount(fit(X, True, k=4, min_cluster_size=20).labels_).min() >= 20


@pytest.fixture(scope="module")
def refined():
    return fit(simulate_overlap(1)[0], True).labels_


@pytest.mark.parametrize(
    "kind", [np.float32, csr_array, RowBlocks, lambda x: x * 1e150, lambda x: x * 1e-150, lambda x: x + 1e7]
)
def test_every_kind_of_rows_is_refined(refined, kind):
    X, _ = simulate_overlap(1)
    rows = RowBlocks([X[:100], X[100:]]) if kind is RowBlocks else kind(X)
    assert adjusted_rand_score(fit(rows, True).labels_, refined) > 0.97


def test_widest_gap_halves_the_components():
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [9.0, 1.0], [9.5, 2.5]])
    left, right = Components(np.zeros(1, dtype=int), means).halve(np.arange(5))
    assert {frozenset(left.tolist()), frozenset(right.tolist())} == {frozenset({0, 1, 2}), frozenset({3, 4})}
    left, right = Components(np.zeros(1, dtype=int), means).halve(np.array([2, 4]))
    assert sorted([left.tolist(), right.tolist()]) == [[2], [4]]


def test_clusters_without_a_valley_are_completed():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.warns(NoSplitWarning, match=r"\b2\b.*n_clusters=4"):
        mdt = fit(X, True, k=4)
    assert mdt.n_clusters_ == 4
    assert min(np.bincount(mdt.labels_)) >= 5
    assert_array_equal(mdt.predict(X), mdt.labels_)


@pytest.mark.parametrize("X", [np.ones((30, 2)), np.repeat(np.eye(3), 20, axis=0)], ids=["equal rows", "three points"])
def test_rows_with_fewer_points_than_clusters_are_not_completed(X):
    with pytest.warns(NoSplitWarning, match="min_cluster_size=5"):
        mdt = fit(X, True, k=4)
    assert mdt.n_clusters_ == len(np.unique(X, axis=0))


def test_incomplete_trees_stay_so_without_refinement():
    with pytest.warns(NoSplitWarning, match=r"min_cluster_size"):
        mdt = fit(np.random.default_rng(0).normal(size=(200, 2)), False, k=12)
    assert mdt.n_clusters_ < 12
