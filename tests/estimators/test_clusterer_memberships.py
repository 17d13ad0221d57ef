"""Memberships, exemplars and centres agree with the labels, for any rows, edits and containers."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings, load, save
from ravine.rows import RowBlocks
from support.shape_data import draw_moons
from support.simulate import two_clusters

QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}

QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
X, Y = make_blobs([90, 70, 60, 50], centers=[[0, 0, 0], [5, 0, 0], [0, 6, 0], [5, 6, 3]], random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")


def assert_sound(model, rows):
    proba = np.asarray(model.predict_proba(rows))
    assert (proba >= 0.0).all()
    assert (proba <= 1.0).all()
    assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert_array_equal(proba.argmax(axis=1), np.asarray(model.predict(rows)))
    return proba


@pytest.fixture(scope="module")
def fitted():
    return MinimumDensityTree(4, **QUICK_TREE).fit(X)


@st.composite
def any_rows(draw):
    n, d, seed = draw(st.integers(2, 60)), draw(st.integers(1, 4)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) + 4.0 * rng.integers(0, 3, size=(n, 1))
    if draw(st.booleans()):
        rows = np.round(rows)
    if draw(st.booleans()):
        rows[:, 0] = 3.0
    if draw(st.booleans()):
        rows = rows[rng.integers(0, n, n)]
    return rows * 10.0 ** draw(st.sampled_from([0, 0, 0, -100, 100]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_rows(), st.integers(0, 10**6))
def test_memberships_agree_with_labels_for_any_rows_and_edits(rows, seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, min(5, len(rows)) + 1))
    try:
        model = MinimumDensityTree(k, min_cluster_size=1, **QUICK_TREE).fit(rows)
    except ValueError:
        return
    for _ in range(3):
        proba = assert_sound(model, rows)
        assert_array_equal(proba.argmax(axis=1), model.labels_)
        leaves = model.tree_.leaves()
        if len(leaves) > 1 and rng.random() < 0.5:
            model = model.merge(*rng.choice(leaves, 2, replace=False).tolist())
        else:
            model = model.prune(int(rng.integers(len(model.tree_))))


@settings(max_examples=40, deadline=None)
@given(any_rows())
def test_memberships_of_a_hyperplane_have_two_columns(rows):
    model = MinimumDensityHyperplane(**QUICK).fit(rows)
    proba = assert_sound(model, rows)
    assert proba.shape == (len(rows), 2)
    assert_array_equal(proba.argmax(axis=1), model.labels_)
    assert model.compute_centers(rows).shape == (2, rows.shape[1])


@pytest.mark.parametrize("model", [MinimumDensityTree(4, **QUICK_TREE), MinimumDensityHyperplane(**QUICK)])
def test_memberships_are_the_same_for_any_container(model, tmp_path):
    whole = model.fit(X)
    expected = assert_sound(whole, X)
    np.save(tmp_path / "rows.npy", X)
    blocks = RowBlocks([X[:100], X[100:]])
    for rows in (sp.csr_array(X), blocks, RowBlocks(tmp_path / "rows.npy"), np.asfortranarray(X)):
        assert_allclose(assert_sound(whole, rows), expected, rtol=1e-9, atol=1e-12)
    again = clone(model).fit(blocks)
    assert_array_equal(np.asarray(again.predict_proba(blocks)).argmax(axis=1), again.labels_)


def test_memberships_of_a_dask_array_are_lazy():
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    rows, _ = two_clusters(300, 3)
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
        model = MinimumDensityHyperplane(**QUICK).fit(da.from_array(rows, chunks=(100, 3)))
        proba = model.predict_proba(da.from_array(rows, chunks=(100, 3)))
        assert not isinstance(proba, np.ndarray)
        assert_array_equal(np.asarray(proba).argmax(axis=1), np.asarray(model.labels_))
        assert len(model.find_exemplars(da.from_array(rows, chunks=(100, 3)))) == 2


def test_split_of_an_edited_tree_has_memberships(fitted):
    pruned = fitted.prune(int(np.argmax(fitted.tree_.order)))
    edited = pruned.split(next(leaf for leaf in pruned.tree_.leaves() if leaf not in fitted.tree_.leaves()), X)
    assert edited.n_clusters_ == 4
    assert_array_equal(assert_sound(edited, X).argmax(axis=1), edited.labels_)


def test_clusters_of_any_shape_sum_their_cells():
    rows, _ = draw_moons()
    model = MinimumDensityTree(2, random_state=0).fit(rows)
    proba = assert_sound(model, rows)
    assert proba.shape == (400, 2)
    assert model.tree_.n_leaves > 2
    assert proba.max(axis=1).min() >= 0.5


def test_memberships_follow_the_distance_from_the_boundary():
    rows, _ = two_clusters(400, 2)
    model = MinimumDensityHyperplane(random_state=0).fit(rows)
    order = np.argsort(model.decision_function(rows))
    assert (np.diff(model.predict_proba(rows)[order, 1]) >= 0.0).all()


# ----------------------------------------------------------------------------------------------- nothing of X is kept


def test_copies_have_memberships(fitted):
    expected = fitted.predict_proba(X)
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_array_equal(again.predict_proba(X), expected)
        node = int(np.flatnonzero(fitted.tree_.order == 2)[0])
        assert_array_equal(again.prune(node).predict_proba(X), fitted.prune(node).predict_proba(X))


@pytest.mark.parametrize("model", [MinimumDensityTree(4, **QUICK_TREE), MinimumDensityHyperplane(**QUICK)])
@pytest.mark.parametrize("contamination", [None, 0.05])
def test_nothing_of_the_rows_is_kept(model, contamination):
    rows = np.random.default_rng(0).normal(size=(30_000, 6))
    rows[::2] += 6.0
    alive = weakref.ref(rows)
    model = clone(model).set_params(contamination=contamination).fit(rows)
    arrays = [getattr(model, name) for name in ("labels_", "leaves_", "outlier_scores_") if hasattr(model, name)]
    assert len(pickle.dumps(model)) - sum(array.nbytes for array in arrays) < 100_000
    del rows, arrays
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("model", [MinimumDensityTree(4, **QUICK_TREE), MinimumDensityHyperplane(**QUICK)])
def test_pickling_computes_nothing(model):
    model = clone(model).fit(X)
    before = {name: id(value) for name, value in vars(model).items()}
    assert type(model).__getstate__ is BaseEstimator.__getstate__
    pickle.dumps(model)
    assert {name: id(value) for name, value in vars(model).items()} == before


def test_files_keep_memberships_and_outliers(tmp_path):
    for model in (MinimumDensityTree(3, **QUICK_TREE), MinimumDensityHyperplane(**QUICK)):
        model.set_params(contamination=0.1).fit(X)
        for some in (model, model.prune(int(model.tree_.left.argmax())) if hasattr(model, "tree_") else model):
            save(some, tmp_path / "model.ravine")
            again = load(tmp_path / "model.ravine")
            assert_array_equal(again.predict_proba(X), some.predict_proba(X))
            assert_array_equal(again.labels_, some.labels_)
            assert_array_equal(again.predict(X, outliers=True), some.predict(X, outliers=True))
            assert_array_equal(again.outlier_scores_, model.outlier_scores_)
            assert again.n_outliers_ == 27


# ----------------------------------------------------------------------------------------------- exemplars and centres


def test_centers_are_the_means_of_the_clusters(fitted):
    for rows in (X, sp.csr_array(X)):
        for k, center in enumerate(fitted.compute_centers(rows)):
            assert_allclose(center, X[fitted.labels_ == k].mean(axis=0))


def test_exemplars_are_typical_rows_of_their_clusters(fitted):
    centers = fitted.compute_centers(X)
    for k, some in enumerate(fitted.find_exemplars(X)):
        assert len(some) == 5
        assert (fitted.labels_[some] == k).all()
        distances = np.linalg.norm(X - centers[k], axis=1)
        assert distances[some].max() < np.median(distances[fitted.labels_ == k])


@pytest.mark.parametrize("name", ["predict_proba", "score_outliers", "find_exemplars", "compute_centers"])
def test_methods_need_a_fit(name):
    for model in (MinimumDensityTree(), MinimumDensityHyperplane()):
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
