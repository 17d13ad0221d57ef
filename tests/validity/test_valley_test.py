"""The cross-fitted valley test: what it promises, on grids too, and how the hyperplane uses it."""

import re
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import Hyperplane, MinimumDensityHyperplane, NoSplitWarning, PathSettings, valley_test
from ravine._plurals import format_pvalue
from ravine.density import find_valley, judge
from ravine.rows import as_rows
from ravine.rows.repeated_values import Grids
from ravine.validity.valley_test import cross_fit
from support.simulate import two_clusters

QUICK = {"init": "pca", "n_init": 1, "path": PathSettings(n_alpha=3, polish=False)}
QUICK_SEARCH = MinimumDensityHyperplane(**QUICK)
LEVEL = 0.05


# ----------------------------------------------------------------------------------------------- halves


@pytest.mark.parametrize(("n", "n_splits"), [(60, 1), (61, 3)])
def test_one_half_chooses_and_the_other_judges(n, n_splits):
    X, _ = two_clusters(100)
    rows = np.sort(np.random.default_rng(1).choice(100, n, replace=False))
    normal, chosen = np.linalg.svd(X - X.mean(axis=0))[2][0], []

    def find(half, rng):
        chosen.append(half)
        return Hyperplane(normal, float(normal @ X.mean(axis=0)), bandwidth=0.7)

    test = cross_fit(as_rows(X[rows]), find, n_splits, np.random.default_rng(0))
    assert len(test.halves) == len(chosen) == 2 * n_splits
    for k, half in enumerate(test.halves):
        choosers, judges = chosen[k], chosen[k ^ 1]
        assert_array_equal(np.sort(np.concatenate([choosers, judges])), np.arange(n))
        assert abs(len(choosers) - len(judges)) == n % 2
        valley = find_valley(half.hyperplane.distance(X[rows][choosers]), 0.7, 0.0)
        assert half.valley == valley
        assert half.judgement == judge(valley, half.hyperplane.distance(X[rows][judges]))
    pairs = [min(1.0, 2.0 * min(a.pvalue, b.pvalue)) for a, b in zip(test.halves[::2], test.halves[1::2], strict=True)]
    assert test.pvalue == (pairs[0] if n_splits == 1 else min(1.0, 2.0 * np.median(pairs)))


def test_half_without_a_split_has_p_1():
    X, _ = two_clusters(60)

    def find(half, rng):
        return Hyperplane.at_infinity(np.eye(4)[0])

    test = cross_fit(as_rows(X), find, 1, np.random.default_rng(0))
    assert test.pvalue == 1.0
    assert all(half.valley is None and half.judgement is None and half.pvalue == 1.0 for half in test.halves)
    assert str(test).count("no split") == 2


def test_several_halvings_give_twice_their_median():
    X, _ = two_clusters(80, separation=4.5)
    test = valley_test(X, method="exact", n_splits=5, random_state=0, hyperplane=QUICK_SEARCH)
    pairs = np.array([half.pvalue for half in test.halves]).reshape(5, 2)
    assert_allclose(test.pvalue, min(1.0, 2.0 * np.median(np.minimum(1.0, 2.0 * pairs.min(axis=1)))), rtol=1e-15)
    assert len({half.pvalue for half in test.halves}) > 4


def test_random_state_decides_the_halves():
    X, _ = two_clusters(80, separation=6.0)
    pvalues = [valley_test(X, random_state=seed, hyperplane=QUICK_SEARCH).pvalue for seed in (0, 0, 1, 2)]
    assert pvalues[0] == pvalues[1]
    assert len(set(pvalues)) == 3


@pytest.mark.parametrize("n", range(1, 8))
def test_too_few_rows_show_nothing(n):
    far_apart = 100.0 * (np.arange(n) % 2)[:, None] + np.random.default_rng(n).normal(size=(n, 2))
    for X in (far_apart, np.ones((n, 2))):
        test = valley_test(X, method="exact", random_state=0)
        assert LEVEL < test.pvalue <= 1.0
        assert test.pvalue == 1.0 or n > 3


def test_text_of_the_result_gives_the_counts():
    test = valley_test(two_clusters()[0], method="exact", random_state=0)
    words = str(test)
    assert format_pvalue(test.pvalue) in words
    for half in test.halves:
        middle, left, right = half.judgement.counts
        assert re.search(rf"{middle} rows in the valley, {left} and {right} beside it", words)
        assert 0.0 <= half.pvalue <= 1.0


# ----------------------------------------------------------------------------------------------- grids


def test_column_is_on_a_grid_if_half_of_its_rows_are_repeated():
    alone = np.arange(20.0)
    at_the_border, below = alone.copy(), alone.copy()
    at_the_border[:10] = 0.0
    below[:9] = 0.0
    pairs = np.repeat(np.arange(10.0), 2)
    X = np.column_stack([alone, at_the_border, below, pairs, np.ones(20)])
    grids = Grids.of(as_rows(X), np.random.default_rng(0))
    assert grids.columns == [1, 3]
    assert_array_equal(grids.grids[1].values, np.arange(10.0))
    assert Grids.of(as_rows(X[::2]), np.random.default_rng(0)).columns == [
        1,
        2,
    ]  # of every pair one row is left


def test_grid_is_recognised_from_a_thousand_rows():
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    X[:, 1] = X[:, 1].round(3)  # most share their value with some row, few with one of a thousand
    assert Grids.of(as_rows(X), np.random.default_rng(0)).columns == []
    X[:, 1] = X[:, 1].round(1)
    assert Grids.of(as_rows(X), np.random.default_rng(0)).columns == [1]
    assert Grids.of(as_rows(X[:5]), np.random.default_rng(0)).columns == []


@pytest.mark.parametrize("seed", range(4))
def test_yes_and_no_as_two_columns_are_one_grid(seed):
    rng = np.random.default_rng(seed)
    X = np.c_[np.eye(2)[rng.integers(2, size=1000)] * [1.0, 3.0], rng.standard_normal(1000)]
    (grid,) = Grids.of(as_rows(X), rng).grids
    assert grid.columns.tolist() == [0, 1]
    assert_allclose(grid.factors, [1.0, -3.0])
    assert valley_test(X[:, :2], random_state=0, hyperplane=QUICK_SEARCH).pvalue > LEVEL
    assert valley_test(X, random_state=0, hyperplane=QUICK_SEARCH).pvalue > LEVEL


@pytest.mark.parametrize("twin", [1.0, 0.95], ids=["copied", "nearly copied"])
def test_answers_that_nearly_agree_are_not_called_a_split(twin):
    shown = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = np.clip(np.round(rng.normal(3.0, 1.0, 600)), 1, 5)
        y = np.where(rng.random(600) < twin, x, rng.integers(1, 6, 600))
        shown += valley_test(np.c_[x, 6.0 - y], random_state=0, hyperplane=QUICK_SEARCH).pvalue <= LEVEL
    assert shown <= 1


def test_order_of_the_rows_does_not_hide_a_grid():
    """Yes and no by turns: evenly spaced rows could all be yes."""
    X = np.column_stack([np.arange(4000.0) % 2, np.random.default_rng(0).normal(size=4000)])
    assert Grids.of(as_rows(X), np.random.default_rng(0)).columns == [0]
    assert valley_test(X, random_state=0, hyperplane=QUICK_SEARCH).pvalue > LEVEL


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cells_reach_half_way_to_the_neighbours(dtype):
    values = np.array([0.0, 1.0, 4.0])
    X = np.column_stack([np.repeat(values, 2000), np.linspace(0.0, 1.0, 6000), np.ones(6000)]).astype(dtype)
    grids = Grids.of(as_rows(X), np.random.default_rng(0))
    assert grids.columns == [0]
    (added,) = grids.spread(as_rows(X), np.array([-2.0, 5.0, 7.0]), np.random.default_rng(0))
    for value, cell in zip(values, [(-0.5, 0.5), (0.5, 2.5), (2.5, 5.5)], strict=True):
        spread = value + added[X[:, 0] == value] / -2.0
        assert cell[0] <= spread.min() < spread.max() <= cell[1]
        assert_allclose([spread.min(), spread.max(), spread.mean()], [*cell, np.mean(cell)], atol=0.06)


def slow_spread(grids, X, direction, rng, together=False):
    """Return what is added to each projection, grid by grid and row by row."""
    out = np.zeros(len(X))
    shared = [rng.random(len(X)) for _ in set(grids.families.tolist())] if together else []
    for k, grid in enumerate(grids.grids):
        u = shared[grids.families[k]] if together else rng.random(len(X))
        for i, x in enumerate(X[:, grid.columns[0]].astype(float)):
            middles = [(one + other) / 2 for one, other in pairwise(grid.values)]
            ends = [2 * grid.values[0] - middles[0], *middles, 2 * grid.values[-1] - middles[-1]]
            cell = sum(x > middle for middle in middles)
            share = 1 - u[i] if together and grids.signs[k] < 0 else u[i]
            moved = ends[cell] + share * (ends[cell + 1] - ends[cell]) - x
            out[i] += moved * sum(direction[j] * f for j, f in zip(grid.columns, grid.factors, strict=True))
    return out


def slow_columns(X):
    """Return the features with several values that at least half of the rows share with another row."""
    found = []
    for j, x in enumerate(X.T.tolist()):
        shared = sum(x.count(value) > 1 for value in x)
        if shared >= 0.5 * len(x) and len(set(x)) > 1:
            found.append(j)
    return found


def draw_repeated(rng, dtype, scale):
    """Draw features on grids: independent, related, reversed, copied, rare, constant, and one that is continuous."""
    x, rare = rng.integers(0, 4, 120), (np.arange(120) == 7)
    near = np.where(rng.random(120) < 0.9, x, rng.integers(0, 4, 120))
    columns = [x, near, 3 - near, 2 * x + 1, rng.poisson(3.0, 120), rare, np.full(120, 5.0), rng.normal(size=120)]
    return (np.column_stack(columns) * scale).astype(dtype)


@pytest.mark.parametrize(("dtype", "scale"), [(float, 1.0), (np.float32, 0.1), (float, 1e180), (float, 1e-180)])
def test_grids_are_those_of_the_slow_twin(dtype, scale):
    rng = np.random.default_rng(3)
    X = draw_repeated(rng, dtype, scale)
    grids = Grids.of(as_rows(X), rng)
    assert grids.columns == slow_columns(X) == [0, 1, 2, 3, 4, 5]
    assert [grid.columns.tolist() for grid in grids.grids] == [[0, 3], [1, 2], [4], [5]]
    assert_allclose(grids.grids[0].factors, [1.0, 2.0], rtol=1e-6)
    assert_allclose(grids.grids[1].factors, [1.0, -1.0], rtol=1e-6)
    assert grids.families.tolist() == [0, 0, 1, 2]
    for grid in grids.grids:
        assert_array_equal(grid.values, sorted(set(X[:, grid.columns[0]].tolist())))


@pytest.mark.parametrize(("dtype", "scale"), [(float, 1.0), (np.float32, 0.1), (float, 1e180), (float, 1e-180)])
def test_rows_are_spread_as_by_the_slow_twin(dtype, scale):
    rng = np.random.default_rng(4)
    X = draw_repeated(rng, dtype, scale)
    X[:, 1] = X[:, 0].max() - X[:, 1]  # falls with the first
    rows, indices = as_rows(X), np.flatnonzero(rng.random(120) < 0.6)
    grids, direction = Grids.of(rows, rng), rng.normal(size=8)
    assert grids.related
    fast = grids.spread(rows.subset(indices, copy=False), direction, np.random.default_rng(9))
    slow = np.random.default_rng(9)
    assert_allclose(fast[0], slow_spread(grids, X[indices], direction, slow), rtol=1e-12, atol=1e-12 * scale)
    assert_allclose(fast[1], slow_spread(grids, X[indices], direction, slow, True), rtol=1e-12, atol=1e-12 * scale)
    assert len(fast) == 2


def test_grids_do_not_depend_on_the_order_in_memory():
    X = draw_repeated(np.random.default_rng(5), float, 1.0)
    one, other = (Grids.of(as_rows(rows), np.random.default_rng(0)) for rows in (X, np.asfortranarray(X)))
    assert_array_equal(one.families, other.families)
    for grid, twin in zip(one.grids, other.grids, strict=True):
        for name in ("columns", "factors", "values", "edges", "widths"):
            assert_array_equal(getattr(grid, name), getattr(twin, name))


def test_rows_of_one_value_have_no_grids():
    grids = Grids.of(as_rows(np.full((30, 3), 7.0)), np.random.default_rng(0))
    assert grids.columns == []
    (added,) = grids.spread(as_rows(np.full((30, 3), 7.0)), np.ones(3), np.random.default_rng(0))
    assert not added.any()


NULLS = {
    "yes and no": lambda rng: rng.binomial(1, 0.4, (200, 4)),
    "counts": lambda rng: rng.poisson(1.5, (600, 1)),
    "rounded": lambda rng: rng.normal(size=(600, 1)).round(0),
}


@pytest.mark.parametrize("method", ["pooled", "exact"])
@pytest.mark.parametrize("draw", NULLS.values(), ids=NULLS)
def test_gaps_of_a_grid_are_not_a_split_if_rows_are_spread(draw, method, monkeypatch):
    data = [draw(np.random.default_rng(seed)).astype(float) for seed in range(10)]
    options = {"method": method, "random_state": 0, "hyperplane": QUICK_SEARCH}
    spread = [valley_test(X, **options) for X in data]
    assert all(test.grid_columns == tuple(range(data[0].shape[1])) for test in spread)
    assert sum(test.pvalue <= LEVEL for test in spread) <= 1
    assert f"{data[0].shape[1]} feature" in str(spread[0])
    monkeypatch.setattr(Grids, "spread", lambda self, rows, direction, rng: [np.zeros(rows.shape[0])])
    monkeypatch.setattr(Grids, "draw_shifts", lambda self, rows, rng: [np.zeros((len(self.grids), rows.shape[0]))])
    assert sum(valley_test(X, **options).pvalue <= LEVEL for X in data) >= 5


@pytest.mark.parametrize("law", ["normal", "uniform", "lognormal"])
def test_one_cluster_is_not_called_a_split(law):
    data = [getattr(np.random.default_rng(seed), law)(size=(150, 5)) for seed in range(8)]
    assert sum(valley_test(X, random_state=0).pvalue <= LEVEL for X in data) <= 1


@pytest.mark.parametrize("decimals", [None, 0])
def test_clear_mixture_is_shown_even_on_a_grid(decimals):
    X, _ = two_clusters(300)
    test = valley_test(X if decimals is None else X.round(decimals), random_state=0)
    assert test.pvalue < 1e-4
    assert bool(test.grid_columns) == (decimals is not None)


# ----------------------------------------------------------------------------------------------- the estimator


def test_hyperplane_is_tested_only_on_request():
    X, _ = two_clusters(100)
    for method, n_halves in (("exact", 4), ("pooled", 0)):
        mdh = MinimumDensityHyperplane(**QUICK, n_splits=2, random_state=0, test=method).fit(X)
        assert mdh.pvalue_ == mdh.valley_test_.pvalue < LEVEL
        assert mdh.valley_test_.method == method
        assert len(mdh.valley_test_.halves) == n_halves
    untested = MinimumDensityHyperplane(random_state=0, **QUICK).fit(X)
    assert_array_equal(mdh.coef_, untested.coef_)
    for model in (mdh.set_params(test=None).fit(X), untested):
        assert not hasattr(model, "pvalue_")
        assert not hasattr(model, "valley_test_")


def test_valley_test_refuses_weights():
    X, _ = two_clusters(100)
    mdh = MinimumDensityHyperplane(**QUICK, random_state=0, test="pooled").fit(X)
    earlier = mdh.pvalue_
    with pytest.raises(ValueError, match="sample_weight"):
        mdh.fit(X, sample_weight=np.full(100, 2.0))
    assert mdh.pvalue_ == earlier


def test_rows_that_do_not_split_have_p_1():
    with pytest.warns(NoSplitWarning):
        assert MinimumDensityHyperplane(random_state=0, test="pooled").fit(np.ones((30, 2))).pvalue_ == 1.0


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError), (None, TypeError)])
def test_number_of_halvings_is_checked(value, error):
    X, _ = two_clusters(40)
    for run in (lambda: valley_test(X, n_splits=value), lambda: MinimumDensityHyperplane(n_splits=value).fit(X)):
        with pytest.raises(error, match="n_splits"):
            run()


def test_spread_is_the_sum_of_the_shifts_of_all_grids():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 200)
    X = np.c_[first, first + rng.integers(0, 2, 200), rng.normal(size=200), 5 - 2 * first, rng.integers(0, 9, 200)]
    rows, direction = as_rows(X.astype(float)), rng.normal(size=5)
    grids = Grids.of(rows, rng)
    assert grids.related
    added = grids.spread(rows, direction, np.random.default_rng(7))
    shifts = grids.draw_shifts(rows, np.random.default_rng(7))
    changes = [sum(direction[grid.columns] * grid.factors) for grid in grids.grids]
    for way, one in zip(shifts, added, strict=True):
        assert_allclose(changes @ way, one, atol=1e-12)
