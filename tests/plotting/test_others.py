"""Path, direction and tree displays, the shortcuts named plot, and what notebooks show, compared as data."""

import re
import xml.etree.ElementTree as ET

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from ravine import (
    Hyperplane,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    NoSplitWarning,
    ProjectedDensity,
)
from ravine.plotting import DirectionDisplay, HyperplaneDisplay, PathDisplay, TreeDisplay
from support import reference
from support.simulate import two_clusters

X, TRUTH = two_clusters(150, 4)
QUICK = {"init": "pca", "n_init": 2, "n_alpha": 6, "polish": True, "random_state": 0}
NASTY = "</script><img src=x onerror=alert(1)> $\\frac{1}$"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def mdh():
    return MinimumDensityHyperplane(**QUICK).fit(X)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(7)
    return np.concatenate([rng.standard_normal((40, 3)) + c for c in ([0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 9, 9])])


@pytest.fixture(scope="module")
def mdt(blobs):
    return MinimumDensityTree(4, **QUICK).fit(blobs)


# ------------------------------------------------------------------------------------------------- path


def test_each_stage_of_a_path_has_its_density(mdh):
    display = PathDisplay.from_estimator(mdh, X)
    assert len({step.start for step in display.steps}) == 1
    for k, step in enumerate(display.steps):
        plane = step.hyperplane
        p = X @ plane.normal
        low, high, _ = reference.feasible(p, plane.alpha)
        assert display.half_widths[k] == pytest.approx(0.5 * (high - low))
        sign = np.sign(plane.normal @ mdh.hyperplane_.normal)
        assert display.offsets[k] == pytest.approx(sign * (plane.offset - p.mean()), abs=1e-9)
        expected = ProjectedDensity(sign * (p - p.mean()), plane.bandwidth)(display.points[k])
        np.testing.assert_allclose(display.densities[k], expected, rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal(display.lines_[k].get_xdata(), display.points[k])
        assert f"α = {plane.alpha:.2g}" in display.texts_[k].get_text()


def test_the_stage_that_was_kept_is_marked(mdh):
    display = PathDisplay.from_estimator(mdh, X)
    kept = display.steps[display.kept].hyperplane
    assert abs(kept.normal @ mdh.hyperplane_.normal) == pytest.approx(1.0)
    assert abs(kept.offset) == pytest.approx(abs(mdh.hyperplane_.offset))
    assert [text.get_text().endswith("kept") for text in display.texts_].count(True) == 1
    other = next(s.start for s in mdh.path_ if s.start != display.steps[0].start)
    assert PathDisplay.from_estimator(mdh, X, start=other).kept is None


def test_a_long_path_is_thinned_and_the_picture_says_so(mdh):
    all_stages = PathDisplay.from_estimator(mdh, X)
    display = PathDisplay.from_estimator(mdh, X, max_stages=3)
    assert len(display.steps) == 3
    assert display.steps[0] is all_stages.steps[0]
    assert display.kept is not None
    assert f"3 of {all_stages.n_stages} stages" in display.ax_.get_title(loc="left")
    assert "stages" not in all_stages.ax_.get_title(loc="left")


def test_a_classifier_shows_the_weight_of_the_labels_and_a_pair_is_chosen(blobs):
    y = np.repeat(["a", "b", "c", "c"], 40)
    mdc = MinimumDensityClassifier(init=("pc1",), alpha_max=0.3, n_alpha=2, polish=False).fit(blobs, y)
    with pytest.raises(ValueError, match="3 classes"):
        PathDisplay.from_estimator(mdc, blobs)
    display = PathDisplay.from_estimator(mdc, blobs, pair=("c", "a"))
    assert {step.pair for step in display.steps} == {(0, 2)}
    assert "γ = " in display.texts_[-1].get_text()


def test_a_path_without_a_split_is_drawn():
    rows = np.random.default_rng(1).standard_normal((40, 2))
    with pytest.warns(NoSplitWarning):
        flat = MinimumDensityHyperplane(bandwidth=5.0, **QUICK).fit(rows)
    display = PathDisplay.from_estimator(flat, rows)
    assert display.kept is None
    assert len(display.lines_) > 0
    with pytest.warns(NoSplitWarning):
        equal = MinimumDensityHyperplane().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="path is empty"):
        PathDisplay.from_estimator(equal, np.ones((5, 2)))


def test_bad_input_for_paths(mdh, mdt, blobs):
    with pytest.raises(TypeError, match="X is needed"):
        PathDisplay.from_estimator(mdh, None)
    with pytest.raises(ValueError, match=r"3 features.*expecting 4 features"):
        PathDisplay.from_estimator(mdh, X[:, :3])
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(MinimumDensityHyperplane(), X)
    with pytest.raises(TypeError, match="a tree keeps no paths"):
        PathDisplay.from_estimator(mdt, blobs)
    with pytest.raises(ValueError, match="start must be one of 0, 1, got 9"):
        PathDisplay.from_estimator(mdh, X, start=9)


# ------------------------------------------------------------------------------------------------- direction


def test_contributions_are_sorted_weights_with_the_rest_summarised(mdh):
    display = DirectionDisplay.from_estimator(mdh, max_features=2)
    v = mdh.hyperplane_.normal
    order = np.argsort(-np.abs(v))
    np.testing.assert_array_equal(display.contributions, v[order[:2]])
    assert display.names == [f"x{j}" for j in order[:2]]
    assert display.other == pytest.approx(np.sqrt((v[order[2:]] ** 2).sum()))
    assert display.n_other == 2
    assert [bar.get_width() for bar in display.bars_] == pytest.approx([*v[order[:2]], display.other])
    assert display.ax_.get_yticklabels()[-1].get_text() == "2 others"
    assert DirectionDisplay.from_estimator(mdh).n_other == 0


def test_the_sign_is_seen_without_colour():
    plane = Hyperplane(np.array([0.6, -0.8]), 0.0)
    bars = DirectionDisplay.from_hyperplane(plane).bars_
    assert bars[0].get_hatch()
    assert not bars[1].get_hatch()
    assert bars[0].get_facecolor() != bars[1].get_facecolor()


@pytest.mark.parametrize("shape", [(50, 3), (4, 6)])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_spread_is_the_weight_times_the_standard_deviation(rng, shape, shift):
    rows = rng.standard_normal(shape) * np.arange(1.0, shape[1] + 1.0) + shift
    v = rng.standard_normal(shape[1])
    plane = Hyperplane(v / np.linalg.norm(v), 0.0)
    display = DirectionDisplay.from_hyperplane(plane, rows, kind="spread")
    expected = plane.normal * (rows - rows[0]).std(axis=0)
    order = np.argsort(-np.abs(expected))
    np.testing.assert_allclose(display.contributions, expected[order], rtol=1e-6)
    assert display.names == [f"x{j}" for j in order]


def test_names_come_from_the_columns_and_long_ones_are_shortened():
    names = ["a", "b", "a very long name of a column " * 5, NASTY]
    mdh = MinimumDensityHyperplane(**QUICK).fit(pd.DataFrame(X, columns=names))
    display = DirectionDisplay.from_estimator(mdh)
    assert set(display.names) == set(names)
    display.figure_.canvas.draw()  # a dollar sign would start a formula that cannot be parsed
    drawn = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert max(map(len, drawn)) < 60
    assert any("…" in text for text in drawn)


def test_bad_input_for_directions(mdh):
    with pytest.raises(ValueError, match="kind must be one of 'weight', 'spread'"):
        DirectionDisplay.from_estimator(mdh, kind="share")
    with pytest.raises(TypeError, match="X is needed"):
        DirectionDisplay.from_estimator(mdh, kind="spread")
    with pytest.raises(ValueError, match="feature_names must be 4 names"):
        DirectionDisplay.from_estimator(mdh, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names must be 4 names"):
        DirectionDisplay.from_estimator(mdh, feature_names="abcd")
    with pytest.raises(ValueError, match="max_features must be an integer >= 1"):
        DirectionDisplay.from_estimator(mdh, max_features=0)
    with pytest.raises(ValueError, match="X must have 4 features, got 3"):
        DirectionDisplay.from_hyperplane(mdh.hyperplane_, X[:, :3], kind="spread")
    with pytest.raises(TypeError, match="hyperplane must be a Hyperplane"):
        DirectionDisplay.from_hyperplane("v")


# ------------------------------------------------------------------------------------------------- tree


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


def test_nodes_of_a_level_do_not_overlap_and_leaves_stand_in_order(mdt):
    display = TreeDisplay.from_estimator(mdt)
    tree = mdt.tree_
    assert display.place[tree.leaves()].tolist() == list(range(tree.n_leaves))
    for k in range(len(tree)):
        below = display.place[tree.leaves(k)]
        assert display.place[k] == 0.5 * (below.min() + below.max())


def test_words_in_the_tree_are_sizes_and_depths(mdt, blobs):
    display = TreeDisplay.from_estimator(mdt, blobs, cluster_names=["a", "b", "c", NASTY])
    words = " ".join(text.get_text() for text in display.texts_)
    assert words.count("40 rows") == 4
    assert "160 rows" in words
    display.figure_.canvas.draw()


def test_other_rows_have_their_own_sizes_and_empty_nodes_no_density(mdt, blobs):
    display = TreeDisplay.from_estimator(mdt, blobs[:40])
    assert display.sizes[0] == 40
    assert display.sizes[mdt.tree_.leaves()].sum() == 40
    assert all(display.sizes[k] > 0 for k in display.densities)
    assert len(display.densities) < (mdt.tree_.left >= 0).sum()
    display.figure_.canvas.draw()


def test_without_rows_the_tree_is_drawn_without_densities_and_says_so(mdt):
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
    with pytest.warns(NoSplitWarning):
        single = MinimumDensityTree(2, bandwidth=50.0, **QUICK).fit(rows)
    assert len(TreeDisplay.from_estimator(single, rows).leaf_bars_) == 1
    spread = np.concatenate([rows[:20] + 40.0 * np.array([k % 8, k // 8]) for k in range(40)])
    many = MinimumDensityTree(40, bandwidth=2.0, init="pca", n_init=2, n_alpha=3, polish=False, split_next="size")
    many.fit(spread)
    display = TreeDisplay.from_estimator(many, spread)
    assert len(display.leaf_bars_) == 40
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in display.leaf_bars_.values()}
    assert len(looks) == 40
    assert display.figure_.get_figwidth() == 24.0
    assert min(text.get_fontsize() for text in display.texts_) >= 6.0
    display.figure_.canvas.draw()


def test_bad_input_for_trees(mdt, mdh, blobs):
    with pytest.raises(TypeError, match="must be a fitted MinimumDensityTree, got MinimumDensityHyperplane"):
        TreeDisplay.from_estimator(mdh, X)
    with pytest.raises(NotFittedError):
        TreeDisplay.from_estimator(MinimumDensityTree(), blobs)
    with pytest.raises(ValueError, match=r"2 features.*expecting 3 features"):
        TreeDisplay.from_estimator(mdt, blobs[:, :2])
    with pytest.raises(ValueError, match="X must have 3 features, got 2"):
        TreeDisplay.from_tree(mdt.tree_, blobs[:, :2])
    with pytest.raises(TypeError, match="tree must be a Tree, got MinimumDensityTree"):
        TreeDisplay.from_tree(mdt)
    with pytest.raises(ValueError, match="cluster_names must be 4 names, got 1"):
        TreeDisplay.from_tree(mdt.tree_, cluster_names=["a"])


# ------------------------------------------------------------------------------------------------- shortcuts


def test_plot_is_a_shortcut(mdh, mdt, blobs):
    assert isinstance(mdh.plot(X, TRUTH, layout="overlaid"), HyperplaneDisplay)
    assert isinstance(mdt.plot(blobs), TreeDisplay)
    assert isinstance(mdt.plot(), TreeDisplay)
    assert isinstance(mdt.plot(blobs, node=0), HyperplaneDisplay)
    assert isinstance(mdt.tree_.plot(blobs), TreeDisplay)
    mdc = MinimumDensityClassifier(init=("pc1",), alpha_max=0.3, n_alpha=2, polish=False).fit(X, TRUTH)
    assert isinstance(mdc.plot(X), HyperplaneDisplay)


def test_plot_without_rows_says_that_they_are_needed(mdh, mdt):
    with pytest.raises(TypeError, match="MinimumDensityHyperplane does not keep the rows of its fit"):
        mdh.plot()
    with pytest.raises(TypeError, match="MinimumDensityTree does not keep the rows of its fit"):
        mdt.plot(node=0)


# ------------------------------------------------------------------------------------------------- notebooks


def parsed(html):
    assert "<script" not in html
    assert not re.search(r"https?:|\bon\w+=|url\(", html)
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', html))
    assert colours <= {"currentColor", "none"}  # the page's own colour, light or dark
    return ET.fromstring(html)


def test_a_hyperplane_in_a_notebook(mdh):
    plane = mdh.hyperplane_
    page = parsed(plane._repr_html_())
    cells = dict(zip([e.text for e in page.iter("th")], [e.text for e in page.iter("td")], strict=True))
    assert cells["offset"] == f"{plane.offset:.4g}"
    assert cells["relative depth"] == f"{plane.relative_depth:.4g}"
    titles = [e.text for e in page.iter("title")]
    order = np.argsort(-np.abs(plane.normal))
    assert titles == [f"x{j}: {plane.normal[j]:+.4f}" for j in order]
    many = np.ones(1000) / np.sqrt(1000.0)
    assert "the 24 largest of 1000 weights" in Hyperplane(many, 0.0)._repr_html_()
    assert len(Hyperplane(many, 0.0)._repr_html_()) < 10_000
    assert "–" in Hyperplane(many, 0.0)._repr_html_()
    assert "No split" in parsed(Hyperplane.at_infinity([1.0, 0.0])._repr_html_())[1][0].text


def test_a_tree_in_a_notebook(mdt):
    page = parsed(mdt.tree_._repr_html_())
    sizes = [e.text for e in page.iter("td")]
    assert sizes == [f"{mdt.tree_.size[leaf]} rows" for leaf in mdt.tree_.leaves()]
    assert len(list(page.iter("rect"))) == 4
    assert len(list(page.iter("circle"))) == 3
    for k in range(len(mdt.tree_)):
        assert any((e.text or "").startswith(f"node {k}") for e in page.iter("title"))
    one = parsed(mdt.tree_.cut(1)._repr_html_())
    assert len(list(one.iter("rect"))) == 1
