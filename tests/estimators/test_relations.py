"""Changes of X that do not change its rows do not change results: their order, units, axes and constant features."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, valley_test
from ravine.explain.outliers import mark_outliers
from ravine.rows import as_rows

pytestmark = pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")


def draw(kind):
    rng = np.random.default_rng(5)
    centers = 8.0 * rng.normal(size=(3, 4))
    X = centers[rng.integers(0, 3, 240)] + rng.standard_t(4, size=(240, 4)) @ rng.normal(size=(4, 4))
    if kind == "grids":
        X = np.round(X)
    if kind == "rank":  # 6 features of 4 dimensions
        X = np.column_stack([X, X[:, 0] - 2.0 * X[:, 1], X[:, 2]])
    return X


DATA = {kind: draw(kind) for kind in ("normal", "grids", "rank")}
Y = np.where(np.arange(240) < 30, np.arange(240) % 2, -1)
ORDER = np.random.default_rng(0).permutation(240)


def turn(X):
    return X @ np.linalg.qr(np.random.default_rng(1).normal(size=(X.shape[1],) * 2))[0]


CHANGES = {
    "order": (lambda X: X[ORDER], ORDER),
    "first feature constant": (lambda X: np.insert(X, 0, 3.0, axis=1), slice(None)),
    "last feature constant": (lambda X: np.insert(X, X.shape[1], -1e5, axis=1), slice(None)),
    "unit": (lambda X: 2.0**21 * X, slice(None)),
    "axes": (turn, slice(None)),
    "axes and constant": (lambda X: turn(np.insert(X, 1, 2.0, axis=1)), slice(None)),
}
MODELS = {
    "tree": partial(MinimumDensityTree, 3, contamination="auto"),
    "auto": partial(MinimumDensityTree, contamination=0.05),
    "hyperplane": partial(MinimumDensityHyperplane, contamination="auto", test="pooled"),
    "random starts": partial(MinimumDensityHyperplane, contamination=0.05, init="random"),
    "classifier": MinimumDensityClassifier,
}
# The order in which a tree and the valley test look at rows, and the values that are spread, belong to the axes.
TURNED = {"axes": {"hyperplane", "random starts", "classifier"}, "axes and constant": {"hyperplane", "random starts"}}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("change", CHANGES)
def test_fits_do_not_depend_on_order_units_axes_and_constants(kind, name, change):
    if name not in TURNED.get(change, MODELS) or (kind == "grids" and change in TURNED):
        pytest.skip("values on grids are recognised along the axes only")
    make, order = CHANGES[change]
    X, other = DATA[kind], make(DATA[kind])
    one, two = MODELS[name](random_state=0), MODELS[name](random_state=0)
    one.fit(X, Y)
    two.fit(other, Y[order])
    assert_array_equal(two.predict(other), one.predict(X)[order])
    assert_allclose(two.predict_proba(other), one.predict_proba(X)[order], atol=1e-4)
    if name != "classifier":
        assert_array_equal(two.labels_, one.labels_[order])
        assert_allclose(two.outlier_scores_, one.outlier_scores_[order], atol=1e-5)
    if hasattr(one, "pvalue_") and "axes" not in change:
        assert two.pvalue_ == pytest.approx(one.pvalue_, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("change", ["axes", "axes and constant", "last feature constant", "first feature constant"])
def test_outliers_of_a_tree_do_not_depend_on_axes_and_constants(kind, change):
    X = DATA[kind]
    make = CHANGES[change][0]
    tree = MinimumDensityTree(3, random_state=0).fit(X)
    corners = make(np.vstack([np.zeros(X.shape[1]), np.eye(X.shape[1])]))  # the change is affine
    turned = tree.tree_.with_arrays(normal=tree.tree_.normal @ (corners[1:] - corners[0]), point=make(tree.tree_.point))
    _, scores, marks = mark_outliers(tree.tree_, as_rows(X), tree.leaves_, "auto")
    _, others, other_marks = mark_outliers(turned, as_rows(make(X)), tree.leaves_, "auto")
    assert 0 < marks.sum() < 60
    assert_array_equal(other_marks, marks)
    assert_allclose(others, scores, atol=1e-5)


def test_outlier_scores_do_not_count_a_combination_of_features():
    X = DATA["normal"]
    tree = MinimumDensityTree(3, random_state=0).fit(X)
    wider = np.column_stack([X, X[:, 0] + X[:, 3], 5.0 * X[:, 2] + 7.0])
    pad = partial(np.pad, pad_width=((0, 0), (0, 2)))
    longer = tree.tree_.with_arrays(normal=pad(tree.tree_.normal), point=pad(tree.tree_.point))
    model, scores, _ = mark_outliers(tree.tree_, as_rows(X), tree.leaves_, "auto")
    wide_model, others, _ = mark_outliers(longer, as_rows(wider), tree.leaves_, "auto")
    assert wide_model.coordinates.axes.shape[1] == model.coordinates.axes.shape[1] == 4
    assert np.corrcoef(scores, others)[0, 1] > 0.98


@pytest.mark.parametrize("method", ["pooled", "exact"])
@pytest.mark.parametrize("change", ["order", "first feature constant", "last feature constant", "unit"])
def test_pvalues_do_not_depend_on_units_and_constants(method, change):
    if change == "order" and method == "exact":
        pytest.skip("random halves belong to the order of the rows")
    for X in DATA.values():
        expected = valley_test(X, method=method, random_state=0).pvalue
        assert 0.0 < expected < 0.5
        assert valley_test(CHANGES[change][0](X), method=method, random_state=0).pvalue == pytest.approx(expected)


def test_pvalues_of_sparse_rows_do_not_depend_on_constants():
    X = sp.random_array((300, 1200), density=0.01, rng=np.random.default_rng(0), format="csr")
    expected = valley_test(X, random_state=0).pvalue
    for constant in (np.ones((300, 1)), np.zeros((300, 2))):
        wider = sp.hstack([X[:, :500], constant, X[:, 500:]], format="csr")
        assert valley_test(wider, random_state=0).pvalue == pytest.approx(expected)


@pytest.mark.parametrize("X", DATA.values(), ids=DATA)
def test_pooled_pvalues_do_not_depend_on_copies_of_rows(X):
    if len(np.unique(X, axis=0)) < len(X):
        pytest.skip("copies count if all features repeat their values")
    copies = X[np.random.default_rng(0).integers(0, len(X), 500)]
    expected = valley_test(X, random_state=0).pvalue
    assert valley_test(np.vstack([X, copies]), random_state=0).pvalue == pytest.approx(expected)


def test_new_rows_of_many_features_are_no_outliers():
    rng = np.random.default_rng(0)
    for n, d in ((40, 120), (150, 300), (60, 40)):
        X, new = rng.normal(size=(2, n, d))
        model = MinimumDensityTree(1, contamination="auto", random_state=0).fit(X)
        assert np.mean(model.predict(new, outliers=True) == -1) < 0.1
        assert (model.predict(6.0 * new, outliers=True) == -1).all()


def test_rows_beside_the_space_of_the_fit_are_outliers():
    X = np.insert(DATA["normal"], 2, 1.0, axis=1)
    model = MinimumDensityTree(3, contamination="auto", random_state=0).fit(X)
    inliers = X[model.labels_ >= 0]
    assert (model.predict(inliers + 0.1 * np.eye(5)[2], outliers=True) == -1).all()
    assert (model.predict(inliers, outliers=True) >= 0).all()
