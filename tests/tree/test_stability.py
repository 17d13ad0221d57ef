"""Stability: the number of clusters that trees of random halves agree on."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree, RowBlocks
from ravine.tree import stability
from ravine.tree.stability import count_stable_clusters, measure_prediction_strength

# Three clusters, which a strict test does not show.
X, _ = make_blobs([50, 50, 50], centers=[[0, 0, 0, 0], [5, 0, 0, 0], [0, 5, 0, 0]], random_state=0)


def fit(rows=X, n_clusters="auto", **parameters):
    return MinimumDensityTree(n_clusters, random_state=0, **parameters).fit(rows)


@pytest.fixture(scope="module")
def mdt():
    return fit()


def count_pairs(labels, others):
    """Compute the prediction strength pair by pair."""
    shares = []
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        pairs = [(i, j) for i in rows for j in rows if i != j]
        if pairs:
            shares.append(np.mean([others[i] == others[j] for i, j in pairs]))
    return min(shares, default=1.0)


@pytest.mark.parametrize("seed", range(5))
def test_prediction_strength_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(0, 4, 40), rng.integers(0, 3, 40)
    labels[0] = 5  # a cluster of one row
    assert measure_prediction_strength(labels, others) == pytest.approx(count_pairs(labels, others))
    assert measure_prediction_strength(labels, labels) == 1.0


def test_count_is_the_largest_that_is_stable():
    assert count_stable_clusters(np.array([0.9, 0.2, 0.7, 0.5])) == 4
    assert count_stable_clusters(np.array([0.5, 0.2])) == 1


def test_clear_clusters_are_suggested_and_no_more():
    rows, _ = make_blobs([60, 60, 60, 60], centers=10 * np.eye(4), random_state=0)
    mdt = fit(rows)
    assert mdt.n_suggested_ == mdt.n_clusters_ == 4
    assert_array_equal(mdt.cut("suggested"), mdt.labels_)


def test_noise_has_no_suggestion():
    suggested = [fit(np.random.default_rng(seed).normal(size=(120, 5))).n_suggested_ for seed in range(3)]
    assert np.mean(np.array(suggested) == 1) >= 0.6


def test_suggestion_continues_the_tree_that_is_shown():
    mdt = fit(alpha=0.0)
    assert mdt.n_suggested_ > mdt.n_clusters_
    tree = mdt.suggested_tree_
    assert tree.n_clusters == mdt.n_suggested_
    assert_array_equal(tree.apply(X), mdt.suggested_leaves_)
    assert_array_equal(mdt.cut("suggested"), tree.predict(X))
    assert_array_equal(mdt.cut(mdt.n_suggested_), tree.predict(X))
    shown = tree.cut(n_clusters=mdt.n_clusters_)
    assert_array_equal(shown.predict(X), mdt.labels_)
    assert tree.pvalue[0] == mdt.tree_.pvalue[0]


def test_suggested_clusters_can_be_asked_for():
    shown, asked = fit(alpha=0.0), fit(n_clusters="suggested", alpha=1e-6)
    assert_array_equal(asked.labels_, shown.cut("suggested"))
    assert_array_equal(asked.predict(X), asked.labels_)
    assert asked.n_clusters_ == asked.n_suggested_ == shown.n_suggested_


def test_suggestion_does_not_depend_on_threads(mdt):
    assert_array_equal(fit(n_jobs=2).suggested_leaves_, mdt.suggested_leaves_)


def test_every_kind_of_rows_has_a_suggestion(mdt):
    for rows in (X.astype(np.float32), RowBlocks([X[:60], X[60:]])):
        assert fit(rows).n_suggested_ == mdt.n_suggested_


def test_few_rows_and_many_clusters_need_no_halves(monkeypatch):
    monkeypatch.setattr(stability, "measure_stability", None)  # it is not called
    assert fit(X[:19]).n_suggested_ == 1
    rows, _ = make_blobs([60] * 10, centers=20 * np.eye(10), random_state=0)
    assert fit(rows).n_suggested_ == 10


def test_suggestion_is_refused_where_there_is_none():
    with pytest.raises(ValueError, match=r"'suggested'"):
        fit(n_clusters=2).cut("suggested")
    with pytest.raises(ValueError, match=r"n_clusters='all'"):
        fit().cut("all")
    with pytest.raises(ValueError, match="n_clusters"):
        fit(n_clusters="suggested", hyperplane=type("Never", (), {"split": lambda self, X, indices, rng: None})())


def test_edited_or_refitted_trees_lose_the_suggestion():
    mdt = fit()
    edited = mdt.merge(*mdt.tree_.leaves()[:2])
    for other in (edited, mdt.set_params(n_clusters=2).fit(X)):
        assert not any(hasattr(other, name) for name in ("n_shown_", "n_suggested_", "suggested_tree_"))


def test_suggested_splits_are_not_cut_by_significance():
    with pytest.raises(ValueError, match=r"n_clusters='auto'"):
        fit(n_clusters="suggested").cut(significance=0.05)
