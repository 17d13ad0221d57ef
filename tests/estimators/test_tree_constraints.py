"""Labels and links that can be met are met; the others are counted and named."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, MinimumDensityTree, PathSettings, compare_clusters, load, save
from ravine.tree.constraints import list_violations, make_constraints

QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}

QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
X, Y = make_blobs([90, 70, 60, 50], centers=[[0, 0, 0], [9, 0, 0], [0, 12, 0], [9, 12, 3]], random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")


def label_some(y, share, seed):
    return np.where(np.random.default_rng(seed).random(len(y)) < share, y, -1)


def assert_met(model, y=None, must_link=(), cannot_link=()):
    labels = model.tree_.cluster[model.leaves_]
    if y is not None:
        clusters = [np.unique(labels[y == k]).tolist() for k in np.unique(y[y >= 0])]
        assert all(len(found) == 1 for found in clusters)
        assert len({found[0] for found in clusters}) == len(clusters)
    assert all(labels[i] == labels[j] for i, j in must_link)
    assert all(labels[i] != labels[j] for i, j in cannot_link)
    assert model.violated_constraints_ == []


def test_a_single_label_constrains_nothing_and_is_met():
    model = MinimumDensityTree(2, **QUICK_TREE).fit(X, labels=np.where(np.arange(len(X)) == 3, 1, -1))
    assert model.violated_constraints_ == []


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 4, 6, "auto"]), st.floats(0.02, 0.5))
def test_labels_of_clusters_are_met(seed, n_clusters, share):
    y = label_some(np.minimum(Y, n_clusters - 1) if n_clusters in (2, 3) else Y, share, seed)
    if not (y >= 0).any():
        return
    model = MinimumDensityTree(n_clusters, **QUICK_TREE).fit(X, labels=y)
    assert_met(model, y)
    if n_clusters != "auto":
        assert model.n_clusters_ <= n_clusters
    assert_array_equal(model.predict(X), model.labels_)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([3, 4, "auto"]))
def test_links_that_can_be_met_are_met(seed, n_clusters):
    rng = np.random.default_rng(seed)
    pairs = rng.choice(len(X), (6, 2), replace=False)
    same = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    must, cannot = pairs[same], pairs[~same][:2]
    model = MinimumDensityTree(n_clusters, **QUICK_TREE).fit(X, must_link=must, cannot_link=cannot)
    if len(must) or len(cannot):
        assert_met(model, None, must, cannot)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)


@pytest.mark.parametrize("n_clusters", [2, 3, "auto"])
@pytest.mark.parametrize("min_cluster_size", [1, 5])
def test_disjoint_pairs_without_clusters_are_met(n_clusters, min_cluster_size):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows, pairs = rng.normal(size=(60, 3)), rng.permutation(60)[:24].reshape(12, 2)
        tree = MinimumDensityTree(n_clusters, min_cluster_size=min_cluster_size, **QUICK_TREE)
        model = tree.fit(rows, must_link=pairs[:6], cannot_link=pairs[6:])
        assert_met(model, None, pairs[:6], pairs[6:])
        assert n_clusters == "auto" or model.n_clusters_ <= n_clusters
        assert_array_equal(model.predict(rows), model.labels_)


def test_links_of_overlapping_classes_are_met():
    rows, y = load_iris(return_X_y=True)
    rows = StandardScaler().fit_transform(rows)
    for seed in range(6):
        pairs = np.random.default_rng(seed).integers(0, len(y), (60, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        model = MinimumDensityTree(3, **QUICK_TREE).fit(rows, must_link=pairs[same], cannot_link=pairs[~same])
        assert_met(model, None, pairs[same], pairs[~same])
        assert model.n_clusters_ == 3


def test_links_of_repeated_rows_are_met():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 4, (80, 2)).astype(float)
        y = rng.integers(0, 3, (4, 4))[rows[:, 0].astype(int), rows[:, 1].astype(int)]
        pairs = rng.permutation(80)[:40].reshape(20, 2)
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        model = MinimumDensityTree("auto", **QUICK_TREE).fit(rows, must_link=pairs[same], cannot_link=pairs[~same])
        assert_met(model, None, pairs[same], pairs[~same])


def test_links_win_over_the_smallest_size():
    rows = np.r_[np.arange(20.0), 100.0][:, np.newaxis]
    model = MinimumDensityTree(2, min_cluster_size=5, **QUICK_TREE).fit(
        rows, cannot_link=[(19, 20)], must_link=[(0, 19)]
    )
    assert_met(model, None, [(0, 19)], [(19, 20)])
    weights = np.full(21, 0.01)
    model = MinimumDensityTree(2, **QUICK_TREE).fit(rows, None, weights, cannot_link=[(19, 20)])
    assert_met(model, None, (), [(19, 20)])


def test_classes_without_a_valley_are_separated():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 0.2, rows[:, 1] > 0.2, -1)
    for n_clusters in (2, "auto"):
        model = MinimumDensityTree(n_clusters, **QUICK_TREE).fit(rows, labels=y)
        assert model.n_clusters_ >= 2
        assert_met(model, y)


def test_linked_clusters_become_one():
    a, b = np.flatnonzero(Y == 0)[0], np.flatnonzero(Y == 3)[0]
    model = MinimumDensityTree(3, **QUICK_TREE).fit(X, must_link=[(a, b)])
    assert_met(model, None, [(a, b)])
    assert model.n_clusters_ == 3
    assert len(np.unique(model.labels_[np.isin(Y, (0, 3))])) == 1


def test_rows_of_one_blob_can_be_separated():
    inside = np.flatnonzero(Y == 0)
    a, b = inside[np.argmin(X[inside, 0])], inside[np.argmax(X[inside, 0])]
    model = MinimumDensityTree(5, **QUICK_TREE).fit(X, cannot_link=[(a, b)])
    assert_met(model, None, (), [(a, b)])
    assert model.n_clusters_ == 5


def test_constraints_that_cannot_be_met_are_named():
    rows = X.copy()
    rows[1] = rows[0]
    with pytest.warns(UserWarning, match=r"1 of 1 .*cannot_link \(0, 1\)"):
        model = MinimumDensityTree(4, **QUICK_TREE).fit(rows, cannot_link=[(0, 1)])
    assert model.violated_constraints_ == [("cannot_link", 0, 1)]


def test_more_clusters_than_asked_for_are_named():
    with pytest.warns(UserWarning, match=r"3.*n_clusters=2"):
        model = MinimumDensityTree(2, **QUICK_TREE).fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert_met(model, None, (), [(0, 1), (1, 2), (0, 2)])
    with pytest.raises(ValueError, match=r"cannot_link.*n_clusters=1"):
        MinimumDensityTree(1, **QUICK_TREE).fit(X, cannot_link=[(0, 1)])


def test_y_is_ignored():
    plain = MinimumDensityTree(3, **QUICK_TREE).fit(X)
    wrong = np.random.default_rng(0).integers(0, 3, len(X))
    assert_array_equal(MinimumDensityTree(3, **QUICK_TREE).fit(X, wrong).labels_, plain.labels_)
    assert not hasattr(plain, "violated_constraints_")
    pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(3, **QUICK_TREE))
    assert_array_equal(pipeline.fit(X, wrong)[-1].labels_, pipeline.fit(X)[-1].labels_)


def test_features_of_clusters_with_constraints_are_compared():
    y = label_some(np.where(Y == 3, 0, Y), 0.2, 0)
    model = MinimumDensityTree(3, **QUICK_TREE, max_cluster_size=0.9).fit(X, labels=y)
    assert compare_clusters(model, X).n_rows == len(X) // 2


def test_any_kind_of_label_is_understood():
    texts = np.array([None, "a", "b", "c", "d"], dtype=object)[label_some(Y, 0.1, 0) + 1]
    numbers = np.where(label_some(Y, 0.1, 0) >= 0, label_some(Y, 0.1, 0) * 1.0, np.nan)
    fits = [MinimumDensityTree(4, **QUICK_TREE).fit(X, labels=y) for y in (texts, numbers, label_some(Y, 0.1, 0))]
    for one in fits[1:]:
        assert_array_equal(one.labels_, fits[0].labels_)


def test_constraints_survive_a_file(tmp_path):
    model = MinimumDensityTree(3, **QUICK_TREE).fit(X, must_link=[(0, 1)], cannot_link=[(0, int(np.argmax(Y == 2)))])
    save(model, tmp_path / "model.ravine")
    again = load(tmp_path / "model.ravine")
    assert again.violated_constraints_ == model.violated_constraints_
    assert_array_equal(again.predict(X), model.labels_)


def test_edits_update_the_violated_constraints(tmp_path):
    apart = (0, int(np.argmax(Y == 2)))
    model = MinimumDensityTree(3, **QUICK_TREE).fit(X, cannot_link=[apart])
    for one in (model, pickle.loads(pickle.dumps(model))):
        assert one.prune(0).violated_constraints_ == [("cannot_link", *apart)]
        assert one.prune(0).split(0, X, min_cluster_size=20).violated_constraints_ == []
        assert one.violated_constraints_ == []
    save(model, tmp_path / "model.ravine")
    assert load(tmp_path / "model.ravine").prune(0).violated_constraints_ == [("cannot_link", *apart)]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}, "cannot_link .*rows 0 and 2"),
        ({"must_link": [(0, 0)]}, r"must_link .*\(0, 0\)"),
        ({"cannot_link": [(0, 270)]}, r"cannot_link .*269.*\(0, 270\)"),
        ({"cannot_link": [0, 1]}, "cannot_link"),
        (
            {"must_link": [(0, 1), (1, 2, 3)]},
            r"must_link.*\(0, 1\).*\(1, 2, 3\)",
        ),
        ({"must_link": [(0.5, 1.0)]}, "must_link"),
        (
            {"labels": ["a", "b"] + [None] * 268, "must_link": [(0, 1)]},
            "rows 0 .*1 .*labels",
        ),
        ({"labels": ["a", "a"] + [None] * 268, "cannot_link": [(0, 1)]}, "cannot_link .*rows 0 and 1"),
        ({"labels": list(range(4)) + [None] * 266}, "labels.*4.*n_clusters=3"),
        ({"labels": [1, 2]}, "labels.*270 rows"),
    ],
)
def test_contradictions_are_refused_by_name(constraints, message):
    with pytest.raises(ValueError, match=message):
        MinimumDensityTree(3).fit(X, **constraints)


def test_groups_are_connected_by_all_links():
    found = make_constraints(7, [-1, 5, -1, 5, 6, -1, -1], [(0, 1), (5, 2)], [(2, 4)])
    assert found.group.tolist() == [0, 0, 2, 0, 4, 2, -1]
    assert found.apart == {(0, 4), (2, 4)}
    assert list_violations(found.links, np.array([0, 0, 1, 0, 1, 1, 0])) == [("cannot_link", 2, 4)]
    assert make_constraints(3, [-1, -1, -1]).links == []
    assert make_constraints(3) is None


def test_links_keep_joined_clusters_of_any_shape():
    """A broken link moves its rows; it does not take clusters of several leaves apart."""
    X, y = make_moons(400, noise=0.05, random_state=0)
    free = MinimumDensityTree(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, free.labels_) > 0.95
    first, second = np.flatnonzero(y == 0)[:2]
    model = MinimumDensityTree(2, random_state=0).fit(X, cannot_link=[(first, second)])
    assert model.n_clusters_ == 2
    assert_met(model, cannot_link=[(first, second)])
    assert adjusted_rand_score(y, model.labels_) > 0.6
