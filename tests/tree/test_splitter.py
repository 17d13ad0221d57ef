"""Clusters whose projections overlap along every direction, and the splitter by minimum density."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityHyperplane, MinimumDensityTree, RowBlocks
from ravine.rows import as_rows
from ravine.search import SearchSettings
from ravine.tree.splitter import DensitySplitter
from ravine.validity.cluster_test import run_cluster_test
from ravine.validity.spread_rows import SpreadRows


def draw_crowd(seed, n=900, k=6, d=16):
    """Draw clusters of which each pair is well separated, but whose projections overlap."""
    rng = np.random.default_rng(seed)
    means = np.linalg.qr(rng.standard_normal((d, d)))[0][:k] * 3.3
    y = rng.integers(k, size=n)
    return means[y] + rng.standard_normal((n, d)), y


@pytest.fixture(scope="module")
def crowd():
    """Return rows with six clusters whose own test does not show a valley, and their clusters."""
    for seed in range(20):
        X, y = draw_crowd(seed)
        rng = np.random.default_rng(0)
        if run_cluster_test(SpreadRows.of(as_rows(X), rng), rng, 0.05).pvalue > 0.05:
            return X, y
    raise AssertionError("all sets show a valley: the test cannot prove anything.")


def test_clusters_without_a_common_valley_are_found(crowd):
    mdt = MinimumDensityTree(random_state=0).fit(crowd[0])
    assert mdt.n_clusters_ >= 4
    assert mdt.pvalue_ <= 0.05
    assert adjusted_rand_score(crowd[1], mdt.labels_) > 0.6


def test_result_does_not_depend_on_blocks(crowd):
    one, other = (
        MinimumDensityTree(random_state=0).fit(rows) for rows in (crowd[0], RowBlocks(np.array_split(crowd[0], 7)))
    )
    assert_array_equal(one.labels_, other.labels_)


def test_splitter_finds_the_hyperplane_of_the_estimator():
    X = draw_crowd(0, k=2)[0]
    found = DensitySplitter(SearchSettings()).split(X, np.arange(len(X)), np.random.default_rng(0)).hyperplane
    plane = MinimumDensityHyperplane(random_state=np.random.default_rng(0)).fit(X).hyperplane_
    assert_array_equal(found.normal, plane.normal)
