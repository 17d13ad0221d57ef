"""MinimumDensityTree with clusters of any shape."""

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree, MixedScaler, RowBlocks
from ravine.models import load, save
from support.shape_data import draw_moons, draw_rings, draw_spiral
from support.tree_twin import assert_consistent

X, Y = draw_rings()


@pytest.fixture(scope="module")
def rings():
    return MinimumDensityTree(2, random_state=0).fit(X)


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
@pytest.mark.parametrize("n_clusters", [2, "auto", "shown"])
def test_clusters_that_are_not_convex_are_found_by_default(draw, n_clusters):
    rows, labels = draw()
    mdt = MinimumDensityTree(n_clusters, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, mdt.labels_) > 0.95
    assert mdt.tree_.joins is not None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.02, 0.05])
@pytest.mark.parametrize("draw", [make_moons, partial(make_circles, factor=0.5)])
def test_clusters_that_do_not_touch_are_found_without_a_number(draw, noise, seed):
    rows, labels = draw(500, noise=noise, random_state=seed)
    mdt = MinimumDensityTree(random_state=0).fit(rows)
    assert adjusted_rand_score(labels, mdt.labels_) > 0.97


def test_convex_clusters_stay_convex():
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0, 0], [7, 0]], 100, axis=0)
    mdt = MinimumDensityTree(2, random_state=0).fit(rows)
    assert mdt.tree_.joins is None
    assert mdt.tree_.n_leaves == 2


def test_one_curved_cluster_stays_one():
    assert MinimumDensityTree(random_state=0).fit(draw_spiral()).n_clusters_ == 1


def test_predictions_on_training_rows_are_the_labels(rings):
    assert_array_equal(rings.predict(X), rings.labels_)
    assert_array_equal(rings.tree_.apply(X), rings.leaves_)
    assert_consistent(rings.tree_, X)


def test_joins_lead_from_leaves_to_clusters(rings):
    tree = rings.tree_
    assert len(tree.joins.leaves) == tree.n_leaves - 1
    group = tree.joins.label_leaves(len(tree), tree.n_leaves - 2)[tree.leaves()]
    assert adjusted_rand_score(group, tree.cluster[tree.leaves()]) == 1.0
    assert tree.joins.boundaries.tolist() == [[0, 1]]
    assert tree.joins.boundary_evidence[0] > 4.0


def test_no_node_has_all_of_its_leaves_in_one_cluster(rings):
    tree = rings.tree_
    for k in range(len(tree)):
        assert tree.is_leaf(k) or len(set(tree.cluster[tree.leaves(k)])) > 1


def test_splits_have_depth_and_bandwidth(rings):
    inner = rings.tree_.left >= 0
    assert np.isfinite(rings.tree_.bandwidth[inner]).all()
    assert np.isfinite(rings.tree_.density[inner]).all()


def test_cut_undoes_and_continues_joins(rings):
    most = rings.tree_.n_leaves
    labels = [rings.cut(n_clusters=k) for k in range(1, most + 1)]
    assert [len(np.unique(some)) for some in labels] == list(range(1, most + 1))
    assert_array_equal(labels[1], rings.labels_)
    for coarse, fine in itertools.pairwise(labels):  # each cut refines the one before
        assert len(np.unique(np.c_[coarse, fine], axis=0)) == fine.max() + 1
    with pytest.raises(ValueError, match=f" {most} "):
        rings.cut(n_clusters=most + 1)


def test_edits_drop_the_joins_and_keep_labels_consistent(rings):
    tree = rings.tree_
    a, b = (next(leaf for leaf in tree.leaves() if tree.cluster[leaf] == k) for k in (0, 1))
    merged = rings.merge(a, b)
    assert (merged.tree_.joins, merged.n_clusters_) == (None, 1)
    pruned = rings.prune(int(tree.parent[a]))
    assert pruned.tree_.joins is None
    assert_array_equal(pruned.predict(X), pruned.labels_)


def test_model_files_keep_joins(rings, tmp_path):
    save(rings, tmp_path / "rings.ravine")
    again = load(tmp_path / "rings.ravine")
    assert_array_equal(again.predict(X), rings.labels_)
    for name in ("leaves", "evidence", "boundaries", "boundary_evidence"):
        assert_array_equal(getattr(again.tree_.joins, name), getattr(rings.tree_.joins, name))
    assert_array_equal(again.cut(n_clusters=3), rings.cut(n_clusters=3))


def test_result_does_not_depend_on_threads_and_is_repeatable(rings):
    again = clone(rings).set_params(n_jobs=2).fit(X)
    assert_array_equal(again.labels_, rings.labels_)
    assert_array_equal(again.tree_.normal, rings.tree_.normal)


def test_all_kinds_of_rows_give_the_same_clusters(rings, tmp_path):
    np.save(tmp_path / "rings.npy", X)
    for rows in (csr_array(X), RowBlocks(str(tmp_path / "rings.npy")), np.asfortranarray(X)):
        other = clone(rings).fit(rows)
        assert adjusted_rand_score(other.labels_, rings.labels_) > 0.98


def test_large_samples_are_routed_by_hyperplanes_of_a_subsample():
    rows, labels = draw_rings(20_000)
    mdt = MinimumDensityTree(2, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, mdt.labels_) > 0.95
    assert mdt.tree_.size[0] == len(rows)


@pytest.mark.parametrize("scale", [1e-150, 1e290])
@pytest.mark.filterwarnings("error")
def test_scale_does_not_matter(rings, scale):
    assert_array_equal(clone(rings).fit(X * scale).labels_, rings.labels_)


def test_constant_features_are_harmless(rings):
    mdt = MinimumDensityTree(2, random_state=0).fit(np.c_[X, np.ones(len(X))])
    assert_array_equal(mdt.labels_, rings.labels_)


def test_large_constant_feature_does_not_matter(rings):
    again = clone(rings).fit(np.c_[X, np.full(len(X), 1e200)])
    assert adjusted_rand_score(again.labels_, rings.labels_) > 0.98


def test_callback_is_called_after_every_split():
    seen = []
    mdt = MinimumDensityTree(2, random_state=0, callback=seen.append).fit(X)
    assert [tree.n_leaves for tree in seen] == list(range(2, mdt.tree_.n_leaves + 1))


def test_level_moves_the_evidence_that_separates_clusters():
    assert MinimumDensityTree(random_state=0, alpha=1e-6).fit(X).n_clusters_ == 2
    assert MinimumDensityTree(random_state=0, alpha=0.0).fit(X).n_clusters_ == 1


def test_stray_rows_do_not_connect_clusters():
    rows, labels = draw_rings(3000)  # a set of cells with a few stray rows, by chance
    mdt = MinimumDensityTree(2, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, mdt.labels_) > 0.95


def test_indicators_of_a_category_are_not_cut_into_clusters():
    rng = np.random.default_rng(5)
    kinds = rng.choice(["a", "b", "c", "d"], 300).astype(object)
    X = MixedScaler().fit_transform(np.column_stack([rng.normal(size=300), kinds]))
    tree = MinimumDensityTree(random_state=0).fit(X)
    assert tree.n_clusters_ == 1


@pytest.mark.parametrize("convert", [csr_array, csc_array])
def test_sparse_and_dense_indicators_give_the_same_tree(convert):
    rng = np.random.default_rng(1)
    X = np.hstack([np.eye(k)[rng.integers(0, k, 300)] for k in (3, 4, 2)])
    dense, sparse = (MinimumDensityTree(3, random_state=0).fit(rows) for rows in (X, convert(X)))
    assert_array_equal(sparse.labels_, dense.labels_)
