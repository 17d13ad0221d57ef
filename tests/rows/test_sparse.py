"""Sparse matrices: fits equal those of the dense array, which is never made."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.rows import (
    SparseSample,
    sparse,
)
from ravine.rows.inputs import validate_rows
from support.simulate import mixture, two_clusters, with_zeros

pytestmark = pytest.mark.usefixtures("sparse_samples")

FORMATS = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array]


@pytest.fixture(params=["stored", "unstored"])
def unstored_or_not(request, monkeypatch):
    """Run with a stored covariance, and as if there were too many features to store one."""
    if request.param == "unstored":
        monkeypatch.setattr(sparse, "STORED_FEATURES", 0)


def assert_same_fit(one, other, normal=1e-6):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert other.density_ == pytest.approx(one.density_, rel=1e-9)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=normal)


# ------------------------------------------------------------------------------------------------- estimators


@pytest.mark.parametrize("weighted", [False, True])
def test_few_values_are_searched_as_an_array(monkeypatch, weighted):
    """Only the search of an array runs in C++, which matters for tiny bandwidths with thousands of steps."""
    X = with_zeros(two_clusters(40, 5)[0])
    weights = np.arange(1.0, 41.0) if weighted else None
    monkeypatch.setattr(sparse, "FEW_VALUES", X.size)
    found = MinimumDensityHyperplane(bandwidth=0.02).fit(sp.csr_array(X), sample_weight=weights)
    expected = MinimumDensityHyperplane(bandwidth=0.02).fit(X, sample_weight=weights)
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    monkeypatch.setattr(sparse, "FEW_VALUES", X.size - 1)
    assert isinstance(sparse.SparseRows(sp.csr_array(X)).sample(), SparseSample)


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


def test_fit_with_all_axes_does_not_depend_on_stored_covariance(unstored):
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
    X, y = mixture(500, 5, seed=3)
    X, y = with_zeros(X), np.where(np.arange(500) < 40, y, -1)
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
def test_fit_of_tiny_and_huge_values_is_that_of_the_array(scale, unstored_or_not):
    X = scale * with_zeros(two_clusters(300, 5)[0])
    one, other = (MinimumDensityHyperplane(init="pca").fit(data) for data in (X, sp.csr_array(X)))
    assert one.labels_.any()
    assert_same_fit(one, other)


def test_tree_and_classifier_far_from_zero_are_those_of_the_array():
    X, y = mixture(500, 5, seed=3)
    X, y = X + 1e10, np.where(np.arange(500) < 40, y, -1)
    one, other = (
        MinimumDensityTree(
            4, random_state=0, hyperplane=MinimumDensityHyperplane(n_init=2, path=PathSettings(n_alpha=4))
        ).fit(data)
        for data in (X, sp.csr_array(X))
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(sp.csr_array(X[::2])), one.labels_[::2])
    one, other = (MinimumDensityClassifier().fit(data, y) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.transduction_, other.transduction_)


def test_tree_is_that_of_the_array():
    X = with_zeros(mixture(500, 5, seed=3)[0])
    one, other = (
        MinimumDensityTree(
            4, random_state=0, hyperplane=MinimumDensityHyperplane(n_init=2, path=PathSettings(n_alpha=4))
        ).fit(data)
        for data in (X, sp.csr_array(X))
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(sp.csc_array(X)), one.labels_)
    np.testing.assert_array_equal(other.decision_path(sp.csr_array(X)).toarray(), one.decision_path(X).toarray())


def test_scaling_without_centring_in_a_pipeline():
    X = with_zeros(two_clusters(300, 4)[0]) * [1.0, 10.0, 100.0, 0.01]
    pipeline = make_pipeline(StandardScaler(with_mean=False), MinimumDensityHyperplane())
    np.testing.assert_array_equal(pipeline.fit_predict(sp.csr_array(X)), pipeline.fit_predict(X))


def in_parts(X, form, dtype):
    """Store every value as two entries, unordered."""
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
def test_duplicate_entries_are_summed_in_a_copy(form, dtype, offset, unstored_or_not):
    X = np.rint(8.0 * with_zeros(two_clusters(300, 5)[0])) + offset
    given = in_parts(X, form, dtype)
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    model = MinimumDensityHyperplane(init="pca")
    trace = validate_rows(model, given, reset=True).sample().moments().trace
    assert trace == pytest.approx(SparseSample(sp.csr_array(X)).moments().trace, rel=1e-12)
    one, other = model.fit(X).__dict__.copy(), model.fit(given)
    np.testing.assert_array_equal(one["labels_"], other.labels_)
    np.testing.assert_array_equal(other.predict(given), other.labels_)
    assert other.density_ == pytest.approx(one["density_"], rel=1e-9)
    MinimumDensityTree(2).fit(given).predict(given)
    for part, kept in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(part, kept)


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("estimator", [MinimumDensityHyperplane(), MinimumDensityTree(2)])
def test_a_bad_value_is_named(estimator, value):
    X = sp.lil_array(two_clusters(50, 3)[0])
    X[17, 2] = value
    with pytest.raises(ValueError, match=r"feature 2 \(row 17\)"):
        estimator.fit(sp.csr_array(X))


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
    with pytest.raises(ValueError, match="init"):
        MinimumDensityHyperplane(init=np.eye(1, d, 2)).fit(form(X))
