"""Sample of sparse rows: moments, digits, answers and principal directions."""

import numpy as np
import pytest
import scipy.sparse as sp

from ravine import Hyperplane
from ravine.rows import (
    AngleDerivative,
    CovarianceProduct,
    DenseSample,
    Gradient,
    Histogram,
    LogSum,
    Rotate,
    SetDirection,
    SetTangent,
    SparseSample,
    ValuesIn,
    Variances,
    sparse,
)
from ravine.rows.moments import find_leading_eigenvectors
from support import reference as ref
from support.simulate import with_zeros


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("scale", "offset"),
    [(1.0, 0.0), (1e-8, 0.0), (1e6, 3e5), (1e-150, 0.0), (1e140, 0.0), (1.0, 1e6), (1e-200, 0.0), (1e250, 0.0)],
)
def test_moments_match_extended_precision(scale, offset, weighted, rng):
    X = scale * with_zeros(rng.standard_normal((400, 5))) + offset
    w = rng.integers(0, 3, 400).astype(float) if weighted else None
    sample = SparseSample(sp.csr_array(X), w)
    mean, covariance = ref.moments(X, w)
    largest = np.diagonal(covariance).max()
    np.testing.assert_allclose(sample.origin, mean.astype(float), rtol=1e-13, atol=1e-12 * float(np.sqrt(largest)))
    found = sample.moments().covariance * np.longdouble(sample.unit) ** 2
    assert (np.abs(found - covariance) <= 1e-9 * largest).all()


def far_from_zero(rng, offset, gaps):
    """Make five features: one about zero, three far from it, one constant; some of their zeros are not stored."""
    X = with_zeros(rng.standard_normal((30_000, 5)))
    X[:, 1:4] += offset * np.array([1.0, -3.0, 0.5])
    X[:, 3] = 0.5 * offset
    if gaps:
        X[17, 1] = X[17, 2] = X[29_999, 2] = 0.0
    return X


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("offset", [1e4, 1e8, 1e12])
def test_far_columns_cost_no_digits(offset, gaps, weighted, stored, rng, monkeypatch):
    monkeypatch.setattr(sparse, "STORED_FEATURES", 1000 if stored else 0)
    X = far_from_zero(rng, offset, gaps)
    w = rng.random(len(X)) + 0.5 if weighted else None
    sample = SparseSample(sp.csr_array(X), w)
    exact = np.longdouble(X)
    mean, covariance = ref.moments(X, w)
    assert (np.abs(sample.origin - mean) <= 1e-15 * np.abs(mean) + 1e-15).all()
    z = (exact - np.longdouble(sample.origin)) / sample.unit
    v = np.linalg.qr(rng.standard_normal((5, 1)))[0][:, 0]
    rounding = 8e-16 * (np.abs(z) @ np.abs(v))
    assert (np.abs(sample._project(v[None])[:, 0] - z @ v) <= rounding).all()
    some = rng.permutation(len(X))[:200]
    some[:2] = 17, 29_999
    assert (np.abs(sample.take(some)._project(v[None])[:, 0] - (z @ v)[some]) <= rounding[some]).all()
    np.testing.assert_allclose(sample.fetch(some), z[some].astype(float), rtol=1e-15)
    expected = covariance @ v / np.longdouble(sample.unit) ** 2
    # The origin is a number in double precision: what is about the mean can only be as near as the mean to it.
    slack = 1e-13 + float((np.abs(mean - sample.origin) / sample.unit).sum()) ** 2
    np.testing.assert_allclose(sample.moments().times(v), expected.astype(float), atol=10.0 * slack)
    assert sample.moments().trace == pytest.approx(float(np.trace(covariance)) / sample.unit**2, abs=10.0 * slack)
    c = rng.standard_normal(len(X))
    np.testing.assert_allclose(
        sample._sum_rows(c), (c @ z).astype(float), atol=1e-12 * float(np.abs(c) @ np.abs(z).max(1))
    )
    lengths = (z**2).sum(axis=1).astype(float)
    np.testing.assert_allclose(sample._matrix.squared_lengths(sample.unit), lengths, rtol=1e-11, atol=1e-12)


def test_a_rare_zero_costs_the_other_rows_no_digits(rng):
    X = rng.standard_normal((2000, 4)) + 1e6
    X[[5, 700], [0, 3]] = 0.0
    sample = SparseSample(sp.csr_array(X))
    z = (np.longdouble(X) - np.longdouble(sample.origin)) / sample.unit
    v = np.linalg.qr(rng.standard_normal((4, 1)))[0][:, 0]
    assert (np.abs(sample._project(v[None])[:, 0] - z @ v) <= 8e-16 * (np.abs(z) @ np.abs(v))).all()


def test_columns_about_zero_are_not_copied(rng):
    X = sp.csr_array(with_zeros(rng.standard_normal((300, 5)), 1.0))
    assert SparseSample(X)._matrix.shifted is X
    far = X.copy()
    far.data += 1e6  # the zeros stay: no column has few of them
    assert SparseSample(far)._matrix.shifted is far


def test_zeros_of_negligible_weight_are_not_listed(rng):
    """A heavy row with values where others store none is far from zero by weight, not by number."""
    X = np.zeros((500, 4))
    X[0] = 3.0
    X[1:, 0] = rng.standard_normal(499)
    w = np.full(500, 1e-12)
    w[0] = 1.0
    sample = SparseSample(sp.csr_array(X), w)
    assert sample._matrix.missing is None
    np.testing.assert_allclose(sample.fetch(np.arange(500)) * sample.unit, X - sample.origin, atol=1e-12)


@pytest.mark.parametrize("rows", [None, np.array([4, 5, 6, 17, 29_999])])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_distances_of_far_rows_have_all_digits(twice, gaps, rows, rng):
    X = far_from_zero(rng, 1e12, gaps)
    given = sp.csr_array(X)
    if twice:  # two entries for every value, which add up exactly
        halves, columns, ends = np.repeat(given.data / 2, 2), np.repeat(given.indices, 2), 2 * given.indptr
        given = sp.csr_array((halves, columns, ends), shape=X.shape)
    v = np.linalg.qr(rng.standard_normal((5, 1)))[0][:, 0]
    plane = Hyperplane(v, float(v @ X[3]), point=X[3])
    z = np.longdouble(X) - np.longdouble(plane.point)
    some = slice(None) if rows is None else rows
    expected, rounding = (z @ v)[some], 1e-15 + 8e-16 * (np.abs(z) @ np.abs(v))[some]
    assert (np.abs(plane.distance(given, rows) - expected) <= rounding).all()
    assert given.nnz == (2 if twice else 1) * np.count_nonzero(X)  # the user's matrix is as it was


@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_the_covariance_are_those_of_the_stored_one(weighted, rng, unstored):
    X = with_zeros(rng.standard_normal((300, 7)) + 0.5)
    w = rng.random(300) if weighted else None
    sample = SparseSample(sp.csr_array(X), w)
    moments, stored = sample.moments(), DenseSample(X, w).moments().covariance
    assert not moments.is_stored
    v = rng.standard_normal(7)
    np.testing.assert_allclose(moments.times(v), stored @ v, atol=1e-12)
    assert moments.trace == pytest.approx(np.trace(stored), rel=1e-12)
    pq = sample.new_projections()
    u = rng.standard_normal(7)
    ((_, on_v, (vv, _, _)),) = sample.answer([[SetDirection(pq, v), CovarianceProduct(pq), Variances(pq, False)]])
    ((_, spread),) = sample.answer([[SetTangent(pq, u), Variances(pq, True)]])
    np.testing.assert_allclose(on_v, stored @ v, atol=1e-12)
    assert vv == pytest.approx(v @ stored @ v)
    np.testing.assert_allclose(spread, [v @ stored @ v, v @ stored @ u, u @ stored @ u], atol=1e-12)


@pytest.mark.parametrize("reach", [0.5, 50.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_those_of_the_dense_sample(weighted, reach, rng):
    X = with_zeros(rng.standard_normal((700, 5)) + 0.5)
    w = rng.random(700) if weighted else None
    few = SparseSample(sp.csr_array(X), w)
    full = DenseSample(X, w, origin=few.origin, unit=few.unit)
    v, u = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    results = []
    for sample in (few, full):
        pq, other = sample.new_projections(), sample.new_projections()
        results.append([
            sample.answer([[SetDirection(pq, v), Histogram(pq, 0.0, -3.0, 0.1, 64)], [SetDirection(other, u)]]),
            sample.answer(
                [[SetTangent(pq, u), LogSum(pq, 0.3, 0.4, 0.1), AngleDerivative(pq, 0.3, 0.4, 0.1, 2.0, 2.0)]]
            ),
            sample.answer([[Rotate(pq, 0.3), Gradient(pq, 0.4, 0.1, 2, reach)], [Gradient(other, 0.4, 0, 2, 9)]]),
            sample.answer([[ValuesIn(pq, 0.0, -0.5, 0.5)]])[0][0],
            sample.fourth_moments(np.eye(5)), sample.skewness_signs(np.eye(5)), sample.fetch(np.array([3, 5])),
        ])  # fmt: skip
    flat = [list(_flat(result)) for result in results]
    assert len(flat[0]) == len(flat[1])
    for one, two in zip(*flat, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-11)


def _flat(thing):
    if isinstance(thing, list | tuple):
        for part in thing:
            yield from _flat(part)
    elif thing is not None:
        yield np.asarray(thing)


@pytest.mark.parametrize("n", [1, 3, 12])
def test_leading_eigenvectors_are_those_of_the_matrix(n, rng):
    basis = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    values = np.concatenate([[9.0, 5.0, 4.0, 2.0], np.linspace(1.0, 0.0, 36)])
    matrix = (basis * values) @ basis.T
    found, vectors = find_leading_eigenvectors(lambda v: matrix @ v, 40, n)
    np.testing.assert_allclose(found[:4], values[:n][:4], rtol=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors[0], 9.0 * vectors[0], atol=1e-9)


def test_eigenvectors_of_a_matrix_of_low_rank_are_found():
    e = np.eye(6)
    found, vectors = find_leading_eigenvectors(lambda v: np.outer(e[0], e[0]) @ v, 6, 3)
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0], atol=1e-12)
    assert abs(vectors[0, 0]) == pytest.approx(1.0)
