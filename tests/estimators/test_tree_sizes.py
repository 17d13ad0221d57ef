"""Sizes of clusters and weights of rows in a tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from ravine import MinimumDensityHyperplane, MinimumDensityTree, NoSplitWarning, PathSettings, Split
from ravine.tree.constraints import count_rows
from ravine.tree.graph import repeat_rows
from support.shape_data import draw_rings

QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}

QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
X, _ = make_blobs([90, 70, 60, 50], centers=[[0, 0, 0], [9, 0, 0], [0, 12, 0], [9, 12, 3]], random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")


def sizes_of(model):
    return np.bincount(model.labels_)


# ----------------------------------------------------------------------------------------------- sizes


def test_share_is_a_number_of_rows():
    assert count_rows(0.1, 270) == 27
    assert count_rows(0.1, 271) == 28
    assert count_rows(7, 10) == 7
    one, other = (MinimumDensityTree(4, min_cluster_size=size, **QUICK_TREE).fit(X) for size in (0.2, 54))
    assert_array_equal(one.labels_, other.labels_)
    assert sizes_of(one).min() >= 54


@settings(max_examples=15, deadline=None)
@given(st.integers(30, 120), st.floats(0.1, 0.9), st.integers(0, 10**6))
def test_no_cluster_is_larger_than_allowed_without_a_number(n, share, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2)) + 5.0 * rng.integers(0, 2, size=(n, 1))
    model = MinimumDensityTree(max_cluster_size=max(share, 12 / n), **QUICK_TREE).fit(rows)
    assert sizes_of(model).max() <= count_rows(max(share, 12 / n), n)
    assert_array_equal(model.predict(rows), model.labels_)


def test_large_clusters_of_several_leaves_are_divided():
    rows, _ = draw_rings()
    assert sizes_of(MinimumDensityTree(random_state=0).fit(rows)).tolist() == [150, 300]
    model = MinimumDensityTree(max_cluster_size=180, random_state=0).fit(rows)
    assert sizes_of(model).max() <= 180
    assert_array_equal(model.predict(rows), model.labels_)


def test_large_clusters_are_divided_and_small_ones_joined():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(480, 2)) + np.repeat([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], [400, 40, 40], axis=0)
    model = MinimumDensityTree(5, max_cluster_size=210, **QUICK_TREE).fit(rows)
    assert model.n_clusters_ == 5
    assert sizes_of(model).max() <= 210


def test_clusters_that_stay_too_large_are_named():
    with pytest.warns(UserWarning, match="max_cluster_size=136"):
        MinimumDensityTree(2, max_cluster_size=136, **QUICK_TREE).fit(X)


def test_limit_without_effect_changes_nothing():
    plain, limited = (MinimumDensityTree(4, max_cluster_size=size, **QUICK_TREE).fit(X) for size in (None, 200))
    assert_array_equal(plain.labels_, limited.labels_)


def test_equal_rows_cannot_be_split():
    with pytest.warns(UserWarning, match="larger than max_cluster_size=20"):
        MinimumDensityTree(max_cluster_size=20, **QUICK_TREE).fit(np.ones((50, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_cluster_size": 8}, "twice min_cluster_size"),
        ({"n_clusters": 3, "max_cluster_size": 0.3}, "90.*n_clusters=3"),
    ],
)
def test_impossible_sizes_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        MinimumDensityTree(**parameters).fit(X)


# ----------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("seed", range(3))
def test_integer_weights_equal_repetition(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, len(X))
    weighted = MinimumDensityTree(5, random_state=0).fit(X, sample_weight=weights)
    repeated = MinimumDensityTree(5, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    assert_allclose(weighted.tree_.offset, repeated.tree_.offset, rtol=1e-6)
    assert_allclose(
        np.repeat(weighted.predict_proba(X).max(axis=1), weights),
        repeated.predict_proba(np.repeat(X, weights, axis=0)).max(axis=1),
        atol=1e-6,
    )
    centers = (
        weighted.compute_centers(X, sample_weight=weights),
        repeated.compute_centers(np.repeat(X, weights, axis=0)),
    )
    assert_allclose(*centers)


def test_sizes_count_weights():
    weights = np.where(np.arange(len(X)) < 150, 0.1, 1.0)
    model = MinimumDensityTree(4, min_cluster_size=10, **QUICK_TREE).fit(X, sample_weight=weights)
    assert np.bincount(model.labels_, weights).min() >= 10.0


def test_weights_below_the_smallest_size_are_named():
    with pytest.warns(NoSplitWarning, match=r"min_cluster_size=5.* 1: "):
        MinimumDensityTree(3, **QUICK_TREE).fit(X, sample_weight=np.full(len(X), 1.0 / len(X)))


def test_equal_weights_draw_every_row_once():
    rng = np.random.default_rng(0)
    assert_array_equal(repeat_rows(np.full(50, 0.3), 100, rng), np.arange(50))
    assert_array_equal(repeat_rows(np.array([2.0, 0.0, 1.0]), 100, rng), [0, 0, 2])
    counts = np.bincount(repeat_rows(np.array([5.0, 5.0, 0.5]), 2, rng), minlength=3)
    assert counts.sum() <= 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "sample_weight.*n_clusters"),
        ({"n_clusters": 3, "hyperplane": MinimumDensityHyperplane(test="pooled")}, "sample_weight.*test"),
    ],
)
def test_weights_are_refused_with_the_reason(parameters, message):
    with pytest.raises(ValueError, match=message):
        MinimumDensityTree(**parameters).fit(X, sample_weight=np.full(len(X), 2.0))


def test_weights_need_a_minimum_density_hyperplane():
    class Never:
        def split(self, X, indices, rng):
            return Split(None)

    with pytest.raises(ValueError, match=r"sample_weight.*hyperplane"):
        MinimumDensityTree(2, hyperplane=Never()).fit(X, sample_weight=np.full(len(X), 2.0))


def test_one_weight_may_exceed_all_others():
    weights = np.full(len(X), 1e-30)
    weights[5] = 1e30
    model = MinimumDensityTree(2, random_state=0).fit(X, sample_weight=weights)
    assert_array_equal(model.predict(X), model.labels_)
