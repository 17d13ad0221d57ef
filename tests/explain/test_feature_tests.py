"""P-values of the features that separate clusters."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ks_2samp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, compare_clusters
from ravine._plurals import format_pvalue
from ravine.explain import describe_evidence, feature_tests
from ravine.report import write_report


def make_clusters(seed: int, n: int = 300, n_null: int = 6, k: int = 2) -> np.ndarray:
    """Simulate clusters that two features separate, and features of noise: normal, skewed and of few values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    noise = rng.normal(size=(n, n_null))
    noise[:, 1::3] = rng.exponential(size=noise[:, 1::3].shape)
    noise[:, 2::3] = rng.integers(0, 3, noise[:, 2::3].shape)
    return np.column_stack([rng.normal(size=n) + 5.0 * y, rng.normal(size=n) - 4.0 * y, noise])


def fit_tree(X: np.ndarray, k: int = 2) -> MinimumDensityTree:
    return MinimumDensityTree(k, random_state=0).fit(X)


def correct_slowly(pvalues: list[float]) -> list[float]:
    """Apply Holm's correction by its definition."""
    ranked = sorted(range(len(pvalues)), key=lambda i: pvalues[i])
    adjusted = [0.0] * len(pvalues)
    for place, i in enumerate(ranked):
        adjusted[i] = min(1.0, max(pvalues[j] * (len(pvalues) - rank) for rank, j in enumerate(ranked[: place + 1])))
    return adjusted


def test_features_that_separate_are_significant_and_noise_is_not():
    X = make_clusters(0)
    tests = compare_clusters(fit_tree(X), X, (0, 1))
    assert (tests.adjusted[0, :2] < 1e-3).all()
    assert (tests.adjusted[0, 2:] > 0.05).all()
    assert np.sign(tests.effect[0, 0]) == -np.sign(tests.effect[0, 1])


@pytest.mark.parametrize("separation", [0.0, 4.0], ids=["no other clusters", "other clusters"])
def test_a_category_that_alone_separates_is_not_tested(separation):
    """The other features show no clusters, or others: their P-value is not about the clusters of the tree."""
    rng = np.random.default_rng(0)
    region, other = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    X = np.c_[30.0 * region, rng.normal(size=(400, 2)) + separation * other[:, None]]
    mdh = MinimumDensityHyperplane(random_state=0, init=np.eye(3)[:1]).fit(X)
    assert adjusted_rand_score(region, mdh.labels_) == 1.0
    tests = compare_clusters(mdh, X, (0, 1))
    assert abs(tests.effect[0, 0]) > 10.0
    assert np.isnan(tests.pvalue[0, 0])


def test_pvalues_do_not_contradict_the_shares_of_categories():
    """A category that nearly all rows of a cluster have, and few others, has no large P-value."""
    n_tested = 0
    for seed in range(10, 18):
        rng = np.random.default_rng(seed)
        kind, n, k = rng.integers(0, 4, 120), 120, 4
        region = np.where(rng.random(n) < 0.9, kind, rng.integers(0, 4, n))
        X = np.c_[rng.normal(size=(n, 3)) + 2.0 * rng.normal(size=(k, 3))[kind], 2.0 * np.eye(4)[region]]
        tree = fit_tree(X, k)
        tests = compare_clusters(tree, X)
        for cluster in range(tree.n_clusters_):
            inside = tree.labels_ == cluster
            differs = np.abs(X[inside, 3:].mean(axis=0) - X[~inside, 3:].mean(axis=0)) > 1.2
            n_tested += np.count_nonzero(~np.isnan(tests.adjusted[cluster, 3:][differs]))
            assert not (tests.adjusted[cluster, 3:][differs] > 0.3).any()
    assert n_tested > 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**-1010, 2.0**930])
def test_pvalues_of_features_do_not_depend_on_their_units(scale):
    X = make_clusters(0)
    mdh, other = (MinimumDensityHyperplane(random_state=0).fit(rows) for rows in (X, X * scale))
    assert_allclose(compare_clusters(other, X * scale).pvalue, compare_clusters(mdh, X).pvalue, rtol=1e-9)


def test_clusters_of_noise_do_not_make_features_significant(monkeypatch):
    """Rows that form clusters find differences in most features; rows that are held out do not."""
    monkeypatch.setattr(feature_tests, "SAME_CLUSTER", 0.0)  # otherwise no cluster of noise is tested
    naive, honest = [], []
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(120, 8))
        tree = fit_tree(X)
        naive += [ks_2samp(*(x[tree.labels_ == k] for k in (0, 1))).pvalue < 0.05 for x in X.T]
        tests = compare_clusters(tree, X, (0, 1))
        honest += (tests.pvalue[0][~np.isnan(tests.pvalue[0])] < 0.05).tolist()
    assert len(honest) > 20
    assert np.mean(naive) > 0.15
    assert np.mean(honest) <= 0.05


@pytest.mark.slow
def test_two_thousand_features_of_noise_are_rarely_significant():
    pvalues = []
    for seed in range(100):
        k = 2 + seed % 2
        X = make_clusters(seed, n=(100, 300, 600)[seed % 3], n_null=20, k=k)
        pvalues += compare_clusters(fit_tree(X, k), X).pvalue[0, 2:].tolist()
    pvalues = np.array(pvalues)
    assert np.count_nonzero(~np.isnan(pvalues)) > 1500
    assert np.nanmean(pvalues <= 0.05) <= 0.05


def test_a_feature_that_alone_separates_clusters_is_found():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 4))
    X[:400, 2] += 6.0
    adjusted = compare_clusters(fit_tree(X), X, (0, 1)).adjusted[0]
    assert adjusted[2] < 0.01
    assert (adjusted[[0, 1, 3]] > 0.05).all()


def test_features_of_two_values_are_compared_by_their_shares():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    X = np.column_stack([rng.normal(size=(400, 2)) + 5.0 * y[:, None], rng.random(400) < 0.2 + 0.6 * y, y * 0.0])
    X = np.column_stack([X, rng.random(400) < 0.5])
    adjusted = compare_clusters(fit_tree(X), X, (0, 1)).adjusted[0]
    assert adjusted[2] < 0.01
    assert np.isnan(adjusted[3])  # constant
    assert adjusted[4] > 0.05


def test_holm_correction_equals_its_definition():
    rng = np.random.default_rng(5)
    pvalue = rng.uniform(size=(3, 5)) ** 4
    pvalue[1, 2], pvalue[0, 0], pvalue[2, 4] = np.nan, 0.0, pvalue[0, 1]
    adjusted = feature_tests._correct(pvalue)
    tested = ~np.isnan(pvalue)
    assert np.array_equal(np.isnan(adjusted), ~tested)
    assert adjusted[tested].tolist() == pytest.approx(correct_slowly(pvalue[tested].tolist()))


def test_each_cluster_is_compared_with_the_rest_by_default():
    X = make_clusters(6, k=3)
    tests = compare_clusters(fit_tree(X, 3), X, feature_names=[f"f{j}" for j in range(8)])
    assert tests.clusters == [(0, None), (1, None), (2, None)]
    assert tests.pvalue.shape == tests.effect.shape == (3, 8)
    assert "cluster 2" in str(tests)
    assert "f1" in str(tests)
    assert tests.n_rows == 150


def test_a_hyperplane_is_compared_too_and_the_seed_decides():
    X = make_clusters(7)
    plane = MinimumDensityHyperplane(random_state=0).fit(X)
    first, again = (compare_clusters(plane, X, (0, 1), random_state=1) for _ in range(2))
    assert np.array_equal(first.pvalue, again.pvalue, equal_nan=True)
    assert not np.array_equal(first.pvalue, compare_clusters(plane, X, (0, 1), random_state=2).pvalue, equal_nan=True)
    assert (first.adjusted[0, :2] < 0.01).all()


def test_clusters_that_a_half_does_not_find_are_not_tested():
    labels, others = np.repeat([0, 1, 2], 20), np.tile([0, 1, 2], 20)
    assert feature_tests._match_clusters(labels, labels[::-1], 3) == {0: 2, 1: 1, 2: 0}
    assert feature_tests._match_clusters(labels, others, 3) == {}
    X = np.random.default_rng(0).normal(size=(39, 3))
    few = compare_clusters(fit_tree(X), X, (0, 1))
    assert np.isnan(few.pvalue).all()
    assert "not tested" in str(few)


def test_joins_by_links_do_not_stop_the_comparison_or_the_report(tmp_path):
    X = make_clusters(12, k=3)
    first, second = (int(np.flatnonzero(fit_tree(X, 3).labels_ == k)[0]) for k in (0, 1))
    tree = MinimumDensityTree(2, max_cluster_size=250, random_state=0).fit(X, must_link=[(first, second)])
    assert compare_clusters(tree, X).pvalue.shape == (tree.n_clusters_, 8)
    write_report(tmp_path / "report.html", tree, X)


def test_matched_clusters_agree_with_an_exhaustive_search():
    from itertools import permutations

    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 2)) + rng.choice([0.0, 4.0], size=(200, 2))
    labels, others = (KMeans(4, n_init=3, random_state=s).fit_predict(X[:, :1] if s else X) for s in (0, 1))

    def overlap(a: int, b: int) -> float:
        both = np.count_nonzero((labels == a) & (others == b))
        return both / np.count_nonzero((labels == a) | (others == b))

    best = max(permutations(range(4)), key=lambda p: sum(overlap(a, b) for a, b in enumerate(p)))
    expected = {a: b for a, b in enumerate(best) if overlap(a, b) >= feature_tests.SAME_CLUSTER}
    assert feature_tests._match_clusters(labels, others, 4) == expected


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_cluster_size": 0.1},
        {"max_cluster_size": 200},
        {"max_cluster_size": 0.7, "min_cluster_size": 40},
        {"contamination": 0.05},
        {"hyperplane": MinimumDensityHyperplane(test="pooled")},
        {"alpha": 0.01},
    ],
)
def test_parameters_of_the_tree_are_kept_for_half_of_the_rows(parameters):
    X = make_clusters(11)
    tree = MinimumDensityTree(2, random_state=0, **parameters).fit(X)
    assert (compare_clusters(tree, X, (0, 1)).adjusted[0, :2] < 0.05).all()


@pytest.mark.parametrize(
    ("clusters", "words"),
    [((0, 2), "clusters"), ((1, 1), "different"), ((0,), "two numbers"), ("01", "two numbers")],
)
def test_wrong_clusters_are_named(clusters, words):
    X = make_clusters(9)
    with pytest.raises((ValueError, TypeError), match=words):
        compare_clusters(fit_tree(X), X, clusters)


def test_one_cluster_and_classifiers_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="compare"):
        compare_clusters(MinimumDensityTree(1).fit(X), X)
    y = np.where(np.arange(60) < 2, np.arange(60), -1)
    with pytest.raises(TypeError, match="clusterer"):
        compare_clusters(MinimumDensityClassifier().fit(X, y), X)


def test_report_shows_the_pvalues_unless_they_are_switched_off(tmp_path):
    X = make_clusters(10)
    tree = fit_tree(X)
    adjusted = compare_clusters(tree, X).adjusted
    for wanted in (True, False):
        write_report(tmp_path / "report.html", tree, X, feature_tests=wanted)
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", text, re.DOTALL).group(1))
        groups = data["cuts"][data["firstCut"]]["groups"]
        for k, g in enumerate(groups):
            for feature, *_, p in data["groups"][g]["apart"]:
                j = int(data["features"][feature].removeprefix("x"))
                assert p == (format_pvalue(adjusted[k, j]) if wanted else None)


def test_of_many_features_those_that_differ_most_are_tested(monkeypatch):
    monkeypatch.setattr(feature_tests, "MOST_FEATURES", 2)
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 6)), np.repeat([0, 1], 30)
    rows[:, 0] = 1.0
    rows[labels == 1, 2] += 9.0
    rows[labels == 1, 5] += 5.0
    assert feature_tests._choose_features(rows, labels).tolist() == [2, 5]


def test_evidence_of_several_classes_counts_the_pairs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 50, axis=0)
    y = np.where(np.arange(150) % 50 < 5, np.arange(150) // 50, -1)
    assert re.match(r"In (\d|none) of the 3 pairs", describe_evidence(MinimumDensityClassifier().fit(rows, y)))
