"""The test of more than one cluster: its parts compared with loops, its level, its power, and bends."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm

from ravine.density import ProjectedDensity, compute_silverman_bandwidth, outline_valley
from ravine.rows import as_rows
from ravine.validity import ValleyTest, cluster_test
from ravine.validity.cluster_test import (
    cut_between,
    find_cut,
    judge_sides,
    run_cluster_test,
)
from ravine.validity.spread_rows import SpreadRows
from support.shape_data import draw_moons, draw_ring, draw_spiral

LEVEL = 0.05
NULLS = {
    "normal": lambda rng: rng.normal(size=(120, 3)),
    "one feature": lambda rng: rng.normal(size=(120, 1)),
    "uniform": lambda rng: rng.random((120, 3)),
    "exponential": lambda rng: rng.exponential(size=(120, 3)),
    "unequal scales": lambda rng: rng.normal(size=(120, 3)) * [1e-3, 1.0, 1e3],
    "more features than rows": lambda rng: rng.normal(size=(60, 150)),
    "ratings": lambda rng: rng.binomial(6, 0.4, size=(150, 3)),
    "zeros": lambda rng: np.maximum(rng.normal(size=(150, 3)), 0.0),
    "category": lambda rng: np.column_stack([np.eye(4)[rng.integers(0, 4, 150)], rng.normal(size=(150, 2))]),
    "outliers": lambda rng: np.concatenate([rng.normal(size=(120, 2)), [[1e6, 0.0], [0.0, 1e9]]]),
}
BENDS = {
    "ring": lambda seed: draw_ring(np.random.default_rng(seed), 300),
    "moon": lambda seed: draw_moons(300, seed)[0][:300],
    "spiral": lambda seed: draw_spiral(400, seed),
}


def draw_pair(seed=0, distance=6.0, n=120, d=3):
    """Draw two clusters of equal size, the first one first."""
    means = np.repeat([0.0, distance], n // 2)[:, None] * np.eye(d)[0]
    return np.random.default_rng(seed).normal(size=(n, d)) + means


def spread(X, seed=0):
    return SpreadRows.of(as_rows(np.asarray(X, dtype=float)), np.random.default_rng(seed))


def run(X, seed=0):
    return run_cluster_test(spread(X, seed), np.random.default_rng(seed), LEVEL)


def find_pvalue(X, seed=0):
    return run(X, seed).pvalue


def judge(X, on_right, seed=0):
    return judge_sides(spread(X, seed), ~on_right, on_right, LEVEL)


# ----------------------------------------------------------------------------------------------- all rows


@pytest.mark.parametrize("name", NULLS)
def test_single_clusters_are_seldom_rejected(name):
    n_rejected = sum(find_pvalue(NULLS[name](np.random.default_rng(seed)), seed) <= LEVEL for seed in range(40))
    assert n_rejected <= 5  # 2 of 40 at the level; more than 5 have a probability of 0.01


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("d", [1, 3, 30])
def test_two_clusters_six_deviations_apart_are_shown(d, scale):
    assert max(find_pvalue(scale * draw_pair(seed, d=d), seed) for seed in range(4)) < 0.01


def test_two_clusters_beside_a_category_are_shown():
    category = np.eye(3)[np.random.default_rng(0).integers(0, 3, 120)]
    assert find_pvalue(np.column_stack([category, draw_pair()])) < 0.01


def test_two_clusters_of_ratings_are_shown():
    rng = np.random.default_rng(0)
    assert find_pvalue(np.concatenate([rng.binomial(10, p, size=(80, 4)) for p in (0.2, 0.8)])) < 0.01


@pytest.mark.parametrize("kind", BENDS)
def test_bends_are_one_cluster(kind):
    for seed in range(5):
        test = run(BENDS[kind](seed), seed)
        assert test.pvalue > LEVEL
        assert not test.is_bend or test.pvalue == 1.0


@pytest.mark.parametrize(("draw", "is_bend"), [(BENDS["ring"], True), (lambda seed: draw_pair(seed, d=2), False)])
def test_valley_of_a_ring_is_a_bend_and_that_of_blobs_is_not(draw, is_bend):
    for seed in range(5):
        test = run(draw(seed), seed)
        assert test.is_bend is is_bend
        assert (test.pvalue == 1.0) == is_bend
        assert ("bend" in str(test)) == is_bend
        assert all(one.score > 0.0 for one in test.partitions)


@pytest.mark.parametrize("n", [1, 2, 19])
def test_few_rows_show_nothing(n):
    X = draw_pair(distance=100.0, n=20)
    assert find_pvalue(X) < LEVEL
    assert run(X[-n:]) == ValleyTest(1.0, (), (), "pooled")


def test_equal_rows_show_nothing():
    assert find_pvalue(np.ones((50, 3))) > LEVEL


# ----------------------------------------------------------------------------------------------- given sides


@pytest.mark.parametrize("d", [1, 3, 30])
def test_real_boundary_has_a_small_p(d):
    for seed in range(4):
        assert judge(draw_pair(seed, 5.0, 200, d), np.arange(200) >= 100, seed) < 0.001


@pytest.mark.parametrize("d", [1, 3, 30])
def test_halves_of_a_normal_cloud_have_a_large_p(d):
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(200, d))
        assert judge(X, X[:, 0] > 0.0, seed) > 0.2


def test_other_rows_do_not_matter_to_given_sides():
    X, rng = draw_pair(n=200), np.random.default_rng(1)
    crowd = np.concatenate([X, rng.uniform(-5.0, 10.0, size=(300, 3))])
    first = np.arange(500) < 100
    assert judge_sides(spread(crowd), first, ~first & (np.arange(500) < 200), LEVEL) < 0.001


@pytest.mark.parametrize("n_right", [0, 2])
def test_sides_of_few_rows_show_nothing(n_right):
    X = draw_pair(distance=100.0)
    assert judge(X, np.arange(120) >= 120 - n_right) == 1.0
    assert judge(X[50:69], np.arange(19) >= 10) == 1.0


@pytest.mark.parametrize("kind", ["ring", "moon", "pair"])
def test_bend_is_not_a_valley_between_its_halves(kind, monkeypatch):
    drawn = [draw_pair(seed, n=300, d=2) if kind == "pair" else BENDS[kind](seed) for seed in range(4)]
    halves = [(X, X[:, 0] > np.median(X[:, 0])) for X in drawn]
    assert all((judge(X, on_right) > LEVEL) == (kind != "pair") for X, on_right in halves)
    monkeypatch.setattr(cluster_test, "FEW_DIMENSIONS", 0.0)
    assert min(judge(X, on_right) for X, on_right in halves) < LEVEL


def test_p_of_given_sides_is_the_same_again():
    rows, first = spread(draw_pair(distance=3.0)), np.arange(120) < 60
    assert judge_sides(rows, first, ~first, LEVEL) == judge_sides(rows, first, ~first, LEVEL) > 0.0


# ----------------------------------------------------------------------------------------------- parts


def count_slowly(rows, cut, chosen, judges, together):
    """Return middle, total and expected number of the judges on both sides, row by row; the weaker side first."""
    p = [float(v) for v in rows.project(cut.direction, chosen)]
    valley = outline_valley(np.array(p), 0.9 * float(np.std(p)) * len(p) ** -0.2, cut.threshold)
    if valley is None:
        return np.zeros((2, 3))
    (m0, m1), sides = valley.middle, []
    for a, c in (valley.left, valley.right):
        q = (m1 - m0) / (m1 - m0 + c - a)
        chose = [sum(m0 <= x <= m1 for x in p), sum(a <= x <= c for x in p)]
        z = (sum(chose) * q - chose[0]) / math.sqrt(sum(chose) * q * (1.0 - q))
        judged = rows.project(cut.direction, judges, together)
        middle = sum(m0 <= x <= m1 for x in judged)
        total = middle + sum(a <= x <= c for x in judged)
        sides.append((z, [middle, total, total * q]))
    return np.array([counts for _, counts in sorted(sides, key=lambda side: side[0])])


def judge_slowly(rows, seed):
    """Return the evidence of one partition: for every spreading, the counts of all folds are added."""
    rng, n = np.random.default_rng(seed), len(rows)
    fold = rng.permutation([i % 3 for i in range(n)])
    sums = {together: np.zeros((2, 3)) for together in rows.spreadings}
    for k in range(3):
        others, judges = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        cut = find_cut(rows, others, rng)
        for together in sums if cut is not None else ():
            sums[together] += count_slowly(rows, cut, others, judges, together)
    scores = {}
    for together, sides in sums.items():
        p = [binom.cdf(middle, total, expected / total) for middle, total, expected in sides]
        scores[together] = min(max(norm.isf(one), -3.0) for one in p)
    return sums[min(scores, key=scores.get)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["numbers", "related ratings"])
def test_counts_of_a_partition_are_those_of_the_slow_twin(kind, seed):
    X = draw_pair(seed, distance=4.0)
    if kind == "related ratings":
        X = X.round()
        X[:, 1] = X[:, 0] + (np.random.default_rng(seed).random(120) < 0.2)
    rows = spread(X)
    assert len(rows.spreadings) == (1 if kind == "numbers" else 2)
    evidence = run_cluster_test(rows, np.random.default_rng(seed), LEVEL).partitions[0]
    expected = judge_slowly(rows, seed)
    for tally, counts in zip((evidence.weak, evidence.strong), expected, strict=True):
        assert_allclose([tally.middle, tally.total, tally.expected], counts, rtol=1e-6)


@pytest.mark.parametrize("distance", [2.5, 5.0])
def test_p_is_that_of_the_mean_score_of_the_weaker_side(distance):
    test = run(draw_pair(distance=distance))
    scores = [[norm.isf(binom.cdf(t.middle, t.total, t.expected / t.total)) for t in (one.weak, one.strong)]
              for one in test.partitions]  # fmt: skip
    assert not test.is_bend
    assert_allclose(test.pvalue, norm.sf(min(np.maximum(scores, -3.0).mean(axis=0))), rtol=1e-6)


def test_splits_multiply_the_largest_number_of_partitions(monkeypatch):
    monkeypatch.setattr(cluster_test, "SHOWN", math.inf)
    monkeypatch.setattr(cluster_test, "HIDDEN", math.inf)
    for n_splits in (1, 3):
        test = run_cluster_test(spread(draw_pair()), np.random.default_rng(0), LEVEL, n_splits)
        assert len(test.partitions) == cluster_test.N_PARTITIONS * n_splits


def test_valleys_are_those_of_sums_over_rows():
    rows = spread(draw_pair(n=90))
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    cuts = cluster_test._find_valleys(rows, np.arange(90), directions)
    h, edge, n_bins = compute_silverman_bandwidth(1.0, 90), cluster_test.EDGE, cluster_test.N_BINS
    for cut, p in zip(cuts, rows.project(directions), strict=True):
        z = (p - p.mean()) / p.std()
        bins = [-edge + (k + 0.5) * 2.0 * edge / n_bins for k in range(n_bins)]
        binned = [min(max(math.floor((v + edge) * n_bins / (2.0 * edge)), 0), n_bins - 1) for v in z]
        density = [sum(math.exp(-0.5 * ((b - bins[k]) / h) ** 2) for k in binned) / (90 * h) for b in bins]
        scores = []
        for k in range(n_bins):
            n_before = sum(place <= k for place in binned)
            height = min(max(density[: k + 1]), max(density[k:]))
            score = (math.sqrt(height) - math.sqrt(density[k])) * math.sqrt(90 * h)
            scores.append(score if min(n_before, 90 - n_before) >= 5 else 0.0)
        assert cut.score == pytest.approx(max(scores), abs=1e-9)
        chosen = int(np.argmin(np.abs(p.mean() + p.std() * np.array(bins) - cut.threshold)))
        assert scores[chosen] == pytest.approx(max(scores), abs=1e-9)


def test_search_finds_the_boundary_between_clusters():
    for seed in range(4):
        X = draw_pair(seed, d=10)
        cut = find_cut(spread(X), np.arange(120), np.random.default_rng(seed))
        sides = spread(X).x @ cut.direction > cut.threshold
        assert min((sides != (np.arange(120) >= 60)).sum(), (sides == (np.arange(120) >= 60)).sum()) <= 2


def test_cut_lies_at_the_lowest_density_between_the_means():
    rows, on_right = spread(draw_pair(distance=4.0)), np.arange(120) >= 60
    cut = cut_between(rows, np.arange(120), on_right)
    p = rows.project(cut.direction)
    density = ProjectedDensity(p, compute_silverman_bandwidth(float(p.std()), 120))
    means = p[~on_right].mean(), p[on_right].mean()
    assert means[0] < cut.threshold < means[1]
    assert density(cut.threshold) <= density(np.linspace(*means, 2001)[100:-100]).min() * (1.0 + 1e-6)
    assert cut_between(rows, np.arange(120), np.zeros(120, dtype=bool)) is None
