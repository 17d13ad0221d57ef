"""Rows of every kind answer like the array that they hold."""

import numpy as np
import pytest
import scipy.sparse as sp

from ravine.rows import ArrayRows, RowBlocks, Rows, SparseRows, as_rows
from ravine.rows.base import SMALL_SHARE, Subset

KINDS = {
    "array": as_rows,
    "sparse": lambda X: as_rows(sp.csr_array(X)),
    "blocks": lambda X: RowBlocks(np.array_split(X, 7)),
}
INDICES = np.array([3, 4, 11, 40, 41, 97])


@pytest.fixture
def X(rng):
    return np.where(rng.random((100, 4)) < 0.3, 0.0, rng.standard_normal((100, 4)) + 0.5)


@pytest.fixture(params=KINDS)
def rows(request, X):
    return KINDS[request.param](X)


def test_as_rows_leaves_rows_as_they_are(rows):
    assert as_rows(rows) is rows


def test_as_rows_copies_neither_arrays_nor_sparse_matrices(X):
    for array in (X, X.astype(np.float32), np.asfortranarray(X), X[::2]):
        assert as_rows(array).data is array
    sparse = sp.csr_array(X)
    assert as_rows(sparse).data is sparse


@pytest.mark.parametrize("given", [[[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], ">f8"), sp.csc_array([[1, 2], [3, 4]])])
def test_as_rows_converts_other_types(given):
    np.testing.assert_array_equal(as_rows(given).to_array(), [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("indices", [None, INDICES])
def test_values_are_those_of_the_array(rows, X, indices):
    some = X if indices is None else X[indices]
    center, direction = X[0], np.array([0.5, -0.5, 0.5, 0.5])
    assert rows.shape == (100, 4)
    np.testing.assert_array_equal(rows.to_array(), X)
    np.testing.assert_array_equal(rows.take(INDICES[::-1]), X[INDICES[::-1]])
    np.testing.assert_array_equal(rows.column(2, indices), some[:, 2])
    np.testing.assert_allclose(rows.project(center, direction, indices), (some - center) @ direction, atol=1e-14)
    np.testing.assert_array_equal(rows.sides(center, direction, indices), rows.project(center, direction, indices) > 0)
    np.testing.assert_allclose(rows.apply(lambda block: block @ direction, indices), some @ direction, atol=1e-14)


@pytest.mark.parametrize("copy", [None, True, False])
def test_subsets_are_rows(rows, X, copy):
    few = rows.subset(np.arange(10, 90), copy).subset(np.arange(0, 80, 3), copy)
    expected = X[10:90:3]
    assert isinstance(few, Rows)
    assert few.shape == expected.shape
    np.testing.assert_array_equal(few.to_array(), expected)
    np.testing.assert_array_equal(few.take(np.array([4, 1])), expected[[4, 1]])
    np.testing.assert_array_equal(few.column(1), expected[:, 1])
    np.testing.assert_allclose(few.project(X[0], np.eye(4)[1], np.array([1, 4])), (expected - X[0])[[1, 4], 1])
    np.testing.assert_array_equal(few.sides(X[0], np.eye(4)[1]), expected[:, 1] > X[0, 1])
    np.testing.assert_array_equal(few.apply(lambda block: block @ np.eye(4)[3]), expected[:, 3])
    assert few.sample().moments().trace * few.sample().unit ** 2 == pytest.approx(expected.var(axis=0).sum())
    with few.session():
        assert few.shape == expected.shape


def test_subsets_are_copied_by_default_only_in_memory(rows):
    assert isinstance(rows.subset(INDICES), Subset) is not rows.in_memory
    assert rows.subset(INDICES, copy=True).in_memory
    assert isinstance(as_rows(np.eye(3)).subset(INDICES[:1] - 3, copy=False), Subset)


def test_limit_of_copies_is_a_share_of_memory_or_a_size(X):
    assert as_rows(X).copy_limit == SMALL_SHARE * 100
    assert Subset(as_rows(X), INDICES).copy_limit == SMALL_SHARE * 100
    assert RowBlocks([X]).copy_limit == (1 << 23) / (8 * 4)


def test_only_dense_rows_fewer_than_features_need_their_row_space(X):
    assert ArrayRows(X[:3]).needs_row_space
    assert RowBlocks([X[:3]]).needs_row_space
    assert not ArrayRows(X).needs_row_space
    assert not SparseRows(sp.csr_array(X[:3])).needs_row_space


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_about_a_hyperplane_are_those_of_the_distances(rows, X, weighted, rng):
    w = rng.random(100) if weighted else None
    direction = np.array([0.5, -0.5, 0.5, 0.5])
    distance = (X - X[0]) @ direction
    signs, cubes = rows.sample(w).side_sums(X[0], direction, 2.0)
    weights = np.ones(100) if w is None else w
    assert signs == pytest.approx(weights @ np.where(distance > 0.0, 1.0, -1.0))
    assert cubes == pytest.approx(weights @ (distance / 2.0) ** 3)


def test_variances_of_features_are_those_of_the_array(rows, X):
    sample = rows.sample()
    np.testing.assert_allclose(sample.column_variances * sample.unit**2, X.var(axis=0), rtol=1e-12)


def test_a_subspace_has_the_coordinates_of_the_rows(rows, rng):
    sample, directions = rows.sample(), np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    few = sample.in_subspace(directions)
    np.testing.assert_allclose(few.fetch(INDICES), sample.fetch(INDICES) @ directions.T, atol=1e-14)
    expected = directions @ sample.moments().covariance @ directions.T
    np.testing.assert_allclose(few.moments().covariance, expected, atol=1e-13)
