"""Sparse matrices: the same answers as the dense array, without ever making one."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import reference as ref
from ravine import Hyperplane, MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.density import BalancePenalty
from ravine.estimators._inputs import check_input
from ravine.estimators.label_starts import _linear_svm
from ravine.index import ClusteringIndex
from ravine.pursuit import PrincipalAxes, drive, orthonormal_rows
from ravine.pursuit.lanczos import leading_eigenvectors
from ravine.sample import (
    Accept,
    Aim,
    Along,
    Bin,
    DenseSample,
    Gather,
    LogSum,
    Noise,
    PullBack,
    Scatter,
    SparseSample,
    Spread,
    Turn,
    sparse,
)
from simulate import mixture, two_clusters

FORMATS = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array]


def with_zeros(X, below=0.3):
    return np.where(np.abs(X) < below, 0.0, X)


@pytest.fixture
def unstored(monkeypatch):
    """As if there were too many columns to store the covariance."""
    monkeypatch.setattr(sparse, "STORED_COLUMNS", 0)


@pytest.fixture(params=["stored", "unstored"])
def unstored_or_not(request, monkeypatch):
    """With the covariance, and as if there were too many columns to store it."""
    if request.param == "unstored":
        monkeypatch.setattr(sparse, "STORED_COLUMNS", 0)


def assert_same_fit(one, other, normal=1e-6):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert other.density_ == pytest.approx(one.density_, rel=1e-9)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=normal)


# ------------------------------------------------------------------------------------------------- sample


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
    """Five columns: one about zero, three far from it, one of them constant; some of their zeros are not stored."""
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
    monkeypatch.setattr(sparse, "STORED_COLUMNS", 1000 if stored else 0)
    X = far_from_zero(rng, offset, gaps)
    w = rng.random(len(X)) + 0.5 if weighted else None
    sample = SparseSample(sp.csr_array(X), w)
    exact = np.longdouble(X)
    mean, covariance = ref.moments(X, w)
    assert (np.abs(sample.origin - mean) <= 1e-15 * np.abs(mean) + 1e-15).all()
    z = (exact - np.longdouble(sample.origin)) / sample.unit
    v = np.linalg.qr(rng.standard_normal((5, 1)))[0][:, 0]
    rounding = 8e-16 * (np.abs(z) @ np.abs(v))
    assert (np.abs(sample.on(v[None])[:, 0] - z @ v) <= rounding).all()
    some = rng.permutation(len(X))[:200]
    some[:2] = 17, 29_999
    assert (np.abs(sample.take(some).on(v[None])[:, 0] - (z @ v)[some]) <= rounding[some]).all()
    np.testing.assert_allclose(sample.fetch(some), z[some].astype(float), rtol=1e-15)
    expected = covariance @ v / np.longdouble(sample.unit) ** 2
    # The origin is a number in double precision: what is about the mean can only be as near as the mean to it.
    slack = 1e-13 + float((np.abs(mean - sample.origin) / sample.unit).sum()) ** 2
    np.testing.assert_allclose(sample.moments().times(v), expected.astype(float), atol=10.0 * slack)
    assert sample.moments().trace == pytest.approx(float(np.trace(covariance)) / sample.unit**2, abs=10.0 * slack)
    c = rng.standard_normal(len(X))
    np.testing.assert_allclose(sample._back(c), (c @ z).astype(float), atol=1e-12 * float(np.abs(c) @ np.abs(z).max(1)))
    lengths = (z**2).sum(axis=1).astype(float)
    np.testing.assert_allclose(sample._cells.squared_lengths(sample.unit), lengths, rtol=1e-11, atol=1e-12)


def test_zeros_in_one_of_a_thousand_rows_cost_the_others_no_digits(rng):
    X = rng.standard_normal((2000, 4)) + 1e6
    X[[5, 700], [0, 3]] = 0.0
    sample = SparseSample(sp.csr_array(X))
    z = (np.longdouble(X) - np.longdouble(sample.origin)) / sample.unit
    v = np.linalg.qr(rng.standard_normal((4, 1)))[0][:, 0]
    assert (np.abs(sample.on(v[None])[:, 0] - z @ v) <= 8e-16 * (np.abs(z) @ np.abs(v))).all()


def test_columns_about_zero_are_not_copied(rng):
    X = sp.csr_array(with_zeros(rng.standard_normal((300, 5)), 1.0))
    assert SparseSample(X)._cells.shifted is X
    far = X.copy()
    far.data += 1e6  # the zeros stay: no column has few of them
    assert SparseSample(far)._cells.shifted is far


def test_zeros_of_hardly_any_weight_are_not_listed(rng):
    """A heavy row with cells where others have none is far from zero by weight, not by number."""
    X = np.zeros((500, 4))
    X[0] = 3.0
    X[1:, 0] = rng.standard_normal(499)
    w = np.full(500, 1e-12)
    w[0] = 1.0
    sample = SparseSample(sp.csr_array(X), w)
    assert sample._cells.missing is None
    np.testing.assert_allclose(sample.fetch(np.arange(500)) * sample.unit, X - sample.origin, atol=1e-12)


@pytest.mark.parametrize("rows", [None, np.array([4, 5, 6, 17, 29_999])])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_distances_of_far_rows_have_all_digits(twice, gaps, rows, rng):
    X = far_from_zero(rng, 1e12, gaps)
    given = sp.csr_array(X)
    if twice:  # every cell in two parts that add up exactly
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
    assert moments.covariance is None
    v = rng.standard_normal(7)
    np.testing.assert_allclose(moments.times(v), stored @ v, atol=1e-12)
    assert moments.trace == pytest.approx(np.trace(stored), rel=1e-12)
    track = sample.track()
    u = rng.standard_normal(7)
    ((_, on_v, (vv, _, _)),) = sample.answer([[Aim(track, v), Scatter(track), Spread(track, False)]])
    ((_, spread),) = sample.answer([[Turn(track, u), Spread(track, True)]])
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
        track, other = sample.track(), sample.track()
        results.append([
            sample.answer([[Aim(track, v), Bin(track, 0.0, -3.0, 0.1, 64)], [Aim(other, u)]]),
            sample.answer([[Turn(track, u), LogSum(track, 0.3, 0.4, 0.1), Along(track, 0.3, 0.4, 0.1, 2.0, 2.0)]]),
            sample.answer([[Accept(track, 0.3), PullBack(track, 0.4, 0.1, 2, reach)], [PullBack(other, 0.4, 0, 2, 9)]]),
            sample.answer([[Gather(track, 0.0, -0.5, 0.5)]])[0][0],
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
    found, vectors = leading_eigenvectors(lambda v: matrix @ v, 40, n)
    np.testing.assert_allclose(found[:4], values[:n][:4], rtol=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors[0], 9.0 * vectors[0], atol=1e-9)


def test_eigenvectors_of_a_matrix_of_low_rank_are_found():
    e = np.eye(6)
    found, vectors = leading_eigenvectors(lambda v: np.outer(e[0], e[0]) @ v, 6, 3)
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0], atol=1e-12)
    assert abs(vectors[0, 0]) == pytest.approx(1.0)


# ------------------------------------------------------------------------------------------------- estimators


@pytest.mark.parametrize("form", FORMATS)
def test_any_format_gives_the_fit_of_the_array(form):
    X = with_zeros(two_clusters(300, 5)[0])
    assert_same_fit(MinimumDensityHyperplane().fit(X), MinimumDensityHyperplane().fit(form(X)))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_other_types_are_converted(dtype):
    X = np.abs(10 * two_clusters(300, 5)[0]).astype(dtype)
    assert_same_fit(MinimumDensityHyperplane().fit(X.astype(float)), MinimumDensityHyperplane().fit(sp.csr_array(X)))


@pytest.mark.parametrize("subsample", [2000, None])
def test_multilevel_fit_is_that_of_the_array(subsample):
    X = with_zeros(mixture(12_000, 8, seed=1)[0])
    model = MinimumDensityHyperplane(subsample=subsample, random_state=0)
    one, other = model.fit(X).__dict__.copy(), model.fit(sp.csr_array(X))
    np.testing.assert_array_equal(one["labels_"], other.labels_)
    assert other.density_ == pytest.approx(one["density_"], rel=1e-9)
    np.testing.assert_allclose(other.coef_, one["coef_"], atol=1e-6)


def test_fit_without_a_stored_covariance_is_the_same_where_all_axes_are_looked_at(unstored):
    X = with_zeros(mixture(2500, 12, seed=2)[0])
    options = {"init": "pca", "n_init": 8}
    assert_same_fit(
        MinimumDensityHyperplane(**options).fit(X), MinimumDensityHyperplane(**options).fit(sp.csr_array(X))
    )


def test_weights_of_zero_leave_rows_out(rng):
    X, w = with_zeros(two_clusters(300, 4)[0]), rng.integers(0, 3, 300).astype(float)
    one, other = (MinimumDensityHyperplane().fit(data, sample_weight=w) for data in (X, sp.csr_array(X)))
    assert_same_fit(one, other)


def test_fewer_rows_than_columns():
    X = with_zeros(two_clusters(40, 90, separation=40.0)[0], 0.5)
    one, other = (MinimumDensityHyperplane(init="pca", n_init=2).fit(data) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert other.density_ == pytest.approx(one.density_, rel=1e-6)


def test_classifier_and_its_probabilities_are_those_of_the_array():
    X, y = mixture(900, 5, seed=3)
    X, y = with_zeros(X), np.where(np.arange(900) < 40, y, -1)
    one, other = (MinimumDensityClassifier().fit(data, y) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.transduction_, other.transduction_)
    np.testing.assert_allclose(other.predict_proba(sp.csc_array(X)), one.predict_proba(X), atol=1e-6)


def test_classifier_without_a_stored_covariance(unstored):
    X, truth = two_clusters(600, 6)
    X, y = with_zeros(X), np.where(np.arange(600) < 20, truth, -1)
    one, other = (MinimumDensityClassifier().fit(data, y) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.transduction_, other.transduction_)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-5)


@pytest.mark.parametrize("offset", [1e8, 1e12])
def test_fit_far_from_zero_is_that_of_the_array(offset, unstored_or_not):
    X = mixture(4000, 6, seed=5)[0] + offset
    model = MinimumDensityHyperplane(init="pca", random_state=0)
    one, other = model.fit(X).__dict__.copy(), model.fit(sp.csr_array(X))
    np.testing.assert_array_equal(one["labels_"], other.labels_)
    np.testing.assert_array_equal(other.predict(sp.csc_array(X)), other.labels_)
    assert other.density_ == pytest.approx(one["density_"], rel=1e-9)
    np.testing.assert_allclose(other.coef_, one["coef_"], atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e-290, 1e250])
def test_fit_of_tiny_and_huge_cells_is_that_of_the_array(scale, unstored_or_not):
    X = scale * with_zeros(two_clusters(300, 5)[0])
    one, other = (MinimumDensityHyperplane(init="pca").fit(data) for data in (X, sp.csr_array(X)))
    assert one.labels_.any()
    assert_same_fit(one, other)


def test_tree_and_classifier_far_from_zero_are_those_of_the_array():
    X, y = mixture(900, 5, seed=3)
    X, y = X + 1e10, np.where(np.arange(900) < 40, y, -1)
    one, other = (MinimumDensityTree(4).fit(data) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(sp.csr_array(X[::2])), one.labels_[::2])
    one, other = (MinimumDensityClassifier().fit(data, y) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.transduction_, other.transduction_)


def test_tree_is_that_of_the_array():
    X = with_zeros(mixture(900, 5, seed=3)[0])
    one, other = (MinimumDensityTree(4).fit(data) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(sp.csc_array(X)), one.labels_)
    np.testing.assert_array_equal(other.decision_path(sp.csr_array(X)).toarray(), one.decision_path(X).toarray())


def test_scaling_without_centring_in_a_pipeline():
    X = with_zeros(two_clusters(300, 4)[0]) * [1.0, 10.0, 100.0, 0.01]
    pipeline = make_pipeline(StandardScaler(with_mean=False), MinimumDensityHyperplane())
    np.testing.assert_array_equal(pipeline.fit_predict(sp.csr_array(X)), pipeline.fit_predict(X))


def in_parts(X, form, dtype):
    """Every cell stored as two parts, in no order."""
    lines = X if form is sp.csr_array else X.T
    rows, columns = (np.tile(places, 2) for places in np.nonzero(lines))
    parts = np.concatenate([0.25 * lines[lines != 0], 0.75 * lines[lines != 0]]).astype(dtype)
    order = np.random.default_rng(0).permutation(len(parts))
    order = order[np.argsort(rows[order], kind="stable")]
    ends = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(lines, axis=1))])
    return form((parts[order], columns[order], ends), shape=X.shape)


@pytest.mark.parametrize("offset", [0.0, 4096.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_a_cell_in_parts_is_their_sum_and_stays_in_parts(form, dtype, offset, unstored_or_not):
    X = np.rint(8.0 * with_zeros(two_clusters(300, 5)[0])) + offset
    given = in_parts(X, form, dtype)
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    model = MinimumDensityHyperplane(init="pca")
    trace = SparseSample(check_input(model, given, reset=True)).moments().trace
    assert trace == pytest.approx(SparseSample(sp.csr_array(X)).moments().trace, rel=1e-12)
    one, other = model.fit(X).__dict__.copy(), model.fit(given)
    np.testing.assert_array_equal(one["labels_"], other.labels_)
    np.testing.assert_array_equal(other.predict(given), other.labels_)
    assert other.density_ == pytest.approx(one["density_"], rel=1e-9)
    MinimumDensityTree(2).fit(given).predict(given)
    for part, kept in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(part, kept)


# ------------------------------------------------------------------------------------------------- very many columns


def topics(n, d=20_000, k=40, shared=28, seed=0):
    """Documents of two topics that share most words; no array of n x d or d x d would fit a test's time."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 2, n)
    words = rng.integers(0, d, (n, k))
    few = k - shared
    words[:, :few] = rng.integers(0, 60, (n, few)) + 60 * topic[:, None]
    return sp.csr_array((np.ones(n * k), words.ravel(), np.arange(0, n * k + 1, k)), shape=(n, d)), topic


def agreement(labels, truth):
    return max(np.mean(labels == truth), np.mean(labels != truth))


def log_density_of(model, X):
    """Of these rows, on the hyperplane that other rows have placed."""
    u = model.decision_function(X) / model.bandwidth_
    return np.log(np.mean(np.exp(-0.5 * u * u)))


def test_text_like_data_of_many_columns_is_split():
    X, topic = topics(3000)
    assert agreement(MinimumDensityHyperplane(random_state=0).fit(X).labels_, topic) > 0.99


def test_direct_method_stays_among_a_few_directions():
    X, topic = topics(1500, d=3000)
    model = MinimumDensityHyperplane(method="sqp", random_state=0).fit(X)
    assert agreement(model.labels_, topic) > 0.99
    axes = PrincipalAxes.of(SparseSample(X).moments(), 3000, 10)
    assert np.linalg.norm(axes.directions @ model.coef_.ravel()) > 0.999


def test_density_of_new_rows_is_as_low_as_that_of_the_rows_fitted():
    """With more columns than rows near the hyperplane, all columns could make the density of these rows anything."""
    X, topic = topics(8000, shared=30)
    model = MinimumDensityHyperplane(random_state=0).fit(X[:4000])
    assert log_density_of(model, X[4000:]) < log_density_of(model, X[:4000]) + 0.5
    assert agreement(model.predict(X[4000:]), topic[4000:]) > 0.99


@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_no_topics_give_no_deep_split():
    model = MinimumDensityHyperplane(random_state=0).fit(topics(3000, shared=40)[0])
    assert model.relative_depth_ < 0.5


def test_classifier_of_many_columns_predicts_new_rows():
    X, topic = topics(4000)
    y = np.where(np.arange(2000) < 60, topic[:2000], -1)
    model = MinimumDensityClassifier(random_state=0).fit(X[:2000], y)
    assert np.mean(model.transduction_ == topic[:2000]) > 0.98
    assert model.score(X[2000:], topic[2000:]) > 0.97


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_of_the_gradient_is_its_sum(weighted, rng):
    X = with_zeros(rng.standard_normal((300, 7)) + 0.5)
    w = rng.random(300) if weighted else None
    sample = SparseSample(sp.csr_array(X), w)
    v = np.linalg.qr(rng.standard_normal((7, 1)))[0][:, 0]
    h, b, log_sum, reach = 0.3, 0.1, 2.0, 1.0
    track = sample.track()
    ((_, found),) = sample.answer([[Aim(track, v), Noise(track, h, b, log_sum, reach)]])
    expected = 0.0
    for i, z in enumerate((X - sample.origin) / sample.unit):
        u = (z @ v - b) / h
        if abs(z @ v - b) <= reach:
            c = -u / h * np.exp(-0.5 * u * u - log_sum) * (1.0 if w is None else w[i])
            expected += c * c * np.sum((z - (z @ v) * v) ** 2)
    assert found == pytest.approx(expected, rel=1e-10)


def index_of(X):
    sample = SparseSample(sp.csr_array(X))
    return sample, ClusteringIndex(sample, sample.moments(), 0.3, BalancePenalty(), 0.5)


def test_gradient_of_columns_that_know_nothing_is_noise(rng, unstored):
    X = rng.standard_normal((4000, 200))
    X[:, 0] += np.where(rng.random(4000) < 0.5, 3.0, -3.0)
    sample, index = index_of(X)
    (ratio,) = drive(sample, [index.signal_to_noise(np.eye(200)[0])])
    assert 0.7 < ratio < 1.4  # a mean of 199 squares of normal variables: 1 with a standard deviation of 0.1


def test_gradient_of_a_column_that_knows_better_is_not(rng, unstored):
    X = rng.standard_normal((4000, 200))
    X[:, :2] += np.where(rng.random(4000) < 0.5, 2.0, -2.0)[:, None]
    sample, index = index_of(X)
    (ratio,) = drive(sample, [index.signal_to_noise(np.eye(200)[0])])
    assert ratio > 5.0


def test_all_columns_are_used_where_the_rows_can_tell(unstored):
    """One start, so five of thirty axes: the rest of the normal must come from all columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30)) * np.linspace(1.5, 1.0, 30)
    X += np.where(rng.random(20_000) < 0.5, 0.65, -0.65)[:, None]
    one, other = (MinimumDensityHyperplane(init="pca", n_init=1).fit(data) for data in (X, sp.csr_array(X)))
    assert np.mean(one.labels_ == other.labels_) > 0.999
    assert any(step.polished and step.n_iter for step in other.path_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("optimiser", ["gradient_sampling", "adaptive_gradient_sampling"])
def test_all_columns_are_for_lbfgs(optimiser, unstored):
    """Gradient sampling would draw twice as many gradients as there are columns in every step."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30)) * np.linspace(1.5, 1.0, 30)
    X += np.where(rng.random(20_000) < 0.5, 0.65, -0.65)[:, None]
    model = MinimumDensityHyperplane(init="pca", n_init=1, n_alpha=2, max_iter=2, subsample=None)
    found = {}
    for name in ("lbfgs", optimiser):
        last = model.set_params(optimiser=name).fit(sp.csr_array(X)).path_[-1]
        assert last.polished
        found[name] = last
    assert found[optimiser].n_iter == found["lbfgs"].n_iter == 2
    assert found[optimiser].n_evaluations == found["lbfgs"].n_evaluations
    assert found[optimiser].hyperplane.density == pytest.approx(found["lbfgs"].hyperplane.density, rel=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_svm_of_few_labels_is_solved_in_their_space(weighted, rng):
    X, y, w = rng.standard_normal((12, 40)), np.repeat([0, 1, 2], 4), rng.random(12) + 0.1 if weighted else None
    X[3] = X[4]
    few = _linear_svm(X, y, w, 1.0, rng)
    full = LinearSVC(C=1.0, dual=False, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(few.coef_, full.coef_, atol=1e-9)
    np.testing.assert_allclose(few.intercept_, full.intercept_, atol=1e-9)


def test_orthonormal_rows_span_what_they_are_given(rng):
    given = rng.standard_normal((3, 8))
    basis = orthonormal_rows(np.concatenate([given, given[:2] + given[1:]]))
    assert basis.shape == (3, 8)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(given @ basis.T @ basis, given, atol=1e-10)


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("estimator", [MinimumDensityHyperplane(), MinimumDensityTree(2)])
def test_a_bad_cell_is_named(estimator, value):
    X = sp.lil_array(two_clusters(50, 3)[0])
    X[17, 2] = value
    with pytest.raises(ValueError, match=r"column 2 \(row 17\)"):
        estimator.fit(sp.csr_array(X))


def test_valley_test_says_that_it_is_not_for_sparse_columns():
    X = sp.csr_array(two_clusters(60, 3)[0])
    with pytest.raises(ValueError, match=r"not for sparse.*n_clusters"):
        MinimumDensityTree().fit(X)
    with pytest.raises(ValueError, match="not for sparse"):
        MinimumDensityHyperplane(test=True).fit(X)


@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_equal_rows_are_one_cluster():
    assert not MinimumDensityHyperplane().fit(sp.csr_array(np.ones((9, 3)))).labels_.any()
    assert not MinimumDensityHyperplane().fit(sp.csr_array((9, 3))).labels_.any()


@pytest.mark.parametrize("constant", [0.0, 5.0])
@pytest.mark.parametrize("d", [6, 1200])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_start_along_which_nothing_varies_is_refused(form, d, constant, rng):
    X = with_zeros(rng.standard_normal((1300, d)), 1.5)
    X[:, 2] = constant
    with pytest.raises(ValueError, match="init has a row along which the data do not vary"):
        MinimumDensityHyperplane(init=np.eye(1, d, 2)).fit(form(X))
