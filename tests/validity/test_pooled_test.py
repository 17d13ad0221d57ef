"""The pooled valley test: counts of all folds, compared with a slow twin, and what it promises."""

import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm
from sklearn.covariance import LedoitWolf

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings, load, save, valley_test
from ravine._plurals import format_pvalue
from ravine.density import measure_evidence, outline_valley
from ravine.rows import as_rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity import Evidence, Tally, ValleyTest, run_valley_test
from ravine.validity import valley_test as module
from ravine.validity.directions import Choosers, choose_cuts, solve_shrunk
from ravine.validity.repeated_values import Grids
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
    assert Tally(0, 10**6, 5e5).score == 37.0


def test_partitions_are_averaged_for_each_direction_and_side():
    rng = np.random.default_rng(0)
    partitions = []
    for _ in range(5):
        counts = [(int(k), 60, 30.0) for k in rng.integers(15, 30, 6)]
        tallies = [Tally(*count) for count in counts]
        partitions.append([Evidence(str(j), tallies[2 * j], tallies[2 * j + 1]) for j in range(3)])
    best = -np.inf
    for j in range(3):
        weak = np.mean([norm.isf(binom.cdf(one[j].weak.middle, 60, 0.5)) for one in partitions])
        strong = np.mean([norm.isf(binom.cdf(one[j].strong.middle, 60, 0.5)) for one in partitions])
        best = max(best, min(weak, strong))
    assert_allclose(module.combine_partitions(partitions), best, rtol=1e-8)
    assert_allclose(module.compute_pvalue(best), module.CALIBRATION * norm.sf(best), rtol=1e-8)


def slow_partition(X, settings, rng):
    """Return the sums of middle, total and expected rows for each direction and side, row by row."""
    n, sums = len(X), np.zeros((3, 2, 3))
    fold_of_row = rng.permutation([i % 3 for i in range(n)])
    for k in range(3):
        T, fold = X[fold_of_row != k], X[fold_of_row == k]
        fit = fit_hyperplane(as_rows(T), settings=settings, rng=rng)
        for j, cut in enumerate(choose_cuts(Choosers(T), fit)):
            if cut is None:
                continue
            p = (T - cut.center) @ cut.normal
            valley = outline_valley(p, cut.bandwidth, cut.offset)
            if valley is None:
                continue
            (m0, m1), sides = valley.middle, (valley.left, valley.right)
            rows = []
            for a, c in sides:
                q = (m1 - m0) / (m1 - m0 + c - a)
                middle = sum(m0 <= x <= m1 for x in (fold - cut.center) @ cut.normal)
                total = middle + sum(a <= x <= c for x in (fold - cut.center) @ cut.normal)
                trained = [sum(m0 <= x <= m1 for x in p), sum(a <= x <= c for x in p)]
                z = (sum(trained) * q - trained[0]) / np.sqrt(sum(trained) * q * (1 - q))
                rows.append((z, [middle, total, total * q]))
            rows.sort(key=lambda row: row[0])
            sums[j] += [counts for _, counts in rows]
    return sums


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_the_slow_twin(seed, monkeypatch):
    X, _ = two_clusters(150, separation=3.5)
    settings = SearchSettings(init="pca", n_init=2, n_alpha=3, polish=False).check_init(X.shape[1])
    monkeypatch.setattr(module, "N_PARTITIONS", 1)
    monkeypatch.setattr(module, "CLEAR", np.inf)
    test = run_valley_test(as_rows(X), 1, settings, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    rng.choice(150, 150, replace=False)  # rows that are examined for grids
    slow = slow_partition(X, settings, rng)
    for evidence, sides in zip(test.partitions[0], slow, strict=True):
        for tally, counts in zip((evidence.weak, evidence.strong), sides, strict=True):
            assert_allclose([tally.middle, tally.total, tally.expected], counts, rtol=1e-6)


# ----------------------------------------------------------------------------------------------- directions


@pytest.mark.parametrize("shape", [(80, 5), (30, 60), (40, 40)])
def test_discriminant_uses_the_covariance_of_ledoit_and_wolf(shape):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=shape) * np.linspace(0.5, 3.0, shape[1])
    difference = rng.normal(size=shape[1])
    S = LedoitWolf(assume_centered=True).fit(Z).covariance_
    assert_allclose(solve_shrunk(Z, difference), np.linalg.solve(S, difference) * np.abs(Z).max() ** 2, rtol=1e-6)


def test_rows_without_variation_within_the_sides_give_the_difference():
    difference = np.array([1.0, 2.0])
    assert_array_equal(solve_shrunk(np.zeros((10, 2)), difference), difference)


def test_chosen_cut_is_the_deepest_with_enough_evidence():
    X, _ = two_clusters(200, separation=5.0)
    fit = fit_hyperplane(as_rows(X), settings=SearchSettings(subsample=10_000), rng=np.random.default_rng(0))
    first, *others = choose_cuts(Choosers(X), fit)
    planes = [step.hyperplane for step in fit.path if step.hyperplane.splits]
    enough = [p for p in planes if min(measure_evidence(p.distance(X), p.bandwidth, 0.0)) >= 2.0]
    deepest = max(enough, key=lambda p: p.relative_depth)
    assert_array_equal(first.normal, deepest.normal)
    assert all(abs(cut.normal @ first.normal) > 0.7 for cut in others)


# ----------------------------------------------------------------------------------------------- the test


@pytest.mark.parametrize("n", [1, 5, 19])
def test_fewer_than_twenty_rows_give_p_1_in_words(n):
    X = 100.0 * (np.arange(n) % 2)[:, None] + np.random.default_rng(n).normal(size=(n, 2))
    test = valley_test(X, random_state=0)
    assert test.pvalue == 1.0
    assert test.partitions == ()
    assert "too few rows" in str(test)


def test_twenty_rows_are_tested():
    X = np.r_[np.zeros((10, 2)), np.full((10, 2), 50.0)] + np.random.default_rng(0).normal(size=(20, 2))
    assert len(valley_test(X, random_state=0).partitions) >= 1


def test_text_gives_counts_and_partitions():
    test = valley_test(two_clusters(120, separation=4.0)[0], random_state=0)
    assert test.method == "pooled"
    assert format_pvalue(test.pvalue) in str(test)
    assert "pooled" in str(test)
    assert len(re.findall(r"partition \d+: \d+ rows in the valleys", str(test))) == len(test.partitions)


def test_seed_decides_and_threads_do_not():
    X, _ = two_clusters(150, separation=3.5)
    one, again, other, threads = (
        valley_test(X, random_state=seed, hyperplane=MinimumDensityHyperplane(n_jobs=jobs, init="auto")).partitions
        for seed, jobs in ((0, 1), (0, 1), (1, 1), (0, 2))
    )
    assert one == again == threads
    assert one != other


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
    one, other = (valley_test(Z, random_state=0, hyperplane=QUICK_SEARCH) for Z in (X, X * scale))
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
    early = [valley_test(X, random_state=0, hyperplane=QUICK_SEARCH) for X in data]
    monkeypatch.setattr(module, "SHOWN", np.inf)
    monkeypatch.setattr(module, "HIDDEN", np.inf)
    monkeypatch.setattr(module, "CLEAR", np.inf)
    full = [valley_test(X, random_state=0, hyperplane=QUICK_SEARCH) for X in data]
    assert all(len(test.partitions) == module.N_PARTITIONS for test in full)
    assert np.mean([len(test.partitions) for test in early]) < 0.6 * module.N_PARTITIONS
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


def test_model_files_keep_the_pooled_test(tmp_path):
    mdh = MinimumDensityHyperplane(**QUICK, random_state=0, test="pooled").fit(two_clusters(100, separation=4.0)[0])
    save(mdh, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.valley_test_ == mdh.valley_test_
    assert str(again.valley_test_) == str(mdh.valley_test_)


def test_partition_without_a_split_is_named():
    nothing = Evidence("normal", Tally(0, 0, 0.0), Tally(0, 0, 0.0))
    assert "  partition 1: no split" in str(ValleyTest(1.0, (), (), "pooled", 5, ((nothing,),)))


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
    rng = np.random.default_rng(0)
    fit = fit_hyperplane(as_rows(rows), settings=SearchSettings(subsample=10_000), rng=rng)
    spread = partial(Grids.of(as_rows(rows), rng).spread, as_rows(rows), rng=rng)
    raw, spread_out = (choose_cuts(Choosers(rows), fit, way)[0].normal for way in (None, spread))
    assert abs(raw[0]) > 0.9
    assert abs(spread_out[1]) > 0.9
