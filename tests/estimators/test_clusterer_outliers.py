"""Outlier scores and marks: the requested share, comparable clusters, and far rows first."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import roc_auc_score

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.explain.outliers import choose_outliers, fit_leaf
from ravine.rows import RowBlocks

QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}

QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
X, _ = make_blobs([150, 100, 50], centers=[[0, 0, 0], [9, 0, 0], [0, 12, 0]], random_state=0)
FAR = np.array([[30.0, 30.0, 30.0], [-25.0, 4.0, 0.0], [4.0, 5.0, -20.0]])
DIRTY = np.concatenate([X, FAR])
pytestmark = pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")


@settings(max_examples=50, deadline=None)
@given(
    st.integers(2, 80), st.integers(1, 4), st.floats(0.001, 0.499), st.integers(0, 10**6), st.booleans(),
    st.sampled_from([1.0, 1.0, 1e-100, 1e100]),
)  # fmt: skip
def test_marked_share_is_the_requested_one(n, d, share, seed, is_rounded, unit):
    rng = np.random.default_rng(seed)
    rows = unit * (np.round(rng.normal(size=(n, d))) if is_rounded else rng.normal(size=(n, d)))
    for model in (MinimumDensityTree(2, **QUICK_TREE), MinimumDensityHyperplane(**QUICK)):
        model.set_params(contamination=share).fit(rows)
        is_ranked = np.ptp(model.outlier_scores_) > 0.0
        assert abs(model.n_outliers_ - is_ranked * share * n) <= 1.0
        assert np.count_nonzero(model.labels_ == -1) == model.n_outliers_
        scores = model.outlier_scores_
        assert (scores >= 0.0).all()
        assert (scores <= 1.0).all()
        inliers = model.labels_ >= 0
        assert_array_equal(model.predict(rows)[inliers], model.labels_[inliers])


@pytest.mark.parametrize("contamination", [0.01, "auto"])
def test_far_rows_are_marked_in_fit_and_prediction(contamination):
    model = MinimumDensityTree(3, contamination=contamination, **QUICK_TREE).fit(DIRTY)
    assert_array_equal(model.labels_[300:], -1)
    assert model.n_outliers_ <= (3 if contamination == 0.01 else 3 + 0.03 * len(X))
    assert_array_equal(model.predict(DIRTY, outliers=True), model.labels_)
    assert_array_equal(model.predict(FAR, outliers=True), -1)
    assert model.predict(FAR).min() >= 0
    assert np.unique(model.cut(2)).tolist() == [-1, 0, 1]


def test_clean_normal_clusters_have_few_outliers():
    assert MinimumDensityTree(3, contamination="auto", **QUICK_TREE).fit(X).n_outliers_ <= 9


def test_default_marks_nothing():
    model = MinimumDensityTree(3, **QUICK_TREE).fit(DIRTY)
    assert not hasattr(model, "n_outliers_")
    assert model.labels_.min() == 0
    with pytest.raises(ValueError, match="contamination"):
        model.predict(X, outliers=True)


def test_scores_are_comparable_between_clusters():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(300, 2)), [40.0, 0.0] + 3.0 * rng.normal(size=(300, 2))])
    model = MinimumDensityTree(2, **QUICK_TREE).fit(rows)
    scores = model.score_outliers(rows)
    medians = [np.median(scores[model.labels_ == k]) for k in (0, 1)]
    assert abs(medians[0] - medians[1]) < 0.35
    assert roc_auc_score(np.arange(600) >= 300, scores) < 0.9


def test_scores_of_rows_are_those_of_the_fit():
    model = MinimumDensityTree(3, contamination=0.01, **QUICK_TREE).fit(DIRTY)
    assert_allclose(model.score_outliers(DIRTY), model.outlier_scores_, rtol=1e-9)
    plain = MinimumDensityTree(3, **QUICK_TREE).fit(DIRTY)
    assert_allclose(plain.score_outliers(DIRTY), model.outlier_scores_, rtol=1e-9)
    assert_allclose(plain.score_outliers(FAR, reference=DIRTY), model.outlier_scores_[300:], rtol=1e-9)
    assert_allclose(model.score_outliers(FAR, reference=X[:200]), plain.score_outliers(FAR, reference=X[:200]))
    assert_allclose(model.score_outliers(sp.csr_array(DIRTY)), model.outlier_scores_, rtol=1e-9)
    assert_allclose(model.score_outliers(RowBlocks([DIRTY[:90], DIRTY[90:]])), model.outlier_scores_, rtol=1e-9)
    for kind in (sp.csr_array(DIRTY), RowBlocks([DIRTY[:90], DIRTY[90:]])):
        again = MinimumDensityTree(3, contamination=0.01, **QUICK_TREE).fit(kind)
        assert_array_equal(np.flatnonzero(again.labels_ == -1), [300, 301, 302])


def test_scores_do_not_depend_on_units_and_place():
    scores = MinimumDensityTree(3, **QUICK_TREE).fit(DIRTY).score_outliers(DIRTY)
    moved = MinimumDensityTree(3, **QUICK_TREE).fit(1024.0 * DIRTY + 5e6)
    assert_allclose(moved.score_outliers(1024.0 * DIRTY + 5e6), scores, atol=1e-4)


def test_rows_of_a_cluster_without_reference_have_score_1():
    model = MinimumDensityTree(3, **QUICK_TREE).fit(X)
    known = model.labels_ == model.labels_[0]
    scores = model.score_outliers(X, reference=X[known])
    assert_array_equal(scores[~known], 1.0)
    assert scores[known].max() < 1.0


def test_edits_keep_the_outliers_of_the_fit():
    model = MinimumDensityTree(3, contamination=0.05, **QUICK_TREE).fit(DIRTY)
    edited = model.prune(int(np.flatnonzero(model.tree_.order == 1)[0]))
    assert_array_equal(edited.labels_ == -1, model.labels_ == -1)
    assert_array_equal(edited.predict(DIRTY, outliers=True), edited.labels_)
    assert edited.n_clusters_ == 2
    assert_array_equal(edited.outlier_scores_, model.outlier_scores_)


def test_centers_and_exemplars_leave_outliers_out():
    model = MinimumDensityTree(3, contamination=0.01, **QUICK_TREE).fit(DIRTY)
    clean = MinimumDensityTree(3, **QUICK_TREE).fit(X)
    centers = model.compute_centers(DIRTY), clean.compute_centers(X)
    assert_allclose(np.sort(centers[0], axis=0), np.sort(centers[1], axis=0), atol=0.5)
    assert max(some.max() for some in model.find_exemplars(DIRTY)) < 300


def test_predict_marks_no_row_of_a_tie_at_the_threshold():
    rows = np.vstack([np.random.default_rng(0).normal(size=(90, 2)), np.full((10, 2), 9.0)])
    model = MinimumDensityTree(1, contamination=0.05, **QUICK_TREE).fit(rows)
    assert len(np.unique(model.outlier_scores_[90:])) == 1
    assert np.count_nonzero(model.labels_[90:] == -1) == 5
    assert np.count_nonzero(model.predict(rows, outliers=True) == -1) == 0


@pytest.mark.parametrize("make", [partial(MinimumDensityTree, 1), MinimumDensityHyperplane])
def test_equal_rows_are_not_outliers(make):
    model = make(contamination=0.1).fit(np.ones((300, 3)))
    assert model.n_outliers_ == 0
    assert model.predict(np.full((1, 3), 2.0), outliers=True) == -1


def test_ties_are_marked_up_to_the_share():
    marked, threshold = choose_outliers(np.array([0.5, 0.5, 0.5, 0.5, 0.2]), 0.4, 0.9)
    assert marked.tolist() == [True, True, False, False, False]
    assert threshold == 0.5
    assert choose_outliers(np.array([0.1, 0.95]), None, 0.9)[0].tolist() == [False, True]


def test_density_of_a_normal_leaf_is_robust():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(500, 3)) @ np.diag([1.0, 2.0, 5.0])
    sample[:50] += 100.0
    leaf = fit_leaf(sample, 1.0)
    assert_allclose(leaf.center, 0.0, atol=0.5)
    values = leaf.evaluate(sample)
    assert values[:50].max() < values[50:].min()
    if len(leaf.levels) == 1:  # of Mahalanobis distances
        covariance = np.linalg.inv(leaf.transform @ leaf.transform.T) / leaf.precisions[0, 0]
        assert_allclose(np.sqrt(np.diag(covariance)), [1.0, 2.0, 5.0], rtol=0.2)


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e150])
def test_scores_of_extreme_numbers_are_scores(unit):
    for rows in (unit * DIRTY, unit * np.round(DIRTY), unit * np.where(np.arange(303)[:, None] == 7, 1e8, DIRTY)):
        scores = MinimumDensityTree(3, **QUICK_TREE).fit(rows).score_outliers(rows)
        assert (scores >= 0.0).all()
        assert (scores <= 1.0).all()
