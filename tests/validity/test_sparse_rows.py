"""The valley test on sparse rows: the same as on arrays where these are small, without the zeros where they are not."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityHyperplane, MinimumDensityTree, valley_test
from ravine.rows import as_rows
from ravine.validity.directions import Choosers, SparseChoosers, as_choosers
from ravine.validity.repeated_values import Grids, SparseGrids, find_grids


def simulate_topics(n, d, k, seed=0, length=60, contrast=2.0):
    """Return word counts of documents of k topics."""
    rng = np.random.default_rng(seed)
    themes = np.exp(contrast * rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.3)) / np.arange(1.0, d + 1.0)
    themes /= themes.sum(axis=1, keepdims=True)
    y = np.arange(n) % k
    counts = np.array([rng.multinomial(length + rng.integers(length), themes[t]) for t in y])
    return sp.csr_array(counts.astype(float)), y


def test_small_sparse_rows_give_the_result_of_their_array():
    X, _ = simulate_topics(150, 120, 3)
    one, other = valley_test(X, random_state=0), valley_test(X.toarray(), random_state=0)
    assert one.pvalue == other.pvalue
    assert one.grid_columns == other.grid_columns
    assert valley_test(X, method="exact", random_state=0).pvalue == (
        valley_test(X.toarray(), method="exact", random_state=0).pvalue
    )
    tree, same = (MinimumDensityTree(random_state=0).fit(Z) for Z in (X, X.toarray()))
    np.testing.assert_array_equal(tree.labels_, same.labels_)
    np.testing.assert_array_equal(tree.predict(X), tree.labels_)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_topics_of_many_words_are_found(kind):
    X, y = simulate_topics(150, 1200, 3)
    tree = MinimumDensityTree(random_state=0).fit(kind(X))
    assert tree.n_clusters_ == 3
    assert adjusted_rand_score(y, tree.labels_) > 0.95
    np.testing.assert_array_equal(tree.predict(kind(X)), tree.labels_)


def test_one_topic_is_not_split_and_two_are():
    for method in ("pooled", "exact"):
        assert valley_test(simulate_topics(300, 1500, 1)[0], method=method, random_state=0).pvalue > 0.05
        assert valley_test(simulate_topics(300, 1500, 2)[0], method=method, random_state=0).pvalue < 1e-4
    mdh = MinimumDensityHyperplane(random_state=0, test="pooled").fit(simulate_topics(300, 1500, 2)[0])
    assert mdh.pvalue_ < 1e-4


def test_large_sparse_rows_are_not_densified():
    X = sp.random_array((1500, 15_000), density=0.002, rng=0, format="csr")
    tracemalloc.start()
    valley_test(X, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * 8 * X.shape[0] * X.shape[1]


# ----------------------------------------------------------------------------------------------- parts


def test_sparse_choosers_equals_the_array():
    X, y = simulate_topics(90, 1200, 2)
    sparse, dense = as_choosers(as_rows(X)), Choosers(X.toarray())
    assert type(sparse) is SparseChoosers
    on_right = y == 1
    means = dense.mean(~on_right), dense.mean(on_right)
    np.testing.assert_allclose(sparse.mean(on_right), means[1], atol=1e-12)
    direction = np.random.default_rng(0).normal(size=1200)
    np.testing.assert_allclose(sparse.project(means[0], direction), dense.project(means[0], direction), atol=1e-9)
    expected = dense.discriminate(on_right, means)
    found = sparse.discriminate(on_right, means)
    np.testing.assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected), atol=1e-9)
    some = np.arange(0, 90, 7)
    np.testing.assert_allclose(sparse.take(some).mean(), dense.take(some).mean(), atol=1e-12)


def test_grids_of_sparse_rows_are_those_of_their_array():
    X, _ = simulate_topics(200, 1200, 2)
    sparse = find_grids(as_rows(X), np.random.default_rng(0))
    dense = Grids.of(as_rows(X.toarray()), np.random.default_rng(0))
    assert type(sparse) is SparseGrids
    assert sparse.columns == dense.columns


def test_sum_of_spread_values_has_the_moments_of_the_array():
    X, _ = simulate_topics(60, 1100, 2)
    X.data *= np.random.default_rng(1).choice([0.5, 1.0, 1.25], len(X.data))
    X.data[::9] *= -1.0
    direction = np.random.default_rng(2).normal(size=(1, 1100))
    sparse = find_grids(as_rows(X), np.random.default_rng(0))
    mean, variance = sparse._measure_cells(X).sum_cells(direction[:, sparse.columns])
    expected_mean, expected_variance = np.zeros(60), np.zeros(60)
    dense = X.toarray()
    for j in sparse.columns:  # the slow twin: the cell of every value, zeros included
        values = np.unique(dense[:, j])
        middles = 0.5 * (values[1:] + values[:-1])
        for i in range(60):
            k = int(np.searchsorted(values, dense[i, j]))
            left = middles[k - 1] if k > 0 else 2.0 * values[0] - middles[0]
            right = middles[k] if k < len(middles) else 2.0 * values[-1] - middles[-1]
            expected_mean[i] += direction[0, j] * (0.5 * (left + right) - dense[i, j])
            expected_variance[i] += direction[0, j] ** 2 * (right - left) ** 2 / 12.0
    np.testing.assert_allclose(mean[0], expected_mean, atol=1e-9)
    np.testing.assert_allclose(variance[0], expected_variance, rtol=1e-9)


def test_spreading_covers_both_kinds_of_features():
    X, _ = simulate_topics(60, 1100, 2)
    directions = np.random.default_rng(2).normal(size=(3, 1100))
    grids = find_grids(as_rows(X), np.random.default_rng(0))
    draws = np.array([grids.spread(as_rows(X), directions, np.random.default_rng(seed))[0] for seed in range(100)])
    mean, variance = grids._measure_cells(X).sum_cells(directions[:, grids.columns])
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=6.0 * np.sqrt(variance.max() / 100))
    np.testing.assert_allclose(draws.var(axis=0).mean(), variance.mean(), rtol=0.1)
