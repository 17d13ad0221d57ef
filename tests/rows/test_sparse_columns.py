"""Sparse rows of very many features: a few directions first, all features while the gradient exceeds its noise."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, paper_settings
from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.rows import (
    GradientNoise,
    SetDirection,
    SparseSample,
)
from ravine.search import drive
from ravine.search.label_fit import _fit_linear_svm
from ravine.search.refinement import orthonormalise
from support.simulate import with_zeros

pytestmark = pytest.mark.usefixtures("sparse_samples")


def topics(n, d=20_000, k=40, shared=28, seed=0):
    """Make documents of two topics that share most words; an array of n x d or d x d would be too slow for a test."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 2, n)
    words = rng.integers(0, d, (n, k))
    few = k - shared
    words[:, :few] = rng.integers(0, 60, (n, few)) + 60 * topic[:, None]
    return sp.csr_array((np.ones(n * k), words.ravel(), np.arange(0, n * k + 1, k)), shape=(n, d)), topic


def agreement(labels, truth):
    return max(np.mean(labels == truth), np.mean(labels != truth))


def log_density_of(model, X):
    """Return the log density of rows on a hyperplane that was fitted to other rows."""
    u = model.decision_function(X) / model.bandwidth_
    return np.log(np.mean(np.exp(-0.5 * u * u)))


def test_text_like_data_of_many_columns_is_split():
    X, topic = topics(3000)
    assert agreement(MinimumDensityHyperplane(random_state=0).fit(X).labels_, topic) > 0.99


def test_density_of_new_rows_is_as_low_as_that_of_the_rows_fitted():
    """With more features than rows near the hyperplane, a search in all features would overfit these rows."""
    X, topic = topics(8000, shared=30)
    model = MinimumDensityHyperplane(random_state=0).fit(X[:4000])
    assert log_density_of(model, X[4000:]) < log_density_of(model, X[:4000]) + 0.5
    assert agreement(model.predict(X[4000:]), topic[4000:]) > 0.99


@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_no_topics_give_no_deep_split():
    model = MinimumDensityHyperplane(random_state=0).fit(topics(800, shared=40)[0])
    assert model.relative_depth_ < 0.5


def test_classifier_of_many_columns_predicts_new_rows():
    X, topic = topics(1500)
    y = np.where(np.arange(500) < 60, topic[:500], -1)
    model = MinimumDensityClassifier(random_state=0).fit(X[:500], y)
    assert np.mean(model.transduction_ == topic[:500]) > 0.98
    assert model.score(X[500:], topic[500:]) > 0.97


def test_method_of_the_paper_separates_many_columns():
    X, topic = topics(400)
    y = np.where(np.arange(400) < 40, topic, -1)
    model = MinimumDensityClassifier(**paper_settings("classification"), random_state=0).fit(X, y)
    assert np.mean(model.transduction_ == topic) > 0.98
    assert np.mean(model.predict_proba(X).argmax(axis=1) == topic) > 0.98


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_of_the_gradient_is_its_sum(weighted, rng):
    X = with_zeros(rng.standard_normal((300, 7)) + 0.5)
    w = rng.random(300) if weighted else None
    sample = SparseSample(sp.csr_array(X), w)
    v = np.linalg.qr(rng.standard_normal((7, 1)))[0][:, 0]
    h, b, log_sum, reach = 0.3, 0.1, 2.0, 1.0
    projections = sample.new_projections()
    ((_, found),) = sample.answer([[SetDirection(projections, v), GradientNoise(projections, h, b, log_sum, reach)]])
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


def test_gradient_of_uninformative_columns_is_noise(rng, unstored):
    X = rng.standard_normal((4000, 200))
    X[:, 0] += np.where(rng.random(4000) < 0.5, 3.0, -3.0)
    sample, index = index_of(X)
    (ratio,) = drive(sample, [index.signal_to_noise(np.eye(200)[0])])
    assert 0.7 < ratio < 1.4  # a mean of 199 squares of normal variables: 1 with a standard deviation of 0.1


def test_gradient_of_an_informative_column_is_not_noise(rng, unstored):
    X = rng.standard_normal((4000, 200))
    X[:, :2] += np.where(rng.random(4000) < 0.5, 2.0, -2.0)[:, None]
    sample, index = index_of(X)
    (ratio,) = drive(sample, [index.signal_to_noise(np.eye(200)[0])])
    assert ratio > 5.0


def test_all_columns_are_used_where_the_rows_can_tell(unstored):
    """One start uses five of thirty axes: the rest of the normal must come from all features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30)) * np.linspace(1.5, 1.0, 30)
    X += np.where(rng.random(20_000) < 0.5, 0.65, -0.65)[:, None]
    one, other = (MinimumDensityHyperplane(init="pca", n_init=1).fit(data) for data in (X, sp.csr_array(X)))
    assert np.mean(one.labels_ == other.labels_) > 0.999
    assert any(step.polished and step.n_iter for step in other.path_)


@pytest.mark.parametrize("weighted", [False, True])
def test_svm_of_few_labels_is_solved_in_their_space(weighted, rng):
    X, y, w = rng.standard_normal((12, 40)), np.repeat([0, 1, 2], 4), rng.random(12) + 0.1 if weighted else None
    X[3] = X[4]
    few = _fit_linear_svm(X, y, w, 1.0, rng)
    full = LinearSVC(C=1.0, dual=False, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(few.coef_, full.coef_, atol=1e-9)
    np.testing.assert_allclose(few.intercept_, full.intercept_, atol=1e-9)


def test_orthonormal_rows_span_what_they_are_given(rng):
    given = rng.standard_normal((3, 8))
    basis = orthonormalise(np.concatenate([given, given[:2] + given[1:]]))
    assert basis.shape == (3, 8)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(given @ basis.T @ basis, given, atol=1e-10)
