"""MultipleImputer and fit_consensus: completions that look like the rows, and one tree on which they agree."""

import warnings

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import (
    MinimumDensityHyperplane,
    MinimumDensityTree,
    MixedScaler,
    MultipleImputer,
    fit_consensus,
    valley_test,
)
from ravine.tables.imputer import _draw_uniform, _find_nearest, _hash_rows, _list_parts


def remove_cells(X, share, seed=0):
    rng = np.random.default_rng(seed)
    gaps = rng.random(X.shape) < share
    gaps[gaps.all(axis=1), 0] = False
    return np.where(gaps, np.nan, X)


def three_clusters(n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 7.0 * np.eye(3, 5)[y] + rng.normal(size=(n, 5)), y


@parametrize_with_checks([MultipleImputer(2, random_state=0)])
def test_imputer_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


def test_cells_that_are_there_stay_and_others_are_filled():
    X = remove_cells(three_clusters()[0], 0.3)
    completions = MultipleImputer(3, random_state=0).fit(X).impute(X)
    assert completions.shape == (3, *X.shape)
    assert np.isfinite(completions).all()
    known = ~np.isnan(X)
    for one in completions:
        np.testing.assert_array_equal(one[known], X[known])
    assert (completions[0][~known] != completions[1][~known]).mean() > 0.9


def test_same_rows_give_the_same_completions():
    X = remove_cells(three_clusters()[0], 0.3)
    imputer = MultipleImputer(2, random_state=0).fit(X)
    np.testing.assert_array_equal(imputer.impute(X), imputer.impute(X))
    np.testing.assert_array_equal(imputer.impute(X), clone(imputer).fit(X).impute(X))
    np.testing.assert_array_equal(imputer.transform(X), imputer.impute(X)[0])
    complete = three_clusters()[0]
    np.testing.assert_array_equal(imputer.impute(complete)[1], complete)


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_completions_keep_means_spreads_and_correlations(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.5], [0.0, 0.0, 0.9]])
    Z = MultipleImputer(1, random_state=0).fit(remove_cells(X, share)).impute(remove_cells(X, share))[0]
    np.testing.assert_allclose(Z.mean(axis=0), X.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(Z.std(axis=0), X.std(axis=0), rtol=0.08)
    np.testing.assert_allclose(np.corrcoef(Z.T), np.corrcoef(X.T), atol=0.12)


def test_values_come_from_the_own_cluster():
    X, y = three_clusters()
    holed = X.copy()
    holed[::4, 0] = np.nan  # the other features tell the clusters apart
    Z = MultipleImputer(4, random_state=0).fit(holed).impute(holed)
    means = np.array([X[y == k, 0].mean() for k in range(3)])
    assert (np.abs(Z[:, ::4, 0] - means[y[::4]]) < 4.5).mean() > 0.95


def test_repeated_values_and_categories_stay_what_they_are():
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b", "c"], 200).astype(object)
    kinds[::6] = None
    counts = rng.integers(0, 4, 200).astype(float)
    counts[::7] = np.nan
    features = MixedScaler(missing="keep").fit_transform(np.column_stack([kinds, counts, rng.normal(size=200)]))
    Z = MultipleImputer(3, random_state=0).fit(features).impute(features)
    known = {tuple(row) for row in features[~np.isnan(features[:, 0]), :3].round(9).tolist()}
    assert {tuple(row) for row in Z[:, :, :3].round(9).reshape(-1, 3).tolist()} == known
    assert set(Z[:, :, 3].round(9).ravel()) == set(features[~np.isnan(features[:, 3]), 3].round(9))


def test_nearest_rows_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    rows, donors = rng.normal(size=(30, 4)), rng.normal(size=(50, 4))
    for row, found in zip(rows, _find_nearest(rows, donors, 7), strict=True):
        assert set(found) == set(np.argsort([np.sum((row - donor) ** 2) for donor in donors])[:7])


def test_single_feature_is_drawn_from_all_rows():
    x = np.random.default_rng(0).normal(size=(400, 1))
    x[::2] = np.nan
    Z = MultipleImputer(1, random_state=0).fit(x).impute(x, apart=True)[0, ::2, 0]
    assert abs(Z.mean() - np.nanmean(x)) < 0.25
    assert abs(Z.std() - np.nanstd(x)) < 0.2


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 1), (6, 2)])
def test_few_rows_are_completed(shape):
    X = np.random.default_rng(0).normal(size=shape)
    imputer = MultipleImputer(2, random_state=0).fit(X)
    assert np.isfinite(imputer.impute(np.full(shape, np.nan))).all()


def test_features_missing_together_are_one_group():
    donor_gaps, gaps = np.zeros((2, 6, 5), dtype=bool)
    donor_gaps[[1, 2], 1] = donor_gaps[[1, 2], 3] = donor_gaps[4, 2] = True
    gaps[0, [1, 3]] = gaps[1, 3] = gaps[2, [0, 4]] = gaps[5, 2] = True
    parts = [(group, rows.tolist(), features.tolist()) for group, rows, features in _list_parts(gaps, donor_gaps)]
    assert parts == [(0, [2], [0, 4]), (2, [5], [2]), (1, [1], [3]), (1, [0], [1, 3])]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_completions_of_a_row_do_not_depend_on_other_rows(rng, d):
    X = remove_cells(three_clusters()[0][:, :d], 0.3)
    new = remove_cells(np.round(3.0 * three_clusters(seed=1)[0][:, :d]), 0.4, seed=1)
    new[rng.random(len(new)) < 0.1] = np.nan
    imputer = MultipleImputer(2, random_state=0).fit(X)
    whole = imputer.impute(new)
    order = rng.permutation(len(new))
    np.testing.assert_array_equal(imputer.impute(new[order]), whole[:, order])
    for some in ([0], [7, 3], np.arange(100), np.flatnonzero(np.isnan(new[:, 0])), np.repeat(np.arange(9), 3)):
        np.testing.assert_array_equal(imputer.impute(np.asfortranarray(new[some])), whole[:, some])


def test_equal_rows_differ_only_apart():
    X = remove_cells(three_clusters()[0], 0.3)
    imputer = MultipleImputer(2, random_state=0).fit(X)
    copies = np.tile([1.0, np.nan, 0.0, -0.0, np.nan], (50, 1))
    assert len(np.unique(imputer.impute(copies)[0], axis=0)) == 1
    assert len(np.unique(imputer.impute(copies, apart=True)[0], axis=0)) == 50
    np.testing.assert_array_equal(imputer.impute(X, apart=True), imputer.impute(X))
    np.testing.assert_array_equal(imputer.impute(copies, apart=True)[:, :1], imputer.impute(copies[:1]))


def test_random_numbers_are_uniform_and_independent():
    keys = _hash_rows(np.arange(2000.0)[:, None])
    u = np.c_[_draw_uniform(keys, [1, 2], 3), _draw_uniform(keys, [1, 3], 1)]
    assert all(kstest(column, "uniform").pvalue > 0.01 for column in u.T)
    assert np.abs(np.corrcoef(u.T) - np.eye(4)).max() < 0.06
    assert np.abs(np.corrcoef(u[1:, 0], u[:-1, 0])[0, 1]) < 0.06


def test_bad_input_is_named():
    X = three_clusters()[0]
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"feature 'x2' .*missing"):
        MultipleImputer().fit(X)
    with pytest.raises(ValueError, match=r"feature 'x1' .*too large"):
        MultipleImputer().fit(three_clusters()[0] * [1.0, 1e200, 1.0, 1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"feature 'x0' .*too large"):
            MultipleImputer().fit(np.clip(three_clusters()[0], -1.0, 1.0) * 1e308)
    with pytest.raises(ValueError, match="n_imputations"):
        MultipleImputer(0).fit(three_clusters()[0])
    with pytest.raises(ValueError, match="n_neighbors"):
        MultipleImputer(n_neighbors=0).fit(three_clusters()[0])


# ----------------------------------------------------------------------------------------------- consensus


def test_clusters_are_found_in_spite_of_missing_cells():
    X, y = three_clusters()
    holed = remove_cells(X, 0.12)
    consensus = fit_consensus(MinimumDensityTree(3, random_state=0), holed)
    assert consensus.n_clusters == (3,) * 8
    assert adjusted_rand_score(y, consensus.labels) > 0.85
    np.testing.assert_array_equal(consensus.estimator.predict(consensus.X), consensus.labels)
    np.testing.assert_array_equal(consensus.predict(holed), consensus.labels)
    known = ~np.isnan(holed)
    np.testing.assert_array_equal(consensus.X[known], holed[known])


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_clusters_of_a_batch_are_those_of_its_rows(rng, share):
    """Also of equal rows, whose completions differ in the fit."""
    X = np.round(three_clusters()[0], 0)[:, :3]
    holed = remove_cells(X[rng.integers(0, 60, 240)], share)
    consensus = fit_consensus(MinimumDensityTree(3, random_state=0), holed, imputer=MultipleImputer(4, random_state=0))
    np.testing.assert_array_equal(consensus.predict(holed), consensus.labels)
    np.testing.assert_array_equal(consensus.estimator.predict(consensus.X), consensus.labels)
    order = rng.permutation(len(holed))
    np.testing.assert_array_equal(consensus.predict(holed[order]), consensus.labels[order])
    parts = [consensus.predict(holed[k : k + 7]) for k in range(0, len(holed), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), consensus.labels)


def test_unstable_rows_are_those_with_missing_cells():
    X, y = three_clusters()
    holed = X.copy()
    holed[:30, :3] = np.nan  # all that tells the clusters apart
    consensus = fit_consensus(MinimumDensityTree(3, random_state=0), holed)
    assert consensus.instability[:30].mean() > 0.3
    assert consensus.instability[30:].max() < 0.2
    assert ((consensus.instability >= 0.0) & (consensus.instability <= 1.0)).all()
    assert adjusted_rand_score(y[30:], consensus.labels[30:]) > 0.95


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_filling_cells_makes_no_valley_where_medians_do(share):
    n_median = n_multiple = 0
    for seed in range(8):
        X = np.random.default_rng(seed).random((250, 3))
        holed = remove_cells(X, share, seed)
        Z = MultipleImputer(1, random_state=seed).fit(holed).impute(holed)[0]
        n_multiple += valley_test(Z, random_state=seed).pvalue <= 0.05
        median = np.where(np.isnan(holed), np.nanmedian(holed, axis=0), holed)
        n_median += valley_test(median, random_state=seed).pvalue <= 0.05
    assert n_multiple <= 1
    assert n_multiple <= n_median


def test_any_clusterer_and_imputer_can_be_used():
    X, y = three_clusters()
    holed = remove_cells(X, 0.1)
    consensus = fit_consensus(KMeans(3, n_init=3, random_state=0), holed, imputer=MultipleImputer(3, random_state=1))
    assert len(consensus.n_clusters) == 3
    assert adjusted_rand_score(y, consensus.labels) > 0.9
    two = fit_consensus(MinimumDensityHyperplane(random_state=0), holed, imputer=MultipleImputer(2, random_state=1))
    assert set(two.labels) == {0, 1}


def test_consensus_refuses_to_mark_outliers():
    X = remove_cells(three_clusters(90)[0], 0.1)
    with pytest.raises(ValueError, match="set contamination=None"):
        fit_consensus(MinimumDensityTree(3, contamination=0.05), X)
    consensus = fit_consensus(MinimumDensityTree(3, random_state=0), X, imputer=MultipleImputer(2, random_state=0))
    assert np.isfinite(consensus.estimator.score_outliers(consensus.X)).all()


def test_complete_rows_are_stable():
    X, _ = three_clusters(90)
    consensus = fit_consensus(KMeans(3, n_init=2, random_state=0), X, imputer=MultipleImputer(2, random_state=1))
    assert not consensus.instability.any()
    np.testing.assert_array_equal(consensus.X, X)
