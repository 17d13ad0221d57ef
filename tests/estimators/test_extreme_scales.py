"""Rows of any scale, from subnormal values to 1e291, give the same answers without a warning."""

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    NoSplitWarning,
    PathSettings,
)
from ravine.rows import RowBlocks, as_rows
from ravine.rows.repeated_values import Grids
from ravine.search import predict_by_svm
from support.simulate import two_clusters

pytestmark = pytest.mark.usefixtures("sparse_samples")

# Powers of two, so that the rows keep all their digits where they are not subnormal.
SUBNORMAL, SMALL, LARGE, LARGEST = 2.0**-1030, 2.0**-600, 2.0**515, 2.0**965
SCALES = [SUBNORMAL, SMALL, LARGE, LARGEST]


@pytest.fixture(autouse=True)
def strict():
    """Make every warning an error, except that no split was found."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoSplitWarning)
        yield


@pytest.mark.parametrize("scale", SCALES)
def test_repeated_values_are_recognised_at_any_scale(rng, scale):
    yes = rng.integers(0, 2, 300)
    X = np.c_[yes, 5.0 - 3.0 * yes, rng.integers(0, 4, 300), rng.normal(size=300)]
    grids, expected = (Grids.of(as_rows(rows), np.random.default_rng(0)) for rows in (X * scale, X))
    assert grids.columns == expected.columns == [0, 1, 2]
    assert_array_equal(grids.families, expected.families)
    for grid, other in zip(grids.grids, expected.grids, strict=True):
        assert_array_equal(grid.factors, other.factors)
        assert_array_equal(grid.widths, other.widths * scale)


def test_one_grid_in_very_different_units_has_finite_factors(rng):
    yes = rng.integers(0, 2, 300)
    (grid,) = Grids.of(as_rows(np.c_[yes * 1e-310, yes * 1e299, yes]), rng).grids
    assert np.isfinite(grid.factors).all()
    assert grid.factors[0] == 1.0


def test_a_constant_far_above_the_spread_gives_no_warning():
    """The rounding error of the mean of the constant exceeds the other features by 280 orders of magnitude."""
    X = np.outer(np.arange(13), np.ones(3)) * 1e-308
    X[:, 0] = 1e-8
    mdt = MinimumDensityTree(5, random_state=0).fit(X)
    assert_array_equal(mdt.predict(X), mdt.labels_)


@cache
def label_repeated_values(method, scale):
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 2, 120), rng.normal(size=120)]
    X[:50] += [0.0, 9.0]
    return MinimumDensityTree(random_state=0, hyperplane=MinimumDensityHyperplane(test=method)).fit(X * scale).labels_


@pytest.mark.parametrize("method", ["pooled", "exact"])
@pytest.mark.parametrize("scale", [*SCALES, 2.0**-1000, 1e155])
def test_trees_of_repeated_values_do_not_depend_on_the_scale(scale, method):
    expected = label_repeated_values(method, 1.0)
    assert expected.max() > 0
    assert_array_equal(label_repeated_values(method, scale), expected)


@pytest.mark.parametrize("constraints", [{"labels": [0, 1, 0, 2]}, {"cannot_link": [[0, 1], [1, 2], [2, 4]]}])
@pytest.mark.parametrize("scale", SCALES)
def test_constraints_are_met_at_any_scale(rng, scale, constraints):
    X = rng.normal(size=(90, 3)) + 4.0 * rng.normal(size=(3, 3))[np.arange(90) % 3]
    if "labels" in constraints:
        constraints = {"labels": np.r_[constraints["labels"], np.full(86, -1)]}
    found, expected = (MinimumDensityTree(3, random_state=0).fit(rows, **constraints) for rows in (X * scale, X))
    assert not found.violated_constraints_
    assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.parametrize("n_clusters", [2, "auto", "shown"])
def test_trees_of_subnormal_rows_are_fitted(rng, n_clusters):
    X = np.c_[rng.integers(0, 2, 100), rng.normal(size=100)] * SUBNORMAL
    mdt = MinimumDensityTree(n_clusters, random_state=0).fit(X)
    assert_array_equal(mdt.predict(X), mdt.labels_)


@pytest.mark.parametrize("shape", [(5, 10), (200, 40), (20, 1100)])
@pytest.mark.parametrize("scale", [1e-310, 1e291])
def test_sparse_rows_of_any_scale_are_split(rng, shape, scale):
    X = csr_array((rng.normal(size=shape) + 6.0) / 20.0 * scale)
    mdh = MinimumDensityHyperplane(random_state=0).fit(X)
    assert np.isfinite(mdh.coef_).all()
    assert_array_equal(mdh.predict(X), mdh.labels_)


@pytest.mark.parametrize("scale", [SUBNORMAL, LARGEST])
def test_trees_of_sparse_rows_do_not_depend_on_the_scale(scale):
    X, truth = two_clusters(100, 4, separation=6.0)
    found = MinimumDensityTree(2, random_state=0).fit(csr_array(X * scale))
    assert_array_equal(found.labels_ == found.labels_[0], truth == truth[0])


def seven_classes(rng):
    truth = np.arange(140) % 7
    X = rng.normal(size=(140, 3)) + 12.0 * rng.normal(size=(7, 3))[truth]
    return X, np.where(np.arange(140) < 70, truth, -1)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_probabilities_of_subnormal_rows_are_finite(rng, voting):
    X, y = seven_classes(rng)
    mdc = MinimumDensityClassifier(
        voting=voting, random_state=0, hyperplane=MinimumDensityHyperplane(path=PathSettings(n_alpha=2))
    ).fit(X * 1e-311, y)
    p = mdc.predict_proba(X * 1e-311)
    assert_allclose(p.sum(axis=1), 1.0)
    assert np.isfinite(mdc.predict_proba(X)).all(), "rows that are 1e311 times larger"


@pytest.mark.parametrize("scale", SCALES)
def test_classes_of_an_svm_do_not_depend_on_the_scale(rng, scale):
    X, y = seven_classes(rng)
    expected, found = (predict_by_svm(rows, y, None, 1.0, np.random.default_rng(0)) for rows in (X, X * scale))
    assert_array_equal(found, expected)


def test_values_whose_gradients_overflow_are_refused(rng):
    X = rng.normal(size=(50, 3))
    for rows in (X * 1e293, csr_array(X * 1e293), RowBlocks([X * 1e293])):
        with pytest.raises(ValueError, match="rescale"):
            MinimumDensityHyperplane(random_state=0).fit(rows)


def test_values_too_small_for_a_bandwidth_are_refused(rng):
    with pytest.raises(ValueError, match="multiply X"):
        MinimumDensityHyperplane(random_state=0).fit(rng.integers(0, 3, size=(100, 3)) * 5e-324)


def test_leaves_of_equal_tiny_rows_are_found():
    rows = np.repeat([0.0, 1.0, 2.0], [40, 12, 8])[:, None] * 1e-310
    assert MinimumDensityTree(3, min_cluster_size=1, random_state=0).fit(rows).n_clusters_ == 3


@pytest.mark.filterwarnings("error", "ignore::ravine.NoSplitWarning")
def test_weights_over_80_orders_of_magnitude_cause_no_warning():
    rng = np.random.default_rng(8399)
    rows = rng.normal(size=(30, 2))
    rows[:10] += 6.0
    blocks = RowBlocks([rows[rng.integers(0, 30, 30)]], state="float32")
    weights = 10.0 ** rng.uniform(-40, 40, 30)
    MinimumDensityHyperplane(random_state=0, path=PathSettings(select="last", polish=False)).fit(
        blocks, sample_weight=weights
    )
