"""Rows with repeated values spread: categories, atoms, grids, projections, and the way back to the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ravine.density import ProjectedDensity, compute_silverman_bandwidth, measure_evidence
from ravine.rows import as_rows
from ravine.validity.spread_rows import (
    MOST_COMPONENTS,
    SpreadRows,
    find_atoms,
    find_categories,
    find_distinct,
    spread_rows,
)

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(200, 3))
FOUR, FIVE = np.eye(4)[RNG.integers(0, 4, 200)], np.eye(5)[RNG.integers(0, 5, 200)]
RATINGS = RNG.integers(1, 6, size=(200, 2)).astype(float)
WIDE = np.column_stack([FIVE, RNG.normal(size=(200, 118)), np.full(200, 2.0)])
INPUTS = {
    "normal": NORMAL,
    "far away": 1e8 + NORMAL,
    "tiny": 1e-150 * NORMAL,
    "huge": 1e150 * NORMAL,
    "outlier": np.concatenate([NORMAL, [[1e9, 0.0, 0.0]]]),
    "one feature": NORMAL[:, :1],
    "constant features": np.column_stack([np.full(200, 0.1), NORMAL, np.full(200, -1e5)]),
    "ratings": RATINGS,
    "related ratings": np.column_stack([RATINGS, RATINGS[:, 0] + (RNG.random(200) < 0.2)]),
    "category": FOUR,
    "categories and ratings": np.column_stack([FOUR, RATINGS, FIVE, NORMAL[:, 0]]),
    "wide": WIDE,
    "wide and short": WIDE[:60],
    "two rows": NORMAL[:2],
    "equal rows": np.ones((6, 2)),
}


def spread(X, seed=0):
    return SpreadRows.of(as_rows(X), np.random.default_rng(seed))


def draw_directions(rows, n=4):
    directions = np.random.default_rng(9).normal(size=(n, rows.x.shape[1]))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


# ----------------------------------------------------------------------------------------------- coordinates


@pytest.mark.parametrize("name", INPUTS)
def test_projections_equal_loops_over_rows_and_features(name):
    rows = spread(INPUTS[name])
    directions, some = draw_directions(rows), np.arange(len(rows))[::2]
    for together in rows.spreadings:
        source = rows.together if together else rows.alone
        found = rows.project(directions, some, together)
        for k, direction in enumerate(directions):
            weights = direction if rows.basis is None else [sum(row * direction) for row in rows.basis]
            widest = max((max(weights[j] for j in c) - min(weights[j] for j in c) for c in rows.categories), default=0)
            expected = [sum(source[i] * direction) + widest * rows.shifts[i] for i in some]
            assert_allclose(found[k], expected, rtol=1e-9, atol=1e-12)
            assert_allclose(rows.project(direction, some, together), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [*INPUTS, "sparse"])
def test_hyperplane_has_the_distances_of_the_coordinates(name):
    X = (
        csr_array(np.random.default_rng(1).poisson(0.02, (150, 1200))).astype(float)
        if name == "sparse"
        else INPUTS[name]
    )
    rows = spread(X)
    dense = X.toarray() if name == "sparse" else X
    for direction, threshold in zip(draw_directions(rows), (0.0, 0.3, -0.01, 5.0), strict=True):
        for factor in (1.0, 1e-3):  # the length of a direction does not matter
            plane = rows.make_hyperplane(factor * direction, factor * threshold)
            expected = rows.scale * (rows.x @ direction - threshold)
            tolerance = 1e-9 * rows.scale + 1e-14 * np.abs(dense).max()
            assert_allclose(plane.distance(dense), expected, rtol=1e-9, atol=tolerance)


def test_constant_features_have_no_weight_in_a_hyperplane():
    rows = spread(INPUTS["constant features"])
    assert rows.columns.tolist() == [1, 2, 3]
    assert_array_equal(rows.make_hyperplane(np.array([0.0, 0.6, 0.8]), 0.1).normal, [0.0, 0.0, 0.6, 0.8, 0.0])


def test_components_are_those_of_the_largest_variance():
    rows = spread(WIDE)
    centred = (WIDE - WIDE.mean(axis=0))[:, rows.columns] / rows.scale
    assert_allclose(rows.basis.T @ rows.basis, np.eye(MOST_COMPONENTS), atol=1e-10)
    assert (rows.x**2).sum() > 0.999 * (np.linalg.svd(centred)[1][:MOST_COMPONENTS] ** 2).sum()


@pytest.mark.parametrize("name", ["normal", "ratings", "categories and ratings"])
@pytest.mark.parametrize("scale", [2.0**-500, 2.0**500])
def test_spread_does_not_depend_on_the_scale(name, scale):
    one, other = spread(INPUTS[name]), spread(scale * INPUTS[name])
    for attribute in ("x", "points", "alone", "shifts"):
        assert_array_equal(getattr(one, attribute), getattr(other, attribute))
    assert other.scale == scale * one.scale


def test_taken_rows_keep_their_coordinates():
    rows, some = spread(INPUTS["related ratings"]), np.array([5, 0, 7])
    part = rows.take(some)
    for name in ("x", "points", "alone", "together", "shifts"):
        assert_array_equal(getattr(part, name), getattr(rows, name)[some])


# ----------------------------------------------------------------------------------------------- values


def test_values_on_grids_are_spread_over_their_cells():
    rows = spread(RATINGS)
    for coordinates in (rows.points, rows.alone):
        shifts = rows.scale * (coordinates - rows.x)
        assert -0.5 <= shifts.min() < -0.45 < 0.45 < shifts.max() <= 0.5 + 1e-12
        assert abs(np.corrcoef(shifts.T)[0, 1]) < 0.25
    assert rows.together is None


def test_related_grids_are_also_spread_together():
    rows = spread(INPUTS["related ratings"])
    for name, least, most in (("alone", -0.25, 0.25), ("together", 0.9, 1.1)):
        assert least < np.corrcoef((getattr(rows, name) - rows.x)[:, [0, 2]].T)[0, 1] < most


def test_rare_values_are_spread_less_for_distances():
    X = np.column_stack([np.repeat([0.0, 1.0], [395, 5]), np.random.default_rng(2).normal(size=400)])
    rows = spread(X)
    assert np.ptp(rows.scale * (rows.alone - rows.x)[:, 0]) > 0.9
    assert np.ptp(rows.scale * (rows.points - rows.x)[:, 0]) <= 6.0 * X[:, 0].std() < 0.9


@pytest.mark.parametrize("make", [lambda x: np.maximum(x, 0.0), lambda x: np.clip(x, -0.8, 0.9), lambda x: x * (x > 1)])
def test_atoms_are_replaced_by_other_values(make):
    values = make(NORMAL[:, 0])
    expected = np.array([np.count_nonzero(values == v) > 1 for v in values])
    assert expected.any()
    assert_array_equal(find_atoms(values), expected)
    rows = spread(np.column_stack([values, NORMAL[:, 1]]))
    assert_array_equal(rows.alone[~expected], rows.x[~expected])
    assert set(rows.alone[expected, 0]) <= set(rows.x[~expected, 0])
    assert len(set(rows.alone[expected, 0])) > 0.3 * min(expected.sum(), (~expected).sum())
    assert_array_equal(rows.alone[:, 1], rows.x[:, 1])


@pytest.mark.parametrize("values", [RATINGS[:, 0], NORMAL[:, 0], FOUR[:, 0], np.ones(50), np.r_[0.0, 0.0, NORMAL[:, 0]],
                                    np.r_[np.zeros(20), np.repeat(NORMAL[:60, 0], 3)],
                                    np.r_[np.zeros(195), 1:6.0]])  # fmt: skip
def test_grids_and_copies_are_no_atoms(values):
    assert find_atoms(values) is None


def test_categories_are_found_in_any_order_of_columns():
    both = np.column_stack([FOUR, FIVE, NORMAL[:, :2], NORMAL[:, 2] > 0])
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(12)
        for table in (both, (both - both.mean(axis=0)) / both.std(axis=0)):
            found = {frozenset(order[group].tolist()) for group in find_categories(table[:, order])}
            assert found == {frozenset(range(4)), frozenset(range(4, 9))}


@pytest.mark.parametrize("table", [FOUR[:, :3], np.eye(2)[RNG.integers(0, 2, 99)], RNG.integers(0, 2, (99, 6)), NORMAL,
                                   np.column_stack([FOUR[:, :3], FOUR[:, 3] * NORMAL[:, 0]])])  # fmt: skip
def test_other_features_are_no_categories(table):
    assert find_categories(np.asarray(table, dtype=float)) == ()


def find_evidence(p):
    """Return the largest evidence for a valley at any minimum of the density."""
    h = compute_silverman_bandwidth(float(p.std()), len(p))
    minima = ProjectedDensity(p, h).minima(*np.quantile(p, [0.02, 0.98]))
    return max((min(measure_evidence(p, h, float(b))) for b in minima), default=-np.inf)


@pytest.mark.parametrize("n_levels", [3, 4, 8])
def test_single_category_has_no_valley_along_any_direction(n_levels):
    rows = spread(np.eye(n_levels)[np.random.default_rng(n_levels).integers(0, n_levels, 600)])
    directions = draw_directions(rows, 25)
    assert max(find_evidence(p) for p in rows.project(directions)) < 3.0
    assert max(find_evidence(p) for p in directions @ rows.x.T) > 8.0


# ----------------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("X", [NORMAL, WIDE[:, 5:], np.column_stack([RATINGS, NORMAL]), NORMAL[:2]])
def test_copies_of_rows_are_dropped(X):
    tripled = np.repeat(X, 3, axis=0)
    tripled = tripled[np.lexsort(tripled.T)]
    distinct = tripled[find_distinct(tripled)]
    assert len(distinct) == len(np.unique(distinct, axis=0)) == len(X)


@pytest.mark.parametrize("X", [RATINGS, np.repeat(RATINGS, 3, axis=0), NORMAL, FOUR])
def test_tables_of_ratings_and_distinct_rows_stay(X):
    assert find_distinct(X[np.lexsort(X.T)]).all()


@pytest.mark.parametrize("drop_copies", [False, True])
def test_rows_are_sorted_and_found_by_their_indices(drop_copies):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)[rng.permutation(60)]
    indices, rows = spread_rows(as_rows(X), np.arange(60), rng, drop_copies)
    assert len(indices) == len(rows) == (30 if drop_copies else 60)
    assert_allclose(rows.center + rows.scale * rows.x, X[indices], atol=1e-12)
    ordered = X[indices][:, ::-1].tolist()
    assert ordered == sorted(ordered)


@pytest.mark.parametrize(("name", "columns"), [("normal", ()), ("ratings", (0, 1)), ("constant features", ())])
def test_features_on_grids_are_named_as_those_of_the_rows(name, columns):
    assert spread(INPUTS[name]).grid_columns == columns
    shifted = np.column_stack([np.full(200, 7.0), INPUTS[name]])
    assert spread(shifted).grid_columns == tuple(j + 1 for j in columns)


def test_categories_are_found_among_very_many_indicators():
    levels = np.random.default_rng(0).integers(0, 3, (60, 4000))
    x = (levels[:, :, None] == np.arange(3)).reshape(60, -1).astype(float)
    found = find_categories(x)
    assert_array_equal(np.stack(found), np.arange(12_000).reshape(-1, 3))
