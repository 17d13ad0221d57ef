"""Direction displays rank the features by their contribution."""

import numpy as np
import pandas as pd
import pytest

from ravine import (
    Hyperplane,
    MinimumDensityHyperplane,
)
from ravine.plotting import DirectionDisplay
from support.plotted import NASTY, QUICK, X


def test_contributions_are_sorted_and_the_rest_is_summarised(mdh):
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


def test_sign_is_visible_without_colour():
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


def test_names_of_features_are_shown_and_shortened():
    names = ["a", "b", "a very long name of a column " * 5, NASTY]
    mdh = MinimumDensityHyperplane(**QUICK).fit(pd.DataFrame(X, columns=names))
    display = DirectionDisplay.from_estimator(mdh)
    assert set(display.names) == set(names)
    display.figure_.canvas.draw()  # a dollar sign would start a formula that cannot be parsed
    drawn = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert max(map(len, drawn)) < 60
    assert any("…" in text for text in drawn)


def test_bad_input_for_directions(mdh):
    with pytest.raises(ValueError, match="kind"):
        DirectionDisplay.from_estimator(mdh, kind="share")
    with pytest.raises(TypeError, match="X"):
        DirectionDisplay.from_estimator(mdh, kind="spread")
    with pytest.raises(ValueError, match="feature_names"):
        DirectionDisplay.from_estimator(mdh, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names"):
        DirectionDisplay.from_estimator(mdh, feature_names="abcd")
    with pytest.raises(ValueError, match="max_features"):
        DirectionDisplay.from_estimator(mdh, max_features=0)
    with pytest.raises(ValueError, match=r"X .*4 features"):
        DirectionDisplay.from_hyperplane(mdh.hyperplane_, X[:, :3], kind="spread")
    with pytest.raises(TypeError, match="hyperplane"):
        DirectionDisplay.from_hyperplane("v")


def test_spread_needs_rows():
    model = MinimumDensityHyperplane(**QUICK).fit(X)
    with pytest.raises(TypeError, match=r"X .*kind='spread'"):
        DirectionDisplay.from_hyperplane(model.hyperplane_, kind="spread")
