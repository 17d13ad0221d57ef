"""The valley test on sparse rows: the same as on arrays where these are small, without the zeros where they are not."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityHyperplane, MinimumDensityTree, valley_test


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
    assert valley_test(simulate_topics(300, 1500, 1)[0], random_state=0).pvalue > 0.05
    assert valley_test(simulate_topics(300, 1500, 2)[0], random_state=0).pvalue < 1e-4
    mdh = MinimumDensityHyperplane(random_state=0, test="pooled").fit(simulate_topics(300, 1500, 2)[0])
    assert mdh.pvalue_ < 1e-4


def test_large_sparse_rows_are_not_densified():
    X = sp.random_array((1500, 15_000), density=0.002, rng=0, format="csr")
    tracemalloc.start()
    valley_test(X, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * 8 * X.shape[0] * X.shape[1]


def test_exact_test_refuses_sparse_rows_of_many_features():
    X, _ = simulate_topics(60, 1200, 2)
    with pytest.raises(ValueError, match="1200"):
        valley_test(X, method="exact", random_state=0)
    assert 0.0 < valley_test(X.toarray(), method="exact", random_state=0).pvalue <= 1.0
