"""Curves, coordinates, F(v) and depth of a hyperplane display are those of the reference implementation."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.legend import Legend
from sklearn.exceptions import NotFittedError

from ravine import (
    Hyperplane,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    NoSplitWarning,
    PathSettings,
    ProjectedDensity,
)
from ravine._plurals import format_pvalue
from ravine.plotting import HyperplaneDisplay
from support import reference
from support.simulate import two_clusters

X, TRUTH = two_clusters(150, 4)
QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}


@pytest.fixture(scope="module")
def mdh():
    return MinimumDensityHyperplane(**QUICK).fit(X)


def find_widest_across(rows, v, w=None):
    """Return the direction of largest variance orthogonal to v, by a singular value decomposition."""
    w = np.ones(len(rows)) if w is None else w
    centred = rows.astype(float) - np.average(rows.astype(float), axis=0, weights=w)
    left = (centred - np.outer(centred @ v, v)) * np.sqrt(w)[:, None]
    return np.linalg.svd(left, full_matrices=False)[2][0]


# ------------------------------------------------------------------------------------------------- data


def test_curves_are_the_projected_and_the_penalised_density(mdh):
    display = HyperplaneDisplay.from_estimator(mdh, X)
    plane = mdh.hyperplane_
    p = X @ plane.normal
    np.testing.assert_allclose(display.density, ProjectedDensity(p, plane.bandwidth)(display.points), rtol=1e-9)
    np.testing.assert_allclose(display.density, reference.density(p, plane.bandwidth, display.points), rtol=1e-6)
    low, high, _ = reference.feasible(p, plane.alpha)
    np.testing.assert_allclose(display.interval, [low, high], rtol=1e-10)
    index = np.exp(reference.log_penalised(p, plane.bandwidth, display.points, low, high))
    np.testing.assert_allclose(display.index, index, rtol=1e-6)
    assert display.relative_depth == pytest.approx(plane.relative_depth, rel=1e-6)
    assert display.offset in display.points
    assert display.points[0] < p.min() - 2.9 * plane.bandwidth
    assert display.points[-1] > p.max() + 2.9 * plane.bandwidth


@pytest.mark.parametrize("shape", [(60, 5), (12, 40), (40, 40), (7, 2), (300, 3)])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_coordinates_are_projections_on_v_and_across_it(rng, shape, shift):
    rows = rng.standard_normal(shape) * np.geomspace(1.0, 5.0, shape[1]) + shift
    v = rng.standard_normal(shape[1])
    display = HyperplaneDisplay.from_direction(rows, 3.0 * v)
    v /= np.linalg.norm(v)
    np.testing.assert_allclose(display.normal, v, rtol=1e-12)
    np.testing.assert_allclose(display.along, rows @ v, atol=1e-8 * max(1.0, shift))
    u = display.across_direction
    assert abs(u @ v) < 1e-12
    assert np.linalg.norm(u) == pytest.approx(1.0)
    centred = rows - rows.mean(axis=0)
    largest = np.var(centred @ find_widest_across(rows, v))
    # A direction that leaves the row space can have a larger variance than the projected rows.
    assert np.var(centred @ u) >= largest * (1.0 - 1e-8)
    if shape[0] > shape[1]:
        assert abs(u @ find_widest_across(rows, v)) == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose(display.across, rows @ u, atol=1e-8 * max(1.0, shift))


def test_direction_across_has_the_largest_variance_of_few_rows(rng):
    rows = rng.standard_normal((6, 9))
    v = np.eye(9)[0]
    u = HyperplaneDisplay.from_direction(rows, v).across_direction
    covariance = np.cov(rows.T, bias=True)
    off = np.eye(9) - np.outer(v, v)
    assert u @ covariance @ u == pytest.approx(np.linalg.eigvalsh(off @ covariance @ off)[-1])


def test_weights_count_as_repetitions(rng):
    w = rng.integers(0, 4, len(X))
    v = rng.standard_normal(4)
    weighted = HyperplaneDisplay.from_direction(X, v, sample_weight=w)
    repeated = HyperplaneDisplay.from_direction(np.repeat(X, w, axis=0), v)
    assert weighted.bandwidth == pytest.approx(repeated.bandwidth)
    np.testing.assert_allclose(weighted.interval, repeated.interval)
    np.testing.assert_allclose(weighted.across_direction, repeated.across_direction, atol=1e-9)
    at = ProjectedDensity(np.repeat(X, w, axis=0) @ weighted.normal, repeated.bandwidth)
    np.testing.assert_allclose(weighted.density, at(weighted.points), rtol=1e-9)
    assert weighted.n_rows == (w > 0).sum()
    np.testing.assert_array_equal(weighted.rows, np.flatnonzero(w))


def test_offset_minimises_the_penalised_density_by_default(rng):
    v = rng.standard_normal(4)
    display = HyperplaneDisplay.from_direction(X, v, alpha=0.4)
    p = X @ display.normal
    b, _ = reference.minimisers(p, display.bandwidth, *reference.feasible(p, 0.4)[:2])
    assert display.offset == pytest.approx(b[0], abs=1e-5)
    assert display.relative_depth == pytest.approx(
        reference.relative_depth(p, display.bandwidth, display.offset), abs=1e-6
    )


def test_without_alpha_only_the_density_is_drawn():
    display = HyperplaneDisplay.from_direction(X, np.eye(4)[0], alpha=None)
    assert (display.interval, display.index, display.index_line_) == (None, None, None)
    assert display.offset == np.inf
    assert display.hyperplane_lines_ == []
    assert "no split" in display.ax_density_.get_title(loc="left")


def test_every_step_of_a_path_can_be_drawn(mdh):
    step = mdh.path_[0]
    display = HyperplaneDisplay.from_hyperplane(X, step.hyperplane, TRUTH, layout="overlaid")
    assert display.offset == step.hyperplane.offset
    assert display.alpha == step.hyperplane.alpha
    np.testing.assert_allclose(display.along, X @ step.hyperplane.normal, atol=1e-12)


def test_a_single_feature_is_drawn_with_random_heights():
    display = HyperplaneDisplay.from_direction(X[:, :1], [2.0])
    assert display.across_direction is None
    assert len(display.across) == len(X)
    assert len(display.ax_points_.get_yticks()) == 0
    assert display.ax_points_.get_ylabel() == "random height"
    other = HyperplaneDisplay.from_direction(X[:, :1], [2.0])
    np.testing.assert_array_equal(display.across, other.across)


# ------------------------------------------------------------------------------------------------- labels and rows


def test_each_label_has_its_points(mdh):
    names = np.array(["b", "a"], dtype=object)[TRUTH]
    names[:10] = None
    display = HyperplaneDisplay.from_estimator(mdh, X, names)
    assert display.names == ["a", "b"]
    assert display.sizes.tolist() == [(names == "a").sum(), (names == "b").sum(), 10]
    drawn = {points.get_label().split(" (")[0]: points.get_offsets() for points in display.points_}
    assert set(drawn) == {"a", "b", "unlabelled"}
    for name, offsets in drawn.items():
        mine = names == (None if name == "unlabelled" else name)
        np.testing.assert_allclose(offsets, np.column_stack([display.along, display.across])[mine])


def test_three_or_more_labels_are_written_among_their_rows(mdh):
    y = np.arange(len(X)) % 3
    display = HyperplaneDisplay.from_estimator(mdh, X, y)
    assert [text.get_text() for text in display.name_texts_] == ["0", "1", "2"]
    for code, text in enumerate(display.name_texts_):
        mine = y == code
        assert text.xy == (np.median(display.along[mine]), np.median(display.across[mine]))
    assert HyperplaneDisplay.from_estimator(mdh, X, TRUTH).name_texts_ == []
    many = HyperplaneDisplay.from_estimator(mdh, X, np.arange(len(X)))
    assert many.name_texts_ == []
    many.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("labels", "names", "unlabelled"),
    [
        ([0, 1, -1, 1], [0, 1], 1),
        ([-1, 1, -1, 1], [-1, 1], 0),
        ([-1.0, 1.0, np.nan, 1.0], [-1.0, 1.0], 1),
        ([np.nan, 2.0, 2.0, 3.0], [2.0, 3.0], 1),
        (["x", "y", None, "y"], ["x", "y"], 1),
        ([True, False, True, True], [False, True], 0),
        ([7, 7, 7, 7], [7], 0),
        ([-1, -1, -1, -1], [], 4),
        ([None, 1, "a", 2], [1, 2, "a"], 1),
    ],
)
def test_labels_of_any_type_are_read_as_by_the_classifier(labels, names, unlabelled):
    rows = np.arange(8.0).reshape(4, 2) ** 2
    display = HyperplaneDisplay.from_direction(rows, [1.0, 0.0], y=labels)
    assert display.names == names
    assert display.sizes[-1] == unlabelled == (display.codes < 0).sum()


def test_a_noted_sample_of_many_rows_is_drawn(rng):
    rows = rng.standard_normal((20_000, 3))
    display = HyperplaneDisplay.from_direction(rows, [1.0, 1.0, 0.0], max_rows=700)
    assert len(display.rows) == len(np.unique(display.rows)) == 700
    np.testing.assert_allclose(display.along, rows[display.rows] @ display.normal, atol=1e-12)
    assert display.note_.get_text().replace("\u202f", "") == "700 of 20000 rows shown"
    assert display.n_rows == 20_000
    all_rows = ProjectedDensity(rows @ display.normal, display.bandwidth)
    np.testing.assert_allclose(display.density, all_rows(display.points), rtol=1e-6)
    again = HyperplaneDisplay.from_direction(rows, [1.0, 1.0, 0.0], max_rows=700)
    np.testing.assert_array_equal(display.rows, again.rows)
    assert HyperplaneDisplay.from_direction(rows[:50], [1.0, 1.0, 0.0]).note_ is None


def test_few_labels_among_many_rows_are_all_drawn(rng):
    rows, y = rng.standard_normal((20_000, 3)), np.full(20_000, -1)
    y[[5, 7000, 19_999]] = 0, 1, 1
    display = HyperplaneDisplay.from_direction(rows, [1.0, 1.0, 0.0], y=y, max_rows=100)
    assert {5, 7000, 19_999} <= set(display.rows.tolist())
    assert display.note_.get_text().endswith("with all labels")


# ------------------------------------------------------------------------------------------------- estimators


def test_a_binary_classifier_is_drawn_with_its_labels():
    y = np.full(len(X), -1)
    y[:20] = TRUTH[:20]
    mdc = MinimumDensityClassifier(
        hyperplane=MinimumDensityHyperplane(init=("pc1",), alpha_max=0.3, path=PathSettings(n_alpha=2, polish=False))
    ).fit(X, y)
    display = HyperplaneDisplay.from_estimator(mdc, X, y)
    assert display.offset == mdc.hyperplane_.offset
    assert display.sizes.tolist() == [(y == 0).sum(), (y == 1).sum(), (y == -1).sum()]
    predicted = HyperplaneDisplay.from_estimator(mdc, X)
    assert predicted.sizes[:2].tolist() == np.bincount(mdc.predict(X)).tolist()


def test_a_pair_of_several_classes_is_chosen_by_name(rng):
    rows = np.concatenate([rng.standard_normal((30, 2)) + c for c in ([0, 0], [9, 0], [0, 9])])
    y = np.repeat(["a", "b", "c"], 30)
    mdc = MinimumDensityClassifier(
        hyperplane=MinimumDensityHyperplane(init=("pc1",), alpha_max=0.3, path=PathSettings(n_alpha=2, polish=False))
    ).fit(rows, y)
    display = HyperplaneDisplay.from_estimator(mdc, rows, y, pair=("a", "c"))
    assert display.offset == mdc.hyperplanes_["a", "c"].offset
    assert display.rows.tolist() == [*range(30), *range(60, 90)]
    back = HyperplaneDisplay.from_estimator(mdc, rows, y, pair=("c", "a"))
    np.testing.assert_array_equal(back.normal, -display.normal)
    with pytest.raises(ValueError, match=r"pair.*\('a', 'z'\)"):
        HyperplaneDisplay.from_estimator(mdc, rows, pair=("a", "z"))


def test_a_node_of_a_tree_is_drawn_with_its_rows(rng):
    rows = np.concatenate([rng.standard_normal((40, 3)) + c for c in ([0, 0, 0], [9, 0, 0], [0, 9, 0])])
    mdt = MinimumDensityTree(3, **QUICK_TREE).fit(rows)
    inner = [k for k in range(len(mdt.tree_)) if mdt.tree_.left[k] >= 0]
    for node in inner:
        display = HyperplaneDisplay.from_estimator(mdt, rows, node=node)
        mine = np.flatnonzero(np.isin(mdt.leaves_, mdt.tree_.leaves(node)))
        np.testing.assert_array_equal(display.rows, mine)
        np.testing.assert_allclose(display.along, rows[mine] @ mdt.tree_.normal[node], atol=1e-12)
        sides = mdt.tree_.size[[mdt.tree_.left[node], mdt.tree_.right[node]]]
        assert display.sizes[:2].tolist() == sides.tolist()
        assert display.relative_depth == pytest.approx(mdt.tree_.relative_depth[node], rel=1e-5)
    assert HyperplaneDisplay.from_estimator(mdt, rows).n_rows == 120
    leaf = mdt.tree_.leaves()[0]
    with pytest.raises(ValueError, match=f"node {leaf}"):
        HyperplaneDisplay.from_estimator(mdt, rows, node=leaf)


def test_a_model_without_a_split_shows_its_direction():
    rows = np.random.default_rng(1).standard_normal((40, 2))
    with pytest.warns(NoSplitWarning):
        mdh = MinimumDensityHyperplane(bandwidth=5.0, **QUICK).fit(rows)
    display = HyperplaneDisplay.from_estimator(mdh, rows)
    assert display.hyperplane_lines_ == []
    assert display.bandwidth == 5.0
    assert "no split" in display.ax_density_.get_title(loc="left")
    tree = MinimumDensityTree(1).fit(rows)
    with pytest.raises(ValueError, match="one cluster"):
        HyperplaneDisplay.from_estimator(tree, rows)


# ------------------------------------------------------------------------------------------------- picture


@pytest.mark.parametrize("layout", ["stacked", "overlaid"])
def test_artists_show_the_data(mdh, layout):
    display = HyperplaneDisplay.from_estimator(mdh, X, layout=layout)
    np.testing.assert_array_equal(display.density_line_.get_xdata(), display.points)
    np.testing.assert_array_equal(display.density_line_.get_ydata(), display.density)
    index = display.index_line_.get_ydata()
    top = display.ax_density_.get_ylim()[1]
    np.testing.assert_array_equal(np.minimum(index, top), np.minimum(display.index, top))
    assert all(line.get_xdata()[0] == display.offset for line in display.hyperplane_lines_)
    assert len(display.hyperplane_lines_) == (2 if layout == "stacked" else 1)
    assert f"relative depth {display.relative_depth:.2f}" in display.ax_density_.get_title(loc="left")
    display.figure_.canvas.draw()


def test_given_axes_are_used(mdh):
    figure, axes = plt.subplots(1, 2)
    for ax, layout in zip(axes, ("stacked", "overlaid"), strict=True):
        display = HyperplaneDisplay.from_estimator(mdh, X, ax=ax, layout=layout, title="mine", legend=False)
        assert display.figure_ is figure
        assert display.ax_density_.get_title(loc="left") == "mine"
    free = figure.add_axes((0.1, 0.1, 0.3, 0.3))
    display.plot(ax=free)
    assert display.ax_density_.get_position().y1 == pytest.approx(0.4)
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("inches", [3, 6, 12])
def test_no_text_overflows_at_any_size(mdh, inches):
    figure, ax = plt.subplots(figsize=(inches, 0.8 * inches), layout="constrained")
    display = HyperplaneDisplay.from_estimator(mdh, X, ax=ax)
    figure.canvas.draw()
    for panel in (display.ax_density_, display.ax_points_):
        box = panel.get_tightbbox()
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y0 >= -1
    for legend in [a for a in display.ax_points_.artists if isinstance(a, Legend)]:
        assert legend.get_window_extent().y0 >= -1


# ------------------------------------------------------------------------------------------------- bad input


def test_errors_name_the_bad_argument(mdh):
    make = HyperplaneDisplay.from_estimator
    with pytest.raises(TypeError, match="X"):
        make(mdh, None)
    with pytest.raises(ValueError, match=r"3 .*4 "):
        make(mdh, X[:, :3])
    with pytest.raises(NotFittedError):
        make(MinimumDensityHyperplane(), X)
    with pytest.raises(TypeError, match=r"estimator .*int"):
        make(3, X)
    with pytest.raises(ValueError, match=r"y .*150 rows"):
        make(mdh, X, TRUTH[:5])
    with pytest.raises(ValueError, match=r"layout.*'both'"):
        make(mdh, X, layout="both")
    with pytest.raises(ValueError, match="node=1"):
        make(mdh, X, node=1)
    with pytest.raises(ValueError, match=r"pair=\(0, 1\)"):
        make(mdh, X, pair=(0, 1))
    with pytest.raises(TypeError, match=r"ax .*str"):
        make(mdh, X, ax="here")
    with pytest.raises(ValueError, match="max_rows"):
        make(mdh, X, max_rows=0)
    direction = HyperplaneDisplay.from_direction
    with pytest.raises(ValueError, match=r"normal .*\(2,\)"):
        direction(X, [1.0, 2.0])
    with pytest.raises(ValueError, match="normal"):
        direction(X, np.zeros(4))
    with pytest.raises(ValueError, match="offset"):
        direction(X, np.ones(4), np.nan)
    with pytest.raises(ValueError, match="alpha"):
        direction(X, np.ones(4), alpha=-1.0)
    with pytest.raises(ValueError, match="NaN"):
        direction(np.where(X.max() - 1e-9 < X, np.nan, X), np.ones(4))
    with pytest.raises(ValueError, match="X"):
        direction(np.ones((5, 4)), np.ones(4))
    with pytest.raises(TypeError, match="hyperplane"):
        HyperplaneDisplay.from_hyperplane(X, np.ones(4))
    with pytest.raises(ValueError, match="normal"):
        HyperplaneDisplay.from_hyperplane(X, Hyperplane(np.array([1.0, 0.0]), 0.0))


def test_missing_matplotlib_is_named_with_its_installation(mdh, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"ravine\[plot\]"):
        HyperplaneDisplay.from_estimator(mdh, X)


def test_plotting_can_be_imported_without_matplotlib():
    import subprocess

    code = "import sys, ravine.plotting; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ------------------------------------------------------------------------------------------------- odd data


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e120])
def test_picture_does_not_depend_on_the_unit_of_the_data(rng, scale):
    v = rng.standard_normal(4)
    plain, scaled = (HyperplaneDisplay.from_direction(rows, v, alpha=0.5) for rows in (X, X * scale))
    scaled.figure_.canvas.draw()
    np.testing.assert_allclose(scaled.interval, np.array(plain.interval) * scale, rtol=1e-9)
    np.testing.assert_allclose(scaled.across_direction, plain.across_direction, atol=1e-9)
    assert scaled.offset == pytest.approx(plain.offset * scale, rel=1e-6)
    assert scaled.relative_depth == pytest.approx(plain.relative_depth, rel=1e-6)


@pytest.mark.parametrize("kind", ["float32", "int", "frame", "fortran", "list", "bool"])
def test_rows_of_any_type_are_drawn(kind):
    import pandas as pd

    whole = np.rint(X * 10.0)
    rows = {
        "float32": whole.astype(np.float32),
        "int": whole.astype(int),
        "frame": pd.DataFrame(whole, columns=list("abcd")),
        "fortran": np.asfortranarray(whole),
        "list": whole.tolist(),
        "bool": whole > 0.0,
    }[kind]
    display = HyperplaneDisplay.from_direction(rows, [1.0, 2.0, 0.0, 0.0])
    np.testing.assert_allclose(display.along, np.asarray(rows, dtype=float) @ display.normal, atol=1e-9)


def test_a_direction_without_variance_is_drawn():
    flat = np.column_stack([X[:, :2], np.full(len(X), 3.0)])
    display = HyperplaneDisplay.from_direction(flat, [0.0, 0.0, 1.0])
    display.figure_.canvas.draw()
    assert display.interval == pytest.approx((3.0, 3.0))
    assert display.relative_depth == 0.0
    np.testing.assert_allclose(display.along, 3.0)


def test_rows_on_a_line_have_no_direction_across():
    line = np.outer(np.linspace(-1.0, 2.0, 40) ** 3, [0.6, 0.8]) + 5.0
    assert HyperplaneDisplay.from_direction(line, [0.6, 0.8]).across_direction is None
    assert HyperplaneDisplay.from_direction(line, [1.0, 0.0]).across_direction is not None


def test_two_rows_and_duplicates_are_drawn():
    display = HyperplaneDisplay.from_direction([[0.0, 0.0], [3.0, 4.0]], [0.6, 0.8])
    assert display.across_direction is None
    assert display.along.tolist() == pytest.approx([0.0, 5.0])
    doubled = HyperplaneDisplay.from_direction(np.repeat(X, 2, axis=0), np.ones(4), bandwidth=0.5)
    once = HyperplaneDisplay.from_direction(X, np.ones(4), bandwidth=0.5)
    np.testing.assert_allclose(doubled.density, once.density, rtol=1e-9)


def test_curves_of_tiny_bandwidths_stay_small():
    display = HyperplaneDisplay.from_direction(X, np.ones(4), bandwidth=1e-6)
    assert len(display.points) < 5000
    assert np.isfinite(display.density).all()


def test_titles_show_the_p_value_of_the_split():
    X = np.r_[np.zeros((40, 2)), np.full((40, 2), 9.0)] + np.random.default_rng(0).normal(size=(80, 2))
    mdh = MinimumDensityHyperplane(test="pooled", random_state=0).fit(X)
    title = HyperplaneDisplay.from_estimator(mdh, X).ax_density_.get_title(loc="left")
    assert title.endswith(format_pvalue(mdh.pvalue_))
    mdt = MinimumDensityTree(random_state=0).fit(X)
    title = HyperplaneDisplay.from_estimator(mdt, X, node=0).ax_density_.get_title(loc="left")
    assert title.endswith(f"{format_pvalue(mdt.tree_.pvalue[0])}, shown")
