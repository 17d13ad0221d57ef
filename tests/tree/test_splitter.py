"""Exploration: clusters of a node that does not show a valley of its own."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree, RowBlocks
from ravine.rows import as_rows
from ravine.search import SearchSettings
from ravine.tree import constants
from ravine.tree.splitter import DensitySplitter, NodeTest, find_hidden_split
from ravine.validity.directions import Choosers, measure_separation

SETTINGS = SearchSettings()
TEST = NodeTest(SETTINGS, level=0.05)
SPLITTER = DensitySplitter(replace(SETTINGS, init="axes"), TEST, min_size=5)


def draw_crowd(seed, n=900, k=6, d=16):
    """Draw clusters of which each pair is well separated, but whose projections overlap."""
    rng = np.random.default_rng(seed)
    means = np.linalg.qr(rng.standard_normal((d, d)))[0][:k] * 3.3
    y = rng.integers(k, size=n)
    return means[y] + rng.standard_normal((n, d)), y


def split_root(X):
    return SPLITTER.split(as_rows(X), np.arange(len(X)), np.random.default_rng(0))


@pytest.fixture(scope="module")
def crowd():
    """Return rows with six clusters whose own test does not show a valley, and their clusters."""
    for seed in range(20):
        X, y = draw_crowd(seed)
        if TEST.compute_pvalue(as_rows(X), 1.0, np.random.default_rng(0), None) > TEST.level:
            return X, y
    raise AssertionError("all roots show a valley: the test cannot prove anything.")


@pytest.fixture(scope="module")
def grown(crowd):
    """Return the tree of the rows with six clusters."""
    return MinimumDensityTree(random_state=0).fit(crowd[0])


def test_clusters_without_a_common_valley_are_found(crowd, grown):
    y, mdt = crowd[1], grown
    assert mdt.n_clusters_ >= 4
    assert adjusted_rand_score(y, mdt.labels_) > 0.6


def test_pvalue_of_a_hidden_split_meets_the_level(crowd):
    split = split_root(crowd[0])
    assert split.hyperplane is not None
    assert 0.0 < split.pvalue <= TEST.level


def test_pvalue_is_that_of_the_part_by_its_share(crowd, monkeypatch):
    shown = []

    def compute_pvalue(test, rows, share, rng, pool):
        if not shown and share < 1.0:  # the first part that is tested
            shown.append(share)
            return 0.01 * share
        return 1.0

    monkeypatch.setattr(NodeTest, "compute_pvalue", compute_pvalue)
    assert split_root(crowd[0]).pvalue == pytest.approx(0.01)
    assert 0.0 < shown[0] < 1.0


def test_nothing_is_explored_by_the_exact_test(crowd):
    rows, rng = as_rows(crowd[0]), np.random.default_rng(0)
    assert find_hidden_split(rows, 1.0, SPLITTER, replace(TEST, method="exact"), rng) is None
    assert find_hidden_split(rows, 1.0, SPLITTER, replace(TEST, level=None), rng) is None
    assert find_hidden_split(rows, 0.1, SPLITTER, TEST, rng) is None
    assert find_hidden_split(as_rows(crowd[0][:30]), 1.0, SPLITTER, TEST, rng) is None


@pytest.mark.parametrize("d", [1, 2, 10])
def test_one_cluster_has_no_hidden_split(d):
    rng = np.random.default_rng(d)
    for draw in (rng.standard_normal, rng.standard_exponential, rng.random):
        assert split_root(draw((300, d))).hyperplane is None


def test_equal_rows_and_a_single_line_have_no_hidden_split():
    rng = np.random.default_rng(0)
    assert split_root(np.ones((60, 3))).hyperplane is None
    assert split_root(np.outer(rng.standard_normal(60), [1.0, 2.0])).hyperplane is None


def test_result_depends_neither_on_threads_nor_on_blocks(crowd, grown):
    blocks = RowBlocks(np.array_split(crowd[0], 7))
    mdt = MinimumDensityTree(random_state=0, n_jobs=2).fit(blocks)
    assert_array_equal(mdt.labels_, grown.labels_)


def test_many_rows_are_explored_by_a_sample(crowd, monkeypatch):
    monkeypatch.setattr(constants, "MOST_EXPLORED_ROWS", 800)
    assert split_root(crowd[0]).hyperplane is not None


def test_separation_is_large_for_two_clusters_only():
    x = np.random.default_rng(0).standard_normal((400, 4))
    on_right = x[:, 0] > 0.0
    assert measure_separation(Choosers(x), on_right) < 2.0
    x[on_right, 0] += 3.0
    assert measure_separation(Choosers(x), on_right) > 5.0
