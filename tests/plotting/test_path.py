"""Path displays have the density, the interval and the hyperplane of every stage."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    NoSplitWarning,
    PathSettings,
    ProjectedDensity,
)
from ravine.plotting import PathDisplay
from ravine.plotting.path import _space_evenly
from support import reference
from support.plotted import QUICK, X


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


def test_long_paths_are_thinned_with_a_note(mdh):
    all_stages = PathDisplay.from_estimator(mdh, X)
    display = PathDisplay.from_estimator(mdh, X, max_stages=3)
    assert len(display.steps) == 3
    assert display.steps[0] is all_stages.steps[0]
    assert display.kept is not None
    assert f"3 of {all_stages.n_stages} stages" in display.ax_.get_title(loc="left")
    assert "stages" not in all_stages.ax_.get_title(loc="left")


def test_path_of_a_classifier_shows_gamma_for_one_pair(blobs):
    y = np.repeat(["a", "b", "c", "c"], 40)
    mdc = MinimumDensityClassifier(
        method="paper",
        hyperplane=MinimumDensityHyperplane(
            init=("pc1",), alpha_max=0.9, path=PathSettings(n_alpha=2, max_iter=5, polish=False)
        ),
    ).fit(blobs, y)
    closest = min(mdc.hyperplanes_, key=lambda pair: mdc.hyperplanes_[pair].relative_depth)
    places = tuple(mdc.classes_.tolist().index(label) for label in closest)
    assert {step.pair for step in PathDisplay.from_estimator(mdc, blobs).steps} == {places}
    display = PathDisplay.from_estimator(mdc, blobs, pair=("c", "a"))
    assert {step.pair for step in display.steps} == {(0, 2)}
    assert "γ = " in display.texts_[-1].get_text()
    safe = PathDisplay.from_estimator(MinimumDensityClassifier().fit(blobs, y), blobs, pair=("c", "a"))
    assert [text.get_text().split(",")[0] for text in safe.texts_] == ["labels alone", "labels and density"]


def test_a_path_without_a_split_is_drawn():
    rows = np.random.default_rng(1).standard_normal((40, 2))
    with pytest.warns(NoSplitWarning):
        flat = MinimumDensityHyperplane(bandwidth=5.0, **QUICK).fit(rows)
    display = PathDisplay.from_estimator(flat, rows)
    assert display.kept is None
    assert len(display.lines_) > 0
    with pytest.warns(NoSplitWarning):
        equal = MinimumDensityHyperplane().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="path"):
        PathDisplay.from_estimator(equal, np.ones((5, 2)))


def test_bad_input_for_paths(mdh, mdt, blobs):
    with pytest.raises(TypeError, match="X"):
        PathDisplay.from_estimator(mdh, None)
    with pytest.raises(ValueError, match=r"3 .*4 "):
        PathDisplay.from_estimator(mdh, X[:, :3])
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(MinimumDensityHyperplane(), X)
    with pytest.raises(TypeError, match="tree"):
        PathDisplay.from_estimator(mdt, blobs)
    with pytest.raises(ValueError, match=r"start.*9"):
        PathDisplay.from_estimator(mdh, X, start=9)


@pytest.mark.parametrize("kept", [None, 0, 3, 7, 19])
@pytest.mark.parametrize("most", [2, 5, 20, 30])
def test_shown_stages_contain_the_one_that_is_kept(most, kept):
    chosen = _space_evenly(20, most, kept)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= most
    assert kept is None or kept in chosen
    assert most == 2 or {0, 19} <= set(chosen)
