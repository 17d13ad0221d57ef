"""Tree displays have the density of the rows of every node."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ravine import (
    MinimumDensityTree,
)
from ravine.plotting import TreeDisplay
from support import reference
from support.plotted import NASTY, X


def test_every_inner_node_has_the_density_of_its_rows(mdt, blobs):
    display = TreeDisplay.from_estimator(mdt, blobs)
    tree = mdt.tree_
    inner = np.flatnonzero(tree.left >= 0)
    assert set(display.densities) == set(display.density_lines_) == set(inner.tolist())
    for k in inner.tolist():
        mine = np.isin(mdt.leaves_, tree.leaves(k))
        b = display.points[k] + tree.offset[k]
        expected = reference.density(blobs[mine] @ tree.normal[k], tree.bandwidth[k], b)
        np.testing.assert_allclose(display.densities[k], expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(display.sizes, tree.size)
    assert set(display.leaf_bars_) == set(tree.leaves())


def test_nodes_stand_in_the_middle_of_their_leaves(mdt):
    display = TreeDisplay.from_estimator(mdt)
    tree = mdt.tree_
    assert display.place[tree.leaves()].tolist() == list(range(tree.n_leaves))
    for k in range(len(tree)):
        below = display.place[tree.leaves(k)]
        assert display.place[k] == 0.5 * (below.min() + below.max())


def test_text_shows_sizes_and_depths(mdt, blobs):
    display = TreeDisplay.from_estimator(mdt, blobs, cluster_names=["a", "b", "c", NASTY])
    words = " ".join(text.get_text() for text in display.texts_)
    assert words.count("40 rows") == 4
    assert "160 rows" in words
    display.figure_.canvas.draw()


def test_sizes_and_densities_are_those_of_the_rows_given(mdt, blobs):
    rows = blobs[mdt.labels_ == 0]
    display = TreeDisplay.from_estimator(mdt, rows)
    assert display.sizes[0] == len(rows)
    assert display.sizes[mdt.tree_.leaves()].sum() == len(rows)
    assert all(display.sizes[k] > 0 for k in display.densities)
    assert len(display.densities) < (mdt.tree_.left >= 0).sum()
    display.figure_.canvas.draw()


def test_without_rows_a_note_replaces_the_densities(mdt):
    display = TreeDisplay.from_estimator(mdt)
    assert display.densities == {}
    assert "pass X" in display.ax_.get_title(loc="left")


def test_merged_leaves_share_their_colour(mdt, blobs):
    leaves = mdt.tree_.leaves()
    tree = mdt.tree_.merge(leaves[0], leaves[2])
    display = TreeDisplay.from_tree(tree, blobs)
    colours = [display.leaf_bars_[leaf].get_facecolor() for leaf in leaves]
    assert colours[0] == colours[2]
    assert len(set(colours)) == 3


def test_a_tree_of_one_leaf_and_one_of_many_are_drawn(rng):
    rows = rng.standard_normal((300, 2))
    single = MinimumDensityTree(1).fit(rows)
    assert len(TreeDisplay.from_estimator(single, rows).leaf_bars_) == 1
    spread = np.concatenate([rows[:20] + 40.0 * np.array([k % 8, k // 8]) for k in range(40)])
    many = MinimumDensityTree(40, random_state=0)
    many.fit(spread)
    display = TreeDisplay.from_estimator(many, spread)
    assert len(display.leaf_bars_) == 40
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in display.leaf_bars_.values()}
    assert len(looks) == 40
    assert display.figure_.get_figwidth() == 24.0
    assert min(text.get_fontsize() for text in display.texts_) >= 6.0
    display.figure_.canvas.draw()


def test_bad_input_for_trees(mdt, mdh, blobs):
    with pytest.raises(TypeError, match=r"MinimumDensityTree.*MinimumDensityHyperplane"):
        TreeDisplay.from_estimator(mdh, X)
    with pytest.raises(NotFittedError):
        TreeDisplay.from_estimator(MinimumDensityTree(), blobs)
    with pytest.raises(ValueError, match=r"2 .*3 "):
        TreeDisplay.from_estimator(mdt, blobs[:, :2])
    with pytest.raises(ValueError, match=r"X .*3 features"):
        TreeDisplay.from_tree(mdt.tree_, blobs[:, :2])
    with pytest.raises(TypeError, match=r"tree .*MinimumDensityTree"):
        TreeDisplay.from_tree(mdt)
    with pytest.raises(ValueError, match="cluster_names"):
        TreeDisplay.from_tree(mdt.tree_, cluster_names=["a"])


def test_nodes_show_p_values_and_suggested_splits_are_dashed(mdt, blobs):
    inner = np.argsort(mdt.tree_.order)[-3:]
    pvalue = np.full(len(mdt.tree_), np.nan)
    pvalue[inner] = [0.001, 0.02, 0.3]
    tree = mdt.tree_.with_arrays(pvalue=pvalue, level=0.05)
    display = TreeDisplay.from_tree(tree, blobs)
    words = [text.get_text() for text in display.texts_]
    assert sum("P = 0.001, shown" in one for one in words) == 1
    assert sum("P = 0.3, suggested" in one for one in words) == 1
    assert "level 0.05" in display.ax_.get_title(loc="left")
    dashed = [patch for patch in display.ax_.patches if patch.get_linestyle() == "--"]
    assert len(dashed) == (~display.is_shown_[inner]).sum()


def test_one_cluster_has_the_reason_in_the_title():
    mdt = MinimumDensityTree(random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2)))
    title = TreeDisplay.from_estimator(mdt).ax_.get_title(loc="left")
    assert f"no split, P = {mdt.pvalue_:.2g} at the level 0.05" in title
