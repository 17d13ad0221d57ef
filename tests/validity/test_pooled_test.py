"""The pooled valley test: scores of counts, what the test promises, and its way into trees and files."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings, load, save, valley_test
from ravine._plurals import format_pvalue
from ravine.density import measure_evidence
from ravine.rows import as_rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity import Evidence, Tally, ValleyTest, cluster_test
from ravine.validity import valley_test as module
from ravine.validity.results import HIGHEST
from ravine.validity.spread_rows import spread_rows
from support.shape_data import draw_ring
from support.simulate import two_clusters

QUICK = {"init": "pca", "n_init": 1, "path": PathSettings(n_alpha=3, polish=False)}
QUICK_SEARCH = MinimumDensityHyperplane(**QUICK)
LEVEL = 0.05


# ----------------------------------------------------------------------------------------------- counts and scores


@pytest.mark.parametrize(("middle", "total", "expected"), [(3, 20, 8.0), (0, 12, 6.0), (9, 10, 2.0), (40, 90, 60.0)])
def test_score_of_a_tally_is_that_of_the_binomial_distribution(middle, total, expected):
    tally = Tally(middle, total, expected)
    p = binom.cdf(middle, total, expected / total)
    assert_allclose(tally.pvalue, p, rtol=1e-10)
    assert_allclose(tally.score, max(norm.isf(p), -3.0), rtol=1e-8)


def test_scores_are_limited():
    assert Tally(0, 0, 0.0).pvalue == 1.0
    assert Tally(0, 0, 0.0).score == Tally(10, 10, 5.0).score == -3.0
    assert Tally(0, 10**6, 5e5).score == HIGHEST


def test_score_of_a_partition_is_that_of_the_weaker_side():
    low, high = Tally(9, 20, 8.0), Tally(3, 20, 8.0)
    assert Evidence(low, high).score == Evidence(high, low).score == low.score < high.score


# ----------------------------------------------------------------------------------------------- the test


@pytest.mark.parametrize("n", [1, 5, 19])
def test_fewer_than_twenty_rows_give_p_1_in_words(n):
    X = 100.0 * (np.arange(n) % 2)[:, None] + np.random.default_rng(n).normal(size=(n, 2))
    test = valley_test(X, random_state=0)
    assert test.pvalue == 1.0
    assert test.partitions == ()
    assert "too few rows" in str(test)


def test_copies_do_not_make_up_for_missing_rows():
    X = np.r_[np.zeros((8, 2)), np.full((8, 2), 50.0)] + np.random.default_rng(0).normal(size=(16, 2))
    test = valley_test(np.repeat(X, 5, axis=0), random_state=0)
    assert test.partitions == ()
    assert "copies" in str(test)


def test_twenty_rows_are_tested():
    X = np.r_[np.zeros((10, 2)), np.full((10, 2), 50.0)] + np.random.default_rng(0).normal(size=(20, 2))
    assert len(valley_test(X, random_state=0).partitions) >= 1


def test_text_gives_counts_and_partitions():
    test = valley_test(two_clusters(120, separation=4.0)[0], random_state=0)
    assert test.method == "pooled"
    assert format_pvalue(test.pvalue) in str(test)
    assert "pooled" in str(test)
    assert len(re.findall(r"partition \d+: \d+ rows in the valleys", str(test))) == len(test.partitions)


def test_only_the_seed_decides():
    X, _ = two_clusters(150, separation=3.5)
    one, again, other, search, order = (
        valley_test(Z, random_state=seed, hyperplane=plane).partitions
        for Z, seed, plane in ((X, 0, None), (X, 0, None), (X, 1, None), (X, 0, QUICK_SEARCH), (X[::-1], 0, None))
    )
    assert one == again == search == order
    assert one != other


def test_large_samples_are_tested_by_some_of_their_rows(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 200)
    test = valley_test(two_clusters(2000, separation=6.0)[0], random_state=0)
    assert test.pvalue < 1e-4
    assert max(one.strong.total for one in test.partitions) <= 200


def test_result_is_that_of_the_test_of_trees():
    rows, rng = as_rows(two_clusters(150, separation=3.5)[0]), np.random.default_rng(3)
    spread = spread_rows(rows, np.arange(150), rng, drop_copies=True)[1]
    expected = cluster_test.run_cluster_test(spread, rng, LEVEL)
    assert module.run_valley_test(rows, 1, SearchSettings(), np.random.default_rng(3)) == expected


@pytest.mark.parametrize("X", [np.ones((40, 3)), np.repeat([[0.0], [1.0]], 20, axis=0)], ids=["equal", "two values"])
def test_rows_without_a_valley_have_a_large_p(X):
    assert valley_test(X, random_state=0).pvalue > LEVEL


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fewer_rows_than_features_and_float32(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 90)).astype(dtype)
    assert valley_test(X, random_state=0).pvalue > LEVEL
    X[:30] += 2.0
    assert valley_test(X, random_state=0).pvalue < LEVEL


@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_scale_does_not_change_the_result(scale):
    X, _ = two_clusters(100, separation=3.5)
    one, other = (valley_test(Z, random_state=0) for Z in (X, X * scale))
    assert_allclose(one.pvalue, other.pvalue, rtol=1e-6)


def test_pooled_test_is_more_powerful_than_the_exact_one():
    data = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data.append(rng.normal(size=(300, 10)))
        data[-1][:150, 0] += 3.7
    pooled, exact = (
        sum(valley_test(X, method=method, random_state=0).pvalue <= LEVEL for X in data)
        for method in ("pooled", "exact")
    )
    assert pooled >= exact + 4


@pytest.mark.parametrize("law", ["normal", "uniform", "exponential", "standard_cauchy"])
def test_pooled_test_does_not_split_one_cluster(law):
    data = [getattr(np.random.default_rng(seed), law)(size=(120, 4)) for seed in range(12)]
    assert sum(valley_test(X, random_state=0).pvalue <= LEVEL for X in data) <= 1


def test_ring_is_a_bend_and_two_blobs_are_not():
    ring = valley_test(draw_ring(np.random.default_rng(0), 300), random_state=0)
    blobs = valley_test(two_clusters(200, separation=6.0)[0], random_state=0)
    assert (ring.pvalue, ring.is_bend) == (1.0, True)
    assert blobs.pvalue < LEVEL
    assert not blobs.is_bend


def test_null_without_held_out_rows_is_split():
    """Counting the rows that chose the valley would call nearly every noise a split: the folds matter."""
    shown = 0
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(120, 10))
        plane = fit_hyperplane(
            as_rows(X), settings=SearchSettings(subsample=10_000), rng=np.random.default_rng(0)
        ).hyperplane
        shown += plane.splits and min(measure_evidence(plane.distance(X), plane.bandwidth, 0.0)) > norm.isf(LEVEL)
    assert shown >= 7


def test_early_stopping_seldom_changes_the_decision(monkeypatch):
    data = [two_clusters(120, separation=s, seed=k)[0] for k, s in enumerate(np.linspace(2.0, 5.0, 20))]
    early = [valley_test(X, random_state=0) for X in data]
    monkeypatch.setattr(cluster_test, "SHOWN", np.inf)
    monkeypatch.setattr(cluster_test, "HIDDEN", np.inf)
    full = [valley_test(X, random_state=0) for X in data]
    assert all(len(test.partitions) == cluster_test.N_PARTITIONS for test in full)
    assert np.mean([len(test.partitions) for test in early]) < 0.6 * cluster_test.N_PARTITIONS
    assert sum((a.pvalue <= LEVEL) != (b.pvalue <= LEVEL) for a, b in zip(early, full, strict=True)) <= 2


# ----------------------------------------------------------------------------------------------- trees and files


def test_tree_does_not_split_independent_answers_within_two_blocks():
    n_clusters = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        p = np.where(np.arange(400)[:, None] < 200, 0.9, 0.1)
        X = (rng.random((400, 16)) < p).astype(float)
        n_clusters.append(MinimumDensityTree(random_state=0).fit(X).n_clusters_)
    assert max(n_clusters) <= 2


@pytest.mark.parametrize("is_bend", [False, True])
def test_model_files_keep_the_pooled_test(tmp_path, is_bend):
    X = draw_ring(np.random.default_rng(0), 300) if is_bend else two_clusters(100, separation=6.0)[0]
    mdh = MinimumDensityHyperplane(**QUICK, random_state=0, test="pooled").fit(X)
    save(mdh, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.valley_test_ == mdh.valley_test_
    assert again.valley_test_.is_bend is is_bend
    assert str(again.valley_test_) == str(mdh.valley_test_)


def test_partition_without_a_split_is_named():
    nothing = Evidence(Tally(0, 0, 0.0), Tally(0, 0, 0.0))
    assert "  partition 1: no split" in str(ValleyTest(1.0, (), (), "pooled", (nothing,)))


@pytest.mark.parametrize("options", [{"method": "pooled", "pvalue": 0.01}, {"method": "exact", "pvalue": 1.0}])
def test_only_pooled_tests_with_p_1_may_be_bends(options):
    with pytest.raises(ValueError, match="is_bend"):
        ValleyTest(halves=(), grid_columns=(), is_bend=True, **options).validate()


def toss_coins(n):
    """Return two clusters along the second feature; the first one is a coin, with a deeper gap."""
    rng = np.random.default_rng(n)
    is_second = np.arange(n) % 3 == 0
    rows = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n) + 8.0 * is_second])
    return (rows - rows.mean(axis=0)) / rows.std(axis=0), is_second


@pytest.mark.parametrize("n", [120, 400])
def test_a_random_yes_no_feature_does_not_hide_clusters(n):
    rows, is_second = toss_coins(n)
    assert valley_test(rows, random_state=0).pvalue < 0.01
    labels = MinimumDensityTree(random_state=0).fit(rows).labels_
    assert min(np.count_nonzero(labels != is_second), np.count_nonzero(labels == is_second)) <= 2


def test_gaps_between_repeated_values_do_not_choose_the_cut():
    rows, _ = toss_coins(300)
    spread = spread_rows(as_rows(rows), np.arange(300), np.random.default_rng(0))[1]
    cut = cluster_test.find_cut(spread, np.arange(300), np.random.default_rng(0))
    assert abs(cut.direction[1]) > 0.9


def test_a_random_category_does_not_hide_clusters():
    """The levels of a category are far apart, so that no partition of the rows shows the clusters."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        is_second = np.arange(400) % 3 == 0
        numbers = rng.normal(size=(400, 3)) + 6.0 * np.outer(is_second, [1.0, 0.0, 0.0])
        rows = np.column_stack([numbers, np.eye(3)[rng.integers(0, 3, 400)]])
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        assert valley_test(rows, random_state=0).pvalue < 0.01
        labels = MinimumDensityTree(random_state=0).fit(rows).labels_
        assert adjusted_rand_score(is_second, labels) > 0.9
