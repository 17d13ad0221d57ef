"""The hyperplane is invariant to row order, axes, origin, unit, sign and the repetition of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import MinimumDensityHyperplane
from support.simulate import mixture, orthogonal, two_clusters

INITS = ["auto", "pca", "random"]
DATA = {
    "two clusters": two_clusters(150, 4)[0],
    "mixture": mixture(400, 6, seed=5)[0],
    "one column": two_clusters(150, 1)[0],
    "fewer rows than columns": two_clusters(40, 60, seed=1)[0],
    "far apart": two_clusters(100, 3, separation=200.0)[0],
}


def fit(X, weights=None, *, init="auto", **parameters):
    return MinimumDensityHyperplane(init=init, n_init=4, random_state=0, **parameters).fit(X, sample_weight=weights)


@pytest.fixture(params=DATA.values(), ids=DATA)
def X(request):
    return request.param


@pytest.fixture(params=INITS)
def init(request):
    return request.param


def assert_same(changed, original, *, rotation=None, shift=0.0, scale=1.0, normal=1e-7, values=1e-9, labels=None):
    """The hyperplane of ``scale * X @ rotation + shift`` is that of X, transformed."""
    assert original.relative_depth_ > 0
    assert_array_equal(changed.labels_, original.labels_ if labels is None else labels)
    expected = original.coef_ if rotation is None else original.coef_ @ rotation
    assert_allclose(changed.coef_, expected, atol=normal)
    offset = original.hyperplane_.offset * scale + float(np.sum(changed.coef_ * shift))
    rounding = normal * scale * original.bandwidth_ + 1e-15 * np.max(np.abs(shift))
    assert_allclose(changed.hyperplane_.offset, offset, rtol=normal, atol=rounding)
    assert_allclose(changed.relative_depth_, original.relative_depth_, rtol=values)
    assert_allclose(changed.density_ * scale, original.density_, rtol=values)
    assert_allclose(changed.bandwidth_ / scale, original.bandwidth_, rtol=values)


def test_order_of_the_rows_does_not_matter(X, init):
    order = np.random.default_rng(0).permutation(len(X))
    original = fit(X, init=init)
    assert_same(fit(X[order], init=init), original, labels=original.labels_[order])


def test_rotation_rotates_the_normal(X, init):
    rotation = orthogonal(X.shape[1], seed=7)
    assert_same(fit(X @ rotation, init=init), fit(X, init=init), rotation=rotation)


def test_reflection_reflects_the_normal(X, init):
    reflection = np.diag(np.resize([-1.0, 1.0], X.shape[1]))
    assert_same(fit(X @ reflection, init=init), fit(X, init=init), rotation=reflection)


def test_order_of_the_columns_does_not_matter(X):
    order = np.random.default_rng(0).permutation(X.shape[1])
    assert_same(fit(X[:, order]), fit(X), rotation=np.eye(X.shape[1])[:, order])


@pytest.mark.parametrize(("shift", "tolerance"), [(-3.0, 1e-9), (1e8, 1e-5), (1e12, 1e-1)])
def test_translation_moves_only_the_offset(X, shift, tolerance):
    """The rows are stored with a rounding of 1e-16 of the shift, which no algorithm can undo."""
    assert_same(fit(X + shift), fit(X), shift=shift, normal=max(1e-7, tolerance), values=tolerance)


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_scale_changes_only_the_unit(X, scale):
    assert_same(fit(X * scale), fit(X), scale=scale)


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**-20, 2.0**20, 2.0**400])
def test_power_of_two_as_scale_changes_no_bit(X, scale):
    original, scaled = fit(X), fit(X * scale)
    assert_array_equal(scaled.coef_, original.coef_)
    assert scaled.hyperplane_.offset == original.hyperplane_.offset * scale
    assert scaled.relative_depth_ == original.relative_depth_


@pytest.mark.parametrize("scale", [1e-150, 1e-110, 1.0, 1e110, 1e150])
def test_side_of_label_1_does_not_depend_on_the_scale(scale):
    """Between sides of equal size the longer tail is 1."""
    rows = np.array([-1.0, -1.1, -0.9, 1.0, 1.2, 2.0])[:, None] * [1.0, 0.5]
    assert_array_equal(fit(scale * rows, init="pca").labels_, [0, 0, 0, 1, 1, 1])


def test_constant_columns_do_not_matter(X):
    d = X.shape[1]
    padded = np.insert(X, [0, d // 2, d], [5.0, 0.0, -1e3], axis=1)
    changed, original = fit(padded), fit(X)
    assert_array_equal(changed.labels_, original.labels_)
    constant = [0, d // 2 + 1, d + 2]
    assert_allclose(changed.coef_[:, constant], 0.0, atol=1e-9)
    assert_allclose(np.delete(changed.coef_, constant, axis=1), original.coef_, atol=1e-7)
    assert_allclose(changed.relative_depth_, original.relative_depth_, rtol=1e-9)


# ----------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("times", [2, 7])
@pytest.mark.parametrize("init", ["pca", "random"])
def test_repeating_every_row_changes_nothing_at_a_fixed_bandwidth(X, init, times):
    repeated, original = (fit(rows, init=init, bandwidth=0.5) for rows in (np.repeat(X, times, axis=0), X))
    assert_same(repeated, original, labels=np.repeat(original.labels_, times))


@pytest.mark.parametrize("weight", [0.01, 3.0, 1e6])
def test_equal_weights_change_nothing_at_a_fixed_bandwidth(X, weight):
    weighted, original = (fit(X, w, init="pca", bandwidth=0.5) for w in (np.full(len(X), weight), None))
    assert_same(weighted, original)


def test_weights_of_one_change_nothing(X):
    assert_same(fit(X, np.ones(len(X))), fit(X))


def test_one_number_is_the_weight_of_every_row():
    X = DATA["two clusters"]
    assert_same(fit(X, 2.0), fit(X, np.full(len(X), 2.0)))


def test_integer_weight_equals_repetition(X, init):
    """The bandwidth rule, too, counts a row as often as its weight says."""
    weights = np.random.default_rng(3).integers(1, 5, len(X))
    weighted, repeated = fit(X, weights, init=init), fit(np.repeat(X, weights, axis=0), init=init)
    assert_same(weighted, repeated, labels=repeated.labels_[np.cumsum(weights) - 1])


@pytest.mark.parametrize("far", [0.0, 1e8, 1e200], ids=lambda far: f"{far:g} away")
def test_zero_weight_equals_removal(X, far):
    rng = np.random.default_rng(4)
    extra = np.insert(X, [0, 5, len(X)], far + rng.standard_normal((3, X.shape[1])), axis=0)
    weights = np.insert(np.ones(len(X)), [0, 5, len(X)], 0.0)
    weighted, removed = fit(extra, weights), fit(X)
    assert_array_equal(weighted.labels_[weights > 0], removed.labels_)
    assert_array_equal(weighted.labels_, removed.predict(extra))
    assert_allclose(weighted.coef_, removed.coef_, atol=1e-7)
    assert_allclose(weighted.relative_depth_, removed.relative_depth_, rtol=1e-9)


# ----------------------------------------------------------------------------------------------- row space


@pytest.mark.parametrize(("n", "d", "more"), [(40, 6, 500), (40, 500, 700), (12, 3, 13), (30, 29, 31)])
def test_rotation_into_more_dimensions_adds_nothing(n, d, more, init):
    """With fewer rows than features the search runs in the row space; it must find what it finds without it."""
    X = two_clusters(n, d, seed=2)[0]
    embedding = orthogonal(more, seed=3)[:d]
    original, embedded = fit(X, init=init), fit(X @ embedding, init=init)
    assert_same(embedded, original, rotation=embedding)


def test_normal_lies_in_the_row_space():
    X = two_clusters(40, 500, seed=2)[0]
    normal = fit(X).coef_[0]
    centred = X - X.mean(axis=0)
    inside = np.linalg.lstsq(centred.T, normal, rcond=None)[0] @ centred
    assert_allclose(inside, normal, atol=1e-10)
