"""MinimumDensityTree: what every scikit-learn user may rely on, and how a tree grows."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import Hyperplane, MinimumDensityHyperplane, MinimumDensityTree, NoSplitWarning, PathSettings, Split
from ravine.rows import DenseSample, array
from ravine.tree import Tree
from support.tree_twin import ARRAYS, assert_consistent, have_same_groups

CENTERS = [[0, 0, 0], [9, 0, 0], [0, 12, 0], [9, 12, 3]]
X, Y = make_blobs([90, 70, 60, 50], centers=CENTERS, random_state=0)
QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}
TESTED = MinimumDensityHyperplane(**QUICK, test="pooled")
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
# Tests count rows, and repeated rows are not independent evidence: weights are refused with "auto".
REFUSED = dict.fromkeys(
    (
        "check_sample_weights_list",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "weights are refused where splits are tested",
)
# scikit-learn expects that only classifiers with two or four classes have memberships of sparse rows.
FAILED = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), "predict_proba of a clusterer has no classes"
)


def fit(n_clusters="auto", rows=X, **parameters):
    return MinimumDensityTree(n_clusters, **{**QUICK_TREE, **parameters}).fit(rows)


def assert_same_tree(one, other):
    for name in ARRAYS:
        assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
    assert_array_equal(one.labels_, other.labels_)


class Pddp:
    """Principal direction divisive partitioning: the first principal component, cut at the mean."""

    def __init__(self):
        self.sizes = []

    def split(self, X, rows, rng):
        self.sizes.append(len(rows))
        mean = X[rows].mean(axis=0)
        normal = np.linalg.svd(X[rows] - mean, full_matrices=False)[2][0]
        return Split(Hyperplane(normal, float(normal @ mean)))


class TwoMeans:
    """The hyperplane half way between two means; what it returns is any object with the two attributes."""

    hyperplane: Hyperplane
    pvalue = np.nan

    def split(self, X, rows, rng):
        centers = X[rng.choice(rows, 2, replace=False)]
        for _ in range(20):
            nearer = np.linalg.norm(X[rows][:, None] - centers, axis=2).argmin(axis=1)
            centers = np.stack([X[rows][nearer == k].mean(axis=0) for k in (0, 1)])
        normal = (centers[1] - centers[0]) / np.linalg.norm(centers[1] - centers[0])
        answer = TwoMeans()
        answer.hyperplane = Hyperplane(normal, float(normal @ centers.mean(axis=0)))
        return answer


@pytest.fixture(scope="module")
def fitted():
    return fit()


# ----------------------------------------------------------------------------------------------- scikit-learn's checks


@pytest.mark.filterwarnings("ignore:n_clusters")
@parametrize_with_checks(
    [
        MinimumDensityTree(),
        MinimumDensityTree(n_clusters=3, **QUICK_TREE),
    ],
    expected_failed_checks=lambda estimator: FAILED | (REFUSED if isinstance(estimator.n_clusters, str) else {}),
)
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_clusters", ["auto", 3])
def test_labels_are_the_prediction_for_the_rows_of_the_fit(dtype, order, n_clusters):
    rows = np.asarray(X, dtype=dtype, order=order)
    mdt = fit(n_clusters, rows)
    assert_array_equal(mdt.labels_, mdt.predict(rows))
    assert_array_equal(mdt.leaves_, mdt.tree_.apply(rows))
    assert_array_equal(mdt.decision_path(rows).toarray(), mdt.tree_.decision_path(rows).toarray())
    assert set(mdt.labels_) == set(range(mdt.n_clusters_))
    assert_consistent(mdt.tree_, rows)


# ----------------------------------------------------------------------------------------------- number of clusters


def test_clear_clusters_are_counted_and_found(fitted):
    assert fitted.n_clusters_ == 4
    assert have_same_groups(fitted.labels_, Y)
    inner = fitted.tree_.left >= 0
    assert (fitted.tree_.pvalue[inner] <= 0.05).all()
    assert fitted.pvalue_ < 1e-6
    assert fitted.n_shown_ == 4


def test_one_cluster_is_one_leaf_without_a_warning(recwarn):
    for mdt in (fit(rows=np.random.default_rng(0).normal(size=(100, 2))), fit(1), fit(rows=np.ones((30, 2)))):
        assert mdt.n_clusters_ == len(mdt.tree_) == 1
        assert_array_equal(mdt.labels_, 0)
    assert not recwarn.list


@pytest.mark.parametrize("is_tested", [False, True])
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_number_that_is_given_is_found(n_clusters, is_tested):
    mdt = fit(n_clusters, hyperplane=TESTED if is_tested else None)
    assert mdt.n_clusters_ == n_clusters == len(set(mdt.labels_))
    assert np.isnan(mdt.tree_.pvalue[0]) != is_tested
    assert_consistent(mdt.tree_, X)


def test_warning_gives_the_number_of_separable_clusters():
    with pytest.warns(NoSplitWarning, match=r"min_cluster_size=40.*n_clusters=9") as caught:
        mdt = fit(9, min_cluster_size=40)
    assert 4 <= mdt.n_clusters_ <= 6
    assert f"{mdt.n_clusters_} clusters" in str(caught[0].message)
    assert caught[0].filename == __file__
    with pytest.warns(NoSplitWarning, match="n_clusters=2"):
        assert fit(2, np.ones((20, 2))).n_clusters_ == 1


def test_more_clusters_than_rows_is_an_error():
    with pytest.raises(ValueError, match=r"n_clusters=271.*270"):
        fit(271)


@pytest.mark.parametrize("min_cluster_size", [1, 20, 55, 130, 200])
@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_no_cluster_is_smaller_than_allowed(min_cluster_size):
    for n_clusters in ("auto", 6):
        mdt = fit(n_clusters, min_cluster_size=min_cluster_size, hyperplane=MinimumDensityHyperplane(0.5, **QUICK))
        assert np.bincount(mdt.labels_).min() >= min_cluster_size


def test_level_of_the_test_decides_how_many():
    rows = make_blobs([60, 60], centers=[[0, 0], [4.2, 0]], random_state=0)[0]
    pvalue = fit(rows=rows).pvalue_
    assert 0 < pvalue < 1
    assert fit(rows=rows, alpha=pvalue / 100).n_clusters_ == 1
    assert fit(rows=rows, alpha=min(5 * pvalue, 0.9)).n_clusters_ > 1


# ----------------------------------------------------------------------------------------------- which is next


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 5, 9])
def test_largest_leaves_are_split_and_no_others_are_looked_at(n_clusters):
    splitter = Pddp()
    mdt = fit(n_clusters, hyperplane=splitter)
    assert mdt.n_clusters_ == n_clusters
    assert sorted(splitter.sizes) == sorted(mdt.tree_.size[mdt.tree_.left >= 0])


# ----------------------------------------------------------------------------------------------- other splitters


def test_splitter_may_be_pddp():
    mdt = fit(4, hyperplane=Pddp())
    assert have_same_groups(mdt.labels_, Y)
    assert_array_equal(mdt.labels_, mdt.predict(X))
    assert np.isnan(mdt.tree_.pvalue).all()


def test_splitter_may_be_two_means():
    mdt = fit(4, hyperplane=TwoMeans())
    assert_consistent(mdt.tree_, X)
    assert_same_tree(mdt, fit(4, hyperplane=TwoMeans()))


def test_other_splitters_need_a_number():
    with pytest.raises(ValueError, match="n_clusters"):
        fit(hyperplane=Pddp())


def test_splitter_that_returns_something_else_is_named():
    class Nothing:
        def split(self, X, rows, rng):
            return None

    with pytest.raises(TypeError, match="hyperplane"):
        fit(2, hyperplane=Nothing())


# ----------------------------------------------------------------------------------------------- determinism, rows


@pytest.mark.parametrize("n_clusters", ["auto", 3, 4])
def test_threads_do_not_change_a_bit(n_clusters):
    rows = make_blobs([120, 80, 50, 30], centers=CENTERS, cluster_std=0.5, random_state=4)[0]
    one, two = (fit(n_clusters, rows, hyperplane=TESTED, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_same_tree(one, two)


def test_random_state_decides_the_halves_of_the_tests(fitted):
    assert_same_tree(fitted, fit())
    assert_same_tree(fit(random_state=np.random.default_rng(1)), fit(random_state=np.random.default_rng(1)))
    assert fit(random_state=1).tree_.pvalue[0] != fitted.tree_.pvalue[0]


def test_rows_gathered_in_blocks_give_the_hyperplane_of_a_copy(monkeypatch):
    monkeypatch.setattr(array, "COPY_BYTES", 8 * 3 * 64)  # blocks of 64 rows
    rows = np.sort(np.random.default_rng(0).choice(len(X), 200, replace=False))
    gathered, copied = DenseSample(X, indices=rows), DenseSample(X[rows])
    assert_allclose(gathered.moments().covariance, copied.moments().covariance, rtol=1e-12)

    def grow(share):
        monkeypatch.setattr("ravine.rows.base.SMALL_SHARE", share)
        return fit(4, np.asfortranarray(X, dtype=np.float32), hyperplane=TESTED)

    gathered, copied = grow(0.0), grow(1.0)
    assert_array_equal(gathered.labels_, copied.labels_)
    for name in ("normal", "offset", "relative_depth", "pvalue"):
        assert_allclose(getattr(gathered.tree_, name), getattr(copied.tree_, name), rtol=1e-6, atol=1e-8)


def test_callback_sees_the_tree_after_every_split():
    seen = []
    mdt = fit(4, callback=seen.append)
    assert all(isinstance(tree, Tree) for tree in seen)
    assert [tree.n_leaves for tree in seen] == [2, 3, 4]
    assert_array_equal(seen[-1].offset, mdt.tree_.offset)


def test_fit_that_fails_leaves_the_earlier_fit():
    def stop(tree):
        raise KeyboardInterrupt

    mdt = fit(rows=pd.DataFrame(X, columns=["a", "b", "c"]))
    before = {name: value for name, value in vars(mdt).items() if name.endswith("_")}
    for parameters, error in [({"callback": stop}, KeyboardInterrupt), ({"n_clusters": 999}, ValueError)]:
        with pytest.raises(error):
            mdt.set_params(**parameters).fit(X[:, :2])
        assert all(vars(mdt)[name] is value for name, value in before.items())


def test_copies_predict_the_same(fitted):
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_same_tree(fitted, other)
        assert_array_equal(other.predict(X), fitted.labels_)
    fresh = clone(fitted)
    assert not hasattr(fresh, "tree_")
    assert repr(fresh) == repr(fitted)


def test_names_of_columns_are_stored_and_checked():
    frame = pd.DataFrame(X, columns=["mass", "age", "height"])
    mdt = fit(rows=frame)
    assert mdt.feature_names_in_.tolist() == ["mass", "age", "height"]
    assert "height" in mdt.tree_.rules(mdt.tree_.leaves()[0], mdt.feature_names_in_)
    for use in (mdt.predict, mdt.decision_path, lambda rows: mdt.split(mdt.tree_.leaves()[0], rows)):
        with pytest.raises(ValueError, match="feature names"):
            use(frame[["age", "mass", "height"]])


# ----------------------------------------------------------------------------------------------- cut and edit


def test_cut_gives_the_labels_of_fewer_clusters(fitted):
    for n_clusters in range(1, 5):
        labels = fitted.cut(n_clusters=n_clusters)
        assert_array_equal(labels, fitted.tree_.cut(n_clusters).predict(X))
        assert set(labels) == set(range(n_clusters))
    assert_array_equal(fitted.cut(significance=0.05), fitted.labels_)
    assert_array_equal(fitted.cut(significance=0.0), 0)
    with pytest.raises(ValueError, match=r"n_clusters=11.*4"):
        fitted.cut(11)
